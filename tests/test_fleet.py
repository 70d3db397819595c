"""A fleet is many separate models: the same bits, whatever the blocks, threads, evictions, crashes."""

import copy
import csv
import errno
import io
import json
import os
import pickle
import signal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from sklearn.base import clone

from alarm import rung, rung_in_the_middle
from pocketkernel import (
    MOMDH,
    MOMDS,
    LKMBooks,
    MulticlassMOMDS,
    PocketClassifier,
    PocketRegressor,
    Raker,
    SharedMOMDH,
)
from pocketkernel.cli import main
from pocketkernel.fleet import Fleet, FleetStoreError, FolderStore
from pocketkernel.kernels import Gaussian

LEARNERS = [
    MOMDS(budget=12, random_state=0),
    MOMDH(budget=12, random_state=0),
    SharedMOMDH(budget=12, random_state=0),
    LKMBooks(budget=12, horizon=500, random_state=0),
    Raker(memory="8KiB", random_state=0),
    MulticlassMOMDS(budget=12, random_state=0),
    PocketClassifier(memory="4KiB", random_state=0),
    PocketRegressor(memory="8KiB", random_state=0),
]
POCKET = PocketClassifier(memory="4KiB", random_state=0)


def keyed(rows=600, keys=15, seed=0):
    """A stream of keys, rows and labels; half of the keys have the labels exchanged."""
    rng = np.random.default_rng(seed)
    of = np.minimum(rng.zipf(1.3, rows), keys)
    X = rng.normal(size=(rows, 3))
    return of, X, ((X[:, 0] > 0) ^ (of % 2 == 0)).astype(int)


def fleet_of(learner=POCKET, **given):
    classes = None if isinstance(learner, PocketRegressor) else [0, 1]
    return Fleet(learner, features=3, classes=classes, **given)


def fed(fleet, stream, block=100, first=0):
    """Feed a stream from some row on, in blocks; the scores."""
    keys, X, y = stream
    parts = [slice(at, at + block) for at in range(first, len(keys), block)]
    return np.concatenate([fleet.predict_then_learn(keys[s], X[s], y[s], offset=s.stop) for s in parts])


def same(one, other):
    """Whether two fleets have the same models."""
    return sorted(one) == sorted(other) and all(one[key].to_bytes() == other[key].to_bytes() for key in one)


# ---- bits -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_models_are_those_of_separate_learners(learner, is_sparse):
    keys, X, y = keyed()
    rows = sparse.csr_matrix(X) if is_sparse else X
    fleet = fleet_of(learner, n_jobs=2)
    scores = fleet.predict_then_learn(keys, rows, y)
    assert len(fleet) == len(set(keys.tolist())) > 5
    for key in set(keys.tolist()):
        alone, mine = clone(learner), keys == key
        more = {} if isinstance(learner, PocketRegressor) else {"classes": [0, 1]}
        assert np.array_equal(scores[mine], alone.predict_then_learn(rows[mine], y[mine], **more))
        assert fleet[key].to_bytes() == alone.to_bytes()
        assert np.array_equal(fleet.predict(keys[mine][:5], rows[mine][:5]), alone.predict(rows[mine][:5]))


@pytest.mark.parametrize("given", [{}, {"base": "shared"}, {"max_keys": 4}, {"max_keys": 4, "base": "shared"}], ids=str)
def test_blocks_and_threads_do_not_matter(given):
    stream = keyed()
    whole, rows = fleet_of(n_jobs=1, **given), fleet_of(n_jobs=2, **given)
    assert np.array_equal(fed(whole, stream, 600), fed(rows, stream, 1))
    assert same(whole, rows)
    assert whole.evicted == rows.evicted
    assert (whole.evicted > 50) == ("max_keys" in given)


def test_a_shared_base_is_a_model_of_all_rows():
    keys, X, y = keyed()
    fleet = fleet_of(base="shared")
    fleet.partial_fit(keys, X, y)
    alone = clone(POCKET).partial_fit(X, y, classes=[0, 1])
    assert np.array_equal(fleet.decision_function([-1] * 600, X), alone.decision_function(X))
    late = np.flatnonzero(keys == keys[-1])[0]  # its model began as a copy of what the base was then
    copy = clone(POCKET).partial_fit(X[:late], y[:late], classes=[0, 1]) if late else clone(POCKET)
    mine = keys == keys[-1]
    copy.partial_fit(X[mine], y[mine], classes=[0, 1])
    assert fleet[int(keys[-1])].to_bytes() == copy.to_bytes()


