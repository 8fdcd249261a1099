"""Baselines that judge single texts as negative or positive: a lexicon of each language, and TF-IDF with logistic regression."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from sentviz.analysis.testset.baselines import tfidf, vader
from sentviz.data import datasets
from sentviz.data.datasets import Split
from sentviz.data.labels import sides
from sentviz.io.lazy import pd

Judge = Callable[[Sequence[str]], tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]]
"""Takes n texts; returns the side of each, -1, 0 or 1, and its positive probability, NaN if it cannot be read."""

NORMAL = 15.0  # VADER's normalisation of a sum s: s / sqrt(s^2 + 15)


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
