"""Why this answer? A sentence, its verdict, and what it leans on."""

from __future__ import annotations

import streamlit as st

from app import answers, cache, visit
from app.blocks.sentence import attends, class_choice, example_buttons, offer_reader, run_with_weights, sentence_box, texts_in_focus
from app.places import SCALED
from app.text import halves, intro, md
from app.views.sentence import exact_part, whatif_part, why_part
from app.views.sentence.canvas_part import exports, follow, followed, measure_heads, reserve, show
from app.views.sentence.edit_part import remember, report, side_by_side, swap_words, tries
from app.views.sentence.lexicon_part import strip_figure
from sentviz.analysis.explain import SCORES, answer, available, with_scores
from sentviz.analysis.explain.exact_comparison_table import found_first
from sentviz.analysis.explain.notices import notices
from sentviz.data.examples import examples_for
from sentviz.errors import SentvizError
from sentviz.io.glossary import tip
from sentviz.models.budget import Spent
from sentviz.runs.catalog import language, reads_pairs
from sentviz.runs.presets import papers_of
from sentviz.runs.registry import find_paper
from sentviz.runs.store import Run

ICONS = {"right": "check_circle", "wrong": "error", "cut": "content_cut", "unknown": "translate"}


def next_steps(run: Run) -> None:
    """Draw three links to what a person asks after the reason: where the model is wrong, what it learned, and what of its paper holds."""
    pages, tested = st.session_state["pages"], run.metrics().get("test") if run.has_rows else None
    wrong = f": {round(tested['n'] * (1 - tested['accuracy']['value'])):,} of {tested['n']:,} rows" if tested else "?"
    ours = [paper for paper in map(find_paper, papers_of(run.configuration)) if paper.page.url in pages]
    with st.container(horizontal=True, gap="medium", key="next-steps"):
        st.page_link(pages["confusion"], label=f"Where is it wrong{wrong}", icon=":material/grid_view:")
        if SCALED.shows(run):
            st.page_link(pages["lambdas"], label="How did lambda get there?", icon=":material/timeline:")
        else:
            st.page_link(pages["explanations"], label="Which explanation of it can be trusted?", icon=":material/fact_check:")
        paper = pages[ours[0].page.url] if ours else pages["findings"]
        st.page_link(paper, label=f"Is the paper right? {ours[0].short}" if ours else "What holds of five papers?", icon=":material/gavel:")


focus = visit.focus()
run = run_with_weights()
kinds = examples_for(run.labels, language(run), pairs=reads_pairs(run), papers=papers_of(run.configuration))


text, pair = texts_in_focus(run)
subject = follow(run.name, text, pair, focus.change, focus.aim)
with st.container(key="ask", gap="small"):
    sentence_box(run, text, pair)
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="ask-of"):
        example_buttons({kind: (example.text, example.pair or "") for kind, example in kinds.items()}, (text, pair or ""))
place, awaited = st.container(key="answer", gap=None), reserve()
with place:
    try:
        with st.container(key="running"):  # The place of the spinners, so that they move nothing.
            before, answered = whatif_part.as_trained(), answers.trace(focus, scored=False)
    except SentvizError as error:
        awaited.empty()
        st.warning(md(str(error)), icon=":material/edit:")
        st.stop()
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.markdown(f"### {md(answer(answered))}", width="stretch")
        whatif_part.folded(run, answered, before)
    trace, unscored, screened = answered, None, answers.is_screened(run, answered, focus)
    later = screened or answers.takes_long(run, answered)
    try:
        with (scoring := st.container(key="scoring")):
            if not later:  # The answer is on the page before the words are scored, and of a long text the picture, too.
                trace = answers.trace(focus)
    except Spent as spent:
        unscored = spent
    except SentvizError as error:
        awaited.empty()
        st.warning(md(str(error)), icon=":material/edit:")
        st.stop()
    why = why_part.place("reason", trace)
    if screened:
        why_part.offer_each_word(run, trace)
    trusted = None if unscored or screened else why_part.place("trust")
    messages = [*answers.label_notice(focus, trace), *notices(trace, run)]
    remarks, lines = st.empty(), [f":material/{ICONS[kind]}: {remark}" for kind, remark in messages if kind != "changed"]
    if lines:  # One element, which leaves none of the remarks before on the page.
        remarks.caption("\n\n".join(lines))
    offer_reader(run, trace.text)
