"""Measured gates of several seeds together: the paper's central claim, section IV-B, with intervals over texts and seeds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from sentviz.analysis.maps.gates import FILE
from sentviz.papers.sentiformer.study import WHOLE, configurations
from sentviz.papers.studies.means import combined
from sentviz.runs.store import Run

if TYPE_CHECKING:
    import pandas as pd

KEYS = ["kind", "name", "against", "layer"]


def gated(runs: Iterable[Run], dataset: str) -> list[Run]:
    """Return the runs of SentiFormer on a data set whose gates are measured, seeds in order."""
    return [run for run in configurations(runs, dataset).get(WHOLE, []) if FILE in run.config["files"]]


def over_seeds(runs: Sequence[Run]) -> pd.DataFrame:
    """Return measured gates of runs of one configuration on the same texts, one row per key that every seed has; empty if none is measured.

    Frame:
        kind, name, against, layer, of `sentviz.analysis.maps.gates.over_split`; value (mean over seeds), low, high (for other texts and
        other seeds; of one seed for other texts only), seeds, n.
    """
    import pandas as pd

    frames = [run.frame(FILE) for run in runs if FILE in run.config["files"]]
    by_key: dict[tuple[Any, ...], list[dict[Any, Any]]] = {}
    for row in (row for frame in frames for row in frame[[*KEYS, "value", "low", "high", "n"]].to_dict("records")):
        by_key.setdefault(tuple(row[key] for key in KEYS), []).append(row)
    rows = [
        dict(zip(KEYS, key, strict=True)) | combined(each) | {"seeds": len(each), "n": max(row["n"] for row in each)}
        for key, each in by_key.items()
        if len(each) == len(frames)
    ]
    return pd.DataFrame(rows, columns=[*KEYS, "value", "low", "high", "seeds", "n"])
