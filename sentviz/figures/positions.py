"""The parts of a sentence's position signals."""

from __future__ import annotations

import numpy as np

from sentviz.analysis.maps.gates import Signals
from sentviz.figures.colours import Theme, palette
from sentviz.figures.figure import Figure, file_safe, new_plot, sentence
from sentviz.figures.text import as_text, token_label
from sentviz.io.lazy import pd
from sentviz.runs.trace import Trace

_LABELLED, _SLANTED = 32, 14  # numbers of tokens up to which labels are drawn, and are slanted instead of upright
_DASHES = {"recency": "dash", "word": "dot"}  # recency is often as long as the sinusoid, so its line is dashed
_NAMES = {"sinusoid": ("α · sinusoid", "alpha"), "recency": ("β · recency", "beta"), "tag": ("γ · tag", "gamma")}


def position_signals(trace: Trace, parts: Signals, *, tagger: str = "", theme: Theme = "light") -> Figure:
    """Draw the length of each part of the position signal at every token, of their sum, and of the word vector for comparison.

    Args:
        parts: signals of the same text, from `sentviz.analysis.maps.gates.signals`.
        tagger: sentence for the caption that names the tagger.
    Frame:
        place (counted from 0), token, tag, part (sinusoid, recency, tag, sum, word), length (Euclidean norm).
    """
    colours, n = palette(theme), len(trace.tokens)
    tags, places = trace.tags or ("",) * n, np.arange(n)
    lengths = {**parts.parts, "sum": parts.total, "word": parts.word}
    plot = new_plot(
        theme,
        "What the positions are made of",
        (560, 360),
        (52, 84, 20, 112),
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
    )
    for i, (name, values) in enumerate(lengths.items()):
        title = _NAMES.get(name, (name, ""))[0]
        plot.add_scatter(
            x=places,
            y=values,
            mode="lines+markers" if n <= _LABELLED else "lines",
            name=title,
            line={"color": colours.muted if name == "word" else colours.lines[i], "width": 2, "dash": _DASHES.get(name, "solid")},
            marker={"size": 6, "symbol": "circle-open" if name == "recency" else "circle"},
            customdata=[
                token_label(token, k) + (f", {tag}" if tag else "") for k, (token, tag) in enumerate(zip(trace.tokens, tags, strict=True))
            ],
            hovertemplate="%{customdata}<br>" + title + ": %{y:.2f}<extra></extra>",
        )
    if n <= _LABELLED:
        muted = f'<span style="color:{colours.muted};font-size:10px">'
        named = [as_text(token, 11) + (f" {muted}{tag}</span>" if tag else "") for token, tag in zip(trace.tokens, tags, strict=True)]
        plot.update_xaxes(tickvals=places, ticktext=named, tickangle=-45 if n <= _SLANTED else -90)
    else:
        plot.update_xaxes(title_text="token")
    plot.update_yaxes(rangemode="tozero", title_text="length of the vector", automargin=False)
    frame = pd.DataFrame(
        {
            "place": np.tile(places, len(lengths)),
            "token": list(trace.tokens) * len(lengths),
            "tag": list(tags) * len(lengths),
            "part": np.repeat(list(lengths), n),
            "length": np.concatenate(list(lengths.values())),
        }
    )
    weights = [f"{_NAMES[name][0][0]} = {parts.weights[scalar]:.2f}" for name, (_, scalar) in _NAMES.items() if scalar in parts.weights]
    caption = sentence(
        [
            f"Learned weights: {', '.join(weights)}." if weights else "",
            "Length of each part of the position signal, of their sum, and of the word vector for comparison.",
            "Sinusoid and recency have the same length at every token, because they are sines and cosines; their direction encodes the"
            " position.",
            tagger if trace.tags else "",
        ]
    )
    return Figure(file_safe("positions", trace.run), plot, frame, caption)
