"""The prediction layer by layer, and the attention patterns of the heads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sentviz.analysis.maps.layers import head_patterns, verdict_by_layer
from sentviz.charts.chart import Axis, Chart, cells, line
from sentviz.charts.figure import Figure, file_safe
from sentviz.charts.options import Components
from sentviz.charts.registry import figure
from sentviz.charts.requirements import MAPS
from sentviz.charts.subjects import Sentence
from sentviz.errors import InputError
from sentviz.io.lazy import pd


def verdict_lines(labels: Sequence[str], probabilities: npt.ArrayLike) -> Figure:
    """Draw the class probabilities that the classifier gives for the states of each layer.

    Args:
        labels: names of the K classes.
        probabilities: (L + 1, K), row 0 = the embedding.
    Frame:
        layer (0 = embedding), label, probability.
    """
    shares = np.asarray(probabilities, dtype=float)
    if shares.ndim != 2 or shares.shape[1] != len(labels):
        raise InputError(f"{len(labels)} labels do not fit probabilities of shape {shares.shape}.")
    frame = pd.DataFrame(
        {"layer": np.repeat(range(len(shares)), len(labels)), "label": list(labels) * len(shares), "probability": shares.ravel()}
    )
    layers = {i: f"layer {i}" if i else "embedding" for i in range(len(shares))}
    named = frame.assign(place=frame["layer"].map(layers))
    lines = line(named, "layer", "probability", by="label", hover="{label}, {place}: {probability:.1%}")
    across, down = Axis(rows=layers), Axis(form=".0%", span=(-0.03, 1.03))
    chart = Chart("The prediction, layer by layer", [lines], across, down, classes=list(labels), ends="{label} {probability:.0%}")
    caption = (
        "Class probabilities if the model's final norm and classifier read the states of each layer. Only the states of the last layer"
        " were trained"
        " for this."
    )
    return Figure(file_safe("verdict-by-layer"), chart, frame, caption, from_zero=("layer",))


def head_table(patterns: pd.DataFrame) -> Figure:
    """Draw a row for each head and a column for each pattern; each column is coloured from its smallest to its largest value.

    Args:
        patterns: layer, head (counted from 0) and one column per pattern, as `sentviz.analysis.maps.layers.head_patterns` gives it.
    Frame:
        layer, head, habit, value.
    """
    habits = [name for name in patterns.columns if name not in ("layer", "head")]
    if patterns.empty or not habits:
        raise InputError("There is no head to draw.")
    values = patterns[habits].to_numpy(float)
    low, high = values.min(axis=0), values.max(axis=0)
    frame = patterns.melt(id_vars=["layer", "head"], var_name="habit", value_name="value")
    scaled = ((values - low) / np.where(high > low, high - low, 1)).ravel("F")
    named = frame.assign(level=scaled, row=[f"L{layer + 1} H{head + 1}" for layer, head in frame[["layer", "head"]].to_numpy(int)])
    shades = cells(named, "habit", "row", "level", text="{value:.2f}", hover="{row}, {habit}: {value:.3f}")
    columns, rows = (Axis(rows={name: name for name in dict.fromkeys(named[key])}) for key in ("habit", "row"))
    chart = Chart("What each head attends to", [shades], columns, rows)
    caption = (
        "Means over the tokens of the sentence: entropy as a share of its maximum, distance in tokens, the other columns as shares of the"
        " attention. Colours compare the heads of one column."
    )
    return Figure(file_safe("head-habits"), chart, frame, caption)


@figure("verdict-by-layer", "The classifier on every layer's states", Sentence)
def _verdict_by_layer(of: Sentence) -> Figure:
    return verdict_lines(of.trace.labels, verdict_by_layer(of.model, of.trace))


@figure("head-habits", "What each head does in this sentence", Sentence, MAPS)
def _head_habits(of: Sentence, *, component: Components = "effective") -> Figure:
    return head_table(head_patterns(of.trace, component))
