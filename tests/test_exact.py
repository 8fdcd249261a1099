"""Exact Shapley values, curves of removal and what random explanations reach: against loops over all orders, axioms, planted models."""

from __future__ import annotations

from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sentviz.analysis.explain import exact_comparison
from sentviz.analysis.explain.curves import area, deletion, insertion, limits, normalised_fall, probabilities
from sentviz.analysis.explain.exact import MAX_PLAYERS, cost, exact, interaction_index, most_players, shapley_values, subsets
from sentviz.analysis.explain.exact_comparison_table import PATCHED, TABLE
from sentviz.analysis.explain.stored import read_measured
from sentviz.analysis.explain.value_function import Game, filler, fitting, joined, parts
from sentviz.analysis.explain.word_groups import spaced_words
from sentviz.data.tokenizers import Tokenizer
from sentviz.errors import InputError
from sentviz.models.blackbox import BlackBox
from sentviz.models.model import Model
from sentviz.runs.target import Target
from sentviz.runs.trace import Trace
from tests.kit import planted_model, small_model, toy_splits
from tests.slow import shapley_by_orders

TEXT = "what a warm, clever song"
TABLES = st.integers(1, 5).flatmap(lambda n: st.lists(st.floats(-9, 9), min_size=1 << n, max_size=1 << n)).map(np.array)


@pytest.fixture(scope="module")
def model() -> Model:
    """Return a random word-level model of three classes."""
    return small_model(components=2, mixing="free", labels=["sad", "plain", "glad"])


def _odds(trace: Trace, k: int) -> float:
    p = trace.probabilities.astype(np.float64)
    return float(np.log(p[k] / (1 - p[k])))


def test_values_equal_a_loop_over_all_orders_of_deleted_words(model: Model) -> None:
    """Values and interactions equal means over all 720 orders of six words, of one plain prediction per subset, to 2e-5."""
    trace = model.trace(TEXT)
    result, k = exact(model, trace), int(trace.probabilities.argmax())
    written = ["what", "a", "warm", ",", "clever", "song"]
    assert [player.text for player in result.players] == written and result.by == "words" and result.passes == 64
    known: dict[frozenset[int], float] = {frozenset(): result.empty}  # no text is empty; `test_the_empty_text` checks this value
    for size in range(1, 7):
        for some in combinations(range(6), size):
            known[frozenset(some)] = _odds(model.trace(" ".join(written[i] for i in some)), k)
    values, pairs = shapley_by_orders(6, known.__getitem__)
    np.testing.assert_allclose(result.values, values, atol=2e-5)
    np.testing.assert_allclose(result.interactions, pairs, atol=4e-5)
    assert result.values.sum() == pytest.approx(trace.value - result.empty, abs=1e-4)
    assert np.abs(result.interactions).max() > 1e-3


def test_the_empty_text_is_read_with_padding_that_no_layer_reads(model: Model) -> None:
    trace = model.trace(TEXT)
    game = Game(model, trace, spaced_words(trace))
    none = game(np.zeros((1, 6), dtype=bool))
    both = Game(model, trace, spaced_words(trace))(np.array([[False] * 6, [True] * 6]))
    assert np.isfinite(none).all() and none == pytest.approx(both[:1], abs=1e-5)
    assert both[1] == pytest.approx(trace.value, abs=1e-5)


@pytest.mark.parametrize(("absent", "token", "name"), [("masked", 1, "[UNK]"), ("padded", 0, "[PAD]")])
def test_absent_words_are_replaced_token_by_token(absent: Any, token: int, name: str) -> None:
    model = small_model(tokenizer=Tokenizer.train_bpe(toy_splits()["train"].frame["text"], 275), max_length=64)
    trace = model.trace("what clumsily bright")
    result, reading = exact(model, trace, absent=absent), model.encode("what clumsily bright").reading
    word, ids = result.players[1], reading.ids.copy()
    assert len(word.indices) > 1 and result.replaced_by == name and filler(model, absent) == token
    ids[list(word.indices)] = token
    logits = model.forward([type(reading)(ids, reading.segments, reading.tags)])[0]
    assert result.table[0b101] == pytest.approx(float(trace.value_of(logits[0])), abs=1e-5)
    assert len(set(result.scores[list(word.indices)])) == 1
    assert subsets(2).tolist() == [[False, False], [True, False], [False, True], [True, True]]


def test_values_are_of_a_class_against_the_rest_or_one_other(model: Model) -> None:
    """The table holds log p_k / (1 - p_k), log p_k / p_j, or a calibrated probability; classes that do not exist are named."""
    trace = model.calibrated(2.0).trace(TEXT)
    z, p, (first, second, third) = trace.logits.astype(np.float64), trace.probabilities, trace.labels
    rest = exact(model, trace.for_target(Target(second)))
    assert rest.full == pytest.approx(z[1] - np.log(np.exp(z[0]) + np.exp(z[2])), abs=1e-5)
    assert exact(model, trace.for_target(Target(second, third))).full == pytest.approx(z[1] - z[2], abs=1e-5)
    assert exact(model, trace.for_target(Target(second)), measure="probability").full == pytest.approx(p[1], abs=1e-6)
    share = exact(model, trace.for_target(Target(second, third)), measure="probability").full
    assert share == pytest.approx(p[1] / (p[1] + p[2]), abs=1e-6)
    with pytest.raises(InputError, match=r"no class 'joyful'; the classes are"):
        trace.for_target(Target("joyful"))
    with pytest.raises(InputError, match="cannot be compared with itself"):
        trace.for_target(Target(first, first))


