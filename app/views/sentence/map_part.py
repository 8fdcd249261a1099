"""The map in focus for texts of any length, and below a click the arithmetic of that cell."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial

import numpy as np
import streamlit as st

from app import answers, visit
from app.blocks.boundary import boundary
from app.blocks.figure import export_menu, show_figure
from app.blocks.sentence import map_controls, place, sentence_of
from app.components.attention_map import Layer, attention_map, picked
from app.text import halves, md
from sentviz.analysis.maps import coarse_map
from sentviz.analysis.maps.arithmetic import CellArithmetic, cell
from sentviz.analysis.maps.coarse_map import HOWS, KINDS, Packed, TokenMap, Units, WindowVisibility
from sentviz.charts import file_safe
from sentviz.charts.gallery import call
from sentviz.charts.map_view import MapView, head_of_cell, sight_in_words, token_cell
from sentviz.charts.maps import component_slug, head_slug
from sentviz.io.numbers import percent
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace

KEY = "long-map"
REACHES = ("trained", "whole")  # reach of the model in a text that is longer than those of the training
LONGEST = 10_000  # tokens that are read of a text that is longer than those of the training


def show(trace: Trace, run: Run) -> None:
    """Draw the choice of a map and its units, the map, and the arithmetic of a cell. Needs the page's width.

    A trace without maps (`Model.trace(..., maps=False)`, of a text too long to hold them) is read from the model, tile by tile.
    """
    if trace.dropped and run.capabilities.extends:
        trace, run = _to_its_end(trace, run)
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        with st.container(width="content"):
            map_controls(trace)
        kind = st.segmented_control("Unit", KINDS, default="tokens", format_func=str.capitalize, key="map-unit", required=True)
        queries, keys = HOWS[0], HOWS[2]
        if kind != "tokens":
            help = "How the attention to the tokens of a unit is combined. With the sum, the total of every row stays the same."
            keys = st.selectbox("Keys of a unit", HOWS, index=2, key="map-keys", width=120, help=help)
            queries = st.selectbox(
                "Queries of a unit", HOWS, index=0, key="map-queries", width=120, help="How the rows of a unit's tokens are combined."
            )
    focus = visit.focus()
    _map(trace, run, MapView(focus.layer - 1, place(focus.head), place(focus.component), kind, queries, keys))


def _to_its_end(trace: Trace, run: Run) -> tuple[Trace, Run]:
    """Offer to read the tokens beyond the trained length; return the trace and the run for the visitor's choice."""
    reach = visit.page_value("reach", "trained", lambda value: value if value in REACHES else None, resets=("run", "text", "row"))
    trained, total = len(trace.tokens), len(trace.tokens) + trace.dropped
    help = "The model's positions follow a formula, so it can read longer texts. It was not trained on such positions."
    switch = visit.bound("reach", reach == "whole", put=lambda on: "whole" if on else "trained")
    if not st.toggle(f"Read {'all' if total <= LONGEST else f'{LONGEST:,} of'} {total:,} tokens, not {trained:,}", help=help, **switch):
        return trace, run
    whole = answers.trace(visit.focus(), scored=False, longest=LONGEST)
    predictions = [f"{each.label} ({percent(each.confidence, 0)})" for each in (whole, trace)]
    beyond = f" The last {whole.dropped:,} are still not read." if whole.dropped else ""
    both = f"{run.name} predicts {predictions[0]} from {len(whole.tokens):,} tokens, and {predictions[1]} from the first {trained:,}."
    warning = f"It was trained on {trained:,} tokens at most, so its prediction from later positions is uncertain."
    st.caption(md(f"{both} {warning}{beyond}"))
    return whole, run.longer(LONGEST)


@st.fragment
@boundary()
def _map(trace: Trace, run: Run, view: MapView) -> None:
    """Draw the map and its arithmetic. A click runs only this part of the page again."""
    units = coarse_map.units(trace, view.kind)
    left, right = halves("map", 1.1, 1.0)
    with left:
        source = _source(trace, view)
        layers, largest = _layers(source, units, view, picked(units, KEY).window, run)
        sight = coarse_map.window_visibility(trace, units, view.layer)
        seen = attention_map(units, layers, mark=largest, title=view.words, key=KEY, sight=sight)
        _below(trace, run, view, units, layers, sight)
    with right:
        _arithmetic(trace, run, view, units, source, seen.cell or largest, clicked=seen.cell is not None)


def _source(trace: Trace, view: MapView) -> TokenMap:
    return coarse_map.map_of_trace(trace, view.layer, view.head, view.component)


