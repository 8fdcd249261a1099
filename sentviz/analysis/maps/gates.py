"""Measure which words the gates close over a complete split: sigmoid(x_j W_g) of every token (SentiFormer, section IV-B), by part of
speech, by word class and by word. Special tokens are left out. For a group of tokens and a layer:

    value       mean gate, 0 = shut, 1 = open. Its interval is for other texts, drawn as wholes: a ratio of sums over texts, linearised
                (Cochran 1977, Sampling Techniques, chapter 6), with Student's t for the texts that have such a token
    shuffled    95 % range of the mean if gate values are shuffled among the tokens of each text: exact mean and variance of draws without
                replacement, text by text
    difference  of the means of two groups, its interval and p by the same linearisation: what a text adds to both counts together

`gates` and `signals` return quantities per token that are not in the maps: the gates, and the signals whose sum is the position.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sentviz.analysis.evaluation import holm
from sentviz.analysis.maps.wordclasses import CLASSES, WordClasses
from sentviz.data.parts_of_speech import TAGS
from sentviz.data.tags import Tagger, tags_of
from sentviz.data.texts import Encoded, word_spans
from sentviz.errors import InputError
from sentviz.io.arguments import Progress
from sentviz.io.lazy import pd, stats, torch
from sentviz.io.numbers import signed
from sentviz.runs.configs import Capabilities
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.models.model import Model
    from sentviz.models.terms import AttentionTerms

Floats = npt.NDArray[np.float32]
GATE = "gate"
Ints = npt.NDArray[np.int64]
Doubles = npt.NDArray[np.float64]

FILE = "gates.parquet"
OTHER = "other words"
NAMES = (*CLASSES, OTHER)
CONTRASTS = {  # differences between groups of classes
    ("function words", "content words"): (("function words",), ("positive words", "negative words", OTHER)),
    ("function words", "polar words"): (("function words",), ("positive words", "negative words")),
}
LEAST, MOST = 20, 400  # texts in which a word must occur, and the number of most frequent words in the table
SHUT, OPEN, ALPHA = 0.1, 0.9, 0.05
COLUMNS = ["kind", "name", "against", "layer", "value", "low", "high", "shuffled_low", "shuffled_high", "p", "tokens", "n"]


def gates(trace: Trace) -> Floats:
    """Return the gate of each token in each layer, (L, m), 1 = open and 0 = closed, after the interventions of the trace.

    SentiFormer, eq. 4: sigmoid(x_j W_g), a factor on the weight of key j before the softmax divides by the sum of all. Read off the layers'
    terms, whose mean over heads and components is taken where each has its own.
    """
    from sentviz.models.terms import terms_of

    if not trace.terms:
        raise InputError(f"This trace of {trace.run} has no projections. Make it with `Model.trace(..., projections=True)`.")
    try:
        return np.stack([gates_of(terms)[0] for terms in terms_of(trace)])
    except InputError:
        raise InputError(f"{trace.run} has no gates.") from None


def gates_of(terms: AttentionTerms) -> Floats:
    """Return the gates of a layer, (B, m), 0 to 1; the mean over heads and components if each has its own gate."""
    values = [bias.values for bias in terms.structure.biases if bias.name == GATE and hasattr(bias, "values")]
    if not values:
        raise InputError("This layer has no gates.")
    gates: Floats = values[0].float().exp().mean(dim=(1, 2)).numpy()
    return gates


def forced(trace: Trace) -> list[str]:
    """Return "open" or "shut" for tokens whose gate was set manually, "" for the others; one entry per token."""
    states = dict.fromkeys(trace.change.gates_open, "open") | dict.fromkeys(trace.change.gates_shut, "shut")
    return [states.get(place, "") for place in range(len(trace.tokens))]


@dataclass(frozen=True)
class Signals:
    """Position signals of a text, as lengths (Euclidean norms) of the vectors of each token."""

    parts: dict[str, Floats]  # (m,) length of each signal by name, with its learned weight
    total: Floats  # (m,) length of their sum
    word: Floats  # (m,) length of the rest of the embedding, which is the token
    weights: dict[str, float]  # learned scalars of the whole model by name


def signals(model: Model, trace: Trace) -> Signals:
    """Return the position signals of each token.

    Source: SentiFormer, section IV-A, p_i = alpha sin(i) + beta recency(i, n) + gamma E_pos[tag of i].
    """
    with torch.inference_mode():
        signal_tensors = model.network.signals(model.inputs(model.encode(trace.text, trace.text_pair, trace.change)))
        parts = {name: part.expand(1, len(trace.tokens), -1)[0].numpy() for name, part in signal_tensors.items()}
        weights = {scalar.name: scalar.value for scalar in model.network.scalars() if scalar.layer < 0}
    if not parts:
        raise InputError(f"{trace.run} has only one position signal, so there are no parts to show.")
    total = np.sum(list(parts.values()), axis=0)
    assert trace.hidden is not None
    return Signals({name: _length(part) for name, part in parts.items()}, _length(total), _length(trace.hidden[0] - total), weights)


def _length(vectors: Floats) -> Floats:
    """(m, d) -> (m,)."""
    return np.asarray(np.linalg.norm(vectors, axis=-1), dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Groups:
    """One way of sorting T tokens: their group's place in `names`, -1 = none."""

    kind: str  # all, class, tag, word
    names: Sequence[str]
    of: Ints  # (T,)


