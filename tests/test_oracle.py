"""The core agrees with the transcriptions on every score."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import oracle
import streams
from pocketkernel.kernels import (
    Gaussian,
    Laplacian,
    Linear,
    Matern32,
    Matern52,
    Polynomial,
    RationalQuadratic,
    gaussians,
)
from pocketkernel.learners import MOMDH, MOMDS, LKMBooks, MulticlassMOMDS, PocketClassifier, Raker, SharedMOMDH

PAPER = gaussians([0.25, 1, 4, 16, 64])
MIXED = (
    *(Gaussian(1.0), Laplacian(2.0), Polynomial(3), Gaussian(0.3), Linear(), Laplacian(0.5), Polynomial(2)),
    *(Matern32(1.5), Matern52(0.7), RationalQuadratic(1.0), RationalQuadratic(0.5, alpha=3)),
)
STREAMS = {
    "rings": streams.rings(1500),
    "duplicates": streams.with_duplicates(1500),
    "one_hot": streams.one_hot(1200),
    "sparse": streams.sparse_numbers(1000),
}
KERNELS = {"paper": PAPER, "one": (Gaussian(1.0),), "mixed": MIXED, "no_ladder": gaussians([0.3, 0.7, 1.1])}


def compare(model, reference, X, y, weights=None, classes=(-1, 1)):
    """Dense rows and CSR give the same bits, and those are the scores of the reference."""
    sparsely = clone(model)
    scores = model.predict_then_learn(X, y, classes=classes, sample_weight=weights)
    as_csr = sparsely.predict_then_learn(sparse.csr_matrix(X), y, classes=classes, sample_weight=weights)
    np.testing.assert_array_equal(as_csr, scores)
    assert sparsely._core.save() == model._core.save()
    w = np.ones(len(y)) if weights is None else weights
    expected = np.array([reference.learn(*example) for example in zip(X, y, w, strict=True)])
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("stream", STREAMS)
def test_m_omd_s(stream, kernels):
    X, y = STREAMS[stream]
    X, y = (X, y) if kernels != "mixed" else (X[:1000], y[:1000])
    model = MOMDS(kernels=KERNELS[kernels], budget=24, dtype="float64", random_state=3)
    reference = oracle.MOMDS(KERNELS[kernels], X.shape[1], 24, seed=3)
    compare(model, reference, X, y)
    done = model.diagnostics_
    assert (done.additions, done.proxies, done.removals) == (reference.additions, reference.proxies, reference.removals)
    assert done.removals > 3
    np.testing.assert_allclose(done.norms, [f.norm() for f in reference.f], rtol=1e-9)
    np.testing.assert_allclose(model.kernel_weights_, reference.hedge.p, rtol=1e-9)
    evidence = [reference.linear, reference.unmerged, reference.steepest, reference.weight, *reference.Gamma]
    np.testing.assert_allclose(model._core.evidence(), evidence, rtol=1e-7)
    if stream == "duplicates":
        assert done.proxies > 10


@pytest.mark.parametrize(
    "settings",
    [
        {"removal": "restart"},
        {"removal": "oldest"},
        {"removal": "eager"},
        {"loss": "smooth_hinge"},
        {"step": 2.0},
        {"norm_bound": 0.7},
    ],
    ids=str,
)
def test_m_omd_s_settings(settings):
    X, y = STREAMS["duplicates"]
    named = {"U" if name == "norm_bound" else name: value for name, value in settings.items()}
    model = MOMDS(kernels=PAPER, budget=17, dtype="float64", random_state=5, **settings)
    reference = oracle.MOMDS(PAPER, X.shape[1], 17, seed=5, **named)
    compare(model, reference, X, y)
    evidence = [reference.linear, reference.unmerged, reference.steepest, reference.weight, *reference.Gamma]
    np.testing.assert_allclose(model._core.evidence(), evidence, rtol=1e-7)


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("stream", STREAMS)
def test_m_omd_h(stream, kernels):
    X, y = STREAMS[stream]
    rows = 400 if kernels == "mixed" else 1000
    X, y = X[:rows], y[:rows]
    model = MOMDH(kernels=KERNELS[kernels], budget=20, reservoir=4, dtype="float64", random_state=3)
    reference = oracle.MOMDH(KERNELS[kernels], X.shape[1], 20, M=4, seed=3)
    compare(model, reference, X, y)
    done = model.diagnostics_
    for count in ("additions", "proxies", "removals", "archived", "overflowed"):
        assert done[count] == getattr(reference, count), count
    assert done.removals > 3
    np.testing.assert_allclose(done.alignment_proxy, reference.A, rtol=1e-9)


@pytest.mark.parametrize(
    "settings",
    [
        {"removal": "restart"},
        {"removal": "oldest"},
        {"removal": "eager"},
        {"horizon": 3.0},
        {"horizon": 1.0, "reservoir": 1},
        {"step": 0.5},
        {"norm_bound": 0.9},
    ],
    ids=str,
)
def test_m_omd_h_settings(settings):
    X, y = STREAMS["duplicates"]
    X, y = X[:800], y[:800]
    names = {"norm_bound": "U", "reservoir": "M"}
    named = {"M": 5} | {names.get(name, name): value for name, value in settings.items()}
    model = MOMDH(**{"kernels": PAPER, "budget": 15, "reservoir": 5, "dtype": "float64", "random_state": 9} | settings)
    reference = oracle.MOMDH(PAPER, X.shape[1], 15, seed=9, **named)
    compare(model, reference, X, y)
    assert model.diagnostics_.overflowed == reference.overflowed
    if "horizon" in settings:
        assert reference.overflowed > 3


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("stream", STREAMS)
def test_shared_m_omd_h(stream, kernels):
    X, y = STREAMS[stream]
    rows = 400 if kernels == "mixed" else 1000
    X, y = X[:rows], y[:rows]
    model = SharedMOMDH(kernels=KERNELS[kernels], budget=20, reservoir=4, dtype="float64", random_state=3)
    reference = oracle.SharedMOMDH(KERNELS[kernels], X.shape[1], 20, M=4, seed=3)
    compare(model, reference, X, y)
    done = model.diagnostics_
    for count in ("additions", "proxies", "removals", "archived", "overflowed"):
        assert done[count] == getattr(reference, count), count
    assert done.removals > 3
    np.testing.assert_allclose(done.alignment_proxy, reference.A, rtol=1e-9)
    np.testing.assert_allclose(model._core.evidence(), reference.spent, rtol=1e-9)


@pytest.mark.parametrize(
    "settings", [{"horizon": 3.0}, {"horizon": 1.0, "reservoir": 1}, {"step": 0.5}, {"norm_bound": 0.9}], ids=str
)
def test_shared_m_omd_h_settings(settings):
    X, y = (part[:800] for part in streams.with_duplicates(3000))  # on which the archive overflows
    weights = np.random.default_rng(4).integers(0, 4, 800) / 2
    named = {"M": settings.get("reservoir", 5), "U": settings.get("norm_bound")}
    named |= {name: settings[name] for name in ("horizon", "step") if name in settings}
    given = {"kernels": PAPER, "budget": 15, "reservoir": 5, "dtype": "float64", "random_state": 9} | settings
    reference = oracle.SharedMOMDH(PAPER, X.shape[1], 15, seed=9, **named)
    compare(SharedMOMDH(**given), reference, X, y, weights)
    if "horizon" in settings:
        assert reference.overflowed > 3


@pytest.mark.parametrize("loss", ["logistic", "hinge", "smooth_hinge"])
@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("stream", STREAMS)
def test_lkm_books(stream, kernels, loss):
    X, y = STREAMS[stream]
    settings = {"nu": 1 / 3, "loss": loss}
    model = LKMBooks(kernels=KERNELS[kernels], budget=60, horizon=len(y), dtype="float64", random_state=1, **settings)
    reference = oracle.LKMBooks(KERNELS[kernels], X.shape[1], 60, len(y), seed=1, **settings)
    compare(model, reference, X, y)
    assert model.diagnostics_.additions == reference.additions > 20
    np.testing.assert_allclose(model.diagnostics_.norms, [f.norm() for f in reference.f], rtol=1e-9)


@pytest.mark.parametrize("loss", ["logistic", "hinge", "smooth_hinge"])
@pytest.mark.parametrize("kernels", ["paper", "one", "no_ladder"])
@pytest.mark.parametrize("stream", STREAMS)
def test_raker(stream, kernels, loss):
    X, y = STREAMS[stream]
    settings = {"rate": 0.2, "regularization": 0.005, "loss": loss}
    model = Raker(kernels=KERNELS[kernels], features=37, dtype="float64", random_state=1, **settings)
    model.partial_fit(X[:1], y[:1], classes=[-1, 1])
    frequencies = model.frequencies_
    fresh = Raker(**model.get_params())
    reference = oracle.Raker(KERNELS[kernels], frequencies, 0.2, 0.005, loss)
    compare(fresh, reference, X, y)
    np.testing.assert_allclose(fresh.kernel_weights_, reference.p, rtol=1e-8)


# ---- weights --------------------------------------------------------------------------------------------------------


def weighted(stream, rows):
    X, y = STREAMS[stream]
    return X[:rows], y[:rows], streams.weights(rows, seed=4)


def counts_of(model, reference):
    for count in ("additions", "proxies", "removals"):
        assert model.diagnostics_[count] == getattr(reference, count), count
    return model.diagnostics_


@pytest.mark.parametrize("loss", ["logistic", "smooth_hinge"])
@pytest.mark.parametrize("stream", STREAMS)
def test_weights_m_omd_s(stream, loss):
    X, y, w = weighted(stream, 600)
    model = MOMDS(kernels=PAPER, budget=24, loss=loss, dtype="float64", random_state=3)
    reference = oracle.MOMDS(PAPER, X.shape[1], 24, loss=loss, seed=3)
    compare(model, reference, X, y, w)
    done = counts_of(model, reference)
    assert done.removals > 3
    assert done.rounds == np.count_nonzero(w)
    np.testing.assert_allclose(model.kernel_weights_, reference.hedge.p, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kernels", ["paper", "mixed"])
@pytest.mark.parametrize("stream", STREAMS)
def test_weights_m_omd_h(stream, kernels):
    X, y, w = weighted(stream, 250 if kernels == "paper" else 150)
    settings = {"horizon": 10.0, "step": 0.5}
    model = MOMDH(kernels=KERNELS[kernels], budget=12, reservoir=4, dtype="float64", random_state=3, **settings)
    reference = oracle.MOMDH(KERNELS[kernels], X.shape[1], 12, M=4, seed=3, **settings)
    compare(model, reference, X, y, w)
    done = counts_of(model, reference)
    assert done.removals > 3
    assert done.overflowed == reference.overflowed
    assert done.rounds == np.count_nonzero(w)
    np.testing.assert_allclose(done.alignment_proxy, reference.A, rtol=1e-9)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("stream", STREAMS)
def test_weights_lkm_books(stream, loss):
    X, y, w = weighted(stream, 400)
    model = LKMBooks(kernels=MIXED, budget=60, horizon=400, loss=loss, dtype="float64", random_state=1)
    reference = oracle.LKMBooks(MIXED, X.shape[1], 60, 400, loss=loss, seed=1)
    compare(model, reference, X, y, w)
    assert model.diagnostics_.additions == reference.additions > 20
    assert model.diagnostics_.rounds == np.count_nonzero(w)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("stream", STREAMS)
def test_weights_raker(stream, loss):
    X, y, w = weighted(stream, 900)
    settings = {"rate": 0.05, "regularization": 0.005, "loss": loss}
    model = Raker(kernels=PAPER, features=37, dtype="float64", random_state=1, **settings)
    frequencies = Raker(**model.get_params()).fit(X, y).frequencies_
    reference = oracle.Raker(PAPER, frequencies, 0.05, 0.005, loss)
    compare(model, reference, X, y, w)
    np.testing.assert_allclose(model.kernel_weights_, reference.p, rtol=1e-8)


# ---- several classes ------------------------------------------------------------------------------------------------


def compare_classes(model, reference, X, C, weights=None):
    y = streams.in_classes(X, C)
    compare(model, reference, X, y, weights, classes=range(C))
    done = counts_of(model, reference)
    kernels = range(len(reference.kernels))
    np.testing.assert_allclose(done.norms, [reference.norm(i) for i in kernels], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.kernel_weights_, reference.hedge.p, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(done.cumulative_loss, reference.loss, rtol=1e-9)
    return done


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("stream", STREAMS)
def test_multiclass_m_omd_s(stream, kernels):
    X = STREAMS[stream][0][: 200 if kernels == "mixed" else 400]
    model = MulticlassMOMDS(kernels=KERNELS[kernels], budget=20, dtype="float64", random_state=3)
    reference = oracle.MulticlassMOMDS(KERNELS[kernels], X.shape[1], 3, 20, seed=3)
    done = compare_classes(model, reference, X, 3)
    assert done.removals > 3
    if stream == "duplicates":
        assert done.proxies > 10


@pytest.mark.parametrize(
    "settings",
    [{}, {"removal": "restart"}, {"removal": "oldest"}, {"step": 2.0}, {"norm_bound": 0.7}, {"weights": True}],
    ids=str,
)
@pytest.mark.parametrize(("stream", "C"), [("duplicates", 5), ("rings", 5), ("sparse", 3)])
def test_multiclass_m_omd_s_settings(stream, C, settings):
    X = STREAMS[stream][0][:300]
    settings = dict(settings)
    w = streams.weights(len(X), seed=2) if settings.pop("weights", False) else None
    named = {"U" if name == "norm_bound" else name: value for name, value in settings.items()}
    model = MulticlassMOMDS(kernels=PAPER, budget=17, dtype="float64", random_state=5, **settings)
    reference = oracle.MulticlassMOMDS(PAPER, X.shape[1], C, 17, seed=5, **named)
    done = compare_classes(model, reference, X, C, w)
    assert done.removals > 3
    assert done.rounds == (len(X) if w is None else np.count_nonzero(w))


@pytest.mark.parametrize("weights", [False, True], ids=["", "weights"])
@pytest.mark.parametrize("classes", [2, 4])
def test_neighbours_near_enough(classes, weights):
    """Kernels so wide that gamma, which shrinks with the summed slopes, decides."""
    X, y = STREAMS["rings"]
    X, y, wide = X[:500], y[:500], gaussians([4, 8])
    w = streams.weights(500, seed=6) if weights else None
    given = {"kernels": wide, "budget": 20, "dtype": "float64", "random_state": 2}
    if classes == 2:
        model, reference = MOMDS(**given), oracle.MOMDS(wide, X.shape[1], 20, seed=2)
        compare(model, reference, X, y, w)
        done = counts_of(model, reference)
    else:
        model, reference = MulticlassMOMDS(**given), oracle.MulticlassMOMDS(wide, X.shape[1], classes, 20, seed=2)
        done = compare_classes(model, reference, X, classes, w)
    assert done.proxies > 10
    assert done.additions > 50


@pytest.mark.parametrize("stream", STREAMS)
def test_two_classes_are_the_binary_learner(stream):
    """With d = f_1 - f_0: |f|^2 = |d|^2 / 2 and d moves twice as far, so step and norm bound grow by sqrt(2)."""
    X, y = STREAMS[stream]
    given = {"kernels": MIXED, "budget": 24, "dtype": "float64", "random_state": 3}
    several = MulticlassMOMDS(norm_bound=4.0, **given)
    two = MOMDS(norm_bound=4.0 * np.sqrt(2), step=np.sqrt(2), **given)
    w = streams.weights(len(y), seed=1)
    scores = several.predict_then_learn(X, y, classes=[-1, 1], sample_weight=w)
    np.testing.assert_allclose(scores, two.predict_then_learn(X, y, classes=[-1, 1], sample_weight=w), atol=1e-9)
    for count in ("rounds", "mistakes", "additions", "proxies", "removals"):
        assert several.diagnostics_[count] == two.diagnostics_[count], count
    np.testing.assert_allclose(several.kernel_weights_, two.kernel_weights_, rtol=1e-9)


# ---- PocketClassifier -----------------------------------------------------------------------------------------------


def classes_of(X, y, C):
    return (y > 0).astype(int) if C == 2 else streams.in_classes(X, C)


def reversed_labels(C, rows=2000):
    """Two classes change places half-way; of more, each becomes the next one."""
    X, y = streams.rings(rows)
    y = classes_of(X, y, C)
    return X, np.where(np.arange(rows) < rows // 2, y, (y + 1) % C)


def other_labels(rows=2000):
    """Late in the stream labels begin to follow another column; reversing them does not help."""
    X, _ = streams.rings(rows)
    return X, np.where(np.arange(rows) < 1500, X[:, 0] > 0, X[:, 1] > 0).astype(int)


def constant_columns(C, rows=1500):
    """One column that is always 0, one that is always 3.25, and one that is constant for a while."""
    X, y = streams.rings(rows)
    more = np.zeros((rows, 3))
    more[:, 1] = 3.25
    more[rows // 3 :, 2] = X[rows // 3 :, 0]
    return np.hstack([X, more]), classes_of(X, y, C)


def columns_of_any_size(rows=1500):
    X, y = streams.rings(rows, d=4)
    return X**3 * 10.0 ** np.array([-6, -2, 3, 6]) + [0, 1, 1e4, -1e7], classes_of(X, y, 2)


def wide(stream, C, rows=1000):
    X, y = stream(rows, d=80)
    return X, classes_of(X, y, C)


def pockets(X, y, C, memory, seed=1, **given):
    """The model before its first row, and its transcription."""
    model = PocketClassifier(memory=memory, dtype="float64", random_state=seed, **given)
    first = PocketClassifier(**model.get_params()).partial_fit(X[:1], y[:1], classes=range(C))
    widths = [kernel.width for kernel in first._recipe.kernels if isinstance(kernel, Gaussian)]
    kernels, d = first._recipe.kernels, X.shape[1]
    lag = len(kernels) > 1 and kernels[-1] == Linear()
    additive = any(isinstance(kernel, Matern32) for kernel in kernels)
    slow = Polynomial(1) in kernels
    block = len(kernels) > 1 + len(widths) + additive + slow + lag
    shared = oracle.pocket_classifier.Block(first.budget_, d, C, 8) if block else None
    reference = oracle.PocketClassifier(widths, first.frequencies_, d, C, 8, lag, shared, additive, slow, seed)
    np.testing.assert_array_equal(reference.W, first.frequencies_)
    return model, reference


def compare_pockets(X, y, C, memory, weights=None, **given):
    model, reference = pockets(X, y, C, memory, **given)
    compare(model, reference, X, y, weights, classes=range(C))
    done = model.diagnostics_
    assert (done.rounds, done.mistakes) == (reference.rounds, reference.mistakes)
    assert done.stored.tolist() == [reference.count(i) for i in range(reference.K)]
    np.testing.assert_allclose(done.cumulative_loss, reference.cumulative_loss, rtol=1e-9)
    np.testing.assert_allclose(done.norms, reference.norms(), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.column_relevance_, reference.factors, rtol=1e-9)
    assert (reference.weighings > 0) == (reference.D > 0)
    assert model.events_ == reference.events[-7:]
    assert (done.events, done.event_count) == (model.events_, len(reference.events))
    np.testing.assert_array_equal(model.frequencies_, reference.W)
    if (block := reference.block) is not None:
        shares = model.memory_shares_
        assert shares == {
            "frequencies": block.tiles * block.tile, "ring": block.ring_bytes, "ferns": block.room * block.fern
        }  # fmt: skip
    pulls = np.abs(reference.w) * reference.norms()
    shares = pulls / pulls.sum()
    np.testing.assert_allclose(model.kernel_weights_, shares, rtol=1e-8, atol=1e-12)
    return reference


@pytest.mark.parametrize("weights", [False, True], ids=["", "weights"])
@pytest.mark.parametrize(("memory", "experts"), [("2KiB", 1), ("5KiB", 4), ("10KiB", 5), ("16KiB", 6), ("32KiB", 9)])
def test_pocket_classifier(memory, experts, weights):
    X, y = streams.rings(1500)
    w = streams.weights(len(y), seed=4) if weights else None
    reference = compare_pockets(X, classes_of(X, y, 2), 2, memory, weights=w)
    assert experts == reference.K
    assert (reference.moves > 3) == (experts > 4)
    assert reference.clipped > 0 or experts < 8
    rates = reference.rates[1 : len(reference.widths)]
    assert experts < 5 or (min(rates) < 0.6 and max(rates) == 0.75)  # widths that have come far, and others
    assert reference.rounds == (len(y) if w is None else np.count_nonzero(w))


@pytest.mark.parametrize("weights", [False, True], ids=["", "weights"])
@pytest.mark.parametrize(("memory", "experts"), [("3KiB", 1), ("12KiB", 6), ("48KiB", 8), ("96KiB", 11)])
def test_pocket_classifier_of_several_classes(memory, experts, weights):
    X, _ = streams.rings(1000)
    w = streams.weights(len(X), seed=4) if weights else None
    reference = compare_pockets(X, streams.in_classes(X, 4), 4, memory, weights=w)
    assert (experts, 4) == (reference.K, reference.R)
    assert (reference.moves > 3) == (experts > 6)
    assert reference.rounds == (len(X) if w is None else np.count_nonzero(w))


def test_classes_not_seen_yet_tie():
    """By symmetry, to the bit, in the core and in the transcription: which of them is predicted must not be chance."""
    X, _ = streams.rings(300)
    y = streams.in_classes(X, 3)
    for C, memory in ((7, "16KiB"), (13, "256KiB")):
        model, reference = pockets(X, y, C, memory)
        scores = model.predict_then_learn(X, y, classes=range(C))
        assert not np.any(np.ptp(scores[:, 3:], axis=1))
        assert not np.any(np.ptp([reference.learn(*row)[3:] for row in zip(X, y, strict=True)], axis=1))


@pytest.mark.parametrize("weights", [False, True], ids=["", "weights"])
@pytest.mark.parametrize("C", [2, 3])
@pytest.mark.parametrize("stream", [streams.one_hot, streams.sparse_numbers], ids=lambda stream: stream.__name__)
def test_pocket_classifier_on_sparse_rows(stream, C, weights):
    """From 64 columns on, rows are scaled and projected through their nonzeros alone."""
    X, y = wide(stream, C)
    assert np.mean(X == 0) > 0.8
    w = streams.weights(len(y), seed=4) if weights else None
    reference = compare_pockets(X, y, C, "48KiB" if C == 2 else "128KiB", w)
    assert reference.moves > 1
    assert (reference.slow is None) == (C > 2)


@pytest.mark.parametrize("memory", ["8KiB", "64KiB"])
def test_pocket_classifier_doubts_labels(memory):
    """Of a sharp boundary some labels are wrong; later none are, but another column decides."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((2000, 3))
    y = np.where(np.arange(2000) < 1500, X[:, 0] > 0, X[:, 1] > 0) ^ (rng.random(2000) < 0.05)
    reference = compare_pockets(X, y.astype(int), 2, memory)
    assert reference.doubts > 1000
    assert reference.hurries > 0


