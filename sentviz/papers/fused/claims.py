"""The claims of Sentiment-Fused Attention: tested on its own tables, on simulated attention, on data sets and on the available runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from sentviz.analysis.claim import Effect, Finding, Reference, Row, board, decide, equivalent, not_testable, p_of_margin, strictest_finding
from sentviz.analysis.evaluation import holm
from sentviz.analysis.maps.heads import FILE
from sentviz.analysis.seeds import SPREAD_IN_WORDS
from sentviz.io.lazy import pd, stats
from sentviz.io.numbers import p_value, percent, signed
from sentviz.papers.fused import formula_claims as formulas
from sentviz.papers.fused import printed_claims as printed
from sentviz.papers.fused import study as fused
from sentviz.papers.fused.study import (
    BASE,
    CHOSEN,
    DATASETS,
    ENCODER_TITLES,
    INJECTED,
    SCRATCH,
    SETTINGS,
    WHOLE_WORDS,
    XIA,
    configurations,
)
from sentviz.papers.studies import compare_configurations
from sentviz.papers.studies.compare_configurations import compared, in_points, mixed, p_of_all, seeded
from sentviz.papers.studies.rates import with_rates
from sentviz.papers.studies.stats import seed_noise
from sentviz.runs.store import Run

Floats = npt.NDArray[np.float64]
MISSING = not_testable("the runs are not installed")
SAME = 0.1  # relative change within which attention stays the same
LEVEL = 0.05  # significance level


# ---- runs


def _by_encoder(encoders: Sequence[str], judge: Callable[[str], Finding]) -> Finding:
    """Judge a claim on the runs of each encoder: a part each, if there are several (`strictest_finding`)."""
    findings = {"an encoder from scratch" if encoder == SCRATCH else ENCODER_TITLES[encoder]: judge(encoder) for encoder in encoders}
    return strictest_finding(findings) if len(findings) > 1 else next(iter(findings.values()))


def _presets(encoder: str, *settings: str) -> list[str]:
    """Return the names of the runs of settings on an encoder."""
    return [encoder + setting.removeprefix(BASE) for setting in settings]


def _judge_all_better(frame: pd.DataFrame, baseline: str) -> Finding:
    """Test whether each of the four settings beats the baseline that `frame` compares them with. A worse setting refutes the claim."""
    rows = frame[frame["model"].isin(INJECTED)]
    if rows.empty:
        return MISSING
    numbers = "; ".join(f"{SETTINGS[row['model']]} {in_points(row)}, {p_value(row['adjusted'])}" for row in rows.to_dict("records"))
    seeds = "intervals cover other seeds" if (rows["test"] == "over seeds").all() else "one seed each"
    evidence = f"in points over {baseline}, p after Holm: {numbers}; {seeds}, n = {int(rows['n'].max()):,}"
    words, missing = set(rows["verdict"]), len(INJECTED) - len(rows)
    if missing and "worse" not in words:
        evidence += f"; {missing} settings have no run"
    least = rows.sort_values("difference").iloc[0].to_dict()
    effect = Effect.from_comparison(least, f"{SETTINGS[least['model']]}, the smallest difference")
    verdict = decide(words == {"better"} and not missing, "worse" in words)
    p = p_of_all(verdict, zip(rows["adjusted"], rows["verdict"], strict=True))
    return Finding(seeded(verdict, rows["test"]), evidence, effect=effect, p=p)


def judge_gains(dataset: str, runs: Sequence[Run]) -> Finding:
    """Test whether each setting beats the baseline without injection."""

    def judge(encoder: str) -> Finding:
        finding = _judge_all_better(fused.gains(runs, dataset, encoder), "the baseline")
        return with_rates(finding, runs, dataset, _presets(encoder, *INJECTED), _presets(encoder, BASE))

    return _by_encoder(fused.encoders(runs, dataset), judge)


def judge_whole_words(dataset: str, runs: Sequence[Run]) -> Finding:
    """Test whether the paper's best setting gains over the baseline if only whole words are polar, and no emoticons.

    The evidence has the difference from the same setting with the usual polarities, too.
    """
    by_model = compare_configurations.configurations(runs, dataset, (BASE, CHOSEN, WHOLE_WORDS))
    if len(by_model) < 3:
        return not_testable(f"the runs are not installed: `sentviz study fused-whole-words --dataset {dataset}` trains them")
    noise = seed_noise(by_model.values())
    gain, usual = (mixed(by_model[WHOLE_WORDS], by_model[model], noise=noise) for model in (BASE, CHOSEN))
    verdict = seeded(decide(gain.word() == "better", gain.word() == "worse"), [gain.test])
    evidence = f"against the baseline {gain.numbers}; against the same setting with pieces of words and emoticons {usual.numbers}"
    finding = Finding(verdict, evidence, effect=gain.effect("whole words"), p=gain.p)
    return with_rates(finding, runs, dataset, [WHOLE_WORDS], [BASE])


def judge_against_xia(dataset: str, runs: Sequence[Run]) -> Finding:
    """Test whether each setting beats Xia et al.'s product."""

    def judge(encoder: str) -> Finding:
        by_model = configurations(runs, dataset, encoder)
        settings = {model: seeds for model, seeds in by_model.items() if model != BASE}
        finding = _judge_all_better(compared(settings, XIA, noise=seed_noise(by_model.values())), "Xia et al.'s product")
        return with_rates(finding, runs, dataset, _presets(encoder, *INJECTED), _presets(encoder, XIA))

    return _by_encoder(fused.encoders(runs, dataset), judge)


