"""Confidence sequences on the rate of mistakes: intervals that hold at all times at once, from counts alone."""

import math
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class MistakeRate:
    """A rate of mistakes, and the interval that its mean probability is in.

    In every round the learner has some probability of a mistake, given all that was before. With probability at least
    1 - delta the mean of these probabilities over the rounds is in the interval, at all times at once, so also at a
    time that was chosen by looking. Nothing is assumed about the rows but that each was new when it was predicted: they
    may depend on each other and on the learner. If they are drawn independently from one distribution, the mean is that
    of the risks of the models that the learner passed through in these rounds.

    Attributes
    ----------
    mistakes, rounds : int
        Counts.
    low, high : float
        The interval.

    Examples
    --------
    >>> rate = mistake_rate(24, 8124)
    >>> print(rate)
    0.30 % (between 0.14 % and 0.53 %)
    """

    mistakes: int
    rounds: int
    low: float
    high: float

    @property
    def rate(self) -> float:
        """Mistakes per round; 0 before the first."""
        return self.mistakes / max(self.rounds, 1)

    def __str__(self) -> str:
        return f"{self.rate:.2%} (between {self.low:.2%} and {self.high:.2%})".replace("%", " %")


def meaning(delta: float) -> str:
    """What such intervals mean, in sentences for readers."""
    return (
        f"With probability at least {1 - delta:.4g} an interval contains, at all times at once and whatever the rows "
        "are, the mean probability of a mistake given the past. For independent rows of one distribution that is the "
        "mean risk of the models of these rounds, not the risk of the present model alone."
    )


def mistake_rate(mistakes: int, rounds: int, delta: float = 0.05) -> MistakeRate:
    """Rate of mistakes since the start, with the interval that holds at all times at once.

    M is the number of mistakes, E the sum of their probabilities given the past. For every theta > 0,
    theta^M exp(-(theta - 1) E) is a supermartingale, because 1 + (theta - 1) p <= exp((theta - 1) p). So is its mean
    over theta ~ Gamma(1/2, 1/2), which by Ville's inequality stays below 1/delta for ever with probability 1 - delta.

    Parameters
    ----------
    mistakes, rounds : int
        M, and the number of rounds t >= M.
    delta : float, default=0.05
        Probability that the interval ever fails, between 0 and 1.

    Examples
    --------
    >>> rate = mistake_rate(2_768, 19_020)
    >>> 0.134 < rate.low < 0.136 and 0.155 < rate.high < 0.157
    True
    """
    if not 0 <= mistakes <= rounds:
        raise ValueError(f"mistakes={mistakes!r} is not between 0 and rounds={rounds!r}.")
    most = math.log(1 / delta)

    def inside(E: float) -> bool:
        shape = 0.5 + mistakes
        known = 0.5 * math.log(0.5) + math.lgamma(shape) - math.lgamma(0.5)
        return E + known - shape * math.log(0.5 + E) < most

    if rounds == 0:
        return MistakeRate(0, 0, 0.0, 1.0)
    low = 0.0 if inside(0.0) else _edge(inside, float(mistakes), 0.0)
    high = float(rounds) if inside(rounds) else _edge(inside, float(mistakes), float(rounds))
    return MistakeRate(mistakes, rounds, low / rounds, high / rounds)


def recent_mistake_rate(
    mistakes: int, rounds: int, *, mistakes_before: int, rounds_before: int, delta: float = 0.05
) -> MistakeRate:
    """The same for the rounds after a restart: a count that begins again whenever the number of rounds has doubled.

    Restart j, at round 2^(j-1) or, for j = 0, at the beginning, has the share 1 / ((j + 1) (j + 2)) of delta: all of
    them hold at once.

    Parameters
    ----------
    mistakes, rounds : int
        Counts since the start.
    mistakes_before, rounds_before : int
        Counts at the restart; `rounds_before` must not have been chosen by results.
    delta : float, default=0.05
        Probability that any of these intervals ever fails.

    Examples
    --------
    >>> rate = recent_mistake_rate(700, 3000, mistakes_before=500, rounds_before=1024)
    >>> rate.rounds, rate.low < 200 / 1976 < rate.high
    (1976, True)
    """
    j = rounds_before.bit_length()
    share = delta / ((j + 1) * (j + 2))
    return mistake_rate(mistakes - mistakes_before, rounds - rounds_before, share)


def _edge(inside: Callable[[float], bool], within: float, outside: float) -> float:
    """Where `inside` changes between two numbers."""
    for _ in range(60):
        middle = 0.5 * (within + outside)
        within, outside = (middle, outside) if inside(middle) else (within, middle)
    return outside
