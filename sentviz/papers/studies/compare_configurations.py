"""Runs of a study by configuration, their metrics over seeds, and comparisons with a correction for several comparisons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sentviz.analysis.claim import Effect, Verdict
from sentviz.analysis.evaluation import holm, not_learned
from sentviz.analysis.seeds import SPREAD_IN_WORDS, SeedNoise, Spread
from sentviz.io import numbers
from sentviz.io.lazy import pd
from sentviz.papers.studies.means import means
from sentviz.papers.studies.results import of_metric, results
from sentviz.papers.studies.stats import compare_over_seeds, paired, seed_noise
from sentviz.runs.presets import split
from sentviz.runs.registry import Paper
from sentviz.runs.store import Run

Configurations = Mapping[str, Sequence[Run]]  # preset -> its runs, seeds in order
SEEDS_IN_WORDS = (
    f"Intervals and p cover other test rows and other trainings, with {SPREAD_IN_WORDS}. If Bartlett's test finds that the pooled"
    " variances differ, a comparison that needs them stays open. If no configuration has several seeds, McNemar's exact test compares one"
    " run of each; it compares two runs, not two models."
)
Word = Literal["better", "worse", "cannot be told"]
LEVEL = 0.05


def configurations(runs: Iterable[Run], dataset: str, models: Sequence[str]) -> dict[str, list[Run]]:
    """Return the runs of a data set by preset, in the order of `models`, seeds in order.

    A study names its runs `<data set>/<preset>`, with `-s1` for seed 1. Runs with other names are left out.
    """
    by_model: dict[str, list[Run]] = {}
    on_dataset = [run for run in runs if run.config["data"]["name"] == dataset]
    for model in models:
        by_seed = {run.config["recipe"]["seed"]: run for run in on_dataset if run.configuration == model and run.of_a_study}
        if by_seed:
            by_model[model] = [by_seed[seed] for seed in sorted(by_seed)]
    return by_model


def of_paper(paper: Paper, runs: Iterable[Run]) -> list[Run]:
    """Return the runs of a paper's studies; for a paper without studies, the runs of its presets."""
    available = list(runs)
    if not paper.studies:
        return [run for run in available if paper.preset(split(run.configuration)[0])]
    of_studies = [
        run
        for study in paper.studies.values()
        for dataset in study.datasets
        for seeds in configurations(available, dataset, study.models).values()
        for run in seeds
    ]
    return list({run.name: run for run in of_studies}.values())


def summary(by_model: Configurations, split: str = "test") -> pd.DataFrame:
    """Return a row per configuration and metric: model, metric, value, low, high, n, seeds (`sentviz.papers.studies.means`)."""
    rows = [
        {"model": model, "metric": metric} | value for model, seeds in by_model.items() for metric, value in means(seeds, split).items()
    ]
    return pd.DataFrame(rows, columns=["model", "metric", "value", "low", "high", "n", "seeds"])


def over_seeds(by_model: Configurations, metric: str = "accuracy", split: str = "test") -> pd.DataFrame:
    """Return the rows of `summary` on one metric: model, value, low, high, n, seeds."""
    frame = summary(by_model, split)
    return frame[frame["metric"] == metric].drop(columns="metric").reset_index(drop=True)


def beside(models: Iterable[str], reported: Mapping[str, float] | pd.Series[float], measured: pd.DataFrame) -> pd.DataFrame:
    """Return what is printed of some models with what is measured: model, printed, value, low, high, n, seeds; NaN is unknown.

    Args:
        reported: printed value by model. measured: rows with the other columns, as `over_seeds` returns them.
    """
    numbers = ["value", "low", "high", "n", "seeds"]
    rows = pd.DataFrame({"model": list(models)}).assign(printed=lambda frame: frame["model"].map(reported))
    frame = rows.merge(measured[["model", *numbers]], on="model", how="left")
    return frame.astype(dict.fromkeys(("printed", *numbers), float))


def points(by_model: Configurations, metric: str = "accuracy", split: str = "test") -> pd.DataFrame:
    """Return a row per run: model, seed, value."""
    rows = [of_metric(seeds, metric, split).assign(model=model) for model, seeds in by_model.items()]
    return (pd.concat(rows, ignore_index=True) if rows else results(())).loc[:, ["model", "seed", "value"]]


@dataclass(frozen=True)
class Comparison:
    """Comparison of two configurations on the same test rows; accuracies and their difference are shares (0 to 1)."""

    n: int
    seeds: tuple[int, int]  # number of seeds of each configuration
    accuracies: tuple[float, float]
    difference: float
    low: float
    high: float
    p: float
    test: Literal["over seeds", "McNemar"]
    learned: bool = True  # False if a run did not learn (`sentviz.analysis.evaluation`)
    spread: Spread | None = None  # used spread over seeds; None for McNemar's test
    unequal: bool = False  # the pooled spread is used although the configurations' spreads differ

    def word(self, adjusted: float | None = None) -> Word:
        """Return the verdict on the two models: by p, or by the adjusted p of several comparisons.

        McNemar's test compares two runs, not two models, so it never decides. A run that did not learn leaves the verdict open, and so
        does a pooled spread that stands for no single model.
        """
        if not self.learned or self.unequal or self.test == "McNemar" or (self.p if adjusted is None else adjusted) > LEVEL:
            return "cannot be told"
        return "better" if self.difference > 0 else "worse"

    def effect(self, of: str) -> Effect:
        """Return the difference in percentage points with its interval; `of` describes it."""
        return Effect.from_share_difference(self.difference, self.low, self.high, of)

    @property
    def points(self) -> str:
        """Difference in percentage points with its interval."""
        return numbers.in_points(self.difference, (self.low, self.high))

    @property
    def compared(self) -> str:
        """Number of seeds of each configuration, in words."""
        if self.test == "McNemar":
            return "one seed each; other seeds are unknown"
        seeds = "one seed each" if self.seeds == (1, 1) else f"{self.seeds[0]} against {self.seeds[1]} seed{'s' * (self.seeds[1] > 1)}"
        return f"{seeds} ({self.spread})" if self.spread else seeds

    @property
    def numbers(self) -> str:
        """Difference in points with its interval, the seeds and the number of rows, in words."""
        return f"{self.points}, {self.compared}, n = {self.n:,}"

    def explained(self, adjusted: float) -> str:
        """Return `numbers` of one of several comparisons; if the interval excludes 0 and the verdict is still open, add the reason."""
        if self.low * self.high <= 0 or self.word(adjusted) != "cannot be told":
            return self.numbers
        if not self.learned:
            return f"{self.numbers} (a run did not learn)"
        if self.unequal:
            return f"{self.numbers} (the spread over seeds differs between configurations, so one seed tells nothing of others)"
        why = (
            f"{numbers.p_value(self.p)}, {numbers.p_value(adjusted, 'p after Holm')}"
            if self.test == "over seeds"
            else "compares two runs, not two models"
        )
        return f"{self.numbers} ({why})"


