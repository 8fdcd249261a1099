"""The NDT paper's tables and figures beside the runs."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments.ndt.latency import MODELS
from sentviz.charts.gallery import make
from sentviz.charts.measured_vs_printed import measured_beside_printed
from sentviz.charts.subjects import Study
from sentviz.errors import InputError
from sentviz.papers.ndt import based, latency, printed_tables, tables
from sentviz.papers.ndt.averages import describe_averages, fits
from sentviz.papers.ndt.study import DATASETS, METRICS, PRESETS, beside, best_ndt, configurations, parameters, points, printed_name, summary
from sentviz.runs.items import DRAWN
from sentviz.runs.registry import find_paper
from sentviz.runs.store import Run, runs
from tests.studies import made_run, made_seeds

ROOT = Path(__file__).parents[1]
SHIPPED = [run for run in runs([ROOT / "checkpoints"]).values() if isinstance(run, Run)]
ROMAN = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI")


@pytest.mark.parametrize("dataset", ["imdb", "sst2", "yelp", "twitter_financial"])
def test_every_printed_row_has_a_configuration(dataset: str) -> None:
    """Each of 14 rows per data set names a preset; the 12 NDT rows have lambdas by layer and component."""
    table = printed_tables.table("classification")
    names = set(table[table["dataset"] == dataset]["model"])
    assert names == set(PRESETS) - {"vanilla-matched"}
    for name in names - {"vanilla", "diff"}:
        c = int(name.rsplit("-", 1)[1])
        assert len(printed_tables.lambdas(dataset, name)) == 2 * (c - 1)


@pytest.mark.parametrize("metric", METRICS)
def test_beside_has_all_fifteen_and_the_printed_number(metric: str) -> None:
    frame = beside(summary([], "sst2"), "sst2", metric)
    assert list(frame["model"]) == list(PRESETS)
    assert frame[frame["model"] == "vanilla-matched"]["printed"].isna().all()
    column = METRICS[metric]
    raw = printed_tables.table("silhouette" if metric == "silhouette" else "classification").rename(columns={"accuracy_pct": "accuracy"})
    for row in raw[raw["dataset"] == "sst2"].to_dict("records"):
        printed = row[column] / 100 if metric == "accuracy" else row[column]
        assert frame[frame["model"] == row["model"]]["printed"].iloc[0] == pytest.approx(printed)


def test_every_printed_table_and_figure_is_listed_once() -> None:
    """Tables I to XI and figures 1 to 3 are each listed once."""
    names = [item.name for item in find_paper("ndt").items() if item.kind in DRAWN and item.state == "live"]
    assert sorted(names) == sorted([*(f"Table {number}" for number in ROMAN), *(f"Figure {number}" for number in (1, 2, 3))])


def test_the_figure_says_how_many_prints_lie_inside() -> None:
    """Two of three values of the paper are inside the intervals; a model without one is drawn too."""
    frame = pd.DataFrame(
        {
            "model": ["a", "b", "c", "d", "e"],
            "printed": [0.5, 0.6, 0.9, None, 0.1],
            "value": [0.5, 0.62, 0.5, 0.4, None],
            "low": [0.4, 0.6, 0.4, 0.3, None],
            "high": [0.6, 0.7, 0.6, 0.5, None],
            "n": [10, 10, 10, 10, None],
            "seeds": [1, 3, 1, 1, None],
        }
    )
    seeds = pd.DataFrame({"model": ["a", "b", "b", "b"], "seed": [0, 0, 1, 2], "value": [0.5, 0.61, 0.62, 0.63]})
    figure = measured_beside_printed(frame, seeds, title="Accuracy")
    assert "diamonds are reported; 2 of 3 diamonds lie inside the interval of their dot" in figure.caption
    assert "1 to 3" in figure.caption
    single = next(trace for trace in figure.plot.data if trace.name == "each seed")
    assert list(single.x) == [0.61, 0.62, 0.63]  # a model with one seed has no ticks of its own
    with pytest.raises(InputError):
        measured_beside_printed(frame.assign(printed=float("nan"), value=float("nan")), title="x")


def test_runs_are_grouped_by_configuration_and_seed(tmp_path: Path) -> None:
    """Seeds are in order; runs of another recipe or data set are left out."""
    runs = [made_run(tmp_path, "sst2", "diff", seed) for seed in (2, 0, 1)]
    runs += [made_run(tmp_path, "sst2", "ndt-unit-2", 0, name="ndt-unit-2-frozen"), made_run(tmp_path, "imdb", "vanilla", 0)]
    groups = configurations(runs, "sst2")
    assert [run.name for run in groups["diff"]] == ["sst2/diff", "sst2/diff-s1", "sst2/diff-s2"]
    assert set(groups) == {"diff"}


def test_the_best_ndt_is_chosen_on_validation(tmp_path: Path) -> None:
    """The mean over seeds decides: 0.80 and 0.90 lose to 0.86, and test accuracy does not count."""
    runs = [
        made_run(tmp_path, "sst2", "ndt-unit-2", 0, validation=0.80, wrong=0),
        made_run(tmp_path, "sst2", "ndt-unit-2", 1, validation=0.90, wrong=0),
        made_run(tmp_path, "sst2", "ndt-free-3", 0, validation=0.86, wrong=30),
        made_run(tmp_path, "sst2", "diff", 0, validation=0.99),
    ]
    assert [run.name for run in best_ndt(runs, "sst2")] == ["sst2/ndt-free-3"]
    assert best_ndt(runs, "imdb") == []


def test_a_table_of_results_is_numeric_and_has_the_difference(tmp_path: Path) -> None:
    runs = [*made_seeds(tmp_path, "sst2", "diff", 3), made_run(tmp_path, "sst2", "vanilla", 0, wrong=20)]
    frame = tables.results(runs, "sst2").frame.set_index("model")
    assert frame.loc["diff", "seeds"] == 3
    assert frame.loc["vanilla", "accuracy"] == pytest.approx(1 - 20 / 200)
    assert frame.loc["vanilla", "accuracy_difference"] == pytest.approx(0.9 - 0.9085)
    assert all(np.issubdtype(kind, np.number) for kind in frame.dtypes)
    assert np.isnan(frame.loc["ndt-unit-2", "accuracy"])
    singles = points(runs, "sst2", "accuracy").query("model == 'diff'")["value"]
    assert frame.loc["diff", "accuracy"] == pytest.approx(singles.mean(), abs=1e-5)


def test_a_column_is_recognised_by_its_distance_from_accuracy() -> None:
    """With a weighted F1 equal to accuracy and a macro F1 7 points lower, the paper's F1 of Twitter fits the first."""
    rng = np.random.default_rng(0)
    rows = []
    for model in PRESETS:
        accuracy = 0.8 + 0.01 * rng.standard_normal()
        noise = 0.002 * rng.standard_normal() - 0.0014
        names = {"accuracy": 0.0, "f1_weighted": noise, "f1_macro": noise - 0.07}
        names |= {"precision_weighted": noise, "precision_macro": noise - 0.06}
        rows += [(model, name, accuracy + shift) for name, shift in names.items()]
    measured = pd.DataFrame(rows, columns=["model", "metric", "value"])
    fit_of = fits(measured, "twitter_financial").set_index(["column", "average"])["fits"]
    assert fit_of["f1", "weighted"] and fit_of["precision", "weighted"]
    assert not fit_of["f1", "macro"] and not fit_of["precision", "macro"]
    assert "Reported F1 fits weighted:" in describe_averages(fits(measured, "twitter_financial"))
    few = measured[measured["model"].isin(("vanilla", "diff", "vanilla-matched"))]
    assert not fits(few, "twitter_financial")["fits"].any()
    assert "2 configurations are too few" in describe_averages(fits(few, "twitter_financial"))


