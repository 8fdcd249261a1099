"""The paper's claims with their verdicts."""

from __future__ import annotations

from collections.abc import Sequence

from app.views.papers import claims_part
from sentviz.runs import Run

__all__ = ["show"]


def show(runs: Sequence[Run]) -> None:
    found = claims_part.verdicts(runs, ["sentiformer"])
    claims_part.counted(found)
    claims_part.listed(found)
