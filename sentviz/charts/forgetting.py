"""Rows that a model learned, forgot and learned again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sentviz.analysis.epochs import events
from sentviz.analysis.evaluation import wilson
from sentviz.charts.chart import Axis, Chart, cells
from sentviz.charts.epochs import MEASURED, Epochs
from sentviz.charts.figure import Figure, file_safe, sentence
from sentviz.charts.registry import figure
from sentviz.charts.text import shortened
from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.io.numbers import percent


def forgetting(
    epochs: Sequence[int],
    ids: Sequence[str],
    right: npt.ArrayLike,
    kinds: Sequence[str],
    forgotten: npt.ArrayLike,
    *,
    most: int = 40,
    about: str = "",
) -> Figure:
    """Draw one row per text and one column per epoch: teal if the prediction was right. Texts that were forgotten most often come first.

    Args:
        epochs: E numbers. ids: N row ids. right: (E, N) bool. kinds: course of each row, for example "forgotten", (N,).
        forgotten: number of times that each row was forgotten, (N,) int.
        most: largest number of rows to draw. about: sentence for the caption.
    Frame:
        id, kind, forgotten, epoch, right: all rows, also those that are not drawn.
    """
    table, often = np.asarray(right, dtype=bool), np.asarray(forgotten, dtype=np.int64)
    if table.shape != (len(epochs), len(ids)) or len(kinds) != len(ids) or often.shape != (len(ids),) or most < 1 or not table.size:
        raise InputError("Forgetting needs a prediction for each row and epoch, and at least one row to draw.")
    order = np.lexsort((table.sum(axis=0), -often))
    changed = [i for i in order if 0 < table[:, i].sum() < len(epochs)]
    drawn = (changed or list(order))[:most]
    n = len(epochs)
    frame = pd.DataFrame(
        {
            "id": np.repeat(np.asarray(ids, dtype=object), n),
            "kind": np.repeat(np.asarray(kinds, dtype=object), n),
            "forgotten": np.repeat(often, n),
            "epoch": np.tile(np.asarray(epochs), len(ids)),
            "right": table.T.ravel(),
        }
    )
    columns, rows = {str(epoch): str(epoch) for epoch in epochs}, {ids[i]: shortened(ids[i], 16) for i in drawn}
    words = np.where(frame["right"], "right", "wrong")
    tall = frame.assign(column=frame["epoch"].astype(str), answer=words, level=frame["right"] / 3 + 1 / 3)
    shades = tall[tall["id"].isin(rows)]
    hover = "{id}, {kind}: {answer} after epoch {epoch}"
    marks = [cells(shades, "column", "id", "level", scale="judged", hover=hover)]
    chart = Chart("Learned, forgotten and learned again", marks, Axis("epoch", rows=columns), Axis(rows=rows))
    tally = ", ".join(f"{kind} {list(kinds).count(kind):,}" for kind in dict.fromkeys(sorted(kinds)))
    caption = sentence(
        [
            f"Of {len(ids):,} rows: {tally}. The figure shows {len(drawn)} of the {len(changed):,} rows that changed between right and"
            " wrong. Teal is right, magenta is wrong."
            if changed
            else f"Of {len(ids):,} rows, none changed between right and wrong.",
            about,
        ]
    )
    printed = frame.groupby(["kind", "epoch"], sort=False).agg(rows=("id", "size"), right=("right", "sum")).reset_index()
    return Figure(file_safe("epochs", "rows"), chart, frame, caption, printed=printed)


@figure("epoch-rows", "Rows learned, forgotten and learned again", Epochs, MEASURED)
def _rows(of: Epochs, *, most: int = 40) -> Figure:
    seen = of.series
    row_events, n = events(seen.right), len(seen.first.ids)
    ever = int((row_events.forgotten > 0).sum())
    low, high = (float(side) for side in wilson(ever, n))
    about = f"Forgotten at least once: {percent(ever / n, ends=(low, high))}. Changes between two epochs are not visible."
    return forgetting(seen.epochs, seen.first.ids, seen.right, row_events.kinds, row_events.forgotten, most=most, about=about)
