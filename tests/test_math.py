"""Elementary functions and kernel ladders against high precision, at every level."""

import mpmath
import numpy as np
import pytest

from pocketkernel import Matern32, Matern52, RationalQuadratic, _core

LEVELS = _core.levels()
DTYPES = {"float32": np.float32, "float64": np.float64}
mpmath.mp.prec = 160

EXACT = {
    "exp": mpmath.exp,
    "complement": lambda x: -mpmath.expm1(-x),
    "cos": mpmath.cos,
    "sin": mpmath.sin,
    "sqrt": mpmath.sqrt,
    "log": mpmath.log,
    "log1p": mpmath.log1p,
}


def core(function, x, dtype="float64", level=""):
    """The core's answers at x, and x as the dtype holds it."""
    x = np.asarray(x).astype(DTYPES[dtype]).astype(float)
    out = np.empty_like(x)
    _core.elementary(function, dtype == "float64", level, x, out)
    return out, x


def errors(function, x, dtype="float64", unit=None):
    """Distances from the exact values: in `unit`, or in units in the last place of each value."""
    got, x = core(function, x, dtype)
    exact = [EXACT[function](mpmath.mpf(v)) for v in x]
    last_places = np.spacing(np.abs(np.array(exact, dtype=DTYPES[dtype]))).astype(float)
    units = last_places if unit is None else np.full(len(x), unit)
    return np.array([float(abs(g - e) / u) for g, e, u in zip(got, exact, units, strict=True)])


def spread(low, high, n=1500):
    """Numbers of all magnitudes between two positive ends."""
    return np.concatenate([np.geomspace(low, high, n), np.random.default_rng(0).uniform(low, high, n)])


@pytest.mark.parametrize("dtype", DTYPES)
def test_exp(dtype):
    top = 700 if dtype == "float64" else 80
    x = np.concatenate([spread(1e-12, top), -spread(1e-12, top), [0.0, top, -top]])
    assert errors("exp", x, dtype).max() <= 2


@pytest.mark.parametrize(("dtype", "low"), [("float32", -80.0), ("float64", -700.0)])
def test_exp_below_its_range_is_zero(dtype, low):
    below = np.nextafter(DTYPES[dtype](low), DTYPES[dtype](-np.inf))
    x = [below, low - 1, -1e4, -1e30, -np.inf]
    np.testing.assert_array_equal(core("exp", x, dtype)[0], 0)
    assert core("exp", [low], dtype)[0][0] > 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_complement(dtype):
    x = np.concatenate([spread(1e-12, 1), spread(1, 50), [0.0]])
    assert errors("complement", x, dtype).max() <= 2
    far, _ = core("complement", [60.0, 1e10, np.inf], dtype)
    np.testing.assert_array_equal(far, 1)


@pytest.mark.parametrize("function", ["cos", "sin"])
@pytest.mark.parametrize(("dtype", "most"), [("float32", 1e3), ("float64", 1e5)])
def test_cos_and_sin(function, dtype, most):
    x = spread(1e-6, most)
    # Beside zeros of the function an absolute error is all that can be asked for: half a digit of the value, and what
    # is left of the angle after many turns.
    assert errors(function, np.concatenate([x, -x, [0.0]]), dtype, unit=np.finfo(dtype).eps).max() <= 1


@pytest.mark.parametrize("dtype", DTYPES)
def test_angles_without_digits_count_as_zero(dtype):
    x = [1e15, -1e15, np.inf, -np.inf]
    np.testing.assert_array_equal(core("cos", x, dtype)[0], 1)
    np.testing.assert_array_equal(core("sin", x, dtype)[0], 0)


def test_sqrt_is_the_correctly_rounded_one():
    for dtype in DTYPES:
        x = spread(1e-30, 1e30)
        got, x = core("sqrt", x, dtype)
        np.testing.assert_array_equal(got, np.sqrt(x.astype(dtype)).astype(float))


def test_log():
    around_one = 1 + np.concatenate([spread(1e-15, 0.5), -spread(1e-15, 0.4)])
    x = np.concatenate([np.geomspace(1e-300, 1e300, 3000), around_one])
    assert errors("log", x[x != 1]).max() <= 2
    assert core("log", [1.0])[0][0] == 0


def test_log1p():
    assert errors("log1p", np.concatenate([spread(1e-300, 1), [1.0, 0.41421356237309503]])).max() <= 2
    assert core("log1p", [0.0])[0][0] == 0


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", EXACT)
def test_every_level_gives_the_same_bits(function, dtype, level):
    x = spread(1e-8, 1.0) if function == "log1p" else spread(1e-8, 60)
    x = np.concatenate([x, -x]) if function in ("exp", "cos", "sin") else x
    expected, _ = core(function, x, dtype, LEVELS[0])
    np.testing.assert_array_equal(core(function, x, dtype, level)[0], expected)


# ---- kernels --------------------------------------------------------------------------------------------------------

