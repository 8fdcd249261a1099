"""BertViz's neuron view: its queries and keys give the attention of the trace, its limits, and what it cannot show."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

from sentviz.browser.bertviz import bertviz_height, bertviz_html
from sentviz.browser.neuron import why_no_vectors
from sentviz.errors import InputError
from sentviz.models.model import Model
from tests.kit import fake_trace, random_model, small_model
from tests.test_bertviz import HOSTILE, bertviz_data, note

TEXT = "what a warm clever song we saw but dull"
FAMILIES: dict[str, dict[str, Any]] = {
    "several components": {"components": 3, "mixing": "free"},
    "RoPE and QK-norm": {"positions": "rotary", "qk_norm": True},
    "one component": {},
}


def slow(queries: list[list[float]], keys: list[list[float]]) -> list[list[float]]:
    """Return softmax(q . k / sqrt(d)) with loops over single numbers."""
    rows = []
    for query in queries:
        scores = [sum(a * b for a, b in zip(query, key, strict=True)) / math.sqrt(len(query)) for key in keys]
        powers = [math.exp(score - max(scores)) for score in scores]
        rows.append([power / sum(powers) for power in powers])
    return rows


@pytest.fixture(params=FAMILIES)
def family(request: pytest.FixtureRequest) -> Model:
    return small_model(layers=2, **FAMILIES[request.param])


def test_queries_and_keys_give_the_attention(family: Model) -> None:
    """The softmax of the page's queries and keys is the page's map and the trace's, for every layer, head and component."""
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
        assert "q · k / √" in note(page) and "Not in q · k" not in note(page)
        assert ("rotated" in note(page)) == ("learned temperature" in note(page)) == trace.terms[0].cosine  # type: ignore[attr-defined]


def test_one_layer_and_head(family: Model) -> None:
    """A chosen layer and head are those of the page, with their own numbers counted from 1."""
    trace = family.trace(TEXT, projections=True)
    data = bertviz_data(bertviz_html(trace, "neuron", 0, layers=[1], heads=[1]))
    whole = bertviz_data(bertviz_html(trace, "neuron", 0))
    assert (data["include_layers"], data["include_heads"], data["layer"]) == ([2], [2], 0)
    assert data["attention"][0]["queries"][0][0] == whole["attention"][0]["queries"][1][1]


@pytest.mark.parametrize(
    ("changes", "named"), [({"gate": True}, "the gate."), ({"gate": True, "window": 2}, "the gate and the window of 2 tokens.")]
)
def test_a_term_that_the_product_lacks_is_named(changes: dict[str, Any], named: str) -> None:
    """The page names each term that the dot product lacks, and its map is that of the model."""
    trace = small_model(**changes).trace(TEXT, projections=True)
    page = bertviz_html(trace, "neuron")
    assert f"Not in q · k: {named}" in note(page)
    np.testing.assert_allclose(bertviz_data(page)["attention"][0]["attn"], trace.stack(0), atol=1e-4)


def test_what_has_no_neuron_view() -> None:
    """A mixed map, a stored trace and a hardmax trace are refused in one sentence."""
    mixed = small_model(components=2, mixing="free").trace(TEXT, projections=True)
    with pytest.raises(InputError, match="choose one of the 2 components"):
        bertviz_html(mixed, "neuron")
    hardmax = random_model(3)
    assert not hardmax.capabilities.softmax
    cases = ((fake_trace(5, components=1), "has none"), (hardmax.trace("a warm song", projections=True), "not the softmax"))
    for trace, why in cases:
        assert why in why_no_vectors(trace)
        with pytest.raises(InputError, match=why):
            bertviz_html(trace, "neuron")


def test_too_many_numbers() -> None:
    """A long text is refused with the choices; its height has room for every token."""
    trace = small_model(max_length=400).trace("song " * 160, projections=True)
    with pytest.raises(InputError, match=r"neuron view of 160 tokens.*choose fewer tokens, layers or heads"):
        bertviz_html(trace, "neuron")
    assert bertviz_height(trace, "neuron", 2, 4) > 160 * 26


def test_hostile_tokens_stay_text() -> None:
    """No token adds an element: the script elements are those of a harmless page."""
    trace = small_model().trace("song " * len(HOSTILE), projections=True)
    pages = [bertviz_html(trace.replace(tokens=tuple(tokens)), "neuron") for tokens in (HOSTILE, ["fine"] * len(HOSTILE))]
    strip = re.compile(r'(?<=id="maps">).*?(?=</script>)', re.DOTALL)
    for mark in ("<script", "</script", "<img", "<!--", "onerror"):
        assert strip.sub("", pages[0]).count(mark) == strip.sub("", pages[1]).count(mark), mark
    assert bertviz_data(pages[0])["attention"][0]["left_text"][1].startswith("<img")
