"""BertViz's head view, model view and neuron view of a trace, as one page that works without a network.

The scripts are those of the installed packages, unchanged: BertViz, d3 from mpld3, jQuery from XStatic-jQuery. Their files are read and
nothing is imported, since `import bertviz` loads torch. BertViz's template marker is a variable here; a few lines stand in for require.js.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sentviz.browser import neuron
from sentviz.browser.page import page
from sentviz.charts.colours import Theme, palette
from sentviz.charts.look import MONOSPACE
from sentviz.charts.maps import component_name
from sentviz.charts.text import as_text
from sentviz.errors import InputError, SentvizError
from sentviz.io.numbers import percent
from sentviz.runs.trace import Trace

View = Literal["head", "model", "neuron"]

LINES = {"head": 70_000, "model": 150_000, "neuron": 70_000}
"""Lines a view may draw, one a weight: the head view draws one layer, the model view all of them. The neuron view draws one head: four
lines or frames a weight, and a box for each number of a query, a key and their product.

Measured in Chromium without a GPU on two busy cores, from opening the file to the picture. Head view: 16,384 lines 0.8 s, 65,536 lines
1.6 s with 0.3 s a click, 262,144 lines 4 s with 1.3 s a click. Model view: 32,768 lines 0.9 s, 131,072 to 147,456 lines 2.5 to 3.2 s with
0.3 s to open a cell, 524,288 lines 12 s with 1.8 s to open one.
"""
WEIGHTS = 600_000
"""Weights a page may hold, at about seven bytes each: 12 x 12 maps of 64 tokens are 4.4 MB."""

_SHIM = """
var PYTHON_PARAMS = JSON.parse(document.getElementById("maps").textContent);
window.bertviz_params = PYTHON_PARAMS;
var require = { config: function () {} };
var requirejs = function (names, draw) { draw.apply(null, names.map(function (name) { return { jquery: jQuery, d3: d3 }[name]; })); };
"""
_NUMBERED = """
[["#layer", "include_layers"], ["#att_head", "include_heads"]].forEach(function (names) {
  document.querySelectorAll(names[0] + " option").forEach(function (option, i) { option.textContent = PYTHON_PARAMS[names[1]][i]; });
});
"""
_STYLE = """
body { margin: 0; padding: 4px 2px; }
p { margin: 0 0 .6rem; max-width: 60rem; color: var(--muted); font-size: 13px; overflow-wrap: anywhere; }
label { margin-right: 1.2rem; }
select { font: inherit; color: var(--ink); background: var(--faint); border: 1px solid var(--line); border-radius: 6px; padding: 2px 6px; }
#vis { margin-top: .7rem; overflow-x: auto; padding-bottom: 10px; }
#vis svg { overflow: visible; }
#vis text { fill: var(--ink); font-family: MONOSPACE; }
#vis svg[fill], #vis rect[fill="white"], #vis rect[fill="black"] { fill: var(--paper); }
#vis rect[fill="#F5F5F5"], #vis rect[fill="#222"], #vis rect.background { fill: var(--faint); }
#vis svg > g:last-child > rect[fill] { cursor: pointer; }
#vis svg > g:last-child > rect[fill^="rgb"] { opacity: .3; }
"""
_NEURON_STYLE = "#bertviz { background: var(--paper) !important; } #vis svg { min-width: 1010px; }\n"
_D3 = ("1f77b4", "ff7f0e", "2ca02c", "d62728", "9467bd", "8c564b", "e377c2", "7f7f7f", "bcbd22", "17becf")  # d3's schemeCategory10
_HELP = {
    "head": "Each square is a head: click to switch it on or off, double-click to show it alone. Point at a token to see only its lines.",
    "neuron": neuron.HELP,
    "model": "Click a cell to enlarge it, click again to close it. There, point at a token on the left to see only its lines.",
}


def bertviz_html(
    trace: Trace,
    view: View = "head",
    component: int | str = "effective",
    *,
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
    theme: Theme = "light",
) -> str:
    """Return BertViz's view of a trace as a page in one file; its labels of layers and heads count from 1.

    BertViz draws a weight as the opacity of a line, which ends at 0 and 1. Maps with a larger entry are divided by their largest one,
    negative entries are left out; a note above the view states both.

    Args:
        trace: with attention maps.
        view: all heads of one layer with their tokens, every head of every layer, or the queries and keys of one head.
        component: ``"effective"``, or a component counted from 0.
        layers, heads: layers and heads to show, counted from 0; by default all of the trace.
    Raises:
        MissingMapError: the trace does not have those maps.
        SentvizError: the packages are not installed.
    """
    if view not in _HELP:
        raise InputError(f"BertViz has a head view, a model view and a neuron view, not {view!r}.")
    layers = trace.layer_ids if layers is None else tuple(layers)
    heads = trace.head_ids if heads is None else tuple(heads)
    if not layers or not heads:
        raise InputError("At least one layer and one head must be shown.")
    _check(trace, view, len(layers), len(heads))
    of = neuron.vectors(trace, component, layers, heads) if view == "neuron" else None
    maps = of.maps if of else np.stack([[trace.map(layer, head, component) for head in heads] for layer in layers]).astype(float)
    largest = max(1.0, float(maps.max()))
    parts = _parts(trace, np.round(maps.clip(0) / largest, 4), 13 if view == "head" else 11, of)
    params = {
        "attention": parts,
        "default_filter": "0",
        "root_div_id": "bertviz",
        "display_mode": theme,
        "layer": 0 if of else layers[0] + 1,
        "head": 0,
        "bidirectional": True,
        "heads": None,
        "include_layers": [layer + 1 for layer in layers],
        "include_heads": [head + 1 for head in heads],
        "total_heads": _columns(len(trace.tokens), len(layers), len(heads)),
    }
    what = "effective attention, what multiplies V" if component == "effective" else f"{component_name(component)}, before mixing"
    about = of.words if of else _drawn(view, maps, largest)
    note = f"{trace.run}: {what}. {about} {_HELP[view]}"
    chosen = "".join(f'<option value="{i}">{html.escape(part["name"])}</option>' for i, part in enumerate(parts))
    controls = [] if view == "model" else ['<label>Layer <select id="layer"></select></label>']
    controls += ['<label>Head <select id="att_head"></select></label>'] if of else []
    controls += [f'<label>Attention <select id="filter">{chosen}</select></label>'] if len(parts) > 1 else []
    colours = palette(theme)
    heads_of = (*colours.lines, colours.accent, colours.wrong, colours.plus)
    style = _STYLE.replace("MONOSPACE", MONOSPACE) + "#vis text { font-size: 13px; }\n" * (
        view == "head"
    )  # 13 letters fit into BertViz's 110 pixels
    if of:
        style += _NEURON_STYLE
    style += "".join(
        f'[fill="#{old}"] {{ fill: {new}; }} [stroke="#{old}"] {{ stroke: {new}; }}\n' for old, new in zip(_D3, heads_of, strict=True)
    )
    body = f'<p dir="auto">{html.escape(note)}</p>\n<div id="bertviz">{"".join(controls)}<div id="vis"></div></div>'
    return page(
        f"BertViz {view} view · {trace.run}",
        body,
        theme=theme,
        style=style,
        scripts=(*_libraries(), _SHIM, _file("bertviz", f"bertviz/{view}_view.js"), *([_NUMBERED] if of else [])),
        data={"maps": params},
    )


def bertviz_height(trace: Trace, view: View, layers: int, heads: int) -> int:
    """Return the height in pixels that the page needs, from BertViz's own formula and the space of the note."""
    tokens = max(len(trace.query_ids), len(trace.tokens))
    if view == "head":
        return 160 + int(22.5 * tokens)
    if view == "neuron":
        return 250 + 26 * tokens
    cells = layers * (84 * tokens // _columns(tokens, layers, heads) + 10) + 38
    return 75 + max(cells, 18 * tokens + 55)


def _check(trace: Trace, view: View, layers: int, heads: int) -> None:
    each = len(trace.query_ids) * len(trace.tokens)
    weights = layers * heads * each
    lines = weights if view == "model" else weights // layers
    if view == "neuron" and trace.keys is not None:
        numbers = len(trace.tokens) * trace.keys.shape[-1]
        lines, weights = 4 * each + 3 * numbers, layers * heads * (each + 2 * numbers)
    stored = weights * (1 if trace.text_pair is None else 2)
    what = f"BertViz's {view} view of {len(trace.tokens):,} tokens, {layers} layers and {heads} heads"
    kind = "numbers" if view == "neuron" else "weights"
    choice = "choose fewer tokens, layers or heads, or the heatmap, which has no such limit"
    if lines > LINES[view]:
        raise InputError(f"{what} is {lines:,} lines, more than the {LINES[view]:,} that a browser draws smoothly: {choice}.")
    if stored > WEIGHTS:
        raise InputError(f"{what} holds {stored:,} {kind}, more than the {WEIGHTS:,} that a browser draws smoothly: {choice}.")


def _parts(trace: Trace, maps: npt.NDArray[np.float64], width: int, of: neuron.Vectors | None) -> list[dict[str, Any]]:
    """Return the choices of BertViz's filter: all tokens, and for a pair of texts each text to each text; with vectors, if given."""
    tokens = [html.unescape(as_text(token, width)) for token in trace.tokens]
    queries, sides = np.array(trace.query_ids, dtype=np.int64), trace.segments
    everything = (np.arange(len(queries)), np.arange(len(tokens)))
    chosen = {"All": everything}
    if trace.text_pair is not None:
        rows, cols = ([np.flatnonzero(of == side) for side in (0, 1)] for of in (sides[queries], sides))
        chosen |= {f"Text {'AB'[a]} → text {'AB'[b]}": (rows[a], cols[b]) for a in (0, 1) for b in (0, 1)}
    return [
        {
            "name": name,
            "attn": maps[:, :, rows[:, None], cols].tolist(),
            "left_text": [tokens[queries[i]] for i in rows],
            "right_text": [tokens[j] for j in cols],
            **({"queries": _short(of.queries[:, :, rows]), "keys": _short(of.keys[:, :, cols])} if of else {}),
        }
        for name, (rows, cols) in chosen.items()
        if len(rows) and len(cols)
    ]


def _short(values: npt.NDArray[np.float64]) -> list[Any]:
    rounded: list[Any] = np.round(values, 4).tolist()
    return rounded


def _columns(tokens: int, layers: int, heads: int) -> int:
    """Return the number of heads for which the model view is laid out. More than the model has make cells smaller, so that a tall view
    fits a screen better.

    BertViz gives a token 84 pixels divided by this number, and places the opened cell outside the picture when it is 1.
    """
    return max(heads, min(-(-84 * tokens * layers // 800), 16), 4)


def _drawn(view: View, maps: npt.NDArray[np.float64], largest: float) -> str:
    """Describe what the opacity of a line means, and which weights it cannot show."""
    words = "The opacity of a line is its weight"
    if largest > 1:
        words += f" divided by {largest:.2f}, the largest weight of these maps"
    if view == "head":
        words += ", shared by the heads that are switched on"
    if (left_out := -maps[maps < 0].sum() / max(np.abs(maps).sum(), np.finfo(float).tiny)) > 0:
        words += f". Negative weights, {percent(left_out)} of the absolute mass, cannot be drawn as lines; the heatmap shows them"
    return f"{words}."


@cache
def _libraries() -> tuple[str, str]:
    return _file("XStatic-jQuery", "xstatic/pkg/jquery/data/jquery.min.js"), _file("mpld3", "mpld3/js/d3.v5.min.js")


@cache
def _file(package: str, path: str) -> str:
    try:
        return Path(str(distribution(package).locate_file(path))).read_text(encoding="utf-8")
    except (PackageNotFoundError, OSError):
        raise SentvizError(f"BertViz's views need {path} of {package}: python -m pip install bertviz mpld3 XStatic-jQuery.") from None
