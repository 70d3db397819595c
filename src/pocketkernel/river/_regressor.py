"""A regressor of pocketkernel as a River model."""

from collections.abc import Iterator
from numbers import Real
from reprlib import repr as short
from typing import Any

import numpy as np
from river import base

from pocketkernel.learners import PocketRegressor
from pocketkernel.river._adapter import Adapter
from pocketkernel.river._columns import Features, Floats, pandas


class KernelRegressor(Adapter, base.MiniBatchRegressor):
    """A PocketRegressor as a River regressor: one dict of features at a time, in a fixed number of bytes.

    Parameters
    ----------
    learner : PocketRegressor, default=None
        The learner; None means `PocketRegressor()`. It is copied, never changed. Leave its `random_state` at None.
    width : int, default=64
        Number of columns, from 1 to 1,000,000. The first `width` names get a column each; later ones share columns.
        Text counts as a name, as in `KernelClassifier`.
    seed : int, default=None
        Seed of the learner, in place of its `random_state`.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from pocketkernel import PocketRegressor
    >>> from pocketkernel.river import KernelRegressor
    >>> model = KernelRegressor(PocketRegressor(memory="16KiB"), width=6, seed=0)
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE()).get() < 0.5
    True
    """

    _takes = PocketRegressor
    _usual = PocketRegressor()

    def __init__(self, learner: PocketRegressor | None = None, *, width: int = 64, seed: int | None = None) -> None:
        super().__init__(learner, width=width, seed=seed)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"learner": PocketRegressor(memory="16KiB")}

    def predict_one(self, x: Features) -> Any:
        """The number predicted for the features x; 0 before the first row was learned."""
        return self._score(x)

    def predict_many(self, X: Any) -> Any:
        """The numbers predicted for the rows of a pandas DataFrame, as a Series with its index."""
        return pandas().Series(self._scores(self._read_frame(X), len(X)), index=X.index, name=self._y_name, dtype=float)

    def _code(self, y: Any) -> Floats | None:
        return np.array([y], dtype=np.float64) if type(y) is float or type(y) is int else None

    def _read(self, targets: list[Any]) -> tuple[Floats, None]:
        for y in targets:
            if isinstance(y, bool) or not isinstance(y, Real):
                raise ValueError(f"y={short(y)} is not a number: a regressor predicts numbers.")
        return np.array(targets, dtype=np.float64), None
