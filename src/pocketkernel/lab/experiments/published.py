"""The paper's two tables of results, as they were printed."""

import csv
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

SMALLEST_SD = 0.005
"""A published sd of 0.00 was rounded: half of its last digit stands for it."""


@dataclass(frozen=True)
class Published:
    """One cell of the paper's tables.

    Attributes
    ----------
    data_set, loss, learner : str
        Names as the paper writes them; the loss is "hinge" or "logistic".
    rows : int
        T, the length of the stream.
    budget : int
        B, or D for Raker.
    mean, sd : float
        Mistake rate in percent, over ten permutations.
    seconds : float
        Of the authors' R code on their machine.
    complexity : float or None
        Hinge: proxy of the kernel alignment; logistic: cumulative loss; None where the paper has a dash.
    """

    data_set: str
    rows: int
    loss: str
    learner: str
    budget: int
    mean: float
    sd: float
    seconds: float
    complexity: float | None

    def distance(self, mean: float) -> float:
        """How far a mean mistake rate in percent is from the published one, in published sd.

        Examples
        --------
        >>> round(published()[3].distance(0.83), 6)
        2.0
        """
        return (mean - self.mean) / max(self.sd, SMALLEST_SD)


@lru_cache
def published() -> tuple[Published, ...]:
    """All cells, in the order of the paper.

    Examples
    --------
    >>> published()[3]
    Published(data_set='mushrooms', rows=8124, loss='hinge', learner='M-OMD-H', budget=400, mean=0.69, sd=0.07, \
seconds=10.97, complexity=220.0)
    """
    with files("pocketkernel.lab.experiments").joinpath("published.csv").open(encoding="utf-8") as file:
        return tuple(
            Published(
                data_set=row["data_set"],
                rows=int(row["rows"]),
                loss=row["loss"],
                learner=row["learner"],
                budget=int(row["budget"]),
                mean=float(row["mean"]),
                sd=float(row["sd"]),
                seconds=float(row["seconds"]),
                complexity=float(row["complexity"]) if row["complexity"] else None,
            )
            for row in csv.DictReader(file)
        )
