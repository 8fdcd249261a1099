"""A training run that can be scrubbed through: its epochs as data for the browser, and the whole of it as one HTML file.

through.js and the modules that it imports draw it, in the app and in a file of its own; `sentviz.browser.film.gif` makes a film of it.
Between two epochs, maps, answers and places are drawn on the straight way from one to the other; counts are those of the nearer epoch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sentviz.analysis.epochs.course import KINDS, PICTURES, Course, events, pictures
from sentviz.browser.packing import packed, short
from sentviz.browser.page import standalone
from sentviz.figures.colours import THEMES, Theme, class_colours, palette
from sentviz.figures.heads import MEASURE_TITLES
from sentviz.figures.maps import component_name
from sentviz.figures.scalars import scalar_label
from sentviz.figures.text import visible

if TYPE_CHECKING:
    import pandas as pd

    from sentviz.runs.trace import Trace

__all__ = ["HERE", "Film", "line_groups", "through_data", "through_html"]

HERE = Path(__file__).parent
TEXT, NAME = 240, 40  # characters
TOKENS = 128  # of a map: more would be smaller than a pixel's worth
CURVES = {
    "Loss": {"train_loss": "training", "validation_loss": "validation"},
    "On all of validation": {"validation_accuracy": "accuracy", "validation_f1_macro": "macro F1"},
}
LINE = {"y": "value", "low": "low", "high": "high"}

Bytes = npt.NDArray[np.uint8]
Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Film:
    """What is shown of a run: its course, a sentence after some of the epochs, and lines over the whole training."""

    title: str
    seen: Course
    traces: Mapping[int, Trace]  # of the sentence by epoch, of those whose weights are at hand
    history: pd.DataFrame  # step, epoch, name, layer, component, value
    scalars: Sequence[str] = ()  # names of the learned scalars in it
    layer: int = 0  # of the map, with head and component as in `Trace.map`
    head: int | str = "mean"
    component: int | str = "effective"
    how: str = "joint"  # of `sentviz.analysis.epochs.course.PICTURES`

    @property
    def first(self) -> Trace | None:
        """The sentence at the first epoch at hand."""
        return next(iter(self.traces.values()), None)

    @property
    def mapped(self) -> bool:
        """Whether there are maps, of no more tokens than can be seen."""
        return self.first is not None and self.first.has_maps and len(self.first.tokens) <= TOKENS

    def maps(self) -> Doubles:
        """(E', n, n) the map that is shown, by epoch of `traces`."""
        return np.stack([trace.map(self.layer, self.head, self.component) for trace in self.traces.values()]).astype(np.float64)

    @property
    def map_title(self) -> str:
        """Which map it is."""
        what = "Effective attention" if self.component == "effective" else component_name(self.component)
        whose = f"{self.head} of heads" if isinstance(self.head, str) else f"head {self.head + 1}"
        return f"{what}, layer {self.layer + 1}, {whose}"

    def places(self) -> Doubles:
        """(E, m, 2) of the rows as points, the largest coordinate 1."""
        found = pictures(self.seen.vectors, self.how)
        centred = found - found.reshape(-1, 2).mean(axis=0)
        return np.asarray(centred / max(float(np.abs(centred).max()), 1e-12))


# ---- data


def through_data(film: Film, *, texts: Mapping[str, str] | None = None, asks: bool = False) -> dict[str, Any]:
    """A film as plain JSON for the scripts; texts are in it as data that is only ever set as text.

    Args:
        texts: of rows by id, where the data set is at hand.
        asks: whether a click on a row asks for its text in the place of the sentence.
    Raises:
        InputError: another kind of picture. KeyError: the traces do not hold that map.
    """
    seen = film.seen
    found, m = events(seen.right), seen.vectors.shape[1]
    rows = [
        {"id": row[:NAME], "text": visible(texts[row])[:TEXT] if texts and row in texts else "", "kind": kind, "times": int(times)}
        for row, kind, times in zip(seen.first.ids, found.kinds, found.forgotten, strict=True)
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
        "said": packed(seen.said, "u1"),
        "places": packed(film.places(), "<f4"),
        "picture": PICTURES[film.how],
        "rows": rows,
        "asks": asks,
        "counts": seen.counts.tolist(),
        "sentence": _sentence(film),
        "groups": line_groups(film),
        "palettes": {name: _colours(name, seen.first.classes) for name in THEMES},
    }
    data["mark"] = hashlib.blake2b(repr(sorted(data.items())).encode("utf-8", "replace"), digest_size=8).hexdigest()
    return data


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
    """Lines over the epochs, by panel: name, title, and lines of name, x (epochs), y and, where there is an interval, low and high."""
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
        found = {name: history[history["name"] == name] for name in names if (history["name"] == name).any()}
        lines = [{"name": names[name], "x": short(part["epoch"]), "y": short(part["value"])} for name, part in found.items()]
        groups.append({"panel": "curves", "title": title, "lines": lines})
    scalars = history[history["name"].isin(film.scalars) & ~((history["name"] == "lambda") & (history["component"] == 0))]
    lines = []
    for _, part in scalars.groupby(["name", "layer", "component"], sort=True):
        name, layer, component = (part[column].iloc[0] for column in ("name", "layer", "component"))
        said = scalar_label(str(name), int(component)) + (f", layer {layer + 1}" if layer >= 0 else "")
        lines.append({"name": said, "x": short(part["epoch"]), "y": short(part["value"])})
    groups.append({"panel": "scalars", "title": "Learned scalars", "lines": lines})
    return [group for group in groups if group["lines"]]


def _colours(theme: Theme, classes: Sequence[str]) -> dict[str, Any]:
    look = palette(theme)
    scales = {name: list(getattr(look, name)) for name in ("sequential", "signed", "judged", "lines")}
    return scales | {"classes": class_colours(classes, theme)}


def through_html(film: Film, *, about: str = "", theme: Theme = "light") -> str:
    """The whole of it as one page that needs no network and holds no text of a data set; the same bytes for the same film.

    Args:
        about: where it comes from; plain text below the picture.
        theme: of the page.
    """
    title = visible(film.title)
    return standalone(
        HERE, "through", through_data(film), data_id="film", title=film.title, heading=title, about=about, width=1280, theme=theme
    )
