"""Files of every kind are read by ranges of rows; pipes, devices and files without end are refused in a sentence."""

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import sentviz
from sentviz.cli import main
from sentviz.data import formats
from sentviz.data.table import parsed
from sentviz.data.upload import LIMITS
from sentviz.errors import InputError, RunError
from sentviz.runs.store import Run
from sentviz.serving.corpus import inputs
from sentviz.serving.corpus.answers import Scorer
from sentviz.serving.corpus.inputs import find_files, rows_of, survey
from sentviz.serving.corpus.output import INDEX, Scored
from tests.corpora import TEXTS, command
from tests.kit import refused, workbook

MISTAKES = {
    "no such column": ("a.csv", "x,y\n1,2\n", {"text": "text"}, "no column 'text'; its columns are x, y"),
    "columns without end": ("a.jsonl", json.dumps({f"c{k}": 1 for k in range(20_000)}), {}, "has 20,000 columns; at most 16,384 are read"),
    "columns twice": ("a.csv", "x,x\n1,2\n", {}, "several columns named 'x'"),
    "no encoding": ("a.txt", "a\n", {"encoding": "magic"}, "no encoding 'magic'"),
    "an encoding without lines": ("a.txt", "a\n", {"encoding": "utf-32"}, "line by line"),
    "no parquet": ("a.parquet", "a\n", {}, "damaged parquet"),
    "a header in another encoding": ("a.csv", "caf\udce9,y\n1,2\n", {"encoding": "utf-8"}, "column name of a.csv is not in the encoding"),
}
RUN = "sst2/ndt-unit-2"
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


def test_ranges_of_csv_json_and_excel_files_are_their_rows(tmp_path: Path) -> None:
    for size, end in [(1, "\n"), (2, "\r\n"), (3, "\n"), (100, "\r\n")]:
        cells = ['1,"a, ""b"" and', 'c",x', "", "2,plain", "3", '4,a 5" screen,y', "5,\xff odd,z", '6,"quoted"']
        path = tmp_path / "a.csv"
        path.write_bytes(b"\xef\xbb\xbf" + end.join(["id,text,label", *cells]).encode("latin-1") + end.encode())
        source = survey("a.csv", path, label="label", rows=size)
        frame = pd.concat([rows_of(source, piece) for piece in source.pieces], ignore_index=True)
        assert frame["text"].tolist()[:2] == ['a, "b" and\nc', "plain"] and frame["text"].tolist()[3] == 'a 5" screen'
        assert frame["text"].tolist()[5] == "quoted" and frame["label"].tolist() == ["x", None, None, "y", "z", None]
        assert frame["problem"].tolist() == ["", "", "The row has no column 'text'.", "", "The row is not in the encoding utf-8.", ""]
        assert source.rows == 6 and all(piece.rows <= size for piece in source.pieces)
    for suffix in [".xlsx", ".json"]:
        rows = [{"id": k, "text": text, "label": "positive"} for k, text in enumerate(["=1+1", "a <b> & c", "s\u00f8t"])]
        path = tmp_path / f"a{suffix}"
        path.write_bytes(
            workbook([["id", "text", "label"], *([*row.values()] for row in rows)]) if suffix == ".xlsx" else json.dumps(rows).encode()
        )
        source = survey(path.name, path, label="label", rows=2)
        frame = pd.concat([rows_of(source, piece) for piece in source.pieces], ignore_index=True)
        assert frame["text"].tolist() == ["=1+1", "a <b> & c", "s\u00f8t"] and source.labels == {"positive": 3} and len(source.pieces) == 2
    path = tmp_path / "a.csv"
    path.write_text("A warm film.,1\nA dull one.,0\nAnother.,1\n")
    source = survey("a.csv", path)
    assert source.format.header == ("column 1", "column 2") and source.text == "column 1" and source.rows == 3
    assert source.format.remarks == ("a.csv has no line of column names; its columns are called column 1 to column 2.",)
    (lines := tmp_path / "a.txt").write_text("one\n\nthree")
    source = survey("a.txt", lines, rows=2)  # row numbers are line numbers
    assert [rows_of(source, piece)["text"].tolist() for piece in source.pieces] == [["one", ""], ["three"]]


