"""What the paper proves, as numbers: how hard a stream is, its best competitor, regret and its parts."""

from pocketkernel.lab.theory.adversary import adversary, adversary_competitor
from pocketkernel.lab.theory.advice import Advice
from pocketkernel.lab.theory.advising import advise
from pocketkernel.lab.theory.alignment import AlignmentEstimate, RunningAlignment, estimate_alignment, kernel_alignment
from pocketkernel.lab.theory.competitor import Competitor, best_in_ball
from pocketkernel.lab.theory.regret import (
    Decomposition,
    RegretCurve,
    RemovalHarm,
    decompose,
    regret_curve,
    removal_harm,
    slope,
)
from pocketkernel.lab.theory.study import RegretStudy, study_regret
from pocketkernel.lab.theory.trace import Removal, Trace, trace

__all__ = [
    "Advice",
    "AlignmentEstimate",
    "Competitor",
    "Decomposition",
    "RegretCurve",
    "RegretStudy",
    "Removal",
    "RemovalHarm",
    "RunningAlignment",
    "Trace",
    "adversary",
    "adversary_competitor",
    "advise",
    "best_in_ball",
    "decompose",
    "estimate_alignment",
    "kernel_alignment",
    "regret_curve",
    "removal_harm",
    "slope",
    "study_regret",
    "trace",
]
