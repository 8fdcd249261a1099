"""How many texts are long enough for SentiFormer's window to leave anything out.

In a text of at most `seen_whole` tokens each token sees all others: there the sparse model computes what the full one does. The
tokens are those of the runs that are installed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from experiments.writing import update
from sentviz.data import datasets
from sentviz.models.loading import load
from sentviz.papers.sentiformer.measured import REACH
from sentviz.papers.sentiformer.study import DATASETS, WHOLE, configurations
from sentviz.runs.catalog import study_runs
from sentviz.runs.configs import EncoderConfig
from sentviz.runs.store import Run


def seen_whole(config: EncoderConfig) -> int:
    """Return the number of tokens of the longest text in which each token sees all others, without the keys that are drawn at random.

    A token sees window // 2 others to each side, and every global key. With the first and the last token as global keys, the farthest pair
    that depends on the window is one token shorter than the text.
    """
    return config.window // 2 + (2 if {0, -1} <= set(config.global_tokens) else 1)


def measure(run: Run, split: str = "test") -> dict[str, object]:
    """Return the lengths of a run's test texts in tokens: median, longest, the longest that each token sees completely (`within`), and
    the share of longer texts (`beyond`). The run must have a window.

    Raises:
        DataMissingError: the data set is not on this machine.
    """
    model, dataset = load(run), str(run.config["data"]["name"])
    texts = datasets.load_split(dataset, split).frame["text"].tolist()
    recipe = run.config["recipe"]
    lengths = np.array([len(ids) for ids in model.tokenizer.ids_batch(texts, max_length=recipe["max_length"], cls=recipe["cls"])])
    within = seen_whole(model.config)
    shares = {
        "median": int(np.median(lengths)),
        "longest": int(lengths.max()),
        "within": within,
        "beyond": float((lengths > within).mean()),
    }
    return {"dataset": dataset, "split": split, "n": len(lengths), **shares, "run": run.name}


def main(arguments: Sequence[str] = ()) -> None:
    """Measure every data set of the study that has a run with a window and weights; the rows of other data sets stay."""
    runs, able = study_runs().runs, []
    for dataset in DATASETS:
        able += [run for run in configurations(runs, dataset).get(WHOLE, []) if run.has_weights][:1]
    update(REACH, pd.DataFrame([measure(run) for run in able], columns=list(REACH.columns)).round(4), ("dataset",))
