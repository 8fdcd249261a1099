"""A sample of `python -m tools.accessible`: axe-core checks pages by WCAG 2.2 AA, and a visitor uses the keyboard alone."""

from typing import Any

import pytest

from tools.accessible import findings, overflowing, settled_at

pytest.importorskip("axe_playwright_python", reason="axe-core is not installed")


WIDE, PHONE = 1440, 390
SAMPLE = [("", "dark", WIDE), ("claims", "light", WIDE), ("embeddings", "dark", WIDE), ("runs", "light", WIDE)]
SAMPLE += [("causes", "dark", PHONE), ("lambdas", "light", PHONE)]
EDGE = "node => getComputedStyle(node.closest('[data-testid=stTextInputRootElement]')).borderColor"


@pytest.mark.parametrize(("view", "theme", "width"), SAMPLE)
def test_nothing_serious_is_found(view: str, theme: str, width: int, page: Any, server: str) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=theme)
    settled_at(page, f"{server}/{view}")
    grave = [finding for finding in findings(page) if finding.grave]
    page.emulate_media(color_scheme="light")
    assert not grave, grave


def test_what_is_wrong_is_found(page: Any, server: str) -> None:
    page.set_viewport_size({"width": 720, "height": 900})
    settled_at(page, f"{server}/glossary")
    assert not [finding for finding in findings(page) if finding.grave] and not overflowing(page)
    page.evaluate(
        """() => document.querySelector('[data-testid="stMainBlockContainer"]').insertAdjacentHTML('afterbegin',
          '<p style="color: #bbb; background: #fff">faint</p><button></button><div style="width: 2000px; height: 4px"></div>')"""
    )
    assert {"color-contrast", "button-name"} <= {finding.rule for finding in findings(page) if finding.grave}
    assert overflowing(page)


def test_colours_follow_a_switch_of_the_theme_at_once(page: Any, server: str) -> None:
    settled_at(page, f"{server}/fused?part=items")
    page.emulate_media(color_scheme="dark")
    page.wait_for_function("getComputedStyle(document.querySelector('.stApp')).colorScheme === 'dark'")
    grave = [finding for finding in findings(page) if finding.grave]
    page.emulate_media(color_scheme="light")
    assert not grave, grave


def test_a_question_is_asked_and_answered_by_keyboard_alone(page: Any, server: str) -> None:
    settled_at(page, f"{server}/?run=sst2%2Fndt-unit-2")
    sentence = page.get_by_role("textbox", name="Sentence")
    plain = sentence.evaluate(EDGE)
    page.locator("body").press("Tab")
    for _ in range(40):
        if sentence.evaluate("node => node === document.activeElement"):
            break
        page.keyboard.press("Tab")
    page.wait_for_timeout(300)
    assert sentence.evaluate(EDGE) != plain
    page.keyboard.press("Control+a")
    page.keyboard.type("A dull and clumsy evening.")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Negative").wait_for()
