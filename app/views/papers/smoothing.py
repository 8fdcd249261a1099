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
from app.text import halves, md
from sentviz.analysis.maps.arithmetic import CellArithmetic, apart, cell
from sentviz.charts.subjects import Sentence
from sentviz.io.glossary import tip
from sentviz.io.numbers import percent
from sentviz.runs.sections import Studied
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace

FORMULA = (
    r"o_i = \frac{\sum_j K(x_i, x_j)\, x_j W_V}{\sum_j K(x_i, x_j)}, \quad K(x_i, x_j) = \exp\frac{(x_i W_Q)(x_j W_K)^\top}{\sqrt{d_k}}"
)


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
        show_figure("smoother", subject, "kernel", layer=layer, head=head, query=query, key=best, kernel=True)
    with right:
        _words(arithmetic, trace, run)


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


def _words(entry: CellArithmetic, trace: Trace, run: Run) -> None:
    """Explain the kernel of this run, check that the average equals the head's output, and list the numbers of every token."""
    has, frame = run.capabilities, entry.smoother()
    top, second = frame["weight"].abs().nlargest(2).index.tolist() if len(frame) > 1 else (0, 0)
    seen = int(frame["seen"].sum())
    sentences = [
        f"**{md(entry.tokens[entry.query])}** is averaged over {seen:,} of {len(frame):,} tokens. The largest weight is that of"
        f" **{md(entry.tokens[top])}** ({percent(frame['weight'][top])})"
        + (f" and **{md(entry.tokens[second])}** ({percent(frame['weight'][second])})." if len(frame) > 1 else ".")
    ]
    if entry.window:
        sentences.append(f"The kernel is 0 outside a window of {entry.window} tokens and the global ones.")
    if has.gate:
        sentences.append(
            "The kernel has an additional factor: the gate of the other token, between 0 and 1, which is the same for every query."
        )
    if len(entry.parts) > 1:
        sentences.append(
            f"This run has {len(entry.parts)} kernels per head; the weights are λ-mixed averages of them, so this is not a kernel smoother"
            " in the strict sense: the weights do not always sum to 1 and can be negative."
        )
    if entry.head_norm is not None:
        sentences.append("After the head, the average is normalized. The figure does not show this.")
    sentences.append(
        f"**The average is the head's output:** the fused computation, which never makes a weight, gives the same vector but for"
        f" {apart(entry, trace):.1g} of its length."
    )
    st.markdown("\n\n".join(sentences))
    with st.expander("Every token in numbers"):
        kernels = {name: name.removeprefix("kernel_a") for name in frame.columns if name.startswith("kernel_")}
        several = len(kernels) > 1
        titles = {name: f"kernel {number}" if several else "kernel" for name, number in kernels.items()}
        table = frame[["key_token", *kernels, "weight", "value_norm", "along"]].rename(
            columns=titles | {"key_token": "token", "value_norm": "size of value", "along": "share of output"}
        )
        st.dataframe(table, hide_index=True, height=260, column_config={"token": st.column_config.TextColumn(pinned=True)})
