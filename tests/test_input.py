"""Input of every kind: the bad is refused with a sentence and leaves no trace, the good is understood."""

import math
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

import streams
from pocketkernel.kernels import Gaussian, Laplacian, Linear, Polynomial, gaussians
from pocketkernel.learners import MOMDH, MOMDS, LKMBooks, MulticlassMOMDS, PocketClassifier, Raker

X, Y = streams.rings(120, d=4)
WIDE, WIDE_Y = streams.sparse_numbers(120, d=40)
# In the given order, once, without what a fit forgets at its end: every way of learning then leads to the same bits.
IN_ORDER = {"shuffle": False, "random_state": 1}
LEARNERS = {
    "MOMDS": lambda **given: MOMDS(**IN_ORDER | {"budget": 10} | given),
    "MOMDH": lambda **given: MOMDH(**IN_ORDER | {"budget": 8, "reservoir": 3} | given),
    "LKMBooks": lambda **given: LKMBooks(**IN_ORDER | {"budget": 30, "horizon": 300} | given),
    "Raker": lambda **given: Raker(**IN_ORDER | {"features": 9} | given),
    "MulticlassMOMDS": lambda **given: MulticlassMOMDS(**IN_ORDER | {"budget": 10} | given),
    "PocketClassifier": lambda **given: PocketClassifier(
        **IN_ORDER | {"memory": "16KiB", "epochs": 1, "lag": False} | given
    ),
}
MANY = ["MulticlassMOMDS", "PocketClassifier"]
BINARY = sorted(LEARNERS.keys() - set(MANY))
STORING = sorted(LEARNERS.keys() - {"Raker", "PocketClassifier"})
every_learner = pytest.mark.parametrize("name", LEARNERS)
every_dtype = pytest.mark.parametrize("dtype", ["float32", "float64"])
WAYS = ("fit", "partial_fit", "predict_then_learn")


def changed(X, row, column, value):
    X = X.copy()
    X[row, column] = value
    return X


def trace(model):
    """Everything that a call could have changed."""
    core = model.__dict__.get("_core")
    return dict(model.__dict__), core and core.save()


def refuse(model, call, *words, error=ValueError):
    """The call fails, its message has all the words, and the model is as it was."""
    before = trace(model)
    with pytest.raises(error) as caught:
        call()
    for word in words:
        assert word in str(caught.value)
    after = trace(model)
    assert after[0].keys() == before[0].keys()
    assert all(after[0][name] is before[0][name] for name in after[0])
    assert after[1] == before[1]


def same_course(one, other):
    assert one._core.save() == other._core.save()


# ---- rows that no learner can use -----------------------------------------------------------------------------------

BAD_VALUES = [
    (np.nan, "float64", ["nan", "impute or drop"]),
    (np.inf, "float64", ["inf", "impute or drop"]),
    (-np.inf, "float32", ["-inf", "impute or drop"]),
    (1e37, "float32", ["1e+37", "rescale"]),
    (-1e37, "float32", ["-1e+37", "rescale"]),
    (1e80, "float64", ["1e+80", "rescale"]),
]


@pytest.mark.parametrize(("value", "dtype", "words"), BAD_VALUES)
@every_learner
def test_bad_values(name, value, dtype, words):
    if np.isnan(value) and get_tags(LEARNERS[name]()).input_tags.allow_nan:
        pytest.skip("to this learner NaN is a missing value")
    bad = changed(X, 70, 2, value)
    words = [*words, "row 70, column 2"]
    fresh, model = LEARNERS[name](dtype=dtype), LEARNERS[name](dtype=dtype).fit(X, Y)
    for rows in (bad, sparse.csr_matrix(bad)):
        for way in WAYS:
            refuse(fresh, lambda way=way, rows=rows: getattr(fresh, way)(rows, Y), *words)
            refuse(model, lambda way=way, rows=rows: getattr(model, way)(rows, Y), *words)
        refuse(model, lambda rows=rows: model.decision_function(rows), *words)
        refuse(model, lambda rows=rows: model.predict(rows), *words)


def test_values_up_to_the_limit_are_fine():
    for dtype, most in [("float32", 1e18), ("float64", 1e70)]:
        far = changed(X, 3, 1, most)
        for name in LEARNERS:
            scores = LEARNERS[name](dtype=dtype).predict_then_learn(far, Y)
            assert np.all(np.isfinite(scores)), (name, dtype)


@every_learner
def test_bad_shapes(name):
    fresh, model = LEARNERS[name](), LEARNERS[name]().fit(X, Y)
    for way in WAYS:
        for learner in (fresh, model):
            call = getattr(learner, way)
            refuse(learner, lambda call=call: call(X[0], Y[:1]), "1D array")
            refuse(learner, lambda call=call: call(X[None], Y[:1]), "dim 3")
            refuse(learner, lambda call=call: call(X[:, :0], Y), "0 feature(s)")
            refuse(learner, lambda call=call: call(X, Y[:-1]), "120 rows", "119 labels")
            refuse(learner, lambda call=call: call(X[:-1], Y), "119 rows", "120 labels")
            refuse(learner, lambda call=call: call([["a", "b"]] * 120, Y))
    for call in (model.partial_fit, model.predict_then_learn):
        refuse(model, lambda call=call: call(X[:, :3], Y), "3 features", "4 features")
        refuse(model, lambda call=call: call(sparse.csr_matrix(X)[:, :3], Y), "3 features", "4 features")
    refuse(model, lambda: model.decision_function(X[:, :3]), "3 features", "4 features")
    refuse(model, lambda: model.decision_function(X[0]), "1D array")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("fitted", [False, True])
def test_no_rows(way, fitted):
    model = LEARNERS["MOMDS"]()
    if fitted:
        model.fit(X, Y)
    refuse(model, lambda: getattr(model, way)(X[:0], Y[:0]), "0 sample(s)")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("fitted", [False, True])
