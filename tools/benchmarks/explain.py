"""Exact values against a plain loop, and the samplers against each other."""

from __future__ import annotations

from itertools import combinations

import torch

from sentviz.analysis.explain.exact import exact
from sentviz.analysis.explain.permutation import permutation_shap
from sentviz.analysis.explain.value_function import part_removal
from sentviz.models.loading import load
from tools.benchmarks.timing import ratios, say

TEXT = "we did not like the bad ending of this film"


def exact_values() -> None:
    """All subsets of 10 words in batches against one prediction per subset, and against 100 samples and the removal of each clause."""
    torch.set_num_threads(1)
    for name in ("sst2/ndt-unit-2", "english/minilm"):
        model = load(name)
        trace, words = model.trace(TEXT, maps=False), TEXT.split()
        texts = [" ".join(words[i] for i in some) for size in range(1, 11) for some in combinations(range(10), size)]

        def loop(model: object = model, texts: list[str] = texts) -> None:
            for text in texts:
                model.predict([text])  # type: ignore[attr-defined]

        candidates = {
            "one by one": loop,
            "exact": lambda model=model, trace=trace: exact(model, trace),
            "permutation, 100 texts": lambda model=model, trace=trace: permutation_shap(model, trace, samples=100),
            "clauses": lambda model=model, trace=trace: part_removal(model, trace, "clauses"),
        }
        say(f"10 words, {name}, one thread", ratios(candidates, rounds=3), "one by one")
