"""What is known of a whole corpus, merged from its parts: each part gives counts, sums and squares, which add up to those of all rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sentviz.errors import InputError
from sentviz.serving.corpus.output import WORDS, Scored

if TYPE_CHECKING:
    import pandas as pd

    from sentviz.analysis.testset.word_counts import Counts
    from sentviz.models.model import Progress


@dataclass(frozen=True, eq=False)
class Totals:
    """Rows counted."""

    rows: int
    unread: int  # that have no answer
    predicted: npt.NDArray[np.int64]  # (K,)
    confusion: npt.NDArray[np.int64]  # (K, K) label, prediction; of rows with a label

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            self.rows + other.rows, self.unread + other.unread, self.predicted + other.predicted, self.confusion + other.confusion
        )


def totals(scored: Scored) -> Totals:
    """How many rows there are, and how many of each label are said to be what."""
    k = len(scored.labels)
    whole = Totals(0, 0, np.zeros(k, dtype=np.int64), np.zeros((k, k), dtype=np.int64))
    for place in range(len(scored.parts)):
        part, n = scored.rows(place), scored.part(place, ["row"]).num_rows
        known = part.labels >= 0
        confusion = np.bincount(part.labels[known] * k + part.predicted[known], minlength=k * k).reshape(k, k)
        whole += Totals(n, n - len(part), np.bincount(part.predicted, minlength=k), confusion)
    return whole


def heads(scored: Scored, progress: Progress | None = None) -> pd.DataFrame:
    """What each head attends to over all rows, as `sentviz.analysis.maps.heads.over_rows` has it.

    Raises:
        InputError: it was scored without attention.
    """
    from sentviz.analysis.maps.heads import MEASURES, Sums

    if not scored.wishes.attention:
        raise InputError(f"{scored.folder} was scored without --attention.")
    shape = scored.index["shape"]
    whole, cls = None, False
    for place in range(len(scored.parts)):
        column = scored.part(place, ["attention"])["attention"].combine_chunks().drop_null()
        if len(column):
            each = column.flatten().to_numpy().reshape(len(column), shape["layers"], shape["heads"], -1)
            cls = each.shape[-1] > len(MEASURES)
            whole = Sums.of(each) if whole is None else whole + Sums.of(each)
        if progress is not None:
            progress(place + 1, len(scored.parts))
    if whole is None:
        raise InputError(f"{scored.folder} has no row that could be read.")
    return whole.table(cls)


def words(scored: Scored, least: int | None = None) -> Counts:
    """Words of all rows by label and prediction, as `sentviz.analysis.testset.word_counts.counted` has them.

    Raises:
        InputError: it was scored without words.
    """
    import pandas as pd

    from sentviz.analysis.testset.word_counts import LEAST, MANY, merged, of_frame

    if not scored.wishes.words:
        raise InputError(f"{scored.folder} was scored without --words.")
    parts = []
    for place, path in enumerate(scored.parts):
        frame, rows = pd.read_parquet(scored.folder / WORDS / path.name), scored.rows(place)
        parts.append(of_frame(frame, rows, 1))
    many = sum(int(part.sizes.sum()) for part in parts) >= MANY
    return merged(parts, (LEAST if many else 2) if least is None else least)
