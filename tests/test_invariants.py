"""What holds on every stream, for every learner and parameters: hypothesis makes them up."""

import pickle
from typing import NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import log_softmax

from pocketkernel.kernels import Gaussian, Laplacian, Linear, Polynomial
from pocketkernel.learners import MOMDH, MOMDS, LKMBooks, MulticlassMOMDS, PocketClassifier, Raker, SharedMOMDH
from pocketkernel.losses import LOSSES

always = settings(deadline=None, derandomize=True, max_examples=120)

# ---- streams --------------------------------------------------------------------------------------------------------


def normal(rng, n, d):
    return rng.normal(size=(n, d))


def repeats(rng, n, d):
    return rng.normal(size=(3, d))[rng.integers(3, size=n)]


def zeros(rng, n, d):
    return rng.normal(size=(n, d)) * (rng.random(n) < 0.5)[:, None]


def constant_columns(rng, n, d):
    return np.where(rng.random(d) < 0.7, 3.25, rng.normal(size=(n, d)))


def one_hot(rng, n, d):
    return np.eye(d)[rng.integers(d, size=n)]


def few_nonzeros(rng, n, d):
    return np.where(rng.random((n, d)) < 0.1, rng.normal(size=(n, d)), 0.0)


def large(rng, n, d):
    return rng.normal(size=(n, d)) * 10.0 ** rng.integers(-6, 7, size=(n, d))


def near_repeats(rng, n, d):
    return repeats(rng, n, d) + 1e-5 * rng.normal(size=(n, d))


KINDS = (normal, repeats, zeros, constant_columns, one_hot, few_nonzeros, large, near_repeats)


# ---- learners -------------------------------------------------------------------------------------------------------

widths = st.one_of(st.sampled_from([0.25, 0.5, 1.0, 4.0, 64.0]), st.floats(1e-3, 1e3))
gaussian = st.builds(Gaussian, widths)
any_kernel = st.one_of(
    gaussian, st.builds(Laplacian, widths), st.builds(Polynomial, st.integers(1, 9)), st.just(Linear())
)
precision = st.sampled_from(["float32", "float64"])
seeds = {"random_state": st.integers(0, 2**64 - 1)}
# Precision and storage; only float32 has halves.
stores = st.sampled_from([("float32", None), ("float64", None), ("float32", "float16"), ("float32", "bfloat16")])
some_kernels = {"kernels": st.lists(any_kernel, min_size=1, max_size=6)}
steps = {"step": st.sampled_from([0.5, 1.0, 2.0])}
mirror = some_kernels | steps | {
    "budget": st.integers(2, 40),
    "removal": st.sampled_from(["half", "restart", "oldest", "eager"]),
    "norm_bound": st.sampled_from([None, 0.1, 3.0]),
}  # fmt: skip


def storing(class_, **strategies):
    return st.builds(lambda s, **given: class_(dtype=s[0], storage=s[1], **given), stores, **seeds, **strategies)


momds = storing(MOMDS, **mirror, loss=st.sampled_from(["logistic", "smooth_hinge"]))
momdh = storing(MOMDH, **mirror, reservoir=st.integers(1, 12), horizon=st.sampled_from([1.0, 5.0, 1e9]))
shared = storing(
    SharedMOMDH,
    **{name: strategy for name, strategy in mirror.items() if name != "removal"},
    reservoir=st.integers(1, 12),
    horizon=st.sampled_from([1.0, 5.0, 1e9]),
)
multiclass = storing(MulticlassMOMDS, **mirror)
lkm_books = storing(
    LKMBooks,
    **some_kernels,
    **steps,
    budget=st.integers(2, 40),
    horizon=st.sampled_from([50.0, 1000.0]),
    nu=st.sampled_from([0.5, 0.25]),
    loss=st.sampled_from(sorted(LOSSES)),
)
raker = st.builds(
    Raker,
    **seeds,
    dtype=precision,
    kernels=st.lists(gaussian, min_size=1, max_size=6),
    features=st.integers(1, 40),
    rate=st.sampled_from([0.01, 0.5, 1.0]),
    regularization=st.sampled_from([0.0, 0.05]),
    loss=st.sampled_from(sorted(LOSSES)),
)
pocket = st.builds(PocketClassifier, **seeds, dtype=precision, memory=st.integers(16_000, 40_000))
learners = st.one_of(momds, momdh, shared, multiclass, lkm_books, raker, pocket)


