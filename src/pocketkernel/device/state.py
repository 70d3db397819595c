"""A model brought back from a device."""

from dataclasses import replace
from typing import Any

import numpy as np

from pocketkernel.device.model import HEADER_BYTES, Exported, checksum, exported, figures_of
from pocketkernel.learners import contents_of, restored
from pocketkernel.model_file import ModelFileError
from pocketkernel.stream import Scaler


def from_bytes(model: Any, state: bytes) -> Any:
    """The model as a device has left it: what `model` would be if it had learned the device's rows itself.

    Parameters
    ----------
    model : estimator, what `load` returns, or path of a model file or of a run's folder
        The model that was exported, or one with the same parameters. It is not changed.
    state : bytes
        What `pk_save` has written.

    Returns
    -------
    estimator
        Continues exactly where the device stopped. If the project also scales rows, `scaler_from_bytes` gives the
        scaler.
    """
    known = exported(model)
    learner, _ = restored(replace(contents_of(known.learner), state=_parts(known, state)[0]))
    return learner


def scaler_from_bytes(model: Any, state: bytes) -> Scaler:
    """The scaler of a run as a device has left it; parameters as for `from_bytes`."""
    known = exported(model)
    if known.scaler is None:
        raise ValueError("this model has no scaler.")
    words = _parts(known, state)[1]
    figures = np.frombuffer(words[8:-8], "<f8").astype(np.float64).reshape(-1, known.recipe.features)
    learned = known.scaler.get_state()
    learned |= dict(zip(figures_of(known.scaler), figures.copy(), strict=True))
    learned["count"] = np.array(int.from_bytes(words[:8], "little"))
    return type(known.scaler)().set_state(learned)


def _parts(known: Exported, state: bytes) -> tuple[bytes, bytes]:
    """The state of the learner and that of the scaler."""
    own, whole = len(contents_of(known.learner).state), len(known.state)
    if len(state) != whole:
        raise ModelFileError(f"the state of this model has {whole} bytes, but {len(state)} were given.")
    learner, scaler = bytes(state[:own]), bytes(state[own:])
    if scaler and scaler[-8:] != checksum(learner[:HEADER_BYTES] + scaler[:-8]):
        raise ModelFileError("the state is damaged: the checksum of its scaler is wrong.")
    return learner, scaler
