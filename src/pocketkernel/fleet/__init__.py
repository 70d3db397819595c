"""One model for each key: fixed bytes per key, learned in place, kept through crashes."""

from pocketkernel.fleet._fleet import Fleet
from pocketkernel.fleet._store import FolderStore
from pocketkernel.fleet.copies import backup, check, repair
from pocketkernel.fleet.errors import FleetStoreError

__all__ = ["Fleet", "FleetStoreError", "FolderStore", "backup", "check", "repair"]
