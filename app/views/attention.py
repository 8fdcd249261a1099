"""Every head, component and layer on one sentence: overview first, one map in detail."""

from __future__ import annotations

import streamlit as st

from app import shell, store
from app.focus import CHOICES
from app.views.parts import map_controls, map_figure, place
from sentviz.errors import SentvizError
from sentviz.figures import small_multiples
from sentviz.gallery import signed

focus = shell.focus()
run = store.run(focus.run)
shell.intro(
    "Where every head of every layer looks on your sentence, overview first and one map in detail.",
    "High attention does not prove that a word matters: ask word removal on Explore.",
)
try:
    trace = store.trace(focus)
except SentvizError as error:
    st.warning(shell.md(str(error)), icon=":material/edit:")
    st.stop()


def take_text() -> None:
    shell.go(text=st.session_state["attention-sentence"])


with st.container(horizontal=True, gap="small"):
    shell.choose(st.selectbox, "Model", "run", list(store.runs()), label_visibility="collapsed", width=260)
    st.session_state["attention-sentence"] = trace.text
    st.text_input("Sentence", key="attention-sentence", on_change=take_text, label_visibility="collapsed")

overview, detail = shell.halves(0.85)
with overview:
    st.markdown("##### All heads")
    shell.figure(lambda theme: signed(small_multiples(trace, place(focus.component), theme=theme), run), "overview")
with detail:
    map_controls(trace)
    n, top = len(trace.tokens), None
    with st.container(horizontal=True, gap="medium", vertical_alignment="center"):
        if trace.specials.any():
            titles = {"show": "With specials", "hide": "Words only"}
            shell.choose(st.segmented_control, "Specials", "specials", CHOICES["specials"], format_func=titles.get)
        if n > 24:
            top = min(n, focus.top or (n if n <= 60 else 48))
            help = "Those that receive the most attention; what lies on the hidden ones is said below."
            st.slider("Tokens shown", 8, min(n, 120), width=260, help=help, **shell.bound("top", min(top, 120)))
    map_figure(trace, run, "detail", side=540, hide_specials=focus.specials == "hide", top=top)
