"""PocketClassifier: the recommended learner."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import Bunch

from pocketkernel._alone import together
from pocketkernel.certificate import Bound, Guarantee, MixtureSums, mixture_regret
from pocketkernel.certificate.certificate import ROUNDING
from pocketkernel.certificate.mixture import RADIUS
from pocketkernel.kernels import Gaussian, Kernel, Laplacian, Linear, Matern32, Polynomial
from pocketkernel.learners._base import OnlineKernelClassifier
from pocketkernel.learners._coding import Coding
from pocketkernel.learners._described import with_parameters
from pocketkernel.learners._learner import ANSWERS, Scores
from pocketkernel.learners._parameters import flag
from pocketkernel.learners._pocket import ROOM, WIDTHS, Pocket
from pocketkernel.learners._recipe import Recipe

WIDE = 64
"""Columns from which rows may be sparse in the core."""

LEAST_BLOCK = 48 * 1024
"""Bytes of frequencies of two classes before a ring of rows and ferns pay for what they take of them."""

FIRST_SHARES = ((0.10, 0.20), (0.25, 0.15))
"""Parts of the shared memory with which ring and ferns begin, of two classes and of more."""

LEAST_ADDITIVE = 16
"""Functions of single columns take part if the frequencies have at least so many times their bytes."""

RING, FERNS, ADDITIVE, SLOW, LAG = Laplacian(1.0), Polynomial(4), Matern32(1.0), Polynomial(1), Linear()
"""Experts that are not kernels: in a recipe, which lists kernels, these stand for them, as the core reads it."""

EVENTS = ("classes exchanged", "confidence lost", "column changed")
"""Kinds of events, as the core numbers them."""

CHANGES = (None, "another level", "larger unit or spread", "smaller unit or spread")
"""What has changed in a column, as the core numbers it."""

EXPERTS = {"ring": "nearest rows", "lag": "last labels"}
"""Experts that are no kernels, as people read them."""


class Event(NamedTuple):
    """A change of the stream.

    Attributes
    ----------
    row : int
        The number of the row that made it sure, from 1; rows of weight 0 do not count.
    kind : str
        "classes exchanged", "confidence lost" or "column changed".
    column : str or int, default=None
        Name of the column that changed, or its place if columns have no names.
    change : str, default=None
        What changed in it: "another level", "larger unit or spread" or "smaller unit or spread".
    """

    row: int
    kind: str
    column: str | int | None = None
    change: str | None = None


@with_parameters
class PocketClassifier(Pocket, OnlineKernelClassifier):
    """A classifier for streams, in a fixed number of bytes, with nothing to tune.

    Scales every column using the rows seen so far; trains several experts in parallel: a linear model, random features
    of six kernel widths, the nearest of the last rows, small tables over thresholds of columns (ferns), a sum of
    functions of single columns (for wide rows a second linear model, which learns slowly), and the last labels; mixes
    their scores by Newton steps; and gives more memory to the experts that predict well. It detects changes of the
    stream and then learns faster; when a column changes its units or its level, its scale is estimated again. NaN (null
    in a data frame) is a missing value: it counts as the typical value of its column, and ferns learn what it says.
    Supports two or more classes. Row weights are relative: a row counts in proportion to its weight divided by the
    geometric mean of about the last 4,096 weights, at most 16 times. ``docs/pocket_classifier.md`` explains the design
    and its guarantees.

    Parameters
    ----------
    memory : int or str, default="64KiB"
        Total bytes that the learner may use, such as 65536 or "64KiB".
    lag : bool, default=True
        Whether an expert on the last three labels, and on their running mean, takes part in the mixture. It predicts
        the row after the last label that has arrived, which is right for the next row of a stream whose labels depend
        on earlier ones, also if labels come late. Every row of a block is predicted as if it were that row: ask for
        ``predict(X, continues=False)`` if the rows do not follow the learned ones, and set this to False if the order
        of labels should not matter at all.
    dtype, n_classes, class_weight, shuffle
    epochs : int or "auto", default="auto"
        How often `fit` goes through the rows; "auto" means as many passes as give 3,000 rounds, from 1 to 10.
        Later passes only teach the experts: counters of rows, mistakes and loss, certificates and the weights of the
        mixture are those of the first pass, in which every row was new.
    n_jobs, random_state

    Attributes
    ----------
    classes_
    budget_ : int
        Frequencies that would fit into the memory if other experts had none of it.
    kernel_weights_ : array
        How much each expert counts in the mixture: the linear one first, then the widths, then ring and ferns (for more
        than two classes, or if there are fewer than 64 columns and about 60 KiB of memory), then the functions of
        single columns (if there are fewer than 64 and they take at most a 16th of the frequencies' memory) or the slow
        linear one (for two classes and 64 columns or more), then the last labels (if `lag`). `shares_` has the same
        numbers by name.
    column_relevance_ : array
        How much each column counts in the kernels' distances, 1 in the (geometric) mean: an explanation.
    events_, shares_, memory_shares_, frequencies_, diagnostics_, nbytes
        See the properties. ``diagnostics_.stored`` has the frequencies of each width, rows of the ring, ferns,
        and columns that have a function.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from pocketkernel import PocketClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = PocketClassifier(memory="64KiB", random_state=0)
    >>> scores = model.predict_then_learn(X, y)  # each row is scored before its label is used
    >>> bool((scores.argmax(axis=1) == y).mean() > 0.9)
    True
    >>> model.nbytes <= 64 * 1024
    True
    """

    lag: bool = True
    n_classes: int | None = None
    epochs: int | str = "auto"

    _learner = "pocket_classifier"
    _multiclass = True

    def predict_then_learn_answers(self, X: Any, y: Any) -> Scores | None:
        """As `predict_then_learn`; returns what the scores of each row say, which the learner computes anyway.

        For more than two classes. Returns, for each row, the place of its label in `classes_`, those of the predicted
        class, of the linear part's, and of the one that is predicted without the last labels; the probability of the
        predicted one, and the log loss. Returns None, and learns nothing, if nothing was learned before or a label is
        new.

        Examples
        --------
        >>> import numpy as np
        >>> model = PocketClassifier(random_state=0).partial_fit(np.eye(3), [0, 1, 2])
        >>> predicted = model.predict(np.eye(3))
        >>> answers = model.predict_then_learn_answers(np.eye(3), np.arange(3))
        >>> answers[:, 0].tolist(), bool(predicted[0] == answers[0, 1])
        ([0.0, 1.0, 2.0], True)
        """
        coding: Coding | None = self.__dict__.get("_coding")
        if coding is None or len(coding.classes) <= 2 or not coding.in_order or not coding.covers(y):
            return None
        if self.class_weight is None and self._takes_as_it_is(X):
            answers, labels = np.empty((len(X), ANSWERS)), coding.at_once(y)
            if labels is not None:
                status = self._core.learn_dense(X, labels, None, None, coding.numbers, None, answers)
                if status == 0:
                    return answers
        told: list[Scores] = []
        self._feed(X, y, None, None, restart=False, answers=told)
        return told[0]

    def predict_then_learn_parts(self, X: Any, y: Any, classes: Any = None) -> tuple[Scores, Scores, Scores]:
        """As `predict_then_learn_both`; returns the scores without the last labels as well.

        They are those of the same mixture without the expert on the last labels, as
        ``decision_function(X, continues=False)`` gives them: what is known about a row that does not follow the ones
        before.

        Examples
        --------
        >>> import numpy as np
        >>> y = np.repeat([0, 1] * 50, 20)  # labels come in runs, and the rows say nothing about them
        >>> X = np.random.default_rng(0).normal(size=(len(y), 2))
        >>> scores, _, apart = PocketClassifier(random_state=0).predict_then_learn_parts(X, y)
        >>> [bool(((part >= 0) == y).mean() > 0.9) for part in (scores, apart)]
        [True, False]
        """
        linear: list[Scores] = []
        apart: list[Scores] = []
        scores = self._feed(X, y, classes, None, restart=False, linear=linear, apart=apart)
        return scores, linear[0], apart[0]

    @property
    def events_(self) -> list[Event]:
        """The last changes of the stream that were noticed, at most seven: row, kind, and of columns which and what.

        "classes exchanged": the two classes have changed places. "confidence lost": the mixture was wrong too often for
        its confidence, so steps are long again. "column changed": a column has other units or another level, or has
        come to life, after 256 rows or more (columns that change within 1,000 rows of each other are one event, which
        names the first).
        """
        names = self.__dict__.get("feature_names_in_")
        return [
            Event(row, EVENTS[kind], column if names is None else str(names[column]), CHANGES[change])
            if change
            else Event(row, EVENTS[kind])
            for row, kind, column, change in self._fitted().events()[1]
        ]

    @property
    def shares_(self) -> dict[str, float]:
        """How much each expert counts in the mixture, by name. The sum is 1."""
        return dict(zip(self._short_names(self._recipe.kernels), map(float, self.kernel_weights_), strict=True))

    @classmethod
    def _short_names(cls, kernels: tuple[Kernel, ...]) -> list[str]:
        names = ["linear", *(f"width {kernel.width:g}" for kernel in kernels if isinstance(kernel, Gaussian))]
        names += ["ring", "ferns"] if cls._has_block(kernels) else []
        names += ["additive"] if ADDITIVE in kernels else []
        names += ["slow linear"] if SLOW in kernels else []
        return names + (["lag"] if len(kernels) > len(names) else [])

    @property
    def memory_shares_(self) -> dict[str, int]:
        """Bytes of the memory that experts share: frequencies of the kernels, ring of rows, ferns."""
        return dict(zip(("frequencies", "ring", "ferns"), map(int, self._fitted().shares()), strict=True))

    @property
    def diagnostics_(self) -> Bunch:
        """Counters of the learner, as of every learner; and events, as `events_`, with event_count, of all so far."""
        with together(self._fitted()):
            return Bunch(**super().diagnostics_, events=self.events_, event_count=self._fitted().events()[0])

    def _guarantee(self, done: Bunch, delta: float) -> Guarantee:
        names, evidence = [EXPERTS.get(name, name) for name in self.shares_], self._fitted().evidence()
        if not evidence:
            return Guarantee(None, "In this little memory it is only a linear model: there is no mixture to bound.")
        sums = MixtureSums.of(evidence, len(names))
        own = float(done.cumulative_loss)
        regrets = tuple(zip(names, (own - sums.losses).tolist(), strict=True))
        return Guarantee(
            theorem="The bound of its mixture",
            against=(
                f"The regret is relative to every mixture of the experts with weights of norm at most {RADIUS:g}; "
                "against each expert alone it is known exactly. Experts count as they were after an exchange of "
                "classes. How well they compare with other functions is not said."
            ),
            bound=Bound({"all": mixture_regret(sums)}, (), "always, whatever the rows are"),
            unknown=(ROUNDING,),
            experts=regrets,
        )

    def _fit_into(self, recipe: Recipe, memory: int) -> None:
        flag("lag", self.lag)
        super()._fit_into(recipe, memory)

    def _plan_experts(self, recipe: Recipe) -> tuple[tuple[str, int, str], ...]:
        functions, size = 1 if recipe.classes == 2 else recipe.classes, 8 if recipe.doubles else 4
        lanes, owners = 64 // size, sum(isinstance(kernel, Gaussian) for kernel in recipe.kernels) - 1
        columns = (recipe.features, "columns")
        tiles, counts = recipe.budget // lanes, {"lag": (3, "labels")}
        counts |= dict.fromkeys(("linear", "additive", "slow linear"), columns)
        if self._has_block(recipe.kernels):
            # As the core begins: frequencies in tiles, ferns, and the ring in pages of 16 rows.
            tile = lanes * ((4 * functions + 1 + (recipe.features >= WIDE)) * size + recipe.features)
            fern, row = (16 * functions + 4) * size + 8, recipe.features + 1 + (recipe.classes > 256)
            whole, (share_of_ring, share_of_ferns) = recipe.budget * tile // lanes, FIRST_SHARES[functions > 1]
            ferns = int(whole * share_of_ferns / fern)
            tiles = int((whole * (1 - share_of_ring) - whole * share_of_ferns) / tile + 0.5)
            pages = (whole - tiles * tile - ferns * fern) // (16 * row)
            counts |= {"ring": (16 * pages, "rows"), "ferns": (ferns, "tables")}
        # A tile serves the width that owns it, and the next narrower one.
        owned = [0, *(len(range(owner, tiles, owners)) for owner in range(owners)), 0]
        widths = iter(lanes * (one + other) for one, other in pairwise(owned))
        names = self._short_names(recipe.kernels)
        return tuple((name, *counts[name]) if name in counts else (name, next(widths), "frequencies") for name in names)

    def _choices(self, recipe: Recipe) -> list[tuple[int, tuple[Kernel, ...]]]:
        functions, size = 1 if recipe.classes == 2 else recipe.classes, 8 if recipe.doubles else 4
        bytes_of_one, all_widths = recipe.features + (4 * functions + 1) * size, ROOM[0][0]
        additive = max(all_widths, LEAST_ADDITIVE * 16 * functions * size * recipe.features // bytes_of_one)
        block, lag = (RING, FERNS), (LAG,) if self.lag else ()
        wide = recipe.features >= WIDE
        always = block if recipe.classes > 2 else (SLOW,) if wide else ()
        choices = [(least, (Linear(), *((*widths, *always, *lag) if widths else ()))) for least, widths in ROOM]
        if not wide:
            choices.insert(0, (additive, (Linear(), *WIDTHS, *always, ADDITIVE, *lag)))
        if recipe.classes == 2 and not wide:
            least = max(all_widths, LEAST_BLOCK // bytes_of_one)
            choices.insert(0, (least, (Linear(), *WIDTHS, *block, *lag)))
            choices.insert(0, (max(least, additive), (Linear(), *WIDTHS, *block, ADDITIVE, *lag)))
        return choices

    @staticmethod
    def _has_block(kernels: tuple[Kernel, ...]) -> bool:
        """Whether a ring of rows and ferns share the memory of the frequencies."""
        return RING in kernels
