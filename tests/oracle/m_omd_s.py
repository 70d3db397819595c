"""M-OMD-S, the paper's Algorithm 2."""

import math

import numpy as np

from oracle.parts import G1, Expansion, Hedge, Rng, distance, linearised_costs, loss_and_slope, nearest


class MOMDS:
    def __init__(self, kernels, d, B, step=1.0, U=None, loss="logistic", removal="half", seed=0):
        self.kernels, self.B, self.loss, self.removal = kernels, B, loss, removal
        self.U = math.sqrt(B) if U is None else U
        self.lam = step * self.U / math.sqrt(B)
        self.rng, self.hedge, self.G = Rng(seed), Hedge(len(kernels)), 0.0
        self.f = [Expansion(kernel, d) for kernel in kernels]
        self.additions = self.proxies = self.removals = 0

    def learn(self, x, y, w=1.0):
        f = np.array([fi(x) for fi in self.f])
        score = float(self.hedge.p @ f)
        if w == 0:
            return score
        g = w * loss_and_slope(self.loss, score, y)[1]
        self.G += abs(g)
        gamma = math.sqrt(2 * math.log(len(self.kernels))) / math.sqrt(1 + self.G)
        S = self.f[0].rows
        s = [nearest(kernel, S, x) for kernel in self.kernels] if len(S) else []
        if s and max(distance(kernel, S[j], x) for kernel, j in zip(self.kernels, s, strict=True)) <= gamma:
            for fi, j in zip(self.f, s, strict=True):
                fi.a[j] -= self.lam * g
                fi.project(self.U)
            self.proxies += 1
        elif self.rng.uniform() < abs(g) / (abs(g) + G1[self.loss]):
            if len(S) == self.B:
                dropped = {"half": self.B // 2, "restart": self.B, "oldest": 1}[self.removal]
                for fi in self.f:
                    fi.keep(slice(dropped, None))
                    fi.project(self.U)
                self.removals += 1
            for fi in self.f:
                fi.append(x, -self.lam * np.sign(g) * (abs(g) + G1[self.loss]))
                fi.project(self.U)
            self.additions += 1
        self.hedge.update(linearised_costs(g, f))
        return score
