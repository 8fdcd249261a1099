"""Specialisation of components against loops over maps, and BertViz's neuron view, which gives the attention of the trace."""

from __future__ import annotations

import math
import re
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.spatial.distance import cosine as cosine_distance
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy

from sentviz.analysis.maps import specialise
from sentviz.analysis.maps.specialise import over_split, untrained, verdict
from sentviz.analysis.maps.wordclasses import CLASSES, WordClasses, own_lists, word_classes
from sentviz.browser.bertviz import bertviz_height, bertviz_html
from sentviz.browser.neuron import why_no_vectors
from sentviz.data import datasets
from sentviz.data.tokenizers import Tokenizer
from sentviz.errors import DataMissingError, InputError
from sentviz.models.model import Model
from tests.kit import HOSTILE, bertviz_data, fake_trace, random_model, refused, small_model, toy_splits, words_above

TEXTS = toy_splits()["test"].frame["text"].tolist()
HAND = WordClasses(
    {
        "positive words": frozenset({"warm", "clever"}),
        "negative words": frozenset({"dull", "cold"}),
        "negators": frozenset({"not"}),
        "intensifiers": frozenset({"very"}),
        "function words": frozenset({"a", "the", "we"}),
    },
    "by hand",
)
TEXT = "what a warm clever song we saw but dull"
FAMILIES: dict[str, dict[str, Any]] = {
    "several components": {"components": 3, "mixing": "free"},
    "RoPE and QK-norm": {"positions": "rotary", "qk_norm": True},
    "one component": {},
}


@pytest.fixture(scope="module")
def model() -> Model:
    return small_model(components=3, mixing="free")


@pytest.fixture(scope="module")
def frame(model: Model) -> pd.DataFrame:
    return over_split(model, TEXTS, HAND, sample=4, seed=3, inits=2)


def cell(frame: pd.DataFrame, measure: str, layer: int, component: int, second: int = -1, word_class: str = "") -> pd.Series[Any]:
    rows = frame.query("measure == @measure and layer == @layer and component == @component and other == @second")
    (row,) = rows[rows["word_class"] == word_class].to_dict("records")
    return pd.Series(row)


def by_loops(model: Model, texts: list[str], first: int, second: int, layer: int) -> tuple[float, float]:
    """Return cosine and divergence of two components head by head, or of the different heads of one, row by row."""
    cosines, divergences = [], []
    for text in texts:
        maps = model.trace(text).components
        assert maps is not None
        pairs = [(h, h) for h in range(2)] if first != second else [(0, 1)]
        rows = [(maps[layer, first, g, i], maps[layer, second, h, i]) for g, h in pairs for i in range(maps.shape[-1])]
        cosines.append(np.mean([1 - cosine_distance(a, b) for a, b in rows]))
        divergences.append(np.mean([jensenshannon(a, b, base=2) ** 2 for a, b in rows]))
    return float(np.mean(cosines)), float(np.mean(divergences))


def sampled(model: Model, size: int, seed: int) -> list[str]:
    """Return the measured sentences: long enough, in a seeded order."""
    order = np.random.default_rng(seed).permutation(len(TEXTS))
    return [TEXTS[i] for i in order if len(model.encode(TEXTS[i])) >= specialise.LEAST_TOKENS][:size]


