"""Memory that one long text takes (SentiFormer, section VI-B: 10,000 tokens fit in memory without truncation).

Each number is the highest resident memory of a separate process minus that before the model was made, so it holds the weights, their
gradients in a training step, and all activations; fp32, random weights, a batch of one. Linux only.
`python -m sentviz.papers.sentiformer.memory` measures anew.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from sentviz.io.lazy import pd, torch
from sentviz.papers.studies import timing
from sentviz.papers.studies.stored import Stored
from sentviz.runs.presets import preset

COMMAND = "python -m sentviz.papers.sentiformer.memory"
MEASURED = Stored(
    Path(__file__).parent / "measured" / "memory.csv",
    ("of", "attention", "tokens", "mib", "hardware", "torch"),
    "The memory of a long text is",
    COMMAND,
    ("of", "attention", "hardware", "torch"),
)
LENGTHS = (512, 2_048, 10_000)
PROMISED = 10_000  # tokens that the paper says fit in memory
CARD = 16 * 1024  # MiB of the smaller V100; the paper does not say which one it has
WAYS = {"full": "sentiformer-full", "sparse": "sentiformer"}
PARTS = ("prediction", "training step")


def peak(of: str, attention: str, tokens: int) -> float:
    """Return the memory in MiB that one text of `tokens` tokens takes in this process. The process must not have made a model before."""

    from sentviz.models.encoder import Encoder
    from sentviz.models.protocol import Inputs

    torch.manual_seed(0)
    torch.set_num_threads(1)
    status = Path("/proc/self/status")
    Path("/proc/self/clear_refs").write_text("5")  # resets the highest resident memory
    before = _kib(status, "VmRSS")
    network = Encoder(preset(WAYS[attention], vocab_size=8_000, classes=5, max_length=tokens))  # type: ignore[arg-type]
    inputs = Inputs(torch.randint(4, 8_000, (1, tokens)), tags=torch.randint(0, 2, (1, tokens)))
    if of == "prediction":
        with torch.inference_mode():
            network.eval()(inputs)
    else:
        torch.nn.functional.cross_entropy(network.train()(inputs).logits, torch.zeros(1, dtype=torch.long)).backward()  # type: ignore[no-untyped-call]
    return (_kib(status, "VmHWM") - before) / 1024


def _kib(status: Path, name: str) -> int:
    return next(int(line.split()[1]) for line in status.read_text(encoding="utf-8").splitlines() if line.startswith(f"{name}:"))


def measure(lengths: Sequence[int] = LENGTHS) -> pd.DataFrame:
    """Return the rows of `MEASURED`, each measured in a process of its own."""
    rows = []
    for of in PARTS:
        for attention in WAYS:
            for tokens in lengths:
                command = [sys.executable, "-m", "sentviz.papers.sentiformer.memory", "--one", of, attention, str(tokens)]
                rows.append((of, attention, tokens, float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)))
    return timing.with_machine(pd.DataFrame(rows, columns=["of", "attention", "tokens", "mib"]))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        sys.stdout.write(f"{peak(sys.argv[2], sys.argv[3], int(sys.argv[4]))}\n")
    else:
        MEASURED.write(measure(), "%.5g")
