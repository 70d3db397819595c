"""Rows of two classes that fit in memory, for the verbs about theory."""

from typing import Any

import numpy as np

from pocketkernel.cli.errors import UsageError
from pocketkernel.cli.show import err
from pocketkernel.evaluate.pipeline import ready
from pocketkernel.stream import SCALERS, gather, open_stream, permutation


def read_two_classes(
    source: Any, rows: int | None, options: dict[str, Any], *, permute: int | None = None, scale: str = "none"
) -> tuple[Any, Any]:
    """Rows and labels -1 and 1: the first rows, or the first of a permutation; scaled each by those before it.

    Of two labels the larger is 1.
    """
    stream = open_stream(source, rows=rows if permute is None else None, **options)
    whole = gather(stream.blocks())
    if stream.skipped.count:
        first = stream.skipped.reports[0]
        err().print(f"{stream.skipped.count:,} rows were skipped, the first: {first}", markup=False)
    if whole.y is None:
        raise UsageError("there are no labels: set their column with --label.")
    if permute is not None:
        whole = whole.take(permutation(len(whole), permute)[:rows])
    assert whole.y is not None
    labels = np.unique(whole.y)
    if len(labels) != 2:
        few = ", ".join(map(str, labels[:5].tolist())) + (" ..." if len(labels) > 5 else "")
        more = " If the file is sorted by class, use --permute SEED." if permute is None and rows else ""
        raise UsageError(f"the rows have {len(labels)} classes ({few}): this is defined for two.{more}")
    X: Any = whole.X
    if scale != "none":
        scaler = SCALERS[scale]()
        X = scaler.transform_then_learn(ready(whole, scaler))
    return X, np.where(whole.y == labels[1], 1.0, -1.0)
