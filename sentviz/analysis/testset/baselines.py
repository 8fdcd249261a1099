"""Simple classifiers that ignore the order of words: TF-IDF with logistic regression, VADER, and the commonest class."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from sentviz.data.datasets import Split
from sentviz.data.labels import sides
from sentviz.errors import RunError
from sentviz.io.lazy import pd

SEED = 0
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


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
