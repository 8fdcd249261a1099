"""Figures that prove themselves: exported files are read back and drawn again; every kind of change is found and said."""

from __future__ import annotations

import base64
import json
import re
import shutil
import struct
import subprocess
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from sentviz.charts import Figure, probability_bars
from sentviz.charts.gallery import code, draw, make
from sentviz.charts.source import Source
from sentviz.charts.subjects import Sentence
from sentviz.errors import InputError
from sentviz.export.chromium import find_browser
from sentviz.export.embedded_record import RECORD_FORMATS, _insert, _split, embed_record, extract_record
from sentviz.export.files import render, save
from sentviz.export.record import ChangedError, Record, difference, packed
from sentviz.export.verify import compare_with_runs, verify
from sentviz.models.loading import load
from sentviz.runs.store import find
from tests.charts import picture

RUN = "sst2/ndt-unit-2"
pictures = pytest.mark.skipif(find_browser() is None, reason="no Chrome or Chromium on this machine")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Write a figure in every format that carries a record."""
    figure, folder = draw(RUN, "attention", layer=1, head="max"), tmp_path_factory.mktemp("files")
    return {format: save(figure, folder / f"map.{format}") for format in RECORD_FORMATS if format == "html" or find_browser()}


def record_of(name: str = "confusion", **options: Any) -> Record:
    return Record.of(draw(RUN, name, **options))


# ---- as it was exported


@pytest.mark.exhaustive
def test_what_was_exported_is_equal(files: dict[str, Path]) -> None:
    """A file of every format is verified as equal, with its call and its runs; drawn again, the frame is equal row by row."""
    frame = draw(RUN, "attention", layer=1, head="max").frame
    for path in files.values():
        verdict = verify(path)
        assert verdict.state == "equal" and f"({len(frame):,} rows)" in verdict.why
        record = verdict.record
        assert record is not None and record.call == code(RUN, "attention", layer=1, head="max")
        assert record.runs == (Source(RUN, find(RUN).digest, 0, "test split n = 10,234"),)
        assert record.version and record.differs(frame) == ""


@pytest.mark.exhaustive
@pictures
def test_other_programs_read_the_files_and_the_record(files: dict[str, Path]) -> None:
    """Pillow reads the PNG's text, an XML parser the SVG's metadata, poppler the PDF's information, each with the same JSON."""
    from xml.etree import ElementTree

    from PIL import Image

    digest = find(RUN).digest
    with Image.open(files["png"]) as picture:
        picture.load()
        records = [json.loads(picture.info["sentviz"])]
    records.append(json.loads(ElementTree.parse(files["svg"]).getroot().findtext("{http://www.w3.org/2000/svg}metadata") or ""))
    if shutil.which("pdfinfo"):
        lines = subprocess.run(["pdfinfo", "-custom", files["pdf"]], capture_output=True, text=True, check=True).stdout
        records.append(json.loads(re.findall(r"^Sentviz: +(.*)$", lines, re.MULTILINE)[0]))
        plain = subprocess.run(["pdfinfo", files["pdf"]], capture_output=True, text=True, check=True)
        assert digest in plain.stdout and "Pages:           1" in plain.stdout and not plain.stderr
    assert all(record["runs"] == [{"run": RUN, "digest": digest, "seed": 0, "rows": "test split n = 10,234"}] for record in records)
    assert all(record["frame"] == records[0]["frame"] for record in records)


