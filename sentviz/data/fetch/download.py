"""Download one file from the public hub or another server, with `huggingface_hub` and what that library lacks.

The library requests size and digest, follows the hub to its content network, and supports tokens, proxies and certificates. But it does not
check the digest of a download, starts again after the process ended, and waits as long as a server wants. This module names an unfinished
file after the digest: a download continues if the server still has the same content, and starts again if it does not.
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
from sentviz.io.files import disk_errors, disk_full

Progress = Callable[[int, int], object]  # arguments: bytes done, total bytes (0 if unknown)
_Answer = TypeVar("_Answer")

CHUNK = 1 << 18
TIMEOUT = 30.0  # seconds without a byte
ATTEMPTS = 5  # attempts in a row without a byte
PAUSE = 0.5  # seconds before the second attempt; doubled each time
LONGEST_WAIT = 60.0  # maximum number of seconds that a server may ask us to wait


class Stopped(SentvizError, errors.Stopped):
    """The download was stopped on request; the unfinished file is kept."""


class TransientError(Exception):
    """A temporary download error. The request is repeated, after `after` seconds if the server sent Retry-After."""

    def __init__(self, reason: str, after: float | None = None) -> None:
        super().__init__(reason)
        self.after = after


@dataclass(frozen=True)
class RemoteFile:
    """A file on a server: its address, size and digest, known before the download."""

    url: str
    size: int  # bytes; 0 if unknown
    etag: str  # 64 hex digits: SHA-256 of the content; 40 hex digits: git blob id; anything else: opaque, may be empty
    token: bool = True  # send the user's hub token to the server

    def same(self, path: Path) -> bool:
        """Return whether a file has the announced size and, if it can be computed, the announced digest."""
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
    """Request size and digest of a file.

    Raises:
        DataMissingError: the server cannot be reached, or does not have the file, or does not allow access.
        Stopped: `stop` was set.
    """
    from huggingface_hub import get_hf_file_metadata

    def ask() -> RemoteFile:
        with _sentences(url):
            metadata = get_hf_file_metadata(url, timeout=TIMEOUT)
        return RemoteFile(url, metadata.size or 0, metadata.etag or "")

    return _patiently(ask, lambda: 0, url, stop)


def fetch(remote: RemoteFile, target: Path, *, progress: Progress | None = None, stop: threading.Event | None = None) -> None:
    """Download to `target`, continuing an earlier attempt. The file appears only when it is complete and checked.

    Raises:
        DataMissingError: the server cannot be reached, refuses the file, or sends another file than it announced.
        SentvizError: the disk is full or cannot be written.
        Stopped: `stop` was set; the same call continues the download.
    """
    mark = hashlib.sha256(remote.etag.encode()).hexdigest()[:16]
    part = target.with_name(f".{target.name}.{mark}.part")
    with disk_errors(target.parent):
        target.parent.mkdir(parents=True, exist_ok=True)
        for old in target.parent.glob(f".{target.name}.*.part"):
            if old != part or not remote.etag:
                old.unlink()
    if shutil.disk_usage(part.parent).free < remote.size - _size(part):
        raise disk_full(part.parent, remote.size)
    _patiently(lambda: _transfer(remote, part, progress, stop), lambda: _size(part), remote.url, stop)
    if not remote.same(part):
        part.unlink()
        raise DataMissingError(f"{_file(remote.url)} is not the announced file (its digest differs) and was removed. Try again later.")
    with disk_errors(target.parent):
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
            raise TransientError("it cannot continue where the last attempt ended")
        hf_raise_for_status(response)
        if not response.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
            have = 0
        with disk_errors(part.parent, part), part.open("ab" if have else "wb") as file:
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


# ---- errors


@contextmanager
def _sentences(url: str) -> Iterator[None]:
    """Raise the errors of a request as one sentence; errors that may be temporary become a `TransientError`."""
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
    except (InvalidURL, ValueError) as error:  # a redirect to an invalid address
        raise DataMissingError(f"{urlsplit(url).netloc} redirects to an invalid address, so {_file(url)} cannot be downloaded.") from error


def _refuse(status: int, headers: Mapping[str, str], url: str) -> None:
    host, file = urlsplit(url).netloc, _file(url)
    if status in (408, 429) or status >= 500:
        after = headers.get("Retry-After", "").strip()
        raise TransientError(f"it answered {status}", float(after) if after.isdecimal() else None)
    if status in (401, 403):
        raise DataMissingError(f"{host} gives {file} only to users with access ({status}). Set HF_TOKEN to the token of such a user.")
    if status in (404, 410):
        raise DataMissingError(f"{host} has no {file} ({status}): it was moved or withdrawn, or never existed.")
    raise DataMissingError(f"{host} does not give {file}: it answered with status {status}.")


def _patiently(ask: Callable[[], _Answer], reached: Callable[[], int], url: str, stop: threading.Event | None) -> _Answer:
    """Return the result of the first successful attempt. An attempt that gets further than those before it is not counted."""
    stop, failed, best = stop or threading.Event(), 0, reached()
    while True:
        if stop.is_set():
            raise _stopped()
        try:
            return ask()
        except TransientError as error:
            failed = 1 if reached() > best else failed + 1
            best = max(best, reached())
            pause = error.after if error.after is not None else PAUSE * 2 ** (failed - 1)
            if failed >= ATTEMPTS or pause > LONGEST_WAIT:
                later = f"try again in {pause:.0f} seconds" if pause > LONGEST_WAIT else "run the same command again to continue it"
                raise DataMissingError(f"{urlsplit(url).netloc} cannot be used now, {error}; {later}.") from error
            stop.wait(pause)


def _reason(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "it does not answer in time"
    if isinstance(error, ConnectionRefusedError):
        return "the connection is refused"
    if isinstance(error, ConnectionError) or not isinstance(error, OSError):
        return "the connection broke"
    reason = error.strerror or str(error)
    return f"there is no network or no such server ({reason})" if reason else "there is no network"


def _file(url: str) -> str:
    return urlsplit(url).path.rpartition("/")[2]


def _stopped() -> Stopped:
    return Stopped("Stopped. Start the same download again to continue it.")
