"""Judge scores of another tool for the sentence in focus: a field to paste them, the verdict, and the figure."""

from __future__ import annotations

import streamlit as st

from app import answers, cache, visit
from app.blocks.figure import show_figure
from app.blocks.sentence import sentence_of, show_missing
from app.text import md
from sentviz.analysis.explain.exact import is_quick
from sentviz.analysis.explain.judge import Judgement, judged
from sentviz.errors import InputError, SentvizError
from sentviz.io.documents import parse_json
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace

MOST_CHARACTERS = 200_000
ICONS = {"believe": "check_circle", "doubt": "cancel", "unclear": "help"}
HELP = (
    "JSON: one number for each word or token, pairs of a word and a number, or an object with tokens and scores (and offsets). Captum,"
    " SHAP, LIME, Interpreto and InterpKit give these; in Python, `sentviz.judge(model, text, scores)` takes their results as they are."
)


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
    try:
        judgement = _judgement(trace, run, pasted)
    except SentvizError as error:
        show_missing(error, "judge")
        return
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
        with answers.reasoning(run, trace) as loaded, st.spinner("Predicting every subset of the words"):
            return judged(loaded, trace, scores)

    result: Judgement = visit.keep_result(
        "judged-scores", (run.digest, trace.text, trace.text_pair, trace.change, trace.target, pasted), compute
    )
    return result
