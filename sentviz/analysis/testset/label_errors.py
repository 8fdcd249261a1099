"""Rows whose labels look wrong, by confident learning on predicted probabilities (Northcutt, Jiang & Chuang 2021; package cleanlab).

Confident learning counts how often a row with one label is predicted as another class with more than that class's usual probability. It
flags as many rows of each pair of classes as the counts say, those with the largest margin first. The flagged rows are ordered by the
probability of their label, the lowest first. Vectors do not change the order: they add what the nearest rows are labelled.
`python -m experiments general planted` measures how many of the first 100 rows are labels that were flipped on purpose.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sentviz.analysis.embeddings.projection import nearest
from sentviz.analysis.evaluation import wilson
from sentviz.analysis.testset.rows import Rows
from sentviz.errors import InputError, RunError
from sentviz.io.lazy import pd

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_ALONE = threading.Lock()  # cleanlab passes the rows from one of its functions to another in module variables
NEAREST = 10  # rows whose labels are compared with a row's own
LEAST = 20  # labelled rows; fewer say nothing of a class's usual probability


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
            f"{source.name} predicts another class than the label for {1 - right / len(labels):.1%} of the rows, more often than guesses"
            " would: the labels are probably swapped or in another order, so single errors cannot be told."
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
    text = f"Labelled {classes[label]}, which gets {own:.1%}; {classes[likely]} gets {best:.1%}."
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
    text = f"{bad:,} of {n:,} labels look wrong: {bad / n:.1%} [{low:.1%}, {high:.1%}]."
    first = suspected_pairs(judged).to_dict("records")[0]
    names = judged.classes[first["label"]], judged.classes[first["likely"]]
    return f"{text} Most often the label is {names[0]} and the model says {names[1]} ({first['n']:,} rows)."
