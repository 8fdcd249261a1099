"""Two claims about one direction, tested on the stored measurements of six runs. The tests need neither torch nor data.

The printed numbers are those of a language model on SST (Tigges et al. 2024, BlackboxNLP 5): without one direction, the accuracy falls from
100 % to 62 %, at commas alone to 82 %. Here, the difference of means of each depth is set to its mean at this depth.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from sentviz.analysis.causal.direction_tables import PRINTED, has_directions, lost_everywhere
from sentviz.analysis.claim import Claim, Effect, Finding, decide, not_testable, strictest_finding

if TYPE_CHECKING:
    from sentviz.runs.store import Run

RUNS = ("english/mpnet", "english/minilm", "korean/e5", "english/ndt-unit-2", "sst2/ndt-unit-2", "sst2/vanilla-matched")
HALF, QUARTER = 0.5, 0.25


def more_than(run: Run, *, place: str, least: float) -> Finding:
    """Compare the share of the accuracy above chance that is lost without the direction at a place with a least share."""
    row, random = lost_everywhere(run, place), lost_everywhere(run, "all", "random")
    if not row:
        return not_testable(f"no text has {place}")
    evidence = (
        f"{_percent(row)} of the accuracy above chance is lost (n = {row['n']:.0f}); without random directions {_percent(random)};"
        f" print {100 * PRINTED[place]:.0f} %"
    )
    effect = Effect.from_share(row["value"], row["low"], row["high"], least)
    return Finding(decide(row["low"] > least, row["high"] < least), evidence, effect=effect)


def _percent(row: dict[str, float]) -> str:
    value, low, high = (round(100 * row[name]) for name in ("value", "low", "high"))
    return f"{value} % [{low}, {high}]".replace("-", "−")


def _on_each(test: Callable[[Run], Finding], runs: Sequence[Run]) -> Finding:
    """Make a test on each measured run of RUNS; the strictest verdict wins."""
    measured = {run.name: run for run in runs if run.name in RUNS and has_directions(run)}
    if not measured:
        return not_testable("the directions of none of its runs were measured")
    return strictest_finding({name: test(measured[name]) for name in RUNS if name in measured})


CLAIMS = (
    Claim(
        "direction",
        "Removing one direction takes more than half of the accuracy above chance",
        "sentviz",
        "runs here",
        partial(_on_each, partial(more_than, place="all", least=HALF)),
        how="share of the accuracy above 50 % that is lost without the difference of means at all tokens of every depth",
    ),
    Claim(
        "punctuation",
        "Removing it at punctuation alone takes at least a quarter of the accuracy above chance",
        "sentviz",
        "runs here",
        partial(_on_each, partial(more_than, place="punctuation", least=QUARTER)),
        how="the same at punctuation marks only",
    ),
)
"""Our claims about directions."""
