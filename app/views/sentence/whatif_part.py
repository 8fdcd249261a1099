"""Interventions: every control, next to the prediction before and after."""

from __future__ import annotations

from typing import Any

import streamlit as st

from app import answers, cache, visit
from app.blocks.sentence import gate_switches, strength
from app.focus import FIELDS
from app.text import md
from sentviz.charts import component_name
from sentviz.io.glossary import tip
from sentviz.io.numbers import probability, signed
from sentviz.runs.configs import AdjustableTerm
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

    def back() -> None:
        visit.go(**{name: field.default for name, field in FIELDS.items() if field.by_hand})

    if not can_change(run):
        return
    is_shown = is_open(run)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", width="content", key="became"):
        if before is not None:
            st.markdown(became(before, trace), width="content")
            help = "Undo all changes of the model"
            st.button("As trained", key="as-trained", type="tertiary", icon=":material/undo:", on_click=back, help=help)
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
        heads = [(layer + 1, head + 1) for layer in range(trace.lambdas.shape[0]) for head in range(len(trace.head_ids))]

        def take() -> None:
            visit.go(off=tuple(sorted(st.session_state["silenced"])))

        st.session_state["silenced"] = [pair for pair in heads if pair in visit.focus().off]
        st.markdown("**Silence heads** · what if a head's output were 0?", help=tip("silenced"))
        choice: dict[str, Any] = {"key": "silenced", "on_change": take, "label_visibility": "collapsed"}
        choice["format_func"] = lambda pair: f"L{pair[0]} H{pair[1]}"
        if len(heads) > MANY:
            st.multiselect("Silence heads", heads, placeholder="choose heads, for example L2 H3", **choice)
        else:
            st.pills("Silence heads", heads, selection_mode="multi", **choice)


def switch(dial: AdjustableTerm) -> None:
    """Draw a switch between a term as trained and no such term."""
    key, changed = f"switch-{dial.term}", dict(visit.focus().strength)

    def take() -> None:
        unchanged = {term: factor for term, factor in changed.items() if term != dial.term}
        visit.go(strength=tuple((unchanged | ({} if st.session_state[key] else {dial.term: 0.0})).items()))

    st.session_state[key] = changed.get(dial.term, 1.0) != 0
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"**{dial.term.capitalize()}** · {dial.asks}", help=tip(dial.tip))
        st.toggle(f"With its {dial.term}", key=key, on_change=take)


def _lambdas(run: Run, trace: Trace) -> None:
    """Draw a slider for every lambda with the buttons learned, off and flip sign."""
    layers, components = trace.lambdas.shape
    focus = visit.focus()
    learned = cache.example(run).lambdas
    changed = {(layer, component): value for layer, component, value in focus.mix}

    def put(layer: int, component: int, value: float | None) -> None:
        mix = dict(changed)
        mix.pop((layer, component), None)
        if value is not None:
            mix[layer, component] = value
        visit.go(mix=tuple((at, c, v) for (at, c), v in sorted(mix.items())))

    def put_all(factor: float | None) -> None:
        pairs = [(at + 1, c + 1) for at in range(layers) for c in range(1, components)]
        values = () if factor is None else tuple((at, c, round(float(factor * learned[at - 1, c - 1]), 4)) for at, c in pairs)
        visit.go(mix=values)

    def slide(layer: int, component: int) -> None:
        put(layer, component, st.session_state[f"lambda-{layer}-{component}"])

    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(
            "**Mixing** · each head adds several maps; λ is the weight of each map after the first.",
            help=tip("lambda") + "\n\n" + tip("constraint"),
        )
        st.button(
            "Learned",
            on_click=put_all,
            args=(None,),
            disabled=not changed,
            key="lambda-learned",
            help="Back to the learned mixing",
        )
        st.button("All off", on_click=put_all, args=(0.0,), key="lambda-off", help="Set every λ to 0, so that only A₁ is used")
        st.button(
            "Flip all signs", on_click=put_all, args=(-1.0,), key="lambda-flip", help="Maps that were added are subtracted, and the reverse"
        )
    cells = [(layer, component) for layer in range(1, layers + 1) for component in range(2, components + 1)]
    for start in range(0, len(cells), 2):
        for column, (layer, component) in zip(st.columns(2), cells[start : start + 2], strict=False):
            with column:
                own = float(learned[layer - 1, component - 1])
                now = changed.get((layer, component), own)
                reach = max(1.0, float(abs(round(2 * own))), abs(now))
                st.session_state[f"lambda-{layer}-{component}"] = float(now)
                st.slider(
                    f"Layer {layer} · λ{component_name(component - 1)[1:]} (learned {signed(own, 3)})",
                    -reach,
                    reach,
                    step=0.01,
                    format="%+.2f",
                    key=f"lambda-{layer}-{component}",
                    on_change=slide,
                    args=(layer, component),
                )
                with st.container(horizontal=True, gap="small"):
                    for name, value in (("learned", None), ("off", 0.0), ("flip sign", -own)):
                        st.button(
                            name,
                            key=f"lambda-{layer}-{component}-{name}",
                            type="tertiary",
                            on_click=put,
                            args=(layer, component, value),
                        )
