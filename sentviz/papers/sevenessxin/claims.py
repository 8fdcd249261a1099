"""The claims of 7ess-Xin: against its own tables and log, and on the runs here."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from sentviz.analysis.claim import Claim, Effect, Finding, Reference, Verdict, not_testable
from sentviz.papers.sevenessxin import measured, prints
from sentviz.papers.sevenessxin.export import train
from sentviz.papers.sevenessxin.presets import ROPE, VERSIONS
from sentviz.papers.sevenessxin.study import configurations, curve, gains, rates, sized, versions
from sentviz.papers.studies.against import Word, in_points, mixed, seeded
from sentviz.papers.studies.seeds import seed_noise
from sentviz.runs.store import Run

BEST = f"7ess-v6-{ROPE}"
NEARLY = 0.8  # the share of versions that "nearly every" is taken to mean
LITTLE = 0.01  # what "little" is taken to mean of an accuracy
FEW = 0.05  # the five points that scarcity is said to cost


def _missing(study: str = "sevenessxin") -> Finding:
    return not_testable(f"the runs are not here: {train(study)}")


def _percent(value: float, low: float, high: float) -> str:
    return f"{value:.1%} [{low:.1%}, {high:.1%}]"


# ---- the paper against its own tables


def _table_gains(_: Sequence[Run]) -> Finding:
    found = {}
    for name in ("results", "log"):
        said = prints.table(name).set_index("model")["accuracy"]
        pairs = [version for version in VERSIONS if {version, f"{version}-{ROPE}"} <= set(said.index)]
        up = [version for version in pairs if said[f"{version}-{ROPE}"] > said[version]]
        found[name] = len(up), len(pairs)
    held = all(up >= NEARLY * pairs for up, pairs in found.values())
    (printed, of), (logged, of_log) = found["results"], found["log"]
    numbers = f"accuracy rises in {printed} of {of} versions of table II and {logged} of {of_log} of its log; one run each, no intervals"
    return Finding("holds" if held else "fails", numbers)


def _table_best(_: Sequence[Run]) -> Finding:
    said, distinct = [], True
    for name, where in (("results", "table II"), ("log", "its log")):
        column = prints.table(name).set_index("model")["accuracy"]
        order = column.sort_values(ascending=False)
        if order.index[0] != BEST:
            return Finding("fails", f"{where}: {prints.title(order.index[0])} has {order.iloc[0]:.4f}, V6 RoPE {column[BEST]:.4f}")
        gap, tested = float(order.iloc[0] - order.iloc[1]), 160_000
        reach = 1.96 * math.sqrt(2 * order.iloc[0] * (1 - order.iloc[0]) / tested)
        distinct &= gap > reach
        said.append(f"{where}: {order.iloc[0]:.4f}, then {prints.title(order.index[1])} {order.iloc[1]:.4f}, {gap:.4f} less")
    verdict: Verdict = "holds" if distinct else "open"
    rest = f"gaps on 160,000 tweets need about {reach:.4f} to be told, were the answers independent; trainings by chance not counted"
    return Finding(verdict, f"{'; '.join(said)}; {rest}")


def _figure_five(_: Sequence[Run]) -> Finding:
    low, high = prints.FIGURE_5["negative"], prints.FIGURE_5["positive"]
    accuracy, precision = (low + high) / 2, high / (high + 1 - low)
    row = prints.table("results").set_index("model").loc[BEST]
    implied = (
        f"its rates of {high:.1%} and {low:.1%} give an accuracy of {accuracy:.3f} and a precision of {precision:.3f} on a balanced test"
    )
    printed = f"{row['accuracy']:.4f} and {row['precision_positive']:.4f} are printed"
    fits = abs(accuracy - row["accuracy"]) < 0.005
    return Finding("holds" if fits else "fails", f"{implied}; {printed}")


def _table_scarcity(_: Sequence[Run]) -> Finding:
    said = prints.table("results").set_index("model")["accuracy"]
    lags = {phase: said[f"7ess-v1{phase}"] - said[f"7ess-v5{phase}"] for phase in ("", f"-{ROPE}")}
    numbers = ", ".join(f"{100 * lag:.1f} points with {'RoPE' if phase else 'sinusoids'}" for phase, lag in lags.items())
    return Finding("holds" if all(abs(lag - FEW) < LITTLE for lag in lags.values()) else "fails", f"V5 behind V1: {numbers}")


# ---- runs here


def _rope(runs: Sequence[Run]) -> Finding:
    frame = gains(runs)
    if frame.empty:
        return _missing()
    words = frame["verdict"].tolist()
    better, worse = words.count("better"), words.count("worse")
    numbers = "; ".join(f"{row['row']} {in_points(row)}" for row in frame.to_dict("records"))
    middle = frame.sort_values("difference").iloc[len(frame) // 2].to_dict()
    effect = Effect.from_comparison(middle, f"{middle['row']}, the middle one of the versions")
    said = f"of {len(frame)} versions {better or 'none'} can be told to gain, {worse or 'none'} to lose: {numbers}"
    if better >= NEARLY * len(VERSIONS):
        return Finding("holds", said, effect=effect)
    missing = len(VERSIONS) - len(frame)
    if missing >= NEARLY * len(VERSIONS):
        return not_testable(said, effect)
    open_ = missing + words.count("cannot be told")
    open_ended = better + open_ >= NEARLY * len(VERSIONS)
    return Finding(seeded("open", frame["kind"]) if open_ended else "fails", said, effect=effect)


def _best(runs: Sequence[Run]) -> Finding:
    here = configurations(runs)
    if BEST not in here or len(here) < 2:
        return _missing()
    frame = versions(runs, BEST)
    ahead = frame[frame["verdict"] == "better"]["title"].tolist()
    behind = frame[frame["verdict"] == "worse"]["title"].tolist()
    same = [prints.title(name) for name in frame["model"] if _alike(here[name][0], here[BEST][0])]
    said = f"of {len(frame)} others of its phase {', '.join(ahead) or 'none'} can be told to be better, {', '.join(behind) or 'none'} worse"
    said += (
        f"; {' and '.join(same)} gives the same answers to every tweet: a longer input than any of them has changes nothing" if same else ""
    )
    if ahead:
        return Finding("fails", said)
    return Finding("holds" if len(behind) == len(VERSIONS) - 1 else seeded("open", frame["test"]), said)


def _alike(one: Run, other: Run) -> bool:
    """Whether two runs give the same probabilities to all rows of their tests."""
    a, b = (run.frame("test.parquet") for run in (one, other))
    return a.equals(b)


def _scarcity(runs: Sequence[Run]) -> Finding:
    frame = curve(runs).dropna(subset="value")
    rows = frame[frame["preset"] == VERSIONS[0]].sort_values("rows")
    here = sized(runs, VERSIONS[0])
    if len(rows) < 2:
        return _missing("sevenessxin-curve")
    first, last = next(iter(here.values())), list(here.values())[-1]
    one = mixed(last, first, noise=seed_noise(list(here.values()) + list(configurations(runs).values())))
    points = ", ".join(f"{row['rows']:,.0f}: {row['value']:.1%}" for row in rows.to_dict("records"))
    said = f"V1 by tweets learned from, {points}; from the fewest to all {one.numbers}."
    said += " The paper's full size cannot be had, so its five points cannot be tested"
    verdicts: dict[Word, Verdict] = {"better": "holds", "worse": "fails", "cannot be told": "open"}
    effect = Effect.from_share_difference(one.difference, one.low, one.high, "from the fewest tweets to all")
    return Finding(seeded(verdicts[one.word()], [one.test]), said, effect=effect)


def _little(runs: Sequence[Run]) -> Finding:
    asked = {"7ess-v1": ("7ess-v2", "7ess-v7", "7ess-v3"), "7ess-v6": ("7ess-v9",)}
    here, said, verdicts, tests, found = configurations(runs), [], [], [], []
    spread = seed_noise(here.values())
    for base, others in asked.items():
        for other in (name for name in others if base in here and name in here):
            one = mixed(here[other], here[base], noise=spread)
            inside = one.low > -LITTLE and one.high < LITTLE
            outside = one.low > LITTLE or one.high < -LITTLE
            told = one.test == "over seeds"
            tests.append(one.test)
            found.append(
                Effect.from_share_difference(one.difference, one.low, one.high, f"{prints.title(other)} against {prints.title(base)}")
            )
            verdicts.append("holds" if told and inside else "fails" if told and outside else "open")
            said.append(f"{prints.title(other)} against {prints.title(base)} {one.points}, {one.compared}")
    if not said:
        return _missing()
    verdict: Verdict = "fails" if "fails" in verdicts else "open" if "open" in verdicts else "holds"
    words = f"points: {'; '.join(said)}. Little is taken to be less than {100 * LITTLE:.0f} point either way"
    return Finding(seeded(verdict, tests), words, effect=max(found, key=lambda effect: abs(effect.value)))


def _bias(runs: Sequence[Run]) -> Finding:
    here = configurations(runs)
    several = [name for name, seeds in here.items() if len(seeds) > 1]
    name = next((one for one in (BEST, *several, *here) if one in here and (one in several or not several)), "")
    if not name:
        return _missing()
    leans, said = set[Verdict](), list[str]()
    for run in here[name]:
        low, high = (rates([run])[label] for label in ("negative", "positive"))
        leans.add("holds" if high[1] > low[2] else "fails" if high[2] < low[1] else "open")
        said.append(f"{_percent(*high)} of positive and {_percent(*low)} of negative tweets right")
    numbers = f"{prints.title(name)} answers {'; '.join(said)}. Choosing the state by F1 of the positive class favours it"
    if len(said) < 2:
        return not_testable(f"{numbers}; one seed, others unknown")
    verdict: Verdict = leans.pop() if len(leans) == 1 else "open"
    return Finding(verdict, f"{numbers}; {len(said)} seeds")


def _neutral(_: Sequence[Run]) -> Finding:
    frame = measured.table("neutral")
    if frame.empty:
        return not_testable(f"not measured: {measured.COMMANDS['neutral']}")
    rows = {row["of"]: row for row in frame.to_dict("records")}
    neutral, polar = rows["neutral"], rows["polar"]
    sure = [_percent(row["sure"], row["sure_low"], row["sure_high"]) for row in (neutral, polar)]
    answered = f"get an answer with {measured.SURE:.0%} or more"
    said = f"{sure[0]} of {neutral['n']:,} neutral tweets of TweetEval {answered}, {sure[1]} of polar ones,"
    return not_testable(f"{said} and how many tweets of Sentiment140 are neutral is not known")


def _padding(_: Sequence[Run]) -> Finding:
    frame = measured.table("padding")
    if frame.empty:
        return not_testable(f"not measured: {measured.COMMANDS['padding']}")
    row = frame[frame["of"] == "all"].iloc[0]
    changed = _percent(row["changed"], row["changed_low"], row["changed_high"])
    said = f"read instead of masked, padding changes {changed} of the answers of {row['run']},"
    said += f" and its accuracy by {in_points(row.to_dict())} points, n = {row['n']:,.0f}"
    verdict: Verdict = "holds" if row["changed_low"] > 0.01 else "fails" if row["changed_high"] < 0.01 else "open"
    return Finding(
        verdict, said, effect=Effect.from_share(row["changed"], row["changed_low"], row["changed_high"], 0.01, "answers that change")
    )


def _claim(
    short: str,
    statement: str,
    where: str,
    against: Reference,
    test: Callable[[Sequence[Run]], Finding],
    shows: str,
    figure: str = "",
    how: str = "",
) -> Claim:
    return Claim(statement, where, against, test, short, "Sentiment140", (prints.DATASET,), how, shows, figure)


OWN: Final = "its own tables"
HERE: Final = "runs here"
OVER_SEEDS = "t tests for other rows and other seeds, chance in training pooled over all versions"
BESIDE = "versions-beside-print"
CLAIMS = (
    _claim("RoPE and QK-norm gain nearly always", "RoPE and QK-norm gain in nearly every version", "section IV-A, table II", OWN,
           _table_gains, "phases", "rope-gains"),
    _claim("V6 with RoPE is the best version", "V6 with RoPE is the best version", "section IV-A, table II", OWN, _table_best, "results",
           BESIDE),
    _claim("A sixteenth of the tweets costs 5 points", "A sixteenth of the tweets costs about five points", "section IV-A, table II", OWN,
           _table_scarcity, "curve", "learning-curve"),
    _claim("Figure 5 is that of the printed accuracy", "The matrix of figure 5 is that of the printed accuracy", "section IV-D1, figure 5",
           OWN, _figure_five, "matrix"),
    _claim("RoPE and QK-norm gain nearly always", "RoPE and QK-norm gain in nearly every version", "section IV-A", HERE, _rope, "phases",
           "rope-gains", f"{OVER_SEEDS}, p after Holm over the versions"),
    _claim("V6 with RoPE is the best version", "V6 with RoPE is the best version", "section IV-A", HERE, _best, "results", BESIDE,
           f"{OVER_SEEDS}, p after Holm over the versions"),
    _claim("Fewer tweets cost accuracy", "Fewer tweets to learn from cost accuracy", "section IV-A", HERE, _scarcity, "curve",
           "learning-curve", OVER_SEEDS),
    _claim("More depth, width and heads give little", "More depth, width and heads give little", "section IV-A", HERE, _little, "results",
           BESIDE, f"{OVER_SEEDS}: intervals inside or outside of one point"),
    _claim("It leans to the positive class", "The model leans to the positive class", "section IV-D1", HERE, _bias, "matrix",
           how="Wilson intervals of the share answered right of each class, seed by seed"),
    _claim("Neutral tweets bound the accuracy", "Neutral tweets under two labels bound the accuracy", "section V-B", HERE, _neutral,
           "results"),
    _claim("Padding that is read changes answers", "Padding that is not masked changes answers (ours, of the published code)",
           "section III-A3", HERE, _padding, "padding", how="a Wilson interval of the share of answers that change"),
)  # fmt: skip
