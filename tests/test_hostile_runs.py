"""Runs and records of figures that somebody else wrote: each is refused in one sentence, and no other run notices."""

import gzip
import hashlib
import json
import os
import re
import shutil
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from click.testing import CliRunner

from sentviz.charts.gallery import draw
from sentviz.charts.source import Call, Source
from sentviz.cli import main
from sentviz.data.tags import Tagger
from sentviz.data.tokenizers import Tokenizer
from sentviz.errors import InputError, RunError, SentvizError
from sentviz.export.embedded_record import RECORD_FORMATS, _insert, _split, embed_record, extract_record
from sentviz.export.record import MAX_PANELS, MAX_RECORD, MAX_WORDS, Record
from sentviz.export.verify import compare_with_runs, verify
from sentviz.io.typed import bare, fields_of
from sentviz.models.pretrained.checkpoint import read_checkpoint
from sentviz.models.pretrained.tokens import PretrainedTokenizer
from sentviz.runs import store
from sentviz.runs.catalog import catalog, faults
from sentviz.runs.configs import CONFIGS, read_config
from sentviz.runs.releases import read_index
from sentviz.runs.store import Run, find, runs
from sentviz.serving.onnx.session import read_card
from sentviz.training.recipe import Recipe
from tests.kit import refused

HUGE = 10**12


def model(**changes: Any) -> Callable[[dict[str, Any]], object]:
    return lambda config: config["model"].update(changes)


def nested(levels: int) -> list[Any]:
    inner: list[Any] = []
    for _ in range(levels):
        inner = [inner]
    return inner


CONFIGURATIONS: list[tuple[Callable[[dict[str, Any]], object], str]] = [
    (model(layers=HUGE), "layers must be a whole number from 1 to 1,000, not 1000000000000"),
    (model(width=10**4_000), "has more than 40 digits"),
    (model(global_tokens=[0] * 1_001), "global_tokens must be a list of at most 1,000 entries, not"),
    (model(global_tokens=[1 << 40]), "global_tokens[0] must be a whole number from -131,072 to 131,072, not 1099511627776"),
    (model(lambda_start=nested(200)), "its lists are nested too deeply; 100 levels are read"),
    (model(kind=["encoder"]), "it is of the kind ['encoder']"),
    (lambda config: config.update(temperature=10**400), "the value of temperature has more than 40 digits"),
    (lambda config: config.update(labels=[str(i) for i in range(1_001)]), "must be a list of 2 to 1,000 entries, not"),
    (lambda config: config.update(hardware="x" * 100_001), "hardware must be a text of at most 100,000 characters, not"),
    (lambda config: config["files"].update({"../model.safetensors": "0" * 64}), "which is not a file of a run"),
    (lambda config: config["files"].update({"a\\b": "0" * 64}), "which is not a file of a run"),
    (lambda config: config["files"].update({"metrics.json": "0"}), "files.metrics.json must be 64 hex digits, not '0'"),
]


