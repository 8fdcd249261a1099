"""Every head, component and layer on one sentence: overview first, one map in detail."""

from __future__ import annotations

import streamlit as st

from app import answers, cache, visit
from app.blocks.boundary import boundary
from app.blocks.figure import Picked, show_figure
from app.blocks.sentence import (
    attends,
    class_choice,
    component_choice,
    gate_switches,
    map_controls,
    map_figure,
    open_map,
    place,
    run_with_weights,
    sentence_box,
    sentence_of,
    strength,
    texts_in_focus,
)
from app.fields import whole_number
from app.text import halves, intro, md
from app.views.sentence import bertviz_part, lexicon_part, map_part, opened_map
from sentviz.analysis.explain import SCORES, available
from sentviz.analysis.explain.exact import is_quick
from sentviz.analysis.explain.judge import Judgement, judged
from sentviz.errors import InputError
from sentviz.io.documents import parse_json
from sentviz.io.glossary import tip
from sentviz.io.numbers import percent
from sentviz.runs.configs import GATE
from sentviz.runs.intervention import Edit
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace


def show_gates(trace: Trace, run: Run) -> None:
    """Draw gates and position signals, each if the run has them; show a note for a model with neither."""
    has = run.capabilities
    if not (has.gate or has.aware):
        having = [name for name, each in cache.models().items() if each.capabilities.gate or each.capabilities.aware]
        some = (
            f" Runs with gates: {', '.join(having[:6])}."
            if having
            else " `sentviz train sst5_trees --model sentiformer` trains a run with gates."
        )
        st.info(
            f"{md(run.name)} has no gates, and its positions have only one part.{md(some) if having else some}",
            icon=":material/door_open:",
        )
        return
    if has.gate:
        strength(GATE)
        gate_switches(trace)
    _before(trace)
    drawn = [draw for draw, there in ((_gates, has.gate), (_positions, has.aware)) if there]
    for column, draw in zip(halves("gates"), drawn, strict=False):
        with column:
            draw(trace, run)


def _before(trace: Trace) -> None:
    """Show the prediction of the trained model next to the one on the page, if there are interventions."""
    focus = visit.focus()
    plain = focus.as_trained()
    if plain == focus:
        return
    before = answers.trace(plain, scored=False)
    moved = [
        f"{md(label)} {percent(old)} → **{percent(new)}**"
        for label, old, new in zip(trace.labels, before.probabilities.tolist(), trace.probabilities.tolist(), strict=True)
    ]
    st.markdown(f"As trained **{md(before.label)}**, as changed **{md(trace.label)}** · {', '.join(moved)}")


def _gates(trace: Trace, run: Run) -> None:
    layers = len(trace.layer_ids)

    def shut(point: Picked) -> None:
        place, change = point.place // layers, visit.focus().change
        after = 1.0 if place in change.gates_shut else None if place in change.gates_open else 0.0
        unchanged = change.without("gate", (place,))
        visit.go(change=unchanged if after is None else unchanged.with_(Edit("gate", (place,), to=after)))

    show_figure("gates", sentence_of(run, trace), on_pick=shut)
    st.caption(
        "Click a token to shut its gate. Click again to open the gate, and a third time to restore the trained gate.", help=tip("gate")
    )


def _positions(trace: Trace, run: Run) -> None:
    show_figure("positions", sentence_of(run, trace))
    st.caption(
        "These position signals are added to the embedding of each token before the first layer.",
        help=f"{tip('aware-positions')}\n\n{tip('tag')}",
    )


MOST_CHARACTERS = 200_000
ICONS = {"believe": "check_circle", "doubt": "cancel", "unclear": "help"}
HELP = (
    "JSON: one number for each word or token, pairs of a word and a number, or an object with tokens and scores (and offsets). Captum,"
    " SHAP, LIME, Interpreto and InterpKit give these; in Python, `sentviz.judge(model, text, scores)` takes their results as they are."
)


@boundary("judge")
def judge_scores(trace: Trace, run: Run) -> None:
    """Draw the field, and what is found of the scores in it.

    Args:
        trace: trace of the sentence with the scores of word removal.
    """
    st.markdown("##### Judge scores of another tool", help=HELP)
    first = [word for word in trace.text.split() if word.isalpha()][:2] or ["word"]
    example = ", ".join(f'["{word}", {value}]' for word, value in zip(first, (0.2, -0.7), strict=False))
    pasted = st.text_area("Scores", key="judge-scores", placeholder=f"[{example}, ...]", height=90, max_chars=MOST_CHARACTERS)
    if not pasted.strip():
        st.caption("Paste the scores for this sentence. They are compared with exact values, with word removal, and with random orders.")
        return
    judgement = _judgement(trace, run, pasted)
    st.markdown(f":material/{ICONS[judgement.verdict]}: **{md(judgement.answer)}**")
    for line in judgement.evidence:
        st.caption(md(line))
    of = sentence_of(run, trace)
    of.known["judged", pasted] = judgement
    show_figure("judged", of, scores=pasted)