def _layers(
    source: TokenMap, units: Units, view: MapView, window: tuple[int, int, int, int] | None, run: Run
) -> tuple[list[Layer], tuple[int, int] | None]:
    """Return the packed map, or an overview and the requested exact part; and the strongest cell if every cell is exact."""
    if len(units) <= coarse_map.EXACT_UNITS:
        exact = coarse_map.tile(source, units, queries=view.queries, keys=view.keys)
        row, column = np.unravel_index(int(np.abs(exact).argmax()), exact.shape)
        return [(coarse_map.pack(exact), 0, 0, 1)], (int(row), int(column))
    focus = visit.focus()
    key = (view, run.digest, units.labels, focus.change)
    with st.spinner(f"Reading a map of {len(units):,} × {len(units):,}", show_time=True):
        averages, block = visit.keep_result("map-overview", key, lambda: _overview(source, units, view))
    layers: list[Layer] = [(averages, 0, 0, block)]
    if window is not None:
        top, bottom, left, right = window
        part = coarse_map.tile(
            source, units, (top, min(bottom, top + 500)), (left, min(right, left + 500)), queries=view.queries, keys=view.keys
        )
        layers.append((coarse_map.pack(part), top, left, 1))
    return layers, None


def _overview(source: TokenMap, units: Units, view: MapView) -> tuple[Packed, int]:
    averages, block = coarse_map.overview(source, units, queries=view.queries, keys=view.keys)
    return coarse_map.pack(averages), block


def _below(trace: Trace, run: Run, view: MapView, units: Units, layers: Sequence[Layer], sight: WindowVisibility | None) -> None:
    packed, _, _, block = layers[0]
    sentences = [
        f"{view.words}: {len(units):,} {view.kind} per side.",
        "" if sight is None else sight_in_words(sight),
        view.together,
        f"Each cell is the mean of {block} × {block} until you zoom in." if block > 1 else "",
        "Purple is negative." if packed.signed else "",
        f"Weights have 8 bits here: the error is {packed.error:.2g} at most.",
    ]
    with st.container(horizontal=True, gap="small", wrap=False):
        st.caption(md(" ".join(filter(None, sentences))), width="stretch")
        if len(units) <= coarse_map.EXACT_UNITS:
            name = file_safe(
                "attention", trace.run, f"layer{view.layer + 1}", head_slug(view.head), component_slug(view.component), view.kind
            )
            at = {"layer": view.layer, "head": view.head, "component": view.component}
            lines = call("attention", sentence_of(run, trace), at) if view.kind == "tokens" else None
            export_menu(partial(view.figure, trace, run, units), name, KEY, code=lines)


# ---- arithmetic


def _arithmetic(
    trace: Trace, run: Run, view: MapView, units: Units, source: TokenMap, at: tuple[int, int] | None, *, clicked: bool
) -> None:
    """Draw the arithmetic of the clicked cell; without a click that of the strongest cell, once torch is loaded."""
    if at is None or not (clicked or "torch" in sys.modules):  # the first paint does not wait for it
        st.markdown("##### Cell arithmetic")
        st.caption("Click a cell of the map to read, in numbers, how its weight is computed.")
        return
    query, key, note = token_cell(source, units, coarse_map.units(trace), at)
    head, more = head_of_cell(trace, view, query, key)
    of = sentence_of(run, trace)
    arithmetic = of.known["cell", view.layer, head, query, key] = cell(of.model, trace, view.layer, head, query, key)
    tokens = [f"“{md(trace.tokens[i])}”" for i in (query, key)]
    st.markdown(f"##### {'' if clicked else 'The strongest cell: '}{tokens[0]} → {tokens[1]}")
    for remark in filter(None, (note, more)):
        st.caption(md(remark))
    _steps(arithmetic)
    show_figure("smoother", of, layer=view.layer, head=head, query=query, key=key)


def _steps(arithmetic: CellArithmetic) -> None:
    """Draw the steps of the components side by side, then their sum."""
    for start in range(0, len(arithmetic.parts), 2):
        parts = arithmetic.parts[start : start + 2]
        for column, part in zip(st.columns(2 if len(arithmetic.parts) > 1 else 1), parts, strict=False):
            lines = [md(line) for line in arithmetic.component_steps(part.place)]
            lines[-1] = f"**{lines[-1]}**"
            column.markdown("  \n".join(lines))
    lines = [md(line) for line in arithmetic.sum_steps()]
    if len(arithmetic.parts) > 1:
        lines[0] = f"**{lines[0]}**"
    st.markdown("  \n".join(lines))
