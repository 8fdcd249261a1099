"""One token's way from lexicon to attention: every number against loops over the definition and the model's own trace."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from sentviz.analysis.maps.injection import Entries, described, entries_of, neutral, reached, row
from sentviz.charts import Figure
from sentviz.data.lexicon import SIDES, Lexicon
from sentviz.data.tokenizers import Tokenizer
from sentviz.errors import InputError
from sentviz.runs.configs import EncoderConfig, HardmaxConfig
from sentviz.runs.presets import injections
from tests.charts import figure_of, stub
from tests.injected import TERMS, TEXT, random_model
from tests.kit import fake_trace

MIXED = {"components": 2, "mixing": "unit"}


def softmax(values: Any) -> Any:
    powers = np.exp(np.asarray(values, dtype=float) - np.max(values))
    return powers / powers.sum()


def sigma_by_hand(polarity: Any, i: int) -> list[float]:
    return [sum(float(polarity[i, side]) * float(polarity[j, side]) for side in range(3)) for j in range(len(polarity))]


@pytest.mark.exhaustive
@pytest.mark.parametrize("more", [{}, MIXED], ids=["one map", "two maps"])
@pytest.mark.parametrize("strength", [1.0, 0.0, 2.5, -0.5])
@pytest.mark.parametrize("injection", injections())
def test_every_number_of_a_row_follows_from_the_definition(injection: str, strength: float, more: dict[str, Any]) -> None:
    """Sigma, the injection, the scores and both attentions equal the definition, in heads with and without it, in both layers."""
    model = random_model(**injections()[injection], **more)
    whole = model.trace(TEXT, scores=True, strength=strength)
    plain = model.trace(TEXT, scores=True, strength=0)
    heads, size = model.config.heads, model.config.key_size
    for layer in range(2):
        for head in range(heads):
            token, component = 4, 1 if more else 0
            computed = row(model, whole, layer, head, token, component)
            similar = sigma_by_hand(whole.polarity, token)
            gets = strength if head == heads - 1 or not injection.startswith("last") else 0.0
            if injection == "xia":
                wanted = [gets * s + 1 - gets for s in similar]
                total = computed.plain * wanted
            else:
                wanted = [gets * s / (math.sqrt(size) if injection.endswith("scaled") else 1.0) for s in similar]
                total = computed.plain + wanted
                np.testing.assert_allclose(whole.biases["lexicon"][layer, component, head, token], wanted, atol=1e-6)
            np.testing.assert_allclose(computed.sigma, similar, atol=1e-6)
            np.testing.assert_allclose(computed.injected, wanted, atol=1e-6)
            np.testing.assert_allclose(computed.scores, total, atol=1e-5)
            np.testing.assert_allclose(computed.scores, whole.scores[layer, component, head, token], atol=1e-5)
            np.testing.assert_allclose(computed.after, softmax(computed.scores), atol=1e-6)
            np.testing.assert_allclose(computed.after, whole.components[layer, component, head, token], atol=1e-6)
            np.testing.assert_allclose(computed.before, plain.components[layer, component, head, token], atol=1e-6)
            if not layer:  # the same Q and K before and after
                np.testing.assert_allclose(computed.plain, plain.scores[layer, component, head, token], atol=1e-5)


def test_before_is_without_the_lexicon_alone() -> None:
    """Without the lexicon a model keeps its gates, also at a changed strength."""
    model = random_model(**next(iter(injections().values())), gate=True)
    for gate in (1.0, 2.5):
        computed = row(model, model.trace(TEXT, strength={"gate": gate}), 0, model.config.heads - 1, 4)
        plain, bare = (model.trace(TEXT, strength={"lexicon": 0, "gate": each}).components for each in (gate, 0.0))
        np.testing.assert_allclose(computed.before, plain[0, 0, -1, 4], atol=1e-6)
        assert np.abs(computed.before - bare[0, 0, -1, 4]).max() > 1e-3


@pytest.mark.parametrize("injection", injections())
@pytest.mark.exhaustive
def test_a_neutral_row_cannot_move_in_layer_1_unless_it_is_multiplied(injection: str) -> None:
    """Softmax cancels equal biases of [CLS] in layer 1, but not a factor; in layer 2 the states have changed."""
    model = random_model(**injections()[injection])
    trace = model.trace(TEXT, strength=3)
    last = model.config.heads - 1
    first, second = (row(model, trace, layer, last, 0) for layer in (0, 1))
    moved = np.abs(first.after - first.before).max()
    assert neutral(trace.polarity)[0] and np.ptp(first.injected) < 1e-6
    assert moved > 1e-4 if injection == "xia" else moved < 1e-6
    assert np.abs(second.after - second.before).max() > 1e-6


def test_a_row_needs_a_lexicon_and_a_place_that_is_there() -> None:
    model = random_model()
    trace = model.trace(TEXT)
    with pytest.raises(InputError, match="no lexicon"):
        row(model, trace.replace(polarity=None), 0, 0, 0)
    for place in ((9, 0, 0), (0, 9, 0), (0, 0, 99)):
        with pytest.raises(InputError, match="There is no"):
            row(model, trace, *place)


def test_a_silenced_head_still_has_its_row() -> None:
    """A silenced head's row can be shown, and other silenced heads stay silenced."""
    model = random_model()
    np.testing.assert_allclose(
        row(model, model.trace(TEXT, heads_off=[(1, 1)]), 1, 1, 3).after, row(model, model.trace(TEXT), 1, 1, 3).after, atol=1e-6
    )
    silenced, whole = (row(model, model.trace(TEXT, heads_off=off), 1, 1, 3).after for off in ([(0, 0)], []))
    assert np.abs(silenced - whole).max() > 1e-4


