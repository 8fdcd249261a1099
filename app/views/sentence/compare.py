"""Two models on one sentence: predictions, reasons and attention side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from app import answers, cache, visit
from app.blocks.boundary import boundary
from app.blocks.figure import show_figure
from app.blocks.run_choice import beside_it, most_alike, note_weights, usual_second
from app.blocks.sentence import (
    attends,
    component_choice,
    layer_and_head,
    run_with_weights,
    sentence_box,
    sentence_of,
    texts_in_focus,
)
from app.text import halves, intro, md, name_runs
from app.views.sentence import why_part
from sentviz.analysis.explain import SCORES, answer, available
from sentviz.analysis.explain.notices import notices
from sentviz.analysis.maps.compare import map_difference
from sentviz.charts.scalars import scalar_axis
from sentviz.charts.subjects import Runs
from sentviz.io.glossary import tip
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace


def show_maps(first: Trace, second: Trace, run: Run, second_run: Run) -> None:
    """Draw the maps of both models side by side with their difference, and lambda if a model has it."""
    st.divider()
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom", key="compare-map-of"):
        st.markdown("##### Attention")
        layer, head, component = _controls(first, second)
    learned = [each for each in (run, second_run) if each.capabilities.lambdas]
    columns = halves("compare-maps", *([] if learned else [1.0, 1.0, 1.0]))  # three, so that no half of the page is empty
    side = 400 if learned else 320
    for column, trace, source, key in zip(columns, (first, second), (run, second_run), ("map-first", "map-second"), strict=False):
        with column:
            st.markdown(f"**{md(source.name)}**")
            of = sentence_of(source, trace)
            show_figure("attention", of, key, layer=layer, head=head, component=component, side=side)
    if learned:
        columns = halves("compare-difference")
        with columns[-1]:
            _lambdas(run, second_run, learned)
    with columns[0 if learned else -1]:
        _difference(first, second, run, second_run, layer, head, component, side)
    if not learned:
        st.caption("Both models have one map per head, so neither has a lambda.", help=tip("lambda"))


def _controls(first: Trace, second: Trace) -> tuple[int, int | str, int | str]:
    """Draw the choice of layer, head and component that both models have; return them, counted from 0."""
    layers, components = (min(first.lambdas.shape[axis], second.lambdas.shape[axis]) for axis in (0, 1))
    layer, head = layer_and_head(layers, min(len(first.head_ids), len(second.head_ids)))
    return layer, head, component_choice(components)


@boundary(quiet=True)
def _difference(
    first: Trace, second: Trace, run: Run, second_run: Run, layer: int, head: int | str, component: int | str, side: int
) -> None:
    st.markdown(f"**Difference** · {md(second_run.name)} minus {md(run.name)}")
    changed = map_difference(first, second, layer, head, component)

    of = sentence_of(run, first)
    of.known["versus", second_run.name] = sentence_of(second_run, second)
    options: dict[str, Any] = {"versus": second_run.name, "layer": layer, "head": head, "component": component, "side": side}
    show_figure("difference", of, "map-difference", **options)
    if changed.kind == "words":
        st.caption("The two models cut the text into different tokens, so the maps are compared word by word.")
    if changed.left_out:
        pieces = ", ".join(f"“{piece}”" for piece in changed.left_out[:12])
        st.caption(
            "The difference does not contain the tokens that only one of the models reads:"
            f" {md(pieces)}{' …' if len(changed.left_out) > 12 else ''}"
        )


def _lambdas(run: Run, second_run: Run, learned: Sequence[Run]) -> None:
    st.markdown("**Lambda** · as each model learned it", help=tip("lambda"))
    for each in (run, second_run):
        if each not in learned:
            st.caption(f"{md(each.name)} has one map per head, so it has no lambda.")
    show_figure("lambda", Runs.of(*learned), "compare-lambda", x=scalar_axis(learned))


def pick(run: Run, place: Any) -> Run:
    """Draw the choice of two models in `place`; return the second. Stop the page with a note if there is no second model."""
    known, focus = cache.models(), visit.focus()
    candidates = [name for name in known if name != run.name]
    if not candidates:
        st.info("This page needs two models, but only one run with weights is installed. `sentviz train` trains another run.")
        st.stop()
    wanted = next((name for name in focus.versus if name != run.name and name in cache.runs()), "")
    fitting = most_alike(cache.run(wanted), list(known.values())).name if wanted and wanted not in known else wanted

    def swap() -> None:
        visit.go(run=second.name, versus=(run.name,), row=_common_row(run, second))

    with place:
        (name,) = beside_it(candidates, most=1, instead=fitting if fitting in candidates else usual_second(run, known.values()), width=400)
        second = known[name]
        st.button("Swap", icon=":material/swap_horiz:", key="compare-swap", on_click=swap, help="Exchange the two models")
        note_weights(wanted or name, name)
    return second


def _common_row(old: Run, new: Run) -> str:
    """Return the row in focus if the new run's data set has it, otherwise ""."""
    row = visit.focus().row
    return row if old.config["data"]["name"] == new.config["data"]["name"] or row.startswith("demo-") else ""


focus = visit.focus()
run = run_with_weights()
intro(
    "Two models on one sentence: what each predicts and why, and where their attention differs.",
    "One sentence does not say which model is better; Rows › Models side by side does, with all rows and seeds.",
)
row = st.container(horizontal=True, gap="small", vertical_alignment="bottom", key="compare-runs")
second = pick(run, row)
name_runs(run.name, second.name)
text, pair = texts_in_focus(run)
sentence_box(run, text, pair, "compare-sentence")
plain = replace(focus.as_trained(), text=text, pair=pair or "", row="")
with boundary("compare", page=True):
    traces = [answers.trace(replace(plain, run=each.name)) for each in (run, second)]
if focus.change:
    st.caption("Both models are shown as they were trained, without the changes made in Sentence.")

places = []
scores = [name for name in available(traces[0], asking=True) if name in available(traces[1], asking=True)]
score = focus.score if focus.score in scores else "removal"
for column, each, trace, side in zip(halves("compare"), (run, second), traces, ("first", "second"), strict=True):
    with column:
        st.markdown(f"##### {md(each.name)}: {md(answer(trace))}")
        places.append(why_part.place(f"reason-{side}", trace))
        of = sentence_of(each, trace)
        show_figure("verdict", of, f"verdict-{side}", slim=True, answered=False)
        show_figure("strip", of, f"strip-{side}", slim=True, score=score)
        st.caption("  \n".join(remark for kind, remark in notices(trace, each) if kind != "changed"))
st.selectbox("Tokens coloured by", scores, format_func=lambda name: SCORES[name].title, width=280, **visit.bound("score", score))
if run.labels == second.labels:
    agree = traces[0].label == traces[1].label
    gap = float(traces[1].probabilities[-1] - traces[0].probabilities[-1]) if len(run.labels) == 2 else None
    message = "**Both predict the same class.**" if agree else "**They predict different classes.**"
    if gap is not None:
        change = f"{100 * abs(gap):.1f} points {'higher' if gap > 0 else 'lower'}"
        message += f" {md(second.name)} gives “{md(run.labels[1])}” a probability that is {change}."
    st.markdown(message)
    st.page_link(
        "views/testset/comparison.py",
        label="All rows: which of them is right more often, by how much, and where they differ",
        icon=":material/summarize:",
    )

if attends(run) and attends(second):
    show_maps(traces[0], traces[1], run, second)
if not why_part.waiting():
    for slot, each in zip(places, (run, second), strict=True):
        why_part.show_reason(slot, replace(plain, run=each.name))
