"""The paper's bounds: what they refuse, how they move, and that learners stay below them, but not too far."""

import math
from itertools import pairwise

import numpy as np
import pytest

from pocketkernel import MOMDH, MOMDS, gaussians
from pocketkernel.certificate import ConditionError, theorem_1_afterwards
from pocketkernel.kernels import Gaussian, Linear
from pocketkernel.lab.bounds import (
    lemma_1,
    lemma_2,
    surrogate_alignment,
    theorem_1,
    theorem_2,
    theorem_3,
    theorem_3_afterwards,
    theorem_3_delta,
    theorem_4,
    theorem_5,
)
from pocketkernel.lab.theory import adversary, adversary_competitor, best_in_ball, regret_curve, removal_harm, trace
from pocketkernel.lab.theory.rows import gram as kernel_matrix
from pocketkernel.stream import known_kernel

HINGE = {"rows": 10_000, "kernels": 5, "budget": 50, "norm_bound": 3.0}
SMOOTH = {"rows": 100_000, "kernels": 5, "budget": 400, "norm_bound": 1.0, "delta": 1e-4}
HARM = {"xi": 0.01, "removals": 20}

BOUNDS = {
    "lemma_1": lambda **other: lemma_1(**{"alignment": 100.0, "rows": 10_000, "budget": 50} | other),
    "lemma_2": lambda **other: lemma_2(**{"own_loss": 1e3, "rows": 10_000, "budget": 200, "delta": 1e-3} | other),
    "theorem_1": lambda **other: theorem_1(**{"loss": 500.0, "alignment": 100.0} | HINGE | other),
    "theorem_2": lambda **other: theorem_2(**{"loss": 500.0, "alignment": 100.0} | HINGE | HARM | other),
    "theorem_3": lambda **other: theorem_3(**{"loss": 1e4} | SMOOTH | other),
    "theorem_4": lambda **other: theorem_4(**{"rows": 10_000, "budget": 100, "norm_bound": 3.0} | other),
    "theorem_5": lambda **other: theorem_5(**{"loss": 1e4} | SMOOTH | HARM | other),
}


# ---- refusals -------------------------------------------------------------------------------------------------------


REFUSED = [
    ("lemma_1 theorem_1 theorem_2", "alignment", -1.0, "A = -1"),
    ("lemma_1 theorem_1 theorem_2", "alignment", 10_001.0, "0 <= A <= T"),
    ("lemma_1 theorem_1 theorem_2", "budget", 1, "B >= 2 does not hold: B = 1"),
    ("lemma_1 theorem_1 theorem_2", "reservoir", 1, "M > 1 does not hold: M = 1"),
    ("lemma_1 theorem_1 theorem_2", "k1", 0.0, "0 < k1 <= 1"),
    ("lemma_1 theorem_1 theorem_2", "rows", 0, "T >= 1"),
    ("theorem_1 theorem_2", "norm_bound", 1.0, "U > 1 does not hold: U = 1"),
    ("theorem_1 theorem_2", "loss", -1.0, "L = -1"),
    ("theorem_1 theorem_2 theorem_3 theorem_5", "kernels", 0, "K >= 1"),
    ("theorem_1 theorem_2 theorem_3 theorem_5", "step", 0.0, "step > 0"),
    ("theorem_1 theorem_2", "full_rounds", 10_001, "full_rounds = 10001"),
    ("theorem_2 theorem_5", "xi", 0.06, "xi |J| <= 1 does not hold: xi = 0.06, |J| = 20, product 1.2"),
    ("theorem_2 theorem_5", "removals", -1, "|J| = -1"),
    ("lemma_2 theorem_3 theorem_5", "delta", 0.0, "0 < delta < 1 does not hold: delta = 0"),
    ("lemma_2 theorem_3 theorem_5", "delta", 1.0, "0 < delta < 1"),
    ("lemma_2 theorem_3 theorem_5", "delta", 1e-30, "B >= 21 ln(1/delta) does not hold: B = "),
    ("lemma_2 theorem_3 theorem_5", "delta", 0.2, "ceil(log2 V) delta < 1"),
    ("lemma_2 theorem_3 theorem_5", "budget", 10**9, "2 <= B <= T"),
    ("lemma_2 theorem_3 theorem_5", "G1", 0.0, "G1 > 0"),
    ("lemma_2", "own_loss", -1.0, "loss = -1"),
    ("theorem_3 theorem_5", "loss", -1.0, "loss = -1"),
    ("theorem_3", "norm_bound", 2.5, "0 < U <= sqrt(B') / (8 G2) does not hold: U = 2.5, sqrt(B') / (8 G2) = 2.46"),
    ("theorem_3", "norm_bound", 0.0, "0 < U"),
    ("theorem_3", "step", 100.0, "gamma < 1"),
    ("theorem_5", "norm_bound", 13.0, "0 < U <= B' / (32 G2) does not hold: U = 13, B' / (32 G2) = 12.1"),
    ("theorem_4", "norm_bound", 3.5, "0 < U < sqrt(3 B) / 5 does not hold: U = 3.5, sqrt(3 B) / 5 = 3.464"),
    ("theorem_4", "rows", 299, "T >= 3 B does not hold: T = 299, 3 B = 300"),
    ("theorem_4", "budget", 0, "B >= 1"),
]


