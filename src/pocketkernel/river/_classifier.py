"""KernelClassifier: any classifier of the package as a River classifier."""

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import numpy as np
from river import base
from sklearn.utils import get_tags

from pocketkernel import _core, learners
from pocketkernel.learners import OnlineKernelClassifier, Plan, PocketClassifier
from pocketkernel.river._adapter import Adapter, are_plain, check_count, implausible, writable
from pocketkernel.river._columns import Features, Floats, pandas
from pocketkernel.river._labels import Labels, Pair, Several


class KernelClassifier(Adapter, base.MiniBatchClassifier):
    """A learner of `pocketkernel` as a River classifier.

    Labels need not be known in advance. For two classes, True (or 1) is positive and False (or 0) negative; for other
    labels, the first to appear is negative.

    Features may appear and disappear: the first `width` names get a column each, a later name shares the column that
    its hash selects, and a feature that is missing from a row is 0. Text is a feature of its own: {"colour": "red"} is
    {"colour=red": 1}, so that a level of a category gets a column, or shares one, like a name. PocketClassifier scales
    the features itself; for the other learners put a scaler before this model.

    Parameters
    ----------
    learner : classifier of `pocketkernel`, default=None
        The learner, such as `PocketClassifier(memory="32KiB", n_classes=7)`; None means
        `PocketClassifier(n_classes=10)`. Its `n_classes` is the room for labels, which are learned as they appear: two
        if it is None or if the learner is binary, and at most 10,000. Room that is not used costs memory and accuracy:
        for two labels give `PocketClassifier()`. It is copied, never changed. Leave its `random_state` at None.
    width : int, default=64
        Number of columns, from 1 to 1,000,000. Memory and time grow with it: set it to the number of features if that
        is known; each level of a category counts.
    seed : int, default=None
        Seed of the learner, in place of its `random_state`.

    Attributes
    ----------
    learner_
        The fitted learner, with its `diagnostics_`, `kernel_weights_` and other attributes.
    columns_ : dict
        Column of each name that has its own.
    collisions_ : int
        Number of learned values that shared a column.
    nbytes : int
        Bytes of the learner. Known before the first row, constant after it.

    Examples
    --------
    >>> from pocketkernel import MOMDS, PocketClassifier
    >>> from pocketkernel.river import KernelClassifier
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> model = KernelClassifier(PocketClassifier(memory="16KiB"), width=9, seed=0)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy()).get() > 0.87
    True
    >>> model.nbytes <= 16 * 1024
    True

    In a pipeline, and with more than two labels:

    >>> model = preprocessing.StandardScaler() | KernelClassifier(MOMDS(memory="16KiB"), width=9, seed=0)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy()).get() > 0.85
    True
    >>> model["KernelClassifier"].learner_.diagnostics_.rounds
    1250
    >>> model = KernelClassifier(width=18, seed=0)
    >>> evaluate.progressive_val_score(datasets.ImageSegments(), model, metrics.Accuracy()).get() > 0.85
    True

    With text:

    >>> model = KernelClassifier(PocketClassifier(), width=8, seed=0)
    >>> for n in range(400):
    ...     model.learn_one({"colour": "red" if n % 3 else "blue", "size": n % 7}, n % 3 == 0)
    >>> sorted(model.columns_), model.predict_one({"colour": "blue", "size": 2})
    (['colour=blue', 'colour=red', 'size'], True)
    """

    _usual = PocketClassifier(n_classes=10)

    def __init__(
        self, learner: OnlineKernelClassifier | None = None, *, width: int = 64, seed: int | None = None
    ) -> None:
        super().__init__(learner, width=width, seed=seed)
        self._labels = Labels(np.zeros(2 if self._room() == 2 else 0))
        self._has_odds = False
        self._is_unweighted = False  # else every row's weight depends on its class

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        """The usual one, and every learner, with two labels and with ten."""
        yield {}
        for class_ in (getattr(learners, name) for name in learners.__all__):
            if issubclass(class_, OnlineKernelClassifier):
                learner = class_(**{"horizon": 2000} if "horizon" in class_._get_param_names() else {})
                yield {"learner": learner}
                if get_tags(learner).classifier_tags.multi_class:
                    yield {"learner": class_(n_classes=10)}

    @property
    def _multiclass(self) -> bool:
        return bool(self._room() != 2)

    def _room(self) -> Any:
        """How many labels there may be."""
        room = getattr(self._template(), "n_classes", None)
        return 2 if room is None else room

    # ---- predicting -------------------------------------------------------------------------------------------------

    def predict_one(self, x: Features) -> Any:  # type: ignore[override]
        """Predicted label of the features x; None before the first row was learned.

        A binary learner's score of exactly 0 is positive; of equal scores of a multiclass learner, the label that
        appeared first wins.
        """
        labels = self._labels
        score = self._score(x)
        return labels.best(score) if labels is self._labels else self.predict_one(x)

    def predict_proba_one(self, x: Features) -> dict[Any, float]:  # type: ignore[override]
        """Probability of each label that has been learned; needs a learner with the logistic loss.

        With two labels, it includes False and True from the start.
        """
        self._check_loss()
        labels = self._labels
        score = self._score(x)
        if labels is not self._labels:
            return self.predict_proba_one(x)
        with _core.Arithmetic():  # whatever other libraries have set in this thread
            return labels.odds(score)

    def predict_many(self, X: Any) -> Any:
        """Labels of the rows of a pandas DataFrame, as a Series with its index."""
        labels, scores = self._scored_frame(X)
        return pandas().Series(list(map(labels.best, scores)), index=X.index, name=self._y_name)

    def predict_proba_many(self, X: Any) -> Any:
        """Probabilities of the rows of a pandas DataFrame, as a DataFrame with its index and a column per label."""
        self._check_loss()
        labels, scores = self._scored_frame(X)
        with _core.Arithmetic():
            return pandas().DataFrame(labels.odds_many(scores), index=X.index)

    def _scored_frame(self, X: Any) -> tuple[Labels, list[Any]]:
        """Scores of the rows and the labels of the same moment."""
        values = self._read_frame(X)
        while True:
            labels = self._labels
            scores = self._scores(values, len(X))
            if labels is self._labels:  # else another thread has learned new ones meanwhile
                return labels, scores

    def _check_loss(self) -> None:
        if not (self._has_odds or hasattr(self._template(), "predict_proba")):
            raise NotImplementedError(
                f"{self._template()} has no probabilities, which need the logistic loss: use predict_one, or a learner "
                "with loss='logistic'."
            )

    # ---- labels -----------------------------------------------------------------------------------------------------

    def _code(self, y: Hashable) -> Floats | None:
        return self._labels.codes.get(y) if self._is_unweighted else None

    def _read(self, targets: list[Hashable]) -> tuple[Floats, Labels]:
        labels = (self._no_labels() if self._model is None else self._labels).extended(targets)
        return labels.numbered(targets), labels

    def _is_new(self, read: Labels) -> bool:
        return read is not self._labels

    def _keep(self, read: Labels) -> None:
        self._labels = read

    def _no_labels(self) -> Labels:
        """Those to begin with."""
        if self._is_multiclass():
            return Several(np.arange(self._room(), dtype=np.float64))
        return Pair(np.array([-1.0, 1.0]))

    def _is_multiclass(self) -> bool:
        return bool(get_tags(self._template()).classifier_tags.multi_class)

    def _begin(self, model: OnlineKernelClassifier, rows: Floats, targets: Floats, weights: Floats | None) -> None:
        model.partial_fit(rows, targets, classes=self._no_labels().classes, sample_weight=weights)

    def _adopt(self, model: OnlineKernelClassifier) -> None:
        super()._adopt(model)
        self._has_odds = hasattr(model, "predict_proba")  # looked up once, because scikit-learn is slow
        self._is_unweighted = model.class_weight is None

    def _planned(self, model: OnlineKernelClassifier) -> Plan:
        return model.plan(self.width, n_classes=self._room())

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count("n_classes", self._room(), 2, 10_000)
        if isinstance(self._template().class_weight, Mapping):
            raise ValueError(
                "the learner has weights by label, and here it does not know the labels: pass each row's weight as w, "
                'or use class_weight="balanced".'
            )

    # ---- files ------------------------------------------------------------------------------------------------------

    def _written(self) -> dict[str, Any]:
        return {"labels": [[writable("label", y), place] for y, place in self._labels.places.items()]}

    def _restore_targets(self, extra: dict[str, Any]) -> None:
        labels, empty = extra["labels"], self._no_labels()
        good = (
            isinstance(labels, list)
            and all(isinstance(pair, list) and len(pair) == 2 and are_plain(pair) for pair in labels)
            and all(type(place) is int and 0 <= place < self._room() for _, place in labels)
            and len({y for y, _ in labels}) == len({place for _, place in labels}) == len(labels)
            and np.array_equal(self.learner_.classes_, empty.classes)
        )
        if not good:
            raise implausible()
        self._labels = type(empty)(empty.classes, dict(labels))
