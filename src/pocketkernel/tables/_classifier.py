"""TableClassifier: classes of rows as they are."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from pocketkernel.evaluate.task import CLASSIFICATION
from pocketkernel.learners import OnlineKernelClassifier, PocketClassifier, check_labels, labels_by_place
from pocketkernel.stream.delimited import read_numbers
from pocketkernel.stream.encode import Encoding
from pocketkernel.stream.labels import plain_classes
from pocketkernel.tables._model import Array, TableModel, described


def _learner_has(method: str) -> Callable[[Any], bool]:
    def check(model: Any) -> bool:
        getattr(model.learner_ if model.__sklearn_is_fitted__() else model._unlearned(), method)
        return True

    return check


@described
class TableClassifier(ClassifierMixin, TableModel):  # type: ignore[misc]
    """A classifier of tables as they are: text, categories, dates and missing values, in a fixed number of bytes.

    Does in Python what ``pocketkernel run`` and ``pocketkernel predict`` do with files, by the same code; what
    `pocketkernel.load` gives of the folder of a run is such a model.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_ : array
        The labels so far, in ascending order.
    {attributes}

    Notes
    -----
    {notes}

    Examples
    --------
    >>> import pandas as pd
    >>> from pocketkernel import TableClassifier
    >>> fruit = pd.DataFrame({{
    ...     "colour": ["red", "green", "yellow", "red"] * 100,
    ...     "picked": ["2025-08-01", "2025-09-15", None, "2025-10-03"] * 100,
    ...     "grams": [150.0, 12.5, 118.0, None] * 100,
    ... }})
    >>> names = pd.Series(["apple", "grape", "banana", "apple"] * 100, name="kind")
    >>> model = TableClassifier(memory="32KiB", random_state=0).fit(fruit, names)
    >>> model.predict([{{"colour": "green", "grams": 11}}, {{"colour": "yellow"}}]).tolist()
    ['grape', 'banana']
    >>> model.schema_["colour"]
    'category: 3 levels in 3 columns'
    """

    _takes = OnlineKernelClassifier
    _usual = PocketClassifier
    _task = CLASSIFICATION

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Forget everything, then learn the rows of X: in random order and several times, as the learner does.

        For rows whose order matters use `partial_fit`. Categories get their columns, and means are taken, in the order
        of the rows.

        Parameters
        ----------
        X : data frame, list of dicts, dict or array
            Rows.
        y : array or series of shape (n,), default=None
            Labels; of one dict also its label. None: they are in the column `label` of X.
        sample_weight : array of shape (n,), default=None
            Factor of the loss of each row; None means 1.

        Notes
        -----
        If an error or Ctrl-C ends the call, the estimator is unchanged. Other threads use it as it was until the end.
        """
        return self._fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn every row of X once, in order, continuing from what was learned before.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`. Once something has been learned, X may also be a file or a pipe, which has its labels in the
            column `label`; of files, the blocks of 4,096 rows before an error stay learned.
        classes : array of labels, default=None
            All labels. In the first call, None means those in y, and others may arrive later if there is room for them:
            for `n_classes` labels of the learner, and for two in any case.

        Notes
        -----
        After an error nothing of X has been learned. After Ctrl-C the first rows of X have been learned completely;
        ``learner_.diagnostics_.rounds`` is their number.
        """
        self._learn(X, y, sample_weight, classes=classes)
        return self

    def predict_then_learn(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Array:
        """Score every row of X, then learn it. Returns the scores, each computed before its label is used.

        It is what `pocketkernel run` does. Parameters as in `partial_fit`, scores as in `decision_function`.
        """
        return self._learn(X, y, sample_weight, classes=classes)

    def predict(self, X: Any, *, continues: bool = False) -> Array:
        """Labels of the rows. Learns nothing.

        Parameters
        ----------
        X : data frame, list of dicts, dict, array or file
            Rows.
        continues : bool, default=False
            Whether each row is the next one after the last that was learned, so that the last labels help to predict
            it; as ``pocketkernel predict --continues``.
        """
        return self._answers("predict", X, continues=continues)

    def decision_function(self, X: Any, *, continues: bool = False) -> Array:
        """Scores of the rows, as of the learner: of two classes one score for each row. Parameters as in `predict`."""
        return self._answers("decision_function", X, continues=continues)

    @available_if(_learner_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, *, continues: bool = False) -> Array:
        """Probabilities of the classes, in the order of `classes_`; needs a learner with the logistic loss.

        Parameters as in `predict`.
        """
        return self._answers("predict_proba", X, continues=continues)

    @property
    def classes_(self) -> Array:
        """The labels so far, in ascending order."""
        classes: Array = self.learner_.classes_
        return classes

    def _targets(self, y: Any) -> Array:
        return check_labels(y)

    def _from_text(self, texts: list[str | None]) -> Array:
        known = self.classes_.dtype.kind if self.__sklearn_is_fitted__() else ""
        numbers, wrong = read_numbers(texts)
        if wrong is not None or np.isnan(numbers).any() or known == "U":
            return check_labels(texts)
        return np.array(plain_classes(numbers.tolist()))

    def _note_targets(self, encoding: Encoding, learner: Any) -> None:
        classes = labels_by_place(learner)
        encoding.label_is_number = learner.classes_.dtype.kind in "iuf"
        encoding.label_decimal = ""
        encoding.classes = None
        if len(classes) > 1:
            encoding.classes = plain_classes(classes) if encoding.label_is_number else list(map(str, classes))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        learner = self._usual() if self.learner is None else self.learner
        tags.classifier_tags.multi_class = get_tags(learner).classifier_tags.multi_class
        return tags
