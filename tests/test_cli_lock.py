"""Two runs into one folder: the second is told which process is at work there."""

import os
import signal
import subprocess
import sys

import pytest

import cli_files
from pocketkernel.cli import main
from pocketkernel.evaluate import Job, Record, RunError, run_job
from pocketkernel.evaluate.checkpoint import CHECKPOINT
from pocketkernel.evaluate.lock import LOCK, locked
from waiting import until

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")


@pytest.fixture
def busy(tmp_path):
    """A process that runs into the folder `run` until its pipe ends."""
    cli_files.svm(tmp_path / "rows.svm", rows=300)
    os.mkfifo(tmp_path / "pipe.svm")
    command = ["run", tmp_path / "pipe.svm", "--block", "50", "--no-report", "--out", tmp_path / "run"]
    process = subprocess.Popen([sys.executable, "-m", "pocketkernel", *command], stderr=subprocess.PIPE)
    with open(tmp_path / "pipe.svm", "wb", buffering=0) as pipe:
        pipe.write((tmp_path / "rows.svm").read_bytes())
        until((tmp_path / "run" / LOCK).exists)
        yield process, pipe
    process.kill()
    process.communicate()


def run(folder, *options):
    command = ["run", folder / "rows.svm", "--block", "50", "--no-report", "--out", folder / "run", *options]
    return subprocess.run([sys.executable, "-m", "pocketkernel", *command], capture_output=True, text=True, check=False)


def test_the_second_is_refused_and_the_first_goes_on(busy, tmp_path):
    process, pipe = busy
    for options in ([], ["--force"]):
        second = run(tmp_path, *options)
        assert second.returncode == 1, options
        assert second.stderr.count("\n") == 1
        assert f"in use by another run (process {process.pid} on " in second.stderr
        assert "--out" in second.stderr
    assert os.listdir(tmp_path / "run") == [LOCK]
    pipe.close()
    assert process.wait(120) == 0
    assert Record.read(tmp_path / "run").settings["source"] == "pipe.svm"
    assert LOCK not in os.listdir(tmp_path / "run")


def test_the_lock_ends_with_its_process(busy, tmp_path):
    process, _ = busy
    process.send_signal(signal.SIGKILL)
    process.wait(120)
    assert LOCK in os.listdir(tmp_path / "run")
    done = run(tmp_path)
    assert done.returncode == 0, done.stderr
    assert Record.read(tmp_path / "run").settings["source"] == "rows.svm"
    assert LOCK not in os.listdir(tmp_path / "run")


def test_reading_needs_no_lock(tmp_path, capsys):
    cli_files.svm(tmp_path / "rows.svm", rows=300)
    assert run(tmp_path).returncode == 0
    with locked(tmp_path / "run"):
        assert main(["inspect", str(tmp_path / "run")]) == 0
        assert main(["predict", str(tmp_path / "run"), str(tmp_path / "rows.svm")]) == 0
        job = Job(str(tmp_path / "rows.svm"))
        with pytest.raises(RunError, match=f"process {os.getpid()} on .*, since 20"):  # threads of a process, too
            run_job(job, tmp_path / "run")


def test_a_lock_file_that_someone_else_wrote(tmp_path):
    (tmp_path / LOCK).write_bytes(b"\x1b[2J" * 1000)
    with locked(tmp_path), pytest.raises(RunError, match="in use"), locked(tmp_path):
        pass


def test_a_lock_file_that_leads_elsewhere(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "precious").write_bytes(b"data")
    (tmp_path / "run" / LOCK).symlink_to(tmp_path / "precious")
    with pytest.raises(OSError, match=LOCK), locked(tmp_path / "run"):
        pass
    assert (tmp_path / "precious").read_bytes() == b"data"


@pytest.mark.parametrize(
    "name", ["model.safetensors", "progress.safetensors", "record.json", "report.html", CHECKPOINT]
)
def test_a_result_that_leads_elsewhere(tmp_path, capsys, name):
    """The link is replaced, not the file that it leads to: the folder may be from someone else."""
    for part in ("a", "b"):
        (tmp_path / f"{part}.svm").write_text("".join(f"{n % 2} 1:{n % 7}\n" for n in range(200)))
    run = str(tmp_path / "run")
    assert main(["run", str(tmp_path / "a.svm"), "--out", run]) == 0
    (tmp_path / "precious").write_bytes(b"data")
    if name == CHECKPOINT:
        (tmp_path / "run" / name).symlink_to(tmp_path / "precious")
    else:
        (tmp_path / "precious").write_bytes((tmp_path / "run" / name).read_bytes())
        (tmp_path / "run" / name).unlink()
        (tmp_path / "run" / name).symlink_to(tmp_path / "precious")
    before = (tmp_path / "precious").read_bytes()
    assert main(["learn", run, str(tmp_path / "b.svm"), "--force", "--checkpoint", "50", "--block", "20"]) == 0
    assert (tmp_path / "precious").read_bytes() == before
    assert not (tmp_path / "run" / name).is_symlink()


def test_what_never_ran_leaves_no_folder(tmp_path):
    with pytest.raises(OSError, match="nowhere"):
        run_job(Job(str(tmp_path / "nowhere.svm")), tmp_path / "run")
    assert os.listdir(tmp_path) == []
