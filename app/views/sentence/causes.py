"""Find the states inside the model that carry the prediction from one sentence to another: patching."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import answers, cache, visit
from app.blocks.boundary import boundary
from app.blocks.control import control
from app.blocks.figure import OnPick, Picked, show_figure
from app.blocks.sentence import class_choice, run_with_weights, sentence_box, sentence_of, texts_in_focus
from app.fields import LONGEST
from app.server.queue import turn
from app.text import halves, intro, md
from sentviz.analysis.causal.patching import Pair
from sentviz.charts.circuits import circuit_of
from sentviz.charts.patching import BY_PART, BY_TOKEN, average_of, epochs_of, flipped, map_of, pair_of
from sentviz.charts.subjects import Sentence
from sentviz.errors import SentvizError
from sentviz.io.glossary import tip
from sentviz.io.numbers import percent, signed
from sentviz.runs.intervention import Edit
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace

RESETS = ("run", "text", "row", "second")
LONGEST_PATH = 12  # cells of a path
NAMES = {
    "state": "states",
    "residual": "after attention",
    "feedforward": "feed-forward",
    "head": "head outputs",
    "value": "value vectors",
    "component": "components",
}
DIRECTIONS = {"bring": "Second into first: what brings its answer?", "break": "First into second: what breaks its answer?"}


def second_box(run: Run, trace: Trace) -> None:
    """Draw the box of the second sentence, with the buttons that fill it."""

    def take() -> None:
        visit.go(second=st.session_state["second-sentence"])

    st.session_state["second-sentence"] = visit.focus().second
    label: dict[str, Any] = {
        "label_visibility": "collapsed",
        "placeholder": "A second sentence with another answer: type it, or press the button below",
    }
    st.text_input("Second sentence", key="second-sentence", max_chars=LONGEST, on_change=take, **label)
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        help = "The smallest edit of your sentence that changes the predicted class becomes the second sentence"
        kind: Any = "secondary" if visit.focus().second else "primary"
        if st.button("Use the smallest edit that flips it", icon=":material/swap_horiz:", key="use-flip", type=kind, help=help):
            of = sentence_of(run, trace)
            with boundary("flip", page=True):
                with answers.reasoning(run, trace, "edit") as model, st.spinner("Searching the smallest edit"):
                    of.load = lambda: model
                    text, _ = flipped(of)
                visit.go(second=text)
                st.rerun()
        pinned: Trace | None = st.session_state.get("pinned")
        if pinned is not None and pinned.run != run.name:
            st.caption(f"The pinned sentence was read by {md(pinned.run)}, whose states do not fit {md(run.name)}.")
        elif pinned is not None and pinned.text not in (trace.text, visit.focus().second):
            st.button("Use the pinned sentence", icon=":material/push_pin:", on_click=visit.go, kwargs={"second": pinned.text})


def cells() -> list[Edit]:
    """Return the cells of the path in the order in which they were clicked, without values."""
    text = visit.page_value("path", "", lambda text: text if read_path(text) is not None else None, resets=RESETS)
    return read_path(text) or []


def read_path(text: str) -> list[Edit] | None:
    """Read the cells of a path, as in "head:4.7.3~state:2.5"; None if they cannot be read."""
    try:
        return [Edit.parse(f"{part}=0") for part in text.split("~") if part][:LONGEST_PATH]
    except SentvizError:
        return None


def toggle(what: str, at: tuple[int, ...]) -> None:
    """Add a cell to the path, or remove it."""
    path = [edit.text().partition("=")[0] for edit in cells()]
    name = Edit(what, at).text().partition("=")[0]  # type: ignore[arg-type]
    visit.go(path="~".join([each for each in path if each != name] + [name] * (name not in path)))


def cell_of(point: Picked) -> tuple[int, int]:
    """Return row and column of the clicked cell of a map."""
    _, row, column = point.data
    return int(row), int(column)


def add_cell(what: str, *before: int) -> OnPick:
    """Return what a click on a map does: it adds the cell to the path, or removes it; `before` are the first places of the cell."""
    return lambda point: toggle(what, (*before, *cell_of(point)))


def open_head(point: Picked) -> None:
    """Make the head of a clicked cell the head in focus; a click on another part of the circuit changes nothing."""
    layer, head = cell_of(point)
    if head >= 0:
        visit.go(layer=layer + 1, head=str(head + 1))


def show_path(pair: Pair, of: Sentence) -> None:
    """Draw the cells of the path with their single shares, and their joint effect beside the sum."""
    path = cells()
    st.markdown("##### Path", help="Several cells replaced together. Click cells of the maps by token to add or remove them.")
    if not path:
        st.caption("Click cells of a map by token: they are replaced together, and the joint effect is compared with the sum.")
        return
    try:
        edits = [pair.edit(edit.what, edit.at) for edit in path]
        joint = of.once(("joint", id(pair), tuple(edits)), lambda: pair.joint(edits))
    except SentvizError as error:
        st.caption(md(str(error)))
        st.button("Clear the path", on_click=visit.go, kwargs={"path": ""}, key="clear-path")
        return
    after = joint.probabilities[pair.target[0]]
    st.markdown(
        f"Together **{percent(joint.share, 0)}** of the difference, the sum of the single shares is **{percent(joint.total, 0)}**."
        f" Probability of {md(pair.label)}: {percent(after, 0)}."
    )
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        for edit, share in zip(path, joint.singles, strict=True):
            label = f"{md(pair.says(edit.what, edit.at))} · {percent(share, 0, write=signed)}"
            st.button(label, icon=":material/close:", key=f"path-{edit.text()}", on_click=toggle, args=(edit.what, edit.at))
        st.button("Clear the path", on_click=visit.go, kwargs={"path": ""}, key="clear-path", type="tertiary")


@boundary("sums")
def show_sums(of: Sentence) -> None:
    """Draw what each part of the model adds to the log-odds of the sentence, beside the logit lens."""
    from sentviz.analysis.causal.direct import direct_attribution as direct_of

    st.markdown("##### What each part adds", help=tip("direct-attribution"))
    with st.container(horizontal=True, gap="small"):
        by = control("attribution-direct", "by", "Contributions", name="sums")
        class_choice(of.run, of.trace)
    with answers.reasoning(run, of.trace, "circuit") as model:
        of.once("direct", lambda: direct_of(model, of.trace))
    show_figure("attribution-direct", of, by=by)


@boundary()
def show_pairs(of: Sentence) -> None:
    """Draw averages over minimal pairs, and a circuit, once the visitor chooses what is exchanged in the pairs."""
    st.markdown("##### Beyond one sentence", help=tip("minimal-pairs"))
    kinds = {"": "off", "adjective": "adjective", "negation": "negation", "intensifier": "degree", "name": "name (control)"}
    offered = {"maps": "averages", "circuit": "circuit"} | ({"epochs": "by epoch"} if of.run.epochs else {})
    with st.container(horizontal=True, gap="small"):
        pairs = visit.setting(st.segmented_control, "Exchanged word", "pairs", kinds)
        show = visit.setting(st.segmented_control, "Show", "beyond", offered)
    if not pairs:
        st.caption("Choose which word is exchanged: 40 pairs of sentences from templates are measured, which takes seconds to minutes.")
        return
    bar = st.empty()
    try:
        with turn(long=True) as step:
            of.load = lambda: cache.model(run).stoppable(step)
            of.__dict__.pop("model", None)  # the model of an earlier turn
            if show == "circuit":
                circuit_of(of, pairs, progress=partial(move_bar, bar, "Searching a circuit", 0, 1))
            elif show == "epochs":
                with st.spinner("Patching after each epoch"):
                    epochs_of(of, pairs)
            else:
                for place, what in enumerate((states, parts)):
                    average_of(of, pairs, what, progress=partial(move_bar, bar, f"Replacing {NAMES[what]}", place / 2, 1 / 2))
    finally:
        bar.empty()
    if show == "circuit":
        show_figure("circuit", of, minimal=pairs, on_pick=open_head, selected=())
    elif show == "epochs":
        show_figure("patch-epochs", of, minimal=pairs)
    else:
        for column, what in zip(halves("average", 1.15, 1.0), (states, parts), strict=True):
            with column:
                show_figure("patch-average", of, f"average-{what}", minimal=pairs, what=what)


def move_bar(bar: DeltaGenerator, says: str, before: float, part: float, done: int, total: int) -> None:
    """Move the progress bar of the page."""
    bar.progress(min(1.0, before + part * done / max(1, total)), says)


focus = visit.focus()
run = run_with_weights()
intro(
    "Which states inside the model carry the prediction from your sentence to a second one: states of the second are put into the first.",
    "A replaced state is one that the model may never be in: the maps show what can carry the answer.",
)
text, text_pair = texts_in_focus(run)
sentence_box(run, text, text_pair, "causes-sentence")
if not run.capabilities.replaces:
    st.info(f"{md(run.name)} has no states of tokens that can be replaced: choose a transformer.", icon=":material/visibility_off:")
    st.stop()
with boundary(page=True):
    aim = focus if not focus.second.strip() else replace(focus, target="", against="")  # the second sentence decides the class
    trace = answers.trace(aim, scored=False, exact=True)
second_box(run, trace)
states, parts = (
    visit.chosen(name, [what for what in offered if what in run.capabilities.replaces])
    for name, offered in (("by", BY_TOKEN), ("of", BY_PART))
)
of = sentence_of(run, trace)
of.known = visit.keep_result("patched", (run.digest, trace.text, trace.text_pair, focus.change, trace.target, focus.second), dict, most=2)
if not focus.second.strip():
    show_sums(of)
    show_pairs(of)
    st.stop()
direction = visit.chosen("direction", DIRECTIONS)
align = visit.page_value("align", "", str, resets=RESETS)
options: dict[str, Any] = {"second": focus.second, "align": align, "reverse": direction == "break"}
bar = st.empty()
with boundary("causes", page=True):
    try:
        with answers.reasoning(run, trace, "causes") as model:
            of.load = lambda: model
            of.__dict__.pop("model", None)
            pair = pair_of(of, **options)
            pair.model = model
            maps = []
            for place, (what, tokens) in enumerate((("head", True), (states, None), (parts, None))):
                moved = partial(move_bar, bar, f"Replacing {NAMES[what]}", place / 3, 1 / 3)
                maps.append(map_of(of, pair, what, tokens, moved))
            sentence, strongest = of.once(("strongest", id(pair)), partial(pair.strongest, maps[0]))
            pair.model = cache.model(run)
    finally:
        bar.empty()

st.markdown(f"### {md(sentence)}")
a, b = pair.first, pair.second
st.caption(
    f"{md(a.label.capitalize())} {percent(a.confidence, 0)}: “{md(a.text)}” takes states of {md(b.label)} {percent(b.confidence, 0)}:"
    f" “{md(b.text)}”. {md(' '.join(pair.notes()))}",
    help=tip("patching"),
)
if notes := {NAMES[each.what]: each.note for each in maps if each.note}:
    st.caption(f":material/speed: Large maps ({', '.join(notes)}): {md(next(iter(notes.values())))}")
with st.container(horizontal=True, gap="small", vertical_alignment="center"):
    visit.setting(st.segmented_control, "Direction", "direction", DIRECTIONS)
    with st.popover("Alignment", icon=":material/link:", type="tertiary"):
        st.caption("Tokens are aligned by edit. Each token of the first sentence takes the states of its partner in the second.")
        st.markdown(
            "  \n".join(
                f"{i + 1} {md(token)} ← {'no token' if j is None else f'{j + 1} {md(b.tokens[j])}'}"
                for i, (token, j) in enumerate(zip(a.tokens, pair.partners, strict=True))
            )
        )
        help = "Token of the first sentence = token of the second, or - for none, joined by ~"
        st.text_input("Changed partners, such as 4=5~6=-", help=help, **visit.bound("align", align))
    st.button("Add this head to the path", key="add-strongest", type="tertiary", on_click=toggle, args=("head", strongest.at))
path = cells()
left, right = halves("patch", 1.15, 1.0)
with left:
    offered = [what for what in BY_TOKEN if what in run.capabilities.replaces]
    visit.setting(st.segmented_control, "States", "by", offered, format_func=NAMES.get)
    chosen = [(edit.at[0], edit.at[1]) for edit in path if edit.what == states]
    show_figure("patch", of, "patch-tokens", selected=chosen, on_pick=add_cell(states), what=states, **options)
with right:
    offered = [what for what in BY_PART if what in run.capabilities.replaces]
    visit.setting(st.segmented_control, "Parts", "of", offered, format_func=NAMES.get)
    wanted = (int(focus.layer) - 1, int(focus.head) - 1) if focus.head.isdecimal() else (strongest.at[0], strongest.at[1])
    marked = [wanted] if parts != "component" else []
    show_figure("patch", of, "patch-heads", selected=marked, on_pick=open_head if parts != "component" else None, what=parts, **options)
show_path(pair, of)
layer, head = wanted
st.markdown(f"##### Head {head + 1} of layer {layer + 1}", help=tip("patching"))
chosen = [(edit.at[1], edit.at[2]) for edit in path if edit.what == "head" and edit.at[0] == layer]
show_figure("patch", of, "patch-head-tokens", selected=chosen, on_pick=add_cell("head", layer), what="head", layer=layer, **options)
if run.capabilities.maps:
    for column, side, name in zip(halves("patch-maps"), (a, b), ("first", "second"), strict=True):
        with column:
            whole = of.once(("map", name, id(pair)), partial(pair.model.trace, side.text, side.text_pair, projections=True, maps=False))
            show_figure("attention", sentence_of(run, whole), f"attention-{name}", layer=layer, head=head, side=400)
show_sums(of)
show_pairs(of)