def test_likeness_entropy_and_attention_are_those_by_hand(model: Model, frame: pd.DataFrame) -> None:
    texts = sampled(model, 4, 3)
    for layer in range(2):
        for first, second in [(0, 1), (1, 2), (2, 2)]:
            want = by_loops(model, texts, first, second, layer)
            for measure, value in zip(("cosine", "jensen_shannon"), want, strict=True):
                row = cell(frame, measure, layer, first, second)
                assert row["value"] == pytest.approx(value, abs=2e-5)
                assert row["low"] <= row["value"] <= row["high"] and row["n"] == 4
    for layer in range(2):
        for component in range(3):
            shares: dict[str, list[float]] = {name: [] for name in CLASSES}
            entropy_of = []
            for text in texts:
                trace = model.trace(text)
                assert trace.components is not None
                maps, n = trace.components[layer, component].astype(float), len(trace.tokens)
                entropy_of.append(np.mean([entropy(maps[h, i]) / np.log(n) for h in range(2) for i in range(n)]))
                for name, members in HAND.words.items():
                    places = [j for j, token in enumerate(trace.tokens) if token.lower() in members]
                    if places:
                        received = sum(maps[h, i, j] for h in range(2) for i in range(n) for j in places) / (2 * n)
                        shares[name].append(received / (len(places) / n))
            assert cell(frame, "entropy", layer, component)["value"] == pytest.approx(np.mean(entropy_of), abs=2e-5)
            for name in ("positive words", "negative words", "function words"):
                row = cell(frame, "attention", layer, component, word_class=name)
                assert row["value"] == pytest.approx(np.mean(shares[name]), abs=2e-5) and row["n"] == len(shares[name])
    assert not frame["word_class"].isin(["negators", "intensifiers"]).any()  # no sentence has one
    model = small_model(components=2, mixing="free", cls=True)
    table = over_split(model, TEXTS, HAND, sample=1, seed=0, inits=0)
    (text,) = [t for t in (TEXTS[i] for i in np.random.default_rng(0).permutation(len(TEXTS))) if len(model.encode(t)) >= 7][:1]
    maps = model.trace(text).components
    assert maps is not None
    inner = maps[1, 0, :, 1:-1, 1:-1].astype(float)
    inner /= inner.sum(axis=-1, keepdims=True)
    want = np.mean([entropy(row) for head in inner for row in head]) / np.log(inner.shape[-1])
    assert cell(table, "entropy", 1, 0)["value"] == pytest.approx(want, abs=2e-5)


