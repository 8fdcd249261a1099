"""The measured table of the hardmax paper: what other matrices A do."""

from __future__ import annotations

from pathlib import Path

from sentviz.papers.studies.stored import Stored

STATEMENTS = {  # without those that need the norm of A
    "leaders": "A leader exists",
    "convergence": "All tokens converge",
    "finite layers": "Leaders stop",
    "vertices": "Leaders are the vertices",
    "boundary": "Limits on the boundary",
}
MATRICES = Stored(
    Path(__file__).parent / "measured" / "matrices.csv",
    ("kind", "runs", "points", "single", *STATEMENTS),
    "What other matrices do is",
    "python -m experiments hardmax matrices",
    ("kind",),
)
