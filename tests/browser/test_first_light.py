"""A person opens the app, types a sentence, looks, moves a lambda, takes a figure along."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.browser.conftest import go, listening
from tests.browser.visitor import answer, ask, download, settled

MARKUP = "<img src=x onerror='window.hacked=true'> <script>window.hacked=true</script> </script> <a href='//x.y'>good</a> $x$ **b**"


def test_from_sentence_to_export(page: Any, server: str) -> None:
    """A visitor types, reads words, opens a head, moves lambda and exports files with the right bytes, without a request to another
    server. Markup in the sentence is shown as text on every part of the page.
    """
    page.goto(f"{server}/?run=sst2%2Fndt-unit-2&whatif=open")
    page.wait_for_selector(".st-key-canvas .word", timeout=60_000)
    page.evaluate("window.hacked = false")
    shown_answer = ask(page, f"This is not a bad zebra film, and almost wonderful. {MARKUP}")
    assert shown_answer.startswith(("Positive", "Negative"))
    page.locator(".st-key-canvas .word", has_text="wonderful").wait_for()
    page.locator(".st-key-canvas .others").press("Enter")
    page.locator(".st-key-canvas .tile[data-layer='1']").first.press("Enter")
    page.wait_for_url(re.compile("layer=2"))
    assert "layer=2" in page.url
    assert "text" not in page.url
    assert page.evaluate("window.hacked") is False and page.locator("img[src='x'], a[href*='x.y']").count() == 0

    answer = page.locator(".st-key-canvas .answer")
    before = answer.inner_text()
    slider = page.locator(".st-key-lambda-1-2").get_by_role("slider")
    slider.focus()
    for _ in range(5):
        slider.press("ArrowLeft")
    page.wait_for_url(re.compile("change="), timeout=30_000)
    answer.filter(has_not_text=re.compile(f"^{re.escape(before)}$")).wait_for(timeout=30_000)
    page.wait_for_function("document.querySelector('.st-key-why-reason')?.innerText.match(/Without|With|No single/)")

    svg = download(page, "map", "svg")
    drawn = ElementTree.fromstring(svg)
    assert "wonderful" in "".join(drawn.itertext())
    assert not [e for e in drawn.iter() if e.tag.endswith("image")]
    assert download(page, "map", "png").startswith(b"\x89PNG\r\n")
    assert download(page, "strip", "pdf").startswith(b"%PDF-")
    assert "zebra" in download(page, "strip", "csv").decode("utf-8-sig")
    assert b"<html" in download(page, "verdict", "html")[:200]
    assert page.outside == []


WATCH = """() => {
  window.frames_seen = []
  const look = () => {
    const canvas = document.querySelector('.st-key-canvas')
    const inner = [...canvas?.querySelectorAll('*') ?? []].find(each => each.shadowRoot)
    const root = inner?.shadowRoot ?? canvas, seen = inner && getComputedStyle(inner).visibility === 'visible'
    if (canvas) window.frames_seen.push([
      document.querySelector('h3')?.innerText, Math.round(canvas.getBoundingClientRect().top),
      seen ? [...root.querySelectorAll('.word')].map(word => word.innerText).join(' ') : null,
      performance.now(),
    ])
    if (window.frames_seen.length < 4000) requestAnimationFrame(look)
  }
  look()
}"""


@pytest.mark.exhaustive
def test_no_old_picture_is_below_a_new_answer(page: Any, server: str) -> None:
    """After Enter, the place of the picture is grey from the new answer on until the new picture is drawn, and it never moves."""
    page.goto(f"{server}/?run=sst2%2Fndt-unit-2")
    page.wait_for_selector(".st-key-canvas .word", timeout=60_000)
    ask(page, "The zebra is dull, and the ending is a let-down.")
    page.locator(".st-key-canvas .word", has_text="zebra").wait_for()
    before = answer(page)
    page.evaluate(WATCH)
    ask(page, "The giraffe is a joy, and the ending is wonderful.")
    page.locator(".st-key-canvas .word", has_text="giraffe").wait_for()
    frames = page.evaluate("() => window.frames_seen")
    assert {place for _, place, _, _ in frames} == {frames[0][1]}
    later = [(words, time) for heading, _, words, time in frames if heading not in (before, None, "")]
    assert "giraffe" in later[-1][0]
    old = [time for words, time in later if "zebra" in (words or "")]
    assert not old or old[-1] - old[0] < 100, "milliseconds of the old picture below the new answer, at most a few frames"


@pytest.mark.exhaustive
def test_the_focus_travels_and_a_link_reproduces_the_view(page: Any, server: str) -> None:
    """A link opens the same run and component on another page without a failed request; a page switch keeps both."""
    refused: list[str] = []
    with listening(page, response=lambda answer: refused.append(answer.url) if answer.status >= 400 else None):
        page.goto(f"{server}/attention?run=sst2%2Fdiff&component=2")
        page.wait_for_selector(".st-key-figure-detail .main-svg", timeout=60_000)
    assert not refused
    assert "A₂" in page.locator(".st-key-figure-detail").inner_text()
    go(page, "Model", "Lambda")
    page.wait_for_selector(".st-key-figure-lambda .main-svg", timeout=60_000)
    page.wait_for_url(re.compile("run=sst2"))

    def check(address: str) -> None:
        page.wait_for_url(re.compile(f"/{address}.*run=sst2"))
        settled(page)
        assert "sst2/diff" in page.locator(".st-key-views input").first.input_value()

    for clicks in (("Model",), ("Model", "Lambda")):  # the links of the open view
        go(page, *clicks)
        check("lambdas")
    go(page, "Model", "Training")
    check("curves")
    for address in ("lambdas", "attention"):  # one step back for each view
        page.go_back()
        check(address)
    page.go_forward()
    check("lambdas")
    assert page.outside == []


@pytest.mark.exhaustive
def test_back_undoes_the_first_change_of_a_bare_page(page: Any, server: str) -> None:
    """Back and forward undo and redo the first change of a page without parameters; a page keeps its own setting while another is open."""
    page.goto(f"{server}/curves")
    page.get_by_role("radio", name="step").click(timeout=60_000)
    page.wait_for_url(re.compile("axis=step"))
    by_step = page.locator(".st-key-focus-axis").get_by_role("radio", name="step", checked=True)
    by_step.wait_for()
    settled(page)
    page.go_back()
    by_step.wait_for(state="detached")
    assert "axis" not in page.url
    settled(page)
    page.go_forward()
    by_step.wait_for()
    settled(page)
    page.goto(f"{server}/curves?axis=step")
    by_step.wait_for()
    settled(page)
    go(page, "Help", "Glossary")
    page.wait_for_url(re.compile("glossary"))
    settled(page)
    assert "axis" not in page.url, "the axis belongs to the page of curves"
    go(page, "Model", "Training")
    page.wait_for_url(re.compile("curves.*axis=step"))
    by_step.wait_for()
