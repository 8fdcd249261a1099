"""How the verdict forms, and what each head does."""

from __future__ import annotations

from app import shell, store
from app.views.parts import component_choice, notebook, place
from sentviz.figures.layers import head_table, verdict_lines
from sentviz.gallery import sourced
from sentviz.maps.layers import head_patterns, verdict_by_layer
from sentviz.runs import Run
from sentviz.trace import Trace

__all__ = ["show"]


def show(trace: Trace, run: Run) -> None:
    """The classifier on every layer's states, and the habits of the heads of the component in focus."""
    component = place(shell.focus().component)
    left, right = shell.halves("layers", 0.9, 1.0)
    with left:
        shares = verdict_by_layer(store.model(run), trace)
        shell.figure(
            lambda theme: sourced(verdict_lines(trace.labels, shares, theme=theme), run, trace=trace),
            "verdict-by-layer",
            code=notebook(run, "verdict-by-layer", trace),
        )
    with right:
        component_choice(trace)
        shell.figure(
            lambda theme: sourced(head_table(head_patterns(trace, component), theme=theme), run, trace=trace),
            "head-habits",
            code=notebook(run, "head-habits", trace, component=component),
        )
