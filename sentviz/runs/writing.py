"""Write run folders, and add files to them."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from sentviz.errors import RunError
from sentviz.io.files import hold, sha256, writing
from sentviz.io.lazy import pd
from sentviz.runs.run_files import FILES
from sentviz.runs.store import FORMAT, Run

PATIENCE = 60.0  # seconds to wait while another process writes the run


def write(folder: Path, config: Mapping[str, Any], writers: Mapping[str, Callable[[Path], object]]) -> None:
    """Write a run completely or not at all: each file by its writer, then config.json with their digests."""
    with writing(folder) as fresh:
        for file, save in writers.items():
            (fresh / file).parent.mkdir(exist_ok=True)
            save(fresh / file)
        write_config(fresh, config)


def write_config(folder: Path, config: Mapping[str, Any]) -> None:
    """Write config.json next to the files of an unfinished run, with their digests and, if `config` has none, the format."""
    files = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / "config.json"):
        path.chmod(0o644)
        files[path.relative_to(folder).as_posix()] = sha256(path)
    text = json.dumps({"format": FORMAT} | dict(config) | {"files": files}, indent=1, ensure_ascii=False)
    (folder / "config.json").write_text(text + "\n", encoding="utf-8")


def write_predictions(frame: pd.DataFrame, path: Path) -> None:
    """Write test.parquet: split, id, label and one probability per class (`Evaluation.frame`).

    The file takes about 60 % of the bytes that pandas' defaults need: a dictionary of ids, which all differ, is left out, and the bytes of
    probabilities are stored apart by their place in the number.
    """
    encodings = dict.fromkeys(frame.columns.difference(["split", "id", "label"]), "BYTE_STREAM_SPLIT")
    repeated = ["split", "label"]
    frame.to_parquet(path, index=False, compression="zstd", compression_level=9, use_dictionary=repeated, column_encoding=encodings)


def check_attachable(run: Run, *files: str) -> None:
    """Check that `attach` can store files with a run, before they are computed.

    Raises:
        RunError: the run's folder contains files of other origin, which would be lost, or cannot be written.
    """
    if run.is_shipped:
        return
    own = {run.folder / name for name in (*run.config["files"], "config.json", *files)}
    own |= {path.parent for path in own}
    if foreign := sorted(path.relative_to(run.folder).as_posix() for path in run.folder.rglob("*") if path not in own):
        raise RunError(f"{run.name}: its folder contains {foreign[0]}, which is not part of the run. Move it to another folder first.")
    if not all(os.access(folder, os.W_OK) for folder in (run.folder, run.folder.resolve().parent)):
        raise RunError(f"{run.name}: its folder cannot be written.")


def check_not_shipped(run: Run) -> None:
    """Check that a run may be written anew.

    Raises:
        RunError: it came with sentviz.
    """
    if run.is_shipped:
        raise RunError(f"{run.name} came with sentviz and is never changed. Copy {run.folder} to runs/{run.name} to change the copy.")


def attach(run: Run, file: str, frame: pd.DataFrame) -> Run:
    """Store a table with a run, replacing an older one; otherwise like `attach_files`."""
    return attach_files(run, {file: lambda path: frame.to_parquet(path, index=False, compression="zstd")})


def attach_files(run: Run, writers: Mapping[str, Callable[[Path], object]]) -> Run:
    """Store files with a run, completely or not at all, and return the run. Files attached by others in between stay.

    The digest of the run changes, except that of a shipped run: its files go to `Run.beside`.

    Raises:
        RunError: as `check_attachable`; a file of the run is damaged; the run was trained again since `run` was opened; or another process
            is writing the run.
    """
    if not run.is_shipped:
        return _into(run, writers)
    run.beside.parent.mkdir(parents=True, exist_ok=True)
    with hold(run.beside, PATIENCE) as mine:
        if not mine:
            raise RunError(f"{run.name} is being measured by another process.")
        write(run.beside, {"run": run.name}, _copies(run, without=writers) | dict(writers))
    return Run.open(run.folder, run.name)


def take_in(run: Run) -> Run:
    """Move what was measured on a shipped run into its folder, and return the run with its new digest: for a release that is being built.

    Raises:
        RunError: as for `attach_files`.
    """
    changed = _into(run, _copies(run))
    shutil.rmtree(run.beside, ignore_errors=True)
    return changed


def _copies(run: Run, without: Collection[str] = ()) -> dict[str, Callable[[Path], object]]:
    """Return functions that copy what was measured on a shipped run."""
    measured = [file for file, digest in run.files.items() if digest != run.config["files"].get(file) and file not in without]
    return {file: partial(shutil.copyfile, run.path(file)) for file in measured}


def _into(run: Run, writers: Mapping[str, Callable[[Path], object]]) -> Run:
    try:
        with hold(folder := run.folder.resolve(), PATIENCE) as mine:
            if not mine:
                raise RunError(f"{run.name} is being written by another process.")
            now = Run.open(folder, run.name)
            check_attachable(now, *writers)
            if any(now.config["files"].get(name) != run.config["files"].get(name) for name in FILES):
                raise RunError(f"{run.name} was trained again while it was measured. Measure it again.")
            files: dict[str, Callable[[Path], object]] = {name: partial(shutil.copyfile, now.path(name)) for name in now.config["files"]}
            write(folder, now.config, files | dict(writers))
    except PermissionError as error:
        raise RunError(f"{run.name}: its folder cannot be written.") from error
    return Run.open(run.folder, run.name)


if (
    __name__ == "__main__"
):  # python -m sentviz.runs.writing RUN ...: before a release, moves tables that were measured on RUN into its folder
    import sys

    from sentviz.runs.store import find

    for name in sys.argv[1:]:
        print(take_in(find(name)).digest, name)  # noqa: T201
