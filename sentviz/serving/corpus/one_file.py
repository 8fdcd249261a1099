"""Predictions of a corpus as one CSV file: every column of the input files, then the predictions."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from sentviz.errors import InputError
from sentviz.io.files import disk_errors, replacing
from sentviz.io.lazy import pd
from sentviz.io.spreadsheet import as_csv
from sentviz.serving.corpus.inputs import Source, all_fields
from sentviz.serving.corpus.output import Scored

LEFT_OUT = ("file", "label", "vector", "attention")  # columns of the parts; the input files have the label, as it was written


def fits(out: Path) -> bool:
    """Return whether an output is one file, by its name: it ends with .csv and is not a folder."""
    return out.suffix.lower() == ".csv" and not out.is_dir()


def check(sources: Sequence[Source], out: Path) -> None:
    """Check that an output is not one of the input files."""
    if out.resolve() in {source.path.resolve() for source in sources}:
        raise InputError(f"{out} is one of the files to score. Choose another name for the output.")


def parts_of(out: Path) -> Path:
    """Return the folder next to an output that holds its parts until all rows are scored, so that a stopped command continues."""
    return out.with_name(f".{out.name}.parts")


def write(scored: Scored, sources: Sequence[Source], out: Path) -> None:
    """Write the file, and remove the folder with the parts.

    A column of the input whose name is also that of a prediction keeps its name; the prediction's name is followed by the run's name.
    """
    pieces = [(source, piece) for source in sources for piece in source.pieces]
    inputs: dict[str, None] = {}
    for source, piece in pieces:
        inputs |= dict.fromkeys(name for row in all_fields(source, piece) for name in row)
    with disk_errors(out), replacing(out) as part, part.open("wb") as file:
        for place, (source, piece) in enumerate(pieces):
            predictions = scored.part(place).to_pandas().drop(columns=list(LEFT_OUT), errors="ignore")
            predictions = predictions.rename(columns={name: f"{name} ({scored.run})" for name in predictions if name in inputs})
            frame = pd.DataFrame(all_fields(source, piece), columns=list(inputs), dtype=object)
            if len(sources) > 1:
                frame.insert(0, "file" if "file" not in inputs else f"file ({scored.run})", source.name)
            file.write(as_csv(pd.concat([frame, predictions.round(6)], axis=1), header=place == 0))
    shutil.rmtree(scored.folder, ignore_errors=True)
