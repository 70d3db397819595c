"""Losses against their formulas in high precision, numeric derivatives, and the constants they claim."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pocketkernel import _core
from pocketkernel.losses import LOSSES

settings.register_profile("losses", deadline=None, derandomize=True, max_examples=300)
mpmath.mp.prec = 160


def rounded_hinge(w):
    return (w + mpmath.sqrt(1 + w * w)) / 2


FORMULAS = {
    "hinge": lambda u, y: max(mpmath.mpf(0), 1 - y * u),
    "logistic": lambda u, y: mpmath.log1p(mpmath.exp(-y * u)),
    "smooth_hinge": lambda u, y: rounded_hinge(1 - y * u),
}
SMOOTH = [name for name, loss in LOSSES.items() if loss.smooth]
SCORES = np.concatenate([np.linspace(-6, 6, 121), np.geomspace(1e-9, 600, 60), -np.geomspace(1e-9, 600, 60)])
labels = st.sampled_from([-1.0, 1.0])
scores = st.floats(-1e6, 1e6)


def test_every_loss_has_a_formula_here():
    assert set(LOSSES) == set(FORMULAS)


@pytest.mark.parametrize("y", [-1.0, 1.0])
@pytest.mark.parametrize("name", FORMULAS)
def test_value(name, y):
    for u in map(float, SCORES):
        exact = FORMULAS[name](mpmath.mpf(u), y)
        assert LOSSES[name].value(u, y) == pytest.approx(float(exact), rel=1e-14, abs=1e-300), u


@pytest.mark.parametrize("y", [-1.0, 1.0])
@pytest.mark.parametrize("name", FORMULAS)
def test_derivative(name, y):
    step = mpmath.mpf(2) ** -50
    for u in map(float, SCORES):
        if name == "hinge" and abs(u * y - 1) < 1e-6:
            continue  # the corner
        slope = (FORMULAS[name](u + step, y) - FORMULAS[name](u - step, y)) / (2 * step)
        assert LOSSES[name].derivative(u, y) == pytest.approx(float(slope), rel=1e-13, abs=1e-30), u


def test_hinge_at_its_corner():
    hinge = LOSSES["hinge"]
    for y in (-1.0, 1.0):
        assert (hinge.value(y, y), hinge.derivative(y, y)) == (0, 0)
        assert hinge.derivative(np.nextafter(y, 0), y) == -y


def test_hinge_has_no_constants():
    hinge = LOSSES["hinge"]
    assert not hinge.smooth
    assert hinge.G1 is None
    assert hinge.G2 is None
    # Because no G2 would do: just below the margin the slope is 1 and the loss is as small as one likes.
    assert abs(hinge.derivative(1 - 1e-9, 1.0)) > 1e8 * hinge.value(1 - 1e-9, 1.0)


@settings(settings.get_profile("losses"))
@given(name=st.sampled_from(SMOOTH), u=scores, y=labels)
def test_slopes_are_bounded(name, u, y):
    loss = LOSSES[name]
    slope, tiny = abs(loss.derivative(u, y)), 1e-12
    assert slope <= loss.G1 * (1 + tiny)
    assert slope <= loss.G2 * loss.value(u, y) * (1 + tiny)


@settings(settings.get_profile("losses"))
@given(name=st.sampled_from(sorted(FORMULAS)), u=scores, v=scores, y=labels)
def test_convex_and_falling_in_the_margin(name, u, v, y):
    loss = LOSSES[name]
    assert loss.value(u, y) >= 0
    assert loss.derivative(u, y) * y <= 0
    above = loss.value(v, y) - (loss.value(u, y) + loss.derivative(u, y) * (v - u))
    assert above >= -1e-9 * (1 + abs(u) + abs(v))


@settings(settings.get_profile("losses"))
@given(name=st.sampled_from(sorted(FORMULAS)), u=scores)
def test_labels_mirror(name, u):
    value, slope = _core.loss_at(name, u, 1.0)
    assert _core.loss_at(name, -u, -1.0) == (value, -slope)


def test_unknown_loss():
    with pytest.raises(ValueError, match="'squared'"):
        _core.loss_at("squared", 0.0, 1.0)