WIDTHS = {
    "paper": [0.25, 1, 4, 16, 64],
    "paper, shuffled": [4, 64, 0.25, 16, 1],
    "one": [0.7],
    "no ladder": [0.3, 0.7, 1.1, 5],
    "in tenths": [0.1, 0.2, 0.4, 0.8],
    "twice the same": [1, 1, 2, 2],
    "very long": [2.0**-12, 2.0**-3, 1, 2.0**7, 2.0**15],
    "two ladders": [0.5, 1, 2, 0.3, 0.6, 1.2],
}


def kernel_values(family, widths, metric, dtype, level=""):
    """Values by the ladder, and directly from the definition."""
    settings = _core.Settings()
    for width in widths:
        settings.add_kernel(family, width)
    metric = metric.astype(DTYPES[dtype]).astype(float)
    out = np.empty((len(widths), len(metric)))
    _core.kernel_values(settings, dtype == "float64", level, metric, out)
    scale = 2 * np.square(widths) if family == "gaussian" else np.array(widths, dtype=float)
    return out, np.exp(-metric / scale[:, None])


def distances():
    return np.concatenate([[0.0], np.geomspace(1e-14, 1e7, 2000), np.random.default_rng(0).uniform(0, 50, 2000)])


@pytest.mark.parametrize("widths", WIDTHS)
@pytest.mark.parametrize("family", ["gaussian", "laplacian"])
def test_kernels_in_double_precision(family, widths):
    got, direct = kernel_values(family, WIDTHS[widths], distances(), "float64")
    shown = direct > 1e-290
    np.testing.assert_allclose(got[shown], direct[shown], rtol=1e-9)
    assert np.all(got[~shown] < 1e-289)


@pytest.mark.parametrize("widths", WIDTHS)
@pytest.mark.parametrize("family", ["gaussian", "laplacian"])
def test_kernels_in_single_precision(family, widths):
    got, direct = kernel_values(family, WIDTHS[widths], distances(), "float32")
    # Six plain squarings in a row, the most that a ladder takes, make 64 roundings of one.
    atol = 2e-6 if (family, widths) == ("gaussian", "paper") else 64 * 2.0**-24
    np.testing.assert_allclose(got, direct, rtol=0, atol=atol)
    assert np.all(got >= 0)
    assert np.all(got <= 1)


@pytest.mark.parametrize("family", ["gaussian", "laplacian"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [1e-29, 1e-21, 1e-10, 1e10, 1e21, 1e29])
def test_extreme_widths(family, dtype, width):
    got, direct = kernel_values(family, [width], np.array([0.0, 1.0]), dtype)
    np.testing.assert_allclose(got, direct, atol=1e-7)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("widths", WIDTHS)
def test_kernels_have_the_same_bits_at_every_level(widths, dtype, level):
    expected, _ = kernel_values("gaussian", WIDTHS[widths], distances(), dtype, LEVELS[0])
    np.testing.assert_array_equal(kernel_values("gaussian", WIDTHS[widths], distances(), dtype, level)[0], expected)


def direct_matern(polynomial, twice_nu):
    def at(kernel, m):
        a = mpmath.sqrt(twice_nu * m) / kernel.width
        return polynomial(a) * mpmath.exp(-a)

    return at


APART = {
    "matern32": (Matern32, direct_matern(lambda a: 1 + a, 3)),
    "matern52": (Matern52, direct_matern(lambda a: 1 + a + a**2 / 3, 5)),
    "rational_quadratic": (
        RationalQuadratic,
        lambda kernel, m: (1 + m / (2 * kernel.alpha * mpmath.mpf(kernel.width) ** 2)) ** -kernel.alpha,
    ),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("numbers", [(0.3,), (1.0,), (40.0,), (1e-10,), (1e10,)])
@pytest.mark.parametrize("family", APART)
def test_kernels_outside_ladders(family, numbers, dtype):
    class_, exact = APART[family]
    kernels = [class_(*numbers)] + ([class_(*numbers, alpha=7)] if family == "rational_quadratic" else [])
    settings = _core.Settings()
    for kernel in kernels:
        settings.add_kernel(kernel.family, kernel.parameter, kernel.order)
    m = np.concatenate([[0.0], np.geomspace(1e-14, 1e7, 300)]).astype(DTYPES[dtype]).astype(float)
    got = np.empty((len(kernels), len(m)))
    _core.kernel_values(settings, dtype == "float64", "", m, got)
    expected = np.array([[float(exact(kernel, mpmath.mpf(v))) for v in m] for kernel in kernels])
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-14 if dtype == "float64" else 1e-6)
    np.testing.assert_array_equal(got[:, 0], 1)
    if dtype == "float64":
        described = np.array([kernel.at(m) for kernel in kernels])  # as Python describes it
        np.testing.assert_allclose(described, expected, rtol=0, atol=1e-13)
    far = np.empty((len(kernels), 1))
    _core.kernel_values(settings, dtype == "float64", "", np.array([np.inf]), far)
    np.testing.assert_array_equal(far, 0)  # a lane without a row
