"""Count how often each statement of the theorem is true for matrices A that the theorem does not cover, over random runs of each kind of A.

The runs are simulated, so this needs neither data nor weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from experiments.writing import write
from sentviz.models.clustering import simulate
from sentviz.models.clustering.polytope import limit, theory
from sentviz.papers.hardmax.study import MATRICES, STATEMENTS

Doubles = npt.NDArray[np.float64]

RUNS = 100  # random runs of each kind
LAYERS = 1_000  # most layers of a run


def _symmetric(rng: np.random.Generator, eigenvalues: Doubles) -> Doubles:
    """Return a symmetric matrix with these eigenvalues and random axes."""
    axes = np.linalg.qr(rng.normal(size=(len(eigenvalues), len(eigenvalues))))[0]
    return np.asarray(axes @ np.diag(eigenvalues) @ axes.T)


def _signs(rng: np.random.Generator, d: int) -> Doubles:
    """Return eigenvalues of which one is positive and one is negative."""
    return np.concatenate([[1.0, -1.0], rng.choice([-1.0, 1.0], size=d - 2)]) * rng.uniform(0.1, 1, size=d)


KINDS: dict[str, Callable[[np.random.Generator, int], Doubles]] = {  # kind of A -> a random one of dimension d
    "symmetric positive definite": lambda rng, d: _symmetric(rng, rng.uniform(0.1, 1, size=d)),
    "symmetric of rank 1": lambda rng, d: _symmetric(rng, np.eye(d)[0]),
    "symmetric, with negative eigenvalues": lambda rng, d: _symmetric(rng, _signs(rng, d)),
    "symmetric negative definite": lambda rng, d: _symmetric(rng, -rng.uniform(0.1, 1, size=d)),
    "general": lambda rng, d: rng.normal(size=(d, d)),
    "general of rank 1": lambda rng, d: np.outer(rng.normal(size=d), rng.normal(size=d)),
}


def count(kind: str, runs: int = RUNS, layers: int = LAYERS) -> dict[str, object]:
    """Return a row of the table: the share of random runs in which each statement is true, the median number of points of S, and the share
    of runs in which S is a single point.

    A statement that was not decided, for example because a run did not reach its limit, counts as not true.
    """
    rng = np.random.default_rng(0)
    true, points = dict.fromkeys(STATEMENTS, 0), []
    for _ in range(runs):
        d = int(rng.integers(2, 5))
        run = simulate(rng.normal(size=(int(rng.integers(3, 40)), d)), KINDS[kind](rng, d), float(rng.uniform(0.2, 3)))
        holds = {statement.name: statement.holds is True for statement in theory(run, layers)}
        true = {name: true[name] + holds.get(name, False) for name in STATEMENTS}
        points.append(len(limit(run, layers).clusters))
    ends = {"points": float(np.median(points)), "single": float(np.mean(np.array(points) == 1))}
    return {"kind": kind, "runs": runs, **ends, **{name: true[name] / runs for name in STATEMENTS}}


def main(arguments: Sequence[str] = ()) -> None:
    """Count over random runs of every kind of A."""
    write(MATRICES, pd.DataFrame([count(kind) for kind in KINDS])[list(MATRICES.columns)])
