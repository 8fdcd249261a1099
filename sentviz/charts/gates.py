"""The gates of a sentence: a row for each layer, a column for each token."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sentviz.analysis.maps.gates import forced, gates
from sentviz.charts.chart import Drawing
from sentviz.charts.colours import blend
from sentviz.charts.figure import Figure, file_safe, new_plot, sentence
from sentviz.charts.look import Look
from sentviz.charts.maps import Floats
from sentviz.charts.registry import figure
from sentviz.charts.requirements import GATE
from sentviz.charts.subjects import Sentence
from sentviz.charts.text import as_text, token_label
from sentviz.data.tags import describe_tagger
from sentviz.io.lazy import go, pd
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace

_ROW, _STEP, _LABELS = 20, 24, 84  # pixels: of a row, least of a column, of the labels of a line
_SHOWN, _ACROSS = 120, 20  # tokens that are drawn, and most of one line
_MARKS = {"": "", "open": "○ ", "shut": "● "}


def _draw_gates(
    look: Look,
    tokens: Sequence[str],
    tags: Sequence[str],
    specials: Sequence[bool],
    forced: Sequence[bool],
    layers: Sequence[str],
    values: Floats,
    hovers: Sequence[str],
) -> go.Figure:
    """Draw values (layers, tokens) in lines of at most 20 tokens, fewer where the width has no room."""
    colours, count, high = look.colours, len(tokens), len(layers)
    lines = -(-count // min(_ACROSS, (look.room - 68) // _STEP if look.room else _ACROSS))
    wide = -(-count // lines)
    head = _LABELS / _ROW  # height of the labels of a line, in rows
    token, layer = np.repeat(np.arange(count), high), np.tile(np.arange(high), count)
    plot = new_plot(
        look,
        "Gate of each token, layer by layer",
        (look.room or 560, int(lines * (high * _ROW + _LABELS)) + 40 + 34),
        (34, 40, 34, 34),
        go.Bar(
            orientation="h",
            base=token % wide + 0.04,
            x=np.full(len(token), 0.92),
            y=token // wide * (high + head) + layer,
            width=0.86,
            marker={
                "color": blend(colours.sequential, values.T.ravel()),
                "cornerradius": 3,
                "line": {"color": colours.ink, "width": np.where(np.array(forced)[token], 1.5, 0.0)},
            },
            unselected={"marker": {"opacity": 1}},
            customdata=hovers,
            hovertemplate="%{customdata}<extra></extra>",
        ),
        showlegend=False,
        barmode="overlay",
        dragmode=False,
        xaxis={"range": [0, wide], "visible": False, "fixedrange": True},
        yaxis={
            "range": [lines * (high + head) - head - 0.5, -head - 0.5],
            "tickvals": [line * (high + head) + at for line in range(lines) for at in range(high)],
            "ticktext": list(layers) * lines,
            "showgrid": False,
            "fixedrange": True,
        },
    )
    muted = f'<span style="color:{colours.muted};font-size:11px">'
    labels = [
        {
            "text": tokens[i] + (f" {muted}{tags[i]}</span>" if tags[i] else ""),
            "x": i % wide + 0.25,
            "y": i // wide * (high + head) - 0.6,
            "xanchor": "left",
            "yanchor": "bottom",
            "textangle": -45,
            "font": {"size": 12, "color": colours.muted if specials[i] else colours.ink},
        }
        for i in range(count)
    ]
    steps = "".join(f'<span style="color:{stop}">■</span>' for stop in colours.sequential)
    legend = {"text": f"shut 0 {steps} 1 open", "xref": "paper", "yref": "paper", "x": 0, "y": 0, "yshift": -8}
    legend |= {"xanchor": "left", "yanchor": "top", "font": {"size": 12, "color": colours.muted}}
    plot.update_layout(annotations=[*labels, legend])
    return plot


def _by_hand(states: Sequence[str]) -> str:
    counts = [f"{_MARKS[state].strip()} {states.count(state)} {state}" for state in ("open", "shut") if state in states]
    return f"Set manually: {', '.join(counts)}." if counts else ""


def _hover(token: str, place: int, tag: str, state: str, layer: int, value: float) -> str:
    name = token_label(token, place) + (f", {tag}" if tag else "")
    return f"{name}<br>layer {layer + 1}: {value:.3f}{f', {state} by hand' if state else ''}"


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


@figure("gates", "The gate of each token, layer by layer", Sentence, GATE)
def _gates(of: Sentence) -> Figure:
    """Draw the gate of each token as a key in every layer, from 0 (shut) to 1 (open); long texts continue on further lines.

    Frame:
        place (counted from 0), token, tag, forced ("open", "shut" or ""), layer (counted from 0), gate: of all tokens.
    """
    trace = of.trace if of.trace.terms else of.new_trace(maps=False, projections=True)
    values, by_hand = gates(trace), forced(trace)
    layers, count = len(values), min(len(trace.tokens), _SHOWN)
    tags = trace.tags or ("",) * len(trace.tokens)
    data = {
        "tokens": [_MARKS[by_hand[i]] + as_text(trace.tokens[i], 11) for i in range(count)],
        "tags": tags[:count],
        "specials": trace.specials[:count].tolist(),
        "forced": [bool(state) for state in by_hand[:count]],
        "layers": [f"L{at + 1}" for at in trace.layer_ids],
        "values": values[:, :count],
        "hovers": [
            _hover(token, i, tags[i], by_hand[i], trace.layer_ids[at], values[at, i])
            for i, token in enumerate(trace.tokens[:count])
            for at in range(layers)
        ],
    }
    caption = sentence(
        [
            "The gate multiplies a token's weight before the weights are divided by their sum. A factor that all gates of a layer share"
            " cancels: only differences between tokens have an effect.",
            _by_hand(by_hand),
            tagger(of.run) if trace.tags else "",
            f"The first {count} of {len(trace.tokens):,} tokens are shown." if count < len(trace.tokens) else "",
        ]
    )
    return Figure(file_safe("gates", trace.run), Drawing(_draw_gates, data), _frame(trace, values, tags, by_hand), caption)


def tagger(run: Run) -> str:
    """Return a sentence that names the tagger of a run; empty if the run reads no tags."""
    return describe_tagger(run.config["tagger"]["version"]) if run.capabilities.tags else ""
