"""Files: readers with limits, a writer whose texts are never formulas, and folders that survive a death at any moment."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import platformdirs
import pytest
from click.testing import CliRunner

from sentviz.cli import main
from sentviz.errors import InputError, SentvizError
from sentviz.io import files
from sentviz.io.documents import parse_json, read_json, read_toml
from sentviz.io.files import hold, open_regular, read_regular, replacing, restored, uninterrupted, writing
from sentviz.io.spreadsheet import as_csv, plain_csv, store_csv, write_csv
from tests.kit import no_room, refused

PACKAGE = Path(__file__).parents[1]
HOSTILE = {
    "310 digits": ("9" * 310, "more than 40 digits"),
    "5,000 digits": ("9" * 5_000, "more than 40 digits"),
    "float beyond the range": ("1e999", "inf, not a finite number"),
    "101 levels": ("[" * 101 + "]" * 101, "nested too deeply"),
    "100,000 levels": ("[" * 100_000 + "]" * 100_000, "nested too deeply"),
}
OWN = """browser/canvas/__init__ data/behaviour data/templates io/glossary runs/store io/files serving/live/pinned analysis/maps/wordclasses
papers/studies/verdicts data/tags/__init__ data/dataset_info data/tokenizers models/pretrained/tokens runs/trace training/resuming
analysis/epochs serving/corpus/output cli/process data/upload data/table serving/live/page export/report
export/notebook export/embedded_record export/record io/documents"""  # read files and texts of this program, or have limits of their own


def read(form: str, value: str, folder: Path) -> Any:
    path = folder / f"given.{form}"
    path.write_text(f'{{"table": {{"list": [1, {value}]}}}}' if form == "json" else f"[table]\nlist = [1, {value}]\n")
    return read_json(path, name=path.name) if form == "json" else read_toml(path, name=path.name)


@pytest.mark.parametrize("form", ["json", "toml"])
@pytest.mark.parametrize("kind", HOSTILE)
def test_what_no_program_can_use_is_one_sentence(kind: str, form: str, tmp_path: Path) -> None:
    value, reason = HOSTILE[kind]
    with pytest.raises(InputError) as caught:
        read(form, value, tmp_path)
    message = str(caught.value)
    assert message.startswith(f"given.{form} ") and reason in message and message.endswith(".") and len(message) < 250
    if len(value) < 400 and "[" not in value:
        assert "table.list[1]" in message


def test_odd_files_are_one_sentence_and_no_cell_is_a_formula(tmp_path: Path) -> None:
    (tmp_path / "large.json").write_text("[" + " " * 200 + "]")
    for name, reason in (("none.json", "is missing"), (".", "is a folder"), ("large.json", "at most 100 bytes are read")):
        refused(InputError, reason, read_json, tmp_path / name, 100)
    for data, reason in (
        (b'{"a": NaN}', "NaN is not a number"),
        (b'{"a": -Infinity}', "-Infinity is not a number"),
        (b'{"a": 1, "b": 2, "a": 3}', "an entry is named 'a' twice"),
        (b'{"a": 1', "line 1 column 8"),
        (b'{"a": "\xff"}', "in UTF-8 (byte 8)"),
    ):
        refused(InputError, f"^given.json is not .*{re.escape(reason)}", parse_json, data, "given.json")
    for cell in ("=1+1", "+1+1", "-2+3", "@SUM(A1)", "  =1", "\t=1", "\r=1", "\n=1", "＝1+1", "＠x"):
        frame = pd.DataFrame([[cell, cell, -1.5], [2, "a", -2.5]], columns=[cell, cell, "n"])
        lines = list(csv.reader(io.StringIO(as_csv(frame).decode("utf-8-sig"), newline="")))
        assert lines[0][:2] == [f"'{cell}"] * 2 and lines[1] == [f"'{cell}"] * 2 + ["-1.5"] and lines[2][0] == "2"
    frame = pd.DataFrame({"word": ["=1+1", "-ly", "a\nb", 'c"d'], "value": [1 / 3, 2.0, -1e-9, 4.5]})
    pd.testing.assert_frame_equal(pd.read_csv(store_csv(tmp_path / "table.csv", frame)), frame)
    for form in (None, "%.1f"):
        assert plain_csv(frame, form) == frame.to_csv(index=False, float_format=form).encode()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_byte_order_mark_is_left_out(encoding: str, tmp_path: Path) -> None:
    value = {"text": "schön, 좋다", "n": [1, -2.5, 10**30, None, True]}
    assert parse_json(json.dumps(value, ensure_ascii=False).encode(encoding), "x") == value
    (tmp_path / "x.toml").write_text('text = "schön, 좋다"\n', encoding=encoding)
    assert read_toml(tmp_path / "x.toml") == {"text": "schön, 좋다"}


def templates(value: str) -> str:
    return f'[praise]\nsays = {value}\npositive = ["A calm lake."]\nnegative = ["A loud road."]\n'


COMMANDS: dict[str, tuple[str, Callable[[str], str], list[str]]] = {
    "behave": ("templates.toml", templates, ["behave", "RUN", "--templates", "FILE"]),
    "judge": ("scores.json", lambda value: f'{{"text": "a b", "tokens": ["a", "b"], "scores": [1, {value}]}}', ["judge", "RUN", "FILE"]),
    "train": ("recipe.toml", lambda value: f'dataset = "sst2"\nseed = {value}\n', ["train", "FILE"]),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_answer_hostile_numbers_with_one_sentence(command: str, tiny_run: Path, tmp_path: Path) -> None:
    name, text, arguments = COMMANDS[command]
    (tmp_path / name).write_text(text("9" * 310))
    places = {"FILE": str(tmp_path / name), "RUN": str(tiny_run)}
    done = CliRunner().invoke(main, [places.get(each, each) for each in arguments])
    assert isinstance(done.exception, SystemExit) and done.exit_code == 1
    assert done.output.startswith("Error: ") and name in done.output and done.output.count("\n") == 1


def test_the_readers_and_writers_of_files_are_few() -> None:
    reads = re.compile(r"\bjson\.loads?\(|\btomllib\.loads?\(|\bread_json\(.*orient|json_normalize")
    modules = [*(PACKAGE / "sentviz").rglob("*.py"), *(PACKAGE / "app").rglob("*.py")]
    readers = {path.relative_to(PACKAGE).as_posix() for path in modules if reads.search(path.read_text(encoding="utf-8"))}
    assert readers == {"app/live.py", *(f"sentviz/{name}.py" for name in OWN.split())}
    writer = re.compile(r"\bto_csv\(|\bto_excel\(|\bcsv\.writer\(|\bDictWriter\(")
    for path in [*(PACKAGE / "sentviz").rglob("*.py"), *(PACKAGE / "app").rglob("*.py")]:
        code = path.read_text(encoding="utf-8")
        assert path.match("sentviz/io/spreadsheet.py") or not writer.search(code), path
        assert "text/csv" not in code or "as_csv(" in code, path


@pytest.mark.parametrize("write", [write_csv, store_csv])
def test_a_disk_error_is_one_sentence_and_keeps_the_old_file(write: object, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("old")
    frame = pd.DataFrame({"text": ["a long text " * 20] * 100})
    with no_room(2_000), pytest.raises(SentvizError, match=r"table\.csv cannot be written: File too large\.$"):
        write(path, frame)  # type: ignore[operator]
    assert path.read_text() == "old" and [each.name for each in tmp_path.iterdir()] == ["table.csv"]
    refused(SentvizError, r"no folder/table\.csv cannot be written: No such file", write, tmp_path / "no folder" / "table.csv", frame)


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


def test_what_a_crash_left_aside_comes_back(tmp_path: Path) -> None:
    folder, aside = tmp_path / "one", tmp_path / f".one.tmp-old-{os.getpid()}"
    aside.mkdir()
    (aside / "a").write_text("old")
    assert (restored(folder) / "a").read_text() == "old" and names(tmp_path) == ["one"]
    folder.rename(aside)
    with hold(folder) as mine:
        assert mine and (folder / "a").read_text() == "old"
    assert names(tmp_path) == ["one"]
    folder.rename(aside)
    with pytest.raises(OSError, match="full"), writing(folder):
        raise OSError("full")
    assert names(folder) == ["a"] and names(tmp_path) == ["one"]
    aside.mkdir()
    with writing(folder) as fresh:
        (fresh / "b").write_text("new")
    assert names(folder) == ["b"] and names(tmp_path) == ["one"]


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


def test_a_killed_process_leaves_nothing_and_holds_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "one"
    living, dead = start_process(folder, "writing"), start_process(folder, "writing")
    killed(dead)
    assert len(list(tmp_path.glob(".one.tmp-new-*"))) == 2
    with writing(folder) as fresh:
        (fresh / "a").write_text("mine")
    assert len(list(tmp_path.glob(".one.tmp-new-*"))) == 1 and names(folder) == ["a"]
    living.communicate("\n", timeout=60)
    assert living.returncode == 0 and names(tmp_path) == ["one"]
    process = start_process(folder, "hold")
    with hold(folder) as mine:
        assert not mine
    killed(process)
    (tmp_path / ".one.tmp-lock").write_text(str(os.getpid()))
    with hold(folder) as mine:
        assert mine
    assert names(tmp_path) == ["one"]


def test_a_file_is_replaced_whole_or_not_at_all_under_its_users_name(tmp_path: Path) -> None:
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
    done = []
    with pytest.raises(KeyboardInterrupt), uninterrupted():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        done.append(1)
    assert done == [1]


def test_a_folder_has_one_holder_and_patience_waits(tmp_path: Path) -> None:
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


def test_places_names_and_sizes_of_files_are_those_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert files.place("app") == Path(__file__).parents[1] / "app"
    monkeypatch.setattr(files, "CARRIED", tmp_path)
    assert files.place("app") == tmp_path / "app"
    assert (files._lock(Path("a/b.c")), files._mending(Path("a/b.c"))) == (Path("a/.b.c.tmp-lock"), Path("a/.b.c.tmp-mending"))
    assert [files._size(size) for size in (0, 9_999_999, 10_000_000)] == ["0 bytes", "9,999,999 bytes", "10 MB"]
    assert [str(files.disk_full(Path("a"), size)) for size in (0, 2_000_000)] == [
        f"There is no space left in a{needed}. Incomplete files were removed." for needed in ("", " (2 MB are needed)")
    ]
    assert os.name != "posix" or os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK == files.OPENING
    paths = ["a/b/c", "./a", "../a", "~/a", "/a"]
    assert [name for name in ("a", "a/b", *paths) if files.is_path(name)] == paths
    monkeypatch.setattr("importlib.metadata.version", lambda name: f"{name} 1")
    assert files.version() == "sentviz 1"
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path))
    assert files.home() == tmp_path
    monkeypatch.delenv("SENTVIZ_HOME")
    assert files.home() == platformdirs.user_cache_path("sentviz", appauthor=False)
    (tmp_path / "large.json").touch()
    os.truncate(tmp_path / "large.json", 2**24 + 1)
    refused(InputError, r"^large\.json has 17 MB; at most 17 MB are read\.$", read_json, tmp_path / "large.json", name="large.json")
