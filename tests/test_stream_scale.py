"""Online scaling: against slow loops, for any size of block, and blind to what is to come."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from pocketkernel.lab.streams import scale
from pocketkernel.stream import SCALERS, OnlineMaxAbs, OnlineMinMax, OnlineStandard, blocks_of, gather

KINDS = list(SCALERS.values())


def slow_standard(X, clip=10.0):
    out = np.zeros(X.shape)
    for t in range(1, len(X)):
        past = X[:t]
        for j in range(X.shape[1]):
            distance = X[t, j] - past[:, j].mean()
            if np.ptp(past[:, j]) == 0:
                out[t, j] = np.sign(X[t, j] - past[0, j])
            else:
                out[t, j] = np.clip(distance / past[:, j].std(), -clip, clip)
    return out


def slow_min_max(X):
    out = np.zeros(X.shape)
    for t in range(1, len(X)):
        low, high = X[:t].min(axis=0), X[:t].max(axis=0)
        for j in range(X.shape[1]):
            width = high[j] - low[j]
            out[t, j] = np.clip((X[t, j] - low[j]) / width, 0, 1) if width else float(X[t, j] > high[j])
    return out


def slow_max_abs(X):
    out = np.zeros(X.shape)
    for t in range(len(X)):
        for j in range(X.shape[1]):
            largest = max(np.abs(X[: t + 1, j]))
            out[t, j] = X[t, j] / largest if largest else 0.0
    return out


SLOW = {OnlineStandard: slow_standard, OnlineMinMax: slow_min_max, OnlineMaxAbs: slow_max_abs}


def sample(rows=300, seed=0):
    """Columns of many scales: normal, with a large offset, at first constant, constant, rare, drifting, tiny."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 7))
    X[:, 1] = X[:, 1] * 1e-2 + 1e6
    X[: rows // 3, 2] = 4.25
    X[:, 3] = -7.1
    X[:, 4] *= rng.random(rows) < 0.05
    X[:, 5] += np.arange(rows)
    X[:, 6] *= 1e-12
    return X


@pytest.mark.parametrize("kind", KINDS)
def test_agrees_with_a_loop(kind):
    X = sample()
    np.testing.assert_allclose(kind().transform_then_learn(X), SLOW[kind](X), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_the_size_of_the_blocks_changes_no_bit(kind, size):
    X = sample()
    whole = kind().transform_then_learn(X)
    np.testing.assert_array_equal(gather(scale(blocks_of(X, block=size), kind())).X, whole)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_to_come_changes_nothing(kind):
    X = sample()
    whole = kind().transform_then_learn(X)
    for rows in (1, 2, 50, 299):
        np.testing.assert_array_equal(kind().transform_then_learn(X[:rows]), whole[:rows])
        other = X.copy()
        other[rows:] = 1e9
        np.testing.assert_array_equal(kind().transform_then_learn(other)[:rows], whole[:rows])


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=40)
@given(X=hnp.arrays(float, st.tuples(st.integers(1, 20), st.integers(1, 3)), elements=st.floats(-1e6, 1e6, width=32)))
def test_results_are_bounded(kind, X):
    scaled = kind().transform_then_learn(X)
    assert np.isfinite(scaled).all()
    assert np.abs(scaled).max() <= {OnlineStandard: 10}.get(kind, 1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1, 4])
def test_huge_values_stay_finite(kind, size):
    X = np.array([[1e308], [-1e308], [1e308], [5.0]])
    scaler = kind()
    scaled = gather(scale(blocks_of(X, block=size), scaler)).X
    assert np.isfinite(scaled).all()
    assert np.sign(scaled[2]) == 1
    assert np.isfinite(scaler.transform(X)).all()


def test_a_constant_column_says_nothing_of_its_scale():
    X = np.array([[0.1], [0.1], [0.1], [5e6], [0.1]])
    assert OnlineStandard().transform_then_learn(X).ravel()[:4].tolist() == [0, 0, 0, 1]
    assert OnlineMinMax().transform_then_learn(X).ravel().tolist() == [0, 0, 0, 1, 0]


def test_standardised_columns_have_mean_0_and_deviation_1():
    X = np.random.default_rng(0).normal(1e8, 3, size=(100_000, 2))
    scaled = OnlineStandard().transform_then_learn(X)[1000:]
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=0.02)
    np.testing.assert_allclose(scaled.std(axis=0), 1, atol=0.02)


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("seed", range(3))
def test_sparse_rows_stay_sparse(size, seed):
    X = sparse.random(400, 30, density=0.1, format="csr", random_state=seed)
    X.data -= 0.5
    X.data[::17] = 0.0
    blocks = list(scale(blocks_of(X, block=size), OnlineMaxAbs()))
    assert all(sparse.issparse(block.X) for block in blocks)
    found = gather(blocks).X
    assert found.nnz == X.nnz
    np.testing.assert_array_equal(found.toarray(), OnlineMaxAbs().transform_then_learn(X.toarray()))


