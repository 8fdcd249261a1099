"""SentiFormer made smaller, and trained on fewer rows (section VII, future work 3 and 4).

Quantised: each matrix row is rounded to signed integers, with one scale per row. Pruned: the smallest weights of each matrix
are set to 0. Nothing is trained again, and vectors stay as they are. Sizes count bits times weights that are not 0, without their places.
`python -m experiments sentiformer smaller compress FOLDER...` and `... rows FOLDER...` measure folders of runs that have weights;
`sentviz train sst5_trees_binary_rows --variant 5k` trains on fewer rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from experiments import parser
from experiments.writing import write
from sentviz.data import datasets
from sentviz.models.loading import load
from sentviz.papers.sentiformer.measured import COMPRESSED, ROWS
from sentviz.runs.store import Run

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


def main(arguments: Sequence[str]) -> None:
    """Measure the runs of the named folders."""
    commands = parser(__name__, __doc__)
    commands.add_argument("what", choices=("compress", "rows"))
    commands.add_argument("folders", nargs="+", type=Path)
    options = commands.parse_args(arguments)
    runs = [Run.open(folder, "/".join(folder.parts[-2:])) for folder in options.folders]
    if options.what == "rows":
        write(ROWS, by_rows(runs))
    else:
        write(COMPRESSED, pd.concat([compress(run) for run in runs]))
