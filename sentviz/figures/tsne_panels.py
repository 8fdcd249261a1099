"""t-SNE projections side by side, each with its silhouettes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, class_colours
from sentviz.figures.figure import Figure, lay_out, number, sentence
from sentviz.figures.panels import FRAMELESS, panel_grid
from sentviz.figures.text import as_text, label_width
from sentviz.io.lazy import pd

SYMBOLS = ("circle", "x", "triangle-up", "diamond", "cross")
SIGNS = "●✕▲◆✚"  # the same symbols as letters
SHARED = ("silhouette", "low", "high", "drawn", "drawn_low", "drawn_high")  # columns with the same value in all rows of a panel
NARROW = 440  # pixels; in narrower figures, panels are below each other


def tsne_panels(frame: pd.DataFrame, *, chosen: str = "", missing: Sequence[str] = (), width: int = 0, theme: Theme = "light") -> Figure:
    """Draw a panel per data set, two per row if there is room; classes differ in colour and symbol.

    Args:
        frame: panel, run, label, x, y, silhouette, low, high (in the original space), drawn, drawn_low, drawn_high (in the picture), seed.
        chosen: how the NDT was chosen, for the caption.
        missing: names of the panels that cannot be drawn. width: pixels of the figure; 0 for the width that the panels need.
    """
    panels = list(frame["panel"].unique())
    if not panels:
        raise InputError("No installed run of an NDT configuration has stored pooled vectors, so there is nothing to project.")
    per_row = 1 if 0 < width < NARROW else min(len(panels), 2)
    room = (width or 480 * per_row + 40) / per_row - 40
    first = frame.drop_duplicates("panel").set_index("panel")
    titles = [
        f"{as_text(str(panel), 30)} · {as_text(str(row['run']), 34)}<br>silhouette {_three(row, 'silhouette', 'low', 'high')},"
        f" in the picture {_three(row, 'drawn', 'drawn_low', 'drawn_high')}"
        for panel, row in first.iterrows()
    ]
    plot, places = panel_grid(titles, per_row, theme, apart=0.06, below=0.26, size=12)
    legends = {}
    for i, (panel, place) in enumerate(zip(panels, places, strict=True)):
        legend = "legend" + ("" if i == 0 else str(i + 1))
        points = frame[frame["panel"] == panel]
        names = sorted(map(str, points["label"].unique()))
        fills = dict(zip(names, class_colours(names, theme), strict=True))
        labels = [as_text(name, 14) for name in names]
        beside = sum(label_width(name, 12) + 44 for name in labels) <= room  # a legend fits into one line
        for k, (label, rows) in enumerate(sorted(points.groupby("label"))):
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
                text=_key(labels, list(fills.values()), room), align="left", xref="x domain", yref="y domain", x=0, y=0, yshift=-4,
                xanchor="left", yanchor="top", font={"size": 12}, **place,
            )  # fmt: skip
        across, up = (plot.get_subplot(place["row"], place["col"])[k].domain for k in (0, 1))
        legends[legend] = {
            "x": across[0], "y": up[0] - 0.008, "xanchor": "left", "yanchor": "top", "orientation": "h", "itemsizing": "constant",
            "bgcolor": "rgba(0,0,0,0)", "font": {"size": 12},
        }  # fmt: skip
    lay_out(
        plot,
        theme,
        "Pooled vectors of the best NDT of each data set, t-SNE",
        (width or 480 * per_row + 40, 370 * places[-1]["row"] + 90),
        (20, 84, 20, 44),
        **legends,
    )
    plot.update_xaxes(**FRAMELESS)
    plot.update_yaxes(**FRAMELESS)
    caption = sentence(
        [
            "The vectors that the classifier reads:"
            f" {', '.join(f'{panel} {n:,}' for panel, n in frame['panel'].value_counts(sort=False).items())} test rows, t-SNE with"
            f" perplexity 30 and seed {int(frame['seed'].iloc[0])}.",
            "t-SNE separates groups even if they are close. The first silhouette is measured in the vectors, the second in the picture;"
            " brackets are 95% bootstrap intervals over rows.",
            chosen,
            f"No vectors are stored for: {', '.join(missing)}." if missing else "",
        ]
    )
    printed = frame.groupby(["panel", "run"], sort=False).agg(rows=("x", "size"), **{n: (n, "first") for n in SHARED}).reset_index()
    again = partial(tsne_panels, frame, chosen=chosen, missing=missing, theme=theme)
    return Figure("tsne-panels", plot, frame.reset_index(drop=True), caption, at_width=again, printed=printed)


def _key(names: Sequence[str], colours: Sequence[str], room: float) -> str:
    """Return the legend of symbols and colours, in lines of at most `room` pixels."""
    lines: list[list[str]] = [[]]
    for name in names:
        if label_width("  ".join([*lines[-1], f"● {name}"]), 12) > room and lines[-1]:
            lines.append([])
        lines[-1].append(f"● {name}")
    signs = (f"<span style='color:{colours[k]}'>{SIGNS[k % len(SIGNS)]}</span> {name}" for k, name in enumerate(names))
    return "<br>".join("&nbsp;&nbsp; ".join(next(signs) for _ in line) for line in lines)


def _three(row: pd.Series, *names: str) -> str:
    value, low, high = (number(float(row[name])) for name in names)
    return f"{value} [{low}, {high}]"
