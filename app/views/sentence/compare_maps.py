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
from sentviz.io.glossary import tip
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace


def show(first: Trace, second: Trace, run: Run, other: Run) -> None:
    """Maps of both side by side; below them the difference, and lambda."""
    st.divider()
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom", key="compare-map-of"):
        st.markdown("##### Attention")
        layer, head, component = _controls(first, second)
    for column, trace, source, side in zip(halves("compare-maps"), (first, second), (run, other), ("first", "second"), strict=True):
        with column:
            st.markdown(f"**{md(source.name)}**")
            of = sentence_of(source, trace)
            show_figure("attention", of, f"map-{side}", layer=layer, head=head, component=component, side=400)
    changes, lambdas = halves("compare-difference")
    with changes:
        _difference(first, second, run, other, layer, head, component)
    with lambdas:
        _lambdas(run, other)


def _controls(first: Trace, second: Trace) -> tuple[int, int | str, int | str]:
    """Layer, head and component among those that both models have."""
    focus = visit.focus()
    layers, components = (min(first.lambdas.shape[axis], second.lambdas.shape[axis]) for axis in (0, 1))
    heads = min(len(first.head_ids), len(second.head_ids))
    choices = {
        "layer": [str(i + 1) for i in range(layers)],
        "head": ["mean", "max", *(str(i + 1) for i in range(heads))],
        "component": ["effective", *(str(c + 1) for c in range(components if components > 1 else 0))],
    }
    shown = {name: str(getattr(focus, name)) if str(getattr(focus, name)) in options else options[0] for name, options in choices.items()}
    st.selectbox("Layer", choices["layer"], width=90, **visit.bound("layer", shown["layer"]))
    st.selectbox("Head", choices["head"], width=150, format_func=head_title, **visit.bound("head", shown["head"]))
    if components > 1:
        st.segmented_control(
            "Component",
            choices["component"],
            format_func=lambda name: component_name(place(name)),
            help=tip("component") + "\n\n" + tip("effective"),
            **visit.bound("component", shown["component"]),
        )
    return int(shown["layer"]) - 1, place(shown["head"]), place(shown["component"])


def _difference(first: Trace, second: Trace, run: Run, other: Run, layer: int, head: int | str, component: int | str) -> None:
    st.markdown(f"**Difference** · {md(other.name)} minus {md(run.name)}")
    try:
        changed = map_difference(first, second, layer, head, component)
    except (SentvizError, KeyError) as error:
        st.caption(md(str(error.args[0] if error.args else error)))
        return

    of = sentence_of(run, first)
    of.known["versus", other.name] = sentence_of(other, second)
    options: dict[str, Any] = {"versus": other.name, "layer": layer, "head": head, "component": component, "side": 400}
    show_figure("difference", of, "map-difference", **options)
    if changed.kind == "words":
        st.caption("The two models cut the text into different tokens, so it is compared word by word.")
    if changed.left_out:
        shown = ", ".join(f"“{piece}”" for piece in changed.left_out[:12])
        st.caption(f"Read by one of the two only, so not in the difference: {md(shown)}{' …' if len(changed.left_out) > 12 else ''}")


def _lambdas(run: Run, other: Run) -> None:
    st.markdown("**Lambda** · what each learned", help=tip("lambda"))
    learned = [each for each in (run, other) if each.capabilities.lambdas]
    for each in (run, other):
        if each not in learned:
            st.caption(f"{md(each.name)} has one map and no lambda.")
    if learned:
        show_figure("lambda", Runs.of(*learned), "compare-lambda")
