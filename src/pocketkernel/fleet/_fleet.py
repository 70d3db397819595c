"""Fleet: one model for each key."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from pocketkernel import _core, learners
from pocketkernel._alone import alone, together
from pocketkernel._core import KeyColumn
from pocketkernel._json import canonical
from pocketkernel._threads import allowed_threads
from pocketkernel.fleet import records
from pocketkernel.fleet._configuration import (
    about_fleet,
    check,
    decoded,
    is_balanced,
    mapped_slabs,
    restored,
    same_labels_and_names,
    seeded,
    targets,
)
from pocketkernel.fleet._database import FILE
from pocketkernel.fleet._keys import Key, column_of, one_key, read_keys
from pocketkernel.fleet._models import Models
from pocketkernel.fleet._persistent import EXPORT, Persistent
from pocketkernel.fleet._places import BASE
from pocketkernel.fleet._slabs import MappedSlabs
from pocketkernel.fleet._store import FolderStore
from pocketkernel.fleet.errors import FleetStoreError
from pocketkernel.learners import OnlineKernelClassifier, OnlineLearner, recipe_of
from pocketkernel.model_file import Contents

Array = npt.NDArray[Any]
Scores = npt.NDArray[np.float64]


class Fleet(Persistent):
    """One small model for each key, all of one configuration, in memory and, if wanted, kept through crashes.

    Every model gives the same answers, to the last bit, as a separate model that learned the rows of its key alone.

    Parameters
    ----------
    learner : estimator
        What each model is, for example ``PocketClassifier(memory="4KiB", random_state=0)``; not changed. A model takes
        fewer bytes here than alone (`slot_bytes`), because everything that is the same for all models exists once, such
        as random frequencies. All models have one seed: if `random_state` is not a number, that of the store or of the
        base if there is one, else one drawn now. With ``class_weight="balanced"`` a model weighs by the rows of its own
        key.
    features : int or list of names
        Columns of a row.
    classes : list of labels, or int
        All labels of a classifier; of a regressor, the number of its outputs, 1 by default.
    store : path, FolderStore or None
        Folder in which the fleet is kept. An existing folder is opened, and the fleet continues exactly where the last
        record of its log ends. None keeps the fleet in memory only.
    base : None, "shared" or a fitted model
        What the model of a new key begins with, and what answers for unknown keys: a model that has learned nothing, a
        model that learns the rows of all keys, or a copy of the given one.
    max_keys : int or None
        Maximum number of keys in memory. The key that was used least recently is evicted: into the store if there is
        one, from where it returns with its next row; otherwise it is forgotten.
    slabs : "memory" or "mapped"
        Where the models are: in memory, or in a memory-mapped file in the folder of the store, for fleets that are
        larger than memory. The file is scratch space without a name; what outlasts a crash is the same in both cases.
    n_jobs : int or None
        Threads, as for every learner. Results do not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> from pocketkernel import PocketClassifier
    >>> from pocketkernel.fleet import Fleet
    >>> rng = np.random.default_rng(0)
    >>> keys, X = rng.integers(0, 100, 50_000), rng.normal(size=(50_000, 2))
    >>> y = (X[:, 0] > 0) ^ (keys % 2 == 0)  # every user is different
    >>> fleet = Fleet(PocketClassifier(memory="4KiB", random_state=0), features=2, classes=[False, True])
    >>> scores = fleet.predict_then_learn(keys, X, y)
    >>> len(fleet), bool(np.mean((scores >= 0) == y) > 0.9)
    (100, True)
    >>> model = fleet[7]  # a copy, an ordinary PocketClassifier
    """

    def __init__(
        self,
        learner: OnlineLearner,
        *,
        features: int | Sequence[str],
        classes: Any = None,
        store: str | os.PathLike[str] | FolderStore | None = None,
        base: Any = None,
        max_keys: int | None = None,
        slabs: str = "memory",
        n_jobs: int | None = None,
    ) -> None:
        check(learner, max_keys)
        self.max_keys = max_keys
        self.base = base
        self.key_kind: str | None = None
        self.offset: Any = None
        """What was given as `offset` with the last rows that were learned."""
        self._store = FolderStore(store) if isinstance(store, str | os.PathLike) else store
        mapped = mapped_slabs(slabs, self._store)
        try:
            stored = None if self._store is None else self._store.lock()
            known = None if stored is None or self._store is None else restored(decoded(stored, self._store.path))
            self._build(seeded(learner, base, known), features, classes, n_jobs, mapped)
            if self._store is not None:
                self._open_store(self._store, stored)
        except BaseException:
            if self._store is not None:
                self._store.close()
            raise
        self._models.logged = self._store is not None

    def _build(self, learner: Any, features: Any, classes: Any, n_jobs: int | None, mapped: MappedSlabs | None) -> None:
        self._template: Any = learners.blank(learner, features, targets(learner, classes))
        self._blank = learners.contents_of(self._template)
        balanced = is_balanced(learner)
        if balanced:
            self._template.set_params(class_weight=None)  # every model weighs by itself
        core = recipe_of(self._template).fleet(balanced=balanced)
        shared = isinstance(self.base, str) and self.base == "shared"
        self._all_models = Models(
            core, shared=shared, max_keys=self.max_keys, threads=allowed_threads(n_jobs), mapped=mapped
        )
        self._begin_base(self.base, shared)
        learners.use_core(self._template, self._all_models)

    def _begin_base(self, base: Any, shared: bool) -> None:
        if base is None or shared:
            return
        if not isinstance(base, type(self._template)):
            raise ValueError(f"base={base!r} is neither None, 'shared' nor a {type(self._template).__name__}.")
        self._put(BASE, base)

    def _contents(self) -> Contents:
        base = self.base if isinstance(self.base, str) or self.base is None else "model"
        of = learners.contents_of(self._copy_of(BASE)) if base == "model" else self._blank
        return Contents({**of.model, "extra": {"fleet": {"base": base, "max_keys": self.max_keys}}}, of.state)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, slabs: str = "memory", n_jobs: int | None = None) -> Self:
        """The fleet in a folder, which continues there, or in a file that `export` wrote; parameters as for `Fleet`."""
        if os.path.isdir(path):
            store = FolderStore(path)
            try:
                configuration = store.lock()
                if configuration is None:
                    raise FleetStoreError(f"{os.fspath(path)} has no fleet: there is no file {FILE}.")
                return cls._from(decoded(configuration, path), path, store=store, slabs=slabs, n_jobs=n_jobs)
            except BaseException:
                store.close()
                raise
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            head = file.read(len(EXPORT) + 8)
            length = int.from_bytes(head[len(EXPORT) :], "little")
            if not head.startswith(EXPORT) or length > size - len(head):
                raise FleetStoreError(f"{os.fspath(path)} is not an exported fleet.")
            fleet = cls._from(decoded(file.read(length), path), path, slabs=slabs, n_jobs=n_jobs)
            with records.naming(Path(path)):
                records.read_snapshot(fleet, file, size - len(head) - length)
        return fleet

    @classmethod
    def of_configuration(cls, configuration: bytes, path: str | os.PathLike[str]) -> Self:
        """A fleet in memory without keys, of the configuration of a store."""
        return cls._from(decoded(configuration, path), path)

    @classmethod
    def _from(cls, contents: Contents, path: str | os.PathLike[str], **given: Any) -> Self:
        """The fleet of a configuration."""
        about = about_fleet(contents, path)
        try:
            model: Any = restored(contents)
            names = getattr(model, "feature_names_in_", None)
            features = model.n_features_in_ if names is None else list(names)
            classes = model.classes_ if isinstance(model, OnlineKernelClassifier) else recipe_of(model).classes
            learners.blank(model, features, targets(model, classes))
        except (TypeError, ValueError) as error:  # parameters that do not build the model that they are stored with
            raise FleetStoreError(f"{os.fspath(path)} cannot be read: {error}") from error
        base = model if about["base"] == "model" else about["base"]
        return cls(model, features=features, classes=classes, base=base, max_keys=about["max_keys"], **given)

    # ---- learning and answering -------------------------------------------------------------------------------------

    def predict_then_learn(self, keys: Any, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> Scores:
        """Score every row with the model of its key, then learn it there. Returns the scores.

        Rows of one key are learned in their order. Nothing is learned if a row, a key or a label is refused. After
        Ctrl-C the first rows have been learned, and `clock` says how many in all. If an `offset` was to be stored with
        them, they cannot be: the store keeps what it had before the call, and the fleet must be loaded from it again.

        Parameters
        ----------
        keys : list, array or column of str, bytes or int
            The key of each row; all keys of a fleet are of one kind.
        X, y, sample_weight
            As for the learner's `partial_fit`.
        offset : JSON value or function, default=None
            The position in the stream after these rows, such as an offset in a topic. It is stored together with them:
            after a crash, `offset` says exactly where to continue. A function is called with the scores, and returns
            what to store.
        """
        if not callable(offset):
            canonical(offset)  # refused before anything is learned
        column = read_keys(keys)
        with alone(self):
            self._settled()
            kind = self._kind_with(column)
            try:
                with self._all_models.rows_with(column):
                    scores: Scores = self._template.predict_then_learn(X, y, sample_weight=sample_weight)
                given = offset(scores) if callable(offset) else offset
                canonical(given)
                self._keep(kind, given)
            except BaseException:
                self._keep_after_error(kind, offset, len(column))
                raise
            self._commit_if_due()
        return scores

    def partial_fit(self, keys: Any, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> Self:
        """Learn every row in the model of its key; see `predict_then_learn`."""
        self.predict_then_learn(keys, X, y, sample_weight, offset=offset)
        return self

    def decision_function(self, keys: Any, X: Any, *, continues: bool = True) -> Scores:
        """Scores of the rows by the models of their keys; unknown keys are answered by the base. Learns nothing.

        Each row is taken for the next one of its key, as the learner's `decision_function` does; with `continues=False`
        it is not.
        """
        return self._answers("decision_function", keys, X, continues)

    def predict(self, keys: Any, X: Any, *, continues: bool = True) -> Array:
        """Labels or numbers for the rows; see `decision_function`."""
        return self._answers("predict", keys, X, continues)

    def predict_proba(self, keys: Any, X: Any, *, continues: bool = True) -> Scores:
        """Probabilities of the classes for the rows, as the learner's `predict_proba`; see `decision_function`."""
        return self._answers("predict_proba", keys, X, continues)

    def _answers(self, method: str, keys: Any, X: Any, continues: bool) -> Array:
        ask: Callable[..., Array] = getattr(self._template, method)
        if not continues and isinstance(self._template, OnlineKernelClassifier):
            ask = partial(ask, continues=False)
        column = read_keys(keys)
        with together(self):
            models = self._models
            self._kind_with(column)
            if not models.has_archived:
                with models.rows_with(column):
                    return ask(X)
        with alone(self), self._models.rows_with(column):
            return ask(X)

    def _kind_with(self, keys: KeyColumn) -> str | None:
        """The kind of the keys of this fleet, once it has these as well."""
        if len(keys) and self.key_kind not in (None, keys.kind):
            raise ValueError(f"keys are {keys.kind} here, but those of this fleet are {self.key_kind}.")
        return keys.kind if len(keys) else self.key_kind

    # ---- models -----------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Keys in memory."""
        with together(self):
            return len(self._models.of)

    def __contains__(self, key: object) -> bool:
        key = one_key(key)
        if not isinstance(key, str | bytes | int):
            return False
        with together(self):
            models = self._models
            if key in models.of or not models.has_archived:
                return key in models.of
        with alone(self):
            return key in self._models.of or self._models.archived(key) is not None

    def __iter__(self) -> Iterator[Key]:
        return iter(self.keys())

    def keys(self) -> list[Key]:
        """Keys in memory, in the order in which they came, but a new key may take the place of one that has left."""
        with together(self):
            return list(self._models.of.column())

    def __getitem__(self, key: Key) -> OnlineLearner:
        """A copy of the model of a key, as an ordinary estimator."""
        key = one_key(key)
        with together(self):
            slot = self._models.of.get(key)
            if slot is not None:
                return self._copy_of(slot)
            if not self._models.has_archived:
                raise KeyError(key)
        self._kind_with(column_of([key]))
        with alone(self):
            models = self._models
            slot = models.of.get(key)
            if slot is not None:  # it has come back meanwhile
                return self._copy_of(slot)
            if models.archived(key) is None:
                raise KeyError(key)
            spare = models.visit(key)
            try:
                return self._copy_of(spare)
            finally:
                models.leave(spare)

    def _copy_of(self, slot: int) -> OnlineLearner:
        core = self._models.core
        return learners.in_state(self._template, self._blank, core.save(slot), core.counts(slot))

    def blank(self) -> OnlineLearner:
        """A model that has learned nothing, like those of the fleet."""
        return learners.in_state(self._template, self._blank, self._blank.state)

    def __setitem__(self, key: Key, model: OnlineLearner) -> None:
        """Make a copy of a model the model of a key."""
        key = one_key(key)
        with alone(self):
            models = self._settled()
            kind = self._kind_with(column_of([key]))
            self._check_same(model)
            state = self._state_of(model)
            try:
                models.set(key, state)
                self._keep(kind, self.offset)
            except BaseException:
                self._keep_after_error(kind, self.offset, 0)
                raise
            self._commit_if_due()

    def __delitem__(self, key: Key) -> None:
        key = one_key(key)
        with alone(self):
            models = self._settled()
            if not isinstance(key, str | bytes | int):
                raise KeyError(key)
            try:
                models.remove(key)
                self._keep(self.key_kind, self.offset)
            except BaseException:
                self._keep_after_error(self.key_kind, self.offset, 0)
                raise
            self._commit_if_due()

    def _check_same(self, model: Any) -> None:
        if not isinstance(model, OnlineLearner):
            raise TypeError(f"{model!r} is not a learner of pocketkernel.")
        mine, theirs = recipe_of(self._template), recipe_of(model)
        if replace(theirs, seed=mine.seed) != mine or not same_labels_and_names(self._template, model):
            raise ValueError(
                f"this {type(model).__name__} was built differently: all models of a fleet have "
                "the same parameters, columns and classes."
            )

    def _put(self, slot: int, model: OnlineLearner) -> None:
        self._check_same(model)
        core = self._all_models.core
        counts = learners.counts_of(model) if core.counts(slot) else []
        status = core.load(slot, learners.contents_of(model).state, counts)
        if status != 0:
            raise ValueError("this model cannot join the fleet: its {} {}.".format(*_core.describe(status)))

    def _state_of(self, model: OnlineLearner) -> bytes:
        """The state of a model as it is in a slot; ValueError if it cannot be in this fleet."""
        models = self._all_models
        spare = models.spare()
        try:
            models.core.begin([spare], -1)
            self._put(spare, model)
            return models.state(spare)
        finally:
            models.leave(spare)

    # ---- what it has become -----------------------------------------------------------------------------------------

    @property
    def slot_bytes(self) -> int:
        """Bytes of a model."""
        return self._all_models.core.slot_bytes

    @property
    def nbytes(self) -> int:
        """All bytes of the fleet: models, rounded up to whole slabs, tables of keys, and what all models share."""
        return self._models.core.nbytes + self._models.index_bytes

    @property
    def clock(self) -> int:
        """Rows learned so far by all models, and models set or removed."""
        return self._models.clock

    @property
    def evicted(self) -> int:
        """How many times a key was evicted."""
        return self._models.evicted

    def tally(self) -> dict[str, Array]:
        """Counters of all models in memory: keys, and their rounds, mistakes and cumulative_loss."""
        with together(self):
            slots = self._models.slots()
            numbers = np.empty((len(slots), 3))
            self._models.core.tallies(slots, numbers)
            keys = np.empty(len(slots), dtype=object)
            keys[:] = self.keys()
        return {
            "keys": keys,
            "rounds": numbers[:, 0].astype(np.int64),
            "mistakes": numbers[:, 1].astype(np.int64),
            "cumulative_loss": numbers[:, 2],
        }
