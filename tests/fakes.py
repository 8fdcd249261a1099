"""Stand-ins for what trained models return."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sentviz.runs.trace import Trace


def fake_trace(
    n: int = 12,
    layers: int = 2,
    heads: int = 4,
    components: int = 2,
    signed: bool = False,
    tokens: Sequence[str] | None = None,
    seed: int = 0,
) -> Trace:
    """A random trace whose component rows are softmax rows and whose effective map is mixed by lambda.

    ``signed`` subtracts the later components, as the Differential Transformer does, so that entries become negative.
    ``tokens`` without special tokens replaces the default words and sets n = len(tokens) + 1 ([CLS] comes first).
    """
    rng = np.random.default_rng(seed)
    words = [f"word{i}" for i in range(n - 1)] if tokens is None else list(tokens)
    names = ("[CLS]", *words)
    n = len(names)
    scores = rng.normal(size=(layers, components, heads, n, n)) * 1.6
    maps = np.exp(scores - scores.max(-1, keepdims=True))
    maps = (maps / maps.sum(-1, keepdims=True)).astype(np.float32)
    rest = rng.uniform(0.5, 0.9, (layers, components - 1)) if signed else rng.uniform(0.1, 0.3, (layers, components - 1))
    lambdas = np.concatenate([np.ones((layers, 1)), -rest if signed else rest], axis=1).astype(np.float32)
    starts = np.cumsum([0, *(len(word) + 1 for word in words)])
    offsets = np.array([(0, 0), *((s, s + len(w)) for s, w in zip(starts, words, strict=False))], dtype=np.int64)
    logits = rng.normal(size=2).astype(np.float32)
    return Trace(
        run="fake-run",
        text=" ".join(words),
        text_pair=None,
        tokens=names,
        offsets=offsets,
        segments=np.zeros(n, dtype=np.int64),
        specials=np.arange(n) == 0,
        unknown=np.zeros(n, dtype=np.bool_),
        labels=("negative", "positive"),
        logits=logits,
        probabilities=(np.exp(logits) / np.exp(logits).sum()).astype(np.float32),
        lambdas=lambdas,
        layer_ids=tuple(range(layers)),
        head_ids=tuple(range(heads)),
        component_ids=tuple(range(components)),
        query_ids=tuple(range(n)),
        attention=np.einsum("lc,lchnm->lhnm", lambdas, maps),
        components=maps,
        hidden=rng.normal(size=(layers + 1, n, 8)).astype(np.float32),
        pooled=rng.normal(size=8).astype(np.float32),
        scores=scores.astype(np.float32),
    )
