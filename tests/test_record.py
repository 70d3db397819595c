"""What a run leaves behind: written, read, thinned, saved and resumed to the last bit."""

import json
import math
import os
import sys
from importlib.util import find_spec
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import streams
from pocketkernel import MOMDH, MOMDS, Gaussian, Linear, LKMBooks, PocketClassifier, PocketRegressor, Raker
from pocketkernel.evaluate import (
    Curve,
    Progress,
    Record,
    Recorder,
    RecordError,
    progressive,
    settings_of,
)
from pocketkernel.evaluate.curve import COLUMNS
from pocketkernel.evaluate.metrics import ClassificationMetrics, RegressionMetrics
from pocketkernel.evaluate.progressive import follow, follow_values
from pocketkernel.evaluate.recorder import kernel_names
from pocketkernel.lab.demo.baselines import Majority, OnlineLinear

X, y = streams.rings(1003)
FORMATS = [
    "csv",
    pytest.param("parquet", marks=pytest.mark.skipif(find_spec("pyarrow") is None, reason="pyarrow is not installed")),
]
STRANGE = [math.nan, math.inf, -math.inf, -0.0, 5e-324, 1.7976931348623157e308, 0.1 + 0.2, 1 / 3]


def curve(points=8, kernels=("gaussian 0.5", "linear"), seed=0):
    rng = np.random.default_rng(seed)
    whole = {name: rng.integers(0, 2**62, points) for name, kind in COLUMNS.items() if kind is np.int64}
    broken = {name: rng.permutation(STRANGE)[:points] for name, kind in COLUMNS.items() if kind is np.float64}
    whole["rows"] = np.arange(1, points + 1) * 2**58
    return Curve(**whole, **broken, weights=rng.random((points, len(kernels))), kernels=kernels)


def record(**others):
    return Record({"learner": "M-OMD-S", "seed": 3, "nested": {"list": [1, 2.5, None, "é"]}}, curve(**others))


# ---- written and read -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("kernels", [(), ("a",), ('a, "b"', "new\nline", "über 1"), tuple(map(str, range(40)))])
@pytest.mark.parametrize("points", [0, 1, 8])
def test_round_trip(tmp_path, format, kernels, points):
    written = record(points=points, kernels=kernels)
    written.write(tmp_path / "deep" / "run", format=format)
    assert Record.read(tmp_path / "deep" / "run") == written
    assert sorted(path.name for path in (tmp_path / "deep" / "run").iterdir()) == [f"curve.{format}", "record.json"]


@given(st.lists(st.floats(width=64, allow_nan=False), max_size=20))
def test_text_keeps_every_bit(tmp_path_factory, numbers):
    n = len(numbers)
    columns = {name: np.arange(1, n + 1) for name in COLUMNS} | {"loss": numbers}
    written = Record({}, Curve(**columns, weights=np.array(numbers).reshape(n, 1), kernels=("k",)))
    folder = tmp_path_factory.mktemp("run")
    written.write(folder, format="csv")
    assert Record.read(folder) == written


def test_text_can_be_read_by_others(tmp_path):
    record(kernels=("a", "b")).write(tmp_path, format="csv")
    header, *lines = (tmp_path / "curve.csv").read_text().splitlines()
    expected = "rows,mistakes,loss,seconds,nbytes,stored,additions,proxies,removals,weight: a,weight: b"
    assert header == expected
    assert len(lines) == 8
    about = json.loads((tmp_path / "record.json").read_text())
    assert about["settings"]["nested"]["list"][3] == "é"


