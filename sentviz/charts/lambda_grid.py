"""All learned lambdas of a data set in one figure."""

from __future__ import annotations

from typing import Any

from sentviz.charts.chart import Axis, Chart, Panels, Rule, line, points
from sentviz.charts.figure import Figure, file_safe, sentence
from sentviz.charts.text import subscript
from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.io.numbers import span
from sentviz.runs.presets import range_in_words


def lambda_grid(
    frame: pd.DataFrame,
    *,
    title: str,
    change: bool = False,
    printed: pd.DataFrame | None = None,
) -> Figure:
    """Draw a panel for each layer and constraint.

    Colour is the component, dash the number of components C.

    Lines are means over seeds, bands their range; an open circle marks the start, a filled one the end.

    Args:
        frame: model, constraint, components, layer, component (counted from 0), step, value, low, high, change, change_low, change_high,
            seeds.
        title: name of the data set.
        change: draw the change from the start.
        printed: constraint, components, layer, component, value: a paper's final values, as open diamonds at the right; not drawn with
            ``change``, since their starts are unknown.
    """
    if frame.empty:
        raise InputError("No installed run of this data set has a learned lambda.")
    constraints, layers = list(frame["constraint"].unique()), sorted(frame["layer"].unique())
    value, low, high = ("change", "change_low", "change_high") if change else ("value", "low", "high")
    marks = None if change or printed is None or printed.empty else printed
    last = int(frame["step"].max())
    drawn = _placed(frame).sort_values("step", kind="stable")
    drawn[[low, high]] = drawn[[low, high]].where(drawn["seeds"] > 1)
    by_line = drawn.groupby(["panel", "total", "label"], sort=False)
    pictures = [
        line(drawn, "step", value, low=low, high=high, by="label", dashes="total", symbol="",
             hover=f"{{model}}, {{label}}<br>step {{step}}: {{{value}:.4f}}"),
        points(by_line.head(1), "step", value, by="label", symbol="circle-open", size=0.7),
        points(by_line.tail(1), "step", value, by="label", symbol="circle", size=0.7),
    ]  # fmt: skip
    if marks is not None:
        reported = _placed(marks).assign(step=last * (1.02 + 0.05 * (marks["components"].to_numpy(float) - 1)))
        diamonds: Any = {"symbol": "diamond-open", "size": 0.9}
        pictures += [
            points(reported, "step", "value", by="label", hover="reported, C = {components}: {value:.4f}", **diamonds),
            points(reported.iloc[:0], "step", "value", role="muted", name="reported", **diamonds),
        ]
    titles = {f"{name} {layer}": f"{range_in_words(name)}, layer\u00a0{layer + 1}" for layer in layers for name in constraints}
    numbers = {f"λ{subscript(component + 1)}": i for i, component in enumerate(sorted(frame["component"].unique()))}
    numbers |= {f"C = {total}": at for at, total in enumerate((2, 3, 4))}
    crosses = change or bool(frame["low"].min() < 0 < frame["high"].max())
    chart = Chart(
        f"λ while training, {'change from the start, ' if change else ''}{title}",
        pictures,
        Axis("step", span=(-0.05 * last, 1.27 * last if marks is not None else 1.05 * last)),
        Axis(form=".2f"),
        rules=[Rule(y=0)] if crosses else (),
        panels=Panels("panel", titles, len(constraints), alike=True, small=True),
        series=numbers,
    )
    seeds = frame.groupby("model")["seeds"].max()
    caption = sentence(
        [
            f"Learned λ of {len(seeds)} configurations over the training steps; open circles are the start, filled ones the end.",
            f"Seeds per configuration: {span(seeds)}" + ("; lines are their means, bands their range." if seeds.max() > 1 else "."),
            "Values are changes from the start, because the initialisation sets the start." if change else "",
            "Diamonds are the paper's final values." if marks is not None else "",
            "For DT, −λ is drawn, which DT learns in another form." if "DT, −λ" in constraints else "",
        ]
    )
    name = file_safe("lambda-grid-change" if change else "lambda-grid", title)
    return Figure(name, chart, frame.reset_index(drop=True), caption)


def _placed(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows with their panel, the label of their lambda and their number of components in words."""
    return rows.assign(
        panel=[f"{name} {layer}" for name, layer in zip(rows["constraint"], rows["layer"], strict=True)],
        label=[f"λ{subscript(int(component) + 1)}" for component in rows["component"]],
        total=[f"C = {total}" for total in rows["components"]],
    )
