"""A configuration's metrics over its seeds, with an interval for other test rows and other seeds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from sentviz.analysis.evaluation import RESAMPLES, Floats, Ints, from_confusion
from sentviz.analysis.seeds import SeedNoise, half_width, standard_error
from sentviz.errors import InputError
from sentviz.papers.studies.stats import in_order
from sentviz.runs.run_files import stamp
from sentviz.runs.store import Run


def means(runs: Sequence[Run], split: str = "test", *, seed: int = 0, resamples: int = RESAMPLES) -> dict[str, dict[str, Any]]:
    """Return the means over the runs of one configuration by metric: value, low, high, n, seeds; empty if the split was not measured.

    A single run keeps its stored intervals, which are over test rows. For several runs, bootstrap draws of the rows, the same for every
    seed, give the variance over rows and the part of the variance over seeds that rows cause. The rest of the variance over seeds is added
    (`seeds.standard_error`). For AUC, loss and silhouette the stored intervals replace the draws, and all variance over seeds is added.

    Raises:
        RunError: a file is missing or damaged.
    """
    read = tuple(stamp(run.folder / file) for run in runs for file in ("metrics.json", "test.parquet"))
    result = _means(tuple(runs), tuple(run.digest for run in runs), read, split, seed, resamples)
    return {name: dict(value) for name, value in result.items()}


@lru_cache(maxsize=1024)
def _means(
    runs: tuple[Run, ...], digests: tuple[str, ...], read: tuple[tuple[int, int], ...], split: str, seed: int, resamples: int
) -> dict[str, dict[str, Any]]:
    """Return `means`, computed once per state of the files."""
    stored = [run.metrics().get(split, {}) for run in runs]
    if not stored or not all(stored):
        return {}
    names = [name for name, value in stored[0].items() if isinstance(value, dict) and all(name in of_run for of_run in stored)]
    if len(runs) == 1:
        return {name: {"n": stored[0]["n"]} | _of(stored[0][name]) | {"seeds": 1} for name in names}
    rng = np.random.default_rng(seed)
    labels, probabilities = predictions(runs, split)
    draws = _confusion_draws(labels, probabilities, rng, resamples)
    result = {}
    for name in names:
        several = [of_run[name] for of_run in stored]
        interval = _over_seeds(np.array([of_run["value"] for of_run in several]), draws[name]) if name in draws else combined(several)
        result[name] = interval | {"n": stored[0][name].get("n", stored[0]["n"]), "seeds": len(runs)}
    return result


def predictions(runs: Sequence[Run], split: str = "test") -> tuple[Ints, Floats]:
    """Return labels (N,) and probabilities (S, N, K) of runs that were tested on the same rows, in the order of the first run."""
    tables = []
    for run in runs:
        frame = run.frame("test.parquet")
        tables.append(frame[frame["split"] == split].set_index("id"))
    first, same = tables[0], []
    for run, table in zip(runs, tables, strict=True):
        if (ordered := in_order(first, table)) is None:
            raise InputError(f"{runs[0].name} and {run.name} were not tested on the same rows of {split}.")
        same.append(ordered)
    classes = list(runs[0].labels)
    stacked = np.stack([table[classes].to_numpy(np.float64) for table in same])
    return first["label"].to_numpy(np.int64), stacked


def combined(stored: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return value, low and high of several seeds from stored intervals: the mean, with the variance over rows plus that over seeds.

    The rows are the same for every seed, so their part does not shrink with seeds. A single seed keeps its interval. The
    interval is rather wide, because the interaction of rows and seeds is in both parts.
    """
    if len(stored) == 1:
        return {key: stored[0][key] for key in ("value", "low", "high")}
    values = np.array([seed["value"] for seed in stored])
    rows = float(np.mean([(seed["high"] - seed["low"]) / (2 * 1.96) for seed in stored])) ** 2
    half = half_width(*standard_error(rows, (SeedNoise(float(values.var(ddof=1)), 0.0, len(values) - 1), 1 / len(values))))
    return _about(float(values.mean()), half)


def _over_seeds(values: Floats, draws: Floats) -> dict[str, float]:
    """Return value, low and high of shares, (S,) over seeds, from their bootstrap draws over rows, (R, S)."""
    draws = draws[~np.isnan(draws).any(axis=1)]
    between, seeds = float(values.var(ddof=1)), len(values)
    rows = max(0.0, float(draws.var(axis=1, ddof=1).mean()) - between)  # a draw adds the rows' part to the spread once more
    noise = SeedNoise(between, rows, seeds - 1)
    result = _about(float(values.mean()), half_width(*standard_error(float(draws.mean(axis=1).var()), (noise, 1 / seeds))))
    return result | {"low": max(0.0, result["low"]), "high": min(1.0, result["high"])}


def _about(value: float, half: float) -> dict[str, float]:
    return {"value": round(value, 7), "low": round(value - half, 7), "high": round(value + half, 7)}


def _of(value: dict[str, Any]) -> dict[str, Any]:
    return {key: value[key] for key in ("value", "low", "high", "n") if key in value}


def _confusion_draws(labels: Ints, probabilities: Floats, rng: np.random.Generator, resamples: int) -> dict[str, Floats]:
    """Return bootstrap draws over rows by metric, (R, S). Rows on which every seed predicts the same are drawn together, by their
    number.
    """
    seeds, _, classes = probabilities.shape
    cells = labels * classes + probabilities.argmax(axis=2)  # (S, N)
    patterns, counts = np.unique(cells, axis=1, return_counts=True)
    drawn = rng.multinomial(len(labels), counts / len(labels), size=resamples)  # (R, patterns)
    by_seed = [from_confusion((drawn @ np.eye(classes**2, dtype=np.int64)[row]).reshape(-1, classes, classes)) for row in patterns]
    return {name: np.stack([by_seed[s][name] for s in range(seeds)], axis=1) for name in by_seed[0]}
