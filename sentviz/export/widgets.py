"""Living views in notebooks: anywidget shows the modules of `sentviz.browser`, and the kernel answers them."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anywidget
import numpy as np
import traitlets

from sentviz.analysis.embeddings.projection import inside
from sentviz.analysis.explain import answer, explained
from sentviz.analysis.maps.layers import silenced
from sentviz.browser import canvas, film, particles, points
from sentviz.browser.kit import KIT, bundle, front
from sentviz.browser.page import theme_variables
from sentviz.charts.colours import Theme
from sentviz.charts.scene import Scene
from sentviz.errors import SentvizError
from sentviz.models.model import Model
from sentviz.runs.trace import Trace

FRAME = (
    ":host { display: block; font: 14px sans-serif; padding: 12px; background: var(--paper); color: var(--ink); } :host .deck { top: 0; }"
)
BOX = (
    '<p><input class="sentence" aria-label="Sentence" dir="auto" style="box-sizing: border-box; width: 100%; padding: 6px; font: inherit">'
    '<b class="says" role="status" dir="auto"></b></p>'
)


def _module(folder: Path, name: str, above: str = "") -> str:
    """Return a view as a module for anywidget. Widgets set the colours of their theme in its style."""
    markup, style, _ = front(folder, name)
    look = {theme: f"{theme_variables(theme).replace(':root', ':host')}{style}{FRAME}" for theme in ("light", "dark")}
    script = bundle(KIT / "notebook.js", folder / f"{name}.js")
    render = f"inNotebook(mount, {json.dumps(above + markup)}, {json.dumps(look)}[props.model.get('theme')]).render(props)"
    return f"{script}export default {{ render: props => {render} }}\n"


class View(anywidget.AnyWidget):
    """A view whose `data` the browser draws.

    Attributes:
        data: what is drawn, as `canvas_data`, `scene_data`, `points_data` and `through_data` of `sentviz.browser` return it.
        theme: "light" or "dark".
    """

    data = traitlets.Dict().tag(sync=True)
    theme = traitlets.Enum(["light", "dark"], "light").tag(sync=True)

    def __init__(self, data: Mapping[str, Any], theme: Theme = "light", **values: Any) -> None:
        super().__init__(data=dict(data), theme=theme, **values)
        self.on_msg(lambda _widget, message, _buffers: self.heard(message))

    def heard(self, message: Any) -> None:
        """Take a message of the view: its name and a value. A message of another shape is ignored."""
        if isinstance(message, Mapping) and isinstance(message.get("name"), str) and isinstance(message.get("value"), Mapping):
            self.took(message["name"], message["value"])

    def took(self, name: str, value: Mapping[str, Any]) -> None:
        """Take an event of the view, by its name."""


class Canvas(View):
    """The linked picture of a sentence. A typed sentence and a silenced head are answered by the model.

    Attributes:
        text: the sentence. off: silenced heads as (layer, head), counted from 0.
        answer: what the model says, or why it says nothing.
    """

    _esm = _module(canvas.HERE, "canvas", BOX)
    text = traitlets.Unicode().tag(sync=True)
    answer = traitlets.Unicode().tag(sync=True)
    off = traitlets.List()

    def __init__(self, trace: Trace, model: Model, theme: Theme = "light") -> None:
        self.model = model
        self.chosen: canvas.Pick | None = None  # the map that stays large
        off = [tuple(pair) for pair in trace.change.heads_off]
        super().__init__(self._drawn(trace), theme, text=trace.text, off=off, answer=answer(trace))
        self.change, self.pair = trace.change, trace.text_pair
        self.observe(lambda _: self._follow(), names=["text", "off"])

    def _drawn(self, trace: Trace) -> dict[str, Any]:
        scored = trace if "removal" in trace.token_scores else explained(self.model, trace)
        has, plain = self.model.capabilities, self.model.trace(trace.text, trace.text_pair) if trace.change else None
        heads = silenced(self.model, trace) if trace.has_maps and has.silence else None
        return canvas.canvas_data(canvas.scene_of(scored, has, heads=heads, before=plain, chosen=self.chosen), acts=True)

    def _follow(self) -> None:
        if not self.text.strip():
            return
        try:
            change = self.change.exactly("head", map(tuple, self.off))
            trace = self.model.trace(self.text, self.pair, change=change)
            self.data, self.answer = self._drawn(trace), answer(trace)
        except SentvizError as error:
            self.answer = str(error)

    def took(self, name: str, value: Mapping[str, Any]) -> None:
        """Silence a head, or switch it on again, or note the map that was picked."""
        at, has = value.get("at"), self.model.capabilities
        sizes = {"silence": (has.layers, has.heads), "pick": (has.layers, has.heads, has.components + 1)}.get(name)
        if sizes is None or not isinstance(at, list) or len(at) != len(sizes) or any(type(i) is not int for i in at):
            return
        layer, head, part = (*at, 0)[:3]
        if not (0 <= layer < sizes[0] and (-1 if name == "pick" else 0) <= head < sizes[1] and 0 <= part <= has.components):
            return
        self.chosen = layer, head if head >= 0 else "mean", part - 1 if part else "effective"
        if name == "silence":
            self.off = sorted({*map(tuple, self.off)} ^ {(layer, head)})


class Particles(View):
    """The animation of a hardmax transformer. `token` is the place of the selected token, -1 if none is selected."""

    _esm = _module(particles.HERE, "particles")
    token = traitlets.Int(-1)

    def heard(self, message: Any) -> None:
        """Take a message of the view; a token of null selects nothing."""
        if message == {"name": "token", "value": None}:
            self.token = -1
        super().heard(message)

    def took(self, name: str, value: Mapping[str, Any]) -> None:
        """Note the selected token."""
        place = value.get("index")
        if name == "token" and type(place) is int and 0 <= place < len(self.data["words"]):
            self.token = place


class Points(View):
    """Rows as points. `selected` holds the places of the rows inside the outline that was drawn last."""

    _esm = _module(points.HERE, "points")
    selected = traitlets.List()

    def took(self, name: str, value: Mapping[str, Any]) -> None:
        """Note the rows inside an outline."""
        layer, corners, n, dims = value.get("layer"), value.get("corners"), self.data["n"], self.data["dims"]
        places = np.frombuffer(b64decode(self.data["places"]), dtype="<f4").reshape(-1, n, dims)
        if name != "outline" or dims != 2 or type(layer) is not int or not 0 <= layer < len(places) or not isinstance(corners, list):
            return
        if all(isinstance(at, list) and len(at) == 2 and all(type(c) in (int, float) for c in at) for at in corners):
            self.selected = np.flatnonzero(inside(places[layer], corners)).tolist() if len(corners) > 2 else []


class Through(View):
    """A training run with its epochs. `row` is the place of the row that was clicked last, -1 if none was clicked."""

    _esm = _module(film.HERE, "through")
    row = traitlets.Int(-1)

    def took(self, name: str, value: Mapping[str, Any]) -> None:
        """Note the row that was clicked."""
        place = value.get("row")
        if name == "row" and type(place) is int and 0 <= place < self.data["n"]:
            self.row = place


def view_of(subject: Trace | Scene | film.Film | Mapping[str, Any], model: Model | None = None, theme: Theme = "light") -> View:
    """Return the view of an object; the arguments are those of `sentviz.widget`."""
    if isinstance(subject, Trace):
        from sentviz.models.loading import load

        return Canvas(subject, model or load(subject.run), theme)
    if isinstance(subject, Scene):
        return Particles(particles.scene_data(subject), theme)
    if isinstance(subject, film.Film):
        return Through(film.through_data(subject, asks=True), theme)
    return Points(subject, theme)
