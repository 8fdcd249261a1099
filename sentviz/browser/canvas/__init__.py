"""A sentence as one linked picture of its words, heads, maps and prediction: data for the browser, and one HTML file.

canvas.js and the modules that it imports draw it, in the app and in a file of its own alike. Point at a word and its row, its column, its
heads and its part of the answer light up: all of it is in the data, nothing is asked for again.
"""

from __future__ import annotations

import re
import tomllib
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sentviz.analysis.explain import SCORES, deviation, ends
from sentviz.analysis.explain.leave_out import words
from sentviz.analysis.maps.coarse_map import Packed, pack
from sentviz.analysis.maps.layers import MOST, HeadEffects
from sentviz.browser.packing import digest, marked, palettes, short
from sentviz.browser.page import standalone
from sentviz.charts.colours import Theme
from sentviz.charts.maps import component_name
from sentviz.charts.strip import anchored
from sentviz.charts.text import visible
from sentviz.data.texts import BREAK
from sentviz.errors import InputError
from sentviz.io.glossary import glossary
from sentviz.runs.configs import Capabilities
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace

__all__ = ["HERE", "Pick", "Scale", "Scene", "Step", "canvas_data", "canvas_html", "is_quick", "scene_of", "tour"]

HERE = Path(__file__).parent
WORDS, LETTERS = 400, 40  # largest number of words that are drawn, and of letters per word
SIDE, WEIGHTS = 64, 600_000  # largest number of tokens of a map, and of weights of all maps together: 64 tokens of 12 x 12 heads
TITLE = 120  # letters
QUICK = 1_000_000_000  # multiplications for each token: 72 heads of a network of 14 million parameters

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Pick = tuple[int, int | str, int | str]
"""Layer, head or "mean", component or "effective": the map that is shown large."""


@dataclass(frozen=True)
class Scale:
    """The meaning of the words' colours."""

    title: str
    low: str  # meaning of values below 0
    high: str  # meaning of values above 0
    full: float = 0.0  # score of the strongest colour
    unit: str = ""  # The unit of the scores.


@dataclass(frozen=True, eq=False)
class Scene:
    """The data of a canvas: a trace, its scores, and the map to show."""

    trace: Trace
    has: Capabilities
    scores: Floats | None = None  # (m,) scores of the tokens
    tones: Floats | None = None  # (m,) positions of the scores on the colour scale, -1 to 1
    scale: Scale | None = None  # meaning of the scores
    units: Sequence[Sequence[int]] = ()  # tokens that are highlighted together, for example the pieces of a word; other tokens are alone
    falls: Floats | None = None  # (units,) fall of the target's log-odds if a unit is left out
    heads: HeadEffects | None = None  # the effects of silencing each head
    before: Floats | None = None  # (K,) probabilities without manual changes
    chosen: Pick | None = None  # map to show large
    pinned: int | None = None  # token that stays highlighted
    title: str = ""
    steps: Sequence[Step] = field(default_factory=tuple)  # steps of the tour

    def __post_init__(self) -> None:
        tokens, (layers, heads) = len(self.trace.tokens), (len(self.trace.layer_ids), len(self.trace.head_ids))
        places = [place for unit in self.units for place in unit]
        if len(set(places)) < len(places) or not set(places) <= set(range(tokens)):
            raise InputError(f"Each of the {tokens} tokens may be in one unit at most, and units may have no other tokens.")
        if self.pinned is not None and not 0 <= self.pinned < tokens:
            raise InputError(f"A canvas of {tokens} tokens has no token {self.pinned + 1} to pin.")
        for name, values, shape in (
            ("scores", self.scores, (tokens,)),
            ("tones", self.tones, (tokens,)),
            ("falls", self.falls, (len(self.units),)),
            ("heads", None if self.heads is None else self.heads.falls, (layers, heads)),
            ("before", self.before, (len(self.trace.labels),)),
        ):
            if values is not None and values.shape != shape:
                raise InputError(f"A canvas of {tokens} tokens needs {name} of shape {shape}, not {values.shape}.")

    @property
    def pick(self) -> Pick:
        """The map that is shown large: the chosen one, else the head whose silencing changes the prediction most.

        If heads were not silenced, it is the head that attends most to the unit without which the prediction falls most; for long texts and
        texts without such scores, the mean of the last layer.
        """
        if self.chosen is not None:
            return self.chosen
        effects = self._attention_to_the_strongest() if self.heads is None else np.abs(self.heads.falls)
        if effects is None:
            return len(self.trace.layer_ids) - 1, "mean", "effective"
        layer, head = np.unravel_index(int(effects.argmax()), effects.shape)
        return int(layer), int(head), "effective"

    def _attention_to_the_strongest(self) -> Floats | None:
        """Return the share of each head's attention on the unit with the largest fall, (L, H); None without falls or for a long text."""
        if not self.trace.has_maps or len(self.trace.tokens) > SIDE or self.falls is None or not len(self.falls):
            return None
        strongest = list(self.units[int(np.nan_to_num(self.falls, nan=-np.inf).argmax())])
        maps = np.abs(self.trace.stack("effective"))
        return np.asarray(maps[..., strongest].sum(axis=(2, 3)) / np.maximum(maps.sum(axis=(2, 3)), 1e-12))


