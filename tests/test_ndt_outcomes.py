"""Conclusions of the NDT paper from its tables: each one holds on one edited table and fails on others."""

from __future__ import annotations

import pandas as pd
import pytest

from sentviz.papers.ndt.study import NDTS
from tests.studies import ndt_claim as claim
from tests.test_ndt_printed_claims import DATASETS, PRINTED, Edit, both, ndt, on_rewritten

pytestmark = pytest.mark.slow

BEST = {"IMDb": "ndt-unit-2", "SST-2": "ndt-unit-3", "Yelp": "ndt-symmetric-3", "Twitter": "ndt-free-4"}
Outcome = tuple[str, str, Edit, list[Edit]]


def cell(dataset: str, column: str, **values: float) -> Edit:
    """Set a column of the rows of a data set: of the models named, with "_" for "-"."""

    def edit(frame: pd.DataFrame) -> None:
        frame[column] = frame[column].astype(float)
        for name, value in values.items():
            frame.loc[(frame["dataset"] == dataset) & (frame["model"] == name.replace("_", "-")), column] = value

    return edit


def by_components(dataset: str, two: float, three: float, four: float) -> Edit:
    """Set the milliseconds of NDT on a data set by number of components."""

    def edit(frame: pd.DataFrame) -> None:
        frame["milliseconds"] = frame["milliseconds"].astype(float)
        rows = (frame["dataset"] == dataset) & (frame["family"] == "ndt")
        frame.loc[rows, "milliseconds"] = frame.loc[rows, "components"].map({2: two, 3: three, 4: four})

    return edit


def positive(*places: tuple[str, int]) -> Edit:
    """Make lambdas under [-1,1] positive in these layers of these data sets, and negative elsewhere."""

    def edit(frame: pd.DataFrame) -> None:
        rows = frame["constraint"] == "[-1,1]"
        frame.loc[rows, "lambda"] = [
            0.1 if (data, layer) in places else -0.1
            for data, layer in zip(frame.loc[rows, "dataset"], frame.loc[rows, "layer"], strict=True)
        ]

    return edit


def leads(imdb: float, sst2: float, yelp: float, twitter: float) -> Edit:
    """All baselines have 50 %, the best NDT this much more."""
    values = zip(PRINTED.values(), (imdb, sst2, yelp, twitter), strict=True)
    return both(*(ndt(data, 50 + lead, 49, vanilla=50.0, diff=50.0) for data, lead in values))


def everywhere(title: str) -> Outcome:
    data, low = PRINTED[title], {"vanilla": 60.0, "diff": 60.0}
    wrong = [ndt(data, 70.0, 59.0, **low), ndt(data, 61.0, vanilla=60.0, diff=62.0), ndt(data, 61.0, vanilla=62.0, diff=60.0)]
    return f"Every NDT variant is above vanilla and DT on {title}", "classification", ndt(data, 61.0, **low), wrong


def unmixed(title: str) -> Outcome:
    data = PRINTED[title]
    return f"The best NDT confuses classes minimally on {title}", "classification", ndt(data, 75.1), [ndt(data, 75.0), ndt(data, 60.0)]


def clustered(title: str) -> Outcome:
    data, model = PRINTED[title], BEST[title].replace("-", "_")
    wrong = [cell(data, "silhouette", **{model: value}) for value in (0.25, 0.05)]
    return f"The best NDT has compact and distinct clusters on {title}", "silhouette", cell(data, "silhouette", **{model: 0.26}), wrong


def slower(title: str) -> Outcome:
    data = PRINTED[title]
    wrong = [by_components(data, 2, 1, 3), by_components(data, 2, 3, 1)]
    return (
        f"The time per batch on {title} grows with the number of components",
        "inference_ms_per_batch",
        by_components(data, 1, 2, 3),
        wrong,
    )


