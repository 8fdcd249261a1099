"""The mistakes of a run: confused classes, the effect of a threshold, the calibration of its probabilities, and weak slices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from app import visit
from app.blocks.boundary import boundary
from app.blocks.figure import show_figure
from app.blocks.my_file import unlabelled
from app.blocks.rows import choose_rows, every_row, list_rows, rows_of_second_run
from app.blocks.slice_choice import open_slice
from app.shared import once
from app.text import halves, in_percent, intro, md
from app.views.testset import matrix_part
from sentviz.analysis.calibration import calibration_line, leaning
from sentviz.analysis.testset import operating
from sentviz.analysis.testset.operating import accuracy
from sentviz.analysis.testset.rows import EVERY, Rows, accuracy_by_phenomenon
from sentviz.analysis.testset.slices import Slice
from sentviz.analysis.testset.weak import line, numbers, weak_slices
from sentviz.charts.operating import STEPS
from sentviz.charts.phenomena import MOST
from sentviz.charts.subjects import Answers, Runs, computed
from sentviz.errors import SentvizError
from sentviz.io.glossary import tip
from sentviz.io.lazy import pd
from sentviz.io.numbers import number, percent

FIRST = 3  # slices that are named above the matrix


def curves(runs: Sequence[Rows]) -> None:
    """Draw ROC and precision-recall of every class with all runs; for two classes also the metrics by threshold."""
    of = Answers.of(*runs, statistic=_kept)
    left, right = halves("curves")
    with left:
        show_figure("roc", of)
    with right:
        show_figure("precision-recall", of, "pr")
    if len(runs[0].classes) == 2 and all(rows.source.gives == "probabilities" for rows in runs):
        _threshold(runs)


def _threshold(runs: Sequence[Rows]) -> None:
    tables = {rows.source.name: operating.thresholds(rows.labels, rows.probabilities[:, 1]) for rows in runs}
    left, right = halves("threshold")
    with left:
        show_figure("threshold", Answers.of(*runs))
        for run, table in tables.items():
            accuracy, places = table["accuracy"].to_numpy(), table["threshold"].to_numpy()
            st.markdown(
                f"{md(run)}: accuracy {percent(accuracy[len(places) // 2])} at threshold 0.50. The highest accuracy on these rows is"
                f" {percent(accuracy.max())} at {places[accuracy.argmax()]:.2f}."
            )
        _band(runs[0].classes[1])
    with right:
        matrix_part.matrix(runs[0])


def _band(name: str) -> None:
    """Draw a slider for a band of the second class's probability, which becomes the slice of rows."""
    part = matrix_part.part()
    band = part.band[1:] if part is not None and part.kind == "p" and part.band[0] == 1 else (0.0, 1.0)

    def take() -> None:
        low, high = st.session_state["band"]
        visit.go(slice="" if (low, high) == (0.0, 1.0) else str(Slice("p", f"1:{low:.2f}-{high:.2f}")))

    st.session_state["band"] = band
    st.slider(f"Show the rows whose probability of “{md(name)}” is between", 0.0, 1.0, step=0.01, key="band", on_change=take)


