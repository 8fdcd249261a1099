"""Predictions, attention, mistakes and vectors of a model after each epoch of its training, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Annotated

import numpy as np
import numpy.typing as npt

from sentviz.analysis.epochs import EpochSeries, asked_of, epoch_series, examples, missing
from sentviz.charts.chart import Axis, Chart, Drawing, Panels, cells, line
from sentviz.charts.colours import class_colours
from sentviz.charts.confusion import WEIGHT, strength
from sentviz.charts.figure import Figure, file_safe, lay_out, sentence
from sentviz.charts.heads import MEASURE_TITLES
from sentviz.charts.look import Look
from sentviz.charts.maps import TITLE_PAD, Floats, cells_frame, coloraxis, component_slug, head_slug, map_title, title_lines
from sentviz.charts.options import Components, Heads, Layer, choice
from sentviz.charts.panels import FRAMELESS, legend_entry, panel_grid
from sentviz.charts.registry import RunRequirement, figure
from sentviz.charts.requirements import MAPS
from sentviz.charts.scatter import SYMBOLS
from sentviz.charts.subjects import Runs, sourced
from sentviz.charts.text import as_text, label_width, shortened, token_label
from sentviz.errors import InputError, RunError
from sentviz.io.lazy import go, pd
from sentviz.io.numbers import percent
from sentviz.runs.trace import Trace

MEASURED = RunRequirement("measured epochs", missing)

READABLE = 24  # tokens up to which a small map shows their names
ACROSS = 4  # panels side by side
SLIM = 130  # least pixels of a panel
WRITTEN = 6  # classes up to which cells have room for numbers


def _draw_maps(
    look: Look, title: str, epochs: Sequence[int], maps: Floats, tokens: Sequence[str], hovers: Sequence[Sequence[str]]
) -> go.Figure:
    """Draw maps (E, n, n) on one scale, with the names of rows where `tokens` has them."""
    left = 24 + round(max((label_width(token, 12) for token in tokens), default=0))
    plot, places, title, size = _epoch_grid(epochs, title, 104, left, 20, look)
    step = max(1, ceil(14 / ((size[1] - 124) / places[-1]["row"] - 30) * len(tokens)))
    ticks = list(range(0, len(tokens), step))
    for epoch, values, place in zip(epochs, maps, places, strict=True):
        plot.add_heatmap(
            z=values,
            coloraxis="coloraxis",
            customdata=hovers,
            hovertemplate=f"epoch {epoch}, %{{customdata}}: %{{z:.3f}}<extra></extra>",
            **place,
        )
        plot.update_yaxes(showticklabels=bool(tokens) and place["col"] == 1, **place)
    bar = coloraxis(maps, look.colours, above=34 / (size[1] - 124))
    lay_out(
        plot,
        look,
        title,
        size,
        (left, 104 + 20 * title.count("<br>"), 20, 20),
        coloraxis=bar,
        title_pad_t=TITLE_PAD + 10 * ("<br>" in title),
    )
    shared = {"showgrid": False, "automargin": False, "constrain": "domain"}
    plot.update_xaxes(showticklabels=False, **shared)
    plot.update_yaxes(autorange="reversed", tickvals=ticks, ticktext=[tokens[i] for i in ticks], **shared)
    return plot


def _draw_points(
    look: Look, epochs: Sequence[int], places: Floats, labels: npt.NDArray[np.int64], right: npt.NDArray[np.bool_], classes: Sequence[str]
) -> go.Figure:
    """Draw places (E, m, 2) of rows with labels (m,), and with an outline where `right` (E, m) is False."""
    fills, entry = class_colours(classes, look.colours), max(label_width(as_text(name, 16), 12) for name in classes) + 44
    plot, panels, title, size = _epoch_grid(epochs, "The same rows as points", 64, 16, 20, look)
    lines = ceil(len(classes) / max(1, (size[0] - 32) // entry))
    low, high = places.min(axis=(0, 1)), places.max(axis=(0, 1))
    middle, half = (low + high) / 2, 0.54 * float((high - low).max()) or 1.0
    for e, place in enumerate(panels):
        for k, name in enumerate(classes):
            rows = labels == k
            plot.add_scatter(
                x=places[e, rows, 0],
                y=places[e, rows, 1],
                mode="markers",
                showlegend=False,
                marker={
                    "size": 6,
                    "opacity": 0.8,
                    "color": fills[k],
                    "symbol": SYMBOLS[k % len(SYMBOLS)],
                    "line": {"width": np.where(right[e, rows], 0, 1.6), "color": look.colours.ink},
                },
                customdata=np.where(right[e, rows], "right", "wrong"),
                hovertemplate=f"labelled {as_text(name, 24)}, %{{customdata}} after epoch {epochs[e]}<extra></extra>",
                **place,
            )
        plot.update_xaxes(range=[middle[0] - half, middle[0] + half], **place)
        plot.update_yaxes(range=[middle[1] - half, middle[1] + half], scaleanchor="x" if e == 0 else f"x{e + 1}", **place)
    for k, name in enumerate(classes):
        sign = {"size": 8, "color": fills[k], "symbol": SYMBOLS[k % len(SYMBOLS)]}
        legend_entry(plot, as_text(name, 16), "markers", marker=sign)
    legend = {
        "orientation": "h",
        "x": 0,
        "y": 0,
        "yref": "container",
        "yanchor": "bottom",
        "itemsizing": "constant",
        "entrywidth": entry - 36,
    }
    lay_out(plot, look, title, (size[0], size[1] + 20 * lines), (16, 64 + 20 * title.count("<br>"), 20, 20 + 20 * lines), legend=legend)
    plot.update_xaxes(**FRAMELESS)
    plot.update_yaxes(**FRAMELESS)
    return plot


def _epoch_grid(
    epochs: Sequence[int], title: str, top: int, left: int, below: int, look: Look
) -> tuple[go.Figure, list[dict[str, int]], str, tuple[int, int]]:
    """Return a grid with a square panel for each epoch, in rows of about the same length, the place of each, the title in lines, and width
    and height of the figure in pixels.

    Args:
        top, left, below: margins in pixels.
    """
    most = max(1, min(ACROSS, (look.room - left - 20) // SLIM)) if look.room else ACROSS
    across = ceil(len(epochs) / ceil(len(epochs) / most))
    rows = ceil(len(epochs) / across)
    wide = look.room or 230 * across + left + 20
    side = (wide - left - 20 - 8 * (across - 1)) / across
    inner = rows * side + 30 * (rows - 1)
    plot, places = panel_grid(
        [f"epoch {epoch}" for epoch in epochs], across, look, apart=8 / (wide - left - 20), below=30 * rows / inner, size=12
    )
    title, more = title_lines(title, look)
    return plot, places, title, (wide, round(inner + top + below + more))


@dataclass
class Epochs(Runs):
    """A run after each of its epochs, and a sentence, by default the run's example, predicted with the weights of each epoch."""

    text: str | None = None
    pair: str | None = None

    @property
    def digests(self) -> tuple[str, ...]:
        """Empty: a visitor's sentence may decide the figures."""
        return ()

    @cached_property
    def series(self) -> EpochSeries:
        """The stored measurements of all epochs."""
        if self.versus:
            raise InputError("The epochs of one run only can be drawn. Leave versus out.")
        return epoch_series(self.run)

    @cached_property
    def traces(self) -> dict[int, Trace]:
        """Traces of the sentence by epoch: stored ones for the example, new ones for other sentences if the weights of epochs are stored.

        Raises:
            RunError: there is neither a stored trace nor stored weights.
        """
        traces, problems = examples(self.run) if self.text is None else asked_of(self.run, self.text, self.pair)
        if not traces:
            raise RunError(problems[0])
        return traces if self.calibrated else {epoch: trace.calibrated(1.0) for epoch, trace in traces.items()}

    def sourced(self, figure: Figure) -> Figure:
        """Return the figure with its run and the sample that was measured."""
        return sourced(figure, self.run, split=self.sample)

    @property
    def sample(self) -> str:
        """The rows that were measured, in words."""
        first = self.series.first
        return f"{len(first.ids):,} rows of {first.split} drawn with seed {first.seed}"


