"""Parameters as fields, from which `__init__` is made, and the texts of those that several learners have."""

import re
from dataclasses import dataclass, field
from textwrap import indent
from typing import TypeVar, dataclass_transform

SHARED = """\
kernels : kernel or list of kernels, default=None
    The kernels to combine; None means the paper's five Gaussians of widths 1/4, 1, 4, 16, 64.
budget : int, default=None
    B, the number of examples that a buffer stores, at least 2 (LKMBooks: 1); None means 400 unless `memory` is given.
memory : int or str, default=None
    Bytes instead of `budget`, such as 65536 or "64KiB": the largest B that fits is chosen.
step : float, default=1.0
    c of the step size lambda = c U / sqrt(B), positive. The paper tries 2, 1 and 0.5.
norm_bound : float, default=None
    U, the largest RKHS norm of a hypothesis, positive; None means sqrt(B).
reservoir : int, default=10
    M, the number of examples in the reservoir.
horizon : float, default=1e9
    Number of rounds for which the archive of past reservoir members is sized: it has room for
    M (1 + ceil(ln(horizon))) examples. More rounds are possible; members that no longer fit are counted as
    overflowed.
removal : {"half", "restart", "oldest", "eager"}, default="half"
    What is removed from a full buffer before the next example enters: half of it (M-OMD-S: the older half; M-OMD-H: the
    newer half), everything, or only the oldest example. "eager" removes the half as soon as the buffer is full.
loss : {"logistic", "hinge", "smooth_hinge"}, default="logistic"
    The loss.
dtype : {"float32", "float64"}, default="float32"
    Precision of everything that is stored, and of arithmetic.
storage : {None, "float16", "bfloat16"}, default=None
    How rows are stored: as `dtype`, or rounded to 16 bits, so that almost twice as many rows fit. float16 is more
    precise but limited to 65504; bfloat16 is less precise and has float32's range. Arithmetic stays in float32.
n_classes : int, default=None
    How many labels to reserve room for, from 2 to 10,000; memory and time grow with it. None means the labels of
    the first call, and at least two. A label that arrives later is learned as long as there is room.
class_weight : {None, "balanced"} or dict, default=None
    Factor of the weights of a class's rows, such as {"ham": 1, "spam": 5}; a label that is not in it has 1.
    "balanced" means the inverse of the class's share in the rows: in all rows in `fit`, in the rows so far in
    `partial_fit`. It is multiplied with `sample_weight`.
shuffle : bool, default=True
    Whether `fit` learns the rows in random order, seeded by `random_state`. `partial_fit` and `predict_then_learn`
    never change the order.
epochs : int or "auto", default=1
    How often `fit` goes through the rows; "auto" means as many passes as give 3,000 rounds, from 1 to 10. Later passes
    only teach: counters of rows, mistakes and loss, intervals and certificates (and the weights of kernels, except in
    LKMBooks and Raker) are those of the first pass, in which every row was new.
n_jobs : int, default=None
    Maximum number of threads that score a block, at most one per core; -1 means all cores, None means the value of
    POCKETKERNEL_NUM_THREADS or OMP_NUM_THREADS, or all cores if neither is set. Each thread needs temporary memory
    for a few rows.
random_state : int, NumPy generator or None, default=None
    Seed of all random draws, and of the order of the rows in `fit`.
classes_ : array
    The labels in ascending order; of two, the first is the negative one.
budget_ : int
    The B that is used.
kernel_weights_ : array
    Weight of each kernel in the mixture; they sum to 1.
diagnostics_ : Bunch
    Counters of the learner; see the property.
nbytes : int
    Total bytes of the learner: the size that `plan` gives, constant from the first row on.
"""
_TEXTS = {text.partition(" : ")[0]: text for text in re.findall(r"^\w.*\n(?: .*\n)+", SHARED, re.MULTILINE)}

Class = TypeVar("Class", bound=type)


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def with_parameters(class_: Class) -> Class:
    """The fields of an estimator become its parameters. A line of names in its docstring stands for their texts."""
    dataclass(kw_only=True, eq=False, repr=False)(class_)

    def texts(line: re.Match[str]) -> str:
        names = line[1].split(", ")
        return indent("".join(_TEXTS[name] for name in names), "    ") if set(names) <= _TEXTS.keys() else line[0]

    class_.__doc__ = re.sub(r"^    (\w+(?:, \w+)*)\n", texts, class_.__doc__ or "", flags=re.MULTILINE)
    return class_
