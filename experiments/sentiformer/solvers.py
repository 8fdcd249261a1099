"""Learn Proposition 2 with several seeds, as the page of SentiFormer does with one: `sentviz.papers.sentiformer.solvers`.

`python -m experiments sentiformer solvers --positions learned --seeds 3` trains with one kind of positions.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from experiments import parser
from experiments.writing import update
from sentviz.papers.sentiformer.separation import MEASURED
from sentviz.papers.sentiformer.solvers import POSITIONS, Setting, separate
from sentviz.papers.studies.timing import with_machine


def main(arguments: Sequence[str] = ()) -> None:
    """Train, and store in place of the rows with the same positions."""
    commands = parser(__name__, __doc__)
    commands.add_argument("--positions", nargs="+", choices=POSITIONS, default=["learned", "aware"])
    commands.add_argument("--seeds", type=int, default=3)
    options = commands.parse_args(arguments)
    for name in options.positions:
        frames = [separate(Setting(name, seed=seed)).accuracy.assign(seed=seed) for seed in range(options.seeds)]
        frame = pd.concat(frames).assign(positions=name, longest=Setting().longest)
        update(MEASURED, with_machine(frame[list(MEASURED.columns)]), ("positions",))
