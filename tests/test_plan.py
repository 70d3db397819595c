"""Plans: what a learner will take, exactly, before it has seen a row."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest

from pocketkernel import MOMDH, MOMDS, Gaussian, LKMBooks, PocketClassifier, PocketRegressor, learners
from pocketkernel.learners._plan import Plan
from pocketkernel.memory import as_text, parse_bytes

LEARNERS = [getattr(learners, name) for name in learners.__all__]
POCKETS = (PocketClassifier, PocketRegressor)  # whose only budget is memory
COUNTING = [learner for learner in LEARNERS if learner not in POCKETS]
every_counting_learner = pytest.mark.parametrize("learner", COUNTING, ids=lambda c: c.__name__)
every_learner = pytest.mark.parametrize("learner", LEARNERS, ids=lambda c: c.__name__)


def fitted(model, d):
    X = np.random.default_rng(0).normal(size=(6, d))
    return model.fit(X, [0, 1] * 3)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("d", [10, 100, 1000])
@pytest.mark.parametrize("memory", ["4KiB", "64KiB", "1MiB"])
@every_learner
def test_refused_or_as_planned(learner, memory, d, dtype):
    bytes_ = parse_bytes(memory)
    try:
        plan = learner.plan(d, memory=memory, dtype=dtype)
    except ValueError as refusal:
        least = int(re.search(r"at least (\d+) bytes", str(refusal))[1])
        assert str(refusal) == (
            f"memory={memory!r} ({bytes_} bytes) is too small: {learner.__name__} with {d} features needs at least "
            f"{least} bytes: use memory={as_text(least)!r} or more."
        )
        assert least > bytes_
        with pytest.raises(ValueError, match="too small"):
            learner.plan(d, memory=least - 1, dtype=dtype)
        with pytest.raises(ValueError, match=f"at least {least} bytes"):
            fitted(learner(memory=memory, dtype=dtype), d)
        plan, bytes_ = learner.plan(d, memory=least, dtype=dtype), least  # the sentence keeps its word
        assert plan.nbytes == least
    assert (plan.learner, plan.n_features, plan.dtype) == (learner.__name__, d, dtype)
    assert plan.memory == bytes_
    assert plan.headroom == bytes_ - plan.nbytes >= 0
    model = fitted(learner(memory=bytes_, dtype=dtype), d)
    assert (model.nbytes, model.budget_, len(model.kernel_weights_)) == (plan.nbytes, plan.budget, plan.kernels)
    assert plan.kernels == 5 or learner in POCKETS


def test_most_of_the_table_fits():
    def fits(learner, memory, d):
        try:
            return learner.plan(d, memory=memory) is not None
        except ValueError:
            return False

    table = [fits(c, m, d) for c in LEARNERS for m in ("4KiB", "64KiB", "1MiB") for d in (10, 100, 1000)]
    assert len(table) / 2 < sum(table) < len(table)


@pytest.mark.parametrize("d", [1, 2, 7, 50])
@every_counting_learner
def test_one_more_would_not_fit(learner, d):
    plan = learner.plan(d, memory="100kB")
    assert learner.plan(d, **{plan.budget_name: plan.budget}).nbytes == plan.nbytes
    assert learner.plan(d, **{plan.budget_name: plan.budget + 1}).nbytes > plan.memory


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@every_counting_learner
def test_bytes_per_row(learner, dtype):
    name = learner._budget_name
    plan, larger = (learner.plan(9, dtype=dtype, **{name: budget}) for budget in (1000, 1640))
    assert larger.nbytes - plan.nbytes == 640 * plan.bytes_per_row
    assert plan.bytes_per_row >= 9 * np.dtype(dtype).itemsize


@every_counting_learner
def test_on_an_instance(learner):
    model = learner(memory="64KiB", dtype="float64", kernels=Gaussian(1.0))
    plan = model.plan(10)
    assert plan == learner.plan(10, memory="64KiB", dtype="float64", kernels=Gaussian(1.0))
    assert (plan.memory, plan.dtype, plan.kernels) == (65536, "float64", 1)
    assert model.plan(10, memory="1MiB") == learner.plan(10, memory=2**20, dtype="float64", kernels=[Gaussian(1.0)])
    assert model.plan(10, dtype="float32").nbytes <= 65536
    assert model.get_params() == learner(memory="64KiB", dtype="float64", kernels=Gaussian(1.0)).get_params()
    assert not model.__sklearn_is_fitted__()


@every_counting_learner
def test_memory_stands_for_memory_and_budget(learner):
    name = learner._budget_name
    model = learner(**{name: 12})
    assert model.plan(3).budget == 12
    assert model.plan(3).memory is model.plan(3).headroom is None
    assert model.plan(3, memory="64KiB") == learner.plan(3, memory="64KiB")
    with pytest.raises(ValueError, match=f"{name}=12 and memory='64KiB' are both set: choose one"):
        learner.plan(3, memory="64KiB", **{name: 12})


@every_counting_learner
def test_without_either_it_is_the_default(learner):
    assert learner.plan(3).budget == fitted(learner(), 3).budget_ == 400


# ---- PocketClassifier, whose widths depend on the memory ------------------------------------------------------------


@pytest.mark.parametrize(("features", "classes", "slow"), [(63, 2, False), (64, 2, True), (64, 3, False)])
def test_a_slow_linear_expert_for_wide_rows(features, classes, slow):
    plan = PocketClassifier.plan(features, memory="64KiB", n_classes=classes)
    assert [count for name, count, _ in plan.experts if name == "slow linear"] == [features] * slow
    least = PocketClassifier.plan(features, memory="16KiB", n_classes=classes, lag=False)
    assert (least.experts[-1][0] == "slow linear") == slow


def test_the_more_memory_the_more_widths():
    plans = [PocketClassifier.plan(5, memory=memory) for memory in ("2KiB", "4KiB", "6KiB", "10KiB", "64KiB", "1MiB")]
    assert [plan.kernels for plan in plans] == [1, 4, 4, 6, 11, 11]
    assert [plan.budget for plan in plans] == sorted(plan.budget for plan in plans)
    for plan in plans:
        fit = fitted(PocketClassifier(memory=plan.memory), 5)
        assert (fit.nbytes, fit.budget_, len(fit.kernel_weights_)) == (plan.nbytes, plan.budget, plan.kernels)
        in_use = fit.memory_shares_["frequencies"] / sum(fit.memory_shares_.values()) if plan.kernels == 11 else 1
        assert abs(len(fit.frequencies_) - in_use * plan.budget) <= 16
        assert PocketClassifier.plan(5, memory=plan.nbytes).budget == plan.budget  # nothing less would do


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("d", [1, 7, 63, 64, 500])
def test_no_frequency_more_would_fit(d, dtype, n_classes):
    for memory in (160_000, 1_000_000):
        model = PocketClassifier(memory=memory, dtype=dtype)
        plan = model.plan(d, n_classes=n_classes)
        recipe = model._choose(d, n_classes, None)
        assert recipe.budget == plan.budget > 0
        assert replace(recipe, budget=plan.budget + 1).size()[0] > memory >= plan.nbytes
        assert plan.bytes_per_row >= d + 4 * (n_classes if n_classes > 2 else 1) * np.dtype(dtype).itemsize
        assert memory - plan.nbytes <= 16 * plan.bytes_per_row + 64


def test_a_linear_model_has_no_frequencies():
    plan = PocketClassifier.plan(10, memory="2KiB")
    assert (plan.budget, plan.bytes_per_row, plan.kernels) == (0, 0, 1)
    assert "per frequency" not in str(plan)
    assert str(plan).splitlines()[-2:] == ["  experts           1 at the start", "    linear         10 columns"]


@pytest.mark.parametrize("model", [PocketClassifier, PocketRegressor])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_memory_from_which_there_are_kernels(model, dtype):
    """It is exact: one byte less is a linear model, and says so."""
    with pytest.raises(ValueError, match="needs at least") as error:
        model.plan(700, memory=64, dtype=dtype)
    least = int(re.search(r"at least (\d+) bytes", str(error.value))[1])
    few = model.plan(700, memory=least, dtype=dtype)
    assert few.kernels == 1 and "only a linear model" in few.shortage.lower()
    enough = model.plan(700, memory=few.kernels_from, dtype=dtype)
    assert enough.kernels > 1 and enough.kernels_from is None and enough.shortage == ""
    less = model.plan(700, memory=few.kernels_from - 1, dtype=dtype)
    assert (less.kernels, less.kernels_from) == (1, few.kernels_from)


def test_a_learner_says_that_it_is_only_a_linear_model():
    X, y = np.eye(700), np.arange(700) % 2
    model = PocketClassifier(random_state=0)
    with pytest.warns(UserWarning, match=r"rows of 700 columns: kernels need (\d+KiB)\. Use memory='\1' or more"):
        model.partial_fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(X, y)  # once is enough
        larger = PocketClassifier(memory=model.kernels_from_, random_state=0).partial_fit(X, y)
    assert larger.kernels_from_ is None and len(larger.kernel_weights_) > 1


@pytest.mark.parametrize(
    ("model", "outputs"),
    [(PocketClassifier, {"n_classes": 2}), (PocketClassifier, {"n_classes": 30}), (PocketRegressor, {})],
)
def test_a_column_is_worth_its_memory_to_kernels_if_it_is_not_too_rare(model, outputs):
    """They keep one frequency for every other row up to the next in which it is not zero."""
    model = model(memory="64KiB")
    fits = model.room(5, 9, **outputs)
    for columns in (4, 20, 60):
        left = model.plan(5 + columns, **outputs).budget
        assert left > 0 and fits(columns, 0.501 / left) and not fits(columns, 0.499 / left)
    assert not fits(100_000, 1.0)


def test_columns_of_a_linear_model_take_nothing_from_kernels():
    fits = PocketClassifier(memory="64KiB").room(900, 910)
    assert fits(20, 1e-6) and not fits(200, 1.0)


def test_on_an_instance_that_has_only_memory():
    model = PocketClassifier(memory="32KiB", dtype="float64")
    assert model.plan(10) == PocketClassifier.plan(10, memory="32KiB", dtype="float64")
    assert model.plan(10, memory="1MiB") == PocketClassifier.plan(10, memory=2**20, dtype="float64")
    assert PocketClassifier.plan(10).memory == 65536
    assert model.plan(10, n_classes=7).budget < model.plan(10).budget
    with pytest.raises(ValueError, match="memory=None is not a number of bytes"):
        PocketClassifier(memory=None).plan(10)
    with pytest.raises(TypeError, match="features"):
        PocketClassifier.plan(10, features=100)


def test_a_plan_draws_no_random_numbers():
    generator = np.random.default_rng(0)
    MOMDS(random_state=generator).plan(3)
    assert generator.integers(2**62) == np.random.default_rng(0).integers(2**62)


def test_lkm_books_needs_no_horizon():
    assert LKMBooks.plan(3) == LKMBooks(horizon=10**9).plan(3)


def test_the_archive_is_planned_for():
    assert MOMDH.plan(3, horizon=1e15).nbytes > MOMDH.plan(3, horizon=1e3).nbytes


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"n_features": 0}, "n_features=0 is out of range: a row has 1 to 1,000,000 columns"),
        ({"n_features": 10**7}, "n_features=10000000 is out of range"),
        ({"n_features": True}, "n_features=True is out of range"),
        ({"n_features": "ten"}, "n_features='ten' is out of range"),
        ({"n_features": 3, "memory": "lots"}, "memory='lots' is not a number of bytes"),
        ({"n_features": 3, "memory": 0}, "memory=0 .* is too small"),
        ({"n_features": 3, "budget": 1}, "budget=1 is too small: halving needs at least 2"),
        ({"n_features": 3, "dtype": "int8"}, "dtype='int8' is unknown"),
    ],
    ids=str,
)
def test_bad_plans(given, sentence):
    with pytest.raises(ValueError, match=sentence):
        MOMDS.plan(**given)
    with pytest.raises(TypeError, match="colour"):
        MOMDS.plan(3, colour="red")


@every_learner
def test_as_text(learner):
    plan = learner.plan(1000, memory="2MiB")
    title, *lines = str(plan).splitlines()
    assert repr(plan) == str(plan)
    kernels = 9 if learner is PocketClassifier else 7 if learner is PocketRegressor else 5
    assert title == f"{learner.__name__}, 1,000 features, {kernels} kernels, float32"
    assert len(lines) == (5 if not plan.experts else 6 + len(plan.experts))
    assert len({line.rindex(" ") for line in lines if "start" not in line}) == 1  # numbers end in one column
    assert f"{plan.nbytes:,} bytes" in str(plan)
    assert f"{plan.budget:,} " + ("frequencies" if learner._budget_name == "features" else "rows") in str(plan)
    if learner in POCKETS:
        return
    assert len(str(learner.plan(1, kernels=Gaussian(1.0))).splitlines()) == 4
    assert "1 feature, 1 kernel" in str(learner.plan(1, kernels=Gaussian(1.0)))


def test_as_html():
    text = Plan("<b>", 1, 2, 2, "float32", None, "budget", 3, 4, 5)._repr_html_()
    assert "&lt;b&gt;" in text
    assert text.count("<tr>") == text.count("</tr>") == 3


def test_a_plan_is_a_value():
    plan = MOMDS.plan(3)
    assert plan == MOMDS.plan(3)
    assert hash(plan) == hash(MOMDS.plan(3))
    with pytest.raises(AttributeError):
        plan.budget = 3


def test_a_subclass_has_plans():
    class Mine(MOMDS):
        pass

    assert Mine.plan(4).nbytes == MOMDS.plan(4).nbytes
    assert Mine.plan(4).learner == "Mine"


@pytest.mark.parametrize("lag", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n_classes", [2, 3, 26, 300])
@pytest.mark.parametrize("d", [3, 14, 63, 64, 200])
def test_experts_are_those_that_a_learner_begins_with(d, n_classes, dtype, lag):
    for memory in ("16KiB", "64KiB", "300KiB", "1MiB"):
        try:
            plan = PocketClassifier.plan(d, memory=memory, n_classes=n_classes, dtype=dtype, lag=lag)
        except ValueError:
            continue
        model = PocketClassifier(memory=memory, dtype=dtype, lag=lag)
        model.partial_fit(np.zeros((1, d)), [0], classes=np.arange(n_classes))
        experts = {name: number for name, number, _ in plan.experts}
        assert list(experts) == list(model.shares_)
        stored = dict(zip(experts, model.diagnostics_.stored.tolist(), strict=True))
        widths = [name for name in experts if name.startswith("width")]
        assert {name: experts[name] for name in widths} == {name: stored[name] for name in widths}
        assert experts["linear"] == d
        bytes_ = model.memory_shares_
        if "ring" in experts:
            assert experts["ferns"] == bytes_["ferns"] // (
                (16 * (n_classes if n_classes > 2 else 1) + 4) * (np.dtype(dtype).itemsize) + 8
            )
            assert 0 <= bytes_["ring"] - experts["ring"] * (d + 1 + (n_classes > 256)) < 16 * (d + 2)
        for name, number in experts.items():
            assert f"{name} " in repr(plan) and f"{number:,} " in repr(plan)


def test_learners_without_a_mixture_list_no_experts():
    assert MOMDS.plan(3).experts == () and "experts" not in repr(MOMDS.plan(3))