left, right = halves("explore", 2.1, 1.0)  # without controls the second column is hidden, so that the picture stays the same element
with left:
    trust = found_first(run)
    order = ["exact", *trust]
    names = sorted(available(trace, asking=True), key=lambda name: order.index(name) if name in order else len(order))
    score = focus.score if focus.score in names else "removal"
    exact = exact_part.scored(trace, run) if score == "exact" and not unscored and not later else None
    if exact is not None:
        trace = with_scores(trace, {"exact": exact})
    drawn_score = "" if unscored or later else "removal" if score == "exact" and exact is None else score
    if screened and "alone" in trace.token_scores:
        later, score, drawn_score = False, "alone", "alone"
    budget = answers.budget_of(run, trace)
    was_spent = budget.is_spent
    scene = show(trace, run, drawn_score, before, subject, stopped=screened or was_spent)
    awaited.empty()
    if later:
        try:
            with scoring:
                (answers.screened if screened else answers.trace)(focus)
        except SentvizError as error:
            if not isinstance(error, Spent):
                st.warning(md(str(error)), icon=":material/edit:")
                st.stop()
        visit.draw_again()
    if unscored is not None:
        why_part.show_unknown(why, unscored, "words")
        attends(run)
        st.stop()
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        visit.choose(
            st.selectbox,
            "Score",
            "score",
            names,
            format_func=lambda name: SCORES[name].title + (f" · {trust[name].short}" if name in trust else ""),
            width=280,
        )
        class_choice(run, trace)
        if score == "exact":
            exact_part.switch(run)
        exports(scene, run, drawn_score)
    if exact is not None:
        exact_part.show(exact, trace, run)
    for remark in [remark for kind, remark in messages if kind == "changed"]:  # below the picture, so that nothing moves while one drags
        st.caption(f":material/experiment: {remark}")
    attends(run)
    intro(
        "Type a sentence and see the prediction of a trained model, the words that decide it, and the attention between the words.",
        "Attention shows where a model looks, not why it decides. Word removal measures the effect of each word on the prediction.",
    )
    if cache.injects(run):
        st.markdown("**Polarity of the words in the lexicon**", help=tip("polarity"))
        strip_figure(trace, run, "polarity")
        if st.button("How the lexicon changes attention", icon=":material/menu_book:", type="tertiary", key="to-lexicon"):
            visit.go(look="lexicon")
            st.switch_page("views/sentence/attention.py")
    parts = ["gates"] * run.capabilities.gate + ["positions"] * run.capabilities.aware
    if parts and st.button(f"The {' and '.join(parts)} of its tokens", icon=":material/door_open:", type="tertiary", key="to-gates"):
        visit.go(look="gates")
        st.switch_page("views/sentence/attention.py")
    if run.capabilities.moving and st.button("Watch its words move", icon=":material/bubble_chart:", type="tertiary", key="to-hardmax"):
        st.switch_page("views/hardmax/hardmax.py")

    next_steps(run)

if whatif_part.is_open(run):
    with right:
        whatif_part.interventions(run, trace)

remember(trace)
swap_words(run, trace)
side_by_side(run, trace)
tries()
report(run, trace)
if not screened and not why_part.waiting():
    with scoring:  # The place of the count and of the button that stops.
        if why_part.show_reason(why, focus):
            why_part.show_trust(trusted, focus, trace, drawn_score)
            measure_heads(trace, run)
        elif trusted:
            trusted.empty()
        if budget.is_spent and not was_spent:
            visit.draw_again()  # The picture still says that heads are measured.
followed(subject)
