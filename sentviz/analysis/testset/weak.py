"""Search for slices on which a model is weaker than on the other rows.

Rows are divided into two halves at random; rows with equal texts are in the same half. Candidates are the slices of
`sentviz.analysis.testset.subset`, every word that is in enough rows (stop words such as *my* too), clusters of the texts, and pairs of
these. The first half ranks the candidates and chooses at most ten. Only these are tested on the second half, which had no part in the
choice.

Both halves compare a slice with the rows outside it among rows of the same predicted class. Under shuffled labels, the right predictions of
a class are a random sample of its rows, so the number of right predictions in a slice is a sum of hypergeometric numbers. The test on the
second half is exact (a one-sided conditional test of the Cochran-Mantel-Haenszel kind); its p-values are adjusted for their number (Holm
1979). A comparison of all rows would call a slice weak only because it has many predictions of a class that is rarely right.

The effect is the accuracy of the slice minus the accuracy outside it, with Newcombe's interval (1998, method 10) at the level 1 - 0.05 / m
for m tested slices, so that all m intervals hold together with 95 %.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import blake2b
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from sentviz.analysis.evaluation import holm, wilson
from sentviz.analysis.testset.clusters import divided, usual_number
from sentviz.analysis.testset.predictions_file import is_table, sources
from sentviz.analysis.testset.rows import Rows, stored, with_texts
from sentviz.analysis.testset.slices import Slice
from sentviz.analysis.testset.subset import Subset, masks
from sentviz.analysis.testset.word_counts import frequent_words
from sentviz.errors import InputError
from sentviz.io.lazy import pd, sparse, stats
from sentviz.io.numbers import in_points, percent
from sentviz.runs.store import find

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

ALPHA = 0.05
LEAST = 10  # rows of a slice, and outside it, in each half
FEWEST = 100  # labelled rows for a search
MOST_TESTED = 10  # slices that the second half tests
PAIRED, PAIRED_WORDS, MOST_PAIRS = 60, 30, 200  # slices and words that form pairs, and pairs that are kept
WORSE = -2.0  # z of a candidate on the first half
GAIN = 1.0  # z by which a pair must be below both of its parts
COLUMNS = ("slice", "says", "rows", "mistakes", "n", "right", "accuracy", "rest", "difference", "low", "high", "p", "adjusted", "found")


@dataclass(frozen=True, eq=False)
class Candidates:
    """Slices of n labelled rows, which depend on the rows alone and not on their labels or predictions."""

    parts: tuple[tuple[Slice, ...], ...]  # F slices
    table: sparse.csr_matrix  # (F, n) 1 = the row is in the slice
    first: Bools  # (n,) True for rows of the first half
    words: int  # number of slices, the last ones, that are words


@dataclass(frozen=True, eq=False)
class WeakSlices:
    """Slices that were tested on the second half.

    ``frame``: slice (as `Subset` reads it), says (in words), rows and mistakes (of both halves); of the second half n, right, accuracy,
    rest (accuracy outside the slice), difference (accuracy - rest), low and high (its interval), p, adjusted (Holm); found (bool). Found
    slices come first, those with the lowest upper end of the interval before others.
    """

    frame: pd.DataFrame
    name: str  # name of the source
    halves: tuple[int, int]  # rows of both halves
    candidates: int
    seed: int
    accuracy: float  # accuracy on all rows

    @property
    def weaker(self) -> pd.DataFrame:
        """The slices that are weaker than the other rows."""
        return self.frame[self.frame["found"]].reset_index(drop=True)

    def __str__(self) -> str:
        """Return what was found, a line per slice."""
        n = sum(self.halves)
        tested = f"{len(self.frame)} of {self.candidates:,} candidates tested on {self.halves[1]:,} held-out rows"
        head = f"{self.name}: {percent(self.accuracy)} of {n:,} rows are right; {tested}"
        if self.weaker.empty:
            return f"{head}. No slice is significantly weaker than the other rows."
        return "\n".join((head, *(f"  {line(row)}" for row in self.weaker.to_dict("records"))))


def line(row: dict[Any, Any]) -> str:
    """Return a row of the frame of `WeakSlices` in words."""
    return f"{row['says']}: {numbers(row)}"


def numbers(row: dict[Any, Any]) -> str:
    """Return the numbers of a row of the frame of `WeakSlices` in words."""
    points = in_points(row["difference"], (row["low"], row["high"]), 1)
    return (
        f"{percent(row['accuracy'], 0)} of {row['n']:,} held-out rows right, {points} compared with the"
        f" others; {row['mistakes']:,} mistakes in {row['rows']:,} rows"
    )


def weak_slices(rows: Rows | str, *, seed: int = 0, step: Callable[[], object] = lambda: None) -> WeakSlices:
    """Search for slices of rows on which predictions are wrong more often than on the other rows.

    Args:
        rows: rows of any source, the name of a run (its test rows), or a file of predictions (FILE or FILE:MODEL). Rows without a label are
            left out. Without texts, only columns and sources are searched.
        seed: of the division into halves. step: called between parts of the work; an exception from it ends the work.
    """
    if isinstance(rows, str):
        rows = sources(rows)[0] if is_table(rows) else with_texts(stored(find(rows)))
    every, rows = rows, _labelled(rows)
    if len(rows) < FEWEST:
        raise InputError(f"A search for weak slices needs {FEWEST} rows with labels, and {rows.source.name} has {len(rows):,}.")
    right = rows.frame["right"].to_numpy(bool)
    if right.all() or not right.any():
        is_all = "right" if right.all() else "wrong"
        raise InputError(f"All {len(rows):,} predictions of {rows.source.name} are {is_all}, so no slice is weaker than the others.")
    return searched(rows, candidates(every, seed=seed, step=step), right, seed=seed)


def _labelled(rows: Rows) -> Rows:
    return replace(rows, frame=rows.frame[rows.labels >= 0].reset_index(drop=True))


# ---- candidates


def candidates(rows: Rows, *, seed: int = 0, step: Callable[[], object] = lambda: None) -> Candidates:
    """Return the slices that are searched; each has, and leaves out, at least 10 rows of each half.

    The clusters are those of all rows, as a link's are, so rows of a subset have none; everything else is about the labelled rows.
    """
    known, names, clusters = np.flatnonzero(rows.labels >= 0), list[str](), dict[tuple[str, ...], Bools]()
    if rows.has_text:
        names, having = frequent_words(rows, step)
        k = usual_number(len(rows))
        with suppress(InputError):  # Texts that differ too little have no clusters.
            clusters = {} if rows.among else divided(names, having, k, step=step)
    rows = _labelled(rows)
    first = halves(rows, seed)
    parts: list[tuple[Slice, ...]] = []
    tables: list[Any] = [sparse.csr_matrix((0, len(rows)), dtype=np.int32)]
    for part, inside in masks(rows):
        step()
        parts.append((part,))
        tables.append(sparse.csr_matrix(inside.astype(np.int32)))
    for keywords, inside in clusters.items():
        parts.append((Slice.cluster(k, keywords),))
        tables.append(sparse.csr_matrix(inside[known].astype(np.int32)))
    if names:
        tables.append(having[:, known])
    whole = sparse.vstack(tables, format="csr")
    parts += [(Slice("word", name),) for name in names]
    sizes = np.stack([whole @ first.astype(np.int64), whole @ (~first).astype(np.int64)])
    remaining = np.array([[first.sum()], [(~first).sum()]]) - sizes
    good = np.flatnonzero((sizes >= LEAST).all(axis=0) & (remaining >= LEAST).all(axis=0))
    if not len(good):
        raise InputError(f"No slice of these {len(rows):,} rows has {LEAST} rows in each half. There are too few rows to search.")
    words = int((good >= len(parts) - len(names)).sum())
    return Candidates(tuple(parts[place] for place in good), whole[good], first, words)


def halves(rows: Rows, seed: int) -> Bools:
    """Return which rows are in the first half, (n,). Equal texts are in the same half, also of other rows with the same seed."""
    keys = rows.texts if rows.has_text else rows.frame["id"].astype(str)
    marks = (blake2b(f"{seed} {key.strip().casefold()}".encode("utf-8", "replace"), digest_size=1).digest() for key in keys)
    return np.array([mark[0] & 1 for mark in marks], dtype=bool)


# ---- search


def searched(rows: Rows, of: Candidates, right: Bools, *, seed: int = 0) -> WeakSlices:
    """Choose slices on the first half and test them on the second one.

    Args:
        right: (n,) whether the prediction of each row is right.
    """
    predicted = rows.predicted
    parts, table = _chosen(of, right, predicted)
    m = max(1, len(parts))
    z = NormalDist().inv_cdf(1 - ALPHA / m / 2)
    tested: list[dict[str, Any]] = []
    for each, mask in zip(parts, table, strict=True):
        within, outside = mask & ~of.first, ~mask & ~of.first
        hits, hits_outside = int(right[within].sum()), int(right[outside].sum())
        n, n_outside = int(within.sum()), int(outside.sum())
        difference, low, high = newcombe(hits, n, hits_outside, n_outside, z)
        subset = Subset.of(each)
        tested.append(
            {
                "slice": str(subset),
                "says": subset.says(rows.classes),
                "rows": int(mask.sum()),
                "mistakes": int((mask & ~right).sum()),
                "n": n,
                "right": hits,
                "accuracy": hits / n,
                "rest": hits_outside / n_outside,
                "difference": difference,
                "low": low,
                "high": high,
                "p": exact_p(right[~of.first], predicted[~of.first], mask[~of.first]),
            }
        )
    adjusted = holm({row["slice"]: row["p"] for row in tested})
    for row in tested:
        row["adjusted"] = adjusted[row["slice"]]
        row["found"] = row["adjusted"] < ALPHA and row["high"] < 0
    frame = pd.DataFrame(tested, columns=list(COLUMNS)).astype({"found": bool})
    frame = frame.sort_values(["found", "high"], ascending=[False, True], kind="stable").reset_index(drop=True)
    sizes = int(of.first.sum()), int((~of.first).sum())
    return WeakSlices(frame, rows.source.name, sizes, len(of.parts), seed, float(right.mean()))


def _chosen(of: Candidates, right: Bools, predicted: Ints) -> tuple[list[tuple[Slice, ...]], list[Bools]]:
    """Return the slices to test, (m,), and their rows (n,), chosen on the first half.

    The weakest slice is chosen, its rows are taken away, and so on: what remains of a slice then is not the same weakness again. Columns,
    words and pairs are compared after subtracting the lowest z that as many random slices would have, about -sqrt(2 ln F).
    """
    table, correct, classes = of.table[:, of.first], right[of.first], predicted[of.first]
    one_hot = (classes[:, None] == np.unique(classes)).astype(np.float64)
    scores = _z(table, one_hot, correct)
    pairs, tried = _pairs(of, table, one_hot, correct, scores)
    parts = [*of.parts, *((*of.parts[a], *of.parts[b]) for a, b in pairs)]
    both = [of.table[a].multiply(of.table[b]).tocsr() for a, b in pairs]
    whole = sparse.vstack([of.table, *both], format="csr") if both else of.table
    columns = len(of.parts) - of.words
    kinds = (columns, columns), (of.words, of.words), (len(pairs), tried)
    offset = np.concatenate([np.full(n, np.sqrt(2 * np.log(max(2, many)))) for n, many in kinds])
    likely = np.concatenate([np.flatnonzero(scores < WORSE), np.arange(len(of.parts), len(parts))])
    table, offset, left = whole[likely][:, of.first], offset[likely], np.ones(len(classes))
    chosen: list[int] = []
    while len(chosen) < min(MOST_TESTED, len(likely)):
        scores = _z(table, one_hot * left[:, None], correct)
        best = int(np.argmin(np.where(scores < WORSE, scores + offset, np.inf)))
        if not scores[best] < WORSE:
            break
        chosen.append(int(likely[best]))
        left[table[best].indices] = 0
    return [parts[place] for place in chosen], [whole[place].toarray()[0].astype(bool) for place in chosen]


def _pairs(of: Candidates, table: Any, one_hot: Floats, correct: Bools, scores: Floats) -> tuple[list[tuple[int, int]], int]:
    """Return pairs of slices whose common rows are weaker than both slices, on the first half, and the number of pairs that were tried.

    The weakest pairs come first.
    """
    columns = len(of.parts) - of.words
    pool = [np.argsort(scores[:columns], kind="stable")[:PAIRED], columns + np.argsort(scores[columns:], kind="stable")[:PAIRED_WORDS]]
    pooled = np.sort(np.concatenate(pool))
    dense = table[pooled].toarray().astype(np.float32)
    size = dense @ dense.T
    expected, spread, hits = (np.zeros_like(size, dtype=np.float64) for _ in range(3))
    for column in one_hot.T:
        total, share = column.sum(), (column * correct).sum() / max(1.0, column.sum())
        inside = (dense * column.astype(np.float32)) @ dense.T
        hits += (dense * (column * correct).astype(np.float32)) @ dense.T
        expected += inside * share
        spread += inside * share * (1 - share) * (total - inside) / max(1.0, total - 1)
    z = np.divide(hits - expected, np.sqrt(spread), out=np.zeros_like(expected), where=spread > 0)
    alone, sizes = scores[pooled], np.diag(size)
    worse = z < np.minimum(np.minimum(alone[:, None], alone[None]) - GAIN, WORSE)
    held_out = of.table[pooled][:, ~of.first].toarray().astype(np.float32)
    enough = (size >= LEAST) & (held_out @ held_out.T >= LEAST) & (size <= 0.9 * np.minimum(sizes[:, None], sizes[None]))
    first, second = np.nonzero(np.triu(worse & enough, 1))
    order = np.argsort(z[first, second], kind="stable")[:MOST_PAIRS]
    return [(int(pooled[first[place]]), int(pooled[second[place]])) for place in order], int(np.triu(enough, 1).sum())


def _z(table: Any, one_hot: Floats, correct: Bools) -> Floats:
    """Return how far the right predictions in each slice are from those expected, in standard deviations, (F,); 0 for too few rows.

    Args:
        table: (F, n). one_hot: (n, K) the predicted class of the rows that count, zeros for the others.
    """
    total = one_hot.sum(axis=0)
    share = (one_hot * correct[:, None]).sum(axis=0) / np.maximum(total, 1)
    inside, hits = table @ one_hot, (table @ (one_hot * correct[:, None])).sum(axis=1)
    variance = (inside * share * (1 - share) * (total - inside) / np.maximum(total - 1, 1)).sum(axis=1)
    z = np.divide(hits - inside @ share, np.sqrt(variance), out=np.zeros(len(hits)), where=variance > 0)
    return np.where(inside.sum(axis=1) >= LEAST, z, 0.0)


# ---- test


def exact_p(right: Bools, predicted: Ints, inside: Bools) -> float:
    """Return the probability of at most as many right predictions in a slice, if right ones are drawn at random in each predicted class.

    Args:
        right, predicted, inside: (n,) whether the prediction is right, its class, whether the row is in the slice.
    """
    chances = np.ones(1)
    for k in np.unique(predicted[inside]):
        of = predicted == k
        n, hits, drawn = int(of.sum()), int(right[of].sum()), int((of & inside).sum())
        chances = np.convolve(chances, stats.hypergeom.pmf(np.arange(min(hits, drawn) + 1), n, hits, drawn))
    return float(min(1.0, chances[: int(right[inside].sum()) + 1].sum()))


def newcombe(right: int, n: int, other_right: int, other_n: int, z: float) -> tuple[float, float, float]:
    """Return a difference of two shares of right rows with low and high (Newcombe 1998, "Interval estimation for the difference between
    independent proportions", method 10).

    Args:
        z: quantile of the normal distribution.
    """
    a, b = right / n, other_right / other_n
    (low_a, low_b), (high_a, high_b) = wilson([right, other_right], [n, other_n], z)
    low = a - b - np.hypot(a - low_a, high_b - b)
    return a - b, float(low), float(a - b + np.hypot(high_a - a, b - low_b))
