"""BertViz's page as text: its numbers, its escapes, its limits, and what it never asks for."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html import unescape
from importlib.metadata import PackageNotFoundError
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from sentviz.browser import bertviz as bertviz_view
from sentviz.browser.bertviz import LINES, WEIGHTS, View, bertviz_height, bertviz_html
from sentviz.browser.page import inert_json
from sentviz.errors import InputError, SentvizError
from tests.kit import fake_trace, refused

VIEWS: tuple[View, ...] = ("head", "model")
HOSTILE = (
    "</script><script>window.hacked=1</script>",
    "<img src=x onerror=hacked()>",
    "<!--",
    '"',
    "'",
    "\\",
    "&lt;b&gt;",
    "a\u2028b",
    "\ud800",
)


def bertviz_data(page: str) -> Any:
    """Return the data that the page passes to BertViz."""
    return json.loads(re.findall(r'<script type="application/json" id="maps">(.*?)</script>', page, re.DOTALL)[0])


def note(page: str) -> str:
    """Return the words above the view."""
    return unescape(re.findall(r'<p dir="auto">(.*?)</p>', page, re.DOTALL)[0])


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("component", ["effective", 0, 1])
def test_the_numbers_are_the_traces(view: View, component: int | str) -> None:
    trace = fake_trace(7, layers=3, heads=2)
    data = bertviz_data(bertviz_html(trace, view, component))
    maps = np.array([[trace.map(layer, head, component) for head in range(2)] for layer in range(3)])
    np.testing.assert_allclose(data["attention"][0]["attn"], maps / max(1, maps.max()), atol=5.1e-5)
    assert data["attention"][0]["left_text"] == data["attention"][0]["right_text"] == list(trace.tokens)
    assert (data["include_layers"], data["include_heads"]) == ([1, 2, 3], [1, 2])


def test_a_choice_of_layers_and_heads() -> None:
    trace = fake_trace(6, layers=3, heads=4)
    data = bertviz_data(bertviz_html(trace, layers=[2], heads=[3, 1]))
    np.testing.assert_allclose(data["attention"][0]["attn"], [[trace.map(2, 3), trace.map(2, 1)]], atol=5.1e-5)
    assert (data["layer"], data["include_layers"], data["include_heads"]) == (3, [3], [4, 2])
    refused(InputError, "layers 0, 1, 2, not 7", bertviz_html, trace, layers=[7])
    refused(InputError, "At least one", bertviz_html, trace, heads=[])
    with pytest.raises(InputError, match="head view, a model view and a neuron view"):
        bertviz_html(trace, "matrix")  # type: ignore[arg-type]


def test_weights_above_one_are_scaled_and_the_factor_is_said() -> None:
    trace = fake_trace(5)
    assert trace.attention is not None
    large = trace.replace(attention=trace.attention * np.float32(2.5 / trace.attention.max()))
    page = bertviz_html(large)
    np.testing.assert_allclose(bertviz_data(page)["attention"][0]["attn"], large.attention / 2.5, atol=5.1e-5)
    assert "divided by 2.50, the largest" in note(page)
    assert "divided" not in note(bertviz_html(large, component=0))


def test_a_pair_has_the_filter_of_bertviz() -> None:
    trace = fake_trace(9).replace(text_pair="and another", segments=(np.arange(9) >= 5).astype(np.int64))
    page = bertviz_html(trace)
    parts = {part["name"]: part for part in bertviz_data(page)["attention"]}
    assert list(parts) == ["All", "Text A → text A", "Text A → text B", "Text B → text A", "Text B → text B"]
    assert trace.attention is not None
    np.testing.assert_allclose(parts["Text A → text B"]["attn"], trace.attention[:, :, :5, 5:], atol=5.1e-5)
    assert parts["Text B → text A"]["left_text"] == list(trace.tokens[5:])
    assert page.count("<option value=") == 5
    assert 'id="filter"' not in bertviz_html(fake_trace(9))
    with pytest.raises(InputError, match="weights"):  # the blocks are copies, which count twice
        bertviz_html(fake_trace(int((WEIGHTS / 144) ** 0.5), 12, 12, components=1).replace(text_pair="x"))


@pytest.mark.parametrize("view", VIEWS)
def test_hostile_tokens_stay_text(view: View) -> None:
    hostile, harmless = (bertviz_html(fake_trace(tokens=tokens), view) for tokens in (HOSTILE, ["fine"] * len(HOSTILE)))
    for mark in ("<script", "</script", "<img", "<!--", "onerror"):
        strip = re.compile(r'(?<=id="maps">).*?(?=</script>)', re.DOTALL)
        assert strip.sub("", hostile).count(mark) == strip.sub("", harmless).count(mark), mark
    labels = bertviz_data(hostile)["attention"][0]["left_text"]
    assert labels[1].startswith("</script") and labels[4] == '"' and labels[7] == "&lt;b&gt;"[:11]
    assert hostile.encode("utf-8")


@pytest.mark.parametrize("text", HOSTILE)
def test_inert_json_is_json_without_markup(text: str) -> None:
    written = inert_json({text: [text]})
    assert json.loads(written) == {text: [text]}
    assert written.isascii() and not set("<>&") & set(written)


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_is_asked_of_the_network(view: View) -> None:
    page = bertviz_html(fake_trace(5), view)
    head = page.split("<body>")[0]
    assert not re.search(r"\b(?:src|href)\s*=", re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL))
    assert "default-src 'none'" in head and "unsafe-eval" not in head
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digests = [base64.b64encode(hashlib.sha256(code.encode()).digest()).decode() for code in scripts]
    assert len(digests) == 4
    assert re.findall(r"'sha256-(.*?)'", head) == digests


@pytest.mark.parametrize(
    ("view", "layers", "heads", "tokens", "why"),
    [
        ("head", 1, 4, int((LINES["head"] / 4) ** 0.5), "lines"),
        ("model", 2, 4, int((LINES["model"] / 8) ** 0.5), "lines"),
        ("head", 12, 12, int((WEIGHTS / 144) ** 0.5), "weights"),
    ],
)
def test_the_limit(view: View, layers: int, heads: int, tokens: int, why: str) -> None:
    assert bertviz_html(fake_trace(tokens, layers, heads, components=1), view)
    with pytest.raises(InputError, match=rf"{tokens + 1} tokens.* {why}, more than .*: choose fewer tokens, layers or heads"):
        bertviz_html(fake_trace(tokens + 1, layers, heads, components=1), view)


def test_the_height_grows_with_the_tokens() -> None:
    assert [bertviz_height(fake_trace(n), view, 2, 4) for view in VIEWS for n in (5, 60)] == [272, 1510, 343, 1210]


def test_a_missing_package_is_said_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bertviz_view, "distribution", Mock(side_effect=PackageNotFoundError("bertviz")))
    caches = (bertviz_view._libraries, bertviz_view._file)
    for cache in caches:
        cache.cache_clear()
    refused(SentvizError, r"views need \S+\.js of \S+: python -m pip install bertviz", bertviz_html, fake_trace(4))
    for cache in caches:
        cache.cache_clear()
