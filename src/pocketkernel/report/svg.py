"""Charts as figures of HTML with an inline SVG: no scripts, colours by CSS variables, see chart.css."""

import math
from collections.abc import Iterable, Iterator
from html import escape

import numpy as np
import numpy.typing as npt

from pocketkernel.report.axes import Axis, precisely
from pocketkernel.report.charts import Chart, Series

Floats = npt.NDArray[np.float64]

COLOURS = 8
"""Variables --s0, --s1 ... that lines take in turn; from the second turn on they are dashed."""
SIZE, SMALL = (460, 270), (350, 240)
"""Width and height of the picture, which grows and shrinks with the page; its type does, too."""
TOP, RIGHT, BOTTOM = 26, 12, 42
LETTER = 8.2
"""Room for a letter of a tick, in the larger type of small screens."""
TOLERANCE = 0.2
"""How far a drawn line may be from the true one."""
HINTS = 9
"""Points of a line that show their value on hover, unless all are marked."""
_DASHES = ("", "7 4", "2 4", "9 3 2 3")


def figure(chart: Chart, identifier: str, *, small: bool = False) -> str:
    """Draw a chart; no other figure of the page has its identifier, of letters, digits and hyphens.

    A small one is for three in a line rather than two.

    Examples
    --------
    >>> from pocketkernel.report import Chart, Series
    >>> text = figure(Chart("Mistakes", [Series("a & b", [1, 2, 3], [0.3, 0.2, 0.1])]), "mistakes")
    >>> text.count("<path"), "a &amp; b" in text
    (1, True)
    """
    note = f'<span class="note">{escape(chart.note)}</span>' if chart.note else ""
    return (
        f'<figure class="chart"><figcaption><span class="name">{escape(chart.title)}</span>{note}</figcaption>'
        f"{''.join(drawing(chart, identifier, *(SMALL if small else SIZE)))}{''.join(_legend(chart))}</figure>"
    )


def axes_of(chart: Chart) -> tuple[Axis, Axis]:
    """Axes on which all of a chart is shown."""
    xs = np.concatenate([one.x for one in chart.series] or [np.empty(0)])
    finite = xs[np.isfinite(xs)]
    from_zero = bool(len(finite)) and 0 <= finite.min() <= 0.25 * finite.max()
    x = Axis.around(xs, unit=chart.x_unit, log=chart.log_x, zero=from_zero, tight=True)
    if chart.stacked:
        return x, Axis(0.0, 1.0, chart.y_unit, step=0.25)
    parts = [part for one in chart.series for part in (one.y, one.low, one.high) if part is not None]
    ys = np.concatenate(parts or [np.empty(0)])
    return x, Axis.around(ys, unit=chart.y_unit, log=chart.log_y, zero=chart.zero)


# ---- the picture ----------------------------------------------------------------------------------------------------


