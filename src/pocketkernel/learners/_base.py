"""What all learners share: learning and answering, row by row. What they compute is in the core."""

from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import Bunch
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from pocketkernel import _core
from pocketkernel._alone import alone
from pocketkernel._scores import labels_of
from pocketkernel._threads import thread_count
from pocketkernel.certificate import Certificate, Guarantee
from pocketkernel.learners._labels import Coding, check_labels, checked_classes
from pocketkernel.learners._parameters import Parameters
from pocketkernel.learners._persistent import write_labels
from pocketkernel.learners._rows import CsrRows, check_rows, checked_weights

Array = npt.NDArray[Any]
Scores = npt.NDArray[np.float64]


def _has_logistic_loss(estimator: Any) -> bool:
    loss = estimator._recipe.loss if "_core" in vars(estimator) else estimator._loss_name()
    if loss == "logistic":
        return True
    raise AttributeError(f"probabilities need loss='logistic'; this learner has loss={loss!r}.")


class OnlineKernelClassifier(ClassifierMixin, Parameters):  # type: ignore[misc]
    """Base of the learners: a classifier that learns row by row in one block of memory of fixed size.

    A subclass names its learner in the core (`_learner`), the parameter that counts stored rows or frequencies
    (`_budget_name`), and copies its own parameters into the core's settings (`_configure`). If there is a theorem about
    it, it says what that proves (`_guarantee`).
    """

    _multiclass: ClassVar[bool] = False
    _takes_missing: ClassVar[bool] = False  # whether NaN in a row is a missing value, else an error
    _coding: Coding

    # ---- learning ---------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything, then learn every row of X once, in the order given: shuffle what is sorted by class.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            Finite numbers, or NaN where a learner takes missing values (PocketClassifier does); float32 and float64
            arrays in C order are read in place.
        y : array or series of shape (n,)
            Labels, of at least two different values (of exactly two for a binary learner; the smaller one is the
            negative class).
        sample_weight : array of shape (n,), default=None
            What the loss of each row is multiplied by, from 0 to 1e9; None stands for 1. A row of weight 0 is not
            learned at all. For learners that sample, a row of weight 2 is not the same as the row twice.

        Notes
        -----
        If an error or Ctrl-C ends the call, the estimator is what it was before.
        """
        self._feed(X, y, None, sample_weight, restart=True)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn every row of X once, in order, going on from what was learned before.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        classes : array of labels, default=None
            All labels there are. Needed in the first call if y does not hold each of them.

        Notes
        -----
        After an error nothing of X has been learned. After Ctrl-C the first rows of X have been learned, completely:
        ``diagnostics_.rounds`` tells how many (rows of weight 0 do not count). If that was the first call, the
        estimator is unfitted, as before. A process that is forked while another thread learns gets an incomplete copy
        of the learner, which refuses to be used.
        """
        self.predict_then_learn(X, y, classes, sample_weight)
        return self

    def predict_then_learn(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Scores:
        """For every row of X: score it, then learn it with its label. Answers the scores, each made before its label.

        The fast path for progressive evaluation, with whole blocks or with one row at a time. Parameters and the state
        after Ctrl-C as in `partial_fit`, scores as in `decision_function`.
        """
        if self._takes_as_it_is(X) and (classes is None or self._coding.knows(classes)):
            scores = self._room_for_scores(len(X))
            labels = self._coding.at_once(y)
            plain = sample_weight is None or type(sample_weight) is np.ndarray
            if plain and labels is not None and self._core.learn_dense(X, labels, sample_weight, scores) == 0:
                return self._decision(scores)
        return self._decision(self._feed(X, y, classes, sample_weight, restart=False))

    def _feed(self, X: Any, y: Any, classes: Any, sample_weight: Any, *, restart: bool) -> Scores:
        with alone(self):
            before = self.__dict__.copy()
            try:
                return self._feed_alone(X, y, classes, sample_weight, restart)
            except BaseException:
                for name in self.__dict__.keys() - before.keys():
                    del self.__dict__[name]
                self.__dict__.update(before)
                raise

    def _feed_alone(self, X: Any, y: Any, classes: Any, sample_weight: Any, restart: bool) -> Scores:
        if restart:
            self.__dict__.pop("_core", None)
        begin = "_core" not in self.__dict__
        X, y = self._check_rows_and_labels(X, y, begin)
        weights = checked_weights(sample_weight, X.shape[0])
        if restart and weights is not None and not np.any(weights):
            raise ValueError("sample_weight is zero for every row: there is nothing to learn.")
        if begin:
            self._begin(X, y, classes, restart)
        elif classes is not None and not np.array_equal(checked_classes(classes), self.classes_):
            raise ValueError(f"classes={classes!r} differ from those of the first call, {self.classes_.tolist()}.")
        scores = self._room_for_scores(X.shape[0])
        self._call(X, scores, self._coding.of(y), weights)
        return scores

    def _begin(self, X: Array, y: Array, classes: Any, restart: bool) -> None:
        """Build the learner in the core for rows like X."""
        labels = np.unique(y) if classes is None else checked_classes(classes)
        whose = "y" if classes is None else f"classes={classes!r}"
        if len(labels) < 2:
            raise ValueError(
                f"{whose} has only one class, {labels.tolist()[0]!r}: "
                + ("learning needs two." if restart else "give all labels in the first call, as classes=[...].")
            )
        if len(labels) > 2 and not self._multiclass:
            raise ValueError(
                f"Only binary classification is supported: {whose} has {len(labels)} classes, {labels[:5].tolist()} "
                "..., not two; use PocketClassifier, or wrap the learner in sklearn.multiclass.OneVsRestClassifier."
            )
        write_labels(labels)  # what no file could hold is refused at once
        self.classes_ = labels
        self._recipe = self._choose(X.shape[1], len(labels), X.shape[0] if restart else None)
        self.budget_ = self._recipe.budget
        try:
            self._core = self._recipe.build()
        except MemoryError:
            size = self._recipe.size()[0]
            raise MemoryError(f"{type(self).__name__} would take {size} bytes, which the machine refuses.") from None
        self._tell_labels()

    # ---- answering --------------------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Scores:
        """Scores of the rows of X. Learns nothing.

        Of two classes: one score for each row; a score >= 0 means the positive class, ``classes_[1]``. Of more: one
        for each row and class; the largest wins. A long block is shared among threads (see `n_jobs`), which changes
        nothing but the time.
        """
        return self._decision(self._scores(X))

    def predict(self, X: Any) -> Array:
        """Labels of the rows of X."""
        return self._labels(self.decision_function(X))

    @available_if(_has_logistic_loss)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Scores:
        """Probabilities of the classes for the rows of X, as the logistic loss means them.

        Only for learners whose loss is logistic. Columns are in the order of `classes_`.
        """
        scores = self._scores(X)
        if scores.ndim == 1:
            positive = expit(scores)
            return np.column_stack([1.0 - positive, positive])
        return softmax(scores, axis=1)

    def _scores(self, X: Any) -> Scores:
        """Scores as the core gives them."""
        if self._takes_as_it_is(X):
            scores = self._room_for_scores(len(X))
            if self._core.score_dense(X, scores, thread_count(self.n_jobs, len(X) * self._core.nbytes)) == 0:
                return scores
        check_is_fitted(self)
        X = check_rows(self, X, reset=False)
        scores = self._room_for_scores(X.shape[0])
        self._call(X, scores)
        return scores

    def _takes_as_it_is(self, X: Any) -> bool:
        """Whether the core may look at X itself: it refuses what it cannot read, and the long way says why."""
        mine = self.__dict__
        return "_core" in mine and type(X) is np.ndarray and X.ndim == 2 and "feature_names_in_" not in mine

    def _room_for_scores(self, rows: int) -> Scores:
        return np.empty((rows, len(self.classes_)) if self._multiclass else rows)

    def _decision(self, scores: Scores) -> Scores:
        """The core's scores in the form of a decision function: of two classes one number, the difference."""
        return scores[:, 1] - scores[:, 0] if scores.ndim == 2 and scores.shape[1] == 2 else scores

    def _labels(self, decision: Scores) -> Array:
        """Labels that a decision function's answer means."""
        return labels_of(decision, self.classes_)

    def kernel_scores(self, X: Any) -> Scores:
        """What every kernel by itself says of the rows of X, one column each; `decision_function` weighs them.

        Learns nothing. For dense rows, and for learners of two classes.
        """
        core = self._fitted()
        if self._multiclass:
            raise ValueError(f"{type(self).__name__} has scores of classes, not of kernels: use decision_function.")
        X = check_rows(self, X, reset=False)
        if isinstance(X, CsrRows):
            raise ValueError("kernel_scores takes dense rows: use X.toarray().")
        scores = np.empty((X.shape[0], len(core.report())))
        if core.kernel_scores(X, scores) != 0:
            self._scores(X)  # says what is wrong
        return scores

    # ---- what it has become -----------------------------------------------------------------------------------------

    @property
    def nbytes(self) -> int:
        """Bytes that the learner takes, all in all: as `plan` said, from the first row on, never changed."""
        return self._fitted().nbytes

    @property
    def kernel_weights_(self) -> npt.NDArray[np.float64]:
        """Weight of each kernel in the mixture; they sum to 1."""
        return np.array([kernel["weight"] for kernel in self._fitted().report()])

    def coefficients(self, kernel: int) -> Scores:
        """Coefficients of a kernel's function on the stored rows, in order of arrival.

        Of M-OMD-H those on the kernel's own buffer, then those on the archive. LKMBooks and Raker tell none.
        """
        return np.array(self._fitted().coefficients(kernel))

    @property
    def diagnostics_(self) -> Bunch:
        """What the learner has done so far.

        rounds, mistakes, cumulative_loss; additions, proxies, removals (over all kernels); archived, overflowed
        (M-OMD-H); and one number per kernel: alignment_proxy (M-OMD-H), norms, stored, and the counts again as
        kernel_additions, kernel_proxies, kernel_removals.
        """
        core = self._fitted()
        report = core.report()
        return Bunch(
            **core.tally(),
            alignment_proxy=np.array([kernel["alignment"] for kernel in report]),
            norms=np.array([kernel["norm"] for kernel in report]),
            stored=np.array([kernel["stored"] for kernel in report]),
            kernel_additions=np.array([kernel["additions"] for kernel in report]),
            kernel_proxies=np.array([kernel["proxies"] for kernel in report]),
            kernel_removals=np.array([kernel["removals"] for kernel in report]),
        )

    def certificate(self, delta: float = 0.05) -> Certificate:
        """What the learner has done, and what that proves about its regret; reads its counters, and no row.

        Regret is the sum of its losses less that of the best function of one kernel with norm at most U, in hindsight.
        The certificate names the theorem, gives the bound with its parts, says which conditions of the theorem fail,
        and what the learner cannot know.

        Parameters
        ----------
        delta : float, default=0.05
            Probability with which the bound may fail, above 0, below 1; without effect on a bound in expectation.

        Examples
        --------
        >>> from pocketkernel import MOMDS
        >>> from pocketkernel.stream import known_kernel
        >>> model = MOMDS(norm_bound=1.0, step=2.0, random_state=0).fit(*known_kernel(20_000))
        >>> proved = model.certificate()
        >>> proved.theorem, proved.informative
        ('Theorem 3 of Li & Liao (2024), afterwards', True)
        >>> proved.value < proved.cumulative_loss
        True
        """
        if not 0 < delta < 1:
            raise ValueError(f"delta={delta!r} is out of range: use a probability above 0 and below 1.")
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
        )

    def _guarantee(self, done: Bunch, delta: float) -> Guarantee:
        """What is proved of the regret, from `diagnostics_`; a learner that has a theorem overrides this."""
        return Guarantee(None, f"No theorem of the paper covers {type(self).__name__}: these are counts only.")

    def _fitted(self) -> _core.Learner:
        core: _core.Learner | None = self.__dict__.get("_core")
        if core is None:
            raise NotFittedError(f"This {type(self).__name__} has not learned anything yet: call fit or partial_fit.")
        return core

    def __sklearn_is_fitted__(self) -> bool:
        return "_core" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self._takes_missing
        tags.classifier_tags.multi_class = self._multiclass
        return tags

    # ---- rows and labels --------------------------------------------------------------------------------------------

    def _check_rows_and_labels(self, X: Any, y: Any, begin: bool) -> tuple[Any, Array]:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        X = check_rows(self, X, reset=begin)
        y = check_labels(y)
        if y.shape[0] != X.shape[0]:
            raise ValueError(f"X has {X.shape[0]} rows but y has {y.shape[0]} labels: give one label per row.")
        if y.dtype.kind == "f" and not np.all(np.isfinite(y)):
            raise ValueError("y contains NaN or infinity: every row needs a label, or leave the row out.")
        if begin:
            check_classification_targets(y)
        return X, y

    def _tell_labels(self) -> None:
        self._coding = Coding(self.classes_)
        self._core.set_labels(self._coding.numbers.tolist())

    def _call(self, X: Any, scores: Scores, y: Array | None = None, weights: Array | None = None) -> None:
        """Run a block through the core: learn if there are labels, else only score."""
        core = self._core
        if isinstance(X, CsrRows):
            rows = (X.values, X.columns, X.starts)
            learn, score = partial(core.learn_sparse, *rows), partial(core.score_sparse, *rows)
        else:
            learn, score = partial(core.learn_dense, X), partial(core.score_dense, X)
        if y is None:
            status = score(scores, thread_count(self.n_jobs, X.shape[0] * core.nbytes))
        else:
            status = learn(y, weights, scores)
        if status == 0:
            return
        if status == _core.UNSUITED:
            raise AssertionError("the core refused arrays that were prepared for it")
        subject, sentence = _core.describe(status)
        row, column = self._core.fault
        if subject == "y":
            assert y is not None
            raise self._coding.unknown(y[row])
        if subject == "sample_weight":
            assert weights is not None
            raise ValueError(f"{subject} {sentence} (found {weights[row]} at row {row}).")
        if column >= X.shape[1]:
            raise ValueError(f"X {sentence} (in row {row}).")
        value = X.at(row, column) if isinstance(X, CsrRows) else float(X[row, column])
        names = getattr(self, "feature_names_in_", None)
        named = "" if names is None else f" {names[column]!r}"
        raise ValueError(f"X {sentence} (found {value} at row {row}, column {column}{named}).")
