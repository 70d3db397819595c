"""The paper's experiments, on tiny files under the paper's names."""

import csv
import json
import lzma
import random
import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from joblib import register_parallel_backend
from joblib.parallel import ThreadingBackend
from sklearn.utils import Bunch
from tiny_paper import CELLS_PER_PERMUTATION, FEATURES, FEWER, ROWS, run_and_kill, write_data_set

from oracle import parts
from pocketkernel import MOMDH, MOMDS, LKMBooks, Raker, gaussians
from pocketkernel.lab import catalogue
from pocketkernel.lab.catalogue import CATALOGUE, NAMES, DataError
from pocketkernel.lab.experiments import Cell, Outcome, Results, paper, published, runner
from pocketkernel.lab.experiments.ablation import BUDGETS, REMOVALS, ablation, removals
from pocketkernel.lab.experiments.cells import LEARNERS, run_cell
from pocketkernel.lab.experiments.data import DENSE_FROM, load, locate
from pocketkernel.lab.experiments.k_buffers import KBuffers
from pocketkernel.lab.experiments.outputs import ablation_charts, markdown_page, paper_charts, write_outputs
from pocketkernel.lab.experiments.paper import quick, tables
from pocketkernel.lab.experiments.runner import run
from pocketkernel.lab.experiments.writing import markdown
from pocketkernel.lab.report import Column, Spread
from pocketkernel.stream import StreamError

SMALL = ("mushrooms", "SUSY")
HERE = {"jobs": 1, "backend": "threading"}  # in this process, where a test can look


@pytest.fixture
def fewer_settings(monkeypatch):
    """For tests that run the tables."""
    monkeypatch.setattr(paper, "GRIDS", dict(paper.GRIDS))
    exec(FEWER)


def some_cells(permutations=2, data_sets=SMALL):
    return [
        Cell(data_set, "M-OMD-S", "logistic", budget, (("step", c),), permutation)
        for data_set in data_sets
        for budget in (5, 20)
        for c in (1.0, 0.5)
        for permutation in range(permutations)
    ]


def timeless(outcomes):
    return {cell: replace(outcome, seconds=0.0) for cell, outcome in outcomes.items()}


def text(made):
    return markdown_page(made.tables, "T")


def timeless_text(made):
    return text(replace(made, lines=tuple(replace(line, seconds=0.0) for line in made.lines)))


# ---- what was published ----------------------------------------------------------------------------------------------


def test_grids_are_those_of_the_paper():
    assert {name: len(grid) for name, grid in paper.GRIDS.items()} == {
        "M-OMD-S": 3, "M-OMD-H": 3, "LKMBooks": 3, "Raker": 21, "Raker, published slip": 21,
    }  # fmt: skip
    assert dict(paper.GRIDS["Raker"][0]) == {"log10_rate": -3, "regularization": 0.05}
    assert dict(paper.GRIDS["Raker"][-1]) == {"log10_rate": 3, "regularization": 0.0005}


def test_published_tables_are_whole():
    cells = published()
    assert len(cells) == 56
    assert list(dict.fromkeys(cell.data_set for cell in cells)) == list(NAMES)
    for name in NAMES:
        hinge = [(c.learner, c.budget) for c in cells if c.data_set == name and c.loss == "hinge"]
        logistic = [(c.learner, c.budget) for c in cells if c.data_set == name and c.loss == "logistic"]
        assert hinge == [("Raker", 400), ("LKMBooks", 400), ("M-OMD-H", 100), ("M-OMD-H", 400)]
        assert logistic == [("Raker", 400), ("LKMBooks", 400), ("M-OMD-S", 400)]
    assert sum(cell.complexity is not None for cell in cells) == 16
    assert {cell.data_set: cell.rows for cell in cells}["cod-rna"] == 271617


# ---- data ------------------------------------------------------------------------------------------------------------


