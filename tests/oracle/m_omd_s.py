"""M-OMD-S, the paper's Algorithm 2."""

import math

import numpy as np

from oracle.parts import G1, Expansion, Hedge, Rng, distance, dot, linearised_costs, loss_and_slope, nearest


class MOMDS:
    def __init__(self, kernels, d, B, step=1.0, U=None, loss="logistic", removal="half", seed=0):
        self.kernels, self.B, self.loss, self.removal = kernels, B, loss, removal
        self.U = math.sqrt(B) if U is None else U
        self.lam = step * self.U / math.sqrt(B)
        self.rng, self.hedge, self.G = Rng(seed), Hedge(len(kernels)), 0.0
        self.f = [Expansion(kernel, d) for kernel in kernels]
        self.additions = self.proxies = self.removals = 0
        self.linear, self.unmerged, self.Gamma = 0.0, 0.0, np.zeros(len(kernels))  # evidence of the certificate
        self.steepest = self.weight = 0.0

    def learn(self, x, y, w=1.0):
        f = np.array([fi(x) for fi in self.f])
        score = float(dot(self.hedge.p, f))
        if w == 0:
            return score
        g = w * loss_and_slope(self.loss, score, y)[1]
        self.G += abs(g)
        gamma = math.sqrt(2 * math.log(len(self.kernels))) / math.sqrt(1 + self.G)
        S, merged = self.f[0].rows, False
        s = [nearest(kernel, S, x) for kernel in self.kernels] if len(S) else []
        if s and max(distance(kernel, S[j], x) for kernel, j in zip(self.kernels, s, strict=True)) <= gamma:
            for i, (fi, j) in enumerate(zip(self.f, s, strict=True)):
                self.Gamma[i] += abs(g) * distance(fi.kernel, S[j], x)
                fi.a[j] -= self.lam * g
                self.project(i)
            self.proxies += 1
            merged = True
        elif self.rng.uniform() < abs(g) / (abs(g) + G1[self.loss]):
            if len(S) == self.B:
                self.remove()
            for i, fi in enumerate(self.f):
                fi.append(x, -self.lam * np.sign(g) * (abs(g) + G1[self.loss]))
                self.project(i)
            self.additions += 1
            if self.removal == "eager" and len(self.f[0].rows) == self.B:
                self.remove()
        self.linear += g * score
        self.unmerged += 0 if merged else abs(g)
        self.steepest = max(self.steepest, 0 if merged else abs(g))
        self.weight += w
        self.hedge.update(linearised_costs(g, f))
        return score

    def project(self, i):
        self.Gamma[i] += max(0.0, self.f[i].norm() - self.U) / self.lam
        self.f[i].project(self.U)

    def remove(self):
        dropped = {"half": self.B // 2, "restart": self.B, "oldest": 1, "eager": self.B // 2}[self.removal]
        for i, fi in enumerate(self.f):
            before = Expansion(fi.kernel, fi.rows.shape[1])
            before.rows, before.a = fi.rows, fi.a.copy()
            fi.keep(slice(dropped, None))
            fi.project(self.U)
            before.a[dropped:] -= fi.a
            self.Gamma[i] += before.norm() / self.lam
        self.removals += 1
