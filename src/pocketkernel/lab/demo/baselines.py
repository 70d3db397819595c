"""What a kernel learner has to beat."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

Scores = npt.NDArray[np.float64]


class _Baseline:
    """Remembers the two labels."""

    classes_: npt.NDArray[Any]

    def _signs(self, y: Any, classes: Any) -> Scores:
        """1.0 for the larger label, -1.0 for the other."""
        y = np.asarray(y)
        if not hasattr(self, "classes_"):
            labels = np.unique(y if classes is None else np.asarray(classes))
            if len(labels) != 2:
                raise ValueError(
                    f"y has {len(labels)} labels, {labels.tolist()}: give two in the first call, with classes=[...]."
                )
            self.classes_ = labels
        return np.where(y == self.classes_[1], 1.0, -1.0)


class Majority(_Baseline):
    """Predicts the label seen most often so far; the larger one if both were seen equally often.

    Examples
    --------
    >>> Majority().predict_then_learn([[0], [0], [0], [0]], [-1, -1, 1, 1])
    array([ 0., -1., -2., -1.])
    """

    nbytes = 8
    """One counter."""

    def __init__(self) -> None:
        self._lead = 0.0

    def predict_then_learn(self, X: Any, y: Any, classes: Any = None) -> Scores:
        """Lead of the larger label before each row. Parameters as in the learners."""
        leads = np.cumsum(np.concatenate(([self._lead], self._signs(y, classes))))
        self._lead = float(leads[-1])
        return leads[:-1]


class OnlineLinear(_Baseline):
    """Logistic regression with a bias, learned row by row; AdaGrad gives every coordinate its own step size.

    Plain NumPy: made to be a fair opponent in mistakes, not in speed.

    Parameters
    ----------
    step : float, default=0.5
        Step size, positive: how far a coordinate moves when it is first seen.

    Attributes
    ----------
    weights_ : array of shape (d + 1,)
        The last one is the bias.

    References
    ----------
    Duchi, Hazan & Singer (2011), "Adaptive subgradient methods for online learning and stochastic optimization".

    Examples
    --------
    >>> from pocketkernel.lab.streams import digits
    >>> X, y = digits()
    >>> scores = OnlineLinear().predict_then_learn(X, y)
    >>> bool(((scores >= 0) == (y > 0)).mean() > 0.85)
    True
    """

    weights_: Scores

    def __init__(self, step: float = 0.5) -> None:
        self.step = step

    @property
    def nbytes(self) -> int:
        """Bytes of the weights and of their summed squared gradients."""
        return self.weights_.nbytes + self._squares.nbytes

    def predict_then_learn(self, X: Any, y: Any, classes: Any = None) -> Scores:
        """Score of each row before its label. Parameters as in the learners; X is dense."""
        X = np.asarray(X, dtype=float)
        signs = self._signs(y, classes)
        if not hasattr(self, "weights_"):
            self.weights_ = np.zeros(X.shape[1] + 1)
            self._squares = np.full(X.shape[1] + 1, 1e-8)
        w, squares = self.weights_, self._squares
        scores = np.empty(len(X))
        for t, (x, sign) in enumerate(zip(np.column_stack((X, np.ones(len(X)))), signs.tolist(), strict=True)):
            scores[t] = score = float(x @ w)
            slope = 0.5 * sign * (math.tanh(0.5 * sign * score) - 1)  # of ln(1 + exp(-sign score)), without overflow
            gradient = slope * x
            squares += gradient * gradient
            w -= self.step * gradient / np.sqrt(squares)
        return scores