class _Frame:
    """The rectangle of the axes, in the units of the picture."""

    def __init__(self, chart: Chart, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.x, self.y = axes_of(chart)
        self.y_ticks = [(tick, self.y.label(tick)) for tick in self.y.ticks()]
        self.left = round(14 + LETTER * max((len(text) for _, text in self.y_ticks), default=1))
        self.right, self.top, self.bottom = width - RIGHT, TOP, height - BOTTOM

    def across(self, x: npt.ArrayLike) -> Floats:
        return self.left + self.x.place(x) * (self.right - self.left)

    def up(self, y: npt.ArrayLike) -> Floats:
        return self.bottom - np.clip(self.y.place(y), -0.5, 1.5) * (self.bottom - self.top)


def drawing(chart: Chart, identifier: str, width: int, height: int) -> Iterator[str]:
    """The picture without title and legend, as an SVG element."""
    frame = _Frame(chart, width, height)
    yield (
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-labelledby="{identifier}-t {identifier}-d">'
        f'<title id="{identifier}-t">{escape(chart.title)}</title>'
        f'<desc id="{identifier}-d">{escape(_description(chart))}</desc>'
    )
    yield from _axes(chart, frame)
    yield from _marks(chart, frame)
    if not any(np.any(np.isfinite(one.y)) for one in chart.series):
        middle = (frame.left + frame.right) / 2
        yield f'<text class="empty" x="{middle:.0f}" y="{height / 2:.0f}">nothing to show</text>'
    elif chart.stacked:
        yield from _areas(chart, frame)
    else:
        for one in chart.series:
            yield from _band(one, chart, frame)
        for one in chart.series:
            yield from _line(one, chart, frame)
    yield "</svg>"


def _axes(chart: Chart, frame: _Frame) -> Iterator[str]:
    for tick, text in frame.y_ticks:
        y = float(frame.up(tick))
        yield f'<line class="grid" x1="{frame.left}" x2="{frame.right}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text class="tick y" x="{frame.left - 7}" y="{y:.1f}" dy=".35em">{escape(text)}</text>'
    yield f'<line class="axis" x1="{frame.left}" x2="{frame.right}" y1="{frame.bottom}" y2="{frame.bottom}"/>'
    free = -1e9
    for tick in frame.x.ticks():
        x, text = float(frame.across(tick)), frame.x.label(tick)
        yield f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{frame.bottom}" y2="{frame.bottom + 4}"/>'
        half = LETTER * len(text) / 2
        middle = min(max(x, half), frame.width - half)
        if middle - half < free:
            continue  # the label would touch the one before
        free = middle + half + LETTER
        yield f'<text class="tick x" x="{middle:.1f}" y="{frame.bottom + 18}">{escape(text)}</text>'
    yield f'<text class="label x" x="{frame.right}" y="{frame.height - 6}">{escape(chart.x_label)}</text>'
    yield f'<text class="label y" x="{frame.left}" y="13">{escape(chart.y_label)}</text>'


def _marks(chart: Chart, frame: _Frame) -> Iterator[str]:
    for mark in chart.marks:
        x = float(frame.across(mark.x))
        if math.isfinite(x):
            text = f"{mark.text} at {precisely(mark.x, chart.x_unit)} {chart.x_label}".rstrip()
            yield (
                f'<g class="mark"><title>{escape(text)}</title>'
                f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{frame.top}" y2="{frame.bottom}"/>'
                f'<path d="M{x - 4:.1f},{frame.top - 6}h8l-4,6z"/></g>'
            )


def _band(one: Series, chart: Chart, frame: _Frame) -> Iterator[str]:
    if one.low is None or one.high is None:
        return
    x, low, high = frame.across(one.x), frame.up(one.low), frame.up(one.high)
    if chart.log_y:  # what is below a logarithmic axis goes down to its end
        low = np.where(np.isnan(low) & np.isfinite(high), float(frame.bottom), low)
    for part in _runs(x, low, high):
        if part.stop - part.start > 1:
            there, back = _thinned(x[part], high[part]), _thinned(x[part], low[part])
            yield f'<path class="band" {_style(one, chart)} d="{_path([*there, *back[::-1]])}Z"/>'


def _line(one: Series, chart: Chart, frame: _Frame) -> Iterator[str]:
    x, y = frame.across(one.x), frame.up(one.y)
    kind = "reference" if one.reference else "line"
    dashes = _dashes(one, chart)
    dash = f' stroke-dasharray="{dashes}"' if dashes else ""
    if one.scattered:
        known = np.isfinite(x) & np.isfinite(y)
        dots = "".join(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.2"/>' for a, b in zip(x[known], y[known], strict=True))
        yield f'<g class="scattered" {_style(one, chart)}>{dots}</g>'
        return
    yield f"<g {_style(one, chart)}{dash}>"
    for part in _runs(x, y):
        points = _thinned(x[part], y[part])
        if len(points) > 1:
            yield f'<path class="{kind}" d="{_path(points)}"/>'
        else:
            yield f'<circle class="dot" cx="{x[part][0]:.1f}" cy="{y[part][0]:.1f}" r="3.5"/>'
    if not one.reference:
        yield from _points(one, chart, x, y)
    yield "</g>"


def _points(one: Series, chart: Chart, x: Floats, y: Floats) -> Iterator[str]:
    """Some points that show their value on hover."""
    shown = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    if chart.markers:
        for n in shown:
            yield f'<circle class="dot" cx="{x[n]:.1f}" cy="{y[n]:.1f}" r="3"/>'
    elif len(shown):
        goals = np.linspace(x[shown[0]], x[shown[-1]], HINTS)
        shown = shown[np.unique([int(np.argmin(np.abs(x[shown] - goal))) for goal in goals])]
    for n in shown:
        text = f"{one.name} at {precisely(one.x[n], chart.x_unit)} {chart.x_label}".rstrip()
        text += f": {precisely(one.y[n], chart.y_unit)}"
        if one.low is not None and one.high is not None:
            ends = (precisely(float(end[n]), chart.y_unit) for end in (one.low, one.high))
            text += f" ({' to '.join(ends)})"
        yield f'<circle class="hint" cx="{x[n]:.1f}" cy="{y[n]:.1f}" r="7"><title>{escape(text)}</title></circle>'


def _areas(chart: Chart, frame: _Frame) -> Iterator[str]:
    """Stacked areas; each edge is thinned once, so that neighbours meet."""
    x = frame.across(chart.series[0].x)
    tops = np.cumsum([np.nan_to_num(one.y, posinf=0.0, neginf=0.0) for one in chart.series], axis=0)
    if len(x) == 1:  # one point is shown as a bar
        x, tops = np.array([frame.left, frame.right], dtype=np.float64), np.repeat(tops, 2, axis=1)
    below = [(float(x[0]), float(frame.bottom)), (float(x[-1]), float(frame.bottom))]
    for one, top in zip(chart.series, tops, strict=True):
        edge = _thinned(x, frame.up(top))
        last = precisely(float(one.y[-1]), chart.y_unit)
        yield (
            f'<path class="area" {_style(one, chart)} d="{_path([*edge, *below[::-1]])}Z">'
            f"<title>{escape(one.name)}: {escape(last)} at the end</title></path>"
        )
        below = edge


# ---- the legend -----------------------------------------------------------------------------------------------------


def key_of(one: Series, chart: Chart) -> str:
    """The line or the square that stands before a name in the legend, 22 by 12."""
    if chart.stacked:
        return f'<rect class="area" {_style(one, chart)} x="4" y="1" width="14" height="10" rx="2"/>'
    if one.scattered:
        return f'<g class="scattered" {_style(one, chart)}><circle cx="11" cy="6" r="3"/></g>'
    dashes = _dashes(one, chart)
    dash = f' stroke-dasharray="{dashes}"' if dashes else ""
    kind = "reference" if one.reference else "line"
    return f'<line class="{kind}" {_style(one, chart)} x1="1" x2="21" y1="6" y2="6"{dash}/>'


def _legend(chart: Chart) -> Iterator[str]:
    yield '<ul class="legend">'
    for one in chart.series:
        key = f'<svg viewBox="0 0 22 12" aria-hidden="true">{key_of(one, chart)}</svg>'
        yield f"<li>{key}{escape(one.name)}</li>"
    for text, places in _happened(chart).items():
        key = '<svg viewBox="0 0 22 12" aria-hidden="true"><path class="mark" d="M5,1h12l-6,9z"/></svg>'
        yield f"<li>{key}{escape(text)}: {escape(places)}</li>"
    yield "</ul>"


def _happened(chart: Chart) -> dict[str, str]:
    """What marks stand for, and the first places of each."""
    found: dict[str, list[str]] = {}
    for mark in chart.marks:
        found.setdefault(mark.text, []).append(precisely(mark.x, chart.x_unit))
    more = {text: f" and {len(places) - 4} more" if len(places) > 4 else "" for text, places in found.items()}
    return {text: f"{chart.x_label} {', '.join(places[:4])}{more[text]}".strip() for text, places in found.items()}


def _description(chart: Chart) -> str:
    """What the picture shows, for those who do not see it."""
    ends = []
    for one in chart.series:
        finite = np.flatnonzero(np.isfinite(one.y))
        if one.scattered:
            ends.append(f"{len(finite):,} points of {one.name}")
        elif len(finite):
            ends.append(f"{one.name} ends at {precisely(float(one.y[finite[-1]]), chart.y_unit)}")
    kind = "Stacked areas" if chart.stacked else "Lines"
    return f"{kind} over {chart.x_label or 'x'}. {chart.note} {'; '.join(ends) or 'Nothing to show'}."


# ---- parts ----------------------------------------------------------------------------------------------------------


def _number(one: Series, chart: Chart) -> int:
    if one.colour is not None:
        return one.colour
    return [other for other in chart.series if not other.reference].index(one) if not one.reference else 0


def _style(one: Series, chart: Chart) -> str:
    if one.reference:
        return 'style="--c:var(--muted)"'
    number = _number(one, chart)
    variable = f"k{number}" if chart.stacked else f"s{number % COLOURS}"
    return f'style="--c:var(--{variable})"'


def _dashes(one: Series, chart: Chart) -> str:
    return "5 4" if one.reference else _DASHES[_number(one, chart) // COLOURS % len(_DASHES)]


def _runs(*arrays: Floats) -> Iterator[slice]:
    """Stretches without gaps."""
    known = np.all([np.isfinite(array) for array in arrays], axis=0)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], known, [False])).astype(int)))
    yield from (slice(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True))


def _thinned(x: Floats, y: Floats) -> list[tuple[float, float]]:
    """Fewest points that keep the line where it is, within the tolerance (Ramer, Douglas & Peucker)."""
    kept = np.zeros(len(x), dtype=bool)
    kept[[0, -1]] = True
    stretches = [(0, len(x) - 1)]
    while stretches:
        a, b = stretches.pop()
        if b - a < 2:
            continue
        dx, dy = x[b] - x[a], y[b] - y[a]
        from_x, from_y = x[a + 1 : b] - x[a], y[a + 1 : b] - y[a]
        along = np.clip((from_x * dx + from_y * dy) / max(dx * dx + dy * dy, 1e-12), 0, 1)
        off = np.hypot(from_x - along * dx, from_y - along * dy)
        worst = int(np.argmax(off))
        if off[worst] > TOLERANCE:
            middle = a + 1 + worst
            kept[middle] = True
            stretches += [(a, middle), (middle, b)]
    return list(zip(x[kept].tolist(), y[kept].tolist(), strict=True))


def _path(points: Iterable[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in points)