def test_a_record_is_replaced(tmp_path):
    record(seed=1).write(tmp_path, format="csv")
    (tmp_path / "curve.parquet").write_bytes(b"of an older run")
    (tmp_path / "mine.txt").write_text("not of the record")
    record(seed=2).write(tmp_path, format="csv")
    assert Record.read(tmp_path) == record(seed=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["curve.csv", "mine.txt", "record.json"]


def test_a_failed_write_leaves_the_old_record(tmp_path, monkeypatch):
    record(seed=1).write(tmp_path, format="csv")

    def full_disk(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space"):
        record(seed=2).write(tmp_path, format="csv")
    monkeypatch.undo()
    assert Record.read(tmp_path) == record(seed=1)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_stop_between_the_two_files_is_noticed(tmp_path, monkeypatch):
    record(seed=1).write(tmp_path, format="csv")
    replace = os.replace

    def stop_before_the_settings(source, target):
        if os.fspath(target).endswith("record.json"):
            raise KeyboardInterrupt
        replace(source, target)

    monkeypatch.setattr(os, "replace", stop_before_the_settings)
    with pytest.raises(KeyboardInterrupt):
        record(seed=2).write(tmp_path, format="csv")
    with pytest.raises(RecordError, match="checksum"):
        Record.read(tmp_path)


def damage(folder, what):
    about = folder / "record.json"
    data = json.loads(about.read_text())
    if what == "no folder":
        about.unlink()
        (folder / "curve.csv").unlink()
        folder.rmdir()
    elif what == "no json":
        about.unlink()
    elif what == "torn json":
        about.write_text(about.read_text()[:-30])
    elif what == "binary json":
        about.write_bytes(b"\xff\xfe\x00")
    elif what == "foreign json":
        about.write_text('{"name": "package"}')
    elif what == "list":
        about.write_text("[1, 2]")
    elif what == "version":
        about.write_text(json.dumps(data | {"version": 99}))
    elif what == "part missing":
        about.write_text(json.dumps({key: data[key] for key in data if key != "curve"}))
    elif what == "elsewhere":
        about.write_text(json.dumps(data | {"curve": data["curve"] | {"file": "../secret"}}))
    elif what == "kernels":
        about.write_text(json.dumps(data | {"curve": data["curve"] | {"kernels": ["other"]}}))
    elif what == "points":
        about.write_text(json.dumps(data | {"curve": data["curve"] | {"points": 7}}))
    elif what == "no curve":
        (folder / "curve.csv").unlink()
    elif what == "torn curve":
        (folder / "curve.csv").write_bytes((folder / "curve.csv").read_bytes()[:-5])


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("no folder", "does not contain a record"),
        ("no json", r"no record\.json in it"),
        ("torn json", "not valid JSON"),
        ("binary json", "not valid JSON"),
        ("foreign json", "not the record of a run"),
        ("list", "not the record of a run"),
        ("version", "has version 99, but this program reads versions 1 and 2"),
        ("part missing", "curve is missing or unknown"),
        ("elsewhere", "curve.file cannot be '../secret'"),
        ("kernels", "its columns are rows, "),
        ("points", "8 points, not 7"),
        ("no curve", "cannot be read: No such file"),
        ("torn curve", "damaged or of another run"),
    ],
)
def test_damage_is_named(tmp_path, what, message):
    folder = tmp_path / "run"
    record().write(folder, format="csv")
    damage(folder, what)
    with pytest.raises(RecordError, match=message) as caught:
        Record.read(folder)
    assert str(folder) in str(caught.value)


def test_a_file_is_no_record(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordError, match="does not contain a record"):
        Record.read(tmp_path / "file")


def test_parquet_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ModuleNotFoundError, match=r"Parquet needs pyarrow: pip install 'pocketkernel\[files\]'"):
        record().write(tmp_path, format="parquet")
    record().write(tmp_path, format="csv")


def test_bad_records_are_refused(tmp_path):
    with pytest.raises(ValueError, match="format='xls' is unknown"):
        record().write(tmp_path, format="xls")
    for settings in ({"a": object()}, {"a": math.nan}, {"a": (1, 2)}, {1: 2}):
        with pytest.raises(ValueError, match="JSON"):
            Record(settings, curve())
    columns = {name: np.arange(1, 4) for name in COLUMNS}
    with pytest.raises(ValueError, match="differ in length"):
        Curve(**columns | {"loss": [0.0]}, weights=np.empty((3, 0)), kernels=())
    with pytest.raises(ValueError, match="must increase"):
        Curve(**columns | {"rows": [1, 1, 2]}, weights=np.empty((3, 0)), kernels=())


def test_equal_means_every_bit():
    assert record() == record()
    assert record() != record(seed=1)
    assert record(kernels=("a", "b")) != record(kernels=("a", "c"))
    assert curve() != "curve"


@pytest.mark.parametrize("window", [1, 10, 100, 250, 10_000])
def test_window_against_a_direct_count(window):
    rng = np.random.default_rng(window)
    wrong = rng.random(1000) < 0.3
    rows = np.unique(rng.integers(1, 1001, 60))
    columns = {name: np.arange(len(rows)) for name in COLUMNS} | {"rows": rows, "mistakes": np.cumsum(wrong)[rows - 1]}
    got = Curve(**columns, weights=np.empty((len(rows), 0)), kernels=()).window_mistake_rate(window)
    for n, rate in enumerate(got):
        begin = max((row for row in (0, *rows) if row <= max(rows[n] - window, 0)), default=0)
        assert rate == wrong[begin : rows[n]].mean()


