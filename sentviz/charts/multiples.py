"""All attention maps of a trace in one figure."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

import numpy as np
import numpy.typing as npt

from sentviz.charts.chart import Drawing
from sentviz.charts.figure import Figure, annotate, file_safe, new_plot, sentence
from sentviz.charts.look import Look
from sentviz.charts.maps import TITLE_PAD, Floats, Indices, coloraxis, component_name, component_slug, map_title, title_lines
from sentviz.charts.options import Components
from sentviz.charts.registry import figure
from sentviz.charts.requirements import MAPS
from sentviz.charts.subjects import Sentence
from sentviz.charts.text import token_label
from sentviz.errors import InputError
from sentviz.io.lazy import go, pd
from sentviz.runs.trace import Trace

_BLOCKS = 64  # largest number of cells along a side of a panel


def small_multiples(
    trace: Trace,
    component: int | str = "effective",
    layers: Sequence[int] | None = None,
    *,
    selected: tuple[int, int | str] | None = None,
) -> Figure:
    """Draw the maps of all heads: layers downwards, heads across, one colour scale; the pointer shows head and tokens.

    Above 64 tokens a cell is a block of tokens: the attention that its keys receive together, mean over its queries, so that rows keep
    their sums.

    Args:
        trace: with attention maps.
        component: as in `Trace.map`, counted from 0.
        layers: layers to draw, counted from 0; by default all of the trace.
        selected: layer and head, counted from 0, in the frame, or a layer and "mean" or "max" for all its heads; then each map takes
            clicks as a whole, and the pointer shows no cells.
    Frame:
        layer, head, component, query, query_token, key, key_token, attention; the first token of a block.
    Raises:
        MissingMapError: the trace does not have those maps. InputError: `layers` is empty.
    """
    layers = trace.layer_ids if layers is None else tuple(layers)
    if not layers:
        raise InputError("At least one layer must be drawn.")
    maps = np.stack([[trace.map(layer, head, component) for head in trace.head_ids] for layer in layers]).astype(float)
    queries = np.array(trace.query_ids, dtype=np.int64)
    block = max(1, -(-max(maps.shape[2:]) // _BLOCKS))
    if block > 1:
        maps = _blocks(maps, block)
    names = [token_label(token, i, 24) + (" …" if block > 1 else "") for i, token in enumerate(trace.tokens)]
    data = {
        "title": map_title(component),
        "maps": maps,
        "rows": [f"layer {layer + 1}, query {names[i]}" for layer in layers for i in queries[::block]],
        "columns": [f"head {head + 1}, key {name}" for head in trace.head_ids for name in names[::block]],
        "layers": [f"L{layer + 1}" for layer in layers],
        "heads": [f"H{head + 1}" for head in trace.head_ids],
    }
    if selected is not None:
        places = [(layer, head) for layer in layers for head in trace.head_ids]
        is_open = [layer == selected[0] and (head == selected[1] or isinstance(selected[1], str)) for layer, head in places]
        data |= {"places": places, "framed": np.flatnonzero(is_open).tolist()}
    layer_of, head_of, query_of, key_of = (axis.ravel() for axis in np.indices(maps.shape))
    frame = pd.DataFrame(
        {
            "layer": np.array(layers)[layer_of],
            "head": np.array(trace.head_ids)[head_of],
            "component": _categories(np.zeros(maps.size, dtype=np.int8), [component_name(component)]),
            "query": queries[::block][query_of],
            "query_token": _tokens(trace, queries[::block][query_of]),
            "key": key_of * block,
            "key_token": _tokens(trace, key_of * block),
            "attention": maps.ravel(),
        }
    )
    what = "effective attention" if component == "effective" else f"component {component_name(component)}"
    caption = sentence(
        [
            f"Run {trace.run}: {what} of every head (across) in every layer (down), on one colour scale. Each row of a map shows which"
            " tokens one token reads.",
            f"A cell is a block of {block} × {block} tokens: the attention is summed over its keys and averaged over its queries."
            if block > 1
            else "",
            "Purple is negative." if maps.min() < 0 else "",
        ]
    )
    return Figure(file_safe("attention", trace.run, "all-heads", component_slug(component)), Drawing(_draw_maps, data), frame, caption)


def _draw_maps(
    look: Look,
    title: str,
    maps: Floats,
    rows: list[str],
    columns: list[str],
    layers: list[str],
    heads: list[str],
    places: Sequence[Sequence[int]] = (),
    framed: Sequence[int] = (),
) -> go.Figure:
    """Draw maps (layers, heads, n, m) on one scale; `rows` and `columns` say what the pointer shows.

    Args:
        places: layer and head of each map, if they take clicks. framed: the maps in the frame, as places in `places`.
    """
    n_layers, n_heads, n, m = maps.shape
    row_gap, col_gap = (max(1, round(0.08 * side)) for side in (n, m))
    mosaic = np.full((n_layers * (n + row_gap) - row_gap, n_heads * (m + col_gap) - col_gap), np.nan)
    for row in range(n_layers):
        for col in range(n_heads):
            mosaic[row * (n + row_gap) :, col * (m + col_gap) :][:n, :m] = maps[row, col]
    panel = min((look.room - 64) / n_heads, 190) if look.room else int(np.clip(880 / n_heads, 64, 190))
    height = max(panel * n_layers * min(1.0, max(n / m, 0.25)), 40 * n_layers if n != m else 0)
    colours, (title, more) = look.colours, title_lines(title, look)
    plot = new_plot(
        look,
        title,
        (look.room or int(panel * n_heads) + 64, int(height) + 128 + more),
        (48, 112 + more, 16, 16),
        go.Heatmap(z=mosaic, coloraxis="coloraxis", hoverongaps=False, hovertemplate="%{y}<br>%{x}<br>%{z:.3f}<extra></extra>"),
        coloraxis=coloraxis(mosaic, colours, above=44 / height),
        title_pad_t=TITLE_PAD + 10 * ("<br>" in title),
        xaxis=_mosaic_axis(columns, n_heads, m, col_gap)
        | {"range": [-0.5, mosaic.shape[1] - 0.5], "constrain": "domain", "constraintoward": "left"},
        yaxis=_mosaic_axis(rows, n_layers, n, row_gap)
        | {"range": [len(mosaic) - 0.5, -0.5], "constrain": "domain", "constraintoward": "top"}
        | ({"scaleanchor": "x"} if n == m else {}),
    )
    above, left = {"y": -0.5, "yanchor": "bottom", "yshift": 2}, {"x": -0.5, "xanchor": "right", "xshift": -8}
    every = ceil(30 / panel), ceil(16 * n_layers / height)  # heads and layers: how many there are for each name
    notes = [{"x": at * (m + col_gap) + (m - 1) / 2, "text": heads[at], **above} for at in range(0, n_heads, every[0])]
    notes += [{"y": at * (n + row_gap) + (n - 1) / 2, "text": layers[at], **left} for at in range(0, n_layers, every[1])]
    annotate(plot, (note | {"font": {"color": colours.muted}} for note in notes))
    if places:
        middles = [
            (col * (m + col_gap) + (m - 1) / 2, row * (n + row_gap) + (n - 1) / 2) for row in range(n_layers) for col in range(n_heads)
        ]
        x, y = zip(*middles, strict=True)
        plot.add_scatter(
            x=x,
            y=y,
            customdata=places,
            mode="markers",
            marker={"symbol": "square", "size": 0.9 * panel * min(1.0, n / m), "opacity": 0},
            text=[f"layer {layer + 1}, head {head + 1}" for layer, head in places],
            hovertemplate="%{text}<extra></extra>",
            showlegend=False,
        )
        if framed:
            (left, top), (right, bottom) = middles[framed[0]], middles[framed[-1]]
            ends = {"x0": left - m / 2, "x1": right + m / 2, "y0": top - n / 2, "y1": bottom + n / 2}
            plot.add_shape(type="rect", line={"color": colours.ink, "width": 2}, **ends)
    return plot


def _mosaic_axis(names: list[str], panels: int, side: int, gap: int) -> dict[str, Any]:
    """Return an axis with hidden tick labels, which the pointer shows: one name per row or column, not one string per cell."""
    cells = [panel * (side + gap) + i for panel in range(panels) for i in range(side)]
    return {
        "tickmode": "array",
        "tickvals": cells,
        "ticktext": names,
        "showticklabels": False,
        "showgrid": False,
        "ticks": "",
    }


def _tokens(trace: Trace, positions: Indices) -> Any:
    kinds, codes = np.unique(np.array(trace.tokens, dtype=object), return_inverse=True)
    return _categories(codes[positions], kinds.tolist())


def _categories(codes: npt.NDArray[np.integer[Any]], kinds: list[str]) -> Any:
    """Return strings as categories, so that a frame with half a million rows stays small."""
    return pd.Categorical.from_codes(codes, pd.Index(kinds))


def _blocks(maps: Floats, block: int) -> Floats:
    """Reduce maps (..., n, m) to blocks: sums over keys, means over queries."""
    n, m = maps.shape[-2:]
    rows, cols = np.arange(0, n, block), np.arange(0, m, block)
    heights = np.diff(np.append(rows, n))
    return np.asarray(np.add.reduceat(np.add.reduceat(maps, cols, axis=-1), rows, axis=-2) / heights[:, None])


@figure("overview", "The maps of all heads", Sentence, MAPS)
def _overview(of: Sentence, *, component: Components = "effective", selected: tuple[int, int | str] | None = None) -> Figure:
    return small_multiples(of.trace, component, selected=selected)
