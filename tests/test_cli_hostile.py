"""The command in a bad place: files and folders from somebody else, closed and full outputs, Ctrl-C at any moment."""

import errno
import json
import os
import signal
import subprocess
import sys
import tomllib
from contextlib import suppress
from pathlib import Path

import pytest

import pocketkernel
from pocketkernel import _files
from pocketkernel.__main__ import main
from pocketkernel._text import plain
from pocketkernel.cli.options import HARMLESS
from waiting import until, until_at_work, until_idle

SOURCE = Path(pocketkernel.__file__).parents[1]
COMMAND = [sys.executable, "-m", "pocketkernel"]
ESCAPE = "\x1b]0;owned\x07\x9b31m\u202e"


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(SOURCE))
    Path("rows.csv").write_text("a,b,label\n" + "".join(f"{k % 7},{k % 3},{k % 2}\n" for k in range(60)))


def run(*arguments, **options):
    return subprocess.run([*COMMAND, *arguments], capture_output=True, timeout=120, check=False, **options)


# ---- a configuration that lies in the folder ------------------------------------------------------------------------

HARMFUL = [
    '[predict]\nout = "elsewhere"\n', "[run]\nforce = true\n", '[run]\nout = "elsewhere"\n', "[run]\nreport = true\n",
    '[inspect]\npicture = "x.svg"\n', '[certify]\nreport = "x.html"\n', '[run]\nfiles = ["other.csv"]\n',
    '[predict]\nmodel = "other"\n', '[lab.compare]\nout = "elsewhere"\n', '[lab.data.get]\nmirror = "http://evil"\n',
    '[lab.data.get]\nto = "elsewhere"\n', '[lab.tables]\nbackend = "dask"\n', '[run]\n"--out" = "elsewhere"\n',
]  # fmt: skip


