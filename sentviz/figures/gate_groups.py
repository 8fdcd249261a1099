"""Mean gates of groups of words over a complete split: lines over layers, and a cell for each group and layer."""

from __future__ import annotations

from typing import Literal

import numpy as np

from sentviz.errors import InputError
from sentviz.figures.cells import number_cells
from sentviz.figures.colours import Theme, palette
from sentviz.figures.figure import SYMBOLS, Figure, file_safe, lay_out, run_prefix, sentence
from sentviz.figures.panels import legend_below, with_interval
from sentviz.figures.text import as_text, text_columns
from sentviz.io.lazy import go, pd

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
_APART = 0.06  # distance of the marks of two classes, in layers


def gate_lines(frame: pd.DataFrame, *, run: str = "", theme: Theme = "light") -> Figure:
    """Draw the mean gate by layer, one line with intervals for each class of words.

    Args:
        frame: as `sentviz.analysis.maps.gates.over_split` gives it.
        run: its name, for the file and the caption.
    Frame:
        The drawn rows.
    """
    drawn = frame[frame["kind"].isin(["class", "all"]) & (frame["layer"] >= 0)].reset_index(drop=True)
    classes = [name for name in dict.fromkeys(drawn["name"]) if (drawn.loc[drawn["name"] == name, "kind"] == "class").all()]
    if not classes:
        raise InputError("No class of words was measured.")
    colours, layers = palette(theme), sorted(drawn["layer"].unique())
    plot = go.Figure()
    whole = drawn[drawn["kind"] == "all"].sort_values("layer")
    plot.add_scatter(
        x=whole["layer"] + 1,
        y=whole["value"],
        mode="lines",
        name="all tokens",
        line={"color": colours.muted, "width": 2, "dash": "dot"},
        hovertemplate="all tokens, layer %{x}: %{y:.3f}<extra></extra>",
    )
    for k, name in enumerate(classes):
        part = drawn[drawn["name"] == name].sort_values("layer")
        values = part[["value", "low", "high"]].to_numpy(float)
        colour, shift = colours.line(k), (k - (len(classes) - 1) / 2) * _APART
        plot.add_scatter(
            x=part["layer"] + 1 + shift,
            **with_interval("y", values, colour),
            mode="lines+markers",
            name=as_text(name),
            line={"color": colour, "width": 1.5},
            marker={"size": 8, "symbol": SYMBOLS[k % len(SYMBOLS)]},
            customdata=part[["layer", "low", "high", "shuffled_low", "shuffled_high", "tokens"]].assign(layer=part["layer"] + 1),
            hovertemplate=f"{as_text(name)}, layer %{{customdata[0]}}<br>%{{y:.3f}} [%{{customdata[1]:.3f}}, %{{customdata[2]:.3f}}]"
            "<br>shuffled %{customdata[3]:.3f} to %{customdata[4]:.3f}<br>%{customdata[5]:,} tokens<extra></extra>",
        )
    lay_out(plot, theme, "Mean gate by class of words", (640, 420), (56, 48, 20, 118), legend=legend_below(-0.2))
    plot.update_xaxes(
        tickvals=[layer + 1 for layer in layers], title_text="layer", title_standoff=4, range=[0.7, len(layers) + 0.3], automargin=False
    )
    plot.update_yaxes(range=[0, 1], dtick=0.2, title_text="gate: 0 shut, 1 open", title_standoff=6, automargin=False)
    caption = sentence(
        [
            f"{run_prefix(run)}mean gate over the tokens of each class, {_texts(frame)}; bars are 95% intervals over texts.",
            "Marks of one layer are moved apart so that their bars stay visible.",
            f"Lexicon of positive and negative words: {frame['lexicon'].iloc[0]}.",
        ]
    )
    return Figure(file_safe("gate-lines", run), plot, drawn, caption)


def gate_grid(
    frame: pd.DataFrame, *, kind: Literal["tag", "class", "word"] = "tag", most: int = 24, run: str = "", theme: Theme = "light"
) -> Figure:
    """Draw the mean gate of each group in each layer as cells, the group with the lowest gates first; the pointer shows intervals.

    Args:
        frame: as `sentviz.analysis.maps.gates.over_split` gives it.
        kind: which groups, keys of `KINDS`.
        most: groups drawn at most: half of them the most shut, half the most open.
        run: its name, for the file and the caption.
    Frame:
        The rows drawn; layer -1 = mean over layers.
    """
    if kind not in KINDS:
        raise InputError(f"Gates are grouped by {', '.join(KINDS)}, not by {kind!r}.")
    rows = frame[frame["kind"] == kind]
    if rows.empty:
        raise InputError(f"No {KINDS[kind]} was measured.")
    table = rows.pivot(index="name", columns="layer", values="value")
    table = table.loc[table[-1].sort_values(kind="stable").index]
    if len(table) > most > 1:
        table = pd.concat([table.head(most // 2), table.tail(most - most // 2)])
    drawn = rows[rows["name"].isin(table.index)].reset_index(drop=True)
    by = drawn.set_index(["name", "layer"])
    hover = [[_hover(by.loc[(name, layer)]) for layer in table.columns] for name in table.index]
    names = [as_text(f"{TAGS.get(name, '')} {name}".strip() if kind == "tag" else name, 24) for name in table.index]
    half = len(table) < rows["name"].nunique()
    plot = number_cells(
        table.to_numpy(float),
        names,
        ["mean" if layer < 0 else str(layer + 1) for layer in table.columns.astype(int)],
        title=f"Mean gate by {KINDS[kind]} and layer",
        top=1.0,
        left=24 + 7 * max(map(text_columns, names)),
        row=24,
        hover=hover,
        theme=theme,
    )
    caption = sentence(
        [
            f"{run_prefix(run)}mean gate of each group, 0 = shut, 1 = open, {_texts(frame)}. The column mean is over layers; rows are"
            " sorted by it.",
            f"The {len(table) // 2} words with the lowest and the {len(table) // 2} with the highest gates of {rows['name'].nunique()}"
            " frequent words."
            if half
            else "",
            f"Tags are those of the tagger {frame['tagger'].iloc[0]}." if kind == "tag" else "",
            "Point at a cell for its interval; the table has all intervals.",
        ]
    )
    return Figure(file_safe("gate-grid", kind, run), plot, drawn, caption)


def _hover(cell: pd.Series) -> str:
    low, high = ("?" if np.isnan(cell[side]) else f"{cell[side]:.3f}" for side in ("low", "high"))
    shuffled = f"shuffled {cell['shuffled_low']:.3f} to {cell['shuffled_high']:.3f}"
    return f"{cell['value']:.3f} [{low}, {high}]<br>{shuffled}<br>{cell['tokens']:,} tokens in {cell['n']:,} texts"


def _texts(frame: pd.DataFrame) -> str:
    return f"{int(frame['n'].max()):,} texts"
