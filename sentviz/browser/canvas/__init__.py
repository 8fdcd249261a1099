"""A sentence as one linked picture: its words, its heads, their maps and the answer, as data for the browser and as one HTML file.

canvas.js and the modules that it imports draw it, in the app and in a file of its own alike. Point at a word and its row, its column, its
heads and its part of the answer light up: all of it is in the data, nothing is asked for again.
"""

from __future__ import annotations

import hashlib
import tomllib
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sentviz.analysis.explain import log_odds
from sentviz.analysis.maps.longmap import Packed, pack
from sentviz.browser.packing import short
from sentviz.browser.page import standalone
from sentviz.errors import InputError
from sentviz.figures.colours import THEMES, Theme, class_colours, palette
from sentviz.figures.maps import component_name
from sentviz.figures.text import visible
from sentviz.io.glossary import glossary
from sentviz.runs.configs import Capabilities
from sentviz.runs.trace import Trace

__all__ = ["HERE", "Pick", "Scale", "Scene", "Step", "canvas_data", "canvas_html", "tour"]

HERE = Path(__file__).parent
WORDS, LETTERS = 400, 40  # of a text that are written, and of a word
SIDE, WEIGHTS = 64, 1 << 18  # tokens of a map, and weights of all maps together, at most

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Pick = tuple[int, int | str, int | str]
"""Layer, head or "mean", component or "effective": the map that is shown large."""


@dataclass(frozen=True)
class Scale:
    """What the colours of the words mean."""

    title: str
    low: str  # of the words below 0
    high: str


@dataclass(frozen=True, eq=False)
class Scene:
    """What is shown of a sentence."""

    trace: Trace
    has: Capabilities
    scores: Floats | None = None  # (m,) of the words
    tones: Floats | None = None  # (m,) their places on the colour scale, -1 to 1
    scale: Scale | None = None  # of these
    units: Sequence[Sequence[int]] = ()  # tokens that light up together, such as the pieces of a word; the others stand alone
    falls: Floats | None = None  # (units) fall of the answer's log-odds when a unit is left out
    heads: Floats | None = None  # (L, H) fall of the answer's log-odds when a head is silenced
    before: Floats | None = None  # (K,) probabilities before something was changed by hand
    chosen: Pick | None = None  # the map to show large
    pinned: int | None = None  # the token that is lit until another is
    title: str = ""
    steps: Sequence[Step] = field(default_factory=tuple)  # of the tour

    def __post_init__(self) -> None:
        tokens, (layers, heads) = len(self.trace.tokens), (len(self.trace.layer_ids), len(self.trace.head_ids))
        places = [place for unit in self.units for place in unit]
        if len(set(places)) < len(places) or not set(places) <= set(range(tokens)):
            raise InputError(f"Units are of each of the {tokens} tokens once at most.")
        if self.pinned is not None and not 0 <= self.pinned < tokens:
            raise InputError(f"A canvas of {tokens} tokens has no token {self.pinned + 1} to pin.")
        for name, values, shape in (
            ("scores", self.scores, (tokens,)),
            ("tones", self.tones, (tokens,)),
            ("falls", self.falls, (len(self.units),)),
            ("heads", self.heads, (layers, heads)),
            ("before", self.before, (len(self.trace.labels),)),
        ):
            if values is not None and values.shape != shape:
                raise InputError(f"A canvas of {tokens} tokens needs {name} of shape {shape}, not {values.shape}.")

    @property
    def pick(self) -> Pick:
        """The map that is shown large: the one chosen, else the head whose silencing moves the answer most, else the last layer's mean."""
        if self.chosen is not None:
            return self.chosen
        if self.heads is None:
            return len(self.trace.layer_ids) - 1, "mean", "effective"
        layer, head = np.unravel_index(int(np.abs(self.heads).argmax()), self.heads.shape)
        return int(layer), int(head), "effective"


# ---- the tour


@dataclass(frozen=True)
class Step:
    """A step of the tour: the part of the picture that it is about, plain words, then a formula; its term is in the glossary."""

    slot: str  # steps of a slot stand in for each other: the first whose need is met is taken
    part: str
    needs: str  # a capability; "" = none
    title: str
    text: str  # {word} and the like are of the sentence on the page
    formula: str
    term: str


@cache
def _steps() -> tuple[Step, ...]:
    return tuple(Step(**step) for step in tomllib.loads((HERE / "tour.toml").read_text(encoding="utf-8"))["step"])


def tour(has: Capabilities) -> tuple[Step, ...]:
    """The steps that a model's capabilities allow, in order."""
    able = [step for step in _steps() if not step.needs or getattr(has, step.needs)]
    return tuple({step.slot: step for step in reversed(able)}[slot] for slot in dict.fromkeys(step.slot for step in able))


# ---- data