def is_quick(run: Run) -> bool:
    """Return whether predicting without each word and without each head takes milliseconds, by the multiplications for each token."""
    return run.capabilities.layers * run.capabilities.heads * int(run.config["parameters"]) <= QUICK


def scene_of(
    trace: Trace,
    has: Capabilities,
    score: str = "removal",
    *,
    heads: HeadEffects | None = None,
    before: Trace | None = None,
    chosen: Pick | None = None,
    pinned: int | None = None,
) -> Scene:
    """Return the scene of a trace.

    Args:
        has: capabilities of the model.
        score: score that colours the words, a name of `SCORES` that the trace has; without "removal" the picture names no falls of words.
            With "" the words have no colours.
        heads: effects of silencing each head, from `silenced` of `sentviz.analysis.maps.layers`.
        before: trace of the same text without manual changes, if there are some.
        chosen: map to show large. pinned: token that stays highlighted.
    """
    units: list[tuple[int, ...]] = [word.indices for word in words(trace)]
    scene = Scene(
        trace,
        has,
        units=units,
        heads=heads,
        before=None if before is None else before.probabilities,
        chosen=chosen,
        pinned=pinned,
        title=f"“{trace.text if len(trace.text) <= TITLE else trace.text[: TITLE - 1] + '…'}”",
        steps=tour(has),
    )
    if not score:
        return scene
    how, coloured = SCORES[score], deviation(trace, score)
    removed = trace.token_scores.get("removal", np.full(len(trace.tokens), np.nan))
    falls = {unit: float(removed[unit[0]]) for unit in units}
    if (places := trace.units.get(score)) is not None:  # the score is of units of several words
        members = (np.flatnonzero(places == unit) for unit in np.unique(places))
        units = [tuple(unit.tolist()) for unit in members if not trace.specials[unit].any()]
        if how.removes:
            falls = {unit: float(coloured[unit[0]]) for unit in units}
    full = float(np.nanmax(np.abs(coloured), initial=0.0)) or how.full  # The text's own largest score, which the picture prints.
    return replace(
        scene,
        scores=coloured,
        tones=np.asarray(anchored(np.nan_to_num(coloured), full, how.knee), dtype=np.float32),
        scale=Scale(how.title, *ends(trace, score), float(f"{full:.3g}"), how.unit),
        units=units,
        falls=np.array([falls.get(unit, np.nan) for unit in units], dtype=np.float32),
    )


# ---- the tour


