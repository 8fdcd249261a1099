"""A paper as files: what its items are made of, which runs stand behind them, and its question answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sentviz.figures.figure import Figure
from sentviz.papers.ndt.tables import Table
from sentviz.runs import Run

__all__ = ["Made", "Maker", "Paper", "judged_claims"]

Made = Table | Figure
Maker = Callable[[Sequence[Run]], list[Made]]


@dataclass(frozen=True)
class Paper:
    """`makers` draw the live items of `<name>.toml` by their id, and under further names what we add; nothing where no run is here."""

    name: str
    makers: Mapping[str, Maker]
    runs: Callable[[Sequence[Run]], list[Run]]  # those of the study
    answers: Callable[[Sequence[Run]], list[str]]  # in sentences


def judged_claims(paper: str) -> Maker:
    """The verdicts on a paper's claims, as a table."""

    def make(runs: Sequence[Run]) -> list[Made]:
        from sentviz.studies.claims import judged

        words = "Every claim in our words, held against the paper's own tables, data sets, simulated runs or the runs here."
        return [Table("claims", "Claims", judged(runs, [paper]), words)]

    return make