def squares(C, rows=1800, seed=0):
    """A board of small squares, for which rows must be remembered."""
    X = np.random.default_rng(seed).uniform(0, 5, size=(rows, 2))
    return X, np.floor(X).sum(axis=1).astype(int) % C


def thresholds(C, rows=1800, seed=0):
    """Classes that depend on thresholds of several columns, for which ferns are made; then only a plane counts."""
    X = np.random.default_rng(seed).standard_normal((rows, 6))
    return X, np.where(np.arange(rows) < 1300, (X > 0.5).sum(axis=1) % C, np.digitize(X.sum(axis=1), range(C - 1)))


@pytest.mark.parametrize("weights", [False, True], ids=["", "weights"])
@pytest.mark.parametrize(
    ("stream", "C", "memory"),
    [(squares, 2, "72KiB"), (squares, 3, "24KiB"), (thresholds, 2, "80KiB"), (thresholds, 5, "64KiB")],
)
def test_pocket_classifier_shares_memory_by_evidence(stream, C, memory, weights):
    X, y = stream(C)
    w = streams.weights(len(y), seed=4) if weights else None
    reference = compare_pockets(X, y, C, memory, weights=w)
    block = reference.block
    print(block.tiles * block.tile / block.bytes, block.ring_bytes / block.bytes, reference.shifts, reference.grown)
    assert reference.shifts > 0
    assert len(block.ferns) > 3


