"""Attention maps: one large with its tokens, or all of them at a glance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
import plotly.graph_objects as go

from sentviz.errors import InputError
from sentviz.figures.figure import Figure, Palette, Theme, base_layout, blend, file_safe, ink_on, number, palette, sentence
from sentviz.figures.text import as_text, text_columns
from sentviz.trace import Trace

__all__ = ["component_name", "heatmap", "small_multiples"]

Floats = npt.NDArray[np.floating[Any]]
Indices = npt.NDArray[np.int64]

_READABLE = 60  # tokens a side
_BLOCKS = 64  # cells a side of one panel
_TITLE_PAD = 22  # Plotly lifts a title by 10 px over a horizontal colour bar
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def component_name(component: int | str) -> str:
    """``"effective"`` stays; component 0 is A₁."""
    return component if isinstance(component, str) else f"A{component + 1}".translate(_SUBSCRIPTS)


def heatmap(
    trace: Trace,
    layer: int,
    head: int | str = "mean",
    component: int | str = "effective",
    *,
    hide_specials: bool = False,
    top: int | None = None,
    theme: Theme = "light",
) -> Figure:
    """One map with its tokens on both sides: query rows from top to bottom, key columns, row sums at the right.

    Args:
        trace: with attention maps.
        layer, head, component: as in `Trace.map`, counted from 0.
        hide_specials: leave out [CLS], [SEP] and the like.
        top: show only so many keys and so many queries, those that receive most attention, in text order; above 60 tokens 48
            unless told otherwise. The caption states the share of attention that lies on hidden keys.
    Frame:
        layer, head, component, query, query_token, key, key_token, attention: the cells shown.
    Raises:
        KeyError: the trace does not hold that map.
        InputError: nothing is left to show.
    """
    if top is not None and top < 1:
        raise InputError("At least one token must be shown.")
    values = trace.map(layer, head, component).astype(float)
    queries, keys = np.array(trace.query_ids, dtype=np.int64), np.arange(len(trace.tokens), dtype=np.int64)
    rows, cols = _chosen(np.abs(values), queries, trace.specials, hide_specials, top)
    if not len(rows) or not len(cols):
        raise InputError("No token is left to show.")
    shown = values[np.ix_(rows, cols)]
    sums = values[rows].sum(axis=1)
    tokens = [_label(trace, i, palette(theme)) for i in keys]
    names = [f"“{as_text(token, 80)}” ({i + 1})" for i, token in enumerate(trace.tokens)]
    who = f"{head} over heads" if isinstance(head, str) else f"head {head + 1}"
    what = f"{'effective attention' if component == 'effective' else component_name(component)}"

    plot = _map(shown, sums, [tokens[queries[i]] for i in rows], [tokens[j] for j in cols], theme)
    plot.update_layout(title_text=f"{what[0].upper()}{what[1:]} · layer {layer + 1} · {who}")
    plot.data[0].customdata = [[f"query {names[queries[i]]} → key {names[j]}" for j in cols] for i in rows]
    plot.data[0].hovertemplate = "%{customdata}: %{z:.3f}<extra></extra>"

    frame = pd.DataFrame(
        {
            "layer": layer,
            "head": head,
            "component": component_name(component),
            "query": np.repeat(queries[rows], len(cols)),
            "query_token": np.repeat(np.array(trace.tokens, dtype=object)[queries[rows]], len(cols)),
            "key": np.tile(keys[cols], len(rows)),
            "key_token": np.tile(np.array(trace.tokens, dtype=object)[cols], len(rows)),
            "attention": shown.ravel(),
        }
    )
    mass = np.abs(values[rows])
    hidden = 1 - mass[:, cols].sum() / max(mass.sum(), np.finfo(float).tiny)
    partial = len(cols) < len(keys) or len(rows) < len(queries)
    caption = sentence(
        [
            f"Run {trace.run}: {what} of layer {layer + 1}, {who}; each row is a query and shows where it looks.",
            _sums_in_words(trace, layer, component, sums),
            f"{len(cols)} of {len(keys)} keys and {len(rows)} of {len(queries)} queries are shown; "
            f"{hidden:.1%} of {'their absolute' if values.min() < 0 else 'their'} attention lies on hidden keys."
            if partial
            else "",
            "Orange is negative: what the key holds is subtracted." if shown.min() < 0 else "",
            "° marks tokens that are not in the vocabulary." if trace.unknown[np.union1d(queries[rows], cols)].any() else "",
        ]
    )
    return Figure(file_safe("attention", trace.run, f"layer{layer + 1}", head_slug(head), component_slug(component)), plot, frame, caption)


def small_multiples(
    trace: Trace,
    component: int | str = "effective",
    layers: Sequence[int] | None = None,
    *,
    theme: Theme = "light",
) -> Figure:
    """All heads at a glance: layers downwards, heads across, one colour scale; hover names layer, head, tokens and value.

    Above 64 tokens a cell stands for a block: the attention its keys receive together from the mean of its queries,
    so that rows keep their sums.

    Args:
        trace: with attention maps.
        component: as in `Trace.map`.
        layers: which, counted from 0; all that the trace holds unless told.
    Frame:
        layer, head, component, query, query_token, key, key_token, attention; of a block the first token.
    Raises:
        KeyError: the trace does not hold those maps.
    """
    layers = trace.layer_ids if layers is None else tuple(layers)
    if not layers:
        raise InputError("At least one layer must be shown.")
    maps = np.stack([[trace.map(layer, head, component) for head in trace.head_ids] for layer in layers]).astype(float)
    queries = np.array(trace.query_ids, dtype=np.int64)
    block = max(1, -(-max(maps.shape[2:]) // _BLOCKS))
    if block > 1:
        maps = _blocks(maps, block)
    n_layers, n_heads, n, m = maps.shape
    row_gap, col_gap = (max(1, round(0.08 * side)) for side in (n, m))
    mosaic = np.full((n_layers * (n + row_gap) - row_gap, n_heads * (m + col_gap) - col_gap), np.nan)
    for row in range(n_layers):
        for col in range(n_heads):
            mosaic[row * (n + row_gap) :, col * (m + col_gap) :][:n, :m] = maps[row, col]

    names = [f"“{as_text(token)}” ({i + 1})" + (" …" if block > 1 else "") for i, token in enumerate(trace.tokens)]
    row_names = [f"layer {layer + 1}, query {names[i]}" for layer in layers for i in queries[::block]]
    col_names = [f"head {head + 1}, key {name}" for head in trace.head_ids for name in names[::block]]
    panel = int(np.clip(880 / n_heads, 64, 190))
    width, height = panel * n_heads, max(panel * n_layers * min(1.0, max(n / m, 0.25)), 40 * n_layers)
    colours = palette(theme)
    plot = go.Figure(
        go.Heatmap(z=mosaic, coloraxis="coloraxis", hoverongaps=False, hovertemplate="%{y}<br>%{x}<br>%{z:.3f}<extra></extra>"),
        layout=base_layout(
            theme,
            title=f"{'Effective attention' if component == 'effective' else component_name(component)} · all heads",
            width=width + 64,
            height=int(height) + 128,
            margin=(48, 112, 16, 16),
            coloraxis=_coloraxis(mosaic, colours, above=44 / height),
            title_pad_t=_TITLE_PAD,
            xaxis=_mosaic_axis(col_names, n_heads, m, col_gap) 
            | {"range": [-0.5, mosaic.shape[1] - 0.5], "constrain": "domain", "constraintoward": "left"},
            yaxis=_mosaic_axis(row_names, n_layers, n, row_gap)
            | {"range": [len(mosaic) - 0.5, -0.5], "constrain": "domain", "constraintoward": "top"}
            | ({"scaleanchor": "x"} if n == m else {}),
        ),
    )
    for col, head in enumerate(trace.head_ids):
        middle = col * (m + col_gap) + (m - 1) / 2
        plot.add_annotation(x=middle, y=-0.5, text=f"H{head + 1}", yanchor="bottom", yshift=2, font={"color": colours.muted})
    for row, layer in enumerate(layers):
        middle = row * (n + row_gap) + (n - 1) / 2
        plot.add_annotation(x=-0.5, y=middle, text=f"L{layer + 1}", xanchor="right", xshift=-8, font={"color": colours.muted})

    shape = (n_layers, n_heads, n, m)
    layer_of, head_of, query_of, key_of = (axis.ravel() for axis in np.indices(shape))
    frame = pd.DataFrame(
        {
            "layer": np.array(layers)[layer_of],
            "head": np.array(trace.head_ids)[head_of],
            "component": pd.Categorical.from_codes(np.zeros(maps.size, dtype=np.int8), [component_name(component)]),
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
            f"Run {trace.run}: {what} of every head (columns) in every layer (rows), one colour scale for all.",
            f"A cell is a block of {block} × {block} tokens: what its keys receive together, mean over its queries." if block > 1 else "",
            "Orange is negative." if maps.min() < 0 else "",
        ]
    )
    return Figure(file_safe("attention", trace.run, "all-heads", component_slug(component)), plot, frame, caption)


def head_slug(head: int | str) -> str:
    return head if isinstance(head, str) else f"head{head + 1}"


def component_slug(component: int | str) -> str:
    return component if isinstance(component, str) else f"a{component + 1}"


def _chosen(
    mass: Floats, queries: Indices, specials: npt.NDArray[np.bool_], hide_specials: bool, top: int | None
) -> tuple[Indices, Indices]:
    """Rows and columns of the map to show, in text order."""
    cols = np.flatnonzero(~specials) if hide_specials else np.arange(mass.shape[1])
    rows = np.flatnonzero(~specials[queries]) if hide_specials else np.arange(len(queries))
    limit = top if top is not None else 48 if max(len(rows), len(cols)) > _READABLE else None
    if limit is None:
        return rows, cols
    received = mass[rows].sum(axis=0)
    best_cols = cols[np.argsort(-received[cols], kind="stable")[:limit]]
    best_rows = rows[np.argsort(-received[queries[rows]], kind="stable")[:limit]]
    return np.sort(best_rows), np.sort(best_cols)


def _map(shown: Floats, sums: Floats, row_labels: list[str], col_labels: list[str], theme: Theme) -> go.Figure:
    n, m = shown.shape
    colours = palette(theme)
    cell = int(np.clip(640 / max(n, m), 13, 46))
    row = cell if 3 * n > m else max(cell, 26)
    size = 13 if cell > 24 else 12 if cell >= 15 else 10
    longest = [max(map(_drawn_columns, labels)) for labels in (row_labels, col_labels)]
    slanted = longest[1] * size * 0.62 > cell - 6
    below = (int(longest[1] * size * 0.6) if slanted else size) + 40
    left = max(int(longest[0] * size * 0.6) + 44, 64)
    strip = max(72 / cell, 1.8)  # in cells: 72 px or more
    width, height = int((m + strip) * cell), n * row
    top = 88
    plot = go.Figure(
        go.Heatmap(z=shown, coloraxis="coloraxis", xgap=1, ygap=1),
        layout=base_layout(
            theme,
            width=max(left + width + 16, 320),
            height=top + height + below,
            margin=(left, top, 16, below),
            coloraxis=_coloraxis(shown, colours, above=24 / height),
            title_pad_t=_TITLE_PAD,
            showlegend=False,
            barmode="overlay",
            xaxis=_token_axis("key", col_labels, size)
            | {
                "range": [-0.5, m - 0.5 + strip],
                "tickangle": (-45 if cell >= 20 else -90) if slanted else 0,
                "constrain": "domain",
                "constraintoward": "left",
            },
            yaxis=_token_axis("query", row_labels, size)
            | {"range": [n - 0.5, -0.5], "constrain": "domain", "constraintoward": "top"}
            | ({"scaleanchor": "x"} if row == cell else {}),
        ),
    )
    if max(n, m) <= 10:
        low, high = plot.layout.coloraxis.cmin, plot.layout.coloraxis.cmax
        stops = colours.diverging if low < 0 else colours.sequential
        plot.add_scatter(
            x=np.tile(np.arange(m), n),
            y=np.repeat(np.arange(n), m),
            mode="text",
            text=[number(value) for value in shown.ravel()],
            textfont={"size": 11, "color": [ink_on(c) for c in blend(stops, (shown.ravel() - low) / (high - low))]},
            hoverinfo="skip",
        )
    _add_sums(plot, sums, m, strip, row, colours)
    return plot


def _add_sums(plot: go.Figure, sums: Floats, m: int, strip: float, pixels: int, colours: Palette) -> None:
    """A strip of bars right of the map, one a row of so many pixels, with the row's sum beside it."""
    start, longest = m - 0.5 + 0.12 * strip, 0.34 * strip
    lengths = np.abs(sums) / max(np.abs(sums).max(), np.finfo(float).tiny) * longest
    plot.add_bar(
        orientation="h",
        y=np.arange(len(sums)),
        base=np.full(len(sums), start),
        x=lengths,
        width=min(0.5, 8 / pixels),
        marker={"color": np.where(sums < 0, colours.diverging[1], colours.muted).tolist(), "opacity": 0.6, "line": {"width": 0}},
        customdata=sums,
        hovertemplate="row sum %{customdata:.3f}<extra></extra>",
    )
    plot.add_scatter(
        x=start + lengths,
        y=np.arange(len(sums)),
        mode="text",
        text=[f" {number(value)}" for value in sums],
        textposition="middle right",
        textfont={"size": 11 if pixels > 14 else 9, "color": colours.muted},
        hoverinfo="skip",
        cliponaxis=False,
    )
    plot.add_annotation(
        x=start, y=-0.5, text="row sum", xanchor="left", yanchor="bottom", font={"size": 11, "color": colours.muted}
    )


