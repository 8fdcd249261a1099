"""Figures of a lexicon's injection that need no run: the product beside the sum, and neutral tokens by tokenizer."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sentviz.charts.chart import Axis, Chart, Panels, Rule, line, points
from sentviz.charts.figure import Figure, file_safe
from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.io.numbers import number, percent

SCORES = (2.0, 1.0, 0.0, -1.0, -2.0)  # scores of the drawn pair before the injection
OTHERS = 9  # other keys of the row: their score is 0, their similarity that of neutral tokens


def product_and_sum() -> Figure:
    """Draw the attention weight of one pair against its similarity σ, under the product of Xia et al. and under the sum, a line per score.

    Frame:
        way (product or sum), score, sigma, weight, without (weight without a lexicon).
    """
    sigma = np.linspace(0, 1, 41)
    records = [
        (way, score, s, _weight(raised), _weight(score))
        for way in ("product", "sum")
        for score in SCORES
        for s in sigma.tolist()
        for raised in [score * s if way == "product" else score + s - 1 / 3]
    ]
    frame = pd.DataFrame(records, columns=["way", "score", "sigma", "weight", "without"])
    named = frame.assign(name=[f"score {number(score, 0)}" for score in frame["score"]])
    without = named.drop_duplicates(["way", "score"]).assign(sigma=1 / 3)
    marks = [
        line(named, "sigma", "weight", by="name", symbol="", hover="{name}, σ {sigma:.2f}: weight {weight:.3f}"),
        points(without, "sigma", "without", by="name", symbol="circle-open", hover="{name}, without a lexicon: {without:.3f}"),
    ]
    panels = Panels("way", {"product": "Product of Xia et al.", "sum": "Sum, as in the paper"}, 2)
    ticks = {share: percent(share, 0) for share in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)}
    across, down = Axis("similarity σ of the pair", span=(-0.02, 1.02)), Axis(log=True, span=(0.009, 0.75), ticks=ticks)
    chart = Chart("Attention weight of one pair", marks, across, down, panels=panels, rules=[Rule(x=1 / 3)])
    caption = (
        f"Attention of one query to a key (log scale), against their similarity. {OTHERS} other keys have a score of 0 and are neutral"
        " (σ = 1/3, dotted). Open circles are the weights without a lexicon. Under the product, a more similar pair with a negative score"
        " loses weight, and neutral pairs change too. Under the sum, every more similar pair gains, and neutral pairs stay."
    )
    return Figure(file_safe("product-and-sum"), chart, frame, caption)


def _weight(score: float) -> float:
    """Return the attention weight of a key among `OTHERS` keys with a score of 0."""
    return float(np.exp(score) / (np.exp(score) + OTHERS))


def neutral_by_tokenizer(
    frame: pd.DataFrame,
    titles: Mapping[str, str],
    tokenizers: Mapping[str, str],
    *,
    reference: float = 0.5,
) -> Figure:
    """Draw the share of neutral tokens of each data set with each tokenizer, a mark per tokenizer.

    Args:
        frame: dataset, tokenizer, neutral (share), tokens; rows in the order of drawing.
        titles, tokenizers: names of the data sets and of the tokenizers.
        reference: position of the dotted line, a share.
    """
    if frame.empty:
        raise InputError("No coverage has been measured.")
    rows = frame.assign(dataset=frame["dataset"].map(titles), tokenizer=frame["tokenizer"].map(tokenizers)).reset_index(drop=True)
    hover = "{tokenizer}: {neutral:.1%} of {tokens:,} tokens"
    dots = points(rows, "neutral", "dataset", by="tokenizer", hover=hover)
    across = Axis("tokens that stay neutral", ".0%", span=(0, 0.7))
    named = Axis(rows={title: title for title in rows["dataset"]})
    chart = Chart("Tokens that stay neutral, by tokenizer", [dots], across, named, rules=[Rule(x=reference)])
    caption = (
        "Share of a test split's tokens that no entry of KNU contains, with the tokenizers of our encoders; each tokenizer reads every data"
        " set. Special and unknown tokens are left out. Dotted: the centre of most shares in the paper."
    )
    return Figure(file_safe("neutral-by-tokenizer"), chart, rows, caption)
