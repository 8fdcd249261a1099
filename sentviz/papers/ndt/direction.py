"""In which direction do lambdas move, here and in print? The end values of the paper are compared with our start values."""

from __future__ import annotations

import numpy as np

from sentviz.io.lazy import pd
from sentviz.papers.studies.compare_configurations import minus

DEEP = 2  # layer, counted from 1, in which the paper says that lambda grows
UNBOUNDED = ("nonneg", "free")


def direction_in_words(frame: pd.DataFrame, title: str) -> str:
    """Return in which direction the lambdas of layer 2 move here, and where the paper's lie; "" if the paper reports none.

    Args:
        frame: model, layer (counted from 1), start, change, printed; one row per lambda, NaN where nothing is reported.
        title: the data set's.
    """
    rows = frame[frame["model"].str.startswith("ndt-") & (frame["layer"] == DEEP) & frame["printed"].notna()]
    free = rows[rows["model"].str.contains("|".join(UNBOUNDED))]
    if free.empty:
        return ""
    same = int((np.sign(rows["change"]) == np.sign(rows["printed"] - rows["start"])).sum())
    ours, theirs = float(free["change"].mean()), float((free["printed"] - free["start"]).mean())
    against = "opposite directions" if ours * theirs < 0 else "the same direction"
    return minus(
        f"Direction on {title}: under [0,∞) and (−∞,∞) training changes λ in layer {DEEP} by {ours:+.2f} on average here, and the paper's"
        f" end values are {theirs:+.2f} from our start values: {against}. Of all {len(rows)} λ of NDTs in layer {DEEP}, {same} move to the"
        " paper's side of the start."
    )
