"""All measures of a pass over labelled rows."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from pocketkernel.evaluate.metrics.answers import Answers, places_of
from pocketkernel.evaluate.metrics.baselines import LabelBaselines
from pocketkernel.evaluate.metrics.calibration import Calibration, claims_of
from pocketkernel.evaluate.metrics.confusion import Confusion
from pocketkernel.evaluate.metrics.ranking import Ranking
from pocketkernel.evaluate.metrics.tallies import Array, Floats, Integers, Tallies, all_states, ratio, restore_all
from pocketkernel.evaluate.metrics.trace import Trace
from pocketkernel.model_file import ModelFileError


class ClassificationMetrics:
    """Follows a classifier through a stream: all measures in bounded memory, from the scores of one pass.

    Beside the learner's mistakes stand those of three baselines, counted in the same progressive way: always the most
    frequent class so far (`majority`), the label of the row before (`last_label`), and the linear part of the learner
    (`linear`), if it has one. Of a learner that knows the last labels there are also the mistakes that it would make
    without them (`without_last_labels`): what is to be expected of rows that do not follow the ones before.

    Parameters
    ----------
    labels : list of str
        Names of the classes, in their order.
    probabilities : bool
        Whether scores are log-odds, so that log loss and calibration mean something.
    linear, apart : bool
        Whether the scores of a linear part, and those without the last labels, will be given.
    room : int, default=0
        How many classes there may be; names of others can be added to `labels`. Of more than two, nothing is counted
        that only two classes have.

    Examples
    --------
    >>> metrics = ClassificationMetrics(["no", "yes"], probabilities=True, linear=False)
    >>> metrics.update(np.array([0, 1, 1, 0]), np.array([-1.0, 2.0, -0.5, -3.0]))
    1
    >>> found = metrics.results()
    >>> found["mistake_rate"], found["baselines"]["majority"]["mistake_rate"], found["auc"]
    (0.25, 0.75, 1.0)
    """

    task = "classification"

    def __init__(
        self, labels: Sequence[str], *, probabilities: bool, linear: bool, apart: bool = False, room: int = 0
    ) -> None:
        self.labels = list(labels)
        classes = max(room, len(self.labels))
        self.names = ["learner", "majority", "last_label", *(["linear"] if linear else [])]
        self.names += ["without_last_labels"] if apart else []
        self.confusion, self.baselines = Confusion(classes), LabelBaselines(classes)
        self.ranking = Ranking() if classes == 2 else None
        self.calibration = Calibration(classes) if probabilities else None
        self.trace = Trace([*self.names, *(["log_loss"] if probabilities else [])])

    @property
    def rows(self) -> int:
        """Rows so far."""
        return int(self.trace.head[0])

    @property
    def wants_linear(self) -> bool:
        """Whether `update` needs the scores of a linear part."""
        return "linear" in self.names

    @property
    def wants_apart(self) -> bool:
        """Whether `update` needs the scores without the last labels."""
        return "without_last_labels" in self.names

    @property
    def wants_answers(self) -> bool:
        """Whether `Answers.told` has all that `count` needs."""
        return self.wants_linear and self.calibration is not None and self.ranking is None

    def expect(self, y: Integers) -> None:
        """Prepare for rows with such labels, of which only a part may come at once: see `Confusion.expect`."""
        self.confusion.expect(y)

    def update(self, y: Integers, scores: Floats, linear: Floats | None = None, apart: Floats | None = None) -> int:
        """Count some rows, given the number of each row's class and its scores; returns the number of mistakes."""
        return self.count(self.read(y, scores, linear, apart))

    def read(self, y: Integers, scores: Floats, linear: Floats | None = None, apart: Floats | None = None) -> Answers:
        """What the scores of some rows say: all that `count` needs."""
        places = places_of(scores)
        margins = None if self.ranking is None else scores
        if scores.ndim == 1 and self.ranking is None:  # two classes so far
            scores = np.column_stack([np.zeros(len(y)), scores])
        losses, claimed = (None, None) if self.calibration is None else claims_of(y, scores, places)
        of_linear, of_apart = (None if one is None else places_of(one) for one in (linear, apart))
        return Answers(y, places, of_linear, of_apart, losses, claimed, margins)

    def count(self, answers: Answers) -> int:
        """Count some rows, given what was read from their scores; returns the number of mistakes."""
        y = answers.labels
        guesses = [answers.places, *self.baselines.update(y)]
        if answers.linear is not None and self.wants_linear:
            guesses.append(answers.linear)
        if answers.apart is not None and self.wants_apart:
            guesses.append(answers.apart)
        wrong = [guess != y for guess in guesses]
        self.confusion.update(y, answers.places)
        if self.ranking is not None and answers.margins is not None:
            self.ranking.update(y, answers.margins)
        losses = []
        if self.calibration is not None and answers.claimed is not None and answers.losses is not None:
            self.calibration.update(y, answers.places, answers.claimed, answers.losses)
            losses.append(answers.losses)
        self.trace.update([*wrong, *losses])
        return int(np.count_nonzero(wrong[0]))

    def add(self, other: Self) -> None:
        """Count the rows of another pass, which come after these."""
        if (other.labels, other.names) != (self.labels, self.names):
            raise ValueError("metrics of different classes or baselines cannot be combined.")
        theirs = other._parts()
        for name, part in self._parts().items():
            part.add(theirs[name])

    # ---- results ----------------------------------------------------------------------------------------------------

    def results(self) -> dict[str, Any]:
        """All measures, in a form that JSON can represent."""
        rows = self.rows
        mistakes = dict(zip(self.trace.names, self.trace.totals.tolist(), strict=True))
        found: dict[str, Any] = {
            "task": self.task,
            "rows": rows,
            "mistakes": int(mistakes["learner"]),
            "mistake_rate": ratio(mistakes["learner"], rows),
            "baselines": {
                name: {"mistakes": int(mistakes[name]), "mistake_rate": ratio(mistakes[name], rows)}
                for name in self.names[1:]
            },
            "balanced_accuracy": self.confusion.balanced_accuracy(),
        }
        if self.ranking is not None:
            found |= {"auc": self.ranking.area(), "auc_error": self.ranking.error()}
        if self.calibration is not None:
            of = f"class {self.labels[1]}" if self.ranking is not None else "the predicted class"
            bins = self.calibration.bins()
            found["log_loss"] = self.calibration.log_loss()
            found["calibration"] = {"error": self.calibration.error(), "probability_of": of, "bins": bins}
        return found | {
            "classes": self._classes(),
            "confusion": self.confusion.table(self.labels),
            "curve": self.trace.points(),
        }

    def _classes(self) -> list[dict[str, Any]]:
        columns = (self.confusion.rows, self.confusion.predicted, self.confusion.first)
        numbers = zip(*(column[: len(self.labels)].tolist() for column in columns), strict=True)
        shares = zip(self.confusion.recall(), self.confusion.precision(), strict=True)
        return [
            {"label": label, "rows": rows, "predicted": predicted, "first_row": first or None}
            | {"recall": recall, "precision": precision}
            for label, (rows, predicted, first), (recall, precision) in zip(self.labels, numbers, shares, strict=False)
        ]

    # ---- state ------------------------------------------------------------------------------------------------------

    def _parts(self) -> dict[str, Tallies]:
        parts: dict[str, Tallies | None] = {
            "confusion": self.confusion,
            "baselines": self.baselines,
            "ranking": self.ranking,
            "calibration": self.calibration,
            "trace": self.trace,
        }
        return {name: part for name, part in parts.items() if part is not None}

    def state(self) -> dict[str, Array]:
        """Everything, as arrays of fixed shapes."""
        return all_states(self._parts())

    def restore(self, state: Mapping[str, Array]) -> None:
        """Go on from a state. ModelFileError if it is not of such metrics."""
        restore_all(self._parts(), state)
        rows = {int(count) for count in (self.trace.head[0], self.confusion.rows.sum(), self.baselines.rows.sum())}
        rows |= set() if self.ranking is None else {int(self.ranking.counts.sum())}
        rows |= set() if self.calibration is None else {int(self.calibration.counts.sum())}
        if len(rows) > 1:
            raise ModelFileError("metrics are of different numbers of rows.")
