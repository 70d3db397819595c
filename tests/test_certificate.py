"""Certificates: what they count, what they prove, and that it holds; of every learner, and after a file."""

import json
import sys
from unittest.mock import Mock

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import pocketkernel
from discover import ESTIMATORS, small
from pocketkernel import MOMDH, MOMDS, Gaussian, PocketClassifier, SharedMOMDH, certificate, gaussians
from pocketkernel.certificate import Bound, Certificate, Guarantee, mistake_rate, recent_mistake_rate
from pocketkernel.evaluate.recorder import kernel_names
from pocketkernel.lab.bounds import theorem_3_afterwards
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
    assert (proved.learner, proved.rounds) == (class_.__name__, 400)
    keeps_rows = "budget" in model.get_params()
    assert proved.removals == (done.removals if keeps_rows else None)
    assert ("\n  removals" in repr(proved)) == keeps_rows
    assert (proved.mistakes, proved.cumulative_loss) == (done.mistakes, done.cumulative_loss)
    assert f"{class_.__name__} after 400 rows" in repr(proved)
    assert "<table>" in proved._repr_html_()
    json.dumps(proved.to_dict(), allow_nan=False)
    if proved.theorem is None:
        assert proved.value is None
        assert not proved.informative
        assert "no bound on the regret" in repr(proved)
    else:
        assert proved.value == pytest.approx(sum(proved.terms.values()))
        assert proved.guarantee.unknown


@pytest.mark.parametrize("class_", ESTIMATORS)
def test_it_survives_a_file(class_, tmp_path):
    model = small(class_).fit(*stream())
    model.save(tmp_path / "model")
    assert pocketkernel.load(tmp_path / "model").certificate(0.01) == model.certificate(0.01)


@pytest.mark.parametrize("class_", ESTIMATORS)
def test_every_learner_has_intervals(class_, tmp_path):
    X, y = stream(300)
    model, counts = small(class_), [0]
    for t in range(1, 301):
        model.partial_fit(X[t - 1 : t], y[t - 1 : t], classes=[-1, 1])
        counts.append(model.diagnostics_.mistakes)
        done = model.diagnostics_
        assert (done.rounds_before, done.mistakes_before) == (
            (s := 0 if t < 2 else 2 ** (t.bit_length() - 2)),
            counts[s],
        )
    proved = model.certificate(0.1)
    assert proved.mistake_rate == mistake_rate(counts[-1], 300, 0.1)
    recent = recent_mistake_rate(counts[-1], 300, mistakes_before=counts[128], rounds_before=128, delta=0.1)
    assert proved.recent_mistake_rate == recent
    assert recent.rounds == 172
    assert "latest 172" in repr(proved) and "the present model alone" in repr(proved)
    told = json.loads(json.dumps(proved.to_dict()))
    assert told["mistake_rate"]["interval"] == [proved.mistake_rate.low, proved.mistake_rate.high]


def test_rows_of_weight_zero_are_no_rounds():
    X, y = stream(100)
    model = small(MOMDS).fit(X, y, sample_weight=np.arange(100) % 2)
    assert model.certificate().mistake_rate.rounds == 50


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


# ---- several passes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("class_", ESTIMATORS)
def test_intervals_cover_the_risk_after_several_passes(class_):
    """Labels by a fair coin: whatever is learned, the risk is 1/2. An interval may fail in one data set of twenty."""
    missed = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(120, 3)), rng.integers(2, size=120)
        proved = small(class_, epochs=10, random_state=seed).fit(X, y).certificate()
        missed += not all(rate.low <= 0.5 <= rate.high for rate in (proved.mistake_rate, proved.recent_mistake_rate))
    print(f"{missed} of 20")
    assert missed <= 1


def test_the_regret_of_a_mixture_is_that_of_new_rows():
    X, y = stream(300)
    once, often = (PocketClassifier(random_state=0, epochs=n).fit(X[:200], y[:200]).certificate() for n in (1, 10))
    assert once == often
    model = PocketClassifier(random_state=0, epochs=10).fit(X[:200], y[:200])
    _, linear = model.predict_then_learn_both(X[200:], y[200:])
    more = np.logaddexp(0, -y[200:] * linear).sum()
    before, after = (proved.cumulative_loss - dict(proved.guarantee.experts)["linear"] for proved in
                     (once, model.certificate()))  # fmt: skip
    assert after == pytest.approx(before + more)


@pytest.mark.parametrize("class_", [MOMDH, SharedMOMDH])
def test_several_passes_count_as_a_removal_for_the_hinge_learners(class_):
    X, y = stream(300)
    given = {"kernels": Gaussian(1.0), "budget": 300, "norm_bound": 2.0, "random_state": 0}
    once, often = (class_(epochs=n, **given).fit(X, y).certificate() for n in (1, 3))
    assert often.cumulative_loss == once.cumulative_loss
    assert (once.removals, often.removals) == (0, 0)
    assert once.terms["removals"] == 0 < often.terms["removals"]
    best = best_in_ball(X, y, Gaussian(1.0), 2.0, "hinge")
    for proved in (once, often):
        assert proved.cumulative_loss - best.loss <= proved.value


# ---- M-OMD-S --------------------------------------------------------------------------------------------------------


