"""The journeys of new users by keyboard alone: the finder (Ctrl K), Tab, arrows, Enter, Space and Escape, from the first page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.browser.test_embeddings import chosen
from tests.browser.test_first_light import answer, settled
from tests.browser.test_journeys import SENTENCE

pytestmark = pytest.mark.exhaustive
STEPS = 160  # presses of Tab from one element to another, at most
IN_FOCUS = """([pattern, role]) => {
  let node = document.activeElement
  while (node?.shadowRoot?.activeElement) node = node.shadowRoot.activeElement
  if (!node || node === document.body) return false
  const label = node.id && document.querySelector(`label[for="${CSS.escape(node.id)}"]`)
  const words = [  // not those of a region
    node.getAttribute("aria-label"), label?.innerText, node.innerText?.length < 300 && node.innerText, node.placeholder, node.title,
  ].filter(Boolean).join(" ")
  const own = node.getAttribute("role") || node.type || node.localName
  return new RegExp(pattern, "i").test(words) && (!role || own === role || node.localName === role)
}"""


class Keys:
    """A person at the first page who has no mouse."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def type(self, words: str) -> None:
        self.page.keyboard.type(words)

    def reach(self, pattern: str, role: str = "", *, back: bool = False) -> None:
        """Press Tab until an element has the focus whose words match a pattern."""
        for _ in range(STEPS):
            if self.page.evaluate(IN_FOCUS, [pattern, role]):
                return
            self.press("Shift+Tab" if back else "Tab")
            self.page.wait_for_timeout(15)
        raise AssertionError(f"no element {pattern!r} {role} within {STEPS} presses of Tab")

    def find(self, words: str, address: str) -> None:
        """Go to a view by the finder."""
        self.press("Control+k")
        self.page.keyboard.insert_text(words)
        self.page.wait_for_timeout(600)
        self.press("Enter")
        self.page.wait_for_url(re.compile(address))
        self.page.wait_for_timeout(500)
        settled(self.page)

    def ask(self, sentence: str) -> str:
        before = answer(self.page)
        self.reach("Type a sentence")
        self.press("Control+a")
        self.type(sentence)
        self.press("Enter")
        self.page.wait_for_function("before => !['', before].includes(document.querySelector('h3')?.innerText ?? '')", arg=before)
        settled(self.page)
        return answer(self.page)

    def choose(self, name: str, option: str) -> None:
        """Choose an option of a box by typing it."""
        self.reach(name, "combobox")
        self.press("Control+a")
        self.type(option)
        self.page.wait_for_timeout(500)
        self.press("Enter")

    def download(self, button: str) -> bytes:
        self.reach(button)
        with self.page.expect_download() as download:
            self.press("Enter")
        return Path(download.value.path()).read_bytes()


@pytest.fixture
def keys(page: Any, server: str) -> Keys:
    page.set_default_timeout(60_000)
    page.goto(server)
    page.wait_for_selector(".st-key-canvas .word")
    settled(page)
    return Keys(page)


def test_why_did_it_say_negative(keys: Keys) -> None:
    """A typed sentence is answered with a reason, and a PDF of the answer leaves."""
    assert keys.ask(SENTENCE).startswith("Negative")
    keys.page.locator(".st-key-why-reason").filter(has_text=re.compile("Without|With|No single")).wait_for()
    settled(keys.page)
    keys.reach("Export", "button")
    keys.press("Enter")
    keys.page.locator(".st-key-export-what").wait_for()
    assert keys.download("^PDF").startswith(b"%PDF-")


def test_lambda_and_the_spread_of_cls_attention_over_training(keys: Keys) -> None:
    page = keys.page
    keys.find("lambda", "lambdas")
    page.wait_for_selector(".st-key-figure-lambda .main-svg")
    assert "λ" in page.locator(".st-key-figure-lambda").inner_text()
    keys.find("training film", "curves")
    page.locator(".st-key-figure-through .of-heads").wait_for()
    keys.choose("^Model", "sst2/minilm-epochs")  # it has [CLS]
    page.wait_for_url(re.compile("minilm-epochs"))
    settled(page)
    keys.reach("Measure of the heads")
    keys.type("CLS attention std, from [CLS]")
    lines = page.locator(".st-key-figure-through .of-heads")
    lines.get_by_text("layer 2").first.wait_for()
    assert re.search(r"layer 1\s*0\.\d+", lines.inner_text())