def judge_spread_over_seeds(dataset: str, runs: Sequence[Run]) -> Finding:
    """Test whether the scaled last head varies least over seeds: F tests of its variance against each other setting, after Holm."""
    return _by_encoder(fused.encoders(runs, dataset), lambda encoder: _judge_spread(dataset, runs, encoder))


def _judge_spread(dataset: str, runs: Sequence[Run], encoder: str) -> Finding:
    by_model = {model: seeds for model, seeds in configurations(runs, dataset, encoder).items() if len(seeds) > 1 and model != BASE}
    spreads = {model: fused.spread(seeds) for model, seeds in by_model.items()}
    numbers = ", ".join(f"{SETTINGS[model]} {100 * value:.2f} points over {len(by_model[model])} seeds" for model, value in spreads.items())
    if CHOSEN not in spreads or len(spreads) == 1:
        return not_testable(f"only {numbers}" if numbers else "no installed setting has several seeds")
    own, p_values, wider = max(spreads.pop(CHOSEN), 1e-9), {}, {}
    for model, spread in spreads.items():
        ratio = (max(spread, 1e-9) / own) ** 2
        law = stats.f(len(by_model[model]) - 1, len(by_model[CHOSEN]) - 1)
        p_values[model], wider[model] = min(1.0, 2 * float(min(law.sf(ratio), law.cdf(ratio)))), ratio > 1
    adjusted = holm(p_values)
    signs = [(1 if wider[model] else -1) * (p <= LEVEL) for model, p in adjusted.items()]
    verdict = decide(min(signs) > 0 and len(signs) == len(INJECTED) - 1, min(signs) < 0)
    p = max(adjusted.values()) if verdict == "holds" else min(adjusted.values())
    return Finding(verdict, f"{numbers}; {p_value(min(adjusted.values()), 'smallest p after Holm')} (F tests of equal spread)", p=p)


def judge_tasks(_: str, runs: Sequence[Run]) -> Finding:
    """Test whether the injection gains in more than half of the tasks out of domain. The claim is refuted if half of them lose."""
    return _by_encoder(fused.task_encoders(runs), lambda encoder: _judge_tasks_of(runs, encoder))


