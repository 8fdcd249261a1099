"""Components of the attention over a test split: attention to classes of words, entropy, and likeness of the maps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, palette
from sentviz.figures.figure import SYMBOLS, Figure, file_safe, lay_out, run_prefix, sentence
from sentviz.figures.maps import component_name
from sentviz.figures.panels import dotted, legend_below, legend_entry, panel_grid, row_axis, with_interval
from sentviz.io.lazy import go, pd

_MEASURES = {"cosine": "cosine of the rows", "jensen_shannon": "Jensen-Shannon<br>divergence, bits"}


def word_shares(frame: pd.DataFrame, *, run: str = "", theme: Theme = "light") -> Figure:
    """Draw attention to each class of words relative to an even share: a panel per layer, a row per class, a mark per component.

    Args:
        frame: as `sentviz.analysis.maps.specialise.over_split` gives it.
        run: its name, for the file name and the caption.
    Frame:
        The drawn rows.
    """
    drawn = _components(frame, "attention")
    rows = {str(name): f"{name}<br>n = {n:,}" for name, n in drawn.groupby("word_class", sort=False)["n"].max().items()}
    cells = drawn.assign(panel=drawn["layer"], row=drawn["word_class"], series=drawn["component"])
    panels = {layer: f"layer {layer + 1}" for layer in sorted(drawn["layer"].unique())}
    plot = _dots(cells, panels, rows, _names(drawn), title="Attention to words, relative to an even share", even=1.0, theme=theme)
    plot.update_xaxes(tickprefix="×", matches="x")
    caption = sentence(
        [
            f"{run_prefix(run)}attention to each class of words divided by the class's share of the tokens, mean over heads and rows; ×1"
            " is an even share.",
            _baselines(frame),
            "n is the number of sentences with such a word.",
            _sample(frame),
        ]
    )
    return Figure(file_safe("component-words", run), plot, drawn.reset_index(drop=True), caption)


def entropies(frame: pd.DataFrame, *, run: str = "", theme: Theme = "light") -> Figure:
    """Draw the entropy of the rows as a share of the largest possible entropy: a row per layer, a mark per component.

    Args:
        frame: as `sentviz.analysis.maps.specialise.over_split` gives it.
        run: its name, for the file name and the caption.
    Frame:
        The drawn rows.
    """
    drawn = _components(frame, "entropy")
    cells = drawn.assign(panel=0, row=drawn["layer"], series=drawn["component"])
    rows = {layer: f"layer {layer + 1}" for layer in sorted(drawn["layer"].unique())}
    plot = _dots(cells, {0: ""}, rows, _names(drawn), title="Entropy of the rows", theme=theme)
    plot.update_xaxes(tickformat=".0%")
    caption = sentence(
        [
            f"{run_prefix(run)}entropy of the rows as a share of the largest possible, log n. At 100% all tokens get the same weight, at"
            " 0% one token gets all.",
            _baselines(frame),
            _sample(frame),
        ]
    )
    return Figure(file_safe("component-entropy", run), plot, drawn.reset_index(drop=True), caption)


def likeness(frame: pd.DataFrame, *, run: str = "", theme: Theme = "light") -> Figure:
    """Draw how similar two components are, and for comparison two heads of one component: a panel per measure, a mark per layer.

    Args:
        frame: as `sentviz.analysis.maps.specialise.over_split` gives it.
        run: its name, for the file name and the caption.
    Frame:
        The drawn rows.
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
            f"{run_prefix(run)}similarity of the rows of two components' maps, head by head, and for comparison of two heads of one"
            " component.",
            "Cosine: 1 means equal rows; divergence: 0 means equal rows, 1 no common token.",
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
    """Draw marks with intervals over their baselines.

    Args:
        cells: panel, row, series, value, low, high, dealt_low, dealt_high, untrained, untrained_low, untrained_high.
        panels, rows, series: key -> label, in the order of drawing.
        even: value of an even share, None if there is none.
    """
    colours = palette(theme)
    across = min(len(panels), 2)
    down = -(-len(panels) // across)
    step = 17
    tall = len(rows) * (len(series) * step + 14)
    height, left = down * (tall + 52) + 122, 24 + 7 * max(len(line) for label in rows.values() for line in label.split("<br>"))
    between = 52 / (tall + 52) if down > 1 else 0.0
    plot, places = panel_grid(list(panels.values()), across, theme, apart=0.08, below=between, shared_yaxes=True)
    unit = step / (len(series) * step + 14)
    offset = {key: (i - (len(series) - 1) / 2) * unit for i, key in enumerate(series)}
    place = {key: i for i, key in enumerate(rows)}
    for i, (panel, at) in enumerate(zip(panels, places, strict=True)):
        marks = cells[cells["panel"] == panel]
        y = np.array([place[row] + offset[s] for row, s in zip(marks["row"], marks["series"], strict=True)])
        for low, high, colour, width in (
            ("dealt_low", "dealt_high", colours.grid, 11),
            ("untrained_low", "untrained_high", colours.muted, 3),
        ):
            bars = marks[[low, high]].to_numpy(float)
            gaps = np.column_stack([bars, np.full(len(bars), np.nan)])  # one trace, a gap after each bar
            if not np.isnan(bars).all():
                line = {"color": colour, "width": width}
                plot.add_scatter(x=gaps.ravel(), y=np.repeat(y, 3), mode="lines", line=line, showlegend=False, hoverinfo="skip", **at)
        known = marks["untrained"].notna().to_numpy()
        tick = {"symbol": "line-ns-open", "size": 9, "color": colours.muted, "line": {"width": 2}}
        plot.add_scatter(
            x=marks["untrained"][known],
            y=y[known],
            mode="markers",
            marker=tick,
            showlegend=False,
            hovertemplate="untrained: %{x:.3f}<extra></extra>",
            **at,
        )
        for k, (key, name) in enumerate(series.items()):
            mine = (marks["series"] == key).to_numpy()
            values = marks.loc[mine, ["value", "low", "high"]].to_numpy(float)
            colour = colours.line(k)
            plot.add_scatter(
                **with_interval("x", values, colour),
                y=y[mine],
                mode="markers",
                name=name,
                marker={"size": 9, "color": colour, "symbol": SYMBOLS[k % len(SYMBOLS)]},
                customdata=values,
                showlegend=i == 0,
                hovertemplate=f"{name}: %{{x:.3f}} [%{{customdata[1]:.3f}}, %{{customdata[2]:.3f}}]<extra></extra>",
                **at,
            )
        if even is not None:
            plot.add_vline(x=even, line=dotted(colours), **at)
    if cells["dealt_low"].notna().any():
        bar = {"color": colours.grid, "width": 11}
        legend_entry(plot, "heads shuffled", line=bar)
    if cells["untrained"].notna().any():
        legend_entry(plot, "untrained", line={"color": colours.muted, "width": 3})
    lay_out(plot, theme, title, (left + 330 * across + 40, height + 10), (left, 72, 24, 84), legend=legend_below(-34 / (height - 146)))
    plot.update_yaxes(row_axis(list(rows.values())))
    plot.update_xaxes(nticks=6, automargin=False)
    return plot


def _components(frame: pd.DataFrame, measure: str) -> pd.DataFrame:
    drawn = frame[(frame["measure"] == measure) & (frame["component"] >= 0)]
    if drawn.empty:
        raise InputError(f"No {measure} of components was measured.")
    return drawn


def _names(drawn: pd.DataFrame) -> dict[int, str]:
    return {int(c): component_name(int(c)) for c in sorted(drawn["component"].unique())}


def _baselines(frame: pd.DataFrame) -> str:
    return sentence(["Wide grey bars: the range of 95% of components if the layer's heads are shuffled between them.", _untrained(frame)])


def _untrained(frame: pd.DataFrame) -> str:
    inits = int(frame["inits"].max())
    return f"Thin grey lines: range of {inits} untrained models, with a tick at their mean." if inits else ""


def _sample(frame: pd.DataFrame) -> str:
    return f"Coloured lines are 95% bootstrap intervals over {int(frame['n'].max()):,} test sentences, seed {int(frame['seed'].max())}."
