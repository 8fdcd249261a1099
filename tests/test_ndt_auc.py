"""Claims on AUC by the runs here: areas and errors against scikit-learn and loops, and verdicts in each direction."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from sentviz.papers.ndt.auc import contributions
from sentviz.papers.ndt.claims import CLAIMS
from sentviz.runs.catalog import study_runs
from sentviz.runs.store import Run
from tests.kit import SHIPPED
from tests.shipped import often
from tests.studies import made_seeds
from tests.studies import ndt_claim as claim

AREAS = {  # statement -> data set, and the model that has the higher area
    "DT has a higher AUC than the best NDT on IMDb": ("imdb", "diff"),
    "DT has a higher AUC than the best NDT on SST-2": ("sst2", "diff"),
    "The best NDT has a higher AUC than DT on Yelp": ("yelp_full", "ndt-unit-2"),
    "The best NDT has a higher AUC than DT on Twitter": ("twitter_financial", "ndt-unit-2"),
}


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_the_mean_contribution_is_scikit_learns_area(classes: int) -> None:
    """Equal scores count half; more than two classes are averaged one against the rest."""
    rng = np.random.default_rng(classes)
    labels, probabilities = rng.integers(classes, size=300), rng.dirichlet(np.ones(classes), size=300).round(2)
    probabilities[:, -1] = 1 - probabilities[:, :-1].sum(axis=1)
    want = roc_auc_score(labels, probabilities[:, 1] if classes == 2 else probabilities, multi_class="ovr", average="macro")
    assert contributions(labels, probabilities).mean() == pytest.approx(want, abs=1e-12)


def test_the_error_of_the_area_is_delongs() -> None:
    """The variance of the mean contribution is that of DeLong's formula, in loops over pairs of rows."""
    rng = np.random.default_rng(0)
    labels = np.arange(80) % 2
    scores = (rng.normal(size=80) + labels).round(1)
    won = np.array([[(a > b) + (a == b) / 2 for b in scores[labels == 0]] for a in scores[labels == 1]])
    want = won.mean(axis=1).var() / 40 + won.mean(axis=0).var() / 40
    rows = contributions(labels, np.stack([-scores, scores], axis=1))
    assert rows.var() / 80 == pytest.approx(want, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("statement", often(AREAS, next(iter(AREAS))))
def test_which_area_is_higher(statement: str, tmp_path: Path) -> None:
    data, higher = AREAS[statement]
    judge = claim(statement, "runs here")

    def planted(own: int, rival: int, seeds: int = 3) -> list[Run]:
        wrong = {model: own if model == higher else rival for model in ("diff", "ndt-unit-2")}
        return [run for model, n in wrong.items() for run in made_seeds(tmp_path / f"{own}-{rival}-{seeds}", data, model, seeds, wrong=n)]

    holds = judge(planted(10, 70))
    assert holds.verdict == "holds" and "ndt-unit-2, the best NDT by validation" in holds.evidence
    assert judge(planted(70, 10)).verdict == "fails"
    assert judge(planted(30, 30)).verdict == "open"
    assert judge(planted(10, 70, seeds=1)).verdict == judge(planted(10, 70)[:3]).verdict == judge([]).verdict == "unjudged"


@SHIPPED
@pytest.mark.slow
def test_shipped_areas_are_judged_where_both_have_three_seeds() -> None:
    runs = study_runs().runs
    judged = {each.statement: each.test(runs) for each in CLAIMS if each.statement in AREAS}
    assert {AREAS[name][0] for name, finding in judged.items() if finding.verdict == "unjudged"} == {"imdb", "yelp_full"}
