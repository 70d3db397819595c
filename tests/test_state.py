"""The bytes of a state: of fixed size, and refused with the right sentence when they are not what they should be."""

import copy
import os
import pickle
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import streams
from discover import ESTIMATORS, small
from pocketkernel import (
    MOMDH,
    MOMDS,
    Gaussian,
    LKMBooks,
    ModelFileError,
    PocketClassifier,
    Raker,
    SharedMOMDH,
    _core,
    gaussians,
)

# state.hpp: magic, version (32 bits each), model, size, checksum (64 bits each).
HEADER = struct.Struct("=IIQQQ")
MAGIC, VERSION, MODEL, SIZE, CHECKSUM = range(5)
SENTENCES = {
    "wrong size": "wrong number of bytes",
    "foreign": "not a pocketkernel state",
    "newer": "newer version",
    "other": "different parameters",
    "damaged": "damaged",
}
LEARNERS = {
    "MOMDS": lambda **given: MOMDS(**{"budget": 8, "random_state": 1} | given),
    "MOMDH": lambda **given: MOMDH(**{"budget": 6, "reservoir": 3, "horizon": 10, "random_state": 1} | given),
    "SharedMOMDH": lambda **given: SharedMOMDH(
        **{"budget": 6, "reservoir": 3, "horizon": 10, "random_state": 1} | given
    ),
    "LKMBooks": lambda **given: LKMBooks(**{"budget": 30, "horizon": 300, "random_state": 1} | given),
    "Raker": lambda **given: Raker(**{"features": 9, "random_state": 1} | given),
    "PocketClassifier": lambda **given: PocketClassifier(**{"memory": "8KiB", "random_state": 1} | given),
}
X, Y = streams.with_duplicates(300)
every_learner = pytest.mark.parametrize("name", LEARNERS)
every_dtype = pytest.mark.parametrize("dtype", ["float32", "float64"])


def taught(name, rows=200, **given):
    return LEARNERS[name](**given).partial_fit(X[:rows], Y[:rows], classes=[-1, 1])


def with_header(state, field, value):
    fields = list(HEADER.unpack_from(state))
    fields[field] = value
    return HEADER.pack(*fields) + state[HEADER.size :]


def flipped(state, place, bit):
    changed = bytearray(state)
    changed[place] ^= 1 << bit
    return bytes(changed)


def refuse(model, state, *reasons):
    """The load is refused for one of the reasons, and the learner is as it was."""
    before = model._core.save()
    status = model._core.load(state)
    subject, sentence = _core.describe(status)
    assert subject == "state", sentence
    assert any(SENTENCES[reason] in sentence for reason in reasons), sentence
    assert model._core.save() == before


@every_dtype
@every_learner
def test_size_is_fixed(name, dtype):
    model = taught(name, rows=1, dtype=dtype)
    size = model._core.state_bytes
    assert size < model.nbytes
    for rows in np.array_split(np.arange(1, 300), 5):
        assert len(model._core.save()) == model._core.state_bytes == size
        model.partial_fit(X[rows], Y[rows])


@every_learner
def test_header(name):
    model = taught(name)
    state = model._core.save()
    magic, version, _, size, _ = HEADER.unpack_from(state)
    assert struct.pack("=I", magic) in (b"PKST", b"TSKP")
    assert version == 1
    assert size == len(state) - HEADER.size


@every_dtype
@every_learner
def test_a_good_state_is_taken(name, dtype):
    model, other = taught(name, dtype=dtype), taught(name, 50, dtype=dtype)
    assert other._core.load(model._core.save()) == 0
    np.testing.assert_array_equal(
        other.predict_then_learn(X[200:], Y[200:]), model.predict_then_learn(X[200:], Y[200:])
    )
    assert other._core.save() == model._core.save()


@every_learner
def test_the_seed_is_in_the_state(name):
    model, other = taught(name), taught(name, 50, random_state=2)
    if name in ("Raker", "PocketClassifier"):  # the seed decides their frequencies, which are not in the state
        refuse(other, model._core.save(), "other")
        return
    assert other._core.load(model._core.save()) == 0
    np.testing.assert_array_equal(other.predict_then_learn(X, Y), model.predict_then_learn(X, Y))


