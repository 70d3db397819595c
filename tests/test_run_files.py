"""What a run keeps in its folder: believed field by field, or refused in one line that names file and field."""

import json
import os
import random

import numpy as np
import pytest

import cli_files
from fuzz_runs import join, split
from pocketkernel import ModelFileError, load, model_file
from pocketkernel.cli import main
from pocketkernel.evaluate import Job, Record, RecordError, RunError, load_with_pipeline, run_job
from pocketkernel.evaluate.continued import Continued
from pocketkernel.stream import SCALERS

MODEL, CHECKPOINT = "model.safetensors", "checkpoint.safetensors"


class Killed(BaseException):
    pass


@pytest.fixture
def folder(tmp_path):
    """A run of a table: its folder, with the checkpoint that it had after 60 rows beside the results."""
    cli_files.table(tmp_path / "rows.csv", rows=120, missing=True)
    asked = job(tmp_path)
    folder, other = tmp_path / "run", tmp_path / "other"
    run_job(asked, folder)

    def step(run):
        if run.progress.rows >= 80:
            raise Killed

    with pytest.raises(Killed):
        run_job(asked, other, checkpoint=60, step=step)
    os.replace(other / CHECKPOINT, folder / CHECKPOINT)
    return folder


def job(tmp_path):
    reading = {"label": "kind", "categorical": ["colour"], "missing": "mean", "max_categories": 4}
    return Job(
        str(tmp_path / "rows.csv"), "multiclassmomds", {"budget": 20, "random_state": 0}, reading, "standard", block=20
    )


def edit(file, path, value):
    """Another value for a field of a section, under a good checksum."""
    metadata, tensors = split(file.read_bytes())
    section = "pipeline" if file.name == MODEL else "progress"
    here = root = json.loads(metadata[section])
    *way, last = path
    for key in way:
        here = here[key]
    if value is None:
        del here[last]
    else:
        here[last] = value
    text = json.dumps(root, sort_keys=True, separators=(",", ":"))
    file.write_bytes(join(metadata | {section: text}, tensors))


PIPELINE = {
    ("encoding", "version"): [1, 3, "2", None],
    ("encoding", "missing"): ["drop", 3, ["mean"]],
    ("encoding", "words"): [1, "yes"],
    ("encoding", "id"): [3],
    ("encoding", "label"): ["size", 3],
    ("encoding", "label_is_number"): [1, "yes"],
    ("encoding", "label_decimal"): [";", 1],
    ("encoding", "classes"): [["a"], [1, "a"], "ab", [1, 1], [[1], [2]]],
    ("encoding", "features"): [[], {}, [3], [{"name": "size"}] * 2, "size"],
    ("encoding", "features", 0, "name"): [3, "colour"],
    ("encoding", "features", 0, "total"): ["1", [1]],
    ("encoding", "features", 0, "count"): [-1, 1.5],
    ("encoding", "features", 0, "kind"): ["text", 1, "date", "decimal", "category"],
    ("encoding", "features", 0, "style"): [",", 1],
    ("encoding", "features", 0, "parts"): [["days"], ["hours"], "days"],
    ("encoding", "features", 0, "flag"): [1, False],
    ("encoding", "features", 1, "kind"): ["number", "boolean"],
    ("encoding", "features", 1, "places"): [10**9, 0, -1, 2.0, "4", 2**64],
    ("encoding", "features", 1, "spare"): [10**9, -1, "0"],
    ("encoding", "features", 1, "categories"): [["red", "red"], ["a", "b", "c", "d", "e"], [1], "red", {"red": 0}],
    ("encoding", "new"): [1],
    ("reading", "format"): ["libsvm", "exe", ["csv"], 1],
    ("reading", "delimiter"): ["", ",,", "\n", "é", 3],
    ("reading", "header"): ["yes", 1],
    ("reading", "columns"): ["abc", [1]],
    ("reading", "on_error"): ["skip"],
    ("reading",): [[], "csv", None],
    ("scaler",): ["maxabs", "no", 3, None],
    ("new",): [1],
}


