"""Figures of the hardmax paper, from all runs that studies read, and of the first run that fits."""

from __future__ import annotations

from collections.abc import Collection
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from sentviz.analysis.testset.leaders import NEAR
from sentviz.charts import gallery
from sentviz.charts.chart import Axis, Chart, Drawing, Rule, line
from sentviz.charts.colours import blend, colour_scale
from sentviz.charts.figure import Figure, annotate, lay_out, sentence
from sentviz.charts.look import Look
from sentviz.charts.measured_vs_printed import measured_beside_printed
from sentviz.charts.panels import panel_axes, panel_grid, path
from sentviz.charts.particles import decoder_probability
from sentviz.charts.plane import View, decision_line, hull
from sentviz.charts.registry import figure
from sentviz.charts.scene import Scene, leaders_by_size, scene_of_review, together
from sentviz.charts.subjects import Runs, Sentence, Study, sourced
from sentviz.charts.text import as_text
from sentviz.errors import InputError
from sentviz.io.lazy import go, pd
from sentviz.io.numbers import PERCENT, number, percent
from sentviz.papers.hardmax import study
from sentviz.papers.hardmax.study import EXAMPLE, NAMED, WANTED, beside, by_row, surveyed, trained, with_weights
from sentviz.papers.studies.compare_configurations import points
from sentviz.papers.studies.items import of_first

Doubles = npt.NDArray[np.float64]

PANEL = 330  # pixels: a panel, with its share of the space around it
HIGH = 300
NARROW = 620  # pixels; in narrower figures, panels are below each other
AROUND = (44, 50, 14, 42)  # left, top, right, bottom
LINES = {"q50": "half of the reviews", "mean": "mean", "q05": "19 of 20 reviews"}


@figure("hardmax-accuracy", "Test accuracy by dimension", Study)
def _hardmax_accuracy(of: Study) -> Figure:
    """Draw accuracies by setting and dimension, single seeds too, next to those of the authors' public code."""
    every = by_row(of.runs)
    if not every:
        raise InputError("There is no hardmax run: `sentviz train imdb --model hardmax-d2` trains one.")
    title, reference = "Test accuracy by dimension", "the public code's best"
    drawn = measured_beside_printed(beside(of.runs), points(every), title=title, percent=True, reference=reference)
    return sourced(drawn, *chain.from_iterable(every.values()))


@figure("hardmax-nearness", "Share of words at a leader, by the distance that counts as near", Study)
def _hardmax_nearness(of: Study, *, d: int = 2) -> Figure:
    """Draw the share of a review's words at a leader after the last layer by the distance that counts as near, for the first measured seed
    of a dimension. Dotted lines mark the limits of our claim.

    Frame:
        nearness, mean, q05, q50 (shares of words: mean over reviews, shares that 19 of 20 and half of them reach), n.
    """
    table = study.NEARNESS.read()
    run = next((run for run in trained(of.runs).get(d, []) if run.digest in set(table["digest"])), None)
    if run is None:
        raise InputError(f"No run of d = {d} has a measured nearness: `{study.NEARNESS.command}` measures it.")
    rows = table[table["digest"] == run.digest].drop(columns=["d", "run", "digest"]).sort_values("nearness").reset_index(drop=True)
    drawn = rows.melt("nearness", list(LINES), "column", "share").assign(name=lambda frame: frame["column"].map(LINES))
    lines = line(drawn, "nearness", "share", by="name", size=0.7, hover="within {nearness:.2g}: {share:.1%}, {name}")
    ends = rows["nearness"].to_numpy(float)[[0, -1]]
    decades = 10.0 ** np.arange(np.floor(np.log10(ends[0])), np.ceil(np.log10(ends[1])) + 1)
    ticks = {decade: number(100 * decade, max(0, round(-2 - np.log10(decade))), unit=PERCENT) for decade in decades.tolist()}
    across = Axis("near: within this share of the largest norm", log=True, span=(ends[0] * 0.8, ends[1] * 1.25), ticks=ticks)
    down = Axis("share of words", ".0%", span=(0, 1.02))
    title, rules = f"Words near a leader after {run.capabilities.layers} layers", [Rule(x=NEAR), Rule(y=WANTED)]
    caption = (
        "Lines: the share of words at a leader that half of the reviews reach, that 19 of 20 reviews reach, and the mean. Dotted: the"
        f" limits of our test, {percent(WANTED, 0)} of the words within {percent(NEAR, 0)} (the poster names no number); n ="
        f" {int(rows['n'].max()):,}."
    )
    chart = Chart(title, [lines], across, down, rules=rules, dashed=None, ends="{name}")
    return sourced(Figure("nearness", chart, rows, caption), run)