@dataclass(frozen=True)
class Step:
    """A step of the tour: a part of the picture, an explanation in plain words, a formula, and a term of the glossary."""

    slot: str  # steps of one slot are alternatives: the first one that the model allows is used
    part: str
    needs: str  # required capability; "" = none
    title: str
    text: str  # {word} and similar names are filled in from the sentence
    formula: str
    term: str


@cache
def _steps() -> tuple[Step, ...]:
    return tuple(Step(**step) for step in tomllib.loads((HERE / "tour.toml").read_text(encoding="utf-8"))["step"])


def tour(has: Capabilities) -> tuple[Step, ...]:
    """Return the steps that a model's capabilities allow, in order."""
    able = [step for step in _steps() if not step.needs or getattr(has, step.needs)]
    return tuple({step.slot: step for step in reversed(able)}[slot] for slot in dict.fromkeys(step.slot for step in able))


# ---- data


def canvas_data(scene: Scene, *, acts: bool = False, stopped: bool = False) -> dict[str, Any]:
    """Return a scene as plain JSON for the scripts, which only draw words or set them as text.

    Args:
        acts: True if heads can be silenced from the picture.
        stopped: True if nothing measures the effects of the heads, which the scene lacks, now.
    """
    trace = scene.trace
    count, best = min(len(trace.tokens) - trace.padding, WORDS), int(trace.probabilities.argmax())
    data: dict[str, Any] = {
        "text": digest(repr((trace.run, trace.text, trace.text_pair))),
        "title": visible(scene.title),
        "tokens": [visible(token)[:LETTERS] for token in trace.tokens[:count]],
        "more": len(trace.tokens) - trace.padding - count,
        "padding": trace.padding,
        "breaks": [tokens for tokens in _breaks(trace) if tokens[-1] < count],
        "specials": np.flatnonzero(trace.specials[:count]).tolist(),
        "unknown": np.flatnonzero(trace.unknown[:count]).tolist(),
        "second": int(np.argmax(trace.segments[:count])) if trace.text_pair is not None else 0,
        "units": [list(map(int, unit)) for unit in scene.units],
        "scores": None if scene.scores is None else short(scene.scores[:count]),
        "tones": None if scene.tones is None else short(scene.tones[:count]),
        "scale": None if scene.scale is None else asdict(scene.scale),
        "falls": None if scene.falls is None else short(scene.falls / trace.calibration),
        "labels": [visible(label)[:LETTERS] for label in trace.labels],
        "probabilities": short(trace.probabilities),
        "best": best,
        "aim": _aim(trace),
        "odds": float(f"{trace.odds:.6g}"),
        "before": None if scene.before is None else short(scene.before),
        "maps": _maps(trace, scene.has) if trace.has_maps else None,
        **_heads(scene),
        "rows": min(MOST, len(trace.layer_ids) * len(trace.head_ids)),
        "off": [list(pair) for pair in trace.change.heads_off],
        "pick": _places(scene.pick),
        "acts": acts and scene.has.silence,
        "stopped": stopped,
        "tour": [asdict(step) | {"term": glossary()[step.term].title} for step in scene.steps],
        "palettes": palettes("sequential", "signed", "neutral", "muted", classes=trace.labels),
    }
    pinned = scene.pinned if scene.pinned is not None and scene.pinned < count else None
    return marked(data) | {"pinned": pinned}  # outside the mark, because the picture is the same


def _breaks(trace: Trace) -> list[list[int]]:
    """Return the tokens of each line break that the text has as a tag, `BREAK`."""
    texts, breaks = (trace.text, trace.text_pair or ""), list[list[int]]()
    for segment, text in enumerate(texts):
        for match in re.finditer(re.escape(BREAK), text):
            inside = (trace.segments == segment) & (trace.offsets[:, 0] >= match.start()) & (trace.offsets[:, 1] <= match.end())
            if tokens := np.flatnonzero(inside & ~trace.specials).tolist():
                breaks.append(tokens)
    return breaks


