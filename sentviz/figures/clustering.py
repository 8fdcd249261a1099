"""Figures of clustering: values by layer of one run, values by layer over a data set, the most frequent leaders, and the vocabulary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, blend, halo, palette
from sentviz.figures.figure import Figure, annotate, file_safe, new_plot, number
from sentviz.figures.panels import band, name_ends, row_axis
from sentviz.figures.particles import decision_line, inner_size, label_places, view_window
from sentviz.figures.text import as_text, text_columns, visible
from sentviz.io.lazy import pd

_DASHES = ("solid", "dash", "dot")
_MARKS = ("circle", "diamond", "square")


def layer_lines(
    values: Mapping[str, npt.ArrayLike], title: str, *, log: bool = False, axis: str = "", caption: str = "", theme: Theme = "light"
) -> Figure:
    """Draw values by layer of one run, each line with its name at its end.

    Args:
        values: name -> (K + 1,) from the start to the last layer; zeros are left out on a log axis.
        axis: title of the vertical axis. log: use a logarithmic axis.
    Frame:
        layer, measure, value.
    """
    if not values:
        raise InputError("There is nothing to draw.")
    colours = palette(theme)
    plot = new_plot(theme, title, (520, 320), (62, 48, 118, 46), showlegend=False)
    rows, ends, last = [], [], 0
    for n, (name, by_layer) in enumerate(values.items()):
        y = np.asarray(by_layer, dtype=float)
        x = np.arange(len(y))
        drawn = np.where(y > 0, y, np.nan) if log else y
        colour = colours.line(n)
        plot.add_scatter(
            x=x,
            y=drawn,
            mode="lines+markers",
            line={"color": colour, "width": 2, "dash": _DASHES[n % 3]},
            marker={"size": 6 if len(y) <= 40 else 3, "symbol": _MARKS[n % 3]},
            hovertemplate=f"{as_text(name)}, layer %{{x}}: %{{y:.3g}}<extra></extra>",
        )
        there = np.flatnonzero(np.isfinite(drawn))
        if len(there):
            ends.append((float(drawn[there[-1]]), colour, as_text(name)))
            last = max(last, int(there[-1]))
        rows.append(pd.DataFrame({"layer": x, "measure": name, "value": y}))
    finite = np.concatenate([row["value"].to_numpy(float) for row in rows])
    finite = finite[np.isfinite(finite) & ((finite > 0) | (not log))]
    scaled = np.log10(finite) if log else np.append(finite, 0.0)
    span = float(np.ptp(scaled)) if len(scaled) else 1.0
    name_ends(plot, [(float(np.log10(y)) if log else y, colour, name) for y, colour, name in ends], last, span=span or 1.0, inner=226)
    plot.update_xaxes(title="layer", nticks=9, automargin=False, range=[-0.04 * max(last, 1), 1.04 * max(last, 1)])
    plot.update_yaxes(title=axis, automargin=False)
    if log:
        plot.update_yaxes(type="log", exponentformat="power", dtick=max(1, round(span / 6)) if span >= 2 else None)
    else:
        plot.update_yaxes(rangemode="tozero", nticks=6)
    return Figure(file_safe("per-layer", title), plot, pd.concat(rows, ignore_index=True), caption, from_zero=("layer",))


def layer_bands(frame: pd.DataFrame, measure: str, title: str, *, share: bool = False, theme: Theme = "light") -> Figure:
    """Draw a measure by layer over the reviews of a split: the median, and bands that contain half and nine tenths of the reviews.

    Args:
        frame: measure, layer, mean, q05, q25, q50, q75, q95, n; as `sentviz.analysis.testset.leaders.per_layer` gives it.
        share: True if the measure is a share, 0 to 1.
    """
    rows = frame[frame["measure"] == measure].sort_values("layer")
    if rows.empty:
        raise InputError(f"{measure!r} was not measured.")
    colours, x = palette(theme), rows["layer"].to_numpy(int)
    plot = new_plot(theme, title, (460, 300), (56, 48, 60, 46), showlegend=False)
    for low, high, opacity in (("q05", "q95", 0.16), ("q25", "q75", 0.3)):
        band(plot, x, rows[low], rows[high], colours.lines[0], opacity)
    form = ".1%" if share else ".3g"
    plot.add_scatter(
        x=x,
        y=rows["q50"],
        mode="lines+markers",
        line={"color": colours.lines[0], "width": 2.4},
        hovertemplate=f"layer %{{x}}: median %{{y:{form}}}<extra></extra>",
    )
    plot.add_scatter(
        x=x,
        y=rows["mean"],
        mode="lines",
        line={"color": colours.lines[1], "width": 1.6, "dash": "dash"},
        hovertemplate=f"layer %{{x}}: mean %{{y:{form}}}<extra></extra>",
    )
    last = rows.iloc[-1]
    median = f"{last['q50']:.0%}" if share else number(float(last["q50"]), 0)
    plot.add_annotation(x=x[-1], y=last["q50"], text=median, xanchor="left", xshift=8, font={"size": 13, "color": colours.lines[0]})
    plot.update_xaxes(title="after layer", tickvals=list(x), automargin=False)
    plot.update_yaxes(rangemode="tozero", tickformat=".0%" if share else None, automargin=False)
    caption = f"Line: median; dashed: mean; bands: the middle 50% and 90% of the reviews; n = {int(last['n']):,}."
    return Figure(file_safe("layers", measure), plot, rows.reset_index(drop=True), caption, from_zero=("layer",))


def leader_bars(frame: pd.DataFrame, label: str, *, theme: Theme = "light") -> Figure:
    """Draw the most frequent leaders of the reviews of one class, with the decoder's score at each word.

    Args:
        frame: label, word, count, share, score, distance, n; as `sentviz.analysis.testset.leaders.frequent` gives it.
    """
    rows = frame[frame["label"] == label].reset_index(drop=True)
    if rows.empty:
        raise InputError(f"No leader of {label} reviews passes the limits. Lower the distance or the confidence.")
    colours = palette(theme)
    fills = blend(colours.classes, 0.5 + rows["score"].to_numpy(float) / (2 * max(float(frame["score"].abs().max()), 1e-9)))
    height = 92 + 24 * len(rows)
    title = f"{as_text(label.capitalize())} reviews are led by"
    plot = new_plot(theme, title, (520, height), (140, 44, 96, 40), showlegend=False)
    plot.add_bar(
        x=rows["count"],
        y=np.arange(len(rows)),
        orientation="h",
        marker={"color": fills, "line": {"color": colours.muted, "width": 1}},
        text=[f"{count:,} · {number(score, 1)}" for count, score in zip(rows["count"], rows["score"], strict=True)],
        textposition="outside",
        textfont={"size": 11, "color": colours.muted},
        cliponaxis=False,
        hovertemplate="%{x:,} reviews<extra></extra>",
    )
    names = [as_text(word, 18) for word in rows["word"]]
    plot.update_yaxes(row_axis(names, 0.6, 0.4))
    plot.update_xaxes(automargin=False, nticks=5)
    n = int(rows["n"].max())
    caption = (
        f"Number of reviews that each word leads, among {n:,} correct and confident {label} reviews. The colour and the number after the"
        " dot"
        " are the decoder's log-odds at the word."
    )
    return Figure(file_safe("leaders", label), plot, rows, caption)


def vocabulary_map(
    frame: pd.DataFrame,
    decision: tuple[npt.ArrayLike, float],
    labels: Sequence[str] = ("negative", "positive"),
    *,
    named: int = 40,
    marked: Sequence[str] = (),
    width: int = 920,
    theme: Theme = "light",
) -> Figure:
    """Draw each word of a model with d = 2 at its embedding; the area of a dot is the number of reviews that the word leads.

    Args:
        frame: word, x0, x1, score, leads; as `sentviz.analysis.testset.leaders.leading` gives it.
        decision: w (2,) and b.
        named: largest number of words with names, those that lead most. width: pixels of the figure.
        marked: words that get a ring and a name with their distance from the decision line.
    """
    if "x1" not in frame or "x2" in frame:
        raise InputError("The map needs a model with d = 2.")
    colours = palette(theme)
    height, margin = max(round(0.7 * width), 320), (48, 48, 16, 44)
    title = "The vocabulary and how often each word leads a review"
    plot = new_plot(theme, title, (width, height), margin)
    plot.update_layout(showlegend=False)
    at, leads = frame[["x0", "x1"]].to_numpy(float), frame["leads"].to_numpy(float)
    fills = np.array(blend(colours.probability, 1 / (1 + np.exp(-frame["score"].to_numpy(float)))))
    size = inner_size((width, height), margin)
    sizes = np.where(leads > 0, 4 + min(34, 0.04 * size[0]) * np.sqrt(leads / max(float(leads.max()), 1)), 3)
    low, high, unit = view_window(at, (width, height), margin, (60, 60))
    texts = np.array([as_text(word) for word in frame["word"]], dtype=object)
    for some, opacity in ((leads == 0, 0.45), (leads > 0, 0.85)):
        plot.add_scattergl(
            x=at[some, 0],
            y=at[some, 1],
            mode="markers",
            marker={
                "size": sizes[some],
                "color": list(fills[some]),
                "opacity": opacity,
                "line": {"width": 0.8 if opacity > 0.5 else 0.3, "color": colours.ink},
            },
            text=texts[some],
            customdata=np.stack([leads[some], frame["score"].to_numpy(float)[some]], axis=-1),
            hovertemplate="%{text}: leads %{customdata[0]:,} reviews, log-odds %{customdata[1]:.2f}<extra></extra>",
        )
    decision_line(plot, decision, low, high, colours.ink)
    order = np.argsort(-leads, kind="stable")[:named]
    order, ringed = order[leads[order] > 0], np.flatnonzero(frame["word"].isin(list(marked)))
    if len(ringed):
        ring = {"size": sizes[ringed] + 10, "symbol": "circle-open", "color": colours.ink, "line": {"width": 2.5}}
        plot.add_scatter(x=at[ringed, 0], y=at[ringed, 1], mode="markers", marker=ring, hoverinfo="skip")
        away = frame["score"].to_numpy(float)[ringed] / np.linalg.norm(decision[0])
        texts[ringed] = [f"{text} ({'+' if x > 0 else ''}{number(float(x))})" for text, x in zip(texts[ringed], away, strict=True)]
        order = np.array([*ringed, *(i for i in order if i not in set(ringed))])
    if len(order):
        pixels = np.stack([(at[order, 0] - low[0]) / unit, (high[1] - at[order, 1]) / unit], axis=-1)
        room = [(text_columns(visible(str(texts[i]))[:32]) * 7.2 + 4, 17.0) for i in order]
        placed = label_places(pixels, room, list(sizes[order] / 2 + 3), (float(size[0]), float(size[1])))
        annotate(
            plot,
            (
                {
                    "x": low[0] + x * unit,
                    "y": high[1] - (y + 8.5) * unit,
                    "xanchor": "left",
                    "yanchor": "middle",
                    "showarrow": False,
                    "text": f"<b>{texts[order[n]]}</b>",
                    "font": {"size": 12, "color": colours.ink} | halo(colours.paper),
                }
                for n, (x, y) in placed.items()
            ),
        )
    plot.update_xaxes(range=[low[0], high[0]], title="z₁", constrain="domain", automargin=False)
    plot.update_yaxes(range=[low[1], high[1]], title="z₂", scaleanchor="x", constrain="domain", automargin=False)
    some = int((leads > 0).sum())
    caption = (
        f"{len(frame):,} words where the embedding puts them, {some:,} of which lead a review; the area grows with the reviews led"
        f" (largest {int(leads.max()):,}). Dashed: the decision line; orange {labels[0]}, blue {labels[1]}."
        + (" Rings: named words with their distance from the line." if len(ringed) else "")
    )
    again = partial(vocabulary_map, frame, decision, labels, named=named, marked=marked, theme=theme)
    most = frame.sort_values("leads", ascending=False, kind="stable").head(named)
    return Figure(file_safe("vocabulary"), plot, frame.reset_index(drop=True), caption, at_width=again, printed=most)
