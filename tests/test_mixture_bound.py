"""The bound of a mixture: against brute force, on sums made by hand."""

import math

import numpy as np
import pytest

from pocketkernel.certificate.mixture import MixtureSums, mixture_regret


def sums_of(F, s, y, radius=2.0):
    """The sums of two classes, as the core keeps them, from scores and labels -1, 1."""
    g = -y / (1 + np.exp(y * F))
    a = np.abs(F) + radius * np.linalg.norm(s, axis=1)
    c = 2 * (np.exp(-a) + a - 1) / a**2 * np.abs(g) * (1 - np.abs(g))
    both = np.column_stack([F, s])
    losses = np.log1p(np.exp(-y[:, None] * s)).sum(axis=0)
    H = (c[:, None, None] * both[:, :, None] * both[:, None]).sum(axis=0)
    return [*losses, *(g[:, None] * both).sum(axis=0), *H[np.tril_indices(len(H))]]


@pytest.fixture(params=range(5))
def run(request):
    rng = np.random.default_rng(request.param)
    y = rng.choice([-1, 1], 400)
    s = rng.normal(size=(400, 3)) * [0.3, 1, 3] + 0.5 * y[:, None] * rng.random(3)
    return s @ rng.normal(size=3) * 0.4, s, y


def test_no_mixture_does_better_than_is_proved(run):
    F, s, y = run
    sums = MixtureSums.of(sums_of(F, s, y), 3)
    own = np.log1p(np.exp(-y * F)).sum()
    rng = np.random.default_rng(9)
    for norm in (0.5, 1.0, 2.0):
        v = rng.normal(size=(3000, 3))
        v *= norm * rng.random((3000, 1)) ** 0.2 / np.linalg.norm(v, axis=1)[:, None]
        true = own - np.log1p(np.exp(-y[:, None] * (s @ v.T))).sum(axis=0).min()
        assert true <= mixture_regret(sums, norm)
        assert mixture_regret(sums, norm) < true + own


def test_the_maximum_over_the_ball(run):
    sums = MixtureSums.of(sums_of(*run), 3)
    rng = np.random.default_rng(1)
    for norm in (0.1, 1.0, 2.0):
        v = rng.normal(size=(20_000, 3))
        v *= norm * rng.random((20_000, 1)) ** (1 / 3) / np.linalg.norm(v, axis=1)[:, None]
        z = np.column_stack([-np.ones(20_000), v])
        found = (-z @ sums.linear - 0.5 * np.einsum("ni,ij,nj->n", z, sums.quadratic, z)).max()
        assert found <= mixture_regret(sums, norm) <= found + 0.05 * abs(found) + 0.5


def test_a_mixture_that_never_moves_has_no_regret_against_its_own_norm():
    sums = MixtureSums.of(np.zeros(2 * 2 + 1 + 6), 2)
    assert mixture_regret(sums) == pytest.approx(0, abs=1e-9)
    with pytest.raises(ValueError, match="norms from 0 to 2"):
        mixture_regret(sums, 3.0)


def newton_regret(rows, seed):
    """Of full online Newton steps on the weight of one expert, against the best weight.

    The expert's score is 1 on 98.5 % of the rows, always with label +1, and 8 on the others, with label -1.
    """
    rng = np.random.default_rng(seed)
    large = rng.random(rows) >= 0.985
    w, A, own = 0.0, 1.0, 0.0
    for signed in np.where(large, -8.0, 1.0).tolist():  # label times score
        margin = signed * w
        own += math.log1p(math.exp(-abs(margin))) + max(-margin, 0.0)
        slope = -signed / (1.0 + math.exp(min(margin, 700.0)))
        A += slope**2
        w -= slope / A
    many, few = np.sum(~large), np.sum(large)
    v = np.linspace(-1, 2, 3001)
    return own - np.min(many * np.logaddexp(0, -v) + few * np.logaddexp(0, 8 * v))


def test_newton_steps_without_projection_have_no_bound_in_advance():
    """What the mixture does: regret of the order of T on some runs, where a logarithm would be expected."""
    short, long = (max(newton_regret(rows, seed) for seed in range(5)) for rows in (10_000, 100_000))
    print(short, long)
    assert short > 100 and long > 5 * short
