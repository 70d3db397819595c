"""Learners beside peers, on the same permutations."""

import json
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from pocketkernel import MOMDS, MulticlassMOMDS, PocketRegressor
from pocketkernel.__main__ import main
from pocketkernel.evaluate import Record
from pocketkernel.lab.experiments.compare import compare
from pocketkernel.lab.experiments.contestants import LEARNERS, PEERS, Contestant, Task
from pocketkernel.lab.streams import digits, line_of


def rings(rows=300, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    return X, np.digitize((X**2).sum(axis=1), [2.4] if classes == 2 else [1.5, 3.5])


def column(table, name):
    place = [column.name for column in table.columns].index(name)
    return {row[0]: row[place] for row in table.rows}


def installed():
    return [key for key, peer in PEERS.items() if peer.installed]


def test_everyone_on_the_same_permutations():
    X, y = rings()
    seen = []
    made = compare(X, y, permutations=2, peer_rows=100, memory="16KiB", report=lambda *args: seen.append(args))
    everyone = [*LEARNERS, *installed()]
    assert len(made.records) == len(seen) == 2 * len(everyone)
    assert seen[-1][1:] == (len(seen), len(seen))
    assert not made.refused
    assert [row[0] for row in made.table.rows] == [(LEARNERS | PEERS)[key].name for key in everyone]
    assert all(spread.mean > 0 for spread in column(made.table, "µs per row").values())
    assert all(count > 0 for count in column(made.table, "bytes").values())
    for key in LEARNERS:
        assert column(made.table, "bytes")[LEARNERS[key].name] <= 16 * 1024
        assert column(made.table, "rows")[LEARNERS[key].name] == 300
    for key in installed():
        assert column(made.table, "rows")[PEERS[key].name] == 100
        assert column(made.table, "bytes counted")[PEERS[key].name] in ("by River", "pickled")
    assert "ran only on the first 100 rows" in made.table.note


def test_a_learner_does_what_it_does_alone():
    X, y = rings()
    made = compare(X, y, learners=["momds"], peers=["sgd"], permutations=2, peer_rows=70, memory="16KiB")
    rates, early = [], []
    for seed in range(2):
        order = np.random.default_rng(seed).permutation(len(y))
        scores = MOMDS(memory="16KiB", random_state=seed).predict_then_learn(X[order], y[order], classes=[0, 1])
        wrong = (scores >= 0) != (y[order] == 1)
        rates.append(100 * wrong.mean())
        early.append(100 * wrong[:70].mean())
    assert column(made.table, "mistakes %")["M-OMD-S"] == pytest.approx((np.mean(rates), np.std(rates, ddof=1)))
    assert column(made.table, "at first %")["M-OMD-S"] == pytest.approx((np.mean(early), np.std(early, ddof=1)))
    peer, same = (column(made.table, name)["SGDClassifier, standardised"] for name in ("at first %", "mistakes %"))
    assert peer == pytest.approx(same)


@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("classes", [2, 3])
def test_a_peer_scores_a_row_before_it_learns_it(peer, classes):
    """What a row is answered does not depend on its label, nor on the rows after it, nor on blocks."""
    if not PEERS[peer].installed:
        pytest.skip(f"{PEERS[peer].needs} is not installed")
    X, y = rings(60, classes)
    task = Task(60, 3, np.arange(classes), 16_384, 0)
    other = y.copy()
    other[40] = (other[40] + 1) % classes

    def scores(y, cuts=()):
        model = PEERS[peer].make(task)
        parts = zip(np.split(X, cuts), np.split(y, cuts), strict=True)
        return np.concatenate([model.predict_then_learn(*part, classes=np.arange(classes)) for part in parts])

    whole = scores(y)
    assert whole.shape == ((60,) if classes == 2 else (60, 3))
    np.testing.assert_array_equal(scores(other)[:41], whole[:41])
    assert not np.array_equal(scores(other)[41:], whole[41:])
    np.testing.assert_allclose(scores(y, [1, 2, 33]), whole, rtol=1e-9)


def test_peers_learn():
    X, y = digits()
    made = compare(X[:400], y[:400], learners=[], permutations=1, peer_rows=0)
    for name, rate in column(made.table, "mistakes %").items():
        assert rate.mean < 35, name
        assert rate.sd is None


@pytest.mark.parametrize("peer", ["river-logistic", "sgd", "rbf-sgd"])
@pytest.mark.parametrize("numbers", [False, True])
def test_the_units_of_columns_do_not_matter_to_peers_that_are_standardised(peer, numbers):
    X, y = digits()
    X, y = X[:300, 1:20], y[:300] if not numbers else y[:300] * X[:300, 10] + X[:300, 12]
    rates = []
    for units in (1.0, 2.0 ** np.arange(-9, 10)):
        made = compare(X * units, y, learners=[], peers=[peer], permutations=1, peer_rows=0)
        rates.append(made.table.rows[0][2].mean)
    assert rates[0] == pytest.approx(rates[1], rel=1e-6)


def test_numbers_are_compared_by_regressors():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = 3 * X[:, 0] + np.abs(X[:, 1]) + 0.1 * rng.normal(size=400)
    made = compare(X, y, permutations=2, peer_rows=100, memory="16KiB")
    assert made.task == "regression"
    names = [row[0] for row in made.table.rows if row[1] is not None]
    assert names == ["PocketRegressor", *(PEERS[key].names or PEERS[key].name for key in installed())]
    assert set(made.refused) == {"M-OMD-S", "M-OMD-H", "M-OMD-H, shared", "LKMBooks", "Raker"}
    assert "Not run: Raker predicts classes, not numbers." in made.table.note
    errors, early = [], []
    for seed in range(2):
        order = np.random.default_rng(seed).permutation(400)
        model = PocketRegressor(memory="16KiB", random_state=seed)
        squares = np.square(model.predict_then_learn(X[order], y[order]) - y[order])
        errors.append(np.sqrt(squares.mean()))
        early.append(np.sqrt(squares[:100].mean()))
    assert column(made.table, "RMSE")["PocketRegressor"] == pytest.approx((np.mean(errors), np.std(errors, ddof=1)))
    assert column(made.table, "at first")["PocketRegressor"] == pytest.approx((np.mean(early), np.std(early, ddof=1)))
    assert all(error.mean < 1.2 * y.std() for error in column(made.table, "RMSE").values() if error is not None)
    as_classes = compare(X[:60], np.arange(60) % 30, learners=["pocket"], peers=[], permutations=1, memory="64KiB")
    assert as_classes.task == "classification"


@pytest.mark.parametrize("peer", PEERS)
def test_a_peer_answers_before_it_is_told_the_number(peer):
    if not PEERS[peer].installed:
        pytest.skip(f"{PEERS[peer].needs} is not installed")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    other = y.copy()
    other[40] += 5

    def answers(y, cuts=()):
        model = PEERS[peer].numbers(Task(60, 3, np.empty(0), 16_384, 0))
        parts = zip(np.split(X, cuts), np.split(y, cuts), strict=True)
        return np.concatenate([model.predict_then_learn(*part) for part in parts])

    whole = answers(y)
    assert whole.shape == (60,)
    np.testing.assert_array_equal(answers(other)[:41], whole[:41])
    assert not np.array_equal(answers(other)[41:], whole[41:])
    np.testing.assert_allclose(answers(y, [1, 2, 33]), whole, rtol=1e-9)


def test_more_than_two_classes():
    X, y = rings(200, 3)
    labels = np.array(["few", "more", "most"])[y]
    made = compare(X, labels, peers=["sgd"], permutations=1, memory="16KiB")
    assert set(made.refused) == {"M-OMD-H", "M-OMD-H, shared", "LKMBooks", "Raker"}
    assert "Not run: M-OMD-H supports only two classes, but there are 3." in made.table.note
    order = np.random.default_rng(0).permutation(200)
    model = MulticlassMOMDS(memory="16KiB", random_state=0)
    scores = model.predict_then_learn(X[order], labels[order], classes=np.unique(labels))
    rate = 100 * np.mean(np.unique(labels)[scores.argmax(axis=1)] != labels[order])
    assert column(made.table, "mistakes %")["M-OMD-S"].mean == pytest.approx(rate)
    assert column(made.table, "mistakes %")["Raker"] is None


@pytest.mark.parametrize("scaler", ["standard", "minmax", "maxabs"])
def test_sparse_rows_and_scaling(scaler):
    X, y = rings(120)
    options = {"learners": ["momds"], "peers": ["sgd"], "permutations": 1, "scaler": scaler, "memory": "16KiB"}
    dense, thin = compare(X, y, **options), compare(sparse.csr_matrix(X), y, **options)
    assert column(dense.table, "mistakes %") == column(thin.table, "mistakes %")
    assert f"scaled online ({scaler})" in dense.table.note


def test_too_little_memory_is_said():
    X, y = rings(60)
    made = compare(X, y, peers=["sgd"], permutations=2, memory=6_000)
    assert any("too small" in reason for reason in made.refused.values())
    with pytest.raises(ValueError, match=r"no learner or peer could be run: M-OMD-S: memory=100 .*too small"):
        compare(X, y, learners=["momds"], peers=[], memory=100)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"learners": ["svm"]}, "learner 'svm' is unknown: choose from pocket"),
        ({"peers": ["momds"]}, "peer 'momds' is unknown: choose from river-logistic"),
        ({"learners": [], "peers": []}, "nothing to compare"),
        ({"permutations": 0}, "permutations=0 is too small"),
        ({"scaler": "robust"}, "scaler='robust' is unknown"),
        ({"memory": "much"}, "memory='much' is not a number of bytes"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        compare(*rings(20), **options)


def test_bad_labels():
    X, _ = rings(20)
    with pytest.raises(ValueError, match="y has 1 different labels: use from 2 to 100"):
        compare(X, np.ones(20))
    with pytest.raises(ValueError, match="X has 20 rows but y has 3 labels"):
        compare(X, [0, 1, 1])


def test_a_package_that_is_missing():
    assert not Contestant("x", lambda task: None, needs="no_such_package").installed


def test_what_is_written(tmp_path):
    made = compare(*rings(150), learners=["momds", "raker"], peers=["sgd"], permutations=2, source="rings")
    files = made.write(tmp_path, title="Rings", command="pocketkernel compare rings")
    assert [path.name for path in files] == ["compare.md", "compare.tex", "compare.csv", "report.html", "records"]
    assert all(path.exists() for path in files)
    page = (tmp_path / "report.html").read_text()
    assert "pocketkernel compare rings" in page and "<svg" in page
    names = sorted(path.name for path in (tmp_path / "records").iterdir())
    assert names == ["momds-0", "momds-1", "raker-0", "raker-1", "sgd-0", "sgd-1"]
    assert Record.read(tmp_path / "records" / "momds-1") in made.records


# ---- the command line ------------------------------------------------------------------------------------------------


@pytest.fixture
def call():
    cyclopts = pytest.importorskip("cyclopts", reason="cyclopts is not installed")
    from pocketkernel.lab.cli import compare as verb

    app = cyclopts.App()
    app.command(verb.compare)

    def call(*arguments):
        words = ["compare", *map(str, arguments)]
        return app(words, exit_on_error=False, print_error=False, result_action="return_value")

    return call


@pytest.fixture
def file(tmp_path):
    X, y = rings(120)
    path = tmp_path / "rings.svm"
    path.write_bytes(b"".join(line_of(label, np.arange(3), row) for row, label in zip(X, y, strict=True)))
    return path


def test_command(call, file, tmp_path, capsys):
    arguments = (file, "--learners", "momds", "raker", "--peers", "sgd", "--permutations", 2, "--memory", "16KiB")
    call(*arguments, "--scale", "standard", "--out", tmp_path / "out")
    shown = capsys.readouterr().out
    assert "rings.svm: 120 rows, 3 columns" in shown
    assert all(name in shown for name in ("M-OMD-S", "Raker", "SGDClassifier", "scaled online (standard)"))
    assert "M-OMD-H" not in shown
    assert (tmp_path / "out" / "report.html").exists()

    call(*arguments, "--json", "--rows", 50)
    told = json.loads(capsys.readouterr().out)
    assert [result["learner"] for result in told["results"]] == ["M-OMD-S", "Raker", "SGDClassifier, standardised"]
    assert {result["rows"] for result in told["results"]} == {50}
    assert set(told["results"][0]["mistakes_percent"]) == {"mean", "sd"}

    call(file, "--peers", "none", "--permutations", 1, "--json")
    assert len(json.loads(capsys.readouterr().out)["results"]) == len(LEARNERS)


def test_command_on_numbers(call, tmp_path, capsys):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(150, 3)).round(4).tolist()
    (tmp_path / "t.csv").write_text("a,b,y\n" + "".join(f"{a},{b},{a + b * b + c}\n" for a, b, c in rows))
    arguments = (tmp_path / "t.csv", "--label", "y", "--peers", "sgd", "--permutations", 1, "--memory", "16KiB")
    call(*arguments, "--out", tmp_path / "out")
    shown = capsys.readouterr().out
    assert "PocketRegressor" in shown and "RMSE" in shown and "mistakes" not in shown and "SGDRegressor" in shown
    assert "PocketRegressor" in (tmp_path / "out" / "report.html").read_text()
    call(*arguments, "--json")
    told = json.loads(capsys.readouterr().out)
    assert told["task"] == "regression" and set(told["results"][0]["rmse"]) == {"mean", "sd"}