def test_which_heads_and_how_in_words() -> None:
    base = EncoderConfig(9, 2, width=64, heads=4, lexicon="add")
    assert reached(base) == (0, 1, 2, 3)
    assert reached(replace(base, lexicon_heads="last")) == (3,)
    assert reached(replace(base, lexicon="none")) == reached(HardmaxConfig(9)) == ()
    assert described(base) == "adds σ to the scores of all heads of every layer"
    scaled = replace(base, lexicon_heads="last", lexicon_scaled=True)
    assert described(scaled) == "adds σ / √16 to the scores of the last head of every layer"
    assert described(replace(base, lexicon="multiply")) == "multiplies the scores of all heads of every layer by σ"


def test_entries_come_to_the_table_of_the_model() -> None:
    """The walk lists the expected terms of every vocabulary entry, with the lambda of `Lexicon.polarity`; an entry without a term is
    neutral.
    """
    lexicon = Lexicon.of("own", pd.DataFrame({"term": list(TERMS), "polarity": list(TERMS.values())}))
    tokenizer = Tokenizer.train_words([*TERMS, "a warm garden"], 1)
    table = lexicon.polarity(tokenizer)
    for token in range(4, tokenizer.vocab_size):
        entries = entries_of(lexicon, tokenizer, token)
        wanted = [term for term in TERMS if tokenizer.token_of(token) in term.split()]
        assert sorted(entries.frame["term"]) == sorted(wanted)
        np.testing.assert_allclose(entries.polarity, table[token], atol=1e-6)
        assert bool(wanted) == bool(entries.sums.any())
    warm = entries_of(lexicon, tokenizer, tokenizer.id_of("warm"))
    np.testing.assert_allclose(warm.sums, [1 + 3 / 3 + 1 + 2 / 3, 0, 0])
    np.testing.assert_allclose(warm.polarity, [(11 / 3 + 1) / (11 / 3 + 3), 1 / (11 / 3 + 3), 1 / (11 / 3 + 3)])


# ---- figures


def test_the_strip_has_three_shares_of_every_token() -> None:
    """The frame has the numbers, the stacked bars add up to the token's width, neutral tokens have none, and the chosen one is marked."""
    trace = random_model().trace(TEXT)
    figure = figure_of("polarity", stub(trace=trace), token=5)
    np.testing.assert_allclose(figure.frame[list(SIDES)], trace.polarity, atol=1e-7)
    boxes, *bars = figure.plot.data
    flat = np.isclose(trace.polarity, 1 / 3, atol=1e-3).all(axis=1)
    assert 0 < flat.sum() < len(flat)
    lengths = sum(np.array(bar.x) for bar in bars)
    np.testing.assert_allclose(lengths, np.where(flat, 0, np.array(boxes.x) - 0.6), atol=1e-5)
    np.testing.assert_allclose(np.array(bars[2].x)[~flat] / lengths[~flat], trace.polarity[~flat, 2], atol=1e-5)
    assert [i for i, width in enumerate(boxes.marker.line.width) if width] == [5]
    known = int((~flat & ~trace.specials).sum())
    assert f"{known} of {int((~trace.specials).sum())} tokens" in figure.caption
    with pytest.raises(InputError, match="no lexicon"):
        figure_of("polarity", stub(trace=fake_trace(), fresh=fake_trace()))


