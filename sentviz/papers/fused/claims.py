"""The claims of Sentiment-Fused Attention: tested on its own tables, on simulated attention, on data sets and on the available runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sentviz.analysis.claim import VERDICT_WORDS, Effect, Finding, Reference, Row, board, decide, not_testable, settled
from sentviz.analysis.evaluation import holm
from sentviz.papers.fused import coverage
from sentviz.papers.fused import study as fused
from sentviz.papers.fused.study import BASE, CHOSEN, DATASETS, ENCODER_TITLES, INJECTED, SETTINGS, XIA, configurations
from sentviz.papers.studies.against import compared, in_points, minus, seeded
from sentviz.papers.studies.rates import with_rates
from sentviz.papers.studies.seeds import seed_noise
from sentviz.runs.store import Run

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]
MISSING = not_testable("the runs are not installed")
HALF = (0.4, 0.6)  # range of shares that "about half" and "around 50 %" mean
SAME = 0.1  # relative change within which attention stays the same
SIMULATED = 60  # random cases
ROWS = 50_000  # rows of NSMC's test split
LEVEL = 0.05  # significance level


def _printed_gains(reading: fused.Reading = "means") -> pd.DataFrame:
    """Return the printed gains in points: a row per setting, a column per encoder."""
    frame = fused.printed_gains(reading)
    return 100 * frame.pivot(index="model", columns="encoder", values="value")[list(fused.ENCODERS)]


# ---- the paper's own tables


def judge_printed_gains(*_: object) -> Finding:
    """Test whether all printed gains of the four settings are positive."""
    gains = _printed_gains().loc[list(INJECTED)].to_numpy()
    unpaired = 196 * float(np.sqrt(2 * 0.09 * 0.91 / ROWS))
    evidence = (
        f"{(gains > 0).sum()} of {gains.size} reported numbers are above the baseline, {(gains > unpaired).sum()} of them by more than"
    )
    evidence += f" {unpaired:.2f} points, the largest difference by chance of two unpaired runs of 91 % on {ROWS:,} rows; one run each"
    return settled(bool((gains > 0).all()), evidence)


def judge_printed_xia(*_: object) -> Finding:
    """Test whether each setting is above Xia et al.'s product with each encoder."""
    gains = _printed_gains()
    above = (gains.loc[list(INJECTED)] > gains.loc[XIA]).to_numpy()
    return settled(bool(above.all()), f"{above.sum()} of {above.size} reported numbers are above Xia et al.'s")


def judge_printed_loss_of_xia(*_: object) -> Finding:
    """Test whether Xia et al.'s product does not gain with every encoder, as the settings do; name those with which it gains."""
    xia = dict(zip(fused.ENCODERS, _printed_gains().loc[XIA], strict=True))
    gained = [f"{name} gains {value:+.2f}" for name, value in xia.items() if value >= 0]
    return settled(len(gained) < len(xia), "; ".join([f"it loses with {len(xia) - len(gained)} of {len(xia)} encoders", *gained]))


def judge_printed_electras(*_: object) -> Finding:
    """Test whether the three ELECTRA encoders gain more than 0.5 points in each setting."""
    gains = _printed_gains().loc[list(INJECTED), ["ko-electra", "kr-electra", "kc-electra"]].to_numpy()
    return settled(
        bool((gains > 0.5).all()), f"{(gains > 0.5).sum()} of {gains.size} gains are above 0.5; the smallest gain is {gains.min():+.2f}"
    )


def judge_printed_extremes(*_: object) -> Finding:
    """Test whether xlm-roberta-base gains most and kr-bert least in each setting."""
    gains = _printed_gains().loc[list(INJECTED)].to_numpy()
    most, least = ([fused.ENCODERS[i] for i in place(axis=1)] for place in (gains.argmax, gains.argmin))
    counts = f"xlm-roberta-base gains most in {most.count('xlm-roberta-base')}, kr-bert least in {least.count('kr-bert')}"
    return settled(set(most) == {"xlm-roberta-base"} and set(least) == {"kr-bert"}, f"{counts} of {len(gains)} settings")


