"""Records of figures: every file holds them, what is changed is found, and what somebody wrote by hand is refused in a sentence."""

from __future__ import annotations

import hashlib
import json
import os
import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sentviz.charts.gallery import draw
from sentviz.charts.source import Call, Source
from sentviz.cli import main
from sentviz.errors import InputError
from sentviz.export.embedded_record import RECORD_FORMATS, _insert, _split, embed_record, extract_record
from sentviz.export.record import MAX_PANELS, MAX_RECORD, MAX_WORDS, Record
from sentviz.export.verify import compare_with_runs, verify
from sentviz.runs.store import find
from tests.kit import refused

RUN = "sst2/ndt-unit-2"
EXPORTED = Path(__file__).parent / "data" / "exported"
SOURCE = Source(RUN, "19ca14883bf0", 0, "test split n = 10,234")
CALL = Call(RUN, "verdict", {"text": 'A "quiet" <delight> & (more).', "heads_off": ((0, 1),), "answered": False})
RECORD = Record("verdict", CALL, (SOURCE,), "Of a run.", "/explore?x=1", "note=Ours", "0.1.0", "ab" * 16, "")
SHEET = Record.of_sheet("sheet", [RECORD, replace(RECORD, name="other")], "size=wide")
BARE = {
    "html": b"<!DOCTYPE html><html><head><title>x</title></head></html>",
    "svg": b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" width="9"><g/></svg>',
    "pdf": b"%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer\n<</Size 2\n/Root 1 0 R>>\nstartxref\n9\n%%EOF\n",
    "png": b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + bytes(17) + bytes(4) + b"IEND" + bytes(4),
}


def forged(rest: bytes, format: str) -> bytes:
    """Return a file with a record at its end that has the digest of the rest."""
    whole = _insert(BARE[format], format, replace(RECORD, picture=hashlib.sha256(rest).hexdigest()[:32]).text())
    return rest + (whole[len(BARE["pdf"]) :] if format == "pdf" else whole[whole.index(b"<metadata") : whole.index(b"<g/>")])


