"""What an experiment leaves in a folder: its tables in four formats, and a page with charts."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from pocketkernel._files import write_atomically
from pocketkernel.evaluate import Record
from pocketkernel.lab.experiments.ablation import K_BUFFERS, ONE_BUFFER, OWN_BUFFERS, REMOVALS, Ablation, Point
from pocketkernel.lab.experiments.paper import PaperTables
from pocketkernel.lab.experiments.writing import comma_separated, latex, markdown
from pocketkernel.lab.report import Spread, Table, write_report
from pocketkernel.report import Chart, Series, write_picture


def write_outputs(
    folder: str | Path,
    stem: str,
    tables: Sequence[Table],
    *,
    flat: Table,
    page: str,
    title: str,
    lead: str | None = None,
    records: Sequence[Record] = (),
    charts: Sequence[Chart] = (),
    commands: Iterable[str] = (),
    picture: Chart | None = None,
) -> list[Path]:
    """Write tables as Markdown, LaTeX, CSV and HTML, and answer the files.

    Parameters
    ----------
    folder : path
        Made if it is not there.
    stem : str
        Of the names of the files, STEM.md, STEM.tex and STEM.csv.
    tables : list of Table
        For people.
    flat : Table
        The same for programs: the CSV.
    page : str
        Name of the HTML file.
    title, lead, records, charts, commands
        Of the page, as in `write_report`.
    picture : Chart, default=None
        Shown on the page, and drawn into STEM.svg.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        f"{stem}.md": markdown_page(tables, title, lead or ""),
        f"{stem}.tex": "\n\n".join(latex(table) for table in tables) + "\n",
        f"{stem}.csv": comma_separated(flat),
    }
    for name, text in texts.items():
        write_atomically(folder / name, text.encode())
    charts = [*charts] if picture is None else [*charts, picture]
    write_report(folder / page, records, title=title, lead=lead, tables=tables, charts=charts, commands=commands)
    files = [*(folder / name for name in texts), folder / page]
    if picture is not None:
        files.append(folder / f"{stem}.svg")
        write_picture(picture, files[-1])
    return files


def markdown_page(tables: Sequence[Table], title: str, lead: str = "") -> str:
    r"""Tables as a page of Markdown: each line of a note becomes an item of a list.

    Examples
    --------
    >>> print(markdown_page([Table("T", ["a"], [["x"]], "One.\nTwo.")], "All"), end="")
    # All
    <BLANKLINE>
    ## T
    <BLANKLINE>
    | a |
    |---|
    | x |
    <BLANKLINE>
    - One.
    - Two.
    """
    parts = [f"# {title}", *([lead] if lead else [])]
    for table in tables:
        parts += [f"## {table.title}", markdown(table)]
        parts += ["\n".join(f"- {line}" for line in table.note.splitlines())] if table.note else []
    return "\n\n".join(parts) + "\n"


# ---- charts ----------------------------------------------------------------------------------------------------------


def paper_charts(made: PaperTables) -> list[Chart]:
    """Mistake rates against the published ones, and how far they are from them."""
    learners = list(dict.fromkeys(line.learner for line in made.lines))
    by_learner = {name: [line for line in made.lines if line.learner == name] for name in learners}
    measured = [
        _dots(name, [(line.published.mean / 100, line.tuned.rate.mean / 100) for line in lines])
        for name, lines in by_learner.items()
    ]
    away = [
        _dots(name, [(line.published.mean / 100, line.distance(line.tuned) or 0.0) for line in lines])
        for name, lines in by_learner.items()
    ]
    ends = [
        min(line.published.mean for line in made.lines) / 100,
        max(line.published.mean for line in made.lines) / 100,
    ]
    same = Series("the same", ends, ends, reference=True)
    bounds = [Series(f"{sd:+d} sd", ends, [sd, sd], reference=True) for sd in (2, -2)]
    return [
        Chart(
            series=[*measured, same],
            title="Mistakes here against those published",
            x_label="published",
            y_label="here",
            note="Each dot is a line of the tables: best mean over the grid.",
            x_unit="percent",
            y_unit="percent",
            log_x=True,
            log_y=True,
        ),
        Chart(
            series=[*away, *bounds],
            title="Distance from the published mean",
            x_label="published mistakes",
            y_label="published sd",
            note="Mean here less the published one, in published sd.",
            x_unit="percent",
            log_x=True,
            zero=False,
        ),
    ]


def ablation_charts(made: Ablation) -> list[Chart]:
    """For each data set: mistakes and removals against B by removal, and mistakes against bytes by kind of buffer."""
    charts = []
    for data_set in dict.fromkeys(point.data_set for point in made.points):
        here = [point for point in made.points if point.data_set == data_set and not point.refused]
        removal: dict[str, list[Point]] = {}
        for point in here:
            if point.study == "removal":
                removal.setdefault(f"{point.learner}, {REMOVALS[point.removal]}", []).append(point)
        charts += [
            Chart(
                series=[_line(name, some, "budget", "mistakes", 0.01) for name, some in removal.items()],
                title=f"{data_set}: mistakes",
                x_label="budget B",
                y_label="mistakes",
                note="By what a full buffer drops.",
                y_unit="percent",
                log_x=True,
                zero=False,
            ),
            Chart(
                series=[_line(name, some, "budget", "removals") for name, some in removal.items()],
                title=f"{data_set}: removals",
                x_label="budget B",
                y_label="removals per buffer",
                note="A buffer that never was full has none, and no place on this axis.",
                log_x=True,
                log_y=True,
            ),
        ]
        names = {ONE_BUFFER: "one buffer", K_BUFFERS: "K buffers", OWN_BUFFERS: "M-OMD-H"}
        buffers = [point for point in here if point.study == "buffers"]
        charts.append(
            Chart(
                series=[
                    _line(name, [p for p in buffers if p.learner == learner], "nbytes", "mistakes", 0.01)
                    for learner, name in names.items()
                ],
                title=f"{data_set}: one buffer or K",
                x_label="bytes",
                y_label="mistakes",
                x_unit="bytes",
                y_unit="percent",
                log_x=True,
                zero=False,
            )
        )
    return charts


def _dots(name: str, places: Sequence[tuple[float, float]]) -> Series:
    """A series that is not joined by lines: a gap follows each point."""
    x = np.repeat([x for x, _ in places], 2)
    y = [value for _, y in places for value in (y, np.nan)]
    return Series(name, x, y)


def _line(name: str, points: Sequence[Point], x: str, y: str, unit: float = 1.0) -> Series:
    points = sorted(points, key=lambda point: int(getattr(point, x)))
    spreads: list[Spread] = [getattr(point, y) for point in points]
    mean = unit * np.array([spread.mean for spread in spreads])
    sd = unit * np.array([spread.sd or 0.0 for spread in spreads])
    return Series(name, [getattr(point, x) for point in points], mean, np.maximum(mean - sd, 0), mean + sd)
