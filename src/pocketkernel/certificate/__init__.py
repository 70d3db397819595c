"""What a live model can prove about itself, from its counters: its rate of mistakes, and bounds on its regret.

Letters of the paper and their names here:

    T  rows             K  kernels        L  loss, of the competitor f       lambda = step U / sqrt(B)
    B  budget           M  reservoir      U  norm_bound                      G1: |l'| <= G1

`budget` is that of the learners: the number of examples in one buffer. The paper's own bounds are in
`pocketkernel.lab.bounds`.
"""

from pocketkernel.certificate.bound import Bound, Condition, ConditionError
from pocketkernel.certificate.certificate import Certificate, Guarantee
from pocketkernel.certificate.dual import DualBound, dual_bound
from pocketkernel.certificate.m_omd_h import shared_buffer_afterwards, theorem_1_afterwards
from pocketkernel.certificate.mistakes import MistakeRate, meaning, mistake_rate, recent_mistake_rate
from pocketkernel.certificate.mixture import MixtureSums, mixture_regret

__all__ = [
    "Bound",
    "Certificate",
    "Condition",
    "ConditionError",
    "DualBound",
    "Guarantee",
    "MistakeRate",
    "MixtureSums",
    "dual_bound",
    "meaning",
    "mistake_rate",
    "mixture_regret",
    "recent_mistake_rate",
    "shared_buffer_afterwards",
    "theorem_1_afterwards",
]
