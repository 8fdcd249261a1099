"""Small runs with a lexicon of made-up polarities in their scores."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from sentviz.data import datasets
from sentviz.models.model import Model
from sentviz.training import train
from tests.kit import small_model, toy_recipe, use_toy_data

LEXICON = "lexicon_en_vader"
TERMS = {"warm": 3.0, "warm song": 2.0, "clever": 1.5, "tender": 1.0, "dull": -2.5, "cold": -1.0, "dreadful": -3.0}
RUNS = ("cls-all",)
TEXT = "the song was warm and dull, what a clever garden"


def write_lexicon(data: Path) -> None:
    """Write a data folder with made-up polarities under the name of a known lexicon."""
    (data / LEXICON).mkdir(parents=True)
    frame = pd.DataFrame({"term": list(TERMS), "polarity": list(TERMS.values())})
    frame.to_parquet(data / LEXICON / "lexicon.parquet", index=False)


def use_injected_data(patch: pytest.MonkeyPatch) -> None:
    """Register the made-up set under the name toy; lexicons and other data sets stay."""
    known = datasets.info
    use_toy_data(patch)
    toy = datasets.info
    patch.setattr(datasets, "info", lambda name: toy(name) if name == "toy" else known(name))


def train_runs(root: Path) -> None:
    """Make the folders `root/data` and `root/runs`, with one run of the made-up set for each of `RUNS`."""
    write_lexicon(root / "data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTVIZ_DATA", str(root / "data"))
        use_injected_data(patch)
        for name in RUNS:
            recipe = toy_recipe(name, lexicon=LEXICON, cls=True, epochs=1, example=TEXT)
            train(recipe, root / "runs", progress=False)


def random_model(seed: int = 0, **changes: object) -> Model:
    """Return a random model with [CLS] whose words have random polarities; specials and every third word are neutral."""
    model = small_model(seed, cls=True, max_length=40, **{"lexicon": "add"} | changes)
    table = np.random.default_rng(seed).dirichlet([0.7] * 3, model.tokenizer.vocab_size).astype(np.float32)
    table[:4], table[4::3] = 1 / 3, 1 / 3
    model.network.polarity.copy_(torch.from_numpy(table))
    return model
