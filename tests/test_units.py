"""Units of a text: effects of spans against asking about each text, the cut against every cut, planted models."""

from __future__ import annotations

import numpy as np
import pytest

from sentviz.analysis.explain import explained, log_odds, score
from sentviz.analysis.explain.word_groups import cut, find_units, spaced_words
from sentviz.charts.strip import strip
from sentviz.data.tokenizers import Tokenizer
from sentviz.models.model import Model
from tests.kit import planted_model, small_model, toy_splits
from tests.slow import best_cut

TEXT = "what a warm, clever song we saw"
WORDS = ["what", "a", "warm", ",", "clever", "song", "we", "saw"]


def test_a_span_is_left_out_by_asking_about_the_text_without_it(model: Model) -> None:
    """Every span of one to four words without a mark inside equals one plain prediction; effects of words do not just add up."""
    change = {"lambdas": [[1, -2], [1, 0.5]]}
    trace = model.trace(TEXT, **change)  # type: ignore[arg-type]
    units, k = find_units(model, trace), int(trace.probabilities.argmax())
    spans = [(i, j) for i in range(8) for j in range(i + 1, min(i + 4, 8) + 1)]
    wanted = [(i, j) for i, j in spans if j == i + 1 or "," not in WORDS[i:j]]
    assert sorted(units.falls) == wanted
    for start, stop in wanted:
        rest = model.trace(" ".join(WORDS[:start] + WORDS[stop:]), **change)  # type: ignore[arg-type]
        want = log_odds(trace.logits, k) - log_odds(rest.logits, k)
        assert units.falls[start, stop] == pytest.approx(float(want), abs=2e-5)
    again = find_units(model, explained(model, trace, ["removal"]))
    assert again.falls == pytest.approx(units.falls, abs=1e-5) and again.spans == units.spans
    interactions = [units.falls[i, j] - sum(units.falls[x, x + 1] for x in range(i, j)) for i, j in wanted]
    assert max(map(abs, interactions)) > 0.01


def test_the_cut_is_the_best_of_all_cuts() -> None:
    """The cut is the best of all cuts of seven words with random effects; without interactions every word is alone."""
    rng, sizes = np.random.default_rng(0), set()
    for _ in range(40):
        falls = {(i, j): float(rng.normal() * 2) for i in range(7) for j in range(i + 1, min(i + 4, 7) + 1)}
        for span in rng.permutation([span for span in falls if span[1] - span[0] > 1])[:6].tolist():
            del falls[tuple(span)]
        spans = cut(7, falls, 1.0)
        assert list(spans) in best_cut(7, falls, 1.0)[1]
        sizes |= {stop - start for start, stop in spans}
        plain = {(i, j): sum(falls[x, x + 1] for x in range(i, j)) for i, j in falls}
        assert cut(7, plain, 1.0) == tuple((i, i + 1) for i in range(7))
    assert sizes == {1, 2, 3, 4}


def test_a_pair_that_is_read_together_is_a_unit() -> None:
    """The pair "not dull" is a unit if it is planted as good, "not" as neutral and "dull" as bad; additive effects make no unit."""
    model = planted_model(lambda there: 4 * there("not") * there("dull") - 2 * there("dull") + 0.5)
    trace = explained(model, model.trace("it is not dull a song"), ["removal", "units"])
    drawn, values = strip(trace, "units").frame, dict(zip(trace.tokens, score(trace, "units"), strict=True))
    assert trace.label == "positive" and drawn["token"].tolist() == ["it", "is", "not dull", "a", "song"]
    assert values["not"] == values["dull"] == pytest.approx(4, abs=1e-5)  # log-odds are twice the value: 2 x 2.5 - 2 x 0.5
    assert values["song"] == pytest.approx(0, abs=1e-5) and score(trace, "removal")[3] == pytest.approx(4, abs=1e-5)
    assert drawn["unit removal"].tolist()[2] == values["dull"]
    adding = planted_model(lambda there: 2 * there("warm") + there("not") + there("song"))
    assert len(find_units(adding, adding.trace("it is not a warm song")).spans) == 6


def test_words_are_those_between_spaces() -> None:
    """An apostrophe or hyphen does not split a word, marks in a row are one word, and texts of a pair stay separate."""
    model = small_model(tokenizer=Tokenizer.train_bpe(toy_splits()["train"].frame["text"], 275), max_length=64, cls=True, segments=2)
    trace = model.trace("I don't like it... well-made, but cold!", "cold :)")
    words = spaced_words(trace)
    want = ["I", "don't", "like", "it", "...", "well-made", ",", "but", "cold", "!", "cold", ":)"]
    assert [word.text for word in words] == want
    assert sorted(i for word in words for i in word.indices) == np.flatnonzero(~trace.specials).tolist()
    falls = find_units(model, trace).falls
    assert (8, 10) not in falls and (8, 11) not in falls and (7, 9) in falls and (10, 12) not in falls
    units = explained(model, trace, ["removal", "units"])
    assert not score(units, "units")[trace.specials].any()
    assert strip(units, "units").frame["special"].sum() == trace.specials.sum()


def test_a_long_text_is_asked_within_its_budget(model: Model) -> None:
    """Only as many longer spans as the budget allows are tried, around the strongest words; single words are always tried."""
    trace = model.trace("warm song we saw cold soup the dull garden")
    whole, some = find_units(model, trace), find_units(model, trace, passes=5)
    single = [span for span in some.falls if span[1] - span[0] == 1]
    assert len(some.falls) == 9 + 5 and len(single) == 9 and set(some.falls) < set(whole.falls)
    strongest = max(single, key=lambda span: abs(some.falls[span]))
    assert all(start <= strongest[0] < stop for start, stop in set(some.falls) - set(single))
    assert find_units(model, model.trace("warm")).falls == {(0, 1): 0.0}
    assert set(find_units(model, model.trace("warm song")).falls) == {(0, 1), (1, 2)}
