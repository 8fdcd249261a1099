"""The reason for a prediction in words, computed after the page is drawn and shown in reserved places."""

from __future__ import annotations

from typing import Any

import streamlit as st

from app import answers, cache, visit
from app.blocks.boundary import boundary, go_on
from app.focus import Focus
from app.server import queue
from app.text import md
from sentviz.analysis.explain import SCORES, reason
from sentviz.analysis.explain.headline import CHANCE_QUANTILE, MIN_FALL
from sentviz.analysis.explain.leave_out import words
from sentviz.analysis.explain.screening import TRIED
from sentviz.analysis.explain.trust import RULE, trust_in
from sentviz.errors import SentvizError
from sentviz.io.glossary import tip
from sentviz.io.numbers import percent
from sentviz.models.budget import Spent
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace

HELP = (
    f"The reason is the word or unit whose removal lowers the probability most. The fall must be at least {100 * MIN_FALL:.0f} points, and"
    f" larger than the fall for {percent(CHANCE_QUANTILE, 0)} of the units of that size in the example sentences. If no word or unit"
    " passes, the reason is the smallest edit that changes the predicted class, or the smallest edit towards the class that you chose."
)
CLAUSES_HELP = (
    f"This text is long for this model. Each of its {{of}} clauses was read alone. The {TRIED} that speak most for the answer were left out"
    " of the text, and then words of the strongest. A clause or word is the reason if the probability falls by at least"
    f" {100 * MIN_FALL:.0f} points without it. A clause that counts only beside others is not found in this way."
)


def place(key: str, trace: Trace | None = None) -> Any:
    """Reserve a place for a reason and return it; show the reason if it is known, otherwise a grey bar."""
    slot = st.container(key=f"why-{key}").empty()
    if trace is not None and trace.evidence is not None:
        _reason(slot, trace)
    else:
        slot.html('<div class="awaited" role="status" aria-label="Looking for the reason"></div>')
    return slot


def waiting() -> bool:
    """Return whether torch is still being loaded, so that reasons must wait; the page then runs again once it is loaded."""
    if queue.is_preloading():
        _follow()
        return True
    return False


@st.fragment(run_every=1.0)
def _follow() -> None:
    if not queue.is_preloading():
        visit.draw_again()


def show_reason(slot: Any, focus: Focus) -> bool:
    """Show the reason for the prediction, and the cost of the search; return whether there is time left for more."""
    try:
        trace = answers.reasoned(focus)
    except SentvizError as error:
        show_unknown(slot, error, f"reason-{focus.run}")
        return not isinstance(error, Spent)
    with slot.container():
        _reason(st, trace)
        if not (complete := answers.is_complete(trace)):
            go_on(answers.budget_of(cache.run(focus.run), trace), f"reason-{focus.run}")
    return complete


def show_unknown(slot: Any, error: SentvizError, key: str) -> None:
    """Show why a reason is not known; if only its time is over, offer to go on."""
    with slot.container(gap="small"), boundary(key, quiet=True):
        raise error


def offer_each_word(run: Run, trace: Trace) -> None:
    """Say what the colours of a long text show, and draw the button that measures each of its words and heads."""
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        if "alone" in trace.token_scores:
            st.caption("Colours: what each clause says on its own.", width="content", help=md(SCORES["alone"].about))
        st.button(
            f"Measure each of {len(words(trace)):,} words",
            icon=":material/hourglass_top:",
            key="each-word",
            type="tertiary",
            on_click=answers.ask_each_word,
            args=(run, trace),
            help="Leaves out each word and neighbouring words, measures the trust in them, and silences each head. This can take minutes"
            " for a long text; it can be stopped at any time.",
        )


def _reason(slot: Any, trace: Trace) -> None:
    evidence = trace.evidence
    assert evidence is not None
    notes = [HELP, tip("unit"), tip("flip")]
    if (clauses := evidence.screened) is not None:
        notes = [CLAUSES_HELP.format(of=clauses.of)]
    if (flip := evidence.flip) is not None and flip.edits:
        edited = md(" / ".join(filter(None, (flip.text, flip.text_pair))))
        length = f"{len(flip.edits)} word{'s' * (len(flip.edits) > 1)}"
        random = f"of {flip.drawn} random edits of {length}, {flip.random} have the same effect." if flip.drawn else "random edits follow."
        search = f"found among {flip.passes:,} edited texts; {random}"
        notes.insert(0, f"“{edited}” · {search}")
    slot.markdown(f"**{md(reason(trace))}**", help="\n\n".join(notes))


def show_trust(slot: Any, focus: Focus, trace: Trace, score: str) -> None:
    """Show in one word how far the explanation on the page can be trusted; its help has the measurements behind the word."""
    try:
        trust = trust_in(cache.run(focus.run), score, answers.verdict(focus, trace, score))
    except SentvizError as error:
        show_unknown(slot, error, "verdict")
        return
    slot.caption(f"Trust in these words: **{trust.word}**", help="\n\n".join([*map(md, trust.details), RULE]))
