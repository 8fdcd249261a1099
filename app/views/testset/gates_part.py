"""The words that the gates of a run shut over a split; a note for a run without gates or without measurements."""

from __future__ import annotations

from typing import Literal

import streamlit as st

from app import cache, visit
from app.blocks.figure import show_figure
from app.blocks.measure import lacking
from app.shared import once
from app.text import halves, md
from sentviz.analysis.maps.gates import FILE, verdict
from sentviz.charts.gate_groups import KINDS
from sentviz.charts.subjects import Runs
from sentviz.io.glossary import tip
from sentviz.io.lazy import pd
from sentviz.runs.store import Run

Kind = Literal["tag", "class", "word"]

COLUMNS = {
    "name": st.column_config.TextColumn("word or group", pinned=True),
    "layer": st.column_config.TextColumn("layer"),
    "value": st.column_config.NumberColumn("mean gate", format="%.3f", help="0 = shut, 1 = open"),
    "low": st.column_config.NumberColumn("from", format="%.3f", help="95 % interval, resampling complete texts"),
    "high": st.column_config.NumberColumn("to", format="%.3f"),
    "shuffled_low": st.column_config.NumberColumn(
        "shuffled, from", format="%.3f", help="95 % range of this mean when gate values are shuffled among the tokens of each text"
    ),
    "shuffled_high": st.column_config.NumberColumn("to", format="%.3f"),
    "tokens": st.column_config.NumberColumn("tokens", format="localized"),
    "n": st.column_config.NumberColumn("texts", format="localized", help="texts that have such a token"),
}


@once(8)
def _measured(run: Run) -> pd.DataFrame:
    return run.frame(FILE)


def show(run: Run) -> None:
    """Draw the verdict, the gates by class of words and layer, and those by part of speech or word."""
    st.markdown("##### Which words the gates shut", help=tip("gate"))
    if not run.capabilities.gate:
        _offer_gated(run)
        return
    if FILE not in run.files:
        lacking(run, "gates")
        return
    frame = _measured(run)
    st.markdown("\n".join(f"- {md(line)}" for line in verdict(frame)))
    left, right = halves("gates")
    with left:
        show_figure("gate-lines", Runs(run))
    with right:
        kind = _kind()
        show_figure("gate-grid", Runs(run), kind=kind)
    with st.expander("Every number", on_change="rerun", key="gates-numbers") as more:
        if more.open:
            rows = frame[frame["kind"] == kind].sort_values(["layer", "value"], kind="stable")
            columns = rows.assign(layer=["mean" if layer < 0 else str(layer + 1) for layer in rows["layer"]])[list(COLUMNS)]
            st.dataframe(columns, hide_index=True, placeholder="–", column_config=COLUMNS)
    st.caption(
        "Softmax cancels a factor that all keys share, so only the ratio of gates counts: 0.3 instead of 0.6 halves a word's weight."
        " Classes are those of the page Components; a word that the model does not know has none. The tagger and the lists are for English."
        " A gate lowers the attention to a word in one layer; the word's own state still reaches the next layer through the residual"
        " stream."
    )


def _offer_gated(run: Run) -> None:
    """Say that a run has no gates, and offer an installed run whose gates are measured."""
    gated = next((each for each in cache.runs().values() if each.capabilities.gate and FILE in each.files), None)
    if gated is None:
        st.caption(f"{md(run.name)} has no gates. `sentviz train sentiformer_sst5_trees` trains a model with gates.")
        return
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.caption(f"{md(run.name)} has no gates.", width="content")
        label = f"Show {md(gated.name)}"
        st.button(label, icon=":material/arrow_forward:", type="tertiary", on_click=visit.go, kwargs={"run": gated.name}, key="to-gated")


def _kind() -> Kind:
    kinds: list[Kind] = ["tag", "class", "word"]
    picked = st.segmented_control(
        "By", kinds, default="tag", format_func=lambda kind: KINDS[kind].capitalize(), key="gates-kind", label_visibility="collapsed"
    )
    return picked or "tag"