def _judge_tasks_of(runs: Sequence[Run], encoder: str) -> Finding:
    frame = fused.out_of_domain(runs, encoder)
    if frame.empty:
        return MISSING
    numbers = "; ".join(f"{row['task']} {in_points(row)}, {p_value(row['adjusted'])}" for row in frame.to_dict("records"))
    counts = frame["verdict"].value_counts()
    better, worse = int(counts.get("better", 0)), int(counts.get("worse", 0))
    verdict = decide(2 * better > len(frame), 2 * worse >= len(frame))
    evidence = f"{better} of {len(frame)} gain, {worse} lose, p after Holm: {numbers}"
    decisive = frame.loc[frame["verdict"] == ("better" if verdict == "holds" else "worse"), "adjusted"]
    finding = Finding(seeded(verdict, frame["test"]), evidence, p=None if decisive.empty else float(decisive.max()))
    for dataset in frame["dataset"].unique():
        finding = with_rates(finding, runs, dataset, _presets(encoder, CHOSEN), _presets(encoder, BASE))
    return finding


def judge_deviation(dataset: str, runs: Sequence[Run], *, measure: str, changes: bool) -> Finding:
    """Test whether a deviation about [CLS] changes, layer by layer over seeds (Welch's t test, Holm over layers).

    It cannot be judged on an encoder whose classifier does not read [CLS].

    Args:
        changes: whether the claim is that it changes; otherwise that every layer stays the same within a tenth. It is
            refuted by a layer whose change is more than a tenth (`equivalent`), but not by a smaller significant change.
    """
    return _by_encoder(fused.encoders_on_cls(runs, dataset), lambda encoder: _judge_deviation_of(dataset, runs, encoder, measure, changes))


def _judge_deviation_of(dataset: str, runs: Sequence[Run], encoder: str, measure: str, changes: bool) -> Finding:
    if why := fused.reads_mean(runs, dataset, encoder):
        return not_testable(why)
    by_model = configurations(runs, dataset, encoder)
    base, injected = (
        np.array([_by_layer(run, measure) for run in by_model.get(model, []) if FILE in run.files]) for model in (BASE, CHOSEN)
    )
    if not len(base) or not len(injected):
        return not_testable("the heads of these runs are not measured")
    relative = injected.mean(axis=0) / base.mean(axis=0) - 1
    numbers = "change by layer " + ", ".join(percent(value, 0, write=signed) for value in relative)
    seeds = f"{len(base)} against {len(injected)} seeds"
    if min(len(base), len(injected)) < 2:
        return not_testable(f"{numbers}; {seeds}, so the effect of the seed is unknown")
    p_values, spans = welch(injected, base)
    adjusted = holm({str(layer): float(value) for layer, value in enumerate(p_values)})
    spans = spans / base.mean(axis=0)
    wider = welch(injected, base, 1 - LEVEL / len(relative))[1] / base.mean(axis=0)  # hold for all layers at once (Bonferroni)
    most = int(np.abs(relative).argmax())
    low, high = (100 * float(side) for side in spans[:, most])
    effect = Effect(100 * float(relative[most]), low, high, "%", of=f"largest change, in layer {most + 1}")
    evidence = f"{numbers}; over {len(adjusted)} layers {p_value(min(adjusted.values()), 'smallest p after Holm')}; {seeds}"
    ends = [(float(change), float(low), float(high)) for change, low, high in zip(relative, *spans, strict=True)]
    same = all(equivalent(low, high, SAME) for _, low, high in ends)
    levels = [p_of_margin(change, low, high, SAME) for change, low, high in ends]
    p_same = max(levels)
    if changes:
        verdict = decide(min(adjusted.values()) <= LEVEL and not same, same)
        return Finding(verdict, evidence, effect=effect, p=p_same if same else min(adjusted.values()))
    beyond = [len(ends) * p for p, low, high in zip(levels, *wider, strict=True) if equivalent(low, high, SAME) is False]
    return Finding(decide(same, bool(beyond)), evidence, effect=effect, p=min(1.0, min(beyond)) if beyond else p_same)


def judge_cause(dataset: str, runs: Sequence[Run]) -> Finding:
    """Test whether accuracy gains where the attention of [CLS] shifts. A gain without a shift, or a loss with one, refutes the claim.

    A shift and a gain that come together do not prove a cause.
    """
    return _by_encoder(fused.encoders_on_cls(runs, dataset), lambda encoder: _judge_cause_of(dataset, runs, encoder))


