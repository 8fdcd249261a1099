"""Loss and validation metrics of any runs, overlaid."""

from __future__ import annotations

import streamlit as st

from app import shell
from app.views.runpick import several
from sentviz.figures import curves
from sentviz.gallery import signed

shell.intro(
    "Training loss, validation loss and validation accuracy of any runs, the stored weights' moment marked.",
    "One seed a line: differences of a few tenths of a point can be chance.",
)
chosen = several(list(shell.runs().values()), "a history")
axis = st.segmented_control("Axis", ["epoch", "step"], default="epoch", key="curves-axis", label_visibility="collapsed") or "epoch"
shell.figure(lambda theme: signed(curves({run.name: run.history() for run in chosen}, x=axis, theme=theme), *chosen), "curves")
