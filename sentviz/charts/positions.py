"""The parts of a sentence's position signals."""

from __future__ import annotations

from typing import Any

import numpy as np

from sentviz.analysis.maps.gates import signals
from sentviz.charts.chart import Axis, Chart, line
from sentviz.charts.figure import Figure, file_safe, sentence
from sentviz.charts.gates import tagger
from sentviz.charts.registry import figure
from sentviz.charts.requirements import AWARE
from sentviz.charts.subjects import Sentence
from sentviz.charts.text import shortened
from sentviz.io.lazy import pd

_LABELLED = 32  # number of tokens up to which labels are drawn
_DASHES = {"recency": "dash", "word": "dot"}  # recency is often as long as the sinusoid, so its line is dashed
_NAMES = {"sinusoid": ("α · sinusoid", "alpha"), "recency": ("β · recency", "beta"), "tag": ("γ · tag", "gamma")}


@figure("positions", "What the position of each token is made of", Sentence, AWARE)
def _positions(of: Sentence) -> Figure:
    """Draw the length of each part of the position signal at every token, of their sum, and of the word vector for comparison.

    Frame:
        place (counted from 0), token, tag, part (sinusoid, recency, tag, sum, word), length (Euclidean norm).
    """
    trace, parts = of.trace, signals(of.model, of.trace)
    n = len(trace.tokens)
    tags, places = trace.tags or ("",) * n, np.arange(n)
    lengths = {**parts.parts, "sum": parts.total, "word": parts.word}
    frame = pd.DataFrame(
        {
            "place": np.tile(places, len(lengths)),
            "token": list(trace.tokens) * len(lengths),
            "tag": list(tags) * len(lengths),
            "part": np.repeat(list(lengths), n),
            "length": np.concatenate(list(lengths.values())),
        }
    )
    drawn = frame.assign(at=frame["place"] + 1, with_tag=[f", {tag}" if tag else "" for tag in frame["tag"]])
    marks = []
    for i, name in enumerate(lengths):
        title = _NAMES.get(name, (name, ""))[0]
        symbol = "" if n > _LABELLED else "circle-open" if name == "recency" else "circle"
        style: Any = {"role": "muted" if name == "word" else i, "dash": _DASHES.get(name, "solid"), "symbol": symbol, "size": 0.7}
        hover = "“{token}” ({at}){with_tag}<br>" + title + ": {length:.2f}"
        marks.append(line(drawn[drawn["part"] == name], "place", "length", name=title, hover=hover, **style))
    words = {i: f"{shortened(token, 11)} {tag}".strip() for i, (token, tag) in enumerate(zip(trace.tokens, tags, strict=True))}
    across = Axis(rows=words) if n <= _LABELLED else Axis("token")
    chart = Chart("What the positions are made of", marks, across, Axis("length of the vector", zero=True))
    weights = [f"{_NAMES[name][0][0]} = {parts.weights[scalar]:.2f}" for name, (_, scalar) in _NAMES.items() if scalar in parts.weights]
    caption = sentence(
        [
            f"Learned weights: {', '.join(weights)}." if weights else "",
            "Length of each part of the position signal, of their sum, and of the word vector for comparison.",
            "Sinusoid and recency have the same length at every token, because they are sines and cosines; their direction encodes the"
            " position.",
            tagger(of.run) if trace.tags else "",
        ]
    )
    return Figure(file_safe("positions", trace.run), chart, frame, caption)