def test_hardmax_leaders(keys: Keys) -> None:
    page = keys.page
    keys.find("hardmax animation", "hardmax")
    page.locator(".particles canvas").wait_for()
    keys.reach("^Play")
    keys.press("Enter")
    page.locator(".particles.playing").wait_for()
    keys.find("leaders in the data", "lab=leaders")
    negative = page.locator("[class*=st-key-plot-leaders]").first
    negative.locator(".main-svg").first.wait_for()
    assert "terrible" in negative.inner_text()


def test_a_cluster_and_what_it_holds(keys: Keys) -> None:
    """Enter marks the points in the middle of the plane; words and rows of the selection follow."""
    page = keys.page
    keys.find("t-SNE/UMAP", "embeddings")
    page.locator(".st-key-figure-embedding canvas").wait_for()
    settled(page)
    keys.reach("points. Dragging")
    keys.press("Enter")
    page.get_by_text("What the selection holds").wait_for()
    assert chosen(page) > 20


def test_a_korean_sentence(keys: Keys) -> None:
    assert keys.ask("배우들은 훌륭했지만 이야기가 너무 지루했어요.")
    assert "korean" in keys.page.url or "korean/e5" in keys.page.locator("[data-testid=stMain]").inner_text()


def test_a_phone_in_the_dark(keys: Keys) -> None:
    """With a keyboard at a narrow window, the sentence is answered, too."""
    keys.page.set_viewport_size({"width": 390, "height": 844})
    keys.page.emulate_media(color_scheme="dark")
    settled(keys.page)
    assert keys.ask("Not bad at all.").startswith("Positive")
    keys.page.emulate_media(color_scheme="light")


def test_two_runs_to_a_verdict(keys: Keys) -> None:
    page = keys.page
    keys.find("compare models", "comparison")
    keys.choose("^Model", "sst2/ndt-unit-2")
    page.wait_for_url(re.compile("ndt-unit-2"))
    page.locator("h4").first.wait_for()
    settled(page)
    keys.reach("Beside it")
    keys.press("Backspace")
    page.get_by_text("Choose at least one more model").wait_for()
    settled(page)
    keys.choose("Beside it", "sst2/vanilla-matched")
    keys.press("Escape")
    page.locator("h4", has_text="sst2/vanilla-matched").wait_for()
    settled(page)
    assert keys.download(r"Report, one page \(PDF\)").startswith(b"%PDF-")


def test_from_an_own_file_to_its_rows(keys: Keys, tmp_path: Path) -> None:
    """A file with predictions is brought, its answers are chosen, the weakest slice is opened, and its rows leave as a file.

    The file itself is chosen in the window of the system, which Chromium opens by Enter.
    """
    file, page = tmp_path / "answers.csv", keys.page
    texts = [f"A {'warm' if k % 2 else 'dull'} film{', with a battery' if k % 4 == 0 else ''}, number {k}." for k in range(400)]
    frame = pd.DataFrame({"text": texts, "label": ["negative", "positive"] * 200})
    frame.assign(prob=[0.9 if k % 4 in (0, 1, 3) else 0.2 for k in range(400)]).to_csv(file, index=False)
    keys.find("upload a file", "yours")
    page.locator("[data-testid=stFileUploader]").wait_for()
    settled(page)
    keys.reach(r"^upload\s+Upload$|^Browse files", "button")
    with page.expect_file_chooser() as chooser:
        keys.press("Enter")
    chooser.value.set_files(str(file))
    page.get_by_role("button", name="Show the mistakes").wait_for()
    settled(page)
    keys.reach("Show the mistakes")
    keys.press("Enter")
    page.get_by_role("radiogroup", name="The file has predictions. Whose answers shall be judged?").wait_for()
    settled(page)
    keys.reach("", "radio")
    keys.press("Space")
    weakest = page.locator(".st-key-weakest button").first
    weakest.wait_for()
    settled(page)
    keys.reach("or more words", "button")
    keys.press("Enter")
    page.locator(".st-key-one-row").wait_for()
    settled(page)
    keys.reach("Next mistake")
    keys.press("Enter")
    settled(page)
    assert "battery" in page.locator(".st-key-one-row [data-testid=stText]").first.inner_text()
    keys.reach("CSV", back=True)
    assert b"battery" in keys.download("CSV")