@pytest.mark.parametrize(
    ("name", "parameter", "value", "text"),
    [(name, *rest) for names, *rest in REFUSED for name in names.split()],
)
def test_what_lies_outside_the_conditions_is_refused(name, parameter, value, text):
    BOUNDS[name]()
    with pytest.raises(ConditionError) as caught:
        BOUNDS[name](**{parameter: value})
    assert text in str(caught.value)


@pytest.mark.parametrize("name", BOUNDS)
def test_a_bound_is_the_sum_of_its_terms_and_says_what_was_checked(name):
    bound = BOUNDS[name]()
    assert bound.value == pytest.approx(sum(bound.terms.values()))
    assert math.isfinite(bound.value)
    assert bound.conditions
    probable = name in ("lemma_2", "theorem_3", "theorem_5")
    assert bound.holds.startswith("with probability at least 0.9" if probable else "in expectation")


# ---- how they move --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "parameter", "values", "way"),
    [
        ("lemma_1", "alignment", (0.0, 10.0, 1000.0), 1),
        ("lemma_1", "budget", (10, 50, 200), -1),
        ("lemma_1", "reservoir", (2, 10, 50), -1),
        ("lemma_1", "k1", (0.5, 1.0), -1),
        ("lemma_2", "own_loss", (10.0, 1e3, 1e5), 1),
        ("lemma_2", "budget", (150, 200, 1000), -1),
        ("theorem_1", "loss", (0.0, 10.0, 1e4), 1),
        ("theorem_1", "alignment", (0.0, 10.0, 1e3), 1),
        ("theorem_1", "kernels", (1, 2, 20), 1),
        ("theorem_1", "full_rounds", (0, 10, 1000), 1),
        ("theorem_2", "alignment", (0.0, 10.0, 1e3), 1),
        ("theorem_2", "xi", (-0.01, 0.0, 0.05), 1),
        ("theorem_3", "loss", (0.0, 10.0, 1e4), 1),
        ("theorem_3", "norm_bound", (0.1, 0.5, 1.0), 1),
        ("theorem_3", "kernels", (1, 2, 20), 1),
        ("theorem_3", "delta", (1e-5, 1e-4, 1e-3), -1),
        ("theorem_5", "loss", (0.0, 10.0, 1e4), 1),
        ("theorem_5", "xi", (-0.01, 0.0, 0.05), 1),
        ("theorem_4", "rows", (300, 1000, 10_000), 1),
        ("theorem_4", "norm_bound", (0.1, 1.0, 3.0), 1),
    ],
)
def test_bounds_grow_and_shrink_with_what_they_depend_on(name, parameter, values, way):
    found = [BOUNDS[name](**{parameter: value}).value for value in values]
    assert all(way * (after - before) > 0 for before, after in pairwise(found)), found


