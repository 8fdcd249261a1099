"""Accuracy by constraint and number of components, with the baselines as lines."""

from __future__ import annotations

from sentviz.charts.chart import Axis, Chart, Panels, line, points
from sentviz.charts.figure import Figure, file_safe, sentence
from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.io.numbers import percent, span
from sentviz.runs.presets import range_in_words

BASELINE_DASHES = ("dot", "dash", "solid")


def accuracy_grid(frame: pd.DataFrame, *, title: str) -> Figure:
    """Draw accuracy in a panel for each constraint, over C; baselines are horizontal lines through all panels, reported values open
    diamonds.

    Args:
        frame: model, constraint ("" of a baseline), components, value, low, high, printed, seeds; NaN if nothing was measured.
        title: name of the data set.
    """
    known = frame.dropna(subset="value")
    if known.empty:
        raise InputError("No run of this data set is installed.")
    baselines, measured = known[known["constraint"] == ""], known[known["constraint"] != ""]
    reported = frame[frame["constraint"] != ""].dropna(subset="printed")
    marks = [
        line(pd.DataFrame({"C": [1.5, 4.5], "value": base["value"], "model": base["model"]}), "C", "value", role=k + 2, symbol="",
             dash=BASELINE_DASHES[k % 3], name=f"{base['model']} {percent(base['value'], 2)}", hover="{model} {value:.2%}")
        for k, base in enumerate(baselines.to_dict("records"))
    ]  # fmt: skip
    hover = "C = {components}: {value:.2%} [{low:.2%}, {high:.2%}], seeds: {seeds:.0f}"
    marks.append(points(measured, "components", "value", low="low", high="high", name="NDT, measured, 95 % interval", hover=hover))
    if len(reported):
        beside = reported.assign(components=reported["components"] + 0.2)
        named = {"role": 1, "symbol": "diamond-open", "name": "NDT, reported", "hover": "reported {printed:.2%}"}
        marks.append(points(beside, "components", "printed", **named))
    constraints = frame.loc[frame["constraint"] != "", "constraint"].unique()
    panels = Panels("constraint", {name: range_in_words(name) for name in constraints}, len(constraints), alike=True)
    across, down = Axis("C", ticks={2.0: "2", 3.0: "3", 4.0: "4"}, span=(1.5, 4.6)), Axis(form=".1%")
    chart = Chart(f"Accuracy by constraint and number of maps, {title}", marks, across, down, panels=panels)
    caption = sentence(
        [
            "Accuracy of each constraint over the number of maps C. Dots are measured; bars are 95 % intervals over test rows, and over"
            " seeds if a configuration has several.",
            "Diamonds are reported in the paper." if frame["printed"].notna().any() else "",
            "Lines are the measured baselines.",
            f"Seeds per configuration: {span(known['seeds'])}; n = {int(known['n'].max()):,}." if "n" in known else "",
        ]
    )
    return Figure(file_safe("accuracy-grid", title), chart, frame.reset_index(drop=True), caption)
