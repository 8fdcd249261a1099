"""Predictions of a run for the same tweets if padding is read instead of masked.

`python -m experiments sevenessxin padding sentiment140/7ess-v6-rope` measures a run that has weights.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from experiments import parser
from experiments.writing import write
from sentviz.analysis.evaluation import bounds, mean_draws, wilson
from sentviz.data import datasets
from sentviz.models.loading import load
from sentviz.models.model import Model
from sentviz.papers.sevenessxin.measured import PADDING
from sentviz.papers.sevenessxin.printed_tables import DATASET
from sentviz.runs.calibration import softmax
from sentviz.runs.store import find

LENGTHS = ((1, 8), (9, 16), (17, 24), (25, 10_000))  # tokens of a text


def padding(model: Model, frame: pd.DataFrame) -> pd.DataFrame:
    """Compare predictions for the same texts with padding masked and read, of all texts and by length in tokens.

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


def main(arguments: Sequence[str]) -> None:
    """Measure the named run on its test split."""
    commands = parser(__name__, __doc__)
    commands.add_argument("run")
    run = find(commands.parse_args(arguments).run)
    frame = padding(load(run), datasets.load_split(DATASET, "test").frame)
    write(PADDING, frame.assign(run=run.name, digest=run.digest), "%.6f")
