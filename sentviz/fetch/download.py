"""One file from a server that speaks the public hub's protocol; standard library only.

A HEAD request names the size and the digest (for large files `X-Linked-Size` and `X-Linked-ETag`, beside a redirect to a
content network). The digest is in the name of the half-written file, so what is there is continued with a `Range` request
as long as the server still has the same content, and started anew when it has not.
"""

from __future__ import annotations

import errno
import hashlib
import http.client
import re
import shutil
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeVar
from urllib.parse import urljoin, urlsplit

from sentviz.errors import DataMissingError, SentvizError

__all__ = ["Progress", "Remote", "Stopped", "disk", "fetch", "look"]

Progress = Callable[[int, int], object]  # bytes done, bytes altogether (0 where unknown)
_Answer = TypeVar("_Answer")

CHUNK = 1 << 18
TIMEOUT = 30.0  # seconds without a byte
ATTEMPTS = 5  # in a row without a byte
PAUSE = 0.5  # seconds before the second attempt; doubled each time
LONGEST_WAIT = 60.0  # what a server may ask for


class Stopped(SentvizError):
    """The download was stopped on request; what is there is kept."""


class _Hiccup(Exception):
    """Worth another attempt, `after` seconds where the server says so."""

    def __init__(self, reason: str, after: float | None = None, moved: bool = False) -> None:
        super().__init__(reason)
        self.after, self.moved = after, moved


@dataclass(frozen=True)
class Remote:
    """What the server says of a file before a byte of it is sent."""

    url: str
    size: int  # 0 where unknown
    etag: str  # 64 hex digits: SHA-256 of the content; 40: its git blob id; else opaque, or empty

    def same(self, path: Path) -> bool:
        """Whether a file has the announced size and, where it can be computed, the announced digest."""
        size = path.stat().st_size
        if self.size and size != self.size:
            return False
        if re.fullmatch("[0-9a-f]{64}", self.etag):
            kind, start = "sha256", b""
        elif re.fullmatch("[0-9a-f]{40}", self.etag):
            kind, start = "sha1", b"blob %d\0" % size
        else:
            return True
        digest = hashlib.new(kind, start, usedforsecurity=False)
        with path.open("rb") as file:
            while block := file.read(CHUNK):
                digest.update(block)
        return digest.hexdigest() == self.etag


def look(url: str, *, token: str = "", stop: threading.Event | None = None) -> Remote:
    """Ask for size and digest.

    Raises:
        DataMissingError: the server cannot be reached, or does not have or give the file.
        Stopped: `stop` was set.
    """

    def ask() -> Remote:
        response, facts = _send("HEAD", url, {}, token)
        with closing(response):
            _refuse(response, url)
            etag = facts.get("etag", "").removeprefix("W/").strip('"')
            return Remote(url, int(facts.get("size", 0)), etag)

    return _patiently(ask, url, stop)


def fetch(remote: Remote, target: Path, *, token: str = "", progress: Progress | None = None, stop: threading.Event | None = None) -> None:
    """Download to `target`, going on from what an earlier attempt left; the file appears only whole and checked.

    Raises:
        DataMissingError: the server cannot be reached, does not give the file, or sends something else than it announced.
        SentvizError: the disk is full or cannot be written.
        Stopped: `stop` was set; the same call goes on from there.
    """
    mark = hashlib.sha256(remote.etag.encode()).hexdigest()[:16]
    part = target.with_name(f".{target.name}.{mark}.part")
    with disk(target.parent):
        target.parent.mkdir(parents=True, exist_ok=True)
        for old in target.parent.glob(f".{target.name}.*.part"):
            if old != part or not remote.etag:
                old.unlink()
    _check_space(remote, part)
    _patiently(lambda: _transfer(remote, part, token, progress, stop), remote.url, stop)
    if not remote.same(part):
        part.unlink()
        raise DataMissingError(f"{_file(remote.url)} did not arrive as announced (its digest differs) and was removed; try again later.")
    with disk(target.parent):
        part.replace(target)


