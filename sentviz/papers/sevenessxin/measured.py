"""Measure runs with weights in addition to the study: predictions if padding is read, and predictions for neutral tweets.

`python -m sentviz.papers.sevenessxin.measured padding RUN` and `... neutral RUN` measure anew; what ships is in `measured/`.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sentviz.analysis.evaluation import bounds, mean_draws, wilson
from sentviz.data import datasets
from sentviz.io.lazy import pd
from sentviz.papers.sevenessxin.prints import DATASET
from sentviz.papers.studies.stored import Stored
from sentviz.runs.calibration import softmax

if TYPE_CHECKING:
    from sentviz.models.model import Model

FOLDER = Path(__file__).parent / "measured"
COMMAND = "python -m sentviz.papers.sevenessxin.measured"
PADDING = Stored(
    FOLDER / "padding.csv",
    ("of", "n", "changed", "changed_low", "changed_high", "difference", "low", "high", "moved", "run", "digest"),
    "The effect of padding is",
    f"{COMMAND} padding {DATASET}/7ess-v6-rope",
    ("of", "run", "digest"),
)
NEUTRAL = Stored(
    FOLDER / "neutral.csv",
    ("of", "n", "positive", "positive_low", "positive_high", "sure", "sure_low", "sure_high", "run", "digest"),
    "The predictions for neutral tweets are",
    f"{COMMAND} neutral {DATASET}/7ess-v6-rope",
    ("of", "run", "digest"),
)
SURE = 0.9
LENGTHS = ((1, 8), (9, 16), (17, 24), (25, 10_000))  # tokens of a text


def padding(model: Model, frame: pd.DataFrame) -> pd.DataFrame:
    """The same texts with padding masked and read, of all and by length in tokens.

    Columns: of, n; changed, the share of answers that become another one, with a Wilson interval; difference, accuracy with padding read
    minus masked, with a 95 % bootstrap interval over rows; moved, the median distance between the pooled vectors over their length.

    Args:
        frame: text and label.
    """

    rows = model.read(frame)
    (masked, own), (read, unmasked) = (model.forward(rows, model.intervention(change)) for change in ("", "term:mask=0"))
    labels, lengths = frame["label"].to_numpy(), np.array([len(row) for row in rows])
    answers = [softmax(each).argmax(axis=1) for each in (masked, read)]
    gained = (answers[1] == labels).astype(float) - (answers[0] == labels)
    moved = np.linalg.norm(unmasked - own, axis=1) / np.linalg.norm(own, axis=1)
    records = []
    parts = {"all": lengths > 0} | {
        f"{low} to {min(high, lengths.max())} tokens": (lengths >= low) & (lengths <= high) for low, high in LENGTHS
    }
    for name, part in parts.items():
        if not part.any():
            continue
        n, changed = int(part.sum()), int((answers[0] != answers[1])[part].sum())
        low, high = bounds(mean_draws(gained[part], np.random.default_rng(0), 2_000))
        at_least, at_most = wilson(changed, n)
        numbers = (changed / n, float(at_least), float(at_most), float(gained[part].mean()), low, high, float(np.median(moved[part])))
        records.append((name, n, *numbers))
    return pd.DataFrame(records, columns=list(PADDING.columns[:9]))


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


def _main() -> None:
    from sentviz.models.loading import load
    from sentviz.runs.store import find

    measures = {"padding": (padding, DATASET, PADDING), "neutral": (neutral, "tweeteval_sentiment", NEUTRAL)}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=measures)
    parser.add_argument("run")
    options = parser.parse_args()
    run = find(options.run)
    measure, dataset, stored = measures[options.what]
    frame = measure(load(run), datasets.load_split(dataset, "test").frame)
    stored.write(frame.assign(run=run.name, digest=run.digest), "%.6f")


if __name__ == "__main__":
    _main()
