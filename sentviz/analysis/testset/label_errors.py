"""Rows whose labels look wrong, by confident learning on predicted probabilities (Northcutt, Jiang & Chuang 2021; package cleanlab).

Confident learning counts how often a row with one label is predicted as another class with more than that class's usual probability. It
flags as many rows of each pair of classes as the counts say, those with the largest margin first. The flagged rows are ordered by the
probability of their label, the lowest first. Vectors do not change the order: they add what the nearest rows are labelled.

`planted` measures how many of the most suspicious labels were flipped on purpose: precision against chance and a plain ranking.
`python -m experiments general planted` measures shipped runs, and stores numbers and no texts in `measured/planted.csv`.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sentviz.analysis.embeddings.projection import nearest
from sentviz.analysis.evaluation import wilson
from sentviz.analysis.testset.rows import Rows
from sentviz.errors import InputError, RunError
from sentviz.io.lazy import pd, stats
from sentviz.io.numbers import percent

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_ALONE = threading.Lock()  # cleanlab passes the rows from one of its functions to another in module variables
NEAREST = 10  # rows whose labels are compared with a row's own
LEAST = 20  # labelled rows; fewer say nothing of a class's usual probability
SHARE, FIRST, SEEDS = 0.05, 100, 10


def issues(labels: Ints, shares: Floats) -> Bools:
    """Return which labels confident learning flags, (n,). A class that no row is labelled with is never found likely.

    Args:
        labels: (n,) classes from 0, none missing. shares: (n, K) probabilities.
    Raises:
        RunError: cleanlab is not installed.
    """
    try:
        from cleanlab.filter import find_label_issues
    except ImportError:
        raise RunError("Label errors need the package cleanlab: `python -m pip install 'sentviz[labels]'`.") from None
    part = shares + 1e-12
    with _ALONE, warnings.catch_warnings(action="ignore"):  # it warns of classes without a row
        return np.asarray(find_label_issues(labels, part / part.sum(axis=1, keepdims=True), n_jobs=1), dtype=bool)


def order(labels: Ints, shares: Floats, flagged: Bools) -> Ints:
    """Return places (n,) with the most suspicious label first: flagged rows by the probability of their label, then the others."""
    own = shares[np.arange(len(labels)), labels]
    return np.asarray(np.lexsort((own, ~flagged)), dtype=np.int64)


def label_errors(rows: Rows, vectors: npt.ArrayLike | None = None, places: Sequence[int] | npt.NDArray[np.int64] = ()) -> Rows:
    """Return the labelled rows, the most suspicious label first, with more columns in their frame.

    The columns are: suspect (whether the label is flagged), own (probability of the label), likely (the most probable class), near (how
    many of the 10 nearest labelled rows have the likely class; NaN without vectors), reason (a sentence; "" for rows that are not flagged).

    Args:
        vectors: (s, d) of some rows. places: (s,) of those among `rows`.
    Raises:
        RunError: cleanlab is not installed.
    """
    source = rows.source
    if source.gives != "probabilities":
        source.require("probabilities", what="probabilities by which its labels could be judged")
    known = np.flatnonzero(rows.labels >= 0)
    labels, shares = rows.labels[known], rows.probabilities[known]
    if len(known) < LEAST:
        raise InputError(f"Label errors need at least {LEAST} labelled rows, and {source.name} has {len(known)}.")
    if len(used := np.unique(labels)) < 2:
        raise InputError(f"All labelled rows are “{rows.classes[used[0]]}”. Label errors need rows of at least two classes.")
    right = int((shares.argmax(axis=1) == labels).sum())
    if float(wilson(right, len(labels))[1]) < 1 / len(rows.classes):
        raise InputError(
            f"{source.name} predicts another class than the label for {percent(1 - right / len(labels))} of the rows, more often than"
            " guesses would: the labels are probably swapped or in another order, so single errors cannot be told."
        )
    flagged, likely = issues(labels, shares), shares.argmax(axis=1)
    near = np.full(len(rows), np.nan)
    if vectors is not None:
        near = _near(
            rows.labels, rows.probabilities.argmax(axis=1), np.asarray(vectors, dtype=np.float64), np.asarray(places, dtype=np.int64)
        )
    near = near[known]
    own = shares[np.arange(len(labels)), labels]
    frame = rows.frame.iloc[known].assign(suspect=flagged, own=own, likely=likely, near=near)
    frame["reason"] = [
        _reason(rows.classes, *each) if bad else ""
        for bad, *each in zip(flagged, labels, likely, own, shares.max(axis=1), near, strict=True)
    ]
    return replace(rows, frame=frame.iloc[order(labels, shares, flagged)])


def _near(labels: Ints, likely: Ints, vectors: Floats, places: Ints) -> Floats:
    """(n,) how many of the 10 nearest labelled rows have the class that the model finds likely; NaN for rows without a vector."""
    near, known = np.full(len(labels), np.nan), labels[places] >= 0
    places, vectors = places[known], vectors[known]
    if len(places) > NEAREST:
        neighbours = nearest(vectors, NEAREST)[0]
        near[places] = (labels[places][neighbours] == likely[places][:, None]).sum(axis=1)
    return near


def _reason(classes: tuple[str, ...], label: int, likely: int, own: float, best: float, near: float) -> str:
    text = f"Labelled {classes[label]}, which gets {percent(own)}; {classes[likely]} gets {percent(best)}."
    return text if np.isnan(near) else f"{text} {near:.0f} of the {NEAREST} nearest rows are labelled {classes[likely]}."


def suspected_pairs(rows: Rows) -> pd.DataFrame:
    """Count the flagged rows of `label_errors` by label and likely class, the most frequent pair first.

    Frame:
        label, likely (classes), n, of (rows with the label), share, low, high (Wilson's 95 % interval of the share).
    """
    bad = rows.frame[rows.frame["suspect"]]
    records = []
    for label, likely in sorted({*zip(bad["label"].tolist(), bad["likely"].tolist(), strict=True)}):
        n, of = int(((bad["label"] == label) & (bad["likely"] == likely)).sum()), int((rows.labels == label).sum())
        low, high = map(float, wilson(n, of))
        records.append((label, likely, n, of, n / of, low, high))
    frame = pd.DataFrame(records, columns=["label", "likely", "n", "of", "share", "low", "high"])
    return frame.sort_values(["n", "label", "likely"], ascending=[False, True, True], kind="stable", ignore_index=True)


def describe(judged: Rows) -> str:
    """Say how many of the rows that `label_errors` returned look wrong, and of which kind most are."""
    n, bad = len(judged), int(judged.frame["suspect"].sum())
    if not bad:
        return f"None of the {n:,} labels looks wrong."
    low, high = map(float, wilson(bad, n))
    text = f"{bad:,} of {n:,} labels look wrong: {percent(bad / n, ends=(low, high))}."
    first = suspected_pairs(judged).to_dict("records")[0]
    names = judged.classes[first["label"]], judged.classes[first["likely"]]
    return f"{text} Most often the label is {names[0]} and the model says {names[1]} ({first['n']:,} rows)."


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


def describe_check(table: pd.DataFrame) -> str:
    """Say what `check` measured."""
    by = {row["method"]: row for row in table.to_dict("records")}
    row, chance = by["cleanlab"], by["chance"]["value"]
    caught = percent(row["value"], 0, (row["low"], row["high"]))
    return (
        f"Checked on these rows with {row['flipped']:,.0f} labels flipped on purpose ({row['seeds']:.0f} seeds): {caught}"
        f" of the first {row['first']:,.0f} rows of the list are flipped ones, against {percent(chance, 0)} by chance, and"
        f" {percent(row['found'], 0)} of the flipped ones are flagged."
    )
