"""Inputs drawn by Hypothesis for whatever reads files: anything but an answer or a `SentvizError` within limits is a fault.

Each reader is tried in a process of its own, whose memory is limited. It imports nothing of `tests`, so that it tries any checkout's code.
"""

from __future__ import annotations

import copy
import hashlib
import io
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

VICTIM = "sst2/ndt-unit-2"
MEMORY = 8 << 30  # bytes of addresses that a reader's process may take; torch alone takes half
SECONDS = 20  # limit for one input
ROUND = 100  # inputs between two looks at the clock
Check = Callable[[Any], object]

# ---- what is drawn

NUMBERS = st.sampled_from([0, 1, -1, 2, 257, 10**6, 10**9, 10**12, 2**63, -(2**63), 10**400, 0.5, -0.0, 1e-300, 1e308])
WORDS = st.sampled_from(["", "a", "../../x", "/etc/passwd", "a\0b", "\ud800", "x" * 10_000, "<b>", "1", "nan", "💥", "sst2", "ndt-unit-2"])
LEAVES = st.none() | st.booleans() | NUMBERS | st.floats() | WORDS | st.text(max_size=20)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS | st.text(max_size=5), inner, max_size=4), max_leaves=8
)


def _places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from _places(each, (*at, key))


@st.composite
def changed_json(draw: Any, value: Any) -> str:
    """JSON with up to three values replaced or taken out."""
    value = copy.deepcopy(value)
    for _ in range(draw(st.integers(1, 3))):
        *inner, last = draw(st.sampled_from([at for at in _places(value) if at] or [("x",)]))
        within = value
        for key in inner:
            within = within[key]
        if draw(st.booleans()) and not (isinstance(within, dict) and last not in within):
            del within[last]
        else:
            within[last] = draw(VALUES)
    return json.dumps(value)


@st.composite
def changed_bytes(draw: Any, base: bytes) -> bytes:
    """Bytes with up to four places changed, cut, repeated or filled."""
    data = bytearray(base)
    for _ in range(draw(st.integers(1, 4))):
        at, end = (draw(st.integers(0, len(data))) for _ in range(2))
        match draw(st.sampled_from(["set", "cut", "insert", "repeat", "end"])):
            case "set" if data:
                data[at % len(data)] = draw(st.integers(0, 255))
            case "cut":
                del data[at:end]
            case "insert":
                data[at:at] = draw(st.binary(max_size=40))
            case "repeat":
                data[at:at] = data[at : at + min(abs(end - at), 10_000)]
            case _:
                del data[at:]
    return bytes(data)


def _table() -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(pa.table({"text": ["a warm song", None, "dull"] * 3, "label": [1, 0, 1] * 3, "more": [[1.5], [], None] * 3}), out)
    return out.getvalue()


CELLS = st.sampled_from(
    ['"', "'", ",", ";", "\t", "\n", "\r", "\r\n", "a", "text", "label", "ä", "\ufeff", "0", "é" * 10, '""', "|", " ", "\x0b"]
)
TABLES = (
    st.binary(max_size=300)
    | st.lists(CELLS, max_size=60).map(lambda cells: "".join(cells).encode())
    | st.lists(CELLS, max_size=60).map(lambda cells: "".join(cells).encode("utf-16"))
    | changed_bytes(_table())
)


# ---- what reads it


def _run_file(folder: Path, file: str, data: bytes) -> Any:
    """A run with other bytes in one of its files, sealed as if they belonged there."""
    from sentviz.runs.store import Run

    target = folder / "runs" / VICTIM
    if not target.is_dir():
        shutil.copytree(Path("checkpoints") / VICTIM, target)
    (target / file).write_bytes(data)
    config = json.loads((Path("checkpoints") / VICTIM / "config.json").read_text())
    if file != "config.json":
        config["files"][file] = hashlib.sha256(data).hexdigest()
        (target / "config.json").write_text(json.dumps(config))
    return Run.open(target, VICTIM)


def _shipped(file: str) -> bytes:
    return (Path("checkpoints") / VICTIM / file).read_bytes()


def config(folder: Path) -> tuple[st.SearchStrategy[Any], Check]:
    """config.json: opened, described and loaded."""

    def check(text: str) -> None:
        from sentviz.models.loading import load
        from sentviz.papers.cards import card

        run = _run_file(folder, "config.json", text.encode("utf-8", "surrogatepass"))
        _ = run.shape, run.capabilities, run.labels, run.epochs, run.configuration, run.has_weights
        card(run, [run])
        load(run).predict(["a warm song"])

    return changed_json(json.loads(_shipped("config.json"))), check


