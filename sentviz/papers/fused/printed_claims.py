"""Claims of Sentiment-Fused Attention on its own tables, and on the accuracies that the authors of its encoders publish."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from sentviz.analysis.claim import LEVEL, Board, Effect, Finding, decide, settled
from sentviz.analysis.evaluation import holm
from sentviz.io.lazy import pd, stats
from sentviz.io.numbers import p_value, percent, signed
from sentviz.papers.fused import study as fused
from sentviz.papers.fused.study import CHOSEN, INJECTED, SETTINGS, XIA
from sentviz.papers.studies.judging import more_than_half, needed

ROWS = 50_000  # rows of NSMC's test split
NOT_STORED = "no published accuracies are stored"
BOARD = Board(fused.DATASETS)
printed = partial(BOARD.claim, against="its own tables", kind="printed")
of_gains = partial(printed, where="section 5.1", section="results", figure="gains")
of_spreads = partial(printed, where="section 5.2", section="statistics")
of_tasks = partial(printed, where="section 5.2", section="tasks", figure="gains-out-of-domain")


def _printed_gains(reading: fused.Reading = "means") -> pd.DataFrame:
    """Return the printed gains in points: a row per setting, a column per encoder."""
    frame = fused.printed_gains(reading)
    return 100 * frame.pivot(index="model", columns="encoder", values="value")[list(fused.ENCODERS)]


@of_gains({"nsmc": "299d3f"}, "Every setting gains over the baseline with every encoder", "Every setting gains, with every encoder")
def judge_printed_gains() -> Finding:
    gains = _printed_gains().loc[list(INJECTED)].to_numpy()
    unpaired = 196 * float(np.sqrt(2 * 0.09 * 0.91 / ROWS))
    evidence = f"{(gains > 0).sum()} of {gains.size} reported numbers are above the baseline, {(gains > unpaired).sum()} of them by more"
    evidence += f" than {unpaired:.2f} points, the largest difference by chance of two unpaired runs of 91 % on {ROWS:,} rows; one run each"
    return settled((gains > 0).all(), evidence)


@of_gains(
    {"nsmc": "79aa43"}, "Every setting is better than Xia et al.'s product with every encoder", "Every setting beats Xia et al.'s product"
)
def judge_printed_xia() -> Finding:
    gains = _printed_gains()
    above = (gains.loc[list(INJECTED)] > gains.loc[XIA]).to_numpy()
    return settled(above.all(), f"{above.sum()} of {above.size} reported numbers are above Xia et al.'s")


@of_gains({"nsmc": "a364e9"}, "Xia et al.'s product does not gain with every encoder, unlike every setting",
    "Xia et al.'s product gains less stably")  # fmt: skip
def judge_printed_loss_of_xia() -> Finding:
    xia = dict(zip(fused.ENCODERS, _printed_gains().loc[XIA], strict=True))
    gained = [f"{name} gains {signed(value)}" for name, value in xia.items() if value >= 0]
    return settled(len(gained) < len(xia), "; ".join([f"it loses with {len(xia) - len(gained)} of {len(xia)} encoders", *gained]))


@of_gains({"nsmc": "465fb2"}, "The three ELECTRA encoders gain more than 0.5 points in every setting", "ELECTRAs gain more than 0.5 points")
def judge_printed_electras() -> Finding:
    gains = _printed_gains().loc[list(INJECTED), ["ko-electra", "kr-electra", "kc-electra"]].to_numpy()
    evidence = f"{(gains > 0.5).sum()} of {gains.size} gains are above 0.5; the smallest gain is {signed(gains.min())}"
    return settled((gains > 0.5).all(), evidence)


@of_gains({"nsmc": "116302"}, "xlm-roberta-base gains most and kr-bert least", "xlm-roberta gains most, kr-bert least")
def judge_printed_extremes() -> Finding:
    gains = _printed_gains().loc[list(INJECTED)].to_numpy()
    most, least = ([fused.ENCODERS[i] for i in place(axis=1)] for place in (gains.argmax, gains.argmin))
    counts = f"xlm-roberta-base gains most in {most.count('xlm-roberta-base')}, kr-bert least in {least.count('kr-bert')}"
    return settled(set(most) == {"xlm-roberta-base"} and set(least) == {"kr-bert"}, f"{counts} of {len(gains)} settings")


@of_gains({"nsmc": "24c4e5"}, "Mean gains, except kr-bert's, are 250 to almost 500 more right predictions",
    "Gains are 250 to 500 more right predictions", figure="")  # fmt: skip
def judge_printed_right_answers() -> Finding:
    """Leave out kr-bert: the sentence follows "kr-bert exhibits a modest performance gain", and speaks of the other four encoders."""
    more = _printed_gains().loc[list(INJECTED)].mean() * ROWS / 100
    of = more.drop("kr-bert")
    numbers = ", ".join(f"{name} {value:.0f}" for name, value in of.items())
    evidence = f"mean gain over the four settings in right predictions of {ROWS:,}: {numbers}; kr-bert, called modest:"
    return settled(((of >= 250) & (of < 500)).all(), f"{evidence} {more['kr-bert']:.0f}")


def by_readings(judge: Callable[[fused.Reading], Finding]) -> Callable[[], Finding]:
    """Judge a claim on table 1 under both names of its rows; if they give different verdicts, it is open.

    Readings are not parts of the claim: only one of them is right, and the paper does not say which.
    """

    def test() -> Finding:
        findings = {words: judge(reading) for reading, words in fused.READINGS.items()}
        verdicts = {finding.verdict for finding in findings.values()}
        evidence = "; ".join(f"{words}: {finding.evidence}" for words, finding in findings.items())
        levels = [finding.level for finding in findings.values() if finding.level is not None]
        return Finding(verdicts.pop() if len(verdicts) == 1 else "open", evidence, tuple(findings.items()), p=max(levels, default=None))

    return test


@of_gains(
    {"nsmc": "649f1c"}, "The unscaled last head has the best accuracy, 92.65", "The unscaled last head has the best, 92.65", figure=""
)
@by_readings
def judge_printed_best(reading: fused.Reading) -> Finding:
    frame = fused.printed_accuracies(reading)
    best = frame.iloc[int(frame["value"].to_numpy().argmax())]
    return settled(best["model"] == "cls-last", f"{percent(best['value'], 2)} ({best['encoder']}) is in “{SETTINGS[best['model']]}”")


@of_spreads({"nsmc": "373df8"}, "The unscaled last head has the largest mean gain", "Unscaled last head: largest mean gain")
@by_readings
def judge_printed_mean(reading: fused.Reading) -> Finding:
    table = fused.statistics(reading)
    best = table["model"].iloc[int(table["mean"].to_numpy().argmax())]
    return settled(best == "cls-last", f"“{SETTINGS[best]}” has the largest, {table['mean'].max():.3f} points")


@of_spreads({"nsmc": "c92882"}, "Last head ÷ √d has the smallest spread of gains", "Last head ÷ √d: smallest spread of gains")
@by_readings
def judge_printed_spread(reading: fused.Reading) -> Finding:
    table = fused.statistics(reading)
    least = table["model"].iloc[int(table["deviation"].to_numpy().argmin())]
    return settled(least == CHOSEN, f"“{SETTINGS[least]}” has the smallest, {table['deviation'].min():.3f} points over five encoders")


@of_spreads({"nsmc": "c5a4f0"}, "Last head ÷ √d is more stable than the other settings", "Last head ÷ √d is more stable than the others",
    kind="tested", how="the Pitman–Morgan test of equal spreads of paired gains, p after Holm")  # fmt: skip
@by_readings
def judge_printed_stability(reading: fused.Reading) -> Finding:
    """Use that two paired samples have equal variances if their sum and their difference are uncorrelated."""
    gains = _printed_gains(reading)
    own = gains.loc[CHOSEN].to_numpy()
    rivals = {model: gains.loc[model].to_numpy() for model in INJECTED if model != CHOSEN}
    correlations = {model: stats.pearsonr(rival + own, rival - own) for model, rival in rivals.items()}  # positive: the rival spreads wider
    adjusted = holm({model: float(correlation.pvalue) for model, correlation in correlations.items()})
    numbers = ", ".join(f"{SETTINGS[model]} {p_value(p)}" for model, p in adjusted.items())
    signs = [int(np.sign(correlation.statistic)) * (adjusted[model] <= LEVEL) for model, correlation in correlations.items()]
    verdict = decide(min(signs) > 0, min(signs) < 0)
    p = max(adjusted.values()) if verdict == "holds" else min(adjusted.values())
    return Finding(verdict, f"equal spreads (Pitman–Morgan, five encoders, after Holm): {numbers}", p=p)


@of_spreads(
    {"nsmc": "7ed80f"}, "Table 2 has the standard deviation as σ and the variance as σ²", "Table 2's columns are σ and σ²", where="table 2"
)
def judge_printed_columns() -> Finding:
    table = fused.statistics()
    straight, swapped = (
        bool(np.allclose(table[["deviation", "variance"]], table[columns], atol=0.0015))
        for columns in (["printed_sigma", "printed_sigma_squared"], ["printed_sigma_squared", "printed_sigma"])
    )
    row = table.iloc[0]
    example = f"{SETTINGS[row['model']]}: reported σ {row['printed_sigma']:.3f}, recomputed {row['deviation']:.3f}"
    rest = f"reported σ² {row['printed_sigma_squared']:.3f}, recomputed {row['variance']:.3f}"
    return settled(straight, f"{'the two columns are swapped' if swapped else 'they do not fit'}; {example}; {rest} (divisor n − 1)")


@of_tasks("a1b294", "Out of domain 13 of 20 cases rise, 5 fall and 2 stay", "Out of domain 13 rise, 5 fall, 2 stay")
def judge_printed_counts() -> Finding:
    gains = fused.printed_tasks()["value"].to_numpy()
    rise, fall, stay = int((gains > 0).sum()), int((gains < 0).sum()), int((gains == 0).sum())
    return settled((rise, fall, stay) == (13, 5, 2), f"recounted: {rise} of {len(gains)} rise, {fall} fall, {stay} stay")


@of_tasks("a761ba", "Only kr-electra and kc-electra fall")
def judge_printed_falls() -> Finding:
    frame = fused.printed_tasks()
    falls = frame[frame["value"] < 0]["encoder"].value_counts()
    numbers = ", ".join(f"{name} {count}" for name, count in falls.items())
    return settled(set(falls.index) == {"kr-electra", "kc-electra"}, f"falls by encoder: {numbers}")


@of_tasks("6b92e4", "The injection is effective out of domain", where="abstract", kind="tested", how="a sign test of the cases that change")
def judge_effective_out_of_domain() -> Finding:
    gains = fused.printed_tasks()["value"].to_numpy()
    rise, fall = int((gains > 0).sum()), int((gains < 0).sum())
    verdict, p, share = more_than_half(rise, rise + fall)
    evidence = f"{rise} of {rise + fall} reported cases that change rise, {fall} fall; sign test {p_value(p)}; one run each"
    return Finding(verdict, evidence, effect=Effect.from_share(*share, 0.5, "share of the changed cases that rise"), p=p)


@printed({"nsmc": "0f71a8"}, "The baselines of table 1 are trained as the injected models are", "Baselines are trained as injected models",
    where="section 4.4", section="results",
    how="a comparison with the accuracies that were published before for the same encoders")  # fmt: skip
def judge_own_baselines() -> Finding:
    """Count the baselines that equal a published number to two decimals: each is most probably that number, from another training."""
    frame = needed(fused.published(), NOT_STORED)
    nsmc = frame[frame["task"] == "NSMC"]
    table_3 = frame[(frame["task"] != "NSMC") & frame["published"].notna() & (frame["metric"] != "F1")]
    same = int(nsmc["equal"].sum())
    evidence = (
        f"{same} of {len(nsmc)} baselines of table 1 equal, to two decimals, an accuracy of the same encoder that was published before"
        f" ({', '.join(sorted(set(nsmc['source'].dropna())))} on GitHub); of table 3, {int(table_3['equal'].sum())} of {len(table_3)} do."
        " So the gains may contain the difference of two trainings, besides the injection"
    )
    return Finding(decide(same == 0, 2 * same > len(nsmc)), evidence)


@printed({"nsmc": "c3e8d2"}, "92.65 is above every accuracy on NSMC in the lists of these encoders",
    "92.65 is the state of the art on NSMC", where="abstract", section="results",
    how="a comparison with the accuracies that were published before")  # fmt: skip
def judge_best_published() -> Finding:
    published = fused.published_accuracies()
    published = needed(published[published["task"] == "NSMC"].sort_values("value"), NOT_STORED)
    best, rival = fused.printed_accuracies()["value"].max(), published.iloc[-1]
    evidence = (
        f"{percent(best, 2)}; the best of {len(published)} accuracies in the lists of KcELECTRA, KR-ELECTRA and KR-BERT is"
        f" {percent(rival['value'], 2)} ({rival['model']}); models that are not in these lists are not compared"
    )
    return settled(best > rival["value"], evidence)
