"""Fleets in files and stores: what is written while a fleet learns, and how it comes back."""

import os
from collections.abc import Callable
from pathlib import Path
from reprlib import repr as short
from types import TracebackType
from typing import Any, Self

from pocketkernel import learners, model_file
from pocketkernel._alone import alone
from pocketkernel._files import replacing
from pocketkernel.fleet import records
from pocketkernel.fleet._configuration import decoded
from pocketkernel.fleet._keys import KINDS, key_of_json
from pocketkernel.fleet._models import Models
from pocketkernel.fleet._store import FolderStore
from pocketkernel.fleet.errors import FleetStoreError
from pocketkernel.model_file import Contents

EXPORT = b"PKFLEET1"
"""The first bytes of an exported fleet."""


class Persistent:
    """A fleet with models, a configuration and perhaps a store."""

    key_kind: str | None
    offset: Any
    _template: Any
    _store: FolderStore | None
    _all_models: Models
    _behind: Path | None = None  # the store, if models have learned what it can never have

    def _contents(self) -> Contents:
        """The configuration."""
        raise NotImplementedError

    # ---- files ------------------------------------------------------------------------------------------------------

    def __reduce__(self) -> Any:
        raise TypeError("a fleet cannot be copied or pickled: use export(path) and Fleet.load(path).")

    def export(self, path: str | os.PathLike[str]) -> None:
        """Write the whole fleet to one file, for `Fleet.load`; an existing file is replaced atomically."""
        configuration = model_file.encode(self._contents())
        with alone(self), replacing(path) as file:
            file.write(EXPORT + len(configuration).to_bytes(8, "little") + configuration)
            records.write_snapshot(self, file, {})

    # ---- store ------------------------------------------------------------------------------------------------------

    def _open_store(self, store: FolderStore) -> None:
        configuration = model_file.encode(self._contents())
        stored = store.configuration()
        if stored is not None and stored != configuration:
            given, there = (_fields(one) for one in (self._contents(), decoded(stored, store.path)))
            odd = sorted(name for name in given.keys() | there.keys() if given.get(name) != there.get(name))
            odd = [name for name in odd if name != "recipe"] or odd  # which follows from the others
            raise FleetStoreError(
                f"{store.path} keeps a fleet of another configuration (different: {', '.join(odd) or 'version'}): use "
                f"Fleet.load({str(store.path)!r}) to continue it, or another folder."
            )
        store.open(self, configuration)

    def commit(self) -> None:
        """Return when everything that was learned will outlast a crash."""
        if self._store is not None:
            self._store.commit(self)

    def snapshot(self) -> None:
        """Write a snapshot into the store now, so that opening it is quick."""
        if self._store is not None:
            self._store.commit(self)
            self._store.snapshot(self)

    def close(self) -> None:
        """Commit, and release the store. Without a store this does nothing."""
        if self._store is not None:
            store, self._store = self._store, None
            self._models.logged = False
            try:
                store.commit(self)
            finally:
                store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _log_lesson(self, offset: Any) -> None:
        lesson = self._models.lesson
        if self._store is not None and lesson is not None:
            self._store.append(records.lesson_piece(*lesson, offset=offset), len(lesson[2]))
        self._models.lesson = None
        self.offset = offset
        self._commit_if_due()

    def _check_logged(self) -> None:
        """Give up the store, which keeps what it has, if rows were learned that cannot be stored there."""
        models = self._models
        if self._store is None or (models.lesson is None and not models.midway):
            return
        store, self._store = self._store, None
        self._behind = store.path
        try:
            store.flush()
        finally:
            store.close()

    @property
    def _models(self) -> Models:
        """The models, unless the store does not have all that they have learned."""
        if self._behind is not None:
            raise FleetStoreError(
                "a call of this fleet was interrupted after rows were learned and before they were stored with their "
                f"offset, so it can no longer be used: continue with Fleet.load({str(self._behind)!r})."
            )
        return self._all_models

    def _commit_if_due(self) -> None:
        if self._store is not None and self._store.due:
            self._store.commit(self)

    def _note(self, head: dict[str, Any], *blobs: bytes) -> None:
        if self._store is not None:
            self._store.append(records.piece_of(head, *blobs), 1)
            self._commit_if_due()

    def replay(self, piece: tuple[dict[str, Any], list[bytes]]) -> None:
        """Do again what a piece of a log says; for stores."""
        head, blobs = piece
        try:
            if head["kind"] not in KINDS:
                raise ValueError
            self.key_kind = head["kind"]
            if head["do"] == "learn":
                keys, rows, y, weights = records.read_lesson(head, blobs)
                scores = learners.room_for_scores(self._template, len(keys))
                with self._models.rows_with(keys):
                    learn: Callable[..., int] = (
                        self._models.learn_dense if len(rows) == 1 else self._models.learn_sparse
                    )
                    if learn(*rows, y, weights, scores) != 0:
                        raise FleetStoreError("it has rows that cannot be learned")
                self.offset = head["offset"]
            elif head["do"] == "set":
                self._models.load(self._models.open(key_of_json(head["key"], head["kind"])), blobs[0])
            elif head["do"] == "del":
                self._models.remove(key_of_json(head["key"], head["kind"]))
            else:
                raise FleetStoreError(f"it has a record of an unknown kind, {short(head['do'])}")
        except FleetStoreError:
            raise
        except (KeyError, IndexError, TypeError, ValueError, OverflowError) as error:
            raise FleetStoreError("it has an invalid record") from error


def _fields(configuration: Contents) -> dict[str, Any]:
    """What a configuration says, by name."""
    model = dict(configuration.model)
    for name, inner in (("extra", "fleet"), ("parameters", None)):
        some = model.pop(name, None)
        some = some.get(inner) if inner is not None and isinstance(some, dict) else some
        model |= some if isinstance(some, dict) else {name: some}
    return model