def test_a_number_is_no_row(way, fitted):
    model = LEARNERS["MOMDS"]()
    if fitted:
        model.fit(X, Y)
    refuse(model, lambda: getattr(model, way)(np.array(3.0), np.array([1])), "array")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("fitted", [False, True])
def test_no_labels(way, fitted):
    model = LEARNERS["MOMDS"]()
    if fitted:
        model.fit(X, Y)
    refuse(model, lambda: getattr(model, way)(X, None), "requires y")


@pytest.mark.parametrize("name", STORING)
def test_values_that_the_storage_cannot_hold(name):
    fresh = LEARNERS[name](storage="float16")
    model = LEARNERS[name](storage="float16").fit(X, Y)
    words = ["beyond 65504", "float16", "storage='bfloat16'", "row 70, column 2"]
    for value in (65504.1, -7e4, 1e17, 1e300):
        bad = changed(X, 70, 2, value)
        for rows in (bad, sparse.csr_matrix(bad)):
            for way in WAYS:
                for learner in (fresh, model):
                    call = getattr(learner, way)
                    refuse(learner, lambda call=call, rows=rows: call(rows, Y), str(value), *words)
            refuse(model, lambda rows=rows: model.decision_function(rows), str(value), *words)
    refuse(model, lambda: model.partial_fit(changed(X, 70, 2, np.nan), Y), "nan", "impute or drop")
    for value in (65504.0, -65504.0):
        assert np.all(np.isfinite(LEARNERS[name](storage="float16").predict_then_learn(changed(X, 3, 1, value), Y)))
    coarse = LEARNERS[name](storage="bfloat16").fit(changed(X, 3, 1, 1e18), Y)
    assert np.all(np.isfinite(coarse.decision_function(X)))
    refuse(coarse, lambda: coarse.partial_fit(changed(X, 70, 2, 1e19), Y), "1e+19", "rescale", "row 70, column 2")
    pickle.loads(pickle.dumps(coarse)).partial_fit(X, Y)  # a row at the limit is no damage


# ---- weights --------------------------------------------------------------------------------------------------------


def weights_with(row, value):
    weights = np.linspace(0.5, 2, 120)
    weights[row] = value
    return weights


BAD_WEIGHTS = {
    "negative": (weights_with(70, -0.5), ["sample_weight", "negative", "found -0.5 at row 70"]),
    "nan": (weights_with(70, np.nan), ["sample_weight", "not finite", "found nan at row 70"]),
    "inf": (weights_with(70, np.inf), ["sample_weight", "not finite", "found inf at row 70"]),
    "minus inf": (weights_with(0, -np.inf), ["sample_weight", "found -inf at row 0"]),
    "huge": (weights_with(119, 1.1e9), ["sample_weight", "1e9", "found 1100000000.0 at row 119"]),
    "too few": (np.ones(119), ["119 weights", "120 rows"]),
    "too many": (np.ones(121), ["121 weights", "120 rows"]),
    "one": (np.ones(1), ["1 weights", "120 rows"]),
    "none": (np.ones(0), ["0 weights", "120 rows"]),
    "matrix": (np.ones((120, 1)), ["1D array"]),
    "wide matrix": (np.ones((1, 120)), ["1D array"]),
    "strings": (["much"] * 120, ["much"]),
    "a string": ("balanced", ["balanced"]),
    "a negative number": (-1.0, ["sample_weight", "negative", "found -1.0 at row 0"]),
}


@pytest.mark.parametrize("kind", BAD_WEIGHTS)
@every_learner
def test_bad_weights(name, kind):
    weights, words = BAD_WEIGHTS[kind]
    fresh, model = LEARNERS[name](), LEARNERS[name]().fit(X, Y)
    for learner in (fresh, model):
        for way in WAYS:
            for rows in (X, sparse.csr_matrix(X)):
                given = weights.tolist() if isinstance(weights, np.ndarray) else weights
                for some in (weights, given):
                    call = getattr(learner, way)
                    refuse(learner, lambda call=call, rows=rows, w=some: call(rows, Y, sample_weight=w), *words)


@every_learner
def test_weights_of_every_kind(name):
    weights = np.round(streams.weights(120), 3).astype(np.float32)
    assert np.any(weights == 0)
    expected = LEARNERS[name]().fit(X, Y, sample_weight=weights.astype(float))
    kinds = [weights, weights.tolist(), np.repeat(weights, 2)[::2], read_only(weights.astype(float)),
             weights.astype(np.dtype(np.float64).newbyteorder()), weights.astype(object)]  # fmt: skip
    for given in kinds:
        for way in WAYS:
            model = LEARNERS[name]()
            getattr(model, way)(X, Y, sample_weight=given)
            same_course(model, expected)
            model.predict_then_learn(X, Y, sample_weight=given)
            same_course(model, pickle.loads(pickle.dumps(expected)).partial_fit(X, Y, sample_weight=weights))
    whole = LEARNERS[name]().fit(X, Y, sample_weight=3)
    same_course(whole, LEARNERS[name]().fit(X, Y, sample_weight=np.full(120, 3)))
    same_course(LEARNERS[name]().fit(X, Y, sample_weight=np.ones(120, bool)), LEARNERS[name]().fit(X, Y))


@every_learner
def test_nothing_to_learn(name):
    """A fit of rows that all weigh nothing is a mistake; a block of them in a stream is not."""
    fresh, model = LEARNERS[name](), LEARNERS[name]().fit(X, Y)
    for learner in (fresh, model):
        refuse(learner, lambda f=learner.fit: f(X, Y, sample_weight=np.zeros(120)), "zero for every row")
    before = model._core.save()
    scores = model.decision_function(X)
    np.testing.assert_array_equal(model.predict_then_learn(X, Y, sample_weight=np.zeros(120)), scores)
    model.partial_fit(sparse.csr_matrix(X), Y, sample_weight=0.0)
    assert model._core.save() == before


