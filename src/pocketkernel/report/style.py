"""The look of charts, on a page and by themselves."""

from importlib.resources import files

import numpy as np

_RAMPS = {  # from the first kernel to the last, on light and on dark ground
    "light": ("#43307d", "#2f6690", "#1f968b", "#74c05a", "#f0d43a"),
    "dark": ("#7d68c8", "#3f83b8", "#24a69a", "#86cc66", "#f2dc5a"),
}


def resource(name: str) -> str:
    """A file of this package, as text."""
    return files("pocketkernel.report").joinpath(name).read_text(encoding="utf-8")


def chart_style(areas: int) -> str:
    """CSS of charts, with variables --k0, --k1 ... for as many areas."""
    light, dark = (
        " ".join(f"--k{n}: {colour};" for n, colour in enumerate(ramp(areas, name))) for name in ("light", "dark")
    )
    return resource("chart.css") + (
        f"\n:root {{ {light} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}"
        f"\n@media print {{ :root {{ {light} }} }}\n"
    )


def ramp(count: int, ground: str = "light") -> list[str]:
    """As many colours from dark blue to yellow, for things that have an order.

    Examples
    --------
    >>> ramp(2)
    ['#43307d', '#f0d43a']
    """
    anchors = np.array([[int(colour[n : n + 2], 16) for n in (1, 3, 5)] for colour in _RAMPS[ground]])
    places = np.linspace(0, len(anchors) - 1, count) if count > 1 else np.full(count, 2.0)
    mixed = [np.interp(places, np.arange(len(anchors)), channel) for channel in anchors.T]
    return ["#" + "".join(f"{round(float(part)):02x}" for part in colour) for colour in zip(*mixed, strict=True)]