def judge_printed_right_answers(*_: object) -> Finding:
    """Test whether the mean gain of each encoder that the sentence speaks of is 250 to 500 rows of NSMC's test split.

    The sentence follows "kr-bert exhibits a modest performance gain", and speaks of the other four encoders.
    """
    more = _printed_gains().loc[list(INJECTED)].mean() * ROWS / 100
    of = more.drop("kr-bert")
    numbers = ", ".join(f"{name} {value:.0f}" for name, value in of.items())
    evidence = (
        f"mean gain over the four settings in right predictions of {ROWS:,}: {numbers}; kr-bert, called modest: {more['kr-bert']:.0f}"
    )
    return settled(bool(((of >= 250) & (of < 500)).all()), evidence)


def _by_readings(judge: Callable[[fused.Reading], Finding]) -> Finding:
    """Judge a claim on table 1 under both names of its rows; if they give different verdicts, it is open."""
    findings = {words: judge(reading) for reading, words in fused.READINGS.items()}
    verdicts = {finding.verdict for finding in findings.values()}
    evidence = "; ".join(f"{words}: {finding.evidence}" for words, finding in findings.items())
    return Finding(verdicts.pop() if len(verdicts) == 1 else "open", evidence, tuple(findings.items()))


def judge_printed_best(*_: object) -> Finding:
    """Test whether the row with the best printed accuracy is that of the unscaled last head."""

    def judge(reading: fused.Reading) -> Finding:
        frame = fused.printed_accuracies(reading)
        best = frame.iloc[int(frame["value"].to_numpy().argmax())]
        return settled(best["model"] == "cls-last", f"{best['value']:.2%} ({best['encoder']}) is in “{SETTINGS[best['model']]}”")

    return _by_readings(judge)


def judge_printed_mean(*_: object) -> Finding:
    """Test whether the unscaled last head has the largest mean gain."""

    def judge(reading: fused.Reading) -> Finding:
        table = fused.statistics(reading)
        best = table["model"].iloc[int(table["mean"].to_numpy().argmax())]
        return settled(best == "cls-last", f"“{SETTINGS[best]}” has the largest, {table['mean'].max():.3f} points")

    return _by_readings(judge)


def judge_printed_spread(*_: object) -> Finding:
    """Test whether the scaled last head has the smallest standard deviation of gains."""

    def judge(reading: fused.Reading) -> Finding:
        table = fused.statistics(reading)
        least = table["model"].iloc[int(table["deviation"].to_numpy().argmin())]
        return settled(least == CHOSEN, f"“{SETTINGS[least]}” has the smallest, {table['deviation'].min():.3f} points over five encoders")

    return _by_readings(judge)


def judge_printed_stability(*_: object) -> Finding:
    """Test whether the scaled last head spreads less than each other setting, by Pitman and Morgan's test, after Holm.

    Two paired samples have equal variances if their sum and their difference are uncorrelated.
    """
    from scipy.stats import pearsonr

    def judge(reading: fused.Reading) -> Finding:
        gains = _printed_gains(reading)
        own = gains.loc[CHOSEN].to_numpy()
        rivals = {model: gains.loc[model].to_numpy() for model in INJECTED if model != CHOSEN}
        correlations = {model: pearsonr(rival + own, rival - own) for model, rival in rivals.items()}  # positive: the rival spreads wider
        adjusted = holm({model: float(correlation.pvalue) for model, correlation in correlations.items()})
        numbers = ", ".join(f"{SETTINGS[model]} p = {p:.2g}" for model, p in adjusted.items())
        signs = [int(np.sign(correlation.statistic)) * (adjusted[model] <= LEVEL) for model, correlation in correlations.items()]
        return Finding(decide(min(signs) > 0, min(signs) < 0), f"equal spreads (Pitman–Morgan, five encoders, after Holm): {numbers}")

    return _by_readings(judge)