def test_the_untrained_are_seeded_and_leave_the_random_state_alone(model: Model, frame: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(*(over_split(model, TEXTS, HAND, sample=1, inits=0, **seed) for seed in ({}, {"seed": 0})))
    torch.manual_seed(9)
    before = torch.get_rng_state()
    alone = [over_split(untrained(model, 3 + k), TEXTS, HAND, sample=4, seed=3, inits=0) for k in range(2)]
    assert torch.equal(before, torch.get_rng_state())
    values = np.array([table["value"] for table in alone])
    for column, want in (("untrained", values.mean(0)), ("untrained_low", values.min(0)), ("untrained_high", values.max(0))):
        assert frame[column].to_numpy() == pytest.approx(want, abs=2e-5)
    row, at = cell(frame, "entropy", 0, -1), frame.index[(frame["measure"] == "entropy") & (frame["component"] == -1)][0]
    assert row["p_untrained"] == pytest.approx((1 + (values[:, at] >= row["value"]).sum()) / 3)
    first = frame.index[frame["measure"] == "cosine"][0]
    assert frame["p_untrained"][first] == pytest.approx((1 + (values[:, first] <= frame["value"][first]).sum()) / 3)


def planted(gap: float, per_head: bool = False, components: int = 2, heads: int = 4, n: int = 60) -> Any:
    """Return measurements of n sentences in which the entropy of the first component, or of its first head, is higher by `gap`."""
    rng = np.random.default_rng(1)
    habits = 0.5 + 0.02 * rng.standard_normal((n, 6, 1, components, heads))
    if per_head:
        habits[:, 0, :, 0, 0] += gap * heads
    else:
        habits[:, 0, :, 0] += gap
    return specialise._Measured(np.full((n, 2, 1, components, components), 0.5), habits)


def test_planted_components_are_found_and_one_odd_head_is_none() -> None:
    table = specialise._table(planted(0.1), [], 0)
    cells = table[table["component"] == -1].set_index("word_class")
    assert cells.loc["", "value"] == pytest.approx(0.1, abs=0.02)
    assert cells.loc["", "p_holm"] == pytest.approx(6 / 2001) and cells.loc["", "p_dealt"] < 0.05
    assert cells.loc["", "shuffled_high"] < 0.03 < cells.loc["", "low"] and (cells.loc[list(CLASSES), "p_holm"] > 0.05).all()
    assert (cells["p_holm"] >= cells["p"]).all()
    assert "in 1 of 6 habits (layer 1: entropy)" in verdict(table.assign(inits=0, seed=0))[0]
    table = specialise._table(planted(0.1, per_head=True), [], 0)
    odd = cell(table, "entropy", 0, -1)
    assert odd["value"] == pytest.approx(0.1, abs=0.02) and odd["p_holm"] < 0.05 < 0.5 < odd["p_dealt"]
    assert "in 0 of 6 habits." in verdict(table.assign(inits=0, seed=0))[0]
    refused(InputError, r"incomplete. `sentviz specialise` measures it again", verdict, table[table["component"] != -1])
    measured = planted(0.004, n=5, heads=2)
    table = specialise._table(measured, [], 0)
    values = measured.habits[:, 0, 0]  # sentence, component, head
    labels = values.mean(axis=-1)
    observed = abs(labels[:, 0].mean() - labels[:, 1].mean())
    signs = np.array(np.meshgrid(*[[1, -1]] * 5)).reshape(5, -1)
    every = abs((labels[:, 0] - labels[:, 1]) @ signs) / 5
    heads = values.mean(axis=0).ravel()
    deals = [abs(heads[list(order[:2])].mean() - heads[list(order[2:])].mean()) for order in permutations(range(4))]
    row = cell(table, "entropy", 0, -1)
    assert row["p"] == pytest.approx(np.mean(every >= observed - 1e-12), abs=0.04)
    assert row["p_dealt"] == pytest.approx(np.mean(np.array(deals) >= observed - 1e-12), abs=0.04)


def test_the_words_of_a_class_and_what_cannot_be_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    lists = own_lists()
    assert set(lists) == set(CLASSES[2:]) and sum(map(len, lists.values())) == len(frozenset().union(*lists.values()))
    assert {"not", "n", "t"} <= lists["negators"] and "very" in lists["intensifiers"] and "the" in lists["function words"]
    tokenizer = Tokenizer.train_words(["not a warm song"] * 5, 5)
    members = HAND.members("Not a WARM clever song", tokenizer.encode("Not a WARM clever song", cls=True))
    where = {name: np.flatnonzero(row).tolist() for name, row in zip(HAND.words, members, strict=True)}
    assert where == {"positive words": [3], "negative words": [], "negators": [1], "intensifiers": [], "function words": [2]}
    terms = pd.DataFrame({"term": ["Bright", "dim", "very", "so-so"], "polarity": [2.0, -1.5, 1.0, 0.0]})
    monkeypatch.setattr(datasets, "part_file", lambda name, part: Path("here") if name == "lexicon_en_opinion" else None)
    monkeypatch.setattr(datasets, "load_file", lambda name, part: terms)
    classes = word_classes()
    assert classes.lexicon == "lexicon_en_opinion"
    assert classes.words["positive words"] == {"bright"} and classes.words["negative words"] == {"dim"}
    monkeypatch.setattr(datasets, "part_file", lambda name, part: None)
    refused(DataMissingError, "neither lexicon_en_vader nor lexicon_en_opinion", word_classes)
    with pytest.raises(InputError, match="one attention map per head"):
        over_split(small_model(), TEXTS, HAND)
    with pytest.raises(InputError, match="None of the texts has 5 tokens"):
        over_split(small_model(components=2, mixing="free"), ["a song", "dull"], HAND)


def slow(queries: list[list[float]], keys: list[list[float]]) -> list[list[float]]:
    """Return softmax(q . k / sqrt(d)) with loops over single numbers."""
    rows = []
    for query in queries:
        scores = [sum(a * b for a, b in zip(query, key, strict=True)) / math.sqrt(len(query)) for key in keys]
        powers = [math.exp(score - max(scores)) for score in scores]
        rows.append([power / sum(powers) for power in powers])
    return rows


@pytest.mark.parametrize("shape", FAMILIES.values(), ids=FAMILIES)
def test_queries_and_keys_give_the_attention(shape: dict[str, Any]) -> None:
    family = small_model(layers=2, **shape)
    trace, stored = family.trace(TEXT, projections=True, maps=False), family.trace(TEXT)
    assert stored.components is not None
    for component in trace.component_ids:
        page = bertviz_html(trace, "neuron", component)
        part = bertviz_data(page)["attention"][0]
        for layer, head in np.ndindex(len(trace.layer_ids), len(trace.head_ids)):
            softmax = slow(part["queries"][layer][head], part["keys"][layer][head])
            np.testing.assert_allclose(softmax, stored.components[layer, component, head], atol=1e-3)
            np.testing.assert_allclose(part["attn"][layer][head], stored.components[layer, component, head], atol=1e-4)
        assert part["left_text"] == part["right_text"] == list(trace.tokens)
        assert "q · k / √" in words_above(page) and "Not in q · k" not in words_above(page)
        assert ("rotated" in words_above(page)) == ("learned temperature" in words_above(page)) == trace.terms[0].cosine  # type: ignore[attr-defined]
    trace = family.trace(TEXT, projections=True)
    data = bertviz_data(bertviz_html(trace, "neuron", 0, layers=[1], heads=[1]))
    whole = bertviz_data(bertviz_html(trace, "neuron", 0))
    assert (data["include_layers"], data["include_heads"], data["layer"]) == ([2], [2], 0)
    assert data["attention"][0]["queries"][0][0] == whole["attention"][0]["queries"][1][1]


def test_what_the_product_lacks_and_what_has_no_neuron_view() -> None:
    for changes, named in [({"gate": True}, "the gate."), ({"gate": True, "window": 2}, "the gate and the window of 2 tokens.")]:
        trace = small_model(**changes).trace(TEXT, projections=True)
        page = bertviz_html(trace, "neuron")
        assert f"Not in q · k: {named}" in words_above(page)
        np.testing.assert_allclose(bertviz_data(page)["attention"][0]["attn"], trace.stack(0), atol=1e-4)
    mixed = small_model(components=2, mixing="free").trace(TEXT, projections=True)
    refused(InputError, "choose one of the 2 components", bertviz_html, mixed, "neuron")
    hardmax = random_model(3)
    assert not hardmax.capabilities.softmax
    cases = ((fake_trace(5, components=1), "has none"), (hardmax.trace("a warm song", projections=True), "not the softmax"))
    for trace, why in cases:
        assert why in why_no_vectors(trace)
        refused(InputError, why, bertviz_html, trace, "neuron")
    trace = small_model(max_length=400).trace("song " * 160, projections=True)
    refused(InputError, r"neuron view of 160 tokens.*choose fewer tokens, layers or heads", bertviz_html, trace, "neuron")
    assert bertviz_height(trace, "neuron", 2, 4) > 160 * 26
    trace = small_model().trace("song " * len(HOSTILE), projections=True)
    pages = [bertviz_html(trace.replace(tokens=tuple(tokens)), "neuron") for tokens in (HOSTILE, ["fine"] * len(HOSTILE))]
    strip = re.compile(r'(?<=id="maps">).*?(?=</script>)', re.DOTALL)
    for mark in ("<script", "</script", "<img", "<!--", "onerror"):
        assert strip.sub("", pages[0]).count(mark) == strip.sub("", pages[1]).count(mark), mark
    assert bertviz_data(pages[0])["attention"][0]["left_text"][1].startswith("<img")
