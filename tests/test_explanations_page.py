"""Tests of the page Explanations, the line on Explore that says how far to believe a method, and scores pasted from other tools."""

from __future__ import annotations

import json

import pytest
from streamlit.testing.v1 import AppTest

from sentviz.analysis.explain import SCORES
from sentviz.analysis.explain.exact import exact
from sentviz.analysis.explain.exact_comparison_table import found_first, has_referee
from sentviz.analysis.explain.measured import flips_of
from sentviz.io.numbers import percent
from sentviz.models.loading import load
from sentviz.runs.catalog import study_runs
from sentviz.runs.store import SHIPPED, find
from tests.kit import opened, page_text

pytestmark = pytest.mark.slow
RUN, TEXT = "sst2/ndt-unit-2", "A slow start, but a quiet delight."


@pytest.mark.exhaustive
def test_the_page_names_methods_to_believe_and_methods_at_chance() -> None:
    """The heading names the best quick methods; measures can be chosen; claims have a verdict on each run."""
    app = _unfolded(RUN)
    assert not app.exception and "the most decisive word most often" in page_text(app)
    assert "short texts with a negation" in page_text(app)
    assert "the search finds an edit of one word" in page_text(app) and "the search is certain" not in page_text(app)
    known = flips_of(find("english/minilm")).set_index("metric").loc["known"]
    sentence = f"For {percent(known['value'], 0, ends=(known['low'], known['high']))} the search is certain whether one word is enough"
    assert known["value"] < 1 and sentence in page_text(_unfolded("english/minilm"))
    app.session_state["settings"].values["metric"] = "signs"
    app.session_state["referee-claims"] = app.session_state["referee-models"] = True
    app.run()
    assert not app.exception and "right sign" in page_text(app)
    assert sum("Test: " in line for line in page_text(app).split("\n")) == 3


def _unfolded(run: str) -> AppTest:
    """Return the page with the faithfulness on texts of any length."""
    app = opened("explanations", run=run)
    app.session_state["any-length"] = True
    return app.run()


@pytest.mark.exhaustive
def test_a_run_without_a_comparison_shows_its_faithfulness() -> None:
    """A run that was never compared with exact values has no heading, and its faithfulness stands alone."""
    run = next(run for run in study_runs([SHIPPED]).runs if not has_referee(run) and run.has_weights)
    app = opened("explanations", run=run.name)
    assert not app.exception and "faith" in page_text(app).lower()


@pytest.mark.exhaustive
def test_explore_orders_methods_as_measured_and_says_how_far_to_believe_each() -> None:
    """The list begins with exact values and follows the measured order; gradient × input is called no better than random."""
    app = opened(run=RUN, text=TEXT, score="gradient")
    box = next(box for box in app.selectbox if box.key == "focus-score")
    shares = found_first(find(RUN))
    offered = [name for name in shares if any(option.startswith(_title(name)) for option in box.options)]
    places = [next(i for i, option in enumerate(box.options) if option.startswith(_title(name))) for name in offered]
    assert box.options[0] == "Exact Shapley values" and places == sorted(places) and len(offered) > 8
    assert any(option.endswith("at chance") for option in box.options)
    trust = next(each for each in app.caption if each.value.startswith("Trust in these words"))
    assert "this method is no better than random" in trust.help.replace("\\", "")


def _title(name: str) -> str:
    return SCORES[name].title


@pytest.mark.exhaustive
def test_pasted_scores_are_judged() -> None:
    """Exact values are believed and inverted ones are not; each bad input gets one sentence."""
    app = opened("attention", run=RUN, text=TEXT, look="scores")
    field = app.text_area(key="judge-scores")
    assert "Paste the scores for this sentence" in page_text(app)
    model = load(find(RUN))
    truth = exact(model, model.trace(TEXT))
    scores = [(player.text, round(value, 3)) for player, value in zip(truth.players, truth.values.tolist(), strict=True)]
    field.set_value(json.dumps(scores)).run()
    assert not app.exception and "These scores explain this prediction well." in page_text(app)
    app.text_area(key="judge-scores").set_value(json.dumps([(word, -value) for word, value in scores])).run()
    assert "These scores do not explain this prediction." in page_text(app)
    app.text_area(key="judge-scores").set_value("slow -1").run()
    assert not app.exception and "What was pasted is not JSON" in page_text(app)
    app.text_area(key="judge-scores").set_value('[["zebra", 1], ["crossing", 2]]').run()
    assert not app.exception and len(app.warning) == 1
