"""Whole or not at all: folders that one process holds at a time and writes, and steps that Ctrl-C does not cut.

The system gives a lock back when its process dies, so nothing here asks who lives. Windows locks no folders: two processes that write the
same one at the same moment are not kept apart there, and half-written leftovers stay.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

__all__ = ["claim", "restored", "uninterrupted", "writing"]

POLL = 0.05  # seconds


@contextmanager
def claim(folder: Path, patience: float = 0.0) -> Iterator[bool]:
    """Hold a folder for this process: False where another still holds it after `patience` seconds."""
    path = folder.with_name(f".{folder.name}.tmp-lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + patience
    while (file := _held(path)) is None:
        if time.monotonic() >= until:
            yield False
            return
        time.sleep(POLL)
    with file:
        try:
            restored(folder)
            yield True
        finally:
            with suppress(PermissionError):  # Windows keeps a file that is open
                path.unlink(missing_ok=True)


def restored(folder: Path) -> Path:
    """The folder, put back first where a crash in the middle of `writing` left it aside."""
    if not folder.exists() and folder.parent.is_dir() and _beside(folder, "old"):
        with _locked(folder.parent):
            _mend(folder)
    return folder


@contextmanager
def writing(folder: Path) -> Iterator[Path]:
    """A temporary folder that takes the place of `folder` when the block ends well; after anything else the old one is as it was."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        with _locked(folder.parent):
            _mend(folder)
            fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}.tmp-new-", dir=folder.parent))
            held.enter_context(_locked(fresh))
            held.callback(shutil.rmtree, fresh, ignore_errors=True)
        yield fresh
        fresh.chmod(0o755)
        _sync(*fresh.rglob("*"), fresh)
        with _locked(folder.parent):
            try:
                if folder.exists():
                    folder.rename(folder.with_name(fresh.name.replace(".tmp-new-", ".tmp-old-")))
                fresh.rename(folder)
                _sync(folder.parent)
            finally:
                _mend(folder)


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


# ---- locks


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold a folder that is there, as soon as nobody else does; without effect where the system cannot lock folders."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _abandoned(folder: Path) -> bool:
    """Whether nobody holds it any more; False where that cannot be known."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return False
    try:
        return _taken(handle)
    except OSError:
        return False
    finally:
        os.close(handle)


def _held(path: Path) -> BinaryIO | None:
    """The lock file, held; None where another process holds it. Its holder removes it, so only the file that is still there counts."""
    while True:
        file = path.open("ab")
        try:
            with suppress(OSError):  # where the system cannot lock, there is nobody to keep out
                if not _taken(file.fileno()):
                    file.close()
                    return None
            if sys.platform == "win32" or os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        except FileNotFoundError:
            pass
        except BaseException:
            file.close()
            raise
        file.close()


def _taken(handle: int) -> bool:
    if sys.platform == "win32":
        import msvcrt

        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):  # some network file systems say the latter
        return False
    return True
