"""Regret, round by round: its curve, its parts as in the proofs, and what removals do, against the oracle."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import oracle
from oracle.parts import gram, values
from pocketkernel import MOMDH, MOMDS, LKMBooks, MulticlassMOMDS, Raker, SharedMOMDH, gaussians
from pocketkernel.kernels import Gaussian, Laplacian, Linear, Polynomial
from pocketkernel.lab.experiments.learnability import learnability
from pocketkernel.lab.theory import adversary, decompose, regret_curve, removal_harm, slope, study_regret, trace
from pocketkernel.lab.theory.losses import loss_values
from pocketkernel.lab.theory.rows import gram as kernel_matrix
from pocketkernel.learners import core_of
from pocketkernel.losses import LOSSES
from pocketkernel.stream import known_kernel

KERNELS = (*gaussians([0.5, 1, 4]), Laplacian(2.0), Polynomial(2))
LEARNERS = {"m_omd_s": MOMDS, "m_omd_h": MOMDH}
ORACLES = {"m_omd_s": oracle.MOMDS, "m_omd_h": oracle.MOMDH, "shared": oracle.SharedMOMDH}


def stream(rows=250, seed=0):
    return known_kernel(rows, features=3, centres=6, noise=0.1, seed=seed)


def competitor(X, kernel, seed=0):
    """An expansion over a few rows: the rows, their coefficients, its scores on X."""
    rng = np.random.default_rng(seed)
    Z, b = X[rng.integers(len(X), size=5)], rng.normal(size=5)
    return Z, b, kernel_matrix(X, Z, kernel) @ b


# ---- losses and kernels ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LOSSES)
def test_losses_are_those_of_the_core(name):
    u = np.linspace(-30, 30, 61)
    for y in (-1, 1):
        np.testing.assert_allclose(loss_values(name, u, y), [LOSSES[name].value(v, y) for v in u], rtol=1e-12)


@pytest.mark.parametrize("kernel", [Gaussian(0.7), Laplacian(2.0), Polynomial(3), Linear()])
def test_kernel_matrices_are_those_of_the_oracle(kernel):
    U = np.vstack([np.zeros((2, 3)), np.random.default_rng(0).normal(size=(6, 3))])
    np.testing.assert_allclose(kernel_matrix(U, U[1:], kernel), oracle.parts.matrix(kernel, U, U[1:]), atol=1e-12)


# ---- curves ---------------------------------------------------------------------------------------------------------


def test_a_curve_is_the_sum_of_the_losses():
    X, y = stream()
    theirs = np.full(len(y), 0.25)
    curve = regret_curve(MOMDS(budget=20, random_state=0), X, y, theirs, points=20)
    model = MOMDS(budget=20, random_state=0)
    own = np.cumsum(np.logaddexp(0, -y * model.predict_then_learn(X, y)))
    assert curve.rows[0] == 1
    assert curve.rows[-1] == len(y)
    np.testing.assert_allclose(curve.regret, own[curve.rows - 1] - 0.25 * curve.rows)
    assert curve.own_loss[-1] == pytest.approx(model.diagnostics_.cumulative_loss)


@pytest.mark.parametrize(
    ("model", "loss"),
    [
        (MOMDS(loss="smooth_hinge"), "smooth_hinge"),
        (MOMDH(), "hinge"),
        (Raker(features=20, loss="hinge"), "hinge"),
        (LKMBooks(horizon=250, loss="hinge"), "hinge"),
    ],
    ids=lambda one: type(one).__name__ if not isinstance(one, str) else one,
)
def test_the_loss_is_what_the_learner_minimises(model, loss):
    X, y = stream()
    model = clone(model)
    curve = regret_curve(model, X, y, np.zeros(len(y)))
    assert curve.own_loss[-1] == pytest.approx(model.diagnostics_.cumulative_loss)
    again = regret_curve(clone(model), X, y, model, loss=loss)
    assert again.competitor_loss[-1] == pytest.approx(loss_values(loss, model.decision_function(X), y).sum())


def test_losses_of_another_length_are_refused():
    X, y = stream()
    with pytest.raises(ValueError, match="shape \\(249,\\), but there are 250 rows"):
        regret_curve(MOMDS(), X, y, np.zeros(249))


def test_slopes():
    x = np.geomspace(1, 1000, 30)
    assert slope(x, 3 * x**0.5) == pytest.approx(0.5)
    assert math.isnan(slope(x, x - 10))
    assert math.isnan(slope([1], [1]))


# ---- rounds, against the oracle -------------------------------------------------------------------------------------


def run_oracle(name, X, y, **setting):
    """The oracle's rounds: scores, per-kernel scores, weights, and the expansions around every removal."""
    model = ORACLES[name](KERNELS, X.shape[1], **setting)
    scores, kernel_scores, weights, removals = [], [], [], []
    remove = model.remove

    def recorded(*kernels):
        removals.extend((len(scores), i, *parts(model, i)) for i in kernels or range(len(KERNELS)))
        remove(*kernels)

    model.remove = recorded
    for x, label in zip(X, y, strict=True):
        weights.append(model.hedge.p.copy())
        if name == "m_omd_s":
            kernel_scores.append([f(x) for f in model.f])
        else:
            kernel_scores.append([model.f_prime(i, x) + model.lam * model.H(i, x) for i in range(len(KERNELS))])
        scores.append(model.learn(x, label))
    return np.array(scores), np.array(kernel_scores), np.array(weights), removals


