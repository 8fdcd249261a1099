"""t-SNE projections side by side, each with its silhouettes."""

from __future__ import annotations

from collections.abc import Sequence

from sentviz.charts.chart import Drawing
from sentviz.charts.colours import class_colours
from sentviz.charts.figure import Figure, lay_out, sentence
from sentviz.charts.look import Look
from sentviz.charts.panels import FRAMELESS, panel_grid
from sentviz.charts.text import as_text, label_width
from sentviz.errors import InputError
from sentviz.io.lazy import go, pd
from sentviz.io.numbers import number

SYMBOLS = ("circle", "x", "triangle-up", "diamond", "cross")
SIGNS = "●✕▲◆✚"  # the same symbols as letters
SHARED = ("silhouette", "low", "high", "printed", "drawn", "drawn_low", "drawn_high")  # columns with the same value in all rows of a panel
NARROW = 440  # pixels; in narrower figures, panels are below each other


def tsne_panels(frame: pd.DataFrame, *, chosen: str = "", missing: Sequence[str] = (), again: Sequence[str] = ()) -> Figure:
    """Draw a panel per data set, two per row if there is room; classes differ in colour and symbol.

    Args:
        frame: panel, run, label, x, y, silhouette, low, high (in the original space), printed (the paper's, NaN if unknown), drawn,
            drawn_low, drawn_high (in the picture), seed.
        chosen: how the NDT was chosen, for the caption.
        missing: names of the panels that cannot be drawn.
        again: names of the panels of a run that was trained again, because the study's own has no vectors.
    """
    panels = list(frame["panel"].unique())
    if not panels:
        raise InputError("No installed run of an NDT configuration has stored pooled vectors, so there is nothing to project.")
    caption = sentence(
        [
            "The vectors that the classifier reads:"
            f" {', '.join(f'{panel} {n:,}' for panel, n in frame['panel'].value_counts(sort=False).items())} test rows, t-SNE with"
            f" perplexity 30 and seed {int(frame['seed'].iloc[0])}.",
            "t-SNE separates groups even if they are close. The first silhouette is measured in the vectors, the second in the picture;"
            " brackets are 95 % bootstrap intervals over rows.",
            "“Paper” is the silhouette that the paper reports for this configuration; it names neither its rows nor its distance."
            if frame["printed"].notna().any()
            else "",
            chosen,
            f"The study's own runs store no vectors for {', '.join(again)}: these panels are of the same training, made again."
            if again
            else "",
            f"No vectors are stored for: {', '.join(missing)}." if missing else "",
        ]
    )
    printed = frame.groupby(["panel", "run"], sort=False).agg(rows=("x", "size"), **{n: (n, "first") for n in SHARED}).reset_index()
    frame = frame.reset_index(drop=True)
    return Figure("tsne-panels", Drawing(_draw, {"frame": frame}), frame, caption, printed=printed)


def _draw(look: Look, frame: pd.DataFrame) -> go.Figure:
    """Draw the panels, two side by side if there is room, each with its legend."""
    panels, width = list(frame["panel"].unique()), look.room
    per_row = 1 if 0 < width < NARROW else min(len(panels), 2)
    width = width or 480 * per_row + 40
    room = width / per_row - 40
    first = frame.drop_duplicates("panel").set_index("panel")
    titles = [
        f"{as_text(str(panel), 30)} · {as_text(str(row['run']), 34)}<br>silhouette {_three(row, 'silhouette', 'low', 'high')},<br>"
        f"in the picture {_three(row, 'drawn', 'drawn_low', 'drawn_high')}{_printed(row)}"
        for panel, row in first.iterrows()
    ]
    plot, places = panel_grid(titles, per_row, look, apart=0.06, below=0.3, size=12)
    for panel, place in zip(panels, places, strict=True):
        points = frame[frame["panel"] == panel]
        names = sorted(map(str, points["label"].unique()))
        fills = class_colours(names, look.colours)
        labels = [as_text(name, 14) for name in names]
        for k, (label, fill) in enumerate(zip(names, fills, strict=True)):
            rows, symbol = points[points["label"].astype(str) == label], SYMBOLS[k % len(SYMBOLS)]
            marker = {"size": 5, "opacity": 0.75, "color": fill, "symbol": symbol}
            hover = f"{labels[k]}<extra></extra>"
            plot.add_scattergl(x=rows["x"], y=rows["y"], mode="markers", name=labels[k], marker=marker, hovertemplate=hover, **place)
        below = {"xref": "x domain", "x": 0, "xanchor": "left", "yref": "y domain", "y": 0, "yanchor": "top", "yshift": -4}
        plot.add_annotation(text=_key(labels, fills, room), align="left", font={"size": 12}, **below, **place)
    title = "Pooled vectors of the best NDT of each data set, t-SNE"
    lay_out(plot, look, title, (width, 370 * places[-1]["row"] + 106), (20, 100, 20, 44), showlegend=False)
    plot.update_xaxes(**FRAMELESS)
    plot.update_yaxes(**FRAMELESS)
    return plot


def _key(names: Sequence[str], colours: Sequence[str], room: float) -> str:
    """Return the legend of symbols and colours, in lines of at most `room` pixels."""
    lines: list[list[str]] = [[]]
    for name in names:
        if label_width("  ".join([*lines[-1], f"● {name}"]), 12) > room and lines[-1]:
            lines.append([])
        lines[-1].append(f"● {name}")
    signs = (f"<span style='color:{colours[k]}'>{SIGNS[k % len(SIGNS)]}</span> {name}" for k, name in enumerate(names))
    return "<br>".join("&nbsp;&nbsp; ".join(next(signs) for _ in line) for line in lines)


def _printed(row: pd.Series) -> str:
    """Return the paper's silhouette as the end of a title; "" if it is unknown."""
    return "" if pd.isna(row["printed"]) else f"; paper {number(float(row['printed']))}"


def _three(row: pd.Series, *names: str) -> str:
    value, low, high = (number(float(row[name])) for name in names)
    return f"{value} [{low}, {high}]"
