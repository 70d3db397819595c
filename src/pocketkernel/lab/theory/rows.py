"""What theory reads: rows and labels that fit in memory, and the kernel between rows, in double precision."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist
from sklearn.utils import check_array

from pocketkernel import _core
from pocketkernel.kernels import KERNELS, Kernel
from pocketkernel.learners import check_labels
from pocketkernel.stream.block import is_sparse

Floats = npt.NDArray[np.float64]


def check_rows(X: Any) -> Any:
    """Rows as a float array or CSR matrix of finite numbers, or an error."""
    if not is_sparse(X) and np.ndim(X) != 2:
        raise ValueError(f"X has {np.ndim(X)} dimensions: give an array of shape (rows, features).")
    return check_array(X, accept_sparse="csr", dtype=(np.float64, np.float32), input_name="X")


def check_data(X: Any, y: Any) -> tuple[Any, Floats]:
    """Rows and labels -1 and 1, or an error."""
    rows, labels = check_rows(X), check_labels(y)
    if len(labels) != rows.shape[0]:
        raise ValueError(f"y has {len(labels)} labels for the {rows.shape[0]} rows of X: give one for each row.")
    strange = [label for label in np.unique(labels).tolist() if label not in (-1, 1)]
    if strange:
        raise ValueError(f"y has the label {strange[0]!r}: use only -1 and 1.")
    return rows, labels.astype(np.float64)


def check_kernels(kernels: Sequence[Kernel] | Kernel) -> tuple[Kernel, ...]:
    """At least one kernel, each with a parameter that makes sense."""
    some = (kernels,) if isinstance(kernels, Kernel) else tuple(kernels)
    if not some:
        raise ValueError("kernels is empty: use at least one kernel.")
    for kernel in some:
        if not isinstance(kernel, Kernel):
            raise ValueError(f"{kernel!r} is not a kernel: use one of {', '.join(map(str, KERNELS))}.")
        status = _core.check_kernel(kernel.family, kernel.parameter, kernel.order)
        if status != 0:
            raise ValueError("{!r}: {} {}.".format(kernel, *_core.describe(status)))
    return some


def dense(X: Any, dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
    """Rows as an array."""
    return np.asarray(X.toarray() if is_sparse(X) else X, dtype=dtype)


def directions(X: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Rows of length 1 whose products are cosines: a zero row points along an axis of its own.

    Examples
    --------
    >>> directions(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8, 0.0], [0.0, 0.0, 1.0]]
    """
    largest = np.abs(X).max(axis=1, initial=0)[:, None]
    zero = largest == 0
    scaled = X / np.where(zero, 1, largest)  # squares neither overflow nor vanish
    norms = np.sqrt(np.square(scaled).sum(axis=1, keepdims=True))
    return np.hstack((scaled / np.where(zero, 1, norms), zero)).astype(X.dtype, copy=False)


def gram(X: Any, Z: Any, kernel: Kernel) -> Floats:
    """kappa(x, z) for all rows x of X and z of Z.

    Examples
    --------
    >>> from pocketkernel.kernels import Gaussian
    >>> gram(np.array([[0.0], [2.0]]), np.array([[0.0]]), Gaussian(1)).round(4).tolist()
    [[1.0], [0.1353]]
    """
    X, Z = dense(X), dense(Z)
    if kernel.metric == "squared_distance":
        centre = Z.mean(axis=0)
        X, Z = X - centre, Z - centre
        halves = 0.5 * np.square(X).sum(axis=1)[:, None] + 0.5 * np.square(Z).sum(axis=1) - X @ Z.T
        metric = 2 * np.maximum(halves, 0)
    elif kernel.metric == "l1_distance":
        metric = cdist(X, Z, "cityblock")
    else:
        metric = np.clip(directions(X) @ directions(Z).T, -1, 1)
    return np.asarray(kernel.at(metric), dtype=np.float64)
