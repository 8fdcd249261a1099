"""The NDT paper's claims: its sentences tested on its own tables, and on the available runs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations

from sentviz.analysis.claim import LEVEL, Board, Effect, Finding, decide, not_testable
from sentviz.analysis.seeds import SPREAD_IN_WORDS
from sentviz.io.lazy import pd, stats
from sentviz.io.numbers import number, p_value, signed
from sentviz.papers.ndt import auc, our_claims, outcome_claims, printed_claims, specialisation
from sentviz.papers.ndt.study import (
    ACCURACY,
    DATASETS,
    LAMBDAS,
    NDTS,
    TITLES,
    best_on_validation,
    configurations,
    controlled_lambdas,
    on_each_kind_of_rows,
    tested,
)
from sentviz.papers.studies.compare_configurations import corrected, mixed, seeded
from sentviz.papers.studies.judging import NOT_INSTALLED, all_better, inside_margin, more_than_half, needed, too_few
from sentviz.papers.studies.rates import with_rates
from sentviz.papers.studies.results import results
from sentviz.papers.studies.stats import compare_over_seeds, seed_noise
from sentviz.runs.store import Run

OVER_SEEDS = f"a t test for other rows and other seeds, with {SPREAD_IN_WORDS}; for several configurations p is after Holm"
CHOSEN_ONCE = f"{OVER_SEEDS.partition(';')[0]}; the best NDT is chosen once by validation accuracy, for every kind of test rows"
SIGNS = "the exact sign test over runs; the change of a run is the mean change of its lambdas from the start"
BOARD = Board(DATASETS, TITLES)
on_runs = partial(BOARD.claim, against="runs here", kind="tested")
of_comparison = partial(on_runs, where=ACCURACY, section="compare", figure="accuracy-beside-print", how=CHOSEN_ONCE)
of_grid = partial(on_runs, where=ACCURACY, section="results", figure="accuracy-grid", how=OVER_SEEDS)
is_best = partial(of_grid, short="The paper's best NDT is the best here")
of_lambda = partial(on_runs, where=LAMBDAS, section="lambda", figure="lambda-grid", how=SIGNS)


@of_comparison({"imdb": "ec0154", "sst2": "a84f8b", "yelp_full": "8e94a2", "twitter_financial": "1bf5ab"},
    "The best NDT beats vanilla on {}", models=NDTS, baseline="vanilla")  # fmt: skip
@of_comparison({"imdb": "98c05d", "sst2": "f74216", "yelp_full": "18a2c2", "twitter_financial": "32f779"}, "The best NDT beats DT on {}",
    models=NDTS, baseline="diff")  # fmt: skip
@of_comparison({"imdb": "2c1215", "sst2": "c7d421", "yelp_full": "affaa7", "twitter_financial": "a4aa5a"},
    "Not the wider block: NDT beats vanilla-matched on {}", "Not the wider block: it beats vanilla-matched", where="ours", models=NDTS,
    baseline="vanilla-matched")  # fmt: skip
@of_comparison({"imdb": "db24a9", "sst2": "56d08d", "twitter_financial": "70ce13"}, "DT beats vanilla on {}",
    where={"imdb": "table I", "sst2": "table III", "twitter_financial": "table VII"}, how=OVER_SEEDS, models=("diff",),
    baseline="vanilla")  # fmt: skip
@of_comparison({"yelp_full": "8d5f36"}, "Vanilla beats DT on {}", how=OVER_SEEDS, models=("vanilla",), baseline="diff")
def judge_better(dataset: str, runs: Sequence[Run], *, models: tuple[str, ...], baseline: str) -> Finding:
    """Compare the model with the highest mean validation accuracy, over all seeds. It is chosen once for every kind of test rows."""
    available = needed({model: seeds for model, seeds in configurations(runs, dataset).items() if model in models})
    name = best_on_validation(available)

    def judge(split: str) -> Finding:
        by_model = tested(runs, dataset, split)
        if baseline not in by_model or name not in by_model:
            return NOT_INSTALLED
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

    return with_rates(on_each_kind_of_rows(dataset, judge), runs, dataset, [name], [baseline])


@is_best({"imdb": "f25b08"}, "On {} [0,1] with two maps is the best NDT", model="ndt-unit-2")
@is_best({"sst2": "36dbc0"}, "On {} [0,1] with three maps is the best NDT", model="ndt-unit-3")
@is_best({"yelp_full": "a6e74c"}, "On {} [−1,1] with three maps is the best NDT", model="ndt-symmetric-3")
@is_best({"twitter_financial": "a5fd6c"}, "On {} (−inf,inf) with four maps is the best NDT", model="ndt-free-4")
def judge_best_ndt(dataset: str, runs: Sequence[Run], *, model: str) -> Finding:
    def judge(split: str) -> Finding:
        by_model = tested(runs, dataset, split)
        ndts = {name: seeds for name, seeds in by_model.items() if name in NDTS}
        if model not in ndts or len(ndts) == 1:
            return NOT_INSTALLED
        noise = seed_noise(by_model.values(), split)
        comparisons = {name: mixed(ndts[model], seeds, split, noise) for name, seeds in ndts.items() if name != model}
        words = [word for _, word in corrected(comparisons).values()]
        rival, nearest = min(comparisons.items(), key=lambda entry: entry[1].difference)
        evidence = f"better than {words.count('better')} and worse than {words.count('worse')} of {len(words)}"
        verdict, p = all_better(comparisons, complete=len(words) == len(NDTS) - 1)
        effect = nearest.effect(f"{model} minus {rival}, the nearest or better configuration")
        return Finding(verdict, f"{evidence}; against {rival}: {nearest.numbers}", effect=effect, p=p)

    return with_rates(on_each_kind_of_rows(dataset, judge), runs, dataset, [model], [name for name in NDTS if name != model])


@of_grid({"yelp_full": "109ccb"}, "On {} all NDT variants lie within 0.6 points", how="simultaneous intervals of all pairs (Bonferroni)",
    points=0.6)  # fmt: skip
def judge_range(dataset: str, runs: Sequence[Run], *, points: float) -> Finding:
    by_model = configurations(runs, dataset)
    ndts = {model: seeds for model, seeds in by_model.items() if model in NDTS}
    needed(ndts, f"{len(ndts)} of {len(NDTS)} variants are installed", least=len(NDTS))
    noise = seed_noise(by_model.values())
    if noise is None:
        return not_testable("one seed each, so the effect of chance in training is unknown")
    level = 1 - LEVEL / (len(NDTS) * (len(NDTS) - 1) / 2)
    pairs = [compare_over_seeds(ndts[a], ndts[b], noise=noise, level=level) for a, b in combinations(ndts, 2)]
    widest = max(pairs, key=lambda pair: abs(pair.difference))
    within, p = inside_margin([(pair.difference, pair.low, pair.high) for pair in pairs], points / 100, coverage=level)
    evidence = f"the best and the worst differ by {100 * abs(widest.difference):.2f} points"
    evidence += f"; {within.count(False)} of {len(pairs)} pairs differ significantly more"
    low, high = (widest.low, widest.high) if widest.difference >= 0 else (-widest.high, -widest.low)
    effect = Effect(100 * abs(widest.difference), 100 * low, 100 * high, null=points, of="the best minus the worst variant")
    return with_rates(Finding(decide(all(within), False in within), evidence, effect=effect, p=p), runs, dataset, [], NDTS)


def _changes(runs: Sequence[Run], dataset: str, *constraints: str) -> list[pd.Series[float]]:
    """Return, for each run with one of these constraints, the change of lambda from its start, indexed by layer and component."""
    changes = []
    for model, seeds in configurations(runs, dataset).items():
        for run in seeds if model in NDTS and model.split("-")[1] in constraints else ():
            frame = run.history().query("name == 'lambda'").sort_values("step")
            changes.append(frame.groupby(["layer", "component"])["value"].agg(lambda value: value.iloc[-1] - value.iloc[0]))
    return changes


@of_lambda({"imdb": "7dbb12", "sst2": "deffa3", "yelp_full": "25c9e1", "twitter_financial": "bd1f84"},
    "Training itself makes unbounded lambdas grow with depth on {}", "Training makes unbounded λ grow with depth",
    where=LAMBDAS | {"sst2": "sections IV-C2, IV-H2"})  # fmt: skip
def judge_learned_growth(dataset: str, runs: Sequence[Run]) -> Finding:
    """Name runs on the same data set with equal starts in the evidence, too."""
    growth = [float(change.xs(1).mean() - change.xs(0).mean()) for change in _changes(runs, dataset, "nonneg", "free")]
    remark = "our start values already grow with depth"
    frame = controlled_lambdas(runs, dataset)
    equal = frame[(frame["variant"] == "equal") & frame["model"].str.contains("nonneg|free")]
    for (model, seed), part in equal.groupby(["model", "seed"]):
        first, second = part.groupby("layer")["end"].mean()
        ends = f"{number(first, 3)} in layer 1 and at {number(second, 3)} in layer 2"
        remark += f"; from equal starts ({model}, seed {seed}) the mean lambda ends at {ends}"
    return judge_signs(growth, "training raised layer 2's lambdas more than layer 1's", remark)


@of_lambda({"imdb": "e3607d", "sst2": "0ab894", "yelp_full": "4fda92", "twitter_financial": "9c18b5"},
    "Training itself makes lambda more negative under [−1,1] on {}", "Training makes λ more negative under [−1,1]")  # fmt: skip
def judge_learned_fall(dataset: str, runs: Sequence[Run]) -> Finding:
    """Name runs with positive starts in the evidence, too: lambda starts negative here."""
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
    needed(changes)
    if too_few(len(changes)):
        return not_testable(f"{len(changes)} runs are installed, too few for a sign test")
    count = sum(change > 0 for change in changes)
    verdict, p, share = more_than_half(count, len(changes))
    effect = Effect.from_share(*share, 0.5, "runs with this change")
    evidence = f"on average over its lambdas, {event} in {count} of {len(changes)} runs, sign test {p_value(p)}{remark and f'; {remark}'}"
    if verdict == "fails":
        return not_testable(f"the paper speaks of its own trainings, and ours go the other way: {evidence}", effect)
    return Finding(verdict, evidence, effect=effect, p=p)


@of_comparison({"imdb": "cc96b5", "sst2": "6251ba"}, "Silhouette and accuracy give the configurations of {} the same order",
    "Silhouette and accuracy give the same order", where="section IV-F", section="results",
    how="Spearman's rank correlation over configurations, means over seeds")  # fmt: skip
def judge_rank_correlation(dataset: str, runs: Sequence[Run]) -> Finding:
    frame = results(run for seeds in configurations(runs, dataset).values() for run in seeds).query("split == 'test'")
    wide = frame.pivot(index=["configuration", "run"], columns="metric", values="value").reindex(columns=["accuracy", "silhouette"])
    complete = wide.notna().all(axis=1).groupby("configuration").transform("all")
    pairs = wide[complete].groupby("configuration").mean().to_numpy(float)
    needed(pairs, f"{len(pairs)} configurations are installed, too few for a rank correlation", least=5)
    rho, p = stats.spearmanr(pairs)
    evidence = f"rank correlation {signed(rho)} over {len(pairs)} configurations, {p_value(p)}"
    verdict = printed_claims.verdict_on_ranks([(float(rho), float(p))])
    return Finding(verdict, evidence, effect=Effect(float(rho), unit="", of="rank correlation"), p=float(p))


PARTS = (specialisation.BOARD, printed_claims.BOARD, outcome_claims.BOARD, auc.BOARD, BOARD, our_claims.BOARD)
CLAIMS = tuple(claim for part in PARTS for claim in part)
