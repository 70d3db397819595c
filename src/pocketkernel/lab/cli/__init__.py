"""`pocketkernel lab`: one file per verb, with a function or a cyclopts App of the same name."""

from types import ModuleType
from typing import Any

from cyclopts import App

from pocketkernel.lab.cli import (
    ablation,
    advise,
    alignment,
    compare,
    data,
    learnability,
    lower_bound,
    regret,
    tables,
)

VERBS: tuple[ModuleType, ...] = (
    advise, compare, alignment, regret, tables, ablation, lower_bound, learnability, data,
)  # fmt: skip

app = App(name="lab", help="The paper's tables, theory and data sets, and comparisons with peers.")
for _module in VERBS:
    _name = _module.__name__.rpartition(".")[2]
    _verb: Any = getattr(_module, _name)
    app.command(_verb, name=_name.replace("_", "-"))
