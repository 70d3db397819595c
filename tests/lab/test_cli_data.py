"""`pocketkernel lab data`, on a small data set that stands for the paper's."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pocketkernel.__main__ import main
from pocketkernel.lab import catalogue
from pocketkernel.lab.catalogue import DataSet

TEXT = b"+1 1:1 2:0.5\n-1 2:1\n" * 30


@pytest.fixture(autouse=True)
def _small(tmp_path, monkeypatch):
    small = DataSet("small", 60, 2, 30, "https://example.org/small", ("https://example.org/small",))
    monkeypatch.setattr(catalogue, "CATALOGUE", {"small": small})
    monkeypatch.setattr("pocketkernel.lab.cli.data.CATALOGUE", {"small": small})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("POCKETKERNEL_DATA", raising=False)


@pytest.fixture
def mirror():
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", str(len(self.server.text)))
            self.end_headers()
            self.wfile.write(self.server.text)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.text = TEXT
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        server.url = f"http://127.0.0.1:{server.server_port}"
        yield server
        server.shutdown()


def test_list(tmp_path, capsys):
    assert main(["lab", "data", "list"]) == 0
    assert "https://example.org/small" in capsys.readouterr().out
    (tmp_path / "small.svm").write_bytes(TEXT)
    assert main(["lab", "data", "list", "--from", str(tmp_path), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["rows"], found["features"], found["positives"]) == (60, 2, 30)
    assert found["file"] == str(tmp_path / "small.svm")


def test_get_then_check(tmp_path, mirror, capsys):
    assert main(["lab", "data", "get", "small", "--mirror", mirror.url, "--to", str(tmp_path / "there")]) == 0
    captured = capsys.readouterr()
    assert "60 rows, 2 columns, 30 positives" in captured.out
    assert main(["lab", "data", "check", "--from", str(tmp_path / "there"), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["path"].endswith("small.svm.xz") and found["rows"] == 60


def test_a_wrong_file(tmp_path, mirror, capsys):
    mirror.text = TEXT[:21]
    assert main(["lab", "data", "get", "small", "--mirror", mirror.url, "--to", str(tmp_path)]) == 1
    assert "is not small" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["get", "nosuch"], 1, "'nosuch' is not in the catalogue"),
        (["check", "small"], 1, "small.svm.xz is not in"),
        (["check"], 2, "there is no data set in"),
        (["find"], 2, "find"),
        (["get", "small", "--mirror", "ftp://x", "--to", "."], 2, "use http or https"),
    ],
    ids=str,
)
def test_mistakes(capsys, options, code, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["lab", "data", *options]) == code
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and words in error


def test_data_without_a_verb_shows_help(capsys):
    assert main(["lab", "data"]) == 0
    assert "check" in capsys.readouterr().out


def test_from_means_that_folder(tmp_path, capsys):
    assert main(["lab", "data", "check", "small", "--from", str(tmp_path)]) == 1
    assert f"small is not in {tmp_path}" in capsys.readouterr().err
    assert main(["lab", "data", "check", "--from", str(tmp_path / "nowhere")]) == 2
