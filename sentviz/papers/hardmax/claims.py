"""The hardmax paper's claims (arXiv 2407.01602): the theorem on simulated runs, the classifier on the available runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sentviz.analysis.claim import Effect, Finding, Reference, Row, Verdict, board, decide, not_testable, settled
from sentviz.analysis.levels import LEVEL, p_of_interval
from sentviz.analysis.testset.leaders import NEAR
from sentviz.errors import SentvizError
from sentviz.papers.hardmax import nearness
from sentviz.papers.hardmax.study import DATASET, NAMED, PUBLIC, beside, compared, counted, setting
from sentviz.papers.studies.against import corrected, in_percent, in_points, mixed, p_of_all, seeded
from sentviz.papers.studies.rates import with_rates
from sentviz.papers.studies.seeds import seed_noise
from sentviz.runs.store import Run

if TYPE_CHECKING:
    import pandas as pd

SIMULATED = 60  # random runs
MISSING = not_testable("the runs are not installed")
DISTANCE = 2.0  # least distance of a leader from the decision line, in the embedding's unit
CONFIDENCE = 0.95  # least confidence of the reviews whose leaders are counted
TOP = 15  # leaders of each class
NO_LEXICON = "no English polarity lexicon is on this machine"


def _agreed(verdicts: Sequence[Verdict]) -> Verdict:
    """Combine the verdicts of single trainings: "open" if they differ, "unjudged" if there is only one that says something."""
    return "unjudged" if len(verdicts) == 1 else verdicts[0] if len(set(verdicts)) == 1 else "open"


def _trainings(runs: Sequence[Run]) -> str:
    """Return the dimensions of some trainings in words."""
    dimensions = Counter(run.shape.width for run in runs)
    listed = ", ".join(f"d = {d}" + (f" ({number} trainings)" if number > 1 else "") for d, number in dimensions.items())
    return f"one training each of {listed}" if set(dimensions.values()) == {1} else listed


def _seeds(number: int) -> str:
    """Return a number of seeds in words."""
    return "one seed" if number == 1 else f"{number} seeds"


def judge_theorem(*_: object) -> Finding:
    """Test the theorem on random tokens, matrices and steps in 2 to 4 dimensions, each simulated to its limit."""
    from sentviz.models.clustering import simulate
    from sentviz.models.clustering.polytope import theory

    rng = np.random.default_rng(0)
    true, false, empty, worst = 0, 0, 0, 0.0
    for _i in range(SIMULATED):
        d = int(rng.integers(2, 5))
        root = rng.normal(size=(d, d))
        run = simulate(rng.normal(size=(int(rng.integers(3, 40)), d)), root @ root.T + 0.1 * np.eye(d), float(rng.uniform(0.2, 3)))
        for statement in theory(run):
            true, false, empty = true + (statement.holds is True), false + (statement.holds is False), empty + (statement.holds is None)
            if statement.holds is not None and np.isfinite(statement.error):
                worst = max(worst, statement.error)
    counts = f"{true} statements hold, {false} fail, {empty} do not apply, over {SIMULATED} random runs in 2 to 4 dimensions"
    return Finding(decide(true > 0, false > 0), f"{counts}; largest relative error {worst:.1g}")


def judge_layers(_: str, runs: Sequence[Run]) -> Finding:
    """Test whether in 19 of 20 reviews `nearness.WANTED` of the words are near a leader after the last layer."""
    from sentviz.analysis.testset.leaders import FILE, per_layer

    available = counted(runs)
    if not available:
        return MISSING
    verdicts, shares = list[Verdict](), []
    for run in available:
        table = per_layer(run.frame(FILE))
        last = table[(table["measure"] == "at leaders") & (table["layer"] == table["layer"].max())].iloc[0]
        enough = bool(last["q05"] >= nearness.WANTED)
        verdicts.append(decide(enough, not enough))
        shares.append(f"d = {run.shape.width}: {last['mean']:.1%} ({last['q05']:.1%} or more in 19 of 20 reviews)")
    near = f"within {NEAR:.0%} of the largest norm of a leader"
    words = f"share of a review's words that are {near} after {int(last['layer'])} layers: {'; '.join(shares)}"
    return Finding(_agreed(verdicts), f"{words}{_at_other_distances(available)}; {_trainings(available)}; n = {int(last['n']):,}")


def _at_other_distances(runs: Sequence[Run]) -> str:
    """Return the smallest distance at which the claim would hold, in words; empty if it was not measured."""
    table = nearness.MEASURED.read()
    rows = table[table["digest"].isin([run.digest for run in runs])]
    enough = rows.groupby("nearness")["q05"].min().loc[lambda low: low >= nearness.WANTED].index
    if rows.empty:
        return ""
    least = f"within {min(enough):.2%} of the norm" if len(enough) else f"not even within {rows['nearness'].max():.0%}"
    return f"; for {nearness.WANTED:.0%} of the words in 19 of 20 reviews this is true {least}"


def frequent_leaders(run: Run, distance: float) -> tuple[pd.DataFrame, float]:
    """Return the most frequent leaders of each class, and their least distance from the decision line.

    Args:
        run: one of `counted`, with weights.
        distance: least distance from the line; if negative, a share of the largest distance of a leader.
    """
    from sentviz.analysis.testset.leaders import FILE, frequent, leading
    from sentviz.models.loading import load

    model = load(run)
    vocabulary, weight = model.vocabulary, model.decision[0]  # type: ignore[attr-defined]
    frame = run.frame(FILE)
    if distance <= 0:
        words = leading(frame, vocabulary)
        distance = -distance * float((words.loc[words["leads"] > 0, "score"].abs() / np.linalg.norm(weight)).max())
    return frequent(frame, vocabulary, weight, distance=distance, confidence=CONFIDENCE, top=TOP), distance


def judge_leaders(_: str, runs: Sequence[Run], *, distance: float) -> Finding:
    """Test whether a polarity lexicon gives the most frequent leaders the polarity of their class.

    A distance in the unit of an embedding decides nothing, because another training has another scale; a share of the reach does.
    """
    available = counted(runs, weights=True)
    if not available:
        return MISSING
    polarities = _polarities()
    if not polarities:
        return not_testable(NO_LEXICON)
    findings = [_judge_words(*frequent_leaders(run, distance), polarities) for run in available]
    by_run = "; ".join(f"d = {run.shape.width}: {finding.evidence}" for run, finding in zip(available, findings, strict=True))
    evidence = f"leaders that have the polarity of their class, of those with a polarity in VADER or the Opinion Lexicon: {by_run}"
    if distance > 0:
        return not_testable(f"the distance {distance:g} is the public code's, in the scale of its own embedding. In ours: {evidence}")
    return Finding(_agreed([finding.verdict for finding in findings]), f"{evidence}; {_trainings(available)}")


def judge_furthest(_: str, runs: Sequence[Run]) -> Finding:
    """Return the places of both words that the poster names. The sentence is about its own training, so ours do not decide it."""
    from sentviz.analysis.testset.leaders import FILE, leading
    from sentviz.models.loading import load

    available = counted(runs, weights=True)
    if not available:
        return MISSING
    numbers = []
    for run in available:
        words = leading(run.frame(FILE), load(run).vocabulary)  # type: ignore[attr-defined]
        ranks = [ranked(words, word, sign) for word, sign in zip(NAMED, (1, -1), strict=True)]
        places = [f"{word} {f'{rank:,} of {total:,}' if rank else 'not'}" for word, (rank, total) in zip(NAMED, ranks, strict=True)]
        side = words[words["leads"] > 0].sort_values("score")["word"]
        numbers.append(f"d = {run.shape.width}: {', '.join(places)} (our furthest: {side.iloc[-1]} and {side.iloc[0]})")
    return not_testable(
        "the sentence is about the poster's own training, and another training has other leaders. In ours, places among the leaders on"
        f" their side, the furthest first: {'; '.join(numbers)}; {_trainings(available)}"
    )


def ranked(words: pd.DataFrame, word: str, sign: int) -> tuple[int | None, int]:
    """Return the place of a word among the leaders on one side of the line, the furthest first, and their number.

    Args:
        words: result of `leading`. sign: 1 for the side of the second class, -1 for the other.
    Returns:
        None as the place if the word does not lead, or is on the other side.
    """
    side = words.loc[(words["leads"] > 0) & (sign * words["score"] > 0)].assign(far=lambda rows: rows["score"].abs())
    own = side.loc[side["word"] == word, "far"]
    return (None if own.empty else int((side["far"] > own.iloc[0]).sum()) + 1), len(side)


def judge_embedding(_: str, runs: Sequence[Run]) -> Finding:
    """Test whether words that lead have a polarity more often than words that never lead, at the same frequency."""
    from sentviz.analysis.testset.leaders import FILE, leading
    from sentviz.models.loading import load

    available = counted(runs, weights=True)
    if not available:
        return MISSING
    polar = {word for word, polarity in _polarities().items() if polarity}
    if not polar:
        return not_testable(NO_LEXICON)
    gaps = [more_polar(leading(run.frame(FILE), load(run).vocabulary), polar) for run in available]  # type: ignore[attr-defined]
    verdict = _agreed([decide(low > 0, high < 0) for _gap, low, high in gaps])
    numbers = "; ".join(
        f"d = {run.shape.width}: {in_points(dict(zip(('difference', 'low', 'high'), gap, strict=True)))}"
        for run, gap in zip(available, gaps, strict=True)
    )
    effect = Effect.from_share_difference(*min(gaps), of="smallest difference of a training")
    return Finding(
        verdict, f"share with a polarity, leading minus other words, in points: {numbers}; {_trainings(available)}", effect=effect
    )


def more_polar(words: pd.DataFrame, polar: Collection[str]) -> tuple[float, float, float]:
    """Return how much larger the share of polar words is among leading words than among others, with its 95% interval, as shares.

    Words are compared in tenths of the vocabulary, which is in the order of frequency; a tenth counts by the harmonic mean of both numbers.
    """
    frame = words.assign(polar=words["word"].isin(polar), led=words["leads"] > 0, tenth=np.arange(len(words)) * 10 // max(len(words), 1))
    rows = []
    for _tenth, part in frame.groupby("tenth"):
        leading, resting = part.loc[part["led"], "polar"], part.loc[~part["led"], "polar"]
        if len(leading) and len(resting):
            p, q = leading.mean(), resting.mean()
            rows.append((p - q, p * (1 - p) / len(leading) + q * (1 - q) / len(resting), 1 / (1 / len(leading) + 1 / len(resting))))
    if not rows:
        return float("nan"), float("-inf"), float("inf")
    gaps, variances, weights = (np.array(column) for column in zip(*rows, strict=True))
    share = weights / weights.sum()
    gap, half = float(share @ gaps), 1.96 * float(np.sqrt(share**2 @ variances))
    return gap, gap - half, gap + half


def _polarities() -> dict[str, float]:
    """Return each word's positive minus negative polarity in VADER; in the Opinion Lexicon if VADER does not have the word."""
    from sentviz.data.lexicon import LEXICONS, Lexicon

    polarities: dict[str, float] = {}
    for name in LEXICONS["en"][:2]:
        try:
            lexicon = Lexicon.load(name)
        except SentvizError:
            continue
        polarities = {term: float(w[0] - w[2]) for term, w in zip(lexicon.terms, lexicon.weights, strict=True)} | polarities
    return polarities


