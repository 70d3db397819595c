"""The catalogue of data sets: local copies, and downloads from a server that misbehaves."""

import bz2
import hashlib
import lzma
import os
import re
import threading
import zlib
from contextlib import suppress
from dataclasses import replace
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from pocketkernel.lab import catalogue
from pocketkernel.lab.catalogue import CATALOGUE, DataError, DataSet
from pocketkernel.lab.catalogue.download import DownloadError, download

DATA = Path(os.environ.get("POCKETKERNEL_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")


VERSIONS = {
    "ETag": lambda body: f'"{zlib.crc32(body):x}"',
    "Last-Modified": lambda body: formatdate(zlib.crc32(body), usegmt=True),
    "none": lambda _: None,
}


class Server(ThreadingHTTPServer):
    """Serves `files`; `breaks` is how many answers still end after half of what they promise."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.asked = {}, []
        self.breaks, self.ranges, self.refuse = 0, True, 0
        self.versions, self.heeds_if_range, self.if_range = "ETag", True, []
        self.endless, self.drips = b"", 0.0  # what is sent again and again; seconds between
        self.stopping = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_port}/"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server, name, range_ = self.server, self.path.strip("/"), self.headers.get("Range")
        server.asked.append((name, range_))
        if server.refuse:
            server.refuse -= 1
            self.send_error(503)
            return
        if server.endless:
            self.send_response(200)
            self.end_headers()
            with suppress(OSError):  # until the other side has had enough
                while not server.stopping.wait(server.drips):
                    self.wfile.write(server.endless)
            return
        if name not in server.files:
            self.send_error(404)
            return
        body, start = server.files[name], 0
        version = VERSIONS[server.versions](body)
        server.if_range.append(self.headers.get("If-Range"))
        same = not server.heeds_if_range or self.headers.get("If-Range") in (None, version)
        if range_ and server.ranges and same:
            start = int(re.fullmatch(r"bytes=(\d+)-", range_)[1])
            if start >= len(body):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(body)}")
                self.end_headers()
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        else:
            self.send_response(200)
        if version:
            self.send_header(server.versions, version)
        rest = body[start:]
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        if server.breaks:
            server.breaks -= 1
            rest = rest[: len(rest) // 2]
        self.wfile.write(rest)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.stopping.set()
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def _nowhere(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("POCKETKERNEL_DATA", raising=False)


# ---- downloads ------------------------------------------------------------------------------------------------------

BODY = np.random.default_rng(0).bytes(300_000)


def test_a_whole_download(server, tmp_path):
    server.files["x"] = BODY
    seen = []
    path = download(server.url + "x", tmp_path / "new" / "x", progress=lambda *state: seen.append(state))
    assert path.read_bytes() == BODY
    assert seen[-1] == (len(BODY), len(BODY))
    assert [file.name for file in path.parent.iterdir()] == ["x"]
    assert server.asked == [("x", None)]


@pytest.mark.parametrize("kind", ["ETag", "Last-Modified"])
@pytest.mark.parametrize("heeds", [True, False])
def test_a_file_that_changes_between_two_attempts_is_not_joined(server, tmp_path, kind, heeds):
    server.files["x"], server.breaks, server.versions, server.heeds_if_range = BODY, 1, kind, heeds
    with pytest.raises(DownloadError, match="kept in"):
        download(server.url + "x", tmp_path / "x", attempts=1)
    changed = np.random.default_rng(1).bytes(len(BODY))
    server.files["x"] = changed
    assert download(server.url + "x", tmp_path / "x", wait=0.001).read_bytes() == changed
    assert server.if_range[:2] == [None, VERSIONS[kind](BODY)]
    assert [file.name for file in tmp_path.iterdir()] == ["x"]


def test_without_a_version_a_download_begins_anew(server, tmp_path):
    server.files["x"], server.breaks, server.versions = BODY, 1, "none"
    assert download(server.url + "x", tmp_path / "x", wait=0.001).read_bytes() == BODY
    assert server.asked == [("x", None)] * 2


@pytest.mark.parametrize("ranges", [True, False])
def test_a_broken_connection(server, tmp_path, ranges):
    server.files["x"], server.breaks, server.ranges = BODY, 2, ranges
    assert download(server.url + "x", tmp_path / "x", wait=0.001).read_bytes() == BODY
    places = [(len(BODY) // 2), (len(BODY) // 2) + len(BODY) // 4] if ranges else [len(BODY) // 2] * 2
    assert server.asked == [("x", None), *(("x", f"bytes={place}-") for place in places)]


def test_going_on_at_another_time(server, tmp_path):
    server.files["x"], server.breaks = BODY, 1
    with pytest.raises(DownloadError, match=r"150000 bytes are kept in .*x\.part; try again"):
        download(server.url + "x", tmp_path / "x", attempts=1)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["x.part", "x.part.tag"]
    assert download(server.url + "x", tmp_path / "x", attempts=1).read_bytes() == BODY
    assert server.asked[1:] == [("x", "bytes=150000-")]


def test_a_part_that_is_whole_or_too_long(server, tmp_path):
    server.files["x"] = BODY
    (tmp_path / "x.part").write_bytes(BODY)
    assert download(server.url + "x", tmp_path / "x").read_bytes() == BODY
    (tmp_path / "x.part").write_bytes(BODY + b"more")
    assert download(server.url + "x", tmp_path / "x", wait=0.001).read_bytes() == BODY


def test_only_the_beginning(server, tmp_path):
    server.files["x"] = BODY

    def enough():
        seen = 0

        def count(piece):
            nonlocal seen
            seen += len(piece)
            return seen >= 200_000

        return count

    assert BODY.startswith(download(server.url + "x", tmp_path / "x", enough=enough()).read_bytes())
    (tmp_path / "x.part").write_bytes(BODY[:150_000])
    path = download(server.url + "x", tmp_path / "x", enough=enough())
    assert 200_000 <= path.stat().st_size < 300_000
    assert BODY.startswith(path.read_bytes())


def test_an_endless_file_is_given_up(server, tmp_path):
    server.endless = b"x" * 5_000
    with pytest.raises(DownloadError, match="more than 100,000 bytes"):
        download(server.url + "a", tmp_path / "a", most=100_000)
    assert list(tmp_path.iterdir()) == []
    server.endless, server.files["a"] = b"", b"x" * 100_001
    with pytest.raises(DownloadError, match="more than 100,000 bytes"):
        download(server.url + "a", tmp_path / "a", most=100_000)
    assert download(server.url + "a", tmp_path / "a", most=100_001).stat().st_size == 100_001


def test_a_server_that_drips_is_given_up(server, tmp_path):
    server.endless, server.drips = b"x", 0.01
    with pytest.raises(DownloadError, match=r"fewer than 65536 bytes in 0\.3 seconds"):
        download(server.url + "a", tmp_path / "a", timeout=0.3)
    assert len(server.asked) == 1


@pytest.mark.parametrize("endless", [b"+1 1:1\n", b"\0" * 1000, lzma.compress(b"+1 1:1\n" * 10**6)])
def test_get_from_an_endless_server(server, tmp_path, monkeypatch, endless):
    """However it goes on, what is kept has a limit that follows from the catalogue."""
    server.endless = endless
    for files, more in ((("tiny",), {}), (("tiny.xz",), {"head": 50})):
        monkeypatch.setitem(CATALOGUE, "tiny", tiny(100, 50, (1, 2), files, **more)[0])
        with pytest.raises((DownloadError, DataError)):
            catalogue.get("tiny", tmp_path / "data", mirror=server.url)
        assert list((tmp_path / "data").iterdir()) == []


def test_refusals(server, tmp_path):
    with pytest.raises(DownloadError, match="the server says 404"):
        download(server.url + "nothing", tmp_path / "x")
    server.files["x"], server.refuse = BODY, 2
    assert download(server.url + "x", tmp_path / "y", wait=0.001).read_bytes() == BODY
    server.refuse = 9
    with pytest.raises(DownloadError, match="503"):
        download(server.url + "x", tmp_path / "z", wait=0.001, attempts=2)
    with pytest.raises(DownloadError, match="cannot be downloaded"):
        download("http://127.0.0.1:9/x", tmp_path / "z", wait=0.001, attempts=2)
    with pytest.raises(ValueError, match="use http or https"):
        download("file:///etc/passwd", tmp_path / "z")
    assert [file.name for file in tmp_path.iterdir()] == ["y"]


# ---- the catalogue --------------------------------------------------------------------------------------------------


def tiny(rows, positives, labels, files, **other):
    """A data set of few rows, and the lines of its files."""
    data = DataSet("tiny", rows, 2, positives, "page", tuple(f"https://example.org/{file}" for file in files), **other)
    names = [labels[0]] * positives + [labels[1]] * (rows - positives)
    order = np.random.default_rng(0).permutation(rows)
    return data, [names[k] for k in order]


@pytest.mark.parametrize(
    ("files", "labels"),
    [(("one",), ("1", "2")), (("one", "one.t"), ("+1", "-1")), (("one.bz2", "one.t.bz2"), ("1.000000", "-1.000000"))],
)
def test_get(server, tmp_path, monkeypatch, files, labels):
    data, names = tiny(100, 30, labels, files)
    monkeypatch.setitem(CATALOGUE, "tiny", data)
    lines = [f"{name} 1:{n} 2:0.25 \n".encode() for n, name in enumerate(names)]
    for k, file in enumerate(files):
        text = b"".join(lines[60 * k : 60 * (k + 1) if k + 1 < len(files) else None])
        server.files[file] = bz2.compress(text) if file.endswith("bz2") else text
    with pytest.raises(DataError, match="pocketkernel lab data get tiny"):
        catalogue.locate("tiny")
    server.breaks = 1
    found = catalogue.get("tiny", mirror=server.url, wait=0.001)
    assert found.path == tmp_path / "cache" / "pocketkernel" / "tiny.svm.xz" == catalogue.locate("TINY")
    assert [file.name for file in found.path.parent.iterdir()] == ["tiny.svm.xz"]
    X, y = catalogue.load("tiny")
    np.testing.assert_array_equal(X.toarray(), [[n, 0.25] for n in range(100)])
    np.testing.assert_array_equal(y, [1 if name == labels[0] else -1 for name in names])
    asked = len(server.asked)
    assert catalogue.get("tiny", mirror=server.url) == found == catalogue.check("tiny")  # nothing more to do
    assert len(server.asked) == asked


def test_get_csv(server, tmp_path, monkeypatch):
    data, names = tiny(100, 60, "gh", ["tiny.data"])
    monkeypatch.setitem(CATALOGUE, "tiny", data)
    server.files["tiny.data"] = "".join(f"{n},-0.125,{name}\r\n" for n, name in enumerate(names)).encode()
    catalogue.get("tiny", tmp_path / "here", mirror=server.url)
    X, y = catalogue.load("tiny", tmp_path / "here")
    np.testing.assert_array_equal(X.toarray(), [[n, -0.125] for n in range(100)])
    np.testing.assert_array_equal(y, [1 if name == "g" else -1 for name in names])


def test_get_the_head_of_a_large_file(server, tmp_path, monkeypatch):
    data, names = tiny(40_000, 16_000, "10", ["tiny.xz"], samples=((1000, None),), head=1000)
    monkeypatch.setitem(CATALOGUE, "tiny", data)
    values = np.random.default_rng(1).random(40_000)
    server.files["tiny.xz"] = lzma.compress(
        "".join(f"{name} 1:{v!r} 2:1\n" for name, v in zip(names, values.tolist(), strict=True)).encode()
    )
    seen = []
    found = catalogue.get("tiny", tmp_path, mirror=server.url, progress=lambda *state: seen.append(state))
    assert found.rows == 1000
    assert seen[-1][0] < seen[-1][1] == len(server.files["tiny.xz"])
    X, y = catalogue.load("tiny", tmp_path)
    np.testing.assert_array_equal(X.toarray()[:, 0], values[:1000])
    np.testing.assert_array_equal(y, [1 if name == "1" else -1 for name in names[:1000]])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"<html>sorry</html>\n", "expected a label"),
        (b"1 1:1 2:2\n2 1:1\n", "2 rows instead of 100"),
        (b"1 1:1 2:2\n" * 30 + b"2 1:1\n" * 69, "99 rows instead of 100"),
        (b"1 1:1 2:2\n" * 30 + b"2 1:1 3:1\n" * 70, "3 columns instead of 2"),
        (b"1 1:1 2:2\n" * 31 + b"2 1:1\n" * 69, "none of the labels has 30"),
        (b"1 1:1 2:2\n" * 30 + b"2 1:x\n" * 70, "expected a finite number"),
        (b"1 1:1 2:2\n" * 30 + b"2 1:1\n" * 69 + b"3 1:1\n", "3 labels"),
        (b"", "0 labels"),
    ],
)
def test_a_wrong_file_is_not_kept(server, tmp_path, monkeypatch, text, problem):
    monkeypatch.setitem(CATALOGUE, "tiny", tiny(100, 30, "12", ["one"])[0])
    server.files["one"] = text
    with pytest.raises(DataError, match=problem) as caught:
        catalogue.get("tiny", tmp_path / "here", mirror=server.url)
    assert "one is not tiny; nothing was kept" in str(caught.value)
    assert list((tmp_path / "here").iterdir()) == []


def test_get_what_the_server_does_not_have(server, tmp_path, monkeypatch):
    monkeypatch.setitem(CATALOGUE, "tiny", tiny(100, 30, "12", ["one"])[0])
    with pytest.raises(DownloadError, match="404"):
        catalogue.get("tiny", tmp_path / "here", mirror=server.url)
    assert list((tmp_path / "here").iterdir()) == []


def test_where_data_sets_are_looked_for(tmp_path, monkeypatch):
    monkeypatch.setitem(CATALOGUE, "tiny", tiny(2, 1, "12", ["one"])[0])
    places = [tmp_path / "given", tmp_path / "named", tmp_path / "cache" / "pocketkernel"]
    monkeypatch.setenv("POCKETKERNEL_DATA", str(places[1]))
    for place in reversed(places):
        place.mkdir(parents=True)
        (place / "tiny.svm").write_bytes(b"+1 1:1\n-1 2:1\n")
        assert catalogue.locate("tiny", places[0]).parent == place
    assert catalogue.locate("tiny").parent == places[1]
    assert catalogue.check("tiny").positives == 1
    assert catalogue.check("tiny").sha256 == hashlib.sha256(b"+1 1:1\n-1 2:1\n").hexdigest()
    for text, problem in ((b"+1 1:1\n", "1 rows instead of 2"), (b"+1 1:1\n0 2:1\n", "labels are"), (b"x", "label")):
        (places[1] / "tiny.svm").write_bytes(text)
        with pytest.raises(DataError, match=problem):
            catalogue.check("tiny")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert catalogue.cache_folder().name in ("pocketkernel", "Cache")
    with pytest.raises(DataError, match=r"'iris' is not in the catalogue: choose from mushrooms, phishing"):
        catalogue.locate("iris")


def test_an_exact_check_refuses_other_bytes(tmp_path, monkeypatch):
    """The digest is of the text, whatever it is compressed with."""
    text = b"+1 1:1\n-1 2:1\n"
    data = replace(tiny(2, 1, "12", ["one"])[0], sha256=hashlib.sha256(text).hexdigest())
    monkeypatch.setitem(CATALOGUE, "tiny", data)
    (tmp_path / "tiny.svm.xz").write_bytes(lzma.compress(text))
    assert catalogue.check("tiny", tmp_path, exact=True).rows == 2
    (tmp_path / "tiny.svm.xz").write_bytes(lzma.compress(text.replace(b"2:1", b"2:3")))
    assert catalogue.check("tiny", tmp_path).rows == 2
    with pytest.raises(DataError, match=r"SHA-256 [0-9a-f]{64}, not [0-9a-f]{64}\. .* leave out --exact"):
        catalogue.check("tiny", tmp_path, exact=True)
    monkeypatch.setitem(CATALOGUE, "tiny", replace(data, sha256=""))
    with pytest.raises(DataError, match="and none is known"):
        catalogue.check("tiny", tmp_path, exact=True)


def test_a_sample_is_checked_by_its_share_of_positives(tmp_path, monkeypatch):
    data = replace(tiny(10_000, 5000, "12", ["one"])[0], samples=((100, None), (50, 20)))
    monkeypatch.setitem(CATALOGUE, "tiny", data)
    for positives, rows, good in ((45, 100, True), (5, 100, False), (20, 50, True), (21, 50, False)):
        (tmp_path / "tiny.svm").write_bytes(b"+1 1:1 2:1\n" * positives + b"-1 1:1\n" * (rows - positives))
        if good:
            assert catalogue.check("tiny", tmp_path).rows == rows
        else:
            with pytest.raises(DataError, match="positives"):
                catalogue.check("tiny", tmp_path)


def test_the_catalogue_has_the_paper_s_data_sets():
    assert list(CATALOGUE) == ["mushrooms", "phishing", "magic04", "a9a", "w8a", "SUSY", "ijcnn1", "cod-rna"]
    for data in CATALOGUE.values():
        assert all(url.startswith("https://") for url in (*data.files, data.page))


@pytest.mark.parametrize("name", CATALOGUE)
def test_local_copies(name):
    if not (DATA / f"{name}.svm.xz").exists():
        pytest.skip(f"no {name}.svm.xz in {DATA}: set POCKETKERNEL_DATA")
    found = catalogue.check(name, DATA)
    assert found.features == CATALOGUE[name].features
    assert found.sha256 == CATALOGUE[name].sha256
