"""t-SNE of many vectors against scikit-learn's, with what each leaves of the divergence it minimises."""

from __future__ import annotations

import time

import numpy as np

from sentviz.analysis.embeddings.projection import project
from tests.benchmarks.timing import say

ROWS, WIDTH, PERPLEXITY = 10_000, 128, 30.0


def tsne() -> None:
    """One run each of 10,000 x 128, same perplexity, both from the first principal components; the first small ones load the libraries."""
    from sklearn.manifold import TSNE

    rng = np.random.default_rng(0)
    x = rng.normal(size=(ROWS, WIDTH)) + 2 * rng.normal(size=(10, WIDTH))[rng.integers(0, 10, ROWS)]
    project(x[:500], "tsne")
    seconds, divergence = {}, {}
    start = time.perf_counter()
    ours = project(x, "tsne", perplexity=PERPLEXITY)
    seconds["sentviz (openTSNE)"], divergence["sentviz (openTSNE)"] = time.perf_counter() - start, ours.parameters["KL divergence"]
    start = time.perf_counter()
    theirs = TSNE(perplexity=PERPLEXITY, init="pca", random_state=0, n_jobs=1).fit(x)
    seconds["scikit-learn"], divergence["scikit-learn"] = time.perf_counter() - start, float(theirs.kl_divergence_)
    say(f"t-SNE of {ROWS:,} x {WIDTH}, perplexity {PERPLEXITY:.0f}", seconds, "scikit-learn")
    for name, value in divergence.items():
        print(f"  {name:<28}KL divergence {value:.3f}")  # noqa: T201
