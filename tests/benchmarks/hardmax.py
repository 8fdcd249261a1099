"""What a layer of hardmax attention costs, against the product of all pairs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sentviz.models.clustering import TOLERANCE, step
from tests.benchmarks.timing import ratios, say

Doubles = npt.NDArray[np.float64]


def all_pairs(z: Doubles, rows: int = 500) -> Doubles:
    """One layer with A = I, alpha = 1 by the n x n product, some rows at a time."""
    u = z / np.linalg.norm(z, axis=1, keepdims=True)
    slack = TOLERANCE * np.linalg.norm(z, axis=1).max()
    parts = []
    for i in range(0, len(z), rows):
        scores = u[i : i + rows] @ z.T
        tied = scores >= scores.max(axis=1, keepdims=True) - slack
        parts.append(tied @ z / tied.sum(axis=1, keepdims=True))
    return np.asarray((z + np.concatenate(parts)) / 2)


def scattered(n: int, d: int) -> Doubles:
    return np.random.default_rng(0).normal(size=(n, d))


def sphere(n: int, d: int) -> Doubles:
    z = scattered(n, d)
    return np.asarray(z / np.linalg.norm(z, axis=1, keepdims=True))


def layer() -> None:
    """One layer of scattered tokens in the plane and in space, results equal."""
    for d in (2, 3):
        for n, rounds in ((1_000, 15), (10_000, 3), (100_000, 1)):
            z = scattered(n, d)
            np.testing.assert_allclose(step(z), all_pairs(z), atol=1e-12)
            seconds = ratios({"all pairs": lambda z=z: all_pairs(z), "hull": lambda z=z: step(z)}, rounds=rounds)
            say(f"one layer of {n:,} tokens in {d}-D: {seconds['all pairs'] / seconds['hull']:,.0f} x as fast", seconds, "all pairs")


def growth() -> None:
    """Scattered tokens by number and dimension."""
    for d in (2, 3, 5):
        sizes = [1_000, 10_000, 100_000, *([1_000_000] if d == 2 else [])]
        tokens = {f"{n:,}": scattered(n, d) for n in sizes}
        seconds = ratios({name: lambda z=z: step(z) for name, z in tokens.items()}, rounds=3)
        say(f"one layer of n scattered tokens in {d}-D", seconds, "1,000")


def worst() -> None:
    """Every token on the hull: a circle is bisected all the same, a sphere is not."""
    for d in (2, 3):
        z = sphere(10_000, d)
        np.testing.assert_allclose(step(z), all_pairs(z), atol=1e-12)
        seconds = ratios({"all pairs": lambda z=z: all_pairs(z), "hull": lambda z=z: step(z)}, rounds=3)
        say(f"one layer of 10,000 tokens on a sphere in {d}-D", seconds, "all pairs")
