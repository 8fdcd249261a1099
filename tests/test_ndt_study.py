"""The NDT paper's tables beside the runs."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from sentviz.errors import InputError
from sentviz.figures.beside import measured_beside_printed
from sentviz.presets import NDT_FAMILIES
from sentviz.runs import Run, runs
from sentviz.studies import printed
from sentviz.studies.ndt import METRICS, beside, items, parameters

SHIPPED = [run for run in runs([Path(__file__).parents[1] / "checkpoints"]).values() if isinstance(run, Run)]


@pytest.mark.parametrize("dataset", ["imdb", "sst2", "yelp", "twitter_financial"])
def test_every_printed_row_has_a_configuration(dataset: str) -> None:
    """14 rows a data set, each named by one of our presets; lambdas for the 12 NDT ones, layers x components of them."""
    table = printed.table("ndt_classification")
    names = set(table[table["dataset"] == dataset]["model"])
    assert names == set(NDT_FAMILIES) - {"vanilla-matched"}
    for name in names - {"vanilla", "diff"}:
        c = int(name.rsplit("-", 1)[1])
        assert len(printed.lambdas(dataset, name)) == 2 * (c - 1)


@pytest.mark.parametrize("metric", METRICS)
def test_beside_has_all_fifteen_and_the_printed_number(metric: str) -> None:
    frame = beside(SHIPPED, "sst2", metric)
    assert list(dict.fromkeys(frame["model"])) == list(NDT_FAMILIES)
    assert frame[frame["model"] == "vanilla-matched"]["printed"].isna().all()
    table, column, factor = METRICS[metric]
    raw = printed.table(table)
    for row in raw[raw["dataset"] == "sst2"].to_dict("records"):
        assert frame[frame["model"] == row["model"]]["printed"].iloc[0] == pytest.approx(row[column] * factor)


def test_the_figure_says_how_many_prints_lie_inside() -> None:
    """Two of three prints inside, by hand; a model without print is measured all the same."""
    frame = pd.DataFrame(
        {
            "model": ["a", "b", "c", "d", "e"],
            "printed": [0.5, 0.6, 0.9, None, 0.1],
            "value": [0.5, 0.62, 0.5, 0.4, None],
            "low": [0.4, 0.6, 0.4, 0.3, None],
            "high": [0.6, 0.7, 0.6, 0.5, None],
            "n": [10, 10, 10, 10, None],
            "seed": [0, 0, 0, 0, None],
        }
    )
    figure = measured_beside_printed(frame, title="Accuracy")
    assert "Of 3 measured numbers that the paper prints, 2 lie" in figure.caption
    with pytest.raises(InputError):
        measured_beside_printed(frame.assign(printed=float("nan"), value=float("nan")), title="x")


def test_every_item_says_its_state() -> None:
    assert all(item["printed"] and item["state"] for item in items())
    assert len(items()) == 8


@pytest.mark.skipif(not SHIPPED, reason="checkpoints/ is empty")
def test_parameters_of_our_vocabularies_are_near_the_print() -> None:
    frame = parameters(SHIPPED, "sst2").dropna()
    assert len(frame) >= 4
    assert ((frame["value"] - frame["printed"]).abs() < 0.02).all()
