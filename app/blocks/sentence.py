"""Pieces of the sentence pages: which map, the map itself, the interventions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from app import answers, cache, visit
from app.blocks.figure import show_figure
from app.blocks.get_data import offer
from app.fields import LONGEST
from app.focus import MAP, Focus
from app.text import md
from sentviz.analysis.explain.notices import SPOKEN, written_in
from sentviz.charts import component_name
from sentviz.charts.subjects import Sentence
from sentviz.data.texts import BREAK
from sentviz.errors import SentvizError
from sentviz.io.glossary import tip
from sentviz.runs.catalog import best_to_fetch, language, reads_pairs
from sentviz.runs.configs import AdjustableTerm
from sentviz.runs.intervention import Edit
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace

LINE = 120  # characters that a field of one line shows


def run_with_weights() -> Run:
    """Return the run on this page, which has weights; if no installed run has weights, say how to get one and stop the page."""
    run = cache.run(visit.focus().run)
    if not run.has_weights:
        st.info("No installed run has weights. `sentviz runs get sst2/ndt-unit-2` installs one.", icon=":material/inventory_2:")
        st.stop()
    return run


def attends(run: Run) -> bool:
    """Return True if a run has attention maps; otherwise show a note in their place."""
    if not run.capabilities.maps:
        explains = "Word removal and gradients still explain" if run.capabilities.layers else "Word removal still explains"
        st.info(
            f"{md(run.name)} has no attention, so it has no attention map. {explains} its predictions.", icon=":material/visibility_off:"
        )
    return run.capabilities.maps


def place(value: str) -> int | str:
    """Return a choice of the focus as the library counts it: "1" becomes 0, words stay."""
    return int(value) - 1 if value.isdecimal() else value


def sentence_of(run: Run, trace: Trace) -> Sentence:
    """Return the sentence of a trace as the subject of figures; a figure that needs a model gets the app's."""
    of = Sentence.of(run, trace)
    of.load = lambda: cache.model(run)
    return of


def in_lines(text: str) -> str:
    """Return a text as boxes show it: a tag of a line break is a new line."""
    return text.replace(BREAK, "\n")


def sentence_box(run: Run, text: str, pair: str | None, key: str = "sentence") -> None:
    """Draw boxes with the text in focus, for pairs also the second text. A typed text becomes the focus.

    A text of several lines has a field of several lines. A text that is typed keeps the field in which it was typed.
    """
    second, kind = f"{key}-pair", f"{key}-kind"
    if st.session_state.get(kind, ("", False))[0] != text:
        st.session_state[kind] = text, len(text) > LINE or BREAK in text

    def take() -> None:
        typed, is_chosen = st.session_state[key], visit.has_chosen_run() or reads_pairs(run)
        typed = typed.replace("\n", BREAK) if BREAK in text else typed  # The model reads the other breaks as before.
        st.session_state[kind] = typed, st.session_state[kind][1]
        reader = "" if is_chosen else reader_of(typed, run.name)
        visit.go(text=typed, pair=st.session_state.get(second, ""), **({"run": reader} if reader else {}))
        visit.set_run_chosen(visit.has_chosen_run() and not reader)

    common: dict[str, Any] = {"on_change": take, "label_visibility": "collapsed", "max_chars": LONGEST}
    st.session_state[key] = in_lines(text)
    if st.session_state[kind][1]:
        st.text_area("Sentence", key=key, placeholder="Type a text and press Ctrl+Enter", height=130, **common)
    else:
        st.text_input("Sentence", key=key, placeholder="Type a sentence and press Enter", **common)
    if reads_pairs(run):
        st.session_state[second] = pair or ""
        st.text_input("Second sentence", key=second, placeholder="The second sentence of the pair", **common)


def example_buttons(examples: Mapping[str, tuple[str, str]], in_focus: tuple[str, str]) -> None:
    """Draw a button for each example, a text and the second text of a pair, which become the focus; the one that is shown is marked.

    Buttons keep no choice in the browser. The choice of pills may be outdated when it is sent, and would replace what the visitor typed.
    """
    with st.container(horizontal=True, gap="xsmall", width="content", key="examples"):
        for kind, (text, pair) in examples.items():
            marked: Any = "primary" if (text, pair) == in_focus else "secondary"
            st.button(kind, key=f"example-{kind}", type=marked, on_click=visit.go, kwargs={"text": text, "pair": pair})


def texts_in_focus(run: Run) -> tuple[str, str | None]:
    """Return the text in focus, and the second text of a pair. If the row is not available, say how to get its data set and stop."""
    try:
        return answers.texts(visit.focus())
    except SentvizError as error:
        st.warning(md(str(error)), icon=":material/database_off:")
        offer(run.config["data"]["name"], visit.focus().over)
        st.stop()


def open_map(**changes: Any) -> None:
    """Choose a map (from a callback). Of layer, head and component, those that are not in `changes` stay as they are on the page."""
    focus, plain = visit.focus(), Focus()
    place_of_map = {name: getattr(focus, name) for name in MAP} | changes
    is_plain = all(value == getattr(plain, name) for name, value in place_of_map.items())
    visit.go(**place_of_map, large="chosen" if is_plain else "strongest")  # Without "chosen", the plain place is a map that nobody chose.


def map_controls(trace: Trace) -> None:
    """Draw the choice of layer, head and component of the map in focus."""
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        layer_and_head(trace.lambdas.shape[0], len(trace.head_ids))
        component_choice(trace.lambdas.shape[1])


