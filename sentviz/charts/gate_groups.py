"""Mean gates of groups of words over a complete split: lines over layers, and a cell for each group and layer."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from sentviz.analysis.maps.gates import FILE, verdict
from sentviz.charts.chart import Axis, Chart, cells, line, numbered
from sentviz.charts.figure import Figure, file_safe, sentence
from sentviz.charts.options import choice
from sentviz.charts.registry import figure, table
from sentviz.charts.requirements import GATE
from sentviz.charts.subjects import Runs
from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.io.numbers import number
from sentviz.io.table import Column, Table
from sentviz.runs.store import Run

GATES = table(FILE, "gates", "sentviz gates")

KINDS = {"tag": "part of speech", "class": "class of words", "word": "frequent word"}
TAGS = {
    "ADJ": "adjectives",
    "ADP": "prepositions",
    "ADV": "adverbs",
    "AUX": "auxiliaries",
    "CCONJ": "and, or, but",
    "DET": "determiners",
    "INTJ": "interjections",
    "NOUN": "nouns",
    "NUM": "numbers",
    "PART": "particles",
    "PRON": "pronouns",
    "PROPN": "names",
    "PUNCT": "marks",
    "SCONJ": "subordinators",
    "VERB": "verbs",
    "X": "other",
}
_SHUFFLED = "shuffled {shuffled_low:.3f} to {shuffled_high:.3f}<br>{tokens:,} tokens"
_APART = 0.06  # distance of the marks of two classes, in layers


def gates_in_words(run: Run) -> list[str]:
    """Return what the gates of a run say about the paper's claim, as sentences."""
    return verdict(run.frame(FILE))


def gates_table(run: Run) -> Table:
    """Return the mean gate of every group of words in each layer."""
    frame = run.frame(FILE)
    rows = frame[frame["kind"].isin(list(KINDS))].sort_values(["kind", "layer", "value"], kind="stable")
    layers = ["mean" if layer < 0 else str(layer + 1) for layer in rows["layer"]]
    shuffled = "95 % range of this mean when gate values are shuffled among the tokens of each text"
    spread = [f"{number(low, 3)} to {number(high, 3)}" for low, high in zip(rows["shuffled_low"], rows["shuffled_high"], strict=True)]
    columns = (
        Column("name", "word or group"),
        Column("by", words=KINDS),
        Column("layer"),
        Column("value", "mean gate", interval=("low", "high"), help="0 = shut, 1 = open; 95 % interval, resampling complete texts"),
        Column("shuffled", help=shuffled),
        Column("tokens"),
        Column("n", "texts", help="texts that have such a token"),
    )
    table = rows.assign(by=rows["kind"], layer=layers, shuffled=spread).reset_index(drop=True)
    return Table(file_safe("gates", run.name), "The mean gate of every group of words", table, f"{_texts(frame)}.", columns)


def _texts(frame: pd.DataFrame) -> str:
    return f"{int(frame['n'].max()):,} texts"


@figure("gate-lines", "The mean gate by class of words and layer", Runs, GATE, GATES)
def _gate_lines(of: Runs) -> Figure:
    """Draw the mean gate by layer, one line with intervals for each class of words."""
    frame = of.run.frame(FILE)
    drawn = frame[frame["kind"].isin(["class", "all"]) & (frame["layer"] >= 0)].reset_index(drop=True)
    classes = [name for name in dict.fromkeys(drawn["name"]) if (drawn.loc[drawn["name"] == name, "kind"] == "class").all()]
    if not classes:
        raise InputError("No class of words was measured.")
    layers = sorted(drawn["layer"].unique())
    counted = drawn.assign(place=drawn["layer"].astype(int) + 1).sort_values("layer", kind="stable")
    hover = "{name}, layer {place}<br>{value:.3f} [{low:.3f}, {high:.3f}]<br>" + _SHUFFLED
    whole: Any = {"role": "muted", "symbol": "", "dash": "dot", "name": "all tokens", "hover": "all tokens, layer {place}: {value:.3f}"}
    by_class: Any = {"by": "name", "low": "low", "high": "high", "whiskers": True, "apart": _APART, "hover": hover}
    marks = [
        line(counted[counted["kind"] == "all"], "place", "value", **whole),
        line(counted[counted["name"].isin(classes)], "place", "value", **by_class),
    ]
    across = Axis("layer", span=(0.7, len(layers) + 0.3), ticks={float(layer) + 1: str(layer + 1) for layer in layers})
    down = Axis("gate: 0 shut, 1 open", span=(0, 1), step=0.2)
    chart = Chart("Mean gate by class of words", marks, across, down, series=numbered(classes, ()), height=1.2)
    caption = sentence(
        [
            f"Run {of.run.name}: mean gate over the tokens of each class, {_texts(frame)}; bars are 95 % intervals over texts.",
            "Marks of one layer are moved apart so that their bars stay visible.",
            f"Lexicon of positive and negative words: {frame['lexicon'].iloc[0]}.",
        ]
    )
    return Figure(file_safe("gate-lines", of.run.name), chart, drawn, caption)


@figure("gate-grid", "The mean gate by part of speech or word", Runs, GATE, GATES)
def _gate_grid(of: Runs, *, kind: Annotated[str, choice(KINDS)] = "tag", most: int = 24) -> Figure:
    """Draw the mean gate of each group in each layer as cells, the group with the lowest gates first; the pointer shows intervals.

    Args:
        most: groups drawn at most: half of them the most shut, half the most open.
    Frame:
        The rows drawn; layer -1 = mean over layers.
    """
    frame = of.run.frame(FILE)
    rows = frame[frame["kind"] == kind]
    if rows.empty:
        raise InputError(f"No {KINDS[kind]} was measured.")
    table = rows.pivot(index="name", columns="layer", values="value")
    table = table.loc[table[-1].sort_values(kind="stable").index]
    if len(table) > most > 1:
        table = pd.concat([table.head(most // 2), table.tail(most - most // 2)])
    drawn = rows[rows["name"].isin(table.index)].reset_index(drop=True)
    names = {name: f"{TAGS.get(name, '')} {name}".strip() if kind == "tag" else name for name in table.index}
    half = len(table) < rows["name"].nunique()
    columns = {int(layer): "mean" if layer < 0 else str(layer + 1) for layer in table.columns.astype(int)}
    ends = {side: ["?" if np.isnan(value) else f"{value:.3f}" for value in drawn[side]] for side in ("low", "high")}
    hover = "{name}<br>{value:.3f} [{low}, {high}]<br>" + _SHUFFLED + " in {n:,} texts"
    shades = cells(drawn.assign(**ends), "layer", "name", "value", text="{value:.2f}", hover=hover)
    chart = Chart(f"Mean gate by {KINDS[kind]} and layer", [shades], Axis(rows=columns), Axis(rows=names))
    caption = sentence(
        [
            f"Run {of.run.name}: mean gate of each group, 0 = shut, 1 = open, {_texts(frame)}. The column mean is over layers; rows are"
            " sorted by it.",
            f"The {len(table) // 2} words with the lowest and the {len(table) // 2} with the highest gates of {rows['name'].nunique()}"
            " frequent words."
            if half
            else "",
            f"Tags are those of the tagger {frame['tagger'].iloc[0]}." if kind == "tag" else "",
            "Point at a cell for its interval; the table has all intervals.",
        ]
    )
    return Figure(file_safe("gate-grid", kind, of.run.name), chart, drawn, caption)