def test_a_given_base():
    keys, X, y = keyed()
    base = clone(POCKET).partial_fit(X, y, classes=[0, 1])
    fleet = fleet_of(base=base)
    assert np.array_equal(fleet.decision_function(keys, X), base.decision_function(X))
    fleet.partial_fit(keys[:1], X[:1], y[:1])
    base.partial_fit(X[:1], y[:1])
    assert fleet[int(keys[0])].to_bytes() == base.to_bytes()
    with pytest.raises(ValueError, match="differently"):
        fleet_of(base=PocketClassifier(memory="8KiB").fit(X, y))


def test_all_models_have_one_seed(tmp_path):
    keys, X, y = keyed()
    random = PocketClassifier(memory="4KiB")  # random_state=None
    with fleet_of(random, store=tmp_path / "fleet") as fleet:
        fleet.partial_fit(keys, X, y)
        expected = fleet.decision_function(keys, X)
    for again in (lambda: Fleet.load(tmp_path / "fleet"), lambda: fleet_of(random, store=tmp_path / "fleet")):
        with again() as fleet:
            assert np.array_equal(fleet.decision_function(keys, X), expected)
    base = clone(random).partial_fit(X, y, classes=[0, 1])
    assert np.array_equal(fleet_of(random, base=base).decision_function(keys, X), base.decision_function(X))
    with pytest.raises(ValueError, match="another seed"):
        fleet_of(random)["a"] = base


@pytest.mark.parametrize("learner", [POCKET, MOMDS(budget=12, random_state=0)], ids=lambda one: type(one).__name__)
def test_weights_of_classes(learner, tmp_path):
    keys, X, y = keyed()
    weighed = clone(learner).set_params(class_weight={0: 0.5, 1: 7.0})
    sample_weight = np.random.default_rng(5).uniform(0, 3, len(y))
    with fleet_of(weighed, store=tmp_path / "fleet") as fleet:
        scores = fleet.predict_then_learn(keys, X, y, sample_weight)
    with Fleet.load(tmp_path / "fleet") as again:
        for key in set(keys.tolist()):
            alone, mine = clone(weighed), keys == key
            expected = alone.predict_then_learn(X[mine], y[mine], [0, 1], sample_weight[mine])
            assert np.array_equal(scores[mine], expected)
            assert again[key].to_bytes() == alone.to_bytes()


@pytest.mark.parametrize("base", [None, "shared"])
@pytest.mark.parametrize("learner", LEARNERS[:-1], ids=lambda one: type(one).__name__)
def test_balanced_classes(learner, base, tmp_path):
    """Every model weighs by its own rows; one that began as a copy of the base, by those of the base before them."""
    keys, X, y = keyed()
    y &= X[:, 1] > 0.3
    sample_weight = np.random.default_rng(5).uniform(-1, 3, len(y)).clip(0)  # some rows are not learned
    weighed = clone(learner).set_params(class_weight="balanced")
    store = FolderStore(tmp_path / "fleet", sync_every=50, log_bytes=20_000)
    scores = []
    with fleet_of(weighed, store=store, base=base, max_keys=6, n_jobs=2) as fleet:
        for some in (slice(0, 210), slice(210, 600)):
            scores.append(fleet.predict_then_learn(keys[some], X[some], y[some], sample_weight[some]))
    scores = np.concatenate(scores)
    with Fleet.load(tmp_path / "fleet") as again:
        for key in set(keys.tolist()):
            alone, mine = clone(weighed), keys == key
            first = np.flatnonzero(mine)[0]
            if base == "shared" and first > 0:
                alone.partial_fit(X[:first], y[:first], [0, 1], sample_weight[:first])
            assert np.array_equal(scores[mine], alone.predict_then_learn(X[mine], y[mine], [0, 1], sample_weight[mine]))
            assert again[key].to_bytes() == alone.to_bytes()
        model = again[1]
        again[1234] = model
        assert again[1234].to_bytes() == model.to_bytes()
    plain = fleet_of(learner)
    plain.partial_fit(keys, X, y, sample_weight)
    assert not np.array_equal(plain.decision_function([1], X[:1]), model.decision_function(X[:1]))


