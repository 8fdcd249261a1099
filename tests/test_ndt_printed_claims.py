"""Every claim of the NDT paper on its own tables, on rewritten ones: it must be able to hold, to fall and, where chance is in it, to stay
open.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from sentviz.analysis.claim import Finding
from sentviz.io.numbers import MINUS
from sentviz.papers.ndt import printed_tables
from sentviz.papers.ndt.printed_claims import verdict_on_ranks
from sentviz.papers.ndt.study import NDTS
from tests.studies import ndt_claim as claim

pytestmark = pytest.mark.slow

DATASETS = {"IMDb": "imdb", "SST-2": "sst2", "Yelp": "yelp_full", "Twitter": "twitter_financial"}
PRINTED = DATASETS | {"Yelp": "yelp"}
Edit = Callable[[pd.DataFrame], None]


def ndt(dataset: str, *values: float, column: str = "accuracy_pct", **families: float) -> Edit:
    """The twelve NDT rows of a data set get these values in turn, other families the ones named."""

    def edit(frame: pd.DataFrame) -> None:
        in_dataset = frame["dataset"] == dataset
        frame[column] = frame[column].astype(float)
        rows = frame.index[in_dataset & (frame["family"] == "ndt")]
        frame.loc[rows, column] = [values[i % len(values)] for i in range(len(rows))]
        for family, value in families.items():
            frame.loc[in_dataset & (frame["family"] == family), column] = value

    return edit


def lead(dataset: str, model: str, vanilla: float, diff: float) -> Edit:
    def edit(frame: pd.DataFrame) -> None:
        ndt(dataset, 80.0, vanilla=85 - vanilla, diff=85 - diff)(frame)
        frame.loc[(frame["dataset"] == dataset) & (frame["model"] == model), "accuracy_pct"] = 85.0

    return edit


def lambdas(value: Callable[[int, int], float], where: str = "dataset == dataset") -> Edit:
    """Each lambda of the rows named is a function of its layer and component (both from 1)."""

    def edit(frame: pd.DataFrame) -> None:
        rows = frame.query(where)
        frame.loc[rows.index, "lambda"] = [value(int(row["layer"]), int(row["component"])) for row in rows.to_dict("records")]

    return edit


def both(*edits: Edit) -> Edit:
    def edit(frame: pd.DataFrame) -> None:
        for change in edits:
            change(frame)

    return edit


def falling(layer: int, component: int) -> float:
    return 0.2 * layer * 0.8**component


def rising(layer: int, component: int) -> float:
    return 0.2 / layer * 1.2**component


def negative(dataset: str, low: float, high: float) -> Edit:
    """All of [-1,1] lie between, both ends are reached."""

    def edit(frame: pd.DataFrame) -> None:
        rows = frame.query(f"dataset == '{dataset}' and constraint == '[-1,1]'").index
        frame.loc[rows, "lambda"] = np.linspace(low, high, len(rows))

    return edit


def auc(imdb: float, sst2: float, yelp: float, twitter: float) -> Edit:
    """DT's lead in AUC over every NDT."""
    leads = {"imdb": imdb, "sst2": sst2, "yelp": yelp, "twitter_financial": twitter}
    return both(*(ndt(dataset, 0.9, column="auc", diff=0.9 + lead) for dataset, lead in leads.items()))


def largest(model: str) -> Edit:
    """Make a model's lambdas the largest of Twitter's layer 1."""
    return lambdas(lambda _layer, _component: 9.0, f"dataset == 'twitter_financial' and model == '{model}'")


def silhouettes(sign: int, share: float = 1.0) -> Edit:
    """Ranks of silhouettes beside those of the printed accuracies, of a share of the rows."""

    def edit(frame: pd.DataFrame) -> None:
        accuracies = printed_tables._read("classification").set_index(["dataset", "model"])["accuracy_pct"].astype(float)
        keys = pd.MultiIndex.from_frame(frame[["dataset", "model"]])
        ranks = sign * accuracies.reindex(keys).rank().to_numpy()
        rng = np.random.default_rng(0)
        mixed = np.where(rng.random(len(ranks)) < share, ranks, rng.permutation(ranks))
        frame["silhouette"] = mixed

    return edit


