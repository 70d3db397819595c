"""The models to compare: the learners, and peers from River and scikit-learn. Nothing is tuned.

Peers whose steps depend on the scale of the columns get rows that are standardised by those before them.
"""

import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.kernel_approximation import RBFSampler  # type: ignore[import-untyped, unused-ignore]
from sklearn.linear_model import SGDClassifier, SGDRegressor  # type: ignore[import-untyped, unused-ignore]

from pocketkernel._optional import optional
from pocketkernel.lab.roster import ROSTER, Entrant
from pocketkernel.learners import PocketRegressor
from pocketkernel.stream import OnlineStandard
from pocketkernel.stream.block import is_sparse

Scores = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Task:
    """What a contestant is told before the first row, besides its seed."""

    rows: int
    features: int
    labels: npt.NDArray[Any]
    memory: int
    seed: int

    @property
    def classes(self) -> int:
        """How many labels there are."""
        return len(self.labels)


@dataclass(frozen=True)
class Contestant:
    """Somebody to compare.

    Attributes
    ----------
    name : str
        For people.
    make : function of a Task
        Gives a model for `progressive`.
    numbers : function of a Task, or None
        Gives a model of numbers, whose `predict_then_learn` answers with predictions.
    names : str
        Its name in comparisons of numbers, if that is another.
    counted : str
        How its bytes are counted.
    needs : str
        A package that may be missing.
    two_classes : bool
        Whether it supports only two classes.
    """

    name: str
    make: Callable[[Task], Any]
    counted: str = "exactly"
    needs: str = ""
    two_classes: bool = False
    numbers: Callable[[Task], Any] | None = None
    names: str = ""

    @property
    def installed(self) -> bool:
        """Whether the package it needs is there."""
        return not self.needs or find_spec(self.needs) is not None


def _made(entrant: Entrant) -> Callable[[Task], Any]:
    def make(task: Task) -> Any:
        common = {"memory": task.memory, "random_state": task.seed, "n_jobs": 1}
        return entrant.make(rows=task.rows, classes=task.classes, **common)

    return make


def _pocket_numbers(task: Task) -> Any:
    return PocketRegressor(memory=task.memory, random_state=task.seed, n_jobs=1)


LEARNERS = {key: Contestant(one.name, _made(one), two_classes=one.many is None) for key, one in ROSTER.items()}
LEARNERS["pocket"] = replace(LEARNERS["pocket"], numbers=_pocket_numbers, names="PocketRegressor")


# ---- peers -----------------------------------------------------------------------------------------------------------


class _Peer:
    """Scores a row, then learns it; a subclass says how for one row, with labels 0, 1, ..."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self._labels: npt.NDArray[Any] = np.empty(0)

    def predict_then_learn(self, X: Any, y: Any, classes: Any = None) -> Scores:
        """Score of each row before its label. Parameters as in the learners."""
        if not len(self._labels):
            self._labels = np.unique(np.asarray(y if classes is None else classes))
        places = np.searchsorted(self._labels, np.asarray(y)).tolist()
        rows = self._rows(X.toarray() if is_sparse(X) else np.asarray(X))
        scores = np.zeros((len(places), len(self._labels)))
        for n, (row, place) in enumerate(zip(rows, places, strict=True)):
            scores[n] = self._one(row, place)
        return scores[:, 1] - scores[:, 0] if len(self._labels) == 2 else scores

    def _rows(self, X: Any) -> Any:
        return X

    def _one(self, row: Any, place: int) -> Any:
        raise NotImplementedError


class _Numbers(_Peer):
    """The same for numbers: the answer to each row, before its target."""

    def predict_then_learn(self, X: Any, y: Any, classes: Any = None) -> Scores:
        """Prediction of each row before its target."""
        rows = self._rows(X.toarray() if is_sparse(X) else np.asarray(X))
        return np.array([self._one(row, target) for row, target in zip(rows, y.tolist(), strict=True)], dtype=float)


class _River(_Peer):
    @property
    def nbytes(self) -> int:
        """By River's own count."""
        return int(self.model._raw_memory_usage)

    def _rows(self, X: Any) -> Any:
        return (dict(enumerate(row)) for row in X.tolist())

    def _one(self, row: Any, place: int) -> Any:
        chances = self.model.predict_proba_one(row)
        self.model.learn_one(row, place)
        return [chances.get(label, 0.0) for label in range(len(self._labels))]


class _RiverNumbers(_Numbers, _River):
    def _one(self, row: Any, place: Any) -> Any:
        answer = self.model.predict_one(row)
        self.model.learn_one(row, place)
        return answer or 0.0


