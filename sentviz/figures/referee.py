"""Explanation methods against exact values: curves of deletion and insertion, and the board of all runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, palette
from sentviz.figures.figure import DASHES, Figure, file_safe, lay_out, sentence
from sentviz.figures.matrix import matrix
from sentviz.figures.panels import band, dotted, legend_below, panel_grid
from sentviz.figures.text import as_run, as_text, label_width
from sentviz.io.lazy import pd

MOST = 6  # lines of a panel
_CELL, _ROW = 44, 25  # pixels of a cell of the board
CURVES = {"deletion": "The named words removed", "insertion": "Only the named words"}


def referee_curves(frame: pd.DataFrame, methods: Sequence[str], *, n: int, theme: Theme = "light") -> Figure:
    """Draw the mean probability while words are removed in the order of an explanation, and while they are added to an empty text.

    Args:
        frame: method, curve ("deletion" or "insertion"), point (0, 1 .. at even shares of the words), value, low, high; the method
            "random" is drawn as a line with its band from low to high.
        methods: methods to draw, at most 6, the most important first.
        n: number of texts.
    Frame:
        method, curve, share (of the words), probability, low, high.
    """
    if not 1 <= len(methods) <= MOST:
        raise InputError(f"This figure has room for 1 to {MOST} methods, not {len(methods)}.")
    if missing := [name for name in methods if name not in set(frame["method"])]:
        raise InputError(f"There is no curve of {missing[0]!r}.")
    colours, names = palette(theme), [*methods, "random"]
    data = frame[frame["method"].isin(names)].sort_values("point")
    data = data.assign(share=data["point"] / data["point"].max()).rename(columns={"value": "probability"})
    lines = dict(iter(data.groupby(["method", "curve"])))
    plot, places = panel_grid(list(CURVES.values()), 2, theme, apart=0.09, shared_yaxes=True)
    for curve, place in zip(CURVES, places, strict=True):
        first = place["col"] == 1
        if (chance := lines.get(("random", curve))) is not None:
            band(plot, chance["share"], chance["low"], chance["high"], colours.muted, 0.18, **place)
        for i, name in enumerate(names):
            if (line := lines.get((name, curve))) is None:
                continue
            style = dotted(colours, 1.6) if name == "random" else {"color": colours.line(i), "width": 2.2, "dash": DASHES[i % len(DASHES)]}
            plot.add_scatter(
                x=line["share"],
                y=line["probability"],
                mode="lines",
                name="random orders" if name == "random" else as_text(name, 40),
                legendgroup=name,
                showlegend=first,
                line=style,
                hovertemplate=f"{as_text(name, 40)}<br>%{{x:.0%}} of the words: %{{y:.3f}}<extra></extra>",
                **place,
            )
    lay_out(plot, theme, "What the words that a method names do", (760, 420), (60, 72, 20, 120), legend=legend_below(-0.24))
    plot.update_xaxes(range=[0, 1], tickformat=".0%", nticks=6, title_text="share of the words, in the method's order", automargin=False)
    plot.update_yaxes(range=[-0.02, 1.02], tickformat=".0%", automargin=False)
    plot.update_yaxes(title_text="mean probability of the prediction", row=1, col=1)
    tidy = data[["method", "curve", "share", "probability", "low", "high"]].reset_index(drop=True)
    caption = sentence(
        [
            f"Means over {n} short texts. A good method makes the left curve fall early, because the words that it names first decide the"
            " prediction, and the right curve rise early, because they are enough for it.",
            "The grey band has 95% of the means of random orders, 20 drawn for each text.",
        ]
    )
    return Figure(file_safe("referee-curves"), plot, tidy, caption)


def referee_board(frame: pd.DataFrame, *, title: str, better: str = "higher", theme: Theme = "light") -> Figure:
    """Draw a row per run and a column per method; colours compare each number with that of random explanations of the same texts.

    Args:
        frame: run, title (of the method), value, low, high, random, n; runs and methods are drawn in the order of their first rows.
        title: name of the number. better: "higher" or "lower".
    Frame:
        run, method, value, low, high, random, n, beyond (True if the interval does not reach the random value).
    """
    if frame.empty:
        raise InputError("No run of these has measured explanations.")
    colours, sign = palette(theme), 1 if better == "higher" else -1
    beyond = (frame["low"] > frame["random"]) if sign > 0 else (frame["high"] < frame["random"])
    best = 1.0 if sign > 0 else 0.0
    strength = ((frame["value"] - frame["random"]) / (best - frame["random"])).clip(-1, 1)
    data = frame.assign(beyond=beyond, shade=np.where(beyond, strength.clip(lower=0), np.minimum(strength, 0)))
    runs, methods = list(dict.fromkeys(data["run"])), list(dict.fromkeys(data["title"]))
    wide = {name: data.pivot(index="run", columns="title", values=name).reindex(index=runs, columns=methods) for name in ("value", "shade")}
    names, heads = [as_run(name, 34) for name in runs], [as_text(name, 30) for name in methods]
    left = 20 + round(max(label_width(name, 12) for name in names))
    top = 60 + round(max(label_width(name, 12) for name in heads))
    hover = data.assign(
        text=[
            f"{as_run(row['run'], 34)}, {as_text(row['title'], 30)}<br>{row['value']:.3f} [{row['low']:.3f}, {row['high']:.3f}],"
            f" random {row['random']:.3f}, n = {row['n']:.0f}"
            for row in data.to_dict("records")
        ]
    ).pivot(index="run", columns="title", values="text")
    percent = bool((data["value"].between(0, 1) & data["random"].between(0, 1)).all())
    texts = [[("" if np.isnan(v) else f"{100 * v:.0f}" if percent else f"{v:.2f}") for v in row] for row in wide["value"].to_numpy(float)]
    plot = matrix(
        theme,
        title,
        (left + 24 + _CELL * len(methods), top + 16 + _ROW * len(runs)),
        (left, top, 24, 16),
        wide["shade"],
        names,
        heads,
        colours.judged,
        texts=texts,
        customdata=hover.reindex(index=runs, columns=methods).fillna("").to_numpy(),
        hovertemplate="%{customdata}<extra></extra>",
    )
    caption = sentence(
        [
            f"{title}{', in %' if percent else ''}: {better} is better; {int(data['n'].min())} to {int(data['n'].max())} texts per run.",
            "Teal: better than random explanations of the same texts (95% bootstrap interval), the darker the closer to the exact values."
            " White and magenta: not better, the darker the worse.",
        ]
    )
    tidy = data.assign(method=data["title"])[["run", "method", "value", "low", "high", "random", "n", "beyond"]]
    return Figure(file_safe("referee-board"), plot, tidy.reset_index(drop=True), caption)
