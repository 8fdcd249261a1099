"""Whole or not at all: folders that one process holds at a time and writes, files, and steps that Ctrl-C does not cut.

The system gives a lock back when its process dies, so nothing here asks who lives. `read_regular` and `open_regular` read files that a user
or a run names: nothing that blocks, nothing that has no end.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import stat
import sys
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from io import BufferedReader
from pathlib import Path

from sentviz.errors import InputError, SentvizError

OPENING = sum(getattr(os, name, 0) for name in ("O_RDONLY", "O_BINARY", "O_NOCTTY", "O_NONBLOCK"))  # never waits for the writer of a pipe


@contextmanager
def hold(folder: Path, patience: float = 0.0, cancelled: Callable[[], bool] | None = None) -> Iterator[bool]:
    """Hold a folder for this process: False where another still holds it after `patience` seconds (-1: for ever), or once `cancelled`.

    Raises:
        OSError: the folder around it cannot be written.
    """
    with _locked(_lock(folder), patience, cancelled) as mine:
        if mine is not False:
            restored(folder)
        yield mine is not False


def restored(folder: Path) -> Path:
    """The folder, put back first where a crash in the middle of `writing` left it aside."""
    if not folder.exists() and folder.parent.is_dir() and _beside(folder, "old"):
        with _locked(_mending(folder)):
            _mend(folder)
    return folder


@contextmanager
def writing(folder: Path) -> Iterator[Path]:
    """A temporary folder that takes the place of `folder` when the block ends well; after anything else the old one is as it was."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        with _locked(_mending(folder)):
            _mend(folder)
            fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}.tmp-new-", dir=folder.parent))
            held.enter_context(_locked(_lock(fresh)))
            held.callback(shutil.rmtree, fresh, ignore_errors=True)
        yield fresh
        fresh.chmod(0o755)
        _sync(*fresh.rglob("*"), fresh)
        with _locked(_mending(folder)):
            try:
                if folder.exists():
                    folder.rename(folder.with_name(fresh.name.replace(".tmp-new-", ".tmp-old-")))
                fresh.rename(folder)
                _sync(folder.parent)
            finally:
                _mend(folder)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file that takes the place of `path` when the block ends well; after anything else the old one is as it was.

    Raises:
        OSError: the file cannot be written; it names `path`.
    """
    fresh = path.with_name(f".{uuid.uuid4().hex}.part")
    try:
        yield fresh
        fresh.replace(path)
    except OSError as error:
        if error.errno is not None and error.filename in (None, os.fspath(fresh)):
            error.filename = os.fspath(path)
        raise
    finally:
        fresh.unlink(missing_ok=True)


def read_regular(path: str | os.PathLike[str], most: int, name: str = "") -> bytes:
    """Return the content of a regular file of at most `most` bytes.

    Args:
        name: what messages call the file; its path by default.
    Raises:
        InputError: it is missing, cannot be read, is larger, or is a folder, a pipe or a device.
    """
    name = name or os.fspath(path)
    with open_regular(path, most, name) as file:
        try:
            data = file.read(most + 1) or b""
        except OSError as error:
            raise InputError(f"{name} cannot be read ({error.strerror or error}).") from error
    if len(data) > most:  # it grew, or the system states no size, as for files in /proc
        raise InputError(f"{name} is larger than {_said(most)}, the most that is read of such a file.")
    return data


def inside(folder: Path, file: str) -> Path:
    """Return where a file of a folder is.

    Raises:
        InputError: it is a link that leads out of the folder.
    """
    path = (folder / file).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise InputError(f"{file} is a link to a file elsewhere; it must be in its folder.")
    return path


def open_regular(path: str | os.PathLike[str], most: int, name: str = "") -> BufferedReader:
    """Open a regular file of at most `most` bytes. What was checked is what is open, whatever the path names later.

    Raises:
        InputError: as `read_regular`.
    """
    name = name or os.fspath(path)
    try:
        handle = os.open(path, OPENING)
    except FileNotFoundError as error:
        raise InputError(f"{name} is missing.") from error
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        raise InputError(f"{name} cannot be read ({getattr(error, 'strerror', '') or error}).") from error
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            kind = "a folder" if stat.S_ISDIR(found.st_mode) else "a pipe" if stat.S_ISFIFO(found.st_mode) else "a device"
            raise InputError(f"{name} is {kind}, not a file.")
        if found.st_size > most:
            raise InputError(f"{name} has {_said(found.st_size)}; at most {_said(most)} are read of such a file.")
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def _said(size: int) -> str:
    return f"{size / 1e6:,.0f} MB" if size >= 10_000_000 else f"{size:,} bytes"


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C waits for the end of the block: what the block does, it does whole."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt


def _beside(folder: Path, kind: str) -> list[Path]:
    return [path for path in folder.parent.iterdir() if path.name.startswith(f".{folder.name}.tmp-{kind}-")]


def _mend(folder: Path) -> None:
    """Undo what a dead writer left; the folder around it is locked."""
    aside = sorted(_beside(folder, "old"), key=lambda path: path.stat().st_mtime)
    if aside and not folder.exists():
        aside.pop().rename(folder)
    for path in (*aside, *filter(_abandoned, _beside(folder, "new"))):
        shutil.rmtree(path, ignore_errors=True)


def _sync(*paths: Path) -> None:
    """Wait until the disk has them."""
    if sys.platform == "win32":
        return
    for path in paths:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


# ---- a disk that takes no more


@contextmanager
def disk(folder: Path, *litter: Path) -> Iterator[None]:
    """What can go wrong with a disk, as one sentence; `litter` is removed when it is full.

    Raises:
        SentvizError: the disk of `folder` is full, or cannot be written.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise SentvizError(f"{error.filename or folder} cannot be written: {error.strerror or error}.") from error
        for path in litter:
            path.unlink(missing_ok=True)
        raise full(folder) from error


def full(folder: Path, size: int = 0) -> SentvizError:
    """The sentence for a disk without room for `size` bytes; 0 = unknown."""
    wanted = f" ({size / 1e6:,.0f} MB are needed)" if size else ""
    return SentvizError(f"There is no space left in {folder}{wanted}; nothing half-written was kept.")


# ---- locks


def _lock(path: Path) -> Path:
    return path.with_name(f".{path.name}.tmp-lock")


def _mending(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.tmp-mending")


@contextmanager
def _locked(file: Path, patience: float = -1.0, cancelled: Callable[[], bool] | None = None) -> Iterator[bool | None]:
    """Hold a lock file, which goes when it is given back: False where another holds it, None where the system has no locks."""
    from filelock import FileLock, Timeout

    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o644))  # filelock would try again for ever where no file can be made, as in /proc
    except OSError as error:
        error.filename = os.fspath(file.parent)
        raise
    lock = FileLock(file, fallback_to_soft=False)
    try:
        lock.acquire(timeout=patience, cancel_check=cancelled)
        mine: bool | None = True
    except Timeout:
        mine = False
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS):
            raise
        mine = None
    try:
        yield mine
    finally:
        if mine is not False:
            with suppress(PermissionError):  # Windows keeps a file that is open, and removes it itself
                file.unlink(missing_ok=True)
        lock.release()


def _abandoned(folder: Path) -> bool:
    """Whether nobody holds it any more; False where that cannot be known."""
    with _locked(_lock(folder), 0) as mine:
        return mine is True
