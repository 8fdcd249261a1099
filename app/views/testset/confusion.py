"""The mistakes of a run: confused classes, the effect of a threshold, and the calibration of its probabilities."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from app import visit
from app.blocks.my_file import unlabelled
from app.blocks.rows import choose_rows, list_rows, rows_of_second_run
from app.text import intro, md
from app.views.testset import matrix_part, operating_part, weak_part
from app.views.testset.phenomena_part import phenomena
from sentviz.analysis.testset.operating import accuracy

focus = visit.focus()
intro(
    "Which classes the model confuses, and the rows of every cell.",
    "Open a row in Explore to see why it is wrong. Intervals cover test-set sampling, not retraining.",
)
VIEWS = {"matrix": "Matrix", "curves": "ROC and precision-recall", "calibration": "Calibration", "slices": "Weakest slices"}
every = choose_rows(sliced=True)
if not every.labelled:
    st.info(
        f"{md(unlabelled(every.over))} No prediction can be right or wrong without a label; the rows are listed below.",
        icon=":material/label_off:",
    )
    list_rows(every)
    st.stop()
known = every.labels >= 0
rows = replace(every, frame=every.frame[known])
beside = rows_of_second_run(every)
if beside is not None:
    beside = replace(beside, frame=beside.frame[known])
runs = [rows] if beside is None else [rows, beside]

views = {"probabilities": list(VIEWS), "scores": ["matrix", "curves", "slices"], "classes": ["matrix", "slices"]}[rows.source.gives]
view = visit.setting(st.segmented_control, "View", "view", views, format_func=VIEWS.get, label_visibility="collapsed")
own = accuracy(rows.labels, rows.predicted)
right = int(rows.frame["right"].sum())
left_out = f" {len(every) - len(rows):,} rows without a label are left out." if len(rows) < len(every) else ""
if rows.total > len(rows) and not rows.among:
    left_out += f" The file has {rows.total:,} rows."
st.markdown(
    f"{md(rows.source.name)} is right on **{right:,} of {len(rows):,}** rows: {own['value']:.1%} [{own['low']:.1%}, {own['high']:.1%}]."
    f" {matrix_part.mistake(rows)}{left_out}"
)
if rows.over == "mine" and view == "matrix":
    weak_part.first_ones()
if rows.source.gives != "probabilities":
    st.caption(
        "The file has no probabilities, so there are no curves and no calibration."
        if rows.source.gives == "classes"
        else "The file has scores that are not probabilities: their order gives curves, but no calibration."
    )
match view:
    case "curves":
        operating_part.curves(runs)
    case "calibration":
        operating_part.calibration(runs)
    case "slices":
        weak_part.show()
    case _:
        matrix_part.show(runs)
        if rows.over == "demo":
            phenomena({each.source.name: each for each in runs})
if len(rows.classes) == 2 and view not in ("calibration", "slices") and rows.source.gives == "probabilities":
    st.slider(
        f"Least probability to predict “{md(rows.classes[1])}”",
        0.0,
        1.0,
        step=0.01,
        **visit.bound("threshold", 0.5 if focus.threshold < 0 else focus.threshold),
        width=340,
    )
list_rows(every)
