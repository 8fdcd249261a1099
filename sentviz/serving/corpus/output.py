"""What `sentviz score` writes: a folder that pyarrow and pandas read as one data set, a part for each range of rows of each file.

_index.json                        the run, what was asked, every file with its digest and its ranges of rows
part-<file>-<range>.parquet        file, row (from 1), label (class, where a column of labels was named; -1 = none), predicted (the class
                                   name; none where the row cannot be read), probability_<class>, calibrated_<class> (where the run has a
                                   temperature), tokens (that were read), remark; vector, attention where asked
_words/part-<file>-<range>.parquet counts of words by label and prediction, where asked

A part appears when it is complete, and its metadata (`sentviz`) say of which run and which rows of which file it is. The same run, files
and wishes give the same bytes in every part.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sentviz.errors import InputError
from sentviz.io.files import read_regular, replacing
from sentviz.runs.store import Run, version
from sentviz.serving.corpus.inputs import Source

if TYPE_CHECKING:
    import pyarrow as pa

    from sentviz.analysis.testset.rows import Rows

INDEX, WORDS, KEY, FORMAT = "_index.json", "_words", b"sentviz", 1
MOST_INDEX = 1 << 28  # bytes

Task = tuple[int, int]  # which file, which of its ranges


@dataclass(frozen=True)
class Wishes:
    """What is wanted of every row beside its answer."""

    vectors: bool = False  # (d,) what the classifier reads, half precision
    attention: bool = False  # (L x H x measures) of `sentviz.analysis.maps.heads`
    words: bool = False  # counts of words


@dataclass(frozen=True)
class Job:
    """All that a worker has to know."""

    run: Run
    sources: tuple[Source, ...]
    wishes: Wishes
    out: Path

    @property
    def tasks(self) -> list[Task]:
        """Every range of every file."""
        return [(i, k) for i, source in enumerate(self.sources) for k in range(len(source.pieces))]

    def path(self, task: Task) -> Path:
        """The part of a range."""
        return self.out / part_name(task)

    def about(self, task: Task) -> dict[str, Any]:
        """What a part says of itself."""
        source, piece = self.sources[task[0]], self.sources[task[0]].pieces[task[1]]
        of = {"run": self.run.name, "digest": self.run.digest, "version": version(), "wishes": asdict(self.wishes)}
        return of | {"input": _identity(source), "first": piece.first, "rows": piece.rows}

    def index(self) -> dict[str, Any]:
        """What stands in `INDEX`."""
        files = [_identity(source) | {"pieces": [[p.first, p.rows, p.start, p.end] for p in source.pieces]} for source in self.sources]
        of = {"format": FORMAT, "run": self.run.name, "digest": self.run.digest, "version": version()}
        shape = {"labels": list(self.run.labels), "temperature": self.run.calibration, "shape": _shape(self.run)}
        return of | shape | {"wishes": asdict(self.wishes), "files": files}


def part_name(task: Task) -> str:
    """The file of a range of rows."""
    return "part-{:05}-{:05}.parquet".format(*task)


def is_scored(path: str | Path) -> bool:
    """Whether something is a folder that `sentviz score` wrote."""
    return (Path(path) / INDEX).is_file()


def prepared(job: Job) -> list[Task]:
    """Make the folder, or go on in it: the ranges that are still to be scored. The folder has to be held.

    Raises:
        InputError: it holds something else, or what another run, other files or other wishes gave.
    """
    wanted = json.loads(json.dumps(job.index()))
    if not is_scored(job.out):
        if job.out.exists() and not (job.out.is_dir() and not any(job.out.iterdir())):
            raise InputError(f"{job.out} is there already and was not written by `sentviz score`; choose another name.")
        job.out.mkdir(parents=True, exist_ok=True)
        with replacing(job.out / INDEX) as part:
            part.write_text(json.dumps(wanted, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")
        return job.tasks
    _same(_index_of(job.out), wanted, job.out)
    swept(job.out)
    return [task for task in job.tasks if not _complete(job, task)]


def swept(out: Path) -> None:
    """Remove what workers left that were ended while they wrote. The folder has to be held."""
    for left in (*out.glob(".*.part"), *(out / WORDS).glob(".*.part")):
        left.unlink(missing_ok=True)


def _complete(job: Job, task: Task) -> bool:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        about = json.loads((pq.read_schema(job.path(task)).metadata or {})[KEY])
    except (OSError, pa.ArrowException, KeyError, ValueError):
        return False
    return bool(about == json.loads(json.dumps(job.about(task)))) and (
        not job.wishes.words or (job.out / WORDS / part_name(task)).is_file()
    )


def _same(there: dict[str, Any], wanted: dict[str, Any], out: Path) -> None:
    """Raises InputError with the first thing in which two outputs differ."""
    for key, words in (("digest", "run"), ("version", "version of sentviz"), ("wishes", "choice of vectors, attention and words")):
        if there.get(key) != wanted[key]:
            was, now = (f"{one['run']} ({one[key]})" if key == "digest" else one[key] for one in (there, wanted))
            told = "" if key == "wishes" else f": {was}, not {now}"
            raise InputError(f"{out} holds the answers of another {words}{told}; choose another name, or remove it.")
    old, new = ({one["name"]: one for one in index["files"]} for index in (there, wanted))
    for name in dict.fromkeys((*old, *new)):
        if old.get(name) != new.get(name):
            how = "was not among the files" if name not in old else "is missing now" if name not in new else "was another or read otherwise"
            raise InputError(f"{out} holds the answers to other files: {name} {how}; choose another name, or remove it.")


def _index_of(out: Path) -> dict[str, Any]:
    try:
        index = json.loads(read_regular(out / INDEX, MOST_INDEX, INDEX))
        if index["format"] != FORMAT:
            raise InputError(f"{out} has format {index['format']}; this version reads {FORMAT}.")
        _ = index["digest"], index["files"], index["wishes"], index["labels"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{out / INDEX} is damaged: score the files again under another name.") from error
    return dict(index)


def _identity(source: Source) -> dict[str, Any]:
    return {key: value for key, value in asdict(source).items() if key not in ("path", "pieces")}


def _shape(run: Run) -> dict[str, Any]:
    has = run.capabilities
    return {"layers": has.layers, "heads": has.heads}


class Scored:
    """A folder that `sentviz score` wrote, complete.

    Raises:
        InputError: nothing was scored there, or not all of it yet.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if not is_scored(folder):
            raise InputError(f"{folder} is no output of `sentviz score`.")
        self.index = _index_of(self.folder)
        self.run, self.digest = str(self.index["run"]), str(self.index["digest"])
        self.labels = tuple(self.index["labels"])
        tasks = [(i, k) for i, file in enumerate(self.index["files"]) for k in range(len(file["pieces"]))]
        self.parts = [self.folder / part_name(task) for task in tasks]
        if left := sum(not part.is_file() for part in self.parts):
            raise InputError(f"{folder} lacks {left:,} of its {len(tasks):,} parts: the command that began it goes on.")

    @cached_property
    def n(self) -> int:
        """How many rows there are, read or not."""
        return sum(piece[1] for file in self.index["files"] for piece in file["pieces"])

    @property
    def wishes(self) -> Wishes:
        """What was wanted of every row."""
        return Wishes(**self.index["wishes"])

    @property
    def classes(self) -> list[str]:
        """Columns of the probabilities."""
        return [f"probability_{label}" for label in self.labels]

    def part(self, place: int, columns: list[str] | None = None) -> pa.Table:
        """One part, whole or some of its columns."""
        import pyarrow.parquet as pq

        return pq.read_table(self.parts[place], columns=columns, partitioning=None)

    def rows(self, place: int | None = None) -> Rows:
        """The rows of one part, or of all, that were answered, as pages and statistics take them; texts are not among them."""
        import pandas as pd

        from sentviz.analysis.testset.rows import answered

        columns = ["file", "row", *(["label"] if self._labelled else []), *self.classes]
        places = range(len(self.parts)) if place is None else [place]
        frame = pd.concat([self.part(i, columns).to_pandas() for i in places], ignore_index=True)
        frame = frame[frame[self.classes[0]].notna()].reset_index(drop=True)
        shares = frame[self.classes].to_numpy(np.float64)
        label = frame["label"].to_numpy(np.int64) if self._labelled else np.full(len(frame), -1)
        one = len(self.index["files"]) == 1
        ids = frame["row"].astype(str) if one else frame["file"].astype(str) + ":" + frame["row"].astype(str)
        return answered(self.run, self.digest, "mine", self.labels, {"id": ids.to_numpy(), "label": label}, shares)

    @property
    def _labelled(self) -> bool:
        return any(file["label"] for file in self.index["files"])
