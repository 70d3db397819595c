"""The learners that are compared with each other, by demo, laboratory and benchmarks: one list."""

import inspect
from dataclasses import dataclass
from typing import Any

from pocketkernel.learners import MOMDH, MOMDS, LKMBooks, MulticlassMOMDS, PocketClassifier, Raker, SharedMOMDH


@dataclass(frozen=True)
class Entrant:
    """A learner, under the name that tables show.

    Attributes
    ----------
    name : str
        As the paper writes it.
    learner : class
        For two classes.
    counts : str
        What its budget counts.
    many : class or None
        For more classes; None if there is none.
    """

    name: str
    learner: Any
    counts: str
    many: Any = None

    def make(self, *, rows: int | None = None, classes: int = 2, **parameters: Any) -> Any:
        """Make one for a stream of so many rows and classes; learners that plan for a number of rows are told it.

        Examples
        --------
        >>> ROSTER["lkmbooks"].make(rows=1000, memory="64KiB")
        LKMBooks(horizon=1000, memory='64KiB')
        """
        class_ = self.learner if classes == 2 else self.many
        if rows is not None and "horizon" in inspect.signature(class_).parameters:
            parameters["horizon"] = rows
        return class_(**parameters)


ROSTER = {
    "pocket": Entrant("PocketClassifier", PocketClassifier, "frequencies", many=PocketClassifier),
    "momds": Entrant("M-OMD-S", MOMDS, "rows", many=MulticlassMOMDS),
    "momdh": Entrant("M-OMD-H", MOMDH, "rows per kernel"),
    "sharedmomdh": Entrant("M-OMD-H, shared", SharedMOMDH, "rows"),
    "lkmbooks": Entrant("LKMBooks", LKMBooks, "rows"),
    "raker": Entrant("Raker", Raker, "frequencies"),
}