@every_learner
def test_rows_that_weigh_nothing_are_checked_all_the_same(name):
    model = LEARNERS[name]().fit(X, Y)
    weights = weights_with(70, 0.0)
    refuse(model, lambda: model.partial_fit(changed(X, 70, 2, np.inf), Y, sample_weight=weights), "row 70, column 2")
    refuse(model, lambda: model.partial_fit(X, np.where(np.arange(120) == 70, 9, Y), sample_weight=weights), "9")
    refuse(model, lambda: model.fit(changed(X, 70, 2, np.inf), Y, sample_weight=weights), "row 70, column 2")


# ---- labels ---------------------------------------------------------------------------------------------------------


@every_learner
def test_one_class(name):
    model = LEARNERS[name]()
    refuse(model, lambda: model.fit(X, np.ones(120, int)), "one class", "1")
    model.partial_fit(X, np.ones(120, int), classes=[-1, 1])
    model.partial_fit(X, Y)
    assert model.diagnostics_.rounds == 240
    late = LEARNERS[name]().partial_fit(X, np.ones(120, int)).partial_fit(X, Y)
    assert late.diagnostics_.rounds == 240
    assert late.classes_.tolist() == [-1, 1]


@pytest.mark.parametrize("name", BINARY)
def test_more_than_two_classes(name):
    model = LEARNERS[name]()
    three = np.arange(120) % 3
    words = ["3 classes", "not two", "PocketClassifier", "OneVsRestClassifier"]
    for way in WAYS:
        refuse(model, lambda way=way: getattr(model, way)(X, three), *words)
    refuse(model, lambda: model.partial_fit(X, Y, classes=[0, 1, 2]), "classes=[0, 1, 2]", *words)


@every_learner
def test_fewer_than_two_classes_to_come(name):
    model = LEARNERS[name]()
    for call in (model.partial_fit, model.predict_then_learn):
        refuse(model, lambda call=call: call(X, Y, classes=[1]), "classes=[1]", "only one class")
        refuse(model, lambda call=call: call(X, Y, classes=[1, 1]), "only one class")


@pytest.mark.parametrize("labels", [[0, 1, 2], [3.0, 7.0, 1e6], ["a", "b", "c"], [-5, 0, 2**60]], ids=str)
@pytest.mark.parametrize("name", MANY)
def test_three_classes(name, labels):
    places = streams.in_classes(X, 3)
    y = np.array(labels)[places]
    expected = LEARNERS[name]().fit(X, places)
    for way in WAYS:
        model = LEARNERS[name]()
        getattr(model, way)(X, y)
        same_course(model, expected)
        assert model.classes_.tolist() == labels
        assert model.decision_function(X).shape == model.predict_proba(X).shape == (120, 3)
        np.testing.assert_array_equal(model.predict(X), np.array(labels)[np.argmax(model.decision_function(X), axis=1)])
        for later in (np.array(labels)[:1].repeat(120), y.tolist()):  # few of the classes, and lists
            model.predict_then_learn(X, later)
        unknown = "d" if isinstance(labels[0], str) else 1.25
        refuse(
            model,
            lambda model=model, u=unknown: model.partial_fit(X, [u] * 120),
            repr(unknown),
            "not one of the classes",
        )
    given = LEARNERS[name]().partial_fit(X[:1], y[:1], classes=labels[::-1]).partial_fit(X[1:], y[1:])
    same_course(given, expected)


@pytest.mark.parametrize("name", sorted(LEARNERS.keys() - {"MOMDH"}))
def test_probabilities(name):
    model = LEARNERS[name]().fit(X, Y)
    chances = model.predict_proba(X)
    assert chances.shape == (120, 2)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(X) == 1, chances[:, 1] >= chances[:, 0])
    np.testing.assert_allclose(chances[:, 1], 1 / (1 + np.exp(-model.decision_function(X))))


@pytest.mark.parametrize(("name", "given"), [("MOMDH", {}), ("LKMBooks", {"loss": "hinge"})])
def test_no_probabilities_without_the_logistic_loss(name, given):
    model = LEARNERS[name](**given).fit(X, Y)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba") as caught:
        model.predict_proba(X)
    assert "loss='logistic'" in str(caught.value.__cause__)
    assert "loss='hinge'" in str(caught.value.__cause__)


LABELS = {
    "ints": ([3, 7], 5),
    "minus and plus": ([-1, 1], 0),
    "floats": ([0.0, 2.0], 1.0),
    "bools": ([False, True], 2),
    "strings": (["no", "yes"], "maybe"),
}


@pytest.mark.parametrize("labels", LABELS)
def test_unknown_label(labels):
    known, unknown = LABELS[labels]
    y = np.array(known)[(Y > 0).astype(int)]
    model = LEARNERS["MOMDS"]().fit(X, y)
    bad = y.astype(object)
    bad[77] = unknown
    for later in (bad, bad.tolist(), np.full(120, unknown)):
        for way in WAYS[1:]:
            refuse(
                model,
                lambda way=way, later=later: getattr(model, way)(X, later),
                repr(unknown),
                "not one of the classes",
                str(known),
            )


@pytest.mark.parametrize("way", WAYS[1:])
def test_numbers_are_no_names(way):
    """Classes that are strings are -1 and +1 to the core, but to nobody else."""
    model = LEARNERS["MOMDS"]().fit(X, np.where(Y > 0, "yes", "no"))
    refuse(model, lambda: getattr(model, way)(X, Y), "not one of the classes", "'yes'")
    refuse(model, lambda: getattr(model, way)(X, Y.astype(float)), "not one of the classes", "'yes'")


@pytest.mark.parametrize("way", WAYS[1:])
def test_labels_too_long_for_a_double(way):
    big = np.array([2**53, 2**53 + 1])
    model = LEARNERS["MOMDS"]().fit(X, big[(Y > 0).astype(int)])
    assert model.diagnostics_.mistakes == LEARNERS["MOMDS"]().fit(X, Y).diagnostics_.mistakes
    refuse(model, lambda: getattr(model, way)(X, Y), "not one of the classes")


