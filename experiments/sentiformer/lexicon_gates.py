"""Open the gates of the words of a lexicon in a trained SentiFormer (section VII, future work 1).

The paper proposes gates that a lexicon guides. A training that starts its gates there is not made; this measure opens the gates of all
tokens that an entry of the lexicon contains, in every layer of a trained model, and compares the predictions with its own.
`python -m experiments sentiformer lexicon_gates sst5_trees/sentiformer` measures a run.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from experiments import parser
from experiments.writing import write
from sentviz.analysis.evaluation import bounds, mean_draws
from sentviz.data import datasets
from sentviz.data.lexicon import Lexicon
from sentviz.models.loading import load
from sentviz.models.model import Model
from sentviz.papers.sentiformer.measured import LEXICON_GATES
from sentviz.runs.store import find

LEXICONS = ("lexicon_en_vader", "lexicon_en_opinion", "lexicon_en_sentiwordnet")


def measure(model: Model, frame: pd.DataFrame, lexicon: Lexicon) -> tuple[object, ...]:
    """Return a row of `LEXICON_GATES` without the run; opened is the share of tokens whose gates are opened, without special ones.

    Args:
        frame: text and label.
    """
    polarity, labels = lexicon.polarity(model.tokenizer), frame["label"].to_numpy()
    known = np.asarray(~np.isclose(polarity, 1 / 3).all(axis=1))
    special = list(model.tokenizer.special_ids)
    tokens, opened, before, after = 0, 0, [], []
    for text in frame["text"]:
        ids = model.encode(text).ids
        words = ~np.isin(ids, special)
        places = np.flatnonzero(known[ids] & words)
        tokens, opened = tokens + int(words.sum()), opened + len(places)
        change = "~".join(f"gate:{place + 1}=1" for place in places)
        own, guided = (model.predict([text], change=each)["label"].iloc[0] for each in ("", change))
        before.append(model.labels.index(own))
        after.append(model.labels.index(guided))
    first, second = np.array(before), np.array(after)
    gained = (second == labels).astype(float) - (first == labels)
    low, high = bounds(mean_draws(gained, np.random.default_rng(0), 2_000))
    changed, right = float((first != second).mean()), float((first == labels).mean())
    return lexicon.name, len(frame), opened / tokens, changed, right, float(gained.mean()), low, high


def main(arguments: Sequence[str]) -> None:
    """Measure the named run with every lexicon."""
    commands = parser(__name__, __doc__)
    commands.add_argument("run")
    run = find(commands.parse_args(arguments).run)
    model, test = load(run), datasets.load_split(run.config["data"]["name"], "test").frame
    rows = [(*measure(model, test, Lexicon.load(lexicon)), run.name) for lexicon in LEXICONS]
    write(LEXICON_GATES, pd.DataFrame(rows, columns=list(LEXICON_GATES.columns)))