def _judge_words(leaders: pd.DataFrame, least: float, polarities: Mapping[str, float]) -> Finding:
    """Test whether there are leaders of both classes, and more than half of those with a polarity have that of their class."""
    counts, signs = [], []
    for label, words in leaders.groupby("label"):
        sign = 1 if label == "positive" else -1
        polar = [np.sign(polarities[word]) * sign for word in words["word"] if polarities.get(word)]
        signs += polar
        names, unknown = ", ".join(words["word"][:4]), len(words) - len(polar)
        counts.append(f"{label}: {polar.count(1)} of {len(polar)}{f' and {unknown} without a polarity' * (unknown > 0)} ({names})")
    if leaders.empty:
        return settled(False, f"no leader of a correct review with a confidence of {CONFIDENCE:.0%} is {least:.2g} or more from the line")
    evidence = f"{least:.2g} or more from the line, {', '.join(counts)}"
    if not signs:
        return not_testable(evidence)
    return settled(signs.count(1) > len(signs) / 2 and len(counts) == 2, evidence)


def judge_growth(_: str, runs: Sequence[Run]) -> Finding:
    """Test whether each dimension is better than the one below it, after Holm over these steps. A worse one refutes the claim."""
    by_dimension = compared(runs)
    steps = list(pairwise(by_dimension))
    if not steps:
        return MISSING
    noise = seed_noise(by_dimension.values())
    comparisons = {f"d {low} to {high}": mixed(by_dimension[high], by_dimension[low], noise=noise) for low, high in steps}
    results = corrected(comparisons)
    words = {word for _, word in results.values()}
    numbers = "; ".join(
        f"{step}: {each.points}, {each.compared}, p after Holm {results[step][0]:.2g}" for step, each in comparisons.items()
    )
    verdict = decide(words == {"better"} and set(PUBLIC) <= set(by_dimension), "worse" in words)
    n = max(comparison.n for comparison in comparisons.values())
    step, least = min(comparisons.items(), key=lambda entry: entry[1].difference)
    verdict = seeded(verdict, [comparison.test for comparison in comparisons.values()])
    p = p_of_all(verdict, results.values())
    finding = Finding(verdict, f"in points: {numbers}; n = {n:,}", effect=least.effect(f"smallest step, {step}"), p=p)
    presets = [seeds[0].configuration for seeds in by_dimension.values()]
    return with_rates(finding, runs, DATASET, [], presets).noting(setting(runs))


