"""Tests of the page Explanations, the line on Explore that says how far to believe a method, and scores pasted from other tools."""

from __future__ import annotations

import json

import pytest

from sentviz.analysis.explain.exact import exact
from sentviz.models.loading import load
from sentviz.runs.store import find
from tests.kit import opened, page_text

pytestmark = pytest.mark.slow
RUN, TEXT = "sst2/ndt-unit-2", "A slow start, but a quiet delight."


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