def mixed(a: Sequence[Run], b: Sequence[Run], split: str = "test", noise: SeedNoise | None = None) -> Comparison:
    """Compare two configurations by all their seeds (`seeds.compare_over_seeds`).

    If `noise` is None and both have one seed, the two runs are compared by McNemar's exact test, which says nothing about other trainings.
    """
    learned = not not_learned((*a, *b))
    if noise is not None or max(len(a), len(b)) > 1:
        both = compare_over_seeds(a, b, split, noise)
        means = (sum(both.accuracies_a) / len(a), sum(both.accuracies_b) / len(b))
        interval = both.difference, both.low, both.high, both.p
        return Comparison(both.n, (len(a), len(b)), means, *interval, "over seeds", learned, both.spread, both.unequal)
    pair = paired(a[0], b[0], split)
    right = pair.both_right / pair.n
    accuracies = (right + pair.only_a / pair.n, right + pair.only_b / pair.n)
    return Comparison(pair.n, (1, 1), accuracies, pair.difference, pair.low, pair.high, pair.p, "McNemar", learned)


def better_in_words(configurations: Configurations, a: str, b: str) -> tuple[str, str]:
    """Return whether one configuration is better than another one, and the numbers."""
    comparison = mixed(configurations[a], configurations[b], noise=seed_noise(configurations.values()))
    answer = {"better": "Yes.", "worse": "No, it is worse.", "cannot be told": "No significant difference."}[comparison.word()]
    how = numbers.p_value(comparison.p)
    if comparison.test != "over seeds":
        how = f"McNemar {how} compares the two runs, not the two models"
    return answer, f"{comparison.numbers}; {how}"


def corrected(comparisons: Mapping[str, Comparison]) -> dict[str, tuple[float, Word]]:
    """Return p after Holm's correction over all comparisons, and the word for it, by the comparison's name."""
    adjusted = holm({name: comparison.p for name, comparison in comparisons.items()})
    return {name: (adjusted[name], comparison.word(adjusted[name])) for name, comparison in comparisons.items()}


def compared(configurations: Configurations, base: str, split: str = "test", noise: SeedNoise | None = None) -> pd.DataFrame:
    """Compare every configuration with one of them, with Holm's correction over all comparisons.

    Columns: model, accuracy, difference, low, high, p, adjusted, verdict, seeds, base_seeds, n, test. Empty if `base` is missing.

    Args:
        noise: seed noise; default: pooled over the configurations.
    """
    tested = {model: [run for run in seeds if split in run.metrics()] for model, seeds in configurations.items()}
    tested = {model: seeds for model, seeds in tested.items() if seeds}
    noise = noise or seed_noise(tested.values(), split)
    baseline = tested.get(base)
    comparisons = {model: mixed(seeds, baseline, split, noise) for model, seeds in tested.items() if model != base} if baseline else {}
    return compared_frame(comparisons).drop(columns="base").rename(columns={"name": "model"})


def compared_frame(comparisons: Mapping[str, Comparison]) -> pd.DataFrame:
    """Return a row per comparison, with Holm's correction over all of them.

    Columns: name, accuracy, base (accuracy of the baseline), difference, low, high, p, adjusted, verdict, seeds, base_seeds, n, test.
    """
    rows = [
        (name, *pair.accuracies, pair.difference, pair.low, pair.high, pair.p, adjusted, word, *pair.seeds, pair.n, pair.test)
        for (name, pair), (adjusted, word) in zip(comparisons.items(), corrected(comparisons).values(), strict=True)
    ]
    columns = ["name", "accuracy", "base", "difference", "low", "high", "p", "adjusted", "verdict", "seeds", "base_seeds", "n", "test"]
    return pd.DataFrame(rows, columns=columns)


def seeded(verdict: Verdict, tests: Iterable[str]) -> Verdict:
    """Return the verdict on comparisons by these tests: "unjudged" in place of "open" if no test is over seeds.

    McNemar's test compares runs, not models, so it could not have decided.
    """
    return "unjudged" if verdict == "open" and "over seeds" not in set(tests) else verdict


def in_points(row: Mapping[Any, Any]) -> str:
    """Return a comparison's difference with its interval, for example "+0.12 points [−0.05, +0.29]"."""
    return numbers.in_points(row["difference"], (row["low"], row["high"]))