def test_a_balanced_base_keeps_its_counts(tmp_path):
    keys, X, y = keyed()
    weighed = clone(POCKET).set_params(class_weight="balanced")
    base = clone(weighed).partial_fit(X, y, classes=[0, 1])
    fleet_of(weighed, base=base, store=tmp_path / "fleet").close()
    with Fleet.load(tmp_path / "fleet") as fleet:
        fleet.partial_fit(keys[:1], X[:1], y[:1])
        base.partial_fit(X[:1], y[:1])
        assert fleet[int(keys[0])].to_bytes() == base.to_bytes()


@pytest.mark.parametrize(
    ("learner", "stored"),
    [
        (POCKET, lambda w: (32 * w).astype(np.int8)),
        (PocketRegressor(memory="8KiB", random_state=0), lambda w: (32 * w).astype(np.int8)),
        (Raker(features=32, random_state=0), lambda w: w.astype(np.float32)),
    ],
    ids=lambda given: type(given).__name__,
)
def test_frequencies_are_shared_by_all_models(learner, stored):
    fleet = fleet_of(learner)
    fleet.partial_fit(["a"], [[1.0, 2.0, 3.0]], [1])
    lanes = stored(fleet["a"].frequencies_.reshape(-1, 16, 3).transpose(0, 2, 1))
    assert lanes.any()
    assert lanes.tobytes() not in fleet["a"].to_bytes()


@pytest.mark.parametrize("given", [{}, {"base": "shared"}, {"max_keys": 4}], ids=str)
def test_mapped_slabs_give_the_same_bits(given, tmp_path):
    stream = keyed()
    with (
        fleet_of(store=tmp_path / "one", **given) as one,
        fleet_of(store=tmp_path / "two", slabs="mapped", **given) as other,
    ):
        assert np.array_equal(fed(one, stream, 250), fed(other, stream, 250))
        assert same(one, other)
        assert sorted(os.listdir(tmp_path / "one")) == sorted(os.listdir(tmp_path / "two"))  # the file has no name
        one.snapshot()
    with Fleet.load(tmp_path / "one", slabs="mapped") as again:
        assert same(again, other)


def test_mapped_slabs_grow_and_a_full_disk_is_an_error(tmp_path, monkeypatch):
    def full(*given):
        raise OSError(errno.ENOSPC, "full")

    with fleet_of(store=tmp_path / "fleet", slabs="mapped") as fleet:
        core = fleet._models.core
        most = core.capacity - 1  # the first slot is the base's
        X, y = np.zeros((most, 3)), np.zeros(most, dtype=int)
        fleet.partial_fit(range(most), X, y)
        assert core.capacity == core.slots_per_slab
        monkeypatch.setattr(os, "posix_fallocate", full)
        with pytest.raises(OSError, match="full"):
            fleet.partial_fit([0, -1, -2], X[:3], y[:3])
        assert (len(fleet), fleet.clock) == (most, most)
        monkeypatch.undo()
        fleet.partial_fit([0, -1, -2], X[:3], y[:3])
        assert core.capacity == 2 * (most + 1)
        assert (len(fleet), fleet.clock) == (most + 2, most + 3)
    with pytest.raises(ValueError, match="store=<path>"):
        fleet_of(slabs="mapped")
    with pytest.raises(ValueError, match="slabs='disk' is unknown"):
        fleet_of(slabs="disk")


# ---- keys and rows --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", [list, tuple, np.array, pd.Series, pl.Series, pa.array, lambda keys: pa.chunked_array([keys])]
)
@pytest.mark.parametrize(
    "keys", [["a", "ü", "a"], [b"a", b"\0", b"a"], [2**62, -5, 2**62]], ids=["str", "bytes", "int"]
)
def test_keys_of_every_kind(kind, keys, tmp_path):
    if kind is np.array and isinstance(keys[0], bytes):
        pytest.skip("NumPy drops the zeros at the end of bytes")
    with fleet_of(store=tmp_path / "fleet") as fleet:
        fleet.partial_fit(kind(keys), np.eye(3), [0, 1, 1])
        assert list(fleet.keys()) == keys[:2]
        assert fleet.tally()["rounds"].tolist() == [2, 1]
    with Fleet.load(tmp_path / "fleet") as fleet:
        assert list(fleet) == keys[:2]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("abc", "one key per row"),
        ({"a", "b", "c"}, "one key per row"),
        (["a", "b"], "3 rows, but there are 2 keys"),
        (["a", 1, "b"], "1 of type int"),
        ([True, False, True], "True of type bool"),
        ([1.0, 2.0, 3.0], "1.0 of type float"),
        ([None, "a", "b"], "None of type NoneType"),
        ([2**63, 1, 2], "beyond 64 bits"),
        (np.array(3), "no rows"),
    ],
)
def test_odd_keys_are_refused(keys, message):
    fleet = fleet_of()
    with pytest.raises(ValueError, match=message):
        fleet.partial_fit(keys, np.eye(3), [0, 1, 1])
    assert len(fleet) == 0
    fleet.partial_fit(["a", "b", "c"], np.eye(3), [0, 1, 1])
    with pytest.raises(ValueError, match="keys are int here, but those of this fleet are str"):
        fleet.decision_function([1, 2, 3], np.eye(3))


