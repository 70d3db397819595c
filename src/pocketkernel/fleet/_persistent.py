"""Fleets in files and stores: what is written while a fleet learns, and how it comes back."""

import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pocketkernel import model_file
from pocketkernel._alone import alone
from pocketkernel._files import replacing
from pocketkernel.fleet import records
from pocketkernel.fleet._configuration import decoded
from pocketkernel.fleet._models import Models
from pocketkernel.fleet._store import FolderStore, write_new
from pocketkernel.fleet.errors import FleetStoreError
from pocketkernel.model_file import Contents

EXPORT = b"PKFLEET1"
"""The first bytes of an exported fleet."""


class Persistent:
    """A fleet with models, a configuration and perhaps a store.

    Whatever is raised in a call, at whatever instruction: the models and what waits for the store agree, or the fleet
    refuses to be used, and the store has what it had. A call that changes models first says so (`Models.change`), and
    clears that last; a change that is found where none should be was interrupted.
    """

    key_kind: str | None
    offset: Any
    _template: Any
    _store: FolderStore | None
    _all_models: Models
    _given_up: str | None = None  # why the fleet cannot be used

    def _contents(self) -> Contents:
        """The configuration."""
        raise NotImplementedError

    # ---- files ------------------------------------------------------------------------------------------------------

    def __reduce__(self) -> Any:
        raise TypeError("a fleet cannot be copied or pickled: use export(path) and Fleet.load(path).")

    def export(self, path: str | os.PathLike[str]) -> None:
        """Write all models in memory to one file, for `Fleet.load`; an existing file is replaced atomically."""
        configuration = model_file.encode(self._contents())
        with alone(self), replacing(path) as file:
            file.write(EXPORT + len(configuration).to_bytes(8, "little") + configuration)
            records.write_snapshot(self, file, {})

    def configuration(self) -> dict[str, Any]:
        """What gives the bits of the models their meaning, by name: parameters, seed, columns, labels, base."""
        return _fields(self._contents())

    # ---- store ------------------------------------------------------------------------------------------------------

    def _open_store(self, store: FolderStore, stored: bytes | None) -> None:
        configuration = model_file.encode(self._contents())
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
        with alone(self):
            self._settled()
            if self._store is not None:
                self._store.commit()

    def snapshot(self) -> None:
        """Write the states of all models into the store now, so that opening it is quick."""
        left = True
        while left:  # others may use the fleet meanwhile
            with alone(self):
                self._settled()
                left = self._store is not None and self._store.write_slabs(_AT_ONCE)

    def backup(self, folder: str | os.PathLike[str]) -> None:
        """Copy the fleet into a new folder, with evicted models.

        Other threads may use it meanwhile; what they commit then is in the copy, too.
        """
        turn = alone(self)
        turn.__enter__()

        def between() -> None:
            turn.__exit__(None, None, None)
            turn.__enter__()
            if self._store is not store:
                raise FleetStoreError("this fleet was closed while it was copied.")

        try:
            self._settled()
            store = self._store
            if store is None:
                write_new(self, model_file.encode(self._contents()), Path(folder), iter(()))
            else:
                store.commit()
                store.copy(Path(folder), between)
        finally:
            turn.__exit__(None, None, None)

    def close(self) -> None:
        """Commit, and release the store. Without a store this does nothing."""
        with alone(self):
            store, models = self._store, self._all_models
            if store is None or not store.is_mine:  # that of the process that this one was forked from
                return
            if models.change is not None:
                self._give_up()
                return
            self._given_up = f"closing this fleet failed: continue with Fleet.load({str(store.path)!r})."
            try:
                store.commit()
                store.end()
            finally:
                store.close()
                self._store = None
            models.logged, self._given_up = False, None  # it goes on in memory

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    # ---- changes ----------------------------------------------------------------------------------------------------

    @property
    def _models(self) -> Models:
        """The models, unless they are in the middle of a change that was interrupted."""
        change = self._all_models.change
        if self._given_up is not None or (change is not None and not change.whole):
            self._give_up()
        if self._store is not None:
            self._store.check_process()
        return self._all_models

    def _settled(self) -> Models:
        """The models, to be changed; not after a change that has not come into the store."""
        models = self._models
        if models.change is not None:
            self._give_up()
        return models

    def _keep(self, kind: str | None, offset: Any) -> None:
        """Take the change of a call to be complete, and to be kept with an offset."""
        models = self._all_models
        change = models.change
        if change is None:
            return
        if not change.is_empty:
            change.kind, change.offset = kind, offset
            if self._store is not None:
                self._store.append(change, models)
            self.key_kind, self.offset = kind, offset
        models.change = None

    def _keep_after_error(self, kind: str | None, offset: Any, rows: int) -> None:
        """After an error in a call of so many rows: keep what it has changed, or give up the fleet.

        An offset belongs to all rows of its call, so it cannot be kept with some of them.
        """
        models = self._all_models
        change = models.change
        if change is None:
            return
        if self._store is not None and self._store.has(change):
            self._keep(change.kind, change.offset)
        elif change.whole and (offset is None or change.is_empty or (change.rows == rows and not callable(offset))):
            self._keep(kind, offset if change.events else self.offset)
        elif change.whole and self._store is None:
            self._keep(kind, self.offset)
        else:
            self._give_up_quietly()

    def _give_up(self) -> None:
        """Refuse to go on, and release the store as it is without the change that was interrupted."""
        self._give_up_quietly()
        raise FleetStoreError(self._given_up)

    def _give_up_quietly(self) -> None:
        store = self._store
        if self._given_up is None:
            then = (
                "restore it from what was exported"
                if store is None
                else f"continue with Fleet.load({str(store.path)!r})"
            )
            self._given_up = (
                "a call of this fleet was interrupted after models were changed and before that was stored, so it can "
                f"no longer be used: {then}."
            )
        if store is None or not store.is_mine:
            return
        try:
            with suppress(OSError, FleetStoreError):
                store.commit(whole=False)
                store.end()
        finally:
            store.close()
            self._store = None

    def _commit_if_due(self) -> None:
        if self._store is not None and self._store.due:
            self._store.commit()


_AT_ONCE = 2**22
"""Bytes of models that a snapshot writes before others may use the fleet."""


def _fields(configuration: Contents) -> dict[str, Any]:
    """What a configuration says, by name."""
    model = dict(configuration.model)
    for name, inner in (("extra", "fleet"), ("parameters", None)):
        some = model.pop(name, None)
        some = some.get(inner) if inner is not None and isinstance(some, dict) else some
        model |= some if isinstance(some, dict) else {name: some}
    return model
