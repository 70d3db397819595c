"""`pocketkernel predict`: every row of a file has its line, whatever is wrong with it."""

import csv
import io
import json

import pytest

from pocketkernel.__main__ import main

HEAD = "size,weight,colour,day,shop,y\n"


def line(k):
    return (
        f"{k % 17}.5,{k * 7 % 23},{('red', 'green', 'blue')[k % 3]},2025-03-{k % 28 + 1:02},s{k},{'ab'[k % 17 > 8]}\n"
    )


@pytest.fixture(autouse=True)
def fruit(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fruit.csv").write_text(HEAD + "".join(map(line, range(400))))
    options = ["--label", "y", "--id", "shop", "--memory", "16KiB", "--no-report"]
    assert main(["run", "fruit.csv", *options, "--date", "day"]) == 0
    capsys.readouterr()


def answers(capsys, *options, code=0):
    assert main(["predict", "fruit.run", *options]) == code
    captured = capsys.readouterr()
    return list(csv.DictReader(io.StringIO(captured.out))), captured.err


BAD = [
    ("broken,3,red,2025-03-01,s1\n", "s1", "column 'size': expected a finite number, found 'broken'"),
    ("3.5,4,red,someday,s2\n", "s2", "column 'day': expected a date"),
    ("inf,4,red,2025-03-01,s3\n", "s3", "column 'size': expected a finite number"),
    ("3.5,4\n", "", "expected 5 fields, found 2"),
    ('3.5,4,"red" s,2025-03-01,s5\n', "", "after a quote"),
]


@pytest.mark.parametrize("block", ["1", "3", "4096"])
def test_each_row_has_its_line_in_order(tmp_path, capsys, block):
    good = [line(k).rpartition(",")[0] + "\n" for k in range(40)]
    (tmp_path / "good.csv").write_text("size,weight,colour,day,shop\n" + "".join(good))
    wanted, _ = answers(capsys, "good.csv")
    before = {place: text for place, (text, _, _) in zip([0, 1, 7, 20, 39], BAD, strict=True)}
    rows = [text for k, one in enumerate(good) for text in (before.get(k), one) if text]
    (tmp_path / "bad.csv").write_text("size,weight,colour,day,shop\n" + "".join(rows))
    found, err = answers(capsys, "bad.csv", "--block", block)
    assert [one for one in found if not one["reason"]] == wanted
    marked = {k: one for k, one in enumerate(found) if one["reason"]}
    assert list(marked) == [k for k, text in enumerate(rows) if text not in good]
    for one, (_, shop, reason) in zip(marked.values(), BAD, strict=True):
        assert reason in one["reason"] and (one["label"], one["score"], one["shop"]) == ("", "", shop)
    assert "have no answer: 5" in err
    for k, one in marked.items():
        assert f"bad.csv, line {k + 2}, " in one["reason"]
    left, _ = answers(capsys, "bad.csv", "--on-error", "skip")
    assert left == [{name: value for name, value in one.items() if name != "reason"} for one in wanted]


def test_titles_depend_on_options_alone(tmp_path, capsys):
    """A script that reads the answers finds the same columns, whether all rows are good or none."""
    for text in ("3.5,4,red,2025-03-01,s1\n", "oops,4,red,2025-03-01,s1\n"):
        (tmp_path / "new.csv").write_text("size,weight,colour,day,shop\n" + text)
        for options, more in (([], ["reason"]), (["--on-error", "skip"], []), (["--on-error", "raise"], [])):
            main(["predict", "fruit.run", "new.csv", *options])
            assert capsys.readouterr().out.splitlines()[0].split(",") == ["shop", "label", "score", *more]


def test_answers_before_the_first_bad_row_are_given(tmp_path, capsys):
    (tmp_path / "new.csv").write_text("size,weight,colour,day,shop\n3,4,red,2025-03-01,s1\nx,4,red,2025-03-01,s2\n")
    found, err = answers(capsys, "new.csv", "--on-error", "raise", code=1)
    assert [one["shop"] for one in found] == ["s1"] and "new.csv, line 3" in err


@pytest.mark.parametrize("on_error", ["mark", "skip", "raise"])
def test_a_file_without_an_answer_is_a_failure(tmp_path, capsys, on_error):
    (tmp_path / "new.csv").write_text("size,weight,colour,day,shop\nx,4,red,2025-03-01,s1\nz,4,red,2025-03-01,s2\n")
    found, err = answers(capsys, "new.csv", "--on-error", on_error, code=1)
    assert len(found) == (2 if on_error == "mark" else 0) and "line 2" in err


def test_an_absent_column_is_missing(tmp_path, capsys):
    rows = [dict(zip(HEAD.strip().split(","), line(k).strip().split(","), strict=True)) for k in range(30)]
    for row in rows:
        del row["weight"], row["y"]
    with open(tmp_path / "new.csv", "w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    text = [{**row, "size": float(row["size"])} for row in rows]
    (tmp_path / "new.jsonl").write_text("\n".join(map(json.dumps, text)))
    found, err = answers(capsys, "new.csv")
    assert err.splitlines() == ["new.csv has no column 'weight': taken as missing."]
    assert found == answers(capsys, "new.jsonl")[0]
    for name in ("weight", "colour", "day", "shop"):
        (tmp_path / "less.csv").write_text((tmp_path / "fruit.csv").read_text().replace(name, "other", 1))
        found, err = answers(capsys, "less.csv")
        assert len(found) == 400 and not any(one["reason"] for one in found)
        assert err.count("\n") == (name != "shop") and (name in err) == (name != "shop")


def test_an_absent_column_of_a_second_file_is_missing_there(tmp_path, capsys):
    (tmp_path / "one.csv").write_text(HEAD + line(1))
    (tmp_path / "two.csv").write_text("weight,colour\n3,red\n4,blue\n")
    found, err = answers(capsys, "one.csv", "two.csv")
    assert len(found) == 3 and err.count("\n") == 1
    assert "two.csv has no columns size, day: taken as missing" in err


def test_a_file_of_another_table_is_refused(tmp_path, capsys):
    (tmp_path / "other.csv").write_text("species,island\nAdelie,Dream\n")
    _, err = answers(capsys, "other.csv", code=1)
    assert "expected a column 'size', found species, island" in err


def test_missing_values_that_are_errors_stay_errors(tmp_path, capsys):
    rows = "".join(f"{k % 7},{k % 5},{'ab'[k % 2]}\n" for k in range(200))
    (tmp_path / "strict.csv").write_text("u,v,y\n" + rows)
    assert main(["run", "strict.csv", "--label", "y", "--strict", "--no-report"]) == 0
    (tmp_path / "new.csv").write_text("u\n1\n")
    capsys.readouterr()
    assert main(["predict", "strict.run", "new.csv"]) == 1
    assert "expected a column 'v'" in capsys.readouterr().err


def test_learning_goes_on_without_a_column(tmp_path, capsys):
    (tmp_path / "more.csv").write_text((tmp_path / "fruit.csv").read_text().replace("weight", "other", 1))
    assert main(["learn", "fruit.run", "more.csv", "--no-report", "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["rows"] == 800
    assert captured.err.splitlines()[0] == "more.csv has no column 'weight': taken as missing."


def test_json_has_the_same_rows(tmp_path, capsys):
    (tmp_path / "new.csv").write_text("size,weight,colour,day,shop\n3,4,red,2025-03-01,s1\nx,4,red,2025-03-01,s2\n")
    assert main(["predict", "fruit.run", "new.csv", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    good, bad = found["predictions"]
    assert found["rows"] == 2 and good["reason"] is None and good["label"] in ("a", "b")
    assert (bad["shop"], bad["label"], bad["score"]) == ("s2", None, None) and "line 3" in bad["reason"]


def test_bad_lines_of_libsvm_and_json(tmp_path, capsys):
    (tmp_path / "rows.svm").write_text("".join(f"{k % 2} 1:{k % 2}.5 2:{k % 5}\n" for k in range(200)))
    assert main(["run", "rows.svm", "--no-report", "--out", "svm.run"]) == 0
    (tmp_path / "new.svm").write_text("1 1:0.5\n1 1:x\n0 2:3\n")
    capsys.readouterr()
    assert main(["predict", "svm.run", "new.svm"]) == 0
    found = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [bool(one["reason"]) for one in found] == [False, True, False]
    lines = ['{"size": 3, "shop": "s1"}', "{", '{"size": [1], "shop": "s3"}', '{"size": 4, "shop": "s4"}']
    (tmp_path / "new.jsonl").write_text("\n".join(lines))
    found, _ = answers(capsys, "new.jsonl")
    assert [(one["shop"], bool(one["reason"])) for one in found] == [
        ("s1", False),
        ("", True),
        ("s3", True),
        ("s4", False),
    ]


def test_many_bad_lines_take_no_memory(tmp_path, capsys):
    """They are answered as they are read, not when the next good row comes."""
    (tmp_path / "new.csv").write_text("size,weight,colour,day,shop\n" + "1,2\n" * 20_000 + "3,4,red,2025-03-01,s1\n")
    found, err = answers(capsys, "new.csv")
    assert len(found) == 20_001 and "have no answer: 20,000" in err and found[-1]["label"]
