"""ROC and precision-recall curves, reliability, and the effect of a decision threshold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from plotly.subplots import make_subplots

from sentviz.errors import InputError
from sentviz.figures.colours import Palette, Theme, palette
from sentviz.figures.figure import DASHES, SYMBOLS, Figure, base_layout, file_safe, lay_out, sentence
from sentviz.figures.panels import dotted, legend_above, legend_entry, note_above, panel_grid, run_marks, stacked, with_interval
from sentviz.figures.text import as_run, as_text
from sentviz.io.lazy import go, pd

POINTS = 400  # largest number of points of a curve


def one_vs_rest(
    curves: Mapping[str, pd.DataFrame],
    areas: Mapping[str, pd.DataFrame],
    points: Mapping[str, pd.DataFrame],
    *,
    kind: Literal["roc", "pr"] = "roc",
    classes: Sequence[str],
    theme: Theme = "light",
) -> Figure:
    """Draw a panel per class with the curves of all runs, each with its area and interval; a marker shows the present predictions.

    Args:
        curves, areas: run name to the frames of `sentviz.analysis.testset.operating.curves` and `areas`.
        points: run name to class, fpr, recall, precision: the operating point of the present predictions.
        classes: the panels, in this order.
    Frame:
        run, class, threshold, fpr, recall, precision: the points drawn, at most 400 of a curve.
    """
    if not curves or not classes:
        raise InputError("Curves need a run and a class.")
    x, y, metric = ("fpr", "recall", "AUC") if kind == "roc" else ("recall", "precision", "AP")
    colours, runs = palette(theme), list(curves)
    marks = run_marks(runs, theme)
    plot, places = panel_grid([as_text(name, 24) for name in classes], 2, theme, apart=0.1, below=0.3)
    lines = places[-1]["row"]
    parts, gone = [], []
    for name, place in zip(classes, places, strict=True):
        if kind == "roc":
            chance_line(plot, colours, showlegend=False, **place)
        for r, run in enumerate(runs):
            line = curves[run][curves[run]["class"] == name]
            if line.empty:
                gone.append(name)
                continue
            line = _thinned(line, x, y)
            parts.append(line.assign(run=run))
            colour = marks[run].colour
            area = areas[run].query("`class` == @name and metric == @metric").iloc[0]
            plot.add_scatter(
                x=line[x],
                y=line[y],
                mode="lines",
                line={"color": colour, "width": 2, "dash": marks[run].dash, "shape": "linear" if kind == "roc" else "vh"},
                name=as_run(run, 32),
                legendgroup=run,
                showlegend=False,
                customdata=line["threshold"],
                hovertemplate=f"{as_run(run, 32)}<br>from %{{customdata:.3f}} on: {x} %{{x:.3f}}, {y} %{{y:.3f}}<extra></extra>",
                **place,
            )
            point = points[run][points[run]["class"] == name]
            plot.add_scatter(
                x=point[x],
                y=point[y],
                mode="markers",
                marker={"size": 11, "color": colour, "symbol": marks[run].symbol, "line": {"color": colours.paper, "width": 1.5}},
                name=as_run(run, 32),
                legendgroup=run,
                showlegend=False,
                hovertemplate=f"{as_run(run, 32)} now: {x} %{{x:.3f}}, {y} %{{y:.3f}}<extra></extra>",
                cliponaxis=False,
                **place,
            )
            plot.add_annotation(
                x=0.98 if kind == "roc" else 0.03,
                y=0.03,
                xanchor="right" if kind == "roc" else "left",
                yanchor="bottom",
                yshift=17 * (len(runs) - 1 - r),
                text=f"{metric} {area['value']:.3f} [{area['low']:.3f}, {area['high']:.3f}]",
                showarrow=False,
                font={"size": 12, "color": colour},
                bgcolor=colours.paper,
                **place,
            )
        if name in gone:
            faint = {"size": 12, "color": colours.muted}
            plot.add_annotation(x=0.5, y=0.5, text="no curve: all rows have one class", showarrow=False, font=faint, **place)
    for run in runs if len(runs) > 1 else []:
        legend_entry(
            plot,
            as_run(run, 32),
            "lines+markers",
            legendgroup=run,
            line={"color": marks[run].colour, "width": 2, "dash": marks[run].dash},
            marker={"size": 9, "symbol": marks[run].symbol},
        )
    title = "ROC" if kind == "roc" else "Precision and recall"
    drawn, top = (320, 210 * lines + 40)[lines > 1], 96 if len(runs) > 1 else 72
    lay_out(
        plot,
        theme,
        title + (f", {as_run(runs[0], 40)}" if len(runs) == 1 else ""),
        (700 if len(classes) > 1 else 520, top + drawn + 48),
        (58, top, 16, 48),
        legend=legend_above(top, drawn),
    )
    words = ("false positive rate", "recall") if kind == "roc" else ("recall", "precision")
    plot.update_xaxes(range=[-0.02, 1.02], nticks=5, automargin=False, title_standoff=4)
    plot.update_yaxes(range=[-0.02, 1.04], nticks=5, automargin=False, title_standoff=4)
    plot.update_xaxes(title_text=words[0], row=lines)
    plot.update_yaxes(title_text=words[1], col=1)
    nothing = pd.DataFrame(columns=["run", "class", "threshold", "fpr", "recall", "precision"])
    frame = pd.concat(parts, ignore_index=True)[list(nothing)] if parts else nothing
    n = int(max(table["n"].max() for table in areas.values()))
    about = (
        "AUC: how often a row of the class gets a higher probability than a row of the other classes. Equal probabilities count half."
        " The dotted line is chance."
        if kind == "roc"
        else "AP: the mean of precision over recall. The AP of chance is the share of the class."
    )
    caption = sentence(
        [
            "Each class against the rest, at every threshold." if len(classes) > 1 else "The curve has a point for every threshold.",
            about,
            f"Brackets are 95% bootstrap intervals over {n:,} rows. The marker shows the present predictions.",
        ]
    )
    printed = stacked(areas, "run")
    return Figure(file_safe(kind, *runs), plot, frame, caption, printed=printed[printed["metric"] == metric])


def chance_line(plot: go.Figure, colours: Palette, **more: Any) -> None:
    """Draw the dotted diagonal from (0, 0) to (1, 1): chance in a ROC curve, perfect calibration in a reliability diagram."""
    plot.add_scatter(x=[0, 1], y=[0, 1], mode="lines", line=dotted(colours), hoverinfo="skip", **more)


def _thinned(line: pd.DataFrame, x: str, y: str) -> pd.DataFrame:
    """Reduce a curve to at most 400 points, spread evenly over its length, with both ends."""
    if len(line) <= POINTS:
        return line
    step = np.hypot(np.diff(line[x], prepend=line[x].iloc[0]), np.diff(line[y], prepend=line[y].iloc[0]))
    length = np.cumsum(step)
    rows = np.searchsorted(length, np.linspace(0, length[-1], POINTS))
    return line.iloc[np.unique(np.r_[0, np.minimum(rows, len(line) - 1), len(line) - 1])]


def reliability_diagram(
    states: Mapping[str, pd.DataFrame], spread: Mapping[str, pd.DataFrame], *, title: str, start: float = 0.0, theme: Theme = "light"
) -> Figure:
    """Draw accuracy against confidence in bins, with intervals, and below it the distribution of confidence.

    Args:
        states: name (unchanged or tempered probabilities) to the frame of `sentviz.analysis.testset.operating.reliability`.
        spread: the same names to frames with bins of equal width, for the histogram.
        title: of the figure.
        start: smallest possible confidence, 1 / K.
    Frame:
        state, left, right, n, confidence, accuracy, low, high.
    """
    if not states:
        raise InputError("There is nothing to draw.")
    colours = palette(theme)
    plot = make_subplots(rows=2, cols=1, shared_xaxes=True, row_heights=[0.72, 0.28], vertical_spacing=0.08)
    chance_line(plot, colours, name="calibrated", row=1, col=1)
    for s, (state, bins) in enumerate(states.items()):
        colour = colours.line(s)
        values = bins[["accuracy", "low", "high"]].to_numpy(float)
        plot.add_scatter(
            x=bins["confidence"],
            **with_interval("y", values, colour),
            mode="lines+markers",
            name=as_text(state, 40),
            legendgroup=state,
            line={"color": colour, "width": 2, "dash": DASHES[s]},
            marker={"size": 8, "symbol": SYMBOLS[s]},
            customdata=np.column_stack([values[:, 1:], bins["n"]]),
            hovertemplate="confidence %{x:.1%}, right %{y:.1%} [%{customdata[0]:.1%}, %{customdata[1]:.1%}]"
            "<br>%{customdata[2]:,.0f} rows<extra></extra>",
            row=1,
            col=1,
        )
        share = spread[state]
        plot.add_bar(
            x=(share["left"] + share["right"]) / 2,
            y=share["n"] / share["n"].sum(),
            width=(share["right"] - share["left"]) * 0.94,
            marker={
                "color": "rgba(0,0,0,0)" if s else colour,
                "line": {"color": colour, "width": 2 if s else 0},
                "opacity": 1 if s else 0.45,
            },
            showlegend=False,
            hovertemplate=f"{as_text(state, 40)}: %{{y:.1%}} of the rows<extra></extra>",
            row=2,
            col=1,
        )
    drawn, top = 300, 72
    layout = base_layout(theme, title=title, width=560, height=top + drawn + 48, margin=(58, top, 16, 48), barmode="overlay")
    plot.update_layout(layout, legend=legend_above(top, drawn))
    start = min(start, *(float(share["left"].min()) for share in spread.values()))
    plot.update_xaxes(range=[start - 0.01, 1.01], tickformat=".0%", nticks=7, automargin=False)
    plot.update_xaxes(title_text="confidence: probability of the predicted class", title_standoff=4, row=2)
    plot.update_yaxes(automargin=False, tickformat=".0%", title_standoff=4)
    plot.update_yaxes(range=[-0.02, 1.04], nticks=6, title_text="right", row=1)
    plot.update_yaxes(nticks=3, rangemode="tozero", title_text="rows", row=2)
    frame = stacked(states, "state")
    n = int(next(iter(states.values()))["n"].sum())
    caption = (
        f"Accuracy of {n:,} rows by confidence, the probability of the predicted class. Below the dotted line the model is overconfident."
        " Bars on the points are 95% intervals (Wilson); the lower part shows the share of rows by confidence."
    )
    return Figure(file_safe("reliability", title), plot, frame, caption)


def threshold_lines(
    tables: Mapping[str, pd.DataFrame], classes: Sequence[str], *, threshold: float = 0.5, theme: Theme = "light"
) -> Figure:
    """Draw accuracy and the recall of both classes at every threshold; a dotted line marks the present threshold.

    Args:
        tables: run name to the frame of `sentviz.analysis.testset.operating.thresholds`.
        classes: names of the two classes.
    Frame:
        run, threshold, accuracy, recall_0, recall_1, precision_1.
    """
    if not tables or len(classes) != 2:
        raise InputError("A threshold decides between two classes of a run.")
    colours = palette(theme)
    columns = {
        "accuracy": "accuracy",
        "recall_0": f"recall of {as_text(classes[0], 16)}",
        "recall_1": f"recall of {as_text(classes[1], 16)}",
    }
    marks = run_marks(list(tables), theme)
    plot = go.Figure()
    for r, (run, table) in enumerate(tables.items()):
        for m, (column, name) in enumerate(columns.items()):
            if table[column].isna().all():
                continue
            plot.add_scatter(
                x=table["threshold"],
                y=table[column],
                mode="lines",
                name=name,
                showlegend=r == 0,
                line={"color": colours.lines[m], "width": 3 if column == "accuracy" else 2, "dash": marks[run].dash},
                hovertemplate=f"from %{{x:.2f}} on: {name} %{{y:.1%}}<extra>{as_run(run, 32)}</extra>",
            )
    plot.add_vline(x=threshold, line={"color": colours.ink, "width": 1.5, "dash": "dot"})
    note_above(plot, threshold, f"{threshold:.2f}", colours.ink, 12)
    for run in tables if len(tables) > 1 else ():
        dash = {"color": colours.muted, "width": 2, "dash": marks[run].dash}
        legend_entry(plot, as_run(run, 32), line=dash)
    drawn, top = 220, 112 if len(tables) > 1 else 92
    title = f"From which probability on “{as_text(classes[1], 20)}” is said"
    layout = base_layout(theme, title=title, width=560, height=top + drawn + 48, margin=(58, top, 16, 48), legend=legend_above(top, drawn))
    plot.update_layout(layout)
    plot.update_xaxes(range=[0, 1], title_text="threshold", title_standoff=4, automargin=False)
    plot.update_yaxes(range=[-0.02, 1.02], tickformat=".0%", automargin=False)
    frame = stacked(tables, "run")
    caption = (
        "A lower threshold finds more rows of the second class and misses more of the first. A threshold that was chosen on these rows"
        " looks better than it is."
    )
    return Figure(file_safe("threshold", *tables), plot, frame, caption, printed=frame[np.isclose(frame["threshold"] * 10 % 1, 0)])
