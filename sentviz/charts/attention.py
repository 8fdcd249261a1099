"""One attention map, large, with its tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sentviz.analysis.maps.compare import map_difference
from sentviz.charts.chart import Drawing
from sentviz.charts.colours import blend, ink_on
from sentviz.charts.figure import Figure, file_safe, new_plot, sentence
from sentviz.charts.look import PATTERNS, Look
from sentviz.charts.maps import (
    TITLE_PAD,
    Floats,
    Indices,
    cells_frame,
    coloraxis,
    component_name,
    component_slug,
    digits,
    head_name,
    head_slug,
    map_name,
    title_lines,
)
from sentviz.charts.options import Components, Heads, Layer
from sentviz.charts.registry import figure
from sentviz.charts.requirements import MAPS
from sentviz.charts.subjects import Sentence, sourced
from sentviz.charts.text import as_run, as_text, label_width, text_columns, token_label
from sentviz.errors import InputError
from sentviz.io.lazy import go, pd
from sentviz.io.numbers import number, percent
from sentviz.runs.store import find
from sentviz.runs.trace import Trace

_READABLE = 60  # tokens a side


def heatmap(
    trace: Trace,
    layer: int,
    head: int | str = "mean",
    component: int | str = "effective",
    *,
    hide_specials: bool = False,
    top: int | None = None,
    side: int = 640,
    least: float = 0.0,
    title: str = "",
) -> Figure:
    """Draw one map with its tokens on both sides: a row for each query, a column for each key, and the sum of each row at the right.

    Args:
        trace: with attention maps.
        layer, head, component: as in `Trace.map`, counted from 0.
        hide_specials: leave out special tokens such as [CLS] and [SEP].
        least: smallest value of the strongest colour, so that two maps can share one scale.
        title: a Plotly label; by default it names the map.
        top: number of keys and queries to draw, those with the most attention, in text order. By default 48 of more than 60 tokens,
            otherwise all. The caption states the share of attention on hidden keys.
    Frame:
        layer, head, component, query, query_token, key, key_token, attention: the cells shown.
    Raises:
        MissingMapError: the trace does not have that map.
    """
    if top is not None and top < 1:
        raise InputError("At least one token must be shown.")
    values = trace.map(layer, head, component).astype(float)
    queries, keys = np.array(trace.query_ids, dtype=np.int64), np.arange(len(trace.tokens), dtype=np.int64)
    rows, cols = _chosen(np.abs(values), queries, trace.specials, hide_specials, top)
    if not len(rows) or not len(cols):
        raise InputError("No token is left to show.")
    cells = values[np.ix_(rows, cols)]
    sums = values[rows].sum(axis=1)
    names = [token_label(token, i, 80) for i, token in enumerate(trace.tokens)]
    labels = [as_text(token, 16) + "°" * bool(trace.unknown[i]) for i, token in enumerate(trace.tokens)]
    who = f"{head} over heads" if isinstance(head, str) else f"head {head + 1}"
    what = map_name(component)
    data = {
        "title": title or f"{what[0].upper()}{what[1:]} · layer {layer + 1} · {who}",
        "cells": cells,
        "sums": sums,
        "tokens": [[(labels[i], bool(trace.specials[i])) for i in places] for places in (queries[rows], cols)],
        "hovers": [[f"query {names[i]} → key {names[j]}" for j in cols] for i in queries[rows]],
        "side": side,
        "least": least,
    }
    which = {"layer": layer, "head": head, "component": component_name(component)}
    frame = cells_frame(trace.tokens, queries[rows], keys[cols], cells, **which)
    mass = np.abs(values[rows])
    hidden = 1 - mass[:, cols].sum() / max(mass.sum(), np.finfo(float).tiny)
    partial = len(cols) < len(keys) or len(rows) < len(queries)
    caption = sentence(
        [
            f"Run {trace.run}: {what} of layer {layer + 1}, {who}. Each row is a token; its cells show which tokens it reads.",
            _sums_in_words(trace, layer, component, sums),
            f"{len(cols)} of {len(keys)} keys and {len(rows)} of {len(queries)} queries are shown; "
            f"{percent(hidden)} of {'their absolute' if values.min() < 0 else 'their'} attention is on hidden keys."
            if partial
            else "",
            "Purple is negative: the value of the key is subtracted." if cells.min() < 0 else "",
            "° marks tokens that are not in the vocabulary." if trace.unknown[np.union1d(queries[rows], cols)].any() else "",
        ]
    )
    return Figure(
        file_safe("attention", trace.run, f"layer{layer + 1}", head_slug(head), component_slug(component)),
        Drawing(_draw_map, data),
        frame,
        caption,
        printed=matrix(frame, "attention"),
    )


def difference_map(
    trace: Trace,
    first: str,
    layer: int,
    head: int | str = "mean",
    component: int | str = "effective",
    *,
    pieces: str = "tokens",
    side: int = 460,
) -> Figure:
    """Draw the difference of two maps: green if the second model attends more, purple if the first does.

    Args:
        trace: trace of the second run whose map is second minus first, from `sentviz.analysis.maps.compare.map_difference`.
        first: name of the first run.
        layer, head, component: which map, counted from 0.
        pieces: unit of rows and columns: "tokens" or "words".
    Frame:
        That of `heatmap`; attention is the difference.
    """
    drawn = heatmap(trace, layer, head, component, side=side, title=f"{as_run(trace.run, 26)} − {as_run(first, 26)}")
    count = drawn.frame["key"].nunique()
    caption = sentence(
        [
            f"{trace.run} minus {first}: {map_name(component)} of layer {layer + 1}, {head_name(head)},"
            f" over the {len(trace.tokens)} {pieces} that both read.",
            f"Green: {trace.run} attends more; purple: {first} does. Each row is a token; its cells show which tokens it reads.",
            f"The {count} keys with the largest differences are shown." if count < len(trace.tokens) else "",
            "° marks tokens that are missing in one of the vocabularies." if trace.unknown.any() else "",
        ]
    )
    name = file_safe("difference", trace.run, first, f"layer{layer + 1}", head_slug(head), component_slug(component))
    return replace(drawn, name=name, caption=caption)


def matrix(frame: pd.DataFrame, value: str) -> pd.DataFrame:
    """Return a map as a table for print: a row for each query and a column for each key, each with its position counted from 1."""
    keys = frame.drop_duplicates("key")
    table = frame.pivot(index="query", columns="key", values=value)
    queries = frame.drop_duplicates("query").set_index("query")["query_token"]
    named = table.set_axis([f"{token} ({place + 1})" for place, token in zip(keys["key"], keys["key_token"], strict=True)], axis=1)
    return named.set_axis([f"{queries[place]} ({place + 1})" for place in table.index]).rename_axis("token").reset_index()


def _chosen(
    mass: Floats, queries: Indices, specials: npt.NDArray[np.bool_], hide_specials: bool, top: int | None
) -> tuple[Indices, Indices]:
    """Return the rows and columns of the map to draw, in text order."""
    cols = np.flatnonzero(~specials) if hide_specials else np.arange(mass.shape[1])
    rows = np.flatnonzero(~specials[queries]) if hide_specials else np.arange(len(queries))
    limit = top if top is not None else 48 if max(len(rows), len(cols)) > _READABLE else None
    if limit is None:
        return rows, cols
    received = mass[rows].sum(axis=0)
    best_cols = cols[np.argsort(-received[cols], kind="stable")[:limit]]
    best_rows = rows[np.argsort(-received[queries[rows]], kind="stable")[:limit]]
    return np.sort(best_rows), np.sort(best_cols)


def _draw_map(
    look: Look,
    title: str,
    cells: Floats,
    sums: Floats,
    tokens: Sequence[Sequence[tuple[str, bool]]],
    hovers: Sequence[Sequence[str]],
    side: int,
    least: float,
) -> go.Figure:
    """Draw cells (n, m) with their sums (n,); `tokens` are the labels of rows and columns, True for special ones, `side` is in pixels."""
    (n, m), colours = cells.shape, look.colours
    longest = [max(min(text_columns(label), 17) for label, _ in side) for side in tokens]
    left = max(int(longest[0] * 7.8) + 44, 64)
    room = (look.room - left - 88) / m if look.room else 46
    cell = float(np.clip(room, 1, 46)) if look.room else int(np.clip(side / max(n, m), 13, 46))
    row = cell if 3 * n > m else max(cell, 26)
    size = 13 if cell > 24 else 12
    angle = 0 if longest[1] * size * 0.62 <= cell - 6 else -45 if cell >= 20 else -90
    below = int(longest[1] * size * {0: 0, -45: 0.42, -90: 0.56}[angle]) + size + 24
    strip = max(72 / cell, 1.8)  # in cells: 72 px or more
    wide, height = look.room or max(left + int((m + strip) * cell) + 16, 320), round(n * row)
    title, more = title_lines(title, look)
    top, every = 88 + more, ceil((size + 1) / row)
    labels = [[f'<span style="color:{colours.muted}">{text}</span>' if special else text for text, special in side] for side in tokens]
    axis: dict[str, Any] = {"tickfont": {"size": size}, "showgrid": False, "automargin": False, "ticklabelstandoff": 3}
    axis["constrain"] = "domain"
    across = axis | _names("key", labels[1], ceil((size + 1) / cell)) | {"tickangle": angle, "constraintoward": "left"}
    down = axis | _names("query", labels[0], every) | {"range": [n - 0.5, -0.5], "constraintoward": "top"}
    scale = coloraxis(np.append(cells, least), colours, above=24 / height)
    low, high = scale["cmin"], scale["cmax"]
    shades: dict[str, Any] = {
        "type": "heatmap",
        "z": cells,
        "coloraxis": "coloraxis",
        "xgap": min(1, cell // 8),
        "ygap": min(1, cell // 8),
        "customdata": hovers,
        "hovertemplate": f"%{{customdata}}: %{{z:.{digits(float(np.abs(cells).max())) + 1}f}}<extra></extra>",
    }
    start = m - 0.5 + 0.12 * strip
    lengths = np.abs(sums) / max(np.abs(sums).max(), 1e-3) * 0.34 * strip
    marker: dict[str, Any] = {"color": np.where(sums < 0, colours.minus, colours.muted).tolist(), "opacity": 0.6, "line": {"width": 0}}
    if look.is_grey:
        marker["pattern"] = {"shape": np.where(sums < 0, PATTERNS[1], PATTERNS[0]).tolist()}
    bars: dict[str, Any] = {
        "type": "bar",
        "orientation": "h",
        "y": np.arange(n),
        "base": [start] * n,
        "x": lengths,
        "width": min(0.5, 8 / row),
        "marker": marker,
        "customdata": sums,
        "hovertemplate": "row sum %{customdata:.3f}<extra></extra>",
    }
    written = {"type": "scatter", "mode": "text", "hoverinfo": "skip"}
    beside: dict[str, Any] = {
        "x": start + lengths,
        "y": np.arange(n),
        "text": [f" {number(value)}" if i % every == 0 else "" for i, value in enumerate(sums.tolist())],
        "textposition": "middle right",
        "textfont": {"size": 11, "color": colours.muted},
        "cliponaxis": False,
    }
    texts = [number(value, digits(high)) for value in cells.ravel().tolist()]
    inside: list[dict[str, Any]] = []
    if max(n, m) <= 10 and max(label_width(text, 11) for text in texts) <= cell:
        fills = blend(colours.signed if low < 0 else colours.sequential, (cells.ravel() - low) / (high - low))
        at = {"x": np.tile(np.arange(m), n), "y": np.repeat(np.arange(n), m)}
        inside = [written | at | {"text": texts, "textfont": {"size": 11, "color": [ink_on(fill) for fill in fills]}}]
    over = {"x": start, "y": -0.5, "text": "sum", "xanchor": "left", "yanchor": "bottom", "font": {"size": 11, "color": colours.muted}}
    return new_plot(
        look,
        title,
        (wide, top + height + below),
        (left, top, 16, below),
        *(shades, *inside, bars, written | beside),
        coloraxis=scale,
        title_pad_t=TITLE_PAD + 10 * ("<br>" in title),
        showlegend=False,
        barmode="overlay",
        xaxis=across | {"range": [-0.5, m - 0.5 + strip]},
        yaxis=down | ({"scaleanchor": "x"} if row == cell else {}),
        annotations=[over],
    )


def _names(title: Literal["query", "key"], labels: Sequence[str], every: int) -> dict[str, Any]:
    """Return the title of an axis and every how many-th label, at numbers: the same token twice stays two rows."""
    ticks = list(range(0, len(labels), every))
    return {"title": {"text": title, "standoff": 8}, "tickvals": ticks, "ticktext": [labels[i] for i in ticks]}


def _sums_in_words(trace: Trace, layer: int, component: int | str, sums: Floats) -> str:
    if np.ptp(sums) > 0.01:
        return f"Rows sum to {number(float(sums.min()))} to {number(float(sums.max()))}."
    lambdas = trace.lambdas[trace.layer_ids.index(layer)] if len(trace.lambdas) == len(trace.layer_ids) else trace.lambdas[layer]
    mean = float(sums.mean())
    if component == "effective" and len(lambdas) > 1 and abs(float(lambdas.sum()) - mean) < 0.01:
        return f"Every row sums to {number(mean)}, the sum of this layer's λ."
    return f"Every row sums to {number(mean)}."


@figure("attention", "One attention map", Sentence, MAPS)
def _attention(
    of: Sentence,
    *,
    layer: Layer = 0,
    head: Heads = "mean",
    component: Components = "effective",
    hide_specials: bool = False,
    top: int | None = None,
    side: int = 640,
    least: float = 0.0,
) -> Figure:
    return heatmap(of.trace, layer, head, component, hide_specials=hide_specials, top=top, side=side, least=least)


@figure("difference", "The difference of the maps of two models", Sentence, MAPS)
def _difference(
    of: Sentence,
    *,
    versus: str = "",
    layer: Layer = 0,
    head: Heads = "mean",
    component: Components = "effective",
    side: int = 460,
) -> Figure:
    if not versus:
        raise InputError("The figure difference compares two models: name the second run with versus.")
    second = of.once(("versus", versus), lambda: Sentence(find(versus), *of.texts))
    if why := MAPS.lacks(second.run):
        raise InputError(why)
    changed = map_difference(of.trace, second.trace, layer, head, component)
    drawn = difference_map(changed.trace, of.run.name, layer, head, component, pieces=changed.kind, side=side)
    return sourced(drawn, of.run, second.run, trace=of.trace)
