"""Every head, component and layer on one sentence: overview first, one map in detail."""

from __future__ import annotations

import streamlit as st

from app import answers, cache, visit
from app.blocks.figure import show_figure
from app.blocks.run_choice import note_weights, pick_run
from app.blocks.sentence import (
    attends,
    class_choice,
    component_choice,
    map_controls,
    map_figure,
    place,
    run_with_weights,
    sentence_box,
    sentence_of,
    show_missing,
    texts_in_focus,
)
from app.fields import whole_number
from app.text import halves, intro, md
from app.views.sentence import bertviz_part, gates_part, lexicon_part, map_part
from app.views.sentence.judge_part import judge_scores
from sentviz.analysis.explain import SCORES, available
from sentviz.errors import SentvizError
from sentviz.io.glossary import tip
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace

COLUMNS = {
    "explanation": st.column_config.Column("explanation"),
    "comprehensiveness": st.column_config.NumberColumn("comprehensiveness", format="%.3f", help=tip("faithfulness")),
    "sufficiency": st.column_config.NumberColumn(
        "sufficiency", format="%.3f", help="Lower is better: the named words alone keep the prediction."
    ),
    "spearman": st.column_config.NumberColumn("rank corr. with removal", format="%.2f", help=tip("removal")),
    "milliseconds": st.column_config.NumberColumn("ms", format="%.1f"),
}


def show_layers(trace: Trace, run: Run) -> None:
    """Draw the classifier's prediction on every layer's states, and the habits of the heads of the component in focus."""
    of = sentence_of(run, trace)
    left, right = halves("layers", 0.9, 1.0)
    with left:
        show_figure("verdict-by-layer", of)
    with right:
        component_choice(trace)
        show_figure("head-habits", of, component=place(visit.focus().component))


def show_maps(trace: Trace, run: Run) -> None:
    """Draw all maps of the component in focus, and one of them in detail."""
    focus = visit.focus()
    overview, detail = halves("maps", 0.85, 1.0)
    with overview:
        st.markdown("##### All heads")
        show_figure("overview", sentence_of(run, trace), component=place(focus.component))
    with detail:
        map_controls(trace)
        n, top, specials = len(trace.tokens), None, "show"
        with st.container(horizontal=True, gap="medium", vertical_alignment="center"):
            if trace.specials.any():
                titles = {"show": "With specials", "hide": "Words only"}
                specials = visit.setting(st.segmented_control, "Specials", "specials", list(titles), format_func=titles.get)
            if n > 24:
                top = min(n, visit.page_value("top", 0, whole_number) or (n if n <= 60 else 48))
                help = "The tokens that receive the most attention; the caption states the attention on the hidden ones."
                st.slider("Tokens shown", 8, min(n, 120), width=260, help=help, **visit.bound("top", min(top, 120)))
        map_figure(trace, run, "detail", side=540, hide_specials=specials == "hide", top=top)


def show_scores(trace: Trace, run: Run) -> None:
    """Draw a table of all methods next to a random explanation, and the sentence coloured by one of them."""
    try:
        full, table = answers.explanations(visit.focus())
    except SentvizError as error:
        show_missing(error, "scores")
        return
    of = sentence_of(run, full)
    with st.container(horizontal=True, gap="small"):
        class_choice(run, full)
    show_figure("methods", of)
    if "exact" not in full.token_scores and "exact" in available(full, asking=True):
        st.caption("Exact values of this text take longer than a few seconds on this model: choose them as the score on Explore.")
    st.dataframe(table, hide_index=True, placeholder="–", column_config=COLUMNS, height="content")
    st.caption(
        "Comprehensiveness is the fall of the probability if the named words are removed (higher is better). Sufficiency is the fall if"
        " only"
        " the named words are kept (lower is better). Both are means over the top 10 to 50% of the words. *random* is the mean of 20 random"
        " explanations of this sentence. One sentence proves little: the page Explanations measures a sample of the test set."
    )
    named = [name for name in SCORES if SCORES[name].title in set(table["explanation"])]
    name = st.segmented_control("One in the sentence", named, format_func=lambda name: SCORES[name].title, key="side-shown")
    if name:
        if SCORES[name].about:
            st.caption(md(SCORES[name].about))
        show_figure("strip", of, f"side-{name}", slim=True, score=name)
    judge_scores(full, run)


focus = visit.focus()
run = run_with_weights()
intro(
    "The attention of every head of every layer on your sentence: first an overview, then one map in detail.",
    "High attention does not prove that a word matters. Word removal on Explore measures the effect of each word.",
)
text, pair = texts_in_focus(run)
with st.container(horizontal=True, gap="small"):
    pick_run("Model", cache.models(), width=420)
    sentence_box(run, text, pair, "attention-sentence")
note_weights(visit.chosen_focus().run, run.name)
try:
    # a stored example knows neither its terms nor its window
    exact = focus.look in ("lexicon", "gates") or (focus.look == "long" and run.capabilities.pattern)
    trace = answers.trace(focus, scored=focus.look == "scores", exact=exact)
except SentvizError as error:
    show_missing(error, "attention")
    st.stop()

if not attends(run):
    st.stop()
LOOKS = {
    "maps": "Maps",
    "long": "Long texts and cells",
    "bertviz": "BertViz",
    "layers": "Layers and heads",
    "scores": "Explanations side by side",
    "lexicon": "Lexicon",
    "gates": "Gates and positions",
}
has = run.capabilities
offered = {"lexicon": has.lexicon, "gates": has.gate or has.aware}
looks = [look for look in LOOKS if offered.get(look, True) or focus.look == look]
visit.choose(st.segmented_control, "Look", "look", looks, format_func=LOOKS.get, label_visibility="collapsed")
match focus.look:
    case "long":
        map_part.show(trace, run)
    case "bertviz":
        bertviz_part.show(trace, run)
    case "layers":
        show_layers(trace, run)
    case "scores":
        show_scores(trace, run)
    case "lexicon":
        lexicon_part.show(trace, run)
    case "gates":
        gates_part.show(trace, run)
    case _:
        show_maps(trace, run)
