"""Open the gates of the words of a lexicon in a trained SentiFormer (section VII, future work 1).

The paper proposes gates that a lexicon guides. A training that starts its gates there is not made; this measure opens the gates of all
tokens that an entry of the lexicon contains, in every layer of a trained model, and compares the predictions with its own.
`python -m sentviz.papers.sentiformer.lexicon_gates sst5_trees/sentiformer` measures anew.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sentviz.analysis.evaluation import bounds, mean_draws
from sentviz.data import datasets
from sentviz.data.lexicon import Lexicon
from sentviz.io.lazy import pd
from sentviz.papers.studies.stored import Stored

if TYPE_CHECKING:
    from sentviz.models.model import Model

MEASURED = Stored(
    Path(__file__).parent / "measured" / "lexicon_gates.csv",
    ("lexicon", "n", "opened", "changed", "accuracy", "difference", "low", "high", "run"),
    "The effect of gates that a lexicon opens is",
    "python -m sentviz.papers.sentiformer.lexicon_gates sst5_trees/sentiformer",
    ("lexicon", "run"),
)
LEXICONS = ("lexicon_en_vader", "lexicon_en_opinion", "lexicon_en_sentiwordnet")


def measure(model: Model, frame: pd.DataFrame, lexicon: Lexicon) -> tuple[object, ...]:
    """Return a row of `MEASURED` without the run; opened is the share of tokens whose gates are opened, without special ones.

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


def _main(name: str) -> None:

    from sentviz.models.loading import load
    from sentviz.runs.store import find

    run = find(name)
    model, test = load(run), datasets.load_split(run.config["data"]["name"], "test").frame
    rows = [(*measure(model, test, Lexicon.load(lexicon)), run.name) for lexicon in LEXICONS]
    MEASURED.write(pd.DataFrame(rows, columns=list(MEASURED.columns)), "%.6g")


if __name__ == "__main__":
    _main(sys.argv[1])
