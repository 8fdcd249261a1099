"""Explanation methods against exact values: curves of deletion and insertion, and the board of all runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

import numpy as np

from sentviz.analysis.explain import SCORES
from sentviz.analysis.explain.exact_comparison_table import has_referee, methods_of
from sentviz.analysis.explain.measured import faithfulness_of, has_faithfulness
from sentviz.charts.chart import Axis, Chart, Panels, cells, line
from sentviz.charts.figure import Figure, sentence
from sentviz.charts.methods import ranking
from sentviz.charts.options import choice
from sentviz.charts.registry import RunRequirement, figure
from sentviz.charts.subjects import Runs, Study, sourced
from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.runs.store import Run

MEASURE = "The explanations of {run} are not measured yet: `sentviz faithfulness {run}` measures them."
FAITHFULNESS = RunRequirement("measured explanations", lambda run: "" if has_faithfulness(run) else MEASURE.format(run=run.name))
NOT_HELD = "The explanations of {run} are not compared with exact values yet: `sentviz referee {run}` compares them."
REFEREE = RunRequirement("explanations compared with exact values", lambda run: "" if has_referee(run) else NOT_HELD.format(run=run.name))
RANKED = {
    "comprehensiveness": ("Comprehensiveness", "higher"),
    "sufficiency": ("Sufficiency", "lower"),
    "size": ("Rank correlation with the size of word removal's effect", "higher"),
}
HELD = {
    "first": ("Texts in which the most decisive word is found", "higher"),
    "signs": ("Words with the right sign", "higher"),
    "ranks": ("Rank correlation with the exact values", "higher"),
    "size": ("Rank correlation with the size of the exact values", "higher"),
    "error": ("Relative error of the scores", "lower"),
    "reached": ("Order of removal, from the worst possible (0) to the best (1)", "higher"),
    "comprehensiveness": ("Comprehensiveness", "higher"),
    "sufficiency": ("Sufficiency", "lower"),
    "deletion": ("Area under the deletion curve", "lower"),
    "insertion": ("Area under the insertion curve", "higher"),
    "patched-word": ("Rank correlation with the size of the effect of patching a word", "higher"),
    "patched-state": ("Rank correlation with the size of the effect of patching its state", "higher"),
    "patched-word-ranks": ("Rank correlation with the effect of patching a word", "higher"),
    "patched-state-ranks": ("Rank correlation with the effect of patching its state", "higher"),
}
TRIVIAL = ("first", "signs", "ranks", "size", "error")  # measures in which the exact values are perfect

SHORT = {  # titles of the measures that a page offers
    "first": "First word",
    "signs": "Signs",
    "ranks": "Ranks",
    "error": "Error",
    "reached": "Order",
    "comprehensiveness": "Comprehensiveness",
    "patched-word": "Patched words",
    "patched-state": "Patched states",
}
PATCHED = (
    "Effect of a mean state in the place of the word, after the embedding (patched words) or after half of the layers (patched states), on"
    " test texts of at most 30 words. After half of the layers, other words already hold what they read from it."
)

MOST = 6  # lines of a panel
CURVES = {"deletion": "The named words removed", "insertion": "Only the named words"}


@figure("faithfulness", "How faithful the explanations are", Runs, FAITHFULNESS)
def _faithfulness(of: Runs, *, metric: Annotated[str, choice(_titles(RANKED))] = "comprehensiveness") -> Figure:
    title, better = RANKED[metric]
    frame = faithfulness_of(of.run)
    return ranking(_titled(frame[frame["metric"] == metric], "method"), title=title, better=better)


@figure("referee", "Which explanation to believe: every method beside exact values", Runs, REFEREE)
def _referee(of: Runs, *, metric: Annotated[str, choice(_titles(HELD))] = "first") -> Figure:
    title, better = HELD[metric]
    rows = _titled(rows_of_metric(methods_of(of.run), metric), "method")
    figure = ranking(rows, title=title, better=better, percent=metric in ("first", "signs"))
    return replace(figure, caption=sentence([figure.caption, PATCHED])) if metric.startswith("patched") else figure


def measures_of(run: Run | None = None) -> dict[str, tuple[str, dict[str, str]]]:
    """Return the measures that a run has, or all of `SHORT`, as choices of a page: title and option by the text in links."""
    known = SHORT if run is None else set(methods_of(run)["metric"])
    return {name: (title, {"metric": name}) for name, title in SHORT.items() if name in known}


@figure("referee-curves", "What the words do that each explanation names first", Runs, REFEREE)
def _curves(of: Runs, *, methods: Sequence[str] = ()) -> Figure:
    """Draw the mean probability while words are removed in the order of an explanation, and while they are added to an empty text.

    Args:
        methods: at most 6, the most important first.
    Frame:
        method, curve, share (of the words), probability, low, high.
    """
    table = methods_of(of.run)
    titles = [_title(name) for name in ([methods] if isinstance(methods, str) else list(methods) or drawn_first(table))]
    places = (
        table["metric"]
        .str.extract(r"^(?P<curve>deletion|insertion)-(?P<point>\d+)$")
        .assign(point=lambda frame: frame["point"].astype(float))
    )
    frame = _titled(table.assign(**places)[places["point"].notna()], "method")
    if not 1 <= len(titles) <= MOST:
        raise InputError(f"This figure has room for 1 to {MOST} methods, not {len(titles)}.")
    if missing := [name for name in titles if name not in set(frame["method"])]:
        raise InputError(f"There is no curve of {missing[0]!r}.")
    data = frame[frame["method"].isin([*titles, "random"])].sort_values("point")
    data = data.assign(share=data["point"] / data["point"].max()).rename(columns={"value": "probability"})
    hover: Any = {"hover": "{method}<br>{share:.0%} of the words: {probability:.3f}", "symbol": ""}
    chance, lines = data[data["method"] == "random"], data[data["method"] != "random"]
    order = dict(zip(titles, range(len(titles)), strict=True))
    marks = [
        line(chance, "share", "probability", low="low", high="high", role="muted", dash="dot", faint=True, name="random orders", **hover),
        line(lines, "share", "probability", by="method", **hover),
    ]
    across = Axis("share of the words, in the method's order", ".0%", span=(0, 1))
    down = Axis("mean probability of the prediction", ".0%", span=(-0.02, 1.02))
    panels = Panels("curve", CURVES, 2)
    chart = Chart("What the words that a method names do", marks, across, down, panels=panels, series=order, dashed=None)
    tidy = data[["method", "curve", "share", "probability", "low", "high"]].reset_index(drop=True)
    n = int(rows_of_metric(table, "first")["n"].max())
    caption = sentence(
        [
            f"Means over {n} short texts. A good method makes the left curve fall early, because the words that it names first decide the"
            " prediction, and the right curve rise early, because they are enough for it.",
            "The grey band has 95 % of the means of random orders, 20 drawn for each text.",
        ]
    )
    return Figure("referee-curves", chart, tidy, caption)


@figure("referee-board", "Which explanation to believe: every run and method", Study)
def _board(of: Study, *, metric: Annotated[str, choice(_titles(HELD))] = "first") -> Figure:
    """Draw a row per run and a column per method; colours compare each number with that of random explanations of the same texts.

    Frame:
        run, method, value, low, high, random, n, beyond (True if the interval does not reach the random value).
    """
    title, better = HELD[metric]
    runs = [run for run in of.runs if has_referee(run)]
    frame = board_rows([rows_of_metric(methods_of(run), metric).assign(run=run.name) for run in runs], better)
    if frame.empty:
        raise InputError("No run of these has measured explanations.")
    sign = 1 if better == "higher" else -1
    beyond = (frame["low"] > frame["random"]) if sign > 0 else (frame["high"] < frame["random"])
    best = 1.0 if sign > 0 else 0.0
    strength = ((frame["value"] - frame["random"]) / (best - frame["random"])).clip(-1, 1)
    data = frame.assign(beyond=beyond, shade=np.where(beyond, strength.clip(lower=0), np.minimum(strength, 0)))
    percent = bool((data["value"].between(0, 1) & data["random"].between(0, 1)).all())
    hover = "{run}, {title}<br>{value:.3f} [{low:.3f}, {high:.3f}], random {random:.3f}, n = {n:.0f}"
    shades = data.assign(hundredths=100 * data["value"])
    text = "{hundredths:.0f}" if percent else "{value:.2f}"
    marks = [cells(shades, "title", "run", "shade", scale="judged", span=(-1, 1), text=text, hover=hover)]
    columns, rows = (Axis(rows={name: name for name in dict.fromkeys(data[key])}) for key in ("title", "run"))
    chart = Chart(title, marks, replace(columns, worth={name: -place for place, name in enumerate(columns.rows)}), rows)
    caption = sentence(
        [
            f"{title}{', in %' if percent else ''}: {better} is better; {int(data['n'].min())} to {int(data['n'].max())} texts per run.",
            "Teal: better than random explanations of the same texts (95 % bootstrap interval), the darker the closer to the exact values."
            " White and magenta: not better, the darker the worse. A narrow picture leaves out the last methods.",
        ]
    )
    tidy = data.assign(method=data["title"])[["run", "method", "value", "low", "high", "random", "n", "beyond"]]
    return sourced(Figure("referee-board", chart, tidy.reset_index(drop=True), caption), *runs)


def drawn_first(table: pd.DataFrame) -> list[str]:
    """Return the methods whose curves are drawn by default: exact values, removal, the best of gradients and of attention, the worst."""
    order = rows_of_metric(table, "first").query("method != 'random'").sort_values("value", ascending=False)["method"].tolist()
    best = [next((name for name in order if SCORES[name].needs == needs), "") for needs in ("gradients", "maps")]
    return list(dict.fromkeys(filter(None, ["exact", "removal", *best, order[-1]])))


def rows_of_metric(table: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the rows of a measure of `HELD`; without the exact values where these are perfect by definition."""
    rows = table[table["metric"] == metric]
    return rows[rows["method"] != "exact"] if metric in TRIVIAL else rows


def board_rows(tables: Sequence[pd.DataFrame], better: str) -> pd.DataFrame:
    """Return the rows of a board: runs by name, methods by their mean over runs, the best first; with their titles."""
    if not tables:
        return pd.DataFrame()
    rows = pd.concat(tables, ignore_index=True).query("method != 'random'")
    means = rows.groupby("method")["value"].mean().sort_values(ascending=better == "lower")
    place = rows["method"].map({name: i for i, name in enumerate(means.index)})
    return _titled(rows.assign(place=place, title=rows["method"]).sort_values(["run", "place"]), "title")


def _titles(measures: dict[str, tuple[str, str]]) -> dict[str, str]:
    return {name: title for name, (title, _) in measures.items()}


def _title(name: str) -> str:
    return SCORES[name].title if name in SCORES else name


def _titled(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the frame with the titles of methods in place of their names."""
    return frame.assign(**{column: [_title(name) for name in frame[column]]})
