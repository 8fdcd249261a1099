"""Configurations compared over their seeds, many at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from sentviz.analysis.claim import Effect, Verdict
from sentviz.analysis.evaluation import holm
from sentviz.papers.studies.collected import Configurations
from sentviz.papers.studies.seeds import SeedNoise, over_seeds, seed_noise
from sentviz.papers.studies.stats import paired
from sentviz.runs.store import Run

if TYPE_CHECKING:
    import pandas as pd

SEEDS_IN_WORDS = (
    "Intervals and p are for other test rows and other trainings: chance in training is pooled over the configurations with several seeds,"
    " taken to be alike for all. Where none has, one run of each is compared by McNemar's exact test, which tells two runs apart, not two"
    " models."
)
Word = Literal["better", "worse", "cannot be told"]
LEVEL = 0.05


@dataclass(frozen=True)
class Comparison:
    """Two configurations on the same test rows; the difference of mean accuracies as a share (0..1)."""

    n: int
    seeds: tuple[int, int]  # how many of each side are in it
    accuracies: tuple[float, float]
    difference: float
    low: float
    high: float
    p: float
    test: Literal["over seeds", "McNemar"]

    def word(self, adjusted: float | None = None) -> Word:
        """Of the models, by p and, of several comparisons, by the adjusted p; McNemar's test tells two runs apart, not two models."""
        if self.test == "McNemar" or (self.p if adjusted is None else adjusted) > LEVEL:
            return "cannot be told"
        return "better" if self.difference > 0 else "worse"

    def effect(self, of: str) -> Effect:
        """Return the difference in percentage points with its interval; `of` describes it."""
        return Effect.from_share_difference(self.difference, self.low, self.high, of)

    @property
    def points(self) -> str:
        """The difference in percentage points with its interval."""
        return minus(f"{100 * self.difference:+.2f} [{100 * self.low:+.2f}, {100 * self.high:+.2f}]")

    @property
    def compared(self) -> str:
        """Which seeds are in it."""
        if self.test == "McNemar":
            return "one seed each, others unknown"
        return "one seed each" if self.seeds == (1, 1) else f"{self.seeds[0]} against {self.seeds[1]} seed{'s' * (self.seeds[1] > 1)}"

    @property
    def numbers(self) -> str:
        """In words: difference in points with interval, and what was compared."""
        return f"{self.points} points, {self.compared}, n = {self.n:,}"

    def told(self, adjusted: float) -> str:
        """`numbers`, of one of several comparisons; an interval that leaves out 0 and yet tells nothing says why."""
        if self.low * self.high <= 0 or self.word(adjusted) != "cannot be told":
            return self.numbers
        why = f"p = {self.p:.2g}, {adjusted:.2g} after Holm's correction" if self.test == "over seeds" else "two runs, not two models"
        return f"{self.numbers} ({why})"


def mixed(a: Sequence[Run], b: Sequence[Run], split: str = "test", noise: SeedNoise | None = None) -> Comparison:
    """Two configurations by all their seeds (`seeds.over_seeds`), with what chance in training does as `noise` or the two sides show it.

    Where neither is there, one run of each is compared by McNemar's exact test, which says nothing of other trainings.

    Raises:
        InputError: a side is empty, or they were not tested on the same rows.
    """
    if noise is not None or max(len(a), len(b)) > 1:
        found = over_seeds(a, b, split, noise)
        means = (sum(found.accuracies_a) / len(a), sum(found.accuracies_b) / len(b))
        return Comparison(found.n, (len(a), len(b)), means, found.difference, found.low, found.high, found.p, "over seeds")
    pair = paired(a[0], b[0], split)
    right = pair.both_right / pair.n
    accuracies = (right + pair.only_a / pair.n, right + pair.only_b / pair.n)
    return Comparison(pair.n, (1, 1), accuracies, pair.difference, pair.low, pair.high, pair.p, "McNemar")


def corrected(comparisons: Mapping[str, Comparison]) -> dict[str, tuple[float, Word]]:
    """Return p after Holm's correction over all comparisons, and the word for it, by the comparison's name."""
    adjusted = holm({name: comparison.p for name, comparison in comparisons.items()})
    return {name: (adjusted[name], comparison.word(adjusted[name])) for name, comparison in comparisons.items()}


def compared(here: Configurations, base: str, split: str = "test", noise: SeedNoise | None = None) -> pd.DataFrame:
    """Every configuration against one, Holm's correction over them all; what seeds change is `noise`, or pooled over them.

    Columns: model, accuracy, difference, low, high, p, adjusted, verdict, seeds, base_seeds, n, test. Empty without the base.
    """
    import pandas as pd

    tested = {model: [run for run in seeds if split in run.metrics()] for model, seeds in here.items()}
    asked = {model: seeds for model, seeds in tested.items() if seeds}
    noise = noise or seed_noise(asked.values(), split)
    found = {model: mixed(seeds, asked[base], split, noise) for model, seeds in asked.items() if model != base} if base in asked else {}
    adjusted = holm({model: one.p for model, one in found.items()})
    rows = []
    for model, one in found.items():
        numbers = one.accuracies[0], one.difference, one.low, one.high, one.p, adjusted[model]
        rows.append((model, *numbers, one.word(adjusted[model]), *one.seeds, one.n, one.test))
    columns = ["model", "accuracy", "difference", "low", "high", "p", "adjusted", "verdict", "seeds", "base_seeds", "n", "test"]
    return pd.DataFrame(rows, columns=columns)


def seeded(verdict: Verdict, tests: Iterable[str]) -> Verdict:
    """Of comparisons by these tests; open ones cannot be judged where none is over seeds: McNemar's tells runs apart, not models."""
    return "unjudged" if verdict == "open" and "over seeds" not in set(tests) else verdict


def in_points(row: Mapping[Any, Any]) -> str:
    """ "+0.12 [−0.05, +0.29]": a comparison's difference in percentage points with its interval."""
    return minus(f"{100 * row['difference']:+.2f} [{100 * row['low']:+.2f}, {100 * row['high']:+.2f}]")


def minus(text: str) -> str:
    """Signs of numbers as minus signs; hyphens of names ("SST-2") and of exponents stay."""
    return re.sub(r"(?<![\w-])-(?=[\d.])", "−", text)
