"""SharedMOMDH: M-OMD-H with one buffer for all kernels, and one draw in a round."""

import math

import numpy as np

from oracle.m_omd_h import MOMDH
from oracle.parts import distance, dot, nearest


class SharedMOMDH(MOMDH):
    """All S[i] have the same rows."""

    def __init__(self, *given, **named):
        super().__init__(*given, **named)
        self.spent = np.zeros(len(self.kernels))

    def learn(self, x, y, w=1.0):
        K = len(self.kernels)
        f = np.array([self.f_prime(i, x) + self.lam * self.H(i, x) for i in range(K)])
        score = float(dot(self.hedge.p, f))
        if w == 0:
            return score
        self.t += 1
        W, P = [], 0.0
        for i, kernel in enumerate(self.kernels):
            if not y * f[i] < 1:
                continue
            S, H2 = self.S[i], self.H_norm2(i)
            D = (w * y) ** 2 - 2 * w * y * self.H(i, x) + H2
            self.A[i] += D
            j = nearest(kernel, S.rows, x) if len(S.a) else None
            if j is not None and distance(kernel, S.rows[j], x) <= D / math.sqrt(1 + self.A[i]):
                S.a[j] += self.lam * w * y
                self.project(i)
                self.spent[i] += 2 * D
                self.proxies += 1
                continue
            C = 1 / max(self.hedge.p[i], 1 / (2 * K))
            self.spent[i] += C * D / 2
            P = max(P, D / (C * D + H2))
            W.append(i)
        if W and self.rng.uniform() < P:
            for i, S in enumerate(self.S):
                S.append(x, self.lam * w * y / P if i in W else 0.0)
            for i in W:
                self.step_along_H(i, self.lam * (1 - 1 / P))
                self.project(i)
            self.additions += 1
            if len(self.S[0].a) == self.B:
                for i, S in enumerate(self.S):
                    S.keep(slice(0, self.B - self.B // 2))
                    self.project(i)
                self.removals += 1
        else:
            for i in W:
                self.step_along_H(i, self.lam)
                self.project(i)
        self.hedge.update(w * np.maximum(0, 1 - y * f))
        self.offer(x, w * y)
        return score
