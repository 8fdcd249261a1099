"""The hardmax paper's claims (arXiv 2407.01602): the theorem on simulated runs, the classifier on the available runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from sentviz.analysis.claim import LEVEL, Board, Effect, Finding, Verdict, decide, not_testable, p_of_interval, strictest_finding
from sentviz.analysis.testset.leaders import NEAR
from sentviz.data.lexicon import LEXICONS, Lexicon
from sentviz.errors import SentvizError
from sentviz.io.lazy import pd
from sentviz.io.numbers import p_value, percent
from sentviz.models.clustering import simulate
from sentviz.papers.hardmax import study
from sentviz.papers.hardmax.study import DATASET, NAMED, OF_POSTER, PUBLIC, SETTINGS, WANTED, by_setting, counted, row_name, row_of
from sentviz.papers.studies.compare_configurations import corrected, in_points, mixed
from sentviz.papers.studies.judging import all_better, more_than_half, needed, over_parts
from sentviz.papers.studies.means import means
from sentviz.papers.studies.rates import with_rates
from sentviz.papers.studies.stats import seed_noise
from sentviz.runs.store import Run

SIMULATED = 60  # random runs
DISTANCE = 2.0  # least distance of a leader from the decision line, in the embedding's unit
CONFIDENCE = 0.95  # least confidence of the reviews whose leaders are counted
TOP = 15  # leaders of each class
NO_LEXICON = "no English polarity lexicon is on this machine"
BOARD = Board({DATASET: "IMDb"})
on_runs = partial(BOARD.claim, against="runs here", kind="tested", where="public code")
of_leaders = partial(on_runs, section="pictures",
    how="the share with the polarity of their class in VADER or the Opinion Lexicon, exact binomial test against one half")  # fmt: skip
of_words = partial(on_runs, where="training and results", section="model", figure="hardmax-components")
of_accuracy = partial(on_runs, section="pictures", figure="hardmax-accuracy")


def _agreed(verdicts: Sequence[Verdict]) -> Verdict:
    """Combine the verdicts of single trainings: "open" if they differ, "unjudged" if there is only one that says something."""
    return "unjudged" if len(verdicts) == 1 else verdicts[0] if len(set(verdicts)) == 1 else "open"


def _trainings(runs: Sequence[Run]) -> str:
    """Return the dimensions and settings of some trainings in words."""
    models = Counter(map(row_of, runs))
    listed = "; ".join(model + (f" ({number} trainings)" if number > 1 else "") for model, number in models.items())
    return f"one training each of {listed}" if set(models.values()) == {1} else listed


def _seeds(number: int) -> str:
    """Return a number of seeds in words."""
    return "one seed" if number == 1 else f"{number} seeds"


@on_runs("ad463f", "The theorem: leaders exist, tokens cluster on a polytope's boundary, leaders at its vertices",
    "Tokens cluster at leaders on a polytope", where="theorem", section="step", against="simulated runs", kind="theorem")  # fmt: skip
def judge_theorem() -> Finding:
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


@of_words({DATASET: "5b7e21"}, "Words that lead have a polarity more often than equally frequent words that do not",
    "Leading words have a polarity more often", where="computational contribution",
    how="in tenths of the vocabulary by frequency, looked up in VADER and the Opinion Lexicon")  # fmt: skip
def judge_embedding(runs: Sequence[Run]) -> Finding:
    from sentviz.analysis.testset.leaders import FILE, leading
    from sentviz.models.loading import load

    available = needed(counted(runs, weights=True))
    polar = needed({word for word, polarity in _polarities().items() if polarity}, NO_LEXICON)
    gaps = [more_polar(leading(run.frame(FILE), load(run).vocabulary), polar) for run in available]  # type: ignore[attr-defined]
    verdict = _agreed([decide(low > 0, high < 0) for _gap, low, high in gaps])
    numbers = "; ".join(
        f"{row_of(run)}: {in_points(dict(zip(('difference', 'low', 'high'), gap, strict=True)))}"
        for run, gap in zip(available, gaps, strict=True)
    )
    effect = Effect.from_share_difference(*min(gaps), of="smallest difference of a training")
    return Finding(verdict, f"share with a polarity, leading minus other words: {numbers}; {_trainings(available)}", effect=effect)


def more_polar(words: pd.DataFrame, polar: Collection[str]) -> tuple[float, float, float]:
    """Return how much larger the share of polar words is among leading words than among others, with its 95 % interval, as shares.

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


@of_accuracy({DATASET: "b02342"}, "Eight layers are enough to come near the clustered state", "Eight layers are enough to cluster",
    where="training and results", figure="hardmax-nearness", kind="counted")  # fmt: skip
