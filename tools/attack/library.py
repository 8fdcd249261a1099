"""Attacks on the library: a command, or lines of Python, in a process of their own."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

from tools.attack.case import Case, Judge, Made, never, nothing, says
from tools.attack.folders import ARCHIVES, CONFIGS, archive, symlinked
from tools.attack.inputs import (
    RECORDED,
    RUN,
    altered,
    byte_changed,
    cut_out,
    device,
    figure,
    folder_in_place,
    long_cells,
    named,
    pipe,
    repeated,
)

SENTENCE = "A warm story with a clever end."
CLI = ("-m", "sentviz")
EXPLAIN = (*CLI, "explain", RUN, SENTENCE)
EXPORT = (*CLI, "export", RUN, "confusion", "-o")
FAULTS = r"Traceback|fault of sentviz|KeyError|ValueError|\bErrno\b|MemoryError"
TIDY = never(FAULTS)


def code(lines: str) -> tuple[str, ...]:
    """Lines of Python, whose expected errors are one sentence."""
    body = textwrap.indent(textwrap.dedent(lines).strip(), "    ")
    return (
        "-c",
        f"from sentviz.errors import SentvizError\ntry:\n{body}\nexcept SentvizError as error:\n    print('Error: ' + str(error))",
    )


def refused(*words: str) -> Judge:
    """An error of one sentence, which has these words."""

    def judge(output: str) -> str:
        return (
            TIDY(output) or says(r"(?m)^Error: |refused|cannot")(output) or next((why for word in words if (why := says(word)(output))), "")
        )

    return judge


def outside(*paths: str) -> Judge:
    """A refusal, and no file at places outside."""

    def judge(output: str) -> str:
        there = [path for path in map(Path, paths) if path.exists()]
        for path in there:
            path.unlink()
        return f"wrote {there[0]}" if there else TIDY(output)

    return judge


PREDICT = """
import sentviz
model = sentviz.load("sst2/ndt-unit-2")
frame = model.predict(["good film " * {repeats}])
print(frame["label"][0], frame["remark"][0] or "no remark")
"""
TRACE = """
import sentviz
print(sentviz.load("sst2/ndt-unit-2").trace("good film " * {repeats}, maps=False).label)
"""
LABELLED = """
from pathlib import Path
from sentviz.data.upload import labelled, read_table
path = Path({input!r})
frame, remarks = read_table(path.read_bytes(), path.name)
frame, more = labelled(frame, frame.columns[0], "", ("negative", "positive"))
print(len(frame), "rows of at most", frame["text"].str.len().max(), "characters;", *remarks, *more)
"""
GET = """
from pathlib import Path
from sentviz.runs.releases import get, read_index
print("kept in", get({name!r}, {source!r}, known=read_index(Path({index!r})), again=True))
"""
PACK = """
from pathlib import Path
from sentviz.runs.releases import release
from sentviz.runs.store import Run, runs
found = runs([{folder_of_runs!r}])[{run!r}]
if not isinstance(found, Run):
    raise found
release([found], Path({folder_of_runs!r}).parent / "release")
print("packed")
"""
BYTES = """
from pathlib import Path
from sentviz.errors import InputError
from sentviz.export.embedded_record import extract_record
data = Path({input!r}).read_bytes()
start = data.index(b'<metadata id="sentviz">')
end = data.index(b"</metadata>", start)
missed, tried = [], [at for at in range(0, len(data), 53) if not start <= at < end]
for at in tried:
    try:
        extract_record(data[:at] + bytes([data[at] ^ 1]) + data[at + 1:])
        missed.append(at)
    except InputError:
        pass
print(f"{{len(missed)}} of {{len(tried)}} changed bytes of the picture are not noticed", missed[:5] if missed else "")
"""
TRAIN = """
from pathlib import Path
import pytest
from sentviz.training import train
from tests.kit import toy_recipe, use_toy_data
with pytest.MonkeyPatch.context() as patch:
    use_toy_data(patch)
    print(train(toy_recipe(), Path({disk!r}), progress=False).name, "is written")
