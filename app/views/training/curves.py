"""Loss and validation metrics of any runs, overlaid."""

from __future__ import annotations

from typing import Literal

import streamlit as st

from app import shell, store
from app.focus import choices
from app.views.runpick import several
from sentviz.figures import curves
from sentviz.gallery import code, sourced

shell.intro(
    "Training loss, validation loss and validation accuracy of any runs, the stored weights' moment marked.",
    "One seed a line: differences of a few tenths of a point can be chance.",
)
chosen = several(list(store.runs().values()), "a history")
shell.choose(st.segmented_control, "Axis", "axis", choices("axis"), label_visibility="collapsed")
axis: Literal["epoch", "step"] = "step" if shell.focus().axis == "step" else "epoch"
lines = code(chosen[0].name, "curves", versus=tuple(run.name for run in chosen[1:]), x=axis)
shell.figure(lambda theme: sourced(curves({run.name: run.history() for run in chosen}, x=axis, theme=theme), *chosen), "curves", code=lines)