def _coloraxis(values: Floats, colours: Palette, above: float) -> dict[str, Any]:
    finite = values[np.isfinite(values)]
    low, high = min(float(finite.min()), 0.0), max(float(finite.max()), 0.0)
    if low < 0:
        high = max(-low, high)
        low = -high
    high = high or 1.0
    stops = colours.diverging if low < 0 else colours.sequential
    return {
        "cmin": low,
        "cmax": high,
        "colorscale": [[i / (len(stops) - 1), stop] for i, stop in enumerate(stops)],
        "colorbar": {
            "orientation": "h",
            "len": 170,
            "lenmode": "pixels",
            "thickness": 8,
            "x": 0,
            "xanchor": "left",
            "xpad": 0,
            "y": 1 + above,
            "yanchor": "bottom",
            "ypad": 0,
            "outlinewidth": 0,
            "tickvals": [low, 0, high] if low < 0 else [low, high],
            "ticktext": [number(value) for value in ([low, 0, high] if low < 0 else [low, high])],
            "tickfont": {"size": 11, "color": colours.muted},
            "ticklabelposition": "outside",
        },
    }


def _token_axis(title: Literal["query", "key"], labels: list[str], size: int) -> dict[str, Any]:
    return {
        "title": {"text": title, "standoff": 8},
        "tickmode": "array",
        "tickvals": list(range(len(labels))),
        "ticktext": labels,  # numbers as positions: the same token twice stays two rows
        "tickfont": {"size": size},
        "showgrid": False,
        "automargin": False,
        "ticklabelstandoff": 3,
    }


