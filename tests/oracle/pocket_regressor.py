"""PocketRegressor, on given frequencies: experts on real targets, mixed by least squares.

E experts of m functions each: a linear one, K - 1 widths, a ring of the last rows, a table for each column, a constant.
Columns, frequencies and reviews are those of the transcription of PocketClassifier. Everything is in the units of y.
"""

import math
from statistics import NormalDist

import numpy as np

from oracle.parts import dot
from oracle.pocket_classifier import PocketClassifier

SHARES = np.array([0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.975, 0.99])
SCORES = np.array([NormalDist().inv_cdf((1 + share) / 2) for share in SHARES])
STEPS = np.array([0.1] * 12 + [0.15, 0.15, 0.2, 0.3])
PER_SIZE = math.sqrt(math.pi / 2)


class LeastSquares:
    def __init__(self, n, keep, ridge):
        self.n, self.keep, self.ridge, self.A = n, keep, ridge, ridge * np.eye(n)

    def gain(self, x, c, turn):
        self.A = self.keep * self.A + c * np.outer(x, x)
        self.A[turn % self.n, turn % self.n] += (1 - self.keep) * self.n * self.ridge
        return c * np.linalg.solve(self.A, x)

    def forget(self, keep):
        self.A = keep * self.A + (1 - keep) * self.ridge * np.eye(self.n)


class Target:
    """Level and scale of y and of the errors."""

    def __init__(self, y):
        self.mean, self.variance, self.usual, self.peak, self.rows = y, 0.0, 0.0, 0.0, 0.0
        self.square = self.fast = self.usual_error = self.size = self.offset = 0.0
        self.surprise, self.run, self.errors = 0.0, [], []
        self.block, self.length = [], 8
        self.above, self.below = PER_SIZE * SCORES, PER_SIZE * SCORES
        self.alarms = self.rebases = 0

    @staticmethod
    def limited(distance, usual, step):
        """The distance, at most 32 usual ones, and what is usual now."""
        if distance == 0:
            return distance, usual
        now = distance if usual == 0 else usual * (1 + step if distance > usual else 1 - step)
        return min(distance, 32 * max(now, usual)), now

    def interval(self, share):
        z = NormalDist().inv_cdf((1 + share) / 2)
        i = min(int(np.searchsorted(SCORES, z - 1e-12)), len(SCORES) - 1)
        bounds = []
        for q in (self.below, self.above):
            rise = q[i] - q[i - 1] if z <= SCORES[i] + 1e-12 else max(q[i] - q[i - 1], 0)
            bounds.append(self.size * (q[i] + rise * (z - SCORES[i]) / (SCORES[i] - SCORES[i - 1])))
        return bounds

    def track(self, error):
        level = (1 - SHARES) / 2
        self.above = self.above + STEPS * ((error > self.above * self.size) - level)
        self.below = self.below + STEPS * ((-error > self.below * self.size) - level)

    def clipped(self, error):
        limit = 4 * math.sqrt(max(self.square, self.fast)) if self.square > 0 else math.inf
        return min(max(error, -limit), limit)

    def spread(self, square):
        self.square = self.fast = square
        self.usual_error, self.size = 0.67 * math.sqrt(square), 0.8 * math.sqrt(square)

    def rebase(self, mean, variance, rows):
        self.mean, self.variance, self.rows = mean, variance, rows
        self.usual, self.peak = 0.67 * math.sqrt(variance), 4 * math.sqrt(variance)
        self.rebases += 1

    def observe(self, y, error, round_):
        """Whether there is an alarm, and the ratio of the new deviation to the old one."""
        step, t = 0.125 if round_ < 64 else 1 / 64, round_ - 1
        tame, self.usual_error = self.limited(abs(error), self.usual_error, step)
        if self.square > 0:
            self.surprise = max(self.surprise - math.log(2) + 0.375 * min(tame**2 / self.square, 4.5), 0)
            self.run = [*self.run, y] if self.surprise > 0 else []
            self.errors = [*self.errors, error] if self.surprise > 0 else []
        self.square += (tame**2 - self.square) / min(t, 1000)
        self.fast += (tame**2 - self.fast) / min(t, 20)
        self.size += (tame - self.size) / min(t, 64)
        alarm, ratio, rebased = self.surprise > 12, 1.0, False
        if alarm:
            self.alarms += 1
            gaps = np.array(self.run) - self.mean
            now = gaps.var()
            scaled = now > 16 * self.variance or 16 * now < self.variance
            if now > 0 and (scaled or gaps.mean() ** 2 > 16 * self.variance):
                rebased, peak = True, self.peak
                ratio = math.sqrt(now / self.variance) if scaled and self.variance > 0 else 1.0
                self.rebase(self.mean + gaps.mean(), now, len(gaps))
                self.peak = max(4 * math.sqrt(now), min(peak, 8 * math.sqrt(now)))
                self.spread(min(max(self.square, np.mean(np.square(self.errors))), now))
                self.block = []
            else:
                self.square = max(self.square, self.fast)
            self.surprise, self.run, self.errors = 0.0, [], []
        self.block = [*self.block, y]
        if len(self.block) >= self.length:
            block, self.block, self.length = np.array(self.block), [], min(2 * self.length, 1024)
            if not rebased and block.var() > 0 and 256 * block.var() < self.variance:
                alarm = rebased = True
                ratio = math.sqrt(block.var() / self.variance)
                self.rebase(block.mean(), block.var(), len(block))
                self.spread(min(self.square, block.var()))
        if not rebased:
            gap = y - self.mean
            far, self.usual = self.limited(abs(gap), self.usual, step)
            self.rows = min(max(self.rows, 1) + 1, 2048)
            self.mean += math.copysign(far, gap) / self.rows
            self.variance += (far**2 * (1 - 1 / self.rows) - self.variance) / self.rows
            self.peak = max(0.999 * self.peak, far)
        return alarm, ratio


