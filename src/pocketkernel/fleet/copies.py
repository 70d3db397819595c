"""Copies of a stored fleet: a backup, also while it is used, and what is sound of one that is damaged."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from pocketkernel.evaluate.run import RunError
from pocketkernel.fleet._database import FILE, Database
from pocketkernel.fleet._fleet import Fleet
from pocketkernel.fleet._store import archived_models, recover, write_new
from pocketkernel.fleet.errors import FleetStoreError


def backup(folder: str | os.PathLike[str], into: str | os.PathLike[str]) -> None:
    """Copy a stored fleet into a new folder, also one that another process uses: what it has committed."""
    database = Database(Path(folder))
    try:
        database.lock()
    except RunError:  # another process has it: SQLite lets us read what is committed, while it goes on
        with closing(Database(Path(folder))) as reader:
            reader.read_only()
            reader.copy_to(Path(into))
        return
    with closing(database):
        if database.configuration is None:
            raise FleetStoreError(f"{folder} has no fleet: there is no file {FILE}.")
        database.copy_to(Path(into))


def check(folder: str | os.PathLike[str]) -> tuple[Fleet, list[str]]:
    """What is sound of a stored fleet, in memory, and everything that is wrong with its file."""
    with closing(Database(Path(folder))) as database:
        return _examined(database)


def repair(folder: str | os.PathLike[str], into: str | os.PathLike[str]) -> tuple[Fleet, list[str]]:
    """Write what is sound of a stored fleet into a new folder; see `check`."""
    with closing(Database(Path(folder))) as database:
        fleet, faults = _examined(database)
        assert database.configuration is not None
        write_new(fleet, database.configuration, Path(into), archived_models(database, lambda fault: None))
        return fleet, faults


def _examined(database: Database) -> tuple[Fleet, list[str]]:
    faults: list[str] = []
    database.lock(faults.append)
    if database.configuration is None:
        raise FleetStoreError(f"{database.folder} has no fleet: there is no file {FILE}.")
    fleet = Fleet.of_configuration(database.configuration, database.path)
    try:
        lines = [line for (line,) in database.base.execute("PRAGMA integrity_check(20)")]
        faults += [f"{database.path}: {line}" for line in lines if line != "ok"]
    except sqlite3.DatabaseError as error:
        faults.append(f"{database.path}: {error}")
    recover(database, fleet, {}, faults.append)
    for _ in archived_models(database, faults.append):
        pass
    return fleet, faults