def _judge_cause_of(dataset: str, runs: Sequence[Run], encoder: str) -> Finding:
    frame = fused.gains(runs, dataset, encoder)
    rows = frame[frame["model"] == CHOSEN].to_dict("records")
    shift = _judge_deviation_of(dataset, runs, encoder, "from_cls", changes=True)
    if not rows or shift.verdict == "unjudged":
        return not_testable(shift.evidence if rows else MISSING.evidence)
    (gain,) = rows
    evidence = f"gain {in_points(gain)}, {p_value(gain['adjusted'], 'p after Holm')}; attention of [CLS]: {shift.evidence}"
    shifts, stays = shift.verdict == "holds", shift.verdict == "fails"
    better, worse = gain["verdict"] == "better", gain["verdict"] == "worse"
    verdict = decide(shifts and better, (stays and better) or (shifts and worse))
    p = None if shift.level is None else max(float(gain["adjusted"]), shift.level)
    return Finding(seeded(verdict, [gain["test"]]), evidence, effect=Effect.from_comparison(gain, SETTINGS[CHOSEN]), p=p)


def welch(a: Floats, b: Floats, coverage: float = 0.95) -> tuple[Floats, Floats]:
    """Compare the means of (S, L) and (T, L) values over seeds by Welch's t test.

    Returns:
        p (L,), and the intervals (2, L) of the differences of means.
    """
    part = [side.var(axis=0, ddof=1) / len(side) for side in (a, b)]
    error = np.maximum(np.sqrt(part[0] + part[1]), 1e-12)
    freedom = error**4 / np.maximum(part[0] ** 2 / (len(a) - 1) + part[1] ** 2 / (len(b) - 1), 1e-48)
    difference = a.mean(axis=0) - b.mean(axis=0)
    half = stats.t.ppf((1 + coverage) / 2, freedom) * error
    return 2 * stats.t.sf(np.abs(difference) / error, freedom), np.stack([difference - half, difference + half])


def _by_layer(run: Run, measure: str) -> Floats:
    """Return a run's stored measure of its heads, the mean over heads of each layer (L,)."""
    frame = run.frame(FILE)
    rows = frame[(frame["head"] < 0) & (frame["measure"] == measure)].sort_values("layer")
    return rows["value"].to_numpy(np.float64)


TABLES: Reference = "its own tables"
RUNS: Reference = "runs here"
OVER_SEEDS = f"t tests for other rows and other seeds, with {SPREAD_IN_WORDS}; p after Holm over the four settings"
LAYERS = "Welch's t test of the means over seeds, layer by layer, p after Holm"

