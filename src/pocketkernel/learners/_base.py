"""The common part of the classifiers: labels and predictions. The algorithms are in the core."""

from dataclasses import field
from reprlib import repr as short
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils import Bunch
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from pocketkernel import _core
from pocketkernel._alone import together
from pocketkernel._scores import labels_of
from pocketkernel.certificate import Certificate, Guarantee
from pocketkernel.learners._class_weights import Counts, balanced, checked_class_weight, running, times
from pocketkernel.learners._coding import Coding
from pocketkernel.learners._described import with_parameters
from pocketkernel.learners._label_files import read_coding, write_coding, write_labels
from pocketkernel.learners._labels import check_labels, checked_classes, plain_text
from pocketkernel.learners._learner import Array, OnlineLearner, Scores
from pocketkernel.learners._parameters import whole_number
from pocketkernel.learners._recipe import Recipe
from pocketkernel.learners._rows import CsrRows, check_rows


def _has_logistic_loss(estimator: Any) -> bool:
    loss = estimator._recipe.loss if "_core" in vars(estimator) else estimator._loss_name()
    if loss == "logistic":
        return True
    raise AttributeError(f"probabilities need loss='logistic'; this learner has loss={loss!r}.")


@with_parameters
class OnlineKernelClassifier(ClassifierMixin, OnlineLearner):  # type: ignore[misc]
    """Base of the classifiers. A classifier with a theorem returns what it proves (`_guarantee`)."""

    _multiclass: ClassVar[bool] = False
    _unproved: ClassVar[str] = "No bound on its regret is proved."
    class_weight: Any = None
    classes_: Array = field(init=False)
    _coding: Coding = field(init=False)
    _counts: Counts = field(init=False)  # rows learned of the class in each place, if classes are balanced

    # ---- learning ---------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything, then learn the rows of X: in random order and `epochs` times.

        For rows whose order matters use ``shuffle=False`` or `partial_fit`. After it, rows to be predicted are not
        taken for the ones that follow.

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
        If an error or Ctrl-C ends the call, the estimator is unchanged. Other threads use it as it was until the end.
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
            All labels. In the first call, None means those in y, and others may arrive later if there is room for
            them: for `n_classes` labels, and for two in any case. In a later call these must be the same as before.

        Notes
        -----
        After an error nothing of X has been learned. After Ctrl-C the first rows of X have been learned
        completely; ``diagnostics_.rounds`` is their number (rows of weight 0 do not count). If that was the first call,
        the estimator is still unfitted. Other threads may use the estimator meanwhile: predictions come in between
        slices of at most 256 rows, other calls that learn wait. A process that is forked while another thread is
        learning gets an incomplete copy of the learner, which raises an error when used.
        """
        self.predict_then_learn(X, y, classes, sample_weight)
        return self

    def predict_then_learn(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Scores:
        """Score every row of X, then learn it. Returns the scores, each computed before its label is used.

        This is the fast path for progressive evaluation, with whole blocks or with one row at a time. Parameters and
        the state after Ctrl-C are as in `partial_fit`, scores as in `decision_function`.
        """
        if self.class_weight is None and self._takes_as_it_is(X):
            coding, plain = self._coding, sample_weight is None or type(sample_weight) is np.ndarray
            labels = coding.at_once(y) if plain and (classes is None or coding.knows(classes)) else None
            if labels is not None:
                scores = self._room_for_scores(len(X))
                if self._core.learn_dense(X, labels, sample_weight, scores, coding.numbers) == 0:
                    return coding.decision(scores)
        return self._feed(X, y, classes, sample_weight, restart=False)

    def _begin(self, X: Array, y: Array, classes: Any, restart: bool) -> None:
        """Build the learner in the core for rows like X."""
        labels = np.unique(y) if classes is None else checked_classes(classes)
        whose = "y" if classes is None else f"classes={classes!r}"
        if len(labels) < 2 and (restart or classes is not None):
            raise ValueError(f"{whose} has only one class, {labels.tolist()[0]!r}: learning needs two.")
        if len(labels) > 2 and not self._multiclass:
            raise ValueError(
                f"Only binary classification is supported: {whose} has {len(labels)} classes, {labels[:5].tolist()} "
                "..., not two; use PocketClassifier, or wrap the learner in sklearn.multiclass.OneVsRestClassifier."
            )
        write_labels(labels)  # what no file could hold is refused at once
        checked_class_weight(self.class_weight)
        room = self._room(len(labels), whose)
        self._build(X, room, restart)
        self._counts = np.zeros(room, dtype=np.int64)
        self._use(Coding.of_first(labels, room))

    def _room(self, labels: int, whose: str) -> int:
        """How many classes the learner is built for, if the first call has so many labels."""
        reserved = getattr(self, "n_classes", None)
        if reserved is None:
            return max(labels, 2)
        room = whole_number("n_classes", reserved)
        if room < max(labels, 2):
            raise ValueError(
                f"n_classes={short(reserved)} is too small: {whose} has {labels} "
                f"{'class' if labels == 1 else 'classes'}; use {max(labels, 2)} or more."
            )
        return room

    def _extended(self, y: Array, classes: Any) -> Coding | None:
        """The labels with those that have not been seen before, as long as there is room."""
        if classes is not None:
            labels = checked_classes(classes)
            full = len(self.classes_) == self._coding.room
            if not (np.array_equal(labels, self.classes_) if full else np.all(np.isin(self.classes_, labels))):
                raise ValueError(f"classes={classes!r} differs from those of the first call, {self.classes_.tolist()}.")
            y = labels
        if self._multiclass:
            advice = (
                f"the learner has room for {self._coding.room} classes; set n_classes to the number of labels that may "
                "arrive, or pass all of them as classes=[...] in the first call."
            )
        else:
            advice = (
                "this learner supports only two; use PocketClassifier, or wrap the learner in "
                "sklearn.multiclass.OneVsRestClassifier."
            )
        coding = self._coding.extended(y, advice)
        if coding is self._coding:
            return None
        write_labels(coding.classes)
        return coding

    def _use(self, coding: Coding) -> None:
        self._coding, self.classes_ = coding, coding.classes
        self._tell_labels()

    # ---- weights of classes -----------------------------------------------------------------------------------------

    def _weighed(self, y: Array, weights: Array | None, *, of_all: bool = False) -> Array | None:
        given = checked_class_weight(self.class_weight)
        if given is None:
            return weights
        places = self._coding.places_of(y)
        if isinstance(given, dict):
            of_class = np.ones(self._coding.room)
            of_class[self._coding.places] = [given.get(label, 1.0) for label in self.classes_.tolist()]
            return times(weights, of_class[places])
        learned = np.ones(len(y), dtype=bool) if weights is None else weights > 0
        if not of_all:
            return times(weights, running(self._counts, places, learned))
        self._counts += np.bincount(places[learned], minlength=self._coding.room)
        return times(weights, balanced(self._counts, places))

    def _count(self, y: Array, weights: Array | None, rounds: int) -> None:
        if rounds > 0 and isinstance(self.class_weight, str):
            learned = y if weights is None else y[weights > 0]
            self._counts += np.bincount(self._coding.places_of(learned[:rounds]), minlength=self._coding.room)

    # ---- answering --------------------------------------------------------------------------------------------------

    def decision_function(self, X: Any, *, continues: bool = True) -> Scores:
        """Scores of the rows of X. Learns nothing.

        A learner that knows the last labels (PocketClassifier, unless ``lag=False``) takes each row for the next one
        after those that were learned; with ``continues=False`` it does not, and the labels have no say.

        Columns follow `classes_`, the labels so far. For two: one score for each row; a score >= 0 means the positive
        class, ``classes_[1]``. For more: one for each row and class; the largest wins. While only one label is known:
        0 for each row. A long block is shared among threads (see `n_jobs`), which only affects the time.
        """
        try:
            coding = self._coding  # as in `_scored`, at the cost of one call less
        except AttributeError:
            coding = None
        scores = self._scores(X, continues)
        return coding.decision(scores) if coding is self._coding else self.decision_function(X, continues=continues)

    def _scored(self, X: Any, continues: bool) -> tuple[Coding, Scores]:
        """Scores of the core and the labels of the same moment."""
        try:
            coding = self._coding
        except AttributeError:  # not fitted, as the scores will say
            coding = None
        scores = self._scores(X, continues)
        if coding is self._coding:
            return coding, scores
        return self._scored(X, continues)  # another thread has brought new labels meanwhile

    def predict(self, X: Any, *, continues: bool = True) -> Array:
        """Labels of the rows of X; `continues` as in `decision_function`."""
        coding, scores = self._scored(X, continues)
        return labels_of(coding.decision(scores), coding.classes)

    @available_if(_has_logistic_loss)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, *, continues: bool = True) -> Scores:
        """Probabilities of the classes for the rows of X.

        Only for learners with the logistic loss. Columns are in the order of `classes_`; `continues` as in
        `decision_function`.
        """
        coding, scores = self._scored(X, continues)
        with _core.Arithmetic():  # whatever other libraries have set in this thread
            if scores.ndim == 2:
                return softmax(coding.columns(scores), axis=1)
            if len(coding.classes) == 1:
                return np.ones((len(scores), 1))
            odds = np.empty((len(scores), 2))
            odds[:, 1] = expit(coding.decision(scores))
            odds[:, 0] = 1.0 - odds[:, 1]
            return odds

    def _room_for_scores(self, rows: int) -> Scores:
        return np.empty((rows, self._recipe.classes) if self._multiclass else rows)

    def _decision(self, scores: Scores) -> Scores:
        return self._coding.decision(scores)

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
        learner cannot know. Of a `fit` with several `epochs` only the first pass counts, in all of this: later on, the
        rows are not new.

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
        with together(self._fitted()):
            return self._certificate(delta, self.diagnostics_)

    def _certificate(self, delta: float, done: Bunch) -> Certificate:
        return Certificate(
            learner=type(self).__name__,
            loss=self._recipe.loss,
            rounds=int(done.rounds),
            mistakes=int(done.mistakes),
            removals=int(done.removals) if self._budget_name == "budget" else None,
            cumulative_loss=float(done.cumulative_loss),
            delta=delta,
            guarantee=self._guarantee(done, delta),
            rounds_before=int(done.rounds_before),
            mistakes_before=int(done.mistakes_before),
        )

    def _guarantee(self, done: Bunch, delta: float) -> Guarantee:
        """What is proved about the regret, from `diagnostics_`; a learner with a theorem overrides this."""
        return Guarantee(None, self._unproved)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._multiclass
        return tags

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose label is predicted, as scikit-learn computes it.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            Rows.
        y : array or series of shape (n,)
            Their labels.
        sample_weight : array of shape (n,), default=None
            How much each row counts; None means 1.

        Returns
        -------
        float
            From 0 to 1.
        """
        return float(super().score(X, plain_text(y), sample_weight))

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

    def _coded(self, y: Array) -> Array:
        return self._coding.of(y)

    def _unknown(self, target: Any, sentence: str) -> ValueError:
        return self._coding.unknown(target)

    def _written_labels(self) -> Any:
        return write_coding(self._coding, self._counts)

    def _read_labels(self, written: Any, recipe: Recipe) -> None:
        self._coding, self._counts = read_coding(written, recipe.classes)
        self.classes_ = self._coding.classes

    def _tell_labels(self) -> None:
        self._core.set_labels(self._coding.numbers)
