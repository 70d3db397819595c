"""Models of tables in Python: the same bits as on the command line, rows of every kind, and scikit-learn's contract."""

import copy
import csv
import datetime as dt
import io
import pickle
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import pocketkernel
import tables
from alarm import rung
from pocketkernel import MOMDS, MulticlassMOMDS, PocketClassifier, PocketRegressor, TableClassifier, TableRegressor
from pocketkernel.cli import main
from pocketkernel.evaluate import Job, load_with_pipeline, run_job
from pocketkernel.model_file import ModelFileError
from pocketkernel.stream import StreamError
from pocketkernel.stream.files import CHUNK
from pocketkernel.stream.memory import in_memory
from pocketkernel.stream.table import INFERRED

COLOURS = ["red", "green", "blue"]


def people_write(n=400, seed=0):
    """A table as people write it: decimal commas, dates, Booleans, categories, missing values."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        size, colour = rng.normal(5, 2), COLOURS[rng.integers(3)]
        day = dt.date(2024, 1, 1) + dt.timedelta(days=int(rng.integers(300)))
        rows.append({
            "size": round(size, 3),
            "price": f"{rng.uniform(1, 2000):.2f}".replace(".", ","),
            "colour": colour,
            "sold": day.isoformat(),
            "new": bool(rng.integers(2)),
            "weight": "" if rng.random() < 0.1 else round(rng.normal(), 3),
            "kind": "apple" if (size > 5) == (colour == "red") else "pear",
        })  # fmt: skip
    return rows


def write(path, rows):
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), delimiter=";")
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.fixture(scope="module")
def fruit(tmp_path_factory):
    """The folder of a run, and a file of further rows."""
    folder = tmp_path_factory.mktemp("fruit")
    file = write(folder / "fruit.csv", people_write())
    reading = {"label": "kind", "strict": False}
    run_job(Job(str(file), parameters={"random_state": 0, "memory": "32KiB"}, reading=reading), folder / "fruit.run")
    return folder / "fruit.run", write(folder / "more.csv", people_write(60, seed=1))


def ran(frame, label, folder, *, reading=None, **job):
    """The model of a run over a CSV file with the rows of a frame, and the run."""
    file = folder / "rows.csv"
    frame.to_csv(file, index=False)
    given = {"label": label, "strict": False, **(reading or {})}
    done = run_job(
        Job(str(file), parameters={"random_state": 0}, reading=given, **job), folder / "rows.run", force=True
    )
    return pocketkernel.load(folder / "rows.run"), done


def state(model):
    """All that a model of a table has learned, but for how labels are called."""
    pipeline = model.pipeline_
    scaler = None if pipeline.scaler is None else {k: v.tolist() for k, v in pipeline.scaler.get_state().items()}
    return model.learner_._core.save(), pipeline.encoding, scaler


def mixed(n=700, seed=0):
    """A frame of every type that pandas has, and labels that depend on most of them."""
    rng = np.random.default_rng(seed)
    size, colour = rng.normal(5, 2, n), rng.choice(["red", "green", "deep blue", 'say "x", y'], n)
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D")
    frame = pd.DataFrame({
        "id": [f"L{k:05}" for k in range(n)],
        "size": np.where(rng.random(n) < 0.05, np.nan, size),
        "count": rng.poisson(3, n),
        "nullable": pd.array(np.where(rng.random(n) < 0.1, None, rng.integers(0, 50, n)), dtype="Int64"),
        "colour": colour,
        "grade": pd.Categorical(rng.choice(list("abc"), n)),
        "zip": rng.choice(["01234", "10115", "80331"], n),
        "day": day,
        "moment": day + pd.to_timedelta(rng.integers(0, 86_400, n), unit="s"),
        "written": [f"{d.day:02}.{d.month:02}.{d.year}" for d in day],
        "price": [f"{p:.2f} €".replace(".", ",") for p in rng.uniform(1, 2000, n)],
        "new": rng.random(n) < 0.5,
        "always": "same",
        "empty": [None] * n,
    })  # fmt: skip
    frame.loc[rng.random(n) < 0.02, "colour"] = None
    y = (size > 5) ^ (colour == "red") ^ (rng.random(n) < 0.03)
    return frame, pd.Series(np.where(y, "yes", "no"), name="bought")


# ---- the same bits as on the command line ---------------------------------------------------------------------------


def test_a_table_gives_the_model_of_a_run(tmp_path):
    frame, y = mixed()
    one, done = ran(frame.assign(bought=y), "bought", tmp_path)
    model = TableClassifier(random_state=0)
    scores = model.predict_then_learn(frame, y)
    assert state(model) == state(one)
    assert model.schema_ == one.schema_
    assert model.classes_.tolist() == one.classes_.tolist() == ["no", "yes"]
    assert np.count_nonzero((scores >= 0) != (y == "yes")) == done.progress.mistakes
    assert {role.split(":")[0] for role in model.schema_.values()} >= {
        "number",
        "category",
        "date",
        "left out",
        "boolean",
    }
    more, _ = mixed(90, seed=1)
    more.to_csv(tmp_path / "more.csv", index=False)
    asked = one.predict_proba(tmp_path / "more.csv")
    np.testing.assert_array_equal(model.predict_proba(more), asked)
    np.testing.assert_array_equal(one.predict_proba(more), asked)


@pytest.mark.parametrize("made", [tables.titanic, tables.penguins, tables.diamonds, tables.loans])
def test_tables_as_people_find_them(made, tmp_path, monkeypatch):
    """As pandas reads them, against a run over what pandas writes."""
    label = {"titanic": "Survived", "penguins": "species", "diamonds": "cut", "loans": "Status"}[made.__name__]
    how = {"sep": ";", "encoding": "latin-1"} if made is tables.loans else {}
    frame = pd.read_csv(io.BytesIO(made()), **how)
    one, _ = ran(frame, label, tmp_path)
    model = TableClassifier(random_state=0, label=label).partial_fit(frame)
    assert state(model) == state(one)
    assert model.classes_.tolist() == one.classes_.tolist()


def test_later_calls_are_those_of_learn(tmp_path, monkeypatch, capsys):
    """New levels, new columns, absent columns: `run` on the first rows, then `learn`."""
    monkeypatch.chdir(tmp_path)
    (first, y), (second, z) = mixed(300), mixed(300, seed=1)
    second = second.assign(colour=np.where(np.arange(300) % 3 == 0, "violet", second.colour), further=1.0)
    one, _ = ran(first.assign(bought=y), "bought", tmp_path)
    second.assign(bought=z).to_csv("second.csv", index=False)
    assert main(["learn", "rows.run", "second.csv", "--no-report"]) == 0
    capsys.readouterr()
    model = TableClassifier(random_state=0).partial_fit(first, y)
    assert state(model) == state(one)
    model.partial_fit(second, z)
    assert state(model) == state(pocketkernel.load("rows.run"))
    one.partial_fit("second.csv")
    assert state(one) == state(model)


def test_many_rows_and_long_ones(tmp_path):
    """Of 12,000 rows the first 10,000 decide, and of rows that take more than a MiB as many as are in it."""
    rng = np.random.default_rng(0)
    n = INFERRED + 2000
    size = rng.normal(size=n)
    level = np.where(np.arange(n) < INFERRED, rng.choice(["a", "b"], n), rng.choice(["c", "d", "e"], n))
    frame = pd.DataFrame({"size": size, "level": level, "y": np.where(size > 0, "up", "down")})
    one, _ = ran(frame, "y", tmp_path)
    assert state(TableClassifier(random_state=0, label="y").partial_fit(frame)) == state(one)
    long = frame[:3000].assign(text=["word " * 100 + str(k) for k in range(3000)])
    long["level"] = [f"level {k // 500}" for k in range(3000)]
    assert len(long.to_csv(index=False)) > CHUNK
    one, _ = ran(long, "y", tmp_path)
    model = TableClassifier(random_state=0, label="y").partial_fit(long)
    assert state(model) == state(one)
    assert in_memory(long).sample().rows < 3000


def test_numbers_of_a_run(tmp_path):
    frame, _ = mixed(500)
    frame["target"] = frame["count"] * 2.5 + frame["size"].fillna(3) - (frame["colour"] == "red")
    one, _ = ran(frame, "target", tmp_path)
    model = TableRegressor(random_state=0)
    answers = model.predict_then_learn(frame.drop(columns="target"), frame["target"])
    assert isinstance(one, TableRegressor)
    assert state(model) == state(one)
    assert np.abs(answers[250:] - frame["target"][250:]).mean() < 0.5 * frame["target"].std()
    low, high = model.predict_interval(frame[:20], coverage=0.8).T
    assert np.all((low <= model.predict(frame[:20])) & (model.predict(frame[:20]) <= high))


def test_what_is_asked_for_the_columns(tmp_path):
    frame, y = mixed(300)
    asked = {
        "drop": ["size"], "categorical": ["count"], "date": ["written=%d.%m.%Y"], "numeric": ["price"],
        "max_categories": 4, "hash_width": 3, "missing": "mean",
    }  # fmt: skip
    one, _ = ran(frame.assign(bought=y), "bought", tmp_path, reading=asked, scale="standard")
    model = TableClassifier(random_state=0, scale="standard", **asked).partial_fit(frame, y)
    assert state(model) == state(one)
    assert state(TableClassifier(random_state=0).partial_fit(frame, y)) != state(one)
    again = pocketkernel.load(tmp_path / "rows.run")
    for model in (again, TableClassifier.from_bytes(again.to_bytes()), pickle.loads(pickle.dumps(again))):
        assert {name: getattr(model, name) for name in asked} == asked
        assert (model.label, model.scale) == ("bought", "standard")
        assert state(clone(model).partial_fit(frame, y)) == state(one)
    one_column = TableClassifier(random_state=0, drop="size").partial_fit(frame, y)
    assert one_column.schema_["size"] == "left out: as asked"


@pytest.mark.parametrize(
    "learner", [MOMDS(budget=50), MulticlassMOMDS(budget=30), PocketClassifier(memory="8KiB", n_classes=5)]
)
def test_any_learner(learner, tmp_path):
    frame, y = mixed(300)
    name, parameters = type(learner).__name__, {k: v for k, v in learner.get_params().items() if v is not None}
    frame.assign(bought=y).to_csv(tmp_path / "rows.csv", index=False)
    reading = {"label": "bought", "strict": False, "missing": "keep" if name == "PocketClassifier" else "mean"}
    job = Job(str(tmp_path / "rows.csv"), name, parameters | {"random_state": 3}, reading)
    run_job(job, tmp_path / "rows.run")
    model = TableClassifier(learner, random_state=3).partial_fit(frame, y)
    assert state(model) == state(pocketkernel.load(tmp_path / "rows.run"))
    assert not hasattr(learner, "classes_") and learner.random_state is None
    assert model.nbytes == model.learner_.nbytes


# ---- rows of every kind ---------------------------------------------------------------------------------------------


def expected(folder, file):
    model, pipeline, _ = load_with_pipeline(folder)
    return np.concatenate([model.predict_proba(X, continues=False) for X in pipeline.rows(pipeline.open(str(file)))])


def unlabelled(file):
    with open(file) as opened:
        rows = list(csv.DictReader(opened, delimiter=";"))
    return [{name: value for name, value in row.items() if name != "kind"} for row in rows]


def typed_rows(rows):
    return [row | {"size": float(row["size"]), "price": float(row["price"].replace(",", ".")),
                   "sold": dt.date.fromisoformat(row["sold"]), "new": row["new"] == "True",
                   "weight": float(row["weight"]) if row["weight"] else None} for row in rows]  # fmt: skip


def test_rows_of_every_kind(fruit):
    folder, file = fruit
    model = pocketkernel.load(folder)
    assert isinstance(model, TableClassifier)
    chances = expected(folder, file)
    rows = unlabelled(file)
    typed = typed_rows(rows)
    frame = pd.DataFrame(typed)
    given = {
        "file": file,
        "text": str(file),
        "opened": io.BytesIO(file.read_bytes()),
        "dicts": rows,
        "typed": typed,
        "pandas": frame,
        "polars": pl.DataFrame(typed),
        "Arrow": pa.Table.from_pylist(typed),
        "a batch": pa.RecordBatch.from_pylist(typed),
        "times": frame.assign(sold=pd.to_datetime(frame.sold)),
        "categorical": frame.astype({"colour": "category"}),
        "nullable": frame.convert_dtypes(),
        "objects": frame.astype(object),
        "Decimal": frame.assign(size=[Decimal(row["size"]) for row in rows]),
        "0 and 1": frame.assign(new=frame.new.astype(int)),
        "NumPy's": [{k: np.float64(v) if isinstance(v, float) else v for k, v in row.items()} for row in typed],
        "other order": frame[frame.columns[::-1]],
        "with labels": frame.assign(kind="pear"),
        "with others": frame.assign(more=1, further="x"),
    }
    for name, some in given.items():
        np.testing.assert_array_equal(model.predict_proba(some), chances, err_msg=name)
    for row, chance in zip(typed[:5], chances, strict=False):
        np.testing.assert_array_equal(model.predict_proba(row), [chance])
        assert model.predict(row).tolist() == [model.classes_[chance.argmax()]]
    assert model.decision_function(typed).shape == (60,)


@pytest.mark.parametrize("make", [pl.from_pandas, pa.Table.from_pandas, lambda frame: frame.to_dict("records")])
def test_first_rows_of_any_library(make):
    """Frames of other libraries and dicts: the same columns and the same answers as of pandas."""
    frame, y = mixed(300)
    frame = frame.drop(columns=["nullable", "grade"])
    one = TableClassifier(random_state=0).partial_fit(frame, y)
    other = TableClassifier(random_state=0).partial_fit(make(frame), y)
    assert state(one) == state(other)
    assert one.feature_names_in_.tolist() == other.feature_names_in_.tolist() == list(frame.columns)


def test_row_by_row_from_the_first_one():
    """Of fewer than 5 rows, numbers are numbers, and all else is categories."""
    model = TableClassifier(random_state=0)
    rows = [{"size": k % 7, "colour": ["red", "blue"][k % 3 > 0], "note": None} for k in range(200)]
    for k, row in enumerate(rows):
        model.partial_fit(row, ["no" if k % 3 else "yes"], classes=["yes", "no"])
    assert model.schema_["size"] == "number: as it is" and model.schema_["colour"].startswith("category")
    assert model.predict(rows[:6]).tolist() == ["yes", "no", "no"] * 2
    assert model.learner_.diagnostics_.rounds == 200


def test_nested_values():
    rows = [{"user": {"age": 20 + k % 9, "tags": ["a"]}, "y": "old" if k % 9 > 4 else "young"} for k in range(60)]
    model = TableClassifier(random_state=0, label="y").partial_fit(rows)
    assert model.schema_ == {
        "user.age": "number: as it is", "user.tags": "left out: nested: a list or an object",
        "y": "label: 2 different values",
    }  # fmt: skip
    assert model.predict({"user": {"age": 28}}) == ["old"]
    frame = pl.DataFrame(rows)
    assert state(TableClassifier(random_state=0).partial_fit(frame.drop("y"), frame["y"]))[0] == state(model)[0]


def test_arrays():
    """Columns of numbers are what somebody has made of them: not one of them is left out."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(100), np.ones(100), rng.normal(size=100), rng.integers(20_200_101, 20_200_120, 100)])
    y = X[:, 2] > 0
    model = TableClassifier(random_state=0).partial_fit(X, y)
    plain = PocketClassifier(random_state=0).partial_fit(X, y)
    assert state(model)[0] == plain._core.save()
    assert model.n_features_in_ == 4 and not hasattr(model, "feature_names_in_")
    texts = np.array([["red", "1"], ["blue", "2"]] * 50, dtype=object)
    model = TableClassifier(random_state=0).fit(texts, texts[:, 0] == "red")
    assert model.predict(np.array([["red", 2]], dtype=object)).tolist() == [True]
    assert model.schema_["x0"] == "category: 2 levels in 2 columns"
    same = TableClassifier.from_bytes(TableClassifier(random_state=0).fit(X, y).to_bytes())
    assert not hasattr(same, "feature_names_in_") and same.predict(X[:5]).shape == (5,)
    with pytest.raises(ValueError, match="X has 3 features, but TableClassifier is expecting 4 features as input"):
        same.predict(X[:, :3])
    named = TableClassifier(random_state=0).fit(pd.DataFrame(X, columns=list("abcd")), y)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        assert named.predict(X[:3]).shape == (3,)


