"""Slow NumPy transcriptions of the learners, in float64: what the core is compared with.

They follow the definitions line by line, with nothing kept that could be computed anew: norms are quadratic forms of
full kernel matrices, every kernel is evaluated directly. They share nothing with the core.
"""

from oracle.lkm_books import LKMBooks
from oracle.m_omd_h import MOMDH
from oracle.m_omd_s import MOMDS
from oracle.multiclass_m_omd_s import MulticlassMOMDS
from oracle.pocket_classifier import PocketClassifier
from oracle.pocket_regressor import PocketRegressor
from oracle.raker import Raker
from oracle.shared_m_omd_h import SharedMOMDH

__all__ = [
    "MOMDH",
    "MOMDS",
    "LKMBooks",
    "MulticlassMOMDS",
    "PocketClassifier",
    "PocketRegressor",
    "Raker",
    "SharedMOMDH",
]
