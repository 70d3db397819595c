"""What adapters, the command line and the laboratory need of a learner besides its public methods."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from pocketkernel import _core
from pocketkernel.learners._base import OnlineKernelClassifier
from pocketkernel.learners._learner import OnlineLearner, Scores
from pocketkernel.learners._recipe import Recipe
from pocketkernel.model_file import Contents


def core_of(learner: OnlineLearner) -> _core.Learner:
    """The compiled learner: it takes arrays without conversion, and returns a status instead of raising an error."""
    return learner._core


def recipe_of(learner: OnlineLearner) -> Recipe:
    """What the learner was built from: its parameters as they were chosen, such as U where `norm_bound` is None."""
    return learner._recipe


def raw_scores(learner: OnlineLearner, X: Any) -> Scores:
    """Scores as the compiled learner gives them: of a multiclass learner, one per class, even if there are two."""
    return learner._scores(X)


def learn_then(learner: OnlineLearner, X: Any, y: Any, weights: Any, then: Callable[[], None]) -> None:
    """Learn rows and call `then`; a prediction of another thread comes before both or after both."""
    learner._feed(X, y, None, weights, restart=False, then=then)


def room_for_scores(learner: OnlineLearner, rows: int) -> Scores:
    """An array that such scores fit into."""
    return learner._room_for_scores(rows)


def contents_of(learner: OnlineLearner, extra: dict[str, Any] | None = None) -> Contents:
    """What a model file of the learner holds, for those who add to it; `extra` is the JSON of an adapter."""
    return learner._contents(extra or {})


def budget_name(learner: OnlineLearner | type[OnlineLearner]) -> str:
    """The parameter that sets the budget: "budget" (stored rows) or "features" (random frequencies)."""
    return learner._budget_name


def loss_name(learner: OnlineLearner) -> str:
    """The learner's loss, whether it is a parameter or fixed."""
    return str(learner._loss_name())


def is_multiclass(learner: OnlineKernelClassifier) -> bool:
    """Whether the learner supports more than two classes."""
    return learner._multiclass


def labels_by_place(learner: OnlineKernelClassifier) -> list[Any]:
    """The labels so far in the order in which the learner has numbered them: those of its first call, then others."""
    places = learner._coding.places.tolist()
    return [label for _, label in sorted(zip(places, learner.classes_.tolist(), strict=True))]


def blank(learner: OnlineLearner, features: int | Sequence[str], targets: Any) -> OnlineLearner:
    """A copy of the learner that has learned nothing, for rows of these columns and for such targets.

    `targets` are all labels of a classifier; of a regressor, targets of one row.
    """
    model: OnlineLearner = clone(learner)
    count = features if isinstance(features, int) else len(features)
    classes = targets if isinstance(learner, OnlineKernelClassifier) else None
    model._begin(np.zeros((1, count)), np.asarray(targets), classes, restart=False)
    model.n_features_in_ = count
    if not isinstance(features, int):
        model.feature_names_in_ = np.array([str(name) for name in features], dtype=object)
    return model


def use_core(learner: OnlineLearner, core: Any) -> None:
    """Let a learner use another object in the place of its compiled learner."""
    learner._core = core
    learner._tell_labels()


def counts_of(learner: OnlineLearner) -> list[int]:
    """Of a classifier with balanced classes, the rows that it has learned of the class in each place."""
    return [int(count) for count in getattr(learner, "_counts", ())]


def in_state(learner: OnlineLearner, contents: Contents, state: bytes, counts: Sequence[int] = ()) -> OnlineLearner:
    """A learner like the one with these contents, in another state; `counts` as `counts_of` gives them."""
    model = type(learner)._restored(Contents(contents.model, state))[0]
    if isinstance(model, OnlineKernelClassifier) and len(counts):
        model._counts[:] = counts
    return model
