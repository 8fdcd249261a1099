"""SentiFormer made smaller, and trained on fewer rows (section VII, future work 3 and 4).

Quantised: each matrix row is rounded to signed integers, with one scale per row. Pruned: the smallest weights of each matrix
are set to 0. Nothing is trained again, and vectors stay as they are. Sizes count bits times weights that are not 0, without their places.
`python -m sentviz.papers.sentiformer.smaller compress FOLDER...` and `... rows FOLDER...` measure anew, with folders of runs that have
weights; `sentviz train sst5_trees_binary_rows --variant 5k` trains on fewer rows.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sentviz.analysis.evaluation import wilson
from sentviz.data import datasets
from sentviz.io.lazy import pd, torch
from sentviz.papers.studies.means import combined
from sentviz.papers.studies.stored import Stored
from sentviz.runs.store import Run

FOLDER, COMMAND = Path(__file__).parent / "measured", "python -m sentviz.papers.sentiformer.smaller"
COMPRESSED = Stored(
    FOLDER / "compressed.csv",
    ("way", "amount", "mib", "right", "n", "dataset", "seed", "run"),
    "The accuracy of a smaller SentiFormer is",
    f"{COMMAND} compress FOLDER",
    ("way", "dataset", "run"),
)
ROWS = Stored(
    FOLDER / "rows.csv",
    ("rows", "value", "low", "high", "n", "seed", "run"),
    "The accuracy by number of training rows is",
    f"{COMMAND} rows FOLDER",
    ("run",),
)
BITS, PRUNED = (8, 4, 3), (0.3, 0.5, 0.7, 0.9)
STORED_BITS = 32  # bits of a weight that is not quantised


def quantised(weights: torch.Tensor, bits: int) -> torch.Tensor:
    """Return a matrix rounded to signed integers with a scale per row, and scaled back."""
    most = 2 ** (bits - 1) - 1
    scale = weights.abs().amax(dim=1, keepdim=True).clamp(min=1e-12) / most
    rounded: torch.Tensor = (weights / scale).round().clamp(-most, most) * scale
    return rounded


def pruned(weights: torch.Tensor, share: float) -> torch.Tensor:
    """Return a matrix whose smallest weights, this share of them, are 0."""
    count = int(share * weights.numel())
    if not count:
        return weights.clone()
    bound = weights.abs().flatten().kthvalue(count).values
    return torch.where(weights.abs() > bound, weights, torch.zeros_like(weights))


def compress(run: Run, bits: Sequence[int] = BITS, shares: Sequence[float] = PRUNED) -> pd.DataFrame:
    """Return the rows of `COMPRESSED` for a run on its test split: unchanged, quantised and pruned.

    Raises:
        SentvizError: the run has no weights, or its data set is not available.
    """

    from sentviz.models.loading import load

    dataset = str(run.config["data"]["name"])
    frame, model = datasets.load_split(dataset, "test").frame, load(run)
    rows, labels = model.read(frame), frame["label"].to_numpy()
    network: Any = model.network
    original = {name: tensor.detach().clone() for name, tensor in network.named_parameters()}
    matrices = [name for name, tensor in original.items() if tensor.ndim == 2]
    ways = [("none", 0.0), *(("quantised", float(each)) for each in bits), *(("pruned", each) for each in shares)]
    records = []
    for way, amount in ways:
        size_in_bits = 0.0
        with torch.no_grad():
            for name, tensor in network.named_parameters():
                changed = name in matrices and way != "none"
                value = original[name]
                if changed:
                    value = quantised(value, int(amount)) if way == "quantised" else pruned(value, amount)
                tensor.copy_(value)
                size = int((value != 0).sum()) if changed and way == "pruned" else value.numel()
                size_in_bits += size * (amount if changed and way == "quantised" else STORED_BITS)
        right = int((model.forward(rows)[0].argmax(axis=1) == labels).sum())
        records.append((way, amount, size_in_bits / 8 / 2**20, right, len(labels), dataset, run.config["recipe"]["seed"], run.name))
    return pd.DataFrame(records, columns=list(COMPRESSED.columns))


def by_rows(runs: Sequence[Run]) -> pd.DataFrame:
    """Return the rows of `ROWS`: test accuracy with its interval over test rows by number of training rows."""
    records = []
    for run in runs:
        accuracy, test = run.metrics()["test"]["accuracy"], run.metrics()["test"]
        numbers = accuracy["value"], accuracy["low"], accuracy["high"], test["n"]
        records.append((run.config["data"]["splits"]["train"]["n"], *numbers, run.config["recipe"]["seed"], run.name))
    return pd.DataFrame(records, columns=list(ROWS.columns)).sort_values("rows")


def curve() -> pd.DataFrame:
    """Return mean accuracies by size in MiB over seeds, as `sentviz.figures.learning.learning_curve` draws them."""

    frame = COMPRESSED.require()
    records = []
    for (way, _), each in frame.groupby(["way", "amount"], sort=False):
        low, high = wilson(each["right"], each["n"])
        spans = [
            dict(zip(("value", "low", "high"), span, strict=True))
            for span in np.column_stack([each["right"] / each["n"], low, high]).tolist()
        ]
        point = {"rows": float(each["mib"].mean()), **combined(spans), "n": int(each["n"].iloc[0]), "seeds": len(each)}
        records += [{"preset": line} | point for line in (("quantised", "pruned") if way == "none" else (way,))]
    return pd.DataFrame(records).assign(printed=float("nan"))


def _main() -> None:

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("compress", "rows"))
    parser.add_argument("folders", nargs="+", type=Path)
    options = parser.parse_args()
    runs = [Run.open(folder, "/".join(folder.parts[-2:])) for folder in options.folders]
    if options.what == "rows":
        ROWS.write(by_rows(runs), "%.6g")
    else:
        COMPRESSED.write(pd.concat([compress(run) for run in runs]), "%.6g")


if __name__ == "__main__":
    _main()
