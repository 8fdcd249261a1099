"""Count the words that 7ess-Xin names in its clouds (section IV-D2, figure 8), cell by cell of the confusion matrix.

A rank counts the words of a cell by frequency, without the stop words of the package WordCloud. The
tweets must be installed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from experiments.writing import write
from sentviz.analysis.testset.word_counts import Counts, wordcloud_stop_words
from sentviz.charts.subjects import Answers
from sentviz.papers.sevenessxin.measured import CLOUD_WORDS, NAMED
from sentviz.papers.sevenessxin.study import configurations
from sentviz.papers.sevenessxin.versions import ROPE
from sentviz.runs.catalog import study_runs
from sentviz.runs.store import Run

CELLS = {"TN": (0, 0), "FP": (0, 1), "FN": (1, 0), "TP": (1, 1)}  # (label, prediction)


def ranks(counts: Counts, run: str) -> pd.DataFrame:
    """Return the rows of `CLOUD_WORDS` for counted words: rank 1 is the most frequent word of a cell, 0 a word that is not in it."""

    left_out = wordcloud_stop_words()
    content = [place for place, word in enumerate(counts.words) if word not in left_out]
    rows = []
    for cell, pair in CELLS.items():
        numbers = {counts.words[place]: int(counts.counts[counts.cells.index(pair), place]) for place in content}
        order = sorted(numbers, key=lambda word: (-numbers[word], word))
        for word in dict.fromkeys(word for named in NAMED.values() for word in named):
            has = numbers.get(word, 0)
            rows.append((cell, word, order.index(word) + 1 if has else 0, has, int(counts.sizes[counts.cells.index(pair)]), run))
    return pd.DataFrame(rows, columns=list(CLOUD_WORDS.columns))


def measure(runs: Iterable[Run]) -> pd.DataFrame:
    """Return the rows of `CLOUD_WORDS` for every seed of the paper's best version.

    Raises:
        SentvizError: the tweets are not available.
    """

    seeds = configurations(runs).get(f"7ess-v6-{ROPE}", [])
    return pd.concat([ranks(Answers(run).counts, run.name) for run in seeds])


def main(arguments: Sequence[str] = ()) -> None:
    """Count the words of the runs of the study."""
    write(CLOUD_WORDS, measure(study_runs().runs))
