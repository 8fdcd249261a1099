"""Hostile folders and archives of runs: a shipped run of the checkout with one thing changed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tools.attack.case import Made

VICTIM = "sst2/ndt-unit-2"
BAD = "sst2/hostile"
Change = Callable[[dict[str, Any]], object]


def _copied(folder: Path, root: Path) -> Path:
    """A copy of a shipped run, below a folder for SENTVIZ_RUNS."""
    target = folder / "runs" / BAD
    shutil.copytree(root / "checkpoints" / VICTIM, target)
    return target


def _found(folder: Path) -> Made:
    return {"run": BAD, "folder_of_runs": str(folder / "runs"), "SENTVIZ_RUNS": str(folder / "runs")}


def configured(change: Change) -> Callable[[Path, Path], Made]:
    """A run whose config.json was changed."""

    def make(folder: Path, root: Path) -> Made:
        path = _copied(folder, root) / "config.json"
        config = json.loads(path.read_text())
        change(config)
        path.write_text(json.dumps(config))
        return _found(folder)

    return make


def placed(put: Callable[[Path], object]) -> Callable[[Path, Path], Made]:
    """A run with something else in place of its config.json."""

    def make(folder: Path, root: Path) -> Made:
        path = _copied(folder, root) / "config.json"
        path.unlink()
        put(path)
        return _found(folder)

    return make


def symlinked(folder: Path, root: Path) -> Made:
    """A run whose weights are a link out of its folder."""
    run = _copied(folder, root)
    shutil.move(run / "model.safetensors", folder / "elsewhere.safetensors")
    (run / "model.safetensors").symlink_to(folder / "elsewhere.safetensors")
    return _found(folder)


def _model(**values: Any) -> Change:
    return lambda config: config["model"].update(values)


CONFIGS: dict[str, Callable[[Path, Path], Made]] = {
    "1e12 layers": configured(_model(layers=10**12)),
    "no lambda_start": configured(_model(lambda_start=[])),
    "1e9 heads": configured(_model(heads=10**9)),
    "1e9 classes": configured(_model(classes=10**9)),
    "1e9 components": configured(_model(components=10**9)),
    **{f"1e9 {size}": configured(_model(**{size: 10**9})) for size in ("width", "ffn_width", "vocab_size", "max_length")},
    **{f"8e6 {size}": configured(_model(**{size: 8 * 10**6})) for size in ("ffn_width", "vocab_size", "max_length")},
    "negative width": configured(_model(width=-128)),
    "temperature 1e-300": configured(lambda config: config.update(temperature=1e-300)),
    "markup as labels": configured(lambda config: config.update(labels=["<script>window.hit=1</script>", "b" * 10**6])),
    "files outside": configured(lambda config: config["files"].update({"../../../../etc/passwd": "0" * 64})),
    "config a pipe": placed(os.mkfifo),
    "config a folder": placed(Path.mkdir),
    "config a link to /dev/zero": placed(lambda path: path.symlink_to("/dev/zero")),
    "config of 200 MB": placed(lambda path: path.write_bytes(b'{"model": "' + b"x" * 200_000_000 + b'"}')),
    "deep config": placed(lambda path: path.write_bytes(b'{"model": ' + b"[" * 200_000 + b"]" * 200_000 + b"}")),
}


# ---- archives


def _zipped(path: Path, files: list[tuple[str, bytes]], kind: int = zipfile.ZIP_STORED) -> None:
    with zipfile.ZipFile(path, "w", kind) as archive:
        for name, data in files:
            archive.writestr(zipfile.ZipInfo(name), data, kind)


def _own(root: Path) -> list[tuple[str, bytes]]:
    run = root / "checkpoints" / VICTIM
    names = ("config.json", *sorted(json.loads((run / "config.json").read_text())["files"]))
    return [(name, (run / name).read_bytes()) for name in names]


def _with(*more: tuple[str, bytes]) -> Callable[[Path, Path], None]:
    return lambda path, root: _zipped(path, [*_own(root), *more])


def _cut(path: Path, root: Path) -> None:
    _zipped(path, _own(root))
    path.write_bytes(path.read_bytes()[:100_000])


def _truncated(path: Path, root: Path) -> None:
    """The directory at the end is whole, and says that a member goes on beyond the end."""
    _zipped(path, _own(root))
    data = bytearray(path.read_bytes())
    at = data.find(b"PK\x01\x02")
    data[at + 20 : at + 28] = struct.pack("<II", 2**31 - 1, 2**31 - 1)
    path.write_bytes(bytes(data))


def _linked(path: Path, root: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in _own(root):
            info = zipfile.ZipInfo(name)
            if name == "model.safetensors":
                info.create_system, info.external_attr, data = 3, 0o120777 << 16, b"/etc/passwd"
            archive.writestr(info, data)


def _flagged(path: Path, root: Path) -> None:
    """All members say that they are encrypted."""
    _zipped(path, _own(root))
    data = bytearray(path.read_bytes())
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = -1
        while (place := data.find(mark, place + 1)) >= 0:
            data[place + at] |= 1
    path.write_bytes(bytes(data))


ARCHIVES: dict[str, Callable[[Path, Path], None]] = {
    "no zip": lambda path, root: path.write_bytes(b"PK\x03\x04" + b"x" * 1000) and None,
    "truncated": _cut,
    "member beyond the end": _truncated,
    "bomb": lambda path, root: _zipped(path, [*_own(root), ("bomb", b"\0" * 300_000_000)], zipfile.ZIP_DEFLATED),
    "weights a link": _linked,
    "encrypted": _flagged,
    "absolute name": _with(("/tmp/hostile-absolute", b"x")),
    "name above": _with(("../../hostile-above", b"x")),
    "file and folder": _with(("a", b"x"), ("a/b", b"x")),
    "folder as file": _with(("epochs/", b""), ("heads.parquet/", b"")),
    "a name twice": _with(("config.json", b"{}")),
    "config a folder": lambda path, root: _zipped(path, [("config.json/", b""), *_own(root)[1:]]),
    "long name": _with(("x" * 5000, b"x")),
    "NUL in a name": _with(("a\0b", b"x")),
    "nothing": lambda path, root: _zipped(path, []),
}


def archive(kind: str = "", name: str = VICTIM) -> Callable[[Path, Path], Made]:
    """A folder of a release that holds one archive, of a kind or, with none, as it should be, listed by the digest that it has."""

    def make(folder: Path, root: Path) -> Made:
        source = folder / "release"
        source.mkdir()
        path = source / (name.replace("/", ".") + ".zip")
        ARCHIVES.get(kind, _with())(path, root)
        data = path.read_bytes()
        digest = hashlib.sha256((root / "checkpoints" / VICTIM / "config.json").read_bytes()).hexdigest()[:12]
        entry = {"name": name, "digest": digest, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        (source / "index.json").write_text(json.dumps([entry]))
        return {"name": name, "source": str(source), "index": str(source / "index.json")}

    return make
