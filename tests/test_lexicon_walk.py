"""One token's way from lexicon to attention: every number against loops over the definition and the model's own trace."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sentviz.analysis.maps.injection import described, entries_of, reached, row
from sentviz.charts import Figure
from sentviz.data.lexicon import Lexicon
from sentviz.data.tokenizers import Tokenizer
from sentviz.errors import InputError
from sentviz.runs.configs import EncoderConfig, HardmaxConfig
from sentviz.runs.presets import injections
from tests.charts import figure_of, stub
from tests.injected import TERMS, TEXT, random_model

MIXED = {"components": 2, "mixing": "unit"}


def softmax(values: Any) -> Any:
    powers = np.exp(np.asarray(values, dtype=float) - np.max(values))
    return powers / powers.sum()


def sigma_by_hand(polarity: Any, i: int) -> list[float]:
    return [sum(float(polarity[i, side]) * float(polarity[j, side]) for side in range(3)) for j in range(len(polarity))]


@pytest.mark.parametrize(("strength", "more"), [(2.5, {}), (-0.5, MIXED)], ids=["one map", "two maps"])
@pytest.mark.parametrize("injection", injections())
def test_every_number_of_a_row_follows_from_the_definition(injection: str, strength: float, more: dict[str, Any]) -> None:
    """Sigma, the injection, the scores and both attentions equal the definition, in heads with and without it, in both layers."""
    model = random_model(**injections()[injection], **more)
    whole, plain = (model.trace(TEXT, scores=True, strength=each) for each in (strength, 0))
    heads, size, token, component = model.config.heads, model.config.key_size, 4, 1 if more else 0
    similar = sigma_by_hand(whole.polarity, token)
    for layer in range(2):
        for head in range(heads):
            computed = row(model, whole, layer, head, token, component)
            gets = strength if head == heads - 1 or not injection.startswith("last") else 0.0
            if injection == "xia":
                wanted = [gets * s + 1 - gets for s in similar]
                total = computed.plain * wanted
            else:
                wanted = [gets * s / (math.sqrt(size) if injection.endswith("scaled") else 1.0) for s in similar]
                total = computed.plain + wanted
                np.testing.assert_allclose(whole.biases["lexicon"][layer, component, head, token], wanted, atol=1e-6)
            for got, want in (
                (computed.sigma, similar),
                (computed.injected, wanted),
                (computed.scores, total),
                (computed.scores, whole.scores[layer, component, head, token]),
                (computed.after, softmax(computed.scores)),
                (computed.after, whole.components[layer, component, head, token]),
                (computed.before, plain.components[layer, component, head, token]),
            ):
                np.testing.assert_allclose(got, want, atol=1e-5)
            if not layer:  # the same Q and K before and after
                np.testing.assert_allclose(computed.plain, plain.scores[layer, component, head, token], atol=1e-5)


def test_a_row_needs_a_lexicon_and_a_place_that_is_there() -> None:
    model = random_model()
    trace = model.trace(TEXT)
    with pytest.raises(InputError, match="no lexicon"):
        row(model, trace.replace(polarity=None), 0, 0, 0)
    for place in ((9, 0, 0), (0, 9, 0), (0, 0, 99)):
        with pytest.raises(InputError, match="There is no"):
            row(model, trace, *place)


def test_which_heads_and_how_in_words() -> None:
    base = EncoderConfig(9, 2, width=64, heads=4, lexicon="add")
    last = replace(base, lexicon_heads="last")
    assert [reached(config) for config in (base, last, replace(base, lexicon="none"), HardmaxConfig(9))] == [(0, 1, 2, 3), (3,), (), ()]
    assert [described(config) for config in (base, replace(last, lexicon_scaled=True), replace(base, lexicon="multiply"))] == [
        "adds σ to the scores of all heads of every layer",
        "adds σ / √16 to the scores of the last head of every layer",
        "multiplies the scores of all heads of every layer by σ",
    ]


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


def bars_of(figure: Figure) -> list[list[tuple[float, str]]]:
    """Return value and text of each bar from top to bottom, for each panel from left to right."""
    by_panel: dict[str, list[tuple[float, float, str]]] = {}
    for trace in (trace for trace in figure.plot.data if trace.type == "bar"):
        by_panel.setdefault(trace.xaxis, []).extend(zip(trace.y, trace.x, trace.text, strict=True))
    return [[(value, text) for _, value, text in sorted(bars)] for bars in by_panel.values()]


@pytest.mark.parametrize("name", ["lexicon-scores", "lexicon-attention"])
def test_a_long_row_shows_the_strongest_keys_and_the_rest_together(name: str) -> None:
    """The frame has all keys; the figure has those with most attention, the token itself, and one row for the others."""
    model, scores = random_model(), name == "lexicon-scores"
    trace = model.trace(f"{TEXT} {TEXT} the end")
    computed = row(model, trace, 0, 1, 6)
    figure = figure_of(name, stub(trace=trace, once=lambda key, compute: computed), head=1, token=6)
    frame = figure.frame
    visible, rest = frame[frame["shown"]], frame[~frame["shown"]]
    assert len(frame) == len(computed.tokens) > 20 and 6 in set(visible["key"]) and 14 <= len(visible) <= 15
    most = np.maximum(frame["before"], frame["after"])
    assert most[~frame["shown"]].max() <= most[frame["shown"] & (frame["key"] != 6)].min()
    columns = ("sigma", "plain", "injected", "scores") if scores else ("before", "after", "change")
    for column, bars in zip(columns, bars_of(figure), strict=True):
        last = rest[column].mean() if scores else rest[column].sum()
        np.testing.assert_allclose([value for value, _ in bars], [*visible[column], last], atol=1e-9)
    np.testing.assert_allclose(frame["change"], frame["after"] - frame["before"])