def added(low: float, high: float) -> Edit:
    def edit(frame: pd.DataFrame) -> None:
        base = frame[frame["family"] == "vanilla"].set_index("dataset")["parameters_millions"].astype(float)
        rows = frame.index[frame["family"] == "ndt"]
        frame["parameters_millions"] = frame["parameters_millions"].astype(float)
        frame.loc[rows, "parameters_millions"] = base[frame.loc[rows, "dataset"]].to_numpy() + np.linspace(low, high, len(rows))

    return edit


def leads_of(title: str, model: str, vanilla: float, diff: float) -> tuple[str, str, Edit, list[Edit]]:
    data = PRINTED[title]
    rival = next(name for name in NDTS if name != model)
    wrong = [lead(data, rival, vanilla, diff), lead(data, model, vanilla + 0.01, diff), lead(data, model, vanilla, diff - 0.01)]
    statement = f"The best NDT on {title} leads vanilla by {vanilla:.2f} and DT by {diff:.2f} points"
    return statement, "classification", lead(data, model, vanilla, diff), wrong


def above_of(title: str, count: int) -> tuple[str, str, Edit, list[Edit]]:
    data = PRINTED[title]
    some = [ndt(data, *[86.0] * above, *[84.0] * (12 - above), diff=85.0) for above in (count, count - 1, count + 1)]
    equal = ndt(data, *[86.0] * (count - 1), *[85.0] * (13 - count), diff=85.0)
    return f"{count} of 12 NDT variants are above DT on {title}", "classification", some[0], [*some[1:], equal]


def range_of(title: str, low: float, high: float) -> tuple[str, str, Edit, list[Edit]]:
    data = PRINTED[title]
    wrong = [negative(data, low - 0.001, high), negative(data, low, high + 0.001), negative(data, low, 0.1)]
    return f"Under [−1,1] lambdas on {title} go from {low} to {high}".replace("-", MINUS), "lambdas", negative(data, low, high), wrong


def negatives_of(title: str) -> tuple[str, str, Edit, list[Edit]]:
    data = PRINTED[title]
    wrong = [negative(data, -0.3, 0.0), negative(data, -0.3, 0.1)]
    return f"Under [−1,1] lambdas on {title} are exclusively negative", "lambdas", negative(data, -0.9, -0.001), wrong


IMDB_FREE = "dataset == 'imdb' and constraint in ('[0,inf)', '(-inf,inf)')"
TABLES: list[tuple[str, str, Edit, list[Edit]]] = [
    leads_of("IMDb", "ndt-unit-2", 1.57, 1.36),
    leads_of("SST-2", "ndt-unit-3", 1.00, 0.32),
    leads_of("Yelp", "ndt-symmetric-3", 0.09, 0.32),
    leads_of("Twitter", "ndt-free-4", 1.34, 1.00),
    above_of("IMDb", 11),
    above_of("SST-2", 6),
    above_of("Twitter", 8),
    ("NDT's spread on Twitter is narrower than on IMDb", "classification",
     both(ndt("twitter_financial", 40, 42), ndt("imdb", 80, 83)),
     [both(ndt("twitter_financial", 80, 83), ndt("imdb", 80, 82)), both(ndt("twitter_financial", 80, 82), ndt("imdb", 80, 82))]),
    ("On Yelp all NDT variants lie within 0.6 points", "classification",
     ndt("yelp", 60.0, 60.59), [ndt("yelp", 60.0, 60.61), ndt("yelp", 60.0, 59.3)]),
    ("On IMDb unbounded lambdas grow from layer 1 to layer 2", "lambdas", lambdas(falling, IMDB_FREE),
     [lambdas(rising, IMDB_FREE), lambdas(lambda _layer, _component: 0.2, IMDB_FREE)]),
    ("Lambdas grow from layer 1 to layer 2 on every data set", "lambdas", lambdas(falling),
     [both(lambdas(falling), lambdas(rising, f"dataset == '{dataset}'")) for dataset in PRINTED.values()]),
    ("Lambda falls with the component index in every configuration", "lambdas", lambdas(falling),
     [both(lambdas(falling), lambdas(rising, "dataset == 'sst2' and model == 'ndt-free-3' and layer == 2"))]),
    ("On Yelp lambda falls with the component index in every configuration", "lambdas", lambdas(falling, "dataset == 'yelp'"),
     [both(lambdas(falling, "dataset == 'yelp'"), lambdas(rising, "dataset == 'yelp' and model == 'ndt-unit-4' and layer == 1"))]),
    negatives_of("IMDb"),
    range_of("IMDb", -0.2001, -0.0575),
    negatives_of("Yelp"),
    range_of("Yelp", -0.2003, -0.0468),
    negatives_of("Twitter"),
    range_of("Twitter", -0.2053, -0.0593),
    ("On Twitter the largest layer-1 lambda is the best configuration's", "lambdas", largest("ndt-free-4"),
     [largest("ndt-unit-2"), largest("ndt-symmetric-3")]),
    ("DT has the higher AUC on IMDb and SST-2, the best NDT on Yelp and Twitter", "classification", auc(0.01, 0.01, -0.01, -0.01),
     [auc(-0.01, 0.01, -0.01, -0.01), auc(0.01, -0.01, -0.01, -0.01), auc(0.01, 0.01, 0.01, -0.01), auc(0.01, 0.01, -0.01, 0.01)]),
    ("Silhouette and accuracy are correlated on the binary tasks", "silhouette", silhouettes(1), [silhouettes(-1)]),
    ("NDT adds 0.16 to 0.23 M parameters to vanilla", "parameters", added(0.15, 0.24), [added(0.14, 0.23), added(0.16, 0.25)]),
]  # fmt: skip