@figure("epoch-answers", "The prediction after each epoch", Epochs, MEASURED)
def _answers(of: Epochs) -> Figure:
    """Draw the prediction for one sentence after each epoch, one line per class.

    Frame:
        epoch, label, probability.
    """
    traces, epochs = list(of.traces.values()), list(of.traces)
    labels, shares = list(traces[0].labels), np.stack([trace.probabilities for trace in traces]).astype(float)
    frame = pd.DataFrame({"epoch": np.repeat(epochs, len(labels)), "label": labels * len(epochs), "probability": shares.ravel()})
    lines = line(frame, "epoch", "probability", by="label", hover="{label}, epoch {epoch}: {probability:.1%}")
    across, down = Axis("epoch", ticks={float(epoch): str(epoch) for epoch in epochs}), Axis(form=".0%", span=(-0.03, 1.03))
    chart = Chart("The prediction after each epoch", [lines], across, down, classes=labels, ends="{label} {probability:.0%}")
    caption = "Probability of each class for this sentence, with the weights after each epoch."
    return sourced(Figure("epochs-answer", chart, frame, caption), of.run, split=of.sample, trace=traces[-1])


@figure("epoch-maps", "One map after each epoch", Epochs, MAPS, MEASURED)
def _maps(of: Epochs, *, layer: Layer = 0, head: Heads = "mean", component: Components = "effective") -> Figure:
    """Draw one map of one sentence after each epoch, on one colour scale.

    Frame:
        epoch, query, query_token, key, key_token, attention.
    """
    traces = list(of.traces.values())
    maps = {epoch: trace.map(layer, head, component).astype(float) for epoch, trace in of.traces.items()}
    first, signed = traces[0], any(values.min() < 0 for values in maps.values())
    n, long = len(first.tokens), [token_label(token, i, 40) for i, token in enumerate(first.tokens)]
    data = {
        "title": map_title(component, layer, head),
        "epochs": list(maps),
        "maps": np.stack(list(maps.values())),
        "tokens": [as_text(token, 12) for token in first.tokens] if n <= READABLE else [],
        "hovers": [[f"{query} → {key}" for key in long] for query in long],
    }
    frame = pd.concat(
        [cells_frame(first.tokens, range(n), range(n), values, epoch=epoch) for epoch, values in maps.items()], ignore_index=True
    )
    caption = sentence(
        [
            f"Run {first.run}: layer {layer + 1} with the weights after each epoch, on one colour scale.",
            "Each row is a token; its cells show which tokens it reads.",
            "Purple is negative." if signed else "",
        ]
    )
    name = file_safe("epochs", "maps", f"layer{layer + 1}", head_slug(head), component_slug(component))
    return sourced(Figure(name, Drawing(_draw_maps, data), frame, caption), of.run, split=of.sample, trace=traces[-1])


