"""Runs as ONNX graphs beside torch: one sentence and a batch, on one thread; and what 8 bits cost where the data are here."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import torch

from sentviz.data.tokenizers import TokenizedText
from sentviz.models.loading import load
from sentviz.papers.studies.timing import interleaved
from sentviz.serving.onnx import export
from sentviz.serving.onnx import load as opened
from tests.benchmarks.timing import say

RUNS = ("sst2/vanilla-matched", "sst2/ndt-unit-2", "sst2/diff", "sst2/cls-last-scaled", "sst5_trees/sentiformer", "sst5_trees/cnn-fast")
BATCHES = ((1, 20, 200), (32, 50, 30))  # texts, tokens, rounds


def portable() -> None:
    """Milliseconds of processor time of torch, the graph and the graph in 8 bits, in turn; the cost in points of accuracy, with n."""
    torch.set_num_threads(1)
    for name in RUNS:
        with tempfile.TemporaryDirectory() as folder:
            model, card = load(name), export(name, Path(folder) / "model", int8=True)
            graphs = [opened(Path(folder) / "model", int8=small, threads=1) for small in (False, True)]
            print(f"\n{name}: {card['compared']}, 8 bits: {card['int8']}")  # noqa: T201
            for texts, tokens, rounds in BATCHES:
                ids = np.random.default_rng(0).integers(4, model.config.vocab_size, (texts, tokens))
                tags = np.zeros_like(ids[0]) if model.capabilities.tags else None
                rows = [TokenizedText(row, None, tags) for row in ids]
                named = dict(zip(("torch", "onnx", "onnx, 8 bits"), (model, *graphs), strict=True))
                seconds = interleaved({key: partial(each.forward, rows) for key, each in named.items()}, rounds)
                say(f"{texts} texts of {tokens} tokens", {key: float(np.median(taken)) for key, taken in seconds.items()}, "torch")