def judge_public_accuracies(_: str, runs: Sequence[Run]) -> Finding:
    """Test whether each interval, for other rows and seeds, lies above the public accuracy. One that lies below, by a p after
    Bonferroni, refutes the claim.
    """
    table = beside(runs).dropna(subset="printed")
    if table.empty:
        return MISSING
    remark = "the public numbers are the best test accuracies"
    widest = table.iloc[-1]
    effect = Effect.from_share(
        widest["value"], widest["low"], widest["high"], widest["printed"], f"{widest['model']}, compared with the public code"
    )
    numbers = "; ".join(
        f"{row['model']}: {in_percent(row['value'], row['low'], row['high'])} (public code {row['printed']:.2%}), {_seeds(row['seeds'])}"
        for row in table.to_dict("records")
    )
    several = table[table["seeds"] > 1]
    if several.empty:
        return not_testable(f"{numbers}; {remark}, and the effect of the seed is unknown", effect).noting(setting(runs))
    levels = [p_of_interval(*(float(row[name]) for name in ("value", "low", "high", "printed"))) for row in several.to_dict("records")]
    below = [len(levels) * p for p, missed in zip(levels, several["high"] < several["printed"], strict=True) if missed]  # Bonferroni
    reached = set(several["d"]) == set(PUBLIC) and bool((several["low"] >= several["printed"]).all())
    missed = bool(below) and min(below) <= LEVEL
    p = min(1.0, min(below)) if below else max(levels)
    return Finding(decide(reached, missed), f"{numbers}; {remark}", effect=effect, p=p).noting(setting(runs))