def judge_layers(runs: Sequence[Run]) -> Finding:
    from sentviz.analysis.testset.leaders import FILE, per_layer

    available = needed(counted(runs))
    verdicts, shares = list[Verdict](), []
    for run in available:
        table = per_layer(run.frame(FILE))
        last = table[(table["measure"] == "at leaders") & (table["layer"] == table["layer"].max())].iloc[0]
        enough = bool(last["q05"] >= WANTED)
        verdicts.append(decide(enough, not enough))
        shares.append(f"{row_of(run)}: {percent(last['mean'])} ({percent(last['q05'])} or more in 19 of 20 reviews)")
    near = f"within {percent(NEAR, 0)} of the largest norm of a leader"
    words = f"share of a review's words that are {near} after {int(last['layer'])} layers: {'; '.join(shares)}"
    return Finding(_agreed(verdicts), f"{words}{_at_other_distances(available)}; {_trainings(available)}; n = {int(last['n']):,}")


def _at_other_distances(runs: Sequence[Run]) -> str:
    """Return the smallest distance at which the claim would hold, in words; empty if it was not measured."""
    table = study.NEARNESS.read()
    rows = table[table["digest"].isin([run.digest for run in runs])]
    enough = rows.groupby("nearness")["q05"].min().loc[lambda low: low >= WANTED].index
    if rows.empty:
        return ""
    least = f"within {percent(min(enough), 2)} of the norm" if len(enough) else f"not even within {percent(rows['nearness'].max(), 0)}"
    return f"; for {percent(WANTED, 0)} of the words in 19 of 20 reviews this is true {least}"


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


@of_leaders({DATASET: "94b21f"}, "The most frequent leaders 2 or more from the line convey sentiment",
    "Leaders far from the line (2) are polar words", distance=DISTANCE)  # fmt: skip
@of_leaders({DATASET: "d2f7b2"}, "The most frequent leaders in the outer two thirds of the leaders' reach convey sentiment",
    "Leaders in the outer 2/3 are polar words", where="our distance, in the scale of our embedding", distance=-1 / 3)  # fmt: skip
def judge_leaders(runs: Sequence[Run], *, distance: float) -> Finding:
    """Test whether most of the most frequent leaders have, by a polarity lexicon, the polarity of their class.

    A distance in the unit of an embedding decides nothing, because another training has another scale; a share of the reach does.
    """
    available = needed(counted(runs, weights=True))
    polarities = needed(_polarities(), NO_LEXICON)
    findings = {run: _judge_words(row_of(run), *frequent_leaders(run, distance), polarities) for run in available}
    by_run = "; ".join(f"{row_of(run)}: {finding.evidence}" for run, finding in findings.items())
    evidence = f"leaders that have the polarity of their class in VADER or the Opinion Lexicon, of all: {by_run}"
    if distance > 0:
        return not_testable(f"the distance {distance:g} is the public code's, in the scale of its own embedding. In ours: {evidence}")
    verdict = _agreed([finding.verdict for finding in findings.values()])
    effects = [finding.effect for finding in findings.values() if finding.effect]
    levels = [finding.p for finding in findings.values() if finding.p is not None]
    least = min(effects, key=lambda effect: effect.value, default=None)
    return Finding(verdict, f"{evidence}; {_trainings(available)}", effect=least, p=max(levels, default=None))


@of_words({DATASET: "e03c9a"}, "The leaders furthest from the decision line include amazing and torture",
    "The furthest leaders are amazing and torture", kind="counted",
    how="the place of each word among the leaders on its side of the line")  # fmt: skip
def judge_furthest(runs: Sequence[Run]) -> Finding:
    """Return the places of both words that the poster names. The sentence is about its own training, so ours do not decide it."""
    from sentviz.analysis.testset.leaders import FILE, leading
    from sentviz.models.loading import load

    available = needed(counted(runs, weights=True))
    numbers = []
    for run in available:
        words = leading(run.frame(FILE), load(run).vocabulary)  # type: ignore[attr-defined]
        ranks = [ranked(words, word, sign) for word, sign in zip(NAMED, (1, -1), strict=True)]
        places = [f"{word} {f'{rank:,} of {total:,}' if rank else 'not'}" for word, (rank, total) in zip(NAMED, ranks, strict=True)]
        side = words[words["leads"] > 0].sort_values("score")["word"]
        numbers.append(f"{row_of(run)}: {', '.join(places)} (our furthest: {side.iloc[-1]} and {side.iloc[0]})")
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


def _polarities() -> dict[str, float]:
    """Return each word's positive minus negative polarity in VADER; in the Opinion Lexicon if VADER does not have the word."""
    polarities: dict[str, float] = {}
    for name in LEXICONS["en"][:2]:
        try:
            lexicon = Lexicon.load(name)
        except SentvizError:
            continue
        polarities = {term: float(w[0] - w[2]) for term, w in zip(lexicon.terms, lexicon.weights, strict=True)} | polarities
    return polarities


