"""JSON and TOML from outside: one reader, with limits, whose errors are one sentence each."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sentviz.cli import main
from sentviz.errors import InputError
from sentviz.io.documents import parse_json, read_json, read_toml

PACKAGE = Path(__file__).parents[1]
HOSTILE = {
    "310 digits": ("9" * 310, "more than 40 digits"),
    "4,300 digits": ("9" * 4_300, "more than 40 digits"),
    "5,000 digits": ("9" * 5_000, "more than 40 digits"),
    "-310 digits": ("-" + "9" * 310, "more than 40 digits"),
    "float beyond the range": ("1e999", "inf, not a finite number"),
    "101 levels": ("[" * 101 + "]" * 101, "nested too deeply"),
    "100,000 levels": ("[" * 100_000 + "]" * 100_000, "nested too deeply"),
}
INSIDE = {
    "sentviz/io/documents.py": "the reader",
    **dict.fromkeys(
        [
            *(
                "sentviz/browser/canvas/__init__.py",
                "sentviz/data/behaviour.py",
                "sentviz/data/templates.py",
            ),
            *(
                "sentviz/io/glossary.py",
                "sentviz/runs/store.py",
                "sentviz/io/files.py",
                "sentviz/serving/live/pinned.py",
                "sentviz/analysis/maps/wordclasses.py",
            ),
            *("sentviz/papers/studies/verdicts.py", "sentviz/data/tags/__init__.py", "sentviz/data/dataset_info.py"),
        ],
        "files of this package, and files of a run, whose content runs/schema.py or the caller checks",
    ),
    **dict.fromkeys(
        [
            *("sentviz/data/tokenizers.py", "sentviz/models/pretrained/tokens.py", "sentviz/runs/trace.py"),
            *("sentviz/training/resuming.py", "sentviz/analysis/epochs.py"),
            "sentviz/serving/corpus/output.py",
        ],
        "files that sentviz writes, checked field by field",
    ),
    **dict.fromkeys(
        [
            *("sentviz/cli/process.py", "sentviz/data/upload.py", "sentviz/data/table.py", "sentviz/serving/live/page.py"),
            *("sentviz/export/report.py", "sentviz/export/notebook.py", "sentviz/export/embedded_record.py"),
        ],
        "texts between two parts of this program",
    ),
    "sentviz/export/record.py": "records of figures, with its own limits and a seal",
    "app/live.py": "a route that takes texts of limited length only",
}


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
        with pytest.raises(InputError, match=reason):
            read_json(tmp_path / name, 100)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_byte_order_mark_is_left_out(encoding: str, tmp_path: Path) -> None:
    """Files as Windows programs save them are read like others."""
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
@pytest.mark.parametrize("kind", HOSTILE)
def test_commands_answer_hostile_numbers_with_one_sentence(command: str, kind: str, tiny_run: Path, tmp_path: Path) -> None:
    name, text, arguments = COMMANDS[command]
    (tmp_path / name).write_text(text(HOSTILE[kind][0]))
    places = {"FILE": str(tmp_path / name), "RUN": str(tiny_run)}
    done = CliRunner().invoke(main, [places.get(each, each) for each in arguments])
    assert isinstance(done.exception, SystemExit) and done.exit_code == 1
    assert done.output.startswith("Error: ") and name in done.output and done.output.count("\n") == 1


@pytest.mark.parametrize("digits", [20, 30, 31, 40])
def test_judge_reads_large_numbers_and_a_byte_order_mark(digits: int, tiny_run: Path, tmp_path: Path) -> None:
    """Scores up to 1e30 are scores like others; larger ones are refused with a sentence."""
    scores = {"text": "a calm lake", "tokens": ["a", "calm", "lake"], "scores": [1, int("9" * digits), 2]}
    (tmp_path / "scores.json").write_text(json.dumps(scores), encoding="utf-8-sig")
    done = CliRunner().invoke(main, ["judge", str(tiny_run), str(tmp_path / "scores.json")])
    assert done.exit_code == (digits > 30), done.output
    assert digits <= 30 or "Score 2 of 3 ('calm') is not a finite number up to 1e+30." in done.output


def test_no_other_module_reads_json_or_toml_from_outside() -> None:
    """A module that reads JSON or TOML without this reader is on the list above with its reason; the list has no other entries."""
    reads = re.compile(r"\bjson\.loads?\(|\btomllib\.loads?\(|\bread_json\(.*orient|json_normalize")
    readers = {
        path.relative_to(PACKAGE).as_posix()
        for path in [*(PACKAGE / "sentviz").rglob("*.py"), *(PACKAGE / "app").rglob("*.py")]
        if reads.search(path.read_text(encoding="utf-8"))
    }
    assert readers == INSIDE.keys()