@pytest.mark.parametrize("C", [2, 4])
def test_pocket_classifier_takes_the_distance_that_finds_better_neighbours(C):
    """Clusters that are far out in one column each: squared differences single it out, absolute ones drown it."""
    rng = np.random.default_rng(0)
    cluster = rng.integers(16, size=1800)
    X = rng.standard_normal((len(cluster), 16))
    X[np.arange(len(X)), cluster] += 4
    reference = compare_pockets(X, cluster % C, C, "96KiB")
    print(reference.changes, reference.lead)
    assert reference.changes > 0
    assert reference.squared


def test_pocket_classifier_when_two_classes_change_places():
    X, y = reversed_labels(2)
    w = np.where(streams.weights(len(y), seed=4) == 0, 0.0, 1.0)
    for weights in (None, w):
        reference = compare_pockets(X, y, 2, "16KiB", weights=weights)
        assert reference.turns == 1
        assert reference.turned
    there_and_back = np.where(np.arange(len(y)) < 1500, y, 1 - y)
    reference = compare_pockets(X, there_and_back, 2, "16KiB")
    assert reference.turns == 2
    assert not reference.turned


def test_pocket_classifier_in_a_hurry():
    reference = compare_pockets(*other_labels(), 2, "8KiB")
    assert reference.hurries > 0
    assert reference.turns == 0
    reference = compare_pockets(*reversed_labels(3), 3, "24KiB")
    assert reference.hurries > 0
    assert reference.turns == 0


