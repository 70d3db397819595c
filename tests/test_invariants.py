"""What holds on every stream, for every learner and parameters: hypothesis makes them up."""

import pickle

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from pocketkernel import MOMDH, MOMDS, Gaussian, Laplacian, Linear, LKMBooks, Polynomial, Raker
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


@st.composite
def rows_and_labels(draw):
    n, d = draw(st.integers(2, 90)), draw(st.sampled_from([1, 2, 5, 17, 40]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = draw(st.sampled_from(KINDS))(rng, n, d)
    y = np.where(rng.random(n) < draw(st.sampled_from([0.0, 0.3, 0.5])), -1, 1)  # one class only among them
    return X, y


# ---- learners -------------------------------------------------------------------------------------------------------

widths = st.one_of(st.sampled_from([0.25, 0.5, 1.0, 4.0, 64.0]), st.floats(1e-3, 1e3))
gaussian = st.builds(Gaussian, widths)
any_kernel = st.one_of(
    gaussian, st.builds(Laplacian, widths), st.builds(Polynomial, st.integers(1, 9)), st.just(Linear())
)
common = {
    "dtype": st.sampled_from(["float32", "float64"]),
    "random_state": st.integers(0, 2**64 - 1),
}
some_kernels = {"kernels": st.lists(any_kernel, min_size=1, max_size=6)}
steps = {"step": st.sampled_from([0.5, 1.0, 2.0])}
mirror = some_kernels | steps | {
    "budget": st.integers(2, 40),
    "removal": st.sampled_from(["half", "restart"]),
    "norm_bound": st.sampled_from([None, 0.1, 3.0]),
}  # fmt: skip

momds = st.builds(MOMDS, **common, **mirror, loss=st.sampled_from(["logistic", "smooth_hinge"]))
momdh = st.builds(MOMDH, **common, **mirror, reservoir=st.integers(1, 12), horizon=st.sampled_from([1.0, 5.0, 1e9]))
lkm_books = st.builds(
    LKMBooks,
    **common,
    **some_kernels,
    **steps,
    budget=st.integers(2, 40),
    horizon=st.sampled_from([50.0, 1000.0]),
    nu=st.sampled_from([0.5, 0.25]),
    loss=st.sampled_from(sorted(LOSSES)),
)
raker = st.builds(
    Raker,
    **common,
    kernels=st.lists(gaussian, min_size=1, max_size=6),
    features=st.integers(1, 40),
    rate=st.sampled_from([0.01, 0.5, 1.0]),
    regularization=st.sampled_from([0.0, 0.05]),
    loss=st.sampled_from(sorted(LOSSES)),
)
learners = st.one_of(momds, momdh, lkm_books, raker)


def begin(model, X, y):
    """The model after the first row, whatever its label."""
    return model.partial_fit(X[:1], y[:1], classes=[-1, 1])


def state(model):
    return model._core.save()


# ---- what holds -----------------------------------------------------------------------------------------------------


@always
@given(model=learners, stream=rows_and_labels())
def test_numbers_stay_in_bounds(model, stream):
    X, y = stream
    begin(model, X, y)
    size = model.nbytes
    bound = getattr(model, "norm_bound", np.inf)
    bound = np.sqrt(model.budget_) if bound is None else bound
    for rows in np.array_split(np.arange(1, len(y)), 4):
        if len(rows) == 0:
            continue
        scores = model.predict_then_learn(X[rows], y[rows])
        assert np.all(np.isfinite(scores))
        weights, done = model.kernel_weights_, model.diagnostics_
        assert np.all(weights >= 0)
        assert abs(weights.sum() - 1) <= 1e-12
        assert np.all(done.norms >= 0)
        assert np.all(done.norms <= bound * (1 + 1e-6))
        assert np.all(done.stored <= model.budget_)
        assert model.nbytes == size
    assert np.all(np.isfinite(model.decision_function(X)))


@always
@given(model=learners, stream=rows_and_labels())
def test_counters_agree_with_the_scores(model, stream):
    X, y = stream
    scores = model.predict_then_learn(X, y, classes=[-1, 1])
    done = model.diagnostics_
    assert done.rounds == len(y)
    assert done.mistakes == np.sum((scores >= 0) != (y > 0))
    loss = LOSSES[getattr(model, "loss", "hinge")]
    expected = sum(loss.value(float(u), float(v)) for u, v in zip(scores, y, strict=True))
    np.testing.assert_allclose(done.cumulative_loss, expected, rtol=1e-12, atol=1e-12)


@always
@given(model=st.one_of(momds, momdh, lkm_books), stream=rows_and_labels())
def test_stored_is_added_minus_removed(model, stream):
    X, y = stream
    model.predict_then_learn(X, y, classes=[-1, 1])
    done, B = model.diagnostics_, model.budget_
    dropped = B if getattr(model, "removal", "half") == "restart" else B // 2
    np.testing.assert_array_equal(done.stored, done.kernel_additions - dropped * done.kernel_removals)
    assert np.all(done.kernel_additions + done.kernel_proxies <= done.rounds)
    if isinstance(model, MOMDH):  # each kernel counts for itself
        for count in ("additions", "proxies", "removals"):
            assert done[count] == done[f"kernel_{count}"].sum()
        capacity = model.reservoir * (1 + int(np.ceil(np.log(model.horizon))))
        assert min(done.rounds, model.reservoir) <= done.archived <= done.rounds
        assert done.overflowed == max(0, done.archived - capacity)
        assert np.all(done.alignment_proxy >= 0)
    else:
        assert np.all(done.kernel_additions == done.additions)
        assert done.archived == done.overflowed == 0


@always
@given(model=learners, stream=rows_and_labels(), as_csr=st.booleans())
def test_a_block_is_its_rows(model, stream, as_csr):
    X, y = stream
    X = sparse.csr_matrix(X) if as_csr else X
    single = type(model)(**model.get_params())
    scores = model.predict_then_learn(X, y, classes=[-1, 1])
    one_by_one = [single.predict_then_learn(X[t : t + 1], y[t : t + 1], classes=[-1, 1]) for t in range(len(y))]
    np.testing.assert_array_equal(scores, np.concatenate(one_by_one))
    assert state(model) == state(single)


@always
@given(model=learners, stream=rows_and_labels())
def test_answering_learns_nothing(model, stream):
    X, y = stream
    model.predict_then_learn(X, y, classes=[-1, 1])
    before = state(model)
    scores = model.decision_function(X)
    np.testing.assert_array_equal(scores, np.concatenate([model.decision_function(row[None]) for row in X]))
    np.testing.assert_array_equal(model.predict(X), np.where(scores >= 0, 1, -1))
    assert state(model) == before
    # A row's score is what predict_then_learn would answer for it.
    assert model.predict_then_learn(X[:1], y[:1]) == scores[:1]


@always
@given(model=learners, stream=rows_and_labels(), at=st.floats(0, 1))
def test_a_pickle_goes_on_where_the_learner_was(model, stream, at):
    X, y = stream
    here = 1 + int(at * (len(y) - 1))
    model.predict_then_learn(X[:here], y[:here], classes=[-1, 1])
    copy = pickle.loads(pickle.dumps(model))
    assert state(copy) == state(model)
    assert copy.nbytes == model.nbytes
    if here < len(y):
        np.testing.assert_array_equal(
            copy.predict_then_learn(X[here:], y[here:]), model.predict_then_learn(X[here:], y[here:])
        )
    np.testing.assert_array_equal(copy.decision_function(X), model.decision_function(X))
    assert state(copy) == state(model)


@always
@given(model=learners, stream=rows_and_labels())
def test_a_seed_gives_one_course(model, stream):
    X, y = stream
    twin = type(model)(**model.get_params())
    np.testing.assert_array_equal(
        model.predict_then_learn(X, y, classes=[-1, 1]), twin.predict_then_learn(X, y, classes=[-1, 1])
    )
    assert state(model) == state(twin)