def test_command_on_a_table(call, tmp_path, capsys):
    X, y = rings(80)
    lines = [
        "a,b,colour,what",
        *(f"{a},{b},{'red' if c > 0 else 'blue'},{'in' if t else 'out'}" for (a, b, c), t in zip(X, y, strict=True)),
    ]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    options = ("--learners", "momds", "--peers", "none", "--permutations", 1, "--categorical", "auto")
    for label in ("what", "-1"):
        call(tmp_path / "t.csv", *options, f"--label={label}")
        assert "80 rows, 4 columns" in capsys.readouterr().out


def test_rows_that_are_left_out_are_counted(call, file, capsys):
    file.write_bytes(file.read_bytes() + b"1 x\n")
    call(file, "--learners", "momds", "--peers", "none", "--permutations", 1, "--on-error", "skip")
    shown = capsys.readouterr()
    assert "120 rows" in shown.out
    assert "1 rows were skipped, the first: " in shown.err
    assert "rings.svm, line 121" in shown.err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nowhere.svm"], 1, "nowhere.svm"),
        (["bad.svm", "--strict"], 1, "bad.svm, line 2"),
        (["rings.svm", "--memory", "100"], 2, "too small"),
        (["rings.svm", "--memory", "much"], 2, "is not a number of bytes"),
        (["rings.svm", "--out", "rings.svm"], 1, "rings.svm"),
    ],
    ids=str,
)
def test_mistakes_of_the_user(file, tmp_path, monkeypatch, capsys, arguments, code, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.svm").write_text("1 1:1\n-1 x\n")
    few = ["--learners", "momds", "--peers", "none", "--permutations", "1"]
    assert main(["lab", "compare", *arguments, *few]) == code
    shown = capsys.readouterr().err
    assert message in shown
    assert "Traceback" not in shown


def test_standard_input(file):
    words = ["lab", "compare", "-", "--learners", "momds", "--peers", "none", "--permutations", "1"]
    command = [sys.executable, "-m", "pocketkernel", *words]
    run = subprocess.run(command, input=file.read_text(), capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "120 rows, 3 columns" in run.stdout
