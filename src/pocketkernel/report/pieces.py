"""Parts of a page that are neither charts nor plain tables: a matrix of counts, and bars."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDE = 7
"""Labels of a matrix that fit into half a page."""


@dataclass(frozen=True)
class Matrix:
    """A confusion matrix: rows by true class, columns by predicted class, shaded by the share of a row.

    Parameters
    ----------
    title : str
        What it shows.
    labels : list of str
        Of rows and columns.
    counts : list of lists of int
        One list for each row.
    note : str, default=""
        A sentence below.

    Examples
    --------
    >>> text = Matrix("Confusion", ["ham", "spam"], [[9, 1], [0, 5]]).to_html()
    >>> 'style="--p:90%"' in text and "true ham, predicted spam: 1 (10.0%)" in text
    True
    """

    title: str
    labels: Sequence[str]
    counts: Sequence[Sequence[int]]
    note: str = ""

    def to_html(self) -> str:
        """As an HTML table."""
        head = "".join(f'<th scope="col"><span>{escape(label)}</span></th>' for label in self.labels)
        body = "".join(map(self._row, range(len(self.labels))))
        note = f'<p class="note">{escape(self.note)}</p>' if self.note else ""
        return (
            f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(self.title)}">'
            f'<table class="matrix{" wide" if len(self.labels) > WIDE else ""}"><caption>{escape(self.title)}</caption>'
            f'<thead><tr><th scope="col">true \\ predicted</th>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table></div>{note}"
        )

    def _row(self, i: int) -> str:
        total, cells = max(sum(self.counts[i]), 1), []
        for j, count in enumerate(self.counts[i]):
            share = count / total
            hint = f"true {self.labels[i]}, predicted {self.labels[j]}: {count:,} ({share:.1%})"
            kind = "hit" if i == j else "miss"
            cells.append(
                f'<td class="n {kind}" style="--p:{100 * share:.0f}%" title="{escape(hint)}">{count:,}</td>'
                if count
                else '<td class="n none">·</td>'
            )
        return f'<tr><th scope="row">{escape(self.labels[i])}</th>{"".join(cells)}</tr>'


@dataclass(frozen=True)
class Bars:
    """Shares as horizontal bars.

    Parameters
    ----------
    title : str
        What they show.
    parts : list of (str, float)
        Names and shares, from 0 to 1.
    note : str, default=""
        A sentence below the title.

    Examples
    --------
    >>> text = Bars("Columns", [("age", 0.75), ("<b>", 0.25)]).to_html()
    >>> "75.0%" in text and "&lt;b&gt;" in text
    True
    """

    title: str
    parts: Sequence[tuple[str, float]]
    note: str = ""

    def to_html(self) -> str:
        """As an HTML list."""
        most = max((share for _, share in self.parts), default=0.0) or 1.0
        items = "".join(
            f'<li><span class="of">{escape(name)}</span><span class="bar" style="--p:{100 * share / most:.1f}%"></span>'
            f'<span class="value">{share:.1%}</span></li>'
            for name, share in self.parts
        )
        note = f'<span class="note">{escape(self.note)}</span>' if self.note else ""
        return (
            f'<figure class="chart plain"><figcaption><span class="name">{escape(self.title)}</span>{note}</figcaption>'
            f'<ul class="bars">{items}</ul></figure>'
        )
