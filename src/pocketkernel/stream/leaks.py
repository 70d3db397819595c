"""Columns that tell the label by themselves: it once more, or something that is known only afterwards."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pocketkernel.stream.infer import FEWEST_ROWS, Guess, Sample

LOOKED_AT = 2000  # rows, taken evenly from the first ones
FEWEST_ODD = 20  # rows among them that a constant answer would get wrong, or nothing can be said
DECIDED = 0.02  # of them, the share that a column which decides the label may get wrong
SAME_ORDER = 0.999  # rank correlation with a label that is a quantity
NAMED = 3  # columns

Codes = npt.NDArray[np.int64]
Labels = npt.NDArray[np.float64] | Codes


def leaks(label: Guess, used: Sequence[Guess], sample: Sample) -> list[str]:
    """Remarks on columns from which the label can be read off: classes, or the order of quantities."""
    if len(label.texts) < FEWEST_ROWS:
        return []
    copies = [guess.name for guess in used if guess.texts == label.texts]
    found = [
        f"The column {name!r} has the same values as the label, so that nothing is left to predict; without it: "
        f"--drop {name!r}."
        for name in copies
    ]
    rows = _rows(label, sample)
    target, is_quantity = _target(label, rows)
    odd = 1.0 if is_quantity else 1 - np.bincount(target.astype(np.int64)).max(initial=0) / max(1, len(rows))
    if odd * len(rows) < FEWEST_ODD:
        return found
    others = [guess for guess in used if guess.name not in copies]
    if is_quantity:
        telling = [guess.name for guess in others if _has_the_order(guess, sample, rows, target)]
    else:
        telling = [guess.name for guess in others if _wrong(guess, sample, rows, target) <= DECIDED * odd]
    if telling:
        names = ", ".join(map(repr, telling[:NAMED])) + (f" and {len(telling) - NAMED} more" * (len(telling) > NAMED))
        found.append(
            f"{'The column' if len(telling) == 1 else 'Each of the columns'} {names} decides the label alone: if it is "
            f"known only when the label is, leave it out with --drop {telling[0]!r}."
        )
    return found


def _rows(label: Guess, sample: Sample) -> Codes:
    """Rows that have a label, evenly from all; in random order, so that neither order nor ties tell anything."""
    levels = label.levels
    there = np.array([row for row, text in enumerate(label.texts) if text in levels], np.int64)
    some = there[:: max(1, -(-len(there) // LOOKED_AT))]
    return np.random.default_rng(0).permutation(some)


def _target(label: Guess, rows: Codes) -> tuple[Labels, bool]:
    """The labels of these rows, as numbers of classes, or as they are if they are quantities."""
    known = label.values()
    is_quantity = known.dtype.kind == "f" and len(label.levels) > len(known) ** 0.5
    texts = [label.texts[row] for row in rows.tolist()]
    if is_quantity:
        order = dict(zip(label.levels.elements(), known.tolist(), strict=True))
        return np.array([order[str(text)] for text in texts]), True
    return _codes(texts), False


def _codes(texts: Sequence[str | None]) -> Codes:
    known: dict[str | None, int] = {}
    return np.array([known.setdefault(text, len(known)) for text in texts], np.int64)


def _wrong(guess: Guess, sample: Sample, rows: Codes, target: Labels) -> float:
    """Share of rows whose class is not that of one with the same level, or the next number; 1 if too few have one."""
    is_number = guess.role == "number" and guess.name in sample.numbers
    if is_number:
        values: Labels = np.nan_to_num(sample.numbers[guess.name][rows], nan=-np.inf)
    elif guess.role in ("category", "boolean"):
        values = _codes([guess.texts[row] for row in rows.tolist()])
    else:
        return 1.0
    order = np.argsort(values, kind="stable")
    wrong = target[order][1:] != target[order][:-1]
    if not is_number:
        wrong = wrong[values[order][1:] == values[order][:-1]]
    return float(wrong.mean()) if 2 * len(wrong) >= len(rows) else 1.0


def _has_the_order(guess: Guess, sample: Sample, rows: Codes, target: Labels) -> bool:
    """Whether numbers ascend or descend with the label."""
    if guess.role != "number" or guess.name not in sample.numbers:
        return False
    values = np.nan_to_num(sample.numbers[guess.name][rows], nan=-np.inf)
    if len(np.unique(values)) < len(np.unique(target)) / 2:
        return False
    ranks = np.array([np.unique(one, return_inverse=True)[1] for one in (values, target)])
    return bool(abs(np.corrcoef(ranks)[0, 1]) >= SAME_ORDER)
