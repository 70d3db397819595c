"""The paper's theory as numbers: how hard a stream is for a kernel, and what the best function would have lost."""

from pocketkernel.theory.alignment import AlignmentEstimate, RunningAlignment, estimate_alignment, kernel_alignment
from pocketkernel.theory.competitor import Competitor, best_in_ball

__all__ = [
    "AlignmentEstimate",
    "Competitor",
    "RunningAlignment",
    "best_in_ball",
    "estimate_alignment",
    "kernel_alignment",
]