RUNS: Reference = "runs here"
LOOKED_UP = "looked up in VADER and the Opinion Lexicon"
CLAIMS = board(
    {DATASET: "IMDb"},
    Row("Tokens cluster at leaders on a polytope",
        "The theorem: leaders exist, tokens cluster on a polytope's boundary, leaders at its vertices", "simulated runs", "theorem",
        judge_theorem, {"": ("ad463f", "theorem")}, "step"),
    Row("Leading words have a polarity more often", "Words that lead have a polarity more often than equally frequent words that do not",
        RUNS, "tested", judge_embedding, {DATASET: ("5b7e21", "computational contribution")}, "model", "hardmax-components",
        "in tenths of the vocabulary by frequency, looked up in VADER and the Opinion Lexicon"),
    Row("Eight layers are enough to cluster", "Eight layers are enough to come near the clustered state", RUNS, "counted", judge_layers,
        {DATASET: ("b02342", "training and results")}, "pictures", "hardmax-nearness"),
    Row("Leaders far from the line (2) are polar words", "The most frequent leaders 2 or more from the line convey sentiment",
        RUNS, "counted", partial(judge_leaders, distance=DISTANCE), {DATASET: ("94b21f", "public code")}, "pictures",
        how=LOOKED_UP),
    Row("Leaders in the outer 2/3 are polar words",
        "The most frequent leaders in the outer two thirds of the leaders' reach convey sentiment", RUNS, "counted",
        partial(judge_leaders, distance=-1 / 3), {DATASET: ("d2f7b2", "our distance, in the scale of our embedding")}, "pictures",
        how=LOOKED_UP),
    Row("The furthest leaders are amazing and torture", "The leaders furthest from the decision line include amazing and torture", RUNS,
        "counted",
        judge_furthest, {DATASET: ("e03c9a", "training and results")}, "model", "hardmax-components",
        "the place of each word among the leaders on its side of the line"),
    Row("Accuracy grows with the dimension", "Accuracy grows with the dimension of the embedding", RUNS, "tested", judge_growth,
        {DATASET: ("992eaa", "public code")}, "pictures", "hardmax-accuracy",
        "each dimension against the one below it, p after Holm over these steps"),
    Row("The public code's accuracies are reached", "The public code's accuracies are reached", RUNS, "tested", judge_public_accuracies,
        {DATASET: ("6c9983", "public code")}, "pictures", "hardmax-accuracy",
        "intervals for other rows and other seeds, compared with the public numbers"),
)  # fmt: skip
