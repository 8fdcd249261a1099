"""Measure what a linear probe can read from the states of a layer, beside a control task (Hewitt and Liang 2019, arXiv 1909.03368).

Tasks of a text, read from its row vector: the side of its label, and its length (which quarter of the fitted texts it belongs to). Tasks of
a token: whether it is in the scope of a negator (from the word after it to the next punctuation mark, "but", or `SCOPE` words), and its
word class. Control tasks have the same classes and frequencies but no meaning: each word has a random class, and a text that of the mean
of random numbers of its words. Selectivity is the accuracy of a task minus that of its control; a large accuracy without selectivity says
that the probe has learned words by heart.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from sentviz.analysis.causal.directions import Directions
from sentviz.analysis.causal.states import Floats, Ints, Texts, states
from sentviz.analysis.evaluation import bounds, row_draws
from sentviz.analysis.maps.wordclasses import own_lists
from sentviz.data.tags import Tagger, count_known, tags_of
from sentviz.data.texts import Encoded, word_spans
from sentviz.io.arguments import Progress
from sentviz.io.lazy import pd

TASKS = {"sentiment": "side of the label", "length": "length of the text", "negation": "scope of a negator", "class": "word class"}
SCOPE = 5  # words behind a negator
FIT, TEST = 1_500, 1_000  # tokens of a task
RARE = 20  # tokens of a word class below which it is left out
RESAMPLES = 1_000
ENGLISH = 0.4  # share of words that the English tagger knows from which a sample counts as English
COLUMNS = ["measure", "depth", "name", "place", "value", "low", "high", "n"]


def probe(class_directions: Directions, depths: Sequence[int] = (), progress: Progress | None = None) -> pd.DataFrame:
    """Fit probes on the fitted rows, and measure them on the measured rows.

    Args:
        depths: by default every depth of a shallow model, and of a deep one the embedding and `Directions.some_depths`.
    Frame:
        measure ("probe"), depth, name (a task), place ("task", "control" or "selectivity"), value, low, high (bootstrap over texts), n
        (texts or tokens). Tasks of tokens are left out for texts that are not English.
    """
    at = list(depths) or sorted({0, *class_directions.some_depths})
    table: list[tuple[str, int, str, str, float, float, float, int]] = []
    sides, lengths = [], []
    edges = np.quantile([_word_count(text) for text in class_directions.fitted.texts], [0.25, 0.5, 0.75])
    for texts in (class_directions.fitted, class_directions.measured):
        sides.append(texts.side)
        lengths.append(np.searchsorted(edges, [_word_count(text) for text in texts.texts]).astype(np.int64))
    for name, labels in (("sentiment", sides), ("length", lengths)):
        control = _text_controls(class_directions, labels[0])
        for depth in at:
            x = (class_directions.rows[depth], class_directions.measured_rows[depth])
            table += _measured(name, depth, x, labels, control, np.arange(len(class_directions.measured)), class_directions.seed)
    return pd.DataFrame(table + _of_tokens(class_directions, at, progress), columns=COLUMNS)


def _of_tokens(
    class_directions: Directions, at: list[int], progress: Progress | None
) -> list[tuple[str, int, str, str, float, float, float, int]]:
    """Return the rows of the tasks of tokens; none if the texts are not English."""
    tagger = Tagger.load()
    known = sum(count_known(tagger, text)[0] for text in class_directions.fitted.texts)
    words_read = sum(map(_word_count, class_directions.fitted.texts))
    if class_directions.fitted.pairs is not None or known < ENGLISH * words_read:
        return []
    rng = np.random.default_rng(class_directions.seed)
    table: list[tuple[str, int, str, str, float, float, float, int]] = []
    for name, label in (("negation", _scopes), ("class", _classes)):
        chosen = [
            _chosen(texts, label(texts), most, rng) for texts, most in ((class_directions.fitted, FIT), (class_directions.measured, TEST))
        ]
        classes = [np.concatenate(labels) if labels else np.zeros(0, dtype=np.int64) for _, labels, _ in chosen]
        shared = [c for c in np.unique(classes[0]) if min((part == c).sum() for part in classes) >= RARE]
        if len(shared) < 2:
            continue
        known_labels = [np.isin(part, shared) for part in classes]
        words = [np.array([word for of_text in words for word in of_text], dtype=object) for _, _, words in chosen]
        x = [
            states(class_directions.model, texts, of[0], at, progress)[1]
            for texts, of in zip((class_directions.fitted, class_directions.measured), chosen, strict=True)
        ]
        labels = [part[keep] for part, keep in zip(classes, known_labels, strict=True)]
        table_of_word = _random_classes(labels[0], class_directions.seed)
        control = [np.array([table_of_word(word) for word in of[keep]]) for of, keep in zip(words, known_labels, strict=True)]
        text = np.repeat(np.arange(len(class_directions.measured)), [len(places) for places in chosen[1][0]])[known_labels[1]]
        for depth in at:
            both = (x[0][depth][known_labels[0]], x[1][depth][known_labels[1]])
            table += _measured(name, depth, both, labels, control, text, class_directions.seed)
    return table


def _measured(
    name: str, depth: int, x: Sequence[npt.NDArray[np.floating]], task: Sequence[Ints], control: Sequence[Ints], text: Ints, seed: int
) -> list[tuple[str, int, str, str, float, float, float, int]]:
    """Return the rows of one task at one depth: task, control, selectivity. `text` is the text of each measured example."""
    right = np.stack([_right(x, labels) for labels in (task, control)]).astype(float)
    n_texts = int(text.max()) + 1
    sums = np.stack([np.bincount(text, weights=each, minlength=n_texts) for each in (*right, np.ones(len(text)))])
    draws = np.concatenate([sums[:, rows].sum(axis=-1) for rows in row_draws(n_texts, np.random.default_rng(seed), RESAMPLES)], axis=1)
    shares = draws[:2] / np.maximum(draws[2], 1)
    task_share, control_share = right.mean(axis=1)
    rows = (("task", task_share, shares[0]), ("control", control_share, shares[1]))
    both = (*rows, ("selectivity", task_share - control_share, shares[0] - shares[1]))
    return [("probe", depth, name, kind, float(value), *bounds(drawn), len(text)) for kind, value, drawn in both]


def _right(x: Sequence[npt.NDArray[np.floating]], labels: Sequence[Ints]) -> npt.NDArray[np.bool_]:
    """Return which measured examples a logistic regression on the fitted ones gets right."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if len(np.unique(labels[0])) < 2:
        return np.asarray(labels[1] == labels[0][0])
    probe = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=200, tol=1e-3))
    return np.asarray(probe.fit(x[0], labels[0]).predict(x[1]) == labels[1])


