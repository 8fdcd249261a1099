"""A circuit as a graph over layers: heads and feed-forward networks, larger the more is lost without them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, palette
from sentviz.figures.figure import Figure, file_safe, new_plot
from sentviz.io.lazy import pd

LEFT, TOP = 108, 64  # pixels for the names of rows, and above the graph


def circuit_graph(
    parts: Sequence[tuple[int, int]],
    lost: npt.ArrayLike,
    links: Sequence[tuple[int, int, float, float, float]],
    *,
    layers: int,
    heads: int,
    title: str,
    about: str,
    chosen: Sequence[tuple[int, int]] = (),
    theme: Theme = "light",
) -> Figure:
    """Draw a column for each layer, with its heads and its feed-forward network; parts outside the circuit are small dots.

    Args:
        parts: (layer, head) of the circuit, counted from 0; head -1 is the feed-forward network.
        lost: (parts, 3) share lost without each part, and its interval.
        links: two places in `parts`, the loss that they share, and its interval. Positive: one works through the other.
        title: of the figure. about: beginning of the caption.
        chosen: (layer, head) that get a ring.
    Frame:
        layer, head (counted from 0; -1 = feed-forward network), lost, low, high, with (layer and head of the other part of a link; "" for a
        part itself).
    """
    if not parts:
        raise InputError("The circuit has no part to draw.")
    colours, values = palette(theme), np.asarray(lost, dtype=np.float64)
    row, wide = min(34, 560 // (heads + 1)), max(90, 480 // layers)
    plot = new_plot(theme, title, (LEFT + 30 + wide * layers, TOP + row * (heads + 1) + 40), (LEFT, TOP, 30, 40))
    place = [(layer, heads if head < 0 else head) for layer, head in parts]
    most = max((abs(shared) for _, _, shared, *_ in links), default=1.0)
    for i, j, shared, *_ in links:
        plot.add_scatter(
            x=[place[i][0], place[j][0]],
            y=[place[i][1], place[j][1]],
            mode="lines",
            line={"color": colours.signed[-3 if shared > 0 else 2], "width": 0.8 + 3.2 * abs(shared) / most},
            hoverinfo="skip",
        )
    outside = [(layer, head) for layer in range(layers) for head in range(heads + 1) if (layer, head) not in place]
    plot.add_scatter(
        x=[x for x, _ in outside], y=[y for _, y in outside], mode="markers", marker={"size": 4, "color": colours.grid}, hoverinfo="skip"
    )
    top = float(np.abs(values[:, 0]).max()) or 1.0
    names = [f"layer {layer + 1}, " + ("feed-forward network" if head < 0 else f"head {head + 1}") for layer, head in parts]
    plot.add_scatter(
        x=[x for x, _ in place],
        y=[y for _, y in place],
        mode="markers",
        marker={
            "size": 9 + (row - 12) * np.sqrt(np.abs(values[:, 0]) / top),
            "color": [colours.lines[0] if head >= 0 else colours.lines[1] for _, head in parts],
            "opacity": 1,
            "line": {"color": [colours.accent if part in chosen else colours.paper for part in parts], "width": 2},
        },
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 1}},
        customdata=[
            [f"{name}<br>{value:.0%} [{low:.0%}, {high:.0%}] is lost without it".replace("-", "−"), layer, head]
            for name, (layer, head), (value, low, high) in zip(names, parts, values.tolist(), strict=True)
        ],
        hovertemplate="%{customdata[0]}<extra></extra>",
    )
    plot.update_xaxes(
        tickvals=list(range(layers)),
        ticktext=[f"layer {i + 1}" for i in range(layers)],
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
    meanings = {True: "overlap (green: one works through the other)", False: "add up to more (purple)"}
    joined = " or ".join(meanings[sign] for sign in (True, False) if any((shared > 0) == sign for _, _, shared, *_ in links))
    caption = f"{about} The size of a circle is the share that is lost if that part alone leaves the circuit."
    if joined:
        caption += f" Lines join parts of the strongest 12 whose losses {joined}, where the 95% interval excludes 0."
    rows = [(*part, *value, "") for part, value in zip(parts, values.tolist(), strict=True)]
    rows += [(*parts[i], *rest, "{}.{}".format(*parts[j])) for i, j, *rest in links]
    frame = pd.DataFrame(rows, columns=["layer", "head", "lost", "low", "high", "with"])
    return Figure(file_safe("circuit"), plot, frame, caption)