def parts(model, i):
    """Rows and coefficients of kernel i's own buffer, and of the archive."""
    if hasattr(model, "f"):
        return model.f[i].rows.copy(), model.f[i].a.copy(), model.f[i].rows[:0], model.f[i].a[:0]
    return model.S[i].rows.copy(), model.S[i].a.copy(), model.S0[i].rows.copy(), model.S0[i].a.copy()


@pytest.mark.parametrize("removal", ["half", "restart", "eager"])
@pytest.mark.parametrize("name", LEARNERS)
def test_a_trace_is_what_the_oracle_does(name, removal):
    X, y = stream()
    B, U = 12, 1.5
    scores, kernel_scores, weights, removals = run_oracle(name, X, y, B=B, U=U, removal=removal, seed=7)
    learner = LEARNERS[name](kernels=KERNELS, budget=B, norm_bound=U, removal=removal, dtype="float64", random_state=7)
    run = trace(learner, X, y)
    np.testing.assert_allclose(run.scores, scores, atol=1e-9)
    np.testing.assert_allclose(run.kernel_scores, kernel_scores, atol=1e-9)
    np.testing.assert_allclose(run.weights, weights, atol=1e-9)
    assert [(one.round, one.kernel) for one in run.removals] == [place[:2] for place in removals]
    np.testing.assert_array_equal(run.removal_counts, learner.diagnostics_.kernel_removals)
    assert len(removals) > len(KERNELS)
    assert run.full.any() == (removal != "eager")
    moved = np.zeros(len(KERNELS))
    for t, i, rows, a, archive, a0 in removals:
        Z, b, f = competitor(X, KERNELS[i])
        kept = 0 if removal == "restart" else B - B // 2
        stays = slice(0, kept) if name == "m_omd_h" else slice(B - kept, B)
        everything = np.vstack([rows, archive, Z])
        G = gram(KERNELS[i], everything)
        before, after = np.concatenate([a, a0, 0 * b]), np.zeros(len(everything))
        after[:B][stays], after[B : len(a) + len(a0)] = a[stays], a0
        norm = math.sqrt(max(after @ G @ after, 0))
        after *= min(1.0, U / norm) if norm > 0 else 1.0
        to = np.concatenate([0 * a, 0 * a0, b])
        moved[i] += (after - to) @ G @ (after - to) - (before - to) @ G @ (before - to)
        assert values(KERNELS[i], Z, X[t]) @ b == pytest.approx(f[t])
    for i, kernel in enumerate(KERNELS):
        harm = removal_harm(run, competitor(X, kernel)[2], i)
        assert harm.moved == pytest.approx(moved[i], abs=1e-7)
        assert harm.xi == pytest.approx(moved[i] / (U**2 * max(harm.removals, 1)), abs=1e-7)
        assert harm.harmless == (moved[i] <= U**2)


