"""The NDT paper's claims: its sentences tested on its own tables, and on the available runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations

import numpy as np

from sentviz.analysis.claim import Effect, Finding, Reference, Row, board, decide, equivalent, not_testable, p_of_margin, strictest_finding
from sentviz.analysis.seeds import SPREAD_IN_WORDS
from sentviz.io.lazy import pd, stats
from sentviz.io.numbers import number, p_value, signed
from sentviz.papers.ndt import auc, our_claims, outcome_claims, printed_claims, specialisation
from sentviz.papers.ndt.printed_claims import LEVEL
from sentviz.papers.ndt.study import DATASETS, NDTS, ROWS, best_on_validation, configurations, controlled_lambdas, tested
from sentviz.papers.studies.compare_configurations import corrected, mixed, p_of_all, seeded
from sentviz.papers.studies.rates import with_rates
from sentviz.papers.studies.stats import compare_over_seeds, seed_noise
from sentviz.runs.store import Run

MISSING = not_testable("the runs are not installed")
JudgeRows = Callable[[Mapping[str, Sequence[Run]], str], Finding]  # arguments: configurations tested on a split, name of the split


def _on_each_kind_of_rows(judge: JudgeRows, dataset: str, runs: Sequence[Run]) -> Finding:
    """Make the same test on each kind of test rows that a data set has, with the runs that were tested on them."""
    kinds = ROWS.get(dataset, {"test": "the test rows"})
    findings = {kind: judge(tested(runs, dataset, split), split) for split, kind in kinds.items()}
    return strictest_finding(findings) if len(findings) > 1 else next(iter(findings.values()))


def judge_better(dataset: str, runs: Sequence[Run], *, models: tuple[str, ...], baseline: str) -> Finding:
    """Test whether the best of the models beats the baseline on the same test rows, over all seeds.

    The best has the highest mean validation accuracy. It is chosen once, and the same model is compared on every kind of test rows.
    """
    available = {model: seeds for model, seeds in configurations(runs, dataset).items() if model in models}
    if not available:
        return MISSING
    name = best_on_validation(available)

    def judge(by_model: Mapping[str, Sequence[Run]], split: str) -> Finding:
        if baseline not in by_model or name not in by_model:
            return MISSING
        noise = seed_noise(by_model.values(), split)
        comparisons = {model: mixed(by_model[model], by_model[baseline], split, noise) for model in available if model in by_model}
        best = comparisons[name]
        evidence = f"{name} − {baseline}: {best.numbers}, {p_value(best.p, 'McNemar p' if best.test == 'McNemar' else 'p')}"
        if len(models) > 1:
            better = [model for model, (_, word) in corrected(comparisons).items() if word == "better"]
            evidence += f"; {name} has the highest validation accuracy of the {len(available)} installed NDT configurations"
            evidence += f" ({len(models)} in the paper)" if len(available) < len(models) else ""
            evidence += f", of which {len(better)} are better after Holm"
        word = best.word()
        verdict = seeded(decide(word == "better", word == "worse" and len(available) == len(models)), {best.test})
        return Finding(verdict, evidence, effect=best.effect(f"{name} minus {baseline}"), p=best.p)

    return with_rates(_on_each_kind_of_rows(judge, dataset, runs), runs, dataset, [name], [baseline])


def judge_best_ndt(dataset: str, runs: Sequence[Run], *, model: str) -> Finding:
    """Test whether a configuration is the best NDT: better than each other one after Holm. One that is better than it refutes the claim."""

    def judge(by_model: Mapping[str, Sequence[Run]], split: str) -> Finding:
        ndts = {name: seeds for name, seeds in by_model.items() if name in NDTS}
        if model not in ndts or len(ndts) == 1:
            return MISSING
        noise = seed_noise(by_model.values(), split)
        comparisons = {name: mixed(ndts[model], seeds, split, noise) for name, seeds in ndts.items() if name != model}
        results = corrected(comparisons)
        words = [word for _, word in results.values()]
        rival, nearest = min(comparisons.items(), key=lambda entry: entry[1].difference)
        evidence = f"better than {words.count('better')} and worse than {words.count('worse')} of {len(words)}"
        beats_all = set(words) == {"better"} and len(words) == len(NDTS) - 1
        verdict = seeded(decide(beats_all, "worse" in words), {comparison.test for comparison in comparisons.values()})
        effect = nearest.effect(f"{model} minus {rival}, the nearest or better configuration")
        p = p_of_all(verdict, results.values())
        return Finding(verdict, f"{evidence}; against {rival}: {nearest.numbers}", effect=effect, p=p)

    return with_rates(_on_each_kind_of_rows(judge, dataset, runs), runs, dataset, [model], [name for name in NDTS if name != model])


def _changes(runs: Sequence[Run], dataset: str, *constraints: str) -> list[pd.Series[float]]:
    """Return, for each run with one of these constraints, the change of lambda from its start, indexed by layer and component."""
    changes = []
    for model, seeds in configurations(runs, dataset).items():
        for run in seeds if model in NDTS and model.split("-")[1] in constraints else ():
            frame = run.history().query("name == 'lambda'").sort_values("step")
            changes.append(frame.groupby(["layer", "component"])["value"].agg(lambda value: value.iloc[-1] - value.iloc[0]))
    return changes


def judge_learned_growth(dataset: str, runs: Sequence[Run]) -> Finding:
    """Test whether training, and not the start, makes unbounded lambdas grow with depth.

    The evidence names runs on the same data set with equal starts, too.
    """
    growth = [float(change.xs(1).mean() - change.xs(0).mean()) for change in _changes(runs, dataset, "nonneg", "free")]
    remark = "our start values already grow with depth"
    frame = controlled_lambdas(runs, dataset)
    equal = frame[(frame["variant"] == "equal") & frame["model"].str.contains("nonneg|free")]
    for (model, seed), part in equal.groupby(["model", "seed"]):
        first, second = part.groupby("layer")["end"].mean()
        ends = f"{number(first, 3)} in layer 1 and at {number(second, 3)} in layer 2"
        remark += f"; from equal starts ({model}, seed {seed}) the mean lambda ends at {ends}"
    return judge_signs(growth, "training raised layer 2's lambdas more than layer 1's", remark)


def judge_learned_fall(dataset: str, runs: Sequence[Run]) -> Finding:
    """Test whether training lowers lambda under [-1,1], where it starts negative. The evidence names runs with positive starts, too."""
    falls = [-float(change.mean()) for change in _changes(runs, dataset, "symmetric")]
    frame = controlled_lambdas(runs, dataset)
    swapped = frame[(frame["variant"] == "swapped") & frame["model"].str.contains("symmetric")]
    remark = f"from positive starts {int((swapped['end'] > 0).sum())} of {len(swapped)} lambdas end positive" if len(swapped) else ""
    return judge_signs(falls, "training lowered lambda", remark)


def judge_signs(changes: Sequence[float], event: str, remark: str) -> Finding:
    """Test with the exact sign test whether most runs change as claimed.

    The paper speaks of the lambdas of its own trainings. Runs that change as claimed support it, but runs that change the other way do not
    refute it: then it cannot be judged here, and the evidence says which way ours go.

    Args:
        changes: mean change over the lambdas of each run, positive if it is as claimed.
        event: the claimed change in words.
        remark: added to the evidence, if not empty.
    """
    if not changes:
        return MISSING
    if stats.binomtest(0, len(changes)).pvalue > LEVEL:
        return not_testable(f"{len(changes)} runs are installed, too few for a sign test")
    count = sum(change > 0 for change in changes)
    test = stats.binomtest(count, len(changes))
    p, most = float(test.pvalue), 2 * count > len(changes)
    evidence = f"on average over its lambdas, {event} in {count} of {len(changes)} runs, sign test {p_value(p)}" + f"; {remark}" * bool(
        remark
    )
    low, high = test.proportion_ci()
    effect = Effect.from_share(count / len(changes), low, high, 0.5, "runs with this change")
    if p <= LEVEL and not most:
        return not_testable(f"the paper speaks of its own trainings, and ours go the other way: {evidence}", effect)
    return Finding(decide(p <= LEVEL, False), evidence, effect=effect, p=p)


def judge_range(dataset: str, runs: Sequence[Run], *, points: float) -> Finding:
    """Test whether each pair of NDT variants is less than `points` apart, by intervals that hold for all pairs at once (Bonferroni)."""
    by_model = configurations(runs, dataset)
    ndts = {model: seeds for model, seeds in by_model.items() if model in NDTS}
    if len(ndts) < len(NDTS):
        return not_testable(f"{len(ndts)} of {len(NDTS)} variants are installed")
    noise = seed_noise(by_model.values())
    if noise is None:
        return not_testable("one seed each, so the effect of chance in training is unknown")
    level = 1 - LEVEL / (len(NDTS) * (len(NDTS) - 1) / 2)
    pairs = [compare_over_seeds(ndts[a], ndts[b], noise=noise, level=level) for a, b in combinations(ndts, 2)]
    widest = max(pairs, key=lambda pair: abs(pair.difference))
    margin = points / 100
    within = [equivalent(pair.low, pair.high, margin) for pair in pairs]
    levels = [p_of_margin(pair.difference, pair.low, pair.high, margin, coverage=level) for pair in pairs]
    evidence = f"the best and the worst differ by {100 * abs(widest.difference):.2f} points"
    evidence += f"; {within.count(False)} of {len(pairs)} pairs differ significantly more"
    low, high = (widest.low, widest.high) if widest.difference >= 0 else (-widest.high, -widest.low)
    effect = Effect(100 * abs(widest.difference), 100 * low, 100 * high, null=points, of="the best minus the worst variant")
    verdict = decide(all(within), False in within)
    beyond = [len(pairs) * p for p, inside in zip(levels, within, strict=True) if inside is False]
    p = min(1.0, min(beyond)) if beyond else max(levels)
    return with_rates(Finding(verdict, evidence, effect=effect, p=p), runs, dataset, [], NDTS)


def judge_rank_correlation(dataset: str, runs: Sequence[Run]) -> Finding:
    """Test Spearman's correlation of silhouette and accuracy over configurations, each the mean over its seeds."""
    metrics = [[run.metrics()["test"] for run in seeds] for seeds in configurations(runs, dataset).values()]
    pairs = [
        [float(np.mean([metric[name]["value"] for metric in seeds])) for name in ("accuracy", "silhouette")]
        for seeds in metrics
        if all("silhouette" in metric for metric in seeds)
    ]
    if len(pairs) < 5:
        return not_testable(f"{len(pairs)} configurations are installed, too few for a rank correlation")
    rho, p = stats.spearmanr(np.array(pairs))
    evidence = f"rank correlation {signed(rho)} over {len(pairs)} configurations, {p_value(p)}"
    verdict = printed_claims.verdict_on_ranks([(float(rho), float(p))])
    return Finding(verdict, evidence, effect=Effect(float(rho), unit="", of="rank correlation"), p=float(p))