def on_rewritten(statement: str, name: str, edit: Edit, monkeypatch: pytest.MonkeyPatch) -> Finding:
    """Return the finding of a claim when a printed table is edited."""
    frame = printed_tables._read(name).copy()
    edit(frame)
    with monkeypatch.context() as patch:
        patch.setattr(printed_tables, "table", lambda table: frame.copy() if table == name else printed_tables._read(table).copy())
        return claim(statement, "its own tables")([])


@pytest.mark.exhaustive
@pytest.mark.parametrize(("statement", "name", "true", "false"), TABLES, ids=[row[0] for row in TABLES])
def test_sentences_about_its_tables(statement: str, name: str, true: Edit, false: list[Edit], monkeypatch: pytest.MonkeyPatch) -> None:
    assert on_rewritten(statement, name, true, monkeypatch).verdict == "holds"
    assert [on_rewritten(statement, name, edit, monkeypatch).verdict for edit in false] == ["fails"] * len(false)


def test_silhouettes_without_order_leave_it_open(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = printed_tables._read("silhouette").copy()
    silhouettes(1, share=0.3)(frame)
    judge = claim("Silhouette and accuracy are correlated on the binary tasks", "its own tables")
    reported = judge([])
    assert reported.verdict == "open" and "IMDb −0.09, p = 0.76" in reported.evidence  # a negative one that is not significant
    monkeypatch.setattr(printed_tables, "table", lambda name: frame.copy() if name == "silhouette" else printed_tables._read(name).copy())
    assert judge([]).verdict == "open"


@pytest.mark.parametrize(
    ("correlations", "verdict"),
    [
        ([(-0.3, 0.27)], "open"),
        ([(0.3, 0.27)], "open"),
        ([(0.8, 0.001)], "holds"),
        ([(-0.8, 0.001)], "fails"),
        ([(0.8, 0.001), (-0.09, 0.76)], "open"),
        ([(0.8, 0.001), (-0.8, 0.001)], "fails"),
    ],
)
def test_one_rule_for_every_rank_correlation(correlations: list[tuple[float, float]], verdict: str) -> None:
    assert verdict_on_ranks(correlations) == verdict


def test_a_rounding_of_added_parameters_does_not_refute_their_range() -> None:
    finding = claim("NDT adds 0.16 to 0.23 M parameters to vanilla", "its own tables")([])
    assert finding.verdict == "holds" and "0.15 to 0.23" in finding.evidence and "up to 0.01 off" in finding.evidence
