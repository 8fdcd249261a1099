"""Rows that a model learned, forgot and learned again."""

from __future__ import annotations

import numpy as np

from sentviz.analysis.epochs import events
from sentviz.analysis.evaluation import wilson
from sentviz.charts.chart import Axis, Chart, cells
from sentviz.charts.epochs import MEASURED, Epochs
from sentviz.charts.figure import Figure, sentence
from sentviz.charts.registry import figure
from sentviz.charts.text import shortened
from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.io.numbers import percent


@figure("epoch-rows", "Rows learned, forgotten and learned again", Epochs, MEASURED)
def _rows(of: Epochs, *, most: int = 40) -> Figure:
    """Draw one row per text and one column per epoch: teal if the prediction was right. Texts that were forgotten most often come first.

    Args:
        most: largest number of rows to draw.
    Frame:
        id, kind (course of the row, for example "forgotten"), forgotten (how often), epoch, right: all rows, also those that are not drawn.
    """
    if most < 1:
        raise InputError("At least one row must be drawn.")
    seen = of.series
    course, epochs, ids, table = events(seen.right), seen.epochs, seen.first.ids, np.asarray(seen.right, dtype=bool)
    kinds, often = course.kinds, np.asarray(course.forgotten, dtype=np.int64)
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
    ever = int((often > 0).sum())
    caption = sentence(
        [
            f"Of {len(ids):,} rows: {tally}. The figure shows {len(drawn)} of the {len(changed):,} rows that changed between right and"
            " wrong. Teal is right, magenta is wrong."
            if changed
            else f"Of {len(ids):,} rows, none changed between right and wrong.",
            f"Forgotten at least once: {percent(ever / len(ids), ends=wilson(ever, len(ids)))}."
            " Changes between two epochs are not visible.",
        ]
    )
    printed = frame.groupby(["kind", "epoch"], sort=False).agg(rows=("id", "size"), right=("right", "sum")).reset_index()
    return Figure("epochs-rows", chart, frame, caption, printed=printed)
