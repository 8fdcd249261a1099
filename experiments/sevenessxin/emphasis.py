"""Repeated letters and capitals, which the cleaning of 7ess-Xin drops or keeps (section V-C, future work).

The cleaning puts every text in lower case, so capitals cannot reach the model; repeated letters ("soooo") stay. The measure counts both in
the test tweets, and compares the predictions with those for the tweets in which each run of three or more equal letters is one letter.
`python -m experiments sevenessxin emphasis sentiment140/7ess-v6-rope` measures a run that has weights.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from experiments import parser
from experiments.writing import write
from sentviz.analysis.evaluation import bounds, mean_draws
from sentviz.data import datasets
from sentviz.models.loading import load
from sentviz.models.model import Model
from sentviz.papers.sevenessxin.measured import EMPHASIS
from sentviz.papers.sevenessxin.printed_tables import DATASET
from sentviz.runs.store import find

_REPEATED, _CAPITALS = re.compile(r"([A-Za-z])\1{2,}"), re.compile(r"\b[A-Z]{3,}\b")
_NAMES = re.compile(r"@\w+|https?://\S+|www\.\S+")


def once(text: str) -> str:
    """Return a text in which each run of three or more equal letters, upper and lower case apart, is one letter; names and links stay."""
    parts, end = [], 0
    for name in _NAMES.finditer(text):
        parts += [_REPEATED.sub(r"\1", text[end : name.start()]), name[0]]
        end = name.end()
    return "".join([*parts, _REPEATED.sub(r"\1", text[end:])])


def kinds(text: str) -> tuple[bool, bool]:
    """Return whether a text has repeated letters, and whether it has a word of three or more capitals."""
    plain = _NAMES.sub(" ", text)
    return bool(_REPEATED.search(plain)), bool(_CAPITALS.search(plain))


def measure(model: Model, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `EMPHASIS` without the run: tweets with repeated letters, with capitals, and with neither.

    Args:
        frame: text and label, 1 for positive.
    """

    changed_frame = frame.assign(text=[once(text) for text in frame["text"]])
    before, after = (model.forward(model.read(each))[0].argmax(axis=1) for each in (frame, changed_frame))
    labels = frame["label"].to_numpy()
    has = np.array([kinds(text) for text in frame["text"]])
    parts = {"repeated letters": has[:, 0], "capitals": has[:, 1], "neither": ~has.any(axis=1)}
    records = []
    for name, part in parts.items():
        gained = (after[part] == labels[part]).astype(float) - (before[part] == labels[part])
        low, high = bounds(mean_draws(gained, np.random.default_rng(0), 2_000))
        right, moved = (before == labels)[part].mean(), (before != after)[part].mean()
        records.append((name, int(part.sum()), part.mean(), labels[part].mean(), right, moved, gained.mean(), low, high))
    return pd.DataFrame(records, columns=list(EMPHASIS.columns[:-1]))


def main(arguments: Sequence[str]) -> None:
    """Measure the named run on its test split."""
    commands = parser(__name__, __doc__)
    commands.add_argument("run")
    run = find(commands.parse_args(arguments).run)
    write(EMPHASIS, measure(load(run), datasets.load_split(DATASET, "test").frame).assign(run=run.name))