def test_data_are_those_of_the_catalogue(folder, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("POCKETKERNEL_DATA", raising=False)
    with pytest.raises(DataError, match=r"a9a\.svm\.xz is not in .*set POCKETKERNEL_DATA"):
        locate("a9a")
    monkeypatch.setenv("POCKETKERNEL_DATA", str(folder))
    assert locate("a9a", tmp_path) == (folder / "a9a.svm.xz").resolve()
    assert set(CATALOGUE) == set(NAMES)


@pytest.mark.parametrize("name, share", [("cod-rna", 1.0), ("cod-rna", DENSE_FROM / 2), ("a9a", 1.0)])
def test_rows_are_dense_or_sparse_as_suits_them(tmp_path, name, share):
    X, y = write_data_set(tmp_path, name, share=share)
    read = load(name, tmp_path, "float64")
    assert isinstance(read.X, np.ndarray) == (name == "cod-rna" and share == 1.0)
    assert read.X.shape == (ROWS, CATALOGUE[name].features)
    assert read.X.dtype == np.float64
    dense = read.X if isinstance(read.X, np.ndarray) else read.X.toarray()
    np.testing.assert_allclose(dense[:, :FEATURES], X, rtol=1e-12)
    assert not dense[:, FEATURES:].any()
    np.testing.assert_array_equal(read.y, y)
    order = np.random.default_rng(3).permutation(ROWS)
    np.testing.assert_array_equal(read.permuted(3).y, y[order])


def test_the_file_that_was_found_is_the_one_that_is_read(tmp_path):
    write_data_set(tmp_path, "a9a")
    (tmp_path / "a9a.svm").write_bytes(b"-1 1:1\n")
    assert locate("a9a", tmp_path).name == "a9a.svm.xz"
    assert len(load("a9a", locate("a9a", tmp_path).parent, "float32").y) == ROWS


def test_other_labels_are_refused(tmp_path):
    with lzma.open(tmp_path / "a9a.svm.xz", "wb") as file:
        file.write(b"1 1:1\n2 1:2\n")
    with pytest.raises(StreamError, match=r"a9a\.svm\.xz, line 2, byte 1: expected .*-1.*, found 2"):
        run_cell(Cell("a9a", "M-OMD-S", "logistic", 5, (), 0), tmp_path)


def test_all_files_are_looked_for_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.delenv("POCKETKERNEL_DATA", raising=False)
    monkeypatch.setattr(catalogue, "cache_folder", lambda: tmp_path / "cache")
    write_data_set(tmp_path, "mushrooms")
    with pytest.raises(DataError, match="SUSY"):
        tables(tmp_path / "results", folder=tmp_path, data_sets=SMALL, **HERE)
    assert not (tmp_path / "results").exists()


# ---- cells -----------------------------------------------------------------------------------------------------------

SLIPPED = gaussians([0.25, 0.25, 1.0, 16.0, 1024.0])
SAME = {
    "M-OMD-S": (("logistic", 20, (("step", 0.5),)), lambda: MOMDS(budget=20, step=0.5)),
    "M-OMD-H": (("hinge", 20, (("step", 2.0), ("reservoir", 30))), lambda: MOMDH(budget=20, step=2.0, reservoir=30)),
    "LKMBooks": (("hinge", 20, (("nu", 1 / 3),)), lambda: LKMBooks(budget=20, nu=1 / 3, horizon=ROWS, loss="hinge")),
    "Raker": (
        ("logistic", 30, (("log10_rate", 1), ("regularization", 0.05))),
        lambda: Raker(features=30, rate=10 / np.sqrt(ROWS), regularization=0.05),
    ),
    "Raker, published slip": (
        ("hinge", 30, (("log10_rate", -1), ("regularization", 0.005))),
        lambda: Raker(features=30, rate=0.1 / np.sqrt(ROWS), regularization=0.005, loss="hinge", kernels=SLIPPED),
    ),
}


@pytest.mark.parametrize("learner", SAME)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_cell_is_the_learner_on_the_permuted_rows(folder, learner, dtype):
    (loss, budget, setting), make = SAME[learner]
    cell = Cell("magic04", learner, loss, budget, setting, 7, dtype)
    outcome = run_cell(cell, folder)
    X, y = load("magic04", folder, dtype)
    order = np.random.default_rng(7).permutation(ROWS)
    model = make().set_params(dtype=dtype, random_state=7)
    scores = model.predict_then_learn(X[order], y[order], classes=[-1, 1])
    assert outcome.rows == ROWS
    assert outcome.mistakes == np.count_nonzero((scores >= 0) != (y[order] > 0))
    assert outcome.loss == model.diagnostics_.cumulative_loss
    assert outcome.nbytes == model.nbytes
    assert outcome.removals == model.diagnostics_.removals
    assert outcome.alignment == (min(model.diagnostics_.alignment_proxy) if learner == "M-OMD-H" else None)
    assert replace(run_cell(cell, folder), seconds=outcome.seconds) == outcome


def test_every_learner_is_tried():
    assert set(SAME) | {"K buffers", "M-OMD-H in the bytes of M-OMD-S"} == set(LEARNERS)


# ---- running and remembering -----------------------------------------------------------------------------------------


def test_finished_cells_are_not_run_again(folder, tmp_path, monkeypatch):
    ran = []
    real = runner.run_on
    monkeypatch.setattr(runner, "run_on", lambda cell, data: ran.append(cell) or real(cell, data))
    seen = []
    first = run(some_cells(1), tmp_path, folder=folder, report=seen.append, **HERE)
    assert sorted(map(str, ran)) == sorted(map(str, first))
    assert (seen[0].done, seen[0].left, seen[-1].done, seen[-1].left) == (0, None, 8, 0.0)
    assert all(before.done < after.done for before, after in pairwise(seen))

    ran.clear(), seen.clear()
    both = run(some_cells(2), tmp_path, folder=folder, report=seen.append, **HERE)
    assert {cell.permutation for cell in ran} == {1}
    assert (seen[0].kept, seen[0].done, seen[-1].done, seen[-1].total) == (8, 8, 16, 16)
    assert both.items() >= first.items()

    ran.clear()
    before = (tmp_path / "cells.jsonl").read_bytes()
    assert run(some_cells(2), tmp_path, folder=folder, **HERE) == both
    assert ran == []
    assert (tmp_path / "cells.jsonl").read_bytes() == before


def test_a_line_that_was_cut_off_is_run_again(folder, tmp_path):
    whole = run(some_cells(), tmp_path, folder=folder, **HERE)
    path = tmp_path / "cells.jsonl"
    path.write_bytes(path.read_bytes()[:-40])
    seen = []
    again = run(some_cells(), tmp_path, folder=folder, report=seen.append, **HERE)
    assert seen[0].kept == len(whole) - 1
    assert timeless(again) == timeless(whole)
    assert len(Results(tmp_path).read()) == len(whole)
    assert run(some_cells(), tmp_path, folder=folder, **HERE) == again


def test_other_data_and_another_version_are_other_cells(tmp_path, monkeypatch):
    write_data_set(tmp_path, "mushrooms", seed=1)
    cells = some_cells(1, ["mushrooms"])
    run(cells, tmp_path / "r", folder=tmp_path, **HERE)
    write_data_set(tmp_path, "mushrooms", seed=2)
    runner.fingerprint.cache_clear(), load.cache_clear()
    seen = []
    run(cells, tmp_path / "r", folder=tmp_path, report=seen.append, **HERE)
    monkeypatch.setattr(runner, "__version__", "0.0.0")
    run(cells, tmp_path / "r", folder=tmp_path, report=seen.append, **HERE)
    assert [status.kept for status in seen if status.elapsed == 0.0] == [0, 0]
    assert len(Results(tmp_path / "r").read()) == 3 * len(cells)
    with pytest.raises(ValueError, match="workers need the same data"):
        runner.run_batch(cells, locate("mushrooms", tmp_path), "of another file")


def test_what_was_finished_before_a_failure_is_kept(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "BATCH_SECONDS", 0.0)
    bad = Cell("mushrooms", "M-OMD-S", "logistic", 1, (), 0)  # a budget of 1 cannot be halved
    with pytest.raises(ValueError, match="budget=1"):
        run([*some_cells(1), bad], tmp_path, folder=folder, **HERE)
    assert len(Results(tmp_path).read()) == len(some_cells(1))


def test_batches_share_a_permutation_and_leave_nothing_out(monkeypatch):
    monkeypatch.setattr(runner, "BATCH_SECONDS", 2.0)
    cells = some_cells(3, NAMES)
    made = runner.batches(cells)
    assert sorted(map(str, cells)) == sorted(str(cell) for batch in made for cell in batch)
    assert all(len({(cell.data_set, cell.permutation, cell.dtype) for cell in batch}) == 1 for batch in made)
    assert made[0][0].data_set == "cod-rna"
    assert len(made) == 3 * len(NAMES)
    assert all(runner.cost(cell) < runner.BATCH_SECONDS for cell in cells)


class AllAtOnce(ThreadingBackend):
    """A backend that answers only when all is done, as Ray's does."""

    supports_return_generator = False


register_parallel_backend("all at once", AllAtOnce)


@pytest.mark.parametrize("backend", ["loky", "threading", "all at once", "dask"])
def test_backends_give_the_same(folder, tmp_path, backend, monkeypatch):
    monkeypatch.setattr(runner, "BATCH_SECONDS", 0.0)
    if backend == "dask":
        pytest.importorskip("distributed", reason="dask and distributed are not installed")
    made = run(some_cells(), tmp_path, folder=folder, jobs=2, backend=backend)
    assert timeless(made) == {cell: replace(run_cell(cell, folder), seconds=0.0) for cell in some_cells()}
    assert len(Results(tmp_path).read()) == len(made)


def test_a_dask_client_that_is_there_is_used(folder, tmp_path):
    distributed = pytest.importorskip("distributed", reason="dask and distributed are not installed")
    with distributed.Client(processes=False, n_workers=2, dashboard_address=None) as client:
        made = run(some_cells(), tmp_path, folder=folder, jobs=-1, backend="dask")
        assert client.status == "running", "it is left open"
    assert timeless(made) == {cell: replace(run_cell(cell, folder), seconds=0.0) for cell in some_cells()}


RUN = f"""
import sys
{FEWER}
from pocketkernel.lab.experiments import runner, tables
runner.BATCH_SECONDS = 0.0
if __name__ == "__main__":
    results, folder, backend = sys.argv[1:]
    tables(results, folder=folder, data_sets=("mushrooms", "SUSY"), permutations=2, jobs=2, backend=backend)
"""


@pytest.mark.parametrize("backend, times", [("threading", 3), ("loky", 1)])
def test_killed_at_random_moments_it_ends_with_the_same_tables(folder, tmp_path, backend, times, fewer_settings):
    seed = 20240 + len(backend)
    rng = random.Random(seed)
    total = 2 * len(SMALL) * CELLS_PER_PERMUTATION
    path = tmp_path / "killed" / "cells.jsonl"
    kept = b""
    for _ in range(times):
        enough = len(kept.splitlines()) + rng.randrange(1, total // (times + 1))
        run_and_kill(RUN, [path.parent, folder, backend], path, enough)
        assert path.read_bytes().startswith(kept), "what is written stays"
        kept = path.read_bytes()
    assert kept.count(b"\n") < total

    seen = []
    resumed = tables(path.parent, folder=folder, data_sets=SMALL, permutations=2, report=seen.append, **HERE)
    assert seen[0].kept == kept.count(b"\n")
    assert path.read_bytes().startswith(kept)
    assert path.read_bytes().count(b"\n") == total == len(Results(path.parent).read()), f"run twice, seed {seed}"
    straight = tables(tmp_path / "straight", folder=folder, data_sets=SMALL, permutations=2, **HERE)
    assert timeless_text(resumed) == timeless_text(straight), f"seed {seed}"
    again = tables(path.parent, folder=folder, data_sets=SMALL, permutations=2, **HERE)
    assert text(again) == text(resumed)


# ---- the paper's tables ----------------------------------------------------------------------------------------------


def made_up(mistakes, rows=10_000, **others):
    """Instead of `run`: outcomes by a rule."""

    def fake(cells, results, **options):
        return {cell: Outcome(rows=rows, mistakes=mistakes(cell), seconds=1.5, **others) for cell in cells}

    return fake


def test_settings_are_chosen_as_the_paper_does_and_honestly(monkeypatch):
    by_step = {2.0: [100, 900, 900, 900], 1.0: [500, 100, 120, 140], 0.5: [300, 300, 300, 300]}

    def mistakes(cell):
        return by_step[dict(cell.setting)["step"]][cell.permutation] if cell.learner == "M-OMD-S" else 1

    monkeypatch.setattr(paper, "run", made_up(mistakes, loss=7.0))
    made = tables("nowhere", data_sets=["a9a"], permutations=4)
    (line,) = (line for line in made.lines if line.learner == "M-OMD-S")
    assert line.tuned.setting == (("step", 1.0),)
    assert line.tuned.rate.mean == pytest.approx(2.15)
    assert line.tuned.rate.sd == pytest.approx(np.std([5, 1, 1.2, 1.4], ddof=1))
    assert line.honest.setting == (("step", 2.0),)
    assert line.honest.rate == Spread(9.0, 0.0)
    assert (line.seconds, line.complexity) == (1.5, 7.0)
    json.dumps(made.records)

    alone = tables("nowhere", data_sets=["a9a"], permutations=1)
    assert all(line.honest is None and line.tuned.rate.sd is None for line in alone.lines)
    assert alone.agreement()["honest"] == (0, 0)
    assert " ± " in text(alone), "the published sd stay"


def test_the_first_of_equal_settings_is_chosen(monkeypatch):
    monkeypatch.setattr(paper, "run", made_up(lambda cell: 3))
    for line in tables("nowhere", data_sets=["a9a"], permutations=2).lines:
        assert line.tuned.setting == line.honest.setting == paper.GRIDS[line.learner][0]


def test_alignment_is_that_of_the_chosen_setting_with_30_in_the_reservoir(monkeypatch):
    def fake(cells, results, **options):
        return {
            cell: Outcome(
                10_000,
                mistakes=int(10 * dict(cell.setting)["step"]) if cell.learner == "M-OMD-H" else 1,
                alignment=dict(cell.setting).get("reservoir", 10)
                + dict(cell.setting).get("step", 0)
                + cell.permutation,
            )
            for cell in cells
        }

    monkeypatch.setattr(paper, "run", fake)
    lines = tables("nowhere", data_sets=["a9a"], permutations=3).lines
    found = {(line.learner, line.published.budget): line.complexity for line in lines}
    assert found["M-OMD-H", 400] == 30 + 0.5 + 1
    assert found["M-OMD-H", 100] is None
    assert found["Raker", 400] is None


@pytest.mark.parametrize("off, agree", [(0, True), (1.99, True), (-1.99, True), (2.01, False), (-2.01, False)])
def test_agreement_is_counted_in_published_sd(monkeypatch, off, agree):
    there = {(c.data_set, c.loss, c.learner, c.budget): c for c in published()}
    rows = 10**9

    def mistakes(cell):
        cell_there = there[cell.data_set, cell.loss, cell.learner.split(",")[0], cell.budget]
        if cell.learner == "Raker":
            return 0
        return round(rows / 100 * (cell_there.mean + off * max(cell_there.sd, 0.005)))

    monkeypatch.setattr(paper, "run", made_up(mistakes, rows, alignment=1.0))
    made = tables("nowhere", permutations=2)
    assert len(made.lines) == 56 + 16
    met = 56 if agree else 0
    assert made.agreement() == {"tuned": (met, 56), "honest": (met, 56), "Raker, right widths": (0, 16)}
    assert made.agreement(within=3)["tuned"] == (56, 56)
    hinge, logistic = (markdown_page([table], "T") for table in made.tables)
    assert f"Within 2 published sd: {32 * agree} of 32 (honest: {32 * agree} of 32)" in hinge
    assert f"Within 2 published sd: {24 * agree} of 24" in logistic
    assert f"{off:+.1f}" in hinge


def test_complexity_is_scaled_to_the_length_of_the_stream(monkeypatch):
    monkeypatch.setattr(paper, "run", made_up(lambda cell: 1, rows=30_000, loss=17_149.2, alignment=17_062.8))
    made = tables("nowhere", data_sets=["SUSY"], permutations=2)
    scaled = {line.learner: line.published_complexity for line in made.lines if line.published_complexity}
    assert scaled == pytest.approx({"M-OMD-H": 0.6 * 28438, "M-OMD-S": 0.6 * 28582})
    for table in made.tables:
        assert "| +0 |" in markdown(table)
        assert "SUSY has 30000 rows here, 50000 in the paper" in table.note
        assert "multiplied by 0.6" in table.note


def test_quick_tables(folder, tmp_path, fewer_settings):
    seen = []
    made = quick(tmp_path, folder=folder, report=seen.append, **HERE)
    assert seen[-1].done == seen[-1].total == 4 * CELLS_PER_PERMUTATION
    assert [line.learner for line in made.lines[:5]] == [
        "Raker, published slip", "Raker", "LKMBooks", "M-OMD-H", "M-OMD-H",
    ]  # fmt: skip
    assert {line.published.data_set for line in made.lines} == {"mushrooms", "phishing"}
    assert all(0 < line.tuned.rate.mean < 60 for line in made.lines)
    assert [len(table.rows) for table in made.tables] == [10, 8]
    assert text(quick(tmp_path, folder=folder, **HERE)) == text(made)


@pytest.mark.parametrize("make", [tables, ablation])
def test_bad_arguments(make, tmp_path):
    with pytest.raises(ValueError, match="data set 'iris' is not in the paper: choose from mushrooms"):
        make(tmp_path, data_sets=["iris"])
    with pytest.raises(ValueError, match="permutations=0 is too small"):
        make(tmp_path, permutations=0)


# ---- the ablation ----------------------------------------------------------------------------------------------------


def test_ablation(folder, tmp_path):
    made = ablation(tmp_path, folder=folder, data_sets=SMALL, budgets=(4, 400), permutations=2, **HERE)
    points = {(p.study, p.data_set, p.learner, p.removal, p.budget): p for p in made.points}
    ways = len(removals(MOMDS)) + len(removals(MOMDH))
    assert len(points) == len(made.points) == len(SMALL) * 2 * (ways + 3)
    for name in SMALL:
        for learner in ("M-OMD-S", "M-OMD-H"):
            few, many = (points["removal", name, learner, "half", B] for B in (4, 400))
            assert few.removals.mean > many.removals.mean == 0
            restart = points["removal", name, learner, "restart", 4]
            assert restart.removals.mean < few.removals.mean, "a restart empties more at a time"
            for way in removals(MOMDS if learner == "M-OMD-S" else MOMDH):
                assert points["removal", name, learner, way, 400].mistakes == many.mistakes, "never full"
        one, own, archive = (
            points["buffers", name, learner, "half", 400]
            for learner in ("M-OMD-S", "K buffers", "M-OMD-H in the bytes of M-OMD-S")
        )
        assert one.stored == 400
        assert own.stored < 400
        assert 0.8 * one.nbytes < own.nbytes <= one.nbytes, "buffers grow by 16 rows"
        assert archive.nbytes <= one.nbytes
        assert not archive.refused
        assert "too small" in points["buffers", name, "M-OMD-H in the bytes of M-OMD-S", "half", 4].refused
    removal, buffers = made.tables
    assert len(removal.rows) == len(SMALL) * 2 * 2
    assert len(buffers.rows) == len(SMALL) * 2
    assert {"mistakes_mean", "mistakes_sd", "removals_mean", "removals_sd"} <= set(made.records[0])
    json.dumps(made.records)
    charts = ablation_charts(made)
    assert [chart.title for chart in charts[:3]] == [
        "mushrooms: mistakes", "mushrooms: removals", "mushrooms: one buffer or K",
    ]  # fmt: skip
    assert len(charts) == 3 * len(SMALL)
    assert len(charts[0].series) == ways
    archive = charts[2].series[2]
    assert len(archive.x) == 1, "what was refused has no point"
    assert ablation(tmp_path, folder=folder, data_sets=SMALL, budgets=(4, 400), permutations=2, **HERE) == made


class Offers:
    """A learner that has some removals."""

    def __init__(self, ways):
        self.ways = ways

    def __call__(self, budget, removal):
        if removal not in self.ways:
            raise ValueError(removal)
        return self

    def partial_fit(self, X, y, classes):
        return self


def test_a_learner_is_asked_for_its_removals():
    assert removals(Offers({"half", "restart"})) == ["half", "restart"]
    assert removals(Offers({"half", "restart", "oldest"})) == ["half", "restart", "oldest"]
    assert {"half", "restart"} <= set(removals(MOMDS)) & set(removals(MOMDH))


@pytest.mark.parametrize("more", [[], ["oldest"]])
def test_keeping_the_newest_is_shown_where_it_is_offered(monkeypatch, more):
    module = sys.modules[ablation.__module__]
    monkeypatch.setattr(module, "removals", lambda learner: ["half", "restart", *more])
    rank = {way: n for n, way in enumerate(REMOVALS)}

    def fake(cells, results, **options):
        return {
            cell: Outcome(1000, mistakes=10 * (1 + rank[dict(cell.setting).get("removal", "half")]), removals=5)
            for cell in cells
        }

    monkeypatch.setattr(module, "run", fake)
    made = ablation("nowhere", data_sets=["a9a"], permutations=2)
    table, _ = made.tables
    names = [column.name for column in table.columns]
    assert ("keep newest: mistakes %" in names) == bool(more)
    assert ("is not supported by the learners" in table.note) != bool(more)
    assert ("only the oldest example is dropped, at" in table.note) == bool(more)
    for row in table.rows:
        assert [cell.mean for cell in row[3::2]] == [1.0, 2.0, 3.0][: 2 + len(more)]
    lines = [one.name for one in ablation_charts(made)[0].series]
    assert ("M-OMD-S, keep newest" in lines) == ("M-OMD-H, keep newest" in lines) == bool(more)
    assert len(table.rows) == 2 * len(BUDGETS)


def test_k_buffers_mix_as_the_oracle_does():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.where((X**2).sum(axis=1) > 2, 1, -1)
    model = KBuffers(budget=10, nbytes=1, random_state=5, dtype="float64")
    scores = model.predict_then_learn(X, y, classes=[-1, 1])

    alone = [
        MOMDS(kernels=[k] * 5, budget=10, random_state=5 + i, dtype="float64") for i, k in enumerate(model.kernels)
    ]
    each = np.column_stack([learner.predict_then_learn(X, y, classes=[-1, 1]) for learner in alone])
    hedge = parts.Hedge(5)
    for f, label, score in zip(each, y, scores, strict=True):
        assert score == pytest.approx(hedge.p @ f, rel=1e-9, abs=1e-12)
        slope = -label / (1 + np.exp(label * score))
        hedge.update(slope * (f - (f.min() if slope > 0 else f.max())))
    done: Bunch = model.diagnostics_
    assert done.cumulative_loss == pytest.approx(np.log1p(np.exp(-y * scores)).sum())
    assert done.removals == sum(learner.diagnostics_.removals for learner in alone) > 0
    for learner in alone:
        np.testing.assert_allclose(learner.kernel_weights_, 0.2, rtol=1e-6)


# ---- what is written -------------------------------------------------------------------------------------------------


def test_outputs(monkeypatch, tmp_path):
    monkeypatch.setattr(paper, "run", made_up(lambda cell: 500 + cell.permutation, loss=7.0, alignment=1.0))
    made = tables("nowhere", data_sets=SMALL, permutations=2)
    out = tmp_path / "a" / "b"
    about = {"page": "p.html", "title": "All of it", "lead": "So far."}
    files = write_outputs(out, "t", made.tables, flat=made.flat, charts=paper_charts(made), **about)
    assert [path.name for path in files] == ["t.md", "t.tex", "t.csv", "p.html"]
    assert sorted(path.name for path in out.iterdir()) == sorted(path.name for path in files)
    text = (out / "t.md").read_text()
    assert text.startswith("# All of it\n\nSo far.\n\n## Mistake rates with the hinge loss\n\n| data set |")
    assert "\n- Within 2 published sd: " in text
    assert (out / "t.tex").read_text().count(r"\begin{table}") == 2
    page = (out / "p.html").read_text()
    assert page.count("<svg") >= 2
    assert "Mistakes here against those published" in page
    with (out / "t.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(made.lines)
    for row, line in zip(rows, made.lines, strict=True):
        there = line.published
        assert (row["loss"], row["data set"], row["learner"]) == (there.loss, there.data_set, line.learner)
        assert float(row["mistakes %"]) == line.tuned.rate.mean
        assert float(row["in published sd"]) == (line.tuned.rate.mean - there.mean) / max(there.sd, 0.005)
    assert all(isinstance(column, Column) for table in made.short for column in table.columns)
    assert [len(table.columns) for table in made.short] == [8, 8]
