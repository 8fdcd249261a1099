"""What the words of a test split cost."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pandas as pd

from sentviz.analysis.testset.rows import Rows
from sentviz.analysis.testset.word_counts import counted, keyness, largest
from sentviz.figures.cloud_layout import layout
from tests.benchmarks.timing import ratios, say

REVIEWS, LONG, VOCABULARY = 25_000, 230, 80_000


def words() -> None:
    """Occurrences and rows by cell of 25,000 made-up reviews of about 230 words, against plain Counter loops over the same texts."""
    rng = np.random.default_rng(0)
    known = np.array([f"{'aeiou'[i % 5]}{i:x}" for i in range(VOCABULARY)], dtype=object)
    lengths = rng.integers(LONG // 2, 3 * LONG // 2, REVIEWS)
    ranks = np.minimum(rng.zipf(1.15, lengths.sum()), VOCABULARY) - 1  # about as uneven as English
    texts = [" ".join(part) + "." for part in np.split(known[ranks], np.cumsum(lengths)[:-1])]
    label, said = rng.integers(0, 2, (2, REVIEWS))
    frame = pd.DataFrame({"id": np.arange(REVIEWS).astype(str), "label": label, "predicted": said, "text": texts})
    rows = Rows("none", "", "test", ("negative", "positive"), frame)
    pattern = re.compile(r"\w+(?:'\w+)*")

    def occurrences() -> None:
        cells = {(a, b): Counter[str]() for a in (0, 1) for b in (0, 1)}
        for text, a, b in zip(texts, label.tolist(), said.tolist(), strict=True):
            cells[a, b].update(pattern.findall(text.casefold()))

    def both() -> None:
        cells = {(a, b): (Counter[str](), Counter[str]()) for a in (0, 1) for b in (0, 1)}
        for text, a, b in zip(texts, label.tolist(), said.tolist(), strict=True):
            found = pattern.findall(text.casefold())
            cells[a, b][0].update(found)
            cells[a, b][1].update(set(found))

    candidates = {"Counter, occurrences": occurrences, "Counter, and rows": both, "sentviz": lambda: counted(rows)}
    say(f"words of {REVIEWS:,} reviews of {LONG} words", ratios(candidates, rounds=3), "Counter, occurrences", "Counter, and rows")
    counts = counted(rows)
    table = keyness(counts, (0, 0))
    top = largest(table, "count", 30)
    weights = dict(zip(top["word"], top["count"].astype(float), strict=True))
    seconds = ratios({"keyness of a cell": lambda: keyness(counts, (0, 0)), "places of 30 words": lambda: layout(weights, 330, 236)})
    say(f"one cloud of {len(counts.words):,} words", seconds, "keyness of a cell")