# ---- labels


def _word_count(text: str) -> int:
    return len(re.findall(r"\w+", text))


def _hashed(word: str, seed: int) -> float:
    """Return a number from 0 to 1 that looks random but depends only on the word and the seed."""
    return zlib.crc32(f"{seed} {word.casefold()}".encode(errors="replace")) / 2**32


def _random_classes(labels: Ints, seed: int) -> Callable[[str], int]:
    """Return a function that gives each word a random class, with the frequencies of `labels`."""
    classes, counts = np.unique(labels, return_counts=True)
    upper = np.cumsum(counts) / counts.sum()
    return lambda word: int(classes[min(int(np.searchsorted(upper, _hashed(word, seed), side="right")), len(classes) - 1)])


def _text_controls(class_directions: Directions, labels: Ints) -> list[Ints]:
    """Return the control classes of fitted and measured texts: quantiles of the mean random number of their words."""
    means = [
        np.array([np.mean([_hashed(word, class_directions.seed) for word in re.findall(r"\w+", text)] or [0.5]) for text in texts.texts])
        for texts in (class_directions.fitted, class_directions.measured)
    ]
    counts = np.unique(labels, return_counts=True)[1]
    edges: Floats = np.quantile(means[0], np.cumsum(counts)[:-1] / counts.sum())
    return [np.searchsorted(edges, each).astype(np.int64) for each in means]


def _scopes(texts: Texts) -> list[tuple[Ints, list[str]]]:
    """Return for each text the labels of its tokens, 1 = in the scope of a negator, -1 = no word, and the word of each."""
    negators = own_lists()["negators"]
    labelled = []
    for text, encoded in zip(texts.texts, texts.encoded, strict=True):
        labels, words, left = _blank(encoded), [""] * len(encoded.ids), 0
        for word in word_spans(text, encoded):
            at, low = list(word.indices), word.text.casefold()
            if encoded.specials[at[0]]:
                continue
            if re.search(r"\w", low) is None:
                left = left if low in "'’" else 0
                continue
            if low == "but":
                left = 0
            labels[at], left = int(left > 0), max(left - 1, 0)
            if low in negators:
                labels[at], left = -1, SCOPE
            for i in at:
                words[i] = low
        labelled.append((labels, words))
    return labelled


def _classes(texts: Texts) -> list[tuple[Ints, list[str]]]:
    """Return for each text the parts of speech of its tokens, -1 for special tokens, and the word of each."""
    tags = tags_of(Tagger.load(), texts.encoded, [[text] for text in texts.texts])
    labelled = []
    for text, encoded, of_text in zip(texts.texts, texts.encoded, tags, strict=True):
        words = [""] * len(encoded.ids)
        for word in word_spans(text, encoded):
            for i in word.indices:
                words[i] = word.text.casefold()
        labelled.append((np.where(encoded.specials, -1, of_text).astype(np.int64), words))
    return labelled


def _blank(encoded: Encoded) -> Ints:
    return np.full(len(encoded.ids), -1, dtype=np.int64)


def _chosen(
    texts: Texts, labelled: Sequence[tuple[Ints, list[str]]], most: int, rng: np.random.Generator
) -> tuple[list[Ints], list[Ints], list[list[str]]]:
    """Draw at most `most` tokens: of two classes equally many. Return by text their places, labels and words."""
    owner = np.concatenate([np.full(len(labels), i) for i, (labels, _) in enumerate(labelled)])
    place = np.concatenate([np.arange(len(labels)) for labels, _ in labelled])
    label = np.concatenate([labels for labels, _ in labelled])
    known = rng.permutation(np.flatnonzero(label >= 0))
    if set(np.unique(label[known]).tolist()) == {0, 1}:
        pools = [known[label[known] == each] for each in (0, 1)]
        size = min(most // 2, *map(len, pools))
        known = np.concatenate([pool[:size] for pool in pools])
    drawn = np.sort(known[:most])
    of_text = [drawn[owner[drawn] == i] for i in range(len(texts))]
    return (
        [place[rows] for rows in of_text],
        [label[rows] for rows in of_text],
        [[labelled[i][1][place[row]] for row in rows] for i, rows in enumerate(of_text)],
    )
