"""The same attention map of two models, their difference, and what each learned for lambda."""

from __future__ import annotations

from typing import Any

import streamlit as st

from app import visit
from app.blocks.figure import show_figure
from app.blocks.sentence import head_title, place, sentence_of
from app.text import halves, md
from sentviz.analysis.maps.compare import map_difference
from sentviz.errors import SentvizError
from sentviz.figures import component_name
from sentviz.gallery.subjects import Runs
from sentviz.gallery.training import scalar_axis
from sentviz.io.glossary import tip
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace


def show(first: Trace, second: Trace, run: Run, second_run: Run) -> None:
    """Draw the maps of both models side by side, and below them the difference and lambda."""
    st.divider()
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom", key="compare-map-of"):
        st.markdown("##### Attention")
        layer, head, component = _controls(first, second)
    for column, trace, source, side in zip(halves("compare-maps"), (first, second), (run, second_run), ("first", "second"), strict=True):
        with column:
            st.markdown(f"**{md(source.name)}**")
            of = sentence_of(source, trace)
            show_figure("attention", of, f"map-{side}", layer=layer, head=head, component=component, side=400)
    changes, lambdas = halves("compare-difference")
    with changes:
        _difference(first, second, run, second_run, layer, head, component)
    with lambdas:
        _lambdas(run, second_run)


def _controls(first: Trace, second: Trace) -> tuple[int, int | str, int | str]:
    """Draw the choice of layer, head and component that both models have; return them, counted from 0."""
    focus = visit.focus()
    layers, components = (min(first.lambdas.shape[axis], second.lambdas.shape[axis]) for axis in (0, 1))
    heads = min(len(first.head_ids), len(second.head_ids))
    choices = {
        "layer": [str(i + 1) for i in range(layers)],
        "head": ["mean", "max", *(str(i + 1) for i in range(heads))],
        "component": ["effective", *(str(c + 1) for c in range(components if components > 1 else 0))],
    }
    chosen = {name: str(getattr(focus, name)) if str(getattr(focus, name)) in options else options[0] for name, options in choices.items()}
    st.selectbox("Layer", choices["layer"], width=90, **visit.bound("layer", chosen["layer"]))
    st.selectbox("Head", choices["head"], width=150, format_func=head_title, **visit.bound("head", chosen["head"]))
    if components > 1:
        st.segmented_control(
            "Component",
            choices["component"],
            format_func=lambda name: component_name(place(name)),
            help=tip("component") + "\n\n" + tip("effective"),
            **visit.bound("component", chosen["component"]),
        )
    return int(chosen["layer"]) - 1, place(chosen["head"]), place(chosen["component"])


def _difference(first: Trace, second: Trace, run: Run, second_run: Run, layer: int, head: int | str, component: int | str) -> None:
    st.markdown(f"**Difference** · {md(second_run.name)} minus {md(run.name)}")
    try:
        changed = map_difference(first, second, layer, head, component)
    except SentvizError as error:
        st.caption(md(str(error)))
        return

    of = sentence_of(run, first)
    of.known["versus", second_run.name] = sentence_of(second_run, second)
    options: dict[str, Any] = {"versus": second_run.name, "layer": layer, "head": head, "component": component, "side": 400}
    show_figure("difference", of, "map-difference", **options)
    if changed.kind == "words":
        st.caption("The two models cut the text into different tokens, so the maps are compared word by word.")
    if changed.left_out:
        pieces = ", ".join(f"“{piece}”" for piece in changed.left_out[:12])
        st.caption(
            "The difference does not contain the tokens that only one of the models reads:"
            f" {md(pieces)}{' …' if len(changed.left_out) > 12 else ''}"
        )


def _lambdas(run: Run, second_run: Run) -> None:
    st.markdown("**Lambda** · as each model learned it", help=tip("lambda"))
    learned = [each for each in (run, second_run) if each.capabilities.lambdas]
    for each in (run, second_run):
        if each not in learned:
            st.caption(f"{md(each.name)} has one map per head, so it has no lambda.")
    if learned:
        show_figure("lambda", Runs.of(*learned), "compare-lambda", x=scalar_axis(learned))
