"""What the gates of several seeds shut, taken together: the paper's central claim, section IV-B, for other texts and other trainings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from sentviz.maps.gates import FILE
from sentviz.papers.sentiformer.study import WHOLE, configurations
from sentviz.runs import Run
from sentviz.studies.means import combined

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["gated", "over_seeds"]

KEYS = ["kind", "name", "against", "layer"]


def gated(runs: Iterable[Run], dataset: str) -> list[Run]:
    """The runs of SentiFormer on a data set whose gates are measured, seeds in order."""
    return [run for run in configurations(runs, dataset).get(WHOLE, []) if FILE in run.config["files"]]


def over_seeds(runs: Sequence[Run]) -> pd.DataFrame:
    """The measured gates of runs of one configuration on the same texts, a row for what every seed has; empty where none is measured.

    Frame:
        kind, name, against, layer, as `sentviz.maps.gates.over_split` has them; value (mean over seeds), low, high (for other texts and
        other seeds; of one seed for other texts only), seeds, n.
    """
    import pandas as pd

    frames = [run.frame(FILE) for run in runs if FILE in run.config["files"]]
    columns = [*KEYS, "value", "low", "high", "seeds", "n"]
    if not frames:
        return pd.DataFrame(columns=columns)
    rows = [
        dict(zip(KEYS, key, strict=True)) | combined(_intervals(each)) | {"seeds": len(each), "n": int(each["n"].max())}
        for key, each in pd.concat(frames).groupby(KEYS, sort=False)
        if len(each) == len(frames)
    ]
    return pd.DataFrame(rows, columns=columns)


def _intervals(rows: pd.DataFrame) -> list[dict[str, Any]]:
    return [dict(zip(("value", "low", "high"), row, strict=True)) for row in rows[["value", "low", "high"]].to_numpy(float).tolist()]
