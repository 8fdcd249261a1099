"""Interventions: every control, next to the prediction before and after."""

from __future__ import annotations

from typing import Any

import streamlit as st

from app import answers, cache, visit
from app.blocks.sentence import gate_switches, strength
from app.text import md
from sentviz.charts import component_name
from sentviz.io.glossary import tip
from sentviz.io.numbers import probability, signed
from sentviz.runs.configs import AdjustableTerm
from sentviz.runs.intervention import UNCHANGED, Edit
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace

MANY = 24  # number of heads above which they are chosen from a list
WHAT_IF = ("folded", "open")  # states of the controls, as links name them


def as_trained() -> Trace | None:
    """Return the trace of the text in focus without interventions; None if there are none.

    Raises:
        SentvizError: in one sentence for the visitor.
    """
    plain = visit.focus().as_trained()
    return None if plain == visit.focus() else answers.trace(plain, scored=False)


def became(before: Trace, now: Trace) -> str:
    """Return the effect of an intervention in markdown, such as "Positive: was 94 %, now 61 %."."""
    if before.label == now.label:
        return f"{md(now.label.capitalize())}: was {_share(before)}, now {_share(now)}."
    return f"Was {md(before.label)}, {_share(before)}, now {md(now.label)}, {_share(now)}."


def _share(trace: Trace) -> str:
    return f"**{md(probability(trace.confidence))}**"


def is_open(run: Run) -> bool:
    """Return whether the controls of a run that can be changed are open; at first they are folded to a button."""
    value = visit.page_value("whatif", WHAT_IF[0], lambda text: text if text in WHAT_IF else None)
    return can_change(run) and value == WHAT_IF[1]


def can_change(run: Run) -> bool:
    """Return whether a visitor can change anything in a run's model."""
    has = run.capabilities
    return bool(has.lambdas or has.dials or has.switches or has.silence)


def folded(run: Run, trace: Trace, before: Trace | None) -> None:
    """Draw one line: the effect of the interventions, the button back to the trained model, and the button that opens the controls."""
    if not can_change(run):
        return
    is_shown = is_open(run)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", width="content", key="became"):
        effect = st.empty()  # Without an effect, none of the sentence before stays on the page.
        if before is not None:
            effect.markdown(became(before, trace), width="content")
            back: dict[str, Any] = {"on_click": visit.go, "kwargs": {"change": UNCHANGED}, "help": "Undo all changes of the model"}
            st.button("As trained", key="as-trained", type="tertiary", icon=":material/undo:", **back)
        label, help = ("Close", "Hide the controls") if is_shown else ("What if?", "Change the model and see how the prediction changes")
        st.button(
            label, key="what-if", icon=":material/experiment:", on_click=visit.go, kwargs={"whatif": WHAT_IF[not is_shown]}, help=help
        )


def interventions(run: Run, trace: Trace) -> None:
    """Draw sliders for lambdas and strengths, and the choice of gates and silenced heads; prediction, scores and maps follow them."""
    has = run.capabilities
    with st.container(border=True, key="interventions"):
        st.markdown("**What if?** Change the model and see how the prediction changes.")
        if has.lambdas:
            _lambdas(run, trace)
        for dial in has.dials:
            strength(dial)
        for dial in has.switches:
            switch(dial)
        if has.gate:
            gate_switches(trace)
        if not has.silence:
            return
        heads = [(layer, head) for layer in range(trace.lambdas.shape[0]) for head in range(len(trace.head_ids))]
        change = visit.focus().change

        def take() -> None:
            visit.go(change=change.exactly("head", st.session_state["silenced"]))

        st.session_state["silenced"] = list(change.heads_off)
        st.markdown("**Silence heads** · what if a head's output were 0?", help=tip("silenced"))
        choice: dict[str, Any] = {"key": "silenced", "on_change": take, "label_visibility": "collapsed"}
        choice["format_func"] = lambda pair: f"L{pair[0] + 1} H{pair[1] + 1}"
        if len(heads) > MANY:
            st.multiselect("Silence heads", heads, placeholder="choose heads, for example L2 H3", **choice)
        else:
            st.pills("Silence heads", heads, selection_mode="multi", **choice)


def switch(dial: AdjustableTerm) -> None:
    """Draw a switch between a term as trained and no such term."""
    key, change = f"switch-{dial.term}", visit.focus().change

    def take() -> None:
        visit.go(change=change.with_(Edit("term", name=dial.term, to=float(st.session_state[key]))))

    st.session_state[key] = change.strength.get(dial.term, 1.0) != 0
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"**{dial.term.capitalize()}** · {dial.asks}", help=tip(dial.tip))
        st.toggle(f"With its {dial.term}", key=key, on_change=take)


def _lambdas(run: Run, trace: Trace) -> None:
    """Draw a slider for every lambda with the buttons learned, off and flip sign."""
    layers, components = trace.lambdas.shape
    change, learned = visit.focus().change, cache.example(run).lambdas
    cells = [(layer, component) for layer in range(layers) for component in range(1, components)]

    def put(*edits: Edit) -> None:
        visit.go(change=change.with_(*edits))

    def scaled(factor: float, *at: tuple[int, int]) -> tuple[Edit, ...]:
        return tuple(Edit("lambda", cell, to=float(f"{factor * learned[cell]:.4g}") + 0.0) for cell in at)

    def slide(cell: tuple[int, int], key: str) -> None:
        put(Edit("lambda", cell, to=st.session_state[key]))

    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(
            "**Mixing** · each head adds several maps; λ is the weight of each map after the first.",
            help=tip("lambda") + "\n\n" + tip("constraint"),
        )
        st.button(
            "Learned",
            on_click=visit.go,
            kwargs={"change": change.without("lambda")},
            disabled=not change.lambdas,
            key="lambda-learned",
            help="Back to the learned mixing",
        )
        st.button("All off", on_click=put, args=scaled(0.0, *cells), key="lambda-off", help="Set every λ to 0, so that only A₁ is used")
        help = "Maps that were added are subtracted, and the reverse"
        st.button("Flip all signs", on_click=put, args=scaled(-1.0, *cells), key="lambda-flip", help=help)
    for start in range(0, len(cells), 2):
        for column, cell in zip(st.columns(2), cells[start : start + 2], strict=False):
            with column:
                own, key = float(learned[cell]), f"lambda-{cell[0] + 1}-{cell[1] + 1}"
                st.session_state[key] = now = float(change.lambdas.get(cell, own))
                reach = max(1.0, float(abs(round(2 * own))), abs(now))
                st.slider(
                    f"Layer {cell[0] + 1} · λ{component_name(cell[1])[1:]} (learned {signed(own, 3)})",
                    -reach,
                    reach,
                    step=0.01,
                    format="%+.2f",
                    key=key,
                    on_change=slide,
                    args=(cell, key),
                )
                with st.container(horizontal=True, gap="small"):
                    back: dict[str, Any] = {"on_click": visit.go, "kwargs": {"change": change.without("lambda", cell)}}
                    st.button("learned", key=f"{key}-learned", type="tertiary", **back)
                    for name, factor in (("off", 0.0), ("flip sign", -1.0)):
                        st.button(name, key=f"{key}-{name}", type="tertiary", on_click=put, args=scaled(factor, cell))