# ---- runs -----------------------------------------------------------------------------------------------------------


class Run(NamedTuple):
    """A learner before its first row, and what it is to learn."""

    model: object
    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None
    classes: list

    def learn(self, model=None, rows=slice(None)):
        """Learn the rows; answer the scores."""
        weights = None if self.weights is None else self.weights[rows]
        model = self.model if model is None else model
        return model.predict_then_learn(self.X[rows], self.y[rows], classes=self.classes, sample_weight=weights)

    def learned(self):
        """Which rows leave a trace."""
        return np.ones(len(self.y), bool) if self.weights is None else self.weights > 0

    def weight(self):
        return np.ones(len(self.y)) if self.weights is None else self.weights


@st.composite
def runs(draw, models=learners):
    model = draw(models)
    n, d = draw(st.integers(2, 90)), draw(st.sampled_from([1, 2, 5, 17, 40, 70]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = draw(st.sampled_from(KINDS))(rng, n, d)
    if getattr(model, "storage", None) == "float16":
        X = np.clip(X, -65504, 65504)
    C = draw(st.sampled_from([2, 3, 7])) if isinstance(model, MulticlassMOMDS | PocketClassifier) else 2
    classes = [-1, 1] if C == 2 else list(range(C))
    rare = draw(st.sampled_from([0.0, 0.3, 1 - 1 / C]))  # one class only among them
    y = np.where(rng.random(n) < rare, rng.choice(classes[:-1], size=n), classes[-1])
    some = draw(st.sampled_from([(), (1.0,), (0.0, 1.0), (0.0, 0.01, 0.7, 3.0, 100.0)]))
    weights = rng.choice(some, size=n) if some else None
    return Run(model, X, y, weights, classes)


def twin_of(model):
    return type(model)(**model.get_params())


def state(model):
    return model._core.save()


# ---- what holds -----------------------------------------------------------------------------------------------------


@always
@given(run=runs())
def test_numbers_stay_in_bounds(run):
    model, n = run.model, len(run.y)
    model.partial_fit(run.X[:1], run.y[:1], classes=run.classes)
    size = model.nbytes
    bound = getattr(model, "norm_bound", np.inf)
    bound = np.sqrt(model.budget_) if bound is None else bound
    for rows in np.array_split(np.arange(1, n), 4):
        if len(rows) == 0:
            continue
        assert np.all(np.isfinite(run.learn(rows=rows)))
        weights, done = model.kernel_weights_, model.diagnostics_
        assert np.all(weights >= 0)
        assert abs(weights.sum() - 1) <= 1e-12
        assert np.all(done.norms >= 0)
        assert np.all(done.norms <= bound * (1 + 1e-6))
        # The budget of a PocketClassifier counts frequencies. Its ring is bounded by the rows that came, and by its
        # bytes: a row has 8 bits for each column.
        ring = done.stored[done.stored > model.budget_]
        assert len(ring) <= isinstance(model, PocketClassifier)
        assert np.all(ring <= min(done.rounds, size // model.n_features_in_))
        assert model.nbytes == size
    assert np.all(np.isfinite(model.decision_function(run.X)))


def losses_of(model, scores, y, classes):
    """The loss of each score, by definition."""
    if scores.ndim == 2:
        return -log_softmax(scores, axis=1)[np.arange(len(y)), np.searchsorted(classes, y)]
    loss = LOSSES[model._loss_name()]
    return np.array([loss.value(float(u), float(v)) for u, v in zip(scores, y, strict=True)])


@always
@given(run=runs())
def test_counters_agree_with_the_scores(run):
    scores = run.learn()
    done, learned = run.model.diagnostics_, run.learned()
    answers = np.argmax(scores, axis=1) if scores.ndim == 2 else (scores >= 0).astype(int)
    assert done.rounds == np.count_nonzero(learned)
    assert done.mistakes == np.count_nonzero((np.array(run.classes)[answers] != run.y)[learned])
    expected = run.weight() @ losses_of(run.model, scores, run.y, run.classes)
    np.testing.assert_allclose(done.cumulative_loss, expected, rtol=1e-12, atol=1e-12)


@always
@given(run=runs(st.one_of(momds, momdh, shared, multiclass, lkm_books)))
def test_stored_is_added_minus_removed(run):
    run.learn()
    model = run.model
    done, B = model.diagnostics_, model.budget_
    dropped = {"half": B // 2, "restart": B, "oldest": 1, "eager": B // 2}[getattr(model, "removal", "half")]
    np.testing.assert_array_equal(done.stored, done.kernel_additions - dropped * done.kernel_removals)
    assert np.all(done.kernel_additions + done.kernel_proxies <= done.rounds)
    if isinstance(model, MOMDH | SharedMOMDH):
        for count in ("additions", "proxies", "removals"):  # kernels with a buffer of their own count for themselves
            alone = isinstance(model, SharedMOMDH) and count != "proxies"
            assert done[count] == (done[f"kernel_{count}"].max() if alone else done[f"kernel_{count}"].sum())
        capacity = model.reservoir * (1 + int(np.ceil(np.log(model.horizon))))
        assert min(done.rounds, model.reservoir) <= done.archived <= done.rounds
        assert done.overflowed == max(0, done.archived - capacity)
        assert np.all(done.alignment_proxy >= 0)
    else:
        assert np.all(done.kernel_additions == done.additions)
        assert done.archived == done.overflowed == 0


@always
@given(run=runs(), as_csr=st.booleans())
def test_a_block_is_its_rows(run, as_csr):
    run = run._replace(X=sparse.csr_matrix(run.X)) if as_csr else run
    single = twin_of(run.model)
    scores = run.learn()
    one_by_one = [run.learn(single, slice(t, t + 1)) for t in range(len(run.y))]
    np.testing.assert_array_equal(scores, np.concatenate(one_by_one))
    assert state(run.model) == state(single)


@always
@given(run=runs())
def test_rows_that_weigh_nothing_leave_no_trace(run):
    twin, learned = twin_of(run.model), run.learned()
    begin = slice(0, 1)
    for model in (run.model, twin):  # both know their rows' width
        model.partial_fit(run.X[begin], run.y[begin], classes=run.classes)
    scores = run.learn()
    if np.any(learned):
        np.testing.assert_array_equal(run.learn(twin, learned), scores[learned])
    assert state(run.model) == state(twin)


@always
@given(run=runs())
def test_a_weight_of_1_is_none(run):
    twin = twin_of(run.model)
    np.testing.assert_array_equal(
        run._replace(weights=None).learn(), run._replace(weights=np.ones(len(run.y))).learn(twin)
    )
    assert state(run.model) == state(twin)


@always
@given(run=runs())
def test_answering_learns_nothing(run):
    model, X = run.model, run.X
    run.learn()
    before = state(model)
    scores = model.decision_function(X)
    np.testing.assert_array_equal(scores, np.concatenate([model.decision_function(row[None]) for row in X]))
    places = np.argmax(scores, axis=1) if len(run.classes) > 2 else (scores >= 0).astype(int)
    np.testing.assert_array_equal(model.predict(X), np.array(run.classes)[places])
    assert scores.shape == ((len(X), len(run.classes)) if len(run.classes) > 2 else (len(X),))
    assert state(model) == before
    # A row's score is what predict_then_learn would answer for it.
    np.testing.assert_array_equal(model.predict_then_learn(X[:1], run.y[:1]), scores[:1])


@always
@given(run=runs(st.one_of(multiclass, pocket)))
def test_of_two_classes_one_gains_what_the_other_loses(run):
    run = run._replace(y=np.where(run.y == run.classes[-1], 1, -1), classes=[-1, 1])
    run.learn()
    scores = run.model._scores(run.X)
    np.testing.assert_array_equal(scores[:, 0], -scores[:, 1])


@always
@given(run=runs(), at=st.floats(0, 1))
def test_a_pickle_goes_on_where_the_learner_was(run, at):
    model, n = run.model, len(run.y)
    here = 1 + int(at * (n - 1))
    run.learn(rows=slice(0, here))
    copy = pickle.loads(pickle.dumps(model))
    assert state(copy) == state(model)
    assert copy.nbytes == model.nbytes
    if here < n:
        np.testing.assert_array_equal(run.learn(copy, slice(here, n)), run.learn(model, slice(here, n)))
    np.testing.assert_array_equal(copy.decision_function(run.X), model.decision_function(run.X))
    assert state(copy) == state(model)


@always
@given(run=runs())
def test_a_seed_gives_one_course(run):
    twin = twin_of(run.model)
    np.testing.assert_array_equal(run.learn(), run.learn(twin))
    assert state(run.model) == state(twin)
