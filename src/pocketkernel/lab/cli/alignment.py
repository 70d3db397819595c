"""`pocketkernel lab alignment`: how well kernels match the labels of a file."""

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from cyclopts import Parameter

from pocketkernel.cli.options import Count, File, Reading, Seed, at_least, command_line, source_of, widths
from pocketkernel.cli.show import print_json, say
from pocketkernel.kernels import PAPER_KERNELS, Gaussian, gaussians
from pocketkernel.lab.cli._progress import duration
from pocketkernel.lab.cli._two_classes import read_two_classes
from pocketkernel.lab.experiments.writing import plain
from pocketkernel.lab.report import Column, Table, write_report
from pocketkernel.lab.theory import AlignmentEstimate, estimate_alignment, kernel_alignment
from pocketkernel.report import Chart, Series


def alignment(
    *files: File,
    kernels: Annotated[list[str] | None, Parameter(allow_leading_hyphen=True)] = None,
    rows: Count = None,
    sample: Annotated[int | None, Parameter(validator=at_least(2))] = None,
    seed: Seed = 0,
    reading: Reading = Reading(),  # noqa: B008  (frozen)
    report: Path | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Measure how well Gaussian kernels match the labels of a file with two classes.

    The alignment A of a kernel is 0 if it matches them perfectly, and close to the number of rows if it is
    uninformative. The rows must fit in memory; the time grows with the square of their number, unless they are sampled.

    Parameters
    ----------
    files
        Files, globs, or - for standard input; plain or compressed (gzip, bzip2, xz, zstd), or alone in a zip or tar.
    kernels
        Widths, such as 0.25,1,4. By default those of the paper: 0.25,1,4,16,64.
    rows
        Use only this number of rows from the start.
    sample
        Estimate A from this number of random pairs of rows, with a 95 % confidence interval.
    seed
        Random seed of the sample.
    report
        Write an HTML page with the table and a chart to this file.
    json
        Print everything as one JSON document.
    """
    began = time.perf_counter()
    some = PAPER_KERNELS if kernels is None else gaussians(widths(kernels))
    X, y = read_two_classes(source_of(files), rows, reading.options())
    if sample is None:
        guess = None
        shares = kernel_alignment(X, y, some) / len(y)
    else:
        guess = estimate_alignment(X, y, some, pairs=sample, seed=seed)
        shares = guess.value
    seconds = time.perf_counter() - began
    name = Path(files[0]).name if len(files) == 1 else f"{len(files)} files"
    table = table_of(name, len(y), some, shares, guess)
    if report is not None:
        write_report(
            report,
            title=f"Kernel alignment of {name}",
            lead=f"{len(y):,} rows, {X.shape[1]} columns. {table.note}",
            tables=[table],
            charts=[chart_of(some, shares, guess)],
            commands=[
                command_line(
                    ["pocketkernel", "lab", "alignment", *files],
                    {"kernels": kernels, "rows": rows, "sample": sample, "seed": seed, **vars(reading)},
                    {"kernels": None, "rows": None, "sample": None, "seed": 0, **vars(Reading())},
                )
            ],
        )
    if json:
        lines = [dict(zip(("kernel", "A", "A/T", "low", "high"), row, strict=False)) for row in table.rows]
        print_json({"rows": len(y), "kernels": lines, "seconds": round(seconds, 3), "report": report and str(report)})
        return
    say(plain(table))
    say(table.note)
    say(duration(seconds) + (f", written to {report}" if report else ""))


def table_of(name: str, rows: int, kernels: Any, shares: Any, guess: AlignmentEstimate | None) -> Table:
    """A line for each kernel."""
    columns = [Column("kernel"), Column("A", digits=1), Column("A/T", digits=4, best="min")]
    lines: list[list[Any]] = [
        [f"{kernel.family} {kernel.parameter:g}", float(rows * share), float(share)]
        for kernel, share in zip(kernels, shares, strict=True)
    ]
    note = "A is exact."
    if guess is not None:
        columns += [Column("low", digits=4), Column("high", digits=4)]
        lines = [[*line, float(low), float(high)] for line, low, high in zip(lines, guess.low, guess.high, strict=True)]
        note = (
            f"From {guess.pairs:,} pairs of rows; each A/T is from low to high with {guess.confidence:.0%} confidence."
        )
    return Table(f"{name}: kernel alignment, T = {rows:,}", columns, lines, note)


def chart_of(kernels: tuple[Gaussian, ...], shares: Any, guess: AlignmentEstimate | None) -> Chart:
    """A/T against the width."""
    x = np.array([kernel.width for kernel in kernels])
    order = np.argsort(x)
    low, high = (None, None) if guess is None else (guess.low[order], guess.high[order])
    return Chart(
        series=[Series("A/T", x[order], shares[order], low, high)],
        title="Alignment against width",
        x_label="width",
        y_label="A/T",
        note="1: the kernel is uninformative about the labels. 0: it matches them perfectly.",
        log_x=True,
    )
