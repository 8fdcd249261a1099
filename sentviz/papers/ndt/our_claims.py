"""Claims on lambda that the NDT paper does not make: ours, tested as the paper's are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from sentviz.analysis.claim import Board, Finding
from sentviz.analysis.seeds import SPREAD_IN_WORDS
from sentviz.papers.ndt import based
from sentviz.papers.ndt.study import DATASETS, PRESETS, on_each_kind_of_rows, tested
from sentviz.papers.studies.compare_configurations import Comparison, configurations, mixed
from sentviz.papers.studies.judging import all_better, needed
from sentviz.papers.studies.rates import with_rates
from sentviz.papers.studies.stats import seed_noise
from sentviz.runs.store import Run

FROZEN = "-frozen"  # ending of a configuration whose lambdas stay at their start
OVER_SEEDS = f"a t test for other rows and other seeds, with {SPREAD_IN_WORDS}; p after Holm"
BOARD = Board(DATASETS)
ours = partial(BOARD.claim, against="runs here", kind="tested", where="ours", how=OVER_SEEDS)


@ours({"sst2": "c41f6e"}, "On {} learned lambdas answer better than lambdas frozen at their start",
    "Learned λ answers better than frozen λ", section="lambda", figure="lambda-grid")  # fmt: skip
def judge_learned(dataset: str, runs: Sequence[Run]) -> Finding:
    frozen = configurations(runs, dataset, [f"{model}{FROZEN}" for model in PRESETS])

    def judge(split: str) -> Finding:
        by_model = tested(runs, dataset, split)
        noise = seed_noise(by_model.values(), split)
        pairs = {model: mixed(by_model[model], frozen[model + FROZEN], split, noise) for model in by_model if model + FROZEN in frozen}
        return _all_better(pairs, "frozen lambdas")

    return with_rates(on_each_kind_of_rows(dataset, judge), runs, dataset, [name.removesuffix(FROZEN) for name in frozen], list(frozen))


@ours({"sst2": "5d20a9"}, "On MiniLM, a pretrained encoder, a second component improves {}", "On MiniLM a second component helps",
    section="base")  # fmt: skip
def judge_on_base(dataset: str, runs: Sequence[Run]) -> Finding:
    every = configurations(runs, dataset, tuple(based.TITLES))

    def judge(split: str) -> Finding:
        by_model = {model: able for model, seeds in every.items() if (able := [run for run in seeds if split in run.metrics()])}
        noise, plain = seed_noise(by_model.values(), split), by_model.pop(based.BASE, None)
        pairs = {based.TITLES[model]: mixed(seeds, plain, split, noise) for model, seeds in by_model.items() if plain}
        return _all_better(pairs, "the plain adapter")

    return with_rates(on_each_kind_of_rows(dataset, judge), runs, dataset, [model for model in every if model != based.BASE], [based.BASE])


def _all_better(pairs: Mapping[str, Comparison], baseline: str) -> Finding:
    """Return "holds" if every comparison with the baseline is better after Holm, "fails" if one is worse."""
    needed(pairs)
    least, smallest = min(pairs.items(), key=lambda entry: entry[1].difference)
    numbers = "; ".join(f"{name} {pair.numbers}" for name, pair in pairs.items())
    verdict, p = all_better(pairs)
    effect = smallest.effect(f"{least}, the smallest difference")
    return Finding(verdict, f"compared with {baseline}: {numbers}", effect=effect, p=p)