def lacks(has: Capabilities) -> str:
    """Return why the gates of a model cannot be measured, as a predicate; "" if they can."""
    return "" if has.gate else "has no gates"


def over_split(model: Model, frame: pd.DataFrame, classes: WordClasses, progress: Progress | None = None) -> pd.DataFrame:
    """The gates over the texts, or pairs of texts, of a frame.

    A model that reads no tags has its words tagged all the same, by the tagger that new models get.

    Frame:
        kind (all, class, tag, word, difference), name, against (of a difference, "" elsewhere), layer (-1 = mean over layers), value, low,
        high, shuffled_low, shuffled_high (NaN of a difference), p (of a difference, NaN elsewhere), tokens, n (texts that have such
        tokens), lexicon, tagger (its version). Words are the most frequent ones that stand in LEAST texts.
    """
    if why := lacks(model.capabilities):
        raise InputError(f"{model.name} {why}.")
    if frame.empty:
        raise InputError("There are no texts to measure.")
    texts = frame["text"].tolist()
    pairs = frame["text_pair"].tolist() if "text_pair" in frame else None
    encoded = model.encode_all(texts, pairs)
    both = [(text,) for text in texts] if pairs is None else list(zip(texts, pairs, strict=True))
    tagger = model.tagger or Tagger.load()
    tags = np.concatenate(tags_of(tagger, encoded, both))
    gates = _gates(model, encoded, progress)
    text = np.repeat(np.arange(len(encoded)), [len(each) for each in encoded])
    words, classed = _words(encoded, both, classes)
    is_regular = ~np.concatenate([each.specials for each in encoded])
    ways = [
        Groups("all", ["all tokens"], np.zeros(int(is_regular.sum()), dtype=np.int64)),
        Groups("class", NAMES, classed[is_regular]),
        Groups("tag", TAGS, tags[is_regular]),
        _frequent(words[is_regular], text[is_regular]),
    ]
    return table(gates[is_regular], text[is_regular], ways).assign(lexicon=classes.lexicon, tagger=tagger.version)


def _gates(model: Model, encoded: Sequence[Encoded], progress: Progress | None) -> npt.NDArray[np.float32]:
    """(T, L) the gate of every token of all texts, one text behind the other."""

    from sentviz.models.batches import by_length
    from sentviz.models.protocol import Capture

    layers, lengths = model.capabilities.layers, [len(each) for each in encoded]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    gates = np.empty((starts[-1], layers), dtype=np.float32)
    done = 0
    for batch in by_length(lengths):
        with torch.inference_mode():
            seen = model.network(model.batch([encoded[i].reading for i in batch]), Capture(maps=False, projections=True)).captured
        for layer in range(layers):
            for row, i in zip(gates_of(seen[layer].terms), batch, strict=True):
                gates[starts[i] : starts[i + 1], layer] = row[: lengths[i]]
        done += len(batch)
        if progress is not None:
            progress(done, len(encoded))
    return gates


def _words(encoded: Sequence[Encoded], texts: Sequence[tuple[str, ...]], classes: WordClasses) -> tuple[npt.NDArray[Any], Ints]:
    """Return each token's word in lower case, "" for special and unknown tokens, and its class as a position in NAMES, -1 = no class."""
    place = {word: NAMES.index(name) for name, class_words in classes.words.items() for word in class_words}
    words, classed = [], []
    for each, several in zip(encoded, texts, strict=True):
        for word in word_spans(several[0], each, *several[1:]):
            for i in word.indices:
                form = "" if each.specials[i] or each.unknown[i] else word.text.casefold()
                words.append(form)
                classed.append(place.get(form, NAMES.index(OTHER) if any(map(str.isalnum, form)) else -1))
    return np.array(words, dtype=object), np.array(classed, dtype=np.int64)


