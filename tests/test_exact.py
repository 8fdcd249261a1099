"""Exact Shapley values, curves of removal and what random explanations reach: against loops over all orders, axioms, planted models."""

from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sentviz.analysis.explain import exact_comparison
from sentviz.analysis.explain.curves import area, deletion, insertion, limits, normalised_fall, probabilities
from sentviz.analysis.explain.exact import MAX_PLAYERS, cost, exact, interaction_index, most_players, shapley_values, subsets
from sentviz.analysis.explain.value_function import Game, filler, fitting, joined, parts
from sentviz.analysis.explain.word_groups import spaced_words
from sentviz.data.tokenizers import Tokenizer
from sentviz.errors import InputError
from sentviz.models.blackbox import BlackBox
from sentviz.models.model import Model
from sentviz.runs.target import Target
from tests.charts import figure_of, stub
from tests.kit import planted_model, refused, small_model, toy_splits
from tests.slow import shapley_by_orders

TEXT = "what a warm, clever song"
TABLES = st.integers(1, 5).flatmap(lambda n: st.lists(st.floats(-9, 9), min_size=1 << n, max_size=1 << n)).map(np.array)


@pytest.fixture(scope="module")
def model() -> Model:
    """Return a random word-level model of three classes."""
    return small_model(components=2, mixing="free", labels=["sad", "plain", "glad"])


def test_values_equal_a_loop_over_all_orders_of_deleted_words(model: Model) -> None:
    trace = model.trace(TEXT)
    result, k = exact(model, trace), int(trace.probabilities.argmax())
    written = ["what", "a", "warm", ",", "clever", "song"]
    assert [player.text for player in result.players] == written and result.by == "words" and result.passes == 64
    known: dict[frozenset[int], float] = {frozenset(): result.empty}  # no text is empty; `test_the_empty_text` checks this value
    for size in range(1, 7):
        for some in combinations(range(6), size):
            p = model.trace(" ".join(written[i] for i in some)).probabilities.astype(np.float64)[k]
            known[frozenset(some)] = float(np.log(p / (1 - p)))
    values, pairs = shapley_by_orders(6, known.__getitem__)
    np.testing.assert_allclose(result.values, values, atol=2e-5)
    np.testing.assert_allclose(result.interactions, pairs, atol=4e-5)
    assert result.values.sum() == pytest.approx(trace.value - result.empty, abs=1e-4)
    assert np.abs(result.interactions).max() > 1e-3
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


def test_values_of_classes_and_repeated_words(model: Model) -> None:
    trace = model.calibrated(2.0).trace(TEXT)
    z, p, (first, second, third) = trace.logits.astype(np.float64), trace.probabilities, trace.labels
    rest = exact(model, trace.for_target(Target(second)))
    assert rest.full == pytest.approx(z[1] - np.log(np.exp(z[0]) + np.exp(z[2])), abs=1e-5)
    assert exact(model, trace.for_target(Target(second, third))).full == pytest.approx(z[1] - z[2], abs=1e-5)
    assert exact(model, trace.for_target(Target(second)), measure="probability").full == pytest.approx(p[1], abs=1e-6)
    share = exact(model, trace.for_target(Target(second, third)), measure="probability").full
    assert share == pytest.approx(p[1] / (p[1] + p[2]), abs=1e-6)
    refused(InputError, r"no class 'joyful'; the classes are", trace.for_target, Target("joyful"))
    refused(InputError, "cannot be compared with itself", trace.for_target, Target(first, first))
    result, single = exact(model, model.trace("song " * 10)), exact(model, model.trace("song"))
    assert (result.passes, len(result.table), len(single.table), single.pairs()) == (11, 1024, 2, [])
    assert np.ptp(result.values) < 1e-5 and result.values.sum() == pytest.approx(result.full - result.empty, abs=1e-4)
    assert single.values == pytest.approx([single.full - single.empty])
    trace = model.trace("what a warm song we saw but a dull clever bad song follows")
    result = exact(model, trace)
    assert result.by == "phrases" and 2 <= len(result.players) <= MAX_PLAYERS
    assert [i for player in result.players for i in player.indices] == list(range(13))
    refused(InputError, r"has 13 words.*at most 12", exact, model, trace, by="words")


@settings(max_examples=25, deadline=None)
@given(TABLES)
def test_values_are_efficient_and_equal_means_over_orders(table: np.ndarray) -> None:
    n = len(table).bit_length() - 1
    values, pairs = shapley_by_orders(n, lambda some: float(table[sum(1 << i for i in some)]))
    np.testing.assert_allclose(shapley_values(table), values, atol=1e-9)
    np.testing.assert_allclose(interaction_index(table), pairs, atol=1e-9)
    assert shapley_values(table).sum() == pytest.approx(table[-1] - table[0], abs=1e-9)


