"""The learners: PocketClassifier and PocketRegressor, the paper's two, and its baselines.

`__all__` lists the learners. Everything else here is used by the rest of the package.
"""

import reprlib
from typing import Any

from pocketkernel.learners._base import OnlineKernelClassifier as OnlineKernelClassifier
from pocketkernel.learners._coding import with_places as with_places
from pocketkernel.learners._embedding import blank as blank
from pocketkernel.learners._embedding import budget_name as budget_name
from pocketkernel.learners._embedding import contents_of as contents_of
from pocketkernel.learners._embedding import core_of as core_of
from pocketkernel.learners._embedding import counts_of as counts_of
from pocketkernel.learners._embedding import in_state as in_state
from pocketkernel.learners._embedding import is_multiclass as is_multiclass
from pocketkernel.learners._embedding import labels_by_place as labels_by_place
from pocketkernel.learners._embedding import learn_then as learn_then
from pocketkernel.learners._embedding import loss_name as loss_name
from pocketkernel.learners._embedding import raw_scores as raw_scores
from pocketkernel.learners._embedding import recipe_of as recipe_of
from pocketkernel.learners._embedding import room_for_scores as room_for_scores
from pocketkernel.learners._embedding import use_core as use_core
from pocketkernel.learners._labels import check_labels as check_labels
from pocketkernel.learners._labels import is_sequence_of_labels as is_sequence_of_labels
from pocketkernel.learners._learner import OnlineLearner as OnlineLearner
from pocketkernel.learners._parameters import drawn_seed as drawn_seed
from pocketkernel.learners._persistent import plausible as plausible
from pocketkernel.learners._plan import Plan as Plan
from pocketkernel.learners._rows import checked_weights as checked_weights
from pocketkernel.learners._targets import as_targets as as_targets
from pocketkernel.learners.lkm_books import LKMBooks
from pocketkernel.learners.m_omd_h import MOMDH
from pocketkernel.learners.m_omd_s import MOMDS
from pocketkernel.learners.multiclass_m_omd_s import MulticlassMOMDS
from pocketkernel.learners.pocket_classifier import Event as Event
from pocketkernel.learners.pocket_classifier import PocketClassifier
from pocketkernel.learners.pocket_regressor import PocketRegressor
from pocketkernel.learners.raker import Raker
from pocketkernel.learners.shared_m_omd_h import SharedMOMDH
from pocketkernel.model_file import Contents, ModelFileError

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


def restored(contents: Contents) -> tuple[OnlineLearner, dict[str, Any]]:
    """The learner in a model file, and the JSON of the adapter that saved it."""
    name = contents.model.get("estimator")
    if name not in __all__:
        raise ModelFileError(f"the model file contains an unknown estimator, {reprlib.repr(name)}.")
    class_: type[OnlineLearner] = globals()[name]
    return class_._restored(contents)
