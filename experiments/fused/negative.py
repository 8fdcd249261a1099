"""Count how often scores of trained models are negative; there the product of Xia et al. turns a similarity around (section 3.1).

A pair is two different tokens of a text, special ones aside; a pair is alike if its similarity σ is above 1/3, that of neutral tokens.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from experiments.writing import write
from sentviz.data import datasets
from sentviz.data.lexicon import Floats, Lexicon
from sentviz.models.loading import load
from sentviz.models.model import Model
from sentviz.papers.fused.tables import NEGATIVE
from sentviz.runs.store import find

RUNS = {"nsmc/e5": "lexicon_ko_knu", "nsmc/cls": "lexicon_ko_knu", "sst2/cls": "lexicon_en_vader"}  # baseline -> lexicon of its study
TEXTS = 500  # random test texts
MARGIN = 1e-3  # similarity above 1/3 that counts as alike


def measure(model: Model, texts: list[str], polarity: Floats) -> pd.DataFrame:
    """Return a row per layer: layer (from 0), pairs, alike (number), negative and negative_alike (shares of their scores, all heads).

    Args:
        polarity: (V, 3) of the model's vocabulary.
    """
    counts = np.zeros((model.capabilities.layers, 4))
    for text in texts:
        trace = model.trace(text, scores=True)
        words = np.flatnonzero(~trace.specials)
        shares = polarity[model.encode(text).ids[words]]
        apart = ~np.eye(len(words), dtype=bool)
        alike = apart & (shares @ shares.T > 1 / 3 + MARGIN)
        assert trace.scores is not None
        below = trace.scores[:, :, :, words[:, None], words[None, :]] < 0
        heads = below.shape[1] * below.shape[2]
        for layer, each in enumerate(below):
            counts[layer] += [heads * apart.sum(), heads * alike.sum(), each[..., apart].sum(), each[..., alike].sum()]
    frame = pd.DataFrame(counts, columns=["pairs", "alike", "negative", "negative_alike"])
    shares_of = {"negative": frame["negative"] / frame["pairs"], "negative_alike": frame["negative_alike"] / frame["alike"]}
    return frame.assign(**shares_of, layer=range(len(frame)), texts=len(texts)).astype({"pairs": int, "alike": int})


def main(arguments: Sequence[str] = ()) -> None:
    """Measure the baselines that have weights."""
    frames = []
    for name, lexicon in RUNS.items():
        run = find(name)
        model, dataset = load(run), run.config["data"]["name"]
        test = datasets.load_split(dataset, "test").frame
        texts = test["text"].sample(TEXTS, random_state=0).tolist()
        polarity = Lexicon.load(lexicon).polarity(model.tokenizer)
        frames.append(measure(model, texts, polarity).assign(run=name, dataset=dataset))
    write(NEGATIVE, pd.concat(frames)[list(NEGATIVE.columns)], "%.5g")