@pytest.mark.parametrize("given", [{}, {"max_keys": 2}, {"base": "shared"}], ids=str)
def test_nothing_is_learned_if_a_row_is_refused(given):
    fleet = fleet_of(**given)
    fleet.partial_fit(["a", "b"], np.eye(3)[:2], [0, 1])
    before = {key: fleet[key].to_bytes() for key in fleet}
    bad = np.eye(3)
    bad[2, 2] = np.inf
    for X, y, weights in [(bad, [0, 1, 1], None), (np.eye(3), [0, 1, 7], None), (np.eye(3), [0, 1, 1], [1, 1, -1])]:
        with pytest.raises(ValueError, match=r"infin|7|-1"):
            fleet.partial_fit(["b", "c", "d"], X, y, weights)
    assert {key: fleet[key].to_bytes() for key in fleet} == before
    assert fleet.clock == 2
    assert np.array_equal(fleet.decision_function(["d"], np.eye(3)[:1]), fleet.decision_function(["x"], np.eye(3)[:1]))


def test_frames_need_their_names():
    X = pd.DataFrame(np.eye(3), columns=["a", "b", "c"])
    fleet = Fleet(POCKET, features=["a", "b", "c"], classes=[0, 1])
    fleet.partial_fit(X.a.astype(str), X, [0, 1, 1])
    assert fleet["1.0"].feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        fleet.partial_fit(["a"] * 3, X.rename(columns={"a": "z"}), [0, 1, 1])
    with pytest.raises(ValueError, match="built differently"):
        fleet["a"] = clone(POCKET).partial_fit(X[["c", "b", "a"]], [0, 1, 1])


def test_models_come_and_go():
    keys, X, y = keyed()
    fleet = fleet_of()
    fleet.partial_fit(keys, X, y)
    copy = fleet[1]
    copy.partial_fit(X, y)
    assert fleet[1].to_bytes() != copy.to_bytes()
    fleet[1] = copy
    fleet[999] = copy
    assert fleet[1].to_bytes() == fleet[999].to_bytes() == copy.to_bytes()
    del fleet[1]
    assert 1 not in fleet and 999 in fleet
    for bad in (1, "1"):
        with pytest.raises(KeyError):
            fleet[bad]
        with pytest.raises(KeyError):
            del fleet[bad]
    with pytest.raises(ValueError, match="built differently"):
        fleet[1] = PocketClassifier(memory="8KiB").fit(X, y)
    with pytest.raises(ValueError, match="built differently"):
        fleet[1] = clone(POCKET).partial_fit(X, np.where(y, "yes", "no"))
    with pytest.raises(TypeError, match="not a learner"):
        fleet[1] = "model"
    assert 1 not in fleet


