"""Claims of Sentiment-Fused Attention on its own tables, and on the accuracies that the authors of its encoders publish."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sentviz.analysis.claim import Effect, Finding, decide, not_testable, settled
from sentviz.analysis.evaluation import holm
from sentviz.io.lazy import pd, stats
from sentviz.io.numbers import p_value, percent, signed
from sentviz.papers.fused import study as fused
from sentviz.papers.fused.study import CHOSEN, INJECTED, SETTINGS, XIA

ROWS = 50_000  # rows of NSMC's test split
LEVEL = 0.05  # significance level


def _printed_gains(reading: fused.Reading = "means") -> pd.DataFrame:
    """Return the printed gains in points: a row per setting, a column per encoder."""
    frame = fused.printed_gains(reading)
    return 100 * frame.pivot(index="model", columns="encoder", values="value")[list(fused.ENCODERS)]


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
    gained = [f"{name} gains {signed(value)}" for name, value in xia.items() if value >= 0]
    return settled(len(gained) < len(xia), "; ".join([f"it loses with {len(xia) - len(gained)} of {len(xia)} encoders", *gained]))


def judge_printed_electras(*_: object) -> Finding:
    """Test whether the three ELECTRA encoders gain more than 0.5 points in each setting."""
    gains = _printed_gains().loc[list(INJECTED), ["ko-electra", "kr-electra", "kc-electra"]].to_numpy()
    return settled(
        bool((gains > 0.5).all()),
        f"{(gains > 0.5).sum()} of {gains.size} gains are above 0.5; the smallest gain is {signed(gains.min())}",
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
    """Judge a claim on table 1 under both names of its rows; if they give different verdicts, it is open.

    Readings are not parts of the claim: only one of them is right, and the paper does not say which.
    """
    findings = {words: judge(reading) for reading, words in fused.READINGS.items()}
    verdicts = {finding.verdict for finding in findings.values()}
    evidence = "; ".join(f"{words}: {finding.evidence}" for words, finding in findings.items())
    agreed = verdicts.pop() if len(verdicts) == 1 else "open"
    levels = [finding.level for finding in findings.values() if finding.level is not None]
    return Finding(agreed, evidence, tuple(findings.items()), p=max(levels) if levels else None)


def judge_printed_best(*_: object) -> Finding:
    """Test whether the row with the best printed accuracy is that of the unscaled last head."""

    def judge(reading: fused.Reading) -> Finding:
        frame = fused.printed_accuracies(reading)
        best = frame.iloc[int(frame["value"].to_numpy().argmax())]
        return settled(best["model"] == "cls-last", f"{percent(best['value'], 2)} ({best['encoder']}) is in “{SETTINGS[best['model']]}”")

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

    def judge(reading: fused.Reading) -> Finding:
        gains = _printed_gains(reading)
        own = gains.loc[CHOSEN].to_numpy()
        rivals = {model: gains.loc[model].to_numpy() for model in INJECTED if model != CHOSEN}
        correlations = {
            model: stats.pearsonr(rival + own, rival - own) for model, rival in rivals.items()
        }  # positive: the rival spreads wider
        adjusted = holm({model: float(correlation.pvalue) for model, correlation in correlations.items()})
        numbers = ", ".join(f"{SETTINGS[model]} {p_value(p)}" for model, p in adjusted.items())
        signs = [int(np.sign(correlation.statistic)) * (adjusted[model] <= LEVEL) for model, correlation in correlations.items()]
        verdict = decide(min(signs) > 0, min(signs) < 0)
        p = max(adjusted.values()) if verdict == "holds" else min(adjusted.values())
        return Finding(verdict, f"equal spreads (Pitman–Morgan, five encoders, after Holm): {numbers}", p=p)

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


def judge_effective_out_of_domain(*_: object) -> Finding:
    """Test whether more cases of table 3 rise than fall, by a sign test of the cases that change."""
    gains = fused.printed_tasks()["value"].to_numpy()
    rise, fall = int((gains > 0).sum()), int((gains < 0).sum())
    test = stats.binomtest(rise, rise + fall)
    interval = test.proportion_ci()
    effect = Effect.from_share(rise / (rise + fall), interval.low, interval.high, 0.5, "share of the changed cases that rise")
    evidence = f"{rise} of {rise + fall} reported cases that change rise, {fall} fall; sign test {p_value(test.pvalue)}; one run each"
    clear = test.pvalue <= LEVEL
    return Finding(decide(clear and rise > fall, clear and fall > rise), evidence, effect=effect, p=float(test.pvalue))


def judge_own_baselines(*_: object) -> Finding:
    """Test whether the baselines of table 1 differ from the accuracies that others publish of the same encoders.

    A baseline that equals such a number to two decimals is most probably that number, from another training with settings of its own.
    """
    frame = fused.published()
    if frame.empty:
        return not_testable("no published accuracies are stored")
    nsmc = frame[frame["task"] == "NSMC"]
    table_3 = frame[(frame["task"] != "NSMC") & frame["published"].notna() & (frame["metric"] != "F1")]
    same = int(nsmc["equal"].sum())
    evidence = (
        f"{same} of {len(nsmc)} baselines of table 1 equal, to two decimals, an accuracy of the same encoder that was published before"
        f" ({', '.join(sorted(set(nsmc['source'].dropna())))} on GitHub); of table 3, {int(table_3['equal'].sum())} of {len(table_3)} do."
        " So the gains may contain the difference of two trainings, besides the injection"
    )
    return Finding(decide(same == 0, 2 * same > len(nsmc)), evidence)


def judge_best_published(*_: object) -> Finding:
    """Test whether the best accuracy of table 1 is above all published accuracies on NSMC that are stored."""
    published = fused.published_accuracies()
    published = published[published["task"] == "NSMC"].sort_values("value")
    if published.empty:
        return not_testable("no published accuracies are stored")
    best, rival = fused.printed_accuracies()["value"].max(), published.iloc[-1]
    evidence = (
        f"{percent(best, 2)}; the best of {len(published)} accuracies in the lists of KcELECTRA, KR-ELECTRA and KR-BERT is"
        f" {percent(rival['value'], 2)} ({rival['model']}); models that are not in these lists are not compared"
    )
    return settled(bool(best > rival["value"]), evidence)
