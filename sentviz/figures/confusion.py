"""The confusion matrix of one run, the agreement of two runs, and the scores of each class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, blend, palette
from sentviz.figures.figure import Figure, annotate, base_layout, file_safe, lay_out, sentence
from sentviz.figures.panels import UNSEEN, cell_texts, legend_above, panel_axes, panel_grid, run_marks, stacked, with_interval
from sentviz.figures.text import as_run, as_text, text_columns
from sentviz.io.lazy import go, pd

Cell = tuple[int, int]
_WRITTEN = 12  # classes whose cells have room for numbers


def confusion_matrix(
    counts: npt.ArrayLike, classes: Sequence[str], *, run: str = "", selected: Cell | None = None, theme: Theme = "light"
) -> Figure:
    """Draw counts as text and the share of the label's rows as colour: teal on the diagonal, magenta elsewhere; a click anywhere picks a
    cell.

    Args:
        counts: (K, K), rows = label, columns = prediction.
        run: name for the title.
        selected: the cell (label, prediction) that is outlined.
    Frame:
        label, predicted (names of classes), count, share (of the rows with the label; NaN without any).
    """
    table = np.asarray(counts, dtype=np.int64)
    k = len(classes)
    if table.shape != (k, k) or not table.sum():
        raise InputError("A confusion matrix needs labelled rows, and a count for each pair of classes.")
    rows = table.sum(axis=1)
    with np.errstate(invalid="ignore"):
        share = table / rows[:, None]
    names = [as_text(name, 18 if k <= 5 else 12) for name in classes]
    plot = _cells(
        np.where(np.eye(k, dtype=bool), share, -share),
        texts=[[f"{n:,}" for n in row] for row in table],
        below=[["" if np.isnan(s) else f"{s:.1%}" for s in row] for row in share],
        rows=[f"{name}<br>n = {n:,}" for name, n in zip(names, rows, strict=True)],
        columns=names,
        hover=[
            [
                f"labelled {as_text(a)}, "
                + ("right" if i == j else f"predicted as {as_text(b)}")
                + f"<br>{table[i, j]:,} of {rows[i]:,} rows"
                for j, b in enumerate(classes)
            ]
            for i, a in enumerate(classes)
        ],
        titles=("label", "predicted"),
        title=as_run(run, 48) if run else "Labels and predictions",
        selected=selected,
        theme=theme,
    )
    places = np.indices((k, k)).reshape(2, -1)
    label, predicted = ([classes[i] for i in place] for place in places)
    frame = pd.DataFrame({"label": label, "predicted": predicted, "count": table.ravel(), "share": share.ravel()})
    caption = sentence(
        [
            f"Labels down, predictions across: counts of {table.sum():,} rows, and shares of each label's rows. Teal is right, magenta is"
            " wrong; the larger the share, the stronger the colour.",
            "The outlined cell contains the rows that are listed." if selected else "",
        ]
    )
    return Figure(file_safe("confusion", run), plot, frame, caption)


def agreement_matrix(cells: npt.ArrayLike, runs: tuple[str, str], *, selected: Cell | None = None, theme: Theme = "light") -> Figure:
    """Draw how often two runs are right on the same rows: counts as text, the share of all rows as colour.

    Args:
        cells: (2, 2), rows: the first run right, wrong; columns: the second run right, wrong.
        runs: names of the two runs.
        selected: the cell that is outlined.
    Frame:
        first_right, second_right, count, share.
    """
    table = np.asarray(cells, dtype=np.int64)
    if table.shape != (2, 2) or not table.sum():
        raise InputError("Agreement needs rows, counted in two by two cells.")
    share = table / table.sum()
    names = [["both right", f"only {as_run(runs[0], 22)} right"], [f"only {as_run(runs[1], 22)} right", "both wrong"]]
    plot = _cells(
        share,
        texts=[[f"{n:,}" for n in row] for row in table],
        below=[[f"{s:.1%}" for s in row] for row in share],
        rows=["right", "wrong"],
        columns=["right", "wrong"],
        hover=[[f"{names[i][j]}<br>{table[i, j]:,} of {table.sum():,} rows" for j in (0, 1)] for i in (0, 1)],
        titles=(as_run(runs[0], 30), as_run(runs[1], 30)),
        title="Which run is right",
        selected=selected,
        theme=theme,
    )
    right = [True, True, False, False], [True, False, True, False]
    frame = pd.DataFrame({"first_right": right[0], "second_right": right[1], "count": table.ravel(), "share": share.ravel()})
    caption = (
        f"Counts of {table.sum():,} rows by which run is right: {runs[0]} down, {runs[1]} across."
        " The larger the share, the stronger the teal."
    )
    return Figure(file_safe("agreement", *runs), plot, frame, caption)


def _cells(
    values: npt.NDArray[np.float64],
    *,
    texts: Sequence[Sequence[str]],
    below: Sequence[Sequence[str]],
    rows: Sequence[str],
    columns: Sequence[str],
    hover: Sequence[Sequence[str]],
    titles: tuple[str, str],
    title: str,
    selected: Cell | None,
    theme: Theme,
) -> go.Figure:
    """Draw cells (R, C) of values from -1 to 1 with two lines of text; invisible markers at their centres take clicks."""
    colours = palette(theme)
    high, wide = values.shape
    side = 104 if high <= 2 else 76 if high <= 3 else 64 if high <= 5 else 40
    left = 44 + 8 * max(text_columns(part) for row in rows for part in row.split("<br>"))
    layout = base_layout(
        theme, title=title, width=left + 24 + max(wide * side * 1.5, 300), height=92 + high * side, margin=(left, 84, 24, 8)
    )
    plot = go.Figure(layout=layout)
    fills = blend(colours.judged, (np.nan_to_num(values).ravel() + 1) / 2)
    shapes = [_box(i, j, 0.485, layer="below", fillcolor=fills[i * wide + j], line={"width": 0}) for i in range(high) for j in range(wide)]
    if high <= _WRITTEN:
        small = '<br><span style="font-size:12px">{}</span>'
        shares = [[small.format(text) if text and high <= 5 else "" for text in row] for row in below]
        words = [[text + share for text, share in zip(*pair, strict=True)] for pair in zip(texts, shares, strict=True)]
        annotate(plot, cell_texts(words, fills, 18 if high <= 3 else 14 if high <= 5 else 11))
    if selected and selected[0] < high and selected[1] < wide:
        shapes.append(_box(*selected, 0.47, line={"color": colours.ink, "width": 4}))
    plot.update_layout(shapes=shapes)
    spots = [(i, j) for i in range(high) for j in range(wide)]
    plot.add_scatter(
        x=[j for _, j in spots],
        y=[i for i, _ in spots],
        mode="markers",
        marker={"symbol": "square", "size": side * 0.8, "opacity": 0},
        **UNSEEN,
        customdata=[hover[i][j] for i, j in spots],
        hovertemplate="%{customdata}<extra></extra>",
        showlegend=False,
    )
    fixed = {"showgrid": False, "fixedrange": True, "automargin": False}
    plot.update_xaxes(
        tickvals=list(range(wide)),
        ticktext=list(columns),
        range=[-0.5, wide - 0.5],
        side="top",
        title_text=titles[1],
        title_standoff=6,
        **fixed,
    )
    plot.update_yaxes(
        tickvals=list(range(high)), ticktext=list(rows), range=[high - 0.5, -0.5], title_text=titles[0], title_standoff=4, **fixed
    )
    plot.update_layout(hovermode="closest", hoverdistance=-1, dragmode=False)
    return plot


def _box(i: int, j: int, half: float, **more: object) -> dict[str, object]:
    """Return a rectangle about the centre of a cell."""
    return {"type": "rect", "x0": j - half, "x1": j + half, "y0": i - half, "y1": i + half, **more}


CLASS_ROW = 48  # pixels of a run in a class: its number, below it the interval, then the mark; narrow pages have room for no longer line


def class_scores(tables: Mapping[str, pd.DataFrame], *, theme: Theme = "light") -> Figure:
    """Draw precision, recall and F1 of each class as dots with intervals and numbers; one colour and symbol per run.

    Args:
        tables: run name to the frame of `sentviz.analysis.testset.operating.per_class`.
    Frame:
        run, class, metric, value, low, high, n, said.
    """
    if not tables:
        raise InputError("There is no run to draw.")
    frame = stacked(tables, "run")
    colours = palette(theme)
    classes, metrics, runs = (list(frame[name].unique()) for name in ("class", "metric", "run"))
    marks = run_marks(runs, theme)
    tall = 12 + CLASS_ROW * len(runs)
    names = [as_text(name, 18) for name in classes]
    left = 34 + 8 * max(text_columns(name) for name in names)
    plot, places = panel_grid([f"{metric}, %" for metric in metrics], len(metrics), theme, apart=0.08, shared_yaxes=True)
    lowest = float(np.nanmin([frame["low"].min(), frame["value"].min(), 1.0]))
    start = max(0.0, np.floor(10 * lowest - 0.5) / 10)
    notes: list[dict[str, object]] = []
    for panel, (metric, at_panel) in enumerate(zip(metrics, places, strict=True)):
        for r, run in enumerate(runs):
            part = frame[(frame["run"] == run) & (frame["metric"] == metric)]
            at = np.arange(len(part)) + (CLASS_ROW * (r - (len(runs) - 1) / 2) + 15) / tall
            values = part[["value", "low", "high"]].to_numpy(float)
            colour = marks[run].colour
            plot.add_scatter(
                **with_interval("x", values, colour),
                y=at,
                mode="markers",
                name=as_run(run, 32),
                legendgroup=run,
                showlegend=panel == 0 and len(runs) > 1,
                marker={"size": 9, "color": colour, "symbol": marks[run].symbol},
                customdata=np.column_stack([values[:, 1:], part[["n", "said"]].to_numpy(float)]),
                hovertemplate=f"{as_run(run, 32)}<br>{metric} %{{x:.1%}} [%{{customdata[0]:.1%}}, %{{customdata[1]:.1%}}]<br>"
                "%{customdata[2]:,.0f} rows, %{customdata[3]:,.0f} predicted as this class<extra></extra>",
                cliponaxis=False,
                **at_panel,
            )
            for y, (value, low, high) in zip(at, values, strict=True):
                words = "none" if np.isnan(value) else f"{value:.1%}<br>[{100 * low:.1f}, {100 * high:.1f}]"
                place = {"x": start, "y": y, "xanchor": "left", "yanchor": "bottom", "yshift": 5, "align": "left", **panel_axes(panel)}
                ink = {"size": 12, "color": colours.ink}
                notes.append({**place, "text": words, "showarrow": False, "font": ink, "bgcolor": colours.paper})
    drawn, top = tall * len(classes) + 12, 96 if len(runs) > 1 else 72
    title = "Each class" + (f" of {as_run(runs[0], 40)}" if len(runs) == 1 else "")
    lay_out(plot, theme, title, (620, top + drawn + 34), (left, top, 24, 34), legend=legend_above(top, drawn))
    annotate(plot, notes)
    ticks = np.linspace(start, 1, 3)  # without "%", so that labels of neighbouring panels do not overlap on a phone
    plot.update_xaxes(range=[start, 1.02], tickvals=ticks, ticktext=[f"{100 * tick:.0f}" for tick in ticks], fixedrange=True)
    plot.update_xaxes(automargin=False)
    plot.update_yaxes(range=[len(classes) - 0.5, -0.5], automargin=False, fixedrange=True, showgrid=False, ticklabelstandoff=8)
    plot.update_yaxes(tickvals=list(range(len(classes))), ticktext=names, col=1)
    undefined = frame["value"].isna().any()
    caption = sentence(
        [
            "Precision: the share of the predictions of a class that are right.",
            "Recall: the share of the class's rows that are predicted right.",
            "F1: their harmonic mean.",
            f"Bars are Wilson's 95% intervals over {int(frame.groupby(['run', 'metric'])['n'].sum().max()):,} rows.",
            "None means undefined: a class that is never predicted has no precision, and a class without rows has no recall."
            if undefined
            else "",
        ]
    )
    return Figure(file_safe("classes", *runs), plot, frame, caption)
