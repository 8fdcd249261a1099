"""SentiFormer's lead over its baselines on short and on long texts (sections V-C and VIII: better on long inputs).

The test texts of a data set are cut into quarters by their number of words, shortest first. Runs are the seeds that both models have, at
the learning rates that validation chose. The data sets must be installed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from experiments.sentiformer.carriers import interval
from experiments.writing import write
from sentviz.analysis.evaluation import not_learned
from sentviz.data import datasets
from sentviz.papers.sentiformer.measured import LEADS, LONG_MINUS_SHORT, QUARTERS
from sentviz.papers.sentiformer.study import BASELINES, DATASETS, WHOLE, configurations
from sentviz.papers.studies.rates import chosen
from sentviz.runs.catalog import study_runs
from sentviz.runs.store import Run


def leads(right: npt.NDArray[np.bool_], rival: npt.NDArray[np.bool_], words: npt.NDArray[np.int64]) -> pd.DataFrame:
    """Return the lead of a model over its rival in each quarter, and the longest minus the shortest quarter.

    Columns: part (`QUARTERS`, `LONG_MINUS_SHORT`), shortest and longest (words), n, value, low, high (differences of shares, with intervals
    for other texts).

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
    rows.append((LONG_MINUS_SHORT, *span, rows[0][3] + rows[-1][3], *interval(last - first, at_first + at_last)))
    return pd.DataFrame(rows, columns=["part", "shortest", "longest", "n", "value", "low", "high"])


def measure(runs: Iterable[Run], dataset: str) -> pd.DataFrame:
    """Return the rows of `LEADS` for a data set; none if SentiFormer or both baselines lack runs that learned.

    Raises:
        DataMissingError: the data set is not installed.
    """
    by_preset = configurations(runs, dataset)
    own = chosen(by_preset, WHOLE)
    if not own or not_learned(by_preset[own]):
        return pd.DataFrame(columns=list(LEADS.columns))
    texts = datasets.load_split(dataset, "test").frame.set_index("id")["text"]
    parts = []
    for baseline in filter(None, (chosen(by_preset, model) for model in BASELINES)):
        for seed, (run, rival) in enumerate(zip(by_preset[own], by_preset[baseline], strict=False)):
            rows, rivals = _answers(run), _answers(rival).reindex(_answers(run).index)
            words = np.array([len(str(text).split()) for text in texts.loc[rows.index]])
            frame = leads(rows.to_numpy(bool), rivals.to_numpy(bool), words)
            parts.append(frame.assign(dataset=dataset, own=own, baseline=baseline, seed=seed))
    return pd.concat(parts)[list(LEADS.columns)] if parts else pd.DataFrame(columns=list(LEADS.columns))


def _answers(run: Run) -> pd.Series[bool]:
    """Return whether each test row of a run is predicted right, by id."""
    frame = run.frame("test.parquet")
    frame = frame[frame["split"] == "test"].set_index("id")
    right: pd.Series[bool] = frame[list(run.labels)].to_numpy(float).argmax(axis=1) == frame["label"]
    return right


def main(arguments: Sequence[str] = ()) -> None:
    """Measure every data set of the study and store the table."""
    runs = study_runs().runs
    write(LEADS, pd.concat([frame for dataset in DATASETS if len(frame := measure(runs, dataset))]), "%.5g")