@figure("epoch-confusion", "The confusion matrix after each epoch", Epochs, MEASURED)
def _confusion(of: Epochs) -> Figure:
    """Draw the confusion matrix of the same rows after each epoch; colours are shares of a label's rows.

    Frame:
        epoch, label, predicted (names), count, share.
    """
    epochs, table, classes = of.series.epochs, of.series.counts, of.run.labels
    with np.errstate(invalid="ignore"):
        shares = table / table.sum(axis=2, keepdims=True)
    right = np.trace(table, axis1=1, axis2=2) / table.sum(axis=(1, 2))
    at, label, predicted = np.indices(table.shape).reshape(3, -1)
    frame = pd.DataFrame(
        {
            "epoch": np.asarray(epochs)[at],
            "label": [classes[i] for i in label],
            "predicted": [classes[i] for i in predicted],
            "count": table.ravel(),
            "share": shares.ravel(),
        }
    )
    titles = {epoch: f"epoch {epoch} · {percent(part)} right" for epoch, part in zip(epochs, right, strict=True)}
    hover = "{label} predicted as {predicted}: {count:,} ({share:.1%})"
    text = "{count:,}" if len(classes) <= WRITTEN else ""
    named = frame.assign(level=strength(frame["share"], label == predicted))
    shades = cells(named, "predicted", "label", "level", scale="judged", span=(-1, 1), text=text, hover=hover)
    axis = Axis(rows={name: shortened(name, 12) for name in classes})
    chart = Chart("The same rows after each epoch", [shades], axis, axis, panels=Panels("epoch", titles, 3))
    caption = f"Counts of {table[0].sum():,} rows, labels down and predictions across. {WEIGHT}"
    return Figure("epochs-confusion", chart, frame, caption)


