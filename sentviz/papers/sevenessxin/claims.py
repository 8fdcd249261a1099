"""The claims of 7ess-Xin, tested on its own tables and log and on the available runs, and its questions, answered by these tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from sentviz.analysis.claim import (
    LEVEL,
    Answer,
    Effect,
    Finding,
    Reference,
    Row,
    Verdict,
    board,
    decide,
    equivalent,
    not_testable,
    p_of_margin,
    settled,
    strictest_finding,
)
from sentviz.analysis.seeds import SPREAD_IN_WORDS, SeedNoise
from sentviz.io.lazy import pd
from sentviz.io.numbers import percent
from sentviz.papers.sevenessxin import measured, printed_tables
from sentviz.papers.sevenessxin.observations import PHASES
from sentviz.papers.sevenessxin.observations import ROWS as OBSERVED
from sentviz.papers.sevenessxin.study import at_equal_epochs, configurations, curve, epochs, gains, of_equal_epochs, rates, sized, versions
from sentviz.papers.sevenessxin.versions import ROPE, UNMASKED, VERSIONS
from sentviz.papers.studies import compare_configurations
from sentviz.papers.studies.compare_configurations import Comparison, corrected, in_points, mixed, seeded
from sentviz.papers.studies.rates import with_rates
from sentviz.papers.studies.stats import seed_noise
from sentviz.runs.presets import VARIANT_SETTINGS
from sentviz.runs.store import Run

BEST = f"7ess-v6-{ROPE}"
NEARLY = 0.8  # share of versions that "nearly every" means
LITTLE = 0.01  # difference of accuracies that "little" means
FEW = 0.05  # difference of accuracies that scarce data costs in the paper
TESTED = 160_000  # tweets of the paper's test
GROWN = ("7ess-v1", "7ess-v2", "7ess-v3", "7ess-v6", "7ess-v7", "7ess-v9")  # versions whose depth, width or heads are compared
ENOUGH = 20_000  # tweets from which on further gains are looked for
CHANGED = 0.01  # share of predictions; padding matters if it changes more


NOT_PUBLISHED = "the published code trains and tests without a mask, so this is not its setting"


def _missing(study: str = "sevenessxin") -> Finding:
    """Return the finding of a test whose runs are missing; it names the command that trains them."""
    return not_testable(f"the runs are not installed: {printed_tables.train(study)}")


def _accuracies(table: str) -> dict[str, float]:
    """Return the printed accuracies (0 to 1) of a table by model."""
    return {str(row["model"]): float(row["accuracy"]) for row in printed_tables.table(table).to_dict("records")}


# ---- the paper's own tables


def judge_printed_gains(*_: object) -> Finding:
    """Test whether RoPE and QK-norm raise nearly every printed accuracy, in table II and in its log."""
    counts = []
    for table in ("results", "log"):
        accuracies = _accuracies(table)
        pairs = [version for version in VERSIONS if {version, f"{version}-{ROPE}"} <= accuracies.keys()]
        counts.append((sum(accuracies[f"{version}-{ROPE}"] > accuracies[version] for version in pairs), len(pairs)))
    (printed, versions_printed), (logged, versions_logged) = counts
    evidence = (
        f"accuracy rises in {printed} of {versions_printed} versions of table II and in {logged} of {versions_logged} versions of the"
        " training log"
    )
    return settled(all(rising >= NEARLY * pairs for rising, pairs in counts), f"{evidence}; one run each, no intervals")


def judge_printed_best(*_: object) -> Finding:
    """Test whether V6 with RoPE leads both tables by more than chance allows two independent models on the paper's test."""
    leads, effects = list[str](), list[Effect]()
    for name, source in (("results", "table II"), ("log", "its log")):
        accuracies = _accuracies(name)
        own, (rival, best) = accuracies.pop(BEST), max(accuracies.items(), key=lambda entry: entry[1])
        margin = 1.96 * math.sqrt(2 * own * (1 - own) / TESTED)
        ends = own - best - margin, own - best + margin
        effects.append(Effect.from_share_difference(own - best, *ends, of=f"lead over each other version, {source}"))
        than = f"{own - best:.4f} less" if own >= best else f"{best - own:.4f} more"
        leads.append(f"{source}: {own:.4f}, the best other {printed_tables.title(rival)} {best:.4f}, {than}")
    remark = (
        f"on {TESTED:,} tweets a gap is significant from about {margin:.4f} if predictions are independent; chance in training comes on top"
    )
    least = min(effects, key=lambda effect: effect.value)
    verdict = decide(all((effect.low or 0) > 0 for effect in effects), any((effect.high or 0) < 0 for effect in effects))
    return Finding(verdict, f"{'; '.join(leads)}; {remark}", effect=least)


