"""Raker (Shen, Chen & Giannakis 2019), on given frequencies."""

import math

import numpy as np

from oracle.parts import dot, loss_and_slope

L_MAX = {"logistic": 2.0, "hinge": 1.0, "smooth_hinge": 2.0}


class Raker:
    def __init__(self, kernels, frequencies, rate, mu, loss="logistic"):
        self.widths, self.W, self.rate, self.mu, self.loss = [k.width for k in kernels], frequencies, rate, mu, loss
        self.theta = np.zeros((len(kernels), 2 * len(frequencies)))
        self.L = np.zeros(len(kernels))

    @property
    def p(self):
        weights = np.exp(-self.rate * (self.L - self.L.min()))
        return weights / weights.sum()

    def learn(self, x, y, w=1.0):
        angles = [dot(self.W, x) / width for width in self.widths]
        z = np.array([np.concatenate([np.cos(a), np.sin(a)]) for a in angles]) / math.sqrt(len(self.W))
        f = (self.theta * z).sum(axis=1)
        score = float(dot(self.p, f))
        if w == 0:
            return score
        for i in range(len(self.widths)):
            loss, slope = loss_and_slope(self.loss, f[i], y)
            self.L[i] += (w * loss + self.mu * (self.theta[i] ** 2).sum()) / L_MAX[self.loss]
            self.theta[i] = (1 - 2 * self.rate * self.mu) * self.theta[i] - self.rate * w * slope * z[i]
        return score
