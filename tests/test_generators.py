"""Made-up and bundled streams are what they say."""

import numpy as np
import pytest

from pocketkernel import MOMDS, gaussians
from pocketkernel.lab.demo.baselines import OnlineLinear
from pocketkernel.lab.streams import digits, rings, xor_with_drift
from pocketkernel.stream import known_kernel

WIDTHS = [0.25, 1, 4, 16, 64]


def mistake_rate(model, X, y):
    return np.mean((model.predict_then_learn(X, y) >= 0) != (y > 0))


def test_the_same_seed_gives_the_same_stream():
    X, y = known_kernel(1000, seed=3)
    again_X, again_y = known_kernel(1000, seed=3)
    np.testing.assert_array_equal(X, again_X)
    np.testing.assert_array_equal(y, again_y)
    assert not np.array_equal(X, known_kernel(1000, seed=4)[0])


def test_a_longer_stream_begins_with_the_shorter_one():
    X, y = known_kernel(9001)
    longer_X, longer_y = known_kernel(20_000)
    np.testing.assert_array_equal(X, longer_X[:9001])
    np.testing.assert_array_equal(y, longer_y[:9001])


@pytest.mark.parametrize("seed", range(5))
def test_labels_are_balanced(seed):
    _, y = known_kernel(20_000, seed=seed)
    assert set(y) == {-1, 1}
    assert abs(np.mean(y)) < 0.03


@pytest.mark.parametrize("noise", [0.0, 0.05, 0.3, 1.0])
def test_noise_is_the_share_of_flipped_labels(noise):
    X, clean = known_kernel(20_000, noise=0)
    same_X, y = known_kernel(20_000, noise=noise)
    np.testing.assert_array_equal(X, same_X)
    assert abs(np.mean(y != clean) - noise) < 0.01


def test_one_centre_gives_one_label():
    _, y = known_kernel(100, features=3, centres=1, noise=0)
    assert set(y) == {1}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("width", [1, 4])
def test_the_best_kernel_is_found_and_beats_a_line(width, seed):
    X, y = known_kernel(20_000, width=width, seed=seed)
    model = MOMDS(kernels=gaussians(WIDTHS), memory="64KiB", random_state=seed)
    rate = mistake_rate(model, X, y)
    assert rate < 0.15
    assert rate < 0.5 * mistake_rate(OnlineLinear(), X, y)
    assert WIDTHS[model.kernel_weights_.argmax()] == width
    assert model.kernel_weights_.max() > 0.7


@pytest.mark.parametrize("generator", [known_kernel, rings, xor_with_drift])
def test_generators_share_their_manners(generator):
    X, y = generator(9001, features=3, seed=5)
    longer_X, longer_y = generator(10_000, features=3, seed=5)
    assert X.shape == (9001, 3)
    assert set(y) == {-1, 1}
    np.testing.assert_array_equal(X, longer_X[:9001])
    np.testing.assert_array_equal(y, longer_y[:9001])
    assert not np.array_equal(X, generator(9001, features=3, seed=6)[0])
    same_X, clean = generator(9001, features=3, seed=5, noise=0)
    np.testing.assert_array_equal(X, same_X)
    assert 0.04 < np.mean(y != clean) < 0.06


@pytest.mark.parametrize("features", [2, 5])
def test_rings_alternate(features):
    X, y = rings(5000, features=features, count=4, scatter=0.05, noise=0)
    radius = np.linalg.norm(X, axis=1)
    ring = radius.round().astype(int)
    assert set(ring) == {1, 2, 3, 4}
    np.testing.assert_array_equal(y, np.where(ring % 2 == 0, 1, -1))
    assert mistake_rate(MOMDS(memory="64KiB", random_state=0), X, y) < 0.5 * mistake_rate(OnlineLinear(), X, y)


def test_xor_turns():
    X, y = xor_with_drift(20_001, period=20_000, noise=0)
    agreement = (np.sign(X[:, 0] * X[:, 1]) == y).reshape(-1)
    around = {place: agreement[max(0, place - 100) : place + 100].mean() for place in (0, 2500, 5000, 10_000, 20_000)}
    assert around[0] > 0.9
    assert 0.35 < around[2500] < 0.65
    assert around[5000] < 0.1
    assert around[10_000] > 0.9
    assert around[20_000] > 0.9
    X, y = xor_with_drift(1000, period=np.inf, noise=0)
    np.testing.assert_array_equal(np.sign(X[:, 0] * X[:, 1]), y)


def test_digits_are_permuted_by_the_seed():
    X, y = digits(seed=1)
    other_X, other_y = digits(seed=2)
    assert X.shape == (1797, 64)
    assert set(y) == {-1, 1}
    assert not np.array_equal(X, other_X)
    order, other_order = (np.lexsort(np.column_stack((A, b)).T) for A, b in ((X, y), (other_X, other_y)))
    np.testing.assert_array_equal(X[order], other_X[other_order])
    np.testing.assert_array_equal(y[order], other_y[other_order])
