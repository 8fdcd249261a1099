"""The model's prediction: one slim bar per class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sentviz.analysis.explain import headline
from sentviz.analysis.explain.notices import calibration_note
from sentviz.charts.chart import Drawing
from sentviz.charts.colours import class_colours
from sentviz.charts.figure import Figure, annotate, new_plot
from sentviz.charts.look import Look
from sentviz.charts.panels import row_axis
from sentviz.charts.registry import figure
from sentviz.charts.subjects import Sentence
from sentviz.charts.text import as_text, text_columns
from sentviz.errors import InputError
from sentviz.io.lazy import go, pd
from sentviz.io.numbers import percent


def probability_bars(labels: Sequence[str], probabilities: npt.ArrayLike) -> Figure:
    """Draw class probabilities as horizontal bars, the first class at the top, the largest probability in full colour.

    Args:
        labels: names of the K classes.
        probabilities: (K,) in 0..1.
    """
    shares = np.asarray(probabilities, dtype=float)
    if shares.shape != (len(labels),) or not len(labels):
        raise InputError(f"{len(labels)} labels do not fit probabilities of shape {shares.shape}.")
    frame = pd.DataFrame({"label": list(labels), "probability": shares})
    caption = f"The model's probability of each of the {len(labels)} classes."
    return Figure("probabilities", Drawing(_draw, {"labels": list(labels), "shares": shares}), frame, caption)


def _draw(look: Look, labels: Sequence[str], shares: npt.NDArray[np.float64]) -> go.Figure:
    """Draw a bar for each of K classes, with its share, (K,), at the right."""
    rows, words = list(range(len(labels))), [percent(share) for share in shares]
    names = [as_text(label) for label in labels]
    opacity = [1.0 if i == shares.argmax() else 0.45 for i in rows]
    plot = new_plot(
        look,
        "",
        (look.room or 460, 30 * len(labels) + 16),
        (24 + 8 * max(min(text_columns(label), 24) for label in labels), 8, 56, 8),
        showlegend=False,
        barmode="overlay",
        xaxis={"range": [0, 1], "visible": False, "fixedrange": True},
        yaxis=row_axis(names, automargin=True, fixedrange=True, ticklabelstandoff=6, tickfont={"size": 13}),
    )
    shape = {"orientation": "h", "y": rows, "width": 0.5}
    plot.add_bar(x=[1.0] * len(labels), marker={"color": look.colours.neutral, "cornerradius": 4}, hoverinfo="skip", **shape)
    marker = {"color": class_colours(labels, look.colours), "opacity": opacity, "cornerradius": 4}
    plot.add_bar(
        x=shares,
        marker=marker,
        customdata=names,
        text=words,
        textposition="none",
        hovertemplate="%{customdata}: %{text}<extra></extra>",
        **shape,
    )
    beside = {"x": 1, "xanchor": "left", "xshift": 8}
    fonts = [{"size": 13, "weight": 600 if full == 1 else 400} for full in opacity]
    annotate(plot, ({"y": row, "text": words[row], "font": fonts[row], **beside} for row in rows))
    return plot


@figure("verdict", "Probability of each class", Sentence)
def _verdict(of: Sentence, *, answered: bool = True) -> Figure:
    drawn = probability_bars(of.trace.labels, of.trace.probabilities)
    caption = f"{drawn.caption} {calibration_note(of.trace)}".strip()
    return replace(drawn, caption=f"{headline(of.trace)} {caption}" if answered else caption)
