"""The claims of 7ess-Xin, tested on its own tables and log and on the available runs, and its questions, answered by these tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from sentviz.analysis.claim import LEVEL, Answer, Board, Effect, Finding, Verdict, decide, not_testable, settled, strictest_finding
from sentviz.analysis.seeds import SPREAD_IN_WORDS, SeedNoise
from sentviz.io.lazy import pd
from sentviz.io.numbers import percent
from sentviz.papers.sevenessxin import measured, observations, printed_tables
from sentviz.papers.sevenessxin.observations import ON, PHASES
from sentviz.papers.sevenessxin.study import at_equal_epochs, configurations, curve, epochs, gains, of_equal_epochs, rates, sized, versions
from sentviz.papers.sevenessxin.versions import ROPE, UNMASKED, VERSIONS
from sentviz.papers.studies import compare_configurations
from sentviz.papers.studies.compare_configurations import Comparison, corrected, in_points, mixed, seeded
from sentviz.papers.studies.judging import inside_margin, needed, seeds_in_words
from sentviz.papers.studies.rates import with_rates
from sentviz.papers.studies.results import values
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


PADDING = "A run that was trained masked changes answers if it reads padding (ours)"
OVER_SEEDS = f"t tests for other rows and other seeds, with {SPREAD_IN_WORDS}"
NOT_PUBLISHED = "the published code trains and tests without a mask, so this is not its setting"
BOARD = Board({ON: "Sentiment140"})
printed = partial(BOARD.claim, against="its own tables", kind="printed", where="section IV-A, table II")
on_runs = partial(BOARD.claim, against="runs here", kind="tested", where="section IV-A")
of_versions = partial(on_runs, section="results", figure="versions-beside-print", how=f"{OVER_SEEDS}, p after Holm over the versions")
of_padding = partial(on_runs, where="section III-A3", section="padding")


def _missing(study: str = "sevenessxin") -> str:
    """Return that runs are missing, and the command that trains them."""
    return f"the runs are not installed: {printed_tables.train(study)}"


def _accuracies(table: str) -> dict[str, float]:
    """Return the printed accuracies (0 to 1) of a table by model."""
    return {str(row["model"]): float(row["accuracy"]) for row in printed_tables.table(table).to_dict("records")}


# ---- the paper's own tables


@printed({ON: "98eda4"}, "RoPE and QK-norm gain in nearly every version", "RoPE and QK-norm gain nearly always", section="phases",
    figure="rope-gains")  # fmt: skip
def judge_printed_gains() -> Finding:
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


@printed({ON: "a4e512"}, "V6 with RoPE is the best version", section="results", figure="versions-beside-print", kind="tested")
def judge_printed_best() -> Finding:
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


@printed({ON: "8b2150"}, "A sixteenth of the tweets costs about five points", "A sixteenth of the tweets costs 5 points", section="curve",
    figure="learning-curve")  # fmt: skip
def judge_printed_scarcity() -> Finding:
    accuracies = _accuracies("results")
    lags = {words: accuracies[f"7ess-v1{phase}"] - accuracies[f"7ess-v5{phase}"] for phase, words in PHASES.items()}
    return strictest_finding(
        {words: settled(abs(lag - FEW) < LITTLE, f"V5 is {100 * lag:.1f} points behind V1") for words, lag in lags.items()}
    )


@printed({ON: "89e410"}, "The matrix of figure 5 fits the reported accuracy", "Figure 5 fits the reported accuracy",
    where="section IV-D1, figure 5", section="matrix")  # fmt: skip
def judge_figure_5() -> Finding:
    negative, positive = printed_tables.FIGURE_5["negative"], printed_tables.FIGURE_5["positive"]
    accuracy, precision = (negative + positive) / 2, positive / (positive + 1 - negative)
    row = printed_tables.table("results").set_index("model").loc[BEST]
    rates_ = f"the rates of {percent(positive)} and {percent(negative)}"
    implied = f"{rates_} give an accuracy of {accuracy:.4f} and a precision of {precision:.4f} on a balanced test"
    printed = f"{row['accuracy']:.4f} and {row['precision_positive']:.4f} are printed"
    return settled(abs(accuracy - row["accuracy"]) < 0.005, f"{implied}; {printed}")


# ---- runs


def _with_rates(finding: Finding, runs: Sequence[Run], better: Sequence[str], rivals: Sequence[str]) -> Finding:
    """Return `with_rates` of versions."""
    return with_rates(finding, runs, printed_tables.DATASET, better, rivals, printed_tables.title)


@of_versions({ON: "f46549"}, "RoPE and QK-norm gain in nearly every version", "RoPE and QK-norm gain nearly always", section="phases",
    figure="rope-gains")  # fmt: skip
def judge_gains(runs: Sequence[Run]) -> Finding:
    frame = needed(gains(runs), _missing())
    words = frame["verdict"].tolist()
    better, worse = words.count("better"), words.count("worse")
    numbers = "; ".join(f"{row['row']} {in_points(row)}" for row in frame.to_dict("records"))
    middle = frame.sort_values("difference").iloc[len(frame) // 2].to_dict()
    effect = Effect.from_comparison(middle, f"{middle['row']}, the median version")
    evidence = f"of {len(frame)} versions {better or 'none'} gain significantly, {worse or 'none'} lose significantly: {numbers}"
    enough, missing = NEARLY * len(VERSIONS), len(VERSIONS) - len(frame)
    if better < enough <= missing:
        return not_testable(evidence, effect)
    undecided = missing + words.count("cannot be told")
    verdict = decide(better >= enough, better + undecided < enough)
    finding = Finding(seeded(verdict, frame["kind"]), evidence, effect=effect, p=_p_of_share(verdict, frame, enough))
    of_epochs = at_equal_epochs(runs)
    for version in VERSIONS:
        if version in of_epochs and (second := of_epochs.get(f"{version}-{ROPE}")):
            comparison = mixed(second, of_epochs[version], noise=seed_noise(of_epochs.values()))
            finding = finding.noting(f"at equal epochs {printed_tables.title(version)} gains {comparison.numbers}")
    return _with_rates(finding, runs, [f"{version}-{ROPE}" for version in VERSIONS], VERSIONS)


def _p_of_share(verdict: Verdict, frame: pd.DataFrame, enough: float) -> float | None:
    """Return the p of a claim that at least `enough` versions gain: the largest p among the clearest ones that decide it."""
    words = {"holds": ("better", math.ceil(enough)), "fails": ("worse", len(VERSIONS) - math.ceil(enough) + 1)}
    if verdict not in words:
        return None
    word, count = words[verdict]
    return float(frame.loc[frame["verdict"] == word, "adjusted"].sort_values().iloc[count - 1])


@of_versions({ON: "451a50"}, "V6 with RoPE is the best version")
def judge_best(runs: Sequence[Run]) -> Finding:
    """Compare it with each other version of its phase at equal updates and at equal epochs; one that is better at both refutes it."""
    budgets = {"updates": configurations(runs), "epochs": at_equal_epochs(runs)}
    frames = needed({equal: frame for equal, by_model in budgets.items() if len(frame := versions(by_model, BEST))}, _missing())
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


@on_runs({ON: "ce76f7"}, "Fewer tweets to learn from, 5,000 against all, cost accuracy", "Fewer tweets cost accuracy", section="curve",
    figure="learning-curve", how=OVER_SEEDS)  # fmt: skip
def judge_scarcity(runs: Sequence[Run]) -> Finding:
    """Compare at equal updates and at equal epochs: with fewer tweets the same updates are more epochs, so neither alone decides."""
    frame = curve(runs).dropna(subset="value")
    rows = frame[frame["preset"] == VERSIONS[0]].sort_values("rows")
    by_size = list(sized(runs, VERSIONS[0]).values())
    needed(rows, _missing("sevenessxin-curve"), least=2)
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


@of_versions({ON: "8192ef"}, "More depth, width and heads add little", how=f"{OVER_SEEDS}: intervals inside or outside of one point")
def judge_size(runs: Sequence[Run]) -> Finding:
    """Compare versions with sinusoids at equal updates, and with RoPE at equal epochs."""
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
    needed(comparisons, _missing())
    over_seeds = [pair for pair in comparisons.values() if pair.test == "over seeds"]
    inside, p = inside_margin([(pair.difference, pair.low, pair.high) for pair in over_seeds], LITTLE)
    fails = False in inside and p is not None and p <= LEVEL
    verdict = decide(holds=len(inside) == len(comparisons) and all(inside), fails=fails)
    numbers = "; ".join(f"{name} {pair.points}, {pair.compared}" for name, pair in comparisons.items())
    evidence = f"{numbers}. “Little” means a difference of less than {100 * LITTLE:.0f} point"
    name, largest = max(comparisons.items(), key=lambda entry: abs(entry[1].difference))
    finding = Finding(seeded(verdict, [pair.test for pair in comparisons.values()]), evidence, effect=largest.effect(name), p=p)
    return _with_rates(finding, runs, [], GROWN)


@on_runs({ON: "848038"}, "The model prefers the positive class", "It prefers the positive class", where="section IV-D1", section="matrix",
    how="Wilson intervals of the recall of each class, seed by seed")  # fmt: skip
def judge_bias(runs: Sequence[Run]) -> Finding:
    by_model = configurations(runs)
    several = [name for name, seeds in by_model.items() if len(seeds) > 1]
    candidates = (BEST, *several, *by_model)
    name = needed(next((model for model in candidates if model in by_model and (model in several or not several)), ""), _missing())
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
        return not_testable(f"{evidence}; {seeds_in_words(len(shares))}")
    least = min(gaps, key=lambda gap: abs(gap["difference"]))
    evidence += f"; {len(shares)} seeds, the smallest difference is {in_points(least)}"
    effect = Effect.from_comparison(least, "share of positive minus negative tweets right, the smallest of the seeds")
    return Finding(verdicts.pop() if len(verdicts) == 1 else "open", evidence, effect=effect)


@on_runs({ON: "028ebe"}, "Neutral tweets with two labels limit the accuracy", "Neutral tweets limit the accuracy", where="section V-B",
    section="results", kind="counted")  # fmt: skip
def judge_neutral_tweets(runs: Sequence[Run]) -> Finding:
    """Return the share of neutral tweets with a confident prediction. The claim itself cannot be tested: their number is unknown."""
    frame = measured.NEUTRAL.require(runs)
    rows = {row["of"]: row for row in frame.to_dict("records")}
    neutral, polar = (percent(row["sure"], ends=(row["sure_low"], row["sure_high"])) for row in (rows["neutral"], rows["polar"]))
    answered = f"get a prediction with a probability of {percent(measured.SURE, 0)} or more"
    evidence = f"{neutral} of {rows['neutral']['n']:,} neutral tweets of TweetEval {answered}, {polar} of polar ones,"
    return not_testable(f"{evidence} and the number of neutral tweets in Sentiment140 is unknown")


@of_padding({ON: "3e5e63"}, PADDING, "Trained masked, it changes if padding is read", kind="counted",
    how="answers of a run trained masked that change if padding is read, with a Wilson interval")  # fmt: skip
def judge_padding(runs: Sequence[Run]) -> Finding:
    frame = measured.PADDING.require(runs)
    row = frame[frame["of"] == "all"].iloc[0]
    share = row["changed"], row["changed_low"], row["changed_high"]
    evidence = f"{row['run']} was trained masked. If it reads padding, {percent(share[0], ends=share[1:])} of its predictions change,"
    evidence += f" and its accuracy changes by {in_points(row.to_dict())}, n = {row['n']:,.0f}; {NOT_PUBLISHED}"
    verdict = decide(holds=row["changed_low"] > CHANGED, fails=row["changed_high"] < CHANGED)
    return Finding(verdict, evidence, effect=Effect.from_share(*share, CHANGED, "predictions that change"))


@of_padding({ON: "6d1f2e"}, "Trained with padding read, as published, V1 is as good as trained masked (ours)",
    "Trained with padding read, V1 is as good", how=f"{OVER_SEEDS}: an interval inside or outside of one point")  # fmt: skip
def judge_training_with_padding(runs: Sequence[Run]) -> Finding:
    masked, read = VERSIONS[0], f"{VERSIONS[0]}-{UNMASKED}"
    by_model = compare_configurations.configurations(runs, printed_tables.DATASET, (masked, read))
    needed(by_model, _missing("sevenessxin-padding"), least=2)
    pair = mixed(by_model[read], by_model[masked], noise=seed_noise([*configurations(runs).values(), by_model[read]]))
    (inside,), p = inside_margin([(pair.difference, pair.low, pair.high)], LITTLE)
    verdict = seeded(decide(inside is True, inside is False and pair.word() != "cannot be told"), [pair.test])
    evidence = f"V1 that reads padding in training and test: {', '.join(map(percent, values(by_model[read])))}; against V1 trained masked"
    evidence += f" {pair.numbers}. “As good” means a difference of less than {100 * LITTLE:.0f} point"
    finding = Finding(verdict, evidence, effect=pair.effect("V1 with padding read"), p=p)
    behind, ahead = (read, masked) if pair.difference < 0 else (masked, read)  # a side that still learned cannot lose
    return with_rates(finding, runs, printed_tables.DATASET, [behind], [ahead])


CLAIMS = (*BOARD, *observations.BOARD)


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
