"""`pocketkernel.load` of a run's folder: the model with its pipeline, ready for raw rows."""

import csv
import datetime as dt
import io

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import pocketkernel
from pocketkernel.evaluate import Job, RawModel, load_with_pipeline, run_job
from pocketkernel.model_file import ModelFileError
from pocketkernel.stream import StreamError

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


def expected(folder, file):
    model, pipeline, _ = load_with_pipeline(folder)
    return np.concatenate([model.predict_proba(X, continues=False) for X in pipeline.rows(pipeline.open(str(file)))])


def unlabelled(file):
    with open(file) as opened:
        rows = list(csv.DictReader(opened, delimiter=";"))
    return [{name: value for name, value in row.items() if name != "kind"} for row in rows]


def test_rows_of_every_kind(fruit):
    folder, file = fruit
    model = pocketkernel.load(folder)
    assert isinstance(model, RawModel)
    chances = expected(folder, file)
    rows = unlabelled(file)
    typed = [row | {"size": float(row["size"]), "price": float(row["price"].replace(",", ".")),
                    "sold": dt.date.fromisoformat(row["sold"]), "new": row["new"] == "True",
                    "weight": float(row["weight"]) if row["weight"] else None} for row in rows]  # fmt: skip
    frame = pd.DataFrame(typed)
    given = {
        "file": file,
        "text": str(file),
        "opened": io.BytesIO(file.read_bytes()),
        "dicts": rows,
        "typed": typed,
        "pandas": frame,
        "polars": pl.DataFrame(typed),
        "times": frame.assign(sold=pd.to_datetime(frame.sold)),
    }
    for name, some in given.items():
        np.testing.assert_array_equal(model.predict_proba(some), chances, err_msg=name)
    for row, chance in zip(typed[:5], chances, strict=False):
        np.testing.assert_array_equal(model.predict_proba(row), [chance])
        assert model.predict(row).tolist() == [model.model.classes_[chance.argmax()]]
    assert model.decision_function(typed).shape == (60,)


def test_learning_goes_on(fruit, tmp_path):
    folder, file = fruit
    by_file, by_dicts, by_y, one_by_one = (pocketkernel.load(folder) for _ in range(4))
    rows, labels = unlabelled(file), [row["kind"] for row in people_write(60, seed=1)]
    by_file.learn(file)
    by_dicts.learn([row | {"kind": label} for row, label in zip(rows, labels, strict=True)])
    by_y.learn(rows, labels)
    for row, label in zip(rows, labels, strict=True):
        one_by_one.learn(row, label)
    assert by_file.to_bytes() != pocketkernel.load(folder).to_bytes()
    for other in (by_dicts, by_y, one_by_one):
        np.testing.assert_array_equal(by_file.predict_proba(rows), other.predict_proba(rows))
        assert by_file.model._core.save() == other.model._core.save()
    by_y.save(tmp_path / "again.run")
    assert pocketkernel.load(tmp_path / "again.run").to_bytes() == by_y.to_bytes()


def test_a_new_category_is_learned(fruit):
    model = pocketkernel.load(fruit[0])
    row = unlabelled(fruit[1])[0] | {"colour": "violet"}
    model.learn([row] * 60, ["pear"] * 60)
    model.learn([row | {"colour": "black"}] * 60, ["apple"] * 60)
    assert model.predict(row | {"colour": "violet"}).shape == (1,)
    assert model.pipeline.encoding != pocketkernel.load(fruit[0]).pipeline.encoding


def test_what_is_refused(fruit, tmp_path):
    model = pocketkernel.load(fruit[0])
    row = unlabelled(fruit[1])[0]
    before = model.to_bytes()
    with pytest.raises(StreamError, match="size"):
        model.predict(row | {"size": "large"})
    with pytest.raises(StreamError, match="size"):
        model.learn([row, row | {"size": "large"}], ["pear", "apple"])
    with pytest.raises(ValueError, match="give one label per row"):
        model.learn([row, row], ["pear"])
    with pytest.raises(StreamError, match="the rows: expected a column 'kind'"):
        model.learn(row)
    with pytest.raises(ValueError, match="in the files"):
        model.learn(fruit[1], ["pear"])
    for odd in (3, [], [1, 2]):
        with pytest.raises(ValueError, match="rows"):
            model.predict(odd)
    assert model.to_bytes() == before
    with pytest.raises(FileNotFoundError, match="not the folder of a finished run"):
        pocketkernel.load(tmp_path)
    pocketkernel.PocketClassifier(random_state=0).fit([[0.0], [1.0]], [0, 1]).save(tmp_path / "model.safetensors")
    with pytest.raises(ModelFileError, match="does not contain how to read rows"):
        pocketkernel.load(tmp_path)


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
        same = pocketkernel.load(folder).learn(X, labels.astype(float))
        assert same.model._core.save() == model.learn(file).model._core.save()


def test_numbers(tmp_path):
    rows = [row | {"size": row["size"], "target": 2 * row["size"] + 1} for row in people_write(300)]
    file = write(tmp_path / "numbers.csv", rows)
    job = Job(
        str(file), task="regression", parameters={"random_state": 0}, reading={"label": "target", "strict": False}
    )
    run_job(job, tmp_path / "numbers.run")
    model = pocketkernel.load(tmp_path / "numbers.run")
    low, high = model.predict_interval(rows[:20], coverage=0.8).T
    answers = model.predict(rows[:20])
    assert np.all((low <= answers) & (answers <= high))
    model.learn(rows[:5])
    assert model.model.diagnostics_.rounds == 305
