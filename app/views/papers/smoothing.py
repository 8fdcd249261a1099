"""Definition 1: what a head takes for a token is an average of values, weighted by a kernel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from app import answers, cache, visit
from app.blocks.boundary import boundary
from app.blocks.figure import show_figure
from app.blocks.run_choice import pick_run
from app.blocks.sentence import sentence_box
from app.blocks.table import show_table
from app.text import halves, marked, md
from sentviz.analysis.maps.arithmetic import average_in_words, average_table, cell
from sentviz.charts.subjects import Sentence
from sentviz.io.glossary import tip
from sentviz.runs.sections import Studied
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace

FORMULA = (
    r"o_i = \frac{\sum_j K(x_i, x_j)\, x_j W_V}{\sum_j K(x_i, x_j)}, \quad K(x_i, x_j) = \exp\frac{(x_i W_Q)(x_j W_K)^\top}{\sqrt{d_k}}"
)
WIDTH, KERNEL = 680, 80  # pixels for which the picture is laid out: about those of its column, so that numbers fit beside bars


@boundary()
def show(of: Studied) -> None:
    """A token of a sentence, a layer and a head: the kernel value of every other token, and the average that it makes."""
    st.markdown("##### Definition 1: attention is a kernel smoother", help=tip("kernel-smoother"))
    st.latex(FORMULA)
    names = [name for name, run in cache.models().items() if run.capabilities.maps and run.capabilities.softmax]
    if not names:
        st.info("No run with weights and attention is installed. `sentviz train sst2` trains one.", icon=":material/inventory_2:")
        return
    if not visit.has_chosen_run() and (own := _sentiformer(names)):
        visit.show_instead(run=own)
    if visit.focus().run not in names:
        st.caption(f"{md(visit.focus().run)} has no softmax, so it is not a kernel smoother. Choose another model.")
        pick_run("Model", names, index=None, placeholder="choose one with attention", key="smooth-model", on_change=_take, width=480)
        return
    run = cache.run(visit.focus().run)
    text, pair = answers.texts(visit.focus())
    with st.container(horizontal=True, gap="small"):
        pick_run("Model", names, width=360)
        sentence_box(run, text, pair, "smooth-sentence")
        if plain := _plain(run, names):
            help = f"{run.name} has {run.capabilities.components} kernels a head; this run has one, as the definition says."
            st.button(md(f"See {plain}"), help=md(help), key="smooth-plain", on_click=visit.go, kwargs={"run": plain})
    trace = answers.trace(visit.focus(), scored=False, exact=True)
    layer, head, query = _row(trace)
    row = cell(cache.model(run), trace, layer, head, query, 0)
    best = int(np.argmax(np.abs(row.row)))
    arithmetic = cell(cache.model(run), trace, layer, head, query, best)
    subject = Sentence.of(run, trace)
    subject.known["cell", layer, head, query, best] = arithmetic
    left, right = halves("smoothing", 1.5, 1.0)
    with left:
        width = WIDTH + KERNEL * run.capabilities.components
        show_figure("smoother", subject, "kernel", layer=layer, head=head, query=query, key=best, kernel=True, width=width)
    with right:
        st.markdown("\n\n".join(map(marked, average_in_words(arithmetic, trace, run.capabilities.gate))))
        with st.expander("Every token in numbers", on_change="rerun", key="smooth-numbers") as drawer:
            if drawer.open:
                show_table(average_table(arithmetic), "smooth-table")


def _plain(run: Run, names: Sequence[str]) -> str:
    """Return a run with one kernel per head, if possible a SentiFormer; "" if `run` has one itself or no run does."""
    if run.capabilities.components == 1:
        return ""
    single = [name for name in names if cache.runs()[name].capabilities.components == 1]
    return _sentiformer(names) or next(iter(single), "")


def _sentiformer(names: Sequence[str]) -> str:
    """Return the first SentiFormer among some runs; "" if there is none."""
    return next((name for name in names if cache.runs()[name].config["recipe"].get("model") == "sentiformer"), "")


def _take() -> None:
    visit.go(run=st.session_state["smooth-model"])


def _row(trace: Trace) -> tuple[int, int, int]:
    """Layer, head and query, counted from 0."""
    layers, heads = trace.lambdas.shape[0], len(trace.head_ids)
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        visit.choose(st.selectbox, "Layer", "layer", [str(i + 1) for i in range(layers)], width=90, label_visibility="visible")
        visit.choose(st.selectbox, "Head", "head", [str(i + 1) for i in range(heads)], width=90, label_visibility="visible")
        query = st.selectbox(
            "Token",
            range(len(trace.tokens)),
            format_func=lambda place: f"{place + 1} · {trace.tokens[place]}",
            key=f"smooth-token-{hash((trace.text, trace.text_pair))}",
            width=220,
            help="The token whose output is shown. Type to search.",
        )
    head = visit.focus().head
    return visit.focus().layer - 1, int(head) - 1 if head.isdecimal() else 0, int(query or 0)
