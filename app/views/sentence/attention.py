"""Every head, component and layer on one sentence: overview first, one map in detail."""

from __future__ import annotations

import streamlit as st

from app import answers, cache, visit
from app.blocks.sentence import asked, attends, sentence_box, texts_in_focus
from app.text import intro, md
from app.views.sentence import bertviz_part, gates_part, layers_part, lexicon_part, map_part, maps_part, scores_part
from sentviz.errors import SentvizError

focus = visit.focus()
run = asked(focus.run)
intro(
    "Where every head of every layer looks on your sentence, overview first and one map in detail.",
    "High attention does not prove that a word matters: ask word removal on Explore.",
)
text, pair = texts_in_focus(run)
with st.container(horizontal=True, gap="small"):
    visit.choose(st.selectbox, "Model", "run", list(cache.models()), label_visibility="collapsed", width=260)
    sentence_box(run, text, pair, "attention-sentence")
try:
    # a stored example knows neither its terms nor its window
    exact = focus.look in ("lexicon", "gates") or (focus.look == "long" and run.capabilities.pattern)
    trace = answers.trace(focus, scored=focus.look == "scores", exact=exact)
except SentvizError as error:
    st.warning(md(str(error)), icon=":material/edit:")
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
shown = [look for look in LOOKS if offered.get(look, True) or focus.look == look]
visit.choose(st.segmented_control, "Look", "look", shown, format_func=LOOKS.get, label_visibility="collapsed")
match focus.look:
    case "long":
        map_part.show(trace, run)
    case "bertviz":
        bertviz_part.show(trace, run)
    case "layers":
        layers_part.show(trace, run)
    case "scores":
        scores_part.show(trace, run)
    case "lexicon":
        lexicon_part.show(trace, run)
    case "gates":
        gates_part.show(trace, run)
    case _:
        maps_part.show(trace, run)
