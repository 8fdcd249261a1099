"""Tables of the hardmax paper: what other matrices A do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sentviz.io.table import Column, Table
from sentviz.papers.studies.items import TableMaker, of_all
from sentviz.papers.studies.stored import Stored
from sentviz.runs.store import Run

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


def by_matrix(_: Sequence[Run]) -> Table:
    """Return the share of random runs in which each statement of the theorem is true, by kind of A."""
    frame = MATRICES.require()
    columns = [
        Column("kind", "A"),
        Column("points", "Points at the end", "{:g}", help="Median number of different points to which tokens converge"),
        Column("single", "One point, %", "{:.0f}", percent=True, help="Runs in which all tokens end at the same point"),
        *(Column(name, f"{title}, %", "{:.0f}", percent=True) for name, title in STATEMENTS.items()),
    ]
    caption = (
        f"{int(frame['runs'].iloc[0])} random runs of each kind in 2 to 4 dimensions, with 3 to 39 tokens and α from 0.2 to 3. The theorem"
        " is proved only for the first row. The other rows count random cases, which prove nothing."
    )
    return Table("matrices", "The theorem's statements for any A", frame, caption, columns)


TABLES: dict[str, TableMaker] = {"matrices": of_all(by_matrix)}
