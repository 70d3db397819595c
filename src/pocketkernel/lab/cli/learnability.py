"""`pocketkernel lab learnability`: which streams can be learned with a memory of O(ln T)."""

import time
from typing import Annotated

from pocketkernel.cli.show import err
from pocketkernel.lab import experiments
from pocketkernel.lab.cli._claims import Claim, several
from pocketkernel.lab.experiments.learnability import ROWS

QUICK_ROWS = (10_000, 31_623, 100_000)


def learnability(*, claim: Claim = Claim(), rows: Annotated[list[int] | None, several(1000)] = None) -> None:  # noqa: B008
    """Run M-OMD-S and M-OMD-H with a budget of O(ln T) on easy and on hard streams of growing length.

    Writes learnability.md, .tex, .csv, .html and .svg. Takes a few minutes.

    Parameters
    ----------
    rows
        Lengths of the streams; by default 1000, 3162, ..., 1000000, with --quick 10000 to 100000.
    """
    began = time.perf_counter()
    quick = claim.quick
    with err().status("running"):
        made = experiments.learnability(
            rows=rows or (QUICK_ROWS if quick else ROWS), repetitions=claim.repetitions or (1 if quick else 3)
        )
    claim.show(made, began)