def test_a_larger_budget_helps_until_it_costs_more_than_it_saves():
    small, right, large = (
        theorem_1(0.0, 2000.0, **HINGE | {"budget": B, "full_rounds": 0}).value for B in (10, 4000, 10**8)
    )
    assert right < small
    assert right < large


def test_removals_that_help_may_leave_nothing_to_bound():
    """xi may be negative, so that the sum under the root of Theorem 5 may be, too."""
    bound = theorem_5(0.0, **SMOOTH | {"xi": -3.0, "removals": 100})
    assert bound.terms["root of the loss"] == 0


@pytest.mark.parametrize("name", ["theorem_1", "theorem_2", "theorem_3", "theorem_5"])
def test_eager_removal_lowers_the_bounds(name):
    assert BOUNDS[name](eager=True).value < BOUNDS[name]().value
    if name in ("theorem_1", "theorem_2"):
        assert BOUNDS[name](eager=True).terms["full buffer"] == 0


def test_one_kernel_takes_no_advice():
    assert BOUNDS["theorem_1"](kernels=1).terms["expert advice"] == 0.0


def test_rates_are_those_of_the_paper():
    """Over many rows the leading terms are U A / sqrt(B), U A / B, U L / sqrt(B) and U L / B, up to logarithms."""
    hinge = {"rows": 10**12, "kernels": 1, "norm_bound": 2.0, "full_rounds": 0}
    smooth = {"rows": 10**12, "kernels": 1, "norm_bound": 0.5, "delta": 1e-6}
    quiet = {"xi": 0.0, "removals": 1}

    def gain(bound):
        return bound(10_000) / bound(160_000)

    assert gain(lambda B: theorem_1(0, 1e11, budget=B, **hinge).value) == pytest.approx(4, rel=0.1)
    assert gain(lambda B: theorem_2(0, 1e11, budget=B, **hinge, **quiet).value) == pytest.approx(16, rel=0.2)
    assert gain(lambda B: theorem_3(1e12, budget=B, **smooth).value) == pytest.approx(4, rel=0.1)
    assert gain(lambda B: theorem_5(1e12, budget=B, **smooth, **quiet).value) == pytest.approx(16, rel=0.2)


def test_the_lower_bound_is_below_the_upper_one():
    for B in (400, 1600, 6400):
        setting = {"budget": B, "norm_bound": 2.0}
        T = 10**6
        loss = T * math.log1p(math.exp(-2.0 / math.sqrt(3 * B)))
        assert 0 < theorem_4(T, **setting).printed < theorem_4(T, **setting).value
        assert theorem_4(T, **setting).value < theorem_3(loss, rows=T, kernels=1, delta=1e-4, **setting).value


# ---- what learners do -----------------------------------------------------------------------------------------------


def alignment(kernel, X, y):
    return len(y) - float(y @ kernel_matrix(X, X, kernel) @ y) / len(y)


@pytest.mark.parametrize("reservoir", [2, 10])
def test_the_surrogate_of_the_alignment(reservoir):
    kernels = gaussians([0.25, 1, 4, 64])
    X, y = known_kernel(1000, noise=0.1, seed=1)
    y[:700] = 1  # unbalanced, so that the alignments differ
    model = {"kernels": kernels, "budget": 20, "norm_bound": 0.01, "reservoir": reservoir}  # |f| < 1: all rows count
    runs = [MOMDH(**model, random_state=seed).fit(X, y).diagnostics_.alignment_proxy for seed in range(20)]
    for kernel, measured in zip(kernels, np.mean(runs, axis=0), strict=True):
        A = alignment(kernel, X, y)
        assert 0.95 * A < measured < surrogate_alignment(A, rows=1000, reservoir=reservoir) < 10 * measured


