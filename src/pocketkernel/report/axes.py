"""Axes: a range, where its ticks are, and how numbers are written on it."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

UNITS = ("number", "percent", "bytes")
NOT_A_NUMBER = "\u2013"  # a dash
_HUGE = 1e300  # beyond this, differences overflow
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_THOUSANDS = ("", "k", "M", "G", "T", "P")


@dataclass(frozen=True)
class Axis:
    """A range of numbers of a unit, linear or logarithmic.

    Examples
    --------
    >>> axis = Axis.around([200.0, 20_000.0])
    >>> [axis.label(tick) for tick in axis.ticks()]
    ['0', '5k', '10k', '15k', '20k']
    >>> axis = Axis.around([256.0, 65_536.0], unit="bytes", log=True)
    >>> [axis.label(tick) for tick in axis.ticks()]
    ['256 B', '1 KiB', '4 KiB', '16 KiB', '64 KiB']
    """

    low: float
    high: float
    unit: str = "number"
    log: bool = False
    step: float = 1.0

    @classmethod
    def around(
        cls, values: npt.ArrayLike, *, unit: str = "number", log: bool = False, zero: bool = True, tight: bool = False
    ) -> "Axis":
        """Make an axis that shows all finite values (of a logarithmic one, all positive values).

        With `zero`, a linear axis of positive numbers begins there. A `tight` one ends with the values, not with the
        tick beyond.
        """
        numbers = np.asarray(values, dtype=np.float64).ravel()
        numbers = np.clip(numbers[np.isfinite(numbers)], -_HUGE, _HUGE)
        if log:
            numbers = np.maximum(numbers[numbers > 0], 1 / _HUGE)
            low, high = (float(numbers.min()), float(numbers.max())) if len(numbers) else (1.0, 10.0)
            if low == high:
                low, high = low / 2, high * 2
            if not tight:  # lines keep clear of the edges
                room = math.exp(0.04 * (math.log(high) - math.log(low)))
                low, high = max(low / room, 1e-307), min(high * room, 1e307)
            return cls(low, high, unit, True)
        low, high = (float(numbers.min()), float(numbers.max())) if len(numbers) else (0.0, 1.0)
        if zero:
            low, high = min(low, 0.0), max(high, 0.0)
        if high - low <= max(1e-9 * max(abs(low), abs(high)), 1 / _HUGE):
            room = 0.05 * abs(low) or 1.0
            low, high = (low - room if low else 0.0), high + room
        scale = _scale(unit, max(abs(low), abs(high))) if unit == "bytes" else 1.0
        step = _nice((high - low) / 5 / scale) * scale
        if not tight:
            low, high = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
        return cls(low, high, unit, False, step)

    def ticks(self) -> list[float]:
        """Places of the ticks, at most about eight."""
        if not self.log:
            first, last = math.ceil(self.low / self.step - 1e-9), math.floor(self.high / self.step + 1e-9)
            return [k * self.step for k in range(first, min(last, first + 20) + 1)]
        base = 2.0 if self.unit == "bytes" else 10.0
        low, high = math.log(self.low, base) - 1e-9, math.log(self.high, base) + 1e-9
        every = max(1, math.ceil((high - low) / 7))
        ticks = [base**k for k in range(math.ceil(low / every) * every, math.floor(high) + 1, every)]
        if len(ticks) < 3 and base == 10.0:
            between = [m * 10.0**k for k in range(math.floor(low), math.floor(high) + 1) for m in (1, 2, 5)]
            ticks = [tick for tick in between if low <= math.log10(tick) <= high]
        return ticks if len(ticks) > 1 else [self.low, self.high]

    def label(self, value: float) -> str:
        """A tick's text. All ticks of a linear axis have the same unit and as many decimals as their step."""
        if self.log:
            thousands = 1e4 if self.unit == "number" and value >= 1e3 and self.high >= 1e4 else 0.0  # 5k beside 10k
            return written(value, self.unit, None, max(value, thousands))
        return written(value, self.unit, self.step, max(abs(self.low), abs(self.high)))

    def place(self, values: npt.ArrayLike) -> Floats:
        """Where values are: 0 at the low end, 1 at the high end; NaN where they cannot be shown."""
        numbers = np.asarray(values, dtype=np.float64)
        numbers = np.where(np.isfinite(numbers), np.clip(numbers, -_HUGE, _HUGE), np.nan)
        if not self.log:
            return (numbers - self.low) / (self.high - self.low)
        logs = np.log(np.where(numbers > 0, np.maximum(numbers, 1 / _HUGE), np.nan))
        return (logs - math.log(self.low)) / (math.log(self.high) - math.log(self.low))