def test_bytes_are_what_is_promised():
    fleet = fleet_of()
    fleet.partial_fit(list(range(20_000)), np.zeros((20_000, 3)), [0, 1] * 10_000)
    assert fleet.slot_bytes < 4096
    assert fleet.nbytes < 20_000 * 4096
    assert fleet.nbytes > 20_000 * fleet.slot_bytes


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"classes": None}, "classes is missing"),
        ({"learner": PocketClassifier(n_classes=3)}, "n_classes=3 differs from the 2 labels in classes"),
        ({"max_keys": 0}, "max_keys=0 is too small"),
        ({"base": "other"}, "neither None"),
        ({"learner": "PocketClassifier"}, "not a learner"),
    ],
)
def test_odd_parameters_are_refused(given, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Fleet(**{"learner": POCKET, "features": 3, "classes": [0, 1]} | given)


# ---- files ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [{}, {"base": "shared"}, {"max_keys": 4}], ids=str)
def test_export(given, tmp_path):
    stream = keyed()
    fleet = fleet_of(**given)
    fed(fleet, stream)
    fleet.export(tmp_path / "file")
    other = Fleet.load(tmp_path / "file")
    assert same(fleet, other)
    assert (other.clock, other.evicted, other.offset) == (fleet.clock, fleet.evicted, fleet.offset)
    assert np.array_equal(fed(fleet, stream), fed(other, stream))  # they go on alike
    data = bytearray((tmp_path / "file").read_bytes())
    for at in np.random.default_rng(0).integers(0, len(data), 60).tolist():
        data[at] ^= 1
        (tmp_path / "bad").write_bytes(data)
        with pytest.raises(FleetStoreError):
            Fleet.load(tmp_path / "bad")
        data[at] ^= 1
    for size in (0, 5, 100, len(data) - 1):
        (tmp_path / "bad").write_bytes(data[:size])
        with pytest.raises(FleetStoreError):
            Fleet.load(tmp_path / "bad")


@pytest.mark.parametrize("log_bytes", [None, 1, 9000])
def test_a_store_continues(log_bytes, tmp_path):
    stream = keyed()
    whole = fleet_of(max_keys=6)
    unlimited = fleet_of()
    scores = fed(unlimited, stream)
    del whole
    for first in range(0, 600, 200):
        store = FolderStore(tmp_path / "fleet", sync_every=70, log_bytes=log_bytes)
        with fleet_of(max_keys=6, store=store) as fleet:
            assert fleet.clock == first
            assert (fleet.offset or 0) == first
            keys, X, y = (part[: first + 200] for part in stream)
            assert np.array_equal(fed(fleet, (keys, X, y), 50, first), scores[first : first + 200])
    with Fleet.load(tmp_path / "fleet") as fleet:
        assert fleet.evicted > 50
        assert np.array_equal(fleet.decision_function(*stream[:2]), unlimited.decision_function(*stream[:2]))
        key = next(key for key in unlimited if key not in set(fleet))
        assert fleet[key].to_bytes() == unlimited[key].to_bytes()  # from the archive
        del fleet[key]
        assert key not in fleet
        fleet[key] = unlimited[3]
        fleet.commit()
    with Fleet.load(tmp_path / "fleet") as fleet:
        assert fleet[key].to_bytes() == unlimited[3].to_bytes()


def test_one_process_at_a_time(tmp_path):
    with fleet_of(store=tmp_path / "fleet"), pytest.raises(ValueError, match="in use by another run"):
        fleet_of(store=tmp_path / "fleet")
    with pytest.raises(FleetStoreError, match=r"another configuration \(different: memory\)"):
        fleet_of(PocketClassifier(memory="8KiB", random_state=0), store=tmp_path / "fleet")
    with pytest.raises(FleetStoreError, match=r"\(different: base, max_keys\)"):
        fleet_of(store=tmp_path / "fleet", base="shared", max_keys=9)
    with pytest.raises(FleetStoreError, match="has no fleet"):
        Fleet.load(tmp_path)
    fleet_of(store=tmp_path / "fleet").close()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="it has no such alarm")
@pytest.mark.parametrize(
    "learner", [PocketClassifier(memory="32MiB", random_state=0), MOMDS(memory="4MiB", random_state=0)]
)
def test_ctrl_c_between_rows_of_large_models(learner, capsys):
    """A slice of many rows would take seconds; the rows that count as learned, and no others, are learned."""
    rng = np.random.default_rng(0)
    rows = 3000 if isinstance(learner, MOMDS) else 300
    X, y = rng.normal(size=(40 * rows, 3)), rng.integers(0, 2, 40 * rows)
    keys = np.zeros(len(y), dtype=np.int64)
    fleet = fleet_of(learner).partial_fit(keys[:10], X[:10], y[:10])
    took, ended = rung(0.5, lambda: fleet.partial_fit(keys, X, y))
    learned = fleet.clock - 10
    with capsys.disabled():
        print(f"\n{type(learner).__name__}: {learned} rows were learned in {took:.2f} s, with Ctrl-C after 0.5 s")
    assert ended and took < 1.5
    assert 0 < learned < len(y)
    assert fleet[0].diagnostics_.rounds == learned + 10
    other = fleet_of(learner).partial_fit(keys[:10], X[:10], y[:10])
    other.partial_fit(keys[:learned], X[:learned], y[:learned])
    assert same(fleet, other)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there is no such alarm")
