"""Milliseconds per test batch of the study's models, measured beside each other in one process.

`python -m sentviz.papers.ndt.latency sst2 imdb` measures anew; the numbers that ship are in `measured/latency.csv`. Timed is the
processor time of one thread, which other processes disturb less than the clock on the wall.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sentviz.data import datasets
from sentviz.data.texts import TokenizedText
from sentviz.data.tokenizers import Tokenizer
from sentviz.io.lazy import pd, torch
from sentviz.papers.ndt import prints
from sentviz.papers.ndt.presets import PRESETS
from sentviz.papers.ndt.study import CONTROL, printed_name
from sentviz.papers.studies import timing
from sentviz.papers.studies.stored import Stored
from sentviz.runs.configs import EncoderConfig
from sentviz.training.recipe import Recipe

RATIOS = [f"to_{base}{end}" for base in ("vanilla", "matched") for end in ("", "_low", "_high")]
MEASURED = Stored(
    Path(__file__).parent / "measured" / "latency.csv",
    ("dataset", "model", "parameters", "milliseconds", *RATIOS, "batch", "batches", "tokens", "rounds", "note", "hardware", "torch"),
    "The time per batch is",
    "python -m sentviz.papers.ndt.latency",
    timing.TEXTS,
)
MODELS = ("vanilla", CONTROL, "diff", "ndt-unit-2", "ndt-unit-3", "ndt-unit-4")  # a constraint costs no time
BATCHES = {"imdb": 391, "sst2": 160, "yelp_full": 411}  # the paper's number of test batches, from its milliseconds and whole seconds


def measure(dataset: str, *, batches: int = 2, rounds: int = 9, note: str = "", seed: int = 0) -> pd.DataFrame:
    """Forward passes over the same test batches of 64, for each of `MODELS` at the recipe's shape; random weights cost the same.

    Ratios are taken within a round and their median is given, with a 95 % bootstrap interval over rounds.

    Raises:
        DataMissingError: the data set is not on this machine.
    """

    from sentviz.models.batches import collate
    from sentviz.models.encoder import Encoder

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
        seconds = timing.interleaved({name: lambda name=name: forward(name) for name in MODELS}, rounds, seed=seed)  # type: ignore[misc]
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


def printed_milliseconds(dataset: str) -> dict[str, float]:
    """Return the reported milliseconds per batch by configuration; a row for all ranges of lambda has the name of [0,1]."""
    table = prints.table("inference_ms_per_batch")
    table = table[table["dataset"] == printed_name(dataset)]
    return {
        row["family"] if row["family"] != "ndt" else f"ndt-unit-{row['components']}": float(row["milliseconds"])
        for row in table.to_dict("records")
    }


def printed_ratios(dataset: str) -> pd.DataFrame:
    """The printed milliseconds as ratios to the printed vanilla: model, value, low, high.

    The reported times look like whole seconds divided by the number of batches, so each can be wrong by half a second; low and high are
    the smallest and largest ratio that this allows. Empty if vanilla's reported total is at most 0.5 s (Twitter, reported as 0).
    """
    seconds = {model: value * BATCHES.get(dataset, 0) / 1e3 for model, value in printed_milliseconds(dataset).items()}
    base = seconds.get("vanilla", 0.0)
    rows = [
        (model, 1.0, 1.0, 1.0)
        if model == "vanilla"
        else (model, value / base, max(0.0, value - 0.5) / (base + 0.5), (value + 0.5) / max(base - 0.5, 1e-9))
        for model, value in seconds.items()
        if base > 0.5
    ]
    return pd.DataFrame(rows, columns=["model", "value", "low", "high"]).astype(dict.fromkeys(("value", "low", "high"), float))


def main(names: Sequence[str], note: str = "") -> None:
    """Measure data sets and store them in place of their old rows."""
    for name in names:
        MEASURED.update(timing.with_machine(measure(name, note=note)), ("dataset",))


if __name__ == "__main__":
    import argparse

    parser = argparse.ArgumentParser(description="Measure milliseconds per test batch.")
    parser.add_argument("dataset", nargs="+")
    parser.add_argument("--note", default="", help="What else ran on the machine.")
    options = parser.parse_args()
    main(options.dataset, options.note)