@pytest.mark.parametrize("text", HARMFUL)
def test_a_configuration_that_is_found_names_no_place(capsys, text):
    Path("pocketkernel.toml").write_text(text)
    name = next(reversed(text.split("\n")[1].split(" = ")[0].strip('"').split(".")))
    before = sorted(Path().iterdir())
    assert main(["run", "rows.csv", "--no-report"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and name in error and "--config pocketkernel.toml" in error
    assert sorted(Path().iterdir()) == before


def test_a_configuration_that_is_given_may_name_places(capsys):
    Path("mine.toml").write_text('[run]\nout = "here"\nforce = true\nreport = false\n')
    for _ in range(2):
        assert main(["run", "rows.csv", "--memory", "16KiB", "--config", "mine.toml"]) == 0
    assert Path("here", "model.safetensors").is_file()
    assert "here" in capsys.readouterr().out


def test_a_configuration_with_too_many_brackets(capsys):
    Path("pocketkernel.toml").write_text("[run]\ncolumns = " + "[" * 20_000)
    assert main(["run", "x.svm"]) == 2
    assert capsys.readouterr().err == (
        "pocketkernel: pocketkernel.toml is not valid TOML: too many brackets within brackets.\n"
    )


def test_no_harmless_option_is_a_path():
    assert not HARMLESS & {
        "out",
        "force",
        "report",
        "picture",
        "to",
        "mirror",
        "from",
        "from_",
        "model",
        "files",
        "file",
    }
    assert tomllib.loads("[run]\nmemory = 1\n")["run"].keys() <= HARMLESS


# ---- names and labels -----------------------------------------------------------------------------------------------


def test_plain():
    assert plain(ESCAPE) == r"\x1b]0;owned\x07\x9b31m\u202e"
    assert plain("caf\udce9 ü 名\n\t") == "caf\\udce9 ü 名\n\t"


def is_clean(text):
    return all(sign == "\n" or sign.isprintable() for sign in text)


def test_names_and_labels_are_shown_without_control_characters(capsys):
    name = f"ro{ESCAPE.replace('/', '')}ws.csv"
    Path(name).write_text(
        f"a{ESCAPE},b,label\n" + "".join(f"{k % 7},{k % 3},{('no', 'ye' + ESCAPE)[k % 2]}\n" for k in range(60))
    )
    for arguments in (
        ["run", name, "--out", "out", "--memory", "16KiB", "--no-report"],
        ["run", name, "--out", "out" + ESCAPE, "--memory", "16KiB", "--no-report", "--json"],
        ["inspect", "out"],
        ["inspect", "out", "--json"],
        ["predict", "out", name, "--json"],
        ["certify", "out"],
    ):
        assert main(arguments) == 0, capsys.readouterr().err
        captured = capsys.readouterr()
        assert is_clean(captured.out), arguments
        assert is_clean(captured.err), arguments
    for arguments in (
        ["run", name, "--out", "out2", "--drop", "none"],
        ["run", name, "--out", "out2", "--label", f"a{ESCAPE}", "--memory", "16KiB", "--strict"],
        ["run", name + "x"],
        ["run", "rows.csv", "--label", ESCAPE],
        ["run", "rows.csv", "--learner", ESCAPE],
        ["inspect", ESCAPE],
        [ESCAPE],
    ):
        assert main(arguments) in (1, 2), arguments
        captured = capsys.readouterr()
        assert is_clean(captured.err) and captured.err.count("\n") == 1, arguments
    assert main(["predict", "out", name, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {row["label"] for row in found["predictions"]} <= {"no", "ye" + ESCAPE}


def test_formulas(capsys):
    labels = ["=1+1", "@SUM(A1)", "-1+2", "+cmd", "-1", "yes"]
    Path("f.csv").write_text("a,b,label\n" + "".join(f"{k % 6},{k % 3},{labels[k % 6]}\n" for k in range(120)))
    assert main(["run", "f.csv", "--out", "f", "--memory", "16KiB", "--no-report"]) == 0
    capsys.readouterr()
    assert main(["predict", "f", "f.csv"]) == 0
    raw = {line.split(",")[0] for line in capsys.readouterr().out.splitlines()[1:]}
    assert main(["predict", "f", "f.csv", "--escape-formulas"]) == 0
    safe = {line.split(",")[0] for line in capsys.readouterr().out.splitlines()[1:]}
    assert raw & set(labels[:4]), "nothing to escape"
    assert safe == {label if label in ("-1", "yes") else "'" + label for label in raw}


# ---- outputs that are closed or full --------------------------------------------------------------------------------


def shell(command):
    return subprocess.run(["sh", "-c", command], capture_output=True, timeout=120, check=False, text=True)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_closed_and_full_streams():
    python = f"{sys.executable} -m pocketkernel"
    learn = f"{python} run rows.csv --memory 16KiB --no-report --force --strict"
    for command, code, words in (
        (f"{python} run - <&-", 1, "standard input: it is closed."),
        (f"{learn} >&-", 1, "standard output is closed."),
        (f"{learn} > /dev/full", 1, "standard output: No space left on device."),
        (f"{learn} --json > /dev/full", 1, "standard output: No space left on device."),
        (f"{learn} 2>&-", 0, ""),
        (f"{learn} 2>/dev/full", 0, ""),
        (f"{python} predict rows.run rows.csv > /dev/full", 1, "standard output: No space left on device."),
        (f"{python} predict rows.run rows.csv --out /dev/full", 1, "/dev/full: No space left on device."),
        (f"{python} predict rows.run rows.csv >&-", 1, "standard output is closed."),
        (f"({python} predict rows.run rows.csv; echo $? > code) | true; exit $(cat code)", None, ""),
        (f"{python} --version > /dev/full", 1, "standard output: No space left on device."),
    ):
        done = shell(command)
        assert code is None or done.returncode == code, (command, done.stderr, done)
        assert done.stderr == (f"pocketkernel: {words}\n" if words else ""), (command, done.stderr)


def test_a_full_disk_is_named(tmp_path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as caught:
        _files.write_atomically(tmp_path / "model", b"data")
    assert caught.value.filename == str(tmp_path / "model")
    assert not list(tmp_path.glob("model")) and not list(tmp_path.glob(".pocket*"))


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EINVAL])
def test_a_folder_that_cannot_be_synced_is_told(tmp_path, monkeypatch, number):
    """But a system that does not sync folders at all is none that fails."""
    real = os.fsync

    def sync(handle):
        if os.path.isdir(f"/proc/self/fd/{handle}"):
            raise OSError(number, os.strerror(number))
        real(handle)

    monkeypatch.setattr(os, "fsync", sync)
    if number == errno.EINVAL:
        _files.write_atomically(tmp_path / "model", b"data")
        return
    with pytest.raises(OSError, match=os.strerror(number)) as caught:
        _files.write_atomically(tmp_path / "model", b"data")
    assert caught.value.filename == str(tmp_path / "model")


LIMITED = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({bytes}, {bytes}))
from pocketkernel.__main__ import main
sys.exit(main({arguments!r}))
"""


@pytest.mark.skipif(os.name == "nt", reason="needs resource limits")
@pytest.mark.parametrize("most", [64, 3000, 9000])
def test_a_file_that_cannot_be_written_is_named(most):
    arguments = ["run", "rows.csv", "--memory", "8KiB", "--out", "out", "--record-format", "csv", "--strict"]
    text = LIMITED.format(bytes=most, arguments=arguments)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, timeout=120, check=False, text=True)
    assert done.returncode == 1, done
    assert done.stderr.count("\n") == 1 and "out/" in done.stderr and "File too large" in done.stderr, done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_an_output_that_lacks_letters(monkeypatch, encoding):
    """Text for people has escapes in their place; data is in UTF-8, as in a file."""
    Path("letters.csv").write_text(
        "größe,b,label\n" + "".join(f"{k % 7},{k % 3},{('ja', 'né 日本')[k % 3 == 0]}\n" for k in range(200)), "utf-8"
    )
    monkeypatch.setenv("PYTHONIOENCODING", encoding)
    done = run("run", "letters.csv", "--label", "label", "--no-report")
    assert done.returncode == 0 and b"codec" not in done.stderr
    assert rb"\u65e5\u672c" in done.stderr
    answers = run("predict", "letters.run", "letters.csv").stdout.decode().splitlines()
    assert len(answers) == 201 and {line.split(",")[0] for line in answers[1:]} == {"ja", "né 日本"}
    assert run("predict", "letters.run", "letters.csv", "--out", "answers.csv").returncode == 0
    assert Path("answers.csv").read_text("utf-8").splitlines() == answers
    found = json.loads(run("inspect", "letters.run", "--json").stdout)
    assert "né 日本" in json.dumps(found, ensure_ascii=False)
    assert run("run", "nö.csv").stderr.count(b"\n") == 1


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("can't start new thread"), ImportError("x.so: failed to map segment")]
)
def test_a_system_that_refuses_memory(monkeypatch, capsys, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("pocketkernel.evaluate.run.Run.steps", fail)
    assert main(["run", "rows.csv", "--no-report"]) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("pocketkernel: there is not enough memory") and "--memory" in last and str(error) in last
    assert not Path("rows.run").exists()


def test_a_bug_keeps_its_traceback(monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("a bug")

    monkeypatch.setattr("pocketkernel.evaluate.run.Run.steps", fail)
    with pytest.raises(RuntimeError, match="a bug"):
        main(["run", "rows.csv", "--no-report"])


@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space are Linux's")
@pytest.mark.parametrize("megabytes", [250, 400])
def test_little_address_space(megabytes):
    """A library in C may end the process; what Python reports is one line."""
    import resource

    limit = megabytes << 20
    done = run(
        "run", "rows.csv", "--no-report", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit,) * 2)
    )
    assert b"Traceback" not in done.stderr
    assert done.returncode == 0 or done.stderr.splitlines()[-1]


def test_a_file_name_that_is_not_utf8():
    name = os.fsdecode(b"caf\xe9.csv")
    try:
        os.rename("rows.csv", name)
    except OSError:
        pytest.skip("this file system takes UTF-8 only")
    done = run("run", name, "--memory", "16KiB", "--out", "out", "--strict")
    assert (done.returncode, done.stderr) == (0, b""), done
    assert rb"caf\udce9" in done.stdout
    done = run("predict", "out", name)
    assert (done.returncode, done.stderr) == (0, b""), done
    done = run("run", name, "--memory", "16KiB", "--out", os.fsdecode(b"out\xe9"), "--json")
    assert (done.returncode, done.stderr) == (0, b""), done
    json.loads(done.stdout)


# ---- Ctrl-C ---------------------------------------------------------------------------------------------------------


BEGINS = """
import signal, sys

def install(*given, real=signal.signal):
    before = real(*given)
    open("begun", "w").close()
    return before

signal.signal = install
from pocketkernel.__main__ import main
sys.exit(main())
"""


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["run", "-"], None), (["demo"], 0), (["--version"], 0), (["lab", "data", "list"], 0), (["predict", "x", "-"], 1)],
    ids=["run", "demo", "version", "list", "predict"],
)
def test_ctrl_c_at_any_moment(arguments, code):
    """From our first line on, which is told by a file: how long the interpreter takes to start varies.

    A pipe that is not closed never ends by itself; when its rows are awaited, it is said that none was learned.
    """
    interrupted = b"pocketkernel: interrupted.\n"
    nothing_yet = (
        b"Nothing was learned: columns are inferred from the first 10,000 rows of a pipe, or from all rows if there "
        b"are fewer. With --strict nothing is inferred.\n"
    )
    for delay in (0.0, 0.1, 0.4, None):
        Path("begun").unlink(missing_ok=True)
        process = subprocess.Popen(
            [sys.executable, "-c", BEGINS, *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        until(lambda process=process: Path("begun").exists() or process.poll() is not None)
        with suppress(ProcessLookupError):
            until_idle(process) if delay is None else until_at_work(process, delay)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
        if process.returncode != 130:  # it was done before
            assert process.returncode == code and b"Traceback" not in err, (delay, out, err)
        elif arguments == ["run", "-"]:
            awaited = err == nothing_yet + interrupted
            assert awaited or (delay is not None and err == interrupted), (delay, err)
        else:
            assert err == interrupted, (delay, err)
        assert not list(Path().glob("*.run")), delay  # nothing is left of what learned nothing
