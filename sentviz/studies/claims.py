"""Every claim of the papers, each with a test and a verdict."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sentviz.claim import Claim, Finding, unjudged
from sentviz.errors import SentvizError
from sentviz.registry import named, papers
from sentviz.runs import Run

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["BROKEN", "Claim", "Finding", "judged"]

BROKEN = "its test failed"


def judged(runs: Iterable[Run], names: Iterable[str] | None = None) -> pd.DataFrame:
    """Every claim with its verdict: paper, claim, where, against, verdict, evidence; parts, where it was judged on several kinds of rows.

    Args:
        names: of papers; all that have claims without.
    Raises:
        InputError: no such paper.
    """
    import pandas as pd

    here = list(runs)
    rows: list[tuple[object, ...]] = []
    for paper in map(named, papers() if names is None else names):
        try:
            claims = paper.all_claims()
        except SentvizError as error:
            rows.append((paper.short, "Its claims can be tested", "", "runs here", "cannot be judged here", str(error), ()))
            continue
        for claim in claims:
            try:
                finding = claim.test(here)
            except SentvizError as error:
                finding = unjudged(str(error))
            except Exception as error:  # one paper's mistake leaves the other papers' claims standing
                finding = unjudged(f"{BROKEN} ({type(error).__name__}: {error})")
            rows.append((paper.short, claim.statement, claim.where, claim.against, finding.verdict, finding.evidence, finding.parts))
    return pd.DataFrame(rows, columns=["paper", "claim", "where", "against", "verdict", "evidence", "parts"])
