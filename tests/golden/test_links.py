"""A link opens what a visitor saw: going back and forward on a page, and the link that a click makes.

Nothing is stored here: going back must show the outline in `tests/golden/pages`, and the link of a click what the click showed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from difflib import unified_diff
from typing import Any

import pytest

from tests.golden.clicking import Page, fresh, is_left_out
from tests.golden.controls import controls, operate
from tests.golden.test_clicks import own_home  # noqa: F401 - a fixture
from tests.golden.test_pages import BARS, LATER, NDT, OUTLINES, VIEWS, compare_outline, outline
from tests.test_app import SHIPPED, opened
from tests.test_fresh import sane

pytestmark = [SHIPPED, pytest.mark.slow]
KEPT = ("explore", "hardmax-run-toy-hardmax-d2-lab-review", "cls")
"""Beginnings of the names of views that show what the visitor did before: what was tried, a part, a measure."""
ON_PAGE: dict[str, list[str]] = defaultdict(list)  # page -> names of its views
for _name, (_page, _) in VIEWS.items():
    if not _name.startswith((*LATER, *KEPT)) and "-text-" not in _name:
        ON_PAGE[_page].append(_name)
SEVERAL = [page for page, names in ON_PAGE.items() if len(names) > 1]
PRESSED = re.compile(r"(?<=bidi_component: )\{.*\}|(?: True| False)(?= #)")
MORE = ("explore", "compare", "embeddings", "cls")
"""Pages of which a link says less than the page after a click: what was tried, the app's own first run, computed layers, a measure."""
CLICKED = [page for page in dict.fromkeys(page for page, _ in VIEWS.values()) if page not in MORE]


@pytest.mark.parametrize("page", SEVERAL)
def test_going_back_and_forward_shows_what_a_link_shows(page: str, small_world: None) -> None:
    """A visit to one view after the other, and back to the first, shows of each what is stored of a new visit."""
    names = ON_PAGE[page]
    visit, wrong = Page(opened(page, **{"run": NDT} | VIEWS[names[0]][1])).settled(), []
    for name in [*names[1:], names[0]]:
        visit.app.query_params = {key: [value] for key, value in ({"run": NDT} | VIEWS[name][1]).items()}
        visit.app.run()
        visit.settled()
        sane(visit.app)
        try:
            compare_outline(name, list(outline(visit.app.main, bars=name in BARS)), bless=False, folder=OUTLINES)
        except AssertionError as error:
            wrong.append(str(error))
    assert not wrong, "\n\n".join(wrong)


def in_link(app: Any) -> dict[str, str]:
    """Return the parameters of the address."""
    return {name: str(value[0] if isinstance(value, list) else value) for name, value in app.query_params.items()}


def lasting(app: Any) -> list[str]:
    """Return the outline of a page without what was just pressed."""
    return [PRESSED.sub("", line) for line in outline(app.main)]


def broken_links(page: str) -> Iterator[str]:
    """Yield each control that changes the address to one that shows something else than the page after the click."""
    first, menus = fresh(page, {"run": NDT}), set[str]()
    start = in_link(first.app)
    for control in list(controls(first.app)):
        if is_left_out(control, menus):
            continue
        for words, fill in list(operate(control)):
            after = first.send(control, fill)
            link, clicked = in_link(after.app), lasting(after.app)
            first.back()
            if link != start:
                now = lasting(Page(opened(page, **link)).settled().app)
                if differences := list(unified_diff(clicked, now, "after the click", "by its link", lineterm="", n=0)):
                    yield "\n".join([f"{control.name}: {words}", *differences[2:12]])


@pytest.mark.parametrize("page", CLICKED)
def test_the_link_of_a_click_shows_what_the_click_showed(page: str, small_world: None, own_home: None) -> None:  # noqa: F811
    broken = list(broken_links(page))
    assert not broken, "\n\n".join(broken)