def judge_figure_5(*_: object) -> Finding:
    """Test whether the matrix of figure 5 gives the printed accuracy, within half a point."""
    negative, positive = printed_tables.FIGURE_5["negative"], printed_tables.FIGURE_5["positive"]
    accuracy, precision = (negative + positive) / 2, positive / (positive + 1 - negative)
    row = printed_tables.table("results").set_index("model").loc[BEST]
    rates_ = f"the rates of {percent(positive)} and {percent(negative)}"
    implied = f"{rates_} give an accuracy of {accuracy:.4f} and a precision of {precision:.4f} on a balanced test"
    printed = f"{row['accuracy']:.4f} and {row['precision_positive']:.4f} are printed"
    return settled(abs(accuracy - row["accuracy"]) < 0.005, f"{implied}; {printed}")


def judge_printed_scarcity(*_: object) -> Finding:
    """Test whether V5, trained on a sixteenth of the tweets, is about five points behind V1, in each phase."""
    accuracies = _accuracies("results")
    lags = {words: accuracies[f"7ess-v1{phase}"] - accuracies[f"7ess-v5{phase}"] for phase, words in PHASES.items()}
    return strictest_finding(
        {words: settled(abs(lag - FEW) < LITTLE, f"V5 is {100 * lag:.1f} points behind V1") for words, lag in lags.items()}
    )


# ---- runs


def _with_rates(finding: Finding, runs: Sequence[Run], better: Sequence[str], rivals: Sequence[str]) -> Finding:
    """Return `with_rates` of versions."""
    return with_rates(finding, runs, printed_tables.DATASET, better, rivals, printed_tables.title)


