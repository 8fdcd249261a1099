"""Direct attribution: the contribution of each part of a model to the log-odds, beside the logit lens."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, palette
from sentviz.figures.figure import Figure, file_safe, new_plot
from sentviz.figures.panels import row_axis
from sentviz.figures.text import as_text
from sentviz.io.lazy import pd

LINE = 24  # pixels of a row


def contribution_bars(
    rows: Sequence[str], values: npt.ArrayLike, lens: npt.ArrayLike, *, label: str, against: str, about: str = "", theme: Theme = "light"
) -> Figure:
    """Draw a bar for each part of a model, in the order in which a text passes them, and the logit lens after each layer.

    Args:
        rows: names of the parts. values: (rows,) what each adds to the log-odds.
        lens: (rows,) log-odds if the classifier reads the states after this part; NaN where no layer ends.
        label, against: the two classes. about: end of the caption.
    Frame:
        part, value, lens.
    """
    added, read = np.asarray(values, dtype=np.float64), np.asarray(lens, dtype=np.float64)
    if not len(added):
        raise InputError("There is no part to draw.")
    colours, left, tall = palette(theme), 132, LINE * len(rows)
    plot = new_plot(theme, f"What adds to {as_text(label)} over {as_text(against)}", (640, tall + 118), (left, 74, 20, 44))
    low, high = colours.signed[0], colours.signed[-1]
    plot.add_bar(
        x=added,
        y=list(range(len(rows))),
        orientation="h",
        marker={"color": [high if value > 0 else low for value in added]},
        text=[f"{value:+.2f}".replace("-", "−") for value in added],
        textposition="outside",
        cliponaxis=False,
        customdata=[as_text(row) for row in rows],
        hovertemplate="%{customdata}: %{x:+.3f}<extra></extra>",
    )
    ends = np.isfinite(read)
    plot.add_scatter(
        x=read[ends],
        y=np.flatnonzero(ends),
        xaxis="x2",
        mode="lines+markers",
        line={"color": colours.lines[1], "width": 2},
        marker={"size": 8},
        cliponaxis=False,
        hovertemplate="classifier on these states: %{x:+.3f}<extra></extra>",
    )
    reach = 1.3 * float(np.abs(added).max()) or 1.0
    axis = {"zeroline": True, "zerolinecolor": colours.muted, "automargin": False, "nticks": 6, "title_standoff": 4}
    plot.update_layout(
        xaxis={**axis, "domain": [0, 0.62], "range": [-reach, reach], "title_text": "added to the log-odds"},
        xaxis2={**axis, "domain": [0.7, 1], "anchor": "y", "title_text": "logit lens", "showgrid": True, "gridcolor": colours.grid},
        yaxis=row_axis([as_text(row, 20) for row in rows], 0.6, 0.6),
        showlegend=False,
        dragmode=False,
    )
    caption = (
        f"Log-odds of {label} over {against} as a sum of what each part of the model adds to the states, with the factors of all norms"
        f" frozen. Right: the log-odds if the classifier reads the states after this part. {about}"
    )
    frame = pd.DataFrame({"part": list(rows), "value": added, "lens": read})
    return Figure(file_safe("attribution-direct"), plot, frame, caption.strip())
