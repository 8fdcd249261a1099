"""Count the words that 7ess-Xin names in its clouds (section IV-D2, figure 8), cell by cell of the confusion matrix.

A rank counts the words of a cell by frequency, without the stop words of the package WordCloud.
`python -m sentviz.papers.sevenessxin.cloud_words` counts anew; it needs the tweets.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sentviz.analysis.testset.word_counts import Counts, wordcloud_stop_words
from sentviz.gallery.subjects import Answers
from sentviz.io.lazy import pd
from sentviz.papers.sevenessxin.presets import ROPE
from sentviz.papers.studies.stored import Stored
from sentviz.runs.store import Run

MEASURED = Stored(
    Path(__file__).parent / "measured" / "cloud_words.csv",
    ("cell", "word", "rank", "count", "rows", "run"),
    "The ranks of the words of figure 8 are",
    "python -m sentviz.papers.sevenessxin.cloud_words",
    ("cell", "word", "run"),
)
CELLS = {"TN": (0, 0), "FP": (0, 1), "FN": (1, 0), "TP": (1, 1)}  # (label, prediction)
NAMED = {"TP": ("love", "thank", "lol"), "TN": ("sad", "miss", "work", "now", "going"), "FN": ("work", "now", "going")}


def ranks(counts: Counts, run: str) -> pd.DataFrame:
    """Return the rows of `MEASURED` for counted words: rank 1 is the most frequent word of a cell, 0 a word that is not in it."""

    left_out = wordcloud_stop_words()
    content = [place for place, word in enumerate(counts.words) if word not in left_out]
    rows = []
    for cell, pair in CELLS.items():
        numbers = {counts.words[place]: int(counts.counts[counts.cells.index(pair), place]) for place in content}
        order = sorted(numbers, key=lambda word: (-numbers[word], word))
        for word in dict.fromkeys(word for named in NAMED.values() for word in named):
            has = numbers.get(word, 0)
            rows.append((cell, word, order.index(word) + 1 if has else 0, has, int(counts.sizes[counts.cells.index(pair)]), run))
    return pd.DataFrame(rows, columns=list(MEASURED.columns))


def measure(runs: Iterable[Run]) -> pd.DataFrame:
    """Return the rows of `MEASURED` for every seed of the paper's best version.

    Raises:
        SentvizError: the tweets are not available.
    """

    from sentviz.papers.sevenessxin.study import configurations

    seeds = configurations(runs).get(f"7ess-v6-{ROPE}", [])
    return pd.concat([ranks(Answers(run).counts, run.name) for run in seeds])


if __name__ == "__main__":
    from sentviz.runs.catalog import study_runs

    MEASURED.write(measure(study_runs().runs))