def test_printed_ratios_carry_the_rounding_of_whole_seconds() -> None:
    """The ratio for IMDb is that of 10 and 15 seconds over 391 batches, and its ends have their rounding."""
    frame = latency.printed_ratios("imdb").set_index("model")
    assert frame.loc["diff", "value"] == pytest.approx(38.36 / 25.58)
    assert frame.loc["diff", "low"] == pytest.approx(14.5 / 10.5, abs=2e-3)
    assert frame.loc["diff", "high"] == pytest.approx(15.5 / 9.5, abs=2e-3)
    assert latency.printed_ratios("twitter_financial").empty


def test_the_stored_latency_is_whole() -> None:
    """Every model of a data set is there once, with ratio 1 to its base, intervals around the medians, and the hardware."""
    frame = latency.MEASURED.read()
    assert set(frame["dataset"]) <= set(DATASETS)
    for _, rows in frame.groupby("dataset"):
        assert sorted(rows["model"]) == sorted(MODELS)
        assert rows.set_index("model").loc["vanilla", "to_vanilla"] == 1
        for word in ("to_vanilla", "to_matched"):
            assert ((rows[f"{word}_low"] <= rows[word]) & (rows[word] <= rows[f"{word}_high"])).all()
        assert rows["hardware"].str.len().min() > 3


def test_silhouettes_and_parameters_of_no_runs_are_the_print() -> None:
    frame = tables.silhouettes([]).set_index("model")
    with (Path(printed_tables.__file__).parent / "printed" / "silhouette.csv").open(encoding="utf-8") as file:
        raw = [row for row in csv.DictReader(file) if row["family"] == "diff"]
    for row in raw:
        ours = {printed_name(name): name for name in DATASETS}[row["dataset"]]
        assert frame.loc["diff", f"{ours}_printed"] == pytest.approx(float(row["silhouette"]))
    with pytest.raises(InputError, match="`sentviz study ndt --dataset imdb` trains them"):
        tables.totals([])


