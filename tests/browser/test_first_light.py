"""A person opens the app, types a sentence, looks, moves a lambda, takes a figure along, and finds a view by its name."""

import re
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.browser.conftest import go, listening
from tests.browser.visitor import ask, download, settled

MARKUP = "<img src=x onerror='window.hacked=true'> <script>window.hacked=true</script> </script> <a href='//x.y'>good</a> $x$ **b**"
RUN = "sst2/ndt-unit-2"
NO_PAUSE = "() => { const soon = window.setTimeout; window.setTimeout = (f, ms, ...more) => ms === 1500 ? 0 : soon(f, ms, ...more) }"
TAGS = "<img src=x onerror=document.title='hacked'> good"
LEADS = {"lambda": "lambdas", "CLS std": "heads", "t-SNE": "embeddings?method=tsne", "silhouette": "embeddings", "word cloud": "words"}
LEADS |= {"confusion": "confusion", "hardmax": "hardmax", "Figure 3": "ndt?part=tsne", "attention heat": "attention"}


def test_from_sentence_to_export(page: Any, server: str) -> None:
    page.goto(f"{server}/?run=sst2%2Fndt-unit-2&whatif=open")
    page.wait_for_selector(".st-key-canvas .word", timeout=60_000)
    page.evaluate("window.hacked = false")
    shown_answer = ask(page, f"This is not a bad zebra film, and almost wonderful. {MARKUP}")
    assert shown_answer.startswith(("Positive", "Negative"))
    page.locator(".st-key-canvas .word", has_text="wonderful").wait_for()
    page.locator(".st-key-canvas .others").press("Enter")
    page.locator(".st-key-canvas .tile[data-layer='1']").first.press("Enter")
    page.wait_for_url(re.compile("layer=2"))
    assert "layer=2" in page.url and "text" not in page.url
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
    assert "wonderful" in "".join(drawn.itertext()) and not [e for e in drawn.iter() if e.tag.endswith("image")]
    assert download(page, "map", "png").startswith(b"\x89PNG\r\n") and download(page, "strip", "pdf").startswith(b"%PDF-")
    assert "zebra" in download(page, "strip", "csv").decode("utf-8-sig") and b"<html" in download(page, "verdict", "html")[:200]
    assert page.outside == []


@pytest.mark.exhaustive
def test_the_focus_travels_and_a_link_reproduces_the_view(page: Any, server: str) -> None:
    refused: list[str] = []
    with listening(page, response=lambda answer: refused.append(answer.url) if answer.status >= 400 else None):
        page.goto(f"{server}/attention?run=sst2%2Fdiff&component=2")
        page.wait_for_selector(".st-key-figure-detail .main-svg", timeout=60_000)
    assert not refused and "A₂" in page.locator(".st-key-figure-detail").inner_text()
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


def opened(page: Any, server: str, more: str = "") -> tuple[Any, list[dict[str, Any]]]:
    """Open Explore; return the field, and the list of questions that the page will ask."""
    questions: list[dict[str, Any]] = []
    page.on("request", lambda request: questions.append(request.post_data_json) if request.url.endswith("/live") else None)
    page.goto(f"{server}/?run={RUN}{more}")
    page.locator(".st-key-canvas .lead .number").first.wait_for(timeout=60_000)
    settled(page)
    return page.locator(".st-key-sentence input"), questions


def words(page: Any) -> list[str]:
    return [str(word) for word in page.locator(".st-key-canvas .word bdi").all_inner_texts()]


def live_answer(page: Any) -> str | None:
    """Return the answer that stands in place of the page's."""
    answer: str | None = page.evaluate("document.querySelector('.st-key-answer h3')?.dataset.live ?? null")
    return answer


@pytest.mark.exhaustive
def test_the_picture_follows_each_key_and_the_page_follows_enter(page: Any, server: str) -> None:
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
    assert [each["text"] for each in questions][-1] == "a dull film" and "dull" not in page.url and page.outside == []


@pytest.mark.exhaustive
def test_a_pause_is_as_enter_and_words_are_only_text(page: Any, server: str) -> None:
    field, _ = opened(page, server)
    field.press_sequentially(TAGS)
    page.wait_for_function("() => 'typing' in document.body.dataset")
    page.wait_for_function("() => !('typing' in document.body.dataset)", timeout=30_000)
    settled(page)
    assert page.title() != "hacked" and page.locator(".st-key-answer h3").inner_text().startswith(("Negative", "Positive"))
    assert TAGS in field.input_value()


@pytest.mark.exhaustive
def test_the_picture_follows_a_slider(page: Any, server: str) -> None:
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


def search(page: Any, query: str) -> None:
    page.keyboard.press("Control+k")
    page.keyboard.insert_text(query)
    page.wait_for_timeout(600)
    page.keyboard.press("Enter")


def test_one_enter_leads_to_the_view(page: Any, server: str) -> None:
    page.goto(f"{server}/yours")
    page.locator(".st-key-finder input").wait_for()
    for query, lead in LEADS.items():
        go(page, "Bring yours")
        settled(page)
        search(page, query)
        address, _, parameters = lead.partition("?")
        page.wait_for_url(f"**/{address}*")
        page.wait_for_function("words => location.search.includes(words)", arg=parameters)


def test_a_strange_query_finds_nothing_and_stays(page: Any, server: str) -> None:
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.goto(f"{server}/colours")
    page.locator(".st-key-finder input").wait_for()
    settled(page)
    for query in ("<img src=x onerror=alert(1)>", "x" * 10_000, "](javascript:alert(1))", "\u202e\u0000lambda"):
        search(page, query)
        page.wait_for_timeout(500)
        assert page.url.endswith("/colours") and not dialogs and not page.locator("img[src='x']").count(), query[:40]
