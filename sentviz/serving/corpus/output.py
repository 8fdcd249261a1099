"""Output of `sentviz score`: a folder that pyarrow and pandas read as one data set, with a part for each range of rows of each file.

_index.json                        run, options, and each file with its digest and its ranges of rows
part-<file>-<range>.parquet        file, row (from 1), label (class number, only with a column of labels; -1 = no label), predicted (class
                                   name; null if the row cannot be read), probability_<class>, calibrated_<class> (if the run has a
                                   temperature), tokens (number of tokens read), truncated (number of tokens beyond the model's maximum
                                   length, which are not read), remark; vector, attention, reason, word_<n> and value_<n> on request
_words/part-<file>-<range>.parquet counts of words by label and prediction, on request

A part appears when it is complete. Its metadata (`sentviz`) name the run, the file and the rows. The same run, files and options give
the same bytes in every part. A corpus can be one CSV file instead: every column of the input files, then the predictions.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from sentviz.analysis.testset.rows import Rows, RowsSource, predicted_rows
from sentviz.data.labels import Reading, canonical, classes_of
from sentviz.errors import InputError
from sentviz.io.documents import read_json
from sentviz.io.files import disk_errors, replacing, version
from sentviz.io.lazy import pa, pd, pq
from sentviz.io.spreadsheet import as_csv
from sentviz.io.typed import Form, above, fitted
from sentviz.runs.store import Run
from sentviz.serving.corpus.inputs import Source, all_fields

INDEX, WORDS, KEY, FORMAT = "_index.json", "_words", b"sentviz", 1
MAX_INDEX = 1 << 28  # size of the index in bytes

Task = tuple[int, int]  # number of a file, and of one of its ranges
LEFT_OUT = ("file", "label", "vector", "attention")  # columns of the parts; the input files have the label, as it was written


class Index(Form):
    """Content of the file `INDEX`."""

    run: str
    digest: str
    version: str
    labels: list[str]
    temperature: Annotated[float, above(0)]
    shape: dict[str, int]
    wishes: dict[str, Any]
    files: list[dict[str, Any]]


@dataclass(frozen=True)
class OutputOptions:
    """Optional outputs for each scored row, in addition to its class probabilities."""

    vectors: bool = False  # (d,) pooled vector in half precision
    attention: bool = False  # (L x H x measures) as in `sentviz.analysis.maps.heads`
    words: bool = False  # counts of words
    labels: str = ""  # class of each written label, as in 1=negative,2=positive; "" = found from the labels
    reasons: bool = False  # the reason and the words with the largest values, as in `sentviz.serving.corpus.answers`


@dataclass(frozen=True)
class ScoringJob:
    """Everything that a worker needs to score ranges of rows."""

    run: Run
    sources: tuple[Source, ...]
    options: OutputOptions
    out: Path

    @cached_property
    def class_of(self) -> dict[str, int]:
        """Class of each label of the files, -1 for none.

        Raises:
            LabelsError: the labels are not known to be classes of the run.
        """
        counts = label_counts(self.sources)
        return classes_of(counts, self.run.labels, Reading.of(labels=self.options.labels), "The labels") if counts else {}

    @property
    def tasks(self) -> list[Task]:
        """All ranges of all files."""
        return [(i, k) for i, source in enumerate(self.sources) for k in range(len(source.pieces))]

    def path(self, task: Task) -> Path:
        """Return the path of a range's part."""
        return self.out / part_name(task)

    def about(self, task: Task) -> dict[str, Any]:
        """Return the metadata of a part."""
        source, piece = self.sources[task[0]], self.sources[task[0]].pieces[task[1]]
        of = {"run": self.run.name, "digest": self.run.digest, "version": version(), "wishes": asdict(self.options)}
        return of | {"input": _identity(source), "first": piece.first, "rows": piece.rows}

    def index(self) -> dict[str, Any]:
        """Return the content of the file `INDEX`."""
        files = [_identity(source) | {"pieces": [[p.first, p.rows, p.start, p.end] for p in source.pieces]} for source in self.sources]
        of = {"format": FORMAT, "run": self.run.name, "digest": self.run.digest, "version": version()}
        shape = {"labels": list(self.run.labels), "temperature": self.run.calibration, "shape": _shape(self.run)}
        return of | shape | {"wishes": asdict(self.options), "files": files}


def label_counts(sources: Sequence[Source]) -> Counter[str]:
    """Return the number of rows of each label of files, as `sentviz.data.labels.canonical` writes it."""
    counts: Counter[str] = Counter()
    for label, n in ((label, n) for source in sources for label, n in source.labels.items()):
        counts[canonical(label)] += n
    return counts


def part_name(task: Task) -> str:
    """Return the file name of a range's part."""
    return "part-{:05}-{:05}.parquet".format(*task)


def is_scored(path: str | Path) -> bool:
    """Return whether a path is a folder that `sentviz score` wrote."""
    return (Path(path) / INDEX).is_file()


