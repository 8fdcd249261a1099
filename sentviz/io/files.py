"""Lock folders, replace files and folders completely or not at all, and read only regular files of a limited size.

The operating system releases a lock when its process ends, so a lock never outlives a crash. `read_regular` and `open_regular` read files
that a user or a run names, and refuse pipes, devices and files that never end. `home` is the user's cache for downloads and stored results,
`place` finds the folders next to the package, and `version` the version of the package.
"""

from __future__ import annotations

import errno
import hashlib
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

OPENING = sum(getattr(os, name, 0) for name in ("O_RDONLY", "O_BINARY", "O_NOCTTY", "O_NONBLOCK"))  # does not wait for a pipe's writer
CARRIED = Path(__file__).parents[1] / "_wheel"  # exists in a wheel only: the app and some runs, which a checkout has next to the package
APP_MODEL, APP_CLASSES = "SENTVIZ_APP_MODEL", "SENTVIZ_APP_CLASSES"  # variables by which `sentviz app --model` tells the app


@contextmanager
def hold(folder: Path, patience: float = 0.0, cancelled: Callable[[], bool] | None = None) -> Iterator[bool]:
    """Lock a folder for this process; yield False if another process still has it after `patience` seconds or once `cancelled` is true.

    Args:
        patience: seconds to wait; -1 = without limit.
    Raises:
        OSError: the parent folder cannot be written.
    """
    with _locked(_lock(folder), patience, cancelled) as mine:
        if mine is not False:
            restored(folder)
        yield mine is not False


def restored(folder: Path) -> Path:
    """Return the folder, after moving it back if a crash during `writing` left it under its temporary name."""
    if not folder.exists() and folder.parent.is_dir() and _beside(folder, "old"):
        with _locked(_mending(folder)):
            _mend(folder)
    return folder


@contextmanager
def writing(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder that replaces `folder` if the block ends without an error; otherwise the old folder is unchanged."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        with _locked(_mending(folder)):
            _mend(folder)
            fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}.tmp-new-", dir=folder.parent))
            stack.enter_context(_locked(_lock(fresh)))
            stack.callback(shutil.rmtree, fresh, ignore_errors=True)
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
    """Yield a temporary file that replaces `path` if the block ends without an error; otherwise the old file is unchanged.

    Raises:
        OSError: the file cannot be written; the error names `path`.
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


def write_file(path: Path, data: bytes) -> Path:
    """Write a file completely or not at all, and return its path.

    Raises:
        SentvizError: the disk is full or the file cannot be written.
    """
    with disk_errors(path.parent), replacing(path) as part:
        part.write_bytes(data)
    return path


def read_regular(path: str | os.PathLike[str], most: int, name: str = "") -> bytes:
    """Return the content of a regular file of at most `most` bytes.

    Args:
        name: name of the file in error messages; by default its path.
    """
    name = name or os.fspath(path)
    with open_regular(path, most, name) as file:
        try:
            data = file.read(most + 1) or b""
        except OSError as error:
            raise InputError(f"{name} cannot be read ({error.strerror or error}).") from error
    if len(data) > most:  # the file grew after it was opened, or it has no size, like files in /proc
        raise InputError(f"{name} is larger than {_size(most)}, the largest size that is read.")
    return data


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file's content, as 64 hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def inside(folder: Path, file: str) -> Path:
    """Return the path of a file in a folder."""
    path = folder / file
    if path.name == file != ".." and not path.is_symlink():
        return path
    path = path.resolve()
    if not path.is_relative_to(folder.resolve()):
        raise InputError(f"{file} is a link to another folder. Replace it with the file itself.")
    return path


def open_regular(path: str | os.PathLike[str], most: int, name: str = "") -> BufferedReader:
    """Open a regular file of at most `most` bytes. The opened file is the checked one, even if `path` changes in between."""
    name = name or os.fspath(path)
    try:
        handle = os.open(path, OPENING)
    except FileNotFoundError as error:
        raise InputError(f"{name} is missing.") from error
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        raise InputError(f"{name} cannot be read ({getattr(error, 'strerror', '') or error}).") from error
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            kind = "a folder" if stat.S_ISDIR(status.st_mode) else "a pipe" if stat.S_ISFIFO(status.st_mode) else "a device"
            raise InputError(f"{name} is {kind}, not a file.")
        if status.st_size > most:
            raise InputError(f"{name} has {_size(status.st_size)}; at most {_size(most)} are read.")
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def _size(size: int) -> str:
    return f"{size / 1e6:,.0f} MB" if size >= 10_000_000 else f"{size:,} bytes"


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay Ctrl-C until the block has ended, so that the block is never interrupted."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    interrupts: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: interrupts.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if interrupts:
        raise KeyboardInterrupt


def _beside(folder: Path, kind: str) -> list[Path]:
    return [path for path in folder.parent.iterdir() if path.name.startswith(f".{folder.name}.tmp-{kind}-")]


def _mend(folder: Path) -> None:
    """Repair what a crashed writer left behind; the caller has locked the parent folder."""
    aside = sorted(_beside(folder, "old"), key=lambda path: path.stat().st_mtime)
    if aside and not folder.exists():
        aside.pop().rename(folder)
    for path in (*aside, *filter(_abandoned, _beside(folder, "new"))):
        shutil.rmtree(path, ignore_errors=True)


def _sync(*paths: Path) -> None:
    """Wait until files and folders are on the disk."""
    if sys.platform == "win32":
        return
    for path in paths:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


# ---- disk errors


@contextmanager
def disk_errors(folder: Path, *litter: Path) -> Iterator[None]:
    """Raise the errors of a disk as one sentence, and remove the files in `litter` if the disk is full.

    Raises:
        SentvizError: the disk of `folder` is full or cannot be written.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise SentvizError(f"{error.filename or folder} cannot be written: {error.strerror or error}.") from error
        for path in litter:
            path.unlink(missing_ok=True)
        raise disk_full(folder) from error