def test_damaged_files_are_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    for lines in (1, 8_000):
        path.write_text('text\ngood\n"open\n' + "a line of some length\n" * lines + "last\n")
        for read in (lambda: survey("a.csv", path), lambda: parsed(path.read_bytes(), "a.csv", LIMITS)):
            refused(InputError, r"^a\.csv cannot be read as a table: a quotation mark in row 3 is never closed\.$", read)
    for place in ["texts", "name"]:
        path = tmp_path / "a.parquet"
        pq.write_table(
            pa.table({"text": ["okok", "good"], "zzzz": ["a", "b"]}), path, store_schema=False, use_dictionary=False, compression=None
        )
        path.write_bytes(path.read_bytes().replace(*((b"okok", b"ok\xfe\xff") if place == "texts" else (b"zzzz", b"zz\xfe\xff"))))
        with pytest.raises(InputError, match="damaged parquet file"):
            source = survey("a.parquet", path, text="text", rows=1)
            [rows_of(source, piece) for piece in source.pieces]
    cases = [("{", "is not JSON"), ("[]", "must be a table"), ('{"format": 1, "run": 3}', "run must be a text, not 3")]
    cases += [('{"format": 9}', "has format 9")]
    for text, why in cases:
        (tmp_path / INDEX).write_text(text)
        refused(InputError, rf"(?is){why}.*score the files again", Scored, tmp_path)


@pytest.mark.parametrize(
    ("encoding", "end"),
    [("utf-8", "\r"), ("utf-8-sig", "\n"), ("utf-16", "\r\n"), ("utf-16-be", "\n"), ("cp1252", "\r"), ("cp949", "\r\n")],
)
def test_the_commands_and_the_app_read_the_same_rows(encoding: str, end: str, tmp_path: Path) -> None:
    word = "\uc815\ub9d0" if encoding == "cp949" else "sch\u00f6n"
    rows = ["text;label", f'"{word} ""so""; {end}warm";1', "x" * 200_000 + ";0", "last;1", ""]
    path = tmp_path / "a.csv"
    path.write_bytes((b"\xfe\xff" if encoding == "utf-16-be" else b"") + end.join(rows).encode(encoding))
    source = survey("a.csv", path, label="label", rows=1)
    by_ranges = pd.concat([rows_of(source, piece) for piece in source.pieces], ignore_index=True)
    table, remarks = parsed(path.read_bytes(), "a.csv", LIMITS)
    assert by_ranges["text"].tolist() == [f'{word} "so"; \nwarm', "x" * 200_000, "last"] and not any(by_ranges["problem"])
    assert by_ranges["label"].tolist() == table["label"].to_pylist() == ["1", "0", "1"] and source.labels == {"1": 2, "0": 1}
    assert table["text"].to_pylist() == [text[: LIMITS.cell] for text in by_ranges["text"]]
    assert remarks[:-1] == list(source.format.remarks) and bool(source.format.remarks) == (not encoding.startswith("utf-8"))


