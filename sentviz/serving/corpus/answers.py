"""One range of rows asked, in one thread, so that whoever computes it gets the same bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sentviz.data.upload import codes
from sentviz.errors import InputError, RunError
from sentviz.io.files import replacing
from sentviz.serving.corpus.inputs import rows_of
from sentviz.serving.corpus.output import KEY, WORDS, Job, Task, part_name

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from sentviz.data.texts import TokenizedText
    from sentviz.models.model import Model


class Scorer:
    """A model that answers ranges of rows and writes a part for each.

    Raises:
        RunError: the run is not the one that the job names; as for `sentviz.load`.
    """

    def __init__(self, job: Job, digest: str) -> None:
        import torch

        from sentviz.models.loading import load

        if job.run.digest != digest:
            raise RunError(f"{job.run.name} is another run here ({job.run.digest}) than where the work began ({digest}).")
        torch.set_num_threads(1)
        self.job, self.model = job, load(job.run)

    def __call__(self, task: Task) -> int:
        """Score a range and write its part: how many rows it has.

        Raises:
            InputError: its file was changed or is damaged.
        """
        import pyarrow.parquet as pq

        job, source = self.job, self.job.sources[task[0]]
        piece = source.pieces[task[1]]
        if not source.path.is_file() or source.path.stat().st_size != source.size:
            raise InputError(f"{source.name} was changed or removed while it was scored.")
        rows = rows_of(source, piece)
        readings, remarks = _read(self.model, rows)
        columns = {"file": [source.name] * len(rows), "row": np.arange(piece.first + 1, piece.first + 1 + len(rows))}
        labels = codes(rows["label"], self.model.labels) if source.label else np.full(len(rows), -1)
        if any(one.label for one in job.sources):
            columns["label"] = labels.astype(np.int8)
        answers, said = _answers(self.model, readings, remarks, job)
        table = _table(columns | answers, {KEY: json.dumps(job.about(task), ensure_ascii=False).encode()})
        if job.wishes.words:
            self._count(task, rows, labels, said)
        with replacing(job.path(task)) as part:
            pq.write_table(table, part, compression="zstd")
        return len(rows)

    def _count(self, task: Task, rows: pd.DataFrame, labels: npt.NDArray[np.int64], said: npt.NDArray[np.int64]) -> None:
        from sentviz.analysis.testset.rows import answered
        from sentviz.analysis.testset.word_counts import counted

        read = said >= 0
        columns = {"id": np.arange(read.sum()), "label": labels[read]}
        columns |= {name: rows[name][read].to_numpy() for name in ("text", "text_pair") if name in rows}
        shares = np.eye(len(self.model.labels))[said[read]]
        counts = counted(answered(self.job.run.name, "", "mine", self.model.labels, columns, shares), 1)
        path = self.job.out / WORDS / part_name(task)
        path.parent.mkdir(exist_ok=True)
        with replacing(path) as part:
            counts.frame.to_parquet(part, compression="zstd", index=False)


def _read(model: Model, rows: pd.DataFrame) -> tuple[list[TokenizedText | None], list[str]]:
    """Every row as the model reads it, None of those that it cannot read, and a remark on each, "" for most."""
    from sentviz.data.texts import check_text
    from sentviz.errors import InputError
    from sentviz.models.model import WORDLESS

    remarks = rows["problem"].tolist()
    for role, name in (("text", "text"), ("text_pair", "second text")):
        for place, text in enumerate(rows.get(role, ())):
            try:
                check_text(text, name)
            except InputError as error:
                remarks[place] = remarks[place] or str(error)
    asked = [place for place, remark in enumerate(remarks) if not remark]
    found, why = model.sift(rows.iloc[asked]) if asked else ([], {})
    readings: list[TokenizedText | None] = [None] * len(rows)
    for k, place in enumerate(asked):
        reading = readings[place] = found[k]
        remarks[place] = why.get(k, WORDLESS if reading is not None and not len(reading) else "")
    return readings, remarks


def _answers(
    model: Model, readings: Sequence[TokenizedText | None], remarks: list[str], job: Job
) -> tuple[dict[str, Any], npt.NDArray[np.int64]]:
    """Columns of a part, and the class that is said of each row, -1 where it cannot be read."""
    import pyarrow as pa

    from sentviz.models.model import softmax

    read = np.array([row is not None for row in readings], dtype=bool)
    some = [row for row in readings if row is not None]
    logits, pooled = model.forward(some)
    said = np.full(len(readings), -1)
    said[read] = logits.argmax(axis=1)
    columns: dict[str, Any] = {"predicted": pa.array([model.labels[k] if k >= 0 else None for k in said], type=pa.string())}
    for name, temperature in (("probability", 1.0), ("calibrated", model.calibration)):
        if name == "probability" or temperature != 1:
            shares = softmax(logits / np.float32(temperature))
            columns |= {f"{name}_{label}": _filled(shares[:, k], read) for k, label in enumerate(model.labels)}
    columns["tokens"] = np.array([0 if row is None else len(row) for row in readings], dtype=np.int32)
    columns["remark"] = remarks
    if job.wishes.vectors:
        columns["vector"] = _lists(pooled.astype(np.float16), read)
    if job.wishes.attention:
        columns["attention"] = _lists(_attention(model, some), read)
    return columns, said


def _attention(model: Model, rows: Sequence[TokenizedText]) -> npt.NDArray[np.float32]:
    """(n, L x H x measures) in one row each; NaN for a text without a token."""
    from sentviz.analysis.maps.heads import each_row, measures

    has = model.capabilities
    found = np.full((len(rows), has.layers, has.heads, len(measures(model.cls))), np.nan, dtype=np.float32)
    some = [place for place, row in enumerate(rows) if len(row)]
    for batch, each in each_row(model, [rows[place] for place in some]):
        found[[some[i] for i in batch]] = each
    return found.reshape(len(rows), -1)


def _filled(values: npt.NDArray[np.float32], read: npt.NDArray[np.bool_]) -> pa.Array:
    import pyarrow as pa

    whole = np.zeros(len(read), dtype=values.dtype)
    whole[read] = values
    return pa.array(whole, mask=~read)


def _lists(values: npt.NDArray[Any], read: npt.NDArray[np.bool_]) -> pa.Array:
    """Rows (n, d) as lists of a fixed size, none where nothing was read."""
    import pyarrow as pa

    whole = np.zeros((len(read), values.shape[1]), dtype=values.dtype)
    whole[read] = values
    return pa.FixedSizeListArray.from_arrays(pa.array(whole.ravel()), whole.shape[1], mask=pa.array(~read))


def _table(columns: Mapping[str, Any], metadata: dict[bytes, bytes]) -> pa.Table:
    import pyarrow as pa

    return pa.table(dict(columns)).replace_schema_metadata(metadata)
