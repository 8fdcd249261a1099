"""A training run with a time axis: its epochs as data for the browser, and as one HTML file.

through.js and the modules that it imports draw it, in the app and in a file of its own; `sentviz.export.animation` makes a GIF of it.
Between two epochs, maps, answers and places are drawn on the straight way from one to the other; counts are those of the nearer epoch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sentviz.analysis.epochs import KINDS, PICTURES, EpochSeries, events, pictures
from sentviz.browser.packing import marked, packed, palettes, short
from sentviz.browser.page import standalone
from sentviz.charts.colours import Theme
from sentviz.charts.heads import MEASURE_TITLES
from sentviz.charts.maps import map_title
from sentviz.charts.scalars import scalar_label
from sentviz.charts.text import visible
from sentviz.io.lazy import pd

if TYPE_CHECKING:
    from sentviz.runs.trace import Trace

__all__ = ["HERE", "Film", "line_groups", "through_data", "through_html"]

HERE = Path(__file__).parent
TEXT, NAME = 240, 40  # characters
TOKENS = 128  # largest number of tokens of a map: cells of more would be smaller than a pixel
CURVES = {
    "Loss": {"train_loss": "training", "validation_loss": "validation"},
    "On all of validation": {"validation_accuracy": "accuracy", "validation_f1_macro": "macro F1"},
}
LINE = {"y": "value", "low": "low", "high": "high"}

Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Film:
    """The data of a training film: the measurements of a run, a sentence after some of the epochs, and lines over the complete training."""

    title: str
    seen: EpochSeries
    traces: Mapping[int, Trace]  # traces of the sentence by epoch, for epochs with stored weights
    history: pd.DataFrame  # step, epoch, name, layer, component, value
    scalars: Sequence[str] = ()  # names of the learned scalars in `history`
    layer: int = 0  # layer of the map; layer, head and component are as in `Trace.map`
    head: int | str = "mean"
    component: int | str = "effective"
    how: str = "joint"  # kind of projection, a key of `PICTURES`

    @property
    def first(self) -> Trace | None:
        """The trace of the sentence at the first available epoch; None if there is none."""
        return next(iter(self.traces.values()), None)

    @property
    def mapped(self) -> bool:
        """True if the sentence has maps and at most TOKENS tokens."""
        return self.first is not None and self.first.has_maps and len(self.first.tokens) <= TOKENS

    def maps(self) -> Doubles:
        """Return the map of each epoch of `traces`, (E', n, n)."""
        return np.stack([trace.map(self.layer, self.head, self.component) for trace in self.traces.values()]).astype(np.float64)

    @property
    def map_title(self) -> str:
        """Name, layer and head of the map."""
        return map_title(self.component, self.layer, self.head).replace(" · ", ", ")

    def places(self) -> Doubles:
        """Return the rows as points, (E, m, 2); the largest coordinate is 1."""
        projected = pictures(self.seen.vectors, self.how)
        centred = projected - projected.reshape(-1, 2).mean(axis=0)
        return np.asarray(centred / max(float(np.abs(centred).max()), 1e-12))


# ---- data


def through_data(film: Film, *, texts: Mapping[str, str] | None = None, asks: bool = False) -> dict[str, Any]:
    """Return a film as plain JSON for the scripts, which only set texts as text.

    Args:
        texts: texts of rows by id, if the data set is available.
        asks: True if a click on a row requests its text as the sentence.
    Raises:
        InputError: the kind of projection is unknown. MissingMapError: the traces do not have that map.
    """
    seen = film.seen
    row_events, m = events(seen.right), seen.vectors.shape[1]
    rows = [
        {"id": row[:NAME], "text": visible(texts[row])[:TEXT] if texts and row in texts else "", "kind": kind, "times": int(times)}
        for row, kind, times in zip(seen.first.ids, row_events.kinds, row_events.forgotten, strict=True)
    ]
    data: dict[str, Any] = {
        "title": visible(film.title),
        "epochs": list(seen.epochs),
        "classes": [visible(name)[:NAME] for name in seen.first.classes],
        "kinds": list(KINDS),
        "n": len(rows),
        "m": m,
        "split": seen.first.split,
        "labels": packed(seen.first.labels, "u1"),
        "said": packed(seen.predicted, "u1"),
        "places": packed(film.places(), "<f4"),
        "picture": PICTURES[film.how],
        "rows": rows,
        "asks": asks,
        "counts": seen.counts.tolist(),
        "sentence": _sentence(film),
        "groups": line_groups(film),
        "palettes": palettes("sequential", "signed", "judged", "lines", classes=seen.first.classes),
    }
    return marked(data)


def _sentence(film: Film) -> dict[str, Any] | None:
    first = film.first
    if first is None:
        return None
    data: dict[str, Any] = {
        "epochs": list(film.traces),
        "tokens": [visible(token)[:NAME] for token in first.tokens],
        "probabilities": [[round(float(p), 5) for p in trace.probabilities] for trace in film.traces.values()],
        "title": film.map_title,
        "maps": None,
        "long": first.has_maps and not film.mapped,
    }
    if film.mapped:
        maps = film.maps()
        peak, signed = float(np.abs(maps).max()) or 1.0, bool(maps.min() < 0)
        zero, steps = (128, 127) if signed else (0, 255)
        data |= {"maps": packed(np.rint(zero + steps * maps / peak), "u1"), "peak": peak, "signed": signed}
    return data


def line_groups(film: Film) -> list[dict[str, Any]]:
    """Return lines over the epochs, by panel: name, title, and lines with name, x (epochs), y and, if there is an interval, low and
    high.
    """
    heads = film.seen.heads
    groups: list[dict[str, Any]] = []
    for measure in dict.fromkeys(heads["measure"]):
        mean = heads[(heads["measure"] == measure) & (heads["head"] < 0)].sort_values("epoch")
        parts = {layer: mean[mean["layer"] == layer] for layer in sorted(mean["layer"].unique().tolist())}
        lines = [
            {"name": f"layer {layer + 1}", "x": part["epoch"].tolist(), **{to: short(part[of]) for to, of in LINE.items()}}
            for layer, part in parts.items()
        ]
        groups.append({"panel": "heads", "title": MEASURE_TITLES.get(measure, measure), "lines": lines})
    history = film.history
    for title, names in CURVES.items():
        curves = {name: history[history["name"] == name] for name in names if (history["name"] == name).any()}
        lines = [{"name": names[name], "x": short(part["epoch"]), "y": short(part["value"])} for name, part in curves.items()]
        groups.append({"panel": "curves", "title": title, "lines": lines})
    scalars = history[history["name"].isin(film.scalars) & ~((history["name"] == "lambda") & (history["component"] == 0))]
    lines = []
    for _, part in scalars.groupby(["name", "layer", "component"], sort=True):
        name, layer, component = (part[column].iloc[0] for column in ("name", "layer", "component"))
        label = scalar_label(str(name), int(component)) + (f", layer {layer + 1}" if layer >= 0 else "")
        lines.append({"name": label, "x": short(part["epoch"]), "y": short(part["value"])})
    groups.append({"panel": "scalars", "title": "Learned scalars", "lines": lines})
    return [group for group in groups if group["lines"]]


def through_html(film: Film, *, about: str = "", theme: Theme = "light") -> str:
    """Return the film as one page that needs no network and has no text of a data set; the same bytes for the same film.

    Args:
        about: origin of the film, plain text below the picture.
        theme: that of the page.
    """
    return standalone(HERE, "through", through_data(film), data_id="film", title=film.title, about=about, width=1280, theme=theme)
