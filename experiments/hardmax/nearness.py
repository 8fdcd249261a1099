"""Share of a review's words that are at a leader after the last layer, for several distances that count as near.

The runs that have weights are measured.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from experiments.writing import write
from sentviz.analysis.testset.leaders import at_leaders
from sentviz.data import datasets
from sentviz.io.arguments import Progress
from sentviz.models.hardmax import HardmaxModel
from sentviz.papers.hardmax.study import DATASET, NEARNESS, trained
from sentviz.runs.catalog import study_runs

# distances that count as near, as a share of a review's largest norm
THRESHOLDS = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)


def by_threshold(model: HardmaxModel, texts: list[str], progress: Progress | None = None) -> pd.DataFrame:
    """The share of a review's words at a leader after all layers: nearness, mean, q05, q50 over reviews, n (those with a known word)."""

    rows = [row for row in model.tokenizer.ids_batch(texts, max_length=model.config.max_length) if len(row)]
    shares = at_leaders(model, rows, THRESHOLDS, progress)
    low, middle = np.quantile(shares, [0.05, 0.5], axis=0)
    return pd.DataFrame({"nearness": THRESHOLDS, "mean": shares.mean(axis=0), "q05": low, "q50": middle, "n": len(rows)})


def main(arguments: Sequence[str] = ()) -> None:
    """Measure every run of the study on the test split."""
    texts = datasets.load_split(DATASET, "test").frame["text"].tolist()
    able = [(d, run) for d, seeds in trained(study_runs().runs).items() for run in seeds if run.has_weights]
    parts = [by_threshold(HardmaxModel.of(run), texts).assign(d=d, run=run.name, digest=run.digest) for d, run in able]
    write(NEARNESS, pd.concat(parts)[list(NEARNESS.columns)])
