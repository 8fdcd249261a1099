"""Claims on lambda that the NDT paper does not make: ours, tested as the paper's are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sentviz.analysis.claim import Finding, Reference, Row, decide, not_testable, strictest_finding
from sentviz.analysis.seeds import SPREAD_IN_WORDS
from sentviz.papers.ndt import based
from sentviz.papers.ndt.study import ROWS as KINDS_OF_ROWS
from sentviz.papers.ndt.study import tested
from sentviz.papers.studies.compare_configurations import Comparison, configurations, corrected, mixed, p_of_all, seeded
from sentviz.papers.studies.rates import with_rates
from sentviz.papers.studies.stats import seed_noise
from sentviz.runs.store import Run

FROZEN = "-frozen"  # ending of a configuration whose lambdas stay at their start


def judge_learned(dataset: str, runs: Sequence[Run]) -> Finding:
    """Test whether NDTs with learned lambdas beat the same NDTs whose lambdas stay at their start, on each kind of test rows."""
    findings = {}
    for split, rows in KINDS_OF_ROWS[dataset].items():
        by_model = tested(runs, dataset, split)
        noise = seed_noise(by_model.values(), split)
        frozen = configurations(runs, dataset, tuple(model + FROZEN for model in by_model))
        pairs = {model: mixed(by_model[model], frozen[model + FROZEN], split, noise) for model in by_model if model + FROZEN in frozen}
        findings[rows] = _all_better(pairs, "frozen lambdas")
    return with_rates(strictest_finding(findings), runs, dataset, list(pairs), [model + FROZEN for model in pairs])


def judge_on_base(dataset: str, runs: Sequence[Run]) -> Finding:
    """Test whether a second component on MiniLM beats the plain adapter, on each kind of test rows."""
    findings, every = {}, configurations(runs, dataset, tuple(based.TITLES))
    for split, rows in based.SPLITS.items():
        by_model = {model: able for model, seeds in every.items() if (able := [run for run in seeds if split in run.metrics()])}
        noise, plain = seed_noise(by_model.values(), split), by_model.pop(based.BASE, None)
        pairs = {based.TITLES[model]: mixed(seeds, plain, split, noise) for model, seeds in by_model.items() if plain}
        findings[rows] = _all_better(pairs, "the plain adapter")
    return with_rates(strictest_finding(findings), runs, dataset, [model for model in every if model != based.BASE], [based.BASE])


def _all_better(pairs: Mapping[str, Comparison], baseline: str) -> Finding:
    """Return "holds" if every comparison with the baseline is better after Holm, "fails" if one is worse."""
    if not pairs:
        return not_testable("the runs are not installed")
    results = corrected(pairs)
    words = {word for _, word in results.values()}
    least, smallest = min(pairs.items(), key=lambda entry: entry[1].difference)
    numbers = "; ".join(f"{name} {pair.numbers}" for name, pair in pairs.items())
    verdict = seeded(decide(words == {"better"}, "worse" in words), {pair.test for pair in pairs.values()})
    return Finding(
        verdict,
        f"compared with {baseline}: {numbers}",
        effect=smallest.effect(f"{least}, the smallest difference"),
        p=p_of_all(verdict, results.values()),
    )


RUNS: Reference = "runs here"
OVER_SEEDS = f"a t test for other rows and other seeds, with {SPREAD_IN_WORDS}; p after Holm"
ROWS = (
    Row("Learned λ answers better than frozen λ", "On {} learned lambdas answer better than lambdas frozen at their start", RUNS, "tested",
        judge_learned, {"sst2": ("c41f6e", "ours")}, "lambda", "lambda-grid", OVER_SEEDS),
    Row("On MiniLM a second component helps", "On MiniLM, a pretrained encoder, a second component improves {}", RUNS, "tested",
        judge_on_base, {"sst2": ("5d20a9", "ours")}, "base", "", OVER_SEEDS),
)  # fmt: skip
