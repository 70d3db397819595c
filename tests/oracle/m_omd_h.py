"""M-OMD-H, the paper's Algorithm 1, with the step that its proof takes and its listing omits."""

import math

import numpy as np

from oracle.parts import Expansion, Hedge, Rng, distance, dot, gram, nearest, quadratic, values


class MOMDH:
    def __init__(self, kernels, d, B, step=1.0, U=None, M=10, horizon=1e9, removal="half", seed=0):
        self.kernels, self.B, self.M, self.removal = kernels, B, M, removal
        self.U = math.sqrt(B) if U is None else U
        self.lam = step * self.U / math.sqrt(B)
        self.rng, self.hedge = Rng(seed), Hedge(len(kernels))
        self.S = [Expansion(kernel, d) for kernel in kernels]  # part of f'_i over S_i
        self.S0 = [Expansion(kernel, d) for kernel in kernels]  # part of f'_i over the archive
        self.w0 = np.zeros(0)  # labels of the archive, times their weights
        self.V = []  # places in the archive
        self.capacity = M * (1 + math.ceil(math.log(horizon)))
        self.A = np.zeros(len(kernels))
        self.t = self.removals = self.additions = self.proxies = self.archived = self.overflowed = 0

    def members(self):
        return self.S0[0].rows[self.V], self.w0[self.V]

    def H(self, i, x):
        rows, w = self.members()
        return float(dot(w, values(self.kernels[i], rows, x))) / len(w) if len(w) else 0.0

    def H_norm2(self, i):
        rows, w = self.members()
        return quadratic(w, gram(self.kernels[i], rows)) / len(w) ** 2 if len(w) else 0.0

    def f_prime(self, i, x):
        return self.S[i](x) + self.S0[i](x)

    def project(self, i):
        both = Expansion(self.kernels[i], self.S[i].rows.shape[1])
        both.rows = np.vstack([self.S[i].rows, self.S0[i].rows])
        both.a = np.concatenate([self.S[i].a, self.S0[i].a])
        norm = both.norm()
        if norm > self.U:
            self.S[i].a *= self.U / norm
            self.S0[i].a *= self.U / norm

    def step_along_H(self, i, r):
        for place in self.V:
            self.S0[i].a[place] += r * self.w0[place] / len(self.V)

    def remove(self, i):
        dropped = {"half": self.B // 2, "restart": self.B, "oldest": 1, "eager": self.B // 2}[self.removal]
        self.S[i].keep(slice(1, None) if self.removal == "oldest" else slice(0, self.B - dropped))
        self.project(i)
        self.removals += 1

    def learn(self, x, y, w=1.0):
        K = len(self.kernels)
        f = np.array([self.f_prime(i, x) + self.lam * self.H(i, x) for i in range(K)])
        score = float(dot(self.hedge.p, f))
        if w == 0:
            return score
        self.t += 1
        for i, kernel in enumerate(self.kernels):
            if not y * f[i] < 1:
                continue
            S, H2 = self.S[i], self.H_norm2(i)
            D = (w * y) ** 2 - 2 * w * y * self.H(i, x) + H2
            self.A[i] += D
            gamma = D / math.sqrt(1 + self.A[i])
            j = nearest(kernel, S.rows, x) if len(S.a) else None
            if j is not None and distance(kernel, S.rows[j], x) <= gamma:
                S.a[j] += self.lam * w * y
                self.proxies += 1
            else:
                P = D / (D + H2)
                if self.rng.uniform() < P:
                    if len(S.a) == self.B:
                        self.remove(i)
                    S.append(x, self.lam * w * y / P)
                    self.step_along_H(i, self.lam * (1 - 1 / P))
                    self.additions += 1
                    if self.removal == "eager" and len(S.a) == self.B:
                        self.project(i)
                        self.remove(i)
                else:
                    self.step_along_H(i, self.lam)
            self.project(i)
        self.hedge.update(w * np.maximum(0, 1 - y * f))
        self.offer(x, w * y)
        return score

    def offer(self, x, y):
        if self.t <= self.M:
            slot = len(self.V)
            self.V.append(None)
        elif self.rng.uniform() < self.M / self.t:
            slot = self.rng.index(self.M)
            self.V[slot] = None
        else:
            return
        if len(self.w0) == self.capacity:
            place = next(p for p in range(self.capacity) if p not in self.V)
            kept = np.delete(np.arange(self.capacity), place)
            self.w0 = self.w0[kept]
            self.V = [p if p is None else p - (p > place) for p in self.V]
            for i, S0 in enumerate(self.S0):
                S0.keep(kept)
                self.project(i)
            self.overflowed += 1
        self.V[slot] = len(self.w0)
        self.w0 = np.append(self.w0, y)
        for S0 in self.S0:
            S0.append(x, 0.0)
        self.archived += 1