class PocketRegressor(PocketClassifier):
    least_loss = 1e-6

    def __init__(self, widths, frequencies, d, m, lanes, quantile=0.0, item=8):
        super().__init__(widths, frequencies, d, m + 2, lanes, lag=False)  # with any number of functions but one
        self.m, self.d, self.quantile = m, d, quantile
        D, narrow = self.D, d < 64
        bytes_ = D * (4 * item * m + d)
        ring = bytes_ // (3 * (d + m * item)) // lanes * lanes if narrow else 0
        self.capacity = ring if bytes_ // (3 * (d + m * item)) >= 64 else 0
        self.with_tables = 16 * item * d * m <= bytes_ / 2
        self.with_matrix = narrow and (d + 1) * (d + 2) // 2 * 8 <= bytes_
        self.with_relevance = narrow and D > 0
        self.places = [*range(self.K)] + ["ring"] * (self.capacity > 0) + ["tables"] * self.with_tables + ["constant"]
        self.E = len(self.places)
        E = self.E
        self.theta = np.zeros((D, m, 4))
        self.linear, self.linear_squares = np.zeros((m, d + 1)), np.zeros((m, d + 1))
        self.matrix = LeastSquares(d + 1, 0.9997, 1.0)
        self.mixtures = [LeastSquares(E, 0.999, 30.0) for _ in range(m)]
        self.w = np.tile([1.0] + [1 / max(E - 2, 1)] * (E - 2) + [0.0], (m, 1))
        self.e_squares, self.losses = np.zeros((m, E)), np.zeros((m, E))
        self.rho, self.rho_squares = np.zeros(d), np.full(d, 0.01)
        self.tables = np.zeros((m, d, 16))
        self.ring, self.ring_values, self.stored = np.zeros((0, d)), np.zeros((0, m)), 0
        self.targets = None

    def knots(self, z):
        at = np.clip(3 * z + 7.5, 0, 14.999)
        hats = np.zeros((self.d, 16))
        i = at.astype(int)
        hats[np.arange(self.d), i], hats[np.arange(self.d), i + 1] = 1 - (at - i), at - i
        return hats

    def nearest(self, q):
        """Mean of the values of the 5 nearest rows."""
        if len(self.ring) == 0:
            return np.zeros(self.m)
        distances = np.sum(((self.ring - q) * np.exp(self.rho)) ** 2, axis=1)
        order = np.argsort(distances, kind="stable")[:5]
        weights = 1 / (distances[order] + distances[order[0]] / 2 + 1)
        return dot(self.ring_values[order].T, weights) / weights.sum()

    def scores(self, x1, waves, z, q):
        s = np.zeros((self.m, self.E))
        s[:, 0] = dot(self.linear, x1)
        terms = self.theta * waves[:, None]
        for i in range(1, self.K):
            s[:, i] = terms[self.owner == i][:, :, :2].sum(axis=(0, 2))
            s[:, i] += terms[self.owner == i - 1][:, :, 2:].sum(axis=(0, 2))
        for place, name in enumerate(self.places):
            if name == "ring":
                s[:, place] = self.nearest(q)
            elif name == "tables":
                s[:, place] = (self.tables * self.knots(z)).sum(axis=(1, 2))
        s[:, -1] = [math.sqrt(t.variance) for t in self.targets]
        limits = np.array([[2 * t.peak] for t in self.targets])
        return np.clip(s, -limits, limits)

    def learn(self, x, y, c=1.0):
        """Learn a row; answer what was predicted before."""
        y = np.atleast_1d(y)
        known = np.where(np.isnan(x), self.centre, x)
        z = 2 * np.arcsinh((known - self.centre) / np.where(self.spread > 0, self.spread, np.inf) / 2)
        seen = np.exp(self.rho) * z
        x1, q = np.append(np.clip(z, -5, 5), 1), np.clip(np.floor(16 * z + 0.5), -127, 127)
        if self.targets is None:
            if c == 0:
                return np.zeros(self.m)
            answer = np.zeros(self.m)
        else:
            waves = self.waves(seen)
            s = self.scores(x1, waves, z, q)
            limits = np.array([2 * t.peak for t in self.targets])
            F = np.clip((self.w * s).sum(axis=1), -limits, limits)
            answer = F + [t.mean + t.offset * t.size for t in self.targets]
            if c == 0:
                return answer
        self.rounds += 1
        self.cumulative_loss += c * sum(self.loss_of(error) for error in y - answer)
        c = self.weights.times(c, self.rounds)
        if self.targets is None:
            self.targets = [Target(value) for value in y]
        else:
            self.teach(y, answer, F, s, waves, z, seen, x1, q, c)
        self.observe(x, seen)
        self.loss = self.losses.mean(axis=0)
        if self.owners > 1 and self.rounds >= self.next_review:
            self.next_review = self.rounds + 1 + min(self.rounds // 10, 4096)
            self.review()
        return answer

    def loss_of(self, error):
        if self.quantile == 0:
            return error**2
        return self.quantile * error if error > 0 else (self.quantile - 1) * error

    def lesson(self, t, error):
        tau, deviation = self.quantile, PER_SIZE * t.size
        if tau == 0 or deviation == 0:
            return t.clipped(error)
        newton = 1 / NormalDist().pdf(NormalDist().inv_cdf(tau))
        ramp = 0.5 + 0.5 * min(max(error / (0.5 * deviation), -1), 1)
        return newton * deviation * (ramp - (1 - tau))

    def teach(self, y, answer, F, s, waves, z, seen, x1, q, c):
        steps, errors = np.zeros((self.K + 1, self.m)), np.zeros(self.m)
        hats = self.knots(z)
        for r, t in enumerate(self.targets):
            t.track(y[r] - answer[r])
            if self.quantile > 0:
                t.offset += 0.02 * ((y[r] > answer[r]) - (1 - self.quantile))
            errors[r] = self.lesson(t, y[r] - t.mean - F[r])
            v, rest = max(t.variance, 1e-300), F[r] + errors[r] - s[r, 0]
            for i in range(1, self.E - 1):
                own = rest - s[r, i]
                if t.variance > 0:
                    loss = (
                        own**2 / v
                        if self.quantile == 0
                        else self.loss_of(y[r] - t.mean - s[r, 0] - s[r, i]) / math.sqrt(v)
                    )
                    self.losses[r, i] += (min(loss, 1e6) - self.losses[r, i]) / min(self.rounds, 1000)
                g = 0.7 * own + 0.3 * errors[r]
                squares = 0.9995 * self.e_squares[r, i]
                rate = c * math.sqrt(v / (v + squares + c**2 * g**2))
                self.e_squares[r, i] = squares + c * g**2
                if i < self.K and self.count(i) > 0:
                    n = self.count(i)
                    steps[i, r] = min(8 * math.sqrt(min(n, 2048) / 2048) * rate, 0.9) * g / n
                elif self.places[i] == "tables":
                    self.tables[r] += min(4 * rate, 0.5) * g * hats / np.sum(hats**2)
        if self.with_relevance and self.rounds % 2 == 0:
            self.weigh(errors, waves, seen)
        self.theta[:, :, :2] += steps[self.owner][:, :, None] * waves[:, None, :2]
        self.theta[:, :, 2:] += steps[self.owner + 1][:, :, None] * waves[:, None, 2:]
        self.teach_linear(F + errors - s[:, 0], x1, c)
        if self.capacity > 0:
            self.store(q, F + errors - s[:, 0])
        for r, t in enumerate(self.targets):
            deviation = math.sqrt(t.variance)
            if deviation > 1e-100:
                self.w[r] += self.mixtures[r].gain(s[r] / deviation, c, self.rounds) * errors[r] / deviation
            alarm, ratio = t.observe(y[r], y[r] - t.mean - F[r], self.rounds)
            if alarm:
                self.mixtures[r].forget(0.02)
                self.matrix.forget(0.02)
                self.e_squares[r] *= 0.02
                self.linear_squares[r] *= 0.02
            self.e_squares[r] *= ratio**2
            for coefficients in (self.linear[r], self.theta[:, r], self.tables[r], self.ring_values[:, r]):
                coefficients *= ratio

    def weigh(self, errors, waves, seen):
        """Slopes of the loss in the logarithms of the columns' factors, through the angles."""
        slopes = np.zeros(self.d)
        cos, sin, cos2, sin2 = waves.T
        inverse = 1 / (self.widths[self.owner] * math.sqrt(self.square))
        for r, t in enumerate(self.targets):
            own, following = self.w[r, self.owner], self.w[r, self.owner + 1]
            a = self.theta[:, r]
            turn = own * (a[:, 1] * cos - a[:, 0] * sin) + 2 * following * (a[:, 3] * cos2 - a[:, 2] * sin2)
            if t.variance > 0:
                slopes -= errors[r] / t.variance * dot(self.W.T, turn * inverse)
        G = np.clip(slopes * seen, -1e6, 1e6)
        self.rho_squares = 0.999 * self.rho_squares + 1e-5 + G**2
        rho = self.rho - 0.1 * G / np.sqrt(self.rho_squares)
        self.rho = np.clip(rho - rho.mean(), -5, 3)

    def teach_linear(self, errors, x1, c):
        if self.with_matrix:
            self.linear += np.outer(errors, self.matrix.gain(x1, c, self.rounds))
            return
        for r, t in enumerate(self.targets):
            more = np.minimum(errors[r] ** 2 / max(t.variance, 1e-300) * x1**2, 1e9)
            kept = 0.9997 * self.linear_squares[r]
            self.linear[r] += 0.1 * c * errors[r] * x1 / np.sqrt(1 + kept + c**2 * more)
            self.linear_squares[r] = kept + c * more

    def store(self, q, values):
        place = self.stored % self.capacity
        self.stored += 1
        if place == len(self.ring):
            self.ring, self.ring_values = np.vstack([self.ring, q]), np.vstack([self.ring_values, values])
        else:
            self.ring[place], self.ring_values[place] = q, values
