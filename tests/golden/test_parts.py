"""Parts of pages show what is stored, and so they do after a click on each of their controls.

`pytest tests/golden --bless` writes `tests/golden/parts`: first the outline, then what each click changes.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from app import cache
from app.server import queue
from app.views.yours import library_part
from sentviz.analysis.testset import behaviour as testset_behaviour
from tests.golden.clicking import Page, forget_work, walk_on
from tests.golden.outlines import STORED, compare_outline
from tests.golden.parts import PARTS
from tests.golden.views import NDT

OUTLINES = STORED.with_name("parts")
OWN = {
    "mine/many/vanilla": SimpleNamespace(name="mine/many/vanilla", config={"data": {"name": "mine/many"}}),
    "adopted/critic": SimpleNamespace(name="adopted/critic", config={"data": {"name": "none"}}),
}


class Line:
    """A queue with two visitors before this one, who leave one after the other; this visitor gets no turn for work called "endless"."""

    def __init__(self, work: str) -> None:
        self.work = work

    @contextmanager
    def turn(self, who: str, report: Any, **_: Any) -> Iterator[Any]:
        for before in (2, 2, 1):
            report(before)
        if self.work == "endless":
            st.stop()
        yield lambda: None


def train_soon(arguments: Any, hear: Any, check: Any) -> None:
    hear({"done": 1, "total": 2})
    hear(
        {
            "compared": [
                {"name": name, "accuracy": share, "low": 0.25, "high": 0.75, "n": 8} for name, share in (("own", 0.5), ("bag", 0.625))
            ]
        }
    )


@pytest.mark.parametrize("name", PARTS)
def test_a_part_shows_what_is_stored(name: str, small_world: None, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.setattr(st, "switch_page", lambda page: st.text(f"opens {page}"))
    monkeypatch.setattr(st, "page_link", lambda page, **how: st.text(f"link {page} {how}"))
    if name == "waiting":
        monkeypatch.setattr(queue, "turns", Line)
    if name == "behaviour":
        card = testset_behaviour.card_of(cache.run(NDT), cache.model(cache.run(NDT)), each=3)
        monkeypatch.setattr(testset_behaviour, "stored_card", lambda run: card)
        monkeypatch.setattr(testset_behaviour, "shipped_rates", lambda spoken: card.frame().assign(model="a model"))
    if name == "library":
        frame = pd.DataFrame({"name": ["mine/many", "mine/few", "sst2"], "labels": "no, yes", "splits": "train 8"})
        monkeypatch.setattr(library_part, "datasets", lambda: frame)
        monkeypatch.setattr(library_part, "bases", lambda: {"minilm": None, "mpnet": None})
        monkeypatch.setattr(library_part, "run_apart", train_soon)
        monkeypatch.setattr(library_part, "own_machine", lambda *_: True)
        monkeypatch.setattr(cache, "runs", lambda: OWN)
    part, app = PARTS[name], AppTest.from_string(f"from tests.golden.parts import PARTS\nPARTS[{name!r}].draw()", default_timeout=30)
    for key, value in part.state().items():
        app.session_state[key] = value
    first = Page(app.run()).settled()
    for step in part.steps:
        first.take(step)
    first.stay()
    compare_outline(name, [*first.lines(), *(walk_on(first) if part.operated else ())], request.config.getoption("--bless"), OUTLINES)
    forget_work()
