"""The words of the vocabulary along a direction, each read alone, beside a polarity lexicon: the lexicon that a model has learned."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from sentviz.analysis.causal.directions import Directions
from sentviz.analysis.causal.states import Texts, states
from sentviz.analysis.evaluation import bounds, row_draws
from sentviz.data import datasets
from sentviz.errors import DataMissingError, InputError
from sentviz.io.lazy import pd, stats

LEXICONS = ("lexicon_en_vader", "lexicon_ko_knu")
MOST = 600  # words
LEAST = 20  # words of a lexicon for a rank correlation
RESAMPLES = 1_000


def words_of(class_directions: Directions, most: int = MOST) -> list[str]:
    """Return words of the fitted and measured texts in lower case: those of the lexicons first, then the most frequent ones."""
    counts = Counter(
        word
        for texts in (class_directions.fitted, class_directions.measured)
        for text in texts.texts
        for word in re.findall(r"[^\W\d_]+", text.casefold())
    )
    polarity = polarities()
    return sorted(counts, key=lambda word: (word not in polarity, -counts[word], word))[:most]


def polarities() -> dict[str, float]:
    """Return the terms of the installed lexicons of `LEXICONS` with their polarity; the first lexicon decides."""

    polarity_of: dict[str, float] = {}
    for name in LEXICONS:
        try:
            frame = datasets.load_file(name, "lexicon")
        except DataMissingError:
            continue
        polarity = pd.to_numeric(frame["polarity"], errors="coerce")
        for term, value in zip(frame["term"].astype(str).str.casefold(), polarity, strict=True):
            if np.isfinite(value):
                polarity_of.setdefault(term, float(value))
    return polarity_of


def along(class_directions: Directions, depths: Sequence[int], words: Sequence[str] = (), way: str = "difference") -> pd.DataFrame:
    """Return words along a direction, each read as a text of its own.

    Args:
        words: by default those of `words_of`. A word that the model does not know is left out.
    Frame:
        depth, word, value (in half distances of the two means), polarity (of the lexicon; NaN without an entry).
    """
    wanted = list(dict.fromkeys(words or words_of(class_directions)))
    encoded = class_directions.model.encode_all(wanted) if class_directions.fitted.pairs is None else []
    known = [i for i, each in enumerate(encoded) if not (each.unknown & ~each.specials).any() and (~each.specials).any()]
    if not known:
        raise InputError(f"{class_directions.model.name} knows none of these words as a text of its own.")
    texts = Texts(tuple(wanted[i] for i in known), None, tuple(encoded[i] for i in known), np.zeros(len(known), dtype=np.int64))
    rows, _ = states(class_directions.model, texts)
    polarity = polarities()
    parts = []
    for depth in depths:
        u, fitted, side = class_directions.at(way, depth), class_directions.rows[depth], class_directions.fitted.side
        low, high = (float((fitted[side == each] @ u).mean()) for each in (0, 1))
        value = (rows[depth] @ u - (low + high) / 2) / max((high - low) / 2, 1e-12)
        parts.append(pd.DataFrame({"depth": depth, "word": texts.texts, "value": value}))
    frame = pd.concat(parts, ignore_index=True)
    return frame.assign(polarity=frame["word"].map(polarity).astype(float))


def correlations(frame: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Return Spearman's rank correlation of value and polarity at each depth, over the words of the lexicons.

    Frame:
        measure ("words"), depth, name, place, value, low, high (bootstrap over words), n; empty with fewer than `LEAST` words.
    """
    table = []
    for depth, part in frame[frame["polarity"].notna()].groupby("depth"):
        if len(part) < LEAST or part["polarity"].nunique() < 2:
            continue
        ranks = np.stack([stats.rankdata(part["value"]), stats.rankdata(part["polarity"])])
        draws = np.concatenate(
            [
                np.array([np.corrcoef(ranks[:, row])[0, 1] for row in rows])
                for rows in row_draws(len(part), np.random.default_rng(seed), RESAMPLES)
            ]
        )
        rho = float(np.corrcoef(ranks)[0, 1])
        table.append(("words", depth, "difference", "lexicon", rho, *bounds(draws), len(part)))
    return pd.DataFrame(table, columns=["measure", "depth", "name", "place", "value", "low", "high", "n"])
