"""The learners: the one to begin with, the paper's two, and its baselines."""

from pocketkernel.learners.lkm_books import LKMBooks
from pocketkernel.learners.m_omd_h import MOMDH
from pocketkernel.learners.m_omd_s import MOMDS
from pocketkernel.learners.multiclass_m_omd_s import MulticlassMOMDS
from pocketkernel.learners.pocket_classifier import PocketClassifier
from pocketkernel.learners.raker import Raker

__all__ = ["MOMDH", "MOMDS", "LKMBooks", "MulticlassMOMDS", "PocketClassifier", "Raker"]
