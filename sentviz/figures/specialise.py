"""What the components of the attention look at, and how alike they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, palette
from sentviz.figures.figure import SYMBOLS, Figure, base_layout, file_safe, interval_bars, sentence
from sentviz.figures.maps import component_name

_MEASURES = {"cosine": "cosine of the rows", "jensen_shannon": "Jensen-Shannon divergence, bits"}


def word_shares(frame: pd.DataFrame, *, run: str = "", theme: Theme = "light") -> Figure:
    """Attention to each class of words, relative to an even share: a panel per layer, a row per class, a mark per component.

    Args:
        frame: as `sentviz.analysis.maps.specialise.over_split` gives it.
        run: its name, for the file and the caption.
    Frame:
        The rows drawn.
    Raises:
        InputError: no class of words was measured.
    """
    drawn = _components(frame, "attention")
    rows = {str(name): f"{name} (n = {n:,})" for name, n in drawn.groupby("word_class", sort=False)["n"].max().items()}
    cells = drawn.assign(panel=drawn["layer"], row=drawn["word_class"], series=drawn["component"])
    panels = {layer: f"layer {layer + 1}" for layer in sorted(drawn["layer"].unique())}
    plot = _dots(cells, panels, rows, _names(drawn), title="Attention to words, relative to an even share", even=1.0, theme=theme)
    plot.update_xaxes(tickprefix="×", matches="x")
    caption = sentence(
        [
            f"{_of(run)}attention to each class of words divided by their share of the tokens, ×1 = even; mean over heads and rows.",
            _baselines(frame),
            "n counts the sentences with such a word.",
            _sample(frame),
        ]
    )
    return Figure(file_safe("component-words", run), plot, drawn.reset_index(drop=True), caption)


def entropies(frame: pd.DataFrame, *, run: str = "", theme: Theme = "light") -> Figure:
    """Entropy of the rows as a share of the largest possible: a row per layer, a mark per component.

    Args:
        frame: as `sentviz.analysis.maps.specialise.over_split` gives it.
        run: its name, for the file and the caption.
    Frame:
        The rows drawn.
    Raises:
        InputError: no entropy was measured.
    """
    drawn = _components(frame, "entropy")
    cells = drawn.assign(panel=0, row=drawn["layer"], series=drawn["component"])
    rows = {layer: f"layer {layer + 1}" for layer in sorted(drawn["layer"].unique())}
    plot = _dots(cells, {0: ""}, rows, _names(drawn), title="Entropy of the rows", theme=theme)
    plot.update_xaxes(tickformat=".0%")
    caption = sentence(
        [
            f"{_of(run)}entropy as a share of the largest possible, log n: 100% looks at all tokens alike, 0% at one.",
            _baselines(frame),
            _sample(frame),
        ]
    )
    return Figure(file_safe("component-entropy", run), plot, drawn.reset_index(drop=True), caption)


def likeness(frame: pd.DataFrame, *, run: str = "", theme: Theme = "light") -> Figure:
    """How alike two components are, beside how alike the heads of one component are: a panel per measure, a mark per layer.

    Args:
        frame: as `sentviz.analysis.maps.specialise.over_split` gives it.
        run: its name, for the file and the caption.
    Frame:
        The rows drawn.
    Raises:
        InputError: no likeness was measured.
    """
    drawn = frame[frame["measure"].isin(list(_MEASURES))]
    if drawn.empty:
        raise InputError("No likeness of components was measured.")
    pairs = list(zip(drawn["component"].astype(int), drawn["other"].astype(int), strict=True))
    between = sorted({(c, d) for c, d in pairs if c != d})
    rows = {pair: f"{component_name(pair[0])} and {component_name(pair[1])}" for pair in between}
    rows |= {pair: f"heads of {component_name(pair[0])}" for pair in sorted(set(pairs) - set(between))}
    cells = drawn.assign(panel=drawn["measure"], row=pd.Series(pairs, index=drawn.index), series=drawn["layer"])
    series = {layer: f"layer {layer + 1}" for layer in sorted(drawn["layer"].unique())}
    plot = _dots(cells, _MEASURES, rows, series, title="Likeness of the maps", theme=theme)
    caption = sentence(
        [
            f"{_of(run)}rows of two components' maps compared head by head, and for scale those of two heads of one component.",
            "Cosine: 1 = alike; divergence: 0 = alike, 1 = nothing in common.",
            _untrained(frame),
            _sample(frame),
        ]
    )
    return Figure(file_safe("component-likeness", run), plot, drawn.reset_index(drop=True), caption)


def _dots(
    cells: pd.DataFrame,
    panels: Mapping[Any, str],
    rows: Mapping[Any, str],
    series: Mapping[int, str],
    *,
    title: str,
    theme: Theme,
    even: float | None = None,
) -> go.Figure:
    """Marks with intervals over their baselines.

    Args:
        cells: panel, row, series, value, low, high, dealt_low, dealt_high, untrained, untrained_low, untrained_high.
        panels, rows, series: key -> label, in the order drawn.
        even: where an even share lies, if there is such a place.
    """
    colours = palette(theme)
    across = min(len(panels), 2)
    down = -(-len(panels) // across)
    step = 17
    tall = len(rows) * (len(series) * step + 14)
    height, left = down * (tall + 52) + 122, 24 + 7 * max(map(len, rows.values()))
    plot = make_subplots(
        rows=down,
        cols=across,
        shared_yaxes=True,
        horizontal_spacing=0.08,
        vertical_spacing=52 / (down * (tall + 52)) if down > 1 else 0,
        subplot_titles=list(panels.values()),
    )
    unit = step / (len(series) * step + 14)
    offset = {key: (i - (len(series) - 1) / 2) * unit for i, key in enumerate(series)}
    place = {key: i for i, key in enumerate(rows)}
    for i, panel in enumerate(panels):
        at = {"row": i // across + 1, "col": i % across + 1}
        here = cells[cells["panel"] == panel]
        y = np.array([place[row] + offset[s] for row, s in zip(here["row"], here["series"], strict=True)])
        for low, high, colour, width in (
            ("dealt_low", "dealt_high", colours.grid, 11),
            ("untrained_low", "untrained_high", colours.muted, 3),
        ):
            bars = here[[low, high]].to_numpy(float)
            gaps = np.column_stack([bars, np.full(len(bars), np.nan)])  # one trace, a gap after each bar
            if not np.isnan(bars).all():
                line = {"color": colour, "width": width}
                plot.add_scatter(x=gaps.ravel(), y=np.repeat(y, 3), mode="lines", line=line, showlegend=False, hoverinfo="skip", **at)
        known = here["untrained"].notna().to_numpy()
        tick = {"symbol": "line-ns-open", "size": 9, "color": colours.muted, "line": {"width": 2}}
        plot.add_scatter(
            x=here["untrained"][known],
            y=y[known],
            mode="markers",
            marker=tick,
            showlegend=False,
            hovertemplate="untrained: %{x:.3f}<extra></extra>",
            **at,
        )
        for k, (key, name) in enumerate(series.items()):
            mine = (here["series"] == key).to_numpy()
            values = here.loc[mine, ["value", "low", "high"]].to_numpy(float)
            colour = colours.lines[k % len(colours.lines)]
            plot.add_scatter(
                x=values[:, 0],
                y=y[mine],
                mode="markers",
                name=name,
                marker={"size": 9, "color": colour, "symbol": SYMBOLS[k % len(SYMBOLS)]},
                error_x=interval_bars(values, colour),
                customdata=values,
                showlegend=i == 0,
                hovertemplate=f"{name}: %{{x:.3f}} [%{{customdata[1]:.3f}}, %{{customdata[2]:.3f}}]<extra></extra>",
                **at,
            )
        if even is not None:
            plot.add_vline(x=even, line={"color": colours.muted, "width": 1, "dash": "dot"}, **at)
    if cells["dealt_low"].notna().any():
        bar = {"color": colours.grid, "width": 11}
        plot.add_scatter(x=[None], y=[None], mode="lines", name="heads dealt", line=bar)
    if cells["untrained"].notna().any():
        plot.add_scatter(x=[None], y=[None], mode="lines", name="untrained", line={"color": colours.muted, "width": 3})
    plot.update_layout(
        base_layout(
            theme,
            title=title,
            width=left + 330 * across + 40,
            height=height,
            margin=(left, 62, 24, 84),
            legend={"orientation": "h", "x": 0, "y": -34 / (height - 146), "yanchor": "top"},
        )
    )
    plot.update_yaxes(
        tickvals=list(range(len(rows))),
        ticktext=list(rows.values()),
        range=[len(rows) - 0.5, -0.5],
        showgrid=False,
        automargin=False,
    )
    plot.update_xaxes(nticks=6, automargin=False)
    plot.update_annotations(font={"size": 13, "color": colours.muted})
    return plot


def _components(frame: pd.DataFrame, measure: str) -> pd.DataFrame:
    drawn = frame[(frame["measure"] == measure) & (frame["component"] >= 0)]
    if drawn.empty:
        raise InputError(f"No {measure} of components was measured.")
    return drawn


def _names(drawn: pd.DataFrame) -> dict[int, str]:
    return {int(c): component_name(int(c)) for c in sorted(drawn["component"].unique())}


def _of(run: str) -> str:
    return f"Run {run}: " if run else ""


def _baselines(frame: pd.DataFrame) -> str:
    return sentence(
        ["Wide grey bars: where 95% of components would lie if the layer's heads were dealt to them at random.", _untrained(frame)]
    )


def _untrained(frame: pd.DataFrame) -> str:
    inits = int(frame["inits"].max())
    return f"Thin grey lines: mean and range of {inits} untrained models." if inits else ""


def _sample(frame: pd.DataFrame) -> str:
    return f"Coloured lines are 95% bootstrap intervals over {int(frame['n'].max()):,} test sentences, seed {int(frame['seed'].max())}."
