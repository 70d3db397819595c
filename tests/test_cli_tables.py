"""The command line on tables as people find them: one command, a schema, and a rate that can be believed."""

import json
import re

import numpy as np
import pytest

import tables
from pocketkernel.cli import main
from pocketkernel.cli.show import say

CASES = {
    "titanic": (tables.titanic, "Survived", 13),
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
    assert "11 columns of the file became 13 of the model, judged by all 891 rows." in lines
    assert max(map(len, lines)) <= 110
    schema = json.loads((tmp_path / "titanic.run" / "record.json").read_text())["settings"]["schema"]
    assert [column["name"] for column in schema][:2] == ["PassengerId", "Survived"]


def test_many_columns_are_shown_in_short(tmp_path, capsys):
    head = ",".join(f"c{k}" for k in range(100)) + ",y\n"
    (tmp_path / "wide.csv").write_text(head + "".join(",".join([str(k % 7)] * 100) + f",{k % 2}\n" for k in range(50)))
    assert main(["run", "wide.csv", "--no-report"]) == 0
    error = capsys.readouterr().err
    assert "... and 70 x number" in error and error.count("\n") < 40
    lines = error.splitlines()
    assert lines[31].split()[:2] == ["y", "label"] and lines[32].startswith("...")


def test_a_missing_label_is_asked_for(tmp_path, capsys):
    written(tmp_path, "titanic")
    assert main(["run", "titanic.csv"]) == 2
    error = capsys.readouterr().err
    assert "It could be 'Survived' (values: 0, 1" in error or "It could be 'Survived' (values: 1, 0" in error
    assert "give --label Survived" in error and error.count("\n") == 1
    assert not (tmp_path / "titanic.run").exists()


@pytest.mark.parametrize(("values", "task", "words"), [
    (30, "classification", "30 different numbers, treated as classes; if it is a quantity, add --task regression"),
    (11, "classification", "11 different numbers, treated as classes; if it is a quantity, add --task regression"),
    (150, "regression", "treated as quantities; if they are classes, add --task classification"),
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
    assert json.loads(capsys.readouterr().out)["features"] == 13
    assert main(["run", "titanic.csv", *options, "--missing", "error", "--out", "b"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["skipped"] > 100 and found["features"] == 11


def test_flags_change_the_schema(tmp_path, capsys):
    written(tmp_path, "titanic")
    flags = ["--categorical", "Pclass,Ticket", "--drop", "Embarked", "--numeric", "PassengerId"]
    flags += ["--max-categories", "32"]
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


# ---- what becomes of a column ---------------------------------------------------------------------------------------


def schema_of(capsys, text, *options, label="y"):
    with open("rows.csv", "w") as file:
        file.write(text)
    assert main(["run", "rows.csv", "--label", label, "--no-report", "--force", *options]) == 0
    captured = capsys.readouterr()
    lines = captured.err.splitlines()
    return {line.split()[0]: line for line in lines if line}, captured


def test_how_levels_share_columns_is_told(capsys):
    """500 users and 300 products in 64 KiB: no column of a level for nothing, and some memory left for kernels."""
    rng = np.random.default_rng(0)
    users, products = np.minimum((rng.pareto(1, 9000) * 30).astype(int), 499), rng.integers(300, size=9000)
    rows = [f"u{u},p{p},{rng.normal():.3f},{'ab'[(u + p) % 2]}\n" for u, p in zip(users, products, strict=True)]
    lines, captured = schema_of(capsys, "user,product,x,y\n" + "".join(rows))
    for name in ("user", "product"):
        assert re.search(r"\d+ levels: \d+ in a column each, \d+ (share \d+|in none)", lines[name])
    assert "Only a linear model" not in captured.err + captured.out


def test_levels_that_come_late_are_kept(capsys):
    """They are none of the first ones, in prediction as well."""
    rows = "".join(f"{'rgb'[k % 3]},{k % 7}.5,{k % 3 % 2}\n" for k in range(300))
    schema_of(capsys, "colour,x,y\n" + rows, "--out", "a.run")
    with open("new.csv", "w") as file:
        file.write("colour,x\nr,1.5\ng,1.5\nb,1.5\nviolet,1.5\n")
    assert main(["predict", "a.run", "new.csv"]) == 0
    scores = [line.split(",")[1] for line in capsys.readouterr().out.splitlines()[1:]]
    assert scores[3] not in scores[:3]


def test_integers_that_are_ids_by_their_name(capsys):
    rng = np.random.default_rng(1)
    rows = [f"{rng.integers(40)},{rng.integers(1000, 1060)},{rng.integers(90)},{k % 2}\n" for k in range(900)]
    lines, _ = schema_of(capsys, "store_id,zip,age,y\n" + "".join(rows))
    assert "category" in lines["store_id"] and "category" in lines["zip"] and "number" in lines["age"]


def test_integers_that_may_be_ids_are_hinted_at(capsys):
    rng = np.random.default_rng(2)
    table = np.column_stack([
        rng.integers(1, 1500, 6000), rng.geometric(0.005, 6000), np.arange(6000) // 10, rng.permutation(6000),
        rng.integers(1, 366, 6000), np.arange(6000) % 2,
    ])  # fmt: skip
    lines, _ = schema_of(capsys, "s,wait,hour,row,day,y\n" + "".join(",".join(map(str, one)) + "\n" for one in table))
    assert "ids? --categorical s" in lines["s"]
    for name in ("wait", "hour", "day"):
        assert "number" in lines[name] and "ids?" not in lines[name], name
    assert "left out" in lines["row"] and "numbers of the rows" in lines["row"]


def test_cities_are_categories_though_many_are_rare(capsys):
    rng = np.random.default_rng(3)
    cities = rng.permutation([*range(200), *rng.integers(200, 230, 200).tolist()])
    rows = [f"city{c},{k % 7},{'ab'[c % 2]}\n" for k, c in enumerate(cities.tolist())]
    assert 2 * len(set(cities.tolist())) > 400
    lines, _ = schema_of(capsys, "city,x,y\n" + "".join(rows))
    assert "category" in lines["city"]


def test_a_leak_is_named_before_and_after(capsys):
    rng = np.random.default_rng(4)
    delay = rng.normal(size=800)
    rows = "".join(
        f"{a:.3f},{d:.3f},{'late' if d > 0 else 'ok'}\n" for a, d in zip(rng.normal(size=800), delay, strict=True)
    )
    _, captured = schema_of(capsys, "a,delay,y\n" + rows)
    sentence = "The column 'delay' decides the label alone"
    assert sentence in captured.err and sentence in " ".join(captured.out.replace("│", " ").split())


def test_memory_that_leaves_only_a_linear_model_is_told(capsys):
    head = ",".join([*(f"c{k}" for k in range(700)), "y"]) + "\n"
    rng = np.random.default_rng(5)
    rows = "".join(
        ",".join([*(f"{x:.2f}" for x in row), str(k % 2)]) + "\n" for k, row in enumerate(rng.normal(size=(60, 700)))
    )
    _, captured = schema_of(capsys, head + rows, "--out", "a.run")
    words = r"Only a linear model fits into 65,536 bytes, with rows of 700 columns: kernels need (\d+KiB)\."
    needed = re.search(words, captured.err)[1]
    assert re.search(words, " ".join(captured.out.replace("│", " ").split()))
    assert "UserWarning" not in captured.err
    assert main(["inspect", "a.run"]) == 0
    assert re.search(words, capsys.readouterr().out)[1] == needed
    assert main(["plan", "700"]) == 0
    assert re.search(words, capsys.readouterr().out)[1] == needed
    _, captured = schema_of(capsys, head + rows, "--memory", needed)
    assert "Only a linear" not in captured.err + captured.out


def test_codes_of_which_some_have_a_suffix_are_categories(capsys):
    rows = [f"{98100 + k % 9}{'-4936' if k == 150 else ''},{k % 5},{k % 9 % 2}\n" for k in range(400)]
    lines, captured = schema_of(capsys, "zip_code,x,y\n" + "".join(rows))
    assert "category" in lines["zip_code"] and "skipped" not in captured.out