def layer_and_head(layers: int, heads: int) -> tuple[int, int | str]:
    """Draw the choices of a layer and of a head, the mean or the maximum of heads; return both, counted from 0."""
    how: dict[str, Any] = {"label_visibility": "visible", "write": open_map}
    layer = visit.choose(st.selectbox, "Layer", "layer", [str(i + 1) for i in range(layers)], width=90, **how)
    options = ["mean", "max", *(str(i + 1) for i in range(heads))]
    return int(layer) - 1, place(visit.choose(st.selectbox, "Head", "head", options, width=150, format_func=head_title, **how))


def component_choice(components: int, widget: Any = st.segmented_control, **more: Any) -> int | str:
    """Draw the choice of the effective map or one of several components; return it, counted from 0. One component leaves no choice."""
    if components < 2:
        return "effective"
    options = ["effective", *(str(c + 1) for c in range(components))]
    titles = {name: component_name(place(name)) for name in options}
    how: dict[str, Any] = {"label_visibility": "visible", "help": f"{tip('component')}\n\n{tip('effective')}", "write": open_map} | more
    return place(visit.choose(widget, "Component", "component", titles, **how))


def head_title(head: str) -> str:
    """Return the title of a head: "mean of heads" for "mean", "head 1" for "1"."""
    return f"head {head}" if head.isdecimal() else f"{head} of heads"


def class_choice(run: Run, trace: Trace) -> None:
    """Draw the choice of the class that explanations are about, and of the class that it is compared with, for more than two classes."""
    if len(run.labels) < 3:
        return
    focus, labels = visit.focus(), ["", *run.labels]
    explained = focus.target or trace.label
    baselines = ["", *(label for label in run.labels if label != explained)]
    if {focus.target, focus.against} - set(labels):
        st.caption(f"{md(run.name)} has no class “{md(next(n for n in (focus.target, focus.against) if n not in labels))}”.")
    visit.choose(
        st.selectbox, "Class", "target", labels, format_func=lambda label: md(label) or f"for {md(trace.label)} (predicted)", width=220
    )
    visit.choose(
        st.selectbox,
        "Against",
        "against",
        baselines,
        format_func=lambda label: f"against {md(label)}" if label else "against all others",
        width=200,
    )


def map_figure(trace: Trace, run: Run, key: str, **options: Any) -> None:
    """Draw the map in focus as a heatmap, with options of the figure "attention"."""
    focus = visit.focus()
    at: dict[str, Any] = {"layer": focus.layer - 1, "head": place(focus.head), "component": place(focus.component)}
    show_figure("attention", sentence_of(run, trace), key, **at, **options)


def strength(dial: AdjustableTerm) -> None:
    """Show a slider for the strength of a term, with buttons for the trained value and 0."""
    key, change = f"strength-{dial.term}", visit.focus().change

    def put(value: float) -> None:
        visit.go(change=change.with_(Edit("term", name=dial.term, to=value)))

    def take() -> None:
        put(round(float(st.session_state[key]), 2))

    st.session_state[key] = now = change.strength.get(dial.term, 1.0)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"**{dial.term.capitalize()}** · {dial.asks}", help=tip(dial.tip))
        st.slider(
            "Strength",
            min(0.0, now),
            max(5.0, now),
            step=0.1,
            format="× %.1f",
            key=key,
            on_change=take,
            label_visibility="collapsed",
            width=240,
        )
        back: dict[str, Any] = {"type": "tertiary", "on_click": put}
        st.button("trained", key=f"{key}-trained", args=(1.0,), disabled=now == 1, help="The strength used in training", **back)
        st.button("off", key=f"{key}-off", args=(0.0,), disabled=now == 0, help=f"Without the {dial.term}", **back)


def gate_switches(trace: Trace) -> None:
    """Draw the choice of tokens whose gate is open or shut in every layer."""
    change = visit.focus().change

    def take(key: str, value: float) -> None:
        visit.go(change=change.exactly("gate", ((place,) for place in st.session_state[key]), value))

    st.markdown("**Gates of tokens** · what if their gates were fully open, or shut?", help=tip("gate"))
    with st.container(horizontal=True, gap="small"):
        for state, mark, value, now in (("open", "○", 1.0, change.gates_open), ("shut", "●", 0.0, change.gates_shut)):
            st.session_state[f"gates-{state}"] = list(now)
            st.multiselect(
                f"{mark} {state}",
                range(len(trace.tokens)),
                format_func=lambda place: f"{place + 1} · {trace.tokens[place]}",
                placeholder="choose tokens",
                key=f"gates-{state}",
                on_change=take,
                args=(f"gates-{state}", value),
                width=260,
            )


def reader_of(text: str, name: str) -> str:
    """Return the run for the language of a text, the default one or the best; "" if the run called `name` reads it, or no run does."""
    spoken, run, default = written_in(text), cache.runs().get(name), cache.run(cache.default_run())
    if not spoken or run is None or spoken == language(run):
        return ""
    return default.name if language(default) == spoken else cache.best_run(spoken)


def offer_reader(run: Run, text: str) -> None:
    """Draw a button to a run that reads the language of a text, if this run does not, or else the command that fetches such a run."""
    spoken = written_in(text)
    if not spoken or spoken == language(run):
        return
    if not (reader := cache.best_run(spoken)):
        name, size = best_to_fetch(spoken)
        if name:
            st.caption(f"`sentviz runs get {name}` ({size / 1e6:.0f} MB) installs a run that reads {SPOKEN[spoken]}.")
    elif st.button(f"Use {md(reader)}, which reads {SPOKEN[spoken]}", icon=":material/translate:", key="reader"):
        visit.go(run=reader)
        st.rerun()
