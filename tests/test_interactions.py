"""The picture of interactions: its numbers, layouts, arcs and captions."""

from __future__ import annotations

from typing import Any

import pytest

from sentviz.analysis.explain.exact import exact
from sentviz.charts import Figure
from sentviz.runs.target import Target
from tests.charts import figure_of, stub
from tests.kit import planted_model


def drawn_of(result: Any) -> Figure:
    """Return the figure of exact values."""
    return figure_of("exact", stub(once=lambda key, compute: result))


def test_the_caption_says_what_is_absent_and_what_the_values_sum_to() -> None:
    model = planted_model(lambda there: 3 * there("not") * there("dull") - 2 * there("dull"))
    trace = model.trace("it is not dull").for_target(Target("positive"))
    drawn = drawn_of(exact(model, trace))
    for part in ("by +2.00, apart by −4.00.", "the pair adds +6.00 beyond", "f(text) − f(empty text) = 2.00 − (0.00) = 2.00"):
        assert part in drawn.caption
    assert drawn.frame["number"].tolist()[3] == pytest.approx(-1)
    assert "replaced by [UNK]" in drawn_of(exact(model, trace, absent="masked", measure="probability")).caption
    flat = planted_model(lambda there: 0 * there("song") + 1.0)
    assert drawn_of(exact(flat, flat.trace("a song"))).caption.startswith("The model gives the same prediction for every subset")
    assert drawn_of(exact(model, model.trace("dull"))).caption.startswith("The text has only one word, which has the complete value.")
    adding = planted_model(lambda there: 2 * there("warm") + there("song"))
    assert exact(adding, adding.trace("a warm song")).summary.startswith("The effects nearly add up")
