"""SST-2's re-split leaks: its rows are phrases cut from the same sentences, so test phrases stand inside training phrases.

The runs that are installed are measured. The table holds counts, no texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from experiments.writing import write
from sentviz.analysis.evaluation import wilson
from sentviz.data import datasets
from sentviz.papers.ndt.study import CONTROL, ROWS, best_ndt, configurations
from sentviz.papers.ndt.tables import LEAK
from sentviz.papers.studies.means import combined
from sentviz.papers.studies.stats import right
from sentviz.runs.catalog import study_runs
from sentviz.runs.store import Run

DATASET = "sst2"
LONG = 5  # words of a phrase that few others hold by chance
FEW = 30  # phrases; of fewer no accuracy is said


def inside(texts: Iterable[str], among: Iterable[str]) -> npt.NDArray[np.bool_]:
    """(N,) whether each text stands, word by word, within one of others; case and runs of spaces do not count."""
    whole = "\n".join(f" {' '.join(text.casefold().split())} " for text in among)
    return np.array([f" {' '.join(text.casefold().split())} " in whole for text in texts], dtype=bool)


def measured(runs: Sequence[Run], frames: Mapping[str, pd.DataFrame], train: Iterable[str]) -> pd.DataFrame:
    """Accuracies on test phrases that stand inside a training phrase and on those that do not.

    Columns: rows (a split's name in a sentence), length (of the phrases), stands (inside, outside); share of the rows of that length that
    do, n, at least 30; model, and the mean of its seeds' accuracies with an interval for other rows and seeds (shares), seeds.

    Args:
        runs: of the study; vanilla, the control, DT and the NDT best on validation are asked.
        frames: split -> its rows: id, text.
        train: the texts that were learned from.
    """
    by_model, best = configurations(runs, DATASET), best_ndt(runs, DATASET)
    wanted = {model: by_model[model] for model in ("vanilla", CONTROL, "diff") if model in by_model}
    wanted |= {best[0].configuration: best} if best else {}
    known, records = list(train), []
    for split, frame in frames.items():
        there = pd.Series(inside(frame["text"], known), index=frame["id"])
        words = pd.Series([len(text.split()) for text in frame["text"]], index=frame["id"])
        for length, long_enough in ((f"{LONG} words or more", words >= LONG), ("any", words > 0)):
            for stands, part in (("inside", long_enough & there), ("outside", long_enough & ~there)):
                n, share = int(part.sum()), float(part.sum() / long_enough.sum())
                if n < FEW:
                    continue
                for model, seeds in wanted.items():
                    mean = combined([_share(int(right(run, split)[part].sum()), n) for run in seeds])
                    numbers = np.clip([mean["value"], mean["low"], mean["high"]], 0, 1)
                    records.append((ROWS[DATASET][split], length, stands, share, n, model, *numbers, len(seeds)))
    return pd.DataFrame(records, columns=list(LEAK.columns))


def _share(count: int, n: int) -> dict[str, float]:
    low, high = wilson(count, n)
    return {"value": count / n, "low": float(low), "high": float(high)}


def main(arguments: Sequence[str] = ()) -> None:
    """Measure the runs of the study."""
    frames = {split: datasets.load_split(DATASET, split).frame for split in ROWS[DATASET]}
    write(LEAK, measured(study_runs().runs, frames, datasets.load_split(DATASET, "train").frame["text"]), "%.6f")