# ---- planted models


def test_an_interaction_that_was_planted_is_found_with_sign_and_size() -> None:
    """The pair "not", "dull" has the planted interaction to 1e-5, half of it goes to each word, and no other pair interacts."""
    model = planted_model(lambda there: 3 * there("not") * there("dull") - 2 * there("dull"))
    result = exact(model, model.trace("it is not dull").for_target(Target("positive")))
    assert result.pairs(1) == [(2, 3)] and result.interactions[2, 3] == pytest.approx(6, abs=1e-5)
    assert result.values == pytest.approx([0, 0, 3, -1], abs=1e-5)
    assert result.alone == pytest.approx([0, 0, 0, -4], abs=1e-5) and result.together(2, 3) == pytest.approx(2, abs=1e-5)
    assert result.left_out == pytest.approx([0, 0, 6, 2], abs=1e-5)
    rest = result.interactions.copy()
    rest[2, 3] = rest[3, 2] = 0
    assert np.abs(rest).max() < 1e-5


# ---- axioms


@settings(max_examples=40, deadline=None)
@given(TABLES)
def test_values_are_efficient_and_equal_means_over_orders(table: np.ndarray) -> None:
    n = len(table).bit_length() - 1
    values, pairs = shapley_by_orders(n, lambda some: float(table[sum(1 << i for i in some)]))
    np.testing.assert_allclose(shapley_values(table), values, atol=1e-9)
    np.testing.assert_allclose(interaction_index(table), pairs, atol=1e-9)
    assert shapley_values(table).sum() == pytest.approx(table[-1] - table[0], abs=1e-9)


# ---- limits


def test_a_repeated_word_is_predicted_once_per_length(model: Model) -> None:
    result, single = exact(model, model.trace("song " * 10)), exact(model, model.trace("song"))
    assert (result.passes, len(result.table), len(single.table), single.pairs()) == (11, 1024, 2, [])
    assert np.ptp(result.values) < 1e-5 and result.values.sum() == pytest.approx(result.full - result.empty, abs=1e-4)
    assert single.values == pytest.approx([single.full - single.empty])


def test_thirteen_words_are_cut_into_fewer_parts(model: Model) -> None:
    trace = model.trace("what a warm song we saw but a dull clever bad song follows")
    result = exact(model, trace)
    assert result.by == "phrases" and 2 <= len(result.players) <= MAX_PLAYERS
    assert [i for player in result.players for i in player.indices] == list(range(13))
    with pytest.raises(InputError, match=r"has 13 words.*at most 12"):
        exact(model, trace, by="words")


def test_a_long_text_has_few_parts_and_bounded_work() -> None:
    model = small_model(max_length=512)
    trace = model.trace("what a warm song we saw . " * 72)
    assert len(spaced_words(trace)) == 504
    by, players = fitting(model, trace, most_players(len(trace.tokens)))
    assert by == "sentences" and len(players) <= 7 and all(player.text.endswith(".") for player in players)
    assert cost(trace) <= 49_152 and most_players(64) == 12 and most_players(10**6) == 2


def test_work_can_be_stopped_and_reports_progress(model: Model) -> None:
    trace, counts = model.trace("what a warm song we saw but dull clever film"), []
    exact(model, trace, progress=lambda done, total: counts.append((done, total)))
    assert [done for done, _ in counts] == sorted({done for done, _ in counts}) and counts[-1][0] == counts[-1][1] > 500
    calls = iter(range(1))

    def check() -> None:
        if next(calls, None) is None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        exact(model.stoppable(check), trace)


def test_a_black_box_can_only_delete() -> None:
    box = BlackBox.of(lambda texts: [[0.2, 0.8] if "song" in text else [0.7, 0.3] for text in texts], ["negative", "positive"])
    trace = box.trace("a warm song")
    result = exact(box, trace)
    assert result.values == pytest.approx([0, 0, np.log(4) + np.log(7 / 3)], abs=1e-5)
    with pytest.raises(InputError, match="black box, so absent words can only be deleted"):
        exact(box, trace, absent="masked")
    with pytest.raises(InputError, match="Absent words are deleted, masked, padded, not 'gone'"):
        exact(box, trace, absent="gone")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="its log-odds or its probability, not 'odds'"):
        exact(box, trace, measure="odds")  # type: ignore[arg-type]


# ---- parts


