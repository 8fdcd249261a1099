"""Figures of a lexicon's injection that need no run: the product beside the sum, and neutral tokens by tokenizer."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, blend, palette
from sentviz.figures.figure import SYMBOLS, Figure, file_safe, lay_out, new_plot, number
from sentviz.figures.panels import dotted, legend_below, panel_grid
from sentviz.figures.text import as_text
from sentviz.io.lazy import pd

SCORES = (2.0, 1.0, 0.0, -1.0, -2.0)  # scores of the drawn pair before the injection
OTHERS = 9  # other keys of the row: their score is 0, their similarity that of neutral tokens
_NARROW = 460  # pixels below which the panels stand one above the other


def product_and_sum(*, width: int = 664, theme: Theme = "light") -> Figure:
    """Draw the attention weight of one pair against its similarity σ, under the product of Xia et al. and under the sum, a line per score.

    Args:
        width: pixels of the figure.
    Frame:
        way (product or sum), score, sigma, weight, without (weight without a lexicon).
    """
    colours, sigma = palette(theme), np.linspace(0, 1, 41)
    records = [
        (way, score, s, _weight(raised), _weight(score))
        for way in ("product", "sum")
        for score in SCORES
        for s in sigma.tolist()
        for raised in [score * s if way == "product" else score + s - 1 / 3]
    ]
    frame = pd.DataFrame(records, columns=["way", "score", "sigma", "weight", "without"])
    stacked = width < _NARROW
    titles = ["Product of Xia et al.", "Sum, as in the paper"]
    plot, places = panel_grid(titles, 1 if stacked else 2, theme, apart=0.09, below=0.2, shared_yaxes="all", shared_xaxes="all")
    shades = blend(
        [colours.signed[-2], colours.signed[-3], colours.muted, colours.signed[2], colours.signed[1]], np.linspace(0, 1, len(SCORES))
    )
    for (way, lines), place in zip(frame.groupby("way", sort=False), places, strict=True):
        for score, colour in zip(SCORES, shades, strict=True):
            line = lines[lines["score"] == score]
            name = f"score {number(score, 0)}"
            plot.add_scatter(
                x=line["sigma"],
                y=line["weight"],
                mode="lines",
                name=name,
                legendgroup=name,
                showlegend=way == "product",
                line={"color": colour, "width": 2.4},
                hovertemplate=f"{name}, σ %{{x:.2f}}: weight %{{y:.3f}}<extra></extra>",
                **place,
            )
            plot.add_scatter(
                x=[1 / 3],
                y=line["without"].iloc[:1],
                mode="markers",
                showlegend=False,
                marker={"size": 9, "color": colours.paper, "line": {"color": colour, "width": 2}},
                hovertemplate=f"{name}, without a lexicon: %{{y:.3f}}<extra></extra>",
                **place,
            )
        plot.add_vline(x=1 / 3, line=dotted(colours), layer="below", **place)
    drawn = 2 * 200 + 60 if stacked else 230
    below = 92
    lay_out(
        plot,
        theme,
        "Attention weight of one pair",
        (width, drawn + 76 + below),
        (60, 76, 16, below),
        legend=legend_below(-46 / drawn),
    )
    plot.update_xaxes(range=[-0.02, 1.02], automargin=False, nticks=6)
    plot.update_xaxes(title_text="similarity σ of the pair", title_standoff=4, row=places[-1]["row"])
    ticks = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5]
    plot.update_yaxes(type="log", range=np.log10([0.009, 0.75]).tolist(), tickvals=ticks, tickformat=".0%", automargin=False)
    caption = (
        f"Attention of one query to a key (log scale), against their similarity. {OTHERS} other keys have a score of 0 and are neutral"
        " (σ = 1/3, dotted). Open circles are the weights without a lexicon. Under the product, a more similar pair with a negative score"
        " loses weight, and neutral pairs change too. Under the sum, every more similar pair gains, and neutral pairs stay."
    )
    return Figure(file_safe("product-and-sum"), plot, frame, caption, at_width=partial(product_and_sum, theme=theme))


def _weight(score: float) -> float:
    """Return the attention weight of a key among `OTHERS` keys with a score of 0."""
    return float(np.exp(score) / (np.exp(score) + OTHERS))


def neutral_by_tokenizer(
    frame: pd.DataFrame,
    titles: Mapping[str, str],
    tokenizers: Mapping[str, str],
    *,
    reference: float = 0.5,
    width: int = 620,
    theme: Theme = "light",
) -> Figure:
    """Draw the share of neutral tokens of each data set with each tokenizer, a mark per tokenizer.

    Args:
        frame: dataset, tokenizer, neutral (share), tokens; rows in the order of drawing.
        titles, tokenizers: names of the data sets and of the tokenizers.
        reference: position of the dotted line, a share. width: pixels of the figure.
    """
    if frame.empty:
        raise InputError("No coverage has been measured.")
    colours, datasets = palette(theme), list(dict.fromkeys(frame["dataset"]))
    names = list(dict.fromkeys(frame["tokenizer"]))
    entries = 26 * -(-len(names) // max(1, width // 210))
    drawn, below = 40 * len(datasets), 56 + entries
    plot = new_plot(
        theme,
        "Tokens that stay neutral, by tokenizer",
        (width, drawn + 52 + below),
        (120, 52, 16, below),
        legend=legend_below(-56 / drawn),
    )
    for name, symbol in zip(names, SYMBOLS, strict=False):
        part = frame[frame["tokenizer"] == name]
        plot.add_scatter(
            x=part["neutral"],
            y=[datasets.index(dataset) for dataset in part["dataset"]],
            mode="markers",
            name=as_text(tokenizers[name], 28),
            marker={"size": 11, "symbol": symbol, "color": colours.line(names.index(name))},
            customdata=part[["tokens"]],
            hovertemplate=f"{as_text(tokenizers[name])}: %{{x:.1%}} of %{{customdata[0]:,}} tokens<extra></extra>",
        )
    plot.add_vline(x=reference, line=dotted(colours, 1.2), layer="below")
    ticks = [as_text(titles[dataset], 20) for dataset in datasets]
    plot.update_yaxes(tickvals=list(range(len(datasets))), ticktext=ticks, range=[len(datasets) - 0.5, -0.5], automargin=False)
    plot.update_xaxes(range=[0, 0.7], tickformat=".0%", title_text="tokens that stay neutral", title_standoff=4, automargin=False)
    caption = (
        "Share of a test split's tokens that no entry of KNU contains, with the tokenizers of our encoders; each tokenizer reads every data"
        " set. Special and unknown tokens are left out. Dotted: the centre of most shares in the paper."
    )
    rows = frame.assign(dataset=frame["dataset"].map(titles), tokenizer=frame["tokenizer"].map(tokenizers)).reset_index(drop=True)
    again = partial(neutral_by_tokenizer, frame, titles, tokenizers, reference=reference, theme=theme)
    return Figure(file_safe("neutral-by-tokenizer"), plot, rows, caption, at_width=again)