# ---- the recorder ---------------------------------------------------------------------------------------------------

MODELS = {
    "m_omd_s": lambda: MOMDS(budget=50, random_state=0),
    "m_omd_h": lambda: MOMDH(budget=50, kernels=[Gaussian(1), Linear()], random_state=0),
    "lkm_books": lambda: LKMBooks(budget=50, horizon=1003, random_state=0),
    "raker": lambda: Raker(features=50, random_state=0),
    "linear": OnlineLinear,
    "majority": Majority,
}


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_the_recorder_notes_what_the_model_says(make):
    model, recorder = make(), Recorder()
    for n, progress in enumerate(progressive(model, X, y, block=100)):
        recorder.add(model, progress)
        now = recorder.curve()
        assert len(now) == n + 1
        assert (now.rows[-1], now.mistakes[-1]) == (progress.rows, progress.mistakes)
        assert now.seconds[-1] == progress.seconds
        assert now.nbytes[-1] == model.nbytes
        if hasattr(model, "diagnostics_"):
            done = model.diagnostics_
            assert now.loss[-1] == done.cumulative_loss
            assert now.stored[-1] == done.stored.mean()
            assert [getattr(now, name)[-1] for name in ("additions", "proxies", "removals")] == [
                done.additions, done.proxies, done.removals,
            ]  # fmt: skip
            np.testing.assert_array_equal(now.weights[-1], model.kernel_weights_)
            assert now.kernels == kernel_names(model)
        else:
            assert np.isnan(now.loss[-1])
            assert now.kernels == ()


class Counter:
    """A model that has learned nothing but how many reports there were."""

    nbytes, reports = 1, 1

    @property
    def kernel_weights_(self):
        return np.array([1 / self.reports, 1 - 1 / self.reports])


def report(n):
    return Progress(10 * n, n, 10, 1, n / 3)


def fill(recorder, first, last):
    model = Counter()
    for n in range(first, last):
        model.reports = n
        recorder.add(model, report(n))
    return recorder


@pytest.mark.parametrize("limit", [2, 4, 10, 50])
def test_memory_is_bounded_and_points_are_even(limit):
    recorder = Recorder(limit=limit)
    for n in range(1, 500):
        fill(recorder, n, n + 1)
        rows = recorder.curve().rows
        assert len(rows) <= limit + 1
        assert rows[-1] == 10 * n
        if n > limit:
            assert len(rows) >= limit // 2
        gaps = np.diff(rows[:-1], prepend=0)
        assert len(set(gaps.tolist())) <= 1
        assert n <= limit or 0 < rows[-1] - (rows[-2] if len(rows) > 1 else 0) <= gaps[0]


def test_thinning_changes_no_point():
    whole, thin = fill(Recorder(), 1, 300).curve(), fill(Recorder(limit=20), 1, 300).curve()
    kept = np.searchsorted(whole.rows, thin.rows)
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(thin, name), getattr(whole, name)[kept])
    np.testing.assert_array_equal(thin.weights, whole.weights[kept])


def through_json(state):
    """What a checkpoint does: arrays as bytes, the rest as JSON."""
    arrays = {key: value.copy() for key, value in state.items() if isinstance(value, np.ndarray)}
    rest = json.loads(json.dumps({key: value for key, value in state.items() if key not in arrays}))
    return arrays | rest


def test_resume_at_every_moment():
    whole = fill(Recorder(limit=6), 1, 60)
    for stop in range(1, 60):
        recorder = Recorder.restore(through_json(fill(Recorder(limit=6), 1, stop).state()))
        fill(recorder, stop, 60)
        assert recorder.curve() == whole.curve(), f"stopped before report {stop}"
        again, state = recorder.state(), whole.state()
        assert again.keys() == state.keys()
        for key, value in state.items():
            np.testing.assert_array_equal(again[key], value)


def test_resume_with_a_learner():
    def run(resume):
        model, recorder, progress = MOMDS(budget=50, random_state=0), Recorder(limit=4), None
        for n, progress in enumerate(progressive(model, X, y, block=50)):
            recorder.add(model, Progress(progress.rows, progress.mistakes, 1, 1, 0.0))
            if resume and n % 3 == 0:
                recorder = Recorder.restore(through_json(recorder.state()))
        return recorder.curve()

    assert run(True) == run(False)