def test_numbers_are_not_written_and_read():
    """Every bit of a float64, and float32 as float64."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)) * 10.0 ** rng.integers(-300, 300, (200, 3))
    for given in (X, pd.DataFrame(X).rename(columns=str), rng.normal(size=(200, 3)).astype(np.float32)):
        rows = in_memory(given)
        np.testing.assert_array_equal(np.column_stack(list(rows.columns.values())), np.asarray(given, np.float64))


# ---- labels ---------------------------------------------------------------------------------------------------------


def test_labels_in_a_column_or_beside_the_rows():
    frame, y = mixed(200)
    beside = TableClassifier(random_state=0).fit(frame, y)
    assert beside.label is None and beside.pipeline_.encoding["label"] == "bought"
    whole = frame.assign(bought=y)
    within = TableClassifier(random_state=0, label="bought").fit(whole)
    leak = TableClassifier(random_state=0).fit(whole, y)
    for other in (within, leak):  # the column of the labels is never learned from
        assert state(other) == state(beside)
        assert other.n_features_in_ == len(frame.columns)
    compared = TableClassifier(random_state=0).fit(frame, frame["count"] > 3)  # a series that pandas calls count, too
    assert "count" in compared.feature_names_in_ and compared.pipeline_.encoding["label"] == "label"
    unnamed = TableClassifier(random_state=0).fit(frame.assign(label=1.0), y.to_numpy())
    assert unnamed.pipeline_.encoding["label"] == "y" and "label" in unnamed.feature_names_in_


@pytest.mark.parametrize("kind", [int, float, bool, str, object, "numbers as text"])
def test_labels_of_any_type(kind):
    frame, y = mixed(200)
    given = (y == "yes").astype(int)
    named = given.astype(str) if kind == "numbers as text" else given.astype(kind)
    model = TableClassifier(random_state=0).fit(frame, named)
    assert model.classes_.tolist() == sorted(set(named))
    assert state(model)[0] == state(TableClassifier(random_state=0).fit(frame, y))[0]
    assert TableClassifier.from_bytes(model.to_bytes()).predict(frame).tolist() == model.predict(frame).tolist()


def test_text_of_numbers_in_the_label_column_is_numbers(fruit, tmp_path):
    """As csv.DictReader has them, and as a run reads them."""
    rows = [{"a": str(k % 7), "y": str(k % 2)} for k in range(60)]
    model = TableClassifier(random_state=0, label="y").partial_fit(rows)
    assert model.classes_.tolist() == [0, 1]
    model.partial_fit(rows)
    pd.DataFrame(rows).to_csv(tmp_path / "rows.csv", index=False)
    assert model.partial_fit(tmp_path / "rows.csv").learner_.diagnostics_.rounds == 180
    one = pocketkernel.load(fruit[0])
    one.partial_fit([row | {"kind": "pear"} for row in unlabelled(fruit[1])])
    assert one.learner_.diagnostics_.rounds == 460


def test_classes_that_come_late():
    frame, y = mixed(300)
    model = TableClassifier(PocketClassifier(n_classes=3), random_state=0).partial_fit(frame[:100], y[:100])
    model.partial_fit(frame[100:200], ["maybe"] * 100)
    assert model.classes_.tolist() == ["maybe", "no", "yes"]
    assert model.pipeline_.encoding["classes"] == ["no", "yes", "maybe"]
    before = model.to_bytes()
    with pytest.raises(ValueError, match="'never'"):
        model.partial_fit(frame[200:201].assign(colour="new one"), ["never"])
    assert model.to_bytes() == before
    all_named = TableClassifier(random_state=0).partial_fit(frame[:5], ["no"] * 5, classes=["no", "yes"])
    assert all_named.classes_.tolist() == ["no", "yes"]


# ---- what later rows bring ------------------------------------------------------------------------------------------


def test_learning_goes_on(fruit, tmp_path):
    folder, file = fruit
    by_file, by_dicts, by_y, one_by_one = (pocketkernel.load(folder) for _ in range(4))
    rows, labels = unlabelled(file), [row["kind"] for row in people_write(60, seed=1)]
    by_file.partial_fit(file)
    by_dicts.partial_fit([row | {"kind": label} for row, label in zip(rows, labels, strict=True)])
    by_y.partial_fit(rows, labels)
    for row, label in zip(rows, labels, strict=True):
        one_by_one.partial_fit(row, label)
    assert state(by_file) != state(pocketkernel.load(folder))
    for other in (by_dicts, by_y, one_by_one):
        assert state(other) == state(by_file)
    by_y.save(tmp_path / "again.pk")
    assert pocketkernel.load(tmp_path / "again.pk").to_bytes() == by_y.to_bytes()


def test_new_levels():
    """A level gets a column of its own while one is free, and then shares one: as the encoder decides."""
    frame = pd.DataFrame({"level": ["a", "b"] * 50 + ["c"], "n": np.arange(101) % 10})
    y = np.arange(101) % 2
    model = TableClassifier(random_state=0, max_categories=4, hash_width=1).partial_fit(frame, y)
    (feature,) = [one for one in model.pipeline_.encoding["features"] if one["name"] == "level"]
    width = model.pipeline_.n_features
    model.partial_fit(frame.assign(level="d"), y)
    model.partial_fit(frame.assign(level="e"), y)
    (after,) = [one for one in model.pipeline_.encoding["features"] if one["name"] == "level"]
    assert after["categories"][:3] == feature["categories"] == ["a", "b", "c"]
    assert after["hashed"] > 0
    assert model.pipeline_.n_features == width


def test_columns_that_are_absent_or_new():
    frame, y = mixed(300)
    model = TableClassifier(random_state=0).fit(frame, y)
    nothing = frame.assign(colour=None, size=np.nan)
    with pytest.warns(UserWarning, match="X does not have columns size, colour: missing in every row"):
        absent = model.predict_proba(frame.drop(columns=["size", "colour"]))
    np.testing.assert_array_equal(absent, model.predict_proba(nothing))
    rows = frame.drop(columns=["size", "colour"]).to_dict("records")
    np.testing.assert_array_equal(model.predict_proba(rows), absent)
    np.testing.assert_array_equal(model.predict_proba(frame.assign(new_one="x")), model.predict_proba(frame))
    with pytest.raises(ValueError, match="X has none of the columns that the model learned from, size, count"):
        model.predict(pd.DataFrame({"other": [1]}))
    with pytest.warns(UserWarning, match="X does not have a column 'size'"):
        model.partial_fit(frame.drop(columns="size"), y)
    other = TableClassifier(random_state=0).fit(frame, y).partial_fit(frame.assign(size=np.nan), y)
    assert state(model) == state(other)


def test_values_of_other_types():
    frame, y = mixed(300)
    model = TableClassifier(random_state=0).fit(frame, y)
    chances = model.predict_proba(frame[:50])
    some = frame[:50]
    texts = some.assign(
        count=some["count"].astype(str), size=[None if np.isnan(v) else f" {v!r} " for v in some["size"]],
        day=some["day"].astype(str), written=some["day"], new=np.where(some["new"], "yes", "no"),
        price=[float(p.split(" ")[0].replace(",", ".")) for p in some["price"]], zip=some["zip"].astype("category"),
    )  # fmt: skip
    np.testing.assert_array_equal(model.predict_proba(texts), chances)
    numbered = TableClassifier(random_state=0, categorical=["count"]).fit(frame, y)
    with_holes = frame.assign(count=frame["count"].astype(float))
    np.testing.assert_array_equal(numbered.predict_proba(with_holes), numbered.predict_proba(frame))


BAD = {
    "text among numbers": ({"size": "large"}, r"the rows, row 2, column 'size': expected a number, found 'large'"),
    "infinity": ({"count": np.inf}, r"row 2, column 'count': expected a finite number, found infinity"),
    "no date": ({"written": "soon"}, r"row 2, column 'written': expected a date as %d\.%m\.%Y, found 'soon'"),
    "no Boolean": ({"new": "perhaps"}, r"row 2, column 'new': expected true or false, found 'perhaps'"),
    "another price": ({"price": "cheap"}, r"row 2, column 'price': expected a number with a decimal comma"),
    "a list": ({"colour": ["red"]}, r"row 2, column 'colour': expected text, not a list or an object"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_read_is_refused_and_nothing_is_learned(case):
    change, words = BAD[case]
    frame, y = mixed(200)
    rows = frame.to_dict("records")
    model = TableClassifier(random_state=0, scale="standard").partial_fit(rows, y)
    before = model.to_bytes()
    wrong = [rows[0] | {"colour": "never seen"}, rows[1] | change, rows[2]]
    for call in (model.predict, lambda X: model.partial_fit(X, y[:3]), lambda X: model.predict_then_learn(X, y[:3])):
        with pytest.raises(StreamError, match=words):
            call(wrong)
    assert model.to_bytes() == before


def test_first_rows_with_a_typo_are_refused():
    """Not more than 1 % of odd values among numbers: a run leaves such rows out."""
    frame, y = mixed(200)
    sizes = [repr(float(k)) for k in range(200)]
    sizes[150] = "large"
    model = TableClassifier(random_state=0)
    with pytest.raises(StreamError, match="the rows, row 151, column 'size': expected a number"):
        model.fit(frame.assign(size=sizes), y)
    assert not hasattr(model, "learner_")


def test_bad_calls(fruit, tmp_path):
    frame, y = mixed(60)
    fresh = TableClassifier(random_state=0)
    with pytest.raises(NotFittedError):
        fresh.predict(frame)
    with pytest.raises(
        ValueError, match="TableClassifier requires y to be passed, but the target y is None: give y, or"
    ):
        fresh.fit(frame)
    with pytest.raises(ValueError, match="the rows have no column 'kind', which has the labels, but id, size"):
        TableClassifier(label="kind").fit(frame)
    with pytest.raises(ValueError, match="X has 60 rows but y has 59 labels: give one label per row"):
        fresh.fit(frame, y[1:])
    with pytest.raises(ValueError, match="is a file, and the first rows must be in memory: give a data frame"):
        fresh.partial_fit(str(fruit[1]), y)
    for odd in (None, 3, "text of no file", [], [1, 2], [{"a": 1}, 2], frame["size"], pd.DataFrame(), frame[:0]):
        with pytest.raises((ValueError, TypeError, FileNotFoundError)):
            fresh.fit(odd, y)
    with pytest.raises(
        TypeError, match=r"learner=PocketRegressor\(\) is not a learner of pocketkernel for a TableClass"
    ):
        TableClassifier(PocketRegressor()).fit(frame, y)
    with pytest.raises(ValueError, match="scale='log' is unknown"):
        TableClassifier(scale="log").fit(frame, y)
    with pytest.raises(ValueError, match=r"drop=3\.5 is not valid: use a column or a list of columns"):
        TableClassifier(drop=3.5).fit(frame, y)
    with pytest.raises(ValueError, match="missing='no' is not valid"):
        TableClassifier(missing="no").fit(frame, y)
    with pytest.raises(ValueError, match="drop='nothing' is not a column"):
        TableClassifier(drop="nothing").fit(frame, y)
    with pytest.raises(TypeError, match="Sparse data was passed"):
        fresh.fit(sparse.csr_matrix(np.eye(3)), [0, 1, 0])
    with pytest.raises(ValueError, match="y has no label in row 1"):
        fresh.fit(frame[:3], ["a", None, "b"])
    with pytest.raises(ValueError, match="one number for each row"):
        TableRegressor().fit(frame, np.zeros((60, 2)))
    assert not hasattr(fresh, "classes_") and not hasattr(fresh, "learner_")
    model = pocketkernel.load(fruit[0])
    with pytest.raises(ValueError, match="files have their labels"):
        model.partial_fit(fruit[1], ["pear"])
    with pytest.raises(FileNotFoundError, match="not the folder of a finished run"):
        pocketkernel.load(tmp_path)
    plain = PocketClassifier(random_state=0).fit([[0.0], [1.0]], [0, 1])
    plain.save(tmp_path / "model.safetensors")
    with pytest.raises(ModelFileError, match="does not contain how to read rows"):
        pocketkernel.load(tmp_path)
    for data in (plain.to_bytes(), pocketkernel.load(fruit[0]).to_bytes()):
        with pytest.raises(ModelFileError, match="does not contain a TableRegressor"):
            TableRegressor.from_bytes(data)


def test_missing_values_may_be_an_error():
    frame, y = mixed(60)
    with pytest.raises(StreamError, match="column 'size': expected a value"):
        TableClassifier(missing="error").fit(frame[["size", "count"]], y)
    assert not get_tags(TableClassifier(missing="error")).input_tags.allow_nan


# ---- files ----------------------------------------------------------------------------------------------------------


def test_a_saved_model_is_that_of_a_run(tmp_path, monkeypatch, capsys):
    """The verbs of the command line take it, too."""
    monkeypatch.chdir(tmp_path)
    frame, y = mixed(200)
    model = TableClassifier(memory="16KiB", random_state=0, drop=["zip"]).fit(frame, y)
    model.save("bought.pk")
    frame.to_csv("rows.csv", index=False)
    assert main(["predict", "bought.pk", "rows.csv", "--proba"]) == 0
    answers = list(csv.reader(io.StringIO(capsys.readouterr().out)))[1:]
    assert [label for label, *_ in answers] == model.predict(frame).tolist()
    np.testing.assert_array_equal(np.array([row[1:3] for row in answers], float), model.predict_proba(frame))
    assert main(["inspect", "bought.pk"]) == 0
    same = pocketkernel.load("bought.pk")
    for other in (same, pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert other.to_bytes() == model.to_bytes()
        assert other.feature_names_in_.tolist() == list(frame.columns)
        assert (other.n_features_in_, other.nbytes) == (len(frame.columns), model.nbytes)
        assert list(other.schema_.items()) == list(model.schema_.items())
        other.partial_fit(frame, y)
        assert other.to_bytes() != model.to_bytes()
    assert (same.drop, same.learner.memory, same.learner.random_state) == (["zip"], "16KiB", 0)
    model.partial_fit(frame, y)
    assert same.to_bytes() == model.to_bytes()


def test_libsvm(tmp_path):
    file = tmp_path / "rows.svm"
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)).round(3)
    labels = np.where(X[:, 0] > 0, 1, -1)
    lines = [f"{y:+d} " + " ".join(f"{k + 1}:{v}" for k, v in enumerate(row)) for y, row in zip(labels, X, strict=True)]
    file.write_text("\n".join(lines) + "\n")
    for scale in (None, "standard"):
        folder = tmp_path / f"{scale}.run"
        run_job(Job(str(file), scale=scale, parameters={"random_state": 0}), folder)
        model = pocketkernel.load(folder)
        np.testing.assert_allclose(model.decision_function(X), model.decision_function(file), rtol=1e-5, atol=1e-6)
        if scale is None:
            np.testing.assert_array_equal(model.predict(sparse.csr_matrix(X)), model.predict(file))
        same = pocketkernel.load(folder).partial_fit(X, labels.astype(float))
        assert same.learner_._core.save() == model.partial_fit(file).learner_._core.save()


# ---- scikit-learn ---------------------------------------------------------------------------------------------------

NOT_REPEATS = "a row of weight w is one example with its loss scaled by w; w repeats would be w draws and w rounds"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [TableClassifier(random_state=0), TableRegressor(random_state=0), TableClassifier(MOMDS(), random_state=0)],
    expected_failed_checks=lambda estimator: {"check_sample_weight_equivalence_on_dense_data": NOT_REPEATS},
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_tags():
    tags = get_tags(TableClassifier())
    assert tags.estimator_type == "classifier" and tags.classifier_tags.multi_class
    assert tags.input_tags.categorical and tags.input_tags.string and tags.input_tags.allow_nan
    assert tags.input_tags.dict and not tags.input_tags.sparse
    assert tags.target_tags.required
    assert not get_tags(TableClassifier(MOMDS())).classifier_tags.multi_class
    assert get_tags(TableRegressor()).estimator_type == "regressor"


def test_parameters():
    model = TableClassifier(PocketClassifier(lag=False), memory="16KiB", random_state=5, drop=["id"])
    model.set_params(learner__n_classes=4, label="bought")
    assert (model.learner.n_classes, model.label) == (4, "bought")
    frame, y = mixed(100)
    fitted = clone(model).fit(frame, y)
    learner = fitted.learner_
    assert (learner.lag, learner.n_classes, learner.memory, learner.random_state) == (False, 4, "16KiB", 5)
    assert not hasattr(clone(fitted), "learner_")
    assert not hasattr(TableClassifier(MOMDS(loss="hinge")), "predict_proba")
    assert hasattr(TableClassifier(), "predict_proba")


def test_grid_search_and_pipeline():
    frame, _ = mixed(300)
    y = (frame["size"].fillna(5) > 5) | (frame["colour"] == "red")
    grid = {"memory": ["8KiB", "32KiB"], "learner__lag": [True, False]}
    search = GridSearchCV(TableClassifier(PocketClassifier(), random_state=0), grid, cv=3).fit(frame, y)
    assert search.best_score_ > 0.7
    assert cross_val_score(TableClassifier(random_state=0), frame, y, cv=3).mean() > 0.7
    ratio = FunctionTransformer(lambda rows: rows.assign(ratio=rows["size"] / (rows["count"] + 1)))
    model = make_pipeline(ratio, TableClassifier(memory="32KiB", random_state=0)).fit(frame, y)
    assert model.score(frame, y) > 0.75
    assert "ratio" in model[-1].feature_names_in_


def test_weights():
    frame, y = mixed(200)
    keep = np.arange(200) % 3 > 0
    weighted = TableClassifier(random_state=0).partial_fit(frame, y, sample_weight=keep.astype(float))
    assert weighted.learner_.diagnostics_.rounds == keep.sum()
    ones = TableClassifier(random_state=0).partial_fit(frame, y, sample_weight=np.ones(200))
    assert state(ones) == state(TableClassifier(random_state=0).partial_fit(frame, y))


def test_rows_are_not_taken_for_the_next_ones():
    """Unless one says so; of labels that come in turns, the last one tells the next."""
    rows = [{"noise": k * k % 17} for k in range(400)]
    y = ["odd" if k % 2 else "even" for k in range(400)]
    model = TableClassifier(random_state=0).partial_fit(rows, y)
    sure = model.predict_proba(rows[0], continues=True)[0]
    assert sure[0] > 0.9 and sure[0] > model.predict_proba(rows[0])[0, 0] + 0.2
    assert model.predict(rows[:20], continues=True).tolist() == ["even"] * 20
    scores = model.decision_function(rows[:5], continues=True)
    assert np.all(scores != model.decision_function(rows[:5]))
    regressor = TableRegressor(random_state=0).partial_fit(rows, np.arange(400.0))
    assert regressor.predict(rows[0]).shape == (1,)


def test_prediction_is_pure():
    frame, y = mixed(200)
    model = TableClassifier(random_state=0, max_categories=2).fit(frame, y)
    before = pickle.dumps(model)
    model.predict(frame.assign(colour="never seen"))
    model.predict_proba({"size": 1.0})
    assert pickle.dumps(model) == before


@pytest.mark.skipif(sys.platform == "win32", reason="it has no such alarm")
def test_ctrl_c_keeps_what_was_learned_whole():
    """The first rows of a block have been learned: their number says which, and the model is that of these rows."""
    frame, y = mixed(4000)
    slow = PocketClassifier(memory="16MiB", random_state=0)
    model = TableClassifier(slow, scale="standard").partial_fit(frame[:10], y[:10])

    def endless():
        while True:
            model.partial_fit(frame, y)

    assert rung(0.4, endless)[1]
    learned = model.learner_.diagnostics_.rounds - 10
    assert model.predict(frame[:3]).shape == (3,)
    again = TableClassifier(slow, scale="standard").partial_fit(frame[:10], y[:10])
    for _ in range(learned // 4000):
        again.partial_fit(frame, y)
    again.partial_fit(frame[: learned % 4000], y[: learned % 4000])
    assert again.learner_._core.save() == model.learner_._core.save()