def judge_printed_columns(*_: object) -> Finding:
    """Test whether table 2 prints the standard deviation under σ and the variance under σ²."""
    table = fused.statistics()
    straight, swapped = (
        bool(np.allclose(table[["deviation", "variance"]], table[columns], atol=0.0015))
        for columns in (["printed_sigma", "printed_sigma_squared"], ["printed_sigma_squared", "printed_sigma"])
    )
    row = table.iloc[0]
    example = f"{SETTINGS[row['model']]}: reported σ {row['printed_sigma']:.3f}, recomputed {row['deviation']:.3f}"
    rest = f"reported σ² {row['printed_sigma_squared']:.3f}, recomputed {row['variance']:.3f}"
    return settled(straight, f"{'the two columns are swapped' if swapped else 'they do not fit'}; {example}; {rest} (divisor n − 1)")


def judge_printed_counts(*_: object) -> Finding:
    """Test whether 13 printed cases out of domain rise, 5 fall and 2 stay."""
    gains = fused.printed_tasks()["value"].to_numpy()
    rise, fall, stay = int((gains > 0).sum()), int((gains < 0).sum()), int((gains == 0).sum())
    return settled((rise, fall, stay) == (13, 5, 2), f"recounted: {rise} of {len(gains)} rise, {fall} fall, {stay} stay")


def judge_printed_falls(*_: object) -> Finding:
    """Test whether the encoders that fall out of domain are kr-electra and kc-electra."""
    frame = fused.printed_tasks()
    falls = frame[frame["value"] < 0]["encoder"].value_counts()
    numbers = ", ".join(f"{name} {count}" for name, count in falls.items())
    return settled(set(falls.index) == {"kr-electra", "kc-electra"}, f"falls by encoder: {numbers}")


# ---- simulated attention and data sets


def simulated(seed: int = 0, trials: int = SIMULATED) -> tuple[Floats, Floats]:
    """Return the largest change of an attention weight when σ / √d is added to random scores of a text with a neutral first token.

    Returns:
        (trials,) changes in the first token's row, and (trials,) changes towards the first token.
    """
    rng, width = np.random.default_rng(seed), 16
    own, towards = np.empty(trials), np.empty(trials)
    for k in range(trials):
        n = int(rng.integers(5, 40))
        polarity = rng.dirichlet([1, 1, 1], size=n)
        polarity[rng.random(n) < 0.5] = 1 / 3
        polarity[0] = 1 / 3
        polarity[1] = 0.8, 0.1, 0.1
        scores = rng.normal(size=(n, width)) @ rng.normal(size=(width, n)) / np.sqrt(width)
        change = _softmax(scores + polarity @ polarity.T / np.sqrt(width)) - _softmax(scores)
        own[k], towards[k] = np.abs(change[0]).max(), np.abs(change[1:, 0]).max()
    return own, towards


def _softmax(scores: Floats) -> Floats:
    """Return the softmax of each row."""
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def judge_fixed_row(*_: object) -> Finding:
    """Test whether σ leaves the row of a neutral [CLS] unchanged, to rounding."""
    own, towards = simulated()
    evidence = f"largest change of a weight over {len(own)} random cases: {own.max():.0e} in the row of [CLS]"
    return settled(bool(own.max() < 1e-12), f"{evidence}, {towards.max():.2g} towards it")


def judge_untouched_column(*_: object) -> Finding:
    """Test whether attention towards [CLS] changes less than attention from it."""
    own, towards = simulated()
    evidence = (
        f"with the same Q and K the opposite is true: over {len(own)} random cases the weights of other tokens on [CLS] change by up to"
    )
    return settled(bool(towards.min() <= own.max()), f"{evidence} {towards.max():.2g}, the row of [CLS] by {own.max():.0e}")