@figure("hardmax-components", "A review through embedding, transformer and decoder", Study)
def _hardmax_components(of: Study, *, text: str = "", decoder: bool = True) -> Figure:
    """Draw the tokens of a review in the embedding, their places after the last layer, and the distance of each place from the line: of the
    first run with d = 2 that has weights, by default of our example.

    Args:
        decoder: draw the third panel.
    Frame:
        panel, token, word, x, y (of the decoder: the distance from the line, and no y), leader, place (number of its cluster), probability.
    """
    from sentviz.models.hardmax import HardmaxModel

    run = next(iter(with_weights(of.runs)), None)
    if run is None:
        raise InputError("No hardmax run of d = 2 with weights is installed: `sentviz train imdb --model hardmax-d2` trains one.")
    model = HardmaxModel.of(run)
    scene, name = scene_of_review(run, model, model.follow(text or EXAMPLE)), "hardmax-components" if decoder else "hardmax-clusters"
    parts = [_rows(scene, 0), _rows(scene, scene.layers), *([_distances(scene)] if decoder else [])]
    sentences = [
        f"Diamonds: the {len(scene.leaders)} leaders; ×n is the number of tokens at a place. Dashed: the decision line; colours: the"
        f" decoder's probability, orange for {scene.labels[0]}, blue for {scene.labels[1]}. Cross: the mean.",
        "Decoder: the distance of each place from the line." if decoder else "",
    ]
    picture = Drawing(_draw, {"scene": scene, "marked": NAMED, "decoder": decoder})
    return sourced(Figure(name, picture, pd.concat(parts, ignore_index=True), sentence(sentences)), run)


