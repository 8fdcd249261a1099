"""Figures of every paper: the board of its claims, and the poster of all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from sentviz.charts.registry import figure
from sentviz.charts.subjects import Study, sourced
from sentviz.io.lazy import pd
from sentviz.papers.studies.verdicts import runs_for_claims, verdicts
from sentviz.runs.registry import find_paper, papers
from sentviz.runs.store import Run

if TYPE_CHECKING:
    from sentviz.charts.figure import Figure


def _sets() -> Sequence[str]:
    return ["all", *(name for name, paper in papers().items() if paper.claims)]


@figure("claims-board", "Every claim with its verdict; of one paper by its name, or of all", Study, sets=_sets)
def _board(of: Study, *, chosen: str = "") -> Figure:
    names = None if of.name == "all" else [of.name]
    return drawn(verdicts(of.runs, names), of.runs, chosen=chosen)


def drawn(claims: pd.DataFrame, runs: Iterable[Run] = (), *, chosen: str = "", bare: bool = False) -> Figure:
    """Draw the board of claims that `judged` returned for these runs, with a title that counts them.

    The other options are those of `sentviz.charts.board.board`.
    """
    from sentviz.charts.board import board

    available = list(runs)
    sources = [run for name in dict.fromkeys(claims["name"]) for run in runs_for_claims(find_paper(name), available)]
    names = list(dict.fromkeys(claims["paper"]))
    many = f"{len(claims)} claims" if len(claims) != 1 else "one claim"
    title = f"{many.capitalize()} of {names[0] if len(names) == 1 else f'{len(names)} papers'}, each with its test"
    return sourced(board(claims, title=title, chosen=chosen, bare=bare), *sources)
