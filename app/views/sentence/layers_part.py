"""How the verdict forms, and what each head does."""

from __future__ import annotations

from app import visit
from app.blocks.figure import show_figure
from app.blocks.sentence import component_choice, place, sentence_of
from app.text import halves
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace


def show(trace: Trace, run: Run) -> None:
    """The classifier on every layer's states, and the habits of the heads of the component in focus."""
    of = sentence_of(run, trace)
    left, right = halves("layers", 0.9, 1.0)
    with left:
        show_figure("verdict-by-layer", of)
    with right:
        component_choice(trace)
        show_figure("head-habits", of, component=place(visit.focus().component))
