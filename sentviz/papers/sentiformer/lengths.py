"""SentiFormer's lead over its baselines on short and on long texts (sections V-C and VIII: better on long inputs).

The test texts of a data set are cut into quarters by their number of words, shortest first. Runs are the seeds that both models have, at
the learning rates that validation chose. `python -m sentviz.papers.sentiformer.lengths` measures anew; it needs the texts of the data sets.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sentviz.analysis.learned import not_learned
from sentviz.data import datasets
from sentviz.io.lazy import pd
from sentviz.papers.sentiformer.carriers import interval
from sentviz.papers.sentiformer.study import DATASETS
from sentviz.papers.studies.rates import chosen
from sentviz.papers.studies.stored import Stored
from sentviz.runs.catalog import study_runs
from sentviz.runs.store import Run

if TYPE_CHECKING:
    from collections.abc import Iterable


MEASURED = Stored(
    Path(__file__).parent / "measured" / "lengths.csv",
    ("dataset", "own", "baseline", "seed", "part", "shortest", "longest", "n", "value", "low", "high"),
    "The lead by length is",
    "python -m sentviz.papers.sentiformer.lengths",
    ("dataset", "own", "baseline", "part"),
)
QUARTERS = ("1", "2", "3", "4")  # shortest texts first
DIFFERENCE = "4 minus 1"


def leads(right: npt.NDArray[np.bool_], rival: npt.NDArray[np.bool_], words: npt.NDArray[np.int64]) -> pd.DataFrame:
    """Return the lead of a model over its rival in each quarter, and the longest minus the shortest quarter.

    Columns: part (`QUARTERS`, `DIFFERENCE`), shortest and longest (words), n, value, low, high (differences of shares; for other texts).

    Args:
        right: (N,) whether the model is right. rival: the same for the rival. words: (N,) length of each text.
    """
    lead = right.astype(float) - rival.astype(float)
    quarter = np.searchsorted(np.quantile(words, [0.25, 0.5, 0.75]), words)
    rows, means = [], []
    for place, name in enumerate(QUARTERS):
        own, lengths = lead[quarter == place], words[quarter == place]
        mean, variance = float(own.mean()), float(own.var(ddof=1)) / len(own)
        means.append((mean, variance))
        rows.append((name, int(lengths.min()), int(lengths.max()), len(own), *interval(mean, variance)))
    (first, at_first), (last, at_last) = means[0], means[-1]
    span = int(words.min()), int(words.max())
    rows.append((DIFFERENCE, *span, rows[0][3] + rows[-1][3], *interval(last - first, at_first + at_last)))
    return pd.DataFrame(rows, columns=["part", "shortest", "longest", "n", "value", "low", "high"])


def measure(runs: Iterable[Run], dataset: str) -> pd.DataFrame:
    """Return the rows of `MEASURED` for a data set; none if SentiFormer or both baselines lack runs that learned.

    Raises:
        DataMissingError: the data set is not installed.
    """

    from sentviz.papers.sentiformer.presets import BASELINES
    from sentviz.papers.sentiformer.study import WHOLE, configurations

    by_preset = configurations(runs, dataset)
    own = chosen(by_preset, WHOLE)
    if not own or not_learned(by_preset[own]):
        return pd.DataFrame(columns=list(MEASURED.columns))
    texts = datasets.load_split(dataset, "test").frame.set_index("id")["text"]
    parts = []
    for baseline in filter(None, (chosen(by_preset, model) for model in BASELINES)):
        for seed, (run, rival) in enumerate(zip(by_preset[own], by_preset[baseline], strict=False)):
            rows, rivals = _answers(run), _answers(rival).reindex(_answers(run).index)
            words = np.array([len(str(text).split()) for text in texts.loc[rows.index]])
            frame = leads(rows.to_numpy(bool), rivals.to_numpy(bool), words)
            parts.append(frame.assign(dataset=dataset, own=own, baseline=baseline, seed=seed))
    return pd.concat(parts)[list(MEASURED.columns)] if parts else pd.DataFrame(columns=list(MEASURED.columns))


def records(rows: pd.DataFrame) -> list[dict[str, float]]:
    """Return value, low and high of each row."""
    return [dict(zip(("value", "low", "high"), each, strict=True)) for each in rows[["value", "low", "high"]].to_numpy(float).tolist()]


def _answers(run: Run) -> pd.Series[bool]:
    """Return whether each test row of a run is predicted right, by id."""
    frame = run.frame("test.parquet")
    frame = frame[frame["split"] == "test"].set_index("id")
    right: pd.Series[bool] = frame[list(run.labels)].to_numpy(float).argmax(axis=1) == frame["label"]
    return right


def main() -> None:
    """Measure every data set of the study and store the table."""

    runs = study_runs().runs
    MEASURED.write(pd.concat([frame for dataset in DATASETS if len(frame := measure(runs, dataset))]), "%.5g")


if __name__ == "__main__":
    main()