def _draw(look: Look, scene: Scene, marked: Collection[str], decoder: bool) -> go.Figure:
    """Draw the panels side by side, in a narrow picture below each other."""
    assert scene.probabilities is not None
    p = float(scene.probabilities[-1])
    answer = f"{scene.labels[int(p >= 0.5)]} {percent(max(p, 1 - p), 0)}"
    titles = ["Embedding: every word is a point", f"Transformer: clusters after {scene.layers} layers", f"Decoder: the mean is {answer}"]
    titles = titles[: 3 if decoder else 2]
    width = look.room
    across = 1 if 0 < width < NARROW else len(titles)
    down = -(-len(titles) // across)
    size = (width or PANEL * len(titles), HIGH * down + (AROUND[1] + AROUND[3]) // 2)
    plot, places = panel_grid(titles, across, look, apart=0.05, below=0.11 * (down - 1), size=12)
    lay_out(plot, look, f"A review of {len(scene.words)} words through the three components", size, AROUND, showlegend=False)
    for panel, (layer, place) in enumerate(zip((0, scene.layers), places, strict=False)):
        _plane(plot, scene, layer, panel, place, size, marked, look)
    if decoder:
        _decoder(plot, scene, places[2], look)
    return plot


def _plane(
    plot: go.Figure,
    scene: Scene,
    layer: int,
    panel: int,
    place: dict[str, Any],
    size: tuple[int, int],
    marked: Collection[str],
    look: Look,
) -> None:
    """Draw the tokens after a layer with the names that have room."""
    assert scene.decision is not None and scene.means is not None
    colours, z = look.colours, scene.positions[layer]
    domain = [plot.get_subplot(place["row"], place["col"])[k].domain for k in (0, 1)]
    inner = tuple(
        round((ends[1] - ends[0]) * (side - AROUND[k] - AROUND[k + 2])) for k, (ends, side) in enumerate(zip(domain, size, strict=True))
    )
    every = np.concatenate([scene.positions.reshape(-1, 2), np.zeros((1, 2)), scene.means])
    view = View.around(every, inner, (70, 50))
    if layer:
        ways = scene.positions[: layer + 1].transpose(1, 0, 2)
        lines = np.concatenate([ways, np.full((len(ways), 1, 2), np.nan)], axis=1).reshape(-1, 2)
        path(plot, lines, colours.muted, 0.8, opacity=0.5, **place)
    around = hull(z)
    path(plot, z[[*around, around[0]]], colours.lines[0], 1, **place)
    decision_line(plot, scene.decision, view, colours.ink, **place)
    probability = decoder_probability(scene.decision, z)
    leads, scale = _leads(scene), {"colorscale": colour_scale(colours.probability), "cmin": 0, "cmax": 1}
    for rows, symbol, dot in ((~leads, "circle", 8), (leads, "diamond", 13)):
        at = np.flatnonzero(rows)
        plot.add_scatter(
            x=z[at, 0],
            y=z[at, 1],
            mode="markers",
            marker={"size": dot, "symbol": symbol, "color": probability[at], **scale, "line": {"width": 1.2, "color": colours.ink}},
            text=[as_text(scene.words[i]) for i in at],
            hovertemplate="%{text} (%{x:.3f}, %{y:.3f})<extra></extra>",
            **place,
        )
    mean = scene.means[layer]
    cross = {"symbol": "circle-cross-open", "size": 14, "color": colours.ink, "line": {"width": 2}}
    plot.add_scatter(x=mean[:1], y=mean[1:], mode="markers", marker=cross, hovertemplate="mean<extra></extra>", **place)
    _names(plot, scene, layer, view, look, marked, panel_axes(panel))
    plot.update_xaxes(range=[view.low[0], view.high[0]], nticks=5, automargin=False, **place)
    plot.update_yaxes(range=[view.low[1], view.high[1]], nticks=5, automargin=False, **place)


def _rows(scene: Scene, layer: int) -> pd.DataFrame:
    """Return the rows of the frame for the tokens after a layer."""
    assert scene.decision is not None
    z = scene.positions[layer]
    frame = _tokens(scene, "transformer" if layer else "embedding", z[:, 0]) | {"y": z[:, 1], "leader": _leads(scene)}
    return pd.DataFrame(frame | {"place": together(z), "probability": decoder_probability(scene.decision, z)})


def _distances(scene: Scene) -> pd.DataFrame:
    """Return the rows of the frame for the decoder: the distance of each token of the last layer from the line."""
    assert scene.decision is not None
    z, (w, b) = scene.positions[-1], scene.decision
    away = (z @ w + b) / (float(np.linalg.norm(w)) or 1.0)
    frame = _tokens(scene, "decoder", away) | {"y": np.nan, "leader": _leads(scene)}
    return pd.DataFrame(frame | {"place": together(z), "probability": decoder_probability(scene.decision, z)})


def _tokens(scene: Scene, panel: str, x: Doubles) -> dict[str, Any]:
    return {"panel": panel, "token": np.arange(len(scene.words)), "word": list(scene.words), "x": x}


def _leads(scene: Scene) -> npt.NDArray[np.bool_]:
    return np.isin(np.arange(len(scene.words)), scene.leaders)


def _names(plot: go.Figure, scene: Scene, layer: int, view: View, look: Look, marked: Collection[str], axes: dict[str, str]) -> None:
    """Write the names of leaders and of marked words, and of as many others as have room."""
    z, counted = scene.positions[layer], dict(leaders_by_size(scene, layer))
    named = list(dict.fromkeys([*counted, *(i for i, word in enumerate(scene.words) if word in marked)]))
    rest = [int(i) for i in np.argsort(-np.abs(z).sum(axis=1), kind="stable") if i not in set(named)] if not layer else []
    order = [*named, *rest]
    texts = [f"{scene.words[i]} ×{counted[i]}" if counted.get(i, 1) > 1 else scene.words[i] for i in order]
    marks = [(x - 8, y - 8, 16.0, 16.0) for x, y in view.pixels(z[named])] if named else []
    view.write(plot, look, z[order], texts, [n < len(named) for n in range(len(order))], occupied=marks, axes=axes)


def _decoder(plot: go.Figure, scene: Scene, place: dict[str, Any], look: Look) -> None:
    """Draw each place of the last layer at its distance from the decision line, the largest above, and the mean below them."""
    assert scene.decision is not None and scene.means is not None
    colours, z = look.colours, scene.positions[-1]
    w, b = scene.decision
    size = float(np.linalg.norm(w)) or 1.0
    groups, away = together(z), (z @ w + b) / size
    mean = float((scene.means[-1] @ w + b) / size)
    members = [np.flatnonzero(groups == group) for group in range(groups.max() + 1)]
    names = []
    for rows in members:
        leading = [i for i in rows if i in scene.leaders]
        word = as_text(scene.words[leading[0] if leading else rows[0]], 16)
        names.append(f"{word} ×{len(rows)}" if len(rows) > 1 else word)
    at = np.array([float(away[rows].mean()) for rows in members] + [mean])
    fills = blend(colours.probability, 1 / (1 + np.exp(-at * size)))
    for row, x in enumerate(at):
        path(plot, [(0, row), (x, row)], colours.muted, 1.4, **place)
    symbols = ["diamond" if set(rows) & set(scene.leaders) else "circle" for rows in members] + ["circle-cross-open"]
    plot.add_scatter(
        x=at,
        y=np.arange(len(at)),
        mode="markers",
        marker={
            "size": [13.0] * len(members) + [15.0],
            "symbol": symbols,
            "opacity": 1,
            "color": [*fills[:-1], colours.ink],
            "line": {"width": 1.4, "color": colours.ink},
        },
        customdata=[*names, "mean"],
        hovertemplate="%{customdata}: %{x:.3f} from the line<extra></extra>",
        **place,
    )
    reach = float(np.abs(at).max()) or 1.0
    plot.add_vline(x=0, line={"color": colours.ink, "width": 1.8, "dash": "dash"}, **place)
    across = {True: {"xanchor": "left", "xshift": 9}, False: {"xanchor": "right", "xshift": -9}}  # across the line from the mark
    style = {"x": 0, "showarrow": False, "font": {"size": 12, "color": colours.ink}} | panel_axes(2)
    notes = [
        {"y": row, "text": f"<b>{name} {'+' if x > 0 else ''}{number(float(x))}</b>"} | style | across[bool(x < 0)]
        for row, (x, name) in enumerate(zip(at, [*names, "mean"], strict=True))
    ]
    annotate(plot, notes)
    title = {"text": "distance from the line", "standoff": 4}
    plot.update_xaxes(range=[-1.25 * reach, 1.25 * reach], title=title, nticks=5, automargin=False, **place)
    plot.update_yaxes(range=[len(at) - 0.4, -0.6], showticklabels=False, showgrid=False, automargin=False, **place)


# ---- items of the poster that show one run


MAKERS = {
    "example": of_first(with_weights, lambda run: [gallery.make("token-step", Sentence(run, EXAMPLE))]),
    "vocabulary": of_first(surveyed, lambda run: [gallery.make("vocabulary", Runs.of(run), marked=NAMED)]),
    "leaders": of_first(surveyed, lambda run: [gallery.make("leaders", Runs.of(run), label=label) for label in run.labels]),
    "depth": of_first(surveyed, lambda run: [gallery.make("leaders-depth", Runs.of(run), measure="at leaders")]),
}
