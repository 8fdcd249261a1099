"""Paths that commands read: pipes, devices and files without end are refused in a sentence, and nothing waits for them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from sentviz.cli import main
from sentviz.data import formats
from sentviz.errors import InputError, RunError
from sentviz.serving.corpus import inputs
from sentviz.serving.corpus.inputs import rows_of, survey
from tests.kit import refused

RUN = "sst2/ndt-unit-2"


def pipe(path: Path) -> None:
    """Make a pipe without a writer, which blocks every reader."""
    os.mkfifo(path)


def device(path: Path) -> None:
    """Link to a file without an end."""
    path.symlink_to("/dev/zero")


def hub_model(path: Path) -> None:
    """Make a folder as Hugging Face libraries write it, with empty files."""
    for name in ("model.safetensors", "tokenizer.json"):
        (path / name).write_text("{}")
    (path / "config.json").write_text('{"model_type": "bert"}')


BASE = ("base", "add", "{folder}", "mine", "--source", "x@1", "--license", "MIT", "-o", "{folder}/bases")
COMMANDS: dict[str, tuple[str, tuple[str, ...]]] = {  # a file name, and a command that reads the file
    "a figure": ("a.png", ("verify", "{file}")),
    "a recipe": ("a.toml", ("train", "{file}")),
    "a corpus": ("a.csv", ("score", RUN, "{file}", "-o", "{folder}/out.parquet")),
    "an output": ("_index.json", ("words", "{folder}")),
    "a run": ("config.json", ("explain", "{folder}", "Good.")),
    "a model's configuration": ("config.json", ("adopt", "{folder}", "--dataset", "sst2")),
    "a model's weights": ("model.safetensors", ("adopt", "{folder}", "--dataset", "sst2")),
    "a base's tokenizer": ("tokenizer.json", BASE),
}


@pytest.mark.parametrize("make", [pipe, device], ids=lambda make: make.__name__)
@pytest.mark.parametrize("what", COMMANDS)
def test_a_command_reads_regular_files_only(
    what: str, make: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, words = COMMANDS[what]
    monkeypatch.chdir(tmp_path)
    if "model" in what or "base" in what:
        hub_model(tmp_path)
    (tmp_path / name).unlink(missing_ok=True)
    make(tmp_path / name)
    done = CliRunner().invoke(main, [word.format(file=tmp_path / name, folder=tmp_path) for word in words])
    assert done.exit_code in (1, 2) and isinstance(done.exception, SystemExit), done.output
    assert "Usage" not in done.output and done.output.count("\n") <= 5 and len(done.output) < 1_500, done.output


@pytest.mark.parametrize("make", [pipe, device], ids=lambda make: make.__name__)
@pytest.mark.parametrize("name", ["model.json", "model.onnx", "tokenizer.json"])
def test_a_model_in_onnx_is_of_regular_files_in_its_folder(name: str, make: Callable[[Path], None], tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    from sentviz.serving.onnx import load

    card = {"format": 1, "run": "x", "labels": ["a", "b"], "calibration": 1.0, "cls": True, "tokens": {}, "model": {}}
    digests = {name: hashlib.sha256(b"{}").hexdigest() for name in ("model.onnx", "tokenizer.json")}
    for file in digests:
        (tmp_path / file).write_text("{}")
    (tmp_path / "model.json").write_text(json.dumps(card | {"files": digests | {"../secret": ""}}))
    with pytest.raises(RunError):
        load(tmp_path)
    (tmp_path / "model.json").write_text(json.dumps(card | {"files": digests}))
    (tmp_path / name).unlink()
    make(tmp_path / name)
    refused(RunError, name, load, tmp_path)


# ---- corpora


def test_a_line_without_an_end_is_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "MAX_LINE", 1_000)
    (path := tmp_path / "a.txt").write_text("good film\n" + "x" * 1_001)
    refused(InputError, "a line of more than 0 MB after byte 10", survey, "a.txt", path)


def test_ranges_hold_no_more_bytes_than_are_read_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "MAX_CONTENT", 1_000)
    (path := tmp_path / "a.txt").write_text(("x" * 400 + "\n") * 10)
    source = survey("a.txt", path)
    assert [(piece.first, piece.rows) for piece in source.pieces] == [(0, 3), (3, 3), (6, 3), (9, 1)]
    assert sum(len(rows_of(source, piece)) for piece in source.pieces) == 10


@pytest.mark.parametrize("size", [7, 1_000, 20_000])
def test_ranges_of_a_parquet_file_are_its_rows(size: int, tmp_path: Path) -> None:
    texts = [None if i % 11 == 0 else f"text {i % 50}" for i in range(3_100)]
    table = pa.table({"text": texts, "label": list(range(3_100)), "tags": [["a"]] * 3_100})
    pq.write_table(table, path := tmp_path / "a.parquet", row_group_size=700)
    source = survey("a.parquet", path, label="label", rows=size)
    frame = [row for piece in source.pieces[:40] for row in rows_of(source, piece)[["text", "label"]].itertuples(index=False)]
    assert [tuple(row) for row in frame] == list(zip(texts, range(3_100), strict=True))[: 40 * size]


def test_a_small_parquet_file_that_stands_for_gigabytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "MAX_CONTENT", 1 << 20)
    pq.write_table(pa.table({"text": ["good film "] * 60 + ["good " * 10_000] * 1_000}), path := tmp_path / "a.parquet")
    assert path.stat().st_size < 100_000
    source = survey("a.parquet", path)
    refused(InputError, "more than 1 MB of text in one range of rows", rows_of, source, source.pieces[0])
    monkeypatch.setattr(inputs, "MAX_CONTENT", 1 << 8)
    refused(InputError, "more than 0 MB of text", survey, "a.parquet", path)
