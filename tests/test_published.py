"""Comprehensiveness and sufficiency beside published numbers: against a plain loop, and the stored table."""

from __future__ import annotations

from collections.abc import Sequence
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
    """With deletion, both falls of the best fifth of the words are those of plain predictions of the shortened texts."""
    model = planted_model(lambda there: 2 * there("warm") - 1.5 * there("dull") + 0.5 * there("song"))
    texts = ["a dull but warm song", "what a warm song", "never a dull soup here"]
    table = published.measure(model, texts, sample=3, seed=1)
    got = table[(table["absent"] == "deleted") & (table["method"] == "removal")].set_index("metric")["value"]
    falls, rests = [], []
    for text in texts:
        trace = explained(model, model.calibrated(1.0).trace(text), ["removal"])
        words, scores = text.split(), word_scores(trace, "removal", spaced_words(trace))
        best = int(np.argmax(scores))
        k = int(trace.probabilities.argmax())

        def chance(left: list[str], k: int = k) -> float:
            return float(model.calibrated(1.0).trace(" ".join(left)).probabilities[k])

        falls.append(chance(words) - chance([*words[:best], *words[best + 1 :]]))
        rests.append(chance(words) - chance([words[best]]))
    assert got["comprehensiveness"] == pytest.approx(np.mean(falls), abs=1e-5)
    assert got["sufficiency"] == pytest.approx(np.mean(rests), abs=1e-5)


@pytest.mark.exhaustive
def test_reached_equals_a_loop_over_all_orders() -> None:
    """The mean fall of word removal's order is placed between the least and the largest mean fall of all 24 orders, for two texts."""
    model = planted_model(lambda there: 2 * (there("warm") + there("song")).clamp(max=1) - 1.5 * there("dull"))
    texts = ["it is a song warm", "a dull song warm"]
    table = published.measure_reached(model, texts, sample=2, seed=1)
    got = table[(table["absent"] == "deleted") & (table["method"] == "removal")].set_index("metric")["value"]
    places = []
    for text in texts:
        trace = explained(model, model.calibrated(1.0).trace(text), ["removal"])
        words, k = text.split(), int(trace.probabilities.argmax())

        def mean_fall(order: Sequence[int], words: list[str] = words, k: int = k) -> float:
            chances = []
            for gone in range(len(words)):
                left = " ".join(word for i, word in enumerate(words) if i not in order[:gone])
                chances.append(float(model.calibrated(1.0).trace(left).probabilities[k]))
            chances.append(0.5)  # without words, the planted value is 0
            return chances[0] - sum(chances[1:]) / len(words)

        falls = [mean_fall(order) for order in permutations(range(len(words)))]
        own = mean_fall(np.argsort(-word_scores(trace, "removal", spaced_words(trace)), kind="stable").tolist())
        places.append((own - min(falls)) / (max(falls) - min(falls)))
    assert got["reached"] == pytest.approx(np.mean(places), abs=1e-5) and 0 < got["reached"] < 1


def test_every_way_of_being_absent_is_measured() -> None:
    """Each method has both metrics for deleted, masked and padded words; the three differ."""
    model = small_model()
    table = published.measure(model, ["what a warm and clever song it was"], sample=1)
    assert set(table["absent"]) == set(ABSENT) and set(table["method"]) == {*published.METHODS, "random"}
    assert len(table) == len(ABSENT) * (len(published.METHODS) + 1) * 2
    assert table[table["metric"] == "comprehensiveness"].groupby("absent")["value"].mean().nunique() == 3


def test_the_stored_table_is_complete() -> None:
    table = published.stored()
    assert set(table["absent"]) == set(ABSENT) and (table["n"] >= 100).all()
    assert set(table["metric"]) == {"comprehensiveness", "sufficiency", "reached"} and table["value"].max() <= 1
    assert (table["low"] <= table["value"]).all() and (table["value"] <= table["high"]).all()
