"""The stream of the lower bound, its best competitor, and that learners with a budget cannot do well on it."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from pocketkernel import MOMDH, MOMDS
from pocketkernel.kernels import Linear, Polynomial
from pocketkernel.lab.bounds import theorem_4
from pocketkernel.lab.experiments.lower_bound import lower_bound
from pocketkernel.lab.theory import adversary, adversary_competitor, regret_curve
from pocketkernel.lab.theory.rows import gram as kernel_matrix


def test_distinct_basis_vectors_come_first_with_alternating_labels():
    X, y = adversary(100, budget=10)
    assert X.shape == (100, 30)
    assert X.format == "csr"
    assert X.has_canonical_format
    np.testing.assert_array_equal(X[:30].toarray(), np.eye(30))
    np.testing.assert_array_equal(y[:30], np.resize([1, -1], 30))
    np.testing.assert_array_equal(y, np.where(X.indices % 2 == 0, 1, -1))


def test_then_all_come_equally_often():
    X, _ = adversary(30 + 30_000, budget=10)
    counts = np.bincount(X[30:].indices, minlength=30)
    assert np.all(np.abs(counts - 1000) < 5 * math.sqrt(1000))


def test_it_has_the_manners_of_a_generator():
    X, y = adversary(500, budget=7, seed=3)
    longer_X, longer_y = adversary(900, budget=7, seed=3)
    np.testing.assert_array_equal(X.indices, longer_X[:500].indices)
    np.testing.assert_array_equal(y, longer_y[:500])
    assert not np.array_equal(X.indices, adversary(500, budget=7, seed=4)[0].indices)
    X, y = adversary(5, budget=7)
    assert X.shape == (5, 21)
    assert len(y) == 5
    with pytest.raises(ValueError, match="budget=0 is too small"):
        adversary(10, budget=0)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2), Polynomial(3)])
def test_basis_vectors_are_orthonormal(kernel):
    X, _ = adversary(15, budget=5)
    np.testing.assert_allclose(kernel_matrix(X.toarray(), X.toarray(), kernel), np.eye(15), atol=1e-15)


# ---- the competitor -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("U", [0.3, 1.0, 3.0, 20.0])
def test_the_competitor_is_the_best(loss, U):
    X, y = adversary(60, budget=2, seed=1)
    counts = np.bincount(X.indices)

    def value(c):
        return np.sum(counts * (np.logaddexp(0, -c) if loss == "logistic" else np.maximum(0, 1 - c)))

    inside = {"type": "ineq", "fun": lambda c: U**2 - c @ c}
    start = np.full(6, min(0.9 * U / math.sqrt(6), 0.9))
    found = minimize(value, start, constraints=[inside], method="SLSQP", options={"maxiter": 1000, "ftol": 1e-12})
    ours = adversary_competitor(X, y, norm_bound=U, loss=loss).sum()
    assert ours <= found.fun + 1e-6
    assert ours == pytest.approx(found.fun, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_the_competitor_stays_in_the_ball(loss):
    X, y = adversary(3000, budget=20, seed=1)
    losses = adversary_competitor(X, y, norm_bound=2.0, loss=loss)
    margins = np.empty(60)
    margins[X.indices] = -np.log(np.expm1(losses)) if loss == "logistic" else 1 - losses
    assert np.linalg.norm(margins) == pytest.approx(2.0, rel=1e-9)


def test_the_competitor_of_the_paper():
    X, y = adversary(3000, budget=20)
    equal = adversary_competitor(X, y, norm_bound=1.0, equal=True)
    assert equal.sum() == pytest.approx(3000 * math.log1p(math.exp(-1 / math.sqrt(60))))
    assert adversary_competitor(X, y, norm_bound=1.0).sum() < equal.sum()


def test_bad_competitors_are_refused():
    X, y = adversary(100, budget=10)
    with pytest.raises(ValueError, match="norm_bound=0 is not positive"):
        adversary_competitor(X, y, norm_bound=0)
    with pytest.raises(ValueError, match="loss='smooth_hinge' has no competitor here"):
        adversary_competitor(X, y, norm_bound=1.0, loss="smooth_hinge")


# ---- learners against it --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2)])
@pytest.mark.parametrize("removal", ["half", "restart", "oldest"])
def test_no_m_omd_s_beats_theorem_4_unless_it_stores_more(kernel, removal):
    B, U, T = 40, 2.0, 8000
    X, y = adversary(T, budget=B)
    equal = adversary_competitor(X, y, norm_bound=U, equal=True)
    least = theorem_4(T, budget=B, norm_bound=U).value

    def regret(budget, step):
        model = MOMDS(kernels=kernel, budget=budget, norm_bound=U, step=step, removal=removal, random_state=0)
        return regret_curve(model, X, y, equal).regret[-1]

    assert min(regret(B, step) for step in (0.5, 1.0, 2.0)) > least
    assert regret(3 * B, 1.0) < least


def test_theorem_4_has_a_sister_for_hinge_loss():
    B, U, T = 40, 2.0, 8000
    X, y = adversary(T, budget=B)
    equal = adversary_competitor(X, y, norm_bound=U, loss="hinge", equal=True)
    model = MOMDH(kernels=Linear(), budget=B, norm_bound=U, reservoir=2, random_state=0)
    least = theorem_4(T, budget=B, norm_bound=U, loss="hinge")
    assert regret_curve(model, X, y, equal).regret[-1] > least.value > 0
    assert least.printed is None


def test_regret_falls_with_the_root_of_the_budget(tmp_path):
    made = lower_bound(budgets=(25, 50, 100, 200), repetitions=1)
    assert made.slopes["M-OMD-S"] == pytest.approx(-0.5, abs=0.1)
    assert made.slopes["M-OMD-H"] == pytest.approx(-0.5, abs=0.15)
    assert made.slopes["Theorem 4, logistic"] == pytest.approx(-0.5, abs=0.06)
    assert {point.learner for point in made.points} == {"M-OMD-S", "M-OMD-H", "LKMBooks", "Raker"}
    for point in made.points:
        assert point.norm < 1.01 * made.norm_bound
        assert point.regret.mean > point.least or point.learner in ("LKMBooks", "Raker")
    files = made.write(tmp_path)
    names = "lower_bound.md lower_bound.tex lower_bound.csv lower_bound.html lower_bound.svg"
    assert [path.name for path in files] == names.split()
    assert "slope" in files[-1].read_text()
