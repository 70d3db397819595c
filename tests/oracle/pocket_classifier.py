"""PocketClassifier: a linear model, random features of several widths, ring, ferns, functions of columns, lags; mixed.

K experts of R functions each; expert 0 is linear, then come the widths, then ring and ferns if there is a block for
them to share, then a sum of functions of single columns or a linear one that learns slowly, then the last labels.
Frequencies change hands in tiles of `lanes`. Classes are 0 .. C - 1; of two, R = 1.
"""

import math

import numpy as np

from oracle.parts import RelativeWeights, Rng, dot

KEEP, RIDGE, WINDOW, FIRST_ROWS = 1 - 1 / 5000, 5.0, 65535, 256
MOST_BEYOND, MOST_UNLIKE = 512, 32


class Fern:
    """Four tests of one column each, and a table of sixteen leaves."""

    def __init__(self, R, x, last, rng):
        self.columns, self.thresholds, self.leaves = [], [], np.zeros((16, R))
        for _ in range(4):
            k, between = rng.index(len(x)), rng.uniform()
            before = x[k] if np.isnan(last[k]) else last[k]
            self.columns.append(k)
            self.thresholds.append(before + between * (x[k] - before))

    def leaf(self, x):
        answers = [
            math.isnan(x[k]) if math.isnan(limit) else x[k] > limit
            for k, limit in zip(self.columns, self.thresholds, strict=True)
        ]
        return sum(int(answer) << b for b, answer in enumerate(answers))


class Block:
    """Memory that waves, ferns and ring share, and what is known about them. Bytes as in double precision."""

    def __init__(self, budget, d, C, lanes):
        R, sparse = 1 if C == 2 else C, d >= 64
        self.unit = (4 * R + sparse + 1) * 8 + d
        self.bytes, self.most_tiles = budget * self.unit, budget // lanes
        self.tile, self.fern, self.page = lanes * self.unit, (16 * R + 4) * 8 + 8, 16 * (d + (2 if C > 256 else 1))
        ring, ferns = (0.10, 0.20) if R == 1 else (0.25, 0.15)
        self.tiles = int((self.bytes * (1 - ring) - self.bytes * ferns) / self.tile + 0.5)
        self.room = int(self.bytes * ferns / self.fern)
        self.worth, self.loss = np.zeros(3), 0.0
        self.mistakes = self.near = self.nearest = 0.0
        self.anchors, self.last, self.ferns = np.zeros(d), np.zeros(d), []

    @property
    def ring_bytes(self):
        return self.bytes - self.tiles * self.tile - self.room * self.fern