def test_ctrl_c_in_the_middle_of_a_balanced_row():
    """The row that empties half of a large buffer is not learned, nor counted among those of its class."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80_000, 8)), (rng.random(80_000) < 0.3).astype(int)
    learner = MOMDS(kernels=[Gaussian(1.0)], budget=32_000, class_weight="balanced", random_state=0)
    fleet, row = Fleet(learner, features=8, classes=[0, 1]), 0

    def learn(count=1):
        rows = slice(row, row + count)
        fleet.partial_fit([0] * count, X[rows], y[rows], sample_weight=np.full(count, 100.0))

    while row == 0 or (left := learner.budget - max(fleet[0].diagnostics_.stored)) > 0:
        learn(count := 2 if row == 0 else left)
        row += count
    while fleet[0].diagnostics_.removals == 0:
        before = fleet[0]
        learn()
        row += 1
    row, after = row - 1, fleet[0].to_bytes()
    assert len(after) > 2**20  # rows of smaller models are not watched

    assert rung_in_the_middle(lambda: fleet.__setitem__(0, before), learn, lambda: fleet[0].diagnostics_.removals > 0)
    assert fleet[0].to_bytes() == before.to_bytes()
    learn()
    assert fleet[0].to_bytes() == after


@pytest.mark.parametrize("offset", [None, 7])
def test_ctrl_c_in_a_long_call_with_a_store(tmp_path, offset):
    """The log has the rows that were learned; with an offset none of them, as all must be stored with it."""
    rng = np.random.default_rng(0)
    X, keys = rng.normal(size=(150_000, 4)), rng.integers(20, size=150_000)
    y = (X[:, 0] > 0).astype(int)

    def new(store=None):
        return Fleet(PocketClassifier(memory="64KiB", random_state=0), features=4, classes=[0, 1], store=store)

    with new(tmp_path / "store") as fleet:
        fleet.partial_fit(keys[:500], X[:500], y[:500], offset=500)
        _, ended = rung(0.05, lambda: fleet.partial_fit(keys[500:], X[500:], y[500:], offset=offset))
        assert ended
        if offset is None:
            learned = fleet.clock
            assert 500 < learned < len(y)
            assert fleet.offset is None
        else:
            learned = 500
            with pytest.raises(FleetStoreError, match=r"interrupted .* continue with Fleet.load\('.*store'\)"):
                fleet.predict(keys[:1], X[:1])
    expected = new().partial_fit(keys[:learned], X[:learned], y[:learned])
    with new(tmp_path / "store") as again:
        assert same(again, expected)
        assert again.offset == (None if offset is None else 500)


@pytest.mark.parametrize("fail", [lambda scores: 1 / 0, lambda scores: {1, 2}], ids=["raises", "not JSON"])
@pytest.mark.parametrize("max_keys", [None, 6])
def test_rows_whose_offset_cannot_be_stored_are_not_stored(tmp_path, fail, max_keys):
    """Nor is anything left of them in the archive, if other rows follow."""
    keys, X, y = keyed(400)
    first, lost, then = slice(0, 150), slice(150, 250), slice(250, 400)
    with fleet_of(store=tmp_path / "store", max_keys=max_keys) as fleet:
        fleet.partial_fit(keys[first], X[first], y[first], offset=1)
        with pytest.raises((ZeroDivisionError, TypeError, ValueError)):
            fleet.partial_fit(keys[lost], X[lost], y[lost], offset=fail)
        with pytest.raises(FleetStoreError, match=r"Fleet\.load"):
            fleet.partial_fit(keys[then], X[then], y[then], offset=2)
    with Fleet.load(tmp_path / "store") as fleet, fleet_of() as expected:
        assert (fleet.clock, fleet.offset) == (150, 1)
        expected.partial_fit(keys[first], X[first], y[first])
        scores = [one.predict_then_learn(keys[then], X[then], y[then]) for one in (fleet, expected)]
        np.testing.assert_array_equal(*scores)
        every = set(keys.tolist())
        assert all(fleet[key].to_bytes() == expected[key].to_bytes() for key in every if key in expected)


@pytest.mark.parametrize(
    "name", ["fleet.sqlite", "fleet.sqlite-wal", "fleet.sqlite-shm", "fleet.sqlite-journal", "pipeline.pk"]
)
@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="there are no such links here")
def test_a_file_of_a_fleet_that_leads_elsewhere(table, tmp_path, capsys, name):
    """A folder from someone else cannot have a file elsewhere changed."""
    folder, precious = tmp_path / "fleet", tmp_path / "precious"
    given = ("fleet", "run", table, "--key", "user", "--label", "y", "--out", folder, "--max-keys", 4)
    assert command(*given, "--rows", 300) == 0
    with Fleet.load(folder) as fleet:
        fleet.snapshot()
    place = folder / name
    data = place.read_bytes() if place.exists() else b"precious"
    precious.write_bytes(data)
    place.unlink(missing_ok=True)
    place.symlink_to(precious)
    command(*given)
    command("fleet", "predict", folder, table)
    command("fleet", "inspect", folder)
    assert precious.read_bytes() == data


# ---- command line ---------------------------------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path):
    """Keyed events as a file."""
    keys, X, y = keyed(900)
    rows = pd.DataFrame(X, columns=["a", "b", "c"]).assign(user=[f"u{key}" for key in keys], y=np.where(y, "yes", "no"))
    rows.to_csv(tmp_path / "events.csv", index=False)
    return tmp_path / "events.csv"


def command(*tokens):
    return main([str(token) for token in tokens])


@pytest.mark.parametrize("more", [(), ("--base", "shared"), ("--max-keys", 5)], ids=str)
def test_fleet_run(table, tmp_path, capsys, more):
    given = ("fleet", "run", table, "--key", "user", "--label", "y", "--block", 100, "--sync-every", 100, *more)
    assert command(*given, "--out", tmp_path / "whole", "--json") == 0
    whole = json.loads(capsys.readouterr().out)
    assert whole["rows"] == 900
    assert command(*given, "--out", tmp_path / "parts", "--rows", 450) == 0
    assert command(*given, "--out", tmp_path / "parts", "--json") == 0  # goes on
    one, other = Fleet.load(tmp_path / "whole"), Fleet.load(tmp_path / "parts")
    with one, other:
        assert one.clock == other.clock == 900
        assert one.offset == other.offset
        assert sorted(one) == sorted(other)
        assert all(one[key].to_bytes() == other[key].to_bytes() for key in one)
        tally = one.tally()
        assert tally["rounds"].sum() == 900 or "--max-keys" in more
        assert tally["mistakes"].sum() == whole["mistakes"] or "--max-keys" in more
    assert (tmp_path / "whole" / "report.html").read_text().count("Mistakes by the age of a key") >= 1
    capsys.readouterr()
    assert command("fleet", "inspect", tmp_path / "whole", "--json") == 0
    assert json.loads(capsys.readouterr().out)["mistakes"] == whole["mistakes"]
    assert command("fleet", "predict", tmp_path / "whole", table) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "key,label,score"
    assert len(lines) == 901


def test_formulas(tmp_path, capsys):
    lines = [f"{key},{n % 5},{label}" for n in range(40) for key, label in (("=1+1", "+cmd"), ("7", "-1"), ("é", "@a"))]
    (tmp_path / "f.csv").write_text("user,a,y\n" + "\n".join(lines) + "\n")
    given = ("--key", "user", "--label", "y", "--memory", "16KiB", "--out", tmp_path / "f")
    assert command("fleet", "run", tmp_path / "f.csv", *given) == 0
    capsys.readouterr()
    found = []
    for more in ((), ("--escape-formulas",)):
        assert command("fleet", "predict", tmp_path / "f", tmp_path / "f.csv", *more) == 0
        rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))[1:]
        found.append([{row[0] for row in rows}, {row[1] for row in rows}])
    assert found[0] == [{"=1+1", "7", "é"}, {"+cmd", "-1", "@a"}]
    assert found[1] == [{"'=1+1", "7", "é"}, {"'+cmd", "-1", "'@a"}]


def test_fleet_run_of_numbers(table, tmp_path, capsys):
    rows = pd.read_csv(table)
    rows["y"] = 3 * rows["a"] + rows["b"] ** 2
    rows.to_csv(table, index=False)
    given = ("fleet", "run", table, "--key", "user", "--label", "y", "--max-keys", 9, "--memory", "8KiB")
    assert command(*given, "--out", tmp_path / "fleet", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["evictions"] > 0
    fleet = Fleet(PocketRegressor(memory="8KiB", random_state=0), features=3)
    errors = fleet.predict_then_learn(rows["user"], rows[["a", "b", "c"]].to_numpy(), rows["y"]) - rows["y"]
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean(errors**2)))
    worst = found["slowest"][0]
    assert worst["rmse"] == pytest.approx(np.sqrt(np.mean(errors[rows["user"] == worst["key"]] ** 2)))
    assert sum(number for _, _, number in found["histogram"]) >= len(found["slowest"])
    page = (tmp_path / "fleet" / "report.html").read_text()
    assert "Root mean square error by the age of a key" in page
    assert "9 keys in memory after" in page and "900 rows" in page
    assert "mistakes" not in page.lower()


def test_fleet_run_skips_rows_without_a_key(table, tmp_path, capsys):
    lines = table.read_text().splitlines()
    lines[5] = "1.0,2.0,3.0,,yes"
    lines[9] = "torn"
    table.write_text("\n".join(lines) + "\n")
    given = ("fleet", "run", table, "--key", "user", "--label", "y", "--block", 100)
    assert command(*given, "--out", tmp_path / "whole", "--json") == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert (found["rows"], found["skipped"]) == (898, 2)
    assert "skipped: 2" in captured.err
    for rows in (300, 900):  # resumed exactly, although the file has more rows
        assert command(*given, "--out", tmp_path / "parts", "--rows", rows, "--json") == 0
    with Fleet.load(tmp_path / "whole") as one, Fleet.load(tmp_path / "parts") as other:
        assert "" not in one
        assert same(one, other)
    capsys.readouterr()
    assert command("fleet", "predict", tmp_path / "whole", table) == 1
    assert "line 10" in capsys.readouterr().err
    assert command("fleet", "predict", tmp_path / "whole", table, "--on-error", "skip") == 0
    captured = capsys.readouterr()
    assert len(captured.out.splitlines()) == 1 + 899
    assert "have no answer: 1" in captured.err


@pytest.mark.parametrize(
    ("keys", "expected"),
    [([7, 8, 7], ["7", "8"]), ([b"a", "ü".encode(), b"a"], ["a", "ü"]), ([b"a", b"\xff", b"a"], ["a", "0xff"])],
    ids=["int", "bytes", "not UTF-8"],
)
def test_fleet_run_reads_keys_of_parquet_as_text(keys, expected, tmp_path):
    rows = {"key": keys * 50, "x": np.random.default_rng(0).normal(size=150), "y": [0, 1, 1] * 50}
    pq.write_table(pa.table(rows), tmp_path / "events.parquet")
    given = (tmp_path / "events.parquet", "--key", "key", "--label", "y", "--out", tmp_path / "fleet")
    assert command("fleet", "run", *given, "--json") == 0
    with Fleet.load(tmp_path / "fleet") as fleet:
        assert list(fleet) == expected


def test_fleet_run_refuses(table, tmp_path, capsys):
    assert command("fleet", "run", table, "--key", "nobody", "--label", "y", "--out", tmp_path / "f") == 2
    assert "'nobody' is not a column" in capsys.readouterr().err
    assert command("fleet", "predict", tmp_path, table) != 0
    assert "pipeline.pk" in capsys.readouterr().err
    assert command("fleet", "inspect", table) == 1
    assert "not an exported fleet" in capsys.readouterr().err


def test_what_cannot_be_a_key_is_not_in_a_fleet():
    fleet = fleet_of().partial_fit([1], np.zeros((1, 3)), [0])
    assert [key in fleet for key in (1, None, 1.5, [], object())] == [True, False, False, False, False]
    for key in (None, 1.5, "a"):
        with pytest.raises(KeyError):
            fleet[key]
        with pytest.raises(KeyError):
            del fleet[key]


@pytest.mark.parametrize("keys", [np.array([3, 4]), np.array(["a", "b"])], ids=["int", "str"])
def test_keys_of_arrays_one_by_one(keys):
    fleet = fleet_of().partial_fit(keys, np.zeros((2, 3)), [0, 1])
    for key in keys:
        assert key in fleet
        fleet[key] = fleet[key]
    del fleet[keys[0]]
    assert list(fleet) == keys.tolist()[1:]


@pytest.mark.parametrize("copy", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_fleet_says_that_it_cannot_be_copied(copy):
    with pytest.raises(TypeError, match="cannot be copied or pickled: use export"):
        copy(fleet_of())
