"""One file of the public hub or another server, by `huggingface_hub`: what it does not do is here.

It asks for size and digest, follows the hub to its content network, and knows tokens, proxies and certificates. It does not compare what
came with the digest, begins anew after its process ended, and waits as long as a server likes. So the digest is in the name of the
half-written file: what is there is continued as long as the server still has the same content, and started anew when it has not.
"""

from __future__ import annotations

import hashlib
import http
import re
import shutil
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from sentviz import errors
from sentviz.errors import DataMissingError, SentvizError
from sentviz.io.files import disk, full

Progress = Callable[[int, int], object]  # bytes done, bytes altogether (0 where unknown)
_Answer = TypeVar("_Answer")

CHUNK = 1 << 18
TIMEOUT = 30.0  # seconds without a byte
ATTEMPTS = 5  # in a row without a byte
PAUSE = 0.5  # seconds before the second attempt; doubled each time
LONGEST_WAIT = 60.0  # what a server may ask for


class Stopped(SentvizError, errors.Stopped):
    """The download was stopped on request; what is there is kept."""


class TransientError(Exception):
    """Worth another attempt, `after` seconds where the server says so."""

    def __init__(self, reason: str, after: float | None = None) -> None:
        super().__init__(reason)
        self.after = after


@dataclass(frozen=True)
class RemoteFile:
    """What the server says of a file before a byte of it is sent."""

    url: str
    size: int  # 0 where unknown
    etag: str  # 64 hex digits: SHA-256 of the content; 40: its git blob id; else opaque, or empty
    token: bool = True  # whether the server is the hub, which is told the user's

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


def look(url: str, *, stop: threading.Event | None = None) -> RemoteFile:
    """Ask for size and digest.

    Raises:
        DataMissingError: the server cannot be reached, or does not have or give the file.
        Stopped: `stop` was set.
    """
    from huggingface_hub import get_hf_file_metadata

    def ask() -> RemoteFile:
        with _sentences(url):
            said = get_hf_file_metadata(url, timeout=TIMEOUT)
        return RemoteFile(url, said.size or 0, said.etag or "")

    return _patiently(ask, lambda: 0, url, stop)


def fetch(remote: RemoteFile, target: Path, *, progress: Progress | None = None, stop: threading.Event | None = None) -> None:
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
    if shutil.disk_usage(part.parent).free < remote.size - _size(part):
        raise full(part.parent, remote.size)
    _patiently(lambda: _transfer(remote, part, progress, stop), lambda: _size(part), remote.url, stop)
    if not remote.same(part):
        part.unlink()
        raise DataMissingError(f"{_file(remote.url)} did not arrive as announced (its digest differs) and was removed; try again later.")
    with disk(target.parent):
        part.replace(target)


# ---- one attempt


def _transfer(remote: RemoteFile, part: Path, progress: Progress | None, stop: threading.Event | None) -> None:
    from huggingface_hub import get_session, hf_raise_for_status
    from huggingface_hub.utils import build_hf_headers

    have = _size(part)
    if remote.size and have > remote.size:
        part.unlink()
        have = 0
    if progress:
        progress(have, remote.size)
    if remote.size and have == remote.size:
        return
    headers = (
        build_hf_headers(token=None if remote.token else False)
        | {"Accept-Encoding": "identity"}
        | ({"Range": f"bytes={have}-"} if have else {})
    )
    with _sentences(remote.url), get_session().stream("GET", remote.url, headers=headers, timeout=TIMEOUT) as response:
        if response.status_code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            part.unlink()
            raise TransientError("it does not go on where the last attempt ended")
        hf_raise_for_status(response)
        if not response.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
            have = 0
        with disk(part.parent, part), part.open("ab" if have else "wb") as file:
            for block in response.iter_raw():
                file.write(block)
                have += len(block)
                if progress:
                    progress(have, remote.size)
                if stop and stop.is_set():
                    raise _stopped()
    if have < remote.size:
        raise TransientError("the connection ended early")


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


# ---- what goes wrong


@contextmanager
def _sentences(url: str) -> Iterator[None]:
    """What a request fails with, in one sentence; what may pass is a hiccup."""
    from httpx2 import HTTPError, InvalidURL
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    try:
        yield
    except SentvizError:
        raise
    except OfflineModeIsEnabled as error:
        raise DataMissingError("HF_HUB_OFFLINE is set, so nothing is downloaded.") from error
    except HfHubHTTPError as error:
        _refuse(error.response.status_code, error.response.headers, url)
    except HTTPError as error:
        cause: BaseException = error
        while not isinstance(cause, OSError) and (deeper := cause.__cause__ or cause.__context__):
            cause = deeper
        if isinstance(cause, ssl.SSLCertVerificationError):
            raise DataMissingError(f"{urlsplit(url).netloc} has no valid certificate: {cause.verify_message}.") from error
        raise TransientError(_reason(cause)) from error
    except (InvalidURL, ValueError) as error:  # what a server redirects to
        raise DataMissingError(f"{urlsplit(url).netloc} sends to an address that is none, so {_file(url)} cannot be had.") from error


def _refuse(status: int, headers: Mapping[str, str], url: str) -> None:
    host, file = urlsplit(url).netloc, _file(url)
    if status in (408, 429) or status >= 500:
        after = headers.get("Retry-After", "").strip()
        raise TransientError(f"it answered {status}", float(after) if after.isdecimal() else None)
    if status in (401, 403):
        raise DataMissingError(f"{host} gives {file} only to those who were granted access ({status}); set HF_TOKEN to a token that was.")
    if status in (404, 410):
        raise DataMissingError(f"{host} has no {file} ({status}): it was moved or withdrawn, or never stood there.")
    raise DataMissingError(f"{host} does not give {file}: it answered {status}.")


def _patiently(ask: Callable[[], _Answer], reached: Callable[[], int], url: str, stop: threading.Event | None) -> _Answer:
    """The answer of the first attempt that gets one; attempts that get further than those before are not counted."""
    stop, failed, best = stop or threading.Event(), 0, reached()
    while True:
        if stop.is_set():
            raise _stopped()
        try:
            return ask()
        except TransientError as hiccup:
            failed = 1 if reached() > best else failed + 1
            best = max(best, reached())
            pause = hiccup.after if hiccup.after is not None else PAUSE * 2 ** (failed - 1)
            if failed >= ATTEMPTS or pause > LONGEST_WAIT:
                later = f"try again in {pause:.0f} seconds" if pause > LONGEST_WAIT else "the same command goes on from what is there"
                raise DataMissingError(f"{urlsplit(url).netloc} cannot be used now, {hiccup}; {later}.") from hiccup
            stop.wait(pause)


def _reason(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "it does not answer in time"
    if isinstance(error, ConnectionRefusedError):
        return "the connection is refused"
    if isinstance(error, ConnectionError) or not isinstance(error, OSError):
        return "the connection broke"
    said = error.strerror or str(error)
    return f"there is no network or no such server ({said})" if said else "there is no network"


def _file(url: str) -> str:
    return urlsplit(url).path.rpartition("/")[2]


def _stopped() -> Stopped:
    return Stopped("Stopped; the same download goes on from here.")