class PocketClassifier:
    least_loss = 1e-3

    def __init__(self, widths, frequencies, d, C, lanes, lag, block=None, additive=False, slow=False, seed=None):
        self.widths, self.lanes, self.d = np.array([np.inf, *widths]), lanes, d
        self.K, self.R = 1 + len(widths) + 2 * (block is not None) + additive + slow + lag, 1 if C == 2 else C
        self.additive, self.slow = (self.K - 1 - lag if there else None for there in (additive, slow))  # their places
        self.lag, self.block, self.rng = lag, block, Rng(seed or 0)
        self.owners = max(0, len(widths) - 1)
        if block is not None:
            frequencies = self.draw(block.tiles)
        self.W, self.D = frequencies, len(frequencies)
        self.owner = np.array([1 + j // lanes % self.owners for j in range(self.D)], dtype=int)
        K, R, D = self.K, self.R, self.D
        self.rounds = self.mistakes = 0
        # columns
        self.mean, self.deviation, self.usual, self.centre, self.spread = np.zeros((5, d))
        self.n, self.beyond, self.unlike, self.last, self.direction = np.zeros((5, d))
        self.zeros = np.zeros(d, dtype=int)  # rows of 0 that wide rows have not taken in yet
        self.stands_still = d >= 64  # between refreshes, what z is made with
        self.running_square = self.square = float(d)
        # Where most rows are sparse, the linear expert counts from the z of a row of zeros.
        self.crowded, self.from_zero = 0.0, False
        self.next_refresh, self.next_review = 1, 100
        # experts
        self.a, self.bias, self.a_squares = np.zeros((R + slow, d)), np.zeros(R + slow), np.ones(d)
        self.theta, self.rates = np.zeros((D, R, 4)), np.full(K, 0.5)
        self.rho, self.rho_squares, self.factors = np.zeros(d), np.ones(d), np.ones(d)
        self.squares, self.own_squares, self.loss = np.ones(K), np.zeros((K, R)), np.zeros(K)
        # the last labels and their mean, as inputs; the last of the experts
        self.lags, self.lag_weights, self.lag_squares = np.zeros((4, R)), np.zeros(4), np.ones(4)
        # the last rows, so many, with 16 to a page
        self.ring_row, self.row_labels, self.filled, self.next = np.zeros((0, d), int), np.zeros(0, int), 0, 0
        if block is not None:
            self.resize_ring()
        self.column_weights = np.full(d, 16)
        self.ring_weights = np.tile([1, 1 / 1.5, 1 / 2], 3) / 3
        self.ring_squares = np.ones(9)
        self.squared, self.lead = False, 0  # the kind of distance, and by how much the other one leads
        # the values of functions of columns at knots a third apart
        self.heights = np.zeros((R, d, 16))
        # mixture
        self.w, self.A = np.full(K, 1 / K), RIDGE * np.eye(K)
        # change
        self.turned, self.reversal, self.surprise, self.wrong_labels = False, 0.0, 0.0, 0.0
        self.weights = RelativeWeights()
        self.turns = self.hurries = self.moves = self.clipped = self.limited = self.restarts = 0
        self.weighings = self.doubts = 0
        self.cumulative_loss = 0.0
        self.events, self.started, self.shifts, self.grown, self.changes = [], {}, 0, 0, 0

    def draw(self, tiles):
        """Frequencies of so many tiles: normal numbers in pairs, rounded to 1/32."""
        drawn = []
        for _ in range(tiles):
            numbers = []
            while len(numbers) < self.d * self.lanes:
                radius, angle = math.sqrt(-2 * math.log(1 - self.rng.uniform())), 2 * math.pi * self.rng.uniform()
                numbers += [radius * math.cos(angle), radius * math.sin(angle)]
            tile = np.clip(np.floor(32 * np.array(numbers[: self.d * self.lanes]) + 0.5), -127, 127) / 32
            drawn.append(tile.reshape(self.d, self.lanes).T)
        return np.concatenate([np.zeros((0, self.d)), *drawn])

    def count(self, i):
        """Frequencies that serve expert i, or rows, or ferns."""
        if self.block and i >= len(self.widths):
            counts = [self.filled, len(self.block.ferns)]
            if i - len(self.widths) < 2:
                return counts[i - len(self.widths)]
        if i == self.additive:
            return self.d
        if i >= len(self.widths):
            return 0
        return int(np.count_nonzero((self.owner == i) | (self.owner == i - 1))) if i > 0 else 0

    def lesson(self, scores, y):
        """Loss and slopes of R scores."""
        if self.R == 1:
            sign = 1 if y == 1 else -1
            z = sign * scores[0]
            return np.logaddexp(0, -z), np.array([-sign / (1 + math.exp(z))])
        P = np.exp(scores - scores.max())
        P /= P.sum()
        return -math.log(P[y]), P - np.eye(self.R)[y]

    def zero(self):
        """z of a row of zeros."""
        return 2 * np.arcsinh(-self.centre / np.where(self.spread > 0, self.spread, np.inf) / 2)

    def origin(self):
        """Where the linear expert counts from."""
        return self.zero() if self.from_zero else np.zeros(self.d)

    def is_sparse(self, x):
        return self.stands_still and np.count_nonzero(x) <= len(x) // 4

    def waves(self, z):
        angles = dot(self.W, z) / (self.widths[self.owner] * math.sqrt(self.square))
        return np.stack([np.cos(angles), np.sin(angles), np.cos(2 * angles), np.sin(2 * angles)], axis=1)

    def neighbours(self, z, squared):
        """Labels of the three nearest rows in three windows, the newest page first; -1 for none."""
        self.q = 128 + np.clip(np.floor(16 * z + 0.5), -127, 127).astype(int)
        capacity, there, found = len(self.row_labels), self.filled, []
        pages = -(-there // 16)
        newest = (self.next - 1) // 16 if self.next else pages - 1
        page, place = np.divmod(np.arange(there), 16)
        age = (newest - page) % max(pages, 1)
        age[(page == newest) & (place > (self.next - 1) % 16)] = pages  # behind the newest rows of a page: the oldest
        places, sizes = np.argsort(age, kind="stable"), np.cumsum(np.bincount(age))
        gaps = np.abs(self.ring_row[places] - self.q) * self.column_weights
        away = np.sum(np.minimum((gaps + 64) // 128, 127) ** 2 if squared else gaps, axis=1)
        for rows in (max(min(capacity // 64, 256), 16), max(capacity // 8, 16), 2 * capacity):
            window = sizes[np.searchsorted(sizes, rows)] if rows < there else there  # in whole pages
            nearest = self.row_labels[places[np.argsort(away[:window], kind="stable")[:3]]]
            found += [*nearest, *[-1] * (3 - len(nearest))]
        return np.array(found)

    def says(self, labels):
        """What labels say for each function: 1 for their own, of two classes 1 or -1; 0 if there is none."""
        if self.R == 1:
            return np.where(labels < 0, 0.0, np.where(labels == 1, 1.0, -1.0))[:, None]
        return (labels[:, None] == np.arange(self.R)).astype(float)

    def experts(self, z, waves):
        """s[i, r], within +-8."""
        s = np.zeros((self.K, self.R))
        lines = dot(self.a, z - self.origin()) + self.bias
        s[0] = lines[: self.R]
        if self.slow:
            s[self.slow] = lines[self.R :]
        terms = self.theta * waves[:, None]
        np.add.at(s, self.owner, terms[:, :, :2].sum(axis=2))
        np.add.at(s, self.owner + 1, terms[:, :, 2:].sum(axis=2))
        if self.block:
            s[len(self.widths)] = dot(self.says(self.found).T, self.ring_weights)
            for fern, leaf in zip(self.block.ferns, self.leaves, strict=True):
                s[len(self.widths) + 1] += fern.leaves[leaf]
        if self.additive:
            s[self.additive] = (self.heights * self.hats(z)).sum(axis=(1, 2))
        if self.lag:
            s[-1] = dot(self.lags.T, self.lag_weights)
        self.clipped += int(np.sum(np.abs(s) > 8))
        return np.clip(s, -8, 8)

    def hats(self, z):
        """How much each knot of each column counts at z: 1 on it, 0 from the next one on."""
        return np.maximum(0, 1 - np.abs(np.clip(3 * z + 7.5, 0, 14.999)[:, None] - np.arange(16)))

    def norms(self):
        lines = np.sum(self.a**2, axis=1) + self.bias**2
        squares = [np.sum(lines[: self.R])]
        for i in range(1, len(self.widths)):
            mine, lent = self.theta[self.owner == i, :, :2], self.theta[self.owner == i - 1, :, 2:]
            squares.append(np.sum(mine**2) + np.sum(lent**2))
        if self.block:
            squares += [np.sum(self.ring_weights**2), sum(np.sum(fern.leaves**2) for fern in self.block.ferns)]
        squares += [np.sum(self.heights**2)] if self.additive else []
        squares += [*lines[self.R :]]
        squares += [np.sum(self.lag_weights**2)] if self.lag else []
        return np.sqrt(squares)

    def learn(self, x, y, w=1.0):
        """Learn a row of class y; answer the decision from before: one number for two classes, else one for each."""
        z = 2 * np.arcsinh((x - self.centre) / np.where(self.spread > 0, self.spread, np.inf) / 2)
        z[np.isnan(x)] = 0
        waves = self.waves(self.factors * z)
        if self.block:
            self.found, self.x = self.neighbours(z, self.squared), x - self.block.anchors
            values = self.x.tolist()
            self.leaves = [fern.leaf(values) for fern in self.block.ferns]
        s = self.experts(z, waves)
        F = dot(s.T, self.w)
        answer = F if self.R > 1 else (-F[0] if self.turned else F[0])
        if w == 0:
            return answer
        self.rounds += 1
        mistake = y != (np.argmax(answer) if self.R > 1 else answer >= 0)
        self.mistakes += mistake
        target = 1 - y if self.turned else y
        loss, slope = self.lesson(F, target)
        self.cumulative_loss += w * loss
        c = self.weights.times(w, self.rounds)
        weighed = self.factors * z
        weigh = len(self.widths) > 1 and self.rounds * 0x9E3779B97F4A7C15 % 2**64 < 2**62
        if self.block:
            self.gather_evidence(s, F, target, mistake, loss, weigh)
            if weigh:
                self.try_other_distance(z, target)
        if weigh:
            self.weigh_columns(x, weighed, waves, c * slope)
        self.teach_experts(z, waves, s, F, target, c)
        u = dot(s, slope)
        self.A = KEEP * self.A + (1 - KEEP) * RIDGE * np.eye(self.K) + c * np.outer(u, u)
        self.w = self.w - c * np.linalg.solve(self.A, u)
        now = np.eye(self.R)[target] if self.R > 1 else np.array([1.0 if target == 1 else -1.0])
        self.lags = np.stack([now, *self.lags[:2], self.lags[3] + 0.05 * (now - self.lags[3])])
        if self.block:
            self.keep(target)
        self.watch(F, target, c, loss)
        self.observe(x, weighed)
        self.note_started()
        if self.block and self.rounds % 64 == 0:
            unit = 127 / self.factors.max()
            self.column_weights = np.floor(unit * self.factors + 0.5).astype(int)
        if self.owners > 0 and self.rounds >= self.next_review:
            self.next_review = self.rounds + 1 + min(self.rounds // 10, 4096)
            if self.block:
                self.share()
            if self.owners > 1:
                self.review()
            self.rates = np.clip(self.norms(), 0.5, 0.75)
        return answer

    # ---- the block --------------------------------------------------------------------------------------------------

    def keep(self, label):
        """Store the row in the ring; a fern may be born."""
        if len(self.row_labels):
            self.ring_row[self.next], self.row_labels[self.next] = self.q, label
            self.filled = max(self.filled, self.next + 1)
            self.next = (self.next + 1) % len(self.row_labels)
        b = self.block
        if self.rounds > 1 and len(b.ferns) < b.room:
            b.ferns.append(Fern(self.R, self.x, b.last, self.rng))
        b.last = self.x

    def note_started(self):
        changed = [k for k in sorted(self.started) if self.started[k][0]]
        for k in sorted(self.started):
            if self.block:
                b = self.block
                b.anchors[k], b.last[k] = self.mean[k], 0.0
                for n in reversed(range(len(b.ferns))):
                    if k in b.ferns[n].columns:
                        b.ferns[n] = b.ferns[-1]
                        b.ferns.pop()
        if changed:
            last = self.events[-1] if self.events else (0, None)
            if last[1] != "column changed" or self.rounds - last[0] >= 1000:
                self.events.append((self.rounds, "column changed", changed[0], self.started[changed[0]][1]))
        self.started = {}

    def gather_evidence(self, s, F, y, mistake, loss, one_in_four):
        b, recent, n = self.block, min(self.rounds, 1000), len(self.widths)
        b.loss += (loss - b.loss) / recent
        b.mistakes += (mistake - b.mistakes) / recent
        b.near += ((self.found[3] != y) - b.near) / recent
        b.nearest += ((self.found[6] != y) - b.nearest) / recent
        if one_in_four:
            for g, experts in enumerate((slice(1, n), slice(n, n + 1), slice(n + 1, n + 2))):
                without = self.lesson(F - dot(s[experts].T, self.w[experts]), y)[0]
                b.worth[g] += (without - loss - b.worth[g]) / max(1, recent / 4)

    def try_other_distance(self, z, y):
        """Count how many of the three nearest rows of the middle window have the label of this one."""
        other = self.neighbours(z, not self.squared)
        self.lead = max(0, self.lead + np.sum(other[3:6] == y) - np.sum(self.found[3:6] == y))
        if self.lead > 10:
            self.squared, self.lead, self.changes = not self.squared, 0, self.changes + 1

    def share(self):
        """Move memory among waves, ring and ferns towards what the evidence says."""
        b = self.block
        if self.rounds < 400 or len(self.row_labels) == 0:
            return
        ring, full = b.ring_bytes, self.filled == len(self.row_labels)
        gain = max(b.nearest, 1e-3) / max(b.near, 1e-3)
        forecast = b.nearest * gain ** math.log(0.75 * b.bytes / ring, 8)
        grows = full and gain < 0.9 and forecast <= 1.1 * b.mistakes
        stays = ring >= 0.375 * b.bytes and gain < 0.9 and b.nearest <= 1.1 * b.mistakes
        if self.rounds < 1000 and not grows:
            return
        (waves, rows, tables), some = np.maximum(b.worth, 0), 0.002 * b.loss + 1e-9
        fair_ring, fair_ferns = ring, b.room * b.fern
        if grows or stays:
            fair_ring = 0.75 * b.bytes
        elif full:
            fair_ring = b.bytes * max(0.03, min(rows / (waves + rows + tables + 1e-9), 0.25))
        if self.rounds >= 1000:
            part = (1 - fair_ring / b.bytes) * (tables + some) / (waves + tables + 2 * some)
            fair_ferns = b.bytes * max(0.03 if self.R == 1 else 0.12, min(part, 0.25))
        fair_waves = max(b.bytes - fair_ring - fair_ferns, 0.1 * b.bytes)

        def step(now, fair, unit):
            most = max(b.bytes / 8 // unit, 1)
            return int(now + np.clip(math.floor(fair / unit + 0.5) - now, -most, most))

        tiles, ferns = max(step(b.tiles, fair_waves, b.tile), min(b.most_tiles, 1)), step(b.room, fair_ferns, b.fern)
        if abs(ferns - b.room) * b.fern < b.tile and tiles == b.tiles:
            return
        rest = b.bytes - tiles * b.tile
        if rest >= 0:
            self.rearrange(tiles, min(ferns, int(rest / b.fern)))

    def rearrange(self, tiles, ferns):
        b, lanes = self.block, self.lanes
        losses = {i: (2 * self.loss[i] + self.loss[i + 1]) / 3 for i in range(1, self.owners + 1)}
        self.shifts += 1
        self.grown += b.tiles < tiles
        while b.tiles > tiles:
            counts = {i: np.sum(self.owner == i) // lanes for i in losses}
            several = [i for i in losses if counts[i] >= 2] or [i for i in losses if counts[i] >= 1]
            giver = max(several, key=lambda i: (losses[i], -i))
            gone = np.flatnonzero(self.owner == giver)[-lanes:]
            order = np.arange(self.D)
            order[gone] = order[-lanes:]
            order = order[:-lanes]
            self.W, self.owner, self.theta = self.W[order], self.owner[order], self.theta[order]
            b.tiles, self.D = b.tiles - 1, self.D - lanes
        b.room, b.ferns = ferns, b.ferns[:ferns]
        while b.tiles < tiles:
            taker = min(losses, key=lambda i: (losses[i], i))
            self.W = np.concatenate([self.W, self.draw(1)])
            self.owner = np.append(self.owner, [taker] * lanes)
            self.theta = np.concatenate([self.theta, np.zeros((lanes, self.R, 4))])
            b.tiles, self.D = b.tiles + 1, self.D + lanes
        self.resize_ring()

    def resize_ring(self):
        """New room is filled first; of less room, the oldest rows are lost. The others are put in order."""
        now = self.block.ring_bytes // self.block.page * 16
        kept = np.roll(np.arange(self.filled), -self.next)[max(self.filled - now, 0) :]
        empty = now - len(kept)
        self.ring_row = np.concatenate([self.ring_row[kept], np.zeros((empty, self.d), int)])
        self.row_labels = np.concatenate([self.row_labels[kept], np.zeros(empty, int)])
        self.filled = len(kept)
        self.next = self.filled if empty else 0

    # ---- lessons ----------------------------------------------------------------------------------------------------

    def teach_experts(self, z, waves, s, F, y, c):
        steps = np.zeros((self.K, self.R))
        for i in range(self.K):
            self.loss[i] += (self.lesson(s[i], y)[0] - self.loss[i]) / min(self.rounds, 1000)
            share = self.share_of_mixture(i)
            g = self.lesson((1 - share) * s[i] + share * F, y)[1]
            if self.R == 1 and 0 < i < len(self.widths):
                g = g * self.chance_of_right_label(1 - abs(g[0]))
            whole = self.squares[i] + c**2 * dot(g, g)
            if i in (0, self.slow):
                seen, mine, rate = z - self.origin(), slice(self.R), 0.1
                if i > 0:
                    mine, rate = slice(self.R, None), 0.03
                down = rate * c * np.outer(g, seen / np.sqrt(self.a_squares + c**2 * dot(g, g) * seen**2))
                self.a[mine] -= down
                self.bias[mine] -= 0.25 * dot(down, self.origin()) + rate * c * g / math.sqrt(whole)
                if i == 0:
                    self.a_squares = self.a_squares + c * dot(g, g) * seen**2
            elif self.lag and i == self.K - 1:
                G = dot(self.lags, g)
                self.lag_weights = self.lag_weights - c * G / np.sqrt(self.lag_squares + c**2 * G**2)
                self.lag_squares = self.lag_squares + c * G**2
            elif self.block and i == len(self.widths) + 1:
                rate = 1.0 if self.R == 1 else 2.0
                for fern, leaf in zip(self.block.ferns, self.leaves, strict=True):
                    fern.leaves[leaf] -= rate / math.sqrt(self.block.room) / math.sqrt(whole) * c * g
            elif self.block and i == len(self.widths):
                G = dot(self.says(self.found), g)
                self.ring_weights = self.ring_weights - 0.5 * c * G / np.sqrt(self.ring_squares + c**2 * G**2)
                self.ring_squares = self.ring_squares + c * G**2
            elif i == self.additive:
                hats = self.hats(z)
                moves = -2 * math.sqrt(self.d) / math.sqrt(whole) * c * g
                self.heights += np.multiply.outer(moves, hats / np.sum(hats**2))
            elif self.count(i) > 0:
                n = self.count(i)
                rate = self.rates[i] if self.R == 1 else 2.0
                wholes = whole if self.R == 1 else (whole + 1 + self.R * (self.own_squares[i] + c**2 * g**2)) / 2
                steps[i] = rate * math.sqrt(min(n, 2048)) / n / np.sqrt(wholes) * c * g
            self.squares[i] += c * dot(g, g)
            self.own_squares[i] += c * g**2
        self.theta[:, :, :2] -= steps[self.owner][:, :, None] * waves[:, None, :2]
        self.theta[:, :, 2:] -= steps[self.owner + 1][:, :, None] * waves[:, None, 2:]

    def share_of_mixture(self, i):
        if self.R > 1:
            return 0.75
        if i in (0, self.slow) and len(self.widths) > 1:
            return 0.0
        return 0.6 if 0 < i < len(self.widths) + (self.block is not None) else 0.3

    def chance_of_right_label(self, p):
        """Bayes' rule, if some labels are wrong whatever the row, and a score gives this one chance p."""
        wrong = min(self.wrong_labels, 0.1)
        if wrong <= 0 or self.surprise > 2:
            return 1.0
        self.doubts += 1
        return (1 - wrong) * p / ((1 - wrong) * p + wrong * (1 - p))

    def weigh_columns(self, x, z, waves, slope):
        """Step of rho; z is weighed. Of a sparse row only the columns that are not 0 are asked."""
        cos, sin, cos2, sin2 = waves.T[:, :, None]
        own = self.theta[:, :, 1] * cos - self.theta[:, :, 0] * sin
        lent = self.theta[:, :, 3] * cos2 - self.theta[:, :, 2] * sin2
        by_angle = self.w[self.owner] * dot(own, slope) + 2 * self.w[self.owner + 1] * dot(lent, slope)
        by_angle /= self.widths[self.owner] * math.sqrt(self.square)
        G, rate = dot(self.W.T, by_angle) * z, 0.1 if self.R == 1 else 0.2
        self.weighings += 1
        if self.is_sparse(x):
            G[x == 0] = 0
            self.rho_squares = self.rho_squares + G**2
            self.rho = np.clip(self.rho - rate * G / np.sqrt(self.rho_squares), -5, 3)
            return
        self.rho_squares = 0.9999 * self.rho_squares + 0.0001 + G**2
        self.rho -= rate * G / np.sqrt(self.rho_squares)
        self.rho = np.clip(self.rho - self.rho.mean(), -5, 3)

    def watch(self, F, y, c, loss):
        if self.R == 1:
            if abs(F[0]) >= 3:
                excess = ((F[0] >= 0) != (y == 1)) - 1 / (1 + math.exp(abs(F[0])))
                self.wrong_labels += (excess - self.wrong_labels) / min(self.rounds, 1000)
            margin = c * (F[0] if y == 1 else -F[0])
            self.reversal = max(self.reversal - min(max(margin, -2), 2), 0)
            if self.reversal > 20:
                self.turned, self.reversal, self.surprise, self.wrong_labels = not self.turned, 0.0, 0.0, 0.0
                self.turns += 1
                self.events.append((self.rounds, "classes exchanged", None, None))
                return
        self.surprise = max(self.surprise + min(c * (loss - self.lesson(0.5 * F, y)[0]), 1), 0)
        if self.surprise > 12:
            self.surprise = self.wrong_labels = 0.0
            self.A = 0.02 * self.A + 0.98 * RIDGE * np.eye(self.K)
            self.squares, self.own_squares = np.maximum(0.02 * self.squares, 1), 0.02 * self.own_squares
            self.a_squares = np.maximum(0.02 * self.a_squares, 1)
            self.hurries += 1
            self.events.append((self.rounds, "confidence lost", None, None))

    def observe(self, x, z):
        """Columns and the scale of the rows, up to and with this one; a column without a value stays as it is."""
        missing, names = np.isnan(x), ("mean", "deviation", "usual", "n", "beyond", "unlike", "last", "direction")
        later = (x == 0) & self.stands_still
        self.make_up(np.flatnonzero(~later))
        self.zeros[later] += 1
        left = missing | later
        before = {name: getattr(self, name).copy() for name in names}
        self.observe_columns(np.where(missing, self.mean, x), left)
        for name in names:
            setattr(self, name, np.where(left, before[name], getattr(self, name)))
        self.observe_square(z)
        self.crowded += (1 - self.is_sparse(x) - self.crowded) / min(self.rounds, 1000)
        self.bias -= dot(self.a, self.origin())
        self.refresh()
        self.bias += dot(self.a, self.origin())

    def make_up(self, columns):
        """Take in the zeros of some columns: one by one while they are unusual, then all at once."""
        for k in columns:
            zeros, self.zeros[k] = self.zeros[k], 0
            if zeros == 0:
                continue
            m, s, e, n = self.mean[k], self.deviation[k], self.beyond[k], self.n[k]
            way = -np.sign(self.last[k])
            turned = way * self.direction[k] < 0
            if self.usual[k] > 0:
                self.direction[k] = way or self.direction[k]
            while zeros > 0 and m**2 > 4 * s**2:
                zeros -= 1
                limit = max(24 * self.usual[k], 4 * s) or abs(m)
                away, ratio = np.clip(-m, -limit, limit), min(abs(m) / max(s, 1e-300), 4)
                e, known = e if n >= 32 else 0.0, n >= FIRST_ROWS
                if turned and n >= 32:
                    e = max(e + ratio**2 - 4, 0)
                turned = False
                n = min(n + 1, WINDOW)
                s, m = math.sqrt((1 - 1 / n) * (s**2 + away**2 / n)), m + away / n
                if e >= MOST_BEYOND:
                    m, s, e, n, self.unlike[k], self.usual[k], self.direction[k] = 0.0, 0.0, 0.0, 1, 0, 0.0, 0
                    self.restarts += 1
                    self.started[k] = known, "another level"
            if zeros > 0:
                within = min(zeros, WINDOW - n)
                f = n / max(n + within, 1) * math.exp(-(zeros - within) / (WINDOW - 0.5))
                e = max(e - zeros * (4 - m**2 / s**2), 0) if e > 0 else 0.0
                s, m, n = math.sqrt(f * (s**2 + (1 - f) * m**2)), f * m, n + within
            self.mean[k], self.deviation[k], self.beyond[k], self.n[k], self.last[k] = m, s, e, n, 0.0

    def observe_columns(self, x, missing):
        size, jump, old, first = np.abs(x - self.mean), np.abs(x - self.last), self.n >= 32, self.n < FIRST_ROWS
        jump = np.where(jump > 2.0**-51 * np.abs(x), jump, 0)
        way = np.where(jump > 0, np.sign(x - self.last), 0)
        turned = way * self.direction < 0
        self.n = np.minimum(self.n + 1, WINDOW)
        step = np.clip(16 / self.n, 1 / 256, 1 / 8)
        moved = np.where(self.usual == 0, jump, self.usual * np.where(jump > self.usual, 1 + step, 1 - step))
        usual = np.where((x == 0) | (jump == 0), self.usual, moved)
        limit = np.maximum(24 * np.maximum(usual, self.usual), 4 * self.deviation)
        limit = np.where(limit > 0, limit, size)
        away = np.clip(x - self.mean, -limit, limit)
        self.limited += int(np.sum(size > limit))
        # tests for another unit or level
        ratio = np.where(
            self.deviation > 0, size / np.where(self.deviation > 0, self.deviation, 1), np.where(size > 0, 4, 0)
        )
        ratio = np.minimum(ratio, 4)
        farther = np.where(turned, ratio**2 - 4, np.minimum(ratio**2 - 4, 0))
        self.beyond = np.where(old, np.maximum(self.beyond + farther, 0), 0)
        spoilt = first & (self.deviation > 8 * self.usual)  # it may be that of a few first rows
        large, small = jump > 8 * self.usual, (jump < self.usual / 2) | (spoilt & (size < self.deviation / 2))
        calmer = np.where(spoilt, 0, np.sign(self.unlike) * np.maximum(np.abs(self.unlike) - 2, 0))
        more, less = np.maximum(self.unlike, 0) + 1, np.minimum(self.unlike, 0) - 1
        counted = np.where(
            large, np.where(turned, more, self.unlike), np.where(small, np.where(turned, less, self.unlike), calmer)
        )
        self.unlike = np.where(old, np.where((x == 0) | (jump == 0), self.unlike, counted), 0)
        # moments
        self.usual, self.mean = usual, self.mean + away / self.n
        self.direction = np.where((way != 0) & (usual > 0), way, self.direction)
        self.last = np.array(x)
        self.deviation = np.sqrt((1 - 1 / self.n) * (self.deviation**2 + away**2 / self.n))
        far = self.beyond >= MOST_BEYOND
        anew = ~missing & ((self.n == 1) | far | (np.abs(self.unlike) >= MOST_UNLIKE))
        self.restarts += int(np.sum(anew & (self.n > 1)))
        change = np.where(
            far, "another level", np.where(self.unlike > 0, "larger unit or spread", "smaller unit or spread")
        )
        self.started |= {k: (self.n[k] >= FIRST_ROWS, str(change[k])) for k in np.flatnonzero(anew)}
        self.mean, self.n = np.where(anew, x, self.mean), np.where(anew, 1, self.n)
        self.deviation, self.usual, self.beyond, self.unlike, self.direction = np.where(
            anew, 0, [self.deviation, self.usual, self.beyond, self.unlike, self.direction]
        )

    def observe_square(self, z):
        before = self.running_square
        square = before + (min(dot(z, z), 16 * before) - before) / min(self.rounds + 10, WINDOW)
        self.running_square = max(square, 1e-3)

    def refresh(self):
        moved = np.maximum(np.abs(self.mean - self.centre), np.abs(self.deviation - self.spread)) > self.deviation / 4
        if self.rounds >= self.next_refresh:
            self.make_up(range(len(self.zeros)))
            self.next_refresh = self.rounds + 1 + min(self.rounds, WINDOW) // 16
            self.square = self.running_square
            if self.stands_still:
                self.rho = np.clip(self.rho - self.rho.mean(), -5, 3)
                self.from_zero = self.crowded < 0.5
            self.factors = np.exp(self.rho)
            moved = np.ones_like(moved)
        if not self.stands_still:
            self.factors = np.exp(self.rho)
            moved = np.ones_like(moved)
        self.centre, self.spread = np.where(moved, [self.mean, self.deviation], [self.centre, self.spread])

    def review(self):
        """Tiles go to the owners whose widths, their own and the next, predict best."""
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