@pytest.mark.parametrize("path", PIPELINE, ids=lambda path: ".".join(map(str, path)))
def test_every_field_of_a_pipeline(folder, path, capsys):
    file = folder / MODEL
    good = file.read_bytes()
    for value in PIPELINE[path]:
        file.write_bytes(good)
        edit(file, path, value)
        for verb in (["predict", str(folder), str(folder.parent / "rows.csv")], ["inspect", str(folder)]):
            assert main(verb) == 1, value
            error = capsys.readouterr().err
            assert error.count("\n") == 1 and f"{MODEL}: " in error
            assert any(str(part) in error for part in path), error
        with pytest.raises(ModelFileError):
            load(file)


PROGRESS = {
    ("fingerprint",): [3, None],
    ("rows",): [0, -1, 61, 10**12, 60.0],
    ("mistakes",): [61, -1, 0.5, 0],
    ("seconds",): [-1.0, "1"],
    ("total",): [-1, "120"],
    ("resumed_at",): [3, [-1], ["a"]],
    ("recorder", "limit"): [1, 3, 2, "2000"],
    ("recorder", "interval"): [0, 3, 2, -1],
    ("recorder", "reports"): [10**9, -1, 0],
    ("recorder", "kernels"): [[], [1], ["a"] * 9, None],
    ("scaler",): ["maxabs", 3, None],
    ("sources",): [3, [1], [["a"]], [["a", 3]]],
    ("new",): [1],
}


@pytest.mark.parametrize("path", PROGRESS, ids=".".join)
def test_every_field_of_a_checkpoint(folder, path):
    file = folder / CHECKPOINT
    good = file.read_bytes()
    for value in PROGRESS[path]:
        file.write_bytes(good)
        edit(file, path, value)
        with pytest.raises(
            RunError, match=r"checkpoint\.safetensors: the checkpoint is damaged .*with force"
        ) as caught:
            run_job(job(folder.parent), folder)
        assert "\n" not in str(caught.value)


def test_damaged_bytes_of_a_checkpoint(folder):
    """Every change is noticed; force begins anew, and gives what an undisturbed run gives."""
    file, whole = folder / CHECKPOINT, (folder / MODEL).read_bytes()
    good, rng = file.read_bytes(), random.Random(3)
    for _ in range(40):
        bad = bytearray(good)
        bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
        file.write_bytes(bad)
        with pytest.raises(RunError, match="checkpoint is damaged"):
            run_job(job(folder.parent), folder)
    for bad in (b"", good[:100], good[:-1], good + b"\0", b"PK\3\4" + bytes(200), (folder / MODEL).read_bytes()):
        file.write_bytes(bad)
        with pytest.raises(RunError, match="checkpoint is damaged"):
            run_job(job(folder.parent), folder)
    assert run_job(job(folder.parent), folder, force=True).resumed_at == []
    assert (folder / MODEL).read_bytes() == whole
    assert not file.exists()


def test_a_checkpoint_is_resumed_from_and_can_be_loaded(folder):
    whole = (folder / MODEL).read_bytes()
    assert load(folder / CHECKPOINT).diagnostics_["rounds"] == 60
    assert run_job(job(folder.parent), folder).resumed_at == [60]
    assert (folder / MODEL).read_bytes() == whole


