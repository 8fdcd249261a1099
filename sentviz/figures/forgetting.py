"""Rows that a model learned, forgot and learned again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, palette
from sentviz.figures.figure import Figure, file_safe, new_plot, sentence
from sentviz.figures.text import as_text
from sentviz.io.lazy import go, pd


def forgetting(
    epochs: Sequence[int],
    ids: Sequence[str],
    right: npt.ArrayLike,
    kinds: Sequence[str],
    forgotten: npt.ArrayLike,
    *,
    most: int = 40,
    about: str = "",
    theme: Theme = "light",
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
    drawn, colours = (changed or list(order))[:most], palette(theme)
    plot = new_plot(
        theme,
        "Learned, forgotten and learned again",
        (max(420, 200 + 64 * len(epochs)), 110 + 17 * len(drawn)),
        (120, 84, 24, 16),
        go.Heatmap(
            z=table[:, drawn].T.astype(float),
            colorscale=[[0, colours.judged[2]], [1, colours.judged[-3]]],
            zmin=0,
            zmax=1,
            showscale=False,
            xgap=2,
            ygap=1,
            customdata=[
                [f"{as_text(ids[i], 40)}, {kinds[i]}: {'right' if is_right else 'wrong'}" for is_right in table[:, i]] for i in drawn
            ],
            hovertemplate="%{customdata} after epoch %{x}<extra></extra>",
            x=[str(epoch) for epoch in epochs],
            y=list(range(len(drawn))),
        ),
    )
    plot.update_xaxes(type="category", side="top", title_text="epoch", title_standoff=6, showgrid=False, automargin=False)
    plot.update_yaxes(
        tickvals=list(range(len(drawn))),
        ticktext=[as_text(ids[i], 16) for i in drawn],
        tickfont_size=10,
        autorange="reversed",
        showgrid=False,
        automargin=False,
    )
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
    return Figure(file_safe("epochs", "rows"), plot, frame, caption, printed=printed)
