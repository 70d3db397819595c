"""Intervals for the rate of mistakes: their formula, and how often they fail at a time that is chosen to hurt."""

import math

import numpy as np
import pytest
from scipy.special import gammaln

from pocketkernel.certificate import mistake_rate, recent_mistake_rate

ROWS, RUNS = 1500, 400


@pytest.mark.parametrize(
    ("mistakes", "rounds", "low", "high"),
    [(24, 8_124, 0.14, 0.53), (2_768, 19_020, 13.5, 15.6), (2_939, 141_691, 1.93, 2.23)],
)
def test_known_intervals(mistakes, rounds, low, high):
    rate = mistake_rate(mistakes, rounds)
    assert 100 * rate.low == pytest.approx(low, abs=0.051)
    assert 100 * rate.high == pytest.approx(high, abs=0.051)


def test_the_edges_solve_the_equation():
    M, t = 37, 900
    rate = mistake_rate(M, t, 0.01)
    for E in (rate.low * t, rate.high * t):
        log = E + 0.5 * math.log(0.5) + math.lgamma(0.5 + M) - math.lgamma(0.5) - (0.5 + M) * math.log(0.5 + E)
        assert log == pytest.approx(math.log(100), rel=1e-9)


@pytest.mark.parametrize("rounds", [1, 2, 10, 10**9])
def test_ends_are_probabilities(rounds):
    for mistakes in {0, rounds // 2, rounds}:
        rate = mistake_rate(mistakes, rounds)
        assert 0 <= rate.low <= rate.rate <= rate.high <= 1
    assert mistake_rate(0, rounds).low == 0


def test_nothing_is_known_before_the_first_row():
    rate = mistake_rate(0, 0)
    assert (rate.low, rate.high, rate.rate) == (0, 1, 0)
    with pytest.raises(ValueError, match="not between 0 and"):
        mistake_rate(3, 2)


def iid(rng):
    """Rows of one distribution, and a learner that gets better."""
    return np.clip(0.05 + 0.4 / np.sqrt(np.arange(1, ROWS + 1)), 0, 1), rng.random(ROWS)


def rare(rng):
    return np.full(ROWS, 1e-3), rng.random(ROWS)


def adaptive(rng):
    """Rows that get easier after mistakes and harder after successes, to pull the counts away from their means."""
    p, u = np.empty(ROWS), rng.random(ROWS)
    excess = 0.0
    for t in range(ROWS):
        p[t] = 0.02 if excess > 0 else 0.6
        excess += (u[t] < p[t]) - p[t]
    return p, u


def spiteful(rng):
    """Rows whose risk doubles whenever the count is behind: the worst of a few rules that were tried."""
    p, u = np.empty(ROWS), rng.random(ROWS)
    ahead = 0.0
    for t in range(ROWS):
        p[t] = 0.5 if abs(ahead) > 2 * math.sqrt(t + 1) else 0.05
        ahead += (u[t] < p[t]) - p[t]
    return p, u


def outside(M, E, delta):
    """Whether sums of probabilities E are outside the interval of M mistakes, all at once."""
    log = E + 0.5 * math.log(0.5) + gammaln(0.5 + M) - gammaln(0.5) - (0.5 + M) * np.log(0.5 + E)
    return log >= math.log(1 / delta)


def ever_missed(p, wrong, restart):
    """Whether the interval misses after any row: the worst time at which one could stop."""
    M, E = (np.concatenate([[0], np.cumsum(each)]) for each in (wrong, p))
    if not restart:
        return bool(np.any(outside(M, E, 0.05)))
    # From the beginning for two rows, then from 2^j for the rows up to 2^(j+2).
    restarts = [0] + [1 << j for j in range(ROWS.bit_length())]
    return any(
        np.any(outside(M[s : 4 * s + 2] - M[s], E[s : 4 * s + 2] - E[s], 0.05 / ((j + 1) * (j + 2))))
        for j, s in enumerate(restarts)
        if s < ROWS
    )


@pytest.mark.parametrize("restart", [False, True], ids=["whole", "restarted"])
@pytest.mark.parametrize("stream", [iid, rare, adaptive, spiteful])
def test_misses_at_the_worst_time_are_as_rare_as_promised(stream, restart):
    rng = np.random.default_rng(5)
    missed = 0
    for _ in range(RUNS):
        p, u = stream(rng)
        missed += ever_missed(p, u < p, restart)
    assert missed <= 0.05 * RUNS


@pytest.mark.parametrize("before", [(0, 0), (3, 16), (40, 512)])
def test_the_interval_is_where_the_formula_says(before):
    mistakes, rounds = 100, 900
    rate = recent_mistake_rate(mistakes, rounds, mistakes_before=before[0], rounds_before=before[1])
    j = [0, *(1 << j for j in range(20))].index(before[1])
    E = np.linspace(0, rate.rounds, 2001)
    kept = E[~outside(rate.mistakes, E, 0.05 / ((j + 1) * (j + 2)))]
    assert kept[0] / rate.rounds == pytest.approx(rate.low, abs=1e-3)
    assert kept[-1] / rate.rounds == pytest.approx(rate.high, abs=1e-3)


def test_a_shorter_interval_would_fail_more_often():
    """The test above can fail: the interval for one fixed time misses far more often than 5 % at the worst time."""
    rng, missed = np.random.default_rng(5), 0
    for _ in range(100):
        wrong = rng.random(ROWS) < 0.1
        t = np.arange(1, ROWS + 1)
        missed += bool(np.any(np.abs(np.cumsum(wrong) / t - 0.1) > 1.96 * np.sqrt(0.09 / t)))
    assert missed > 30