def _judgement(trace: Trace, run: Run, pasted: str) -> Judgement:
    """Judge pasted scores; the last result is kept for the visit."""
    try:
        scores = parse_json(pasted, "What was pasted")
    except InputError as error:
        raise InputError(f'{error} Write for example [["word", 0.2], ["other", -0.7]].') from None
    if not is_quick(cache.model(run), trace):
        raise InputError("The exact values of this text take long on this model. Use a shorter text, or `sentviz judge` in a terminal.")

    def compute() -> Judgement:
        with answers.reasoning(run, trace, "judge") as loaded, st.spinner("Predicting every subset of the words"):
            return judged(loaded, trace, scores)

    result: Judgement = visit.keep_result(
        "judged-scores", (run.digest, trace.text, trace.text_pair, trace.change, trace.target, pasted), compute
    )
    return result


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
        component_choice(trace.lambdas.shape[1])
        show_figure("head-habits", of, component=place(visit.focus().component))


OVERVIEW = 610  # pixels of the column that has the maps of all heads


def show_maps(trace: Trace, run: Run, why: str) -> None:
    """Draw all maps of the component in focus, and one of them in detail.

    Args:
        why: why this map is open; "" if it was chosen.
    """
    focus = visit.focus()
    overview, detail = halves("maps", 0.85, 1.0)
    with overview:
        st.markdown("##### All heads: click one to open it")
        in_detail = focus.layer - 1, place(focus.head)
        of = sentence_of(run, trace)
        show_figure("overview", of, component=place(focus.component), selected=in_detail, on_pick=_open_head, width=OVERVIEW)
    with detail:
        map_controls(trace)
        if why:
            st.caption(why)
        else:
            opened_map.offer_strongest(trace, run)
        n, top, specials = len(trace.tokens), None, "show"
        with st.container(horizontal=True, gap="medium", vertical_alignment="center"):
            if trace.specials.any():
                titles = {"show": "With specials", "hide": "Words only"}
                specials = visit.setting(st.segmented_control, "Specials", "specials", titles, label_visibility="visible")
            if n > 24:
                top = min(n, visit.page_value("top", 0, whole_number) or (n if n <= 60 else 48))
                help = "The tokens that receive the most attention; the caption states the attention on the hidden ones."
                st.slider("Tokens shown", 8, min(n, 120), width=260, help=help, **visit.bound("top", min(top, 120)))
        map_figure(trace, run, "detail", side=540, hide_specials=specials == "hide", top=top)


def _open_head(point: Picked) -> None:
    layer, head = point.data
    open_map(layer=layer + 1, head=str(head + 1))


@boundary("scores")
def show_scores(trace: Trace, run: Run) -> None:
    """Draw a table of all methods next to a random explanation, and the sentence coloured by one of them."""
    full, table = answers.explanations(visit.focus())
    of = sentence_of(run, full)
    with st.container(horizontal=True, gap="small"):
        class_choice(run, full)
    show_figure("methods", of)
    if "exact" not in full.token_scores and "exact" in available(full, asking=True):
        st.caption("Exact values of this text take longer than a few seconds on this model: choose them as the score in Reason.")
    st.dataframe(table, hide_index=True, placeholder="–", column_config=COLUMNS, height="content")
    st.caption(
        "Comprehensiveness is the fall of the probability if the named words are removed (higher is better). Sufficiency is the fall if"
        " only"
        " the named words are kept (lower is better). Both are means over the top 10 to 50 % of the words. *random* is the mean of 20"
        " random explanations of this sentence. One sentence proves little: Model › Which explanation to trust"
        " measures a sample of the test set."
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
    "High attention does not prove that a word matters. Word removal, in Reason, measures the effect of each word.",
)
text, pair = texts_in_focus(run)
sentence_box(run, text, pair, "attention-sentence")
with boundary("attention", page=True):
    # a stored example knows neither its terms nor its window
    exact = focus.look in ("lexicon", "gates") or (focus.look == "long" and run.capabilities.pattern)
    trace = answers.trace(focus, scored=focus.look == "scores", exact=exact)

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
why = opened_map.show_strongest(trace, run) if focus.look in ("maps", "long") else ""
visit.choose(st.segmented_control, "Look", "look", looks, format_func=LOOKS.get)
match focus.look:
    case "long":
        if why:
            st.caption(why)
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
        show_gates(trace, run)
    case _:
        show_maps(trace, run, why)
