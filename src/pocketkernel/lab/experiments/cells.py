"""A cell of an experiment: one learner with one setting on one permutation of one data set."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from time import thread_time
from typing import Any

import numpy as np

from pocketkernel import MOMDH, MOMDS, LKMBooks, Raker, gaussians
from pocketkernel.evaluate import progressive
from pocketkernel.lab.experiments.data import Data, load, locate
from pocketkernel.lab.experiments.k_buffers import KBuffers

SLIPPED = gaussians([2.0**-2, 2.0**-2, 2.0**0, 2.0**4, 2.0**10])
"""Widths of the published Raker: the authors' script divides the projections by each width in turn, in place, so that
kernel i gets the product of the first i."""

CLASSES = (-1, 1)

Setting = tuple[tuple[str, int | float | str], ...]


@dataclass(frozen=True)
class Cell:
    """What to run. The same description always gives the same outcome, but for its seconds.

    Attributes
    ----------
    data_set : str
        One of the paper's names.
    learner : str
        A key of `LEARNERS`.
    loss : str
        "hinge" or "logistic".
    budget : int
        B or D.
    setting : pairs of name and value
        The learner's other parameters. Those that depend on the length T of the stream are given without it:
        ``log10_rate`` of Raker stands for ``rate = 10^log10_rate / sqrt(T)``.
    permutation : int
        Seed of the order of the rows, and of the learner.
    dtype : {"float32", "float64"}
        Precision of the rows and of the learner.
    """

    data_set: str
    learner: str
    loss: str
    budget: int
    setting: Setting
    permutation: int
    dtype: str = "float32"

    @property
    def description(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return asdict(self) | {"setting": dict(self.setting)}

    @property
    def label(self) -> str:
        """The setting, for people."""
        return label(self.setting)


def label(setting: Setting) -> str:
    """A setting, for people.

    Examples
    --------
    >>> label((("log10_rate", -1), ("regularization", 0.05))), label((("nu", 1 / 3),))
    ('eta=1e-1/sqrt(T) mu=0.05', 'nu=1/3')
    """
    known: dict[str, Callable[[Any], str]] = {
        "step": lambda c: f"c={c:g}",
        "nu": lambda nu: f"nu=1/{1 / nu:g}",
        "log10_rate": lambda e: f"eta=1e{e:+d}/sqrt(T)",
        "regularization": lambda mu: f"mu={mu:g}",
    }
    return " ".join(known[name](value) if name in known else f"{name}={value}" for name, value in setting)


@dataclass(frozen=True)
class Outcome:
    """What came out of a cell.

    Attributes
    ----------
    rows, mistakes : int
        Length of the stream, and rows whose label was not that of the score made before it.
    loss : float
        Cumulative loss of the scores.
    seconds : float
        CPU time of the one thread that scores and learns: what a clock shows on an idle core, and what other work
        on the machine changes little.
    nbytes, budget : int
        Memory of the learner, and its B or D as it was chosen.
    alignment : float or None
        The smallest A_i over the kernels, M-OMD-H only.
    additions, proxies, removals : int
        Over all kernels.
    refused : str
        Why the learner could not be built in the memory it was to have; then the other numbers are 0.
    """

    rows: int
    mistakes: int = 0
    loss: float = 0.0
    seconds: float = 0.0
    nbytes: int = 0
    budget: int = 0
    alignment: float | None = None
    additions: int = 0
    proxies: int = 0
    removals: int = 0
    refused: str = ""

    @property
    def mistake_rate(self) -> float:
        """Mistakes in percent."""
        return 100 * self.mistakes / self.rows


def run_cell(cell: Cell, folder: str | Path | None = None) -> Outcome:
    """Run a cell on the data set's file, found as the catalogue finds it."""
    path = locate(cell.data_set, folder)
    return run_on(cell, load(cell.data_set, path.parent, cell.dtype).permuted(cell.permutation))


