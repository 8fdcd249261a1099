"""Thresholds and calibration: curves with their areas, reliability before and after temperature scaling."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from app import visit
from app.blocks.figure import show_figure
from app.text import halves, md
from app.views.testset import matrix_part
from sentviz.analysis.calibration import calibration_line, leaning
from sentviz.analysis.testset import operating
from sentviz.analysis.testset.rows import Rows
from sentviz.analysis.testset.slices import Slice
from sentviz.gallery.subjects import Answers
from sentviz.gallery.testset import STEPS
from sentviz.io.glossary import tip
from sentviz.io.lazy import pd

KEPT = 8  # stored results for a visitor's own file


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
                f"{md(run)}: accuracy {accuracy[len(places) // 2]:.1%} at threshold 0.50. The highest accuracy on these rows is"
                f" {accuracy.max():.1%} at {places[accuracy.argmax()]:.2f}."
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
    st.slider(f"Show the rows below whose probability of “{md(name)}” is between", 0.0, 1.0, step=0.01, key="band", on_change=take)


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
    percent = {name: st.column_config.NumberColumn(format="percent") for name in ("confidence", "accuracy")}
    small = {
        name: st.column_config.NumberColumn(label, format="%.4f") for name, label in {"value": "ECE", "low": "low", "high": "high"}.items()
    }
    chance = {"chance": st.column_config.NumberColumn("if calibrated", format="%.4f")}
    columns = table.assign(by=table["by"].map(STEPS))[["run", "state", "by", "value", "low", "high", "chance", "confidence", "accuracy"]]
    st.dataframe(columns, hide_index=True, placeholder="–", height="content", column_config=percent | small | chance | {"by": "steps"})
    st.caption(
        f"Expected calibration error over {operating.BINS} steps: the distance between confidence and accuracy, weighted by rows, with"
        " its 95%"
        " bootstrap interval. The error is above 0 even for a perfectly calibrated run: *if calibrated* is its error on as many rows."
    )


def _sentence(run: str, factor: float | None, errors: pd.DataFrame) -> str:
    before, *after = errors[errors["by"] == "width"].to_dict("records")
    text = (
        f"{run} has a mean confidence of {before['confidence']:.1%} and is right on {before['accuracy']:.1%} of the rows: it is"
        f" {leaning(before['confidence'], before['accuracy'])}."
    )
    values = [f"{error['value']:.3f} [{error['low']:.3f}, {error['high']:.3f}]" for error in (before, *after)]
    if factor is None:
        return f"{text} The calibration error is {values[0]}; these predictions have no fitted temperature."
    moved = f"change the calibration error from {values[0]} to {values[1]}"
    then = leaning(after[0]["confidence"], after[0]["accuracy"])
    return f"{text} Its logits divided by {factor:.2f}, a temperature fitted on validation rows, {moved}; it is then {then}."


def _kept(statistic: Callable[..., pd.DataFrame], rows: Rows, option: Any) -> pd.DataFrame:
    """Return a statistic of labels, probabilities and an option, computed once for all visitors; of a visitor's own rows once per visit."""
    content = hashlib.blake2b(rows.probabilities.tobytes() + rows.labels.tobytes(), digest_size=12).hexdigest()
    if rows.over != "mine":
        return _shared(statistic.__name__, content, option, rows, statistic)
    key = (statistic.__name__, content, option)
    return visit.keep_result("operating", key, lambda: statistic(rows.labels, rows.probabilities, option), most=KEPT)


@st.cache_data(max_entries=48, show_spinner="Resampling the rows")
def _shared(name: str, content: str, option: Any, _rows: Rows, _statistic: Callable[..., pd.DataFrame]) -> pd.DataFrame:
    return _statistic(_rows.labels, _rows.probabilities, option)
