"""Figures of 7ess-Xin: of its study, from all runs that studies read, and the importance of tokens in a layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import numpy as np

from sentviz.charts import gallery
from sentviz.charts.chart import Axis, Chart, Drawing, Rule, bars
from sentviz.charts.figure import Figure, annotate, file_safe, new_plot, sentence
from sentviz.charts.look import Look
from sentviz.charts.options import Layer, choice
from sentviz.charts.registry import figure
from sentviz.charts.requirements import MAPS
from sentviz.charts.subjects import Answers, Sentence, Study, sourced
from sentviz.charts.text import as_text, broken
from sentviz.errors import InputError
from sentviz.io.lazy import go, pd
from sentviz.io.numbers import percent
from sentviz.papers.sevenessxin import printed_tables
from sentviz.papers.sevenessxin.claims import BEST
from sentviz.papers.sevenessxin.printed_tables import DATASET, SENTENCES
from sentviz.papers.sevenessxin.study import curve, sized
from sentviz.papers.sevenessxin.versions import AT_EPOCHS, DRAWN, ROPE, VERSIONS, both
from sentviz.papers.studies.compare_configurations import points
from sentviz.papers.studies.items import PaperItem, of_first
from sentviz.runs.store import Run

METRICS = printed_tables.METRICS | {"validation_f1": "validation F1"}
Equal = Annotated[str, choice({"epochs": "equal epochs", "updates": "equal updates"})]
CURVE_COLOURS = (0, 1, 2, 4, 5)  # number of the colour of each version of `DRAWN`; 3, a grey, looks like 0 on a thin line
_HALF = 0.36  # half the height of a box, in rows
_WIDTH, _ROW, _MARGIN = 560, 50, (28, 44, 84, 12)  # pixels


@figure("versions-beside-print", "The ten versions of 7ess-Xin, measured and reported", Study, sets=lambda: [DATASET])
def _versions(of: Study, *, metric: Annotated[str, choice(METRICS)] = "accuracy") -> Figure:
    """Draw a metric of every version and phase: dots next to the printed diamonds."""
    from sentviz.charts.measured_vs_printed import measured_beside_printed
    from sentviz.papers.sevenessxin.study import beside, configurations

    by_version = configurations(of.runs)
    if not by_version:
        raise InputError(f"No version of 7ess-Xin is installed: `{printed_tables.train()}` trains them.")
    single = points(by_version, metric)
    single["model"] = single["model"].map(printed_tables.title)
    title = f"{METRICS[metric][0].upper()}{METRICS[metric][1:]} on Sentiment140"
    drawn = measured_beside_printed(beside(of.runs, metric), single, title=title, percent=True)
    return sourced(drawn, *(run for seeds in by_version.values() for run in seeds))


@figure("rope-gains", "RoPE and QK-norm against sinusoids, version by version", Study, sets=lambda: [DATASET])
def _gains(of: Study) -> Figure:
    """Draw the gains of the second phase, version by version."""
    from sentviz.charts.gains import gain_dots
    from sentviz.papers.sevenessxin.study import configurations, gains

    frame = gains(of.runs)
    if frame.empty:
        raise InputError(f"No version is installed in both phases: `{printed_tables.train()}` trains them.")
    printed = frame[["row", "printed"]].rename(columns={"printed": "value"}).dropna().assign(encoder="7ess-Xin")
    title, order = "Accuracy with RoPE and QK-norm", list(frame["row"])
    drawn = gain_dots(frame, printed, order=order, title=title, base="sinusoids", each="")
    by_version = configurations(of.runs)
    return sourced(drawn, *(run for version in frame["version"] for name in both([version]) for run in by_version[name]))


@figure("learning-curve", "Accuracy by number of training tweets", Study, sets=lambda: [DATASET])
def _curve(of: Study) -> Figure:
    """Draw the accuracy of V1 by the number of tweets."""
    from sentviz.charts.learning import learning_curve

    frame = curve(of.runs)
    if frame["value"].isna().all():
        raise InputError(f"No run of the learning curve is installed: `{printed_tables.train('sevenessxin-curve')}` trains them.")
    titles = {name: printed_tables.title(name) for name in both(VERSIONS[:1])}
    note = "All our points have the same number of updates. The reported V5 (80,000 tweets) and V1 (1,280,000) have more updates."
    drawn = learning_curve(frame, titles, title="Accuracy by number of training tweets", unit="tweets", note=note)
    return sourced(drawn, *(run for preset in titles for seeds in sized(of.runs, preset).values() for run in seeds))


@figure("version-curves", "Training of five versions of 7ess-Xin", Study, sets=lambda: [DATASET])
def _version_curves(of: Study, *, equal: Equal = "epochs") -> Figure:
    """Draw figures 2 to 4: losses and validation F1 of V1, V2, V3, V5 and V6 in the second phase, the first seed of each.

    Args:
        equal: what the trainings have in common; without runs of equal epochs, those of equal updates are drawn.
    """
    from sentviz.charts.curves import curves
    from sentviz.papers.sevenessxin.study import at_equal_epochs, configurations

    of_epochs = at_equal_epochs(of.runs) if equal == "epochs" else {}
    by_version = of_epochs if len(of_epochs.keys() & {f"{version}-{ROPE}" for version in DRAWN}) > 1 else configurations(of.runs)
    wanted = [f"{version}-{ROPE}" for version in DRAWN]
    by_title = {printed_tables.title(name): by_version[name][0] for name in wanted if name in by_version}
    numbers = [number for name, number in zip(wanted, CURVE_COLOURS, strict=True) if name in by_version]
    if not by_title:
        raise InputError(f"None of {', '.join(map(printed_tables.title, wanted))} is installed: `{printed_tables.train()}` trains them.")
    history = {title: run.history() for title, run in by_title.items()}
    stored = {title: run.config["best"]["step"] for title, run in by_title.items()}
    names = ("train_loss", "validation_loss", "validation_f1_positive")
    drawn = curves(history, names, stored=stored, x="epoch" if by_version is of_epochs else "step", series=numbers)
    lacking = [printed_tables.title(name) for name in wanted if name not in by_version and name in AT_EPOCHS]
    caption = f"{drawn.caption} Not installed: {', '.join(lacking)}." if lacking else drawn.caption
    return sourced(replace(drawn, name="version-curves", caption=caption), *by_title.values())


@figure("version-schema", "The encoder of a version of 7ess-Xin", Study, sets=lambda: [DATASET])
def _version_schema(of: Study, *, version: str = "7ess-v6-rope") -> Figure:
    """Draw figure 1 with the sizes in the configuration of a version's first run: a box for each part, and a frame around those of a layer.

    Frame:
        part, sizes, times (how often the part occurs, one after the other).
    """
    from sentviz.papers.sevenessxin.study import configurations

    by_version = configurations(of.runs)
    if version not in by_version:
        raise InputError(f"No run of {printed_tables.title(version)} is installed: `{printed_tables.train()}` trains it.")
    run = by_version[version][0]
    shape, classes = run.config["model"], " or ".join(run.labels)
    width, heads, rotary = shape["width"], shape["heads"], shape["positions"] == "rotary"
    attention = f"{heads} heads of {width // heads} numbers"
    parts = [
        ("Tweet", f"cleaned, byte-level BPE, at most {shape['max_length']} tokens"),
        ("Token embedding", f"{shape['vocab_size']:,} × {width}{'' if rotary else ', plus sinusoids of the position'}, dropout"),
        ("Attention", f"{attention}; {'RoPE, QK-norm with a learned temperature' if rotary else 'scores over the root of the head size'}"),
        ("Dropout, add, LayerNorm", f"{width} numbers a token"),
        ("Feed-forward", f"{width} to {shape['ffn_width']}, ReLU, to {width}"),
        ("Dropout, add, LayerNorm", f"{width} numbers a token"),
        ("Mean over the tokens", f"{width} numbers a tweet, padding {'masked' if shape['masked'] else 'read'}"),
        ("Linear classifier", f"{width} to {shape['classes']}: {classes}"),
    ]
    block, layers, title = range(2, 6), shape["layers"], f"The encoder of {printed_tables.title(version)}"
    caption = (
        "The parts of the model, the input at the top."
        f" {run.config['parameters']:,} parameters. Dropout {shape['dropout']:g}. The paper also has dropout on the attention weights and"
        " inside the feed-forward part, which this model lacks."
    )
    rows = [(name, sizes, layers if row in block else 1) for row, (name, sizes) in enumerate(parts)]
    picture = Drawing(_draw_schema, {"parts": parts, "block": block, "layers": layers, "title": title})
    return sourced(Figure(file_safe("schema", title), picture, pd.DataFrame(rows, columns=["part", "sizes", "times"]), caption), run)


def _draw_schema(look: Look, parts: Sequence[tuple[str, str]], block: range, layers: int, title: str) -> go.Figure:
    """Draw the boxes, as high as the longest sizes need; `block` are the places of those that each of the layers repeats."""
    width, colours = look.room or _WIDTH, look.colours
    sizes = [broken(as_text(text, 76), 1.05 * (width - _MARGIN[0] - _MARGIN[2]) * 0.94, 12) for _, text in parts]
    row_height = _ROW + 20 * max(text.count("<br>") for text in sizes)
    size = (width, row_height * len(parts) + _MARGIN[1] + _MARGIN[3])
    plot = new_plot(look, as_text(title, 60), size, _MARGIN, showlegend=False)
    shapes, notes = [], []
    for row, (name, _) in enumerate(parts):
        inside = {"fillcolor": colours.neutral, "line": {"color": colours.lines[0] if row in block else colours.muted, "width": 1.5}}
        shapes.append({"type": "rect", "x0": 0.03, "x1": 0.97, "y0": row - _HALF, "y1": row + _HALF} | inside)
        if row:
            joint = {"color": colours.muted, "width": 1.5}
            shapes.append({"type": "line", "x0": 0.5, "x1": 0.5, "y0": row - 1 + _HALF, "y1": row - _HALF, "line": joint})
        notes.append({"x": 0.5, "y": row, "text": f"<b>{as_text(name, 40)}</b><br>{sizes[row]}", "font": {"size": 12}})
    if block:
        edge = {"color": colours.lines[0], "width": 1.5, "dash": "dot"}
        shapes.append({"type": "rect", "x0": 0, "x1": 1, "y0": block[0] - 0.44, "y1": block[-1] + 0.44, "line": edge})
        words, middle = f"{layers} layer{'s' * (layers > 1)}", (block[0] + block[-1]) / 2
        side = {"xanchor": "left", "xshift": 8, "font": {"size": 13, "color": colours.lines[0]}}
        notes.append({"x": 1, "y": middle, "text": words} | side)
    plot.update_xaxes(visible=False, range=[0, 1])
    plot.update_yaxes(visible=False, range=[len(parts) - 0.5, -0.5])
    plot.update_layout(shapes=shapes)
    annotate(plot, notes)
    return plot


@figure("token-importance", "Attention that each token gets in a layer", Sentence, MAPS)
def _importance(of: Sentence, *, layer: Layer = 0) -> Figure:
    """Draw attention averaged over the heads, then over the queries (7ess-Xin, section IV-D3); the importances sum to 1, with the share on
    padding, which is not drawn. A line marks the even share.

    Frame:
        position, token, importance.
    """
    trace = of.trace
    values, real = trace.map(layer).mean(axis=0), len(trace.tokens) - trace.padding
    title, rest = f"Importance of each token in layer {layer + 1}", float(values[real:].sum())
    even = (1 - rest) / real
    frame = pd.DataFrame({"position": np.arange(real), "token": list(trace.tokens[:real]), "importance": values[:real].astype(float)})
    drawn = bars(frame, "position", "importance", hover="{token}: {importance:.1%}")
    chart = Chart(title, [drawn], Axis(rows=frame["token"].to_dict()), Axis(form=".0%", zero=True), [Rule(y=even)])
    caption = sentence(
        [
            f"{title}: attention that each token receives, mean over the rows of the map. The dotted line is an even share,"
            f" {percent(even)}.",
            f"{percent(rest, 0)} of the attention is on padding." if rest else "",
        ]
    )
    return Figure("token-importance", chart, frame, caption)


# ---- figures of one version


def _shown(runs: Sequence[Run]) -> list[Run]:
    """Return the first seed of each version of the paper, its best one first."""
    from sentviz.papers.sevenessxin.study import configurations

    return [seeds[0] for _, seeds in sorted(configurations(runs).items(), key=lambda item: item[0] != BEST)]


def _with_weights(runs: Sequence[Run]) -> list[Run]:
    return [run for run in _shown(runs) if run.has_weights]


def _of_sentences(run: Run) -> list[PaperItem]:
    """Draw the two sentences of the paper."""
    drawn = {kind: gallery.make("token-importance", Sentence(run, text)) for kind, text in SENTENCES.items()}
    return [replace(importance, name=f"token-importance-{kind}") for kind, importance in drawn.items()]


MAKERS = {
    "matrix": of_first(_shown, lambda run: [gallery.make("confusion", Answers(run))]),
    "importance": of_first(_with_weights, _of_sentences),
    "clouds": of_first(_shown, lambda run: [gallery.make("word-cloud", Answers(run), by="count", stops="wordcloud")]),
}