def test_a_trace_of_a_shared_buffer_is_what_the_oracle_does():
    X, y = stream()
    setting = {"B": 12, "U": 1.5, "seed": 7}
    scores, kernel_scores, weights, _ = run_oracle("shared", X, y, **setting)
    learner = SharedMOMDH(kernels=KERNELS, budget=12, norm_bound=1.5, dtype="float64", random_state=7)
    run = trace(learner, X, y)
    np.testing.assert_allclose(run.scores, scores, atol=1e-9)
    np.testing.assert_allclose(run.kernel_scores, kernel_scores, atol=1e-9)
    np.testing.assert_allclose(run.weights, weights, atol=1e-9)
    assert run.removal_counts.tolist() == [learner.diagnostics_.removals] * len(KERNELS)
    assert run.removal_counts[0] > 1
    assert not run.full.any()
    np.testing.assert_allclose(run.evidence[-1], core_of(learner).evidence())
    for i, kernel in enumerate(KERNELS):
        assert decompose(run, competitor(X, kernel)[2], i).slack >= -1e-6
    with pytest.raises(ValueError, match="does not record what its removals change"):
        removal_harm(run, np.zeros(len(y)), 0)


def test_rounds_with_a_full_buffer_are_counted():
    X, y = stream()
    run = trace(MOMDH(kernels=KERNELS, budget=12, norm_bound=1.5, random_state=0), X, y)
    assert np.all(run.full_rounds >= run.removal_counts)
    assert np.all(run.full_rounds < len(y))
    roomy = trace(MOMDH(kernels=KERNELS, budget=1000, norm_bound=1.5, random_state=0), X, y)
    assert not roomy.full.any()
    assert roomy.removals == ()
    assert removal_harm(roomy, np.zeros(len(y)), 0).xi == 0.0


@pytest.mark.parametrize("model", [MOMDS(), MOMDH(), LKMBooks(horizon=250), Raker(features=20)], ids=repr)
def test_kernel_scores_make_the_decision_function(model):
    X, y = stream()
    model = clone(model).fit(X, y)
    np.testing.assert_allclose(model.kernel_scores(X) @ model.kernel_weights_, model.decision_function(X), atol=1e-6)


def test_kernel_scores_that_there_are_not_are_refused():
    X, y = stream()
    with pytest.raises(NotFittedError):
        MOMDS().kernel_scores(X)
    model = MOMDS(budget=20).fit(X, y)
    with pytest.raises(ValueError, match="needs dense rows"):
        model.kernel_scores(csr_matrix(X))
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        model.kernel_scores(np.full((1, 3), np.nan))
    with pytest.raises(ValueError, match="has scores of classes"):
        MulticlassMOMDS(budget=20).fit(X, y).kernel_scores(X)
    assert len(model.coefficients(4)) == model.diagnostics_.stored[4]
    with pytest.raises(IndexError):
        model.coefficients(5)


def test_sparse_rows_are_traced():
    X, y = adversary(200, budget=5)
    model = {"kernels": Linear(), "budget": 5, "norm_bound": 1.0, "random_state": 0}
    np.testing.assert_allclose(trace(MOMDS(**model), X, y).scores, MOMDS(**model).predict_then_learn(X, y), atol=1e-6)


def test_only_m_omd_can_be_traced():
    with pytest.raises(ValueError, match="Raker has no parts to trace"):
        trace(Raker(), *stream())
    with pytest.raises(ValueError, match="has learned already"):
        trace(MOMDS(budget=20).fit(*stream()), *stream())
    with pytest.raises(ValueError, match="give the learner a larger horizon"):
        trace(MOMDH(budget=20, reservoir=2, horizon=1), *stream())


# ---- the parts of the proofs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", LEARNERS)
def test_regret_is_at_most_the_sum_of_its_parts(name, seed):
    X, y = stream(seed=seed)
    run = trace(LEARNERS[name](kernels=KERNELS, budget=12, norm_bound=2.0, random_state=seed), X, y)
    for i, kernel in enumerate(KERNELS):
        f = competitor(X, kernel, seed)[2]
        split = decompose(run, f, i)
        theirs = loss_values(run.loss, f, y).sum()
        assert split.regret == pytest.approx(run.own_loss - theirs)
        assert split.slack >= -1e-6
        assert split.advice + split.kernel == pytest.approx(split.regret + split.slack)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", LEARNERS)
