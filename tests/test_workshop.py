"""The attention workshop's pages with Streamlit's AppTest, on the runs that ship."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app import cache
from app.focus import choices
from sentviz.analysis.explain import SCORES
from sentviz.errors import DataMissingError
from tests.kit import RUN, SHIPPED, opened, words
from tests.shipped import often

pytestmark = [pytest.mark.slow, SHIPPED]


@pytest.mark.exhaustive
@pytest.mark.parametrize("look", choices("look"))
@pytest.mark.parametrize("run", [RUN, "sst2/diff", "sst2/vanilla"])
def test_every_part_of_the_attention_page_stands(look: str, run: str) -> None:
    """Every part opens for mixed, signed and plain maps, and is in the URL."""
    app = opened("attention", look=look, run=run)
    assert not app.error
    assert app.query_params.get("look", "maps") == look


@pytest.mark.exhaustive
@pytest.mark.parametrize("look", choices("look"))
@pytest.mark.parametrize(
    "text", often(["?", "wonderful " * 150, "<script>alert(1)</script> $x$ **b**", "😀 مرحبا"], "<script>alert(1)</script> $x$ **b**")
)
def test_odd_texts_are_no_trouble_for_any_part(look: str, text: str) -> None:
    """One token, hundreds of tokens, markup, emoji and right-to-left text give a view or one sentence."""
    app = opened("attention", look=look, text=text)
    assert not app.exception, app.exception
    assert "<script>" not in words(app)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [name for name, method in SCORES.items() if not method.package])
def test_every_score_colours_the_strip(name: str) -> None:
    app = opened(score=name)
    assert not app.warning, [w.value for w in app.warning]
    assert app.selectbox(key="focus-score").value == name


@pytest.mark.exhaustive
def test_a_pinned_sentence_stands_beside_the_next() -> None:
    """After pinning and changing a word both answers and the change are shown; unpinning removes them."""
    app = opened()
    app.button(key="pin").click().run()
    app.text_input(key="sentence").set_value("The plot drags in places, but the two leads are a loud horror.").run()
    assert not app.exception, app.exception
    text = words(app)
    assert "**Pinned**" in text
    assert "**Current**" in text
    app.button(key="unpin").click().run()
    assert "**Pinned**" not in words(app)


@pytest.mark.exhaustive
def test_a_silenced_head_changes_the_answer_its_map_and_the_url() -> None:
    """The pill sets the focus, the notice names the head, and the map of the silenced head is empty."""
    app = opened(whatif="open", head="2")
    before = words(app)
    pills = next(item for item in app.button_group if item.key == "silenced")
    pills.set_value([(0, 1)]).run()
    assert not app.exception, app.exception
    assert app.query_params["change"] == "head:1.2=0"
    assert "head 2 of layer 1 is silenced" in words(app)
    assert words(app) != before
    assert app.session_state["tries"][-1]["changed"] == "layer 1 head 2 off"


@pytest.mark.exhaustive
def test_the_controls_are_folded_until_they_are_wanted() -> None:
    """A button opens and closes them; of a changed model, one line shows the effect, with the way back."""
    app = opened(off="1.2")
    assert not [item for item in app.button_group if item.key == "silenced"]
    assert "now **" in words(app) and "head 2 of layer 1 is silenced" in words(app)
    app.button(key="what-if").click().run()
    assert app.query_params["whatif"] == "open" and [item for item in app.button_group if item.key == "silenced"]
    app.button(key="as-trained").click().run()
    assert "change" not in app.query_params and "as-trained" not in [button.key for button in app.button]
    app.button(key="what-if").click().run()
    assert "whatif" not in app.query_params and not [item for item in app.button_group if item.key == "silenced"]


@pytest.mark.exhaustive
def test_changes_can_hold_for_the_pinned_sentence_too() -> None:
    """With the toggle the pinned sentence has the answer of the changed model; without it, the one from when it was pinned."""
    app = opened(whatif="open")
    app.button(key="pin").click().run()
    app.text_input(key="sentence").set_value("A poor film.").run()
    app.button(key="lambda-off").click().run()
    app.toggle(key="change-both").set_value(False).run()
    pinned = next(item.value for item in app.markdown if item.value.startswith("**Pinned**"))
    app.toggle(key="change-both").set_value(True).run()
    assert not app.exception, app.exception
    changed = next(item.value for item in app.markdown if item.value.startswith("**Pinned**"))
    assert changed != pinned


@pytest.mark.exhaustive
def test_what_was_tried_is_kept_for_this_visit() -> None:
    app = opened()
    for text in ("A fine film.", "A poor film."):
        app.text_input(key="sentence").set_value(text).run()
    tried = app.session_state["tries"]
    assert [row["text"] for row in tried][-2:] == ["A fine film.", "A poor film."]
    assert len(opened().session_state["tries"]) == 1


def test_the_glossary_finds_a_word() -> None:
    app = opened("glossary")
    everything = len(app.latex)
    app.text_input(key="focus-find").set_value("leader").run()
    assert 0 < len(app.latex) < everything
    app.text_input(key="focus-find").set_value("no such **word**").run()
    assert "no such" in words(app)


@pytest.mark.exhaustive
def test_explanations_are_ranked_or_say_how_to_measure() -> None:
    """A run with measured faithfulness shows it; another one names the command."""
    app = opened("explanations", run=RUN)
    assert not app.exception
    assert "Word removal" in words(app) or "sentviz faithfulness" in words(app)


@pytest.mark.exhaustive
def test_a_live_page_is_written_once_after_a_click(monkeypatch: pytest.MonkeyPatch) -> None:
    """Explore writes the page of its run, keeps it for all visitors without their sentences, and says in one sentence why there is none."""
    calls = []

    def write(run: Any, out: Path, *, int8: bool) -> dict[str, Any]:
        calls.append((run.name, int8))
        if len(calls) == 1:
            raise DataMissingError("the registry <b>is away</b>")
        out.write_text("x" * 1_000_000)
        return {"models": [{"cost": {"same": 0.99, "n": 500}}]}

    monkeypatch.setattr("sentviz.serving.live.page.live_page", write)
    cache.live_page.clear()
    app = opened(run=RUN, text="warm and kind")
    app.button_group(key="export-what").set_value("live").run()
    app.button(key="live-page").click().run()
    assert any("the registry" in warning.value for warning in app.warning) and not app.exception
    for _ in range(2):
        app.button(key="live-page").click().run()
        assert "Save (1 MB)" in {button.proto.label for button in app.get("download_button")}
    assert calls == [(RUN, False)] * 2 and any("for 99.0\u00a0% of 500 test rows" in caption.value for caption in app.caption)
    cache.live_page.clear()
    monkeypatch.setattr(cache, "LARGE", 1_000)
    app.button(key="live-page").click().run()
    assert any("too large to write here" in warning.value for warning in app.warning) and len(calls) == 2
