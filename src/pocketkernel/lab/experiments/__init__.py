"""The paper's experiments: its tables beside the published values, and an ablation of its learners."""

from pocketkernel.lab.experiments.ablation import Ablation, Point, ablation
from pocketkernel.lab.experiments.cells import Cell, Outcome, run_cell
from pocketkernel.lab.experiments.compare import Comparison, compare
from pocketkernel.lab.experiments.learnability import Learnability, learnability
from pocketkernel.lab.experiments.lower_bound import LowerBound, lower_bound
from pocketkernel.lab.experiments.paper import Line, PaperTables, quick, tables
from pocketkernel.lab.experiments.published import Published, published
from pocketkernel.lab.experiments.runner import Results, Status, run

__all__ = [
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
