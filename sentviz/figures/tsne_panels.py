"""t-SNE pictures side by side, each with its silhouettes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pandas as pd
from plotly.subplots import make_subplots

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, class_colours, palette
from sentviz.figures.figure import Figure, base_layout, is_panel_title, number, sentence
from sentviz.figures.text import as_text, label_width

SYMBOLS = ("circle", "x", "triangle-up", "diamond", "cross")
SIGNS = "●✕▲◆✚"  # the same as letters
SHARED = ("silhouette", "low", "high", "drawn", "drawn_low", "drawn_high")  # of a panel, in all its rows
NARROW = 440  # pixels in which panels stand one below the other


def tsne_panels(frame: pd.DataFrame, *, missing: Sequence[str] = (), width: int = 0, theme: Theme = "light") -> Figure:
    """A panel per data set, two a row where there is room; classes by colour and symbol.

    Args:
        frame: panel, run, label, x, y, silhouette, low, high (in the original space), drawn, drawn_low, drawn_high (in the picture), seed.
        missing: names of the panels that cannot be drawn. width: of the picture, in pixels; as wide as its panels need unless given.
    Raises:
        InputError: no panel.
    """
    panels = list(frame["panel"].unique())
    if not panels:
        raise InputError("No run of an NDT configuration here carries its pooled vectors, so there is no picture of them.")
    colours, per_row = palette(theme), 1 if 0 < width < NARROW else min(len(panels), 2)
    room = (width or 480 * per_row + 40) / per_row - 40
    n_rows = -(-len(panels) // per_row)
    first = frame.drop_duplicates("panel").set_index("panel")
    titles = [
        f"{as_text(str(panel), 30)} · {as_text(str(one['run']), 34)}<br>silhouette {_three(one, 'silhouette', 'low', 'high')},"
        f" in the picture {_three(one, 'drawn', 'drawn_low', 'drawn_high')}"
        for panel, one in first.iterrows()
    ]
    plot = make_subplots(
        rows=n_rows,
        cols=per_row,
        horizontal_spacing=0.06,
        vertical_spacing=0.26 / n_rows,
        subplot_titles=titles,
    )
    legends = {}
    for i, panel in enumerate(panels):
        place, legend = {"row": i // per_row + 1, "col": i % per_row + 1}, "legend" + ("" if i == 0 else str(i + 1))
        here = frame[frame["panel"] == panel]
        names = sorted(map(str, here["label"].unique()))
        fills = dict(zip(names, class_colours(names, theme), strict=True))
        shown = [as_text(name, 14) for name in names]
        beside = sum(label_width(name, 12) + 44 for name in shown) <= room  # a legend fits into one line
        for k, (label, rows) in enumerate(sorted(here.groupby("label"))):
            plot.add_scattergl(
                x=rows["x"],
                y=rows["y"],
                mode="markers",
                name=as_text(str(label), 14),
                legend=legend,
                showlegend=beside,
                marker={
                    "size": 5,
                    "opacity": 0.75,
                    "color": fills[str(label)],
                    "symbol": SYMBOLS[k % len(SYMBOLS)],
                },
                hovertemplate=f"{as_text(str(label), 14)}<extra></extra>",
                **place,
            )
        if not beside:
            plot.add_annotation(
                text=_key(shown, list(fills.values()), room), align="left", xref="x domain", yref="y domain", x=0, y=0, yshift=-4,
                xanchor="left", yanchor="top", font={"size": 12}, **place,
            )  # fmt: skip
        across, up = (plot.get_subplot(place["row"], place["col"])[k].domain for k in (0, 1))
        legends[legend] = {
            "x": across[0], "y": up[0] - 0.008, "xanchor": "left", "yanchor": "top", "orientation": "h", "itemsizing": "constant",
            "bgcolor": "rgba(0,0,0,0)", "font": {"size": 12},
        }  # fmt: skip
    plot.update_layout(
        base_layout(
            theme,
            title="Pooled vectors of the best NDT of each data set, t-SNE",
            width=width or 480 * per_row + 40,
            height=370 * n_rows + 90,
            margin=(20, 84, 20, 44),
        ),
        **legends,
    )
    frameless = {"showgrid": False, "showticklabels": False, "showline": True, "mirror": True, "automargin": False}
    plot.update_xaxes(**frameless)
    plot.update_yaxes(**frameless)
    plot.update_annotations(selector=is_panel_title, font={"size": 12, "color": colours.muted})
    caption = sentence(
        [
            f"What the classifier reads, {', '.join(f'{panel} {n:,}' for panel, n in frame['panel'].value_counts(sort=False).items())} test"
            f" rows, t-SNE with perplexity 30 and seed {int(frame['seed'].iloc[0])}.",
            "t-SNE draws groups apart whatever their distance: the first silhouette is of the vectors, the second of the picture; brackets"
            " are 95% bootstrap intervals over rows.",
            f"No vectors here: {', '.join(missing)}." if missing else "",
        ]
    )
    printed = frame.groupby(["panel", "run"], sort=False).agg(rows=("x", "size"), **{n: (n, "first") for n in SHARED}).reset_index()
    again = partial(tsne_panels, frame, missing=missing, theme=theme)
    return Figure("tsne-panels", plot, frame.reset_index(drop=True), caption, at_width=again, printed=printed)


def _key(names: Sequence[str], colours: Sequence[str], room: float) -> str:
    """What symbols and colours mean, in lines that fit into so many pixels."""
    lines: list[list[str]] = [[]]
    for name in names:
        if label_width("  ".join([*lines[-1], f"● {name}"]), 12) > room and lines[-1]:
            lines.append([])
        lines[-1].append(f"● {name}")
    signs = (f"<span style='color:{colours[k]}'>{SIGNS[k % len(SIGNS)]}</span> {name}" for k, name in enumerate(names))
    return "<br>".join("&nbsp;&nbsp; ".join(next(signs) for _ in line) for line in lines)


def _three(one: pd.Series, *names: str) -> str:
    value, low, high = (number(float(one[name])) for name in names)
    return f"{value} [{low}, {high}]"
