"""Texts that occur more than once: in some rows (repeats), or in test rows and in the rows that a model learned from (leaks).

Texts are compared by their words, split as `word_counts` does: without case, punctuation, HTML and web addresses.

exact: the same words in the same order.
near: the sets of neighbouring word pairs have a Jaccard index of at least `NEAR`; one changed word in twelve gives about that. Candidates
    come from MinHash with bands (Broder 1997; Leskovec, Rajaraman & Ullman, Mining of Massive Datasets, section 3.4), which finds 99 % of
    the pairs at the limit and more above it. Each candidate is then compared exactly.
inside: of at least `LONG` words, which stand in this order within a longer text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sentviz.analysis.evaluation import wilson
from sentviz.analysis.testset.rows import Rows
from sentviz.analysis.testset.word_counts import numbered
from sentviz.errors import InputError
from sentviz.io.lazy import pd, sparse
from sentviz.io.numbers import percent

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Step = Callable[[], object]

NEAR = 0.7  # Jaccard index of word pairs
LONG = 5  # words of a text that few others hold by chance
BANDS, DEPTH = 16, 4  # a candidate agrees in all hashes of a band
CANDIDATES = 4_096  # places of a text's rarest word pair that are compared
BLOCK = 50_000  # candidates that are compared at a time
KINDS = {"exact": "the same words", "near": "nearly the same words", "inside": "inside a longer text"}
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))  # factors of splitmix64 (Steele, Lea & Flood 2014)


def _nothing() -> None:
    return None


@dataclass(frozen=True, eq=False)
class _Words:
    """The words of n texts as numbers from 1."""

    ids: Ints  # (N,)
    starts: Ints  # (n + 1,)
    raw: Sequence[str]  # (n,) texts

    @classmethod
    def of(cls, texts: pd.Series[str], step: Step = _nothing) -> _Words:
        ids, starts = [np.zeros(0, dtype=np.int64)], [np.zeros(1, dtype=np.int64)]
        for _, _, words, bounds in numbered(texts, {}, step):
            ids.append(words + 1)
            starts.append(bounds[1:] + starts[-1][-1])
        return cls(np.concatenate(ids), np.concatenate(starts), texts.tolist())

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> Ints:
        """(n,) words."""
        return np.diff(self.starts)

    def words(self, place: int) -> Ints:
        """The words of a text."""
        return self.ids[self.starts[place] : self.starts[place + 1]]

    def key(self, place: int) -> bytes | str:
        """Equal for texts with the same words; texts without words are compared as they are written."""
        return self.words(place).tobytes() or " ".join(self.raw[place].split())

    def pairs(self) -> Ints:
        """(N,) each word with the word before it in its text, 0 before the first."""
        before = np.concatenate([np.zeros(min(1, len(self.ids)), dtype=np.int64), self.ids[:-1]])
        before[self.starts[:-1][self.lengths > 0]] = 0
        return before << 32 | self.ids


def _mixed(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return well mixed 64 bit hashes of numbers."""
    x = numbers + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * _MIX[0]
    x = (x ^ (x >> np.uint64(27))) * _MIX[1]
    return x ^ (x >> np.uint64(31))


def _bands(words: _Words, pairs: Ints, step: Step) -> tuple[Ints, list[npt.NDArray[np.uint64]]]:
    """Return the texts with words, (m,), and for each band a hash of their smallest hashes, (m,)."""
    with_words = np.flatnonzero(words.lengths > 0)
    starts, mixed, rng = words.starts[with_words], _mixed(pairs.astype(np.uint64)), np.random.default_rng(0)
    bands = []
    for _ in range(BANDS if len(with_words) else 0):
        step()
        joined = np.zeros(len(with_words), dtype=np.uint64)
        for odd in rng.integers(0, 2**63, DEPTH, dtype=np.uint64) * np.uint64(2) + np.uint64(1):
            joined = _mixed(joined ^ np.minimum.reduceat((mixed * odd) >> np.uint64(32), starts))
        bands.append(joined)
    return with_words, bands