def test_labels_of_the_wrong_sort():
    model = LEARNERS["MOMDS"]().fit(X, Y)
    refuse(model, lambda: model.partial_fit(X, np.where(Y > 0, "a", "b")), "not one of the classes")
    refuse(
        model, lambda: model.partial_fit(X, np.where(Y > 0, 1, np.nan)), "y contains NaN", "drop rows without a label"
    )
    fresh = LEARNERS["MOMDS"]()
    refuse(fresh, lambda: fresh.fit(X, X[:, 0]))  # a regression target
    refuse(fresh, lambda: fresh.fit(X, np.stack([Y, Y], axis=1)))


def test_classes_may_be_repeated_but_not_changed():
    model = LEARNERS["MOMDS"]().partial_fit(X, Y, classes=[1, -1])
    model.partial_fit(X, Y, classes=[-1, 1])
    refuse(model, lambda: model.partial_fit(X, Y, classes=[0, 1]), "classes=[0, 1]", "[-1, 1]")


KINDS_OF_LABELS = {
    "ints": np.array([3, 7]),
    "int8": np.array([-1, 1], dtype=np.int8),
    "int16": np.array([0, 300], dtype=np.int16),
    "int32": np.array([-5, 5], dtype=np.int32),
    "uint8": np.array([0, 255], dtype=np.uint8),
    "uint64": np.array([0, 1], dtype=np.uint64),
    "floats": np.array([0.0, 2.0]),
    "float32": np.array([-1.0, 1.0], dtype=np.float32),
    "float16": np.array([-1.0, 1.0], dtype=np.float16),
    "bools": np.array([False, True]),
    "strings": np.array(["no", "yes"]),
    "objects": np.array(["no", "yes"], dtype=object),
    "other byte order": np.array([3, 7], dtype=np.dtype(np.int32).newbyteorder()),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS_OF_LABELS)
def test_labels_of_every_kind(kind, way):
    expected = LEARNERS["MOMDS"]().fit(X, Y)
    both = KINDS_OF_LABELS[kind]
    y = both[(Y > 0).astype(int)]
    for labels in (y, y.tolist(), np.repeat(y, 2)[::2]):
        model = LEARNERS["MOMDS"]()
        getattr(model, way)(X, labels)
        same_course(model, expected)
        np.testing.assert_array_equal(model.classes_, both)
        np.testing.assert_array_equal(model.predict(X), both[(expected.predict(X) > 0).astype(int)])
        model.predict_then_learn(X, labels)
        assert model.diagnostics_.rounds == 240


# ---- parameters -----------------------------------------------------------------------------------------------------

