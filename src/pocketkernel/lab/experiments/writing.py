"""Tables as text: for a terminal, and as Markdown, LaTeX and CSV."""

import csv
import io
import re

from pocketkernel.lab.report import Spread, Table
from pocketkernel.report.axes import NOT_A_NUMBER


def plain(table: Table) -> str:
    """As plain text for a terminal, with the title above and without the note; the best are marked by a star."""
    head = [[(column.name, False) for column in table.headings]]
    texts = [[f"{text}*" if bold else text for text, bold in row] for row in head + table.formatted()]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    places = [f"{'>' if numeric else '<'}{width}" for width, numeric in zip(widths, table.numeric(), strict=True)]
    lines = ["  ".join(map(format, row, places)).rstrip() for row in texts]
    return "\n".join([table.title, *lines] if table.title else lines)


def markdown(table: Table) -> str:
    """As a table of GitHub's Markdown, without the title.

    Examples
    --------
    >>> from pocketkernel.lab.report import Column
    >>> columns = ["learner", Column("mistakes %", digits=2, best="min"), "B"]
    >>> rows = [["M-OMD-S", Spread(8.2, 0.14), 400], ["Raker", Spread(9.31, 0.2), 400]]
    >>> print(markdown(Table("Digits", columns, rows)))
    | learner | mistakes % | B |
    |---|---:|---:|
    | M-OMD-S | **8.20 ± 0.14** | 400 |
    | Raker | 9.31 ± 0.20 | 400 |
    """
    head = [_markdown(column.name) for column in table.headings]
    rule = ["---:" if numeric else "---" for numeric in table.numeric()]
    body = [[f"**{_markdown(text)}**" if bold else _markdown(text) for text, bold in row] for row in table.formatted()]
    lines = [f"| {' | '.join(cells)} |" for cells in (head, *body)]
    return "\n".join([lines[0], f"|{'|'.join(rule)}|", *lines[1:]])


def latex(table: Table, label: str = "") -> str:
    r"""As a LaTeX table for the package booktabs.

    Parameters
    ----------
    label : str, default=""
        What ``\ref`` names.
    """
    cells = iter(table.formatted())
    body = []
    for rows in table.blocks():
        body += [r"    \midrule"]
        for _ in rows:
            texts = [rf"\textbf{{{_latex(text)}}}" if bold else _latex(text) for text, bold in next(cells)]
            body.append(f"    {' & '.join(texts)} \\\\")
    lines = [
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{_latex(table.title)}}}",
        *([rf"  \label{{{label}}}"] if label else []),
        rf"  \begin{{tabular}}{{{''.join('r' if numeric else 'l' for numeric in table.numeric())}}}",
        r"    \toprule",
        f"    {' & '.join(_latex(column.name) for column in table.headings)} \\\\",
        *body,
        r"    \bottomrule",
        r"  \end{tabular}",
        *([rf"  \par\smallskip {_latex(table.note)}"] if table.note else []),
        r"\end{table}",
    ]
    return "\n".join(lines)


def comma_separated(table: Table) -> str:
    """As CSV, numbers to the last bit; a column with deviations becomes two.

    Examples
    --------
    >>> print(comma_separated(Table("Digits", ["learner", "B"], [["Raker", Spread(8.2, 0.1)]])), end="")
    learner,B,B sd
    Raker,8.2,0.1
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    spread = [any(isinstance(row[n], Spread) for row in table.rows) for n in range(len(table.columns))]
    head = [
        [column.name, f"{column.name} sd"] if two else [column.name]
        for column, two in zip(table.headings, spread, strict=True)
    ]
    writer.writerow([name for names in head for name in names])
    for row in table.rows:
        cells: list[str] = []
        for cell, two in zip(row, spread, strict=True):
            mean, sd = cell if isinstance(cell, Spread) else (cell, None)
            cells += [_exact(mean), _exact(sd)] if two else [_exact(mean)]
        writer.writerow(cells)
    return file.getvalue()


def _exact(cell: str | int | float | None) -> str:
    if cell is None or isinstance(cell, str):
        return cell or ""
    return repr(int(cell)) if isinstance(cell, int) else repr(float(cell))


def _markdown(text: str) -> str:
    """Text in which Markdown sees no mark-up."""
    text = re.sub(r"([\\`*_\[\]|~])", r"\\\1", " ".join(text.split()))
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


_LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", "±": r"$\pm$", "∞": r"$\infty$", NOT_A_NUMBER: "--", "µ": r"$\mu$",
    **{letter: f"\\{letter}" for letter in "{}$&#%_"},
}  # fmt: skip


def _latex(text: str) -> str:
    """Text in which LaTeX sees no commands."""
    return "".join(_LATEX.get(letter, letter) for letter in " ".join(text.split()))
