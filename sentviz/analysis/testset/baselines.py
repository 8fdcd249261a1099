"""Simple classifiers that ignore the order of words: TF-IDF with logistic regression, VADER, and the commonest class.

Two of them judge single texts as negative or positive: a lexicon of each language, and TF-IDF with logistic regression.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from sentviz.data import datasets
from sentviz.data.datasets import Split
from sentviz.data.labels import sides
from sentviz.errors import RunError
from sentviz.io.lazy import pd

SEED = 0
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Judge = Callable[[Sequence[str]], tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]]
"""Takes n texts; returns the side of each, -1, 0 or 1, and its positive probability, NaN if it cannot be read."""

NORMAL = 15.0  # VADER's normalisation of a sum s: s / sqrt(s^2 + 15)


def vader(texts: Iterable[str]) -> Floats:
    """Return VADER's compound score of each text (Hutto & Gilbert 2014), from -1 to 1.

    Raises:
        RunError: the package vaderSentiment is not installed.
    """
    try:
        from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer
    except ImportError:
        raise RunError("VADER is not installed: `pip install vaderSentiment`.") from None
    analyzer = SentimentIntensityAnalyzer()
    return np.array([analyzer.polarity_scores(text)["compound"] for text in texts], dtype=np.float64)


def tfidf(train: pd.DataFrame, validation: pd.DataFrame | None = None, *, min_rows: int = 1) -> Callable[[pd.DataFrame], Floats]:
    """Train a logistic regression on TF-IDF of words and pairs of words.

    Args:
        train: text, label. validation: rows on which C is chosen among 1 and 4; None = C is 1.
        min_rows: rows of train in which a term must occur.
    Returns:
        A function from rows to the probability of each class in train, (n, K).
    Raises:
        ValueError: no text of train has a word.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    words = TfidfVectorizer(ngram_range=(1, 2), min_df=min_rows, sublinear_tf=True, token_pattern=r"(?u)\b\w[\w']*\b", dtype=np.float32)
    learned = words.fit_transform(train["text"])
    solver = "liblinear" if train["label"].nunique() == 2 else "lbfgs"

    def fitted(c: float) -> Any:
        return LogisticRegression(C=c, solver=solver, random_state=SEED, max_iter=1_000).fit(learned, train["label"])

    best = fitted(1.0)
    if validation is not None:
        chosen = words.transform(validation["text"])
        best = max((best, fitted(4.0)), key=lambda model: float(model.score(chosen, validation["label"])))
    return lambda frame: np.asarray(best.predict_proba(words.transform(frame["text"])), np.float64)


def simple_predictions(train: Split, rows: Split, language: str) -> dict[str, Ints]:
    """Return the predicted class of each row by each simple classifier that can be used: name -> (n,).

    VADER is used for English texts of two classes, negative and positive; its score 0 counts as positive.
    """
    learned = train.frame[train.frame["label"] >= 0]
    by_name: dict[str, Ints] = {}
    with suppress(ValueError):
        by_name["TF-IDF, logistic regression"] = np.unique(learned["label"])[tfidf(learned)(rows.frame).argmax(axis=1)]
    side = sides(rows.labels)
    if language == "en" and sorted(side) == [-1, 1]:
        with suppress(RunError):
            by_name["VADER"] = np.where(vader(rows.frame["text"]) >= 0, side.index(1), side.index(-1))
    commonest = int(np.bincount(learned["label"]).argmax())
    by_name[f"commonest class, {rows.labels[commonest]}"] = np.full(len(rows), commonest)
    return by_name


def lexicon_judge(spoken: str) -> Judge:
    """Return the judge of a lexicon: VADER for English, the KNU lexicon for Korean; a sum of 0 counts as positive.

    Raises:
        DataMissingError, RunError: the lexicon is not installed.
    """
    score = vader if spoken == "en" else _knu

    def judge(texts: Sequence[str]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        compound = np.asarray(score(texts), dtype=np.float64)
        return np.where(compound >= 0, 1, -1), (compound + 1) / 2

    return judge


def _knu(texts: Sequence[str]) -> npt.NDArray[np.float64]:
    """Return the sum of the polarities of the longest entries that begin a word, normalised as VADER's, from -1 to 1."""
    table = datasets.load_file("lexicon_ko_knu", "lexicon")
    polarity = dict(zip(table["term"].astype(str), table["polarity"].astype(float), strict=True))
    longest = max(map(len, polarity))
    scores = []
    for text in texts:
        total, end = 0.0, 0
        for match in re.finditer(r"\S+", text):
            if match.start() < end:
                continue
            for size in range(min(longest, len(text) - match.start()), 0, -1):
                if (term := text[match.start() : match.start() + size]) in polarity:
                    total, end = total + polarity[term], match.start() + size
                    break
        scores.append(total / np.sqrt(total**2 + NORMAL))
    return np.array(scores)


def tfidf_judge(train: Split) -> Judge:
    """Return the judge of TF-IDF with logistic regression, trained on the labelled rows of a split."""
    learned = train.frame[train.frame["label"] >= 0]
    side = np.array(sides(train.labels))[np.unique(learned["label"])]
    predict = tfidf(learned)

    def judge(texts: Sequence[str]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        shares = predict(pd.DataFrame({"text": list(texts)}))
        return side[shares.argmax(axis=1)], shares[:, side > 0].sum(axis=1) + shares[:, side == 0].sum(axis=1) / 2

    return judge