BAD_PARAMETERS = [
    ("MOMDS", {"budget": 1}, ["budget=1", "at least 2"]),
    ("MOMDH", {"budget": 1}, ["budget=1", "at least 2"]),
    ("MOMDS", {"budget": 0}, ["budget=0", "too small"]),
    ("LKMBooks", {"budget": 0}, ["budget=0", "too small"]),
    ("Raker", {"features": 0}, ["features=0", "too small"]),
    ("MOMDS", {"budget": -3}, ["budget=-3", "too small"]),
    ("MOMDS", {"budget": 2.5}, ["budget=2.5", "integer"]),
    ("MOMDS", {"budget": "10"}, ["budget='10'", "integer"]),
    ("MOMDS", {"budget": True}, ["budget=True", "integer"]),
    ("MOMDS", {"budget": 10**9}, ["budget=1000000000", "10,000,000"]),
    ("MOMDS", {"budget": 2**70}, [f"budget={2**70}"]),
    ("MOMDS", {"budget": 10, "memory": "1MiB"}, ["budget=10", "memory='1MiB'", "choose one"]),
    ("Raker", {"features": 10, "memory": 10**6}, ["features=10", "memory=1000000", "choose one"]),
    ("MOMDS", {"budget": None, "memory": "100"}, ["memory='100'", "at least"]),
    ("MOMDS", {"budget": None, "memory": 0}, ["memory=0", "at least"]),
    ("MOMDS", {"budget": None, "memory": -5}, ["memory=-5", "at least"]),
    ("MOMDS", {"budget": None, "memory": "12 parsecs"}, ["memory='12 parsecs'", "64KiB"]),
    ("MOMDS", {"budget": None, "memory": 1.5}, ["memory=1.5", "64KiB"]),
    ("MOMDS", {"kernels": gaussians([1.0, 0.0])}, ["Gaussian(width=0.0)", "positive"]),
    ("MOMDS", {"kernels": Gaussian(-1.0)}, ["Gaussian(width=-1.0)", "positive"]),
    ("MOMDS", {"kernels": Gaussian(np.nan)}, ["Gaussian(width=nan)", "positive"]),
    ("MOMDS", {"kernels": Gaussian(np.inf)}, ["Gaussian(width=inf)", "width"]),
    ("MOMDS", {"kernels": Gaussian("wide")}, ["Gaussian(width='wide')"]),
    ("MOMDH", {"kernels": [Laplacian(-2.0)]}, ["Laplacian(width=-2.0)", "positive"]),
    ("MOMDS", {"kernels": [Polynomial(2.5)]}, ["Polynomial(degree=2.5)", "whole number"]),
    ("MOMDS", {"kernels": [Polynomial(65)]}, ["Polynomial(degree=65)", "64"]),
    ("MOMDS", {"kernels": "rbf"}, ["'rbf'", "gaussians("]),
    ("MOMDS", {"kernels": ["rbf", "linear"]}, ["'rbf'", "Gaussian"]),
    ("MOMDS", {"kernels": 3}, ["kernels=3", "gaussians("]),
    ("MOMDS", {"kernels": []}, ["kernels=[]", "at least one"]),
    ("MOMDS", {"kernels": gaussians(range(1, 34))}, ["32"]),
    ("MOMDS", {"loss": "hinge"}, ["loss='hinge'", "G1", "'logistic'"]),
    ("MOMDS", {"loss": "squared"}, ["loss='squared'", "'logistic'"]),
    ("Raker", {"loss": None}, ["loss=None", "'logistic'"]),
    ("MOMDS", {"removal": "quarter"}, ["removal='quarter'", "'half'", "'restart'"]),
    ("MOMDH", {"removal": 2}, ["removal=2", "'half'"]),
    ("MOMDS", {"dtype": "float16"}, ["dtype='float16'", "'float32'"]),
    ("MOMDS", {"step": 0.0}, ["step=0.0", "positive"]),
    ("MOMDS", {"step": np.nan}, ["step=nan", "positive"]),
    ("MOMDS", {"step": "big"}, ["step='big'", "number"]),
    ("MOMDS", {"norm_bound": -1.0}, ["norm_bound=-1.0", "positive"]),
    ("MOMDS", {"norm_bound": np.inf}, ["norm_bound=inf", "positive"]),
    ("MOMDH", {"reservoir": 0}, ["reservoir=0", "10,000"]),
    ("MOMDH", {"reservoir": -1}, ["reservoir=-1"]),
    ("MOMDH", {"reservoir": 1.5}, ["reservoir=1.5", "integer"]),
    ("MOMDH", {"reservoir": 2**70}, [f"reservoir={2**70}"]),
    ("MOMDH", {"horizon": 0.5}, ["horizon=0.5", "from 1"]),
    ("LKMBooks", {"horizon": 0}, ["horizon=0", "from 1"]),
    ("LKMBooks", {"nu": 1.0}, ["nu=1.0", "between 0 and 1"]),
    ("Raker", {"rate": 0.0}, ["rate=0.0", "positive"]),
    ("Raker", {"regularization": -0.1}, ["regularization=-0.1", "from 0"]),
    ("Raker", {"rate": 2.0, "regularization": 0.5}, ["regularization=0.5", "1/rate"]),
    ("Raker", {"kernels": [Gaussian(1.0), Laplacian(1.0)]}, ["Laplacian(width=1.0)", "not Gaussian"]),
    ("Raker", {"kernels": Linear()}, ["Linear()", "not Gaussian"]),
    *((name, {"storage": "float16", "dtype": "float64"}, ["storage='float16'", "dtype='float32'"]) for name in STORING),
    ("MOMDS", {"storage": "bfloat16", "dtype": "float64"}, ["storage='bfloat16'", "dtype='float32'"]),
    ("MOMDS", {"storage": "float8"}, ["storage='float8'", "'float16'", "'bfloat16'"]),
    ("MOMDH", {"storage": np.float16}, ["storage=<class 'numpy.float16'>", "'float16'"]),
    ("LKMBooks", {"storage": 16}, ["storage=16", "'bfloat16'"]),
    ("MulticlassMOMDS", {"storage": "full"}, ["storage='full'", "'float16'"]),
    ("MulticlassMOMDS", {"budget": 1}, ["budget=1", "at least 2"]),
    ("MulticlassMOMDS", {"removal": "quarter"}, ["removal='quarter'", "'half'"]),
    ("MulticlassMOMDS", {"norm_bound": 0.0}, ["norm_bound=0.0", "positive"]),
    ("MulticlassMOMDS", {"step": -1.0}, ["step=-1.0", "positive"]),
    ("PocketClassifier", {"memory": "1000"}, ["memory='1000'", "PocketClassifier with 4 features", "at least"]),
    ("PocketClassifier", {"memory": None}, ["memory=None", "64KiB"]),
    ("PocketClassifier", {"memory": "much"}, ["memory='much'", "64KiB"]),
    ("PocketClassifier", {"dtype": "float16"}, ["dtype='float16'", "'float32'"]),
    ("PocketClassifier", {"random_state": -1}, ["random_state=-1"]),
    ("MOMDS", {"random_state": "x"}, ["random_state='x'"]),
    ("MOMDS", {"random_state": -1}, ["random_state=-1"]),
    ("MOMDS", {"random_state": 2**64}, [f"random_state={2**64}"]),
    ("MOMDS", {"random_state": 1.5}, ["random_state=1.5"]),
]


@pytest.mark.parametrize(("name", "given", "words"), BAD_PARAMETERS, ids=lambda x: str(x)[:50])
def test_bad_parameters(name, given, words):
    model = LEARNERS[name](**given)  # storing them is no error; using them is
    for way in ("fit", "partial_fit"):
        refuse(model, lambda way=way: getattr(model, way)(X, Y), *words)


BAD_N_JOBS = [0, -2, 1.5, "2", True, [1]]


@pytest.mark.parametrize("n_jobs", BAD_N_JOBS, ids=repr)
@every_learner
def test_bad_n_jobs(name, n_jobs):
    model = LEARNERS[name](n_jobs=n_jobs)
    for way in WAYS:
        refuse(model, lambda way=way: getattr(model, way)(X, Y), f"n_jobs={n_jobs!r}", "-1 for all cores")
    model.set_params(n_jobs=2).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), LEARNERS[name]().fit(X, Y).predict(X))


@pytest.mark.parametrize("class_", [Raker, PocketClassifier])
def test_random_features_store_no_rows(class_):
    with pytest.raises(TypeError, match="storage"):
        class_(storage="float16")


def test_bad_parameters_leave_the_learner_of_before():
    model = LEARNERS["MOMDS"]().fit(X, Y).set_params(budget=1)
    refuse(model, lambda: model.fit(X, Y), "budget=1")
    model.partial_fit(X, Y)  # still the learner that was fitted
    assert model.budget_ == 10


def test_lkm_books_needs_a_horizon():
    model = LKMBooks(budget=5, random_state=0)
    refuse(model, lambda: model.partial_fit(X, Y), "horizon=None", "horizon=", "fit")
    assert model.fit(X, Y).diagnostics_.rounds == 120
    same_course(model, LKMBooks(budget=5, horizon=120, random_state=0).fit(X, Y))


@every_learner
def test_before_learning(name):
    model = LEARNERS[name]()
    attributes = ["nbytes", "kernel_weights_", "diagnostics_"] + ["frequencies_"] * (
        name in ("Raker", "PocketClassifier")
    )
    for attribute in attributes:
        refuse(model, lambda attribute=attribute: getattr(model, attribute), name, "fit", error=NotFittedError)
    refuse(model, lambda: model.decision_function(X), name, error=NotFittedError)
    assert not hasattr(model, "classes_")


