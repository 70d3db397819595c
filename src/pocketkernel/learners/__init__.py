"""The paper's learners and its two baselines."""

from pocketkernel.learners.lkm_books import LKMBooks
from pocketkernel.learners.m_omd_h import MOMDH
from pocketkernel.learners.m_omd_s import MOMDS
from pocketkernel.learners.multiclass_m_omd_s import MulticlassMOMDS
from pocketkernel.learners.raker import Raker

__all__ = ["MOMDH", "MOMDS", "LKMBooks", "MulticlassMOMDS", "Raker"]
