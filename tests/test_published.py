"""Comprehensiveness and sufficiency beside published numbers: against a plain loop, and the stored table."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import permutations

import numpy as np
import pytest

from experiments.general import published
from sentviz.analysis.explain import explained
from sentviz.analysis.explain.exact_comparison import word_scores
from sentviz.analysis.explain.value_function import ABSENT
from sentviz.analysis.explain.word_groups import spaced_words
from tests.kit import planted_model, small_model


def test_falls_equal_a_loop_over_texts() -> None:
    """Both falls of the best fifth of the words are those of shortened texts; an order stands between the extremes of all 24 orders."""
    model = planted_model(lambda there: 2 * (there("warm") + there("song")).clamp(max=1) - 1.5 * there("dull"))
    texts = ["a song is warm", "a dull song warm"]
    tables = [measure(model, texts, sample=2, seed=1) for measure in (published.measure, published.measure_reached)]
    got = {}
    for table in tables:
        got |= table[(table["absent"] == "deleted") & (table["method"] == "removal")].set_index("metric")["value"].to_dict()
    falls, rests, places = [], [], []
    for text in texts:
        trace, words = explained(model, model.calibrated(1.0).trace(text), ["removal"]), text.split()
        scores, k = word_scores(trace, "removal", spaced_words(trace)), int(trace.probabilities.argmax())

        @cache
        def chance(left: str, k: int = k) -> float:
            return float(model.calibrated(1.0).trace(left).probabilities[k]) if left else 0.5  # the planted value is then 0

        def mean_fall(order: Sequence[int], words: list[str] = words) -> float:
            chances = [chance(" ".join(word for i, word in enumerate(words) if i not in order[:gone])) for gone in range(len(words) + 1)]
            return chances[0] - sum(chances[1:]) / len(words)

        best = int(np.argmax(scores))
        falls.append(chance(text) - chance(" ".join([*words[:best], *words[best + 1 :]])))
        rests.append(chance(text) - chance(words[best]))
        every, own = [mean_fall(order) for order in permutations(range(4))], mean_fall(np.argsort(-scores, kind="stable").tolist())
        places.append((own - min(every)) / (max(every) - min(every)))
    wanted = {"comprehensiveness": np.mean(falls), "sufficiency": np.mean(rests), "reached": np.mean(places)}
    assert got == pytest.approx(wanted, abs=1e-5) and 0 < got["reached"] < 1


def test_every_way_of_being_absent_is_measured() -> None:
    """Each method has both metrics for deleted, masked and padded words; the three differ. The stored table is complete."""
    table, stored = published.measure(small_model(), ["what a warm and clever song it was"], sample=1), published.stored()
    assert set(table["absent"]) == set(ABSENT) and set(table["method"]) == {*published.METHODS, "random"}
    assert len(table) == len(ABSENT) * (len(published.METHODS) + 1) * 2
    assert table[table["metric"] == "comprehensiveness"].groupby("absent")["value"].mean().nunique() == 3
    assert set(stored["absent"]) == set(ABSENT) and (stored["n"] >= 100).all() and stored["value"].max() <= 1
    assert set(stored["metric"]) == {"comprehensiveness", "sufficiency", "reached"}
    assert (stored["low"] <= stored["value"]).all() and (stored["value"] <= stored["high"]).all()