def judge_neutral_share(*_: object) -> Finding:
    """Test whether about half of NSMC's tokens are neutral in KNU, the lexicon of the runs."""
    frame = coverage.MEASURED.read()
    rows = {row["lexicon"]: row for row in frame[frame["dataset"] == "nsmc"].to_dict("records")}
    if (knu := rows.get("lexicon_ko_knu")) is None:
        return not_testable("coverage was not measured")
    shares = ", ".join(f"{coverage.LEXICON_TITLES[name]} {row['neutral']:.1%}" for name, row in rows.items())
    evidence = (
        f"{shares} of {knu['tokens']:,} tokens (judged by KNU, the lexicon of the installed runs); the most frequent tokens that are not"
        " neutral by KNU:"
    )
    return settled(HALF[0] <= knu["neutral"] <= HALF[1], f"{evidence} {knu['frequent']}")


def judge_neutral_share_of_tasks(*_: object) -> Finding:
    """Test whether about half of the tokens of each task are neutral in KNU."""
    frame = coverage.MEASURED.read()
    rows = frame[(frame["lexicon"] == "lexicon_ko_knu") & frame["dataset"].isin(coverage.PAPER)]
    if len(rows) < len(coverage.PAPER):
        return not_testable("coverage was not measured on all five tasks")
    shares = ", ".join(f"{coverage.TITLES[row['dataset']]} {row['neutral']:.1%}" for row in rows.to_dict("records"))
    return settled(bool(rows["neutral"].between(*HALF).all()), f"by KNU: {shares}")


# ---- runs


def _by_encoder(encoders: Sequence[str], judge: Callable[[str], Finding]) -> Finding:
    """Judge a claim on the runs of each encoder. The verdict is that of the first (`fused.encoders`)."""
    findings = {ENCODER_TITLES[encoder]: judge(encoder) for encoder in encoders}
    first = next(iter(findings.values()))
    if len(findings) == 1:
        return first
    evidence = "; ".join(f"{title}, it {VERDICT_WORDS[part.verdict]}: {part.evidence}" for title, part in findings.items())
    return Finding(first.verdict, evidence, tuple(findings.items()), first.effect)


def _presets(encoder: str, *settings: str) -> list[str]:
    """Return the names of the runs of settings on an encoder."""
    return [encoder + setting.removeprefix(BASE) for setting in settings]


def _judge_all_better(frame: pd.DataFrame, baseline: str) -> Finding:
    """Test whether each of the four settings beats the baseline that `frame` compares them with. A worse setting refutes the claim."""
    rows = frame[frame["model"].isin(INJECTED)]
    if rows.empty:
        return MISSING
    numbers = "; ".join(f"{SETTINGS[row['model']]} {in_points(row)}, p = {row['adjusted']:.2g}" for row in rows.to_dict("records"))
    seeds = "intervals cover other seeds" if (rows["test"] == "over seeds").all() else "one seed each"
    evidence = f"in points over {baseline}, p after Holm: {numbers}; {seeds}, n = {int(rows['n'].max()):,}"
    words, missing = set(rows["verdict"]), len(INJECTED) - len(rows)
    if missing and "worse" not in words:
        evidence += f"; {missing} settings have no run"
    least = rows.sort_values("difference").iloc[0].to_dict()
    effect = Effect.from_comparison(least, f"{SETTINGS[least['model']]}, the smallest difference")
    verdict = decide(words == {"better"} and not missing, "worse" in words)
    return Finding(seeded(verdict, rows["test"]), evidence, effect=effect)


