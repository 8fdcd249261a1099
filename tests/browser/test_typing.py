"""The picture follows the keys and the sliders in a real Chromium, the page follows after Enter or a pause, and Enter alone is enough."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.visitor import settled

RUN = "sst2/ndt-unit-2"
NO_PAUSE = "() => { const soon = window.setTimeout; window.setTimeout = (f, ms, ...more) => ms === 1500 ? 0 : soon(f, ms, ...more) }"
HOSTILE = "<img src=x onerror=document.title='hacked'> good"


def opened(page: Any, server: str, more: str = "") -> tuple[Any, list[dict[str, Any]]]:
    """Open Explore; return the field, and the list of questions that the page will ask."""
    questions: list[dict[str, Any]] = []
    page.on("request", lambda request: questions.append(request.post_data_json) if request.url.endswith("/live") else None)
    page.goto(f"{server}/?run={RUN}{more}")
    page.locator(".st-key-canvas .lead .number").first.wait_for(timeout=60_000)
    settled(page)
    return page.locator(".st-key-sentence input"), questions


def words(page: Any) -> list[str]:
    """Return the words of the picture."""
    return [str(word) for word in page.locator(".st-key-canvas .word bdi").all_inner_texts()]


def live_answer(page: Any) -> str | None:
    """Return the answer that stands in place of the page's."""
    answer: str | None = page.evaluate("document.querySelector('.st-key-answer h3')?.dataset.live ?? null")
    return answer


@pytest.mark.exhaustive
def test_the_picture_follows_each_key_and_the_page_follows_enter(page: Any, server: str) -> None:
    """Picture and answer change without a run of the page, text stays out of every address, and Enter shows the same picture."""
    field, questions = opened(page, server)
    page.evaluate(NO_PAUSE)
    field.fill("a dull fil")
    field.press("End")
    page.locator(".st-key-canvas .word", has_text="dull").wait_for()
    field.press("m")
    page.locator(".st-key-canvas .word", has_text="film").wait_for()
    answer, picture = live_answer(page), page.locator(".st-key-canvas .answer").inner_text()
    assert answer and answer.startswith(("Negative", "Positive")) and words(page) == ["a", "dull", "film"]
    assert page.locator(".st-key-answer .st-key-why-reason").evaluate("node => getComputedStyle(node).opacity") == "0"
    field.press("Enter")
    page.wait_for_function("() => !('typing' in document.body.dataset)", timeout=30_000)
    settled(page)
    assert page.locator(".st-key-answer h3").inner_text() == answer and live_answer(page) is None
    assert page.locator(".st-key-canvas .answer").inner_text() == picture and words(page) == ["a", "dull", "film"]
    assert [each["text"] for each in questions][-1] == "a dull film" and "dull" not in page.url
    assert page.outside == []


@pytest.mark.exhaustive
def test_a_pause_is_as_enter_and_words_are_only_text(page: Any, server: str) -> None:
    field, _ = opened(page, server)
    field.press_sequentially(HOSTILE)
    page.wait_for_function("() => 'typing' in document.body.dataset")
    page.wait_for_function("() => !('typing' in document.body.dataset)", timeout=30_000)
    settled(page)
    assert page.title() != "hacked" and page.locator(".st-key-answer h3").inner_text().startswith(("Negative", "Positive"))
    assert HOSTILE in field.input_value()


@pytest.mark.exhaustive
def test_the_picture_follows_a_slider(page: Any, server: str) -> None:
    """The picture shows the changed model while the thumb is held; the page follows when it is let go."""
    answers: list[Any] = []
    page.on("response", lambda response: answers.append(response) if response.url.endswith("/live") else None)
    _, questions = opened(page, server, "&whatif=open")
    thumb = page.locator(".st-key-lambda-2-2").get_by_role("slider")
    box = thumb.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] - 60, box["y"] + box["height"] / 2, steps=5)
    page.wait_for_function("() => document.querySelector('.st-key-answer h3').dataset.live", timeout=30_000)
    assert "change=" not in page.url and questions[-1]["view"]["change"].startswith("lambda:2.2=")
    page.locator(".st-key-canvas .answer", has_text="was").wait_for()
    picture, while_dragged = page.locator(".st-key-canvas .answer"), ""
    while len(answers) < len(questions) or picture.inner_text() != while_dragged:
        while_dragged = picture.inner_text()
        page.wait_for_timeout(1_000)
    page.mouse.up()
    page.wait_for_url("**change=*", timeout=30_000)
    page.wait_for_function("() => !('typing' in document.body.dataset)", timeout=30_000)
    settled(page)
    assert page.locator(".st-key-canvas .answer").inner_text() == while_dragged


@pytest.mark.exhaustive
def test_without_the_route_enter_is_enough(page: Any, server: str) -> None:
    """A proxy that cuts the route takes nothing else away."""
    page.route("**/live", lambda route: route.abort())
    try:
        field, _ = opened(page, server)
        field.press_sequentially(" x")
        page.wait_for_function("() => !('typing' in document.body.dataset)", timeout=30_000)
        field.fill("a dull film")
        field.press("Enter")
        page.locator(".st-key-canvas .word", has_text="dull").wait_for(timeout=30_000)
        settled(page)
        assert words(page) == ["a", "dull", "film"] and live_answer(page) is None
    finally:
        page.unroute("**/live")
