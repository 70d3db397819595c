"""Advice on learner and memory, from the first part of a stream."""

import json
import re

import numpy as np
import pytest
from scipy import sparse

import cli_files
import pocketkernel
import tables
from pocketkernel._scores import labels_of
from pocketkernel.lab.streams import rings
from pocketkernel.lab.theory import advise
from pocketkernel.lab.theory._trials import Candidate, attempt, confidence_within, outlook, wilson
from pocketkernel.stream import gather, known_kernel, open_stream

LEVELS = [1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20]


@pytest.fixture(scope="module")
def advice():
    return advise(*rings(800))


# ---- what to expect -------------------------------------------------------------------------------------------------


def test_wilson():
    """Holds a share as often as it says."""
    rng = np.random.default_rng(0)
    for share in (0.02, 0.3):
        ends = [wilson(made / 500, 500) for made in rng.binomial(500, share, size=2000)]
        assert 0.93 < np.mean([low <= share <= high for low, high in ends]) < 0.98
    assert wilson(1.0, 10)[1] == pytest.approx(1)


def test_outlook_without_learning():
    """A constant share is expected to stay; what comes lies within the ends as often as they say."""
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(300):
        wrong = rng.random(2000) < 0.2
        rate, low, high = outlook(wrong[:1000], 2000)
        assert low <= rate <= high
        inside += low <= wrong[1000:].mean() <= high
    assert inside > 0.9 * 300


def test_outlook_of_a_learner_that_gets_faster():
    """What comes lies within the ends, too, if a learner has just begun to learn."""
    rng = np.random.default_rng(0)
    t = np.arange(1, 20_001)
    rates = 0.4 * (t / 500.0).clip(1) ** -0.8
    inside = 0
    for _ in range(100):
        wrong = rng.random(len(t)) < rates
        _, low, high = outlook(wrong[:2000], len(t))
        inside += low <= wrong[2000:].mean() <= high
    assert inside > 90


def test_outlook_with_learning():
    """Mistakes that grow as a root, or stop growing so at once: the expectation lies between."""
    rng = np.random.default_rng(0)
    t = np.arange(1, 80_001)
    wrong = rng.random(len(t)) < 0.5 * (t / 100.0).clip(1) ** -0.5
    rate, low, high = outlook(wrong[:10_000], len(t))
    assert low < wrong[10_000:].mean() < rate < wrong[5000:10_000].mean() < high
    assert outlook(wrong[:10_000], None)[0] > rate
    assert outlook(wrong[:10_000], 10_000)[0] == wrong[5000:10_000].mean()


@pytest.mark.parametrize("wrong", [np.zeros(1000, bool), np.ones(1000, bool), np.arange(1000) < 300])
def test_outlook_at_the_ends(wrong):
    rate, low, high = outlook(wrong, 10_000)
    assert 0 <= low <= rate <= high <= 1


def test_confidence():
    X, y = rings(800)
    one = attempt(Candidate("PocketClassifier"), 1 << 14, X, y, length=None, seed=0)
    assert confidence_within(one, [], 0.1) == 1
    assert confidence_within(one, [one], 0.1) > 0.5
    rng = np.random.default_rng(0)
    good, bad = (attempt(Candidate("MOMDS"), 1 << 14, X, y, length=None, seed=0) for _ in range(2))
    object.__setattr__(good, "wrong", rng.random(800) < 0.1)
    object.__setattr__(bad, "wrong", rng.random(800) < 0.3)
    assert confidence_within(good, [bad], 0.1) > 0.999
    assert confidence_within(bad, [good], 0.1) < 0.001


# ---- the advice -----------------------------------------------------------------------------------------------------