def test_a_text_is_cut_at_its_marks(model: Model) -> None:
    """Sentences end at marks and line breaks but not after abbreviations; clauses also at commas, dashes and conjunctions."""
    for by, marked in (
        ("sentences", "I saw it.| Mr. Bay made it!| Was it good?"),
        ("clauses", "The song is warm,| but the film that we saw was dull."),
        ("clauses", 'He said "no."| Then he left -| slowly;| very slowly.'),
        ("clauses", "We like the song| but we hate the film"),
        ("clauses", "Warm but dull"),
        ("sentences", "It costs 3.5 dollars...| I think"),
        ("sentences", "one line|\nanother line"),
    ):
        trace = model.trace(marked.replace("|", ""))
        pieces = parts(model, trace, by)  # type: ignore[arg-type]
        assert [piece.text for piece in pieces] == [piece.strip() for piece in marked.split("|")]
        assert [i for piece in pieces for i in piece.indices] == list(range(len(trace.tokens)))
    with pytest.raises(InputError, match="cut by words, phrases, clauses, sentences, not by 'letters'"):
        parts(model, trace, "letters")  # type: ignore[arg-type]


def test_the_shortest_neighbours_are_joined(model: Model) -> None:
    trace = model.trace("a b c d e f g")
    groups = joined(trace, spaced_words(trace), 3)
    assert [part.text for part in groups] == ["a b", "c d", "e f g"]
    assert [i for part in groups for i in part.indices] == list(range(7))


def additive(weights: list[float]) -> np.ndarray:
    return np.array([sum(weight for i, weight in enumerate(weights) if place >> i & 1) for place in range(1 << len(weights))])


RANDOM_TABLES = [np.random.default_rng(n).normal(size=1 << n) for n in (3, 4)] + [additive([1.0, -1.0, 0.5, 1.0]), additive([1.0, 2.0])]


@pytest.mark.parametrize("table", RANDOM_TABLES, ids=["3", "4", "tie", "two"])
def test_all_orders_and_signs(table: np.ndarray) -> None:
    values, chances = shapley_values(table), probabilities(table)
    orders = [np.array(order) for order in permutations(range(len(values)))]
    scores = [np.array(signs) * (order + 1.0) for order in orders for signs in product((-1, 1), repeat=len(values))]
    lines = [exact_comparison._measures(values, chances, limits(chances), line, signed=True) for line in scores]
    frame, curves = exact_comparison.of_text(table, {"removal": values}, 0)
    random = frame[frame["method"] == "removal"].set_index("metric")["random"]
    wanted = dict(zip(exact_comparison.MEASURES, np.mean(lines, axis=0), strict=True)) | {"error": np.nan}
    assert {metric: random[metric] for metric in wanted} == pytest.approx(wanted, abs=1e-12, nan_ok=True)
    for curve, of in (("deletion", deletion), ("insertion", insertion)):
        every = [exact_comparison._at_points(of(chances, order)) for order in orders]
        assert curves["expected", curve] == pytest.approx(np.mean(every, axis=0), abs=1e-12)


def test_the_shipped_tables_have_expectations() -> None:
    table = read_measured(TABLE)
    for metric, expected in (("ranks", 0.0), ("size", 0.0), ("signs", 0.5)):
        assert (table[table["metric"] == metric]["random"] == expected).all(), metric
    first = table[table["metric"] == "first"]
    assert first["random"].between(1 / exact_comparison.MOST, 1 / exact_comparison.LEAST).all()
    assert (first.groupby("run")["random"].nunique() == 1).all() and (read_measured(PATCHED)["random"] == 0).all()


SUBSETS = np.random.default_rng(5).normal(size=16)


def _value(present: set[int]) -> float:
    return float(SUBSETS[sum(1 << player for player in present)])


def test_curves_remove_and_add_players_one_by_one() -> None:
    for order in ((0, 1, 2, 3), (3, 1, 0, 2)):
        assert deletion(SUBSETS, np.array(order)) == pytest.approx([_value(set(order[k:])) for k in range(5)])
        assert insertion(SUBSETS, np.array(order)) == pytest.approx([_value(set(order[:k])) for k in range(5)])
    assert area(np.linspace(0.9, 0.1, 7)) == pytest.approx(0.5) and np.isnan(normalised_fall(np.full(8, 0.3), np.arange(3)))


def test_limits_are_those_of_all_24_orders() -> None:
    falls = [SUBSETS[15] - sum(_value(set(order[k:])) for k in range(1, 5)) / 4 for order in permutations(range(4))]
    assert limits(SUBSETS) == pytest.approx((min(falls), max(falls)))
    scaled = [normalised_fall(SUBSETS, np.array(order)) for order in permutations(range(4))]
    assert scaled == pytest.approx([(fall - min(falls)) / (max(falls) - min(falls)) for fall in falls])


def test_probabilities_are_exact_for_large_log_odds() -> None:
    assert probabilities(np.array([-800.0, 0.0, 800.0])) == pytest.approx([0.0, 0.5, 1.0])
    assert probabilities(np.array([-30.0]))[0] == pytest.approx(np.exp(-30) / (1 + np.exp(-30)), rel=1e-12)
