"""JSON, TOML and CSV: one reader with limits, and one writer whose texts are never formulas."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

from sentviz.cli import main
from sentviz.errors import InputError, SentvizError
from sentviz.io.documents import parse_json, read_json, read_toml
from sentviz.io.spreadsheet import as_csv, plain_csv, store_csv, write_csv
from tests.kit import no_room, refused

PACKAGE = Path(__file__).parents[1]
HOSTILE = {
    "310 digits": ("9" * 310, "more than 40 digits"),
    "5,000 digits": ("9" * 5_000, "more than 40 digits"),
    "-310 digits": ("-" + "9" * 310, "more than 40 digits"),
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


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"a": NaN}', "NaN is not a number"),
        (b'{"a": -Infinity}', "-Infinity is not a number"),
        (b'{"a": 1, "b": 2, "a": 3}', "an entry is named 'a' twice"),
        (b'{"a": 1', "line 1 column 8"),
        (b'{"a": "\xff"}', "is not in UTF-8 (byte 8)"),
        (b"", "line 1 column 1"),
    ],
)
def test_text_that_is_not_json_is_one_sentence_with_the_place(data: bytes, reason: str) -> None:
    with pytest.raises(InputError, match=re.escape(reason)) as caught:
        parse_json(data, "given.json")
    assert str(caught.value).startswith("given.json is not ")


def test_missing_files_folders_and_large_files_are_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "large.json").write_text("[" + " " * 200 + "]")
    for name, reason in (("none.json", "is missing"), (".", "is a folder"), ("large.json", "at most 100 bytes are read")):
        refused(InputError, reason, read_json, tmp_path / name, 100)


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


def test_no_other_module_reads_json_or_toml_from_outside() -> None:
    reads = re.compile(r"\bjson\.loads?\(|\btomllib\.loads?\(|\bread_json\(.*orient|json_normalize")
    modules = [*(PACKAGE / "sentviz").rglob("*.py"), *(PACKAGE / "app").rglob("*.py")]
    readers = {path.relative_to(PACKAGE).as_posix() for path in modules if reads.search(path.read_text(encoding="utf-8"))}
    assert readers == {"app/live.py", *(f"sentviz/{name}.py" for name in OWN.split())}


FORMULAS = ["=1+1", "+1+1", "-2+3", "@SUM(A1)", "  =1", "\t=1", "\r=1", "\n=1", "＝1+1", "＠x"]


def test_one_module_writes_csv() -> None:
    writer = re.compile(r"\bto_csv\(|\bto_excel\(|\bcsv\.writer\(|\bDictWriter\(")
    for path in [*(PACKAGE / "sentviz").rglob("*.py"), *(PACKAGE / "app").rglob("*.py")]:
        code = path.read_text(encoding="utf-8")
        assert path.match("sentviz/io/spreadsheet.py") or not writer.search(code), path
        assert "text/csv" not in code or "as_csv(" in code, path


@pytest.mark.parametrize("cell", FORMULAS)
def test_no_cell_nor_name_is_a_formula(cell: str) -> None:
    frame = pd.DataFrame([[cell, cell, -1.5], [2, "a", -2.5]], columns=[cell, cell, "n"])
    lines = list(csv.reader(io.StringIO(as_csv(frame).decode("utf-8-sig"), newline="")))
    assert lines[0][:2] == [f"'{cell}"] * 2 and lines[1] == [f"'{cell}"] * 2 + ["-1.5"] and lines[2][0] == "2"


def test_tables_of_this_program_are_read_back_as_they_were(tmp_path: Path) -> None:
    frame = pd.DataFrame({"word": ["=1+1", "-ly", "a\nb", 'c"d'], "value": [1 / 3, 2.0, -1e-9, 4.5]})
    pd.testing.assert_frame_equal(pd.read_csv(store_csv(tmp_path / "table.csv", frame)), frame)
    for form in (None, "%.1f"):
        assert plain_csv(frame, form) == frame.to_csv(index=False, float_format=form).encode()


@pytest.mark.parametrize("write", [write_csv, store_csv])
def test_a_disk_error_is_one_sentence_and_keeps_the_old_file(write: object, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("old")
    frame = pd.DataFrame({"text": ["a long text " * 20] * 100})
    with no_room(2_000), pytest.raises(SentvizError, match=r"table\.csv cannot be written: File too large\.$"):
        write(path, frame)  # type: ignore[operator]
    assert path.read_text() == "old" and [each.name for each in tmp_path.iterdir()] == ["table.csv"]
    with pytest.raises(SentvizError, match=r"no folder/table\.csv cannot be written: No such file"):
        write(tmp_path / "no folder" / "table.csv", frame)  # type: ignore[operator]
