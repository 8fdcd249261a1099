"""Display figures and traces as the output of a notebook cell: in Jupyter, VS Code, Colab, and in stored notebooks."""

from __future__ import annotations

import html
import json
from base64 import b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sentviz.analysis.explain import answer
from sentviz.browser.canvas import Scene, canvas_html, scene_of
from sentviz.charts.figure import Figure, sentence
from sentviz.errors import InputError, RunError, SentvizError
from sentviz.export.chromium import find_browser
from sentviz.export.files import captioned, render
from sentviz.runs.configs import Capabilities
from sentviz.runs.store import find
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.browser.film import Film
    from sentviz.charts.colours import Theme
    from sentviz.charts.scene import Scene as Animation
    from sentviz.export.widgets import View
    from sentviz.models.model import Model

PLOTLY = "application/vnd.plotly.v1+json"
ROWS = 20  # rows of a figure's numbers that are shown if there is no picture
HEIGHT = 760  # pixels of the frame around a linked picture; a reader can drag it


def figure_bundle(figure: Figure) -> dict[str, Any]:
    """Return a figure by MIME type: as interactive Plotly figure with its caption, as HTML, and as the text of its caption.

    The HTML shows a picture, or the first rows of the numbers if no browser is installed to draw one. The picture has no output type of its
    own: Plotly's extension of JupyterLab would show it instead of the interactive figure.
    """
    plot = captioned(figure)
    words = sentence([figure.caption, figure.source])
    return {PLOTLY: json.loads(str(plot.to_json())), "text/html": _still(figure, int(plot.layout.width)), "text/plain": words}


def _still(figure: Figure, width: int) -> str:
    words = html.escape(sentence([figure.caption, figure.source]), quote=True)
    try:
        if find_browser() is not None:
            picture = b64encode(render(figure, "png")).decode()
            return f'<img src="data:image/png;base64,{picture}" width="{width}" alt="{words}">'
    except SentvizError:
        pass
    more = f"<p>{len(figure.frame) - ROWS:,} more rows.</p>" if len(figure.frame) > ROWS else ""
    return f'<p dir="auto">{words}</p>{figure.frame.head(ROWS).to_html(index=False)}{more}'


def trace_bundle(trace: Trace) -> dict[str, Any]:
    """Return a trace by MIME type: its linked picture in a sandboxed frame, and its prediction as text.

    Words are coloured if the trace has removal scores, which `sentviz.analysis.explain.explained` adds.
    """
    about = f"{trace.run}: {answer(trace)}"
    page = html.escape(canvas_html(_scene(trace), about=about), quote=True)
    frame = f'<iframe srcdoc="{page}" sandbox="allow-scripts" style="width: 100%; height: {HEIGHT}px; border: 0; resize: vertical"'
    return {"text/html": f'{frame} title="{html.escape(about, quote=True)}"></iframe>', "text/plain": f"{trace.text!r} {about}"}


def _scene(trace: Trace) -> Scene:
    has = _capabilities(trace)
    if "removal" in trace.token_scores:
        return scene_of(trace, has)
    return Scene(trace, has, title=f"“{trace.text}”")


def _capabilities(trace: Trace) -> Capabilities:
    """Return the capabilities of the trace's run; if the run is not installed, those that the trace shows."""
    try:
        return find(trace.run).capabilities
    except RunError:
        layers, components = trace.lambdas.shape
        maps, cls = trace.has_maps, trace.pooling == "cls"
        return Capabilities(layers, len(trace.head_ids), components, maps=maps, softmax=False, lambdas=components > 1, cls=cls)


def widget(subject: Trace | Animation | Film | Mapping[str, Any], *, model: Model | None = None, theme: Theme = "light") -> View:
    """Return a living view as the output of a cell: in Jupyter, VS Code and marimo the kernel answers what a reader does in it.

    Args:
        subject: a trace (its linked picture; `text` and `off` hold the sentence and the silenced heads), the scene of an animation
            (`token`), a film (`row`), or points as `sentviz.browser.points.points_data` returns them (`selected`
            holds the rows in the outline).
        model: the model that answers a typed sentence and a silenced head; without it the trace's run is loaded.
        theme: that of the notebook.
    Raises:
        InputError: anywidget is not installed.
    """
    try:
        from sentviz.export.widgets import view_of
    except ModuleNotFoundError as error:
        if error.name not in ("anywidget", "traitlets"):
            raise
        raise InputError(
            "A living view needs anywidget: pip install 'sentviz[notebook]'. A trace alone shows a picture without it."
        ) from error
    return view_of(subject, model, theme)
