"""Hostile files: tables, exported figures with a changed record, other objects than files. A `Case` makes each when it runs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zlib
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path

from tools.attack.case import Made
from tools.attack.watch import environment

RUN = "sst2/ndt-unit-2"
RECORDED = ("name", "source", "frame", "table", "picture")  # texts of a record that are compared


def repeated(name: str, content: Callable[[], bytes]) -> Callable[[Path, Path], Made]:
    """A file of these bytes, under the name `input`."""

    def make(folder: Path, root: Path) -> Made:
        (folder / name).write_bytes(content())
        return {"input": str(folder / name)}

    return make


def long_cells(folder: Path, root: Path, rows: int = 5, repeats: int = 4_823_449) -> Made:
    """A small parquet file of few cells, each of many megabytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / "cells.parquet"
    table = pa.table({"text": ["good film " * repeats] * rows, "label": ["positive"] * rows})
    pq.write_table(table, path, compression="zstd", use_dictionary=False)
    return {"input": str(path)}


def markup() -> bytes:
    """A table whose texts and column names are markup that would leave a mark on the page if a browser ran it."""
    marks = ("<img src=x onerror=window.hit=1>", "<script>window.hit=1</script>", "[a](javascript:window.hit=1)", "**bold** $x^2$ :red[x]")
    rows = [f'"{mark} {word}",{label}' for mark in marks for word in ("good", "dull", "warm") for label in ("positive", "negative")]
    return "\n".join(["text,<b>label</b>", *rows * 3]).encode()


def named(name: str) -> Callable[[Path, Path], Made]:
    """Return an existing path as the input."""
    return lambda folder, root: {"input": name}


device = named("/dev/zero")


def pipe(folder: Path, root: Path, name: str = "pipe.svg") -> Made:
    """A pipe into which nobody writes."""
    os.mkfifo(folder / name)
    return {"input": str(folder / name)}


def folder_in_place(folder: Path, root: Path) -> Made:
    """A folder under the name of a figure."""
    (folder / "figure.svg").mkdir()
    return {"input": str(folder / "figure.svg")}


# ---- exported figures


@lru_cache(maxsize=8)
def exported(root: Path, suffix: str) -> bytes:
    """A figure as the checkout exports it."""
    import tempfile

    with tempfile.TemporaryDirectory() as spare:
        out = Path(spare) / f"figure.{suffix}"
        command = [sys.executable, "-m", "sentviz", "export", RUN, "confusion", "-o", str(out)]
        done = subprocess.run(command, cwd=root, env=environment(root, Path(spare)), capture_output=True, text=True, timeout=300)
        if done.returncode:
            raise RuntimeError(f"no figure could be exported: {done.stdout}{done.stderr}")
        return out.read_bytes()


def altered(field: str, suffix: str = "svg") -> Callable[[Path, Path], Made]:
    """An exported figure with a word put into one text of its record."""

    def make(folder: Path, root: Path) -> Made:
        data = exported(root, suffix)
        changed, count = re.subn(rb'("%s": ")' % field.encode(), rb"\1RETRACTED ", data, count=1)
        if not count:
            raise RuntimeError(f"the record of a {suffix} has no text {field!r}")
        return repeated(f"figure.{suffix}", lambda: changed)(folder, root)

    return make


def cut_out(fields: tuple[str, ...]) -> Callable[[Path, Path], Made]:
    """An exported figure whose record lacks fields and says another source, as if it had been written before there were any."""

    def make(folder: Path, root: Path) -> Made:
        data = exported(root, "svg").decode()
        metadata = re.search(r'(<metadata id="sentviz">)(.*?)(</metadata>)', data, re.DOTALL)
        if metadata is None:
            raise RuntimeError("an svg has no record")
        record = json.loads(metadata[2].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
        for field in fields:
            record.pop(field, None)
        record["source"] = "RETRACTED " + record["source"]
        text = json.dumps(record).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        return repeated("figure.svg", lambda: (data[: metadata.start(2)] + text + data[metadata.end(2) :]).encode())(folder, root)

    return make


def byte_changed(folder: Path, root: Path) -> Made:
    """An exported picture with one byte of its pixels changed, and the chunk's checksum made right again."""
    data = bytearray(exported(root, "png"))
    at = data.find(b"IDAT")
    length = int.from_bytes(data[at - 4 : at], "big")
    data[at + 4 + length // 2] ^= 1
    data[at + 4 + length : at + 8 + length] = zlib.crc32(data[at : at + 4 + length]).to_bytes(4, "big")
    return repeated("figure.png", lambda: bytes(data))(folder, root)


def figure(suffix: str) -> Callable[[Path, Path], Made]:
    """An exported figure as it is."""
    return lambda folder, root: repeated(f"figure.{suffix}", partial(exported, root, suffix))(folder, root)