def metrics(folder: Path) -> tuple[st.SearchStrategy[Any], Check]:
    """Change a run's metrics.json and read the run."""
    return changed_json(json.loads(_shipped("metrics.json"))), lambda text: _run_file(folder, "metrics.json", text.encode()).metrics()


def frames(folder: Path) -> tuple[st.SearchStrategy[Any], Check]:
    """A table of a run."""
    return changed_bytes(_shipped("heads.parquet")), lambda data: _run_file(folder, "heads.parquet", data).frame("heads.parquet")


def example(folder: Path) -> tuple[st.SearchStrategy[Any], Check]:
    """The stored trace."""
    data = _shipped("example.safetensors")
    size = 8 + int.from_bytes(data[:8], "little")
    head = changed_bytes(data[:size]).map(lambda start: start + data[size:])
    meta = changed_json(json.loads(data[8:size])).map(lambda text: len(text.encode()).to_bytes(8, "little") + text.encode() + data[size:])
    return head | meta, lambda data: _run_file(folder, "example.safetensors", data).example()


def weights(folder: Path) -> tuple[st.SearchStrategy[Any], Check]:
    """The head of the weights, which says names, types and shapes."""
    data = _shipped("model.safetensors")
    size = 8 + int.from_bytes(data[:8], "little")
    head = changed_json(json.loads(data[8:size])).map(lambda text: len(text.encode()).to_bytes(8, "little") + text.encode() + data[size:])

    def check(data: bytes) -> None:
        from sentviz.models.loading import load

        load(_run_file(folder, "model.safetensors", data)).predict(["a warm song"])

    return head, check


def words(folder: Path) -> tuple[st.SearchStrategy[Any], Check]:
    """tokenizer.json, without most of its vocabulary's places."""
    from sentviz.data.tokenizers import Tokenizer

    value = json.loads(_shipped("tokenizer.json"))

    def check(text: str) -> None:
        path = folder / "tokenizer.json"
        path.write_text(text, encoding="utf-8")
        Tokenizer.load(path).encode("a warm song")

    small = {key: each for key, each in value.items() if key != "model"} | {
        "model": value["model"] | {"vocab": {"[PAD]": 0, "[UNK]": 1, "a": 2}}
    }
    return changed_json(small), check


def record(folder: Path) -> tuple[st.SearchStrategy[Any], Check]:
    """The record of an exported figure."""
    from sentviz.export.record import Record
    from sentviz.export.verify import compare_with_runs

    fields = json.loads(_exported().text())
    return changed_json(fields), lambda text: compare_with_runs(Record.read(text))


def sealed(folder: Path) -> tuple[st.SearchStrategy[Any], Check]:
    """An exported file of any kind."""
    from sentviz.export.embedded_record import embed_record, extract_record

    files = {
        "svg": b'<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0"/></svg>',
        "html": b"<!doctype html><html><head><title>x</title></head><body>x</body></html>",
        "pdf": b"%PDF-1.4\ntrailer\n<<\n/Size 3\n/Root 1 0 R\n>>\nstartxref\n10\n%%EOF\n",
    }
    whole = [embed_record(data, kind, _exported()) for kind, data in files.items()]
    return st.one_of(*map(changed_bytes, whole)), extract_record


def _exported() -> Any:
    from sentviz.charts.gallery import draw
    from sentviz.export.record import Record

    return Record.of(draw(VICTIM, "confusion"))


def upload(folder: Path) -> tuple[st.SearchStrategy[Any], Check]:
    """A visitor's table."""
    from sentviz.data.columns import guess
    from sentviz.data.table import Limits, parsed
    from sentviz.data.upload import labelled

    def check(data: bytes) -> None:
        read = parsed(data, "mine.csv", Limits())[0]
        frame = read.to_pandas() if hasattr(read, "to_pandas") else read  # older checkouts give a frame
        labelled(frame, guess(frame), guess(frame, labels=True), ("negative", "positive"))

    return TABLES, check


def scored(folder: Path) -> tuple[st.SearchStrategy[Any], Check]:
    """A file of rows to score."""
    from sentviz.serving.corpus.inputs import rows_of, survey

    def check(drawn: tuple[str, bytes]) -> None:
        suffix, data = drawn
        path = folder / f"rows.{suffix}"
        path.write_bytes(data)
        source = survey(path.name, path, rows=2)
        for piece in source.pieces:
            rows_of(source, piece)

    lines = st.lists(changed_json({"text": "a", "label": 1}), max_size=5).map(lambda lines: "\n".join(lines).encode())
    return st.tuples(st.sampled_from(["csv", "tsv", "txt", "jsonl", "parquet"]), TABLES | lines), check


