"""Runs that are killed at any moment and go on from their checkpoint."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import cli_files
from pocketkernel.cli import main
from pocketkernel.evaluate import Job, Record, RunError, run_job
from pocketkernel.stream.places import LAYOUT

WORKER = Path(__file__).parent / "kill_worker.py"


def outcome(folder):
    """What must be the same, to the last bit: everything but seconds, dates, and where the run was resumed."""
    record = Record.read(folder)
    curve = {name: column.tolist() for name, column in vars(record.curve).items() if name not in ("seconds", "kernels")}
    settings = {name: value for name, value in record.settings.items() if name not in ("when", "resumed_at")}
    model = (folder / "model.safetensors").read_bytes()
    results = {name: value for name, value in record.results.items() if name != "shuffled"}  # it has seconds
    assert results["rows"] == record.curve.rows[-1]
    return curve, settings, model, record.curve.kernels, results


CASES = {
    "inferred": ("rows.csv", ["--memory", "32KiB", "--label", "kind"]),
    "sparse": ("rows.svm", ["--memory", "32KiB", "--scale", "maxabs"]),
    "dense": ("rows.svm", ["--learner", "momdh", "--memory", "64KiB", "--scale", "standard"]),
    "permuted": ("rows.svm", ["--learner", "lkmbooks", "--memory", "16KiB", "--permute", "3"]),
    "table": (
        "rows.csv",
        [
            *("--learner", "multiclassmomds", "--memory", "32KiB", "--label", "kind"),
            *("--missing", "mean", "--categorical", "colour", "--scale", "minmax"),
        ],
    ),
    "missing": ("rows.csv", ["--memory", "64KiB", "--label", "kind"]),
    "numbers": ("numbers.csv", ["--memory", "16KiB", "--label", "price"]),
}


@pytest.mark.parametrize("case", CASES)
def test_killed_at_random_moments(tmp_path, case, capsys):
    name, options = CASES[case]
    file = tmp_path / name
    if file.suffix == ".svm":
        cli_files.svm(file, rows=4_000)
    elif case == "numbers":
        cli_files.numbers(file, rows=4_000)
    else:
        cli_files.table(file, rows=4_000, missing=True)
    common = ["run", str(file), *options, "--block", "50", "--no-report", "--record-format", "csv"]
    assert main([*common, "--out", str(tmp_path / "whole"), "--json"]) == 0
    seconds = json.loads(capsys.readouterr().out)["wall_seconds"]
    resumed = [*common, "--out", str(tmp_path / "killed"), "--checkpoint", "200"]
    seed = 11
    command = [sys.executable, str(WORKER), "4", str(seed), str(seconds + 0.1), *resumed]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "killed 0" not in done.stdout
    assert outcome(tmp_path / "killed") == outcome(tmp_path / "whole"), f"seed {seed}"
    left = sorted(path.name for path in (tmp_path / "killed").iterdir())
    assert left == ["curve.csv", "model.safetensors", "progress.safetensors", "record.json"]


class Killed(BaseException):
    pass


def killed_after(job, folder, rows, **options):
    """Go through a part of a run, and leave it as a kill would."""

    def step(run):
        if run.progress.rows >= rows:
            raise Killed

    with pytest.raises(Killed):
        run_job(job, folder, step=step, **options)


@pytest.fixture
def job(tmp_path):
    cli_files.svm(tmp_path / "rows.svm", rows=1000)
    return Job(str(tmp_path / "rows.svm"), parameters={"memory": "16KiB", "random_state": 0}, block=50)


def test_every_checkpoint_leads_to_the_same_end(tmp_path, job):
    run_job(job, tmp_path / "whole")
    folder = tmp_path / "parts"
    for rows in range(100, 1001, 100):
        killed_after(job, folder, rows, checkpoint=100)
    run = run_job(job, folder, checkpoint=100)
    assert run.resumed_at == list(range(100, 1001, 100))
    assert outcome(folder) == outcome(tmp_path / "whole")
    assert Record.read(folder).settings["resumed_at"] == run.resumed_at


LARGE = {
    "classes": ("rows.svm", {"scale": "standard"}),
    "permuted": ("rows.svm", {"permute": 3}),
    "many classes": ("many.svm", {"reading": {"classes": list(range(70))}}),
    "numbers": ("numbers.csv", {"reading": {"label": "price"}}),
}


@pytest.mark.parametrize("case", LARGE)
def test_a_large_model_stops_within_a_block(tmp_path, case, monkeypatch):
    """Its rows take long, so Ctrl-C does not wait for the end of a block; wherever it comes, the end is the same."""
    name, options = LARGE[case]
    monkeypatch.setattr("pocketkernel.evaluate.run.AT_ONCE", 64 * 2**10 * 128)  # as if 64 KiB were large
    cli_files.svm(tmp_path / "rows.svm", rows=800)
    cli_files.numbers(tmp_path / "numbers.csv", rows=800)
    (tmp_path / "many.svm").write_text("".join(f"{k * k % 70} 1:{k % 9}\n" for k in range(800)))
    job = Job(str(tmp_path / name), parameters={"memory": "64KiB", "random_state": 0}, block=300, **options)
    whole = run_job(job, tmp_path / "whole")
    assert whole.progress.rows == 800
    folder, ends = tmp_path / "parts", [0]
    while ends[-1] < 800:
        learned = []
        run = run_job(job, folder, step=learned.append, stop=lambda some=learned: len(some) > 0)
        ends.append(run.progress.rows)
        assert ends[-2] < ends[-1] <= ends[-2] + 150 and run.interrupted
    assert not run_job(job, folder).interrupted
    assert outcome(folder) == outcome(tmp_path / "whole")


def test_it_goes_on_after_the_checkpoint_and_not_from_the_start(tmp_path, job, capsys):
    killed_after(job, tmp_path / "run", 600, checkpoint=250)
    run = run_job(job, tmp_path / "run", checkpoint=250)
    assert run.resumed_at == [500]


def test_seconds_are_carried_on(tmp_path, job):
    killed_after(job, tmp_path / "run", 600, checkpoint=250)
    seconds = Record.read(run_job(job, tmp_path / "run") and tmp_path / "run").curve.seconds
    assert (seconds[1:] >= seconds[:-1]).all()


def test_the_checkpoint_of_another_command(tmp_path, job, capsys):
    folder = tmp_path / "run"
    killed_after(job, folder, 600, checkpoint=250)
    command = ["run", job.source, "--memory", "8KiB", "--block", "50", "--out", str(folder), "--no-report"]
    assert main(command) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "--force" in error and "other options" in error
    assert main([*command, "--force"]) == 0
    assert not (folder / "checkpoint.safetensors").exists()
    assert Record.read(folder).settings["resumed_at"] == []


def test_killed_after_the_last_row(tmp_path, job, capsys):
    killed_after(job, tmp_path / "run", 1000, checkpoint=500)
    whole = ["run", job.source, "--memory", "16KiB", "--block", "50", "--no-report", "--strict", "--out"]
    run = run_job(job, tmp_path / "other")
    assert main([*whole, str(tmp_path / "run")]) == 0
    assert "1,000" in capsys.readouterr().out
    assert outcome(tmp_path / "run")[2] == outcome(tmp_path / "other")[2]
    assert run.resumed_at == []


def test_a_file_that_was_changed_is_another_run(tmp_path, job):
    killed_after(job, tmp_path / "run", 600, checkpoint=250)
    with open(job.source, "ab") as file:
        file.write(b"1 1:1\n")
    with pytest.raises(RunError, match="other options, files"):
        run_job(job, tmp_path / "run", checkpoint=250)


def test_a_damaged_checkpoint(tmp_path, job):
    killed_after(job, tmp_path / "run", 600, checkpoint=250)
    file = tmp_path / "run" / "checkpoint.safetensors"
    data = file.read_bytes()
    for damaged in (b"", data[:100], data[: len(data) // 2], b"x" * 1000):
        file.write_bytes(damaged)
        with pytest.raises(RunError, match="damaged"):
            run_job(job, tmp_path / "run", checkpoint=250)
    assert run_job(job, tmp_path / "run", checkpoint=250, force=True).progress.rows == 1000


def test_a_pipe_cannot_be_resumed(tmp_path, capsys):
    assert main(["run", "-", "--checkpoint", "100", "--out", str(tmp_path / "run")]) == 2
    assert "cannot be read again" in capsys.readouterr().err


def test_a_finished_run_is_left_alone(tmp_path, job, capsys):
    command = ["run", job.source, "--memory", "8KiB", "--no-report", "--out", str(tmp_path / "run")]
    assert main(command) == 0
    before = outcome(tmp_path / "run")
    assert main(command) == 0, "the same run again"
    assert outcome(tmp_path / "run") == before
    capsys.readouterr()
    other = [*command, "--seed", "1"]
    assert main(other) == 1
    assert "--force" in capsys.readouterr().err
    assert outcome(tmp_path / "run") == before
    assert main([*other, "--force"]) == 0
    assert outcome(tmp_path / "run")[2] != before[2]


def test_a_checkpoint_of_another_layout_of_columns_is_not_taken_up(tmp_path, monkeypatch):
    """The same file may become other columns in another version."""
    (tmp_path / "a.csv").write_text("x,y\n1,0\n2,1\n")
    before = Job(tmp_path / "a.csv").fingerprint()
    assert Job(tmp_path / "a.csv").fingerprint() == before
    monkeypatch.setattr("pocketkernel.evaluate.job.LAYOUT", LAYOUT + 1)
    assert Job(tmp_path / "a.csv").fingerprint() != before