@pytest.mark.parametrize(
    ("of", "name", "options"),
    [
        (RUN, "verdict", {"text": "A quiet delight."}),
        (RUN, "attention", {"text": "Not bad <at> all.", "heads_off": [(0, 1)], "lambdas": [[1.0, -0.25], [1.0, 0.5]]}),
        (RUN, "curves", {"versus": ("sst2/vanilla",), "x": "step"}),
        (RUN, "classes", {"versus": ("sst2/vanilla",)}),
        ("all", "coverage", {}),
    ],
)
@pytest.mark.exhaustive
def test_every_subject_is_drawn_again_from_its_record(of: str, name: str, options: dict[str, Any]) -> None:
    """Sentences with interventions, runs, answers and a study are drawn again from the record's text."""
    record = Record.of(draw(of, name, **options))
    assert Record.read(record.text()).text() == record.text()
    assert compare_with_runs(Record.read(record.text())).state == "equal"
    assert compare_with_runs(replace(record, runs=record.runs[::-1])).state == "equal"
    for gone in record.runs[:1]:
        fewer = compare_with_runs(replace(record, runs=record.runs[1:]))
        why = (
            f"shows a run that is not named in its record: {gone.run!r}."
            if record.call and record.call.of != "all"
            else f"see {gone.run} (seed"
        )
        assert fewer.state == "differs" and why in fewer.why


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_trace_at_hand_says_what_was_changed_in_it(tiny_runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The record of a trace has its text and interventions, and draws the same figure."""
    monkeypatch.setenv("SENTVIZ_RUNS", str(tiny_runs))
    run = find("toy/ndt-unit-2")
    model = load(run)
    changes = [{}, {"heads_off": ((0, 1),)}, {"lambdas": np.full_like(run.example().lambdas, 0.3)}]
    records = [Record.of(make("verdict", Sentence.of(run, model.trace("good film", **change)))) for change in changes]
    assert len({record.frame for record in records}) == 3
    assert [compare_with_runs(record).state for record in records] == ["equal"] * 3
    assert [list(record.call.options) for record in records if record.call] == [["text"], ["text", "change"], ["text", "change"]]
    epoch = replace(run, max_length=run.config["model"]["max_length"])
    assert make("verdict", Sentence.of(epoch, run.example())).call is None


# ---- what was changed


def _swap(data: bytes, old: bytes, new: bytes) -> bytes:
    assert data.count(old)
    return data.replace(old, new, 1)


CHANGES: dict[str, tuple[str, Callable[[bytes], bytes], str, str]] = {
    "a letter of the SVG": ("svg", lambda data: _swap(data, b"rgb(", b"rgb( "), "differs", "changed, cut or saved again"),
    "a pixel of the PNG": ("png", lambda data: data[:-40] + bytes([data[-40] ^ 1]) + data[-39:], "differs", "changed, cut or saved again"),
    "a byte of the PDF": ("pdf", lambda data: data[:400] + bytes([data[400] ^ 1]) + data[401:], "differs", "changed, cut or saved again"),
    "a PDF that somebody went on with": ("pdf", lambda data: data + b"\n% more\n", "differs", "changed, cut or saved again"),
    "words of the page": ("html", lambda data: _swap(data, b"<body>", b"<body>1"), "differs", "changed, cut or saved again"),
    "a word in the record": (
        "svg",
        lambda data: _told(data, '"source": "', '"source": "RETRACTED '),
        "numbers equal",
        "Its source is not",
    ),
    "the seed in the record": ("html", lambda data: _told(data, '"seed": 0', '"seed": 1'), "differs", "does not name the runs"),
    "the record's numbers": ("html", lambda data: _retold(data, 0.1), "differs", "first in row 1 ("),
    "the digest alone": ("html", lambda data: _told(data, '"frame": "', '"frame": "0'), "differs", "do not have the stored digest"),
    "the run's digest": (
        "html",
        lambda data: _told(data, f'"digest": "{find(RUN).digest}"', '"digest": "0123"'),
        "cannot be had",
        "digest 0123; the installed run",
    ),
    "a run of another place": (
        "html",
        lambda data: _told(data, '"run": "sst2', '"run": "mine'),
        "cannot be had",
        "mine/ndt-unit-2 is not installed",
    ),
    "an option of another kind": (
        "html",
        lambda data: _told(data, '"layer": 1', '"layer": {}'),
        "cannot be had",
        "cannot be drawn again",
    ),
    "a record that is none": ("html", lambda data: _told(data, '{"sentviz"', '["sentviz"'), "cannot be had", "record is damaged"),
    "the end cut off": ("png", lambda data: data[: len(data) // 2], "differs", "changed, cut or saved again"),
    "the record cut off": ("html", lambda data: data[: data.index(b'"runs"')], "cannot be had", "record is damaged"),
    "all but the head": ("pdf", lambda data: data[:2000], "cannot be had", "has no sentviz record"),
}


def _told(data: bytes, old: str, new: str) -> bytes:
    """Return the page with another text in its record."""
    format, text, rest = _split(data)
    assert text is not None and text.count(old)
    return _insert(rest, format, text.replace(old, new, 1))


def _retold(data: bytes, by: float) -> bytes:
    """Return the file with other numbers and their digest in the record."""
    _, record = extract_record(data)
    frame = draw(RUN, "attention", layer=1, head="max").frame
    numbers = frame.select_dtypes("floating").columns[-1]
    changed = Record.of(replace(draw(RUN, "attention", layer=1, head="max"), frame=frame.assign(**{numbers: frame[numbers] + by})))
    return _told(_told(data, record.table, changed.table), record.frame, changed.frame)


@pytest.mark.exhaustive
@pytest.mark.parametrize("change", CHANGES)
def test_each_change_is_found_and_said(change: str, files: dict[str, Path], tmp_path: Path) -> None:
    format, changed, state, why = CHANGES[change]
    if format not in files:
        pytest.skip("no Chrome or Chromium on this machine")
    (path := tmp_path / "changed").write_bytes(changed(files[format].read_bytes()))
    verdict = verify(path)
    assert (verdict.state, why in verdict.why) == (state, True), verdict
    assert "\n" not in verdict.why and verdict.why.endswith(".")


def test_foreign_files_are_told_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from PIL import Image

    Image.new("RGB", (4, 4)).save(tmp_path / "foreign.png")
    (tmp_path / "words.txt").write_text("words")
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    with (tmp_path / "huge.png").open("wb") as huge:
        huge.truncate(200_000_000)
    messages = {
        "foreign.png": "has no sentviz record",
        "words.txt": "neither PNG",
        "table.csv": "neither PNG",
        "huge.png": "at most 100 MB are read",
    }
    for name, why in {**messages, "nowhere.png": "It is missing", ".": "It is a folder"}.items():
        verdict = verify(tmp_path / name)
        assert verdict.state == "cannot be had" and why in verdict.why, verdict
    assert compare_with_runs(replace(record_of(), call=None)).why == "Its record does not say how to draw the figure again."


@pytest.mark.exhaustive
def test_a_bomb_in_the_record_is_not_opened() -> None:
    """A record of 64 KB that expands to 64 MB is refused."""
    record = record_of()
    bomb = base64.b64encode(zlib.compress(b"0" * 65_000_000)).decode()
    with pytest.raises(InputError, match="numbers in its record are damaged"):
        Record.read(replace(record, table=bomb).text())


# ---- one by one


def test_where_tables_differ_is_said() -> None:
    old = {"name": ["a", "b", "c"], "value": [1.0, 2.0, None], "on": [True, False, True]}
    assert difference(old, old) == ""
    assert difference(old, {**old, "value": [1.0, 2.000001, None]}) == ""
    assert difference(old, {**old, "value": [1.0, 2.5, None]}) == "column value in row 2 (2.0 in the file, 2.5 now), by 0.5 at most"
    assert "column value in 2 rows, first in row 1" in difference(old, {**old, "value": [0.0, 2.0, 3.0]})
    assert difference(old, {**old, "name": ["a", "b", "x"]}) == "column name in row 3 (c in the file, x now)"
    assert difference(old, {**old, "on": [True, True, True]}).startswith("column on in row 2")
    assert "the file has 3 rows, and the installed runs give 2" in difference(old, {name: values[:2] for name, values in old.items()})
    assert "the column on" in difference(old, {"name": old["name"], "value": old["value"]})


@pytest.mark.slow
def test_a_large_frame_is_held_by_its_digest_only() -> None:
    """Random numbers exceed the limit of a file, so only the digest is stored, and a change is found without its place."""
    frame = pd.DataFrame({"x": np.random.default_rng(0).normal(size=60_000)})
    record = Record.of(Figure("cloud", picture(go.Figure()), frame, ""))
    assert record.table == "" and record.differs(frame.copy()) == ""
    frame.loc[7, "x"] += 1
    assert "so the row and column are unknown" in record.differs(frame)


def test_a_frame_is_packed_alike_whatever_its_types() -> None:
    plain = pd.DataFrame({"a": [1, 2], "b": ["x", "<y>"], "c": [0.1, float("nan")], "d": [float("inf"), 1.0]})
    retyped = plain.assign(a=plain["a"].astype("int8"), b=plain["b"].astype("category"), c=plain["c"] + 1e-12)
    assert packed(plain) == packed(retyped) == '{"a":[1,2],"b":["x","<y>"],"c":[0.1,null],"d":["inf",1.0]}'


@pytest.mark.parametrize("words", ["</script><script>alert(1)</script>", "</metadata>&amp;", ") >> endobj \\", "긍정 \ud83d"])
def test_words_in_a_record_stay_words(words: str) -> None:
    """Whatever a visitor typed, the file without its record is unchanged, and the record is read as it was written."""
    bare = {
        "html": b"<!DOCTYPE html><html><head><title>x</title></head></html>",
        "svg": b'<svg xmlns="http://www.w3.org/2000/svg" width="9"><g/></svg>',
        "pdf": b"%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer\n<</Size 2\n/Root 1 0 R>>\nstartxref\n9\n%%EOF\n",
        "png": b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + bytes(17) + bytes(4) + b"IEND" + bytes(4),
    }
    record = replace(Record.of(probability_bars(["no", "yes"], [0.2, 0.8])), source=words)
    for format, data in bare.items():
        sealed = embed_record(data, format, record)
        assert extract_record(sealed)[1].source == words and extract_record(sealed)[0] == format
        assert format in ("pdf", "png") or b"</script><script>" not in sealed
        with pytest.raises(ChangedError):
            extract_record(sealed.replace(data[-9:], data[-9:] + b" ", 1) if format != "pdf" else b"%PDF- " + sealed[6:])


@pytest.mark.exhaustive
def test_tables_carry_no_record() -> None:
    figure = draw(RUN, "verdict")
    assert b"digest" not in render(figure, "csv") and b'"frame"' not in render(figure, "tex")