def test_sigma_as_a_map_is_every_product() -> None:
    trace = random_model().trace(TEXT)
    frame = figure_of("sigma", stub(trace=trace)).frame
    assert len(frame) == len(trace.tokens) ** 2
    for cell in frame.itertuples():
        assert cell.sigma == pytest.approx(sigma_by_hand(trace.polarity, cell.query)[cell.key], abs=1e-6)


def bars_of(figure: Figure) -> list[list[tuple[float, str]]]:
    """Return value and text of each bar from top to bottom, for each panel from left to right."""
    by_panel: dict[str, list[tuple[float, float, str]]] = {}
    for trace in (trace for trace in figure.plot.data if trace.type == "bar"):
        by_panel.setdefault(trace.xaxis, []).extend(zip(trace.y, trace.x, trace.text, strict=True))
    return [[(value, text) for _, value, text in sorted(bars)] for bars in by_panel.values()]


@pytest.mark.parametrize("name", ["lexicon-scores", "lexicon-attention"])
def test_a_long_row_shows_the_strongest_keys_and_the_rest_together(name: str) -> None:
    """The frame has all keys; the figure has those with most attention, the token itself, and one row for the others."""
    model = random_model()
    trace = model.trace(f"{TEXT} {TEXT} the end")
    computed = row(model, trace, 0, 1, 6)
    figure = figure_of(name, stub(trace=trace, once=lambda key, compute: computed), head=1, token=6)
    frame = figure.frame
    assert len(frame) == len(computed.tokens) > 20
    visible = frame[frame["shown"]]
    assert 6 in set(visible["key"]) and 14 <= len(visible) <= 15
    most = np.maximum(frame["before"], frame["after"])
    assert most[~frame["shown"]].max() <= most[frame["shown"] & (frame["key"] != 6)].min()
    rest = frame[~frame["shown"]]
    scores = name == "lexicon-scores"
    columns = ("sigma", "plain", "injected", "scores") if scores else ("before", "after", "change")
    for column, bars in zip(columns, bars_of(figure), strict=True):
        last = rest[column].mean() if scores else rest[column].sum()
        np.testing.assert_allclose([value for value, _ in bars], [*visible[column], last], atol=1e-9)
    np.testing.assert_allclose(frame["change"], frame["after"] - frame["before"])


def shares_of(shares: npt.ArrayLike, token: str, entries: Entries | None = None) -> Figure:
    """Return the figure of the three shares of one token."""
    trace = stub(polarity=np.array([shares]), tokens=[token], specials=np.array([False]))
    return figure_of("polarity-of-token", stub(trace=trace, once=lambda key, compute: entries), token=0)


def test_three_bars_with_their_arithmetic() -> None:
    """The bars are the model's numbers, with their computation in words, and both values if they differ."""
    lexicon = Lexicon.of("own", pd.DataFrame({"term": ["fine", "fine day"], "polarity": [2.0, -1.0]}))
    tokenizer = Tokenizer.train_words(["fine day"], 1)
    entries = entries_of(lexicon, tokenizer, tokenizer.id_of("fine"))
    figure = shares_of(entries.polarity, "<b>fine", entries)  # sums 2, 0 and 1.5
    (bars,) = bars_of(figure)
    assert [text for _, text in bars] == ["(2.00 + 1) / 6.50 = 0.462", "(0.00 + 1) / 6.50 = 0.154", "(1.50 + 1) / 6.50 = 0.385"]
    assert "2 entries" in figure.caption and "rounded" not in figure.caption and "<b>" not in figure.plot.layout.title.text
    np.testing.assert_allclose(figure.frame["share"], [3 / 6.5, 1 / 6.5, 2.5 / 6.5])
    assert "the error here is 0.003" in shares_of(entries.polarity + np.array([0.003, -0.003, 0]), "fine", entries).caption
    assert [text for _, text in bars_of(shares_of([1 / 3] * 3, "[CLS]"))[0]] == ["0.333"] * 3