@pytest.mark.parametrize("C", [2, 3])
def test_pocket_classifier_with_constant_columns(C):
    X, y = constant_columns(C)
    reference = compare_pockets(X, y, C, "24KiB")
    assert reference.spread[3] == reference.spread[4] == 0 < reference.spread[5]
    assert not np.any(reference.a[:, 3:5])
    assert np.all(reference.a[:, 5] != 0)


def test_pocket_classifier_with_columns_of_any_size():
    X, y = columns_of_any_size()
    reference = compare_pockets(X, y, 2, "16KiB")
    assert np.ptp(np.log10(reference.spread)) > 11


def test_pocket_classifier_when_units_and_levels_change():
    """Columns times 1e-3 and 1e3, one on another level, one that wakes up; narrow rows and wide ones."""
    for d in (5, 80):
        X, y = streams.rings(2000, d=d)
        X[1000:, :3] *= [1e-3, 1e3, 1.0]
        X[1000:, 2] += 1e4
        X[:1000, 3] = 0.0
        X[:, 4] *= np.arange(2000) % 4 == 0
        X[1000:, 4] *= 1e5
        reference = compare_pockets(X, classes_of(X, y, 2), 2, "16KiB" if d == 5 else "48KiB")
        # All but the one that wakes up: after 1,000 zeros its deviation grows faster than the evidence does.
        assert reference.restarts == 4