@pytest.fixture
def shelf(tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provide two runs only: one to damage, and another one."""
    monkeypatch.setattr(store, "SHIPPED", tmp_path / "none")
    monkeypatch.setenv("SENTVIZ_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    for name in ("victim", "neighbour"):
        shutil.copytree(tiny_run, tmp_path / "runs" / "toy" / name)
    return tmp_path / "runs" / "toy"


def alone(reason: str) -> None:
    """Check that the damaged run gives one sentence and that the other run is unchanged."""
    available = runs()
    assert isinstance(available["toy/neighbour"], Run) and set(available) == {"toy/neighbour", "toy/victim"}
    message = str(available["toy/victim"])
    assert isinstance(available["toy/victim"], RunError) and reason in message and "\n" not in message and len(message) < 400
    assert message.count("toy/victim") == 1, message
    assert catalog().set_index("run").loc["toy/victim", "problem"] == message


def test_a_configuration_that_no_machine_could_hold(shelf: Path) -> None:
    path = shelf / "victim" / "config.json"
    good = path.read_text()
    for change, reason in CONFIGURATIONS:
        config = json.loads(good)
        change(config)
        path.write_text(json.dumps(config))
        alone(reason)
    for text in (b"[" * 100_000, b'{"a":' * 100_000, b"9" * 10_000, b'{"format": 1e999}', b"", b"\0", b"\xed\xa0\x80"):
        (shelf / "victim" / "config.json").write_bytes(text)
        alone("config.json")


@pytest.mark.parametrize("kind", CONFIGS)
def test_every_size_of_every_kind_has_bounds(kind: str) -> None:
    limits = {name: get_args(hint)[1] for name, hint in fields_of(CONFIGS[kind]).items() if bare(hint) is int}
    usual = {"architecture": "bert", "vocab_size": 9, "classes": 2, "max_length": 9, "width": 8, "layers": 1, "heads": 1}
    known = {name: usual[name] for name in usual if name in CONFIGS[kind].__annotations__}
    assert read_config({"kind": kind} | known)
    for name, limit in limits.items():
        with pytest.raises(ValueError, match=f"{name} must be a whole number from {limit.ge} to {limit.le:,}, not {limit.le + 1}"):
            read_config({"kind": kind} | known | {name: limit.le + 1})


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (os.mkfifo, "{file} is a pipe, not a file."),
        (Path.mkdir, "{file} is a folder, not a file."),
        (lambda path: path.symlink_to("/dev/zero"), "{file} is a link to another folder"),
        (lambda path: path.symlink_to("../../../it"), "{file} is a link to another folder"),
        (lambda path: path.touch() or os.truncate(path, 1 << 40), "{file} has 1,099,512 MB; at most"),
    ],
)
def test_a_file_that_is_none(damage: Callable[[Path], object], reason: str, shelf: Path) -> None:
    for run, file in (("neighbour", "model.safetensors"), ("victim", "config.json")):
        (shelf / run / file).rename(shelf.parents[1] / "it")
        damage(shelf / run / file)
    messages = faults([run for run in runs().values() if isinstance(run, Run)], ["model.safetensors"])
    assert set(messages) == {"toy/neighbour"} and reason.format(file="model.safetensors") in messages["toy/neighbour"]
    alone(reason.format(file="config.json"))
    refused(RunError, "victim", store.find, shelf / "victim")


@pytest.mark.parametrize("error", [MemoryError, RecursionError, ZeroDivisionError])
def test_any_fault_of_a_run_is_its_own(error: type[Exception], shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (shelf / "victim" / "config.json").write_text((shelf / "victim" / "config.json").read_text() + "\n")
    (shelf / "victim" / "metrics.json").write_text((shelf / "victim" / "metrics.json").read_text() + "\n")
    whole = Run.open(shelf / "victim", "toy/victim")
    usual = Run.shape.func

    def broken(run: Run) -> Any:
        if run.name == "toy/victim":
            raise error
        return usual(run)

    monkeypatch.setattr(Run.shape, "func", broken)
    alone(f"toy/victim: config.json cannot be read ({error.__name__}).")
    monkeypatch.setattr(Run, "metrics", lambda run: broken(run))
    assert faults([whole], ["metrics.json"]) == {"toy/victim": f"toy/victim: metrics.json cannot be read ({error.__name__})."}


def test_a_pipe_blocks_no_reader(tmp_path: Path) -> None:
    readers: dict[str, Callable[[Path], object]] = {
        "recipe.toml": Recipe.read,
        "index.json": read_index,
        "tokenizer.json": Tokenizer.load,
        "words.json": lambda path: PretrainedTokenizer.read(path, vocab_size=3, special_ids=(), unknown=None),
        "tagger.json.gz": Tagger.load,
        "model.json": lambda path: read_card(path.parent),
        "config.json": lambda path: read_checkpoint(path.parent),
        "model.safetensors": lambda path: read_checkpoint(path.parent),
    }
    for name, read in readers.items():
        os.mkfifo(tmp_path / name)
        refused(SentvizError, r"is a pipe, not a file", read, tmp_path / name)
        (tmp_path / name).unlink()
    (tmp_path / "t.gz").write_bytes(packed(TABLE))
    assert Tagger.load(tmp_path / "t.gz").labels == ("NOUN",)
    for text in TAGGERS:
        (tmp_path / "t.gz").write_bytes(text)
        refused(RunError, r"t\.gz is not a table of tags", Tagger.load, tmp_path / "t.gz")


def packed(table: object) -> bytes:
    return gzip.compress(json.dumps(table).encode())


TABLE = {"version": "x", "labels": ["NOUN"], "weights": {"bias": [0, 1.0]}, "certain": {}}
TAGGERS = (
    gzip.compress(b" " * (1 << 27)),
    packed(TABLE)[:-9],
    packed(TABLE)[:12] + b"\xff" * 20,
    gzip.compress(b"[" * 100_000),
    packed(TABLE | {"weights": {"bias": [0, 10**400]}}),
    packed(TABLE | {"labels": ["NOUN"] * 101}),
    packed([]),
    packed(TABLE | {"weights": {"bias": [7, 1.0]}}),
)


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
        refused(InputError, ".", extract_record, whole[:place] + bytes([byte ^ 1 << place % 8]) + whole[place + 1 :])


def test_verify_compares_all_that_a_record_says(tmp_path: Path) -> None:
    _, text, rest = _split((EXPORTED / "runs.html").read_bytes())
    for way in leaves(json.loads(text or "")):
        (path := tmp_path / "x.html").write_bytes(_insert(rest, "html", changed(text or "", way)))
        verdict = verify(path)
        if way[0] in ("name", "source"):
            assert verdict.state == "numbers equal" and f"Its {way[0]} is not the one" in verdict.why, way
        elif way[0] in ("call", "runs", "frame", "table", "picture"):
            assert verdict.state in ("differs", "cannot be had"), way


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
    "an entry too few": (lambda: re.sub(r'"view": "[^"]*", ', "", written()), "its record is damaged"),
    "a call of something else": (lambda: written(call={"of": "", "figure": "", "options": {}, "module": "os"}), "its record is damaged"),
    "65 panels": (lambda: written(panels=[PANEL] * 65, call=None, runs=[]), f"names 65 figures, and a sheet holds {MAX_PANELS} at most"),
    "a sheet that is a figure": (lambda: written(panels=[PANEL]), "describes a sheet and a single figure at once"),
    "nothing": (lambda: "", "its record is damaged"),
    "numbers that do not fit": (lambda: written(table="eJyrrgUAAXUA+Q=="), "do not have the stored digest"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_record_that_is_none_is_refused_in_a_sentence(name: str) -> None:
    write, why = HOSTILE[name]
    refused(InputError, rf"^[^\n]*{re.escape(why)}[^\n]*$", Record.read, write())


@pytest.mark.parametrize("format", RECORD_FORMATS)
def test_of_several_records_none_counts(format: str) -> None:
    twice = embed_record(embed_record(BARE[format], format, RECORD), format, replace(RECORD, source="Of another run."))
    refused(InputError, "several records, but a file from sentviz has only one", extract_record, twice)


def test_hostile_files_and_calls_are_short_sentences() -> None:
    for data, why in (
        (forged(b"<svg " * 400_000, "svg"), "damaged"),
        (b"%PDF-1.4" + b"\n% the record of sentviz\n" + b"/Sentviz (" * 200_000, "damaged"),
        (forged(BARE["pdf"].replace(b"/Size 2\n", b"/Size " + b"9" * 5_000 + b"\n"), "pdf"), "damaged"),
        (b"<html>" + b'<script type="application/json" id="sentviz">' * 2, "several|damaged"),
        (BARE["png"][:8] + bytes(3) + b"\x7f" * 40, "no sentviz record"),
    ):
        refused(InputError, why, extract_record, data)
    for call, why in (
        (Call(RUN, "smoother", {"kernel": 10**12}), "yes or no, not 1000000000000"),
        (Call("all", "separation", {"rows": 10**12}), "200,000 sequences at most"),
        (Call("/etc", "coverage", {}), "It shows '/etc', which is not available."),
        (Call(RUN, "x" * 100_000, {}), "There is no figure 'xxx"),
        (Call(RUN, "verdict", {"module": "os"}), "takes no module"),
        (Call(RUN, "attention", {"layer": ()}), "It cannot be drawn again"),
    ):
        verdict = compare_with_runs(replace(RECORD, call=call))
        assert verdict.state == "cannot be had" and why in verdict.why and len(verdict.why) < 700


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, why in ((Path("/dev/zero"), "It is a device, not a file."), (tmp_path / "pipe", "It is a pipe, not a file.")):
        assert (verify(path).state, verify(path).why) == ("cannot be had", why)
    record = Record.of(draw(RUN, "verdict", text="A quiet delight."))
    evil = replace(record, source="\x1b[2J\x1b]0;title\x07\nx.html: equal.", view="\r\u202e", version="\x9b1")
    (path := tmp_path / "x.html").write_bytes(embed_record(BARE["html"], "html", evil))
    output = CliRunner().invoke(main, ["verify", str(path)]).output
    assert "equal" in output and output.count("\n") == 3 and all(char.isprintable() or char == "\n" for char in output)
    record, folder = Record.of(draw(RUN, "verdict", text="A quiet delight.")), str(find(RUN).folder)
    for call in (Call(folder, "verdict", {}), *(Call(RUN, "curves", {"versus": versus}) for versus in (folder, (folder,), {"a": folder}))):
        verdict = compare_with_runs(replace(record, call=call))
        assert verdict.state == "differs" and "a run that is not named in its record:" in verdict.why, call
    assert compare_with_runs(replace(record, runs=())).state == "differs"
    often = compare_with_runs(replace(record, call=Call(RUN, "curves", {"versus": (RUN,) * 50_000})))
    assert often.state == "differs" and "50,001 runs" in often.why