def leaves(value: Any, *path: Any) -> Iterator[tuple[Any, ...]]:
    """Return the path to every innermost value of a JSON text."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from leaves(item, *path, key)
    if not isinstance(value, dict | list):
        yield path


def changed(text: str, path: tuple[Any, ...]) -> str:
    """Return the text with another value at the end of a path."""
    entries = json.loads(text)
    place = entries
    for key in path[:-1]:
        place = place[key]
    old = place[path[-1]]
    place[path[-1]] = not old if isinstance(old, bool) else old + 1 if isinstance(old, int) else f"RETRACTED {old}"
    return json.dumps(entries).replace("<", "\\u003c")


# ---- what the record says, and what it does not


@pytest.mark.parametrize("record", [RECORD, SHEET], ids=["figure", "sheet"])
@pytest.mark.parametrize("format", RECORD_FORMATS)
def test_no_byte_of_a_picture_changes_unnoticed(format: str, record: Record) -> None:
    whole = embed_record(BARE[format], format, record)
    text = _split(whole)[1]
    assert text is not None and Record.read(text) == replace(record, picture=hashlib.sha256(BARE[format]).hexdigest()[:32])
    start = whole.index(b'"sentviz": "')
    end = whole.index({"svg": b"</metadata>", "html": b"</script>", "pdf": b")\n>>"}.get(format, whole[start + len(text) :]), start)
    for place, byte in enumerate(whole):
        if start <= place < end:
            continue
        with pytest.raises(InputError):
            extract_record(whole[:place] + bytes([byte ^ 1 << place % 8]) + whole[place + 1 :])


def test_verify_compares_all_that_a_record_says(tmp_path: Path) -> None:
    """Other words leave the numbers equal, and the sentence names which; another call, run, number or picture is never equal."""
    _, text, rest = _split((EXPORTED / "runs.html").read_bytes())
    for way in leaves(json.loads(text or "")):
        (path := tmp_path / "x.html").write_bytes(_insert(rest, "html", changed(text or "", way)))
        verdict = verify(path)
        if way[0] in ("name", "source"):
            assert verdict.state == "numbers equal" and f"Its {way[0]} is not the one" in verdict.why, way
        elif way[0] in ("call", "runs", "frame", "table", "picture"):
            assert verdict.state in ("differs", "cannot be had"), way


# ---- files of before


STORED = {
    "sentence.pdf": {
        "text": "The cake was <dry> & late, but we laughed.",
        "lambdas": ((1.0, -0.25), (1.0, 0.5)),
        "heads_off": ((0, 1),),
    },
    "runs.html": {"versus": ("sst2/vanilla-matched",), "x": "step"},
    "testset.png": {"threshold": 0.625},
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [*STORED, "before/sheet.svg", *(f"before/{name}" for name in STORED)])
def test_what_was_exported_keeps_verifying(name: str) -> None:
    verdict = verify(EXPORTED / name)
    words = "sentence" in name or "sheet" in name  # the source says interventions in other words since then
    assert verdict.state == ("numbers equal" if words else "equal") and verdict.record is not None, verdict.why
    call = verdict.record.call
    assert call.options == STORED[Path(name).name] if call is not None else len(verdict.record.panels) == 2


# ---- records that somebody wrote


def written(**changes: Any) -> str:
    """Return a record with other entries."""
    return json.dumps(json.loads(RECORD.text()) | changes)


PANEL = json.loads(written())
HOSTILE: dict[str, tuple[Callable[[], str], str]] = {
    "a million brackets": (lambda: '{"sentviz": ' + "[" * 1_000_000, "its record is damaged"),
    "9 MB of options": (lambda: written(call={"options": "x" * 9_000_000}), f"more than {MAX_RECORD:,} characters"),
    "1 MB of options": (lambda: written(view="x" * 1_000_000), f"has more than {MAX_WORDS:,} characters per figure"),
    "an entry twice": (lambda: written().replace('"view":', '"name":'), "(it is not JSON: an entry is named 'name' twice)"),
    "no number": (lambda: written(call={"of": "", "figure": "", "options": {"x": float("nan")}}), "NaN is not a number"),
    "a number beyond all": (lambda: written().replace('"seed": 0', '"seed": 1e999'), "the value of runs[0].seed is inf"),
    "many digits": (lambda: written().replace('"seed": 0', '"seed": 1' + "0" * 30), "000000, a number that is too large"),
    "a text that is a number": (lambda: written(source=1), "its record is damaged"),
    "an entry too few": (lambda: re.sub(r'"view": "[^"]*", ', "", written()), "its record is damaged"),
    "a call of something else": (lambda: written(call={"of": "", "figure": "", "options": {}, "module": "os"}), "its record is damaged"),
    "65 panels": (lambda: written(panels=[PANEL] * 65, call=None, runs=[]), f"names 65 figures, and a sheet holds {MAX_PANELS} at most"),
    "a sheet that is a figure": (lambda: written(panels=[PANEL]), "describes a sheet and a single figure at once"),
    "a list": (lambda: "[1, 2]", "its record is damaged"),
    "nothing": (lambda: "", "its record is damaged"),
    "numbers that do not fit": (lambda: written(table="eJyrrgUAAXUA+Q=="), "do not have the stored digest"),
    "numbers cut off": (lambda: written(table="eJyrrg=="), "the numbers in its record are damaged"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_record_that_is_none_is_refused_in_a_sentence(name: str) -> None:
    write, why = HOSTILE[name]
    with pytest.raises(InputError, match=re.escape(why)) as raised:
        Record.read(write())
    assert "\n" not in str(raised.value) and len(str(raised.value)) < 200


@pytest.mark.parametrize("format", RECORD_FORMATS)
def test_of_several_records_none_counts(format: str) -> None:
    twice = embed_record(embed_record(BARE[format], format, RECORD), format, replace(RECORD, source="Of another run."))
    refused(InputError, "several records, but a file from sentviz has only one", extract_record, twice)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (forged(b"<svg " * 400_000, "svg"), "damaged"),
        (b"%PDF-1.4" + b"\n% the record of sentviz\n" + b"/Sentviz (" * 200_000, "damaged"),
        (forged(BARE["pdf"].replace(b"/Size 2\n", b"/Size " + b"9" * 5_000 + b"\n"), "pdf"), "damaged"),
        (b"<html>" + b'<script type="application/json" id="sentviz">' * 2, "several|damaged"),
        (BARE["png"][:8] + bytes(3) + b"\x7f" * 40, "no sentviz record"),
    ],
    ids=["starts of SVG", "starts of a record", "a long number", "starts of a script", "a long chunk"],
)
def test_hostile_files_are_read_in_one_go(data: bytes, why: str) -> None:
    refused(InputError, why, extract_record, data)


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, why in ((Path("/dev/zero"), "It is a device, not a file."), (tmp_path / "pipe", "It is a pipe, not a file.")):
        assert (verify(path).state, verify(path).why) == ("cannot be had", why)


# ---- calls that somebody wrote


def test_a_call_draws_no_run_that_its_record_does_not_name() -> None:
    record, folder = Record.of(draw(RUN, "verdict", text="A quiet delight.")), str(find(RUN).folder)
    for call in (Call(folder, "verdict", {}), *(Call(RUN, "curves", {"versus": versus}) for versus in (folder, (folder,), {"a": folder}))):
        verdict = compare_with_runs(replace(record, call=call))
        assert verdict.state == "differs" and "a run that is not named in its record:" in verdict.why, call
    assert compare_with_runs(replace(record, runs=())).state == "differs"
    often = compare_with_runs(replace(record, call=Call(RUN, "curves", {"versus": (RUN,) * 50_000})))
    assert often.state == "differs" and "50,001 runs" in often.why


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (Call(RUN, "smoother", {"kernel": 10**12}), "yes or no, not 1000000000000"),
        (Call("all", "separation", {"rows": 10**12}), "200,000 sequences at most"),
        (Call("/etc", "coverage", {}), "It shows '/etc', which is not available."),
        (Call(RUN, "x" * 100_000, {}), "There is no figure 'xxx"),
        (Call(RUN, "verdict", {"module": "os"}), "takes no module"),
        (Call(RUN, "attention", {"layer": ()}), "It cannot be drawn again"),
    ],
    ids=str,
)
def test_a_hostile_call_is_refused_in_a_short_sentence(call: Call, why: str) -> None:
    verdict = compare_with_runs(replace(RECORD, call=call))
    assert verdict.state == "cannot be had" and why in verdict.why and len(verdict.why) < 700


def test_words_of_a_record_do_not_steer_the_terminal(tmp_path: Path) -> None:
    record = Record.of(draw(RUN, "verdict", text="A quiet delight."))
    evil = replace(record, source="\x1b[2J\x1b]0;title\x07\nx.html: equal.", view="\r\u202e", version="\x9b1")
    (path := tmp_path / "x.html").write_bytes(embed_record(BARE["html"], "html", evil))
    output = CliRunner().invoke(main, ["verify", str(path)]).output
    assert "equal" in output and output.count("\n") == 3 and all(char.isprintable() or char == "\n" for char in output)
