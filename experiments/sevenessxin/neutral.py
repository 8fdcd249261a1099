"""Predictions of a run with two classes for neutral tweets, beside those for polar ones.

`python -m experiments sevenessxin neutral sentiment140/7ess-v6-rope` measures a run that has weights.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from experiments import parser
from experiments.writing import write
from sentviz.analysis.evaluation import wilson
from sentviz.data import datasets
from sentviz.models.loading import load
from sentviz.models.model import Model
from sentviz.papers.sevenessxin.measured import NEUTRAL, SURE
from sentviz.runs.calibration import softmax
from sentviz.runs.store import find


def neutral(model: Model, frame: pd.DataFrame) -> pd.DataFrame:
    """Return how a model with two classes predicts neutral and polar tweets, one row each.

    Columns: of, n; positive, the share of tweets predicted positive; sure, the share with a probability of at least `SURE`. Both shares
    have a Wilson interval.

    Args:
        frame: text and label: 0 negative, 1 neutral, 2 positive; texts of which cleaning leaves nothing are left out.
    """
    rows, _ = model.sift(frame)
    frame = frame[[row is not None for row in rows]]
    shares = softmax(model.forward([row for row in rows if row is not None])[0])
    records = []
    for name, part in (("neutral", frame["label"].to_numpy() == 1), ("polar", frame["label"].to_numpy() != 1)):
        n, numbers = int(part.sum()), []
        for which in (shares[part].argmax(axis=1) == 1, shares[part].max(axis=1) >= SURE):
            low, high = wilson(int(which.sum()), n)
            numbers += [float(which.mean()), float(low), float(high)]
        records.append((name, n, *numbers))
    return pd.DataFrame(records, columns=list(NEUTRAL.columns[:8]))


def main(arguments: Sequence[str]) -> None:
    """Measure the named run on the test split of TweetEval."""
    commands = parser(__name__, __doc__)
    commands.add_argument("run")
    run = find(commands.parse_args(arguments).run)
    frame = neutral(load(run), datasets.load_split("tweeteval_sentiment", "test").frame)
    write(NEUTRAL, frame.assign(run=run.name, digest=run.digest), "%.6f")