@figure("epoch-points", "The rows as points after each epoch", Epochs, MEASURED)
def _points(of: Epochs, *, how: str = "joint") -> Figure:
    """Draw the vectors of the same rows after each epoch as points, on the same axes; classes by colour and symbol, mistakes with an
    outline.

    Frame:
        epoch, row, label, right, x, y.
    """
    from sentviz.analysis.epochs import PICTURES, pictures

    seen, classes = of.series, list(of.run.labels)
    count, at = seen.vectors.shape[1], pictures(seen.vectors, how)
    labels, right = seen.first.labels[:count], seen.right[:, :count]
    data = {"epochs": list(seen.epochs), "places": at, "labels": labels, "right": right, "classes": classes}
    at_epoch, row = np.indices(right.shape).reshape(2, -1)
    frame = pd.DataFrame(
        {
            "epoch": np.asarray(seen.epochs)[at_epoch],
            "row": row,
            "label": [classes[k] for k in labels[row]],
            "right": right.ravel(),
            "x": at[..., 0].ravel(),
            "y": at[..., 1].ravel(),
        }
    )
    caption = sentence(
        [
            f"Each point is the vector of one of {count:,} rows that the classifier reads. An outline marks wrong predictions after"
            " that epoch.",
            f"PCA, {PICTURES[how]}.",
        ]
    )
    printed = frame.groupby(["epoch", "label"], sort=False).agg(rows=("row", "size"), right=("right", "sum")).reset_index()
    return Figure("epochs-points", Drawing(_draw_points, data), frame, caption, printed=printed)


@figure("epoch-heads", "What heads attend to after each epoch", Epochs, MAPS, MEASURED)
def _heads(of: Epochs, *, measure: Annotated[str, choice(MEASURE_TITLES)] = "entropy") -> Figure:
    """Draw one measure over the epochs, mean over heads, one line per layer with its band; the frame has the drawn rows."""
    frame = of.series.heads
    part = frame[(frame["measure"] == measure) & (frame["head"] < 0)].reset_index(drop=True)
    if part.empty:
        raise InputError(f"There is no measure {measure!r}. The measures of these epochs are {', '.join(dict.fromkeys(frame['measure']))}.")
    rows = part.sort_values("layer", kind="stable").assign(name=lambda rows: [f"layer {layer + 1}" for layer in rows["layer"]])
    hover = "{name}, epoch {epoch}: {value:.4f} [{low:.4f}, {high:.4f}]"
    lines = line(rows, "epoch", "value", by="name", low="low", high="high", hover=hover)
    across, down = Axis("epoch", ticks={float(epoch): str(epoch) for epoch in sorted(part["epoch"].unique())}), Axis(zero=True)
    chart = Chart(MEASURE_TITLES.get(measure, measure), [lines], across, down)
    caption = f"{MEASURE_TITLES.get(measure, measure)}, mean over heads and {int(part['n'].max()):,} texts, with 95 % intervals over texts."
    return Figure(file_safe("epochs", "heads", measure), chart, part, caption)