def run_on(cell: Cell, data: Data) -> Outcome:
    """Run a cell on its permutation of its data set."""
    rows, features = data.X.shape
    try:
        model = LEARNERS[cell.learner](cell, rows, features)
        began = thread_time()
        *_, progress = progressive(model, data.X, data.y, block=rows, classes=CLASSES)
        seconds = thread_time() - began
    except TooFewBytesError as refusal:
        return Outcome(rows, refused=str(refusal))
    done = model.diagnostics_
    return Outcome(
        rows=rows,
        mistakes=progress.mistakes,
        loss=float(done.cumulative_loss),
        seconds=round(seconds, 6),
        nbytes=model.nbytes,
        budget=model.budget_,
        alignment=float(np.min(done.alignment_proxy)) if isinstance(model, MOMDH) else None,
        additions=int(done.additions),
        proxies=int(done.proxies),
        removals=int(done.removals),
    )


# ---- from a description to a learner ---------------------------------------------------------------------------------


class TooFewBytesError(ValueError):
    """A number of bytes is too small for a learner."""


def _common(cell: Cell) -> dict[str, Any]:
    return dict(cell.setting) | {"dtype": cell.dtype, "random_state": cell.permutation, "n_jobs": 1}


def _m_omd_s(cell: Cell, rows: int, features: int) -> Any:
    return MOMDS(budget=cell.budget, loss=cell.loss, **_common(cell))


def _m_omd_h(cell: Cell, rows: int, features: int) -> Any:
    return MOMDH(budget=cell.budget, **_common(cell))


def _lkm_books(cell: Cell, rows: int, features: int) -> Any:
    return LKMBooks(budget=cell.budget, loss=cell.loss, horizon=rows, **_common(cell))


def _raker(cell: Cell, rows: int, features: int) -> Any:
    parameters = _common(cell)
    rate = 10.0 ** parameters.pop("log10_rate") / math.sqrt(rows)
    return Raker(features=cell.budget, loss=cell.loss, rate=rate, **parameters)


def _slipped_raker(cell: Cell, rows: int, features: int) -> Any:
    return _raker(cell, rows, features).set_params(kernels=SLIPPED)


# The two below get the bytes that M-OMD-S takes with the cell's budget, whatever budget of their own that means.


def _bytes_of_m_omd_s(cell: Cell, features: int) -> int:
    model = MOMDS(budget=cell.budget, dtype=cell.dtype)
    return model.partial_fit(np.zeros((1, features)), [1], classes=CLASSES).nbytes


def _built(model: Any, features: int) -> Any:
    """The model with its memory taken, nothing learned yet that counts."""
    try:
        return model.partial_fit(np.zeros((1, features)), [1], classes=CLASSES)
    except ValueError as error:
        raise TooFewBytesError(str(error)) from None


def _k_buffers(cell: Cell, rows: int, features: int) -> Any:
    share = _bytes_of_m_omd_s(cell, features) // KBuffers.K
    single = _built(MOMDS(kernels=KBuffers.kernels[:1], memory=share, dtype=cell.dtype), features)
    return KBuffers(budget=single.budget_, nbytes=KBuffers.K * single.nbytes, **_common(cell))


def _m_omd_h_in_bytes(cell: Cell, rows: int, features: int) -> Any:
    model = MOMDH(memory=_bytes_of_m_omd_s(cell, features), horizon=rows, **_common(cell))
    _built(model, features)
    return MOMDH(**model.get_params())


LEARNERS: dict[str, Callable[[Cell, int, int], Any]] = {
    "M-OMD-S": _m_omd_s,
    "M-OMD-H": _m_omd_h,
    "LKMBooks": _lkm_books,
    "Raker": _raker,
    "Raker, published slip": _slipped_raker,
    "K buffers": _k_buffers,
    "M-OMD-H in the bytes of M-OMD-S": _m_omd_h_in_bytes,
}