@pytest.mark.parametrize("name", [MODEL, CHECKPOINT])
def test_a_header_that_claims_much(folder, name):
    """Sizes are compared with that of the file before anything is made of them."""
    metadata, tensors = split((folder / name).read_bytes())
    shapes = {tensor: (dtype, shape) for tensor, (dtype, shape, _) in tensors.items()}
    for shape in ([10 * 2**30 // 8], [2**39], [2**20, 2**20]):
        header = model_file._header(metadata, shapes | {"scaler.sum": ("F64", shape)})
        (folder / name).write_bytes(len(header).to_bytes(8, "little") + header)
        with pytest.raises(ModelFileError, match="truncated: it should have"):
            load(folder / name)
    with (folder / name).open("r+b") as file:  # nor are the holes of a file of that size read
        file.truncate(8 + len(header) + json.loads(header)["state"]["data_offsets"][1])
    with pytest.raises(ModelFileError, match="too large"):
        load(folder / name)


def test_plain_models_are_written_as_before(folder, tmp_path):
    """Version 1, which older versions read; what a run writes is version 2."""
    model, pipeline, _ = load_with_pipeline(folder)
    model.save(tmp_path / "plain")
    assert b'"format_version":"1"' in (tmp_path / "plain").read_bytes()
    assert b'"format_version":"2"' in (folder / MODEL).read_bytes()
    assert load_with_pipeline(tmp_path / "plain")[1] is None
    assert pipeline.feature_names[0] == "size"


def test_what_could_not_be_read_again_is_not_written(folder, tmp_path, monkeypatch):
    """Whatever the reason, a good run is never replaced by one that the same program refuses."""
    (folder / CHECKPOINT).unlink()
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    state = SCALERS["standard"].get_state
    monkeypatch.setattr(
        SCALERS["standard"], "get_state", lambda self: state(self) | {"squares": np.full(self.width, np.nan)}
    )
    for asked, into in (
        (job(tmp_path), tmp_path / "new"),
        (Continued(str(tmp_path / "rows.csv"), folder=folder, again=True), folder),
    ):
        with pytest.raises(RunError, match=r"nothing was written.*scaler\.squares is impossible"):
            run_job(asked, into)
    assert not (tmp_path / "new").exists()
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    monkeypatch.undo()
    loaded = load(folder)
    monkeypatch.setattr(SCALERS["standard"], "get_state", lambda self: {**state(self), "clip": np.array(-1.0)})
    with pytest.raises(ModelFileError, match=r"scaler\.clip is impossible"):
        loaded.save(folder)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


@pytest.mark.parametrize("kind", SCALERS)
def test_a_scaler_that_no_rows_lead_to(kind):
    scaler = SCALERS[kind]()
    scaler.transform_then_learn(np.array([[1.0, -2.0], [3.0, 5.0]]))
    good = scaler.get_state()
    for name, array in good.items():
        for bad in (array * np.nan, array * -np.inf, array[None], array.astype(np.float32), -1e300 * (1 + abs(array))):
            with pytest.raises(ModelFileError, match="scaler"):
                SCALERS[kind]().set_state({**good, name: bad})
        if name == "seen":  # files from before values could be missing do not have it
            continue
        with pytest.raises(ModelFileError, match=f"scaler.{name} is missing"):
            SCALERS[kind]().set_state({other: value for other, value in good.items() if other != name})
    assert SCALERS[kind]().set_state(SCALERS[kind]().get_state()).count == 0


# ---- records --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000, '{"a":' * 100_000, "9" * 5000, "NaN", "null", "[]", '{"kind":"pocketkernel record"}', "", "\0",
        '{"kind":"pocketkernel record","version":1,"settings":[],"curve":{}}',
        '{"kind":"pocketkernel record","version":1,"settings":{},"curve":{}}',
        '{"kind":"pocketkernel record","version":1,"settings":{},"settings":{},"curve":{}}',
    ],
    ids=lambda text: text[:70],
)  # fmt: skip
def test_a_damaged_record(folder, text):
    (folder / "record.json").write_text(text)
    (folder / CHECKPOINT).unlink()
    with pytest.raises(RecordError):
        Record.read(folder)
    if '"settings":{},"curve"' not in text:  # the settings alone say whether it is the same run
        with pytest.raises(RunError, match=r"record\.json .*start again with force"):
            run_job(job(folder.parent), folder)
    run_job(job(folder.parent), folder, force=True)
    assert Record.read(folder).curve.rows[-1] == 120


@pytest.mark.parametrize("field", ["file", "points", "kernels", "sha256"])
def test_fields_of_a_record(folder, field):
    good = json.loads((folder / "record.json").read_text())
    for value in (None, [], {}, -1, 10**9, 1.5, "x", [1]):
        bad = json.loads(json.dumps(good))
        bad["curve"][field] = value
        (folder / "record.json").write_text(json.dumps(bad))
        with pytest.raises(RecordError):
            Record.read(folder)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_record_that_is_a_pipe(folder):
    (folder / "record.json").unlink()
    os.mkfifo(folder / "record.json")
    with pytest.raises(RecordError, match="regular file"):
        Record.read(folder)
