"""`pocketkernel learn`: continue a run with further files."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from pocketkernel.cli.options import File, Outputs, at_least, command_line, defaults, file_name, source_of
from pocketkernel.cli.run import BLOCK, carry_out
from pocketkernel.evaluate.continued import Continued


def learn(
    model: Path,
    *files: File,
    delayed: Annotated[str | None, Parameter(converter=file_name)] = None,
    window: Annotated[int, Parameter(validator=at_least(1))] = 10_000,
    on_error: Literal["raise", "skip"] | None = None,
    block: Annotated[int, Parameter(validator=at_least(1))] = BLOCK,
    force: Annotated[bool, Parameter(negative=())] = False,
    outputs: Outputs = Outputs(),  # noqa: B008  (frozen)
) -> None:
    """Continue a run with further files or a pipe, as if they had been part of it; its folder is updated.

    Rows are read, encoded and scaled as in the run, and each is scored before its label is used.

    Parameters
    ----------
    model
        Folder of a run.
    files
        Files, globs, or - for standard input.
    delayed
        CSV file, or -, with labels that arrived later: it has the column of the ids (`run --id`) and that of the
        labels, and the files have the rows. They are learned in the order of their labels.
    window
        Number of rows that wait for their label, with --delayed.
    on_error
        Lines that cannot be read: stop with an error, or skip and count them. By default as in the run.
    block
        Number of rows that are learned at once.
    force
        Learn files again that have already been learned, and discard the checkpoint of other files.
    """
    job = Continued(
        source_of(files),
        block=block,
        folder=model,
        on_error=on_error,
        delayed=delayed,
        window=window,
        again=force,
    )
    chosen = {"delayed": delayed, "window": window, "on_error": on_error, "block": block}
    command = command_line(["pocketkernel", "learn", str(model), *files], chosen, defaults(learn))
    carry_out(job, model, command, outputs, force=force)
