"""The predict-then-learn loop, and the baselines that run in it."""

import os

import numpy as np
import pytest
from scipy import sparse

import streams
from pocketkernel import MOMDH, MOMDS, LKMBooks, PocketClassifier, Raker
from pocketkernel.evaluate import progressive
from pocketkernel.evaluate import run as evaluate_run
from pocketkernel.lab.demo.baselines import Majority, OnlineLinear
from pocketkernel.stream import open_stream

X, y = streams.rings(1003)
MODELS = {
    "m_omd_s": lambda: MOMDS(budget=50, random_state=0),
    "m_omd_h": lambda: MOMDH(budget=50, random_state=0),
    "lkm_books": lambda: LKMBooks(budget=50, horizon=1003, random_state=0),
    "raker": lambda: Raker(features=50, random_state=0),
    "pocket_classifier": lambda: PocketClassifier(memory="16KiB", random_state=0),
    "linear": OnlineLinear,
    "majority": Majority,
}


@pytest.mark.parametrize("block", [1, 7, 100, 5000])
@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_blocks_change_no_bit(make, block):
    scores = make().predict_then_learn(X, y)
    records = list(progressive(make(), X, y, block=block))
    np.testing.assert_array_equal(np.concatenate([record.scores for record in records]), scores)
    assert records[-1].rows == 1003
    assert records[-1].mistakes == np.count_nonzero((scores >= 0) != (y > 0))


def test_records_add_up():
    records = list(progressive(MOMDS(budget=50, random_state=0), X, y, block=100))
    assert [record.rows for record in records] == [*range(100, 1001, 100), 1003]
    assert [record.window_rows for record in records] == [100] * 10 + [3]
    assert [record.mistakes for record in records] == np.cumsum([record.window_mistakes for record in records]).tolist()
    assert np.all(np.diff([0.0, *(record.seconds for record in records)]) > 0)
    last = records[-1]
    assert last.mistake_rate == last.mistakes / 1003
    assert last.window_mistake_rate == last.window_mistakes / 3
    assert last.rows_per_second == 1003 / last.seconds


def test_labels_may_be_words_and_rows_sparse():
    words = np.where(y > 0, "yes", "no")
    (expected,) = progressive(MOMDS(budget=50, random_state=0), X, y, block=2000)
    (record,) = progressive(MOMDS(budget=50, random_state=0), sparse.csr_matrix(X), words, block=2000)
    assert record.mistakes == expected.mistakes


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_the_first_block_may_hold_one_class(make):
    ordered = np.sort(y)
    *_, record = progressive(make(), X, ordered, block=10)
    assert record.rows == 1003


def test_a_stream_goes_on_where_another_ended():
    model = OnlineLinear()
    (first,) = progressive(model, X[:500], y[:500])
    (second,) = progressive(model, X[500:], y[500:])
    scores = OnlineLinear().predict_then_learn(X, y)
    np.testing.assert_array_equal(np.concatenate((first.scores, second.scores)), scores)


def test_bad_calls_are_refused():
    with pytest.raises(ValueError, match="X has 1003 rows but y has 9 labels"):
        next(progressive(Majority(), X, y[:9]))
    with pytest.raises(ValueError, match="block=0 is too small"):
        next(progressive(Majority(), X, y, block=0))
    with pytest.raises(ValueError, match=r"3 labels, \[0, 1, 2\]"):
        next(progressive(Majority(), X[:3], [0, 1, 2]))
    assert list(progressive(Majority(), X[:0], y[:0])) == []


def test_majority_against_a_direct_count():
    labels = np.random.default_rng(0).choice([3, 8], size=300, p=[0.45, 0.55])
    scores = Majority().predict_then_learn(np.zeros((300, 1)), labels, classes=[3, 8])
    for t, score in enumerate(scores):
        seen = labels[:t].tolist()
        assert (score >= 0) == (seen.count(8) >= seen.count(3))


def test_linear_against_a_transcription():
    w, squares = np.zeros(4), np.full(4, 1e-8)
    scores = OnlineLinear(step=0.3).predict_then_learn(X, y)
    for x, sign, score in zip(X, y, scores, strict=True):
        x = np.append(x, 1)
        u = w @ x
        assert score == pytest.approx(u, rel=1e-9, abs=1e-12)
        gradient = -sign / (1 + np.exp(sign * u)) * x
        squares += gradient**2
        w -= 0.3 * gradient / np.sqrt(squares)


def test_linear_separates_what_is_separable():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(4000, 5))
    labels = np.sign(rows @ [1, -2, 0.5, 0, 3] + 0.5)
    model = OnlineLinear()
    *_, record = progressive(model, rows, labels)
    assert record.window_mistake_rate < 0.02
    assert model.nbytes == 2 * 6 * 8


def test_linear_survives_huge_rows():
    scores = OnlineLinear().predict_then_learn(np.full((10, 1), 1e6), np.resize([1, -1], 10))
    assert np.all(np.isfinite(scores))


def test_what_a_pipe_has_given_before_ctrl_c_is_learned_or_counted(monkeypatch):
    lines = b"".join(b"%d,%d,%d\n" % (i % 7, i % 5, i % 2) for i in range(330))
    for grace, learned in ((60.0, 330), (-1.0, 100)):
        monkeypatch.setattr(evaluate_run, "GRACE", grace)
        monkeypatch.setattr("pocketkernel.stream.files.CHUNK", 1000)
        receive, send = os.pipe()
        os.write(send, b"a,b,label\n" + lines + b"1,2")  # the last row is not whole
        with open(receive, "rb", buffering=0) as file:
            stream = open_stream(file, format="csv", label="label", block=100)
            run, pressed = evaluate_run.Run(stream, PocketClassifier(memory="16KiB", random_state=0)), []
            for _ in run.steps(lambda pressed=pressed: bool(pressed)):
                pressed.append(True)
            assert run.interrupted and (run.progress.rows, run.dropped) == (learned, 330 - learned)
            os.close(send)