@pytest.mark.parametrize("budget", [8, 21])
def test_removals_of_m_omd_h_respect_lemma_1(budget):
    kernels = gaussians([0.25, 1, 4])
    X, y = known_kernel(1000, noise=0.1, seed=2)
    setting = {"budget": budget, "reservoir": 10}
    runs = [
        MOMDH(kernels=kernels, norm_bound=1.5, random_state=seed, **setting).fit(X, y).diagnostics_.kernel_removals
        for seed in range(5)
    ]
    for kernel, measured in zip(kernels, np.mean(runs, axis=0), strict=True):
        most = lemma_1(alignment(kernel, X, y), rows=1000, **setting).value
        assert most / 15 < measured <= most


@pytest.mark.parametrize("budget", [100, 101, 300])
def test_removals_of_m_omd_s_respect_lemma_2(budget):
    rows, delta = 10_000, math.exp(-budget / 21) * 1.01
    for seed in range(5):
        X, y = adversary(rows, budget=budget, seed=seed)
        done = MOMDS(kernels=Linear(), budget=budget, norm_bound=2.0, random_state=seed).fit(X, y).diagnostics_
        most = lemma_2(done.cumulative_loss, rows=rows, budget=budget, delta=delta).value
        assert most / 12 < done.removals <= most, seed


def test_the_regret_of_m_omd_s_respects_theorems_3_and_5():
    rows, U, B, delta = 20_000, 0.2, 400, 1e-4
    X, y = adversary(rows, budget=B)
    losses = adversary_competitor(X, y, norm_bound=U)
    scores = U / math.sqrt(3 * B) * y
    setting = {"rows": rows, "kernels": 1, "budget": B, "norm_bound": U, "delta": delta}
    model = {"kernels": Linear(), "budget": B, "norm_bound": U, "step": 2.0}
    most = theorem_3(losses.sum(), **setting)
    for seed in range(3):
        measured = regret_curve(MOMDS(**model, random_state=seed), X, y, losses).regret[-1]
        assert 0 < measured < most.value
    worst = rows * math.log1p(math.exp(U)) - losses.sum()  # of a learner that answers -U y
    assert worst > most.value
    short = slice(4000)
    run = trace(MOMDS(**model, random_state=0), X[short], y[short])
    harm = removal_harm(run, scores[short], 0)
    setting |= {"rows": 4000, "step": 2.0}
    quiet = theorem_5(losses[short].sum(), xi=harm.xi, removals=harm.removals, **setting)
    assert run.own_loss - losses[short].sum() < quiet.value


def ray(rows, features, scatter, flips):
    """Rows around v if the label is 1, around -v if it is -1: what a linear kernel is aligned with."""
    rng = np.random.default_rng(0)
    y = rng.choice([-1, 1], rows)
    X = scatter * rng.normal(size=(rows, features))
    X[:, 0] += np.where(rng.random(rows) < flips, -y, y)
    return X / np.linalg.norm(X, axis=1)[:, None], y


@pytest.mark.parametrize(
    ("features", "scatter", "flips", "U"), [(3, 0.2, 0.0, 2.0), (50, 0.06, 0.03, 1.05)], ids=["calm", "busy"]
)
def test_the_regret_of_m_omd_h_respects_theorems_1_and_2(features, scatter, flips, U):
    rows, B, step = 3000, 20, math.sqrt(0.5)
    X, y = ray(rows, features, scatter, flips)
    A = alignment(Linear(), X, y)
    f = U * X[:, 0]
    loss = np.maximum(0, 1 - y * f).sum()
    model = {"kernels": Linear(), "budget": B, "norm_bound": U, "step": step}
    runs = [trace(MOMDH(**model, random_state=seed), X, y) for seed in range(3)]
    full = np.mean([run.full_rounds[0] for run in runs])
    setting = {"rows": rows, "kernels": 1, "budget": B, "norm_bound": U, "full_rounds": full}
    most = theorem_1(loss, A, **setting)
    assert np.mean([run.own_loss for run in runs]) - loss < most.value
    if flips:
        assert all(run.removals for run in runs)
    else:
        assert rows * (1 + U) - loss > most.value  # a learner that answers -U y
    harms = [removal_harm(run, f, 0) for run in runs]
    assert any(harm.harmless for harm in harms)
    for run, harm in zip(runs, harms, strict=True):
        measured = {"xi": harm.xi, "removals": harm.removals, "step": step, **setting}
        if harm.harmless:
            assert run.own_loss - loss < theorem_2(loss, A, **measured).value < most.value
        else:
            with pytest.raises(ConditionError, match=r"xi \|J\| <= 1"):
                theorem_2(loss, A, **measured)


