"""Resumable downloads that never leave an incomplete file under its final name."""

import math
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import cast

PIECE = 1 << 16
Progress = Callable[[int, int | None], None]  # bytes so far, bytes in all if known


class DownloadError(OSError):
    """A file that cannot be downloaded."""


def download(
    url: str,
    path: str | os.PathLike[str],
    *,
    progress: Progress | None = None,
    enough: Callable[[bytes], bool] | None = None,
    most: float = math.inf,
    attempts: int = 4,
    wait: float = 1.0,
    timeout: float = 30.0,
) -> Path:
    """Download a file.

    The bytes so far are kept in a file of the same name plus .part, and the server's version of the file (its ETag or
    Last-Modified) in one plus .part.tag. This call, or a later one, resumes from there if the server still has that
    version; otherwise it starts again, so that two versions are never mixed. The file gets its own name when it is
    complete.

    Parameters
    ----------
    url : str
        http or https.
    path : path
        Where to put it. The folder is made.
    progress : callable, default=None
        Called as progress(bytes, total) now and then; the total may be None.
    enough : callable, default=None
        Called with all bytes, piece by piece, from the first on; true ends the download, for those who need only the
        beginning. The file is then what has come so far.
    most : int, default=inf
        Bytes that the file can have: a longer one is not the file that is wanted, and nothing of it is kept.
    attempts : int, default=4
        How often to try in a row without getting a single byte.
    wait : float, default=1.0
        Seconds before the second attempt; doubled for each further one.
    timeout : float, default=30.0
        Seconds without a byte after which an attempt is over; with fewer than 64 KiB, the download.

    Returns
    -------
    Path
    """
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"url={url!r} cannot be downloaded: use http or https.")
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    failures, before = 0, -1
    while True:
        try:
            if _attempt(url, part, timeout, progress=progress, enough=enough, most=most):
                os.replace(part, path)
                _tag_of(part).unlink(missing_ok=True)
                return path
            error: Exception = ConnectionError("the connection was closed too early")
        except urllib.error.HTTPError as refusal:
            refusal.close()
            if refusal.code < 500:
                raise DownloadError(f"{url}: the server says {refusal.code} {refusal.reason}.") from refusal
            error = refusal
        except DownloadError:
            if part.stat().st_size > most:
                _forget(part)
            raise
        except (OSError, HTTPException) as fault:  # OSError: no network, no such host, time over
            error = fault
        size = part.stat().st_size if part.exists() else 0
        failures, before = (1 if size > before else failures + 1), size
        if failures >= attempts:
            kept = f" {size} bytes are kept in {part}; try again to resume." if size and _tag_of(part).exists() else ""
            raise DownloadError(f"{url} cannot be downloaded: {error}.{kept}") from error
        time.sleep(wait * 2 ** (failures - 1))


def _attempt(
    url: str,
    part: Path,
    timeout: float,
    *,
    progress: Progress | None,
    enough: Callable[[bytes], bool] | None,
    most: float,
) -> bool:
    """Continue a download; False if the connection ends before the file is complete."""
    tag = _tag_of(part).read_text(encoding="latin-1") if part.exists() and _tag_of(part).exists() else ""
    have = part.stat().st_size if tag else 0  # of which version the bytes are is not known without a tag
    request = urllib.request.Request(url, headers={"User-Agent": "pocketkernel", "Accept-Encoding": "identity"})
    if have:
        request.add_header("Range", f"bytes={have}-")
        request.add_header("If-Range", tag)
    try:
        response = cast(HTTPResponse, urllib.request.urlopen(request, timeout=timeout))
    except urllib.error.HTTPError as refusal:
        if refusal.code != 416:  # the range asked for is not there: the part is whole, or of another file
            raise
        refusal.close()
        if refusal.headers.get("Content-Range", "").rpartition("/")[2] == str(have):
            return True
        _forget(part)
        return False
    with response:
        goes_on = response.status == 206 and (response.headers.get("Content-Range") or "").startswith(f"bytes {have}-")
        if response.status == 206 and _version(response) not in ("", tag):
            goes_on = False  # the server took no notice of If-Range
        if not goes_on:
            _forget(part)
            if response.status == 206:
                return False
            have = 0  # the server starts from the beginning
            if version := _version(response):
                _tag_of(part).write_text(version, encoding="latin-1")
        length = response.headers.get("Content-Length")
        total = None if length is None else have + int(length)
        if have and enough is not None and _is_enough(part, enough):
            return True
        with part.open("ab" if have else "wb") as file:
            for piece in _pieces(response, have, most, timeout):
                file.write(piece)
                have += len(piece)
                if progress is not None:
                    progress(have, total)
                if enough is not None and enough(piece):
                    return True
    return total is None or have == total


def _pieces(response: HTTPResponse, have: int, most: float, timeout: float) -> Iterator[bytes]:
    """What comes after the bytes that are there; an error if it comes too slowly, or is not the file that is wanted."""
    due, had = time.monotonic() + timeout, have
    while piece := response.read1(PIECE):
        yield piece
        have += len(piece)
        if have > most:
            raise DownloadError(f"{response.url} is not the file that is wanted: it has more than {most:,} bytes.")
        if time.monotonic() > due:
            if have < had + PIECE:
                raise DownloadError(
                    f"{response.url}: fewer than {PIECE} bytes in {timeout:g} seconds; try again later."
                )
            due, had = time.monotonic() + timeout, have


def _forget(part: Path) -> None:
    """Remove the part before its tag: old bytes must never meet a new tag."""
    part.unlink(missing_ok=True)
    _tag_of(part).unlink(missing_ok=True)


def _tag_of(part: Path) -> Path:
    return part.with_name(part.name + ".tag")


def _version(response: HTTPResponse) -> str:
    """What If-Range can compare: a strong ETag, or else the time of the last change; "" if the server gives neither."""
    etag: str = response.headers.get("ETag") or ""
    return etag if etag.startswith('"') else response.headers.get("Last-Modified") or ""


def _is_enough(part: Path, enough: Callable[[bytes], bool]) -> bool:
    with part.open("rb") as file:
        return any(enough(piece) for piece in iter(lambda: file.read(PIECE), b""))
