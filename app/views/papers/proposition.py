"""Proposition 2: three kinds of models learn "first word *not*, last word *good*" while the visitor waits."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from app import visit
from app.blocks.boundary import boundary
from app.blocks.control import control
from app.blocks.figure import show_drawn
from app.blocks.table import show_table
from app.fields import LARGEST, whole_number
from app.server.queue import finished, wait
from app.text import halves, marked
from sentviz.charts import Figure, heatmap
from sentviz.charts.gallery import code
from sentviz.errors import SentvizError
from sentviz.io.glossary import tip
from sentviz.papers.sentiformer.figures import POSITIONS, learned_by, separated
from sentviz.papers.sentiformer.separation import EXAMPLE, WORDS, places_of
from sentviz.papers.sentiformer.separation_in_words import answers_table, head_in_words, separation_in_words
from sentviz.runs.sections import Studied
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.papers.sentiformer.solvers import Separation, Setting

LENGTHS = ("8", "16", "24", "32")  # words of the longest training sequence


def show(of: Studied) -> None:
    """Show the claim, the training, accuracies by sequence length, and predictions for a typed sequence."""
    st.markdown("##### Proposition 2: attention can decide what models of the last words cannot decide", help=tip("markov-model"))
    st.markdown(
        "A sequence is *positive* if its first word is **not** and its last is **good**, else *neutral*. A k-th order Markov model predicts"
        " from the last k words (definition 2), so it cannot see the first word of a longer sequence. One layer with two heads can attend"
        " to"
        " both words. The paper also claims this for RNNs of bounded state; a GRU is trained here to test that claim."
    )
    setting = _setting()
    if setting is None:
        st.caption(
            "The models are not stored. They are trained on this machine when you click, on random sequences of eight different words."
        )
        return
    key = str(setting)
    separation: Separation | None = finished("proposition", key)
    if separation is None:
        wait("proposition", key, "Proposition 2", lambda job: _separate(setting, job.tick))
        return
    lines = code("all", "separation", positions=setting.positions, longest=setting.longest, seed=setting.seed)
    left, right = halves("separation", 1.6, 1.0)
    with left:
        show_drawn(lambda: separated(separation), "separation", code=lines)
    with right:
        st.markdown("\n".join(f"- {line}" for line in separation_in_words(separation)))
    _ask(separation)


def _separate(setting: Any, tick: Any) -> Any:
    """The job; torch is loaded on its thread."""
    from sentviz.papers.sentiformer.solvers import separate

    return separate(setting, tick)


def _setting() -> Any:
    """Return the `solvers.Setting` that this visitor chose for training; None before the first training."""
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        help = "The proof uses learned positions. SentiFormer's positions contain the distance to the end."
        more: dict[str, Any] = {"label_visibility": "visible", "required": True, "help": help}
        positions = control("separation", "positions", "Positions of the transformer", **more)
        longest = visit.setting(
            st.segmented_control, "Longest training sequence", "longest", LENGTHS, default="24", required=True, label_visibility="visible"
        )
        seed = visit.page_value("seed", 0, whole_number)
        st.number_input("Seed", 0, LARGEST, width=110, **visit.bound("seed", seed))
        clicked = st.button("Train all models", type="primary", icon=":material/play_arrow:", key="prop2-train")
    chosen = (positions, int(longest), seed)
    if clicked:
        st.session_state["separation"] = chosen
    if (trained := st.session_state.get("separation")) is None:
        return None
    from sentviz.papers.sentiformer.solvers import Setting

    if trained != chosen:
        st.caption(
            f"The results below are for {POSITIONS[trained[0]]} positions, up to {trained[1]} words, seed {trained[2]}. Train again for"
            " your choice."
        )
    setting = Setting(*trained)
    if clicked:  # again, where it was stopped
        st.session_state.get("stopped", set()).discard(str(setting))
    return setting


def _sequence(value: str) -> str | None:
    """Return a sequence from a link if the models can answer it; None for any other text."""
    try:
        places_of(value)
    except SentvizError:
        return None
    return value


def _typed() -> str:
    """The sequence as typed. The focus gets it once it is one of the eight words: what else is typed reaches no link."""
    state, linked = st.session_state, visit.page_value("sequence", EXAMPLE, _sequence)
    if "prop2-text" not in state or state.get("prop2-linked") != linked:
        state["prop2-text"] = state["prop2-linked"] = linked

    def take() -> None:
        words = state["prop2-text"].lower().split()
        try:
            places_of(" ".join(words))
        except SentvizError:
            return
        state["prop2-linked"] = " ".join(words)
        visit.go(sequence=state["prop2-linked"])

    words_help = f"Of the words {', '.join(WORDS)}"
    return st.text_input("A sequence", key="prop2-text", help=words_help, placeholder="not ... good", on_change=take)


@boundary()
def _ask(separation: Separation) -> None:
    """Show each model's prediction for a typed sequence and for the sequence with another first word, and the two heads."""
    text = _typed()
    st.caption(f"Words to choose from: {', '.join(WORDS)}.")
    left, right = halves("prop2-answers", 1.2, 1.0)
    with left:
        show_table(answers_table(separation, text), "prop2-table")
    trace = separation.solvers.transformer.trace(text.lower())
    with right:
        for head in range(2):
            st.markdown(marked(head_in_words(trace, head)))
    for head, column in enumerate(halves("prop2-heads")):
        with column:
            show_drawn(
                partial(_map, trace, head, separation.setting),
                f"prop2-head-{head}",
            )


def _map(trace: Trace, head: int, setting: Setting) -> Figure:
    return learned_by(heatmap(trace, 0, head, "effective", side=440), setting)