def written(value: float, unit: str = "number", step: float | None = None, largest: float | None = None) -> str:
    """Write a number for people, briefly.

    It gets as many decimals as the step has, or else the fewest that make sense, and is written in thousands, KiB and
    so on as the largest would be, or else by its own size.

    Examples
    --------
    >>> written(0.1131, "percent"), written(64832, "bytes"), written(20_000), written(0.00012)
    ('11.3%', '63.3 KiB', '20k', '0.00012')
    """
    if not math.isfinite(value):
        return NOT_A_NUMBER if math.isnan(value) else "∞" if value > 0 else "-∞"
    scale = _scale(unit, abs(value) if largest is None else largest)
    step = None if step is None else step / scale
    if unit == "percent":
        return f"{_digits(value / scale, step, 1)}%"
    if unit == "bytes":
        return f"{_digits(value / scale, step, 1)} {_BINARY[round(math.log(scale, 1024))]}"
    if scale > 1:
        return "0" if value == 0 else _digits(value / scale, step, 2) + _THOUSANDS[round(math.log(scale, 1000))]
    most = abs(value) if largest is None else largest
    if step is not None and 1e-3 <= most < 1e18:
        return _digits(value, step, 0)
    digits = 4 if step is None else math.floor(math.log10(most)) - math.floor(math.log10(step) - 1e-9) + 1
    return f"{value:.{max(1, digits)}g}"


def precisely(value: float, unit: str = "number") -> str:
    """Write a number for people who point at it.

    Examples
    --------
    >>> precisely(0.11315, "percent"), precisely(64832, "bytes"), precisely(12_400)
    ('11.31%', '64,832 bytes', '12,400')
    """
    if not math.isfinite(value):
        return written(value)
    if unit == "percent":
        return f"{100 * value:.2f}%"
    if unit == "bytes":
        return f"{value:,.0f} bytes"
    return f"{value:,.0f}" if value == round(value) and abs(value) < 1e15 else f"{value:,.5g}"


def _digits(value: float, step: float | None, most: int) -> str:
    """A number with as many decimals as its step; without a step, at most the given number."""
    if step is None or step <= 0:
        text = f"{value:.{most}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    if abs(step * 10**decimals - round(step * 10**decimals)) > 1e-6:
        decimals += 1
    text = f"{value:.{min(decimals, 12)}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def _scale(unit: str, largest: float) -> float:
    """What numbers up to the largest are divided by before they are written."""
    if unit == "percent":
        return 0.01
    if unit == "bytes":
        return 1024.0 ** min(max(math.frexp(largest)[1] - 1, 0) // 10, len(_BINARY) - 1)
    if 1e4 <= largest < 1e18:
        return 1000.0 ** min(math.floor(math.log10(largest) + 1e-12) // 3, len(_THOUSANDS) - 1)
    return 1.0


def _nice(step: float) -> float:
    """The smallest of 1, 2, 5, 10 ... that is no smaller than the step, up to a tenth."""
    power = 10.0 ** math.floor(math.log10(step))
    return power * next(nice for nice in (1, 2, 5, 10) if step <= 1.1 * nice * power)