def test_long_texts_and_black_boxes_have_bounded_work() -> None:
    model = small_model(max_length=512)
    trace = model.trace("what a warm song we saw . " * 72)
    assert len(spaced_words(trace)) == 504
    by, players = fitting(model, trace, most_players(len(trace.tokens)))
    assert by == "sentences" and len(players) <= 7 and all(player.text.endswith(".") for player in players)
    assert cost(trace) <= 49_152 and most_players(64) == 12 and most_players(10**6) == 2
    box = BlackBox.of(lambda texts: [[0.2, 0.8] if "song" in text else [0.7, 0.3] for text in texts], ["negative", "positive"])
    trace = box.trace("a warm song")
    result = exact(box, trace)
    assert result.values == pytest.approx([0, 0, np.log(4) + np.log(7 / 3)], abs=1e-5)
    refused(InputError, "black box, so absent words can only be deleted", exact, box, trace, absent="masked")
    refused(InputError, "Absent words are deleted, masked, padded, not 'gone'", exact, box, trace, absent="gone")
    refused(InputError, "its log-odds or its probability, not 'odds'", exact, box, trace, measure="odds")


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


def test_a_text_is_cut_at_its_marks(model: Model) -> None:
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
    refused(InputError, "cut by words, phrases, clauses, sentences, not by 'letters'", parts, model, trace, "letters")
    trace = model.trace("a b c d e f g")
    groups = joined(trace, spaced_words(trace), 3)
    assert [part.text for part in groups] == ["a b", "c d", "e f g"]
    assert [i for part in groups for i in part.indices] == list(range(7))


def additive(weights: list[float]) -> np.ndarray:
    return np.array([sum(weight for i, weight in enumerate(weights) if place >> i & 1) for place in range(1 << len(weights))])


RANDOM_TABLES = [np.random.default_rng(n).normal(size=1 << n) for n in (3, 4)] + [additive([1.0, -1.0, 0.5, 1.0])]


@pytest.mark.parametrize("table", RANDOM_TABLES, ids=["3", "4", "tie"])
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


SUBSETS = np.random.default_rng(5).normal(size=16)


def _value(present: set[int]) -> float:
    return float(SUBSETS[sum(1 << player for player in present)])


def test_curves_and_planted_interactions() -> None:
    for order in ((0, 1, 2, 3), (3, 1, 0, 2)):
        assert deletion(SUBSETS, np.array(order)) == pytest.approx([_value(set(order[k:])) for k in range(5)])
        assert insertion(SUBSETS, np.array(order)) == pytest.approx([_value(set(order[:k])) for k in range(5)])
    assert area(np.linspace(0.9, 0.1, 7)) == pytest.approx(0.5) and np.isnan(normalised_fall(np.full(8, 0.3), np.arange(3)))
    falls = [SUBSETS[15] - sum(_value(set(order[k:])) for k in range(1, 5)) / 4 for order in permutations(range(4))]
    assert limits(SUBSETS) == pytest.approx((min(falls), max(falls)))
    scaled = [normalised_fall(SUBSETS, np.array(order)) for order in permutations(range(4))]
    assert scaled == pytest.approx([(fall - min(falls)) / (max(falls) - min(falls)) for fall in falls])
    assert probabilities(np.array([-800.0, 0.0, 800.0])) == pytest.approx([0.0, 0.5, 1.0])
    assert probabilities(np.array([-30.0]))[0] == pytest.approx(np.exp(-30) / (1 + np.exp(-30)), rel=1e-12)
    model = planted_model(lambda there: 3 * there("not") * there("dull") - 2 * there("dull"))
    result = exact(model, model.trace("it is not dull").for_target(Target("positive")))
    assert result.pairs(1) == [(2, 3)] and result.interactions[2, 3] == pytest.approx(6, abs=1e-5)
    assert result.values == pytest.approx([0, 0, 3, -1], abs=1e-5)
    assert result.alone == pytest.approx([0, 0, 0, -4], abs=1e-5) and result.together(2, 3) == pytest.approx(2, abs=1e-5)
    assert result.left_out == pytest.approx([0, 0, 6, 2], abs=1e-5)
    rest = result.interactions.copy()
    rest[2, 3] = rest[3, 2] = 0
    assert np.abs(rest).max() < 1e-5
    flat, adding = planted_model(lambda there: 0 * there("song") + 1.0), planted_model(lambda there: 2 * there("warm") + there("song"))
    for of, text, start in (
        (flat, "a song", "The model gives the same prediction for every subset"),
        (model, "dull", "The text has only one word, which has the complete value."),
        (adding, "a warm song", "The effects nearly add up"),
    ):
        result = exact(of, of.trace(text))
        assert result.summary.startswith(start) and start in figure_of("exact", stub(once=lambda key, compute: result)).caption  # noqa: B023
