"""Simulated windows of an accelerometer, and their features as in features.hpp."""

import numpy as np

MOTIONS = ("rest", "run", "shake", "walk")
SAMPLES, AXES, RATE = 32, 3, 25.0
# Frequency in Hz and strength in g of each motion.
USUAL = {"rest": (0.2, 0.01), "walk": (1.9, 0.25), "run": (2.7, 0.8), "shake": (4.5, 1.1)}


def windows(count, seed, pace=1.0, strength=1.0, tilt=0.0):
    """Windows of float32 and the index of each one's motion."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(len(MOTIONS), size=count).astype(np.int32)
    t = np.arange(SAMPLES) / RATE
    made = np.empty((count, SAMPLES, AXES), np.float32)
    for n, label in enumerate(labels):
        frequency, size = USUAL[MOTIONS[label]]
        frequency, size = frequency * pace * rng.uniform(0.85, 1.15), size * strength * rng.uniform(0.7, 1.3)
        for axis, share in enumerate((0.4, 0.3, 1.0)):
            wave = np.sin(2 * np.pi * frequency * t * (1 + (axis == 0)) + rng.uniform(0, 2 * np.pi))
            gravity = np.array([np.sin(tilt), 0.0, np.cos(tilt)])[axis]
            made[n, :, axis] = gravity + share * size * wave + 0.02 * rng.normal(size=SAMPLES)
    return made, labels


def features(made):
    """A row for each window: mean, deviation, range and mean absolute step of each axis."""
    mean, deviation = made.mean(axis=1), made.std(axis=1)
    extent, step = np.ptp(made, axis=1), np.abs(np.diff(made, axis=1)).mean(axis=1)
    return np.stack([mean, deviation, extent, step], axis=2).reshape(len(made), -1).astype(np.float32)