@pytest.mark.parametrize("block", [1, 37, 500, 4096, 100_000])
@pytest.mark.parametrize("rows", [891, 5000, 60_000])
def test_points_within_blocks(block, rows):
    """About 200 points, whatever the block, and few interruptions; 32 or more of one or two blocks."""
    if rows // block > 2000:
        pytest.skip("too many blocks")
    recorder, model, interruptions = Recorder(limit=256), Counter(), 0
    for start in range(0, rows, block):
        parts = recorder.parts(start, min(block, rows - start))
        assert parts[0].start == 0 and parts[-1].stop == min(block, rows - start)
        assert all(one.stop == two.start for one, two in pairwise(parts))
        assert len(parts) <= 66
        for part in parts:
            recorder.add(model, Progress(start + part.stop, 0, 0, 0, 0.0))
        interruptions += len(parts) - 1
    at = recorder.curve().rows
    assert (32 if 2 * block > rows else 100) <= len(at) <= 257
    assert at[-1] == rows
    assert len(set(np.diff(at[:-1], prepend=0).tolist())) == 1
    assert interruptions <= 256 + 128 * np.log2(max(rows / 256, 1))


@pytest.mark.parametrize("make", [PocketClassifier, MOMDS, PocketRegressor])
def test_points_within_blocks_change_nothing(make):
    targets = X[:, 0] if make is PocketRegressor else y
    blocks = [(X[:400], targets[:400]), (X[400:], targets[400:])]

    def run(recorder):
        model = make(memory="16KiB", random_state=0)
        if make is PocketRegressor:
            metrics = RegressionMetrics()
            *_, last = follow_values(model, blocks, metrics=metrics, notes=recorder)
        else:
            linear = make is PocketClassifier
            metrics = ClassificationMetrics(["-1", "1"], probabilities=linear, linear=linear)
            *_, last = follow(model, blocks, y, metrics=metrics, notes=recorder)
        return model.to_bytes(), metrics.results(), last.scores, last.mistakes

    recorder = Recorder(limit=256)
    plain, noted = run(None), run(recorder)
    assert plain[0] == noted[0] and plain[1] == noted[1] and plain[3] == noted[3]
    np.testing.assert_array_equal(plain[2], noted[2])
    curve = recorder.curve()
    assert len(curve) > 50 and curve.rows[-1] == len(X) and curve.mistakes[-1] == plain[3]
    assert len(np.unique(curve.weights, axis=0)) > 20


def test_a_recorder_follows_one_run():
    recorder = fill(Recorder(), 1, 10)
    with pytest.raises(ValueError, match="at row 90 but the curve is at row 90"):
        recorder.add(Counter(), report(9))
    with pytest.raises(ValueError, match="has 0 kernel weights, but had 2"):
        recorder.add(Majority(), report(20))
    for limit in (0, 1, 7, -2):
        with pytest.raises(ValueError, match=f"limit={limit} cannot be halved"):
            Recorder(limit=limit)


def test_kernels_have_different_names():
    model = MOMDS(kernels=[Gaussian(1), Gaussian(1), Linear(), Gaussian(1)], budget=10).fit(X, y)
    assert kernel_names(model) == ("gaussian 1", "gaussian 1 (2)", "linear", "gaussian 1 (3)")
    assert kernel_names(Counter()) == ("kernel 1", "kernel 2")
    assert kernel_names(Majority()) == ()


# ---- settings -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_settings_are_json(make):
    model = make()
    model.predict_then_learn(X, y)
    settings = settings_of(model, name="one", source="rings", seed=7, command="pocketkernel run", fold=np.int64(3))
    Record(settings, curve())
    assert settings["learner"] == "one"
    assert settings["fold"] == 3
    assert settings["classes"] == [-1, 1]
    assert {"pocketkernel", "python", "numpy"} <= settings["versions"].keys()
    assert settings["level"] in ("base", "avx2")
    if hasattr(model, "diagnostics_"):
        assert settings["features"] == X.shape[1]
        assert settings["budget"] == 50


def test_settings_of_odd_parameters():
    odd = MOMDS(kernels=(Gaussian(0.5),), memory="2KiB", step=np.float32(2), random_state=np.random.default_rng(0))
    settings = settings_of(odd, limits=(1, math.inf), where={1: np.arange(2)})
    Record(settings, curve())
    assert settings["parameters"]["kernels"] == ["Gaussian(width=0.5)"]
    assert settings["parameters"]["step"] == 2.0
    assert settings["promised_bytes"] == 2048
    assert settings["limits"] == [1, "inf"]
    assert settings["where"] == {"1": [0, 1]}


def test_the_level_is_the_one_in_use(monkeypatch):
    monkeypatch.setenv("POCKETKERNEL_LEVEL", "base")
    assert settings_of(Majority())["level"] == "base"
