"""What scores mean."""

from typing import Any

import numpy as np
import numpy.typing as npt


def labels_of(scores: npt.NDArray[Any], classes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The label that each row's score means, of sorted classes.

    Parameters
    ----------
    scores : array of shape (n,) or (n, K)
        Of two classes one number, >= 0 for the larger label; of more a number each, the largest wins; of one class
        anything.
    classes : array of labels, sorted

    Examples
    --------
    >>> labels_of(np.array([-0.5, 0.0, 2.0]), np.array([-1, 1])).tolist()
    [-1, 1, 1]
    >>> labels_of(np.array([[0.1, 0.3, 0.2]]), np.array(["a", "b", "c"])).tolist()
    ['b']
    """
    if len(classes) == 1:
        return np.repeat(np.asarray(classes), len(scores))
    places = (scores >= 0).astype(int) if scores.ndim == 1 else np.argmax(scores, axis=1)
    return np.asarray(classes[places])
