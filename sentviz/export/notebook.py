"""How figures and traces show themselves where the last line of a cell is shown: in Jupyter, VS Code, Colab, and in stored notebooks."""

from __future__ import annotations

import html
import json
from base64 import b64encode
from typing import Any

from sentviz.analysis.explain import answer
from sentviz.browser.canvas import Scene, canvas_html
from sentviz.browser.canvas.scenes import scene_of
from sentviz.errors import RunError, SentvizError
from sentviz.export.chromium import find_browser
from sentviz.export.files import captioned, render
from sentviz.figures.figure import Figure, sentence
from sentviz.runs.configs import Capabilities
from sentviz.runs.store import find
from sentviz.runs.trace import Trace

PLOTLY = "application/vnd.plotly.v1+json"
ROWS = 20  # of a figure's numbers, where there is no picture
HEIGHT = 760  # pixels of the frame around a linked picture, which can be dragged


def figure_bundle(figure: Figure) -> dict[str, Any]:
    """A figure by MIME type: alive, with its caption below, where the page draws Plotly; else HTML with a picture of it, with the first of
    its numbers where no browser is here to make one; else its words.

    The picture is no output of its own: beside one, Plotly's extension of JupyterLab shows it in place of the live figure.
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
    """A trace as its linked picture, in a frame that may run its own script and reach nothing else; else its answer in words.

    Words are coloured where the trace says what each is worth: `sentviz.analysis.explain.explained` asks the model.
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
    """Those of its run; of a run that is not at hand, as far as the trace shows them."""
    try:
        return find(trace.run).capabilities
    except RunError:
        layers, components = trace.lambdas.shape
        maps, cls = trace.has_maps, trace.pooling == "cls"
        return Capabilities(layers, len(trace.head_ids), components, maps=maps, softmax=False, lambdas=components > 1, cls=cls)
