"""The lexicon in attention: polarities, the steps from one token's entries to its weights, and complete maps with and without it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from app import answers, cache, visit
from app.blocks.boundary import boundary
from app.blocks.figure import show_figure
from app.blocks.pages import SIZE, first_row, page_buttons
from app.blocks.sentence import head_title, map_controls, map_figure, place, sentence_of, strength
from app.text import halves, marked, md
from sentviz.analysis.maps.injection import Entries, accidents_in_words, described, reached, row_in_words, strongest
from sentviz.charts.lexicon import row_of
from sentviz.data.lexicon import SIDES
from sentviz.errors import SentvizError
from sentviz.io.glossary import tip
from sentviz.runs.configs import LEXICON
from sentviz.runs.intervention import Edit
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace

SIDE = 400  # pixels of a map


def _coarser(run: Run) -> dict[str, float]:
    from sentviz.models.weights import coarser

    return coarser(run.path(run.weights))


def show(trace: Trace, run: Run) -> None:
    """Draw the lexicon in this sentence; show a note for a model without one."""
    if trace.polarity is None:
        having = [name for name, each in cache.models().items() if cache.injects(each)]
        some = f" Runs with a lexicon: {', '.join(having[:6])}." if having else ""
        st.info(md(f"{run.name} has no lexicon.{some}"), icon=":material/menu_book:")
        return
    title = cache.lexicon_title(run)
    st.markdown(f"{md(title)} {md(described(run.shape))}.", help=tip("polarity"))
    if run.has_weights and (off := _coarser(run).get("polarity")):
        st.caption(
            f"The polarities of this run are stored in 8 bits: the error of each is up to {off:.4f}, before the three are scaled to sum"
            " to 1."
        )
    strength(LEXICON)
    token = _token(trace)
    strip_figure(trace, run, "polarity", token)
    st.caption("Click a token to follow it below.")
    _accidents(trace)
    map_controls(trace)
    _walk(trace, run, token)
    _maps(trace, run)


def strip_figure(trace: Trace, run: Run, key: str, token: int | None = None) -> None:
    """Draw the sentence coloured by polarity; if `token` is given, a click chooses another token."""
    on_pick = None if token is None else lambda point: visit.go(token=point.place + 1)
    show_figure("polarity", sentence_of(run, trace), key, on_pick=on_pick, token=token)


def _accidents(trace: Trace) -> None:
    """Warn of tokens that have a polarity only because entries of the lexicon contain their letters."""
    if says := accidents_in_words(trace):
        st.warning(md(says), icon=":material/content_cut:")


# ---- one token


def _token(trace: Trace) -> int:
    """Return the token in focus; if none was chosen, the token with the strongest polarity, a complete word if there is one."""
    chosen = visit.focus().token
    if 0 < chosen <= len(trace.tokens):
        return chosen - 1
    return strongest(trace)


@boundary()
def _walk(trace: Trace, run: Run, token: int) -> None:
    """Draw the steps from the entries that contain a token to its attention."""
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        st.markdown("##### From the lexicon's entries to attention", width="content")
        st.selectbox(
            "Token",
            [i + 1 for i in range(len(trace.tokens))],
            format_func=lambda i: f"{i} · {trace.tokens[i - 1]}",
            width=220,
            label_visibility="collapsed",
            **visit.bound("token", token + 1),
        )
    left, right = halves("lexicon-entries")
    of = sentence_of(run, trace)
    with left:
        of.known["entries", token] = _entries(trace, run, token)
    with right:
        st.markdown("**2 · Polarity of the token: λ**")
        show_figure("polarity-of-token", of, "lexicon-lambda", token=token)
    focus = visit.focus()
    heads = reached(run.shape)
    head, component = place(focus.head), place(focus.component)
    head = heads[-1] if isinstance(head, str) else head
    component = 0 if isinstance(component, str) else component
    row = row_of(of, focus.layer - 1, head, component, token)
    notes = row_in_words(trace, run.shape, row)
    if isinstance(place(focus.head), str):
        notes.insert(0, f"The maps below show the {head_title(focus.head)}; this row shows head {row.head + 1}.")
    st.caption("  \n".join(map(marked, notes)))
    scores, attention = halves("lexicon-rows", 1.2, 1.0)
    of_row: dict[str, Any] = {"layer": row.layer, "head": row.head, "component": row.component, "token": token}
    with scores:
        st.markdown("**3 · σ, and the scores before softmax**")
        show_figure("lexicon-scores", of, **of_row)
    with attention:
        st.markdown("**4 · Attention, without and with the lexicon**")
        show_figure("lexicon-attention", of, **of_row)


def _entries(trace: Trace, run: Run, token: int) -> Entries | None:
    """Draw and return the entries that contain a token; show a note and return None if there are none or the lexicon is not available."""
    word, title = md(trace.tokens[token]), md(cache.lexicon_title(run))
    st.markdown(f"**1 · Entries with “{word}”**")
    if trace.specials[token]:
        st.caption(f"{word} is a special token, not a word, so no entry contains it. Its polarity is neutral: 1/3 for each share.")
        return None
    try:
        entries = cache.entries(run, trace.text, token)
    except SentvizError:
        st.caption(f"{title} is not installed, so its entries cannot be listed. λ itself is stored in the model.")
        return None
    count = len(entries.frame)
    if not count:
        st.caption(f"No entry of {title} contains this token. Its polarity is neutral: 1/3 for each share.")
        return None
    st.caption(f"{count:,} {'entry' if count == 1 else 'entries'} of {title}. These are the entries whose tokens include this token.")
    key = f"entries-{run.digest}-{hash(trace.text)}-{token}"
    start = first_row(count, key)
    st.dataframe(
        entries.frame.iloc[start : start + SIZE],
        hide_index=True,
        placeholder="–",
        height=min(38 + 35 * min(count, SIZE), 214),
        column_config={
            side: st.column_config.NumberColumn(side, format="%.2f", help=f"Contribution of the entry to the {side} sum") for side in SIDES
        },
    )
    page_buttons(count, key)
    return entries


# ---- whole maps


def _maps(trace: Trace, run: Run) -> None:
    """Draw sigma, the map in focus without and with the lexicon, and the difference."""
    st.markdown("##### The whole map")
    focus = visit.focus()
    layer, head, component = focus.layer - 1, place(focus.head), place(focus.component)
    before = answers.trace(replace(focus, change=focus.change.with_(Edit("term", name="lexicon", to=0.0))), scored=False)
    of = sentence_of(run, trace)
    of.known["without the lexicon"] = before
    apart, similar = halves("lexicon-sigma")
    with apart:
        st.markdown("**Change of attention: with − without**")
        options: dict[str, Any] = {"layer": layer, "head": head, "component": component, "side": SIDE}
        show_figure("lexicon-difference", of, **options)
    with similar:
        st.markdown("**What the lexicon adds: σ**")
        show_figure("sigma", of, "lexicon-sigma", side=SIDE)
    both = st.expander("Both maps, without and with", key="lexicon-both", on_change="rerun")
    if not both.open:
        return
    most = max(float(seen.map(layer, head, component).max()) for seen in (before, trace))
    titles = ("Without · the same model at strength 0", f"With · strength {trace.change.strength.get('lexicon', 1.0):g}")
    with both:
        for column, seen, name, title in zip(halves("lexicon-maps"), (before, trace), ("before", "after"), titles, strict=True):
            with column:
                st.markdown(f"**{title}**")
                map_figure(seen, run, f"lexicon-{name}", side=SIDE, least=most)