def _judge_words(model: str, leaders: pd.DataFrame, least: float, polarities: Mapping[str, float]) -> Finding:
    """Test by an exact binomial test whether more than half of the leaders have the polarity of their class.

    A leader without a polarity conveys none. The claim holds only if there are leaders of both classes.
    """
    if leaders.empty:
        return not_testable(
            f"no leader of a correct review with a confidence of {percent(CONFIDENCE, 0)} is {least:.2g} or more from the line"
        )
    counts, right = [], 0
    for label, words in leaders.groupby("label"):
        sign = 1 if label == "positive" else -1
        own, opposite = (sum(polarities.get(word, 0) * side > 0 for word in words["word"]) for side in (sign, -sign))
        neither, names = len(words) - own - opposite, ", ".join(words["word"][:4])
        counts.append(f"{label} {own} of {len(words)}, {opposite} of the other class, {neither} without a polarity ({names})")
        right += own
    verdict, p, share = more_than_half(right, len(leaders))
    evidence = f"{percent(share[0], ends=share[1:])}, {right} of {len(leaders)}, exact binomial {p_value(p, 'p against one half')};"
    effect = Effect.from_share(*share, 0.5, f"{model}, the smallest share of a training")
    verdict = decide(verdict == "holds" and len(counts) == 2, verdict == "fails")
    return Finding(verdict, f"{evidence} {least:.2g} or more from the line, {', '.join(counts)}", effect=effect, p=p)


@of_accuracy({DATASET: "992eaa"}, "Accuracy grows with the dimension of the embedding", "Accuracy grows with the dimension",
    how="each dimension against the one below it in the same setting, p after Holm over these steps")  # fmt: skip
def judge_growth(runs: Sequence[Run]) -> Finding:
    parts = {SETTINGS[variant]: _growth(by_d, runs) for variant, by_d in by_setting(runs).items() if len(by_d) > 1}
    return over_parts(needed(parts))


def _growth(by_d: Mapping[int, Sequence[Run]], runs: Sequence[Run]) -> Finding:
    """Test whether each dimension is better than the one below it, after Holm over these steps. A worse one refutes the claim."""
    noise = seed_noise(by_d.values())
    comparisons = {f"d {low} to {high}": mixed(by_d[high], by_d[low], noise=noise) for low, high in pairwise(by_d)}
    results = corrected(comparisons)
    numbers = "; ".join(
        f"{step}: {each.points}, {each.compared}, {p_value(results[step][0], 'p after Holm')}" for step, each in comparisons.items()
    )
    n = max(comparison.n for comparison in comparisons.values())
    step, least = min(comparisons.items(), key=lambda entry: entry[1].difference)
    verdict, p = all_better(comparisons, complete=set(PUBLIC) <= set(by_d))
    setting = row_of(by_d[max(by_d)][0]).partition(", ")[2]
    finding = Finding(verdict, f"in points: {numbers}; n = {n:,}", effect=least.effect(f"smallest step, {step}, {setting}"), p=p)
    return with_rates(finding, runs, DATASET, [], [seeds[0].configuration for seeds in by_d.values()])


@of_accuracy({DATASET: "6c9983"}, "The public code's accuracies are reached with its 128 words of a review",
    "The public code's accuracies are reached",
    how="intervals for other rows and other seeds, compared with the public number of each dimension")  # fmt: skip
def judge_public_accuracies(runs: Sequence[Run]) -> Finding:
    """Test in each dimension whether the interval, for other rows and seeds, lies above the public accuracy.

    Only models that read as many words as those of the public code are judged. An interval that lies below refutes the claim if its p
    does after Bonferroni over the dimensions.
    """
    settings = needed(by_setting(runs))
    of_public = settings.pop(OF_POSTER, {})
    beside = {d: {SETTINGS[variant]: by_d[d] for variant, by_d in settings.items() if d in by_d} for d in PUBLIC}
    parts = {row_name(d): _reached(d, of_public.get(d, []), beside[d]) for d in PUBLIC}
    return strictest_finding(parts).noting(
        "the public numbers are the best test accuracies of 101 epochs; the public code starts its word vectors wide and learns from 70 %"
        " of the reviews, ours from 40 %"
    )


def _reached(d: int, seeds: Sequence[Run], elsewhere: Mapping[str, Sequence[Run]]) -> Finding:
    """Test whether models reach the public accuracy of their dimension.

    Args:
        seeds: the runs with the public code's number of words.
        elsewhere: runs in other settings, by the words for the setting; the finding names them, and does not rest on them.
    """
    beside = "".join(f"; {setting}: {_accuracy(each)}" for setting, each in elsewhere.items())
    if not seeds:
        return not_testable(f"no run of {row_name(d)} is installed{beside}")
    measured, public = means(seeds)["accuracy"], PUBLIC[d]
    value, low, high = (float(measured[name]) for name in ("value", "low", "high"))
    effect = Effect.from_share(value, low, high, public, f"{row_name(d)}, compared with the public code")
    numbers = f"{_accuracy(seeds)} (public code {percent(public, 2)})"
    if len(seeds) == 1:
        return not_testable(f"{numbers}, so the effect of the seed is unknown{beside}", effect)
    below = high < public and len(PUBLIC) * p_of_interval(value, low, high, public) <= LEVEL
    return Finding(decide(low >= public, below), f"{numbers}{beside}", effect=effect)


def _accuracy(seeds: Sequence[Run]) -> str:
    """Return the mean accuracy of some seeds with its interval, in words."""
    measured = means(seeds)["accuracy"]
    return f"{percent(measured['value'], ends=(measured['low'], measured['high']))}, {_seeds(len(seeds))}"


CLAIMS = tuple(BOARD)