@every_learner
def test_predict_before_learning(name):
    model = LEARNERS[name]()
    refuse(model, lambda: model.predict(X), name, error=NotFittedError)


# ---- memory ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("memory", ["64KiB", "9kB", 100_000])
@every_dtype
@pytest.mark.parametrize("name", sorted(LEARNERS.keys() - {"PocketClassifier"}))
def test_memory_picks_the_largest_budget(name, dtype, memory):
    class_ = type(LEARNERS[name]())
    needed = {"horizon": 120} if name in ("LKMBooks", "MOMDH") else {}
    given = {"kernels": gaussians([0.5, 1]), "dtype": dtype, "random_state": 0} | needed
    limit = {"64KiB": 65536, "9kB": 9000}.get(memory, memory)
    model = class_(memory=memory, **given)
    if name == "MOMDH":
        model.set_params(reservoir=2)
        given["reservoir"] = 2
    model.fit(X, Y)
    assert model.nbytes <= limit
    budget = "features" if name == "Raker" else "budget"
    chosen = class_(**given, **{budget: model.budget_}).fit(X, Y)
    assert chosen.nbytes == model.nbytes
    same_course(chosen, model)
    assert class_(**given, **{budget: model.budget_ + 1}).fit(X, Y).nbytes > limit


def test_the_smallest_memory_that_would_work_is_named():
    model = MOMDS(memory=100, random_state=0)
    with pytest.raises(ValueError, match="at least") as caught:
        model.fit(X, Y)
    least = int(str(caught.value).split("at least ")[1].split()[0])
    assert MOMDS(memory=least, random_state=0).fit(X, Y).budget_ >= 2
    with pytest.raises(ValueError, match="at least"):
        MOMDS(memory=least - 1, random_state=0).fit(X, Y)


# ---- rows of every kind ---------------------------------------------------------------------------------------------


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def unsorted_duplicates(X):
    """A CSR matrix whose rows list their columns backwards, one of them in two halves."""
    X = sparse.csr_matrix(X)
    values, columns, starts = [], [], [0]
    for row in range(X.shape[0]):
        place = slice(X.indptr[row], X.indptr[row + 1])
        v, c = list(X.data[place][::-1]), list(X.indices[place][::-1])
        if v:
            v, c = [*v[:-1], v[-1] / 2, v[-1] / 2], [*c, c[-1]]
        values += v
        columns += c
        starts.append(len(values))
    return sparse.csr_matrix((values, columns, starts), shape=X.shape)


def wide_indices(X):
    X = sparse.csr_matrix(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


KINDS_OF_ROWS = {
    "lists": np.ndarray.tolist,
    "Fortran order": np.asfortranarray,
    "strided rows": lambda X: np.repeat(X, 2, axis=0)[::2],
    "strided columns": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "backwards": lambda X: X[::-1].copy()[::-1],
    "read-only": read_only,
    "other byte order": lambda X: X.astype(X.dtype.newbyteorder()),
    "objects": lambda X: X.astype(object),
    "matrix of scipy": sparse.csr_matrix,
    "array of scipy": sparse.csr_array,
    "CSC": sparse.csc_matrix,
    "COO": sparse.coo_matrix,
    "LIL": sparse.lil_matrix,
    "unsorted duplicates": unsorted_duplicates,
    "64-bit indices": wide_indices,
}


@every_dtype
@pytest.mark.parametrize("kind", KINDS_OF_ROWS)
def test_rows_of_every_kind(kind, dtype):
    rows = WIDE.copy()
    rows[5] = 0  # an empty row
    expected = LEARNERS["MOMDS"](dtype=dtype).fit(rows, WIDE_Y)
    scores = expected.decision_function(rows)
    given = KINDS_OF_ROWS[kind](rows)
    for way in WAYS:
        model = LEARNERS["MOMDS"](dtype=dtype)
        getattr(model, way)(given, WIDE_Y)
        same_course(model, expected)
        np.testing.assert_array_equal(model.decision_function(given), scores)
    twice = LEARNERS["MOMDS"](dtype=dtype).fit(given, WIDE_Y)
    twice.predict_then_learn(given, WIDE_Y)
    same_course(twice, LEARNERS["MOMDS"](dtype=dtype).fit(rows, WIDE_Y).partial_fit(rows, WIDE_Y))


def test_memory_maps(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    rows = np.load(tmp_path / "rows.npy", mmap_mode="r")
    model = LEARNERS["MOMDS"]()
    for start in range(0, 120, 30):
        model.predict_then_learn(rows[start : start + 30], Y[start : start + 30], classes=[-1, 1])
    same_course(model, LEARNERS["MOMDS"]().fit(X, Y))


def test_unaligned_rows():
    raw = b"\0" + X.tobytes()
    rows = np.frombuffer(raw, dtype=np.float64, offset=1).reshape(X.shape)
    assert not rows.flags.aligned
    model = LEARNERS["MOMDS"](dtype="float64").fit(rows, Y)
    same_course(model, LEARNERS["MOMDS"](dtype="float64").fit(X, Y))


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, bool, np.float16, np.longdouble])
def test_numbers_of_every_kind(dtype):
    rows = np.abs(np.round(3 * X)).astype(dtype)
    same_course(LEARNERS["MOMDH"]().fit(rows, Y), LEARNERS["MOMDH"]().fit(rows.astype(float), Y))


def test_a_matrix_of_the_caller_stays_as_it_was():
    given = unsorted_duplicates(WIDE)
    before = [array.copy() for array in (given.data, given.indices, given.indptr)]
    model = LEARNERS["MOMDS"]().fit(given, WIDE_Y)
    model.predict_then_learn(given, WIDE_Y)
    model.decision_function(given)
    for array, old in zip((given.data, given.indices, given.indptr), before, strict=True):
        np.testing.assert_array_equal(array, old)


