"""Measure how many of the most suspicious labels were flipped on purpose: precision of `label_errors`, against chance and a plain ranking.

`python -m experiments general planted` measures shipped runs, and stores numbers and no texts in `measured/planted.csv`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from sentviz.analysis.embeddings.projection import nearest
from sentviz.analysis.testset.label_errors import NEAREST, issues, order
from sentviz.analysis.testset.rows import Rows
from sentviz.io.lazy import pd, stats

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

SHARE, FIRST, SEEDS = 0.05, 100, 10


def flipped(labels: Ints, classes: int, share: float, seed: int) -> tuple[Ints, Bools]:
    """Return labels (n,) of which a random share is replaced by another class, each other class equally likely, and which were, (n,)."""
    rng = np.random.default_rng(seed)
    at = rng.permutation(len(labels))[: max(1, round(share * len(labels)))]
    new, is_flipped = labels.copy(), np.zeros(len(labels), dtype=bool)
    new[at] = (labels[at] + rng.integers(1, classes, len(at))) % classes
    is_flipped[at] = True
    return new, is_flipped


def planted(
    labels: Ints,
    shares: Floats,
    vectors: Floats | None = None,
    *,
    share: float = SHARE,
    first: int = FIRST,
    seeds: Iterable[int] = range(SEEDS),
) -> pd.DataFrame:
    """Flip labels on purpose and measure which share of the first rows of each ranking are flipped ones.

    cleanlab: the ranking of `label_errors`. probability: that of the label alone. neighbours, with vectors: cleanlab's with the labels of
    the ten nearest rows in place of the model's probabilities. Rows whose labels were wrong before count as found wrongly.

    Args:
        labels, shares: (n,) classes and (n, K) probabilities. vectors: (n, d).
        first: rows at the head of a ranking; fewer if fewer labels are flipped.
    Frame:
        seed, method, n, flipped, first, precision (0 to 1), flagged (rows that cleanlab flags), found (share of the flipped among them).
    """
    records, k = [], shares.shape[1]
    near = None if vectors is None else nearest(np.asarray(vectors, dtype=np.float64), NEAREST)[0]
    for seed in seeds:
        new_labels, is_flipped = flipped(labels, k, share, seed)
        head = min(first, int(is_flipped.sum()))
        for method, judged in _judged(new_labels, shares, near):
            flagged = issues(new_labels, judged) if method != "probability" else np.zeros(len(new_labels), dtype=bool)
            precision = float(is_flipped[order(new_labels, judged, flagged)[:head]].mean())
            share_flagged = float(flagged[is_flipped].mean()) if method != "probability" else np.nan
            records.append((seed, method, len(new_labels), int(is_flipped.sum()), head, precision, int(flagged.sum()), share_flagged))
    return pd.DataFrame(records, columns=["seed", "method", "n", "flipped", "first", "precision", "flagged", "found"])


def _judged(labels: Ints, shares: Floats, near: Ints | None) -> Iterator[tuple[str, Floats]]:
    """Yield each method with the probabilities (n, K) that it reads."""
    yield "cleanlab", shares
    yield "probability", shares
    if near is not None:
        counts = np.stack([(labels[near] == k).sum(axis=1) for k in range(shares.shape[1])], axis=1)
        yield "neighbours", (counts + 1) / (near.shape[1] + shares.shape[1])


def summarised(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the means over seeds with 95 % intervals of the mean (Student's t), and chance: the flipped share.

    Frame:
        method, n, flipped, first, seeds, value, low, high, flagged, found (means).
    """
    records = []
    for method, part in frame.groupby("method", sort=False):
        values, seeds = part["precision"].to_numpy(), len(part)
        spread = float(stats.t.ppf(0.975, seeds - 1) * values.std(ddof=1) / np.sqrt(seeds)) if seeds > 1 else np.nan
        row = part.iloc[0]
        low, high = max(0.0, values.mean() - spread), min(1.0, values.mean() + spread)
        records.append(
            (method, row["n"], row["flipped"], row["first"], seeds, values.mean(), low, high, part["flagged"].mean(), part["found"].mean())
        )
    row = frame.iloc[0]
    chance = row["flipped"] / row["n"]
    records.append(("chance", row["n"], row["flipped"], row["first"], frame["seed"].nunique(), chance, np.nan, np.nan, np.nan, np.nan))
    return pd.DataFrame(records, columns=["method", "n", "flipped", "first", "seeds", "value", "low", "high", "flagged", "found"])


def check(rows: Rows, *, seeds: int = 5) -> pd.DataFrame:
    """Return `summarised` of the labelled ones of some rows, so that a reader sees what the ranking is worth on them."""
    known = rows.labels >= 0
    return summarised(planted(rows.labels[known], rows.probabilities[known], seeds=range(seeds)))


def describe(table: pd.DataFrame) -> str:
    """Say what `check` measured."""
    by = {row["method"]: row for row in table.to_dict("records")}
    row, chance = by["cleanlab"], by["chance"]["value"]
    low, high = f"{row['low']:.0%}", f"{row['high']:.0%}"
    return (
        f"Checked on these rows with {row['flipped']:,.0f} labels flipped on purpose ({row['seeds']:.0f} seeds): {row['value']:.0%}"
        f" [{low}, {high}] of the first {row['first']:,.0f} rows of the list are flipped ones, against {chance:.0%} by chance, and"
        f" {row['found']:.0%} of the flipped ones are flagged."
    )