@contextmanager
def disk(folder: Path, *litter: Path) -> Iterator[None]:
    """What can go wrong with a disk, as one sentence; `litter` is removed when it is full."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise SentvizError(f"{error.filename or folder} cannot be written: {error.strerror or error}.") from error
        for path in litter:
            path.unlink(missing_ok=True)
        raise _full(folder) from error


# ---- one attempt


def _transfer(remote: Remote, part: Path, token: str, progress: Progress | None, stop: threading.Event | None) -> None:
    have = part.stat().st_size if part.exists() else 0
    if remote.size and have > remote.size:
        part.unlink()
        have = 0
    if progress:
        progress(have, remote.size)
    if remote.size and have == remote.size:
        return
    response, _ = _send("GET", remote.url, {"Range": f"bytes={have}-"} if have else {}, token)
    with closing(response):
        if response.status == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            part.unlink()
            raise _Hiccup("it does not go on where the last attempt ended")
        _refuse(response, remote.url)
        before = have
        if not _goes_on(response, have):
            have = 0
        length = response.headers.get("Content-Length")
        expected = remote.size or (have + int(length) if length else 0)
        with disk(part.parent, part), part.open("ab" if have else "wb") as file:
            while block := _read(response, have > before, stop):
                _write(file, block)
                have += len(block)
                if progress:
                    progress(have, expected)
    if expected and have < expected:
        raise _Hiccup("the connection ended early", moved=have > before)


def _goes_on(response: http.client.HTTPResponse, have: int) -> bool:
    return response.status == http.HTTPStatus.PARTIAL_CONTENT and response.headers.get("Content-Range", "").startswith(f"bytes {have}-")


def _read(response: http.client.HTTPResponse, moved: bool, stop: threading.Event | None) -> bytes:
    if stop and stop.is_set():
        raise _stopped()
    try:
        return response.read1(CHUNK)
    except (OSError, http.client.HTTPException) as error:
        raise _Hiccup(_reason(error), moved=moved) from error


def _write(file: BinaryIO, block: bytes) -> None:
    file.write(block)


def _check_space(remote: Remote, part: Path) -> None:
    have = part.stat().st_size if part.exists() else 0
    if shutil.disk_usage(part.parent).free < remote.size - have:
        raise _full(part.parent, remote.size)


# ---- requests


class _AsIs(urllib.request.HTTPErrorProcessor):
    """Redirects and errors come back as responses: the headers beside a redirect are needed."""

    def http_response(self, request: urllib.request.Request, response: http.client.HTTPResponse) -> http.client.HTTPResponse:
        return response

    https_response = http_response


def _send(method: str, url: str, headers: Mapping[str, str], token: str) -> tuple[http.client.HTTPResponse, dict[str, str]]:
    """The response after redirects, and size and etag as the first server that knows them says; the token stays with the first host."""
    home, facts = urlsplit(url), dict[str, str]()
    for _ in range(6):
        sent = {"User-Agent": "sentviz", "Accept-Encoding": "identity", **headers}
        if token and urlsplit(url)[:2] == home[:2]:
            sent["Authorization"] = f"Bearer {token}"
        try:
            response = urllib.request.build_opener(_AsIs).open(urllib.request.Request(url, headers=sent, method=method), timeout=TIMEOUT)
        except (OSError, http.client.HTTPException) as error:
            cause = error.reason if isinstance(error, urllib.error.URLError) and isinstance(error.reason, OSError) else error
            if isinstance(cause, ssl.SSLCertVerificationError):
                raise DataMissingError(f"{urlsplit(url).netloc} has no valid certificate: {cause.verify_message}.") from error
            raise _Hiccup(_reason(cause)) from error
        moved = response.headers.get("Location") if response.status in (301, 302, 303, 307, 308) else None
        linked = response.headers.get("X-Linked-ETag")
        if linked or not moved:
            facts.setdefault("etag", linked or response.headers.get("ETag", ""))
            facts.setdefault("size", response.headers.get("X-Linked-Size" if moved else "Content-Length") or "0")
        if not moved or (method == "HEAD" and linked):
            return response, facts
        response.close()
        url = urljoin(url, moved)
        if urlsplit(url).scheme not in ("http", "https") or (home.scheme == "https" and urlsplit(url).scheme == "http"):
            raise DataMissingError(f"{home.netloc} sends the download to an unsafe address.")
    raise DataMissingError(f"{home.netloc} sends the download in circles.")


def _refuse(response: http.client.HTTPResponse, url: str) -> None:
    status, host, file = response.status, urlsplit(url).netloc, _file(url)
    if status < 400:
        return
    if status in (408, 429) or status >= 500:
        raise _Hiccup(f"it answered {status}", _seconds(response.headers.get("Retry-After")))
    if status in (401, 403):
        raise DataMissingError(f"{host} gives {file} only to those who were granted access ({status}); set HF_TOKEN to a token that was.")
    if status in (404, 410):
        raise DataMissingError(f"{host} has no {file} ({status}): it was moved or withdrawn, or never stood there.")
    raise DataMissingError(f"{host} does not give {file}: it answered {status}.")


def _patiently(ask: Callable[[], _Answer], url: str, stop: threading.Event | None) -> _Answer:
    stop, failed = stop or threading.Event(), 0
    while True:
        if stop.is_set():
            raise _stopped()
        try:
            return ask()
        except _Hiccup as hiccup:
            failed = 1 if hiccup.moved else failed + 1
            pause = hiccup.after if hiccup.after is not None else PAUSE * 2 ** (failed - 1)
            if failed >= ATTEMPTS or pause > LONGEST_WAIT:
                later = f"try again in {pause:.0f} seconds" if pause > LONGEST_WAIT else "the same command goes on from what is there"
                raise DataMissingError(f"{urlsplit(url).netloc} cannot be used now, {hiccup}; {later}.") from hiccup
            stop.wait(pause)


def _seconds(retry_after: str | None) -> float | None:
    return float(retry_after) if retry_after and retry_after.strip().isdecimal() else None


def _reason(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "it does not answer in time"
    if isinstance(error, ConnectionRefusedError):
        return "the connection is refused"
    if isinstance(error, ConnectionError | http.client.HTTPException):
        return "the connection broke"
    said = getattr(error, "strerror", None) or str(error)
    return f"there is no network or no such server ({said})" if said else "there is no network"


def _file(url: str) -> str:
    return urlsplit(url).path.rpartition("/")[2]


def _stopped() -> Stopped:
    return Stopped("Stopped; the same download goes on from here.")


def _full(folder: Path, size: int = 0) -> SentvizError:
    wanted = f" ({size / 1e6:,.0f} MB are needed)" if size else ""
    return SentvizError(f"There is no space left in {folder}{wanted}; nothing half-written was kept.")