def test_a_matrix_that_lies_about_its_order_is_refused():
    lying = unsorted_duplicates(WIDE)
    lying.has_canonical_format = True
    model = LEARNERS["MOMDS"]().fit(WIDE, WIDE_Y)
    refuse(model, lambda: model.partial_fit(lying, WIDE_Y), "unsorted or repeated")


@every_learner
def test_empty_rows(name):
    nothing = sparse.csr_matrix((6, 20))
    y = np.array([1, -1, 1, 1, -1, 1])
    model = LEARNERS[name]().fit(nothing, y)
    same_course(model, LEARNERS[name]().fit(np.zeros((6, 20)), y))
    assert np.ptp(model.decision_function(nothing)) == 0


@every_learner
def test_one_column_and_one_row(name):
    model = LEARNERS[name]()
    for t in range(20):
        model.partial_fit([[0.1 * t]], [t % 2], classes=[0, 1])
    assert model.n_features_in_ == 1
    assert model.diagnostics_.rounds == 20


def test_rows_too_small_to_square_still_have_a_direction():
    """Cosines depend on directions only."""
    expected = MOMDS(kernels=Linear(), budget=10, dtype="float64", random_state=0).predict_then_learn(X, Y)
    scores = MOMDS(kernels=Linear(), budget=10, dtype="float64", random_state=0).predict_then_learn(X * 2.0**-300, Y)
    np.testing.assert_allclose(scores, expected, rtol=1e-9)


# ---- the estimator's manners ----------------------------------------------------------------------------------------


@every_learner
def test_fit_forgets_and_partial_fit_goes_on(name):
    once = LEARNERS[name]().fit(X, Y)
    same_course(LEARNERS[name]().fit(X, Y).fit(X, Y), once)
    same_course(LEARNERS[name]().fit(WIDE, WIDE_Y).fit(X, Y), once)  # of another width before
    in_parts = LEARNERS[name]().partial_fit(X[:50], Y[:50]).partial_fit(X[50:], Y[50:])
    same_course(in_parts, once)
    in_parts.partial_fit(X, Y)
    assert in_parts.diagnostics_.rounds == 240


@every_learner
def test_clone_and_parameters(name):
    model = LEARNERS[name](dtype="float64").fit(X, Y)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not copy.__sklearn_is_fitted__()
    same_course(copy.fit(X, Y), model)
    assert copy.set_params(dtype="float32").dtype == "float32"
    assert repr(copy).startswith(f"{name}(")
    assert "random_state=1" in repr(copy)
    with pytest.raises(ValueError, match="nonsense"):
        copy.set_params(nonsense=1)


def test_predictions_are_labels_and_scores_have_their_sign():
    y = np.where(Y > 0, "yes", "no")
    model = MOMDS(budget=60, random_state=0).fit(X, y)
    assert model.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(model.predict(X) == "yes", model.decision_function(X) >= 0)
    assert model.score(X, y) == np.mean(model.predict(X) == y)


def test_random_state():
    def course(random_state):
        return MOMDS(budget=10, random_state=random_state).fit(X, Y)._core.save()

    assert course(7) == course(7) == course(np.int64(7))
    assert course(7) != course(8)
    assert course(2**64 - 1) != course(0)
    assert course(None) != course(None)
    assert course(np.random.default_rng(7)) == course(np.random.default_rng(7)) != course(np.random.default_rng(8))
    assert course(np.random.RandomState(7)) == course(np.random.RandomState(7)) != course(np.random.RandomState(8))
    generator = np.random.default_rng(7)
    assert course(generator) != course(generator)  # a generator moves on
    seed = int(np.random.default_rng(7).integers(2**64, dtype=np.uint64))
    assert course(np.random.default_rng(7)) == course(seed)


def test_kernels_in_any_container():
    expected = LEARNERS["MOMDS"](kernels=gaussians([1, 2])).fit(X, Y)
    for kernels in ([Gaussian(1), Gaussian(2)], (Gaussian(1.0), Gaussian(2.0)), np.array(gaussians([1, 2]))):
        same_course(LEARNERS["MOMDS"](kernels=kernels).fit(X, Y), expected)
    same_course(LEARNERS["MOMDS"](kernels=Gaussian(1)).fit(X, Y), LEARNERS["MOMDS"](kernels=[Gaussian(1)]).fit(X, Y))


# ---- odd cases -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["V0", [], "V8", "S1", "U1"], ids=str)
def test_items_of_no_size(dtype):
    """Arrays that the core is shown as they are, and must refuse."""
    model = LEARNERS["MOMDS"]().fit(X, Y)
    before = trace(model)
    odd = np.zeros((3, X.shape[1]), dtype=dtype)
    for call in (
        lambda: model.decision_function(odd),
        lambda: model.partial_fit(odd, Y[:3]),
        lambda: model.partial_fit(X[:3], odd[:, 0]),
        lambda: model.partial_fit(X[:3], Y[:3], sample_weight=odd[:, 0]),
    ):
        with pytest.raises((ValueError, TypeError)):
            call()
    assert trace(model) == before


@pytest.mark.parametrize(
    ("classes", "words"),
    [
        ([], "is not a list of labels"),
        ([None, 1], "has no label in row 0"),
        (["a", 1], "of different types"),
        ([0.0, math.nan], "is not a list of labels"),
        ([[0, 1]], "is not a list of labels"),
        ([1], "only one class"),
    ],
)
def test_odd_classes(classes, words):
    model = LEARNERS["MOMDS"]()
    refuse(model, lambda: model.partial_fit(X, Y, classes=classes), words)


def test_classes_in_any_container():
    expected = LEARNERS["MOMDS"]().fit(X, Y).decision_function(X)
    for classes in ({-1, 1}, (1, -1), np.array([-1, 1]), [-1, 1]):
        model = LEARNERS["MOMDS"]()
        for rows in np.array_split(np.arange(len(Y)), 3):
            model.partial_fit(X[rows], Y[rows], classes=classes)
        np.testing.assert_array_equal(model.decision_function(X), expected)