# ---- afterwards -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("removal", ["half", "restart", "oldest", "eager"])
@pytest.mark.parametrize("U", [0.5, 2.0, 8.0])
def test_the_regret_of_a_run_is_below_what_its_own_counts_say(U, removal):
    kernels = gaussians([0.5, 1, 4])
    for seed in range(3):
        X, y = known_kernel(1500, features=2, centres=6, noise=0.05, seed=seed)
        model = MOMDS(kernels=kernels, budget=30, norm_bound=U, step=2.0, removal=removal, random_state=seed)
        model.fit(X, y)
        done = model.diagnostics_
        bound = theorem_3_afterwards(
            done.cumulative_loss,
            removals=done.removals,
            rows=1500,
            kernels=3,
            budget=30,
            norm_bound=U,
            step=2.0,
            eager=removal == "eager",
        )
        for kernel in kernels:
            least = best_in_ball(X, y, kernel, U, "logistic", landmarks=200).lower_bound
            assert done.cumulative_loss - least <= bound.value, (seed, kernel)


def test_afterwards_needs_none_of_the_conditions_on_the_norm():
    setting = {"rows": 50_000, "kernels": 5, "budget": 400, "norm_bound": 20.0}
    with pytest.raises(ConditionError, match=r"U <= sqrt\(B'\).*gamma < 1") as caught:
        theorem_3(2e4, **setting, delta=theorem_3_delta(0.05, rows=50_000, norm_bound=20.0))
    assert [c.text for c in caught.value.conditions if not c.met] == ["0 < U <= sqrt(B') / (8 G2)", "gamma < 1"]
    assert theorem_3_afterwards(2e4, removals=0, **setting).value > 0


def test_afterwards_is_never_more_than_the_theorem():
    """Solving for the own loss and Lemma 2 can only add: at L = L' - bound, the theorem allows at least the bound."""
    setting = {"rows": 100_000, "kernels": 5, "budget": 400, "norm_bound": 1.0, "step": 2.0}
    delta = theorem_3_delta(0.05, rows=100_000, norm_bound=1.0)
    for own in (5e3, 2e4, 5e4):
        most = lemma_2(own, rows=100_000, budget=400, delta=delta).value
        known = theorem_3_afterwards(own, removals=int(most), **setting).value
        assert theorem_3(max(own - known, 0), **setting, delta=delta).value >= known - 24  # a removal of rounding up


def test_afterwards_of_m_omd_h_in_the_mean():
    kernel, U, B, T = Gaussian(1.0), 3.0, 40, 800
    X, y = known_kernel(T, features=2, centres=6, noise=0.0, seed=1)
    best = best_in_ball(X, y, kernel, U)
    regrets, bounds = [], []
    for seed in range(6):
        model = MOMDH(kernels=kernel, budget=B, norm_bound=U, random_state=seed)
        run = trace(model, X, y)
        done = model.diagnostics_
        regrets.append(run.own_loss - best.lower_bound)
        bounds.append(
            theorem_1_afterwards(
                run.own_loss,
                errors=float(done.alignment_proxy[0]),
                removals=int(done.removals),
                full_rounds=int(run.full_rounds[0]),
                rows=T,
                kernels=1,
                budget=B,
                norm_bound=U,
            ).value
        )
    assert np.mean(regrets) <= np.mean(bounds)