def judge_gains(dataset: str, runs: Sequence[Run]) -> Finding:
    """Test whether each setting beats the baseline without injection."""

    def judge(encoder: str) -> Finding:
        finding = _judge_all_better(fused.gains(runs, dataset, encoder), "the baseline")
        return with_rates(finding, runs, dataset, _presets(encoder, *INJECTED), _presets(encoder, BASE))

    return _by_encoder(fused.encoders(runs, dataset), judge)


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
    from scipy.stats import f

    by_model = {model: seeds for model, seeds in configurations(runs, dataset, encoder).items() if len(seeds) > 1 and model != BASE}
    spreads = {model: fused.spread(seeds) for model, seeds in by_model.items()}
    numbers = ", ".join(f"{SETTINGS[model]} {100 * value:.2f} points over {len(by_model[model])} seeds" for model, value in spreads.items())
    if CHOSEN not in spreads or len(spreads) == 1:
        return not_testable(f"only {numbers}" if numbers else "no installed setting has several seeds")
    own, p_values, wider = max(spreads.pop(CHOSEN), 1e-9), {}, {}
    for model, spread in spreads.items():
        ratio = (max(spread, 1e-9) / own) ** 2
        law = f(len(by_model[model]) - 1, len(by_model[CHOSEN]) - 1)
        p_values[model], wider[model] = min(1.0, 2 * float(min(law.sf(ratio), law.cdf(ratio)))), ratio > 1
    adjusted = holm(p_values)
    signs = [(1 if wider[model] else -1) * (p <= LEVEL) for model, p in adjusted.items()]
    verdict = decide(min(signs) > 0 and len(signs) == len(INJECTED) - 1, min(signs) < 0)
    return Finding(verdict, f"{numbers}; smallest p after Holm {min(adjusted.values()):.2g} (F tests of equal spread)")


def judge_tasks(_: str, runs: Sequence[Run]) -> Finding:
    """Test whether the injection gains in more than half of the tasks out of domain. The claim is refuted if half of them lose."""
    return _by_encoder(fused.task_encoders(runs), lambda encoder: _judge_tasks_of(runs, encoder))


def _judge_tasks_of(runs: Sequence[Run], encoder: str) -> Finding:
    frame = fused.out_of_domain(runs, encoder)
    if frame.empty:
        return MISSING
    numbers = "; ".join(f"{row['task']} {in_points(row)}, p = {row['adjusted']:.2g}" for row in frame.to_dict("records"))
    counts = frame["verdict"].value_counts()
    better, worse = int(counts.get("better", 0)), int(counts.get("worse", 0))
    verdict = decide(2 * better > len(frame), 2 * worse >= len(frame))
    evidence = f"{better} of {len(frame)} gain, {worse} lose, in points, p after Holm: {numbers}"
    finding = Finding(seeded(verdict, frame["test"]), evidence)
    for dataset in frame["dataset"].unique():
        finding = with_rates(finding, runs, dataset, _presets(encoder, CHOSEN), _presets(encoder, BASE))
    return finding


def judge_deviation(dataset: str, runs: Sequence[Run], *, measure: str, changes: bool) -> Finding:
    """Test whether a deviation about [CLS] changes, layer by layer over seeds (Welch's t test, Holm over layers).

    Args:
        changes: whether the claim is that it changes; otherwise that it stays the same within a tenth.
    """
    return _by_encoder(fused.encoders(runs, dataset), lambda encoder: _judge_deviation_of(dataset, runs, encoder, measure, changes))


def _judge_deviation_of(dataset: str, runs: Sequence[Run], encoder: str, measure: str, changes: bool) -> Finding:
    from sentviz.analysis.maps.heads import FILE

    by_model = configurations(runs, dataset, encoder)
    base, injected = (
        np.array([_by_layer(run, measure) for run in by_model.get(model, []) if FILE in run.config["files"]]) for model in (BASE, CHOSEN)
    )
    if not len(base) or not len(injected):
        return not_testable("the heads of these runs are not measured")
    relative = injected.mean(axis=0) / base.mean(axis=0) - 1
    numbers = "change by layer " + minus(", ".join(f"{100 * value:+.0f}%" for value in relative))
    seeds = f"{len(base)} against {len(injected)} seeds"
    if min(len(base), len(injected)) < 2:
        return not_testable(f"{numbers}; {seeds}, so the effect of the seed is unknown")
    p_values, spans = welch(injected, base)
    adjusted = holm({str(layer): float(value) for layer, value in enumerate(p_values)})
    spans = spans / base.mean(axis=0)
    most = int(np.abs(relative).argmax())
    low, high = (100 * float(side) for side in spans[:, most])
    effect = Effect(100 * float(relative[most]), low, high, "%", of=f"largest change, in layer {most + 1}")
    evidence = f"{numbers}; smallest p after Holm over {len(adjusted)} layers {min(adjusted.values()):.2g}; {seeds}"
    same = bool((np.abs(spans) <= SAME).all())
    changed = min(adjusted.values()) <= LEVEL and not same
    return Finding(decide(changed, same) if changes else decide(same, changed), evidence, effect=effect)


