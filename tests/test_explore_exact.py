"""Exact values and the choice of a class on Explore."""

from __future__ import annotations

import pytest

from tests.kit import opened, page_text

pytestmark = pytest.mark.slow
TEXT = "A warm but slow film."


@pytest.mark.exhaustive
def test_explore_shows_exact_values_of_a_class() -> None:
    """A link opens exact values of one class against another with a sentence, a figure and all 64 subsets; absent words can be masked."""
    app = opened(run="sst5_trees/sentiformer", text=TEXT, score="exact", target="very positive", against="neutral")
    assert not app.exception and not app.warning
    assert "the log-odds of “very positive” against “neutral”" in page_text(app)
    assert any("All 64 subsets" in each.label for each in app.expander)
    assert app.selectbox(key="focus-target").value == "very positive" and app.selectbox(key="focus-against").value == "neutral"
    assert "Absent words are deleted." in page_text(app)
    (deleted,) = app.session_state["exact"].values()
    app.session_state["settings"].values["absent"] = "masked"
    app.run()
    assert "replaced by" in page_text(app) and deleted in app.session_state["exact"].values()


@pytest.mark.exhaustive
def test_a_class_of_another_run_is_named_and_left_out() -> None:
    """A class that the run does not have is named in one sentence; the page explains the prediction."""
    app = opened(run="sst5_trees/sentiformer", text=TEXT, target="bullish")
    assert not app.exception and "has no class “bullish”" in page_text(app)
    assert app.selectbox(key="focus-target").value == ""


@pytest.mark.exhaustive
def test_slow_exact_values_wait_for_a_button(monkeypatch: pytest.MonkeyPatch) -> None:
    """A button states the time of slow exact values; the words have the colours of removal until then."""
    from app.views.sentence import exact_part

    monkeypatch.setattr(exact_part, "is_quick", lambda model, trace: False)
    app = opened(run="sst2/ndt-unit-2", text=TEXT, score="exact")
    assert not app.exception and not app.session_state["exact"]
    assert any("Compute exact values (about" in each.label for each in app.button)
