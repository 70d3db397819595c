"""Certificates: what they count, what they prove, and that it holds; of every learner, and after a file."""

import json

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import pocketkernel
from discover import ESTIMATORS, small
from pocketkernel import MOMDH, MOMDS, Gaussian, gaussians
from pocketkernel.certificate import Bound, Guarantee, theorem_3_delta
from pocketkernel.lab.bounds import theorem_3
from pocketkernel.lab.theory import best_in_ball
from pocketkernel.stream import known_kernel


def stream(rows=400, **given):
    return known_kernel(rows, features=2, centres=6, noise=0.05, **given)


@pytest.mark.parametrize("class_", ESTIMATORS)
def test_every_learner_has_one(class_):
    model = small(class_, epochs=1)
    with pytest.raises(NotFittedError):
        model.certificate()
    X, y = stream()
    model.fit(X, y)
    proved, done = model.certificate(), model.diagnostics_
    assert (proved.learner, proved.rounds, proved.removals) == (class_.__name__, 400, done.removals)
    assert (proved.mistakes, proved.cumulative_loss) == (done.mistakes, done.cumulative_loss)
    assert f"{class_.__name__} after 400 rows" in repr(proved)
    assert "<table>" in proved._repr_html_()
    json.dumps(proved.to_dict(), allow_nan=False)
    if proved.theorem is None:
        assert proved.value is None
        assert not proved.informative
        assert "counts only" in repr(proved)
    else:
        assert proved.value == pytest.approx(sum(proved.terms.values()))
        assert proved.guarantee.unknown


@pytest.mark.parametrize("class_", ESTIMATORS)
def test_it_survives_a_file(class_, tmp_path):
    model = small(class_).fit(*stream())
    model.save(tmp_path / "model")
    assert pocketkernel.load(tmp_path / "model").certificate(0.01) == model.certificate(0.01)


@pytest.mark.parametrize("delta", [0, 1, -0.1, float("nan")])
def test_delta_is_a_probability(delta):
    model = small(MOMDS).fit(*stream())
    with pytest.raises(ValueError, match="use a probability between 0 and 1"):
        model.certificate(delta)


def test_no_row_is_looked_at(monkeypatch):
    model = small(MOMDS).fit(*stream())
    monkeypatch.setattr(MOMDS, "_scores", None)
    monkeypatch.setattr(MOMDS, "_feed", None)
    assert model.certificate().value > 0


# ---- M-OMD-S --------------------------------------------------------------------------------------------------------


def test_what_is_proved_of_m_omd_s_is_so():
    kernels = gaussians([0.5, 2])
    for seed in range(3):
        X, y = stream(3000, seed=seed)
        model = MOMDS(kernels=kernels, budget=200, norm_bound=0.5, step=2.0, random_state=seed).fit(X, y)
        proved = model.certificate()
        assert proved.informative
        assert not proved.failing
        for kernel in kernels:
            best = best_in_ball(X, y, kernel, 0.5, "logistic", landmarks=200)
            assert proved.least_loss <= best.loss, seed


def test_conditions_that_fail_are_named():
    model = MOMDS(budget=100, random_state=0).fit(*stream(2000))
    proved = model.certificate()
    assert [one.text for one in proved.failing] == ["B >= 21 ln(1/delta)"]
    model = MOMDS(budget=400, random_state=0).fit(*stream(2000))
    proved = model.certificate()
    assert [one.text for one in proved.failing] == ["0 < U <= sqrt(B') / (8 G2)", "gamma < 1"]
    assert not proved.informative
    assert "U = 20" in repr(proved)
    assert "is not informative" in repr(proved)


def test_more_confidence_costs_more():
    model = MOMDS(norm_bound=1.0, random_state=0).fit(*stream(2000))
    assert model.certificate(0.001).value > model.certificate(0.1).value
    assert "0.999" in repr(model.certificate(0.001))


def test_the_smooth_hinge_has_its_own_constants():
    X, y = stream()
    terms = [
        MOMDS(loss=loss, norm_bound=1.0, random_state=0).fit(X, y).certificate().terms
        for loss in ("logistic", "smooth_hinge")
    ]
    assert terms[0]["sampling"] != terms[1]["sampling"]


def test_beforehand_the_theorem_says_the_same_conditions():
    model = MOMDS(norm_bound=1.0, step=2.0, random_state=0).fit(*stream(2000))
    delta = theorem_3_delta(0.05, rows=2000, norm_bound=1.0)
    bound = theorem_3(100.0, rows=2000, kernels=5, budget=400, norm_bound=1.0, delta=delta)
    assert bound.holds == "with probability at least 0.95"
    texts = [one.text for one in bound.conditions]
    assert [one.text for one in model.certificate().guarantee.conditions] == texts


def test_no_rounds_no_bound():
    X, y = stream(10)
    model = MOMDS(random_state=0).partial_fit(X, y, sample_weight=np.zeros(10))
    assert model.certificate().rounds == 0
    assert not model.certificate().informative


# ---- M-OMD-H --------------------------------------------------------------------------------------------------------


def test_m_omd_h_while_its_buffer_has_room():
    X = np.repeat([[3.0, 3.0], [-3.0, -3.0]], 2000, axis=0)
    y = np.repeat([1, -1], 2000)
    order = np.random.default_rng(0).permutation(4000)
    model = MOMDH(kernels=Gaussian(2.0), budget=50, norm_bound=3.0, random_state=0).fit(X[order], y[order])
    proved = model.certificate()
    assert proved.terms["full buffer"] == 0
    assert proved.guarantee.bound.holds == "in expectation"
    assert "estimate" in repr(proved)


def test_m_omd_h_outside_the_theorem():
    proved = MOMDH(norm_bound=1.0, random_state=0).fit(*stream()).certificate()
    assert [one.text for one in proved.failing] == ["U > 1"]
    assert proved.value is None
    assert "gives no bound here" in repr(proved)


# ---- others ---------------------------------------------------------------------------------------------------------


def test_a_learner_can_bring_a_theorem_of_its_own():
    class Mine(MOMDS):
        def _guarantee(self, done, delta):
            bound = Bound({"constant": 3.0, "ln T": float(np.log(done.rounds))}, (), "always")
            return Guarantee("My theorem", "The regret is against nobody.", bound)

    proved = Mine(random_state=0).fit(*stream()).certificate()
    assert proved.theorem == "My theorem"
    assert proved.value == pytest.approx(3 + np.log(400))
    assert "My theorem, always. The regret is against nobody." in repr(proved)


def test_river_has_it():
    river = pytest.importorskip("pocketkernel.river")
    model = river.KernelClassifier(MOMDS(budget=8), width=2, seed=0)
    with pytest.raises(AttributeError, match="has not learned anything"):
        model.certificate()
    X, y = stream(50)
    for x, label in zip(X, y, strict=True):
        model.learn_one({"a": x[0], "b": x[1]}, bool(label > 0))
    assert model.certificate().rounds == 50
