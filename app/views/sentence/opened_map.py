"""The map that the page Attention shows if nobody chose one."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import streamlit as st

from app import answers, visit
from app.blocks.sentence import open_map
from app.focus import Focus
from app.text import md
from sentviz.analysis.explain.leave_out import words
from sentviz.analysis.maps.layers import HeadEffects
from sentviz.browser.canvas import Scene, is_quick, scene_of
from sentviz.errors import SentvizError
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace


def show_strongest(trace: Trace, run: Run) -> str:
    """Show the map that Reason would show large, if nobody chose a layer or head; return why it is open, as markdown, "" if it was chosen.

    Heads are measured here only if that takes milliseconds; otherwise what this visit has measured is used.
    """
    focus, plain = visit.focus(), Focus()
    if not trace.has_maps or focus.large == "chosen" or (focus.layer, focus.head) != (plain.layer, plain.head):
        return ""
    effects = _effects(trace, run)
    scene = scene_of(trace, run.capabilities, "removal" if "removal" in trace.token_scores else "", heads=effects)
    layer, head, _ = scene.pick
    visit.show_instead(layer=layer + 1, head=str(head + 1) if isinstance(head, int) else head)
    if isinstance(head, str):
        measures = " Reason measures what each head does." if run.capabilities.silence else ""
        why = f"the mean of the heads of the last layer, since no effect of a head on this text is known yet.{measures}"
    elif effects is None:
        why = f"layer {layer + 1}, head {head + 1}, which attends most to “{md(_strongest_word(scene))}”, the word with most effect."
    else:
        fall = float(effects.falls[layer, head])
        why = (
            f"layer {layer + 1}, head {head + 1}: without it alone, the log-odds of {md(trace.target.label or trace.label)}"
            f" {'fall' if fall > 0 else 'rise'} by {abs(fall):.2f}, the largest change by one head."
        )
    return f"Open: {why}"


def offer_strongest(trace: Trace, run: Run) -> None:
    """Draw the button that opens the head that moves the answer most, if that is known and another map is open."""
    effects = _effects(trace, run) if trace.has_maps else None
    if effects is None:
        return
    focus, (layer, head) = visit.focus(), effects.leading[0]
    if (focus.layer, focus.head) == (layer + 1, str(head + 1)):
        return
    st.button(
        f"Layer {layer + 1}, head {head + 1} moves the answer most",
        key="strongest-head",
        icon=":material/bolt:",
        type="tertiary",
        on_click=open_map,
        kwargs={"layer": layer + 1, "head": str(head + 1)},
    )


def _effects(trace: Trace, run: Run) -> HeadEffects | None:
    """Return the effects of heads on the answer if they are known or known at once, and one of them is not 0."""
    if not run.capabilities.silence:
        return None
    with suppress(SentvizError):  # The map is drawn without the effects of heads.
        effects: HeadEffects | None = answers.heads(visit.focus(), trace, wait=is_quick(run))
        return effects if effects is not None and effects.leading else None
    return None


def _strongest_word(scene: Scene) -> str:
    """Return the word without which the prediction falls most."""
    assert scene.falls is not None
    unit = tuple(scene.units[int(np.nan_to_num(scene.falls, nan=-np.inf).argmax())])
    return next((word.text for word in words(scene.trace) if word.indices == unit), "")