def test_what_is_proved_of_m_omd_s_is_so():
    kernels = gaussians([0.5, 2])
    for seed in range(3):
        X, y = stream(3000, seed=seed)
        model = MOMDS(kernels=kernels, budget=200, norm_bound=2.0, random_state=seed).fit(X, y)
        proved = model.certificate()
        assert proved.informative
        for kernel in kernels:
            best = best_in_ball(X, y, kernel, 2.0, "logistic", landmarks=200)
            assert proved.least_loss <= best.loss, seed


def test_the_bound_is_known_for_every_norm():
    proved = MOMDS(random_state=0).fit(*stream(3000)).certificate()
    dual = proved.guarantee.dual
    assert proved.value == pytest.approx(dual.regret(20.0))
    assert not proved.informative
    end = dual.informative_up_to
    assert 2 < end < 20
    assert f"informative for norms up to {end:.3g}, not for norm U" in repr(proved)
    assert dual.least_loss(0.99 * end) > dual.anyway(0.99 * end)
    assert dual.least_loss(1.01 * end) == dual.anyway(1.01 * end)
    for point in proved.to_dict()["curve"]:
        assert point["least_loss"] == dual.least_loss(point["norm"]) >= point["in_any_case"]


def test_a_bound_below_what_is_true_in_any_case_is_not_informative():
    """No score of a function of norm 1/2 exceeds 1/2, so its loss on T rows is at least T l(1/2)."""
    anyway = MOMDS(norm_bound=0.5, random_state=0).fit(*stream(3000)).certificate().guarantee.anyway
    assert anyway == pytest.approx(3000 * np.log1p(np.exp(-0.5)))
    for regret, informative in ((600.0, True), (800.0, False)):
        told = Guarantee("T", "All.", Bound({"all": regret}, (), "always"), anyway=anyway)
        proved = Certificate("MOMDS", "logistic", 3000, 0, 0, 2100.0, 0.05, told)
        assert proved.informative == informative
        assert proved.least_loss == max(anyway, 2100.0 - regret)
        assert ("not informative" in repr(proved)) != informative


def test_it_is_far_below_what_theorem_3_implies():
    for U in (0.5, 1.0, 20.0):
        model = MOMDS(norm_bound=U, random_state=0).fit(*stream(3000))
        done = model.diagnostics_
        setting = {"rows": 3000, "kernels": 5, "budget": 400, "norm_bound": U}
        old = theorem_3_afterwards(done.cumulative_loss, removals=done.removals, **setting)
        assert model.certificate().value < old.value / 2


def test_more_confidence_costs_more():
    model = MOMDS(norm_bound=1.0, random_state=0).fit(*stream(2000))
    assert model.certificate(0.001).value > model.certificate(0.1).value
    assert "0.999" in repr(model.certificate(0.001))


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


@pytest.mark.parametrize(
    ("class_", "of_kernel"), [(MOMDH, "theorem_1_afterwards"), (SharedMOMDH, "shared_buffer_afterwards")]
)
def test_hinge_learners_show_the_largest_bound_of_their_kernels(class_, of_kernel, monkeypatch):
    model = class_(kernels=gaussians([0.1, 1, 10]), budget=30, norm_bound=2.0, random_state=0).fit(*stream(2000))
    assert model.diagnostics_.removals > 2
    bound = Mock(side_effect=getattr(certificate, of_kernel))
    monkeypatch.setattr(sys.modules[class_.__module__], of_kernel, bound)
    proved = model.certificate()
    values = [getattr(certificate, of_kernel)(*call.args, **call.kwargs).value for call in bound.call_args_list]
    assert len(values) == 3
    assert proved.value == max(values) > min(values)
    assert "of any kernel" in repr(proved) and "chosen by the results" in repr(proved)


def test_eager_removal_loses_the_terms_of_a_full_buffer():
    given = {"kernels": Gaussian(1.0), "budget": 30, "norm_bound": 2.0, "random_state": 0}
    lazy, eager = (MOMDH(removal=way, **given).fit(*stream(2000)).certificate() for way in ("half", "eager"))
    assert lazy.terms["full buffer"] > 0 == eager.terms["full buffer"]
    assert eager.terms["removals"] / eager.removals < lazy.terms["removals"] / lazy.removals


def test_m_omd_h_outside_the_theorem():
    proved = MOMDH(norm_bound=1.0, random_state=0).fit(*stream()).certificate()
    assert [one.text for one in proved.failing] == ["U > 1"]
    assert proved.value is None
    assert "gives no bound here" in repr(proved)


# ---- PocketClassifier -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
def test_the_regret_of_a_mixture(classes):
    X, y = stream(2000)
    y = y if classes == 2 else (y > 0).astype(int) + (X[:, 0] > 0.5)
    model = PocketClassifier(memory="16KiB", random_state=0)
    _, linear = model.predict_then_learn_both(X, y, classes=np.unique(y))
    proved = model.certificate()
    experts = dict(proved.guarantee.experts)
    assert list(experts) == list(kernel_names(model))  # as everywhere else
    scores = np.column_stack([-linear / 2, linear / 2]) if classes == 2 else linear
    losses = np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(2000), np.searchsorted(model.classes_, y)]
    assert experts["linear"] == pytest.approx(proved.cumulative_loss - losses.sum(), rel=1e-6)
    assert max(experts.values()) <= proved.value < proved.cumulative_loss
    assert "regret against" in repr(proved) and "exact" in repr(proved)


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
