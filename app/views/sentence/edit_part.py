"""Edit and pin: swap a word, compare the old sentence with the new one, and list the sentences of this visit."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import streamlit as st

from app import answers, cache, visit
from app.blocks.boundary import boundary
from app.blocks.figure import show_drawn, show_figure
from app.blocks.files import csv_button
from app.blocks.sentence import head_title, place, sentence_of
from app.focus import edit_words
from app.text import halves, in_percent, md
from sentviz.analysis.explain import headline
from sentviz.analysis.explain.notices import notices
from sentviz.analysis.explain.word_swaps import suggestions
from sentviz.analysis.maps.compare import align, difference
from sentviz.charts import heatmap
from sentviz.charts.subjects import sourced
from sentviz.errors import InputError
from sentviz.export.report import report_html
from sentviz.io.lazy import pd
from sentviz.io.numbers import percent
from sentviz.models.budget import Spent
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace

KEPT_TRIES = 200


def remember(trace: Trace) -> None:
    """Add the sentence and its prediction to the list of this visit."""
    tried: list[dict[str, Any]] = st.session_state.setdefault("tries", [])
    changed = map(edit_words, trace.change.edits)
    pair = {} if trace.text_pair is None else {"second text": trace.text_pair}
    row: dict[str, Any] = {"run": trace.run, "text": trace.text, **pair, "changed": ", ".join(changed) or "nothing"}
    row |= {"answer": trace.label, "probability": trace.confidence}
    if not tried or tried[-1] != row:
        tried.append(row)
        del tried[:-KEPT_TRIES]


def report(run: Run, trace: Trace) -> None:
    """Draw the download of a report in one file about the sentence on the page."""

    def make() -> bytes:
        with suppress(Spent):
            if not answers.is_screened(run, trace, focus):
                return report_html(answers.reasoned(focus), run).encode()
        return report_html(trace, run).encode()

    focus = visit.focus()

    st.download_button(
        "Report of this sentence (HTML)",
        data=make,
        file_name="sentviz-report.html",
        mime="text/html",
        icon=":material/summarize:",
        key="report",
        on_click="ignore",
        help="The prediction, the explanations, the maps and the provenance in one file that works without a network.",
    )


def tries() -> None:
    """Draw the visit's list of sentences as a table and a CSV."""
    tried = st.session_state.get("tries", [])
    if len(tried) < 2:
        return
    with st.expander(f"Tried in this visit ({len(tried)})", icon=":material/history:"):
        frame = pd.DataFrame(tried[::-1])
        st.dataframe(in_percent(frame, "probability"), hide_index=True, placeholder="–")
        csv_button(frame, "sentviz-tries", "tries-csv")


def swap_words(run: Run, trace: Trace) -> None:
    """Draw words that can replace a word, each with the new probability. A click replaces the word."""
    section = st.expander("Swap a word", icon=":material/swap_horiz:", key="swap-section", on_change="rerun")
    if not section.open:
        return
    with section:
        words = [i for i in range(len(trace.tokens)) if not trace.specials[i] and trace.tokens[i].isalpha()]
        if not words:
            st.caption("There is no word to swap.")
            return
        scores = trace.token_scores.get("removal", trace.token_scores.get("alone", trace.specials))
        strongest = max(words, key=lambda i: float(scores[i]))
        chosen = st.pills(
            "Word",
            words,
            default=strongest,
            format_func=lambda i: md(trace.tokens[i]),
            key=f"swap-{hash((trace.text, trace.text_pair))}",
        )
        if chosen is None:
            return
        frame = suggestions(cache.model(run), trace, chosen, cache.lexicon())
        if frame.empty:
            st.caption("The model knows no similar word of the same kind. Type another word instead.")
            return
        is_of_text = trace.change != trace.change.without_tokens()
        forced = " The gates that you changed belong to this text. Another text has the gates as trained." if is_of_text else ""
        st.caption(f"The probability of “{md(trace.label)}”, now {percent(trace.confidence, 0)}, after each replacement.{forced}")
        for source, rows in frame.groupby("source", sort=False):
            with st.container(horizontal=True, gap="small", vertical_alignment="center"):
                st.caption(str(source), width=180)
                for row in rows.to_dict("records"):
                    label = f"{md(row['word'])} · {percent(row['probability'], 0)}"
                    st.button(
                        label,
                        key=f"swap-{source}-{row['word']}",
                        on_click=visit.go,
                        kwargs={"text": row["text"], "pair": trace.text_pair or ""},
                    )
        if not cache.lexicon():
            st.caption("Opposite words need a polarity lexicon. Set SENTVIZ_DATA to a folder with lexicon_en_opinion or lexicon_en_vader.")


