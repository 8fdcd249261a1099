"""Figures of clustering: values by layer of one run, values by layer over a data set, the most frequent leaders, and the vocabulary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from sentviz.charts.chart import Axis, Chart, Drawing, bars, line
from sentviz.charts.colours import Floats, colour_scale, see_through
from sentviz.charts.figure import Figure, file_safe, new_plot
from sentviz.charts.look import Look
from sentviz.charts.options import choice
from sentviz.charts.particles import followed
from sentviz.charts.plane import View, decision_line
from sentviz.charts.registry import RunRequirement, figure, table
from sentviz.charts.requirements import MOVING
from sentviz.charts.subjects import WEIGHTS, Runs, Sentence
from sentviz.charts.text import as_text
from sentviz.errors import InputError
from sentviz.io.lazy import go, pd
from sentviz.io.numbers import number, percent

FEW = 8  # counts up to which each whole number has a line
LEADERS = table("leaders.parquet", "leaders", "sentviz leaders")
MOST_UNREAD = 12  # words that are named of those that were not read
PLANE = RunRequirement(
    "an embedding of two dimensions",
    lambda run: (
        "" if run.shape.width == 2 else f"The embedding of {run.name} does not have two dimensions. The embedding of hardmax-d2 has two."
    ),
)


def layer_lines(values: Mapping[str, npt.ArrayLike], title: str, *, log: bool = False, axis: str = "", caption: str = "") -> Figure:
    """Draw values by layer of one run, each line with its name at its end.

    Args:
        values: name -> (K + 1,) from the start to the last layer; zeros are left out on a log axis.
        axis: title of the vertical axis. log: use a logarithmic axis.
    Frame:
        layer, measure, value.
    """
    if not values:
        raise InputError("There is nothing to draw.")
    frame = pd.concat(
        [pd.DataFrame({"layer": range(np.size(y)), "measure": name, "value": np.asarray(y, dtype=float)}) for name, y in values.items()],
        ignore_index=True,
    )
    drawn = frame[np.isfinite(frame["value"]) & ((frame["value"] > 0) | (not log))]
    small = {} if len(frame) <= 40 * len(values) else {"size": 0.4}
    lines = line(drawn, "layer", "value", by="measure", hover="{measure}, layer {layer}: {value:.3g}", **small)
    counts = bool((drawn["value"] % 1 == 0).all() and 0 < drawn["value"].max() <= FEW)
    down = Axis(axis, log=log, zero=not log, step=1.0 if counts and not log else 0.0)
    chart = Chart(title, [lines], Axis("layer"), down, dashed=None, ends="{measure}")
    return Figure(file_safe("per-layer", title), chart, frame, caption, from_zero=("layer",))


def _draw_words(
    look: Look,
    words: Sequence[str],
    at: Floats,
    score: Floats,
    leads: Floats,
    decision: tuple[npt.ArrayLike, float],
    named: int,
    ringed: npt.NDArray[np.int64],
) -> go.Figure:
    """Draw n words as dots, the decision line, and the names for which there is room.

    Args:
        at: (n, 2) embeddings. score, leads: (n,) log-odds, and reviews that each word leads. ringed: places of the marked words.
    """
    width, colours = look.room or 920, look.colours
    title = "The vocabulary and how often each word leads a review"
    height, margin = round(max(0.7 * width, min(width, 400))), (48, 48, 16, 44)
    plot = new_plot(look, title, (width, height), margin, showlegend=False)
    scale = {"cmin": 0, "cmax": 1, "colorscale": colour_scale(colours.probability), "showscale": False}
    shares = 1 / (1 + np.exp(-score))
    view = View.around(at, (width - 64, height - 92), (60, 60))
    sizes = np.where(leads > 0, 4 + min(34, 0.04 * view.inner[0]) * np.sqrt(leads / max(float(leads.max()), 1)), 3)
    texts, names = [as_text(word) for word in words], np.array(words, dtype=object)
    for some, opacity, rim in ((leads == 0, 0.45, 0.3), (leads > 0, 0.85, 0.8)):
        dots = {"size": sizes[some], "color": shares[some], "opacity": opacity, "line": {"width": rim, "color": colours.ink}, **scale}
        plot.add_scattergl(
            x=at[some, 0],
            y=at[some, 1],
            mode="markers",
            marker=dots,
            text=np.array(texts, dtype=object)[some],
            customdata=np.stack([leads[some], score[some]], axis=-1),
            hovertemplate="%{text}: leads %{customdata[0]:,} reviews, log-odds %{customdata[1]:.2f}<extra></extra>",
        )
    decision_line(plot, decision, view, colours.ink)
    order = np.argsort(-leads, kind="stable")[:named]
    order = order[leads[order] > 0]
    if len(ringed):
        ring = {"size": sizes[ringed] + 10, "symbol": "circle-open", "color": colours.ink, "line": {"width": 2.5}}
        plot.add_scatter(x=at[ringed, 0], y=at[ringed, 1], mode="markers", marker=ring, hoverinfo="skip")
        away = score[ringed] / np.linalg.norm(decision[0])
        names[ringed] = [f"{text} ({'+' if x > 0 else ''}{number(float(x))})" for text, x in zip(names[ringed], away, strict=True)]
        order = np.array([*ringed, *(i for i in order if i not in set(ringed))])
    gaps, ground = list(sizes[order] / 2 + 3), see_through(colours.paper, 0.7)
    view.write(plot, look, at[order], list(names[order]), [True] * len(order), gaps=gaps, ground=ground)
    plot.update_xaxes(range=[view.low[0], view.high[0]], title="z₁", constrain="domain", automargin=False)
    plot.update_yaxes(range=[view.low[1], view.high[1]], title="z₂", scaleanchor="x", constrain="domain", automargin=False)
    return plot


@figure("leaders-by-layer", "Leaders so far, layer by layer", Sentence, MOVING)
def _leaders_by_layer(of: Sentence) -> Figure:
    _, review = followed(of)
    clustering = review.clustering
    leading = [int((clustering.since <= k).sum()) for k in range(len(clustering.positions))]
    words = "Number of leaders up to each layer. A leader is a token that was alone in its C_i."
    return layer_lines({"leaders": leading}, "Leaders", caption=words)


@figure("leaders", "The most frequent leaders of a class", Runs, MOVING, LEADERS, WEIGHTS)
def _leaders(of: Runs, *, label: str = "", distance: float = -1.0, confidence: float = 0.95, top: int = 15) -> Figure:
    """Draw the most frequent leaders of the reviews of one class, with the decoder's score at each word.

    Frame:
        label, word, count, share, score, distance, n.
    """
    from sentviz.analysis.testset.leaders import farthest_leader, frequent
    from sentviz.models.hardmax import HardmaxModel

    model, reviews, label = HardmaxModel.of(of.run), of.run.frame("leaders.parquet"), label or of.run.labels[-1]
    if distance < 0:  # a third of how far leaders reach
        distance = farthest_leader(reviews, model) / 3
    frame = frequent(reviews, model.vocabulary, model.decision[0], distance=distance, confidence=confidence, top=top)
    rows = frame[frame["label"] == label].reset_index(drop=True)
    if rows.empty:
        raise InputError(f"No leader of {label} reviews passes the limits. Lower the distance or the confidence.")
    reach, hover = max(float(frame["score"].abs().max()), 1e-9), "{word}: {count:,} reviews, log-odds {score:.2f}"
    shade: Any = {"level": "score", "scale": "classes", "span": (-reach, reach)}
    drawn = bars(rows, "count", "word", text="{count:,} · {score:.1f}", hover=hover, **shade)
    chart = Chart(f"{label.capitalize()} reviews are led by", [drawn], Axis("reviews"), Axis(rows={word: word for word in rows["word"]}))
    n = int(rows["n"].max())
    caption = (
        f"Number of reviews that each word leads, among {n:,} correct and confident {label} reviews. The colour and the number after the"
        " dot"
        " are the decoder's log-odds at the word."
    )
    return Figure(file_safe("leaders", label), chart, rows, caption)


DEPTHS = {"clusters": "Number of places at which the words are", "at leaders": "Share of words at a leader"}


@figure("leaders-depth", "How fast texts cluster", Runs, MOVING, LEADERS)
def _leaders_depth(of: Runs, *, measure: Annotated[str, choice(DEPTHS)] = "clusters") -> Figure:
    """Draw a measure by layer over the reviews of a split: the median, and bands that contain half and nine tenths of the reviews.

    Frame:
        measure, layer, mean, q05, q25, q50, q75, q95, n.
    """
    from sentviz.analysis.testset.leaders import per_layer

    frame, share = per_layer(of.run.frame("leaders.parquet")), measure == "at leaders"
    rows = frame[frame["measure"] == measure].sort_values("layer")
    last, form = rows.iloc[-1], ".1%" if share else ".3g"
    median = percent(last["q50"], 0) if share else number(float(last["q50"]), 0)
    named = rows.assign(name=median)
    marks = [
        *(line(named, "layer", "q50", by="name", low=low, high=high, symbol="") for low, high in (("q05", "q95"), ("q25", "q75"))),
        line(rows, "layer", "q50", size=0.7, hover=f"layer {{layer}}: median {{q50:{form}}}"),
        line(rows, "layer", "mean", role=1, symbol="", dash="dash", hover=f"layer {{layer}}: mean {{mean:{form}}}"),
    ]
    ticks = {float(layer): str(layer) for layer in rows["layer"].astype(int)}
    across, down = Axis("after layer", ticks=ticks), Axis(form=".0%" if share else "", zero=True)
    chart = Chart(DEPTHS[measure], marks, across, down, ends="{name}")
    caption = f"Line: median; dashed: mean; bands: the middle 50 % and 90 % of the reviews; n = {int(last['n']):,}."
    return Figure(file_safe("layers", measure), chart, rows.reset_index(drop=True), caption, from_zero=("layer",))


@figure("vocabulary", "Every word at its embedding", Runs, MOVING, PLANE, LEADERS, WEIGHTS)
def _vocabulary(of: Runs, *, named: int = 40, marked: Sequence[str] = ()) -> Figure:
    """Draw each word of a model with d = 2 at its embedding; the area of a dot is the number of reviews that the word leads.

    Args:
        named: largest number of words with names, those that lead most.
        marked: words that get a ring and a name with their distance from the decision line.
    Frame:
        word, x0, x1, score, leads.
    """
    from sentviz.analysis.testset.leaders import leading
    from sentviz.models.hardmax import HardmaxModel

    model, labels = HardmaxModel.of(of.run), of.run.labels
    frame = leading(of.run.frame("leaders.parquet"), model.vocabulary)
    leads, ringed = frame["leads"].to_numpy(float), frame["word"].isin(list(marked))
    data = {"words": frame["word"].tolist(), "at": frame[["x0", "x1"]].to_numpy(float), "score": frame["score"].to_numpy(float)}
    data |= {"leads": leads, "decision": model.decision, "named": named, "ringed": np.flatnonzero(ringed)}
    caption = (
        f"{len(frame):,} words where the embedding puts them, {int((leads > 0).sum()):,} of which lead a review; the area grows with the"
        f" reviews led (largest {int(leads.max()):,}). Dashed: the decision line; orange {labels[0]}, blue {labels[1]}."
        + (" Rings: named words with their distance from the line." if ringed.any() else "")
    )
    most = frame.sort_values("leads", ascending=False, kind="stable").head(named)
    return Figure("vocabulary", Drawing(_draw_words, data), frame.reset_index(drop=True), caption, printed=most)


# ---- one review


def read_in_words(review: Any, base: Any, length: int) -> list[str]:
    """Return which words of a review a model read, which of them lead, and which it left out.

    Args:
        review: as it was read; base: without changes by hand. length: words that the model reads at most.
    """
    counts = Counter(review.words[i] for i in review.leaders)
    leaders = f"Leaders ({len(counts)}): {', '.join(counts)}." if counts else "No word is a leader."
    sentences = [f"Number of words read: {len(review.words)}. {leaders}"]
    if len(review.words) == 1:
        sentences.append("There is only one word. It attracts itself, so it does not move.")
    if some := list(dict.fromkeys(base.unknown)):
        more = f" and {len(some) - MOST_UNREAD:,} more" if len(some) > MOST_UNREAD else ""
        sentences.append(f"Not read because they are stop-words or unknown: {', '.join(some[:MOST_UNREAD])}{more}.")
    if base.dropped:
        sentences.append(f"{base.dropped:,} further words were not read, because the model reads only the first {length} words.")
    return sentences


def farthest_step(positions: npt.NDArray[np.float64]) -> int:
    """Return the token that moves furthest in the first layer, from its positions by layer, (K + 1, n, d)."""
    return int(np.linalg.norm(positions[min(1, len(positions) - 1)] - positions[0], axis=1).argmax())
