"""Summarize a scored corpus from its parts: counts, sums and squares of the parts add up to those of all rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sentviz.analysis.maps.heads import MEASURES, Sums
from sentviz.analysis.testset.word_counts import Counts
from sentviz.errors import InputError
from sentviz.io.arguments import Progress
from sentviz.io.lazy import pd
from sentviz.serving.corpus.output import WORDS, Scored


@dataclass(frozen=True, eq=False)
class Totals:
    """Numbers of rows."""

    rows: int
    unread: int  # rows without a prediction
    predicted: npt.NDArray[np.int64]  # (K,)
    confusion: npt.NDArray[np.int64]  # (K, K) rows with a label, by label and prediction

    def __add__(self, more: Totals) -> Totals:
        return Totals(self.rows + more.rows, self.unread + more.unread, self.predicted + more.predicted, self.confusion + more.confusion)


def totals(scored: Scored) -> Totals:
    """Return the numbers of rows, of predictions, and the confusion matrix."""
    k = len(scored.labels)
    total = Totals(0, 0, np.zeros(k, dtype=np.int64), np.zeros((k, k), dtype=np.int64))
    for place in range(len(scored.parts)):
        part, n = scored.rows(place), scored.part(place, ["row"]).num_rows
        labelled = part.labels >= 0
        confusion = np.bincount(part.labels[labelled] * k + part.predicted[labelled], minlength=k * k).reshape(k, k)
        total += Totals(n, n - len(part), np.bincount(part.predicted, minlength=k), confusion)
    return total


def heads(scored: Scored, progress: Progress | None = None) -> pd.DataFrame:
    """Return what each head attends to over all rows, as `sentviz.analysis.maps.heads.over_rows` does."""
    if not scored.options.attention:
        raise InputError(f"{scored.folder} was scored without --attention.")
    shape = scored.index["shape"]
    total, cls = None, False
    for place in range(len(scored.parts)):
        column = scored.part(place, ["attention"])["attention"].combine_chunks().drop_null()
        if len(column):
            each = column.flatten().to_numpy().reshape(len(column), shape["layers"], shape["heads"], -1)
            cls = each.shape[-1] > len(MEASURES)
            total = Sums.of(each) if total is None else total + Sums.of(each)
        if progress is not None:
            progress(place + 1, len(scored.parts))
    if total is None:
        raise InputError(f"{scored.folder} has no row that could be read.")
    return total.table(cls)


def words(scored: Scored, least: int | None = None) -> Counts:
    """Return the words of all rows by label and prediction, as `sentviz.analysis.testset.word_counts.count_words` does."""

    from sentviz.analysis.testset.word_counts import LEAST, MANY, counts_of_frame, merge_counts

    if not scored.options.words:
        raise InputError(f"{scored.folder} was scored without --words.")
    parts = []
    for place, path in enumerate(scored.parts):
        frame, rows = pd.read_parquet(scored.folder / WORDS / path.name), scored.rows(place)
        parts.append(counts_of_frame(frame, rows, 1))
    is_large = sum(int(part.sizes.sum()) for part in parts) >= MANY
    return merge_counts(parts, (LEAST if is_large else 2) if least is None else least)
