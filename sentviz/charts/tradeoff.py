"""Parameters against latency."""

from __future__ import annotations

from typing import Any

from sentviz.charts.chart import Axis, Chart, points
from sentviz.charts.figure import Figure, file_safe, sentence
from sentviz.errors import InputError
from sentviz.io.lazy import pd

BESIDE = {
    "vanilla": "middle right",
    "vanilla-matched": "middle right",
    "diff": "bottom right",
    "ndt-unit-2": "top left",
}  # places of labels whose points nearly coincide


def tradeoff(frame: pd.DataFrame, printed: pd.DataFrame, *, title: str) -> Figure:
    """Draw each model at its parameters (millions) and its time per test batch as a multiple of vanilla's.

    Args:
        frame: model, parameters, value, low, high, measured in one process.
        printed: model, parameters, value, low, high: the range that rounding in the paper allows. May be empty.
        title: name of the data set.
    """
    if frame.empty and printed.empty:
        raise InputError("There is neither a measured nor a reported time.")
    names = frame.assign(
        label=[model.replace("ndt-unit-", "NDT, C = ") for model in frame["model"]],
        place=[BESIDE.get(model, "middle left") for model in frame["model"]],
    )
    hover = "{model}: {parameters:.2f} M, {value:.2f} × vanilla"
    ends: Any = {"low": "low", "high": "high", "hover": hover}
    marks = [
        points(names, "parameters", "value", name="measured, 95 % interval over rounds", text="{label}", text_at="place", **ends),
        points(printed, "parameters", "value", role=1, symbol="diamond-open", name="reported, with its rounding", **ends),
    ]
    across, down = Axis("parameters, millions"), Axis("× vanilla", zero=True)
    with_rows = [mark for mark in marks if len(mark.frame)]
    chart = Chart(f"Parameters against time per batch, {title}", with_rows, across, down, height=1.2)
    caption = sentence(
        [
            "Time of the same test batches as a multiple of vanilla's time. The models are measured in turns in one process;"
            " bars are 95 % intervals over rounds."
            if len(frame)
            else "",
            "The paper reports whole seconds for all batches; the bars of its diamonds are the range that rounding to whole seconds allows."
            if len(printed)
            else "",
            "The constraint of lambda changes neither the parameters nor the time." if len(frame) else "",
        ]
    )
    together = pd.concat([frame.assign(source="measured"), printed.assign(source="printed")], ignore_index=True)
    return Figure(file_safe("parameters-latency", title), chart, together, caption)
