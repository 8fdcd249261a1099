"""Rows as points that move from layer to layer: data for the browser, and one HTML file.

points.js and the modules that it imports draw it, in the app and in a file of its own.
`sentviz.charts.scatter` draws one layer for print.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sentviz.browser.packing import digest, marked, packed
from sentviz.browser.page import standalone
from sentviz.charts.colours import SCALES, Theme, palette, scaled
from sentviz.charts.scatter import COLOURS, HOVER, groups, point_size, ring, strength
from sentviz.charts.scatter import FADED as FAINT
from sentviz.charts.text import visible
from sentviz.io.lazy import pd

__all__ = ["HERE", "points_data", "points_html"]

HERE = Path(__file__).parent
TEXT, NAME = 300, 60  # characters
WRONG, FADED = 1, 2  # bits of a mark
NO_GROUP = 255


def points_data(
    frame: pd.DataFrame,
    places: Sequence[npt.ArrayLike],
    *,
    classes: Sequence[str],
    layers: Sequence[str],
    layer: int,
    colour: str = "label",
    title: str = "",
    picture: str = "",
    axes: Mapping[int, Sequence[str]] | None = None,
    chosen: npt.ArrayLike | None = None,
    outline: tuple[int, npt.ArrayLike] | None = None,
    star: tuple[str, Mapping[int, Sequence[float]]] | None = None,
    more: bool = False,
    theme: Theme = "light",
) -> dict[str, Any]:
    """Return the points as plain JSON for the scripts, which only set texts of users as text.

    Args:
        frame: n rows: id, label, predicted (class, -1 = unlabelled), right, confidence; length if it is the colour; text if the pointer may
            show it.
        places: (n, 2 or 3) coordinates for each available layer, with comparable scales; the last one is that of the last layer.
        layers: names of all layers; 0 = the embedding.
        layer: the layer to show.
        picture: identifies the projection among others of the same rows, for example by method and dimensions.
        axes: names of the axes by layer; a layer without names has no ticks.
        chosen: (n,) bool; the other rows fade.
        outline: a layer and the corners (v, 2) of the outline that was drawn in it.
        star: name of another text, and its coordinates by layer.
        more: True if further layers can be requested.
    """
    look, n = palette(theme), len(frame)
    parts = groups(frame, colour, classes, look)
    at = np.stack([np.asarray(points, dtype="<f4") for points in places])
    of = np.full(n, NO_GROUP, dtype=np.uint8)
    for k, part in enumerate(parts):
        of[part.rows] = k
    labelled = (frame["label"] >= 0).to_numpy()
    rings = bool(labelled.any()) and colour != "right"
    marks = np.zeros(n, dtype=np.uint8)
    if rings:
        marks |= np.where(labelled & ~frame["right"].to_numpy(bool), WRONG, 0).astype(np.uint8)
    if chosen is not None:
        marks |= np.where(np.asarray(chosen, dtype=bool), 0, FADED).astype(np.uint8)
    scale = None
    if colour in SCALES:
        scale = scaled(frame[colour], colour, look)
    has_texts = n <= HOVER
    data: dict[str, Any] = {
        "rows": digest("\0".join(frame["id"].astype(str))),
        "picture": picture,
        "title": visible(title) if title else "",
        "n": n,
        "dims": at.shape[2],
        "layers": list(layers),
        "layer": layer,
        "more": more,
        "places": packed(at, "<f4"),
        "groups": [{"name": visible(part.name[:NAME]), "colour": part.colour, "symbol": part.symbol} for part in parts],
        "of": packed(of, "u1"),
        "colour": colour,
        "scale": scale and {"title": COLOURS[colour], "stops": scale.stops, "ticks": scale.ticks},
        "values": scale and packed(scale.places, "<f4"),
        "rings": rings,
        "marks": packed(marks, "u1"),
        "classes": [visible(name[:NAME]) for name in classes],
        "labels": packed(frame["label"].to_numpy(), "i1"),
        "said": packed(frame["predicted"].to_numpy(), "i1"),
        "sure": packed(np.rint(100 * frame["confidence"].to_numpy()), "u1"),
        "words": [[str(row)[:NAME], text] for row, text in zip(frame["id"], _texts(frame), strict=True)] if has_texts else None,
        "axes": {str(k): list(names) for k, names in (axes or {}).items() if any(names)},
        "outline": None if outline is None else {"layer": outline[0], "corners": np.asarray(outline[1], dtype=float).round(6).tolist()},
        "star": None
        if star is None
        else {"name": visible(star[0][:40]), "places": {str(k): [float(c) for c in p] for k, p in star[1].items()}},
        "size": point_size(n, at.shape[2]) * (1 if at.shape[2] == 2 else 1.6),
        "strength": strength(n),
        "ring": ring(n),
        "faint": FAINT,
        "look": {"ink": look.ink, "muted": look.muted},
    }
    return marked(data)


def _texts(frame: pd.DataFrame) -> list[str]:
    if "text" not in frame:
        return [""] * len(frame)
    return [text if len(text) <= TEXT else f"{text[: TEXT - 1]}…" for text in frame["text"].astype(str)]


def points_html(data: Mapping[str, Any], *, about: str = "", theme: Theme = "light") -> str:
    """Return the moving points as one page that needs no network; the same bytes for the same points.

    Args:
        data: the result of `points_data` for the same theme.
        about: origin of the points, plain text below the picture.
        theme: that of the page.
    """
    static, title = {**data, "more": False}, str(data["title"])
    return standalone(HERE, "points", static, data_id="points", title=title, heading=False, about=about, width=900, theme=theme)