@pytest.mark.parametrize("d", [5, 80])
def test_pocket_classifier_after_bad_first_rows(d):
    """A huge one, several that are large, and one of a column far from 0."""
    X, y = streams.rings(1000, d=d)
    X[0, 0], X[:9, 1], X[0, 2] = 1e30, 1e4, 300.0
    X[:, 3] += 1e9
    X[0, 3] = 0.0
    reference = compare_pockets(X, classes_of(X, y, 2), 2, "16KiB" if d == 5 else "48KiB")
    assert reference.restarts == 4
    assert np.all(reference.deviation < 10)
    assert not reference.events  # they had not been known


@pytest.mark.parametrize("C", [2, 3])
def test_pocket_classifier_with_weights_of_another_unit(C):
    """They fall, jump up, and jump down."""
    X, y = streams.rings(1000)
    w = 10.0 ** np.concatenate([np.linspace(9, -80, 500), np.full(250, -5.0), np.full(250, -300.0)])
    reference = compare_pockets(X, classes_of(X, y, C), C, "24KiB", weights=w)
    assert reference.weights.restarts > 3


@pytest.mark.parametrize("d", [5, 80])
@pytest.mark.parametrize("C", [2, 3])
def test_pocket_classifier_with_missing_values(C, d):
    """One value in five is missing, of one column the first 300, of another all; some after a change of units."""
    X, y = streams.rings(1500, d=d) if d == 5 else streams.sparse_numbers(1000, d=d)
    y = classes_of(X, y, C)
    X[np.random.default_rng(7).random(X.shape) < 0.2] = np.nan
    X[:300, 1] = X[:, 2] = np.nan
    X[800:, 0] *= 1e4
    reference = compare_pockets(X, y, C, "24KiB" if d == 5 else "64KiB")
    assert reference.n[2] == reference.mean[2] == 0 < reference.n[1]
    assert np.all(np.isfinite(reference.mean))


@pytest.mark.parametrize("lag", [False, True])
@pytest.mark.parametrize("C", [2, 4])
def test_pocket_classifier_with_labels_that_have_a_memory(C, lag):
    X, y = streams.rings(1000)
    y = np.repeat(classes_of(X, y, C)[::5], 5)
    reference = compare_pockets(X, y, C, "32KiB", weights=streams.weights(len(y), seed=4), lag=lag)
    assert reference.lag == lag
    assert np.any(reference.lag_weights != 0) == lag
