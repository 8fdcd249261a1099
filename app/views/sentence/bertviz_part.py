"""BertViz: its head view, model view and neuron view of the trace on the page. No request leaves the machine."""

from __future__ import annotations

from functools import partial

import streamlit as st

from app import answers, visit
from app.blocks.boundary import boundary
from app.blocks.sentence import place
from app.text import md, page_theme
from sentviz.browser.bertviz import View, bertviz_height, bertviz_html
from sentviz.charts import Theme, component_name, file_safe
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace

TITLES: dict[View, str] = {"head": "Head view", "model": "Model view", "neuron": "Neuron view"}
TALLEST = 900  # pixels; a taller page scrolls


@boundary()
def show(trace: Trace, run: Run) -> None:
    """Draw the controls, BertViz's page, and its download; show an error instead if the maps are too large for it."""
    focused = visit.focus().component
    views = [view for view in TITLES if view != "neuron" or run.capabilities.softmax]
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom", key="bertviz-controls"):
        view = st.segmented_control(
            "View", views, default="head", required=True, format_func=lambda name: TITLES[name], key=f"bertviz-view-{len(views)}"
        )
        several = len(trace.component_ids) > 1
        components = ["effective"] * (view != "neuron" or not several) + [str(c + 1) for c in trace.component_ids if several]
        component = st.segmented_control(
            "Map",
            components,
            default=focused if focused in components else components[0],
            required=True,
            format_func=lambda name: component_name(place(name)),
            key=f"bertviz-component-{focused}-{len(components)}",  # moves with the focus
        )
        layers = _some("Layers", trace.layer_ids)
        heads = _some("Heads", trace.head_ids)
    if "neuron" not in views:
        st.caption(f"{md(run.name)} has no neuron view: its maps are not the softmax of a dot product of queries and keys.")
    if view == "neuron" and not trace.terms:
        trace = answers.trace(visit.focus(), scored=False, exact=True)  # a stored example has no queries and keys
    make = partial(bertviz_html, trace, view, place(component), layers=layers, heads=heads)
    page = make(theme=page_theme())
    height = min(bertviz_height(trace, view, len(layers), len(heads)), TALLEST)
    st.iframe(page, height=height, alt=f"BertViz's {TITLES[view].lower()} of the attention of {run.name}")
    st.download_button(
        "HTML",
        data=partial(_file, make),
        file_name=f"{file_safe('bertviz', view, run.name, component)}.html",
        mime="text/html",
        key="bertviz-html",
        icon=":material/download:",
        type="tertiary",
        on_click="ignore",
        help="This view as one file that needs no network.",
    )


def _some(title: str, ids: tuple[int, ...]) -> tuple[int, ...]:
    """Draw the choice of all or one, and return the chosen ids."""
    options = ["all", *(str(i + 1) for i in ids)]
    chosen = st.selectbox(title, options, key=f"bertviz-{title.lower()}-{len(ids)}", width=90)
    return ids if chosen == "all" else (int(chosen) - 1,)


def _file(make: partial[str], theme: Theme = "light") -> bytes:
    return make(theme=theme).encode()