def _mosaic_axis(names: list[str], panels: int, side: int, gap: int) -> dict[str, Any]:
    """Hidden tick labels, which hover shows: one name a cell instead of one string for every pair of cells."""
    cells = [panel * (side + gap) + i for panel in range(panels) for i in range(side)]
    return {"tickmode": "array", "tickvals": cells, "ticktext": names, "showticklabels": False, "showgrid": False, "ticks": ""}


def _label(trace: Trace, i: int, colours: Palette) -> str:
    text = as_text(trace.tokens[i], 16) + ("°" if trace.unknown[i] else "")
    return f'<span style="color:{colours.muted}">{text}</span>' if trace.specials[i] else text


def _drawn_columns(label: str) -> int:
    return min(text_columns(label.split(">", 1)[1].rsplit("<", 1)[0] if label.startswith("<span") else label), 17)


def _tokens(trace: Trace, positions: Indices) -> pd.Categorical:
    kinds, codes = np.unique(np.array(trace.tokens, dtype=object), return_inverse=True)
    return pd.Categorical.from_codes(codes[positions], kinds)


def _blocks(maps: Floats, block: int) -> Floats:
    """(..., n, m) in blocks: sums over keys, means over queries."""
    n, m = maps.shape[-2:]
    rows, cols = np.arange(0, n, block), np.arange(0, m, block)
    heights = np.diff(np.append(rows, n))
    return np.asarray(np.add.reduceat(np.add.reduceat(maps, cols, axis=-1), rows, axis=-2) / heights[:, None])


def _sums_in_words(trace: Trace, layer: int, component: int | str, sums: Floats) -> str:
    if np.ptp(sums) > 0.01:
        return f"Rows sum to {number(sums.min())} to {number(sums.max())}."
    lambdas = trace.lambdas[trace.layer_ids.index(layer)] if len(trace.lambdas) == len(trace.layer_ids) else trace.lambdas[layer]
    total = number(float(sums.mean()))
    if component == "effective" and len(lambdas) > 1 and abs(float(lambdas.sum()) - sums.mean()) < 0.01:
        return f"Every row sums to {total}, the sum of this layer's λ."
    return f"Every row sums to {total}."