def canvas_data(scene: Scene, *, acts: bool = False, greets: bool = False) -> dict[str, Any]:
    """A scene as plain JSON for the scripts; words are data that is only ever drawn or set as text.

    Args:
        acts: whether heads can be silenced from the picture, which Python hears.
        greets: whether the tour starts by itself for whoever has not seen it.
    """
    trace = scene.trace
    count, best = min(len(trace.tokens) - trace.padding, WORDS), int(trace.probabilities.argmax())
    data: dict[str, Any] = {
        "text": hashlib.blake2b(repr((trace.run, trace.text, trace.text_pair)).encode("utf-8", "replace"), digest_size=8).hexdigest(),
        "title": visible(scene.title),
        "tokens": [visible(token)[:LETTERS] for token in trace.tokens[:count]],
        "more": len(trace.tokens) - trace.padding - count,
        "padding": trace.padding,
        "specials": np.flatnonzero(trace.specials[:count]).tolist(),
        "unknown": np.flatnonzero(trace.unknown[:count]).tolist(),
        "second": int(np.argmax(trace.segments[:count])) if trace.text_pair is not None else 0,
        "units": [list(map(int, unit)) for unit in scene.units],
        "scores": None if scene.scores is None else short(scene.scores[:count]),
        "tones": None if scene.tones is None else short(scene.tones[:count]),
        "scale": None if scene.scale is None else asdict(scene.scale),
        "falls": None if scene.falls is None else short(scene.falls),
        "labels": [visible(label)[:LETTERS] for label in trace.labels],
        "probabilities": short(trace.probabilities),
        "best": best,
        "odds": float(f"{float(log_odds(trace.logits, best)):.6g}"),
        "before": None if scene.before is None else short(scene.before),
        "maps": _maps(trace, scene.has) if trace.has_maps else None,
        "heads": None if scene.heads is None else short(scene.heads),
        "off": [list(pair) for pair in trace.heads_off],
        "pick": _places(scene.pick),
        "acts": acts and scene.has.silence,
        "greets": greets,
        "tour": [asdict(step) | {"term": glossary()[step.term].title} for step in scene.steps],
        "palettes": {name: _colours(name, trace.labels) for name in THEMES},
    }
    data["mark"] = hashlib.blake2b(repr(sorted(data.items())).encode("utf-8", "replace"), digest_size=8).hexdigest()
    pinned = scene.pinned if scene.pinned is not None and scene.pinned < count else None
    return data | {"pinned": pinned}  # behind the mark: the same picture, whatever is pinned


def _places(pick: Pick) -> dict[str, int]:
    """Along the axes of the data: head -1 is the mean over heads, part 0 the effective map."""
    layer, head, component = pick
    return {"layer": layer, "head": -1 if isinstance(head, str) else head, "part": 0 if isinstance(component, str) else component + 1}


def _maps(trace: Trace, has: Capabilities) -> dict[str, Any]:
    """Every map in 8 bits a weight, of all tokens, or of those that receive most where there are too many, and what stays hidden."""
    parts: list[int | str] = ["effective", *(range(has.components) if has.components > 1 else ())]
    n, each = len(trace.tokens), len(trace.layer_ids) * len(trace.head_ids) * len(parts)
    most = min(SIDE, max(int((WEIGHTS / each) ** 0.5), 2))
    received = np.zeros(n)
    for _, _, maps, keys in trace.bands() if n > most else ():
        received[keys] += np.abs(maps).sum(axis=(0, 1), dtype=np.float64)
    shown = np.arange(n) if n <= most else np.sort(np.argsort(-received, kind="stable")[:most])
    packed = [pack(_cut(trace, part, shown)) for part in parts]
    return {
        "layers": [layer + 1 for layer in trace.layer_ids],
        "heads": [head + 1 for head in trace.head_ids],
        "parts": [component_name(part) for part in parts],
        "shown": shown.tolist(),
        "names": [visible(trace.tokens[place])[:LETTERS] for place in shown],
        "hidden": float(f"{1 - received[shown].sum() / received.sum():.4g}") if n > most and received.sum() else 0.0,
        "codes": [_coded(one) for one in packed],
        "lambdas": [short(row) for row in trace.lambdas],
    }


def _cut(trace: Trace, part: int | str, shown: Ints) -> Floats:
    """(L, H, s, s) the maps on some tokens, read a band at a time."""
    if len(shown) == len(trace.tokens):
        return trace.stack(part)
    made = np.zeros((len(trace.layer_ids), len(trace.head_ids), len(shown), len(shown)), dtype=np.float32)
    for at, start, maps, keys in trace.bands(part):
        rows = np.flatnonzero((shown >= start) & (shown < start + maps.shape[1]))
        columns = np.flatnonzero(np.isin(shown, keys))
        made[at][:, rows[:, None], columns] = maps[:, shown[rows] - start][..., np.searchsorted(keys, shown[columns])]
    return made


def _coded(packed: Packed) -> dict[str, Any]:
    return {"codes": b64encode(packed.codes.tobytes()).decode(), "scale": packed.scale, "signed": packed.signed}


def _colours(theme: Theme, labels: Sequence[str]) -> dict[str, Any]:
    look = palette(theme)
    return {name: getattr(look, name) for name in ("sequential", "signed", "neutral", "muted")} | {"classes": class_colours(labels, theme)}


def canvas_html(scene: Scene, *, about: str = "", theme: Theme = "light") -> str:
    """The picture as one page that needs no network; the same bytes for the same scene.

    Args:
        about: where it comes from; plain text below the picture.
        theme: of the page.
    """
    title = visible(scene.title)
    return standalone(
        HERE, "canvas", canvas_data(scene), data_id="scene", title=scene.title, heading=title, about=about, width=900, theme=theme
    )