def calibration(runs: Sequence[Rows]) -> None:
    """Draw confidence against accuracy with and without the source's temperature, and the calibration error of both."""
    tables = []
    for place, rows in enumerate(runs):
        name, factor = rows.source.name, rows.source.calibration
        errors = _kept(operating.calibration, rows.calibrated(1.0), 1.0 if factor is None else factor)
        if factor is None:
            errors = errors[errors["state"] == "as it is"]
        st.markdown(_sentence(md(name), factor, errors), help=tip("calibration"))
        if (run := rows.source.run) is not None and run.has_rows:
            st.markdown(md(calibration_line(run)))
        for column, by in zip(halves(f"reliability-{place}"), STEPS, strict=True):
            with column:
                show_figure("reliability", Answers.of(rows), f"reliability-{place}-{by}", by=by)
        tables.append(errors.assign(run=name, state=errors["state"].replace("calibrated", f"logits / {factor or 1:.2f}")))
    table = pd.concat(tables)
    small = {
        name: st.column_config.NumberColumn(label, format="%.4f") for name, label in {"value": "ECE", "low": "low", "high": "high"}.items()
    }
    chance = {"chance": st.column_config.NumberColumn("if calibrated", format="%.4f")}
    columns = table.assign(by=table["by"].map(STEPS))[["run", "state", "by", "value", "low", "high", "chance", "confidence", "accuracy"]]
    written = in_percent(columns, "confidence", "accuracy")
    st.dataframe(written, hide_index=True, placeholder="–", height="content", column_config=small | chance | {"by": "steps"})
    st.caption(
        f"Expected calibration error over {operating.BINS} steps: the distance between confidence and accuracy, weighted by rows, with"
        " its 95 % bootstrap interval. The error is above 0 even for a perfectly calibrated run: *if calibrated* is its error on as many"
        " rows."
    )


def _sentence(run: str, factor: float | None, errors: pd.DataFrame) -> str:
    before, *after = errors[errors["by"] == "width"].to_dict("records")
    text = (
        f"{run} has a mean confidence of {percent(before['confidence'])} and is right on {percent(before['accuracy'])} of the rows: it is"
        f" {leaning(before['confidence'], before['accuracy'])}."
    )
    values = [number(error["value"], 3, ends=(error["low"], error["high"])) for error in (before, *after)]
    if factor is None:
        return f"{text} The calibration error is {values[0]}; these predictions have no fitted temperature."
    moved = f"change the calibration error from {values[0]} to {values[1]}"
    then = leaning(after[0]["confidence"], after[0]["accuracy"])
    return f"{text} Its logits divided by {factor:.2f}, a temperature fitted on validation rows, {moved}; it is then {then}."


_computed = once(48, "Resampling the rows", own=8)(computed)
_searched = once(16, "Searching for weak slices", own=4)(weak_slices)


def _kept(statistic: Callable[..., pd.DataFrame], rows: Rows, option: Any) -> pd.DataFrame:
    """Return a statistic of labels, probabilities and an option, which no threshold changes."""
    columns = ["label", *(f"p{k}" for k in range(len(rows.classes)))]
    table: pd.DataFrame = _computed(statistic, Rows(rows.source, rows.over, rows.classes, rows.frame[columns]), option)
    return table


def _button(row: dict[Any, Any], key: str, **how: Any) -> None:
    st.button(
        f"{md(row['says'])} · {percent(row['accuracy'], 0)}",
        key=key,
        icon=":material/trending_down:",
        help=md(f"{line(row)}. Show its rows and open its first mistake."),
        on_click=open_slice,
        args=(row["slice"],),
        **how,
    )


def first_ones() -> None:
    """Name the weakest slices of a visitor's own file in one line; nothing if none was found or the rows cannot be searched."""
    try:
        weaker = _searched(every_row()).weaker
    except SentvizError:
        return
    if weaker.empty:
        return
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="weakest"):
        st.markdown("**Weakest:**", width="content")
        for place, row in enumerate(weaker.head(FIRST).to_dict("records")):
            _button(row, f"weakest-{place}")
        more: dict[str, Any] = {"on_click": visit.go, "kwargs": {"view": "slices"}}
        st.button("Intervals", icon=":material/bar_chart:", type="tertiary", key="weakest-all", **more)


