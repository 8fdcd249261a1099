"""Gates and position signals of each token: how far its gate is open in every layer, and the parts of its position."""

from __future__ import annotations

import streamlit as st

from app import answers, cache, visit
from app.blocks.figure import show_figure
from app.blocks.sentence import gate_switches, sentence_of, strength
from app.text import halves, md
from sentviz.io.glossary import tip
from sentviz.runs.configs import GATE
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace

NEXT = {"": "shut", "shut": "open", "open": ""}  # state of a gate after a click, by its state before


def show(trace: Trace, run: Run) -> None:
    """Draw gates and position signals, each if the run has them; show a note for a model with neither."""
    has = run.capabilities
    if not (has.gate or has.aware):
        having = [name for name, each in cache.models().items() if each.capabilities.gate or each.capabilities.aware]
        some = (
            f" Runs with gates: {', '.join(having[:6])}."
            if having
            else " `sentviz train sst5_trees --model sentiformer` trains a run with gates."
        )
        st.info(
            f"{md(run.name)} has no gates, and its positions have only one part.{md(some) if having else some}",
            icon=":material/door_open:",
        )
        return
    if has.gate:
        strength(GATE)
        gate_switches(trace)
    _before(trace)
    drawn = [draw for draw, there in ((_gates, has.gate), (_positions, has.aware)) if there]
    for column, draw in zip(halves("gates"), drawn, strict=False):
        with column:
            draw(trace, run)


def _before(trace: Trace) -> None:
    """Show the prediction of the trained model next to the one on the page, if there are interventions."""
    focus = visit.focus()
    plain = focus.as_trained()
    if plain == focus:
        return
    before = answers.trace(plain, scored=False)
    moved = [
        f"{md(label)} {old:.1%} → **{new:.1%}**"
        for label, old, new in zip(trace.labels, before.probabilities.tolist(), trace.probabilities.tolist(), strict=True)
    ]
    st.markdown(f"As trained **{md(before.label)}**, as changed **{md(trace.label)}** · {', '.join(moved)}")


def _gates(trace: Trace, run: Run) -> None:
    layers = len(trace.layer_ids)

    def take() -> None:
        points = st.session_state["plot-gates"]["selection"]["points"]
        if points:
            place, now = int(points[0]["point_index"]) // layers + 1, dict(visit.focus().gates)
            now[place] = NEXT[now.get(place, "")]
            visit.go(gates=tuple(sorted((at, state) for at, state in now.items() if state)))

    show_figure("gates", sentence_of(run, trace), on_select=take)
    st.caption(
        "Click a token to shut its gate. Click again to open the gate, and a third time to restore the trained gate.", help=tip("gate")
    )


def _positions(trace: Trace, run: Run) -> None:
    show_figure("positions", sentence_of(run, trace))
    st.caption(
        "These position signals are added to the embedding of each token before the first layer.",
        help=f"{tip('aware-positions')}\n\n{tip('tag')}",
    )
