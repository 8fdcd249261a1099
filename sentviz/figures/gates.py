"""The gates of a sentence: layers down, tokens across, a cell for each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from sentviz.analysis.maps.tokenwise import forced, gates
from sentviz.figures.colours import Theme, blend, palette
from sentviz.figures.figure import Figure, base_layout, file_safe, sentence
from sentviz.figures.maps import Floats
from sentviz.figures.text import as_text
from sentviz.runs.trace import Trace

_ROW, _LABELS, _SHOWN = 20, 84, 120  # pixels, pixels, tokens
_MARKS = {"": "", "open": "○ ", "shut": "● "}


def gate_cells(trace: Trace, *, tagger: str = "", across: int = 20, theme: Theme = "light") -> Figure:
    """The gate of each token as a key in every layer, from 0 (shut) to 1 (open); long texts go on in further lines.

    Args:
        trace: with its layers' terms, of a model with gates.
        tagger: in words, what gave the tags of the tokens.
        across: tokens a line at most.
    Frame:
        place (counted from 0), token, tag, forced (open or shut by hand), layer (counted from 0), gate; all tokens, also those not drawn.
    Raises:
        InputError: the trace holds no gates.
    """
    values, by_hand, colours = gates(trace), forced(trace), palette(theme)
    layers, count = len(values), min(len(trace.tokens), _SHOWN)
    tags = trace.tags or ("",) * len(trace.tokens)
    lines = -(-count // across)
    wide = -(-count // lines)
    head = _LABELS / _ROW  # rows that the labels of a line take

    token, layer = np.repeat(np.arange(count), layers), np.tile(np.arange(layers), count)
    top = token // wide * (layers + head)
    shown = values[:, :count].T.ravel()
    held = np.array([bool(hand) for hand in by_hand])[token]
    plot = go.Figure(
        go.Bar(
            orientation="h",
            base=token % wide + 0.04,
            x=np.full(len(token), 0.92),
            y=top + layer,
            width=0.86,
            marker={
                "color": blend(colours.sequential, shown),
                "cornerradius": 3,
                "line": {"color": colours.ink, "width": np.where(held, 1.5, 0.0)},
            },
            unselected={"marker": {"opacity": 1}},
            customdata=[
                _hover(trace.tokens[i], i, tags[i], by_hand[i], trace.layer_ids[at], values[at, i])
                for i in range(count)
                for at in range(layers)
            ],
            hovertemplate="%{customdata}<extra></extra>",
        ),
        layout=base_layout(
            theme,
            title="Gate of each token, layer by layer",
            width=560,
            height=int(lines * (layers * _ROW + _LABELS)) + 40 + 34,
            margin=(34, 40, 34, 34),
            showlegend=False,
            barmode="overlay",
            dragmode=False,
            xaxis={"range": [0, wide], "visible": False, "fixedrange": True},
            yaxis={
                "range": [lines * (layers + head) - head - 0.5, -head - 0.5],
                "tickvals": [line * (layers + head) + at for line in range(lines) for at in range(layers)],
                "ticktext": [f"L{at + 1}" for at in trace.layer_ids] * lines,
                "showgrid": False,
                "fixedrange": True,
            },
        ),
    )
    muted = f'<span style="color:{colours.muted};font-size:10px">'
    labels = [
        {
            "text": _MARKS[by_hand[i]] + as_text(trace.tokens[i], 11) + (f" {muted}{tags[i]}</span>" if tags[i] else ""),
            "x": i % wide + 0.25,
            "y": i // wide * (layers + head) - 0.6,
            "xanchor": "left",
            "yanchor": "bottom",
            "textangle": -45,
            "font": {"size": 12, "color": colours.muted if trace.specials[i] else colours.ink},
        }
        for i in range(count)
    ]
    steps = "".join(f'<span style="color:{stop}">■</span>' for stop in colours.sequential)
    legend = {"text": f"shut 0 {steps} 1 open", "xref": "paper", "yref": "paper", "x": 0, "y": 0, "yshift": -8}
    legend |= {"xanchor": "left", "yanchor": "top", "font": {"size": 12, "color": colours.muted}}
    plot.update_layout(annotations=[*labels, legend])
    caption = sentence(
        [
            "The gate multiplies a token's weight before the softmax divides by the sum of all: what all gates of a layer share cancels,"
            " and only differences between tokens count.",
            _by_hand(by_hand),
            tagger if trace.tags else "",
            f"The first {count} of {len(trace.tokens):,} tokens are shown." if count < len(trace.tokens) else "",
        ]
    )
    return Figure(file_safe("gates", trace.run), plot, _frame(trace, values, tags, by_hand), caption)


def _by_hand(states: Sequence[str]) -> str:
    made = [f"{_MARKS[state].strip()} {states.count(state)} {state}" for state in ("open", "shut") if state in states]
    return f"By hand: {', '.join(made)}." if made else ""


def _hover(token: str, place: int, tag: str, state: str, layer: int, value: float) -> str:
    said = f"“{as_text(token, 120)}” ({place + 1}){f', {tag}' if tag else ''}"
    return f"{said}<br>layer {layer + 1}: {value:.3f}{f', {state} by hand' if state else ''}"


def _frame(trace: Trace, values: Floats, tags: Sequence[str], by_hand: Sequence[str]) -> pd.DataFrame:
    layers, n = values.shape
    return pd.DataFrame(
        {
            "place": np.repeat(np.arange(n), layers),
            "token": np.repeat(np.array(trace.tokens, dtype=object), layers),
            "tag": np.repeat(np.array(tags, dtype=object), layers),
            "forced": np.repeat(np.array(by_hand, dtype=object), layers),
            "layer": np.tile(trace.layer_ids, n),
            "gate": values.T.ravel(),
        }
    )
