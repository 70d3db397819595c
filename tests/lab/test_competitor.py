"""The best function in a ball: against scikit-learn, with bounds that hold, and in limiting cases."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, LinearSVC

from oracle.parts import gram
from pocketkernel import Gaussian, Laplacian, Linear, Polynomial
from pocketkernel.lab.streams import rings
from pocketkernel.lab.theory import best_in_ball
from pocketkernel.stream import known_kernel

KERNELS = [Gaussian(0.5), Gaussian(4.0), Laplacian(2.0), Polynomial(3), Linear()]
LOSSES = ["hinge", "logistic"]


def losses(margins, loss):
    return np.maximum(1 - margins, 0) if loss == "hinge" else np.logaddexp(0, -margins)


def feature_map(X, kernel):
    """All of the kernel on these rows, as features."""
    values, vectors = np.linalg.eigh(gram(kernel, X))
    return vectors * np.sqrt(np.maximum(values, 0))


# ---- scikit-learn ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "U"), [*((kernel, 0.5) for kernel in KERNELS), *((kernel, 10.0) for kernel in KERNELS[:3])], ids=str
)
@pytest.mark.parametrize("loss", LOSSES)
def test_scikit_learn_finds_the_same(kernel, loss, U):
    """With the multiplier as its regularisation it minimises L(f) + nu/2 |f|^2, which has the same minimum."""
    X, y = known_kernel(120, features=3)
    best = best_in_ball(X, y, kernel, U, loss, tolerance=1e-7)
    assert best.multiplier > 0
    common = {"C": 1 / best.multiplier, "fit_intercept": False, "tol": 1e-8, "max_iter": 1_000_000}
    peer = LinearSVC(loss="hinge", **common) if loss == "hinge" else LogisticRegression(**common)
    features = feature_map(X, kernel)
    w = peer.fit(features, y).coef_[0]
    theirs = losses(y * (features @ w), loss).sum() + best.multiplier / 2 * w @ w
    ours = best.loss + best.multiplier / 2 * best.norm**2
    assert ours == pytest.approx(theirs, rel=2e-3)
    assert ours <= theirs + 1e-4 * theirs


def test_svc_finds_the_same():
    """Rows and their opposites leave an SVC no use for its intercept."""
    X, y = rings(80)
    X, y = np.vstack((X, -X)) + 0.0, np.concatenate((y, -y))
    kernel = Polynomial(3)
    peer = SVC(C=5.0, kernel="precomputed", tol=1e-8).fit(gram(kernel, X), y)
    assert peer.intercept_ == pytest.approx([0], abs=1e-6)
    scores = peer.decision_function(gram(kernel, X))
    a = np.zeros(len(y))
    a[peer.support_] = peer.dual_coef_[0]
    norm = np.sqrt(a @ gram(kernel, X) @ a)
    best = best_in_ball(X, y, kernel, norm)
    assert best.loss == pytest.approx(losses(y * scores, "hinge").sum(), rel=1e-3)


# ---- what it says of itself -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("landmarks", [None, 25])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("loss", LOSSES)
def test_the_function_is_what_is_reported(kernel, loss, landmarks):
    X, y = known_kernel(150, features=3, seed=1)
    best = best_in_ball(sparse.csr_matrix(X), y, kernel, 5.0, loss, landmarks=landmarks)
    K = gram(kernel, best.landmarks)
    assert best.norm == pytest.approx(np.sqrt(best.coefficients @ K @ best.coefficients), rel=1e-5)
    assert best.norm <= 5.0 * (1 + 1e-9)
    each = best.losses(X, y)
    np.testing.assert_allclose(each, losses(y * best.decision_function(X), loss))
    assert each.sum() == pytest.approx(best.loss, rel=1e-6)
    assert len(best.coefficients) <= (landmarks or 150)
    assert 0 <= best.lower_bound <= best.loss
    assert best.gap == best.loss - best.lower_bound


@pytest.mark.parametrize("all_pairs", [True, False])
@pytest.mark.parametrize("width", [0.3, 1.0, 4.0, 64.0])
@pytest.mark.parametrize("loss", LOSSES)
def test_bounds_of_nystrom_enclose_the_minimum(loss, width, all_pairs):
    X, y = known_kernel(200, features=3, seed=2)
    exact = best_in_ball(X, y, Gaussian(width), 8.0, loss)
    assert exact.gap <= 3e-5 * 200
    few = best_in_ball(X, y, Gaussian(width), 8.0, loss, landmarks=20, all_pairs=all_pairs)
    assert few.lower_bound <= exact.loss
    assert few.loss >= exact.lower_bound
    if all_pairs:
        looser = best_in_ball(X, y, Gaussian(width), 8.0, loss, landmarks=20, all_pairs=False)
        assert few.lower_bound >= looser.lower_bound - 1e-6


def test_more_landmarks_lose_less():
    X, y = known_kernel(200, features=3, seed=2)
    found = [best_in_ball(X, y, Gaussian(1.0), 8.0, landmarks=n) for n in (5, 50, 200)]
    assert found[0].loss > found[1].loss > found[2].loss
    assert found[0].gap > found[1].gap > found[2].gap


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6), st.sampled_from(KERNELS), st.sampled_from(LOSSES), st.floats(0.01, 100), st.integers(1, 40)
)
def test_nothing_in_the_ball_is_better(seed, kernel, loss, U, rows):
    X, y = known_kernel(rows, features=2, seed=seed)
    best = best_in_ball(X, y, kernel, U, loss)
    assert best.gap <= 2e-5 * rows + 1e-9
    assert best.norm <= U * (1 + 1e-9)
    rng = np.random.default_rng(seed)
    K = gram(kernel, X)
    for _ in range(20):
        c = rng.normal(size=rows) + rng.integers(3) * y
        c *= U / np.sqrt(c @ K @ c)
        assert losses(y * (K @ c), loss).sum() >= best.lower_bound - 1e-6


# ---- limiting cases -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_one_row(loss):
    best = best_in_ball([[2.0]], [-1], Gaussian(1), 0.5, loss)
    assert best.decision_function([[2.0]]) == pytest.approx([-0.5])
    assert best.loss == pytest.approx(losses(np.array([0.5]), loss)[0])


def test_orthogonal_rows():
    """K = I: the best is the same score U / sqrt(T) everywhere."""
    y = np.resize([1.0, 1.0, -1.0], 60)
    best = best_in_ball(1e3 * np.eye(60), y, Gaussian(1), 2.0)
    assert best.loss == pytest.approx(60 * (1 - 2 / np.sqrt(60)), rel=1e-6)


def test_a_tiny_ball_leaves_the_loss_of_zero():
    X, y = rings(50)
    for loss, zero in (("hinge", 1.0), ("logistic", np.log(2))):
        assert best_in_ball(X, y, Gaussian(1), 1e-9, loss).loss == pytest.approx(50 * zero, rel=1e-6)


def test_separable_rows_in_a_large_ball():
    X = np.linspace(-3, 3, 40)[:, None]
    best = best_in_ball(X, np.where(X[:, 0] > 0, 1, -1), Gaussian(1), 1e4)
    assert best.loss == pytest.approx(0, abs=1e-3)
    assert best.gap <= 1e-3


@pytest.mark.parametrize("loss", LOSSES)
def test_duplicates_with_opposite_labels(loss):
    X = np.zeros((40, 3))
    y = np.resize([1, -1, 1, 1], 40)
    best = best_in_ball(X, y, Gaussian(1), 50.0, loss)
    expected = 20.0 if loss == "hinge" else 30 * np.log(4 / 3) + 10 * np.log(4)  # score 1, or log odds
    assert best.loss == pytest.approx(expected, rel=1e-4)
    assert len(best.coefficients) == 1


def test_one_label_only():
    X, _ = rings(50)
    best = best_in_ball(X, np.ones(50), Gaussian(64.0), 3.0)
    assert best.loss == pytest.approx(0, abs=1e-3)


def test_rows_in_order_do_not_matter():
    X, y = rings(120)
    order = np.random.default_rng(0).permutation(120)
    one, other = best_in_ball(X, y, Gaussian(1), 5.0), best_in_ball(X[order], y[order], Gaussian(1), 5.0)
    assert one.loss == pytest.approx(other.loss, abs=2e-5 * 120)


# ---- mistakes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"y": [1.0] * 9}, "9 labels for the 10 rows"),
        ({"y": [0.0, 1.0] * 5}, "use only -1 and 1"),
        ({"X": np.full((10, 2), np.nan)}, "NaN"),
        ({"X": np.empty((0, 2)), "y": []}, "0 sample"),
        ({"kernel": "rbf"}, "not a kernel"),
        ({"kernel": Gaussian(-1)}, "width=-1"),
        ({"norm_bound": 0}, "norm_bound=0"),
        ({"norm_bound": np.inf}, "norm_bound=inf"),
        ({"loss": "squared"}, "loss='squared' is unknown"),
        ({"landmarks": 0}, "landmarks=0"),
        ({"tolerance": 0}, "tolerance=0"),
    ],
)
def test_mistakes_are_named(change, words):
    X, y = rings(10)
    given = {"X": X, "y": y, "kernel": Gaussian(1), "norm_bound": 1.0} | change
    with pytest.raises(ValueError, match=words):
        best_in_ball(**given)


def test_other_columns_are_refused():
    X, y = rings(10)
    with pytest.raises(ValueError, match="3 features instead of 2"):
        best_in_ball(X, y, Gaussian(1), 1.0).decision_function(np.zeros((1, 3)))