def _candidates(words: _Words, pairs: Ints, split: int, step: Step) -> Ints:
    """Return pairs of texts (c, 2), the smaller place first, that agree in a band; at most 2 for each text and band.

    Args:
        split: 0, or the number of first texts, of which each pair has one, with a text after them.
    """
    places, bands = _bands(words, pairs, step)
    candidates = [np.zeros((0, 2), dtype=np.int64)]
    for band in bands:
        by = np.argsort(band, kind="stable")
        equal = band[by]
        first = np.concatenate([[True], equal[1:] != equal[:-1]])
        place = np.arange(len(by))
        head = np.maximum.accumulate(np.where(first, place, 0))
        last = np.maximum.accumulate(np.where((places[by] < split) | first, place, 0))  # the order is stable: the first texts come first
        second = last if split else np.where(first, place, place - 1)
        candidates += [np.stack([places[by[partner]], places[by]], axis=1)[partner != place] for partner in (head, second)]
    n, ends = len(words), np.sort(np.concatenate(candidates), axis=1)
    unique = np.unique(ends[:, 0] * n + ends[:, 1])
    agreeing = np.stack([unique // max(n, 1), unique % max(n, 1)], axis=1)
    return agreeing[(agreeing[:, 0] < split) & (agreeing[:, 1] >= split)] if split else agreeing


def _overlaps(words: _Words, pairs: Ints, candidates: Ints, step: Step) -> Floats:
    """(c,) Jaccard indices of the sets of word pairs."""
    _, columns = np.unique(pairs, return_inverse=True)
    table = sparse.csr_matrix(
        (np.ones(len(pairs), dtype=np.int32), columns, words.starts), shape=(len(words), int(columns.max(initial=-1)) + 1)
    )
    table.sum_duplicates()
    table.data[:] = 1
    sizes, result = np.diff(table.indptr), np.zeros(len(candidates))
    for start in range(0, len(candidates), BLOCK):
        step()
        a, b = candidates[start : start + BLOCK].T
        shared = np.asarray(table[a].multiply(table[b]).sum(axis=1)).ravel()
        result[start : start + BLOCK] = shared / np.maximum(sizes[a] + sizes[b] - shared, 1)
    return result


def repeats(texts: pd.Series[str], labels: npt.ArrayLike, step: Step = _nothing) -> pd.DataFrame:
    """Find groups of texts that are exact or near repeats of each other.

    Args:
        texts: (n,). labels: (n,), -1 = none. step: called now and then; an exception from it ends the work.
    Frame:
        place (0 to n - 1), group (from 0), kind (exact, near), partner (place of the most similar text of the group), overlap (Jaccard
        index with it), differ (whether the group has different labels). Rows without a repeat are left out; a group's rows follow each
        other, and groups with different labels come first.
    """
    words, label = _Words.of(texts, step), np.asarray(labels)
    firsts: dict[bytes | str, int] = {}
    first = np.array([firsts.setdefault(words.key(i), i) for i in range(len(words))], dtype=np.int64)
    partner, overlap = np.where(first != np.arange(len(first)), first, -1), np.where(first != np.arange(len(first)), 1.0, 0.0)
    for place in np.flatnonzero(partner >= 0)[::-1]:
        partner[first[place]], overlap[first[place]] = place, 1.0
    is_first = np.flatnonzero(first == np.arange(len(first))).astype(np.int64)
    part = _Words(
        np.concatenate([words.words(i) for i in is_first.tolist()]) if len(is_first) else words.ids,
        np.concatenate([[0], np.cumsum(words.lengths[is_first])]).astype(np.int64),
        [words.raw[i] for i in is_first.tolist()],
    )
    pairs = part.pairs()
    near = _candidates(part, pairs, 0, step)
    shares = _overlaps(part, pairs, near, step)
    near, shares = is_first[near[shares >= NEAR]], shares[shares >= NEAR]
    for (a, b), value in zip(near.tolist(), shares.tolist(), strict=True):
        for place, neighbour in ((a, b), (b, a)):
            if value > overlap[place]:
                partner[place], overlap[place] = neighbour, value
    edges = np.concatenate([near, np.stack([first, np.arange(len(first))], axis=1)])
    graph = sparse.coo_matrix((np.ones(len(edges)), tuple(edges.T)), shape=(len(words), len(words)))
    groups = sparse.csgraph.connected_components(graph, directed=False)[1]
    places = np.flatnonzero(partner >= 0)
    frame = pd.DataFrame(
        {
            "place": places,
            "group": groups[places],
            "kind": np.where(overlap[places] == 1, "exact", "near"),
            "partner": partner[places],
            "overlap": overlap[places],
        }
    )
    known = pd.Series(label[places]).where(label[places] >= 0)
    frame["differ"] = known.groupby(frame["group"]).transform("nunique").to_numpy() > 1
    frame = frame.sort_values(["differ", "group", "place"], ascending=[False, True, True], kind="stable", ignore_index=True)
    return frame.assign(group=pd.factorize(frame["group"])[0])


def leaks(texts: pd.Series[str], train: pd.Series[str], step: Step = _nothing) -> pd.DataFrame:
    """Find texts that are exact or near repeats of training texts, or stand inside one.

    Args:
        texts: (n,). train: (m,). step: called now and then; an exception from it ends the work.
    Frame:
        place (0 to n - 1), kind (exact, near, inside), partner (place of the training text), overlap (Jaccard index with it; of a text
        inside another, its share of the words). Other texts are left out.
    """
    both = _Words.of(pd.concat([train, texts], ignore_index=True), step)
    m = len(train)
    firsts: dict[bytes | str, int] = {}
    for i in range(m):
        firsts.setdefault(both.key(i), i)
    result: dict[int, tuple[str, int, float]] = {}
    pairs = both.pairs()
    candidates = _candidates(both, pairs, m, step)
    shares = _overlaps(both, pairs, candidates, step)
    for (a, b), value in zip(candidates[shares >= NEAR].tolist(), shares[shares >= NEAR].tolist(), strict=True):
        if value > result.get(b - m, ("", 0, 0.0))[2]:
            result[b - m] = ("near", a, value)
    for place in range(len(texts)):
        if (partner := firsts.get(both.key(m + place))) is not None:
            result[place] = ("exact", partner, 1.0)
    sizes = both.lengths
    long_enough = [i for i in range(len(texts)) if sizes[m + i] >= LONG and result.get(i, ("", 0, 0.0))[0] != "exact"]
    for place, partner in _inside(both, pairs, m, long_enough, step).items():
        result[place] = ("inside", partner, float(sizes[m + place] / sizes[partner]))
    frame = pd.DataFrame([(place, *result[place]) for place in sorted(result)], columns=["place", "kind", "partner", "overlap"])
    return frame.astype({"place": np.int64, "partner": np.int64, "overlap": np.float64})


def _inside(both: _Words, pairs: Ints, m: int, places: Sequence[int], step: Step) -> dict[int, int]:
    """Return the training text that holds a text's words in their order, by the place of the text; its rarest word pair is looked up."""
    end = int(both.starts[m])
    by = np.argsort(pairs[:end], kind="stable")
    known, row_of, result = pairs[:end][by], np.repeat(np.arange(m), both.lengths[:m]), {}
    for count, place in enumerate(places):
        if count % 1_000 == 0:
            step()
        start, stop = int(both.starts[m + place]), int(both.starts[m + place + 1])
        own = pairs[start + 1 : stop]  # without the pair that begins the text
        low, high = np.searchsorted(known, own, "left"), np.searchsorted(known, own, "right")
        rarest = int((high - low).argmin())
        at = by[low[rarest] : high[rarest]][:CANDIDATES] - rarest - 1
        length = stop - start
        at = at[(at >= 0) & (at + length <= end)]
        at = at[row_of[at] == row_of[at + length - 1]] if len(at) else at
        if len(at):
            same = (both.ids[at[:, None] + np.arange(length)] == both.ids[start:stop]).all(axis=1)
            if same.any():
                result[place] = int(row_of[at[same.argmax()]])
    return result


# ---- rows


def repeated(rows: Rows, step: Step = _nothing) -> Rows:
    """Return the rows that repeat another one, with columns of `repeats`, other_text (the most similar text of the group) and reason
    (a sentence) in their frame.
    """
    _require_texts(rows, "compared")
    frame = repeats(rows.texts, rows.labels, step)
    ids, labels = rows.frame["id"].to_numpy(), rows.labels
    part = rows.frame.iloc[frame["place"].to_numpy()].reset_index(drop=True)
    extra = {name: frame[name].to_numpy() for name in ("group", "kind", "overlap", "differ")}
    extra["other_text"] = rows.texts.to_numpy(object)[frame["partner"].to_numpy()]
    reasons = []
    for place, kind, partner, overlap, differ in frame[["place", "kind", "partner", "overlap", "differ"]].itertuples(index=False):
        text = f"{_capital(KINDS[kind])} as row {ids[partner]}" + (f" ({percent(overlap, 0)} of the word pairs)" if kind == "near" else "")
        different = f", which is labelled {rows.classes[labels[partner]]}" if differ and 0 <= labels[partner] != labels[place] else ""
        reasons.append(f"{text}{different}." if different or not differ else f"{text}; other rows of the group have another label.")
    return replace(rows, frame=part.assign(**extra, reason=reasons))


def leaked(rows: Rows, train: pd.DataFrame, step: Step = _nothing) -> Rows:
    """Return the rows whose texts are among training rows, with the columns kind, overlap, train (id of the training row), other_text
    (its text) and reason in their frame.

    Args:
        train: id, text, label; text_pair if the rows have pairs.
    """
    _require_texts(rows, "compared with training rows")
    known = Rows(rows.source, "train", rows.classes, train)
    frame = leaks(rows.texts, known.texts, step)
    names, labels = train["id"].astype(str).to_numpy(), train["label"].to_numpy(np.int64)
    part = rows.frame.iloc[frame["place"].to_numpy()].reset_index(drop=True)
    partner = frame["partner"].to_numpy()
    reasons = []
    for kind, at, overlap, own in zip(frame["kind"], partner, frame["overlap"], part["label"], strict=True):
        beginnings = {
            "exact": "The same words as",
            "near": f"Nearly the same words ({percent(overlap, 0)} of the word pairs) as",
            "inside": "Stands inside",
        }
        label = labels[at]
        different = f", which is labelled {rows.classes[label]}" if own >= 0 and 0 <= label != own else ""
        reasons.append(f"{beginnings[kind]} training row {names[at]}{different}.")
    extra: dict[str, Any] = {"kind": frame["kind"].to_numpy(), "overlap": frame["overlap"].to_numpy(), "train": names[partner]}
    extra["other_text"] = known.texts.to_numpy(object)[partner]
    order = np.argsort([list(KINDS).index(kind) for kind in frame["kind"]], kind="stable")
    return replace(rows, frame=part.assign(**extra, reason=reasons).iloc[order].reset_index(drop=True))


def describe_repeats(repeated_rows: Rows, n: int) -> str:
    """Say how many of n rows repeat another one."""
    if not len(repeated_rows):
        return f"None of the {n:,} rows repeats another one."
    kinds, frame = repeated_rows.frame["kind"].value_counts(), repeated_rows.frame
    text = (
        f"{_share(len(repeated_rows), n)} repeat another row, in {frame['group'].nunique():,} groups:"
        f" {kinds.get('exact', 0):,} have the same words, {kinds.get('near', 0):,} nearly the same words."
    )
    groups = frame.loc[frame["differ"], "group"].nunique()
    return f"{text} The labels differ in {groups:,} of the groups." if repeated_rows.labelled else text


def describe_leaks(leaked_rows: Rows, rows: Rows, train: int) -> str:
    """Say how many rows are among the training rows, and how often the model is right on them and on the others.

    Args:
        leaked_rows: the result of `leaked` for `rows`. train: number of training rows.
    """
    if not len(leaked_rows):
        return f"None of the {len(rows):,} rows is among the {train:,} training rows, nearly or inside a longer text."
    kinds = leaked_rows.frame["kind"].value_counts()
    text = f"{_share(len(leaked_rows), len(rows))} are among the {train:,} training rows: " + ", ".join(
        f"{kinds[kind]:,} {words}"
        for kind, words in (
            ("exact", "with the same words"),
            ("near", "with nearly the same words"),
            ("inside", f"of {LONG} words or more inside a longer text"),
        )
        if kind in kinds
    )
    known = rows.frame[rows.labels >= 0]
    among = known["id"].isin(set(leaked_rows.frame["id"]))
    parts = [part for part in (known[among], known[~among]) if len(part)]
    if len(parts) < 2:
        return f"{text}."
    first, second = (percent(part["right"].mean(), ends=wilson(part["right"].sum(), len(part))) for part in parts)
    return f"{text}. {rows.source.name} is right on {first} of them and on {second} of the other rows."


def _share(part: int, n: int) -> str:
    low, high = map(float, wilson(part, n))
    return f"{part:,} of {n:,} rows ({percent(part / n, ends=(low, high))})"


def _require_texts(rows: Rows, what: str) -> None:
    if not rows.has_text:
        raise InputError(f"The texts of these rows are not available, so they cannot be {what}.")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
