"""The learners: the one to begin with, the paper's two, and its baselines.

`__all__` has the learners. What else is imported here is for those who build on them, such as `pocketkernel.river`.
"""

from pocketkernel.learners._base import OnlineKernelClassifier as OnlineKernelClassifier
from pocketkernel.learners._base import whole_number as whole_number
from pocketkernel.learners._persistent import plausible as plausible
from pocketkernel.learners._plan import Plan as Plan
from pocketkernel.learners._rows import check_labels as check_labels
from pocketkernel.learners.lkm_books import LKMBooks
from pocketkernel.learners.m_omd_h import MOMDH
from pocketkernel.learners.m_omd_s import MOMDS
from pocketkernel.learners.multiclass_m_omd_s import MulticlassMOMDS
from pocketkernel.learners.pocket_classifier import PocketClassifier
from pocketkernel.learners.raker import Raker

__all__ = ["MOMDH", "MOMDS", "LKMBooks", "MulticlassMOMDS", "PocketClassifier", "Raker"]
