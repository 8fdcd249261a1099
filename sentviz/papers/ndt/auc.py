"""Test which of DT and the best NDT has the higher AUC, on the runs here, for other test rows and other seeds.

The area of a run is the mean of its rows' contributions: the area plus what a row adds to it (DeLong, DeLong and Clarke-Pearson 1988). So
two models are compared as by their accuracies, with the contributions in place of right and wrong answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from sentviz.analysis.claim import LEVEL, Board, Effect, Finding, decide, not_testable
from sentviz.analysis.evaluation import Floats
from sentviz.analysis.seeds import OWN_SEEDS, SPREAD_IN_WORDS, compare_correctness
from sentviz.io.lazy import stats
from sentviz.io.numbers import in_points, p_value
from sentviz.papers.ndt.study import DATASETS, TITLES, best_ndt, configurations, on_each_kind_of_rows
from sentviz.papers.studies.judging import NOT_INSTALLED
from sentviz.papers.studies.means import predictions
from sentviz.papers.studies.rates import with_rates
from sentviz.runs.store import Run

DT = "diff"
BOARD = Board(DATASETS, TITLES)
of_auc = partial(
    BOARD.claim,
    short="DT or NDT has the higher AUC, as in the text",
    where="section IV-G2",
    against="runs here",
    kind="tested",
    section="roc",
    figure="roc-panels",
    how=f"a t test for other rows (DeLong) and other seeds, with {SPREAD_IN_WORDS}; the best NDT has the highest validation accuracy",
)


def contributions(labels: npt.NDArray[np.integer], probabilities: Floats) -> Floats:
    """Return what each row contributes to the area under the ROC curve (N,); their mean is the area.

    Two classes have one curve, that of the second class; more have one against the rest each, whose mean is taken.
    """
    classes = [1] if probabilities.shape[1] == 2 else [k for k in range(probabilities.shape[1]) if 0 < (labels == k).sum() < len(labels)]
    return np.asarray(np.mean([_of_class(labels == k, probabilities[:, k]) for k in classes], axis=0))


def _of_class(positive: npt.NDArray[np.bool_], scores: Floats) -> Floats:
    ranks, within = stats.rankdata(scores), np.empty(len(scores))
    for side in (positive, ~positive):
        within[side] = stats.rankdata(scores[side])
    above = np.where(positive, ranks - within, positive.sum() - (ranks - within))  # rows of the other side in the right order
    share = above / np.where(positive, (~positive).sum(), positive.sum())
    area = float(share[positive].mean())
    return np.asarray(area + (share - area) / np.where(positive, positive.mean(), 1 - positive.mean()))


@of_auc({"imdb": "5ac1e8", "sst2": "b07d42"}, "DT has a higher AUC than the best NDT on {}", higher=DT)
@of_auc({"yelp_full": "e94f1b", "twitter_financial": "1c86da"}, "The best NDT has a higher AUC than DT on {}", higher="ndt")
def judge_higher_auc(dataset: str, runs: Sequence[Run], *, higher: str) -> Finding:
    """Choose the best NDT by validation. `higher` is "diff" or "ndt", the one that the paper says."""
    best, dt = best_ndt(runs, dataset), configurations(runs, dataset).get(DT, [])
    if not best or not dt:
        return NOT_INSTALLED
    finding = on_each_kind_of_rows(dataset, lambda split: _judge_on(best, dt, split, higher))
    better, rival = (DT, best[0].configuration) if higher == DT else (best[0].configuration, DT)
    return with_rates(finding, runs, dataset, [better], [rival])


def _judge_on(best: Sequence[Run], dt: Sequence[Run], split: str, higher: str) -> Finding:
    best, dt = ([run for run in side if split in run.metrics()] for side in (best, dt))
    if min(len(best), len(dt)) < OWN_SEEDS:
        return not_testable(f"seeds of the best NDT by validation: {len(best)}, of DT: {len(dt)}; each needs {OWN_SEEDS}")
    labels, probabilities = predictions([*dt, *best], split)
    rows = np.stack([contributions(labels, of_run) for of_run in probabilities], axis=1)
    pair = compare_correctness(rows[:, : len(dt)], rows[:, len(dt) :])
    name = best[0].configuration
    effect = Effect.from_share_difference(pair.difference, pair.low, pair.high, f"hundredths of AUC, DT minus {name}")
    numbers = in_points(pair.difference, (pair.low, pair.high))
    areas = " against ".join(f"{np.mean(of_model):.4f}" for of_model in (pair.accuracies_a, pair.accuracies_b))
    evidence = f"AUC of DT − AUC of {name}, the best NDT by validation: {numbers} (hundredths), {p_value(pair.p)}; {areas},"
    evidence += f" {len(dt)} against {len(best)} seeds, n = {pair.n:,}"
    as_said = pair.difference > 0 if higher == DT else pair.difference < 0
    return Finding(decide(pair.p <= LEVEL and as_said, pair.p <= LEVEL and not as_said), evidence, effect=effect, p=pair.p)
