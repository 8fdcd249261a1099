"""Runs on a pretrained base: loading, memory, and what a visitor waits for."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch

from sentviz.analysis.explain import explained
from sentviz.analysis.explain.counterfactual import smallest_flip
from sentviz.analysis.explain.gradients import integrated_gradients
from sentviz.models.model import Model
from sentviz.models.pretrained.adapter import MATRICES, based, fold, parts_of
from sentviz.models.pretrained.base import tokenizer_of
from sentviz.papers.studies.timing import threads
from sentviz.runs.bases import bases, find_base
from sentviz.runs.configs import EncoderConfig
from tools.benchmarks.timing import say

RANK = 8
WORDS = {
    12: "The film is long, but I really loved how the story ended.",
    30: "The film is long and its first half drags a little, but I really loved how the story ended, and both of the actors who play"
    " the old friends are wonderful.",
}


def adapted_at_random(name: str) -> Model:
    """Return a model of a random adapter of two classes on an installed base."""
    base, rng = find_base(name), torch.Generator().manual_seed(0)
    config = EncoderConfig(**(base.settings | {"classes": 2, "segments": 1}))
    network, of_base = based(base, config, empty=True)
    changes = {"classifier.weight": torch.randn(2, config.width, generator=rng), "classifier.bias": torch.zeros(2)}
    for matrix in (f"blocks.{layer}.{matrix}" for layer in range(config.layers) for matrix in MATRICES):
        rows, columns = network.get_parameter(f"{matrix}.weight").shape
        parts = len(parts_of(network, matrix))
        changes[f"{matrix}.a"] = torch.randn(parts * RANK, columns, generator=rng) * columns**-0.5
        changes[f"{matrix}.b"] = torch.randn(rows, RANK, generator=rng) * 1e-3
    fold(network, of_base, changes)
    return Model(name, network, tokenizer_of(base), ("negative", "positive"), cls=True)


def loading() -> None:
    """Seconds of the processor and peak megabytes until a run on each base is loaded and has answered once, in processes of their own.

    The first line is a process that has only imported everything.
    """
    print(f"\nloading a run on a base, one thread{'processor, s':>16}{'peak, MB':>12}{'after, MB':>12}")  # noqa: T201
    for name in ("", *bases()):
        lines = f"from tools.benchmarks.bases import loaded; loaded({name!r})"
        done = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=True)
        print(f"  {name or 'imports alone':<32}{done.stdout.strip()}")  # noqa: T201


def loaded(name: str) -> None:
    """Load a run in this process, and print what `loading` shows."""
    torch.set_num_threads(1)
    begin = time.process_time()
    model = adapted_at_random(name) if name else None
    took = time.process_time() - begin
    if model is not None:
        model.trace(WORDS[12])
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    peak, now = (next(int(line.split()[1]) for line in lines if line.startswith(key)) / 1024 for key in ("VmHWM", "VmRSS"))
    print(f"{took:18.2f}{peak:12,.0f}{now:12,.0f}")  # noqa: T201


def answers() -> None:
    """Processor time of explanations on one thread, as ratios to a trace, with the numbers of tried edits and of steps."""
    for name in bases():
        model = adapted_at_random(name)
        for words, text in WORDS.items():
            trace = explained(model, model.trace(text))
            results = dict[str, Any]()
            calls: dict[str, Callable[[], Any]] = {
                "trace": partial(model.trace, text),
                "word removal": partial(explained, model, trace),
                "smallest edit": partial(smallest_flip, model, trace),
                "integrated gradients": partial(integrated_gradients, model, trace),
            }
            seconds = dict[str, float]()
            with threads(1):
                for key, call in calls.items():
                    begin = time.process_time()
                    results[key] = call()
                    seconds[key] = time.process_time() - begin
            say(f"{name}, {words} words, processor time on one thread", seconds, "trace")
            flip, result = results["smallest edit"], results["integrated gradients"]
            print(f"  {flip.passes} edits tried; {result.steps} steps of integrated gradients, gap {result.gap:+.3f} of {result.rise:+.2f}")  # noqa: T201
