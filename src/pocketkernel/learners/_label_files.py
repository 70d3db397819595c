"""Labels as JSON in a model file: their values, and where they differ from the order of places, their places."""

import re
import reprlib
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from pocketkernel.learners._class_weights import Counts
from pocketkernel.learners._coding import Coding
from pocketkernel.model_file import ModelFileError, is_plain

MOST_LABEL_BYTES = 2**24

_DTYPE = re.compile(r"[<>|]([biuf])[1248]|[<>](U)([0-9]{1,8})|\|(O)")
_TYPES = {"b": bool, "i": int, "u": int, "f": float, "U": str, "O": str}


def write_labels(labels: npt.NDArray[Any]) -> dict[str, Any]:
    """Labels as their dtype and values."""
    values = [str(label) if isinstance(label, str) else label for label in labels.tolist()]
    written = {"dtype": labels.dtype.str, "values": values}
    try:
        read_labels(written)
    except ModelFileError:
        raise ValueError(
            f"the labels {reprlib.repr(labels.tolist())} of dtype {labels.dtype} cannot be written to a file: use "
            "(shorter) strings or numbers."
        ) from None
    return written


def read_labels(written: Any) -> npt.NDArray[Any]:
    """Labels from their dtype and values: numbers or strings, sorted, no two alike."""
    if isinstance(written, dict) and written.keys() == {"dtype", "values"}:
        dtype, values = written["dtype"], written["values"]
        match = _DTYPE.fullmatch(dtype) if isinstance(dtype, str) else None
        if match and isinstance(values, list) and len(values) * 4 * int(match[3] or 2) <= MOST_LABEL_BYTES:
            type_ = _TYPES[match[1] or match[2] or match[4]]
            if all(type(value) is type_ and is_plain(value) for value in values) and values == sorted(set(values)):
                with suppress(OverflowError, TypeError, ValueError):
                    labels = np.array(values, dtype=np.dtype(dtype))
                    if labels.dtype.str == dtype and labels.tolist() == values:
                        return labels
    raise ModelFileError(f"the model file has invalid labels, {reprlib.repr(written)}.")


def write_coding(coding: Coding, counts: Counts) -> dict[str, Any]:
    """Labels, their places if they arrived in another order, and how often each was learned if that was counted."""
    written = write_labels(coding.classes)
    if not coding.in_order:
        written["places"] = coding.places.tolist()
    if counts.any():
        written["counts"] = [f"{count:020d}" for count in counts[coding.places].tolist()]  # a fixed number of digits
    return written


def read_coding(written: Any, room: int) -> tuple[Coding, Counts]:
    """The same from a file of a learner with room for so many classes."""
    given = dict(written) if isinstance(written, dict) else {}
    places, digits = given.pop("places", None), given.pop("counts", None)
    labels = read_labels(given)
    if not 1 <= len(labels) <= room:
        raise ModelFileError(f"the model file has {len(labels)} labels, but a recipe for {room}.")
    counts = np.zeros(room, dtype=np.int64)
    good = places is None or (
        isinstance(places, list)
        and all(type(place) is int and 0 <= place < room for place in places)
        and len(set(places)) == len(places) == len(labels)
    )
    if good:
        coding = Coding(labels, room, places)
        if digits is None:
            return coding, counts
        if (
            isinstance(digits, list)
            and len(digits) == len(labels)
            and all(isinstance(count, str) and re.fullmatch("0[0-9]{19}", count) for count in digits)
            and sum(map(int, digits)) < 2**62
        ):
            counts[coding.places] = [int(count) for count in digits]
            return coding, counts
    raise ModelFileError(f"the model file has invalid labels, {reprlib.repr(written)}.")
