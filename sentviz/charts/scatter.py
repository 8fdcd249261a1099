"""Rows as points: embeddings in two or three dimensions, and the silhouettes that show how far the picture can be trusted."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sentviz.charts.chart import Axis, Chart, Drawing, Rule, points
from sentviz.charts.colours import SCALES, Palette, class_colours, colour_scale, halo, palette, scaled
from sentviz.charts.figure import Figure, file_safe, new_plot, sentence
from sentviz.charts.look import Look
from sentviz.charts.text import as_text, label_width
from sentviz.errors import InputError
from sentviz.io.lazy import go, pd
from sentviz.io.numbers import percent

COLOURS = {
    "label": "label",
    "predicted": "prediction",
    "right": "right or wrong",
    "confidence": "confidence",
    "length": "length in words",
}
SYMBOLS = ("circle", "diamond", "square", "cross", "x")  # symbols that Plotly also has in three dimensions
NARROW = 560  # pixels; in narrower pictures the legend stands below
ENTRY, BAR = 20, 58  # pixels of a line of the legend, and of a scale below
WEBGL = 2_000  # points from which the screen draws with WebGL
HOVER = 5_000  # points up to which the pointer shows the row
FADED = 0.12
_YAW, _PITCH = -0.6, 0.42  # radians, the first view of three dimensions, as in the moving picture
VIEW = {
    "eye": {
        "x": -2.4 * math.sin(_YAW) * math.cos(_PITCH),
        "y": -2.4 * math.cos(_YAW) * math.cos(_PITCH),
        "z": 2.4 * math.sin(_PITCH),
    },
    "projection": {"type": "orthographic"},
}

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


def scatter(
    frame: pd.DataFrame,
    *,
    classes: Sequence[str],
    colour: str = "label",
    title: str = "",
    axes: Sequence[str] = ("", "", ""),
    chosen: npt.ArrayLike | None = None,
    outline: npt.ArrayLike | None = None,
    star: Sequence[float] | None = None,
    star_name: str = "your sentence",
    about: str = "",
    webgl: bool | None = None,
) -> Figure:
    """Draw one point per row. Categories differ in colour and symbol; wrong predictions have an outline.

    Args:
        frame: id, x, y and, in three dimensions, z; label and predicted (class, -1 = unlabelled); right, confidence; length (words)
            if it is the colour; text if the pointer may show it.
        colour: one of `COLOURS`.
        axes: names of the axes; an empty name means no ticks, for coordinates without a unit.
        chosen: (n,) bool; the other rows fade.
        outline: (v, 2) corners of a lasso, drawn in two dimensions.
        star: position of another text, drawn as a star with its name.
        about: sentence for the caption: method, layer, parameters, seed.
        webgl: draw with WebGL; by default for more than 2,000 points. Exports as SVG and PDF are vectors in any case; three
            dimensions are drawn by WebGL and embedded as an image.
    Frame:
        id, x, y (, z), the colour field and right; chosen if rows are chosen.
    """
    parts = groups(frame, colour, classes, palette("light"))
    n, dims = len(frame), [name for name in "xyz" if name in frame]
    picked = np.ones(n, dtype=bool) if chosen is None else np.asarray(chosen, dtype=bool)
    drawing = {"frame": frame, "classes": list(classes), "colour": colour, "title": title, "axes": list(axes), "picked": picked}
    drawing |= {"outline": outline, "star": star, "star_name": star_name, "webgl": n > WEBGL if webgl is None else webgl}
    caption = said_of(frame, colour, chosen=chosen, star_name="" if star is None else star_name, about=about)
    table = frame[["id", *dims, *dict.fromkeys((colour, "right"))]].reset_index(drop=True)
    if chosen is not None:
        table = table.assign(chosen=picked)
    parted = pd.concat([frame.loc[rows].assign(points=name) for name, rows, *_ in parts])
    printed = parted.groupby("points", sort=False).agg(rows=("id", "size"), right=("right", "sum")).reset_index()
    return Figure(file_safe("embeddings", title, colour), Drawing(_draw, drawing), table, caption, printed=printed)


def _draw(
    look: Look,
    frame: pd.DataFrame,
    classes: Sequence[str],
    colour: str,
    title: str,
    axes: Sequence[str],
    picked: Bools,
    outline: npt.ArrayLike | None,
    star: Sequence[float] | None,
    star_name: str,
    webgl: bool,
) -> go.Figure:
    """Draw the points; the legend stands at the right, in a narrow picture below."""
    parts, colours = groups(frame, colour, classes, look.colours), look.colours
    flat, dims, is_scale = "z" not in frame, [name for name in "xyz" if name in frame], colour in SCALES
    kind = "scatter3d" if not flat else "scattergl" if webgl else "scatter"
    wrong = (frame["label"] >= 0).to_numpy() & ~frame["right"].to_numpy(bool)
    width, left = look.room or 820, 44 if axes[0] else 16
    narrow = width < NARROW
    names = [_entry(name, int((rows & picked).sum())) for name, rows, *_ in parts]
    per_line = max(1, int((width - left - 16) // (max(label_width(name, 12) for name in names) + 44)))
    lines = -(-(len(names) + 1 + (star is not None)) // per_line)
    below = 44 + ENTRY * lines + BAR * is_scale if narrow else 44
    right = 16 if narrow else 172
    ranges = _ranges(frame[dims].to_numpy(float), star)
    room, wide, high = width - left - right, *(np.ptp(ends) for ends in ranges[:2])
    inner = min(room, 512) if not flat else min(max(room * high / wide, 0.4 * min(room, 512)), 512)
    plot = new_plot(look, title, (width, round(inner) + 44 + below), (left, 44, right, below))
    draw = _Draw(plot, kind, frame, dims, _hover(frame, classes), point_size(len(frame), len(dims)), colours)
    if is_scale:
        place: dict[str, Any] = {"len": 0.5, "y": 0, "yanchor": "bottom", "x": 1.02}
        if narrow:
            place |= {"orientation": "h", "x": 0, "xanchor": "left", "yref": "container", "title_side": "right"}
        draw.scale(colour, parts, picked, place)
    else:
        draw.groups(parts, picked)
    if bool((frame["label"] >= 0).any()) and colour != "right":
        draw.outlines(wrong & picked, int(wrong.sum()))
    if star is not None:
        draw.star(star, star_name)
    _axes(plot, ranges, axes, flat)
    if flat and outline is not None:
        corners = np.asarray(outline, dtype=float)
        path = "M" + "L".join(f"{x},{y}" for x, y in corners) + "Z"
        plot.add_shape(type="path", path=path, line={"color": colours.ink, "width": 1.5, "dash": "dot"})
    legend: dict[str, Any] = {"x": 1, "xanchor": "left", "y": 1, "yanchor": "top"}
    if narrow:
        legend = {"orientation": "h", "x": 0, "y": (BAR * is_scale + 4) / plot.layout.height, "yref": "container", "yanchor": "bottom"}
    plot.update_layout(legend=legend | {"itemsizing": "constant", "tracegroupgap": 4})
    if flat:
        plot.update_layout(dragmode="pan")
    return plot


def said_of(frame: pd.DataFrame, colour: str, *, chosen: npt.ArrayLike | None = None, star_name: str = "", about: str = "") -> str:
    """Return the caption of a scatter without drawing it; arguments are those of `scatter`, and an empty `star_name` means no star."""
    labelled = bool((frame["label"] >= 0).any())
    some = "" if chosen is None else f"; {int(np.sum(chosen)):,} are chosen, the others are faded"
    return sentence(
        [
            f"One point for each of {len(frame):,} rows, coloured by {COLOURS[colour]}{some}.",
            "Outlined points are wrong predictions." if labelled and colour != "right" else "",
            f"The star is “{as_plain(star_name)}”." if star_name else "",
            about,
        ]
    )


def measured(frame: pd.DataFrame) -> Figure:
    """Draw silhouettes of all rows and of each class, in the vectors and in the picture, with intervals.

    Args:
        frame: as `sentviz.analysis.embeddings.silhouette.measures` gives it.
    """
    rows = frame[frame["measure"] == "silhouette"]
    if rows.empty:
        raise InputError("A silhouette needs rows of at least two classes and different vectors.")
    names = {name: name or "all rows" for name in dict.fromkeys(rows["class"])}
    drawn = rows.assign(where="in the " + rows["space"].astype(str))
    ends: Any = {"low": "low", "high": "high", "text": "{value:.2f}", "hover": "{where}<br>{value:.3f} [{low:.3f}, {high:.3f}]"}
    marks = [points(drawn, "value", "class", by="where", **ends)]
    span = min(0.0, float(rows["low"].min())) - 0.05, max(0.1, float(rows["high"].max())) + 0.08
    chart = Chart("Silhouette", marks, Axis(span=span), Axis(rows=names), rules=[Rule(x=0)])
    n = int(rows.loc[rows["class"] == "", "n"].max())
    caption = f"Mean silhouette of {n:,} rows by class, from −1 to 1; bars are 95 % bootstrap intervals over the rows."
    return Figure(file_safe("silhouette"), chart, frame.reset_index(drop=True), caption)


def as_plain(text: str) -> str:
    """Return the beginning of a text for a caption, as plain text without markup."""
    return text if len(text) <= 60 else text[:59] + "…"


class _Draw:
    """The traces of one scatter."""

    def __init__(
        self, plot: go.Figure, kind: str, frame: pd.DataFrame, dims: Sequence[str], hover: Any, size: float, colours: Palette
    ) -> None:
        self.plot, self.kind, self.frame, self.size, self.colours = plot, kind, frame, size, colours
        self.at = {dim: frame[dim].to_numpy(np.float32) for dim in dims}
        self.hover = hover

    def points(self, rows: Bools, marker: dict[str, Any], **more: Any) -> None:
        places = {dim: values[rows] for dim, values in self.at.items()}
        hover = {"hoverinfo": "skip"} if self.hover is None else {"text": self.hover[rows], "hovertemplate": "%{text}<extra></extra>"}
        self.plot.add_trace({"type": self.kind, "mode": "markers", "marker": marker, **places, **hover, **more})

    def groups(self, groups: Sequence[Group], picked: Bools) -> None:
        """Add a trace for each category, and a faded one for those of its rows that are not chosen."""
        for i, (name, rows, colour, symbol) in enumerate(groups):
            marker = {"size": self.size, "symbol": SYMBOLS[symbol], "color": colour, "line": {"width": 0}}
            if (rows & ~picked).any():
                self.points(rows & ~picked, marker | {"opacity": FADED}, legendgroup=str(i), showlegend=False)
            label = _entry(name, int((rows & picked).sum()))
            self.points(rows & picked, marker | {"opacity": strength(len(rows))}, legendgroup=str(i), name=label, showlegend=True)

    def scale(self, colour: str, groups: Sequence[Group], picked: Bools, place: dict[str, Any]) -> None:
        """Add one colour scale; symbols distinguish the predictions."""
        scale = scaled(self.frame[colour], colour, self.colours)
        values, stops = scale.places, scale.stops
        bar = {"title_text": COLOURS[colour], "title_side": "top", "title_font_size": 12, "thickness": 12} | place
        bar |= {"tickvals": [0, 0.5, 1], "ticktext": scale.ticks}
        first = next((k for k, group in enumerate(groups) if (group.rows & picked).any()), 0)
        for k, (name, rows, _, symbol) in enumerate(groups):
            marker = {
                "size": self.size + 0.5,
                "symbol": SYMBOLS[symbol],
                "color": values[rows & picked],
                "cmin": 0,
                "cmax": 1,
                "colorscale": colour_scale(stops),
                "showscale": k == first,
                "colorbar": bar,
                "line": {"width": 0},
                "opacity": strength(len(rows)),
            }
            if (rows & ~picked).any():
                faded = marker | {"color": values[rows & ~picked], "opacity": FADED, "showscale": False}
                self.points(rows & ~picked, faded, legendgroup=str(k), showlegend=False)
            label = _entry(name, int((rows & picked).sum()))
            self.points(rows & picked, marker, legendgroup=str(k), name=label, showlegend=True)

    def outlines(self, rows: Bools, all_wrong: int) -> None:
        """Add a ring around each wrong prediction."""
        wider, opacity = ring(len(rows))
        marker = {
            "size": self.size + wider,
            "symbol": "circle-open",
            "color": self.colours.ink,
            "opacity": opacity,
            "line": {"width": 1.2, "color": self.colours.ink},
        }
        self.points(
            rows, marker, name=f"wrong ({int(rows.sum()):,})", showlegend=all_wrong > 0, hoverinfo="skip", hovertemplate=None, text=None
        )

    def star(self, at: Sequence[float], name: str) -> None:
        """Add the star of another text."""
        flat, ink, paper = self.kind != "scatter3d", self.colours.ink, self.colours.paper
        symbol = {"symbol": "star", "size": 20} if flat else {"symbol": "diamond", "size": 9}
        self.plot.add_trace(
            {
                "type": "scatter" if flat else "scatter3d",
                "mode": "markers+text",
                **{dim: [float(value)] for dim, value in zip("xyz", at, strict=False)},
                "marker": {**symbol, "color": self.colours.star, "line": {"color": ink, "width": 1.6}},
                "text": [as_text(name, 40)],
                "textposition": "top center",
                "textfont": {"size": 13, "color": ink, **(halo(paper) if flat else {})},
                "hovertemplate": f"{as_text(name, 80)}<extra></extra>",
                "name": "your sentence",
                "showlegend": True,
            }
        )


def point_size(n: int, dims: int) -> float:
    """Return the diameter in pixels of one of n points in two or three dimensions."""
    return float(np.clip(9 - np.log10(n), 4.5, 8)) if dims == 2 else float(np.clip(6 - np.log10(n), 2, 4))


def ring(n: int) -> tuple[float, float]:
    """Return the width in pixels that the ring of a wrong prediction adds to a point, and its opacity, for n wrong ones; many rings must
    not hide the rest.
    """
    many = float(np.clip(np.log10(max(n, 1) / 1000) / 1.4, 0, 1))  # 0 up to 1,000 points, 1 from 25,000 on
    return 4.5 - 1.5 * many, 0.92 - 0.6 * many


def strength(n: int) -> float:
    """Return the opacity of one of n points; many overlapping points must stay visible as many."""
    return float(np.clip(0.82 - 0.28 * np.log10(max(n, 1) / 1000), 0.4, 0.82))


def _entry(name: str, n: int) -> str:
    """Return a line of the legend."""
    return f"{as_text(name)} ({n:,})"


class Group(NamedTuple):
    """Points of one category."""

    name: str
    rows: Bools  # (n,)
    colour: str
    symbol: int  # in `SYMBOLS`


def groups(frame: pd.DataFrame, colour: str, classes: Sequence[str], colours: Palette) -> list[Group]:
    """Return the categories that symbols distinguish, with their rows: those of the colour, or the predictions if the colour is a scale.
    Empty categories are left out.
    """
    if frame.empty:
        raise InputError("There is no row to draw.")
    if colour not in COLOURS:
        raise InputError(f"Points are coloured by {', '.join(COLOURS.values())}, not by {colour!r}.")
    if colour not in frame:
        raise InputError(f"These rows have no {COLOURS[colour]}.")
    labels, predicted = frame["label"].to_numpy(int), frame["predicted"].to_numpy(int)
    fills = class_colours(classes, colours)
    if colour in SCALES:
        parts = [(f"predicted {name}", predicted == k, fills[k]) for k, name in enumerate(classes)]
    elif colour == "right":
        right = frame["right"].to_numpy(bool) & (labels >= 0)
        parts = [
            ("right", right, colours.right),
            ("wrong", ~right & (labels >= 0), colours.wrong),
            ("unlabelled", labels < 0, colours.muted),
        ]
    elif colour == "predicted":
        parts = [(name, predicted == k, fills[k]) for k, name in enumerate(classes)]
    else:
        parts = [*((name, labels == k, fills[k]) for k, name in enumerate(classes)), ("unlabelled", labels < 0, colours.muted)]
    return [Group(name, rows, fill, k % len(SYMBOLS)) for k, (name, rows, fill) in enumerate(parts) if rows.any()]


def _hover(frame: pd.DataFrame, classes: Sequence[str]) -> npt.NDArray[Any] | None:
    """Return a hover label for each row, (n,), or None for more than HOVER rows."""
    if len(frame) > HOVER:
        return None
    ids = frame["id"].astype(str).tolist()
    if not re.fullmatch(r"[\w.:/ -]*", "".join(ids), re.ASCII):
        ids = [as_text(name, 40) for name in ids]
    names = [*(as_text(name) for name in classes), "unlabelled"]
    lines = [
        f"{row}<br>labelled {names[label]}, predicted {names[predicted]} ({percent(sure, 0)})"
        for row, label, predicted, sure in zip(ids, frame["label"], frame["predicted"], frame["confidence"], strict=True)
    ]
    if "text" in frame:
        lines = [f"{line}<br>{as_text(text[:400], 90)}" for line, text in zip(lines, frame["text"], strict=True)]
    return np.array(lines, dtype=object)


def _ranges(at: Floats, star: Sequence[float] | None) -> list[tuple[float, float]]:
    """Return the range of each axis: the points and the star, with a rim."""
    ends = np.array([at.min(axis=0), at.max(axis=0)])
    if star is not None:
        ends = np.array([np.minimum(ends[0], star), np.maximum(ends[1], star)])
    room = 0.04 * max(float((ends[1] - ends[0]).max()), 1e-6) + (ends[0] == ends[1]).all() * 1.0
    return [(float(low - room), float(high + room)) for low, high in ends.T]


def _axes(plot: go.Figure, ranges: Sequence[tuple[float, float]], axes: Sequence[str], flat: bool) -> None:
    looks = [
        {
            "range": list(ends),
            "showticklabels": bool(name),
            "title": {"text": name, "font": {"size": 12}},
            "zeroline": False,
        }
        for ends, name in zip(ranges, axes, strict=False)
    ]
    if flat:
        plot.update_xaxes(**looks[0], automargin=False, constrain="domain")
        plot.update_yaxes(**looks[1], automargin=False, scaleanchor="x", constrain="domain")
    else:
        pane = {"showbackground": False, "showspikes": False}
        plot.update_layout(
            scene={f"{letter}axis": look | pane for letter, look in zip("xyz", looks, strict=True)} | {"aspectmode": "data", "camera": VIEW}
        )
