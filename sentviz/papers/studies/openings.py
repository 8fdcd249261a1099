"""The three lines that open a paper's page, with the numbers of its tested claims: what it says, what we found, and what is open.

The lines are data in the paper's folder, ``opening.toml`` (`sentviz.runs.registry.Opening`). Their words rest on verdicts. If the installed
runs give other verdicts, the second line says only that, and points to the board.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sentviz.analysis.claim import Finding
from sentviz.papers.studies.findings import fill
from sentviz.runs.registry import Paper

TITLES = ("The paper says", "We found", "Open")
OTHER_RUNS = "The installed runs are not those of the summary, and the verdicts on its claims differ. The board below shows them."


@dataclass(frozen=True)
class FilledOpening:
    """The opening of a page for some findings."""

    lines: tuple[tuple[str, str], ...]  # title and sentences
    figure: str = ""  # figure of the gallery
    of: str = "all"  # data set of the figure, or "all"


def opening_of(paper: Paper, findings: Mapping[str, Finding]) -> FilledOpening | None:
    """Return the opening of a paper's page, with numbers from the findings on its claims by key; None if the paper has none.

    Raises:
        SentvizError: its file cannot be read, or names a claim or a number that does not exist.
    """
    opening = paper.opening()
    if opening is None:
        return None
    known = all(key in findings and findings[key].verdict == verdict for key, verdict in opening.expects.items())
    texts = (opening.thesis, opening.result, opening.question) if known else (opening.thesis, OTHER_RUNS)
    lines = tuple((title, fill(" ".join(text.split()), findings)) for title, text in zip(TITLES, texts, strict=False))
    return FilledOpening(lines, opening.figure, opening.of)
