"""How much each token of a sentence is looked at, as bars in the order of the text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
import plotly.graph_objects as go

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, palette
from sentviz.figures.figure import Figure, base_layout, sentence
from sentviz.figures.text import as_text


def token_importance(tokens: Sequence[str], values: npt.ArrayLike, *, title: str, rest: float = 0.0, theme: Theme = "light") -> Figure:
    """A bar a token, and a line at the even share.

    Args:
        tokens: n tokens in text order.
        values: (n,) mean attention that each receives, which with `rest` sum to 1.
        rest: what goes to tokens that are not shown.
    Frame:
        position, token, importance.
    Raises:
        InputError: no token, or not a value for each.
    """
    heights = np.asarray(values, dtype=float)
    if not len(tokens) or heights.shape != (len(tokens),):
        raise InputError("Importance needs at least one token, and a value for each.")
    colours, even = palette(theme), (1 - rest) / len(tokens)
    plot = go.Figure(
        go.Bar(
            x=np.arange(len(tokens)),
            y=heights,
            marker={"color": colours.lines[0]},
            hovertemplate="%{customdata}: %{y:.1%}<extra></extra>",
            customdata=[as_text(token, 60) for token in tokens],
        ),
        layout=base_layout(theme, title=title, width=620, height=300, margin=(56, 44, 16, 84)),
    )
    plot.add_hline(y=even, line={"color": colours.muted, "dash": "dot", "width": 1.2})
    plot.update_xaxes(tickvals=np.arange(len(tokens)), ticktext=[as_text(token, 16) for token in tokens], tickangle=-40)
    plot.update_yaxes(tickformat=".0%", rangemode="tozero")
    frame = pd.DataFrame({"position": np.arange(len(tokens)), "token": list(tokens), "importance": heights})
    caption = sentence(
        [
            f"{title}: mean over the rows of the map. The dotted line is an even share, {even:.1%}.",
            f"{rest:.0%} goes to padding." if rest else "",
        ]
    )
    return Figure("token-importance", plot, frame, caption)