def welch(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Compare the means of (S, L) and (T, L) values over seeds by Welch's t test.

    Returns:
        p (L,), and the 95 % intervals (2, L) of the differences of means.
    """
    from scipy.stats import t

    part = [side.var(axis=0, ddof=1) / len(side) for side in (a, b)]
    error = np.maximum(np.sqrt(part[0] + part[1]), 1e-12)
    freedom = error**4 / np.maximum(part[0] ** 2 / (len(a) - 1) + part[1] ** 2 / (len(b) - 1), 1e-48)
    difference = a.mean(axis=0) - b.mean(axis=0)
    half = t.ppf(0.975, freedom) * error
    return 2 * t.sf(np.abs(difference) / error, freedom), np.stack([difference - half, difference + half])


def _by_layer(run: Run, measure: str) -> Floats:
    """Return a run's stored measure of its heads, the mean over heads of each layer (L,)."""
    from sentviz.analysis.maps.heads import FILE

    frame = run.frame(FILE)
    rows = frame[(frame["head"] < 0) & (frame["measure"] == measure)].sort_values("layer")
    return rows["value"].to_numpy(np.float64)


TABLES: Reference = "its own tables"
RUNS: Reference = "runs here"
OVER_SEEDS = (
    "t tests for other rows and other seeds, with the variance between seeds pooled over all settings; p after Holm over the four settings"
)
LAYERS = "Welch's t test of the means over seeds, layer by layer, p after Holm"

CLAIMS = board(
    DATASETS,
    Row("Every setting gains, with every encoder", "Every setting gains over the baseline with every encoder", TABLES,
        judge_printed_gains, {"nsmc": ("299d3f", "section 5.1")}, "results", "gains"),
    Row("Every setting beats Xia et al.'s product", "Every setting is better than Xia et al.'s product with every encoder",
        TABLES, judge_printed_xia, {"nsmc": ("79aa43", "section 5.1")}, "results", "gains"),
    Row("Xia et al.'s product gains less stably", "Xia et al.'s product does not gain with every encoder, unlike every setting", TABLES,
        judge_printed_loss_of_xia, {"nsmc": ("a364e9", "section 5.1")}, "results", "gains"),
    Row("ELECTRAs gain more than 0.5 points", "The three ELECTRA encoders gain more than 0.5 points in every setting", TABLES,
        judge_printed_electras, {"nsmc": ("465fb2", "section 5.1")}, "results", "gains"),
    Row("xlm-roberta gains most, kr-bert least", "xlm-roberta-base gains most and kr-bert least", TABLES, judge_printed_extremes,
        {"nsmc": ("116302", "section 5.1")}, "results", "gains"),
    Row("Gains are 250 to 500 more right predictions", "Mean gains, except kr-bert's, are 250 to almost 500 more right predictions", TABLES,
        judge_printed_right_answers, {"nsmc": ("24c4e5", "section 5.1")}, "results"),
    Row("The unscaled last head has the best, 92.65", "The unscaled last head has the best accuracy, 92.65", TABLES,
        judge_printed_best, {"nsmc": ("649f1c", "section 5.1")}, "results"),
    Row("Unscaled last head: largest mean gain", "The unscaled last head has the largest mean gain", TABLES, judge_printed_mean,
        {"nsmc": ("373df8", "section 5.2")}, "statistics"),
    Row("Last head ÷ √d: smallest spread of gains", "Last head ÷ √d has the smallest spread of gains", TABLES,
        judge_printed_spread, {"nsmc": ("c92882", "section 5.2")}, "statistics"),
    Row("Last head ÷ √d is more stable than the others", "Last head ÷ √d is more stable than the other settings", TABLES,
        judge_printed_stability, {"nsmc": ("c5a4f0", "section 5.2")}, "statistics",
        how="the Pitman–Morgan test of equal spreads of paired gains, p after Holm"),
    Row("Table 2's columns are σ and σ²", "Table 2 has the standard deviation as σ and the variance as σ²", TABLES,
        judge_printed_columns, {"nsmc": ("7ed80f", "table 2")}, "statistics"),
    Row("Out of domain 13 rise, 5 fall, 2 stay", "Out of domain 13 of 20 cases rise, 5 fall and 2 stay", TABLES,
        judge_printed_counts, {"": ("a1b294", "section 5.2")}, "tasks", "gains-out-of-domain"),
    Row("Only kr-electra and kc-electra fall", "Only kr-electra and kc-electra fall", TABLES, judge_printed_falls,
        {"": ("a761ba", "section 5.2")}, "tasks", "gains-out-of-domain"),
    Row("σ cannot change the row of [CLS]", "With the same Q and K, σ cannot change the row of a neutral [CLS]",
        "simulated runs", judge_fixed_row, {"": ("2dc53c", "ours")}, "cls"),
    Row("Attention to [CLS] hardly changes", "[CLS] has no polarity, so attention to [CLS] hardly changes, but the attention of [CLS] does",
        "simulated runs", judge_untouched_column, {"": ("8ea1d6", "section 6")}, "cls"),
    Row("About half of the tokens stay neutral", "About half of {}'s tokens stay neutral", "data sets", judge_neutral_share,
        {"nsmc": ("f3d150", "section 4.5, figure 4")}, "coverage", "coverage"),
    Row("The share hardly differs between tasks", "The share hardly differs between the five tasks", "data sets",
        judge_neutral_share_of_tasks, {"": ("288c6c", "section 4.5, figure 4")}, "coverage", "coverage"),
    Row("Every setting gains over the baseline", "Every setting gains over the baseline on {}", RUNS, judge_gains,
        {"nsmc": ("ec07d9", "section 5.1"), "sst2": ("7abaf3", "section 5.1")}, "results", "gains", OVER_SEEDS),
    Row("Every setting beats Xia et al.'s product", "Every setting is better than Xia et al.'s product on {}", RUNS,
        judge_against_xia, {"nsmc": ("60b5a9", "section 5.1"), "sst2": ("bbbebf", "section 5.1")}, "results", "gains",
        OVER_SEEDS),
    Row("Last head ÷ √d varies least over seeds", "Last head ÷ √d varies least on {} (paper: over encoders, here: over seeds)",
        RUNS, judge_spread_over_seeds, {"nsmc": ("b1bb17", "section 5.2"), "sst2": ("5cc8b0", "section 5.2")}, "results", "gains",
        "F tests of equal variances over seeds, p after Holm"),
    Row("It changes how uneven [CLS] attention is",
        "On {} the injection changes how uneven the attention of [CLS] to the others is", RUNS,
        partial(judge_deviation, measure="from_cls", changes=True),
        {"nsmc": ("b4e6d5", "section 6, figure 5"), "sst2": ("8aed0b", "section 6, figure 5")}, "cls", "cls-lines", LAYERS),
    Row("It does not change attention to [CLS]", "On {} it changes the others' attention to [CLS] by less than a tenth",
        RUNS, partial(judge_deviation, measure="to_cls", changes=False),
        {"nsmc": ("0c4d75", "section 6, figure 5"), "sst2": ("6f3f59", "section 6, figure 5")}, "cls", "cls-lines", LAYERS),
    Row("Out of domain it gains in most tasks", "Out of domain the injection gains in most tasks", RUNS, judge_tasks,
        {"": ("a001af", "section 5.2")}, "tasks", "gains-out-of-domain", OVER_SEEDS.replace("the four settings", "the tasks"),
        reads=tuple(task.dataset for task in fused.TASKS if task.dataset)),
)  # fmt: skip
