"""How many tokens a polarity lexicon leaves neutral, data set by data set."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, ink_on, palette
from sentviz.figures.figure import Figure, base_layout, file_safe
from sentviz.figures.text import as_text


def coverage_bars(frame: pd.DataFrame, *, reference: float = 0.5, theme: Theme = "light") -> Figure:
    """A bar per data set and lexicon: the share of tokens that stay neutral; a dotted line where the paper's rates centre.

    Args:
        frame: dataset, lexicon (titles), neutral (share), tokens; rows in the order drawn.
        reference: where the line stands.
    Raises:
        InputError: nothing was measured.
    """
    if frame.empty:
        raise InputError("No coverage has been measured.")
    colours = palette(theme)
    lexicons, height = list(dict.fromkeys(frame["lexicon"])), 92 + 24 * len(frame) + 10 * frame["dataset"].nunique()
    plot = go.Figure(layout=base_layout(theme, width=620, height=height, margin=(220, 16, 24, 52), showlegend=False))
    at, y, ticks = 0.0, [], []
    for i, row in enumerate(frame.to_dict("records")):
        first = i == 0 or frame["dataset"].iloc[i - 1] != row["dataset"]
        at += (0.4 if first and i else 0) + 1
        y.append(at)
        name = f"<b>{as_text(row['dataset'], 24)}</b> · " if first else ""
        ticks.append(f"{name}{as_text(row['lexicon'], 20)}")
    fills = [colours.lines[lexicons.index(name) % len(colours.lines)] for name in frame["lexicon"]]
    plot.add_bar(
        x=frame["neutral"],
        y=y,
        orientation="h",
        width=0.72,
        marker={"color": fills},
        text=[f"{share:.1%}" for share in frame["neutral"]],
        textposition="inside",
        insidetextanchor="end",
        constraintext="none",
        textfont={"size": 12, "color": [ink_on(fill) for fill in fills]},
        customdata=frame[["tokens"]],
        hovertemplate="%{x:.2%} of %{customdata[0]:,} tokens stay neutral<extra></extra>",
    )
    plot.add_vline(x=reference, line={"color": colours.muted, "width": 1.2, "dash": "dot"}, layer="below")
    plot.update_yaxes(tickvals=y, ticktext=ticks, range=[at + 0.7, 0.3], showgrid=False, automargin=False, ticklabelstandoff=6)
    plot.update_xaxes(range=[0, 1], tickformat=".0%", title_text="tokens that stay neutral", title_standoff=4, automargin=False)
    tokens = f"{int(frame['tokens'].min()):,} to {int(frame['tokens'].max()):,}"
    caption = (
        "Share of a test split's tokens that no lexicon entry contains, so that they stay at (1/3, 1/3, 1/3), by the data set's own"
        f" tokenizer; special and unknown tokens aside; {tokens} tokens. Dotted: where the paper says most of its rates lie."
    )
    return Figure(file_safe("neutral-tokens"), plot, frame.reset_index(drop=True), caption)
