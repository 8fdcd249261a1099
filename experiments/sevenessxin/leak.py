"""A training set whose classes come from other weeks: the words that give the label away, and what they cost on tweets of all weeks.

The tweets must be installed. The tables hold words and counts, no texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from experiments.writing import write
from sentviz.analysis.evaluation import wilson
from sentviz.data import datasets
from sentviz.data.cleaning import cleaned
from sentviz.papers.sevenessxin.measured import LEAK_COSTS, LEAK_WORDS, WEEKS
from sentviz.papers.sevenessxin.printed_tables import DATASET

MOST, LEAST = 15, 100  # words of each side; rows that a word stands in, of both sets together


def telling(weeks: pd.DataFrame, whole: pd.DataFrame) -> pd.DataFrame:
    """Words that stand with a class in one set of tweets more than in the other: word, side, weeks, whole (log-odds ratios), z, rows.

    A word's log-odds ratio is of standing in a positive against a negative row, each count plus a half; z is the difference between the
    sets over its standard error. `side` is the class that it gives away.

    Args:
        weeks, whole: text (cleaned) and label (0 or 1) of each set.
    """
    counter = CountVectorizer(binary=True, token_pattern=r"\S+", lowercase=False)
    counts = counter.fit_transform([*weeks["text"], *whole["text"]]).tocsr()
    labels, first = np.concatenate([weeks["label"], whole["label"]]), np.arange(counts.shape[0]) < len(weeks)
    ratios, variances, total = [], [], np.zeros(counts.shape[1])
    for part in (first, ~first):
        odds, variance = np.zeros(counts.shape[1]), np.zeros(counts.shape[1])
        for label, sign in ((1, 1), (0, -1)):
            rows = part & (labels == label)
            there = np.asarray(counts[rows].sum(axis=0)).ravel()
            total += there
            odds += sign * np.log((there + 0.5) / (rows.sum() - there + 0.5))
            variance += 1 / (there + 0.5) + 1 / (rows.sum() - there + 0.5)
        ratios.append(odds)
        variances.append(variance)
    z = (ratios[0] - ratios[1]) / np.sqrt(variances[0] + variances[1])
    frame = pd.DataFrame(
        {"word": counter.get_feature_names_out(), "weeks": ratios[0], "whole": ratios[1], "z": z, "rows": total.astype(int)}
    )
    frame = frame[frame["rows"] >= LEAST].sort_values("z", kind="stable")
    sides = [frame.head(MOST).assign(side="negative"), frame.tail(MOST).iloc[::-1].assign(side="positive")]
    return pd.concat(sides, ignore_index=True)[list(LEAK_WORDS.columns)]


def costs(train: Mapping[str, pd.DataFrame], test: Mapping[str, pd.DataFrame], seed: int = 0) -> pd.DataFrame:
    """A linear probe (TF-IDF of words and pairs, logistic regression) of each set on each: trained, tested, n, value, low, high (shares).

    All learn from as many rows, as many as the smallest set has.

    Args:
        train, test: text (cleaned) and label of each set by its name.
    """
    rows, records = min(map(len, train.values())), []
    for name, frame in train.items():
        some = frame.sample(rows, random_state=seed)
        words = TfidfVectorizer(ngram_range=(1, 2), min_df=2, token_pattern=r"\S+", lowercase=False)
        probe = LogisticRegression(C=2, max_iter=200, solver="liblinear").fit(words.fit_transform(some["text"]), some["label"])
        for tested, test_rows in test.items():
            right = int((probe.predict(words.transform(test_rows["text"])) == test_rows["label"]).sum())
            low, high = wilson(right, len(test_rows))
            records.append((name, tested, len(test_rows), right / len(test_rows), float(low), float(high)))
    return pd.DataFrame(records, columns=list(LEAK_COSTS.columns))


def main(arguments: Sequence[str] = ()) -> None:
    """Measure the words and the costs on the sample of other weeks and on tweets of all weeks."""

    def read(name: str, split: str) -> pd.DataFrame:
        frame = datasets.load_split(name, split).frame
        return frame.assign(text=[cleaned(text, "tweets") for text in frame["text"]])

    train, test = ({name: read(name, split) for name in (WEEKS, DATASET)} for split in ("train", "test"))
    test_texts = set(pd.concat(test.values())["text"])  # some tweets are in both sets
    train = {name: frame[~frame["text"].isin(test_texts)] for name, frame in train.items()}
    write(LEAK_WORDS, telling(train[WEEKS], train[DATASET]), "%.5f")
    write(LEAK_COSTS, costs(train, test), "%.5f")