RUNS: Reference = "runs here"
OVER_SEEDS = f"a t test for other rows and other seeds, with {SPREAD_IN_WORDS}; for several configurations p is after Holm"
CHOSEN_ONCE = f"{OVER_SEEDS.partition(';')[0]}; the best NDT is chosen once by validation accuracy, for every kind of test rows"
SIGNS = "the exact sign test over runs; the change of a run is the mean change of its lambdas from the start"

CLAIMS = board(
    DATASETS,
    *specialisation.ROWS,
    *printed_claims.ROWS,
    *outcome_claims.ROWS,
    *auc.ROWS,
    Row("The best NDT beats vanilla", "The best NDT beats vanilla on {}", RUNS, "tested",
        partial(judge_better, models=NDTS, baseline="vanilla"), {"imdb": ("ec0154", "section IV-B1"),
        "sst2": ("a84f8b", "section IV-C1"), "yelp_full": ("8e94a2", "section IV-D1"),
        "twitter_financial": ("1bf5ab", "section IV-E1")}, "compare", "accuracy-beside-print", CHOSEN_ONCE),
    Row("The best NDT beats DT", "The best NDT beats DT on {}", RUNS, "tested", partial(judge_better, models=NDTS, baseline="diff"),
        {"imdb": ("98c05d", "section IV-B1"), "sst2": ("f74216", "section IV-C1"), "yelp_full": ("18a2c2", "section IV-D1"),
        "twitter_financial": ("32f779", "section IV-E1")}, "compare", "accuracy-beside-print", CHOSEN_ONCE),
    Row("Not the wider block: it beats vanilla-matched", "Not the wider block: NDT beats vanilla-matched on {}", RUNS, "tested",
        partial(judge_better, models=NDTS, baseline="vanilla-matched"), {"imdb": ("2c1215", "ours"), "sst2": ("c7d421", "ours"),
        "yelp_full": ("affaa7", "ours"), "twitter_financial": ("a4aa5a", "ours")}, "compare", "accuracy-beside-print",
        CHOSEN_ONCE),
    Row("DT beats vanilla", "DT beats vanilla on {}", RUNS, "tested", partial(judge_better, models=("diff",), baseline="vanilla"),
        {"imdb": ("db24a9", "table I"), "sst2": ("56d08d", "table III"), "twitter_financial": ("70ce13", "table VII")}, "compare",
        "accuracy-beside-print", OVER_SEEDS),
    Row("Vanilla beats DT", "Vanilla beats DT on {}", RUNS, "tested", partial(judge_better, models=("vanilla",), baseline="diff"),
        {"yelp_full": ("8d5f36", "section IV-D1")}, "compare", "accuracy-beside-print", OVER_SEEDS),
    Row("The paper's best NDT is the best here", "On {} [0,1] with two maps is the best NDT", RUNS, "tested",
        partial(judge_best_ndt, model="ndt-unit-2"), {"imdb": ("f25b08", "section IV-B1")}, "results", "accuracy-grid", OVER_SEEDS),
    Row("The paper's best NDT is the best here", "On {} [0,1] with three maps is the best NDT", RUNS, "tested",
        partial(judge_best_ndt, model="ndt-unit-3"), {"sst2": ("36dbc0", "section IV-C1")}, "results", "accuracy-grid",
        OVER_SEEDS),
    Row("The paper's best NDT is the best here", "On {} [−1,1] with three maps is the best NDT", RUNS, "tested",
        partial(judge_best_ndt, model="ndt-symmetric-3"), {"yelp_full": ("a6e74c", "section IV-D1")}, "results", "accuracy-grid",
        OVER_SEEDS),
    Row("The paper's best NDT is the best here", "On {} (−inf,inf) with four maps is the best NDT", RUNS, "tested",
        partial(judge_best_ndt, model="ndt-free-4"), {"twitter_financial": ("a5fd6c", "section IV-E1")}, "results",
        "accuracy-grid", OVER_SEEDS),
    Row("All NDT variants lie within 0.6 points", "On {} all NDT variants lie within 0.6 points", RUNS, "tested",
        partial(judge_range, points=0.6), {"yelp_full": ("109ccb", "section IV-D1")}, "results", "accuracy-grid",
        "simultaneous intervals of all pairs (Bonferroni)"),
    Row("Training makes unbounded λ grow with depth", "Training itself makes unbounded lambdas grow with depth on {}", RUNS, "tested",
        judge_learned_growth, {"imdb": ("7dbb12", "section IV-B2"), "sst2": ("deffa3", "sections IV-C2, IV-H2"),
        "yelp_full": ("25c9e1", "section IV-D2"), "twitter_financial": ("bd1f84", "section IV-E2")}, "lambda", "lambda-grid", SIGNS),
    Row("Training makes λ more negative under [−1,1]", "Training itself makes lambda more negative under [−1,1] on {}", RUNS, "tested",
        judge_learned_fall, {"imdb": ("e3607d", "section IV-B2"), "sst2": ("0ab894", "section IV-C2"),
        "yelp_full": ("4fda92", "section IV-D2"), "twitter_financial": ("9c18b5", "section IV-E2")}, "lambda", "lambda-grid", SIGNS),
    Row("Silhouette and accuracy give the same order", "Silhouette and accuracy give the configurations of {} the same order", RUNS,
        "tested",
        judge_rank_correlation, {"imdb": ("cc96b5", "section IV-F"), "sst2": ("6251ba", "section IV-F")}, "results",
        "accuracy-beside-print", "Spearman's rank correlation over configurations, means over seeds"),
    *our_claims.ROWS,
    names=DATASETS | {"twitter_financial": "Twitter"},
)  # fmt: skip