def test_the_choice(advice):
    """The best learner in the smallest memory that is near the best and surely so; in doubt, more."""
    assert [line["memory"] for line in advice.table] == LEVELS
    best = {}
    for trial in advice.trials:
        best[trial.memory] = min(best.get(trial.memory, trial), trial, key=lambda one: one.at_worst(None))
    fewest = min(trial.at_worst(None) for trial in best.values())
    near = [trial for trial in best.values() if trial.at_worst(None) <= 1.05 * fewest]
    sure = [one for one in near if confidence_within(one, [a for a in advice.trials if a is not one], 0.1) >= 0.99]
    assert advice.chosen is (sure[0] if sure else near[-1])
    assert advice.sure == "sure" or not sure
    for trial in advice.trials:
        assert trial.nbytes <= trial.memory
        assert trial.mistakes == trial.wrong.sum()
        assert 0 <= trial.low <= trial.rate <= trial.high <= 1
    assert {trial.learner for trial in advice.trials} == {"PocketClassifier", "MOMDS", "Raker"}
    assert advice.sure in ("sure", "fairly sure", "not sure")


def test_the_same_again(advice):
    again = advise(*rings(800))
    assert again.to_dict() == advice.to_dict()


def test_a_trial_is_a_run(advice):
    X, y = rings(800)
    scores = advice.build(random_state=0).predict_then_learn(X, y)
    np.testing.assert_array_equal((scores >= 0) != (y > 0), advice.chosen.wrong)


def test_print(advice):
    text = repr(advice)
    assert text.startswith("800 rows, 2 columns, 2 classes; mistakes expected on the remaining rows\n")
    for words in ("  4 KiB", " 64 KiB", "  1 MiB", "widths that matter", "bound of M-OMD-S", "Use PocketClassifier("):
        assert words in text
    assert text.endswith(advice.sentence)
    made = advice.to_dict()
    assert json.loads(json.dumps(made)) == made
    assert made["chosen"] in made["table"]
    code = re.search(r"Use (.*?\)):", advice.sentence)[1]
    built = eval(code, {name: getattr(pocketkernel, name) for name in pocketkernel.__all__})
    assert built.get_params() == advice.build().set_params(memory=built.memory).get_params()


def test_within(advice):
    small = advice.within("4KiB")
    assert small.chosen.memory == 1 << 12
    assert small.trials is advice.trials
    assert small.gain >= 0
    assert advice.within("2MiB").chosen is advice.chosen
    with pytest.raises(ValueError, match=r"memory=100 is too small: for 2 columns and 2 classes the smallest .* bytes"):
        advice.within(100)


def test_memory():
    X, y = rings(600)
    other = advise(X, y, memory="10KiB")
    assert 10 * 1024 in {trial.memory for trial in other.trials}
    assert other.chosen.memory <= 10 * 1024
    with pytest.raises(ValueError, match=r"memory='100B' is too small"):
        advise(X, y, memory="100B")


def test_widths(advice):
    assert len(advice.widths) == 6
    assert any(width.matters for width in advice.widths)
    best = min(advice.widths, key=lambda width: width.rate)
    assert best.matters
    assert all(0 <= width.alignment <= 1 for width in advice.widths)
    scaled = advise(1000 * rings(800)[0], rings(800)[1])
    matter = [width.matters for width in advice.widths]
    assert [width.matters for width in scaled.widths] == matter  # units of the columns do not matter
    assert scaled.widths[0].width == pytest.approx(1000 * advice.widths[0].width)


def test_bounds(advice):
    """Each part is that of the bound, and at first the sum falls as memory grows."""
    assert [terms.memory for terms in advice.bounds] == LEVELS
    totals = [terms.total for terms in advice.bounds]
    for terms, budget in zip(advice.bounds, (line["budget"] for line in advice.table), strict=True):
        assert terms.budget > 0 and budget >= 0
        T, L = 800, terms.least_loss * 800
        assert terms.from_memory * T == pytest.approx(terms.norm_bound * L / np.sqrt(terms.budget))
        assert terms.from_loss * T == pytest.approx(terms.norm_bound * np.sqrt(L))
        assert terms.from_start * T == pytest.approx(terms.norm_bound * np.sqrt(terms.budget))
    assert totals[0] > totals[1]


def test_a_stream_that_is_over(advice):
    whole = advise(*rings(800), length=800)
    assert whole.confidence == 1
    assert "mistakes on all 800 rows" in whole.sentence
    longer = advise(*rings(800), rows=500)
    assert (longer.rows, longer.length) == (500, 800)


