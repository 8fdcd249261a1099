"""Tell whether a training went on until the validation loss no longer fell: stored for shipped runs, from the history for others.

`python -m sentviz.runs.catalog` writes the file: it names every shipped run whose files were all read without an error.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from sentviz.errors import SentvizError
from sentviz.io.files import replacing
from sentviz.runs.presets import papers_of
from sentviz.runs.registry import find_paper
from sentviz.runs.store import Run

LEAST_FALL = 0.01  # share of the validation loss; a smaller fall counts as none
STORED = Path(__file__).with_name("verified.csv")


class LateLoss(NamedTuple):
    """The validation loss of a run at the end of its training."""

    fall: float  # share of itself by which it fell over the last evaluation interval; negative if it rose, NaN before two evaluations
    waited: float  # epochs from its smallest value to its last; 0 without an evaluation


def late_loss(run: Run) -> LateLoss:
    """Return what the validation loss of a run did last; it is read once for each digest.

    Raises:
        RunError: the history is missing or damaged.
    """
    return verified().get(run.digest) or _read(run, run.digest)


def patience(run: Run) -> int:
    """Return the epochs without a smaller validation loss that the paper of a run's model waits for; 0 if it states no rule."""
    return max((find_paper(name).patience for name in papers_of(run.configuration)), default=0)


def converged(run: Run) -> bool | None:
    """Return whether the loss hardly fell over the last interval (`LEAST_FALL`), and the run waited as long as its own paper does.

    None means that it is unknown: there were fewer than two evaluations, or the history cannot be read.
    """
    try:
        late = late_loss(run)
    except SentvizError:
        return None
    return None if math.isnan(late.fall) else late.fall < LEAST_FALL and late.waited >= patience(run)


@lru_cache(maxsize=4096)
def _read(run: Run, digest: str) -> LateLoss:
    history = run.history()
    losses = history[history["name"] == "validation_loss"]
    values, epochs = losses["value"].to_numpy(float), losses["epoch"].to_numpy(float)
    fall = 1 - values[-1] / values[-2] if len(values) > 1 else math.nan
    return LateLoss(float(fall), round(float(epochs[-1] - epochs[values.argmin()]), 6) if len(values) else 0.0)


@cache
def verified() -> dict[str, LateLoss]:
    """Return what is stored, by digest of the runs; empty without the file."""
    lines = STORED.read_text(encoding="utf-8").splitlines()[1:] if STORED.is_file() else []
    return {digest: LateLoss(float(fall), float(waited)) for digest, fall, waited in (line.split(",") for line in lines)}


def store(runs: Iterable[Run]) -> None:
    """Write the digests of runs whose files were all read, with what their validation losses did last."""
    rows = ((run.digest, *_read(run, run.digest)) for run in runs)
    with replacing(STORED) as part:
        part.write_text("".join(f"{','.join(map(str, row))}\n" for row in [("digest", *LateLoss._fields), *rows]), encoding="utf-8")
