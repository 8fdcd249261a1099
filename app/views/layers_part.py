"""How the verdict forms, and what each head does."""

from __future__ import annotations

import streamlit as st

from app import shell, store
from app.views.parts import place
from sentviz.figures import component_name
from sentviz.figures.layers import head_table, verdict_lines
from sentviz.gallery import signed
from sentviz.layers import head_patterns, verdict_by_layer
from sentviz.runs import Run
from sentviz.trace import Trace

__all__ = ["show"]


def show(trace: Trace, run: Run) -> None:
    """The classifier on every layer's states, and the habits of the heads of the component in focus."""
    component = place(shell.focus().component)
    left, right = shell.halves("layers", 0.9)
    with left:
        shares = verdict_by_layer(store.model(run), trace)
        shell.figure(lambda theme: signed(verdict_lines(trace.labels, shares, theme=theme), run), "verdict-by-layer")
    with right:
        names = ["effective", *map(str, range(1, trace.lambdas.shape[1] + 1))] if trace.lambdas.shape[1] > 1 else ["effective"]
        if len(names) > 1:
            shell.choose(
                st.segmented_control,
                "Component",
                "component",
                names,
                format_func=lambda name: component_name(place(name)),
                label_visibility="collapsed",
            )
        shell.figure(lambda theme: signed(head_table(head_patterns(trace, component), theme=theme), run), "head-habits")
