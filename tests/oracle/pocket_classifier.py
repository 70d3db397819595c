"""PocketClassifier, on given frequencies: a linear model and random features of several widths, mixed.

K experts of R functions each; expert 0 is linear, experts 1 .. K - 1 have a width. Frequencies change hands in tiles of
`lanes`. Classes are 0 .. C - 1; of two, R = 1.
"""

import math

import numpy as np

KEEP, RIDGE, WINDOW = 1 - 1 / 5000, 3.0, 65535


class PocketClassifier:
    least_loss = 1e-3

    def __init__(self, widths, frequencies, d, C, lanes, lag, ring=0):
        self.widths, self.W, self.lanes = np.array([np.inf, *widths]), frequencies, lanes
        self.K, self.R, self.D = 1 + len(widths) + (ring > 0) + lag, 1 if C == 2 else C, len(frequencies)
        self.lag, self.ring_size = lag, ring
        K, R, D = self.K, self.R, self.D
        self.owners = max(0, len(widths) - 1)
        self.owner = np.array([1 + j // lanes % self.owners for j in range(D)], dtype=int)
        self.rounds = self.mistakes = 0
        # columns
        self.mean, self.deviation, self.usual, self.centre, self.spread = np.zeros((5, d))
        self.n, self.beyond, self.unlike, self.last = np.zeros((4, d))
        self.zeros = np.zeros(d, dtype=int)  # rows of 0 that wide rows have not taken in yet
        self.stands_still = d >= 64  # between refreshes, what z is made with
        self.running_square = self.square = float(d)
        self.next_refresh, self.next_review = 1, 100
        # experts
        self.a, self.bias, self.a_squares = np.zeros((R, d)), np.zeros(R), np.ones(d)
        self.theta = np.zeros((D, R, 4))
        self.rho, self.rho_squares, self.factors = np.zeros(d), np.ones(d), np.ones(d)
        self.squares, self.loss = np.ones(K), np.zeros(K)
        # the last labels and their mean, as inputs; the last of the experts
        self.lags, self.lag_weights, self.lag_squares = np.zeros((4, R)), np.zeros(4), np.ones(4)
        # the last rows, so many, with 16 to a page
        self.ring_row, self.row_labels, self.stored = np.zeros((ring, d), int), np.zeros(ring, int), 0
        self.column_weights = np.full(d, 16)
        self.ring_weights = np.tile([1, 1 / 1.5, 1 / 2], 3) / 3
        self.ring_squares = np.ones(9)
        # mixture
        self.w, self.A = np.full(K, 1 / K), RIDGE * np.eye(K)
        # change
        self.turned, self.reversal, self.surprise = False, 0.0, 0.0
        self.log_weight = 0.0
        self.turns = self.hurries = self.moves = self.clipped = self.limited = self.restarts = 0
        self.weighings = 0
        self.cumulative_loss = 0.0

    def count(self, i):
        """Frequencies that serve expert i, or rows."""
        if self.ring_size and i == len(self.widths):
            return min(self.stored, self.ring_size)
        return int(np.count_nonzero((self.owner == i) | (self.owner == i - 1))) if i > 0 else 0

    def lesson(self, scores, y):
        """Loss and slopes of R scores."""
        if self.R == 1:
            sign = 1 if y == 1 else -1
            z = sign * scores[0]
            return np.logaddexp(0, -z), np.array([-sign / (1 + math.exp(z))])
        P = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
        return -math.log(P[y]), P - np.eye(self.R)[y]

    def waves(self, z):
        angles = self.W @ z / (self.widths[self.owner] * math.sqrt(self.square))
        return np.stack([np.cos(angles), np.sin(angles), np.cos(2 * angles), np.sin(2 * angles)], axis=1)

    def neighbours(self, z):
        """Labels of the three nearest rows in three windows of whole pages, the newest page first; -1 for none."""
        self.q = 128 + np.clip(np.floor(16 * z + 0.5), -127, 127).astype(int)
        there, found = min(self.stored, self.ring_size), []
        pages = -(-there // 16)
        newest = (self.stored - 1) % self.ring_size // 16 if there else 0
        order = [
            np.arange(p * 16, min(p * 16 + 16, there)) for p in ((newest - n) % max(pages, 1) for n in range(pages))
        ]
        for rows in (max(self.ring_size // 64, 16), max(self.ring_size // 8, 16), self.ring_size):
            places = np.concatenate([np.zeros(0, int), *order[: -(-rows // 16)]])
            away = np.abs(self.ring_row[places] - self.q) @ self.column_weights
            nearest = self.row_labels[places[np.argsort(away, kind="stable")[:3]]]
            found += [*nearest, *[-1] * (3 - len(nearest))]
        return np.array(found)

    def experts(self, z, waves):
        """s[i, r], within +-8."""
        s = np.zeros((self.K, self.R))
        s[0] = self.a @ z + self.bias
        terms = self.theta * waves[:, None]
        np.add.at(s, self.owner, terms[:, :, :2].sum(axis=2))
        np.add.at(s, self.owner + 1, terms[:, :, 2:].sum(axis=2))
        if self.ring_size:
            s[len(self.widths)] = (self.found[:, None] == np.arange(self.R)).T @ self.ring_weights
        if self.lag:
            s[-1] = self.lag_weights @ self.lags
        self.clipped += int(np.sum(np.abs(s) > 8))
        return np.clip(s, -8, 8)

    def norms(self):
        squares = [np.sum(self.a**2) + np.sum(self.bias**2)]
        for i in range(1, len(self.widths)):
            mine, lent = self.theta[self.owner == i, :, :2], self.theta[self.owner == i - 1, :, 2:]
            squares.append(np.sum(mine**2) + np.sum(lent**2))
        squares += [np.sum(self.ring_weights**2)] if self.ring_size else []
        squares += [np.sum(self.lag_weights**2)] if self.lag else []
        return np.sqrt(squares)

    def learn(self, x, y, w=1.0):
        """Learn a row of class y; answer the decision from before: one number for two classes, else one for each."""
        z = 2 * np.arcsinh((x - self.centre) / np.where(self.spread > 0, self.spread, np.inf) / 2)
        z[np.isnan(x)] = 0
        waves = self.waves(self.factors * z)
        self.found = self.neighbours(z) if self.ring_size else None
        s = self.experts(z, waves)
        F = self.w @ s
        answer = F if self.R > 1 else (-F[0] if self.turned else F[0])
        if w == 0:
            return answer
        self.rounds += 1
        self.mistakes += y != (np.argmax(answer) if self.R > 1 else answer >= 0)
        target = 1 - y if self.turned else y
        loss, slope = self.lesson(F, target)
        self.cumulative_loss += w * loss
        self.log_weight += (math.log(w) - self.log_weight) / min(self.rounds, 4096)
        c = min(math.exp(math.log(w) - self.log_weight), 16, self.rounds)  # how many times the row counts
        weighed = self.factors * z
        if self.D > 0 and self.rounds * 0x9E3779B97F4A7C15 % 2**64 < 2**62:
            self.weigh_columns(x, weighed, waves, c * slope)
        self.teach_experts(z, waves, s, F, target, c)
        u = s @ slope
        self.A = KEEP * self.A + (1 - KEEP) * RIDGE * np.eye(self.K) + c * np.outer(u, u)
        self.w = self.w - c * np.linalg.solve(self.A, u)
        now = np.eye(self.R)[target] if self.R > 1 else np.array([1.0 if target == 1 else -1.0])
        self.lags = np.stack([now, *self.lags[:2], self.lags[3] + 0.05 * (now - self.lags[3])])
        if self.ring_size:
            place = self.stored % self.ring_size
            self.ring_row[place], self.row_labels[place] = self.q, target
            self.stored += 1
        self.watch(F, target, c, loss)
        self.observe(x, weighed)
        if self.ring_size and self.rounds % 64 == 0:
            unit = max(2048, 8 * len(x)) / self.factors.sum()
            self.column_weights = np.minimum(255, np.floor(unit * self.factors + 0.5)).astype(int)
        if self.owners > 1 and self.rounds >= self.next_review:
            self.review()
        return answer

    def teach_experts(self, z, waves, s, F, y, c):
        steps = np.zeros((self.K, self.R))
        for i in range(self.K):
            self.loss[i] += (self.lesson(s[i], y)[0] - self.loss[i]) / min(self.rounds, 1000)
            g = self.lesson(0.7 * s[i] + 0.3 * F, y)[1]
            whole = self.squares[i] + c**2 * g @ g
            if i == 0:
                self.a -= 0.1 * c * np.outer(g, z / np.sqrt(self.a_squares + c**2 * (g @ g) * z**2))
                self.a_squares = self.a_squares + c * (g @ g) * z**2
                self.bias -= 0.1 * c * g / math.sqrt(whole)
            elif self.lag and i == self.K - 1:
                G = self.lags @ g
                self.lag_weights = self.lag_weights - c * G / np.sqrt(self.lag_squares + c**2 * G**2)
                self.lag_squares = self.lag_squares + c * G**2
            elif self.ring_size and i == len(self.widths):
                G = np.where(self.found >= 0, g[self.found], 0)
                self.ring_weights = self.ring_weights - 0.5 * c * G / np.sqrt(self.ring_squares + c**2 * G**2)
                self.ring_squares = self.ring_squares + c * G**2
            elif self.count(i) > 0:
                n = self.count(i)
                rate = 0.5 if self.R == 1 else 2.0
                steps[i] = rate * math.sqrt(min(n, 2048)) / n / math.sqrt(whole) * c * g
            self.squares[i] += c * g @ g
        self.theta[:, :, :2] -= steps[self.owner][:, :, None] * waves[:, None, :2]
        self.theta[:, :, 2:] -= steps[self.owner + 1][:, :, None] * waves[:, None, 2:]

    def weigh_columns(self, x, z, waves, slope):
        """Step of rho; z is weighed. Of a sparse row only the columns that are not 0 are asked."""
        cos, sin, cos2, sin2 = waves.T[:, :, None]
        own = self.theta[:, :, 1] * cos - self.theta[:, :, 0] * sin
        lent = self.theta[:, :, 3] * cos2 - self.theta[:, :, 2] * sin2
        by_angle = self.w[self.owner] * (own @ slope) + 2 * self.w[self.owner + 1] * (lent @ slope)
        by_angle /= self.widths[self.owner] * math.sqrt(self.square)
        G = by_angle @ self.W * z
        if self.stands_still and np.count_nonzero(x) <= len(x) // 4:
            G[x == 0] = 0
        self.rho_squares = 0.9999 * self.rho_squares + 0.0001 + G**2
        self.rho -= 0.1 * G / np.sqrt(self.rho_squares)
        self.rho = np.clip(self.rho - self.rho.mean(), -5, 3)
        self.weighings += 1

    def watch(self, F, y, c, loss):
        if self.R == 1:
            margin = c * (F[0] if y == 1 else -F[0])
            self.reversal = max(self.reversal - min(max(margin, -2), 2), 0)
            if self.reversal > 20:
                self.turned, self.reversal, self.surprise = not self.turned, 0.0, 0.0
                self.turns += 1
                return
        self.surprise = max(self.surprise + min(c * (loss - self.lesson(0.5 * F, y)[0]), 1), 0)
        if self.surprise > 12:
            self.surprise = 0.0
            self.A = 0.02 * self.A + 0.98 * RIDGE * np.eye(self.K)
            self.squares = np.maximum(0.02 * self.squares, 1)
            self.a_squares = np.maximum(0.02 * self.a_squares, 1)
            self.hurries += 1

    def observe(self, x, z):
        """Columns and the scale of the rows, up to and with this one; a column without a value stays as it is."""
        missing, names = np.isnan(x), ("mean", "deviation", "usual", "n", "beyond", "unlike", "last")
        later = (x == 0) & self.stands_still
        self.make_up(np.flatnonzero(~later))
        self.zeros[later] += 1
        left = missing | later
        before = {name: getattr(self, name).copy() for name in names}
        self.observe_columns(np.where(missing, self.mean, x), left)
        for name in names:
            setattr(self, name, np.where(left, before[name], getattr(self, name)))
        self.observe_square(z)
        self.refresh()

    def make_up(self, columns):
        """Take in the zeros of some columns: one by one while they are unusual, then all at once."""
        for k in columns:
            zeros, self.zeros[k] = self.zeros[k], 0
            if zeros == 0:
                continue
            m, s, e, n = self.mean[k], self.deviation[k], self.beyond[k], self.n[k]
            while zeros > 0 and m**2 > 4 * s**2:
                zeros -= 1
                limit = max(24 * self.usual[k], 4 * s)
                away, ratio = np.clip(-m, -limit, limit), min(abs(m) / max(s, 1e-300), 4)
                e = max(e + ratio**2 - 4, 0) if n >= 32 else 0.0
                n = min(n + 1, WINDOW)
                s, m = math.sqrt((1 - 1 / n) * (s**2 + away**2 / n)), m + away / n
                if e >= 1024:
                    m, s, e, n, self.unlike[k], self.usual[k] = 0.0, 0.0, 0.0, 1, 0, 0.0
                    self.restarts += 1
            if zeros > 0:
                within = min(zeros, WINDOW - n)
                f = n / max(n + within, 1) * math.exp(-(zeros - within) / (WINDOW - 0.5))
                e = max(e - zeros * (4 - m**2 / s**2), 0) if e > 0 else 0.0
                s, m, n = math.sqrt(f * (s**2 + (1 - f) * m**2)), f * m, n + within
            self.mean[k], self.deviation[k], self.beyond[k], self.n[k], self.last[k] = m, s, e, n, -m

    def observe_columns(self, x, missing):
        size, jump, old = np.abs(x - self.mean), np.abs(x - self.mean - self.last), self.n >= 32
        self.last = x - self.mean
        self.n = np.minimum(self.n + 1, WINDOW)
        step = np.clip(16 / self.n, 1 / 256, 1 / 8)
        moved = np.where(self.usual == 0, jump, self.usual * np.where(jump > self.usual, 1 + step, 1 - step))
        usual = np.where((x == 0) | (jump == 0), self.usual, moved)
        limit = np.maximum(24 * np.maximum(usual, self.usual), 4 * self.deviation)
        away = np.clip(x - self.mean, -limit, limit)
        self.limited += int(np.sum(size > limit))
        # tests for another unit or level
        ratio = np.where(
            self.deviation > 0, size / np.where(self.deviation > 0, self.deviation, 1), np.where(size > 0, 4, 0)
        )
        ratio = np.minimum(ratio, 4)
        self.beyond = np.where(old, np.maximum(self.beyond + ratio**2 - 4, 0), 0)
        large, small = jump > 8 * self.usual, jump < self.usual / 4
        calmer = np.sign(self.unlike) * np.maximum(np.abs(self.unlike) - 1, 0)
        counted = np.where(
            large, np.maximum(self.unlike, 0) + 1, np.where(small, np.minimum(self.unlike, 0) - 1, calmer)
        )
        self.unlike = np.where(old, np.where(x == 0, self.unlike, counted), 0)
        # moments
        self.usual, self.mean = usual, self.mean + away / self.n
        self.deviation = np.sqrt((1 - 1 / self.n) * (self.deviation**2 + away**2 / self.n))
        anew = ~missing & ((self.n == 1) | (self.beyond >= 1024) | (np.abs(self.unlike) >= 48))
        self.restarts += int(np.sum(anew & (self.n > 1)))
        self.mean, self.n = np.where(anew, x, self.mean), np.where(anew, 1, self.n)
        self.deviation, self.usual, self.beyond, self.unlike, self.last = np.where(
            anew, 0, [self.deviation, self.usual, self.beyond, self.unlike, self.last]
        )

    def observe_square(self, z):
        before = self.running_square
        square = before + (min(z @ z, 16 * before) - before) / min(self.rounds + 10, WINDOW)
        self.running_square = max(square, 1e-3)

    def refresh(self):
        moved = np.maximum(np.abs(self.mean - self.centre), np.abs(self.deviation - self.spread)) > self.deviation / 4
        if self.rounds >= self.next_refresh:
            self.make_up(range(len(self.zeros)))
            self.next_refresh = self.rounds + 1 + min(self.rounds, WINDOW) // 16
            self.square = self.running_square
            self.factors = np.exp(self.rho)
            moved = np.ones_like(moved)
        if not self.stands_still:
            self.factors = np.exp(self.rho)
            moved = np.ones_like(moved)
        self.centre, self.spread = np.where(moved, [self.mean, self.deviation], [self.centre, self.spread])

    def review(self):
        """Tiles go to the owners whose widths, their own and the next, predict best."""
        self.next_review = self.rounds + 1 + min(self.rounds // 10, 4096)
        tiles = np.array([np.sum(self.owner == i) // self.lanes for i in range(1, self.owners + 1)])
        losses = (2 * self.loss[1 : self.owners + 1] + self.loss[2 : self.owners + 2]) / 3
        least = 1 if tiles.sum() >= 4 * self.owners else 0
        shares = np.exp((1 - losses / max(losses.min(), self.least_loss)) / (0.05 + 1 / math.sqrt(self.rounds)))
        fair = np.maximum(shares / shares.sum() * tiles.sum(), least)
        for _ in range(tiles.sum() // 8 + 1):
            over = tiles - fair
            givers = [i for i in range(self.owners) if over[i] >= 1 and tiles[i] > least]
            takers = [i for i in range(self.owners) if over[i] <= -0.5]
            if not givers or not takers:
                return
            giver = max(givers, key=lambda i: (over[i], i))
            taker = max(takers, key=lambda i: (-over[i], i))
            moved = np.flatnonzero(self.owner == giver + 1)[: self.lanes]
            self.owner[moved] = taker + 1
            self.theta[moved] = 0
            tiles[giver] -= 1
            tiles[taker] += 1
            self.moves += 1
