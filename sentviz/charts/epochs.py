"""Predictions, attention, mistakes and vectors of a model after each epoch of its training, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from sentviz.analysis.epochs import EpochSeries, asked_of, epoch_series, examples, missing
from sentviz.charts.chart import Axis, Chart, Panels, cells, line, points
from sentviz.charts.confusion import WEIGHT, strength
from sentviz.charts.figure import Figure, file_safe, sentence
from sentviz.charts.heads import MEASURE_TITLES
from sentviz.charts.maps import cells_frame, component_slug, ends_of, head_slug, map_title
from sentviz.charts.options import Components, Heads, Layer, choice
from sentviz.charts.registry import RunRequirement, figure
from sentviz.charts.requirements import MAPS
from sentviz.charts.subjects import Runs, sourced
from sentviz.charts.text import shortened, token_label
from sentviz.errors import InputError, RunError
from sentviz.io.lazy import pd
from sentviz.io.numbers import percent
from sentviz.runs.trace import Trace

MEASURED = RunRequirement("measured epochs", missing)

READABLE = 24  # tokens up to which a small map shows their names
ACROSS = 4  # panels side by side
WRITTEN = 6  # classes up to which cells have room for numbers


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
    first, every = traces[0], np.stack(list(maps.values()))
    n, long = len(first.tokens), [token_label(token, i, 40) for i, token in enumerate(first.tokens)]
    frame = pd.concat(
        [cells_frame(first.tokens, range(n), range(n), values, epoch=epoch) for epoch, values in maps.items()], ignore_index=True
    )
    span, ticks = ends_of(every)
    drawn = frame.assign(where=[f"{long[query]} → {long[key]}" for query, key in zip(frame["query"], frame["key"], strict=True)])
    shades: Any = {"scale": "signed" if span[0] < 0 else "sequential", "span": span, "ticks": ticks}
    mark = cells(drawn, "key", "query", "attention", hover="epoch {epoch}, {where}: {attention:.3f}", **shades)
    names = {i: shortened(token, 12) for i, token in enumerate(first.tokens)}
    panels = Panels("epoch", {epoch: f"epoch {epoch}" for epoch in maps}, ACROSS, small=True)
    title, down = map_title(component, layer, head), Axis(rows=names, bare=n > READABLE)
    chart = Chart(title, [mark], Axis(rows=names, bare=True), down, panels=panels, square=True)
    caption = sentence(
        [
            f"Run {first.run}: layer {layer + 1} with the weights after each epoch, on one colour scale.",
            "Each row is a token; its cells show which tokens it reads.",
            "Purple is negative." if span[0] < 0 else "",
        ]
    )
    name = file_safe("epochs", "maps", f"layer{layer + 1}", head_slug(head), component_slug(component))
    return sourced(Figure(name, chart, frame, caption), of.run, split=of.sample, trace=traces[-1])


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
    low, high = at.min(axis=(0, 1)), at.max(axis=(0, 1))
    middle, half = (low + high) / 2, 0.54 * float((high - low).max()) or 1.0
    across, down = (Axis(span=(float(place - half), float(place + half)), bare=True) for place in middle)
    drawn = frame.assign(said=np.where(frame["right"], "right", "wrong"))
    dots: Any = {"size": 0.7, "hover": "labelled {label}, {said} after epoch {epoch}"}
    wrong = points(frame[~frame["right"]], "x", "y", symbol="circle-open", size=0.9, role="ink", name="wrong")
    panels = Panels("epoch", {epoch: f"epoch {epoch}" for epoch in seen.epochs}, ACROSS, small=True)
    marks = [points(drawn, "x", "y", by="label", **dots), wrong]
    series = {name: place for place, name in enumerate(classes)}
    chart = Chart("The same rows as points", marks, across, down, panels=panels, classes=classes, series=series, square=True)
    caption = sentence(
        [
            f"Each point is the vector of one of {count:,} rows that the classifier reads. An outline marks wrong predictions after"
            " that epoch.",
            f"PCA, {PICTURES[how]}.",
        ]
    )
    printed = frame.groupby(["epoch", "label"], sort=False).agg(rows=("row", "size"), right=("right", "sum")).reset_index()
    return Figure("epochs-points", chart, frame, caption, printed=printed)


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