def test_noise():
    """Labels that cannot be learned: the smallest memory will do."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 3)), rng.integers(2, size=2000)
    advice = advise(X, y)
    assert advice.chosen.low < 0.5 < advice.chosen.high
    assert advice.gain < 0.1


def test_sparse_rows_and_wide_rows():
    X, y = known_kernel(400, features=4)
    wide = sparse.csr_matrix(np.hstack([X, np.zeros((400, 296))]))
    advice = advise(wide, y)
    assert advice.least > 1 << 12
    assert advice.trials[0].memory == advice.least
    assert f"does not fit: at least {advice.least:,} bytes are needed" in repr(advice)
    assert advice.bounds[0].memory > advice.least


def test_very_wide_rows():
    """What would need dense rows is left out."""
    rows = sparse.random(120, 30_000, density=0.001, format="csr", random_state=0)
    advice = advise(rows, np.arange(120) % 2)
    assert advice.bounds == ()
    assert all(width.alignment is None for width in advice.widths)
    assert {trial.memory for trial in advice.trials} >= {advice.least}


def test_more_than_two_classes():
    X, _ = rings(900)
    y = np.array(["a", "b", "c"])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0)]
    advice = advise(X, y)
    assert advice.classes == 3
    assert {trial.learner for trial in advice.trials} == {"PocketClassifier", "MulticlassMOMDS"}
    assert advice.bounds == ()
    assert all(width.alignment is None for width in advice.widths)
    assert advice.chosen.rate < 0.2
    assert "bound" not in repr(advice)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"y": np.ones(200)}, "the first 200 rows have only one class, 1.0"),
        ({"source": np.zeros((50, 2)), "y": np.arange(50) % 2}, "there are 50 rows: advice needs at least 100"),
        ({"y": np.ones(3)}, "X has 200 rows but y has 3 labels"),
        ({"rows": 10}, "rows=10 is too small"),
        ({"length": 100}, "length=100 is too small: there are 200 rows already"),
        ({"memory": "much"}, "memory='much' is not a number of bytes"),
        ({"permute": 0}, "permute: this applies only to files"),
        ({"label": "y"}, "label: this applies only to files"),
    ],
)
def test_bad_input(change, words):
    X, y = rings(200)
    given = {"source": X, "y": y} | change
    with pytest.raises(ValueError, match=re.escape(words)):
        advise(**given)


# ---- files ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return cli_files.svm(tmp_path / "rows.svm", rows=400)


def test_a_file_is_its_rows(file):
    X, y = file
    assert advise("rows.svm").to_dict() == advise(X, y, length=400).to_dict()
    order = np.random.default_rng(1).permutation(400)
    shuffled = advise("rows.svm", permute=1, rows=300).to_dict()
    assert shuffled == advise(X[order][:300], y[order][:300], length=400).to_dict()
    assert advise("rows.svm", rows=300).length == 400  # counted


@pytest.mark.parametrize("rows", [53_940, 400_000])
def test_the_length_of_a_file_is_counted(tmp_path, rows):
    (tmp_path / "a.csv").write_text("x,y\n" + "".join(f"{k % 97},{k % 2}\n" for k in range(rows)))
    assert advise(tmp_path / "a.csv", rows=200, strict=False, memory="4KiB").length == rows


@pytest.mark.parametrize(("make", "label"), [(tables.diamonds, "cut"), (tables.loans, "Status")])
def test_the_range_holds_on_streams_it_was_not_tuned_on(tmp_path, make, label):
    (tmp_path / "a.csv").write_bytes(make(8000, seed=11))
    reading = {"label": label, "strict": False, "missing": "mean"}
    advice = advise(tmp_path / "a.csv", rows=2000, memory="16KiB", **reading)
    chosen, whole = advice.chosen, gather(open_stream(tmp_path / "a.csv", **reading).blocks())
    model = getattr(pocketkernel, chosen.learner)(memory=chosen.memory, random_state=0, **chosen.parameters)
    scores = model.predict_then_learn(whole.X, whole.y, classes=np.unique(whole.y))
    wrong = labels_of(scores, model.classes_) != whole.y
    assert chosen.low < wrong[2000:].mean() < chosen.high, (chosen.low, wrong[2000:].mean(), chosen.high)
