"""One attention map, large, with its tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sentviz.errors import InputError
from sentviz.figures.chart import Axis, Chart, Rule, bars
from sentviz.figures.colours import Palette, Theme, blend, ink_on, palette
from sentviz.figures.figure import Figure, file_safe, new_plot, number, sentence
from sentviz.figures.maps import (
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
)
from sentviz.figures.text import as_run, as_text, text_columns, token_label
from sentviz.io.lazy import go, pd
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
    theme: Theme = "light",
) -> Figure:
    """Draw one map with its tokens on both sides: a row for each query, a column for each key, and the sum of each row at the right.

    Args:
        trace: with attention maps.
        layer, head, component: as in `Trace.map`, counted from 0.
        hide_specials: leave out special tokens such as [CLS] and [SEP].
        least: smallest value of the strongest colour, so that two maps can share one scale.
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
    tokens = [_label(trace, i, palette(theme)) for i in range(len(keys))]
    names = [token_label(token, i, 80) for i, token in enumerate(trace.tokens)]
    who = f"{head} over heads" if isinstance(head, str) else f"head {head + 1}"
    what = map_name(component)

    plot = _map(cells, sums, [tokens[queries[i]] for i in rows], [tokens[j] for j in cols], side, least, theme)
    plot.update_layout(title_text=f"{what[0].upper()}{what[1:]} · layer {layer + 1} · {who}")
    plot.data[0].customdata = [[f"query {names[queries[i]]} → key {names[j]}" for j in cols] for i in rows]
    plot.data[0].hovertemplate = f"%{{customdata}}: %{{z:.{digits(float(np.abs(cells).max())) + 1}f}}<extra></extra>"

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
            f"{hidden:.1%} of {'their absolute' if values.min() < 0 else 'their'} attention is on hidden keys."
            if partial
            else "",
            "Purple is negative: the value of the key is subtracted." if cells.min() < 0 else "",
            "° marks tokens that are not in the vocabulary." if trace.unknown[np.union1d(queries[rows], cols)].any() else "",
        ]
    )
    return Figure(
        file_safe("attention", trace.run, f"layer{layer + 1}", head_slug(head), component_slug(component)),
        plot,
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
    theme: Theme = "light",
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
    drawn = heatmap(trace, layer, head, component, side=side, theme=theme)
    drawn.plot.update_layout(title_text=f"{as_run(trace.run, 26)} − {as_run(first, 26)}")
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


def _map(cells: Floats, sums: Floats, row_labels: list[str], col_labels: list[str], side: int, least: float, theme: Theme) -> go.Figure:
    n, m = cells.shape
    colours = palette(theme)
    cell = int(np.clip(side / max(n, m), 13, 46))
    row = cell if 3 * n > m else max(cell, 26)
    size = 13 if cell > 24 else 12 if cell >= 15 else 10
    longest = [max(map(_drawn_columns, labels)) for labels in (row_labels, col_labels)]
    slanted = longest[1] * size * 0.62 > cell - 6
    angle = 0 if not slanted else -45 if cell >= 20 else -90
    below = int(longest[1] * size * {0: 0, -45: 0.44, -90: 0.6}[angle]) + size + 36
    left = max(int(longest[0] * size * 0.6) + 44, 64)
    strip = max(72 / cell, 1.8)  # in cells: 72 px or more
    width, height = int((m + strip) * cell), n * row
    top = 88
    plot = new_plot(
        theme,
        "",
        (max(left + width + 16, 320), top + height + below),
        (left, top, 16, below),
        go.Heatmap(z=cells, coloraxis="coloraxis", xgap=1, ygap=1),
        coloraxis=coloraxis(np.append(cells, least), colours, above=24 / height),
        title_pad_t=TITLE_PAD,
        showlegend=False,
        barmode="overlay",
        xaxis=_token_axis("key", col_labels, size)
        | {
            "range": [-0.5, m - 0.5 + strip],
            "tickangle": angle,
            "constrain": "domain",
            "constraintoward": "left",
        },
        yaxis=_token_axis("query", row_labels, size)
        | {"range": [n - 0.5, -0.5], "constrain": "domain", "constraintoward": "top"}
        | ({"scaleanchor": "x"} if row == cell else {}),
    )
    if max(n, m) <= 10:
        low, high = plot.layout.coloraxis.cmin, plot.layout.coloraxis.cmax
        stops = colours.signed if low < 0 else colours.sequential
        plot.add_scatter(
            x=np.tile(np.arange(m), n),
            y=np.repeat(np.arange(n), m),
            mode="text",
            text=[number(value, digits(high)) for value in cells.ravel().tolist()],
            textfont={"size": 11, "color": [ink_on(c) for c in blend(stops, (cells.ravel() - low) / (high - low))]},
            hoverinfo="skip",
        )
    _add_sums(plot, sums, m, strip, row, colours)
    return plot


def _add_sums(plot: go.Figure, sums: Floats, m: int, strip: float, pixels: int, colours: Palette) -> None:
    """Draw a bar for each row's sum, with its value, to the right of the map; `pixels` is the height of a row."""
    start, longest = m - 0.5 + 0.12 * strip, 0.34 * strip
    lengths = np.abs(sums) / max(np.abs(sums).max(), 1e-3) * longest
    plot.add_bar(
        orientation="h",
        y=np.arange(len(sums)),
        base=np.full(len(sums), start),
        x=lengths,
        width=min(0.5, 8 / pixels),
        marker={
            "color": np.where(sums < 0, colours.minus, colours.muted).tolist(),
            "opacity": 0.6,
            "line": {"width": 0},
        },
        customdata=sums,
        hovertemplate="row sum %{customdata:.3f}<extra></extra>",
    )
    plot.add_scatter(
        x=start + lengths,
        y=np.arange(len(sums)),
        mode="text",
        text=[f" {number(value)}" for value in sums.tolist()],
        textposition="middle right",
        textfont={"size": 11 if pixels > 14 else 9, "color": colours.muted},
        hoverinfo="skip",
        cliponaxis=False,
    )
    plot.add_annotation(x=start, y=-0.5, text="sum", xanchor="left", yanchor="bottom", font={"size": 11, "color": colours.muted})


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


def _label(trace: Trace, i: int, colours: Palette) -> str:
    text = as_text(trace.tokens[i], 16) + ("°" if trace.unknown[i] else "")
    return f'<span style="color:{colours.muted}">{text}</span>' if trace.specials[i] else text


def _drawn_columns(label: str) -> int:
    return min(text_columns(label.split(">", 1)[1].rsplit("<", 1)[0] if label.startswith("<span") else label), 17)


def _sums_in_words(trace: Trace, layer: int, component: int | str, sums: Floats) -> str:
    if np.ptp(sums) > 0.01:
        return f"Rows sum to {number(float(sums.min()))} to {number(float(sums.max()))}."
    lambdas = trace.lambdas[trace.layer_ids.index(layer)] if len(trace.lambdas) == len(trace.layer_ids) else trace.lambdas[layer]
    mean = float(sums.mean())
    if component == "effective" and len(lambdas) > 1 and abs(float(lambdas.sum()) - mean) < 0.01:
        return f"Every row sums to {number(mean)}, the sum of this layer's λ."
    return f"Every row sums to {number(mean)}."


def token_importance(tokens: Sequence[str], values: npt.ArrayLike, *, title: str, rest: float = 0.0) -> Figure:
    """Draw a bar for each token, and a line at the even share.

    Args:
        tokens: n tokens in text order.
        values: (n,) mean attention that each receives, which with `rest` sum to 1.
        rest: share of attention on tokens that are not drawn.
    Frame:
        position, token, importance.
    """
    heights = np.asarray(values, dtype=float)
    if not len(tokens) or heights.shape != (len(tokens),):
        raise InputError("Importance needs at least one token, and a value for each.")
    even = (1 - rest) / len(tokens)
    frame = pd.DataFrame({"position": np.arange(len(tokens)), "token": list(tokens), "importance": heights})
    drawn = bars(frame, "position", "importance", hover="{token}: {importance:.1%}")
    chart = Chart(title, [drawn], Axis(rows=frame["token"].to_dict()), Axis(form=".0%", zero=True), [Rule(y=even)])
    caption = sentence(
        [
            f"{title}: attention that each token receives, mean over the rows of the map. The dotted line is an even share, {even:.1%}.",
            f"{rest:.0%} of the attention is on padding." if rest else "",
        ]
    )
    return Figure("token-importance", chart, frame, caption)
