"""Write a report of a prediction as one HTML page: prediction, words, attention maps, the arithmetic of a cell, and its provenance.

The page needs no network.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Any

from plotly.offline import get_plotlyjs

from sentviz.analysis.calibration import calibration_line
from sentviz.analysis.explain import SCORES, available, headline
from sentviz.analysis.explain.notices import notices
from sentviz.analysis.maps.arithmetic import CellArithmetic
from sentviz.browser.page import page
from sentviz.charts import Figure, component_name
from sentviz.charts.gallery import make
from sentviz.charts.subjects import Sentence
from sentviz.errors import SentvizError
from sentviz.export.embedded_record import embed_record
from sentviz.export.record import Record
from sentviz.io.files import version
from sentviz.io.lazy import go
from sentviz.io.numbers import percent, signed
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace

MAX_MAPS = 24  # maps that fit into a printed report; if there are more, the components are left out first, then the middle layers
_PAGE = 680  # width of A4 without its margins, in pixels
DRAW = """
for (const figure of JSON.parse(document.getElementById("figures").textContent))
  Plotly.newPlot(figure.id, figure.data, figure.layout, { displaylogo: false, displayModeBar: false });
"""
STYLE = """
main { max-width: 1080px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 15px; font-weight: 400; color: var(--muted); margin: 0; }
h2 { font-size: 18px; margin: 2.2rem 0 .6rem; padding-top: .6rem; border-top: 1px solid var(--line); break-after: avoid; }
h3 { font-size: 14px; margin: 1.4rem 0 .3rem; break-after: avoid; }
blockquote { font-size: 20px; line-height: 1.4; margin: .6rem 0 1rem; overflow-wrap: anywhere; white-space: pre-wrap; max-width: 50rem; }
.verdict { font-size: 26px; font-weight: 600; margin: 0 0 .4rem; overflow-wrap: anywhere; }
ul { margin: .4rem 0; padding-left: 1.2rem; }
ol { font-family: "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: 13px; overflow-wrap: anywhere; }
figure { margin: .6rem 0 1.2rem; overflow-x: auto; break-inside: avoid; }
figcaption, .note { color: var(--muted); font-size: 12.5px; max-width: 46rem; overflow-wrap: anywhere; }
.pairs { display: grid; grid-template-columns: 1fr 1fr; gap: 0 1.5rem; }
@media (max-width: 1000px) { .pairs { grid-template-columns: 1fr; } }
table { border-collapse: collapse; }
td, th { text-align: left; font-weight: 400; vertical-align: top; padding: 2px 1.6rem 2px 0; overflow-wrap: anywhere; }
th { color: var(--muted); white-space: nowrap; }
tr { break-inside: avoid; }
@page { size: A4; margin: 15mm; }
@media print {
  body { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  main { max-width: none; margin: 0; padding: 0; }
  .pairs { grid-template-columns: 1fr 1fr; }
  .plot { zoom: var(--print); }
}
"""


def report_html(trace: Trace, run: Run, *, scores: Sequence[str] | None = None, arithmetic: CellArithmetic | None = None) -> str:
    """Return the report as one HTML page in light colours, for the screen and for A4.

    The page holds the `Record` of each figure, which `sentviz verify` reads.

    Args:
        trace: trace of one text, with attention maps if its model has them.
        run: run of the trace.
        scores: names of `sentviz.analysis.explain.SCORES`; by default all scores that the trace has.
        arithmetic: computation of one cell, shown in numbers.
    Raises:
        MissingMapError: the trace holds no attention maps, but its model has them.
    """
    figures: list[dict[str, Any]] = []
    records: list[Record] = []
    sentence = Sentence.of(run, trace)

    def show(figure: Figure, columns: int = 1) -> str:
        records.append(Record.of(figure))
        return figure_html(figure, columns, figures)

    text = trace.text if trace.text_pair is None else f"{trace.text}\n{trace.text_pair}"
    probabilities = (f"{label}: {percent(p)}" for label, p in zip(trace.labels, trace.probabilities, strict=True))
    body = [
        f"<main>\n<h1>How {escape(run.name)} decides</h1>",
        f'<blockquote dir="auto">{escape(text)}</blockquote>',
        f'<p class="verdict" dir="auto">{escape(headline(trace))}</p>',
        f"<noscript>{items_html(probabilities)}</noscript>",
        show(make("verdict", sentence, answered=False)),
        items_html(remark for _, remark in notices(trace, run)),
        "<h2>Words that decide the prediction</h2>",
        *_strips(sentence, scores, show),
        "<h2>Attention</h2>",
        *_maps(sentence, show),
        *(_arithmetic(arithmetic) if arithmetic else ()),
        "<h2>Provenance</h2>",
        table_html(_provenance(trace, run)),
        "<noscript><p>The script in this file draws the figures. Allow scripts to see them.</p></noscript>\n</main>",
    ]
    document = page(
        f"{trace.label}: {text[:60]}",
        "\n".join(body),
        style=STYLE,
        scripts=(get_plotlyjs(), DRAW),
        data={"figures": figures},
    )
    return embed_record(document.encode(), "html", Record.of_sheet("report", records)).decode()


def _strips(of: Sentence, scores: Sequence[str] | None, show: Callable[[Figure], str]) -> Iterable[str]:
    for name in available(of.trace) if scores is None else scores:
        title = f"<h3>{escape(SCORES[name].title if name in SCORES else name)}</h3>"
        try:
            yield title + show(make("strip", of, score=name))
        except SentvizError as error:
            if scores is not None:
                raise
            yield f'{title}<p class="note">{escape(str(error))}</p>'


def _maps(of: Sentence, show: Callable[[Figure, int], str]) -> Iterable[str]:
    """Yield the maps of each layer, mean over heads: the effective attention, then each component. Two maps of a short text share a row."""
    trace = of.trace
    if not of.run.capabilities.maps:
        yield f'<p class="note">{escape(of.run.name)} has no attention, so it has no attention map.</p>'
        return
    yield '<p class="note">High attention does not prove that a word matters. Word removal measures the effect of each word.</p>'
    components = trace.component_ids if trace.lambdas.shape[1] > 1 else ()
    kinds: list[int | str] = ["effective", *components]
    layers, left_out = list(trace.layer_ids), ""
    if len(kinds) * len(layers) > MAX_MAPS:
        kinds, left_out = ["effective"], "The maps of the single components are left out."
    if len(layers) > MAX_MAPS:
        layers, left_out = layers[: MAX_MAPS // 2] + layers[-MAX_MAPS // 2 :], f"Only the first and last {MAX_MAPS // 2} layers are shown."
    columns = 2 if len(trace.tokens) <= 24 and len(layers) > 1 else 1
    for kind in kinds:
        title = "Effective attention, which multiplies V" if kind == "effective" else f"Component {component_name(kind)}"
        side = 300 if columns == 2 else 520
        figures = [show(make("attention", of, layer=layer, component=kind, side=side), columns) for layer in layers]
        yield f"<h3>{title}, mean over heads</h3>"
        yield f'<div class="{"pairs" if columns == 2 else "column"}">{"".join(figures)}</div>'
    if left_out:
        yield f'<p class="note">{left_out}</p>'


def _arithmetic(cell: CellArithmetic) -> Iterable[str]:
    query, key = (f"“{cell.tokens[i]}” ({i + 1})" for i in (cell.query, cell.key))
    yield "<h2>How one weight is computed</h2>"
    yield f'<p dir="auto">{escape(f"Layer {cell.layer + 1}, head {cell.head + 1}: query {query}, key {key}.")}</p>'
    yield items_html(cell.steps(), "ol")


def _provenance(trace: Trace, run: Run) -> Iterable[tuple[str, str]]:
    config, shape, has = run.config, run.shape, run.capabilities
    yield "Run", f"{run.name}, digest {run.digest}, seed {config['recipe']['seed']}"
    attention = f"{has.heads} heads, {has.components} components, " if has.maps else ""
    yield "Model", f"{config['preset']}: {has.layers} layers, {attention}width {shape.width}, {config['parameters']:,} parameters"
    for layer, row in zip(trace.layer_ids, trace.lambdas, strict=False):
        if len(row) > 1:
            yield f"λ of layer {layer + 1}", ", ".join(signed(value, 3) for value in row)
    if run.has_rows:
        splits = (f"{name} n = {split['n']:,}, digest {split['digest']}" for name, split in config["data"]["splits"].items())
        yield "Data", f"{config['data']['name']} ({'; '.join(splits)})"
        test = run.metrics()["test"]
        accuracy = test["accuracy"]
        yield "Test", f"accuracy {percent(accuracy['value'], 2, ends=(accuracy['low'], accuracy['high']))}, n = {test['n']:,}"
        yield "Calibration", calibration_line(run)
    yield "Trained", f"{config.get('created', 'at an unknown date')} with {_versions(config)}"
    yield "Tokens", f"{len(trace.tokens):,}, {int(trace.unknown.sum()):,} of them not in the vocabulary"
    yield "Report", f"{datetime.now(UTC):%Y-%m-%d} with sentviz {version()}"


def _versions(config: dict[str, Any]) -> str:
    return ", ".join(f"{name} {number}" for name, number in config.get("version", {}).items()) or "an unknown version"


def figure_html(figure: Figure, columns: int, figures: list[dict[str, Any]]) -> str:
    """Return the HTML of a figure's place and caption, and append its plot to `figures`."""
    plot = go.Figure(figure.plot)
    wide, high = int(plot.layout.width or 800), int(plot.layout.height or 480)
    name = f"figure-{len(figures) + 1}"
    figures.append({"id": name, **json.loads(plot.to_json())})
    fit = min(1.0, (_PAGE - 24 * (columns - 1)) / columns / wide)
    style = f"width:{wide}px;height:{high}px;--print:{fit:.3f}"
    words = escape(figure.caption)
    return (
        f'<figure><div class="plot" id="{name}" role="img" aria-label="{words}" style="{style}"></div>'
        f'<figcaption dir="auto">{words}</figcaption></figure>'
    )


def items_html(lines: Iterable[str], kind: str = "ul") -> str:
    """Return a list of lines, which are text; `kind` is "ul" or "ol"."""
    items = "".join(f'<li dir="auto">{escape(line)}</li>' for line in lines)
    return f"<{kind}>{items}</{kind}>"


def table_html(rows: Iterable[tuple[str, str]]) -> str:
    """Return a table of names and values, which are text."""
    lines = "".join(f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>' for name, value in rows)
    return f"<table>{lines}</table>"
