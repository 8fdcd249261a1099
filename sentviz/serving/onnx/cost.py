"""What 8 bits cost: answers of a graph beside those of its run, on rows of the test split."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sentviz.analysis.evaluation import RESAMPLES, interval, mean_draws
from sentviz.errors import DataMissingError, InputError
from sentviz.models.model import Model
from sentviz.serving.onnx.session import Session

if TYPE_CHECKING:
    from sentviz.runs.store import Run


def cost(run: Run, model: Model, path: Path, *, rows: int = 2_000, seed: int = 0) -> dict[str, Any]:
    """Accuracy of a graph and of its run on the same rows, and their difference with a 95 % bootstrap interval over rows.

    Args:
        model: the run, loaded. path: of the graph. rows: of the test split, drawn by `seed`; 0 = all.
    Returns:
        n, split, seed, accuracy, of_the_run, difference {value, low, high} (graph minus run, 0..1), same (share of equal answers);
        only `why` where the data are not on this machine, or unknown.
    """
    from sentviz.data.datasets import load_split

    try:
        frame = load_split(run.config["data"]["name"], "test").frame
    except (DataMissingError, InputError) as error:
        return {"why": str(error)}
    if rows and rows < len(frame):
        frame = frame.iloc[np.sort(np.random.default_rng(seed).permutation(len(frame))[:rows])]
    readings = model.read(frame)
    other = Model(run.name, Session(model.config, path), model.tokenizer, model.labels, cls=model.cls, tagger=model.tagger)
    said, small = (each.forward(readings)[0].argmax(axis=1) for each in (model, other))
    labels = frame["label"].to_numpy()
    gain = (small == labels).astype(np.float64) - (said == labels)
    draws = mean_draws(gain, np.random.default_rng(seed), RESAMPLES)
    return {
        "split": "test",
        "n": len(frame),
        "seed": seed,
        "accuracy": round(float((small == labels).mean()), 5),
        "of_the_run": round(float((said == labels).mean()), 5),
        "difference": interval(float(gain.mean()), draws),
        "same": round(float((small == said).mean()), 5),
    }
