"""The common part of the classifiers: labels and predictions. The algorithms are in the core."""

from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils import Bunch
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from pocketkernel._scores import labels_of
from pocketkernel.certificate import Certificate, Guarantee
from pocketkernel.learners._labels import Coding, check_labels, checked_classes
from pocketkernel.learners._learner import Array, OnlineLearner, Scores
from pocketkernel.learners._persistent import read_labels, write_labels
from pocketkernel.learners._recipe import Recipe
from pocketkernel.learners._rows import CsrRows, check_rows
from pocketkernel.model_file import ModelFileError


def _has_logistic_loss(estimator: Any) -> bool:
    loss = estimator._recipe.loss if "_core" in vars(estimator) else estimator._loss_name()
    if loss == "logistic":
        return True
    raise AttributeError(f"probabilities need loss='logistic'; this learner has loss={loss!r}.")


class OnlineKernelClassifier(ClassifierMixin, OnlineLearner):  # type: ignore[misc]
    """Base of the classifiers. A classifier with a theorem returns what it proves (`_guarantee`)."""

    _multiclass: ClassVar[bool] = False
    _coding: Coding
    classes_: Array

    # ---- learning ---------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything, then learn every row of X once, in the given order; shuffle data that is sorted by class.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            Finite numbers, or NaN if the learner accepts missing values (PocketClassifier does); float32 and float64
            arrays in C order are read in place.
        y : array or series of shape (n,)
            Labels, of at least two different values (of exactly two for a binary learner; the smaller one is the
            negative class).
        sample_weight : array of shape (n,), default=None
            Factor of the loss of each row, from 0 to 1e9; None means 1. A row of weight 0 is not learned at all. For
            learners that sample, a row of weight 2 is not the same as the row twice.

        Notes
        -----
        If an error or Ctrl-C ends the call, the estimator is unchanged.
        """
        self._feed(X, y, None, sample_weight, restart=True)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn every row of X once, in order, continuing from what was learned before.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        classes : array of labels, default=None
            All labels. Needed in the first call if y does not contain each of them.

        Notes ----- After an error nothing of X has been learned. After Ctrl-C the first rows of X have been learned
        completely; ``diagnostics_.rounds`` is their number (rows of weight 0 do not count). If that was the first call,
        the estimator is still unfitted. A process that is forked while another thread is learning gets an incomplete
        copy of the learner, which raises an error when used.
        """
        self.predict_then_learn(X, y, classes, sample_weight)
        return self

    def predict_then_learn(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Scores:
        """Score every row of X, then learn it. Returns the scores, each computed before its label is used.

        This is the fast path for progressive evaluation, with whole blocks or with one row at a time. Parameters and
        the state after Ctrl-C are as in `partial_fit`, scores as in `decision_function`.
        """
        if self._takes_as_it_is(X) and (classes is None or self._coding.knows(classes)):
            scores = self._room_for_scores(len(X))
            labels = self._coding.at_once(y)
            plain = sample_weight is None or type(sample_weight) is np.ndarray
            if plain and labels is not None and self._core.learn_dense(X, labels, sample_weight, scores) == 0:
                return self._decision(scores)
        return self._decision(self._feed(X, y, classes, sample_weight, restart=False))

    def _begin(self, X: Array, y: Array, classes: Any, restart: bool) -> None:
        """Build the learner in the core for rows like X."""
        labels = np.unique(y) if classes is None else checked_classes(classes)
        whose = "y" if classes is None else f"classes={classes!r}"
        if len(labels) < 2:
            raise ValueError(
                f"{whose} has only one class, {labels.tolist()[0]!r}: "
                + ("learning needs two." if restart else "pass all labels in the first call, as classes=[...].")
            )
        if len(labels) > 2 and not self._multiclass:
            raise ValueError(
                f"Only binary classification is supported: {whose} has {len(labels)} classes, {labels[:5].tolist()} "
                "..., not two; use PocketClassifier, or wrap the learner in sklearn.multiclass.OneVsRestClassifier."
            )
        write_labels(labels)  # what no file could hold is refused at once
        self.classes_ = labels
        self._build(X, len(labels), restart)
        self._tell_labels()

    # ---- answering --------------------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Scores:
        """Scores of the rows of X. Learns nothing.

        For two classes: one score for each row; a score >= 0 means the positive class, ``classes_[1]``. For more: one
        for each row and class; the largest wins. A long block is shared among threads (see `n_jobs`), which only
        affects the time.
        """
        return self._decision(self._scores(X))

    def predict(self, X: Any) -> Array:
        """Labels of the rows of X."""
        return self._labels(self.decision_function(X))

    @available_if(_has_logistic_loss)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Scores:
        """Probabilities of the classes for the rows of X.

        Only for learners with the logistic loss. Columns are in the order of `classes_`.
        """
        scores = self._scores(X)
        if scores.ndim == 1:
            positive = expit(scores)
            return np.column_stack([1.0 - positive, positive])
        return softmax(scores, axis=1)

    def _room_for_scores(self, rows: int) -> Scores:
        return np.empty((rows, len(self.classes_)) if self._multiclass else rows)

    def _decision(self, scores: Scores) -> Scores:
        """The core's scores in the form of a decision function: of two classes one number, the difference."""
        return scores[:, 1] - scores[:, 0] if scores.ndim == 2 and scores.shape[1] == 2 else scores

    def _labels(self, decision: Scores) -> Array:
        """The labels for the result of a decision function."""
        return labels_of(decision, self.classes_)

    def kernel_scores(self, X: Any) -> Scores:
        """Scores of each kernel for the rows of X, one column per kernel; `decision_function` is their weighted sum.

        Learns nothing. Only for dense rows, and for learners of two classes.
        """
        core = self._fitted()
        if self._multiclass:
            raise ValueError(f"{type(self).__name__} has scores of classes, not of kernels: use decision_function.")
        X = check_rows(self, X, reset=False)
        if isinstance(X, CsrRows):
            raise ValueError("kernel_scores needs dense rows: use X.toarray().")
        scores = np.empty((X.shape[0], len(core.report())))
        if core.kernel_scores(X, scores) != 0:
            self._scores(X)  # says what is wrong
        return scores

    # ---- what it has become -----------------------------------------------------------------------------------------

    def coefficients(self, kernel: int) -> Scores:
        """Coefficients of a kernel's function on the stored rows, in order of arrival.

        For M-OMD-H those on the kernel's own buffer, then those on the archive. LKMBooks and Raker have none.
        """
        return np.array(self._fitted().coefficients(kernel))

    def certificate(self, delta: float = 0.05) -> Certificate:
        """The counters of the learner and what they prove: its rate of mistakes and its regret. Reads no rows.

        Every classifier has intervals for its rate of mistakes, over all rows and over the latest, which hold at all
        times at once (`mistake_rate`, `recent_mistake_rate`). Some have a bound on the regret, which is the sum of the
        learner's losses minus that of the best competitor in hindsight: its terms, what it assumes, and what the
        learner cannot know.

        Parameters
        ----------
        delta : float, default=0.05
            Probability that an interval fails, or that the bound does, between 0 and 1; a bound in expectation does not
            use it.

        Examples
        --------
        >>> from pocketkernel import MOMDS
        >>> from pocketkernel.stream import known_kernel
        >>> model = MOMDS(random_state=0).fit(*known_kernel(20_000))
        >>> proved = model.certificate()
        >>> proved.mistake_rate.low < proved.mistakes / 20_000 < proved.mistake_rate.high
        True
        >>> dual = proved.guarantee.dual
        >>> dual.least_loss(2.0) > dual.anyway(2.0)  # no function of norm 2 has a smaller loss
        True
        """
        if not 0 < delta < 1:
            raise ValueError(f"delta={delta!r} is out of range: use a probability between 0 and 1, both excluded.")
        done = self.diagnostics_
        return Certificate(
            learner=type(self).__name__,
            loss=self._recipe.loss,
            rounds=int(done.rounds),
            mistakes=int(done.mistakes),
            removals=int(done.removals),
            cumulative_loss=float(done.cumulative_loss),
            delta=delta,
            guarantee=self._guarantee(done, delta),
            rounds_before=int(done.rounds_before),
            mistakes_before=int(done.mistakes_before),
        )

    def _guarantee(self, done: Bunch, delta: float) -> Guarantee:
        """What is proved about the regret, from `diagnostics_`; a learner with a theorem overrides this."""
        return Guarantee(None, f"No bound on the regret of {type(self).__name__} is proved.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._multiclass
        return tags

    # ---- labels -----------------------------------------------------------------------------------------------------

    def _checked_targets(self, y: Any, rows: int, begin: bool) -> Array:
        labels: Array = check_labels(y)
        if labels.shape[0] != rows:
            raise ValueError(f"X has {rows} rows but y has {labels.shape[0]} labels: give one label per row.")
        if labels.dtype.kind == "f" and not np.all(np.isfinite(labels)):
            raise ValueError("y contains NaN or infinity: drop rows without a label.")
        if begin:
            check_classification_targets(labels)
        return labels

    def _check_same(self, classes: Any) -> None:
        if not np.array_equal(checked_classes(classes), self.classes_):
            raise ValueError(f"classes={classes!r} differs from those of the first call, {self.classes_.tolist()}.")

    def _coded(self, y: Array) -> Array:
        return self._coding.of(y)

    def _unknown(self, y: Array, row: int, column: int, sentence: str) -> ValueError:
        return self._coding.unknown(y[row])

    def _written_labels(self) -> Any:
        return write_labels(self.classes_)

    def _read_labels(self, written: Any, recipe: Recipe) -> None:
        labels = read_labels(written)
        if len(labels) != recipe.classes:
            raise ModelFileError(f"the model file has {len(labels)} labels, but a recipe for {recipe.classes}.")
        self.classes_ = labels

    def _tell_labels(self) -> None:
        self._coding = Coding(self.classes_)
        self._core.set_labels(self._coding.numbers.tolist())