"""

VERIFY = (*CLI, "verify", "{input}")
CUT = says(r"cut|characters")


def _cut(output: str) -> str:
    return TIDY(output) or CUT(output)


def _innocent(output: str) -> str:
    return TIDY(output) or says(r"positive|negative")(output)


def _record(name: str, make: Callable[[Path, Path], Made]) -> Case:
    """A changed word of the record that `verify` compares: link and style are free, and no version is compared."""

    def judge(output: str) -> str:
        return TIDY(output) or says("numbers equal.* is not the one|differs|cannot be had")(output)

    return Case(f"record: {name}", "library", make, VERIFY, judge, EXPLAIN)


def _read(name: str, words: tuple[str, ...], make: Callable[[Path, Path], Made]) -> Case:
    return Case(name, "library", make, (*CLI, *words), TIDY, EXPLAIN, seconds=60)


def _row_of(megabytes: int) -> Callable[[Path, Path], Made]:
    return repeated("long.csv", lambda: b"text,label\n" + b"good film " * (megabytes * 100_000) + b",positive\n")


LIBRARY = (
    Case("five cells of 46 MB: labelled", "library", long_cells, code(LABELLED), _cut, EXPLAIN),
    Case("five cells of 46 MB: score", "library", long_cells, (*CLI, "score", RUN, "{input}", "-o", "{folder}/out"), TIDY, EXPLAIN),
    Case("a text of 40 MB: predict", "library", nothing, code(PREDICT.format(repeats=4_000_000)), TIDY, EXPLAIN),
    Case("a text of 40 MB: trace", "library", nothing, code(TRACE.format(repeats=4_000_000)), TIDY, EXPLAIN),
    Case("a line of 40 MB: labelled", "library", _row_of(40), code(LABELLED), TIDY, EXPLAIN),
    Case(
        "duplicate columns",
        "library",
        repeated("two.csv", lambda: b"text,text,label\na warm song,a dull song,positive\n" * 2),
        code(LABELLED),
        refused("several columns|twice|same name"),
        EXPLAIN,
    ),
    Case(
        "1e6 fields",
        "library",
        repeated("wide.csv", lambda: b"text" + b",x" * 10**6 + b"\nb" + b",y" * 10**6),
        code(LABELLED),
        refused("columns"),
        EXPLAIN,
    ),
    *(Case(f"run beside: {name}", "library", make, EXPLAIN, _innocent, EXPLAIN, seconds=60) for name, make in CONFIGS.items()),
    *(
        Case(f"run asked: {name}", "library", make, (*CLI, "explain", "{run}", SENTENCE), TIDY, EXPLAIN, seconds=60)
        for name, make in CONFIGS.items()
    ),
    *(
        Case(f"run packed: {name}", "library", CONFIGS[name], code(PACK), TIDY, EXPLAIN, seconds=60)
        for name in ("config a pipe", "config a folder", "files outside", "deep config")
    ),
    Case("run asked: weights a link", "library", symlinked, (*CLI, "explain", "{run}", SENTENCE), refused("link"), EXPLAIN),
    Case("run packed: weights a link", "library", symlinked, code(PACK), refused("link"), EXPLAIN),
    *(_record(f"{field} changed", altered(field)) for field in RECORDED),
    *(_record(f"source changed in {suffix}", altered("source", suffix)) for suffix in ("html", "pdf")),
    _record("a byte of the picture", byte_changed),
    _record("digest taken out, source changed", cut_out(("sealed", "digest", "record", "seal", "whole"))),
    Case("record: each byte", "library", figure("svg"), code(BYTES), says("^0 of"), EXPLAIN, seconds=300),
    _read("verify /dev/zero", ("verify", "{input}"), device),
    _read("verify a pipe", ("verify", "{input}"), pipe),
    _read("verify a folder", ("verify", "{input}"), folder_in_place),
    _read("score /dev/zero", ("score", RUN, "{input}", "-o", "{folder}/out"), device),
    _read("score a pipe", ("score", RUN, "{input}", "-o", "{folder}/out"), lambda folder, root: pipe(folder, root, "pipe.csv")),
    _read("train /dev/zero", ("train", "{input}", "-o", "{folder}/out"), device),
    _read("train a pipe", ("train", "{input}", "-o", "{folder}/out"), lambda folder, root: pipe(folder, root, "pipe.toml")),
    _read("train a folder", ("train", "{input}", "-o", "{folder}/out"), named("/")),
    *(
        Case(f"archive: {kind}", "library", archive(kind), code(GET), outside("/tmp/hostile-absolute", "/tmp/hostile-above"), EXPLAIN)
        for kind in ARCHIVES
    ),
    Case("archive: index named ../../x", "library", archive(name="../../hostile-above"), code(GET), refused(), EXPLAIN),
    Case("training on a full disk", "library", nothing, code(TRAIN), refused("full|space|room"), EXPLAIN, "size=64k"),
    Case("training on a read-only disk", "library", nothing, code(TRAIN), refused("written|read-only"), EXPLAIN, "size=64k,ro"),
    Case("export to a full disk", "library", nothing, (*EXPORT, "{disk}/f.png"), refused("full|space|room"), EXPLAIN, "size=8k"),
    Case("export to a read-only disk", "library", nothing, (*EXPORT, "{disk}/f.png"), refused("written|read-only"), EXPLAIN, "size=8k,ro"),
)
