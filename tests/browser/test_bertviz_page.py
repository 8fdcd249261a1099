"""BertViz's page opened from disk in a real Chromium without a network: every control used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sentviz.browser.bertviz import bertviz_html
from sentviz.runs.trace import Trace
from tests.browser.conftest import offline
from tests.kit import fake_trace, small_model
from tests.shipped import often

HOSTILE = (
    "</script><script>window.hacked=1</script>",
    "<img src=x onerror=window.hacked=1>",
    "\"onload=window.hacked=1 '",
    "<svg onload=window.hacked=1>",
    "<!--",
    "&lt;b&gt;",
    "שלום",
    "🙂",
    "a\u2028b",
)


@pytest.fixture
def show(disk: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Write a page, open it with the network closed; afterwards nothing was requested and nothing was wrong."""
    with offline(disk) as (requests, wrong):
        disk.wrong = wrong

        def opened(trace: Trace, *arguments: Any, **options: Any) -> Any:
            path = tmp_path / "page.html"
            path.write_text(bertviz_html(trace, *arguments, **options), encoding="utf-8")
            disk.goto(path.as_uri())
            disk.wait_for_selector("#vis line", state="attached")
            requests.remove(path.as_uri())
            return disk

        yield opened
        assert (requests, wrong) == ([], [])


def opacities(tab: Any) -> Any:
    """Return the opacities of the head view's lines, (H, n, m)."""
    return np.array(
        tab.evaluate(
            "[...document.querySelectorAll('.headAttention')].map(h => [...h.querySelectorAll('.tokenAttention')]"
            ".map(t => [...t.querySelectorAll('line')].map(l => +l.getAttribute('stroke-opacity'))))"
        )
    )


def squares(tab: Any) -> Any:
    """Return the head view's colour squares."""
    return tab.locator("#vis > svg > g:last-child > rect")


def dimmed(tab: Any) -> list[bool]:
    """Return for each square whether it looks switched off."""
    return [square.evaluate("e => +getComputedStyle(e).opacity < 1") for square in squares(tab).all()]


@pytest.mark.exhaustive
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_control_of_the_head_view(show: Callable[..., Any], theme: str) -> None:
    """The lines are the weights of the heads that are on; layer list, click, double click and pointer act as in BertViz."""
    trace = fake_trace(7, layers=3, heads=4)
    assert trace.attention is not None
    tab = show(trace, "head", theme=theme)
    np.testing.assert_allclose(opacities(tab), trace.attention[0] / 4, atol=2e-5)
    assert tab.locator("#layer option").all_inner_texts() == ["1", "2", "3"]

    tab.locator("#layer").select_option("3")
    np.testing.assert_allclose(opacities(tab), trace.attention[2] / 4, atol=2e-5)

    squares(tab).nth(1).click()
    np.testing.assert_allclose(opacities(tab)[[0, 2, 3]], trace.attention[2, [0, 2, 3]] / 3, atol=2e-5)
    assert not opacities(tab)[1].any() and dimmed(tab) == [False, True, False, False]
    squares(tab).nth(2).dblclick()
    np.testing.assert_allclose(opacities(tab)[2], trace.attention[2, 2], atol=6e-5)
    assert not opacities(tab)[[0, 1, 3]].any() and dimmed(tab) == [True, True, False, True]
    squares(tab).nth(2).click()
    assert dimmed(tab) == [True, True, False, True]  # the last head stays
    tab.locator("#layer").select_option("1")
    np.testing.assert_allclose(opacities(tab)[2], trace.attention[0, 2], atol=6e-5)
    squares(tab).nth(2).dblclick()
    assert dimmed(tab) == [False] * 4

    tab.locator("#left text").nth(4).hover()
    assert {line.get_attribute("left-token-index") for line in tab.locator("#attention line[visibility=visible]").all()} == {"4"}
    boxes = tab.evaluate(
        "[...document.querySelectorAll('#right .attentionBoxes > g')].map(g => [...g.querySelectorAll('rect')].map(r => +r.style.opacity))"
    )
    np.testing.assert_allclose(boxes, trace.attention[0, :, 4], atol=6e-5)
    tab.locator("#right text").nth(2).hover()
    assert {line.get_attribute("right-token-index") for line in tab.locator("#attention line[visibility=visible]").all()} == {"2"}
    tab.locator("#layer").hover()
    assert tab.locator("#attention line[visibility=visible]").count() == 0


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.exhaustive
def test_every_control_of_the_model_view(show: Callable[..., Any], theme: str) -> None:
    """Every head of every layer has a cell; a click opens it with its tokens, the pointer shows one token's lines, a click closes it."""
    trace = fake_trace(6, layers=3, heads=2)
    assert trace.attention is not None
    tab = show(trace, "model", theme=theme)
    lines = tab.evaluate("[...document.querySelectorAll('#vis line')].map(l => +l.getAttribute('stroke-opacity'))")
    np.testing.assert_allclose(np.reshape(lines, trace.attention.shape), trace.attention, atol=6e-5)

    cell = tab.locator("#attn_background_2_1").locator("xpath=..").locator("rect").last
    cell.click(position={"x": 5, "y": 5})
    assert tab.locator("text.detail").text_content() == "Layer 3, Head 2"
    assert tab.locator("g.detail text.token").all_text_contents() == [*trace.tokens] * 2
    frame = tab.locator("rect.detail").bounding_box()
    assert frame["x"] >= 0 and frame["y"] >= 0
    tab.locator("g.detail text.token").nth(3).hover()
    opacities = tab.evaluate("[...document.querySelectorAll('.attn-line-group')].map(g => +g.style.opacity)")
    assert opacities == [0, 0, 0, 1, 0, 0]
    tab.locator("p").hover()
    assert set(tab.evaluate("[...document.querySelectorAll('.attn-line-group')].map(g => +g.style.opacity)")) == {1}
    cell.click(position={"x": 5, "y": 5})
    assert tab.locator(".detail").count() == 0