def prepare(job: ScoringJob) -> list[Task]:
    """Create the folder, or continue in it, and return the ranges that are not scored yet. The caller must hold the folder's lock."""
    index = json.loads(json.dumps(job.index()))
    if not is_scored(job.out):
        if job.out.exists() and not (job.out.is_dir() and not any(job.out.iterdir())):
            raise InputError(f"{job.out} already exists and was not written by `sentviz score`. Choose another name.")
        job.out.mkdir(parents=True, exist_ok=True)
        with replacing(job.out / INDEX) as part:
            part.write_text(json.dumps(index, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")
        return job.tasks
    _check_same(_read_index(job.out), index, job.out)
    remove_unfinished(job.out)
    return [task for task in job.tasks if not _is_complete(job, task)]


def remove_unfinished(out: Path) -> None:
    """Remove unfinished files of workers that were stopped while writing. The caller must hold the folder's lock."""
    for path in (*out.glob(".*.part"), *(out / WORDS).glob(".*.part")):
        path.unlink(missing_ok=True)


def _is_complete(job: ScoringJob, task: Task) -> bool:
    try:
        about = json.loads((pq.read_schema(job.path(task)).metadata or {})[KEY])
    except (OSError, pa.ArrowException, KeyError, ValueError):
        return False
    return bool(about == json.loads(json.dumps(job.about(task)))) and (
        not job.options.words or (job.out / WORDS / part_name(task)).is_file()
    )


def _check_same(old_index: Mapping[str, Any], new_index: Mapping[str, Any], out: Path) -> None:
    """Raise InputError with the first difference of two indexes."""
    for key, words in (
        ("digest", "run"),
        ("version", "version of sentviz"),
        ("wishes", "choice of vectors, attention, words, reasons and labels"),
    ):
        if old_index.get(key) != new_index[key]:
            before, after = (f"{index['run']} ({index[key]})" if key == "digest" else index[key] for index in (old_index, new_index))
            difference = "" if key == "wishes" else f": {before}, not {after}"
            raise InputError(f"{out} holds predictions of another {words}{difference}. Choose another name, or remove the folder.")
    old, new = ({file["name"]: file for file in index["files"]} for index in (old_index, new_index))
    for name in dict.fromkeys((*old, *new)):
        if old.get(name) != new.get(name):
            change = (
                "was not among the files"
                if name not in old
                else "is missing now"
                if name not in new
                else "was different or read differently"
            )
            raise InputError(f"{out} holds predictions of other files: {name} {change}. Choose another name, or remove the folder.")


def _read_index(out: Path) -> Index:
    try:
        index = read_json(out / INDEX, MAX_INDEX, INDEX)
        stored = fitted(Form, index)["format"]
        known = fitted(Index, index) if stored == FORMAT else None
    except InputError as fault:
        raise InputError(f"{out / INDEX} is damaged ({str(fault).rstrip('.')}): score the files again under another name.") from fault
    if known is None:
        raise InputError(f"{out} has format {stored}, and this version reads {FORMAT}. Score the files again.")
    return known


def _identity(source: Source) -> dict[str, Any]:
    return {key: value for key, value in asdict(source).items() if key not in ("path", "pieces", "labels")}


def _shape(run: Run) -> dict[str, Any]:
    has = run.capabilities
    return {"layers": has.layers, "heads": has.heads}


class Scored:
    """A complete folder that `sentviz score` wrote."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if not is_scored(folder):
            raise InputError(f"{folder} is not an output of `sentviz score`.")
        self.index = _read_index(self.folder)
        self.run, self.digest = str(self.index["run"]), str(self.index["digest"])
        self.labels = tuple(self.index["labels"])
        tasks = [(i, k) for i, file in enumerate(self.index["files"]) for k in range(len(file["pieces"]))]
        self.parts = [self.folder / part_name(task) for task in tasks]
        if missing := sum(not part.is_file() for part in self.parts):
            raise InputError(f"{folder} lacks {missing:,} of its {len(tasks):,} parts. Run the command that began it again.")

    @cached_property
    def n(self) -> int:
        """Number of rows, with those that could not be read."""
        return sum(piece[1] for file in self.index["files"] for piece in file["pieces"])

    @property
    def options(self) -> OutputOptions:
        """Optional outputs that the folder holds."""
        return OutputOptions(**self.index["wishes"])

    @property
    def classes(self) -> list[str]:
        """Names of the columns with calibrated probabilities."""
        kind = "probability" if self.index["temperature"] == 1 else "calibrated"
        return [f"{kind}_{label}" for label in self.labels]

    def part(self, place: int, columns: list[str] | None = None) -> pa.Table:
        """Return the part with number `place`, with all columns or only some."""
        return pq.read_table(self.parts[place], columns=columns, partitioning=None)

    def rows(self, place: int | None = None) -> Rows:
        """Return the predicted rows of one part, or of all, without their texts, as pages and statistics use them."""

        columns = ["file", "row", *(["label"] if self._labelled else []), *self.classes]
        places = range(len(self.parts)) if place is None else [place]
        frame = pd.concat([self.part(i, columns).to_pandas() for i in places], ignore_index=True)
        frame = frame[frame[self.classes[0]].notna()].reset_index(drop=True)
        shares = frame[self.classes].to_numpy(np.float64)
        label = frame["label"].to_numpy(np.int64) if self._labelled else np.full(len(frame), -1)
        single_file = len(self.index["files"]) == 1
        ids = frame["row"].astype(str) if single_file else frame["file"].astype(str) + ":" + frame["row"].astype(str)
        source = RowsSource(self.run, self.digest)
        rows = predicted_rows(source, "mine", self.labels, {"id": ids.to_numpy(), "label": label}, shares)
        return replace(rows, calibration=float(self.index["temperature"]))

    @property
    def _labelled(self) -> bool:
        return any(file["label"] for file in self.index["files"])


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
