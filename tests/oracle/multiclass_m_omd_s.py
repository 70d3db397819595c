"""M-OMD-S for several classes: every kernel has a function into R^C, the loss is the multinomial logistic one."""

import math

import numpy as np

from oracle.parts import Hedge, Rng, distance, dot, gram, nearest, quadratic, values


class MulticlassMOMDS:
    def __init__(self, kernels, d, C, B, step=1.0, U=None, removal="half", seed=0):
        self.kernels, self.C, self.B, self.removal = kernels, C, B, removal
        self.U = math.sqrt(B) if U is None else U
        self.lam = step * self.U / math.sqrt(B)
        self.rng, self.hedge, self.G = Rng(seed), Hedge(len(kernels)), 0.0
        self.S = np.zeros((0, d))
        self.a = [np.zeros((0, C)) for _ in kernels]  # a[i][j, c], of f_ic at row j
        self.additions = self.proxies = self.removals = 0
        self.loss = 0.0

    def f(self, i, x):
        return dot(self.a[i].T, values(self.kernels[i], self.S, x)) if len(self.S) else np.zeros(self.C)

    def norm(self, i):
        K = gram(self.kernels[i], self.S)
        return math.sqrt(max(0.0, sum(quadratic(a, K) for a in self.a[i].T)))

    def project(self, i):
        norm = self.norm(i)
        if norm > self.U:
            self.a[i] *= self.U / norm

    def remove(self):
        dropped = {"half": self.B // 2, "restart": self.B, "oldest": 1, "eager": self.B // 2}[self.removal]
        self.S = self.S[dropped:]
        for i in range(len(self.kernels)):
            self.a[i] = self.a[i][dropped:]
            self.project(i)
        self.removals += 1

    def learn(self, x, y, w=1.0):
        """Learn a row of class y, from 0 to C - 1; answer the scores of all classes from before."""
        f = np.array([self.f(i, x) for i in range(len(self.kernels))])
        F = dot(f.T, self.hedge.p)
        if w == 0:
            return F
        P = np.exp(F - F.max()) / np.exp(F - F.max()).sum()
        self.loss -= w * math.log(P[y])
        g = w * (P - np.eye(self.C)[y])
        q = w * (P.sum() - P[y])
        self.G += q
        gamma = math.sqrt(2 * math.log(len(self.kernels))) / math.sqrt(1 + self.G)
        s = [nearest(kernel, self.S, x) for kernel in self.kernels] if len(self.S) else []
        if s and max(distance(kernel, self.S[j], x) for kernel, j in zip(self.kernels, s, strict=True)) <= gamma:
            for i, j in enumerate(s):
                self.a[i][j] -= self.lam * g
                self.project(i)
            self.proxies += 1
        elif self.rng.uniform() < q / (q + 1):
            if len(self.S) == self.B:
                self.remove()
            self.S = np.vstack([self.S, x])
            for i in range(len(self.kernels)):
                self.a[i] = np.vstack([self.a[i], -self.lam * (g / q) * (q + 1)])
                self.project(i)
            self.additions += 1
            if self.removal == "eager" and len(self.S) == self.B:
                self.remove()
        costs = dot(f, g)
        self.hedge.update(costs - costs.min())
        return F
