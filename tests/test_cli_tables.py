"""The command line on tables as people find them: one command, a schema, and a rate that can be believed."""

import json

import pytest

import tables
from pocketkernel.cli import main
from pocketkernel.cli.show import say

CASES = {
    "titanic": (tables.titanic, "Survived", 10),
    "penguins": (tables.penguins, "species", 13),
    "diamonds": (tables.diamonds, "cut", 22),
    "loans": (tables.loans, "Status", 15),
}


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def written(tmp_path, name):
    make, label, width = CASES[name]
    (tmp_path / f"{name}.csv").write_bytes(make())
    return label, width


@pytest.mark.parametrize("name", CASES)
def test_one_command(tmp_path, capsys, name):
    label, width = written(tmp_path, name)
    assert main(["run", f"{name}.csv", "--label", label, "--no-report", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["features"] == width and found["skipped"] == 0
    others = found["metrics"]["baselines"]
    assert found["mistake_rate"] < 0.9 * min(others["majority"]["mistake_rate"], others["last_label"]["mistake_rate"])
    assert main(["predict", f"{name}.run", f"{name}.csv"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == found["rows"] + 1


def test_the_schema_is_shown_before_learning(tmp_path, capsys):
    written(tmp_path, "titanic")
    assert main(["run", "titanic.csv", "--label", "Survived", "--no-report"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["column", "PassengerId", "Survived"]
    by_name = {line.split()[0]: " ".join(line.split()[1:]) for line in lines}
    assert by_name["PassengerId"].startswith("left out id: numbers of the rows")
    assert by_name["Age"].startswith("number as it is, and whether it is missing (")
    assert by_name["Sex"] == "category 2 levels in 2 columns female, male"
    assert "11 columns of the file became 10 of the model, judged by all 891 rows." in lines
    assert max(map(len, lines)) <= 110
    schema = json.loads((tmp_path / "titanic.run" / "record.json").read_text())["settings"]["schema"]
    assert [column["name"] for column in schema][:2] == ["PassengerId", "Survived"]


def test_many_columns_are_shown_in_short(tmp_path, capsys):
    head = ",".join(f"c{k}" for k in range(100)) + ",y\n"
    (tmp_path / "wide.csv").write_text(head + "".join(",".join([str(k % 7)] * 100) + f",{k % 2}\n" for k in range(50)))
    assert main(["run", "wide.csv", "--no-report"]) == 0
    error = capsys.readouterr().err
    assert "... and 70 x number, 1 x label" in error and error.count("\n") < 40


def test_a_missing_label_is_asked_for(tmp_path, capsys):
    written(tmp_path, "titanic")
    assert main(["run", "titanic.csv"]) == 2
    error = capsys.readouterr().err
    assert "It could be 'Survived' (values: 0, 1" in error or "It could be 'Survived' (values: 1, 0" in error
    assert "give --label Survived" in error and error.count("\n") == 1
    assert not (tmp_path / "titanic.run").exists()


@pytest.mark.parametrize(("values", "task", "words"), [
    (30, "classification", "30 different numbers, treated as classes; if it is a quantity, add --task regression"),
    (300, "regression", "treated as quantities; if they are classes, add --task classification"),
])  # fmt: skip
def test_a_number_as_label_is_hinted_at(tmp_path, capsys, values, task, words):
    (tmp_path / "a.csv").write_text("a,b,y\n" + "".join(f"{k % 5},{k % 7},{k % values}\n" for k in range(900)))
    assert main(["run", "a.csv", "--no-report"]) == 0
    assert words in capsys.readouterr().err
    assert json.loads((tmp_path / "a.run" / "record.json").read_text())["settings"]["task"] == task


def test_late_trouble_does_not_lose_the_run(tmp_path, capsys):
    lines = [f"{k % 9},c{k % 3},{k % 2}" for k in range(20_000)]
    lines[15_000:15_003] = ["word,c1,0", "1,c1", "1,c1,7"]
    (tmp_path / "a.csv").write_text("a,b,y\n" + "\n".join(lines) + "\n")
    assert main(["run", "a.csv", "--no-report"]) == 0
    out = capsys.readouterr().out
    assert "Rows that could not be used and were skipped: 3 (" in out
    assert "a.csv, line 15002, column 'a': expected a finite number, found 'word'" in out
    assert "a.csv, line 15004, column 'y': expected one of the classes 0, 1, found '7'" in out
    assert main(["run", "a.csv", "--no-report", "--strict", "--categorical", "b", "--out", "strict"]) == 1
    assert "line 15002" in capsys.readouterr().err


def test_other_learners_get_no_missing_values(tmp_path, capsys):
    written(tmp_path, "titanic")
    options = ["--label", "Survived", "--no-report", "--json"]
    assert main(["run", "titanic.csv", *options, "--learner", "momds", "--scale", "standard"]) == 0
    assert json.loads(capsys.readouterr().out)["features"] == 10
    assert main(["run", "titanic.csv", *options, "--missing", "error", "--out", "b"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["skipped"] > 100 and found["features"] == 9


def test_flags_change_the_schema(tmp_path, capsys):
    written(tmp_path, "titanic")
    flags = ["--categorical", "Pclass,Ticket", "--drop", "Embarked", "--numeric", "PassengerId"]
    assert main(["run", "titanic.csv", "--label", "Survived", *flags, "--no-report", "--json"]) == 0
    schema = {one["name"]: one for one in json.loads(capsys.readouterr().out)["schema"]}
    roles = {name: schema[name]["role"] for name in ("Pclass", "Ticket", "Embarked", "PassengerId")}
    assert roles == {"Pclass": "category", "Ticket": "category", "Embarked": "left out", "PassengerId": "number"}
    assert schema["Ticket"]["columns"] == 32 + 16
    assert main(["run", "titanic.csv", "--label", "Survived", "--date", "Name", "--out", "b"]) == 2
    assert "give --date Name=FORMAT" in capsys.readouterr().err


def test_predict_reads_what_the_file_is(tmp_path, capsys):
    polars = pytest.importorskip("polars")
    label, _ = written(tmp_path, "penguins")
    assert main(["run", "penguins.csv", "--label", label, "--no-report", "--json"]) == 0
    capsys.readouterr()
    assert main(["predict", "penguins.run", "penguins.csv"]) == 0
    wanted = capsys.readouterr().out
    lines = (tmp_path / "penguins.csv").read_text().splitlines()
    rest = "\n".join(["row," + lines[0], *lines[1:]])
    frame = polars.read_csv(rest.encode(), null_values="NA").drop("species")
    frame.write_parquet(tmp_path / "other.parquet")
    frame.write_ndjson(tmp_path / "other.jsonl")
    (tmp_path / "other.json").write_text(json.dumps(frame.to_dicts()))
    frame.write_csv(tmp_path / "other.tsv", separator="\t")
    frame.write_csv(tmp_path / "semicolon.csv", separator=";")
    for name in ("other.parquet", "other.jsonl", "other.json", "other.tsv", "semicolon.csv"):
        assert main(["predict", "penguins.run", name]) == 0, name
        assert capsys.readouterr().out == wanted, name


@pytest.mark.parametrize(("data", "words"), [
    (b"", "found an empty file"), (b"a,b,y\n", "but no rows"), (bytes(range(256)) * 4, "found binary data"),
    (b"y\n1\n0\n1\n", "no column is left to learn from: use --categorical NAME or --numeric NAME"),
    (b"a,y\n,1\n,0\n", "no column is left to learn from (a: empty, no values)"),
    (b"a,y\n1,0\n2,0\n", "two classes or more among the first rows (list all in --classes"),
])  # fmt: skip
def test_files_that_cannot_be_learned_from(tmp_path, capsys, data, words):
    (tmp_path / "a.csv").write_bytes(data)
    assert main(["run", "a.csv", "--label", "y"]) in (1, 2)
    error = capsys.readouterr().err
    assert words in error and "Traceback" not in error


def test_a_late_class_is_reported_in_one_line_with_its_remedy(tmp_path, capsys):
    late = [f"{k % 7},{'c' if k > 10_500 and k % 100 == 0 else 'ab'[k % 2]}\n" for k in range(12_000)]
    (tmp_path / "late.csv").write_text("x,y\n" + "".join(late))
    assert main(["run", str(tmp_path / "late.csv"), "--out", str(tmp_path / "late.run"), "--no-report"]) == 0
    out = capsys.readouterr().out
    assert "skipped: 14 (0.12%); the first 10:" in out
    assert out.count("expected one of the classes a, b, found 'c'") == 1
    assert "found 'c'; likewise lines 10702, 10802" in out and "list all classes in --classes" in out


def test_labels_that_are_nowhere(tmp_path, capsys):
    (tmp_path / "empty.csv").write_text("x,y\n" + "".join(f"{k % 7},\n" for k in range(50)))
    assert main(["run", str(tmp_path / "empty.csv"), "--label", "y", "--out", str(tmp_path / "run")]) == 2
    said = capsys.readouterr().err
    assert "the label column 'y' is empty in all 50 rows: choose another column with --label." in said


def test_booleans_of_json_are_called_so(tmp_path, capsys):
    rows = [{"paid": k % 3 == 0, "x": k % 7, "y": "ab"[k % 2]} for k in range(60)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["run", "rows.jsonl", "--no-report", "--json"]) == 0
    schema = {one["name"]: one for one in json.loads(capsys.readouterr().out)["schema"]}
    assert schema["paid"]["role"] == "boolean" and schema["paid"]["encoded"] == "0 or 1"


def test_sentences_are_broken_between_words_on_a_terminal(capsys, monkeypatch):
    sentence, table, words = "whatever the rows are " * 10, "a  1\n" + "b  " * 40, "pocketkernel " * 20
    say(sentence)
    assert capsys.readouterr().out == sentence + "\n"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "40")
    say(sentence)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 40 and " ".join(lines) == sentence.strip()
    say(table)
    say(words, copied=True)
    assert capsys.readouterr().out == f"{table}\n{words}\n"


# ---- rows that cannot be used ---------------------------------------------------------------------------------------


def coloured(labels):
    """A table with a category, whose blocks may have no label that can be learned."""
    colours = ("red", "green", "blue")
    rows = (f"{k % 17},{colours[k % 3]},{label}\n" for k, label in enumerate(labels))
    return "size,colour,y\n" + "".join(rows)


@pytest.mark.parametrize(("last", "numbers"), [("", False), ("", True), ("late", False)])
def test_blocks_without_a_usable_row(tmp_path, capsys, last, numbers):
    """Train and test in one file, or a file sorted by its label: what can be learned is, the rest is counted."""
    good = [str(k % 17 * 1.5) if numbers else ("yes", "no")[k % 17 > 8] for k in range(11_000)]
    (tmp_path / "rows.csv").write_text(coloured(good + [last] * 4000))
    assert main(["run", "rows.csv", "--label", "y", "--block", "1000", "--no-report", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["rows"], found["skipped"]) == (11_000, 4000)
    assert main(["predict", "rows.run", "rows.csv"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 15_001
    before = (tmp_path / "rows.run" / "model.safetensors").read_bytes()
    (tmp_path / "more.csv").write_text(coloured([last] * 3000))
    assert main(["learn", "rows.run", "more.csv"]) == 1
    assert "more.csv, line 2, column 'y'" in capsys.readouterr().err
    assert (tmp_path / "rows.run" / "model.safetensors").read_bytes() == before
    (tmp_path / "more.csv").write_text(coloured([last] * 3000 + good[:100]))
    assert main(["learn", "rows.run", "more.csv", "--no-report", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 11_100