@boundary()
def show_weakest() -> None:
    """Draw the slices that were tested with their intervals, and those that were found with the way to their mistakes."""
    rows = every_row()
    weak = _searched(rows)
    left, right = halves("weak-slices")
    of = Answers.of(rows)
    of.weak = weak
    weaker = weak.weaker.to_dict("records")
    with left:
        slices = weak.frame["slice"]
        show_figure("weak-slices", of, selected=visit.focus().among or None, on_pick=lambda point: open_slice(slices.iloc[round(point.y)]))
    with right:
        st.markdown("##### Where it is weakest", help=tip("weak-slice"))
        for place, row in enumerate(weaker):
            _button(row, f"weak-{place}", type="secondary")
            st.caption(md(numbers(row)))
        if not weaker:
            st.markdown("No slice is significantly weaker than the other rows.")
        st.caption(
            f"{weak.candidates:,} slices were searched on one half of the rows. {len(weak.frame)} of them were tested on the other"
            f" {weak.halves[1]:,} rows, which had no part in the choice. A slice says where the model is wrong, not why: read its mistakes."
        )


@boundary(quiet=True)
def phenomena(rows_by_run: Mapping[str, Rows]) -> None:
    """Draw the accuracy of the first six runs by phenomenon; for rows of the demo set."""
    runs = list(rows_by_run)[:MOST]
    sources = [rows_by_run[name].source.require_run("accuracies by phenomenon") for name in runs]
    frame = accuracy_by_phenomenon({name: rows_by_run[name] for name in runs})
    try:
        part = Slice.parse(visit.focus().slice)
    except SentvizError:
        part = None
    chosen = part.value if part is not None and part.kind == "tag" else ""
    chance = 1 / max(len(rows_by_run[name].classes) for name in runs)
    names = [name for name in dict.fromkeys(frame["phenomenon"]) if name != EVERY]

    def pick(name: str | None) -> None:
        visit.go(slice=str(Slice("tag", name)) if name and name != EVERY else "")

    of = Runs.of(*sources)
    of.demo_rows = {name: rows_by_run[name] for name in runs}
    # "" marks nothing, and the figure follows the threshold of the page
    show_figure("phenomena", of, selected=chosen, on_pick=lambda point: pick(point.data[0]))
    st.session_state["phenomenon"] = chosen if chosen in names else None
    help = "Show only the rows of this phenomenon. A click on a dot does the same."
    st.pills("Phenomenon", names, key="phenomenon", on_change=lambda: pick(st.session_state["phenomenon"]), help=help)
    if len(rows_by_run) > MOST:
        st.caption(f"The first {MOST} of {len(rows_by_run)} runs are drawn.")
    if chance < 0.5:
        st.caption("These runs have classes that do not occur in the demo set. A “neutral” prediction counts as wrong.")


focus = visit.focus()
intro(
    "Which classes the model confuses, and the rows of every cell.",
    "Open a row in Sentence to see why it is wrong. Intervals cover test-set sampling, not retraining.",
)
VIEWS = {"matrix": "Matrix", "curves": "ROC and precision-recall", "calibration": "Calibration", "slices": "Weakest slices"}
every = choose_rows(sliced=True)
if not every.labelled:
    st.info(
        f"{md(unlabelled(every.over))} No prediction can be right or wrong without a label; the rows are listed at the side.",
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
view = visit.setting(st.segmented_control, "View", "view", views, format_func=VIEWS.get)
own = accuracy(rows.labels, rows.predicted)
right = int(rows.frame["right"].sum())
left_out = f" {len(every) - len(rows):,} rows without a label are left out." if len(rows) < len(every) else ""
if rows.total > len(rows) and not rows.among:
    left_out += f" The file has {rows.total:,} rows."
st.markdown(
    f"{md(rows.source.name)} is right on **{right:,} of {len(rows):,}** rows: {percent(own['value'], ends=(own['low'], own['high']))}."
    f" {matrix_part.mistake(rows)}{left_out}"
)
if rows.over == "mine" and view == "matrix":
    first_ones()
if rows.source.gives != "probabilities":
    st.caption(
        "The file has no probabilities, so there are no curves and no calibration."
        if rows.source.gives == "classes"
        else "The file has scores that are not probabilities: their order gives curves, but no calibration."
    )
match view:
    case "curves":
        curves(runs)
    case "calibration":
        calibration(runs)
    case "slices":
        show_weakest()
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
