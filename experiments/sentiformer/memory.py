"""Memory that one long text takes (SentiFormer, section VI-B: 10,000 tokens fit in memory without truncation).

Each number is the highest resident memory of a separate process minus that before the model was made, so it holds the weights, their
gradients in a training step, and all activations; fp32, random weights, a batch of one. Linux only.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import torch

from experiments.writing import write
from sentviz.models.encoder import Encoder
from sentviz.models.protocol import Inputs
from sentviz.papers.sentiformer.measured import MEMORY, WORK
from sentviz.papers.studies import timing
from sentviz.runs.presets import preset

LENGTHS = (512, 2_048, 10_000)
WAYS = {"full": "sentiformer-full", "sparse": "sentiformer"}


def peak(of: str, attention: str, tokens: int) -> float:
    """Return the memory in MiB that one text of `tokens` tokens takes in this process. The process must not have made a model before."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    status = Path("/proc/self/status")
    Path("/proc/self/clear_refs").write_text("5")  # resets the highest resident memory
    before = _kib(status, "VmRSS")
    network = Encoder(preset(WAYS[attention], vocab_size=8_000, classes=5, max_length=tokens))
    inputs = Inputs(torch.randint(4, 8_000, (1, tokens)), tags=torch.randint(0, 2, (1, tokens)))
    if of == "prediction":
        with torch.inference_mode():
            network.eval()(inputs)
    else:
        torch.nn.functional.cross_entropy(network.train()(inputs).logits, torch.zeros(1, dtype=torch.long)).backward()
    return (_kib(status, "VmHWM") - before) / 1024


def _kib(status: Path, name: str) -> int:
    return next(int(line.split()[1]) for line in status.read_text(encoding="utf-8").splitlines() if line.startswith(f"{name}:"))


def measure(lengths: Sequence[int] = LENGTHS) -> pd.DataFrame:
    """Return the rows of `MEMORY`, each measured in a process of its own."""
    rows = []
    for of in WORK:
        for attention in WAYS:
            for tokens in lengths:
                command = [sys.executable, "-m", "experiments", "sentiformer", "memory", "--one", of, attention, str(tokens)]
                rows.append((of, attention, tokens, float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)))
    return timing.with_machine(pd.DataFrame(rows, columns=["of", "attention", "tokens", "mib"]))


def main(arguments: Sequence[str] = ()) -> None:
    """Measure everything, or print one number for the arguments "--one", work, attention and tokens."""
    if arguments[:1] == ["--one"]:
        sys.stdout.write(f"{peak(arguments[1], arguments[2], int(arguments[3]))}\n")
    else:
        write(MEMORY, measure(), "%.5g")
