"""The page is read at every frame while a sentence changes, and no word of the sentence before stands beside the new answer."""

from __future__ import annotations

import os
import random
from typing import Any

import pytest

from tests.browser.visitor import settled

EDITS = int(os.environ.get("SENTVIZ_TEST_EDITS", "20"))
WORDS = (
    "not",
    "a",
    "dull",
    "warm",
    "film",
    "brilliant",
    "but",
    "the",
    "jokes",
    "fall",
    "flat",
    "great",
    "sequel",
    "quiet",
    "never",
    "boring",
)
WATCH = """() => {
  const strength = node => {
    let size = 1
    for (let at = node; at; at = at.parentElement ?? at.getRootNode().host) size *= Number(getComputedStyle(at).opacity)
    return size
  }
  const shown = nodes => [...nodes].filter(node => strength(node) > .5).map(node => node.innerText.trim()).filter(Boolean)
  const look = () => {
    const answer = document.querySelector('.st-key-answer'), picture = document.querySelector('.st-key-canvas')
    const host = [...picture?.querySelectorAll('*') ?? []].find(node => node.shadowRoot)?.shadowRoot ?? picture
    const heading = answer?.querySelector('h3')
    const frame = {
      heading: heading?.dataset.live ?? shown(heading ? [heading] : []).join(' '),
      of: shown([...answer?.querySelectorAll(':is([class*=st-key-why], [data-testid=stCaptionContainer]) p:not(.st-key-scoring p)') ?? [],
        ...document.querySelectorAll('.st-key-became [data-testid=stMarkdown] p')]),
      words: picture ? shown(host.querySelectorAll('.word bdi')).join(' ') : '',
      typing: document.body.dataset.typing ?? '',
      marks: document.querySelector('.pending')?.className ?? '',
    }
    const text = JSON.stringify(frame)
    if (text !== window.frames_seen.at(-1)) window.frames_seen.push(text)
    requestAnimationFrame(look)
  }
  window.frames_seen = []
  requestAnimationFrame(look)
}"""


def frames(page: Any) -> list[dict[str, Any]]:
    """Return the different frames since the last call."""
    return list(page.evaluate("() => window.frames_seen.splice(0).map(JSON.parse)"))


def without_specials(words: str) -> str:
    """Return the words without special tokens, which a picture of words that wait for their answer lacks."""
    return words.removeprefix("[CLS] ").removesuffix(" [SEP]")


def faults(seen: list[dict[str, Any]], before: dict[str, Any], after: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the frames whose parts belong to several sentences, although all of them are readable.

    A part that is empty, or hidden, belongs to every sentence. While a visitor types, answer and picture are those of the typed text, which
    is neither of the two, and what the page says about its own answer must be hidden.
    """

    def belongs(frame: dict[str, Any], state: dict[str, Any]) -> bool:
        return (
            set(frame["of"]) <= set(state["of"])
            and frame["heading"] in ("", state["heading"])
            and without_specials(frame["words"]) in ("", without_specials(state["words"]))
        )

    wrong = [frame for frame in seen if not belongs(frame, before) and not belongs(frame, after)]
    return [frame for frame in wrong if frame["of"] or not frame["typing"]]


@pytest.mark.exhaustive
@pytest.mark.parametrize("run", ["sst2/ndt-unit-2", "english/minilm"])
def test_no_word_of_the_sentence_before_stands_beside_the_new_answer(page: Any, server: str, run: str) -> None:
    """At each frame after an edit, an example, or a switched head, all that is readable belongs to one sentence and one model."""
    draw = random.Random(5)
    page.goto(f"{server}/?run={run}")
    page.locator(".st-key-canvas .lead .number").first.wait_for(timeout=60_000)
    settled(page)
    page.evaluate(WATCH)
    page.wait_for_timeout(100)
    before = frames(page)[-1]
    box = page.locator(".st-key-sentence input")
    for edit in range(EDITS // 2):
        if edit % 4 == 3:
            page.locator(".lead .switch").first.click()
        elif edit % 4 == 1:
            page.locator(".st-key-examples button").nth(draw.randrange(6)).click()
        else:
            box.fill("")
            box.press_sequentially(" ".join(draw.sample(WORDS, 6)), delay=15)
            if edit % 4 == 0:
                box.press("Enter")
        page.wait_for_function("() => !('typing' in document.body.dataset)", timeout=60_000)
        settled(page)
        page.locator(".st-key-why-trust p").first.wait_for(timeout=60_000)
        settled(page)
        seen = frames(page)
        after = seen[-1] if seen else before
        assert not (wrong := faults(seen, before, after)), f"edit {edit}: {wrong[0]}\nbefore {before}\nafter {after}"
        before = after
