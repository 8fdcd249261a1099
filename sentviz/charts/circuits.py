"""A circuit as a graph over layers: heads and feed-forward networks, larger the more is lost without them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sentviz.analysis.causal.circuit import Circuit, circuit
from sentviz.charts.chart import Drawing
from sentviz.charts.figure import Figure, new_plot
from sentviz.charts.look import Look
from sentviz.charts.maps import Floats, title_lines
from sentviz.charts.patching import SWAPS, Swap, pairs_of
from sentviz.charts.registry import figure
from sentviz.charts.requirements import REPLACES
from sentviz.charts.subjects import Sentence, sourced
from sentviz.errors import InputError
from sentviz.io.arguments import Progress
from sentviz.io.lazy import go, pd
from sentviz.io.numbers import percent

LEFT, TOP = 108, 64  # pixels for the names of rows, and above the graph


def _draw_circuit(
    look: Look,
    title: str,
    parts: Sequence[tuple[int, int]],
    lost: Floats,
    links: Sequence[tuple[int, int, float, float, float]],
    layers: int,
    heads: int,
    chosen: Sequence[tuple[int, int]],
) -> go.Figure:
    """Draw the graph.

    Args:
        parts: (layer, head) of the circuit, counted from 0; head -1 is the feed-forward network. lost: (parts, 3) share lost without each
            part, and its interval.
        links: two places in `parts`, the loss that they share, and its interval. Positive: one works through the other.
        chosen: parts that get a ring.
    """
    colours, (title, more) = look.colours, title_lines(title, look)
    row, wide = max(min(34, 560 // (heads + 1)), 14), (look.room - LEFT - 30) / layers if look.room else max(90, 480 // layers)
    size = round(LEFT + 30 + wide * layers), TOP + more + row * (heads + 1) + 40
    plot = new_plot(look, title, size, (LEFT, TOP + more, 30, 40))
    place = [(layer, heads if head < 0 else head) for layer, head in parts]
    most = max((abs(shared) for _, _, shared, *_ in links), default=1.0)
    for i, j, shared, *_ in links:
        plot.add_scatter(
            x=[place[i][0], place[j][0]],
            y=[place[i][1], place[j][1]],
            mode="lines",
            line={
                "color": colours.signed[-3 if shared > 0 else 2],
                "width": 0.8 + 3.2 * abs(shared) / most,
                "dash": "dash" if look.is_grey and shared <= 0 else "solid",
            },
            hoverinfo="skip",
        )
    outside = [(layer, head) for layer in range(layers) for head in range(heads + 1) if (layer, head) not in place]
    plot.add_scatter(
        x=[x for x, _ in outside], y=[y for _, y in outside], mode="markers", marker={"size": 4, "color": colours.grid}, hoverinfo="skip"
    )
    top = float(np.abs(lost[:, 0]).max()) or 1.0
    names = [f"layer {layer + 1}, " + ("feed-forward network" if head < 0 else f"head {head + 1}") for layer, head in parts]
    plot.add_scatter(
        x=[x for x, _ in place],
        y=[y for _, y in place],
        mode="markers",
        marker={
            "size": 9 + max(min(row, wide) - 12, 4) * np.sqrt(np.abs(lost[:, 0]) / top),
            "color": [colours.lines[0] if head >= 0 else colours.lines[1] for _, head in parts],
            "opacity": 1,
            "line": {"color": [colours.accent if part in chosen else colours.paper for part in parts], "width": 2},
        },
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 1}},
        customdata=[
            [f"{name}<br>{percent(value, 0, ends=(low, high))} is lost without it", layer, head]
            for name, (layer, head), (value, low, high) in zip(names, parts, lost.tolist(), strict=True)
        ],
        hovertemplate="%{customdata[0]}<extra></extra>",
    )
    plot.update_xaxes(
        tickvals=list(range(layers)),
        ticktext=[f"layer {i + 1}" if wide > 52 else f"L{i + 1}" if wide > 24 or i % 2 == 0 else "" for i in range(layers)],
        range=[-0.5, layers - 0.5],
        showgrid=False,
        zeroline=False,
    )
    plot.update_yaxes(
        tickvals=list(range(heads + 1)),
        ticktext=[*(f"head {h + 1}" for h in range(heads)), "feed-forward"],
        range=[heads + 0.6, -0.6],
        showgrid=False,
        zeroline=False,
        automargin=False,
    )
    plot.update_layout(showlegend=False, dragmode=False)
    return plot


@figure("circuit", "Few parts that keep the difference of minimal pairs", Sentence, REPLACES)
def _circuit(of: Sentence, *, minimal: Swap = "negation", count: int = 40, selected: Any = ()) -> Figure:
    """Draw a column for each layer, with its heads and its feed-forward network; parts outside the circuit are small dots.

    Args:
        selected: (layer, head) of parts that get a ring; head -1 is the feed-forward network.
    Frame:
        layer, head (counted from 0; -1 = feed-forward network), lost, low, high, with (layer and head of the other part of a link; "" for a
        part itself).
    """
    result, has = circuit_of(of, minimal, count), of.run.capabilities
    parts, links = [(part.layer, -1 if part.head is None else part.head) for part in result.parts], result.links
    if not parts:
        raise InputError("The circuit has no part to draw.")
    data: dict[str, Any] = {"title": f"A circuit, {SWAPS[minimal]}", "parts": parts, "lost": result.lost, "links": links}
    data |= {"layers": has.layers, "heads": has.heads, "chosen": list(selected or ())}
    meanings = {True: "overlap (green: one works through the other)", False: "add up to more (purple)"}
    joined = " or ".join(meanings[sign] for sign in (True, False) if any((shared > 0) == sign for _, _, shared, *_ in links))
    caption = (
        f"{result.says} Parts outside give what they gave on the other sentence of the pair. The size of a circle is the share that is lost"
        " if that part alone leaves the circuit."
    )
    if joined:
        caption += f" Lines join parts of the strongest 12 whose losses {joined}, where the 95 % interval excludes 0."
    rows = [(*part, *value, "") for part, value in zip(parts, result.lost.tolist(), strict=True)]
    rows += [(*parts[i], *rest, "{}.{}".format(*parts[j])) for i, j, *rest in links]
    frame = pd.DataFrame(rows, columns=["layer", "head", "lost", "low", "high", "with"])
    return sourced(Figure("circuit", Drawing(_draw_circuit, data), frame, caption), of.run, read=f"{sum(result.pairs)} minimal pairs")


def circuit_of(of: Sentence, minimal: str, count: int = 40, progress: Progress | None = None) -> Circuit:
    """Return a circuit of minimal pairs, computed once."""
    result: Circuit = of.once(("circuit", minimal, count), lambda: circuit(of.model, pairs_of(of, minimal, count), progress=progress))
    return result
