"""The paper's bounds as functions of numbers that can be measured.

Removals are counts; regrets and losses are sums of losses over all rows. Letters of the paper and their names here:

    T  rows             K  kernels        L  loss, of the competitor f       lambda = step U / sqrt(B)
    B  budget           M  reservoir      A  alignment, of f's kernel        G1, G2: |l'| <= G1, |l'| <= G2 l
    U  norm_bound       k1, the least kappa(x, x)

`budget` is what the learners call so: examples in one buffer. M-OMD-H has K of them, so its `budget` is B/K where the
paper's Lemma 1 and Theorems 1 and 2 have B.

Everywhere the competitor and its kernel are fixed before the learner draws its first random number, and no kernel has
kappa(x, x) above 1. Constants that a statement hides in O(.), or that its proof drops as "lower order", are kept here,
so that a value is a bound and not only its order; `printed` is the paper's own number where it gives one.
What live models prove about themselves is in `pocketkernel.certificate`.
"""

from pocketkernel.lab.bounds.lower import theorem_4
from pocketkernel.lab.bounds.m_omd_h import lemma_1, surrogate_alignment, theorem_1, theorem_2
from pocketkernel.lab.bounds.m_omd_s import lemma_2, theorem_3, theorem_3_afterwards, theorem_3_delta, theorem_5

__all__ = [
    "lemma_1",
    "lemma_2",
    "surrogate_alignment",
    "theorem_1",
    "theorem_2",
    "theorem_3",
    "theorem_3_afterwards",
    "theorem_3_delta",
    "theorem_4",
    "theorem_5",
]