def _frequent(words: npt.NDArray[Any], text: Ints) -> Groups:
    """The most frequent words, by tokens, of those that stand in LEAST texts."""
    tokens = pd.DataFrame({"word": words, "text": text})
    counts = (
        tokens[tokens["word"] != ""].groupby("word")["text"].agg(["size", "nunique"]).sort_values("size", ascending=False, kind="stable")
    )
    names = counts.index[counts["nunique"] >= LEAST].tolist()[:MOST]
    return Groups("word", names, pd.Index(names, dtype=object).get_indexer(words).astype(np.int64))


# ---- sums over texts


@dataclass(frozen=True, eq=False)
class _Sums:
    """The tokens of a group in a text, for all P such pairs that there are."""

    text: Ints  # (P,)
    group: Ints  # (P,)
    counts: Ints  # (P,)
    gates: Doubles  # (P, L) sums
    squares: Doubles  # (P, L) sums

    @classmethod
    def of(cls, gates: Doubles, text: Ints, group: Ints) -> _Sums:
        """Build the sums of gates (T, L); tokens of group -1 are left out."""
        some, texts = group >= 0, int(text.max(initial=0)) + 1
        pairs, each = np.unique(group[some] * texts + text[some], return_inverse=True)
        sums, squares = (
            np.stack([np.bincount(each, column, len(pairs)) for column in part.T], axis=-1).astype(np.float64)
            for part in (gates[some], gates[some] ** 2)
        )
        return cls(pairs % texts, pairs // texts, np.bincount(each, minlength=len(pairs)), sums, squares)

    def total(self, values: npt.NDArray[Any], groups: int) -> Doubles:
        """(groups, L) sums of (P, L) values."""
        return np.stack([np.bincount(self.group, column, groups) for column in values.T], axis=-1)

    def tokens(self, groups: int) -> Doubles:
        """(groups, 1)."""
        return np.bincount(self.group, self.counts, groups).astype(np.float64)[:, None]

    def influence(self, groups: int) -> tuple[Doubles, Doubles]:
        """The means (groups, L), and what each text moves that of its group by, (P, L): their squares add up to its variance."""
        tokens = self.tokens(groups)
        means = self.total(self.gates, groups) / tokens
        return means, (self.gates - means[self.group] * self.counts[:, None]) / tokens[self.group]


def table(gates: npt.NDArray[np.floating[Any]], text: Ints, ways: Sequence[Groups]) -> pd.DataFrame:
    """The frame of `over_split`, without lexicon and tagger, from numbers.

    Args:
        gates: (T, L) of the tokens. text: (T,) which text each is of, by number. ways: how they are sorted.
    """
    wide = np.concatenate([gates, gates.mean(axis=1, keepdims=True)], axis=1).astype(np.float64)
    whole = _Sums.of(wide, text, np.zeros(len(text), dtype=np.int64))
    lengths, means, variances = (np.zeros((int(text.max()) + 1, width)) for width in (1, wide.shape[1], wide.shape[1]))
    lengths[whole.text] = whole.counts[:, None]
    means[whole.text] = whole.gates / whole.counts[:, None]
    variances[whole.text] = np.maximum(whole.squares / whole.counts[:, None] - means[whole.text] ** 2, 0)
    parts = [_group_rows(way, _Sums.of(wide, text, way.of), lengths, means, variances) for way in ways]
    for way in ways:
        if way.kind == "class":
            parts += [_difference_rows(names, wide, text, _sides(way, sides)) for names, sides in CONTRASTS.items()]
    return pd.concat([part for part in parts if len(part)], ignore_index=True)[COLUMNS]


def _group_rows(way: Groups, sums: _Sums, lengths: Doubles, means: Doubles, variances: Doubles) -> pd.DataFrame:
    groups, n = np.unique(sums.group, return_counts=True)
    size = len(way.names)
    with np.errstate(invalid="ignore", divide="ignore"):
        value, moved = sums.influence(size)
        half = _half(sums.total(moved**2, size)[groups], n)
        tokens, counts, of = sums.tokens(size), sums.counts[:, None], sums.text
        chance = sums.total(counts * means[of], size) / tokens
        left = (lengths[of] - counts) / np.maximum(lengths[of] - 1, 1)  # factor of the variance for draws without replacement
        spread = 1.96 * np.sqrt(sums.total(counts * left * variances[of], size)) / tokens
    bounds = {"value": value, "shuffled_low": chance - spread, "shuffled_high": chance + spread}
    values = {name: values[groups] for name, values in bounds.items()}
    values |= {"low": np.clip(values["value"] - half, 0, 1), "high": np.clip(values["value"] + half, 0, 1)}
    return _rows(way.kind, [way.names[g] for g in groups], "", values, tokens[groups, 0], n)


def _sides(way: Groups, sides: tuple[Sequence[str], Sequence[str]]) -> Ints:
    """(T,) 0 on the first side, 1 on the second, -1 on none."""
    place = [next((k for k, side in enumerate(sides) if name in side), -1) for name in (*way.names, "")]
    return np.array(place)[way.of]


def _difference_rows(names: tuple[str, str], gates: Doubles, text: Ints, side: Ints) -> pd.DataFrame:
    sums = _Sums.of(gates, text, side)
    if set(sums.group) != {0, 1}:
        return pd.DataFrame(columns=COLUMNS)
    (first, second), moved = sums.influence(2)
    value = first - second
    texts, each = np.unique(sums.text, return_inverse=True)
    signed = moved * np.where(sums.group == 0, 1, -1)[:, None]
    of_text = np.stack([np.bincount(each, column) for column in signed.T], axis=-1)
    variance, n = (of_text**2).sum(axis=0, keepdims=True), np.array([len(texts)])
    half = _half(variance, n)[0]
    with np.errstate(invalid="ignore", divide="ignore"):
        p = 2 * stats.t.sf(np.abs(value) / np.sqrt(variance[0] * n / (n - 1)), n - 1)
    values = {"value": value, "low": value - half, "high": value + half, "p": p}
    return _rows("difference", names[:1], names[1], {key: part[None] for key, part in values.items()}, sums.tokens(2).sum(axis=0), n)


def _half(variance: Doubles, n: Ints) -> Doubles:
    """(groups, L) half the 95 % interval, of sums of squares over n texts; NaN of a single one."""
    return np.asarray(stats.t.ppf(0.975, n - 1)[:, None] * np.sqrt(variance * (n / (n - 1))[:, None]))


def _rows(kind: str, names: Sequence[str], against: str, values_by_name: dict[str, Doubles], tokens: Doubles, n: Ints) -> pd.DataFrame:
    """Tidy rows of (groups, L) numbers, the last layer being the mean over layers."""
    layers = values_by_name["value"].shape[1]
    columns: dict[str, Any] = dict.fromkeys(COLUMNS, np.nan) | {name: values.ravel() for name, values in values_by_name.items()}
    columns |= {"kind": kind, "name": np.repeat(np.array(names, dtype=object), layers), "against": against}
    columns |= {"layer": np.tile([*range(layers - 1), -1], len(names))}
    columns |= {"tokens": np.repeat(tokens.astype(np.int64), layers), "n": np.repeat(n, layers)}
    return pd.DataFrame(columns)


# ---- what it says


def verdict(frame: pd.DataFrame) -> list[str]:
    """Return the result of the table for the paper's claim as sentences; the first sentence is the main result."""
    lines = []
    layers = int(frame["layer"].max()) + 1
    for (name, against), rows in frame[frame["kind"] == "difference"].groupby(["name", "against"], sort=False):
        each = rows[rows["layer"] >= 0]
        sure = np.array(list(holm({str(i): float(p) for i, p in each["p"].fillna(1).items()}).values())) < ALPHA
        less, more = int((sure & (each["value"] < 0)).sum()), int((sure & (each["value"] > 0)).sum())
        mean = rows[rows["layer"] < 0].iloc[0]
        lines.append(
            f"The gates of {name} are lower than those of {against} in {less} of {layers} layers and higher in {more} (Holm, p < {ALPHA});"
            f" mean over layers {signed(mean['value'], 3, ends=(mean['low'], mean['high']))}."
        )
    below, above = (
        int((_of(frame, kind, name)[column] * sign < bound * sign).sum())
        for kind, name, column, sign, bound in (("class", "function words", "high", 1, SHUT), ("tag", "ADJ", "low", -1, OPEN))
    )
    lines.append(
        f"The mean gate of function words is significantly below {SHUT} in {below} of {layers} layers,"
        f" the mean gate of adjectives significantly above {OPEN} in {above}."
    )
    words = frame[(frame["kind"] == "word") & (frame["layer"] < 0)].sort_values("value", kind="stable")
    if len(words):
        ends = (words.head(5), words.tail(5)[::-1])
        low, high = (", ".join(f"“{word}” {value:.2f}" for word, value in zip(end["name"], end["value"], strict=True)) for end in ends)
        lines.append(f"{len(words)} frequent words, mean over layers. Lowest gates: {low}. Highest gates: {high}.")
    return lines


def _of(frame: pd.DataFrame, kind: str, name: str) -> pd.DataFrame:
    return frame[(frame["kind"] == kind) & (frame["name"] == name) & (frame["layer"] >= 0)]
