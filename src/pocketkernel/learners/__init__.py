"""The learners: scikit-learn estimators over the core, one file each. They are imported when they are first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pocketkernel.learners.lkm_books import LKMBooks as LKMBooks
    from pocketkernel.learners.m_omd_h import MOMDH as MOMDH
    from pocketkernel.learners.m_omd_s import MOMDS as MOMDS
    from pocketkernel.learners.multiclass_m_omd_s import MulticlassMOMDS as MulticlassMOMDS
    from pocketkernel.learners.pocket_classifier import PocketClassifier as PocketClassifier
    from pocketkernel.learners.raker import Raker as Raker

_FILES = {
    "LKMBooks": "lkm_books",
    "MOMDH": "m_omd_h",
    "MOMDS": "m_omd_s",
    "MulticlassMOMDS": "multiclass_m_omd_s",
    "PocketClassifier": "pocket_classifier",
    "Raker": "raker",
}

__all__ = list(_FILES)


def __getattr__(name: str) -> Any:
    if name not in _FILES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_FILES[name]}"), name)
