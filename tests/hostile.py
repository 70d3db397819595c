"""Words and numbers that a table or a page may trip over."""

import math

from pocketkernel.lab.report import Column, Spread, Table

HOSTILE = "<script>alert('1')</script> & \"q\" {{ 7*7 }} $x_1$ | \\end{tabular} %"
CELLS = [0.1 + 0.2, -1e-17, 12_345.678, math.nan, math.inf, -math.inf, 5e-324]
TABLE = Table(
    f"Title {HOSTILE}",
    ["name", Column("x", digits=2, best="min"), Column("mean", digits=1, best="max"), Column("d", 1, signed=True), "n"],
    [[HOSTILE if n % 2 else f"row {n}", x, Spread(x, abs(x)), x, n * 1000] for n, x in enumerate(CELLS)]
    + [["none", None, None, None, None]],
    note=HOSTILE,
)