def _changed_too(pinned: Trace, trace: Trace) -> Trace:
    """Return the trace of the pinned sentence under the interventions in focus."""
    focus, of = visit.focus(), cache.run(pinned.run)
    fitting, notes = replace(focus, run=pinned.run).fit(of.capabilities)
    if notes and fitting.change != focus.change:
        raise InputError(
            f"{of.name} does not have all the layers, heads, components, lexicon or gates that you changed. Turn off “Change both”."
        )
    if focus.change != focus.change.without_tokens() and pinned.tokens != trace.tokens:
        raise InputError("Gates are changed for single tokens, but the pinned sentence has other tokens. Turn off “Change both”.")
    return answers.trace(replace(fitting, text=pinned.text, pair=pinned.text_pair or "", row="", score="removal"))


@boundary("pinned")
def side_by_side(run: Run, trace: Trace) -> None:
    """Draw the pinned sentence next to the one on the page: predictions, strips, and the difference of the map in focus."""
    pinned: Trace | None = st.session_state.get("pinned")

    def pin() -> None:
        focus = visit.focus()  # The trace has the reason that was asked for in the meantime.
        st.session_state["pinned"] = answers.trace(focus, scored=not answers.is_screened(run, trace, focus))

    def unpin() -> None:
        st.session_state.pop("pinned", None)

    with st.container(horizontal=True, gap="small"):
        st.button("Pin this" if pinned is None else "Pin this instead", icon=":material/push_pin:", on_click=pin, key="pin")
        if pinned is None:
            st.caption("Keep this prediction for comparison while you edit a word, change the model or choose another model.")
            return
        st.button("Unpin", icon=":material/close:", on_click=unpin, key="unpin", type="tertiary")
        both = st.toggle("Change both", key="change-both", help="Apply the changes above to the pinned sentence, too")
    focus = visit.focus()
    if both:
        pinned = _changed_too(pinned, trace)
    if all(getattr(pinned, name) == getattr(trace, name) for name in ("run", "text", "text_pair", "change")):
        st.caption("The prediction is pinned. Now edit the sentence, change the model or choose another model.")
        return
    left, right = halves("pinned")
    for column, side, name in ((left, pinned, "pinned"), (right, trace, "current")):
        with column:
            st.markdown(f"**{name.capitalize()}** · {md(side.run)} · {md(headline(side))}")
            for kind, remark in notices(side, cache.run(side.run)):
                if kind == "changed":
                    st.caption(f":material/experiment: {md(remark)}")
            score = "removal" if "removal" in side.token_scores else "alone"
            show_figure("strip", sentence_of(cache.run(side.run), side), f"strip-{name}", score=score)
    if without := [side.run for side in (pinned, trace) if not side.has_maps]:
        st.caption(f"{md(without[0])} has no attention, so there is no map to subtract.")
        return
    new = [trace.tokens[j] for i, j in align(pinned, trace) if i is None and j is not None]
    gone = [pinned.tokens[i] for i, j in align(pinned, trace) if j is None and i is not None]
    if new or gone:
        words = [f"{name}: {md(', '.join(part))}" for name, part in (("new", new), ("gone", gone)) if part]
        st.caption("Words in only one of the sentences, not shown in the map below — " + "; ".join(words) + ".")
    with boundary(quiet=True):
        changed = difference(pinned, trace)
        title = f"current − pinned · layer {focus.layer} · {head_title(focus.head)}"

        def draw() -> Any:
            figure = heatmap(changed, focus.layer - 1, place(focus.head), place(focus.component), side=460, title=title)
            return sourced(figure, *dict.fromkeys((cache.run(pinned.run), run)), trace=trace)

        show_drawn(draw, "difference")
