"""`pocketkernel lab advise`: which learner to use for a file, and in how much memory."""

import time
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from pocketkernel.cli.options import Count, File, Reading, Seed, at_least, command_line, source_of
from pocketkernel.cli.show import err, print_json, say
from pocketkernel.lab.cli._progress import duration
from pocketkernel.lab.report import Column, Table, write_report
from pocketkernel.lab.theory import Advice
from pocketkernel.lab.theory import advise as advice_on
from pocketkernel.lab.theory.advice import in_units
from pocketkernel.lab.theory.advising import FEWEST_ROWS, ROWS
from pocketkernel.report import Chart, Series


def advise(
    *files: File,
    memory: str | None = None,
    rows: Annotated[int, Parameter(validator=at_least(FEWEST_ROWS))] = ROWS,
    length: Count = None,
    permute: Seed | None = None,
    seed: Seed = 0,
    task: Literal["classification"] | None = None,
    reading: Reading = Reading(),  # noqa: B008  (frozen)
    report: Path | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Recommend a learner and its memory for a file, with the expected mistake rate and how certain that is.

    The learners are tried on the first rows, with 4 KiB to 1 MiB. This takes about ten seconds. The range of the
    expected rate reaches from "it goes on improving as fast as it may have done" to "it improves no more", with the
    chance of the sample added. It holds the rate on the remaining rows for about 19 of 20 streams, but not if a stream
    changes.

    Parameters
    ----------
    files
        Files, globs, or - for standard input; plain or compressed (gzip, bzip2, xz, zstd), or alone in a zip or tar.
    memory
        Bytes that the learner may use, such as 64KiB. By default as many as are useful, up to 1 MiB.
    rows
        Number of rows to try.
    length
        Number of rows of the whole stream. By default counted, or estimated for files above 256 MiB.
    permute
        Shuffle the rows with this seed first. They must fit in memory.
    seed
        Random seed of the learners.
    task
        That labels are classes, even if they have many different values. There is no advice on numbers.
    report
        Write an HTML page with tables and a chart to this file.
    json
        Print everything as one JSON document.
    """
    began = time.perf_counter()
    with err().status("trying learners"):
        advice = advice_on(
            source_of(files),
            memory=memory,
            rows=rows,
            length=length,
            permute=permute,
            seed=seed,
            task=task,
            **reading.options(),
        )
    seconds = time.perf_counter() - began
    chosen = {"permute": permute, "task": task, **vars(reading)}
    usual = {"permute": None, "task": None, **vars(Reading())}
    command = command_line(["pocketkernel", "run", *files, *advice.options], chosen, usual)
    name = Path(files[0]).name if len(files) == 1 else f"{len(files)} files"
    if report is not None:
        write_report(
            report,
            title=f"Advice on {name}",
            lead=advice.sentence,
            tables=tables_of(advice),
            charts=[chart_of(advice)],
            commands=[
                command_line(
                    ["pocketkernel", "lab", "advise", *files],
                    {"memory": memory, "rows": rows, "length": length, "seed": seed, **chosen},
                    {"memory": None, "rows": ROWS, "length": None, "seed": 0, **usual},
                ),
                command,
            ],
        )
    if json:
        print_json(
            advice.to_dict() | {"command": command, "seconds": round(seconds, 3), "report": report and str(report)}
        )
        return
    say(advice)
    say(command, copied=True)
    say(duration(seconds) + (f", written to {report}" if report else ""))


def tables_of(advice: Advice) -> list[Table]:
    """All trials; the widths; the bound."""
    ends = () if advice.whole else ("low", "high")
    trials = Table(
        f"{'Mistakes on all rows' if advice.whole else 'Expected mistakes on the remaining rows'}, in percent",
        [
            "memory",
            "learner",
            "parameters",
            "stores",
            Column("mistakes", 2, "min"),
            *(Column(name, 2) for name in (("from", "to") if ends else ())),
        ],
        [
            [
                in_units(trial["memory"]),
                trial["learner"],
                ", ".join(f"{name}={value}" for name, value in trial["parameters"].items()),
                trial["budget"],
                100 * advice.rate_of(one),
                *(100 * trial[name] for name in ends),
            ]
            for one, trial in ((one, one.to_dict()) for one in advice.trials)
        ],
    )
    widths = Table(
        "M-OMD-S with one width alone",
        ["width", Column("mistakes, %", 2, "min"), Column("A/T", 4), "matters"],
        [
            [f"{one.width:g}", 100 * one.rate, one.alignment, "yes" if one.matters else "no"] for one in advice.widths
        ],
    )  # fmt: skip
    terms = Table(
        "Bound of M-OMD-S per row, without constants",
        ["memory", "B", "U", *(Column(name, 4) for name in ("L", "U L/sqrt(B)", "U sqrt(L)", "U sqrt(B)", "sum"))],
        [
            [
                in_units(one.memory), one.budget, one.norm_bound, one.least_loss, one.from_memory, one.from_loss,
                one.from_start, one.total,
            ]
            for one in advice.bounds
        ],
    )  # fmt: skip
    return [trials, widths, *([terms] if advice.bounds else [])]


def chart_of(advice: Advice) -> Chart:
    """Mistakes against bytes, by learner."""
    lines: dict[str, list[tuple[int, float, float, float]]] = {}
    for trial in advice.trials:
        name = trial.learner + (", fitted widths" if trial.parameters else "")
        rate = advice.rate_of(trial)
        low, high = (rate, rate) if advice.whole else (trial.low, trial.high)
        lines.setdefault(name, []).append((trial.memory, rate, low, high))
    return Chart(
        series=[Series(name, *map(list, zip(*points, strict=True))) for name, points in lines.items()],  # type: ignore[arg-type]
        title="Mistakes against memory",
        x_label="memory",
        y_label="mistakes",
        note="On all rows." if advice.whole else "On the remaining rows, with the range of the estimate.",
        x_unit="bytes",
        y_unit="percent",
        log_x=True,
    )