def test_files_are_found_once_and_a_csv_never_replaces_its_input(files: Path, run: Run, tmp_path: Path) -> None:
    names = ["a.csv", "b.tsv", "d.jsonl", "deep/c.parquet"]
    assert list(find_files([files])) == names == list(find_files([files / "deep", files / "a.csv", files]))
    assert list(find_files([f"{files}/*.?sv"])) == names[:2]
    for wrong in (files / "none.csv", files / "left.md"):
        refused(InputError, r"files end with", find_files, [wrong])
    before = (files / "a.csv").read_bytes()
    own = command("score", run.folder, files / "a.csv", "-o", files / "a.csv")
    vectors = command("score", run.folder, files / "a.csv", "-o", tmp_path / "out.csv", "--vectors")
    assert own.exit_code == 1 and "is one of the files to score" in own.output and (files / "a.csv").read_bytes() == before
    assert vectors.exit_code == 2 and "need a folder" in vectors.output and not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(("name", "content", "options", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_file_that_cannot_be_read_is_one_sentence(name: str, content: str, options: dict[str, str], message: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match=message):
        survey(name, path, **options)  # type: ignore[arg-type]


def test_one_csv_has_every_column_of_the_file_and_the_predictions(run: Run, tiny_model: sentviz.Model, tmp_path: Path) -> None:
    path, out = tmp_path / "in.csv", tmp_path / "out.csv"
    frame = pd.DataFrame({"id": ["07", "8", "9"], "review": [TEXTS[0], "=1+1", ""], "row": ["x", "y", "z"], "label": ["1", "meh", "0"]})
    path.write_bytes(frame.to_csv(index=False, sep=";").encode("utf-16"))
    result = command("score", run.folder, path, "-o", out, "--text", "review", "--label", "label", "--rows", 2)
    assert result.exit_code == 0 and f"3 rows in {out}" in result.output, result.output
    assert "! in.csv is not UTF-8; it was read as utf-16-le." in result.output
    assert "! Labels in “label”: 0 = negative, 1 = positive; 2 of 3 rows." in result.output and "'meh' (1 row)" in result.output
    assert "accept numbers of 1 row: --partial" in result.output
    written = pd.read_csv(out, dtype=str, keep_default_na=False)
    assert list(written.columns[:6]) == ["id", "review", "row", "label", f"row ({run.name})", "predicted"]
    assert written["id"].tolist() == ["07", "8", "9"] and written["review"].tolist() == [TEXTS[0], "'=1+1", ""]
    assert written[f"row ({run.name})"].tolist() == ["1", "2", "3"] and written["label"].tolist() == ["1", "meh", "0"]
    assert written["predicted"].tolist() == [*tiny_model.predict(frame["review"][:2].tolist())["label"], ""]
    assert written["remark"].iloc[2].startswith("The text is empty") and sorted(tmp_path.iterdir()) == [path, out]


def test_a_stopped_csv_continues(run: Run, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer, scored = Scorer.__call__, []

    def stops(self: Scorer, task: tuple[int, int]) -> int:
        if len(scored) == 1:
            scored.append((9, 9))
            raise KeyboardInterrupt
        scored.append(task)
        return answer(self, task)

    monkeypatch.setattr(Scorer, "__call__", stops)
    out = tmp_path / "out.csv"
    arguments = ("score", run.folder, files / "a.csv", "-o", out, "--rows", 20)
    assert command(*arguments).exit_code == 130 and not out.exists()
    again = command(*arguments)
    assert again.exit_code == 0 and "25 of them new" in again.output and scored == [(0, 0), (9, 9), (0, 1), (0, 2)]
    assert len(pd.read_csv(out)) == 45 and [path.name for path in tmp_path.iterdir() if path.name.startswith(".out")] == []


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def hub_model(path: Path) -> None:
    """Make a folder as Hugging Face libraries write it, with empty files."""
    for name in ("model.safetensors", "tokenizer.json"):
        (path / name).write_text("{}")
    (path / "config.json").write_text('{"model_type": "bert"}')


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


@pytest.mark.parametrize(("name", "make"), [("model.json", pipe), ("model.onnx", device), ("tokenizer.json", pipe)])
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


def test_ranges_of_a_file_hold_no_more_than_is_read_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for size in [7, 1_000, 20_000]:
        texts = [None if i % 11 == 0 else f"text {i % 50}" for i in range(3_100)]
        table = pa.table({"text": texts, "label": list(range(3_100)), "tags": [["a"]] * 3_100})
        pq.write_table(table, path := tmp_path / "a.parquet", row_group_size=700)
        source = survey("a.parquet", path, label="label", rows=size)
        frame = [row for piece in source.pieces[:40] for row in rows_of(source, piece)[["text", "label"]].itertuples(index=False)]
        assert [tuple(row) for row in frame] == list(zip(texts, range(3_100), strict=True))[: 40 * size]
    monkeypatch.setattr(formats, "MAX_LINE", 1_000)
    (path := tmp_path / "a.txt").write_text("good film\n" + "x" * 1_001)
    refused(InputError, "a line of more than 0 MB after byte 10", survey, "a.txt", path)
    monkeypatch.setattr(inputs, "MAX_CONTENT", 1_000)
    (path := tmp_path / "a.txt").write_text(("x" * 400 + "\n") * 10)
    source = survey("a.txt", path)
    assert [(piece.first, piece.rows) for piece in source.pieces] == [(0, 3), (3, 3), (6, 3), (9, 1)]
    assert sum(len(rows_of(source, piece)) for piece in source.pieces) == 10
    monkeypatch.setattr(inputs, "MAX_CONTENT", 1 << 20)
    pq.write_table(pa.table({"text": ["good film "] * 60 + ["good " * 10_000] * 1_000}), path := tmp_path / "a.parquet")
    assert path.stat().st_size < 100_000
    source = survey("a.parquet", path)
    refused(InputError, "more than 1 MB of text in one range of rows", rows_of, source, source.pieces[0])
    monkeypatch.setattr(inputs, "MAX_CONTENT", 1 << 8)
    refused(InputError, "more than 0 MB of text", survey, "a.parquet", path)