# ---- missing values -------------------------------------------------------------------------------------------------


def with_gaps(seed=0):
    """A sample with gaps: some anywhere, a column that begins late, one without a value, a row without one."""
    X = sample(seed=seed)
    X[np.random.default_rng(seed).random(X.shape) < 0.2] = np.nan
    X[:50, 0] = np.nan
    X[:, 3] = np.nan
    X[7] = np.nan
    return X


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_missing_value_stays_missing_and_leaves_its_column_alone(kind, size):
    X = with_gaps()
    scaler = kind()
    scaled = gather(scale(blocks_of(X, block=size), scaler)).X
    np.testing.assert_array_equal(np.isnan(scaled), np.isnan(X))
    for k in range(X.shape[1]):
        values = X[~np.isnan(X[:, k]), k, None]
        alone = kind()
        np.testing.assert_array_equal(scaled[~np.isnan(X[:, k]), k], alone.transform_then_learn(values).ravel())
        if len(values):
            np.testing.assert_array_equal(scaler.transform(X)[:, k], alone.transform(X[:, k, None]).ravel())
        elif kind is not OnlineMaxAbs:
            assert scaler.transform(np.full((1, 7), 5.0))[0, k] == 0


@pytest.mark.parametrize("kind", KINDS)
def test_what_gaps_leave_behind_can_be_read_again(kind):
    X = with_gaps()
    X[3, 2] = np.inf
    scaler = kind()
    scaler.transform_then_learn(X)
    again = kind().set_state(scaler.get_state())
    np.testing.assert_array_equal(again.transform(X), scaler.transform(X))


def test_missing_values_in_sparse_rows():
    X = sparse.random(400, 30, density=0.1, format="csr", random_state=0)
    X.data[::11] = np.nan
    found = gather(scale(blocks_of(X, block=7), OnlineMaxAbs())).X
    np.testing.assert_array_equal(found.toarray(), OnlineMaxAbs().transform_then_learn(X.toarray()))


def test_a_state_from_before_values_could_be_missing():
    X = sample()
    scaler = OnlineStandard()
    scaler.transform_then_learn(X)
    state = scaler.get_state()
    del state["seen"]
    np.testing.assert_array_equal(OnlineStandard().set_state(state).transform(X), scaler.transform(X))


@pytest.mark.parametrize("kind", [OnlineStandard, OnlineMinMax])
def test_others_refuse_sparse_rows(kind):
    with pytest.raises(ValueError, match="use OnlineMaxAbs"):
        kind().transform_then_learn(sparse.csr_matrix((3, 2)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_type_is_kept_and_the_input_left_alone(kind, dtype):
    X = sample().astype(dtype)
    X.flags.writeable = False
    assert kind().transform_then_learn(X).dtype == dtype


@pytest.mark.parametrize("kind", KINDS)
def test_the_state_is_all_there_is(kind):
    X = sample()
    one = kind()
    one.transform_then_learn(X[:100])
    state = one.get_state()
    assert all(isinstance(array, np.ndarray) for array in state.values())
    other = SCALERS[kind.kind]().set_state(state)
    np.testing.assert_array_equal(other.transform(X[100:]), one.transform(X[100:]))
    np.testing.assert_array_equal(other.transform_then_learn(X[100:]), one.transform_then_learn(X[100:]))


@pytest.mark.parametrize("kind", KINDS)
def test_transform_learns_nothing(kind):
    X = sample()
    scaler = kind()
    with pytest.raises(ValueError, match="not seen a row"):
        scaler.transform(X)
    scaler.transform_then_learn(X)
    np.testing.assert_array_equal(scaler.transform(X), scaler.transform(X))
    one = kind()
    one.transform_then_learn(X[:-1])
    np.testing.assert_array_equal(one.transform(X[-1:]), kind().transform_then_learn(X)[-1:])
    with pytest.raises(ValueError, match="7"):
        scaler.transform(X[:, :3])
    assert scaler.transform_then_learn(X[:0]).shape == (0, 7)


def test_clip_is_positive():
    with pytest.raises(ValueError, match="clip=0"):
        OnlineStandard(clip=0)