def test_expert_advice_costs_what_its_lemma_says(name, seed):
    X, y = stream(seed=seed)
    run = trace(LEARNERS[name](kernels=KERNELS, budget=12, norm_bound=2.0, random_state=seed), X, y)
    if name == "m_omd_h":
        costs = loss_values("hinge", run.kernel_scores, y[:, None])
    else:
        g = np.array([LOSSES["logistic"].derivative(u, v) for u, v in zip(run.scores, y, strict=True)])[:, None]
        ends = np.where(g > 0, run.kernel_scores.min(axis=1)[:, None], run.kernel_scores.max(axis=1)[:, None])
        costs = g * (run.kernel_scores - ends)
    assert costs.min() >= 0
    squares = np.sum(run.weights * costs**2)
    most = math.sqrt(math.log(len(KERNELS)) / 2) * (3 * math.sqrt(squares) + 1 + costs.max() ** 2)
    found = [decompose(run, np.zeros(len(y)), i).advice for i in range(len(KERNELS))]
    assert max(found) <= most
    assert max(found) > most / 20


# ---- learnability ---------------------------------------------------------------------------------------------------


def test_a_budget_of_ln_t_is_enough_on_an_easy_stream_only(tmp_path):
    made = learnability(rows=(1000, 3000, 10_000, 30_000), repetitions=1)
    assert made.slopes["easy", "M-OMD-H"] < 0.2
    assert made.slopes["easy", "M-OMD-H, shared"] < 0.2
    assert made.slopes["easy", "M-OMD-S"] < 0.7
    assert made.slopes["hard", "M-OMD-H"] > 0.85
    assert made.slopes["hard", "M-OMD-H, shared"] > 0.85
    assert made.slopes["hard", "M-OMD-S"] > 0.85
    files = made.write(tmp_path)
    assert [path.suffix for path in files] == [".md", ".tex", ".csv", ".html", ".svg"]
    assert len(made.tables[1].rows) == 28


def test_regret_follows_the_theorem_where_its_conditions_hold():
    made = learnability(rows=(10_000, 60_000), repetitions=1)
    inside = [point for point in made.points if point.stream == "easy, Theorem 3"]
    assert [point.budget for point in inside] == [922, 1101]
    assert all(0 < point.regret.mean < point.bound for point in inside)
    assert 0.2 < inside[-1].constant < 0.5
    assert inside[-1].regret.mean / 60_000 < inside[0].regret.mean / 10_000
    assert all(point.bound is None for point in made.points if point not in inside)


# ---- studies --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("removal", ["half", "eager"])
@pytest.mark.parametrize("model", [MOMDS(budget=20, random_state=0), MOMDH(budget=20, random_state=0)])
def test_a_study_ends_where_its_learner_does(model, removal):
    X, y = stream(400)
    model = clone(model).set_params(kernels=gaussians([0.5, 1]), removal=removal)
    study = study_regret(model, X, y, landmarks=100, points=10)
    done = model.diagnostics_
    assert study.curve.own_loss[-1] == pytest.approx(done.cumulative_loss, rel=1e-5)
    assert study.competitor.norm_bound == pytest.approx(math.sqrt(20))
    assert study.parts.regret == pytest.approx(study.curve.regret[-1])
    assert np.all(study.bound >= study.curve.regret)
    if isinstance(model, MOMDS):
        assert study.bound[-1] == pytest.approx(study.certificate.value, rel=1e-5)
    elif model.removal == "eager":
        assert study.bound[-1] <= study.certificate.value  # that of one kernel, and the largest of all
    else:
        assert study.bound[-1] < study.certificate.value  # the certificate does not know the full rounds
    given = study_regret(clone(model), X, y, kernel=gaussians([1])[0], norm_bound=9.0, landmarks=50)
    assert given.competitor.norm_bound == 9.0
    assert given.bound is given.parts is None  # the theorem is about functions within the learner's U


def test_a_study_of_a_shared_buffer():
    X, y = stream(400)
    model = SharedMOMDH(budget=20, kernels=gaussians([0.5, 1]), random_state=0)
    study = study_regret(model, X, y, landmarks=100, points=10)
    assert study.curve.own_loss[-1] == pytest.approx(model.diagnostics_.cumulative_loss, rel=1e-5)
    assert study.parts.regret == pytest.approx(study.curve.regret[-1])
    assert np.all(study.bound >= study.curve.regret)
    assert study.bound[-1] <= study.certificate.value  # that of one kernel, and the largest of all
    assert study.harm is None


def test_the_errors_of_a_trace_are_the_learners():
    X, y = stream()
    model = MOMDH(budget=20, random_state=0)
    run = trace(model, X, y)
    np.testing.assert_allclose(run.errors[-1], model.diagnostics_.alignment_proxy)
    assert np.all(np.diff(run.errors, axis=0) >= 0)
