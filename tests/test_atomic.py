"""Folders survive a death at any moment, and one process holds one at a time."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sentviz.errors import InputError
from sentviz.io.files import hold, open_regular, read_regular, replacing, restored, writing
from tests.kit import refused

HOLD = "import sys, pathlib; from sentviz.io.files import *\nwith {0}(pathlib.Path(sys.argv[1])): print('here', flush=True); input()"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def start_process(folder: Path, how: str) -> subprocess.Popen[str]:
    """Start a process that holds or writes a folder until it is told to end."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD.format(how), str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "here\n"
    return process


def killed(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate(timeout=60)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a run that a crash between the two renames left aside, under a name of this process."""
    aside = tmp_path / f".one.tmp-old-{os.getpid()}"
    aside.mkdir()
    (aside / "a").write_text("old")
    return tmp_path / "one"


def test_what_a_crash_left_aside_comes_back_to_whoever_looks(folder: Path) -> None:
    assert (restored(folder) / "a").read_text() == "old" and names(folder.parent) == ["one"]


def test_what_a_crash_left_aside_comes_back_to_its_next_holder(folder: Path) -> None:
    with hold(folder) as mine:
        assert mine and (folder / "a").read_text() == "old"
    assert names(folder.parent) == ["one"]


def test_what_a_crash_left_aside_is_there_while_the_next_one_writes(folder: Path) -> None:
    """A failed write leaves the run that was put aside; a successful write replaces it, and an old folder beside a whole one."""
    with pytest.raises(OSError, match="full"), writing(folder):
        raise OSError("full")
    assert names(folder) == ["a"] and names(folder.parent) == ["one"]
    (folder.parent / f".one.tmp-old-{os.getpid()}").mkdir()
    with writing(folder) as fresh:
        (fresh / "b").write_text("new")
    assert names(folder) == ["b"] and names(folder.parent) == ["one"]


@pytest.mark.parametrize("place", [1, 2])
def test_ctrl_c_right_after_a_rename_loses_nothing(place: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, plain, calls = tmp_path / "one", Path.rename, []
    folder.mkdir()
    (folder / "a").write_text("old")

    def rename(self: Path, target: Path) -> Path:
        done = plain(self, target)
        calls.append(1)
        if len(calls) == place:
            raise KeyboardInterrupt
        return done

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt), writing(folder) as fresh:
        (fresh / "b").write_text("new")
        patch.setattr(Path, "rename", rename)
    assert names(folder) == (["a"] if place == 1 else ["b"]) and names(tmp_path) == ["one"]


def test_leftovers_of_the_dead_go_and_those_of_the_living_stay(tmp_path: Path) -> None:
    folder = tmp_path / "one"
    living, dead = start_process(folder, "writing"), start_process(folder, "writing")
    killed(dead)
    assert len(list(tmp_path.glob(".one.tmp-new-*"))) == 2
    with writing(folder) as fresh:
        (fresh / "a").write_text("mine")
    assert len(list(tmp_path.glob(".one.tmp-new-*"))) == 1 and names(folder) == ["a"]
    living.communicate("\n", timeout=60)
    assert living.returncode == 0 and names(tmp_path) == ["one"]


def test_a_folder_is_held_until_its_process_dies(tmp_path: Path) -> None:
    folder = tmp_path / "one"
    process = start_process(folder, "hold")
    with hold(folder) as mine:
        assert not mine
    killed(process)
    (tmp_path / ".one.tmp-lock").write_text(str(os.getpid()))
    with hold(folder) as mine:
        assert mine
    assert not names(tmp_path)


def test_patience_waits_for_the_holder_until_it_is_cancelled(tmp_path: Path) -> None:
    entered, leave, cancelled = threading.Event(), threading.Event(), threading.Event()

    def holder() -> None:
        with hold(tmp_path / "one"):
            entered.set()
            leave.wait(60)

    thread = threading.Thread(target=holder, daemon=True)
    thread.start()
    assert entered.wait(20)
    threading.Timer(0.1, leave.set).start()
    with hold(tmp_path / "one", patience=20) as mine:
        assert mine
    thread.join(60)
    threading.Timer(0.1, cancelled.set).start()
    with hold(tmp_path / "one") as first, hold(tmp_path / "one", patience=60, cancelled=cancelled.is_set) as second:
        assert first and not second and cancelled.is_set()


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("old")
    with pytest.raises(OSError, match="full"), replacing(file) as fresh:
        fresh.write_text("half")
        raise OSError("full")
    assert file.read_text() == "old" and names(tmp_path) == ["a.csv"]
    with replacing(file) as fresh:
        fresh.write_text("new")
        assert file.read_text() == "old"
    assert file.read_text() == "new" and names(tmp_path) == ["a.csv"]


def test_a_folder_has_one_holder_however_many_want_it(tmp_path: Path) -> None:
    inside, most, got = [0], [0], []
    guard = threading.Lock()

    def want() -> None:
        for _ in range(50):
            with hold(tmp_path / "one", patience=30) as mine:
                with guard:
                    inside[0] += mine
                    most[0] = max(most[0], inside[0])
                got.append(mine)
                with guard:
                    inside[0] -= mine

    (tmp_path / ".one.tmp-lock").touch()
    threads = [threading.Thread(target=want, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert most[0] == 1 and sum(got) == 200 and not names(tmp_path)


def test_a_second_ctrl_c_does_not_cut_what_must_be_whole() -> None:
    from sentviz.io.files import uninterrupted

    done = []
    with pytest.raises(KeyboardInterrupt), uninterrupted():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        done.append(1)
    assert done == [1]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no flock")
@pytest.mark.parametrize(
    ("number", "got"), [(errno.ENOLCK, True), (errno.ENOTSUP, True), (errno.EWOULDBLOCK, False), (errno.EACCES, False)]
)
def test_a_file_system_without_locks_is_no_other_process(tmp_path: Path, number: int, got: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.flock", flock)
    with hold(tmp_path / "one") as mine:
        assert mine is got


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="no /proc")
def test_a_folder_where_nothing_can_be_made_is_no_other_process() -> None:
    for patience in (0.0, -1.0):
        with pytest.raises(OSError) as error, hold(Path("/proc/x"), patience):
            pass
        assert error.value.filename == "/proc"
    with pytest.raises(OSError) as error, writing(Path("/proc/x")):
        pass
    with pytest.raises(OSError) as error, replacing(Path("/proc/x.html")) as fresh:
        fresh.write_text("x", encoding="utf-8")
    assert error.value.filename == "/proc/x.html"


def test_what_is_no_file_up_to_a_size_is_refused_in_a_sentence(tmp_path: Path) -> None:
    """Pipes and devices are not read, because a pipe would block and a device has no end."""
    (tmp_path / "four").write_bytes(b"four")
    (tmp_path / "link").symlink_to(tmp_path / "four")
    assert read_regular(str(tmp_path / "link"), 4) == b"four"
    (tmp_path / "large").write_bytes(b"five!")
    (tmp_path / "holes").touch()
    os.truncate(tmp_path / "holes", 10**12)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    messages = {
        "large": "large has 5 bytes; at most 4 bytes are read.",
        "holes": "holes has 1,000,000 MB; at most 4 bytes are read.",
        "pipe": "pipe is a pipe, not a file.",
        "zero": "zero is a device, not a file.",
        "": "it is a folder, not a file.",
        "none": "none is missing.",
        "large/x": "large/x cannot be read (Not a directory).",
        "a\0b": "a\0b cannot be read (embedded null byte).",
    }
    handles = Path("/proc/self/fd")
    before = names(handles) if handles.is_dir() else []
    for name, sentence in messages.items():
        with pytest.raises(InputError) as caught:
            read_regular(tmp_path / name, 4, name or "it")
        assert str(caught.value) == sentence
    assert not before or len(names(handles)) == len(before)
    if Path("/proc/cpuinfo").is_file():  # its size is not stated
        refused(InputError, "larger than 4 bytes", read_regular, "/proc/cpuinfo", 4)


def test_what_was_checked_is_what_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"four")
    with open_regular(path, 4) as file:
        path.unlink()
        os.mkfifo(path)
        assert file.read() == b"four"


def test_a_file_that_cannot_be_written_is_named_as_its_user_named_it(tmp_path: Path) -> None:
    target = tmp_path / "a"
    with pytest.raises(PermissionError) as caught, replacing(target) as fresh:
        raise PermissionError(errno.EACCES, "Permission denied", str(fresh))
    assert caught.value.filename == str(target)
    with pytest.raises(OSError, match="No space left") as full, replacing(target):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert full.value.filename == str(target) and names(tmp_path) == []
    with pytest.raises(FileNotFoundError) as missing_folder, replacing(target):
        (tmp_path / "b").read_bytes()
    assert missing_folder.value.filename == str(tmp_path / "b")