def archive(folder: Path) -> tuple[st.SearchStrategy[Any], Check]:
    """A packed run of two small files."""
    import zipfile

    from sentviz.runs.releases import Packed, get

    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive_file:
        archive_file.writestr(zipfile.ZipInfo("config.json"), _shipped("config.json"))
        archive_file.writestr(zipfile.ZipInfo("metrics.json"), _shipped("metrics.json"))

    def check(data: bytes) -> None:
        (folder / "x.y.zip").write_bytes(data)
        entry = Packed("x/y", "0" * 12, len(data), hashlib.sha256(data).hexdigest())
        get("x/y", str(folder), known={"x/y": entry}, again=True)

    return changed_bytes(out.getvalue()), check


def recipe(folder: Path) -> tuple[st.SearchStrategy[Any], Check]:
    """Change a recipe's bytes and read it."""
    from sentviz.training.recipe import Recipe

    base = b'dataset = "sst2"\nmodel = "ndt-unit-2"\nexample = "a"\nepochs = 1\nlearning_rate = 1e-3\n[shape]\nwidth = 64\n'

    def check(data: bytes) -> None:
        (folder / "mine.toml").write_bytes(data)
        Recipe.read(folder / "mine.toml")

    return changed_bytes(base), check


READERS: dict[str, Callable[[Path], tuple[st.SearchStrategy[Any], Check]]] = {
    reader.__name__: reader
    for reader in (config, metrics, frames, example, weights, words, record, sealed, upload, scored, archive, recipe)
}


# ---- trying


def tried(name: str, minutes: float) -> Iterator[str]:
    """Faults of a reader, each once: where, what, and the smallest input that was found."""
    from sentviz.errors import SentvizError

    known: set[str] = set()
    end, number, drawn = time.monotonic() + 60 * minutes, 0, 0
    with tempfile.TemporaryDirectory(prefix="attack-fuzz-") as folder:
        os.environ["SENTVIZ_HOME"] = folder
        strategy, check = READERS[name](Path(folder))
        smallest: dict[str, Any] = {}

        def late(*_: object) -> None:
            raise TimeoutError(f"not read after {SECONDS} s")

        signal.signal(signal.SIGALRM, late)

        def attempt(data: Any) -> None:
            nonlocal drawn
            drawn += 1
            signal.alarm(SECONDS)
            try:
                check(data)
            except SentvizError:
                pass
            except Exception as error:
                own = [frame for frame in traceback.extract_tb(error.__traceback__) if "/sentviz/" in frame.filename]
                place = f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else "?"
                fault = f"{type(error).__name__} at {place}"
                if fault not in known and time.monotonic() < end:
                    smallest[fault] = (str(error)[:200], data)
                    raise
            finally:
                signal.alarm(0)

        while time.monotonic() < end:
            number += 1
            phases = (Phase.generate, Phase.shrink)
            plan = settings(max_examples=ROUND, deadline=None, database=None, phases=phases, suppress_health_check=list(HealthCheck))
            try:
                seed(number)(plan(given(strategy)(attempt)))()
            except Exception:  # `one` kept each fault and its smallest input in `smallest`
                for fault in smallest.keys() - known:
                    known.add(fault)
                    why, data = smallest[fault]
                    yield f"{name} falls: {fault}: {why}\n    {data!r:.600}"
    yield f"{name}: {drawn:,} inputs, {len(known)} faults"


def fuzzed(root: Path, minutes: float, only: str = "") -> str:
    """Every reader of a checkout, each for its share of the time, in a process with limits."""
    from tools.attack.watch import bounded, environment

    names, faults = [name for name in READERS if only in ("", name)], []
    for name in names:
        share = minutes / len(names)
        with tempfile.TemporaryDirectory() as home:
            command = [sys.executable, str(Path(__file__)), name, str(share)]
            done = bounded(command, root, environment(root, Path(home)), 60 * share + 120)
        faults.append(f"{done.output.strip()}{f'{name} falls: {done.why}' if done.why else ''}")
    return "\n".join(faults)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    for line in tried(sys.argv[1], float(sys.argv[2])):
        print(line, flush=True)  # noqa: T201 - a command
