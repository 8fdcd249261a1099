"""Two models on one sentence and on one split."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from app import answers, visit
from app.blocks.figure import show_figure
from app.blocks.sentence import asked, attends, sentence_box, sentence_of, texts_in_focus
from app.text import halves, intro, md, name_runs
from app.views.sentence import compare_maps, compare_rows, why_part
from app.views.sentence.compare_pick import pick
from sentviz.analysis.explain import SCORES, answer, available
from sentviz.analysis.explain.notices import remarks
from sentviz.errors import SentvizError

focus = visit.focus()
run = asked(focus.run)
intro(
    "Two models on one sentence, and on the same rows: where they part, and whether one is right more often.",
    "Two trained models differ by chance as well: another seed of the same model would part from it too.",
)
other = pick(run)
name_runs(run.name, other.name)

text, pair = texts_in_focus(run)
sentence_box(run, text, pair, "compare-sentence")
plain = replace(focus.as_trained(), text=text, pair=pair or "", row="")
try:
    traces = [answers.trace(replace(plain, run=each.name)) for each in (run, other)]
except SentvizError as error:
    st.warning(md(str(error)), icon=":material/edit:")
    st.stop()
if answers.change(run, focus):
    st.caption("Both models are as learned here: what was changed on Explore does not hold on this page.")

places = []
scores = [name for name in available(traces[0], asking=True) if name in available(traces[1], asking=True)]
score = focus.score if focus.score in scores else "removal"
for column, each, trace, side in zip(halves("compare"), (run, other), traces, ("first", "second"), strict=True):
    with column:
        st.markdown(f"##### {md(each.name)}\n{md(answer(trace))}")
        places.append(why_part.place(f"reason-{side}", trace))
        of = sentence_of(each, trace)
        show_figure("verdict", of, f"verdict-{side}", slim=True, answered=False)
        show_figure("strip", of, f"strip-{side}", score=score)
        st.caption("  \n".join(remark for kind, remark in remarks(trace, each) if kind != "changed"))
st.selectbox("Tokens coloured by", scores, format_func=lambda name: SCORES[name].title, width=280, **visit.bound("score", score))
if run.labels == other.labels:
    agree = traces[0].label == traces[1].label
    gap = float(traces[1].probabilities[-1] - traces[0].probabilities[-1]) if len(run.labels) == 2 else None
    said = "**Both give the same answer.**" if agree else "**They disagree.**"
    if gap is not None:
        said += f" {md(other.name)} gives “{md(run.labels[1])}” {100 * abs(gap):.0f} points {'more' if gap > 0 else 'less'} probability."
    st.markdown(said)

if attends(run) and attends(other):
    compare_maps.show(traces[0], traces[1], run, other)
compare_rows.show(run, other)
if not why_part.waiting():
    for slot, each in zip(places, (run, other), strict=True):
        why_part.show_reason(slot, replace(plain, run=each.name))
