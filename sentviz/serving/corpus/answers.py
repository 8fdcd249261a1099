"""Predict one range of rows in one thread, so that every backend writes the same bytes.

The reason for the prediction of a row is the one that the command `explain` gives for one text, beside the words with the largest values.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sentviz.analysis.explain.headline import reason, supported
from sentviz.analysis.explain.leave_out import words
from sentviz.analysis.maps.heads import each_row, measures
from sentviz.analysis.testset.rows import RowsSource, predicted_rows
from sentviz.analysis.testset.word_counts import count_words
from sentviz.data.labels import canonical
from sentviz.data.texts import TokenizedText, check_text
from sentviz.errors import InputError, RunError
from sentviz.io.files import disk_errors, replacing
from sentviz.io.lazy import pa, pd, pq, torch
from sentviz.runs.calibration import softmax
from sentviz.runs.headline_evidence import Chance
from sentviz.runs.store import Run
from sentviz.serving.corpus.inputs import rows_of
from sentviz.serving.corpus.output import KEY, WORDS, ScoringJob, Task, part_name

if TYPE_CHECKING:
    from sentviz.models.model import Model

NAMED_WORDS = 5  # words of a row that are named
COLUMNS = ("reason", *(f"{what}_{place}" for place in range(1, NAMED_WORDS + 1) for what in ("word", "value")))


def chance_for(model: Model, run: Run) -> Chance:
    """Return what chance gives a run, or a model of the user, which has no stored measurement."""
    from sentviz.analysis.explain.headline import chance_in, chance_of
    from sentviz.models.in_memory import OpenModel

    return chance_in(model) if isinstance(run, OpenModel) else chance_of(model, run)


def reasons(model: Model, rows: pd.DataFrame, readings: Sequence[TokenizedText | None], chance: Chance) -> dict[str, Any]:
    """Return the columns `COLUMNS` of some rows; blank for a row that the model cannot read, or has fewer words.

    A value is the fall of the log-odds of the predicted class without the word; the largest ones, by size, come first.

    Args:
        rows: text and perhaps text_pair. readings: the same rows, as the model reads them.
    """
    pairs = rows["text_pair"].tolist() if "text_pair" in rows else [None] * len(rows)
    explained_rows = [
        _of_text(model, text, pair, chance) if reading is not None and len(reading) else []
        for text, pair, reading in zip(rows["text"].tolist(), pairs, readings, strict=True)
    ]
    full = [row + [None] * (len(COLUMNS) - len(row)) for row in explained_rows]
    types = {name: pa.float32() if name.startswith("value") else pa.string() for name in COLUMNS}
    return {name: pa.array([row[k] for row in full], type=types[name]) for k, name in enumerate(COLUMNS)}


def _of_text(model: Model, text: str, pair: str | None, chance: Chance) -> list[Any]:
    try:
        trace = supported(model, model.trace(text, pair, maps=False), chance)
    except InputError as error:
        return [str(error)]
    values = [(word.text, float(trace.token_scores["removal"][word.indices[0]])) for word in words(trace)]
    top = sorted(values, key=lambda each: -abs(each[1]))[:NAMED_WORDS]
    return [reason(trace), *(cell for each in top for cell in each)]


class Scorer:
    """Model that predicts ranges of rows and writes a part for each.

    Raises:
        RunError: the installed run differs from the job's; also as for `sentviz.load`.
    """

    def __init__(self, job: ScoringJob, digest: str) -> None:

        from sentviz.models.loading import load

        if job.run.digest != digest:
            raise RunError(f"{job.run.name} has the digest {job.run.digest} on this machine, but the work began with {digest}.")
        torch.set_num_threads(1)
        self.job, self.model = job, load(job.run)

    @cached_property
    def _chance(self) -> Chance:
        return chance_for(self.model, self.job.run)

    def __call__(self, task: Task) -> int:
        """Score a range, write its part, and return its number of rows."""
        job, source = self.job, self.job.sources[task[0]]
        piece = source.pieces[task[1]]
        if not source.path.is_file() or source.path.stat().st_size != source.size:
            raise InputError(f"{source.name} was changed or removed while it was scored.")
        rows = rows_of(source, piece)
        readings, remarks, unread = _read(self.model, rows)
        columns = {"file": [source.name] * len(rows), "row": np.arange(piece.first + 1, piece.first + 1 + len(rows))}
        labels = np.array([job.class_of.get(canonical(label), -1) for label in rows["label"]] if source.label else [-1] * len(rows))
        if any(other_source.label for other_source in job.sources):
            columns["label"] = labels.astype(np.int8)
        answers, predicted = _predict(self.model, readings, {"truncated": unread, "remark": remarks}, job)
        if job.options.reasons:
            answers |= reasons(self.model, rows, readings, self._chance)
        table = _table(columns | answers, {KEY: json.dumps(job.about(task), ensure_ascii=False).encode()})
        with disk_errors(job.out):
            if job.options.words:
                self._count(task, rows, labels, predicted)
            with replacing(job.path(task)) as part:
                pq.write_table(table, part, compression="zstd")
        return len(rows)

    def _count(self, task: Task, rows: pd.DataFrame, labels: npt.NDArray[np.int64], predicted: npt.NDArray[np.int64]) -> None:
        read = predicted >= 0
        columns = {"id": np.arange(read.sum()), "label": labels[read]}
        columns |= {name: rows[name][read].to_numpy() for name in ("text", "text_pair") if name in rows}
        shares = np.eye(len(self.model.labels))[predicted[read]]
        counts = count_words(predicted_rows(RowsSource.of(self.job.run), "mine", self.model.labels, columns, shares), 1)
        path = self.job.out / WORDS / part_name(task)
        path.parent.mkdir(exist_ok=True)
        with replacing(path) as part:
            counts.frame.to_parquet(part, compression="zstd", index=False)


def _read(model: Model, rows: pd.DataFrame) -> tuple[list[TokenizedText | None], list[str], npt.NDArray[np.int32]]:
    """Return each row as the model reads it, None if it cannot be read, a remark on each row, and how many of its tokens are not read."""
    remarks = rows["problem"].tolist()
    for role, name in (("text", "text"), ("text_pair", "second text")):
        for place, text in enumerate(rows.get(role, ())):
            try:
                check_text(text, name)
            except InputError as error:
                remarks[place] = remarks[place] or str(error)
    readable = [place for place, remark in enumerate(remarks) if not remark]
    readings: list[TokenizedText | None] = [None] * len(rows)
    unread = np.zeros(len(rows), dtype=np.int32)
    if readable:
        some = rows.iloc[readable]
        sifted, why = model.sift(some)
        of_sifted, unread[readable] = model.remarks(some, sifted, why)
        for place, reading, remark in zip(readable, sifted, of_sifted, strict=True):
            readings[place], remarks[place] = reading, remark
    return readings, remarks, unread


def _predict(
    model: Model, readings: Sequence[TokenizedText | None], marks: Mapping[str, Any], job: ScoringJob
) -> tuple[dict[str, Any], npt.NDArray[np.int64]]:
    """Return the columns of a part, with `marks` on each row, and the predicted class of each row, -1 if the row cannot be read."""
    read = np.array([row is not None for row in readings], dtype=bool)
    some = [row for row in readings if row is not None]
    logits, pooled = model.forward(some)
    predicted = np.full(len(readings), -1)
    predicted[read] = logits.argmax(axis=1)
    columns: dict[str, Any] = {"predicted": pa.array([model.labels[k] if k >= 0 else None for k in predicted], type=pa.string())}
    for name, temperature in (("probability", 1.0), ("calibrated", model.calibration)):
        if name == "probability" or temperature != 1:
            shares = softmax(logits, temperature)
            columns |= {f"{name}_{label}": _filled(shares[:, k], read) for k, label in enumerate(model.labels)}
    columns |= {"tokens": np.array([0 if row is None else len(row) for row in readings], dtype=np.int32), **marks}
    if job.options.vectors:
        columns["vector"] = _lists(pooled.astype(np.float16), read)
    if job.options.attention:
        columns["attention"] = _lists(_attention(model, some), read)
    return columns, predicted


def _attention(model: Model, rows: Sequence[TokenizedText]) -> npt.NDArray[np.float32]:
    """Return the attention measures of each row, (n, L x H x measures) float32; NaN for a text without tokens."""
    has = model.capabilities
    measured = np.full((len(rows), has.layers, has.heads, len(measures(model.cls))), np.nan, dtype=np.float32)
    readable = [place for place, row in enumerate(rows) if len(row)]
    for batch, each in each_row(model, [rows[place] for place in readable]):
        measured[[readable[i] for i in batch]] = each
    return measured.reshape(len(rows), math.prod(measured.shape[1:]))


def _filled(values: npt.NDArray[np.float32], read: npt.NDArray[np.bool_]) -> pa.Array:
    filled = np.zeros(len(read), dtype=values.dtype)
    filled[read] = values
    return pa.array(filled, mask=~read)


def _lists(values: npt.NDArray[Any], read: npt.NDArray[np.bool_]) -> pa.Array:
    """Return rows (n, d) as lists of a fixed size, null for rows that could not be read."""
    filled = np.zeros((len(read), values.shape[1]), dtype=values.dtype)
    filled[read] = values
    return pa.FixedSizeListArray.from_arrays(pa.array(filled.ravel()), filled.shape[1], mask=pa.array(~read))


def _table(columns: Mapping[str, Any], metadata: dict[bytes, bytes]) -> pa.Table:
    return pa.table(dict(columns)).replace_schema_metadata(metadata)
