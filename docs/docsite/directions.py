"""The removal of directions as tables, from the stored measurements."""

from __future__ import annotations

import pandas as pd

from docsite.explanations import claims_on_runs
from docsite.text import plain, table
from sentviz.analysis.causal.claims import CLAIMS
from sentviz.analysis.causal.direction_tables import board
from sentviz.runs.catalog import study_runs
from sentviz.runs.store import SHIPPED


def directions_board() -> str:
    """Return the accuracy of every measured run without its direction, beside the printed numbers, as Markdown."""
    frame = board(study_runs([SHIPPED]).runs)
    lines = [[_cell(name, value) for name, value in row.items()] for row in frame.to_dict("records")]
    return table([plain(str(name)) for name in frame], lines, right=range(1, len(frame.columns)))


def direction_claims() -> str:
    """Return the claims about directions with their findings on each run, as Markdown."""
    return claims_on_runs(CLAIMS, study_runs([SHIPPED]).runs)


def _cell(name: object, value: object) -> str:
    if pd.isna(value):  # type: ignore[call-overload]
        return "–"
    return str(value) if name in ("run", "n") else f"{value:.1f}"
