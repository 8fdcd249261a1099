"""Figures of explanation methods: how faithful they are on long texts, and beside exact values on short ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sentviz.analysis.explain import SCORES
from sentviz.analysis.explain.exact_comparison_table import has_referee, methods_of
from sentviz.analysis.explain.measured import faithfulness_of, has_faithfulness
from sentviz.errors import InputError
from sentviz.gallery.registry import RunRequirement, figure
from sentviz.gallery.subjects import Runs, Study, sourced
from sentviz.io.lazy import pd

if TYPE_CHECKING:
    from sentviz.figures.figure import Figure

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


@figure("faithfulness", "How faithful the explanations are", Runs, "methods:ranking", FAITHFULNESS)
def _faithfulness(of: Runs, *, metric: str = "comprehensiveness") -> Figure:
    from sentviz.figures.methods import ranking

    title, better = _of(RANKED, metric)
    frame = faithfulness_of(of.run)
    return ranking(_titled(frame[frame["metric"] == metric], "method"), title=title, better=better)


@figure("referee", "Which explanation to believe: every method beside exact values", Runs, "methods:ranking", REFEREE)
def _referee(of: Runs, *, metric: str = "first") -> Figure:
    from sentviz.figures.methods import ranking

    title, better = _of(HELD, metric)
    rows = _titled(rows_of_metric(methods_of(of.run), metric), "method")
    return ranking(rows, title=title, better=better, percent=metric in ("first", "signs"))


@figure("referee-curves", "What the words do that each explanation names first", Runs, "referee:referee_curves", REFEREE)
def _curves(of: Runs, *, methods: Sequence[str] = ()) -> Figure:
    from sentviz.figures.referee import referee_curves

    table = methods_of(of.run)
    names = [methods] if isinstance(methods, str) else list(methods) or drawn_first(table)
    points = (
        table["metric"]
        .str.extract(r"^(?P<curve>deletion|insertion)-(?P<point>\d+)$")
        .assign(point=lambda frame: frame["point"].astype(float))
    )
    frame = _titled(table.assign(**points)[points["point"].notna()], "method")
    return referee_curves(frame, [_title(name) for name in names], n=int(rows_of_metric(table, "first")["n"].max()))


@figure("referee-board", "Which explanation to believe: every run and method", Study, "referee:referee_board")
def _board(of: Study, *, metric: str = "first") -> Figure:
    from sentviz.figures.referee import referee_board

    title, better = _of(HELD, metric)
    runs = [run for run in of.runs if has_referee(run)]
    tables = [rows_of_metric(methods_of(run), metric).assign(run=run.name) for run in runs]
    return sourced(referee_board(board_rows(tables, better), title=title, better=better), *runs)


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


def _of(measures: dict[str, tuple[str, str]], metric: str) -> tuple[str, str]:
    if metric not in measures:
        raise InputError(f"There is no metric {metric!r}; there are {', '.join(measures)}.")
    return measures[metric]


def _title(name: str) -> str:
    return SCORES[name].title if name in SCORES else name


def _titled(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the frame with the titles of methods in place of their names."""
    return frame.assign(**{column: [_title(name) for name in frame[column]]})