CLAIMS = board(
    DATASETS,
    Row("Every setting gains, with every encoder", "Every setting gains over the baseline with every encoder", TABLES, "printed",
        printed.judge_printed_gains, {"nsmc": ("299d3f", "section 5.1")}, "results", "gains"),
    Row("Every setting beats Xia et al.'s product", "Every setting is better than Xia et al.'s product with every encoder",
        TABLES, "printed", printed.judge_printed_xia, {"nsmc": ("79aa43", "section 5.1")}, "results", "gains"),
    Row("Xia et al.'s product gains less stably", "Xia et al.'s product does not gain with every encoder, unlike every setting", TABLES,
        "printed",
        printed.judge_printed_loss_of_xia, {"nsmc": ("a364e9", "section 5.1")}, "results", "gains"),
    Row("ELECTRAs gain more than 0.5 points", "The three ELECTRA encoders gain more than 0.5 points in every setting", TABLES, "printed",
        printed.judge_printed_electras, {"nsmc": ("465fb2", "section 5.1")}, "results", "gains"),
    Row("xlm-roberta gains most, kr-bert least", "xlm-roberta-base gains most and kr-bert least", TABLES, "printed",
        printed.judge_printed_extremes,
        {"nsmc": ("116302", "section 5.1")}, "results", "gains"),
    Row("Gains are 250 to 500 more right predictions", "Mean gains, except kr-bert's, are 250 to almost 500 more right predictions",
        TABLES, "printed",
        printed.judge_printed_right_answers, {"nsmc": ("24c4e5", "section 5.1")}, "results"),
    Row("The unscaled last head has the best, 92.65", "The unscaled last head has the best accuracy, 92.65", TABLES, "printed",
        printed.judge_printed_best, {"nsmc": ("649f1c", "section 5.1")}, "results"),
    Row("Unscaled last head: largest mean gain", "The unscaled last head has the largest mean gain", TABLES, "printed",
        printed.judge_printed_mean,
        {"nsmc": ("373df8", "section 5.2")}, "statistics"),
    Row("Last head ÷ √d: smallest spread of gains", "Last head ÷ √d has the smallest spread of gains", TABLES, "printed",
        printed.judge_printed_spread, {"nsmc": ("c92882", "section 5.2")}, "statistics"),
    Row("Last head ÷ √d is more stable than the others", "Last head ÷ √d is more stable than the other settings", TABLES, "tested",
        printed.judge_printed_stability, {"nsmc": ("c5a4f0", "section 5.2")}, "statistics",
        how="the Pitman–Morgan test of equal spreads of paired gains, p after Holm"),
    Row("Table 2's columns are σ and σ²", "Table 2 has the standard deviation as σ and the variance as σ²", TABLES, "printed",
        printed.judge_printed_columns, {"nsmc": ("7ed80f", "table 2")}, "statistics"),
    Row("Out of domain 13 rise, 5 fall, 2 stay", "Out of domain 13 of 20 cases rise, 5 fall and 2 stay", TABLES, "printed",
        printed.judge_printed_counts, {"": ("a1b294", "section 5.2")}, "tasks", "gains-out-of-domain"),
    Row("Only kr-electra and kc-electra fall", "Only kr-electra and kc-electra fall", TABLES, "printed", printed.judge_printed_falls,
        {"": ("a761ba", "section 5.2")}, "tasks", "gains-out-of-domain"),
    Row("The injection is effective out of domain", "The injection is effective out of domain", TABLES, "tested",
        printed.judge_effective_out_of_domain, {"": ("6b92e4", "abstract")}, "tasks", "gains-out-of-domain",
        "a sign test of the cases that change"),
    Row("Baselines are trained as injected models", "The baselines of table 1 are trained as the injected models are", TABLES, "printed",
        printed.judge_own_baselines, {"nsmc": ("0f71a8", "section 4.4")}, "results",
        how="a comparison with the accuracies that were published before for the same encoders"),
    Row("92.65 is the state of the art on NSMC", "92.65 is above every accuracy on NSMC in the lists of these encoders", TABLES, "printed",
        printed.judge_best_published, {"nsmc": ("c3e8d2", "abstract")}, "results",
        how="a comparison with the accuracies that were published before"),
    Row("Negative scores turn the product around",
        "Where a score is negative, Xia et al.'s product lowers the weight of a more similar pair, and the sum does not",
        "simulated runs", "theorem",
        formulas.judge_negative_product, {"": ("9a5d17", "section 3.1")}, "method", "product-and-sum"),
    Row("Scores between alike words are often negative", "On {} a tenth or more of the scores between alike words are negative", RUNS,
        "counted",
        formulas.judge_negative_scores, {"nsmc": ("71c4ae", "section 3.1"), "sst2": ("a0d359", "section 3.1")}, "method",
        how="counted in the baselines with weights, over all layers and heads"),
    Row("Xia et al.'s product changes neutral texts",
        "Xia et al.'s product changes texts without words of the lexicon, and the sum does not",
        "simulated runs", "theorem", formulas.judge_flattened, {"": ("e17b60", "ours")}, "method", "product-and-sum"),
    Row("σ cannot change the row of [CLS]", "With the same Q and K, σ cannot change the row of a neutral [CLS]",
        "simulated runs", "theorem", formulas.judge_fixed_row, {"": ("2dc53c", "ours")}, "cls"),
    Row("Attention to [CLS] hardly changes", "[CLS] has no polarity, so attention to [CLS] hardly changes, but the attention of [CLS] does",
        "simulated runs", "theorem", formulas.judge_untouched_column, {"": ("8ea1d6", "section 6")}, "cls"),
    Row("About half of the tokens stay neutral", "About half of {}'s tokens stay neutral", "data sets", "counted",
        formulas.judge_neutral_share,
        {"nsmc": ("f3d150", "section 4.5, figure 4")}, "coverage", "coverage"),
    Row("The share hardly differs between tasks", "The share hardly differs between the five tasks", "data sets", "counted",
        formulas.judge_neutral_share_of_tasks, {"": ("288c6c", "section 4.5, figure 4")}, "coverage", "coverage-tokenizers"),
    Row("The share hardly differs between models", "The share hardly differs between the tokenizers of five models", "data sets", "counted",
        formulas.judge_neutral_share_of_models, {"": ("d4c05b", "section 4.5, figure 4")}, "coverage", "coverage-tokenizers"),
    Row("Every setting gains over the baseline", "Every setting gains over the baseline on {}", RUNS, "tested", judge_gains,
        {"nsmc": ("ec07d9", "section 5.1"), "sst2": ("7abaf3", "section 5.1")}, "results", "gains", OVER_SEEDS),
    Row("It gains with whole words only, too",
        "With polarities of whole words only, and no emoticons, the last head ÷ √d gains over the baseline on {}", RUNS, "tested",
        judge_whole_words, {"sst2": ("1caf02", "ours")}, "results", "gains",
        f"t tests for other rows and other seeds, with {SPREAD_IN_WORDS}"),
    Row("Every setting beats Xia et al.'s product", "Every setting is better than Xia et al.'s product on {}", RUNS, "tested",
        judge_against_xia, {"nsmc": ("60b5a9", "section 5.1"), "sst2": ("bbbebf", "section 5.1")}, "results", "gains",
        OVER_SEEDS),
    Row("Last head ÷ √d varies least over seeds", "Last head ÷ √d varies least on {} (paper: over encoders, here: over seeds)",
        RUNS, "tested", judge_spread_over_seeds, {"nsmc": ("b1bb17", "section 5.2"), "sst2": ("5cc8b0", "section 5.2")}, "results", "gains",
        "F tests of equal variances over seeds, p after Holm"),
    Row("It changes how uneven [CLS] attention is",
        "On {} the injection changes how uneven the attention of [CLS] to the others is", RUNS, "tested",
        partial(judge_deviation, measure="from_cls", changes=True),
        {"nsmc": ("b4e6d5", "section 6, figure 5"), "sst2": ("8aed0b", "section 6, figure 5")}, "cls", "cls-lines", LAYERS),
    Row("It does not change attention to [CLS]", "On {} it changes the others' attention to [CLS] by less than a tenth",
        RUNS, "tested", partial(judge_deviation, measure="to_cls", changes=False),
        {"nsmc": ("0c4d75", "section 6, figure 5"), "sst2": ("6f3f59", "section 6, figure 5")}, "cls", "cls-lines", LAYERS),
    Row("The shift of [CLS] attention comes with a gain", "On {} the shift of the attention of [CLS] comes with a gain", RUNS, "tested",
        judge_cause,
        {"nsmc": ("52b9f3", "section 6"), "sst2": ("d86e1c", "section 6")}, "cls", "cls-lines",
        "the test of the gain and the test of the shift, p after Holm each"),
    Row("Out of domain it gains in most tasks", "Out of domain the injection gains in most tasks", RUNS, "tested", judge_tasks,
        {"": ("a001af", "section 5.2")}, "tasks", "gains-out-of-domain", OVER_SEEDS.replace("the four settings", "the tasks"),
        reads=tuple(task.dataset for task in fused.TASKS if task.dataset)),
)  # fmt: skip
