"""LKMBooks (Li & Liao 2022)."""

import math

import numpy as np

from oracle.parts import Expansion, Rng, dot, linearised_costs, loss_and_slope


class LKMBooks:
    def __init__(self, kernels, d, B, horizon, nu=0.5, step=10.0, loss="logistic", seed=0):
        self.B, self.T, self.nu, self.loss = B, horizon, nu, loss
        self.lam = step * math.sqrt((1 + nu) * B) / (math.sqrt(1 - nu) * horizon)
        self.eta = math.sqrt(8 * math.log(len(kernels)) / horizon)
        self.rng, self.f = Rng(seed), [Expansion(kernel, d) for kernel in kernels]
        self.log_p, self.m, self.n, self.additions = np.zeros(len(kernels)), 1.0, 0, 0

    @property
    def p(self):
        weights = np.exp(self.log_p - self.log_p.max())
        return weights / weights.sum()

    def learn(self, x, y, w=1.0):
        f = np.array([fi(x) for fi in self.f])
        score = float(dot(self.p, f))
        if w == 0:
            return score
        g = w * loss_and_slope(self.loss, score, y)[1]
        if g != 0:
            self.log_p = self.log_p - self.eta * linearised_costs(g, f) / self.m
            rho = min(1.0, self.B / ((1 - self.nu) * self.T ** (1 - self.nu) * (self.n + 1) ** self.nu))
            if len(self.f[0].a) < self.B and self.rng.uniform() < rho:
                for fi in self.f:
                    fi.append(x, -self.lam * g / rho)
                self.additions += 1
            self.n += 1
        self.m = max(self.m, f.max() - f.min())
        return score