def _heads(scene: Scene) -> dict[str, Any]:
    """Return the falls of all heads at the temperature of the probabilities, the heads that matter, and those that change the class."""
    if (heads := scene.heads) is None:
        return {"heads": None, "leading": [], "flips": []}
    falls = short(heads.falls / scene.trace.calibration)
    return {"heads": falls, "leading": [list(at) for at in heads.leading], "flips": np.argwhere(heads.flips).tolist()}


def _aim(trace: Trace) -> dict[str, Any]:
    """Return the class that the falls are about: its name, the name in a sentence, and its place, -1 if it is compared with one class."""
    k, against = trace.target_places
    name = " against ".join(visible(trace.labels[place])[:LETTERS] for place in (k, against) if place is not None)
    return {"name": name, "says": trace.target.says(), "place": k if against is None else -1}


def _places(pick: Pick) -> dict[str, int]:
    """Return the indices of a map in the data: head -1 is the mean over heads, part 0 the effective map."""
    layer, head, component = pick
    return {"layer": layer, "head": -1 if isinstance(head, str) else head, "part": 0 if isinstance(component, str) else component + 1}


def _maps(trace: Trace, has: Capabilities) -> dict[str, Any]:
    """Return all maps with 8 bits per weight. If there are too many tokens, only those that receive most attention are kept, with the
    share of attention on the others.
    """
    parts: list[int | str] = ["effective", *(range(has.components) if has.components > 1 else ())]
    n, each = len(trace.tokens), len(trace.layer_ids) * len(trace.head_ids) * len(parts)
    most = min(SIDE, max(int((WEIGHTS / each) ** 0.5), 2))
    received = np.zeros(n)
    for _, _, maps, keys in trace.bands() if n > most else ():
        received[keys] += np.abs(maps).sum(axis=(0, 1), dtype=np.float64)
    selected = np.arange(n) if n <= most else np.sort(np.argsort(-received, kind="stable")[:most])
    packed = [pack(_cut(trace, part, selected)) for part in parts]
    return {
        "layers": [layer + 1 for layer in trace.layer_ids],
        "heads": [head + 1 for head in trace.head_ids],
        "parts": [component_name(part) for part in parts],
        "shown": selected.tolist(),
        "names": [visible(trace.tokens[place])[:LETTERS] for place in selected],
        "hidden": float(f"{1 - received[selected].sum() / received.sum():.4g}") if n > most and received.sum() else 0.0,
        "codes": [_coded(part) for part in packed],
        "lambdas": [short(row) for row in trace.lambdas],
    }


def _cut(trace: Trace, part: int | str, tokens: Ints) -> Floats:
    """Return the maps on some tokens, (L, H, s, s), read one band at a time."""
    if len(tokens) == len(trace.tokens):
        return trace.stack(part)
    cut = np.zeros((len(trace.layer_ids), len(trace.head_ids), len(tokens), len(tokens)), dtype=np.float32)
    for at, start, maps, keys in trace.bands(part):
        rows = np.flatnonzero((tokens >= start) & (tokens < start + maps.shape[1]))
        columns = np.flatnonzero(np.isin(tokens, keys))
        cut[at][:, rows[:, None], columns] = maps[:, tokens[rows] - start][..., np.searchsorted(keys, tokens[columns])]
    return cut


def _coded(packed: Packed) -> dict[str, Any]:
    return {"codes": b64encode(packed.codes.tobytes()).decode(), "scale": packed.scale, "signed": packed.signed}


def canvas_html(scene: Scene, *, about: str = "", theme: Theme = "light") -> str:
    """Return the picture as one page that needs no network; the same bytes for the same scene.

    Args:
        about: origin of the sentence, plain text below the picture.
        theme: that of the page.
    """
    return standalone(HERE, "canvas", canvas_data(scene), data_id="scene", title=scene.title, about=about, width=900, theme=theme)
