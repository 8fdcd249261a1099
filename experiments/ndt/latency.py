"""Milliseconds per test batch of the study's models, measured beside each other in one process.

`python -m experiments ndt latency sst2 imdb` measures two data sets. Timed is the processor time of one thread, which other processes
disturb less than the clock on the wall.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch

from experiments import parser
from experiments.writing import update
from sentviz.data import datasets
from sentviz.data.texts import TokenizedText
from sentviz.data.tokenizers import Tokenizer
from sentviz.models.batches import collate
from sentviz.models.encoder import Encoder
from sentviz.papers.ndt.latency import MEASURED
from sentviz.papers.ndt.study import CONTROL, PRESETS
from sentviz.papers.studies import timing
from sentviz.runs.configs import EncoderConfig
from sentviz.training.recipe import Recipe

MODELS = ("vanilla", CONTROL, "diff", "ndt-unit-2", "ndt-unit-3", "ndt-unit-4")  # a constraint costs no time


def measure(dataset: str, *, batches: int = 2, rounds: int = 9, note: str = "", seed: int = 0) -> pd.DataFrame:
    """Forward passes over the same test batches of 64, for each of `MODELS` at the recipe's shape; random weights cost the same.

    Ratios are taken within a round and their median is given, with a 95 % bootstrap interval over rounds.

    Raises:
        DataMissingError: the data set is not on this machine.
    """
    recipe, size = Recipe.read(dataset), 64
    train, test = (datasets.load_split(dataset, split) for split in ("train", "test"))
    tokenizer = Tokenizer.train_words(train.frame["text"], recipe.min_count)
    texts = test.frame["text"].iloc[np.sort(np.random.default_rng(seed).permutation(len(test.frame))[: batches * size])].tolist()
    rows = [TokenizedText(ids) for ids in tokenizer.ids_batch(texts, max_length=recipe.max_length, cls=recipe.cls)]
    inputs = [collate(rows[i : i + size]) for i in range(0, len(rows), size)]
    shape = {"vocab_size": tokenizer.vocab_size, "classes": len(train.labels), "max_length": recipe.max_length}
    encoders = {name: Encoder(EncoderConfig(**(shape | dict(PRESETS[name].shape)))).eval() for name in MODELS}

    def forward(name: str) -> None:
        with torch.inference_mode():
            for batch in inputs:
                encoders[name](batch)

    with timing.threads(1):
        seconds = timing.interleaved({name: lambda name=name: forward(name) for name in MODELS}, rounds, seed=seed)
    bases = {"vanilla": "vanilla", "matched": CONTROL}
    out = []
    for name in MODELS:
        row: dict[str, object] = {"dataset": dataset, "model": name, "parameters": encoders[name].parameters_count()}
        row["milliseconds"] = float(np.median(seconds[name])) * 1e3 / len(inputs)
        for word, base in bases.items():
            value, low, high = timing.median(seconds[name] / seconds[base], seed)
            row |= {f"to_{word}": value, f"to_{word}_low": low, f"to_{word}_high": high}
        row |= {"batch": size, "batches": len(inputs), "tokens": max(batch.ids.shape[1] for batch in inputs), "rounds": rounds}
        out.append(row | {"note": note})
    return pd.DataFrame(out)


def main(arguments: Sequence[str]) -> None:
    """Measure data sets and store them in place of their old rows."""
    commands = parser(__name__, __doc__)
    commands.add_argument("dataset", nargs="+")
    commands.add_argument("--note", default="", help="What else ran on the machine.")
    options = commands.parse_args(arguments)
    for name in options.dataset:
        update(MEASURED, timing.with_machine(measure(name, note=options.note)), ("dataset",))