def disk_full(folder: Path, size: int = 0) -> SentvizError:
    """Return the error for a disk without room for `size` bytes; 0 = unknown size."""
    needed = f" ({size / 1e6:,.0f} MB are needed)" if size else ""
    return SentvizError(f"There is no space left in {folder}{needed}. Incomplete files were removed.")


# ---- locks


def _lock(path: Path) -> Path:
    return path.with_name(f".{path.name}.tmp-lock")


def _mending(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.tmp-mending")


@contextmanager
def _locked(file: Path, patience: float = -1.0, cancelled: Callable[[], bool] | None = None) -> Iterator[bool | None]:
    """Hold a lock file, and delete it afterwards; yield False if another process holds it, None if the system has no locks."""
    from filelock import FileLock, Timeout

    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o644))  # filelock would retry without end if no file can be made, as in /proc
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
            with suppress(PermissionError):  # Windows does not delete an open file here, but does so when it is closed
                file.unlink(missing_ok=True)
        lock.release()


def _abandoned(folder: Path) -> bool:
    """Return whether no process holds the folder any more; False if the system has no locks."""
    with _locked(_lock(folder), 0) as mine:
        return mine is True


def home() -> Path:
    """Return ``$SENTVIZ_HOME`` or, if it is not set, the system's folder for caches (on Linux ``~/.cache/sentviz``)."""
    from platformdirs import user_cache_path

    named = os.environ.get("SENTVIZ_HOME")
    return Path(named) if named else user_cache_path("sentviz", appauthor=False)


def place(name: str) -> Path:
    """Return the path of ``app`` or ``checkpoints``, in a checkout and in a wheel."""
    return (CARRIED if CARRIED.is_dir() else CARRIED.parents[1]) / name


def version() -> str:
    """Return the version of sentviz: of the installed package, else of the source folder in which it runs."""
    import tomllib
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("sentviz")
    except PackageNotFoundError:
        source = Path(__file__).parents[2] / "pyproject.toml"
        return str(tomllib.loads(source.read_text(encoding="utf-8"))["project"]["version"]) if source.is_file() else "unknown"


def is_path(name: str) -> bool:
    """Return whether a name can only be a path: no run and no model of the Hugging Face hub has such a name."""
    return name.startswith((".", "~")) or Path(name).is_absolute() or name.replace(os.sep, "/").count("/") > 1
