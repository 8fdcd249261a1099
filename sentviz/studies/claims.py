"""Every claim of the papers, each with a test and a verdict."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sentviz.errors import SentvizError
from sentviz.papers.fused.claims import FUSED_CLAIMS
from sentviz.papers.hardmax.claims import HARDMAX_CLAIMS
from sentviz.papers.ndt.claims import NDT_CLAIMS
from sentviz.runs import Run
from sentviz.studies.claim import Claim, Finding

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CLAIMS", "Claim", "Finding", "judged"]

CLAIMS = {"NDT": NDT_CLAIMS, "Hardmax": HARDMAX_CLAIMS, "Sentiment-Fused": FUSED_CLAIMS}


def judged(runs: Iterable[Run], papers: Iterable[str] = CLAIMS) -> pd.DataFrame:
    """Every claim with its verdict: paper, claim, where, against, verdict, evidence."""
    import pandas as pd

    here = list(runs)
    rows = []
    for paper in papers:
        for claim in CLAIMS[paper]:
            try:
                finding = claim.test(here)
            except SentvizError as error:
                finding = Finding("cannot be told", str(error))
            rows.append((paper, claim.statement, claim.where, claim.against, finding.verdict, finding.evidence))
    return pd.DataFrame(rows, columns=["paper", "claim", "where", "against", "verdict", "evidence"])
