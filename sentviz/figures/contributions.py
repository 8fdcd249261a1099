"""Direct attribution: the contribution of each part of a model to the log-odds, beside the logit lens."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sentviz.errors import InputError
from sentviz.figures.chart import Axis, Chart, Panels, Rule, bars, line
from sentviz.figures.figure import Figure, file_safe
from sentviz.io.lazy import pd


def contribution_bars(
    rows: Sequence[str], values: npt.ArrayLike, lens: npt.ArrayLike, *, label: str, against: str, about: str = ""
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
    frame = pd.DataFrame({"part": list(rows), "value": added, "lens": read})
    drawn = frame.assign(tint=np.where(added > 0, "plus", "minus"), panel="added", place=range(len(frame)))
    ends = drawn[np.isfinite(read)].assign(panel="lens")
    marks = [
        bars(drawn, "value", "place", tint="tint", text="{value:+.2f}", hover="{part}: {value:+.3f}"),
        line(ends, "lens", "place", role=1, hover="classifier on these states: {lens:+.3f}"),
    ]
    panels = Panels("panel", {"added": "added to the log-odds", "lens": "logit lens"}, 2)
    named = Axis(rows=dict(enumerate(rows)))
    chart = Chart(f"What adds to {label} over {against}", marks, Axis(), named, panels=panels, rules=[Rule(x=0, solid=True)])
    caption = (
        f"Log-odds of {label} over {against} as a sum of what each part of the model adds to the states, with the factors of all norms"
        f" frozen. Right: the log-odds if the classifier reads the states after this part. {about}"
    )
    return Figure(file_safe("attribution-direct"), chart, frame, caption.strip())