class _Sgd(_Peer):
    """A linear model of scikit-learn on standardised rows, or on random features of them if there are any."""

    def __init__(self, model: Any, features: Any = None) -> None:
        super().__init__(model)
        self._features = features
        self._scaler = OnlineStandard()
        self._fitted = False

    @property
    def nbytes(self) -> int:
        """Pickled."""
        return len(pickle.dumps((self.model, self._features, self._scaler)))

    def _rows(self, X: Any) -> Any:
        X = self._scaler.transform_then_learn(np.asarray(X, dtype=np.float64))
        if self._features is None:
            return X
        if not hasattr(self._features, "random_weights_"):
            self._features.fit(X[:1])  # takes the number of columns, and looks at no row
        return self._features.transform(X)

    def _one(self, row: Any, place: int) -> Any:
        K = len(self._labels)
        score = self.model.coef_ @ row + self.model.intercept_ if self._fitted else np.zeros(1 if K == 2 else K)
        self.model.partial_fit(row[None], [place], classes=np.arange(K))
        self._fitted = True
        return [0.0, score[0]] if K == 2 else score


class _SgdNumbers(_Numbers, _Sgd):
    def _one(self, row: Any, place: Any) -> Any:
        answer = float(self.model.coef_ @ row + self.model.intercept_[0]) if self._fitted else 0.0
        self.model.partial_fit(row[None], [place])
        self._fitted = True
        return answer


def _river_logistic(task: Task) -> Any:
    compose, preprocessing, linear = (
        optional(f"river.{name}", "the peer", "river") for name in ("compose", "preprocessing", "linear_model")
    )
    model = linear.LogisticRegression()
    if task.classes > 2:
        model = optional("river.multiclass", "the peer", "river").OneVsRestClassifier(model)
    return _River(compose.Pipeline(preprocessing.StandardScaler(), model))


def _river_tree(task: Task) -> Any:
    return _River(optional("river.tree", "the peer", "river").HoeffdingAdaptiveTreeClassifier(seed=task.seed))


def _river_forest(task: Task) -> Any:
    return _River(optional("river.forest", "the peer", "river").ARFClassifier(seed=task.seed))


def _sgd(task: Task) -> Any:
    return _Sgd(SGDClassifier(loss="log_loss", random_state=task.seed))


def _sampler(task: Task) -> Any:
    one = 1 if task.classes <= 2 else task.classes
    count = max(1, task.memory // (8 * (task.features + 1 + one)))  # of doubles: frequencies, offset, weights
    return RBFSampler(gamma=1 / task.features, n_components=count, random_state=task.seed)


def _rbf_sgd(task: Task) -> Any:
    return _Sgd(SGDClassifier(loss="log_loss", random_state=task.seed), _sampler(task))


def _river_linear(task: Task) -> Any:
    compose, preprocessing, linear = (
        optional(f"river.{name}", "the peer", "river") for name in ("compose", "preprocessing", "linear_model")
    )
    return _RiverNumbers(compose.Pipeline(preprocessing.StandardScaler(), linear.LinearRegression()))


def _river_tree_of_numbers(task: Task) -> Any:
    return _RiverNumbers(optional("river.tree", "the peer", "river").HoeffdingAdaptiveTreeRegressor(seed=task.seed))


def _river_forest_of_numbers(task: Task) -> Any:
    return _RiverNumbers(optional("river.forest", "the peer", "river").ARFRegressor(seed=task.seed))


def _sgd_numbers(task: Task) -> Any:
    return _SgdNumbers(SGDRegressor(random_state=task.seed))


def _rbf_sgd_numbers(task: Task) -> Any:
    return _SgdNumbers(SGDRegressor(random_state=task.seed), _sampler(task))


PEERS = {
    "river-logistic": Contestant(
        "River LogisticRegression, StandardScaler",
        _river_logistic,
        "by River",
        needs="river",
        numbers=_river_linear,
        names="River LinearRegression, StandardScaler",
    ),
    "river-tree": Contestant(
        "River HoeffdingAdaptiveTree", _river_tree, "by River", needs="river", numbers=_river_tree_of_numbers
    ),
    "river-forest": Contestant(
        "River AdaptiveRandomForest", _river_forest, "by River", needs="river", numbers=_river_forest_of_numbers
    ),
    "sgd": Contestant(
        "SGDClassifier, standardised", _sgd, "pickled", numbers=_sgd_numbers, names="SGDRegressor, standardised"
    ),
    "rbf-sgd": Contestant(
        "RBFSampler, SGDClassifier, standardised",
        _rbf_sgd,
        "pickled",
        numbers=_rbf_sgd_numbers,
        names="RBFSampler, SGDRegressor, standardised",
    ),
}
ALL = LEARNERS | PEERS
