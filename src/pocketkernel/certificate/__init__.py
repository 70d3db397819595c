"""What a live model can prove about itself: a bound on its regret so far, computed from its counters.

Letters of the paper and their names here:

    T  rows             K  kernels        L  loss, of the competitor f       lambda = step U / sqrt(B)
    B  budget           M  reservoir      U  norm_bound                      G1, G2: |l'| <= G1, |l'| <= G2 l

`budget` is that of the learners: the number of examples in one buffer. The other bounds of the paper are in
`pocketkernel.lab.bounds`.
"""

from pocketkernel.certificate.bound import Bound, Condition, ConditionError
from pocketkernel.certificate.certificate import Certificate, Guarantee
from pocketkernel.certificate.m_omd_h import theorem_1_afterwards
from pocketkernel.certificate.m_omd_s import theorem_3_afterwards, theorem_3_delta

__all__ = [
    "Bound",
    "Certificate",
    "Condition",
    "ConditionError",
    "Guarantee",
    "theorem_1_afterwards",
    "theorem_3_afterwards",
    "theorem_3_delta",
]
