"""The paper's experiments: its tables beside what was published, and what the parts of its learners are worth."""

from pocketkernel.experiments.ablation import Ablation, Point, ablation
from pocketkernel.experiments.cells import Cell, Outcome, run_cell
from pocketkernel.experiments.compare import Comparison, compare
from pocketkernel.experiments.learnability import Learnability, learnability
from pocketkernel.experiments.lower_bound import LowerBound, lower_bound
from pocketkernel.experiments.paper import Line, PaperTables, quick, tables
from pocketkernel.experiments.published import NAMES, Published, published
from pocketkernel.experiments.runner import Results, Status, run

__all__ = [
    "NAMES",
    "Ablation",
    "Cell",
    "Comparison",
    "Learnability",
    "Line",
    "LowerBound",
    "Outcome",
    "PaperTables",
    "Point",
    "Published",
    "Results",
    "Status",
    "ablation",
    "compare",
    "learnability",
    "lower_bound",
    "published",
    "quick",
    "run",
    "run_cell",
    "tables",
]