@pytest.mark.parametrize("view", often(["head", "model"], "head"))
def test_the_filter_of_a_pair(show: Callable[..., Any], view: str) -> None:
    """The filter text A → text B draws that block only."""
    trace = fake_trace(8, layers=2, heads=2).replace(text_pair="x", segments=(np.arange(8) >= 5).astype(np.int64))
    assert trace.attention is not None
    tab = show(trace, view)
    tab.locator("#filter").select_option(label="Text A → text B")
    lines = tab.evaluate("[...document.querySelectorAll('#vis line')].map(l => +l.getAttribute('stroke-opacity'))")
    block = trace.attention[:, :, :5, 5:]
    np.testing.assert_allclose(lines, (block[0] / 2 if view == "head" else block).ravel(), atol=6e-5)
    tab.locator("#filter").select_option("0")
    assert tab.locator("#vis line").count() == (2 if view == "head" else 4) * 64


@pytest.mark.parametrize("view", ["head", "model"])
def test_hostile_tokens_are_inert(show: Callable[..., Any], view: str) -> None:
    """Hostile tokens are shown as text: no script runs, no element is added."""
    trace = fake_trace(tokens=HOSTILE, layers=1, heads=2)
    tab = show(trace, view)
    if view == "model":
        tab.locator("#attn_background_0_0").locator("xpath=..").locator("rect").last.click(position={"x": 5, "y": 5})
    texts = tab.locator("#vis text").all_text_contents()
    assert any(text.startswith("</script>") for text in texts) and any(text.startswith("<img src") for text in texts)
    assert tab.locator("img, #vis b, #vis svg svg").count() == 0
    assert tab.locator("script:not([type])").count() == 4
    assert tab.evaluate("window.hacked") is None


def test_a_page_runs_no_script_but_its_own(show: Callable[..., Any]) -> None:
    """The page's policy stops markup that is put into the open page."""
    tab = show(fake_trace(4), "head")
    with tab.expect_console_message() as console:
        tab.evaluate("s => document.body.append(Object.assign(document.createElement('script'), s))", {"textContent": "window.hacked = 1"})
    assert "Content Security Policy" in console.value.text and tab.evaluate("window.hacked") is None
    tab.wrong.clear()


@pytest.mark.parametrize("theme", often(["light", "dark"], "light"))
def test_every_control_of_the_neuron_view(show: Callable[..., Any], theme: str) -> None:
    """The plus sign opens the numbers of a query and all keys; layer and head are counted from 1, and a choice draws its own numbers."""
    trace = small_model(layers=2).trace("what a warm clever song", projections=True)
    assert trace.queries is not None
    tab = show(trace, "neuron", theme=theme)
    assert tab.locator("#layer option").all_inner_texts() == ["1", "2"] and tab.locator("#att_head option").all_inner_texts() == ["1", "2"]
    tab.locator("#layer").select_option(label="2")
    tab.locator("#att_head").select_option(label="2")
    tab.locator("#collapsed #leftText > g").nth(2).hover()
    tab.locator("#collapsed #leftText > g").nth(2).locator("rect").last.click()
    assert tab.locator("#expanded").get_attribute("visibility") == "visible"
    tab.locator("#expanded #leftText > g").nth(2).hover()

    def numbers(name: str) -> Any:
        return tab.evaluate(f"[...document.querySelectorAll('#{name} .element')].map(e => +e.getAttribute('data-value'))")

    assert trace.keys is not None
    query, keys = trace.queries[1, 0, 1, 2], trace.keys[1, 0, 1]
    np.testing.assert_allclose(numbers("queries"), trace.queries[1, 0, 1].ravel(), atol=6e-5)
    np.testing.assert_allclose(numbers("product"), (query * keys).ravel(), atol=1e-3)


@pytest.mark.exhaustive
def test_hostile_tokens_are_inert_in_the_neuron_view(show: Callable[..., Any]) -> None:
    """Hostile tokens are text beside their queries and keys: no script runs, no element is added."""
    trace = small_model().trace("song " * len(HOSTILE), projections=True).replace(tokens=HOSTILE)
    tab = show(trace, "neuron")
    texts = tab.locator("#vis text").all_text_contents()
    assert any(text.startswith("</script>") for text in texts) and any(text.startswith("<img src") for text in texts)
    assert tab.locator("img, #vis b, #vis svg svg").count() == 0 and tab.evaluate("window.hacked") is None