def test_the_accuracy_grid_draws_what_is_here(tmp_path: Path) -> None:
    """A measured baseline is a line in every panel; without a run there is a sentence."""
    frame = tables.grid(beside(summary([], "sst2"), "sst2", "accuracy"))
    assert list(frame["constraint"].unique()) == ["", "[0,1]", "[-1,1]", "[0,inf)", "(-inf,inf)"]
    with pytest.raises(InputError):
        make("accuracy-grid", Study.of("sst2", []))
    runs = [made_run(tmp_path, "sst2", "vanilla", wrong=20), made_run(tmp_path, "sst2", "ndt-unit-3")]
    figure = make("accuracy-grid", Study.of("sst2", runs))
    assert sum(trace.name.startswith("vanilla 90.00\u00a0%") for trace in figure.plot.data if trace.hovertext is not None) == 4
    assert "n = 200" in figure.caption


@pytest.mark.skipif(not SHIPPED, reason="checkpoints/ is empty")
def test_parameters_of_our_vocabularies_are_near_the_print() -> None:
    frame = parameters(SHIPPED, "sst2").dropna()
    assert len(frame) >= 4
    assert ((frame["value"] - frame["printed"]).abs() < 0.02).all()


@pytest.mark.skipif(not SHIPPED, reason="checkpoints/ is empty")
def test_table_x_has_one_row_per_number_of_components() -> None:
    """The rows are vanilla, DT and NDT with 2, 3 and 4 components, as in the paper, and our control."""
    table = tables.totals(SHIPPED, "sst2").frame.set_index("model")
    assert list(table.index) == ["vanilla", "vanilla-matched", "diff", "NDT, C = 2", "NDT, C = 3", "NDT, C = 4"]
    assert table["printed"].dropna().tolist() == [1.40, 1.56, 1.56, 1.60, 1.63]
    every = tables.totals(SHIPPED).frame
    assert not every.duplicated(["data", "model"]).any() and set(every["data"]) == set(DATASETS.values())


def test_ndt_on_a_base_has_accuracy_and_lambda_by_layer(tmp_path: Path) -> None:
    """Planted runs on MiniLM: accuracies over seeds, the difference to the plain adapter, and lambda with its sign."""
    runs = made_seeds(tmp_path, "sst2", "cls", 3, wrong=40, base="minilm")
    for name, drift, wrong in (("free", -0.3, 10), ("unit", 0.1, 40)):
        model = f"ndt-{name}-2"
        runs += [made_run(tmp_path, "sst2", model, seed, wrong=wrong, drift=drift, base=f"minilm-{model}") for seed in range(3)]
    table = based.accuracies(runs).set_index("model")
    assert list(table.index) == ["minilm", "minilm-ndt-free-2", "minilm-ndt-unit-2"]
    assert table["accuracy"].to_list() == pytest.approx([0.8, 0.95, 0.8]) and set(table["seeds"]) == {3}
    assert table.loc["minilm-ndt-free-2", "difference"] == pytest.approx(0.15)
    assert table["verdict"].to_list()[1:] == ["better", "cannot be told"]
    lambdas = based.lambdas(runs).set_index(["model", "layer"])
    assert lambdas.loc[("minilm-ndt-free-2", 1), ["start", "end"]].to_list() == pytest.approx([0.2, -0.1])
    assert lambdas["sign"].to_list() == ["−", "−", "+", "+"]
    with pytest.raises(InputError, match="sentviz train ndt_sst2_minilm --model minilm-ndt-free-2"):
        based.accuracies([])


@pytest.mark.skipif(not SHIPPED, reason="checkpoints/ is empty")
def test_what_is_added_to_vanilla_stands_beside_the_print() -> None:
    """Table X's last column, and table XI's milliseconds, the paper's 0 for Twitter included."""
    frame = tables.totals(SHIPPED, "sst2").frame.set_index("model")
    assert frame.loc["vanilla", ["printed_added", "added"]].tolist() == [0, 0]
    assert frame.loc["NDT, C = 2", "printed_added"] == pytest.approx(1.56 - 1.40)
    assert frame.loc["NDT, C = 2", "added"] == pytest.approx(frame.loc["vanilla-matched", "added"], abs=1e-3)
    assert frame["added"].between(0, 0.25).all()
    times = tables.milliseconds([], "all").frame
    printed = times.set_index(["dataset", "model"])["printed_milliseconds"]
    assert printed["IMDb", "vanilla"] == 25.58 and printed["Yelp", "ndt-unit-4"] == 197.08
    assert (printed["Twitter Financial News"].dropna() == 0).all() and np.isnan(printed["IMDb", "vanilla-matched"])
