"""What the transcriptions share: random numbers, kernels, losses, expert advice."""

import math

import numpy as np

MASK32, MASK64 = 2**32 - 1, 2**64 - 1


class Rng:
    """xoshiro128++, seeded by two splitmix64 outputs, low word first."""

    def __init__(self, seed):
        self.state = []
        for _ in range(2):
            seed = (seed + 0x9E3779B97F4A7C15) & MASK64
            z = seed
            z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK64
            z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK64
            z ^= z >> 31
            self.state += [z & MASK32, z >> 32]

    @staticmethod
    def rotate(x, k):
        return ((x << k) | (x >> (32 - k))) & MASK32

    def next(self):
        s = self.state
        result = (self.rotate((s[0] + s[3]) & MASK32, 7) + s[0]) & MASK32
        t = (s[1] << 9) & MASK32
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = self.rotate(s[3], 11)
        return result

    def uniform(self):
        return (self.next() >> 8) * 2.0**-24

    def index(self, n):
        return math.floor(self.uniform() * n)


def dot(A, b):
    """Sums of products over the last axis.

    `A @ b` leaves its order and roundings to BLAS: they depend on the CPU, and differ from place to place in one array.
    Scores that are equal by symmetry, as those of classes not seen yet, would differ in the last bit.
    """
    return (A * b).sum(axis=-1)


def quadratic(a, K):
    """a' K a."""
    return float(dot(dot(K, a), a))


OF_SQUARED_DISTANCE = ("gaussian", "matern32", "matern52", "rational_quadratic")

VALUES = {
    "gaussian": lambda kernel, m: np.exp(-m / (2 * kernel.width**2)),
    "laplacian": lambda kernel, m: np.exp(-m / kernel.width),
    "polynomial": lambda kernel, m: m**kernel.degree,
    "linear": lambda kernel, m: m,
    "matern32": lambda kernel, m: (1 + np.sqrt(3 * m) / kernel.width) * np.exp(-np.sqrt(3 * m) / kernel.width),
    "matern52": lambda kernel, m: (
        (1 + np.sqrt(5 * m) / kernel.width + 5 * m / (3 * kernel.width**2)) * np.exp(-np.sqrt(5 * m) / kernel.width)
    ),
    "rational_quadratic": lambda kernel, m: (1 + m / (2 * kernel.alpha * kernel.width**2)) ** -kernel.alpha,
}


def metrics(kernel, U, V):
    """What the kernel is a function of, for all pairs of rows of U and V."""
    if kernel.family in OF_SQUARED_DISTANCE:
        return ((U[:, None] - V[None]) ** 2).sum(axis=2)
    if kernel.family == "laplacian":
        return np.abs(U[:, None] - V[None]).sum(axis=2)
    norms = np.sqrt((U**2).sum(axis=1))[:, None] * np.sqrt((V**2).sum(axis=1))[None]
    both_zero = (U == 0).all(axis=1)[:, None] & (V == 0).all(axis=1)[None]
    return np.where(norms == 0, both_zero, dot(U[:, None], V[None]) / np.where(norms == 0, 1, norms))


def matrix(kernel, U, V):
    """kappa(u, v) for all rows u of U and v of V."""
    return VALUES[kernel.family](kernel, metrics(kernel, U, V))


def values(kernel, U, v):
    """kappa(u, v) for the rows u of U."""
    return matrix(kernel, U, v[None])[:, 0]


def gram(kernel, U):
    return matrix(kernel, U, U)


def nearest(kernel, U, v):
    """Index of the stored row nearest to v; the oldest of several."""
    if kernel.family not in ("polynomial", "linear"):
        return int(np.argmin(metrics(kernel, U, v[None])))
    return int(np.argmax(values(kernel, U, v)))


def distance(kernel, u, v):
    """|kappa(u, .) - kappa(v, .)|"""
    return math.sqrt(max(0.0, 2 - 2 * values(kernel, u[None], v)[0]))


def loss_and_slope(name, u, y):
    z = y * u
    if name == "hinge":
        return max(0.0, 1 - z), (-y if z < 1 else 0.0)
    if name == "logistic":
        return np.logaddexp(0, -z), -y / (1 + math.exp(min(z, 700)))
    w = 1 - z
    return (w + math.sqrt(1 + w * w)) / 2, -y * (1 + w / math.sqrt(1 + w * w)) / 2


G1 = {"logistic": 1.0, "smooth_hinge": 1.0}


class Hedge:
    def __init__(self, K):
        self.K, self.V, self.C, self.p = K, 0.0, np.zeros(K), np.full(K, 1 / K)

    def update(self, costs):
        self.V += (self.p * costs**2).sum()
        self.C += costs
        eta = math.sqrt(2 * math.log(self.K)) / math.sqrt(1 + self.V)
        weights = np.exp(-eta * (self.C - self.C.min()))
        self.p = weights / weights.sum()


class RelativeWeights:
    """How many times a row counts: its weight over the geometric mean of the last ones', which starts again if 32 rows
    one after the other are all 1000 times lighter, or all heavier."""

    def __init__(self):
        self.mean, self.rows, self.unlike, self.restarts = 0.0, 0, 0, 0

    def times(self, weight, rounds):
        log = math.log(weight)
        side = 0 if abs(log - self.mean) < math.log(1000) else int(math.copysign(1, log - self.mean))
        self.unlike = side + (self.unlike if side * self.unlike > 0 else 0)
        if abs(self.unlike) == 32:
            self.rows, self.unlike, self.restarts = 0, 0, self.restarts + 1
        self.rows = min(self.rows + 1, 4096)
        self.mean += (log - self.mean) / self.rows
        return min(math.exp(min(log - self.mean, 5)), 16, rounds)


def linearised_costs(g, f):
    return g * (f - f.min()) if g > 0 else g * (f - f.max())


class Expansion:
    """f = sum_j a_j kappa(x_j, .), in the plainest form."""

    def __init__(self, kernel, d):
        self.kernel, self.rows, self.a = kernel, np.zeros((0, d)), np.zeros(0)

    def __call__(self, x):
        return float(dot(self.a, values(self.kernel, self.rows, x))) if len(self.a) else 0.0

    def norm(self):
        return math.sqrt(max(0.0, quadratic(self.a, gram(self.kernel, self.rows))))

    def append(self, x, a):
        self.rows, self.a = np.vstack([self.rows, x]), np.append(self.a, a)

    def keep(self, which):
        self.rows, self.a = self.rows[which], self.a[which]

    def project(self, U):
        norm = self.norm()
        if norm > U:
            self.a *= U / norm