@pytest.mark.parametrize("name", ["Raker", "PocketClassifier"])
@pytest.mark.parametrize("columns", [256, 257])
def test_frequencies_of_many_columns_are_in_the_state(name, columns):
    """Otherwise a few bytes could ask for any amount of memory."""
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(50, columns)), rng.choice([-1, 1], 50)
    given = {"memory": "32KiB"} if name == "PocketClassifier" else {}
    model, other = (LEARNERS[name](random_state=seed, **given).partial_fit(rows, labels) for seed in (1, 2))
    if columns <= 256:
        refuse(other, model._core.save(), "other")
        return
    assert len(model._core.save()) > columns * len(model.frequencies_)
    assert other._core.load(model._core.save()) == 0
    assert np.array_equal(other.predict_then_learn(rows, labels), model.predict_then_learn(rows, labels))
    assert np.array_equal(other.frequencies_, model.frequencies_)


@every_learner
def test_truncated_or_too_long(name):
    model = taught(name)
    state = model._core.save()
    for size in (0, 1, HEADER.size - 1, HEADER.size, HEADER.size + 1, len(state) // 2, len(state) - 1):
        refuse(model, state[:size], "wrong size")
    refuse(model, state + b"\0", "wrong size")
    refuse(model, state * 2, "wrong size")


@every_dtype
@every_learner
def test_a_flipped_bit_is_noticed(name, dtype):
    model = taught(name, dtype=dtype)
    state = model._core.save()
    for n, place in enumerate(range(HEADER.size, len(state), 97)):
        refuse(model, flipped(state, place, n % 8), "damaged")
    refuse(model, flipped(state, len(state) - 1, 7), "damaged")
    for place in range(HEADER.size):
        refuse(model, flipped(state, place, place % 8), "foreign", "newer", "other", "wrong size", "damaged")


@every_learner
def test_each_field_of_the_header_has_its_sentence(name):
    model = taught(name)
    state = model._core.save()
    _, version, model_digest, size, checksum = HEADER.unpack_from(state)
    refuse(model, with_header(state, MAGIC, 0x46464952), "foreign")
    refuse(model, with_header(state, VERSION, version + 1), "newer")
    refuse(model, with_header(state, VERSION, 0), "foreign")
    refuse(model, with_header(state, MODEL, model_digest ^ 1), "other")
    refuse(model, with_header(state, SIZE, size + 8), "wrong size")
    refuse(model, with_header(state, CHECKSUM, checksum ^ 1), "damaged")


def test_foreign_bytes():
    model = taught("MOMDS")
    size = model._core.state_bytes
    for bytes_ in (b"\0" * size, b"\xff" * size, b"PK\x03\x04" * (size // 4), pickle.dumps(list(range(1000)))):
        refuse(model, bytes_, "foreign")


OTHERS = {
    "MOMDS": [
        {"budget": 9}, {"step": 2.0}, {"norm_bound": 1.0}, {"loss": "smooth_hinge"}, {"removal": "restart"},
        {"dtype": "float64"}, {"kernels": gaussians([0.25, 1, 4, 16, 32])}, {"kernels": Gaussian(1.0)},
    ],
    "MOMDH": [{"reservoir": 4}, {"horizon": 12}, {"removal": "restart"}, {"budget": 7}, {"dtype": "float64"}],
    "SharedMOMDH": [{"reservoir": 4}, {"horizon": 12}, {"step": 2.0}, {"budget": 7}, {"dtype": "float64"}],
    "LKMBooks": [{"nu": 0.25}, {"step": 5.0}, {"horizon": 301}, {"loss": "hinge"}, {"budget": 31}],
    "Raker": [{"features": 10}, {"rate": 0.1}, {"regularization": 0.01}, {"loss": "hinge"}],
    "PocketClassifier": [{"memory": "2KiB"}, {"memory": "9KiB"}, {"dtype": "float64"}],
}  # fmt: skip


@pytest.mark.parametrize(("name", "changed"), [(name, given) for name in OTHERS for given in OTHERS[name]], ids=str)
def test_other_parameters(name, changed):
    model = taught(name)
    refuse(taught(name, **changed), model._core.save(), "other")


def test_other_learner_or_width():
    states = {name: taught(name, rows=50)._core.save() for name in LEARNERS}
    for name in LEARNERS:
        for other in LEARNERS:
            if other != name:
                refuse(taught(name, rows=50), states[other], "other")
    narrow = LEARNERS["MOMDS"]().partial_fit(X[:9, :2], Y[:9], classes=[-1, 1])
    refuse(narrow, states["MOMDS"], "other")


def test_a_learner_goes_on_after_a_refusal():
    model, twin = taught("MOMDH"), taught("MOMDH")
    refuse(model, flipped(model._core.save(), HEADER.size + 8, 0), "damaged")
    np.testing.assert_array_equal(model.predict_then_learn(X[200:], Y[200:]), twin.predict_then_learn(X[200:], Y[200:]))


def digest(payload):
    """FNV-1a over 64-bit words, as state.hpp has it."""
    value, mask = 0xCBF29CE484222325, 2**64 - 1
    for (word,) in struct.iter_unpack("=Q", payload + b"\0" * (-len(payload) % 8)):
        value = ((value ^ word) * 0x100000001B3) & mask
        value ^= value >> 29
    return value


@every_dtype
@every_learner
def test_impossible_contents_under_a_good_checksum(name, dtype):
    """Never to be believed, whoever computed the checksum; the learner is then as new, and works."""
    model = taught(name, dtype=dtype)
    state = model._core.save()
    assert digest(state[HEADER.size :]) == HEADER.unpack_from(state)[CHECKSUM]
    payload = b"\xff" * (len(state) - HEADER.size)  # NaNs, and sizes beyond every capacity
    assert SENTENCES["damaged"] in _core.describe(model._core.load(
        with_header(state[: HEADER.size] + payload, CHECKSUM, digest(payload))
    ))[1]  # fmt: skip
    assert model.diagnostics_.rounds == 0
    scores = model.predict_then_learn(X, Y)
    np.testing.assert_array_equal(scores, LEARNERS[name](dtype=dtype).predict_then_learn(X, Y, classes=[-1, 1]))


@every_dtype
@pytest.mark.parametrize("name", ["MOMDS", "MOMDH", "LKMBooks"])
@pytest.mark.parametrize("kind", ["nan", "inf", "too large"])
def test_a_stored_row_that_no_one_could_have_learned(name, dtype, kind):
    """Rows are checked when they come in; a state must not bring in what a row may not hold."""
    mark, value = 1234.5, {"float32": 1e30, "float64": 1e80}[dtype] if kind == "too large" else float(kind)
    model = LEARNERS[name](dtype=dtype).partial_fit([[mark, 0.0, 1.0]] * 40, [1, -1] * 20)
    state = model._core.save()
    old, new = (np.array(number, dtype=dtype).tobytes() for number in (mark, value))
    payload = state[HEADER.size :].replace(old, new)
    assert payload != state[HEADER.size :]
    status = model._core.load(with_header(state[: HEADER.size] + payload, CHECKSUM, digest(payload)))
    assert SENTENCES["damaged"] in _core.describe(status)[1]


# ---- pickles --------------------------------------------------------------------------------------------------------


@every_learner
def test_a_pickle_of_a_damaged_state_is_refused(name):
    model = taught(name)
    state = model.__getstate__()
    state["_model"] = flipped(state["_model"], len(state["_model"]) // 2, 3)
    with pytest.raises(ModelFileError, match="damaged"):
        LEARNERS[name]().__setstate__(state)


@every_learner
def test_copies_are_apart(name):
    model = taught(name)
    before = model._core.save()
    twin = copy.deepcopy(model)
    twin.partial_fit(X, Y)
    assert model._core.save() == before != twin._core.save()


def test_a_pickle_of_a_learner_without_experience():
    model = pickle.loads(pickle.dumps(MOMDS(budget=5, random_state=3)))
    assert model.get_params() == MOMDS(budget=5, random_state=3).get_params()
    assert not model.__sklearn_is_fitted__()


@pytest.mark.parametrize("labels", [["no", "yes"], [3, 7], [False, True]], ids=str)
def test_labels_survive_a_pickle(labels):
    y = np.array(labels)[(Y > 0).astype(int)]
    model = MOMDS(budget=8, random_state=1).fit(X, y)
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copied.predict_then_learn(X, y), model.predict_then_learn(X, y))
    np.testing.assert_array_equal(copied.predict(X), model.predict(X))


@pytest.mark.parametrize(
    "changed", [{"budget": 99}, {"dtype": "float64"}, {"loss": "smooth_hinge"}, {"kernels": Gaussian(2.0)}], ids=str
)
def test_parameters_set_for_the_next_fit_do_not_spoil_the_pickle(changed):
    model = taught("MOMDS").set_params(**changed)
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copied.predict_then_learn(X, Y), model.predict_then_learn(X, Y))


# ---- exact resume in another process --------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["base", ""], ids=["base", "best level"])
def elsewhere(request, tmp_path_factory):
    """A process that goes on with models, perhaps at another level: see resume_worker.py."""
    folder = tmp_path_factory.mktemp("resume")
    environment = os.environ | {"POCKETKERNEL_LEVEL": request.param}
    worker = Path(__file__).with_name("resume_worker.py")
    with subprocess.Popen(
        [sys.executable, "-W", "error", worker], env=environment, stdin=-1, stdout=-1, text=True, bufsize=1
    ) as process:

        def go_on(model, X, y, w):
            (folder / "model.pk").write_bytes(model.to_bytes())  # as `save` does, without waiting for the disk
            np.savez(folder / "rest.npz", X=X, y=y, w=w)
            process.stdin.write(f"{folder}\n")
            assert process.stdout.readline() == "done\n"
            with np.load(folder / "scores.npz") as scores:
                return scores["learning"], scores["after"], (folder / "model.pk").read_bytes()

        yield go_on
        process.stdin.close()


@every_dtype
@pytest.mark.parametrize("class_", ESTIMATORS, ids=lambda c: c.__name__)
@settings(deadline=None, derandomize=True, max_examples=25)
@given(
    stop=st.integers(1, 259),
    seed=st.integers(0, 2**64 - 1),
    budget=st.integers(2, 40),
    stream=st.sampled_from([streams.rings, streams.with_duplicates, streams.one_hot]),
    storage=st.sampled_from([None, "float16", "bfloat16"]),
    weighted=st.booleans(),
)
def test_exact_resume_in_another_process(elsewhere, class_, dtype, stop, seed, budget, stream, storage, weighted):
    """At whatever row it stops: the same scores, and in the end the same file, as without a stop."""
    X, y = stream(260)
    w = np.random.default_rng(stop).choice([0.0, 0.5, 1.0, 3.0], size=len(y)) if weighted else np.ones(len(y))
    held = {"storage": storage} if dtype == "float32" and "storage" in class_._get_param_names() else {}
    counts = class_._budget_name in class_._get_param_names()
    held |= {class_._budget_name: budget} if counts else {"memory": 5000 + 500 * budget}
    model = small(class_, dtype=dtype, random_state=seed, **held)
    twin = copy.deepcopy(model)
    whole = twin.predict_then_learn(X, y, classes=[-1, 1], sample_weight=w)
    first = model.predict_then_learn(X[:stop], y[:stop], classes=[-1, 1], sample_weight=w[:stop])
    learning, after, data = elsewhere(model, X[stop:], y[stop:], w[stop:])
    np.testing.assert_array_equal(np.concatenate([first, learning]), whole)
    np.testing.assert_array_equal(after, twin.decision_function(X[stop:]))
    assert data == twin.to_bytes()