def judge_gains(_: str, runs: Sequence[Run]) -> Finding:
    """Test whether RoPE and QK-norm gain in nearly every version, after Holm. Missing and open versions may still gain."""
    frame = gains(runs)
    if frame.empty:
        return _missing()
    words = frame["verdict"].tolist()
    better, worse = words.count("better"), words.count("worse")
    numbers = "; ".join(f"{row['row']} {in_points(row)}" for row in frame.to_dict("records"))
    middle = frame.sort_values("difference").iloc[len(frame) // 2].to_dict()
    effect = Effect.from_comparison(middle, f"{middle['row']}, the median version")
    evidence = f"of {len(frame)} versions {better or 'none'} gain significantly, {worse or 'none'} lose significantly: {numbers}"
    needed, missing = NEARLY * len(VERSIONS), len(VERSIONS) - len(frame)
    if better < needed <= missing:
        return not_testable(evidence, effect)
    undecided = missing + words.count("cannot be told")
    verdict = decide(better >= needed, better + undecided < needed)
    finding = Finding(seeded(verdict, frame["kind"]), evidence, effect=effect, p=_p_of_share(verdict, frame, needed))
    of_epochs = at_equal_epochs(runs)
    for version in VERSIONS:
        if version in of_epochs and (second := of_epochs.get(f"{version}-{ROPE}")):
            comparison = mixed(second, of_epochs[version], noise=seed_noise(of_epochs.values()))
            finding = finding.noting(f"at equal epochs {printed_tables.title(version)} gains {comparison.numbers}")
    return _with_rates(finding, runs, [f"{version}-{ROPE}" for version in VERSIONS], VERSIONS)


def _p_of_share(verdict: Verdict, frame: pd.DataFrame, needed: float) -> float | None:
    """Return the p of a claim that at least `needed` versions gain: the largest p among the clearest ones that decide it."""
    words = {"holds": ("better", math.ceil(needed)), "fails": ("worse", len(VERSIONS) - math.ceil(needed) + 1)}
    if verdict not in words:
        return None
    word, count = words[verdict]
    return float(frame.loc[frame["verdict"] == word, "adjusted"].sort_values().iloc[count - 1])


def judge_best(_: str, runs: Sequence[Run]) -> Finding:
    """Test whether V6 with RoPE is better than each other version of its phase, after Holm, at equal updates and at equal epochs.

    A version that is better at both refutes the claim.
    """
    budgets = {"updates": configurations(runs), "epochs": at_equal_epochs(runs)}
    frames = {equal: frame for equal, by_model in budgets.items() if len(frame := versions(by_model, BEST))}
    if not frames:
        return _missing()
    parts, ahead, leads, tests = list[str](), list[set[str]](), list[bool](), list[str]()
    levels = list[dict[str, float]]()  # adjusted p by version
    for equal, frame in frames.items():
        better, worse = (frame[frame["verdict"] == word] for word in ("better", "worse"))
        names, behind = (", ".join(each["title"]) or "none" for each in (better, worse))
        parts.append(f"at equal {equal}, of {len(frame)} other versions of its phase {names} are significantly better, {behind} worse")
        same = [name for name in frame["model"] if _predict_the_same(budgets[equal][name][0], budgets[equal][BEST][0])]
        if same:
            alike = " and ".join(map(printed_tables.title, same))
            parts.append(f"{alike} gives the same predictions for every tweet, because no tweet is longer than the shorter limit")
        ahead.append(set(better["model"]))
        levels.append(dict(zip(frame["model"], frame["adjusted"].astype(float), strict=True)))
        leads.append(len(worse) == len(VERSIONS) - 1)
        tests += list(frame["test"])
    if len(frames) < len(budgets):
        parts.append(f"no runs of equal epochs are installed: {printed_tables.train('sevenessxin-versions-epochs')}")
    refuting = set.intersection(*ahead)
    of_refuting = [max(of[name] for of in levels) for name in refuting]
    p = min(of_refuting) if refuting else max(p for of in levels for p in of.values())
    nearest = max((row for frame in frames.values() for row in frame.to_dict("records")), key=lambda row: row["difference"])
    effect = Effect.from_comparison(nearest, f"{nearest['title']} minus V6 RoPE, the nearest or better version")
    finding = Finding(seeded(decide(all(leads), bool(refuting)), tests), "; ".join(parts), effect=effect, p=p)
    return _with_rates(finding, runs, [BEST], [name for name in budgets["updates"] if name.endswith(ROPE) and name != BEST])


def _predict_the_same(a: Run, b: Run) -> bool:
    """Return whether two runs give the same probabilities to all rows of their tests."""
    return a.frame("test.parquet").equals(b.frame("test.parquet"))


def judge_scarcity(_: str, runs: Sequence[Run]) -> Finding:
    """Test whether V1 trained on all tweets is better than V1 trained on 5,000, the fewest, for equal updates and for equal epochs.

    With fewer tweets the same updates are more epochs and the same epochs fewer updates, so neither comparison alone decides.
    """
    frame = curve(runs).dropna(subset="value")
    rows = frame[frame["preset"] == VERSIONS[0]].sort_values("rows")
    by_size = list(sized(runs, VERSIONS[0]).values())
    if len(rows) < 2:
        return _missing("sevenessxin-curve")
    noise = seed_noise(by_size + list(configurations(runs).values()))
    sides = {"updates": (by_size[0], by_size[-1])} | ({"epochs": pair} if (pair := of_equal_epochs(runs, VERSIONS[0])) else {})
    comparisons = {equal: mixed(every, few, noise=noise) for equal, (few, every) in sides.items()}
    points = ", ".join(f"{row['rows']:,.0f}: {percent(row['value'])}" for row in rows.to_dict("records"))
    gains = "; ".join(
        f"at equal {equal} ({' and '.join(f'{epochs(side[0]):.1f}' for side in sides[equal])} epochs) {comparison.numbers}"
        for equal, comparison in comparisons.items()
    )
    evidence = f"V1 by number of training tweets, {points}; from the fewest to all tweets {gains}"
    words = [comparison.word() for comparison in comparisons.values()]
    verdict = seeded(decide(words == ["better"] * 2, words == ["worse"] * 2), [each.test for each in comparisons.values()])
    least = min(comparisons.values(), key=lambda comparison: comparison.difference)
    p = max(comparison.p for comparison in comparisons.values())
    later = _beyond(runs, noise)
    finding = Finding(verdict, f"{evidence}{later and f'; {later}'}", effect=least.effect("from the fewest tweets to all"), p=p)
    if "epochs" not in sides:
        finding = finding.noting(f"no runs of equal epochs are installed: {printed_tables.train('sevenessxin-epochs')}")
    presets = [side[0].configuration for pair in sides.values() for side in pair[::-1]]
    finding = with_rates(finding, runs, printed_tables.DATASET, presets[::2], presets[1::2])
    return finding.noting("we do not have the paper's full data, so its five points cannot be tested")


def _beyond(runs: Sequence[Run], noise: SeedNoise | None) -> str:
    """Return in words what V1 gains from `ENOUGH` tweets on, at equal updates; "" if no larger size is installed."""
    by_size = {name.removeprefix(f"{VERSIONS[0]}-"): seeds for name, seeds in sized(runs, VERSIONS[0]).items()}
    by_rows = {VARIANT_SETTINGS.get(size, {}).get("rows", 0): seeds for size, seeds in by_size.items()}
    if ENOUGH not in by_rows:
        return ""
    larger = {f"{rows:,}" if rows else "all": seeds for rows, seeds in by_rows.items() if not rows or rows > ENOUGH}
    comparisons = {size: mixed(seeds, by_rows[ENOUGH], noise=noise) for size, seeds in larger.items()}
    results = corrected(comparisons)
    words = f"from {ENOUGH:,} tweets on, at equal updates: " + "; ".join(f"to {size} {each.numbers}" for size, each in comparisons.items())
    return words if any(word == "better" for _, word in results.values()) else f"{words}, so no gain is shown there" * bool(comparisons)


def judge_size(_: str, runs: Sequence[Run]) -> Finding:
    """Test whether more depth, width and heads change accuracy by less than a point, each by an interval over seeds.

    Versions are compared with sinusoids at equal updates, and with RoPE at equal epochs.
    """
    comparisons = dict[str, Comparison]()
    for larger, by_model, equal in (
        ({"7ess-v1": ("7ess-v2", "7ess-v7", "7ess-v3"), "7ess-v6": ("7ess-v9",)}, configurations(runs), ""),
        (
            {f"7ess-v1-{ROPE}": (BEST, f"7ess-v7-{ROPE}", f"7ess-v3-{ROPE}"), BEST: (f"7ess-v9-{ROPE}",)},
            at_equal_epochs(runs),
            " at equal epochs",
        ),
    ):
        noise = seed_noise(by_model.values())
        comparisons |= {
            f"{printed_tables.title(model)} against {printed_tables.title(base)}{equal}": mixed(
                by_model[model], by_model[base], noise=noise
            )
            for base, models in larger.items()
            for model in models
            if base in by_model and model in by_model
        }
    if not comparisons:
        return _missing()
    over_seeds = [pair for pair in comparisons.values() if pair.test == "over seeds"]
    inside = [equivalent(pair.low, pair.high, LITTLE) for pair in over_seeds]
    levels = [p_of_margin(pair.difference, pair.low, pair.high, LITTLE) for pair in over_seeds]
    beyond = [len(levels) * p for p, little in zip(levels, inside, strict=True) if little is False]  # Bonferroni
    verdict = decide(holds=len(inside) == len(comparisons) and all(inside), fails=bool(beyond) and min(beyond) <= LEVEL)
    numbers = "; ".join(f"{name} {pair.points}, {pair.compared}" for name, pair in comparisons.items())
    evidence = f"{numbers}. “Little” means a difference of less than {100 * LITTLE:.0f} point"
    name, largest = max(comparisons.items(), key=lambda entry: abs(entry[1].difference))
    p = min(1.0, min(beyond)) if beyond else max(levels, default=None)
    finding = Finding(seeded(verdict, [pair.test for pair in comparisons.values()]), evidence, effect=largest.effect(name), p=p)
    return _with_rates(finding, runs, [], GROWN)


def judge_bias(_: str, runs: Sequence[Run]) -> Finding:
    """Test whether more positive than negative tweets are right, seed by seed; "open" if seeds differ."""
    by_model = configurations(runs)
    several = [name for name, seeds in by_model.items() if len(seeds) > 1]
    candidates = (BEST, *several, *by_model)
    name = next((model for model in candidates if model in by_model and (model in several or not several)), "")
    if not name:
        return _missing()
    verdicts, shares, gaps = set[Verdict](), list[str](), list[dict[str, float]]()
    for run in by_model[name]:
        low, high = (rates([run])[label] for label in ("negative", "positive"))
        verdicts.add(decide(holds=high[1] > low[2], fails=high[2] < low[1]))
        gap, half = high[0] - low[0], math.hypot(high[2] - high[1], low[2] - low[1]) / 2
        gaps.append({"difference": gap, "low": gap - half, "high": gap + half})
        shares.append(f"{percent(high[0], ends=high[1:])} of positive and {percent(low[0], ends=low[1:])} of negative tweets right")
    selected = "The weights were selected by F1 of the positive class, which favours that class"
    evidence = f"{printed_tables.title(name)}: {'; '.join(shares)}. {selected}"
    if len(shares) < 2:
        return not_testable(f"{evidence}; one seed; other seeds are unknown")
    least = min(gaps, key=lambda gap: abs(gap["difference"]))
    evidence += f"; {len(shares)} seeds, the smallest difference is {in_points(least)}"
    effect = Effect.from_comparison(least, "share of positive minus negative tweets right, the smallest of the seeds")
    return Finding(verdicts.pop() if len(verdicts) == 1 else "open", evidence, effect=effect)


def judge_neutral_tweets(*_: object) -> Finding:
    """Return the share of neutral tweets with a confident prediction. The claim itself cannot be tested: their number is unknown."""
    frame = measured.NEUTRAL.read()
    if frame.empty:
        return not_testable(measured.NEUTRAL.missing)
    rows = {row["of"]: row for row in frame.to_dict("records")}
    neutral, polar = (percent(row["sure"], ends=(row["sure_low"], row["sure_high"])) for row in (rows["neutral"], rows["polar"]))
    answered = f"get a prediction with a probability of {percent(measured.SURE, 0)} or more"
    evidence = f"{neutral} of {rows['neutral']['n']:,} neutral tweets of TweetEval {answered}, {polar} of polar ones,"
    return not_testable(f"{evidence} and the number of neutral tweets in Sentiment140 is unknown")


def judge_padding(*_: object) -> Finding:
    """Test whether a run that was trained masked changes more than one in a hundred predictions if it reads padding."""
    frame = measured.PADDING.read()
    if frame.empty:
        return not_testable(measured.PADDING.missing)
    row = frame[frame["of"] == "all"].iloc[0]
    share = row["changed"], row["changed_low"], row["changed_high"]
    evidence = f"{row['run']} was trained masked. If it reads padding, {percent(share[0], ends=share[1:])} of its predictions change,"
    evidence += f" and its accuracy changes by {in_points(row.to_dict())}, n = {row['n']:,.0f}; {NOT_PUBLISHED}"
    verdict = decide(holds=row["changed_low"] > CHANGED, fails=row["changed_high"] < CHANGED)
    return Finding(verdict, evidence, effect=Effect.from_share(*share, CHANGED, "predictions that change"))


def judge_training_with_padding(_: str, runs: Sequence[Run]) -> Finding:
    """Test whether V1 trained with padding read, as published, differs by less than a point from V1 trained masked, over seeds."""
    masked, read = VERSIONS[0], f"{VERSIONS[0]}-{UNMASKED}"
    by_model = compare_configurations.configurations(runs, printed_tables.DATASET, (masked, read))
    if len(by_model) < 2:
        return _missing("sevenessxin-padding")
    pair = mixed(by_model[read], by_model[masked], noise=seed_noise([*configurations(runs).values(), by_model[read]]))
    inside = equivalent(pair.low, pair.high, LITTLE)
    verdict = seeded(decide(inside is True, inside is False and pair.word() != "cannot be told"), [pair.test])
    shares = [run.metrics()["test"]["accuracy"]["value"] for run in by_model[read]]
    evidence = f"V1 that reads padding in training and test: {', '.join(percent(share) for share in shares)}; against V1 trained masked"
    evidence += f" {pair.numbers}. “As good” means a difference of less than {100 * LITTLE:.0f} point"
    p = p_of_margin(pair.difference, pair.low, pair.high, LITTLE)
    finding = Finding(verdict, evidence, effect=pair.effect("V1 with padding read"), p=p)
    behind, ahead = (read, masked) if pair.difference < 0 else (masked, read)  # a side that still learned cannot lose
    return with_rates(finding, runs, printed_tables.DATASET, [behind], [ahead])


TABLES: Reference = "its own tables"
RUNS: Reference = "runs here"
PADDING = "A run that was trained masked changes answers if it reads padding (ours)"
OVER_SEEDS = f"t tests for other rows and other seeds, with {SPREAD_IN_WORDS}"
TRAINED_WITH_PADDING = "Trained with padding read, as published, V1 is as good as trained masked (ours)"
AFTER_HOLM = f"{OVER_SEEDS}, p after Holm over the versions"
ON = printed_tables.DATASET
CLAIMS = board(
    {ON: "Sentiment140"},
    Row("RoPE and QK-norm gain nearly always", "RoPE and QK-norm gain in nearly every version", TABLES, "printed", judge_printed_gains,
        {ON: ("98eda4", "section IV-A, table II")}, "phases", "rope-gains"),
    Row("V6 with RoPE is the best version", "V6 with RoPE is the best version", TABLES, "tested", judge_printed_best,
        {ON: ("a4e512", "section IV-A, table II")}, "results", "versions-beside-print"),
    Row("A sixteenth of the tweets costs 5 points", "A sixteenth of the tweets costs about five points", TABLES, "printed",
        judge_printed_scarcity, {ON: ("8b2150", "section IV-A, table II")}, "curve", "learning-curve"),
    Row("Figure 5 fits the reported accuracy", "The matrix of figure 5 fits the reported accuracy", TABLES, "printed",
        judge_figure_5, {ON: ("89e410", "section IV-D1, figure 5")}, "matrix"),
    Row("RoPE and QK-norm gain nearly always", "RoPE and QK-norm gain in nearly every version", RUNS, "tested", judge_gains,
        {ON: ("f46549", "section IV-A")}, "phases", "rope-gains", AFTER_HOLM),
    Row("V6 with RoPE is the best version", "V6 with RoPE is the best version", RUNS, "tested", judge_best,
        {ON: ("451a50", "section IV-A")}, "results", "versions-beside-print", AFTER_HOLM),
    Row("Fewer tweets cost accuracy", "Fewer tweets to learn from, 5,000 against all, cost accuracy", RUNS, "tested", judge_scarcity,
        {ON: ("ce76f7", "section IV-A")}, "curve", "learning-curve", OVER_SEEDS),
    Row("More depth, width and heads add little", "More depth, width and heads add little", RUNS, "tested", judge_size,
        {ON: ("8192ef", "section IV-A")}, "results", "versions-beside-print",
        f"{OVER_SEEDS}: intervals inside or outside of one point"),
    Row("It prefers the positive class", "The model prefers the positive class", RUNS, "tested", judge_bias,
        {ON: ("848038", "section IV-D1")}, "matrix",
        how="Wilson intervals of the recall of each class, seed by seed"),
    Row("Neutral tweets limit the accuracy", "Neutral tweets with two labels limit the accuracy", RUNS, "counted", judge_neutral_tweets,
        {ON: ("028ebe", "section V-B")}, "results"),
    Row("Trained masked, it changes if padding is read", PADDING, RUNS, "counted", judge_padding,
        {ON: ("3e5e63", "section III-A3")}, "padding",
        how="answers of a run trained masked that change if padding is read, with a Wilson interval"),
    Row("Trained with padding read, V1 is as good", TRAINED_WITH_PADDING, RUNS, "tested", judge_training_with_padding,
        {ON: ("6d1f2e", "section III-A3")}, "padding", how=f"{OVER_SEEDS}: an interval inside or outside of one point"),
    *OBSERVED,
)  # fmt: skip


# ---- the paper's questions

QUESTIONS = (  # question, the claim of the runs here that answers it, the part that shows it
    ("Do RoPE and QK-norm help?", "RoPE and QK-norm gain in nearly every version", "phases"),
    ("Is V6 the best version?", "V6 with RoPE is the best version", "results"),
    ("Do fewer tweets, 5,000 against all, cost accuracy?", "Fewer tweets to learn from, 5,000 against all, cost accuracy", "curve"),
    ("Do depth, width and heads add little?", "More depth, width and heads add little", "results"),
    ("Does it prefer the positive class?", "The model prefers the positive class", "matrix"),
    ("Does a run trained masked change its answers if it reads padding?", PADDING, "padding"),
)
SHORT: dict[Verdict, str] = {
    "holds": "Yes",
    "fails": "No",
    "open": "It cannot be told",
    "unjudged": "It cannot be judged here",
}


def answer_questions(runs: Sequence[Run]) -> list[Answer]:
    """Return the answers to `QUESTIONS`, in that order."""
    tests: dict[str, Callable[[Sequence[Run]], Finding]] = {claim.statement: claim.test for claim in CLAIMS if claim.against == "runs here"}
    findings = [(question, tests[claim](runs), part) for question, claim, part in QUESTIONS]
    return [
        Answer(question, finding.verdict, SHORT[finding.verdict], f"{finding.evidence[:1].upper()}{finding.evidence[1:]}.", part)
        for question, finding, part in findings
    ]


def answers(runs: Sequence[Run]) -> list[str]:
    """Return the answers to `QUESTIONS` as sentences."""
    return [item.sentence for item in answer_questions(runs)]