def test_labels_as_lists_and_strings_take_the_short_way_to_the_same_bits():
    names = np.array(["no", "yes"])
    plain = LEARNERS["MOMDS"]().fit(X, Y)
    for labels in (Y.tolist(), names[(Y > 0).astype(int)], names[(Y > 0).astype(int)].tolist()):
        model = LEARNERS["MOMDS"]()
        model.partial_fit(X[:60], labels[:60])
        for t in range(60, len(Y)):
            model.partial_fit(X[t : t + 1], labels[t : t + 1])
        np.testing.assert_array_equal(model.decision_function(X), plain.decision_function(X))
        with pytest.raises(ValueError, match="not one of the classes"):
            model.partial_fit(X[:1], ["maybe"])


def test_the_loss_that_was_learned_decides_on_probabilities():
    model = MOMDS(loss="smooth_hinge", random_state=0).fit(X, Y)
    model.set_params(loss="logistic")
    assert not hasattr(model, "predict_proba")
    assert hasattr(model.fit(X, Y), "predict_proba")


def test_sparse_columns_out_of_range():
    bad = sparse.csr_matrix(X)
    bad.indices[3] = -1
    bad.has_canonical_format = True
    with pytest.raises(ValueError, match="sparse column indices that are out of range"):
        LEARNERS["MOMDS"]().fit(X, Y).decision_function(bad)


@pytest.mark.parametrize("memory", ["9" * 400 + "GB", "64 parsecs", "-1KiB"])
def test_impossible_numbers_of_bytes(memory):
    model = MOMDS(memory=memory)
    refuse(model, lambda: model.fit(X, Y), "is not a number of bytes")


def test_more_than_the_machine_has():
    model = MOMDS(memory="4TiB")
    with pytest.raises((MemoryError, ValueError)):
        MOMDS(budget=10_000_000, dtype="float64").partial_fit(np.zeros((1, 100_000)), [0], classes=[0, 1])
    assert model.plan(1000).nbytes <= 4 * 2**40


@pytest.mark.parametrize("n_jobs", [0, "2", 1.5])
def test_n_jobs_set_after_learning(n_jobs):
    model = LEARNERS["MOMDS"]().fit(X, Y).set_params(n_jobs=n_jobs)
    refuse(model, lambda: model.decision_function(X), f"n_jobs={n_jobs!r}")


# ---- sparse matrices whose arrays do not belong together ------------------------------------------------------------


def _broken(name):
    """A CSR matrix of X, changed after scipy had looked at it."""
    bad = sparse.csr_matrix(X)
    match name:
        case "short indptr":
            bad.indptr = bad.indptr[:-1]
        case "long indptr":
            bad.indptr = np.append(bad.indptr, bad.indptr[-1])
        case "nonzero first":
            bad.indptr[0] = 1
        case "beyond the data":
            bad.indptr[-1] += 1000
        case "decreasing":
            bad.indptr[3], bad.indptr[4] = bad.indptr[4], bad.indptr[3]
        case "negative start":
            bad.indptr[2] = -5
        case "fewer values":
            bad.data = bad.data[:-1]
        case "fewer indices":
            bad.indices = bad.indices[:-1]
        case "2**32":
            bad.indices = bad.indices.astype(np.int64)
            bad.indices[5] = 2**32
        case "2**32, unsigned":
            bad.indices = bad.indices.astype(np.uint64)
            bad.indices[5] = 2**32
        case "2**63":
            bad.indices = bad.indices.astype(np.uint64)
            bad.indices[5] = 2**63
        case "negative":
            bad.indices[5] = -1
        case "one too far":
            bad.indices[5] = X.shape[1]
        case "fractions":
            bad.indices = bad.indices + 0.5
        case "a matrix of indices":
            bad.indices = bad.indices.reshape(-1, 2)
    return bad


BROKEN = [
    "short indptr", "long indptr", "nonzero first", "beyond the data", "decreasing", "negative start", "fewer values",
    "fewer indices", "2**32", "2**32, unsigned", "2**63", "negative", "one too far", "fractions", "a matrix of indices",
]  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("known", [False, True])
def test_broken_sparse_matrices(name, known):
    """Refused before scipy or the core read or write where they lead; column 2**32 was column 0."""
    model = LEARNERS["MOMDS"]().fit(X, Y)
    before = model.to_bytes()
    for call in (lambda bad: model.decision_function(bad), lambda bad: model.partial_fit(bad, Y),
                 lambda bad: LEARNERS["MOMDS"]().fit(bad, Y)):  # fmt: skip
        bad = _broken(name)
        if known:
            bad.has_canonical_format = True  # as scipy remembers it
        with pytest.raises(ValueError, match="sparse"):
            call(bad)
    assert model.to_bytes() == before


@pytest.mark.parametrize("format_", ["csc", "coo", "bsr"])
def test_broken_sparse_matrices_of_other_formats(format_):
    model = LEARNERS["MOMDS"]().fit(X, Y)
    bad = sparse.csr_matrix(X).asformat(format_)
    (bad.row if format_ == "coo" else bad.indices)[1] = 10**6
    with pytest.raises(ValueError, match="index out of range"):
        model.decision_function(bad)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_unsorted_and_repeated_columns(dtype):
    """Brought in order, repeated ones added up; the matrix is left as it was. A false flag is found out."""
    arrays = np.array([1.0, 2.0, 3.0, 4.0]), np.array([2, 0, 2, 1], dtype), np.array([0, 3, 4], dtype)
    rows = sparse.csr_matrix(arrays, shape=(2, 4))
    model = LEARNERS["MOMDS"]().fit(X, Y)
    np.testing.assert_array_equal(model.decision_function(rows), model.decision_function(rows.toarray()))
    assert rows.indices.tolist() == [2, 0, 2, 1]
    rows.has_canonical_format = True
    with pytest.raises(ValueError, match="column indices that are out of range, unsorted or repeated"):
        model.decision_function(rows)
