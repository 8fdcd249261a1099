"""Comprehensiveness and sufficiency of a run on SST-2's official test sentences, beside numbers that others published for other models.

The 20 % of the words with the highest scores (at least one) are absent, or alone present; p is the probability of the predicted class:

    comprehensiveness   p(text) - p(text without the top words)    higher is better
    sufficiency         p(text) - p(the top words alone)           lower is better
    reached             normalised AOPC (`sentviz.analysis.explain.curves`): the mean fall of p if the words are removed in the order of
                        the scores, on the scale from the worst order of the text (0) to the best (1), which is exact: all subsets of
                        the words are predicted. So it is measured on texts of LEAST to MOST words only
                        (`sentviz.analysis.explain.exact_comparison`)

Absent words are deleted, masked or padded (`sentviz.analysis.explain.value_function`). The published numbers are those of the package
time_interpret (Enguehard 2023, arXiv 2305.15853), which deletes 20 % of the tokens.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import islice

import numpy as np
import pandas as pd

from experiments.writing import write
from sentviz.analysis.explain import explained
from sentviz.analysis.explain.curves import deletion, limits, mean_fall
from sentviz.analysis.explain.exact import subsets
from sentviz.analysis.explain.exact_comparison import RANDOM, short, word_scores
from sentviz.analysis.explain.faithfulness import sampled, summary
from sentviz.analysis.explain.stored import FOLDER, read_measured
from sentviz.analysis.explain.value_function import ABSENT, Bools, Doubles, Game
from sentviz.analysis.explain.word_groups import spaced_words
from sentviz.data.datasets import load_split
from sentviz.models.loading import load
from sentviz.models.model import Model

TABLE = "published"
RUN, ROWS, SAMPLE, SEED = "sst2/minilm", "sst5_trees_binary", 200, 0
SHORT_SAMPLE = 100  # texts whose subsets are all predicted
METHODS = ("removal", "permutation", "integrated-gradients", "gradient-shap", "gradient")
TOP = 0.2  # share of the words
# Experiments on SST-2 in the repository josephenguehard/time_interpret, experiments/nlp/results.csv at 141e3d7.
PUBLISHED = (
    ("DistilBERT", "integrated-gradients", 0.2306, 0.2735),
    ("DistilBERT", "gradient-shap", 0.1922, 0.3251),
    ("DistilBERT", "gradient", 0.1120, 0.3754),
    ("BERT", "integrated-gradients", 0.2656, 0.3195),
    ("BERT", "gradient-shap", 0.1748, 0.3928),
    ("BERT", "gradient", 0.0923, 0.4385),
    ("RoBERTa", "integrated-gradients", 0.2288, 0.3066),
    ("RoBERTa", "gradient-shap", 0.1507, 0.3704),
    ("RoBERTa", "gradient", 0.0760, 0.4263),
)


def measure(model: Model, texts: Sequence[str], *, sample: int = SAMPLE, seed: int = SEED) -> pd.DataFrame:
    """Measure a seeded sample of texts of at least three words, with each way in which words can be absent.

    Frame:
        absent, method, metric, value, low, high (95 % bootstrap over texts), random (mean of one random order per text), n, seed.
    """
    rows: list[tuple[object, ...]] = []
    for i, trace in enumerate(sampled(model, texts, sample=sample, seed=seed)):
        players = spaced_words(trace)
        if len(players) < 2:
            continue
        trace = explained(model, trace, METHODS)
        words = {name: word_scores(trace, name, players) for name in METHODS}
        words["random"] = np.random.default_rng(seed + i).permutation(len(players)).astype(np.float64)
        for absent in ABSENT:
            game = Game(model, trace, players, absent, "probability")
            tops = {name: _top(values) for name, values in words.items()}
            present = np.stack([np.ones(len(players), bool), *(~top for top in tops.values()), *tops.values()])
            full, *falls = game(present)
            fall = dict(
                zip([(metric, name) for metric in ("comprehensiveness", "sufficiency") for name in tops], full - falls, strict=True)
            )
            rows += [(absent, i, name, metric, value, fall[metric, "random"]) for (metric, name), value in fall.items() if name != "random"]
    return _summaries(rows, seed)


def measure_reached(model: Model, texts: Sequence[str], *, sample: int = SHORT_SAMPLE, seed: int = SEED) -> pd.DataFrame:
    """Measure the normalised AOPC on a seeded sample of short texts, with each way in which words can be absent.

    Frame:
        as `measure` returns it; random is the mean of RANDOM orders per text.
    """
    rows: list[tuple[object, ...]] = []
    for i, (_, trace) in enumerate(islice(short(model, texts, lambda place: True, seed=seed), sample)):
        players = spaced_words(trace)
        trace = explained(model, trace, METHODS)
        random = np.random.default_rng(seed + i)
        orders = [np.argsort(-word_scores(trace, name, players), kind="stable") for name in METHODS]
        orders += [random.permutation(len(players)) for _ in range(RANDOM)]
        for absent in ABSENT:
            table = Game(model, trace, players, absent, "probability")(subsets(len(players)))
            low, high = limits(table)
            if high - low > 1e-9:
                reached = [(mean_fall(deletion(table, order)) - low) / (high - low) for order in orders]
                mean = np.mean(reached[len(METHODS) :])
                rows += [(absent, i, name, "reached", value, mean) for name, value in zip(METHODS, reached, strict=False)]
    return _summaries(rows, seed)


def stored() -> pd.DataFrame:
    """Return the stored measurement of RUN, as `measure` returns it."""
    return read_measured(TABLE)


def _summaries(rows: Sequence[tuple[object, ...]], seed: int) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=["absent", "text", "method", "metric", "value", "random"])
    return pd.concat([summary(part, seed).assign(absent=absent) for absent, part in table.groupby("absent", sort=False)], ignore_index=True)


def _top(values: Doubles) -> Bools:
    """Return which words have the highest scores: TOP of them, at least one, (n,) bool."""
    top = np.zeros(len(values), dtype=bool)
    top[np.argsort(-values, kind="stable")[: max(1, int(TOP * len(values)))]] = True
    return top


def main(arguments: Sequence[str] = ()) -> None:
    """Measure `RUN` and print the table."""
    model, texts = load(RUN), load_split(ROWS, "test").frame["text"].tolist()
    table = pd.concat([measure(model, texts), measure_reached(model, texts)], ignore_index=True).round(4)
    write(FOLDER / f"{TABLE}.csv", table, None)
    sys.stdout.write(f"{table.to_string()}\n")
