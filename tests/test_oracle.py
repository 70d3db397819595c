"""The core agrees with the transcriptions on every score."""

import numpy as np
import pytest
from scipy import sparse

import oracle
import streams
from pocketkernel import MOMDH, MOMDS, Gaussian, Laplacian, Linear, LKMBooks, Polynomial, Raker, gaussians

PAPER = gaussians([0.25, 1, 4, 16, 64])
MIXED = (Gaussian(1.0), Laplacian(2.0), Polynomial(3), Gaussian(0.3), Linear(), Laplacian(0.5), Polynomial(2))
STREAMS = {
    "rings": streams.rings(3000),
    "duplicates": streams.with_duplicates(3000),
    "one_hot": streams.one_hot(2000),
    "sparse": streams.sparse_numbers(1500),
}
KERNELS = {"paper": PAPER, "one": (Gaussian(1.0),), "mixed": MIXED, "no_ladder": gaussians([0.3, 0.7, 1.1])}


def compare(model, reference, X, y, as_csr):
    scores = model.predict_then_learn(sparse.csr_matrix(X) if as_csr else X, y, classes=[-1, 1])
    expected = np.array([reference.learn(x, label) for x, label in zip(X, y, strict=True)])
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("as_csr", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("stream", STREAMS)
def test_m_omd_s(stream, kernels, as_csr):
    X, y = STREAMS[stream]
    X, y = (X, y) if kernels != "mixed" else (X[:1000], y[:1000])
    model = MOMDS(kernels=KERNELS[kernels], budget=24, dtype="float64", random_state=3)
    reference = oracle.MOMDS(KERNELS[kernels], X.shape[1], 24, seed=3)
    compare(model, reference, X, y, as_csr)
    done = model.diagnostics_
    assert (done.additions, done.proxies, done.removals) == (reference.additions, reference.proxies, reference.removals)
    assert done.removals > 3
    np.testing.assert_allclose(done.norms, [f.norm() for f in reference.f], rtol=1e-9)
    np.testing.assert_allclose(model.kernel_weights_, reference.hedge.p, rtol=1e-9)
    if stream == "duplicates":
        assert done.proxies > 10


@pytest.mark.parametrize(
    "settings", [{"removal": "restart"}, {"loss": "smooth_hinge"}, {"step": 2.0}, {"norm_bound": 0.7}], ids=str
)
def test_m_omd_s_settings(settings):
    X, y = STREAMS["duplicates"]
    named = {"U" if name == "norm_bound" else name: value for name, value in settings.items()}
    model = MOMDS(kernels=PAPER, budget=17, dtype="float64", random_state=5, **settings)
    compare(model, oracle.MOMDS(PAPER, X.shape[1], 17, seed=5, **named), X, y, False)


@pytest.mark.parametrize("as_csr", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("stream", STREAMS)
def test_m_omd_h(stream, kernels, as_csr):
    X, y = STREAMS[stream]
    rows = 400 if kernels == "mixed" else 1000
    X, y = X[:rows], y[:rows]
    model = MOMDH(kernels=KERNELS[kernels], budget=20, reservoir=4, dtype="float64", random_state=3)
    reference = oracle.MOMDH(KERNELS[kernels], X.shape[1], 20, M=4, seed=3)
    compare(model, reference, X, y, as_csr)
    done = model.diagnostics_
    for count in ("additions", "proxies", "removals", "archived", "overflowed"):
        assert done[count] == getattr(reference, count), count
    assert done.removals > 3
    np.testing.assert_allclose(done.alignment_proxy, reference.A, rtol=1e-9)


@pytest.mark.parametrize(
    "settings",
    [{"removal": "restart"}, {"horizon": 3.0}, {"horizon": 1.0, "reservoir": 1}, {"step": 0.5}, {"norm_bound": 0.9}],
    ids=str,
)
def test_m_omd_h_settings(settings):
    X, y = STREAMS["duplicates"]
    X, y = X[:800], y[:800]
    names = {"norm_bound": "U", "reservoir": "M"}
    named = {"M": 5} | {names.get(name, name): value for name, value in settings.items()}
    model = MOMDH(**{"kernels": PAPER, "budget": 15, "reservoir": 5, "dtype": "float64", "random_state": 9} | settings)
    reference = oracle.MOMDH(PAPER, X.shape[1], 15, seed=9, **named)
    compare(model, reference, X, y, False)
    assert model.diagnostics_.overflowed == reference.overflowed
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
    compare(model, reference, X, y, stream == "sparse")
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
    compare(fresh, reference, X, y, stream == "sparse")
    np.testing.assert_allclose(fresh.kernel_weights_, reference.p, rtol=1e-8)