OUTCOMES: list[Outcome] = [
    *(everywhere(title) for title in DATASETS),
    ("The best NDT leads by more on IMDb and SST-2 than on Yelp", "classification", leads(3, 1, 1.5, 9),
     [leads(3, 1, 2, 0.5), leads(1, 2, 2.5, 0.5)]),
    *(unmixed(title) for title in DATASETS),
    *(clustered(title) for title in DATASETS),
    ("Vanilla is above DT on Yelp", "classification", ndt("yelp", 60, vanilla=61.0, diff=60.0), [ndt("yelp", 60, vanilla=60.0, diff=60.0)]),
    *((f"DT is above vanilla on {title}", "classification", ndt(PRINTED[title], 60, diff=61.0, vanilla=60.0),
       [ndt(PRINTED[title], 60, diff=60.0, vanilla=61.0)]) for title in ("IMDb", "SST-2", "Twitter")),
    ("On IMDb two components are best under each range of lambda", "classification", ndt("imdb", 82, 81, 80),
     [ndt("imdb", 80, 81, 80), both(ndt("imdb", 82, 81, 80), cell("imdb", "accuracy_pct", ndt_free_4=90.0))]),
    ("The three best NDTs on Twitter have four components", "classification", ndt("twitter_financial", 80, 81, 82),
     [ndt("twitter_financial", 82, 81, 80),
      both(ndt("twitter_financial", 80, 81, 82), cell("twitter_financial", "accuracy_pct", ndt_unit_2=90.0))]),
    ("The best NDT has lambdas in [0,1] on IMDb and SST-2", "classification", cell("imdb", "accuracy_pct", ndt_unit_4=99.0),
     [cell("imdb", "accuracy_pct", ndt_free_4=99.0), cell("sst2", "accuracy_pct", ndt_symmetric_2=99.0)]),
    ("Silhouettes are highest on SST-2 and lowest on Yelp", "silhouette", cell("sst2", "silhouette", vanilla=0.9),
     [cell("sst2", "silhouette", vanilla=0.1), cell("yelp", "silhouette", diff=0.9)]),
    ("[−1,1] with four components has the highest silhouette on SST-2", "silhouette", cell("sst2", "silhouette", ndt_symmetric_4=0.9),
     [cell("sst2", "silhouette", diff=0.9)]),
    ("[0,inf) with four components has the highest AUC on SST-2", "classification", cell("sst2", "auc", ndt_nonneg_4=0.99),
     [cell("sst2", "auc", diff=0.999)]),
    ("Under [−1,1] only lambdas of layer 2 on SST-2 become positive", "lambdas", positive(("sst2", 2)),
     [positive(), positive(("sst2", 2), ("imdb", 1)), positive(("sst2", 1))]),
    *(slower(title) for title in ("IMDb", "SST-2", "Yelp")),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "name", "true", "false"), OUTCOMES, ids=[row[0] for row in OUTCOMES])
def test_conclusions_from_its_tables(statement: str, name: str, true: Edit, false: list[Edit], monkeypatch: pytest.MonkeyPatch) -> None:
    assert on_rewritten(statement, name, true, monkeypatch).verdict == "holds"
    assert [on_rewritten(statement, name, edit, monkeypatch).verdict for edit in false] == ["fails"] * len(false)


def test_equal_times_leave_it_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times that are equal because they are rounded decide nothing, as on SST-2 in print."""
    statement = "The time per batch on SST-2 grows with the number of components"
    assert claim(statement, "its own tables")([]).verdict == "open"
    assert on_rewritten(statement, "inference_ms_per_batch", by_components("sst2", 1, 1, 2), monkeypatch).verdict == "open"


def test_the_print_is_counted_as_the_audit_counts_it() -> None:
    """On Yelp one variant of twelve is above vanilla and two are above DT; the leads are those of the text."""
    yelp = claim("Every NDT variant is above vanilla and DT on Yelp", "its own tables")([])
    assert yelp.verdict == "fails" and f"1 of {len(NDTS)} above vanilla" in yelp.evidence and "2 of 12 above DT" in yelp.evidence
    leads_here = claim("The best NDT leads by more on IMDb and SST-2 than on Yelp", "its own tables")([])
    assert leads_here.verdict == "holds" and "IMDb +1.36, SST-2 +0.32, Yelp +0.32 points (binary on average +0.84)" in leads_here.evidence
    assert "ours, not the paper's: Twitter Financial News +1.00" in leads_here.evidence
