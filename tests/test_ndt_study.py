"""The NDT paper: its tables beside the runs; areas, leaks, habits and signs against counts by hand."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta
from sklearn.metrics import roc_auc_score

from experiments.ndt import leak
from sentviz.analysis.maps.specialise import FILE, deals, layers_apart, verdict
from sentviz.charts.gallery import make
from sentviz.charts.measured_vs_printed import measured_beside_printed
from sentviz.charts.subjects import Study
from sentviz.errors import InputError
from sentviz.papers.ndt import based, latency, printed_tables, specialisation, tables
from sentviz.papers.ndt.auc import contributions
from sentviz.papers.ndt.averages import describe_averages, fits
from sentviz.papers.ndt.claims import judge_signs
from sentviz.papers.ndt.study import DATASETS, METRICS, PRESETS, beside, best_ndt, configurations, points, printed_name, summary
from sentviz.papers.studies.items import make_table
from sentviz.runs.catalog import study_runs
from sentviz.runs.registry import find_paper
from tests.kit import SHIPPED
from tests.studies import N, made_run, made_seeds, plant

NAN = float("nan")

# ---- tables


@pytest.mark.parametrize("metric", METRICS)
def test_beside_has_all_fifteen_and_the_printed_number(metric: str) -> None:
    frame = beside(summary([], "sst2"), "sst2", metric).set_index("model")
    raw = printed_tables.table("silhouette" if metric == "silhouette" else "classification").rename(columns={"accuracy_pct": "accuracy"})
    printed = raw[raw["dataset"] == "sst2"].set_index("model")[METRICS[metric]] / (100 if metric == "accuracy" else 1)
    assert list(frame.index) == list(PRESETS) and np.isnan(frame.loc["vanilla-matched", "printed"])
    assert frame["printed"].drop("vanilla-matched").to_dict() == pytest.approx(printed.to_dict())


def test_the_figure_says_how_many_prints_lie_inside() -> None:
    """Two of three values of the paper are inside the intervals; a model without one is drawn, and one seed has no ticks of its own."""
    rows = [("a", 0.5, 0.5, 0.4, 0.6, 10, 1), ("b", 0.6, 0.62, 0.6, 0.7, 10, 3), ("c", 0.9, 0.5, 0.4, 0.6, 10, 1),
            ("d", NAN, 0.4, 0.3, 0.5, 10, 1), ("e", 0.1, NAN, NAN, NAN, NAN, NAN)]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["model", "printed", "value", "low", "high", "n", "seeds"])
    seeds = pd.DataFrame({"model": ["a", "b", "b", "b"], "seed": [0, 0, 1, 2], "value": [0.5, 0.61, 0.62, 0.63]})
    figure = measured_beside_printed(frame, seeds, title="Accuracy")
    assert "2 of 3 diamonds lie inside the interval of their dot" in figure.caption and "1 to 3" in figure.caption
    assert [list(trace.x) for trace in figure.plot.data if trace.name == "each seed"][:1] == [[0.61, 0.62, 0.63]]
    with pytest.raises(InputError):
        measured_beside_printed(frame.assign(printed=NAN, value=NAN), title="x")


def test_runs_are_grouped_by_configuration_and_the_best_is_chosen_on_validation(tmp_path: Path) -> None:
    """Seeds are in order; runs of other recipes and data sets are left out. The mean over seeds decides, not test accuracy."""
    runs = [made_run(tmp_path, "sst2", "diff", seed, validation=0.99) for seed in (2, 0, 1)]
    runs += [made_run(tmp_path, "sst2", "ndt-unit-2", 0, name="ndt-unit-2-frozen"), made_run(tmp_path, "imdb", "vanilla", 0)]
    groups = configurations(runs, "sst2")
    assert {name: [run.name for run in seeds] for name, seeds in groups.items()} == {"diff": ["sst2/diff", "sst2/diff-s1", "sst2/diff-s2"]}
    runs += [made_run(tmp_path, "sst2", "ndt-unit-2", seed, validation=value, wrong=0) for seed, value in enumerate((0.80, 0.90))]
    runs.append(made_run(tmp_path, "sst2", "ndt-free-3", 0, validation=0.86, wrong=30))
    assert [run.name for run in best_ndt(runs, "sst2")] == ["sst2/ndt-free-3"] and best_ndt(runs, "imdb") == []


def test_tables_of_made_up_runs(tmp_path: Path) -> None:
    """Accuracy over seeds, its difference from the paper's, all numeric; a measured baseline is a line in every panel of the grid."""
    runs = [*made_seeds(tmp_path, "sst2", "diff", 3), made_run(tmp_path, "sst2", "vanilla", 0, wrong=20)]
    frame = tables.results(runs, "sst2").frame.set_index("model")
    assert frame.loc["diff", "seeds"] == 3 and all(np.issubdtype(kind, np.number) for kind in frame.dtypes)
    assert frame.loc["vanilla", ["accuracy", "accuracy_difference"]].tolist() == pytest.approx([0.9, 0.9 - 0.9085])
    assert np.isnan(frame.loc["ndt-unit-2", "accuracy"])
    singles = points(runs, "sst2", "accuracy").query("model == 'diff'")["value"]
    assert frame.loc["diff", "accuracy"] == pytest.approx(singles.mean(), abs=1e-5)
    figure = make("accuracy-grid", Study.of("sst2", runs))
    assert sum(trace.name.startswith("vanilla 90.00\u00a0%") for trace in figure.plot.data if trace.hovertext is not None) == 4
    with pytest.raises(InputError):
        make("accuracy-grid", Study.of("sst2", []))
    frame = tables.grid(beside(summary([], "sst2"), "sst2", "accuracy"))
    assert list(frame["constraint"].unique()) == ["", "[0,1]", "[-1,1]", "[0,inf)", "(-inf,inf)"]


def test_a_column_is_recognised_by_its_distance_from_accuracy() -> None:
    """With a weighted F1 equal to accuracy and a macro F1 7 points lower, the paper's F1 of Twitter fits the first."""
    rng, rows = np.random.default_rng(0), []
    for model in PRESETS:
        accuracy, noise = 0.8 + 0.01 * rng.standard_normal(), 0.002 * rng.standard_normal() - 0.0014
        names = {"accuracy": 0.0, "f1_weighted": noise, "f1_macro": noise - 0.07}
        names |= {"precision_weighted": noise, "precision_macro": noise - 0.06}
        rows += [(model, name, accuracy + shift) for name, shift in names.items()]
    measured = pd.DataFrame(rows, columns=["model", "metric", "value"])
    fit_of = fits(measured, "twitter_financial")
    wanted = {(column, average): average == "weighted" for column in ("f1", "precision") for average in ("weighted", "macro")}
    assert fit_of.set_index(["column", "average"])["fits"].to_dict() == wanted
    assert "Reported F1 fits weighted:" in describe_averages(fit_of)
    few = fits(measured[measured["model"].isin(("vanilla", "diff", "vanilla-matched"))], "twitter_financial")
    assert not few["fits"].any() and "2 configurations are too few" in describe_averages(few)


def test_printed_ratios_carry_the_rounding_of_whole_seconds() -> None:
    """The ratio for IMDb is that of 10 and 15 seconds over 391 batches, and its ends have their rounding."""
    row = latency.printed_ratios("imdb").set_index("model").loc["diff"]
    assert row[["value", "low", "high"]].tolist() == pytest.approx([38.36 / 25.58, 14.5 / 10.5, 15.5 / 9.5], abs=2e-3)
    assert latency.printed_ratios("twitter_financial").empty


def test_silhouettes_and_parameters_of_no_runs_are_the_print() -> None:
    raw = printed_tables.table("silhouette").query("family == 'diff'").set_index("dataset")["silhouette"]
    frame = tables.silhouettes([]).set_index("model")
    assert {name: frame.loc["diff", f"{name}_printed"] for name in DATASETS} == {name: raw[printed_name(name)] for name in DATASETS}
    with pytest.raises(InputError, match="`sentviz study ndt --dataset imdb` trains them"):
        tables.totals([])


@SHIPPED
def test_what_is_added_to_vanilla_stands_beside_the_print() -> None:
    """Table X has one row for each number of components; table XI's milliseconds have the paper's 0 for Twitter."""
    runs = study_runs().runs
    frame = tables.totals(runs, "sst2").frame.set_index("model")
    assert list(frame.index) == ["vanilla", "vanilla-matched", "diff", "NDT, C = 2", "NDT, C = 3", "NDT, C = 4"]
    assert frame["printed"].dropna().tolist() == [1.40, 1.56, 1.56, 1.60, 1.63] and frame["added"].between(0, 0.25).all()
    assert frame.loc["vanilla", ["printed_added", "added"]].tolist() == [0, 0]
    assert frame.loc["NDT, C = 2", "printed_added"] == pytest.approx(1.56 - 1.40)
    assert frame.loc["NDT, C = 2", "added"] == pytest.approx(frame.loc["vanilla-matched", "added"], abs=1e-3)
    every = tables.totals(runs).frame
    assert not every.duplicated(["data", "model"]).any() and set(every["data"]) == set(DATASETS.values())
    printed = tables.milliseconds([], "all").frame.set_index(["dataset", "model"])["printed_milliseconds"]
    assert printed["IMDb", "vanilla"] == 25.58 and printed["Yelp", "ndt-unit-4"] == 197.08
    assert (printed["Twitter Financial News"].dropna() == 0).all() and np.isnan(printed["IMDb", "vanilla-matched"])


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


def test_the_table_of_lambdas_says_in_which_direction_they_move(tmp_path: Path) -> None:
    """Lambdas of ours fall by 0.6 in layer 2, the printed ones lie above their start."""
    runs = [made_run(tmp_path, "sst2", f"ndt-{kind}-2", drift=-0.3) for kind in ("nonneg", "free")]
    words = tables.lambdas(runs, "sst2")[1]["direction"]
    assert "Direction on SST-2" in words and "by −0.60 on average here" in words and "opposite directions" in words
    rows = pd.DataFrame({"model": "ndt-free-2", "layer": 2, "start": [0.2, 0.2], "change": [0.1, -0.1], "printed": [0.5, 0.4]})
    assert "Of all 2 λ of NDTs in layer 2, 1 move to the paper's side" in tables.direction_in_words(rows, "Yelp")
    assert tables.direction_in_words(rows.assign(printed=NAN), "Yelp") == ""


# ---- areas, signs, ranks


@pytest.mark.parametrize("classes", [2, 3])
def test_the_mean_contribution_is_scikit_learns_area(classes: int) -> None:
    """Equal scores count half; more than two classes are averaged one against the rest."""
    rng = np.random.default_rng(classes)
    labels, probabilities = rng.integers(classes, size=300), rng.dirichlet(np.ones(classes), size=300).round(2)
    probabilities[:, -1] = 1 - probabilities[:, :-1].sum(axis=1)
    want = roc_auc_score(labels, probabilities[:, 1] if classes == 2 else probabilities, multi_class="ovr", average="macro")
    assert contributions(labels, probabilities).mean() == pytest.approx(want, abs=1e-12)


def test_the_error_of_the_area_is_delongs() -> None:
    """The variance of the mean contribution is that of DeLong's formula, in loops over pairs of rows."""
    rng, labels = np.random.default_rng(0), np.arange(80) % 2
    scores = (rng.normal(size=80) + labels).round(1)
    won = np.array([[(a > b) + (a == b) / 2 for b in scores[labels == 0]] for a in scores[labels == 1]])
    want = won.mean(axis=1).var() / 40 + won.mean(axis=0).var() / 40
    assert contributions(labels, np.stack([-scores, scores], axis=1)).var() / 80 == pytest.approx(want, rel=1e-9)


@pytest.mark.parametrize(("up", "verdict"), [(65, "holds"), (35, "unjudged"), (55, "open"), (45, "open")])
def test_signs_of_many_runs(up: int, verdict: str) -> None:
    """Of a hundred the exact test tells 65 from half, not 55; a run that does not move goes against it. Clopper and Pearson's interval."""
    finding = judge_signs([0.1] * up + [0.0] + [-0.1] * (99 - up), "it moved", "and more")
    assert finding.verdict == verdict and f"it moved in {up} of 100 runs" in finding.evidence and finding.evidence.endswith("; and more")
    ends = (100 * beta.ppf(0.025, up, 101 - up), 100 * beta.ppf(0.975, up + 1, 100 - up))
    assert finding.effect is not None and (finding.effect.unit, finding.effect.null) == ("%", 50)
    assert (finding.effect.value, finding.effect.low, finding.effect.high) == pytest.approx((up, *ends))


# ---- habits of components


def test_chance_allows_two_habits_of_twelve() -> None:
    """Three of twelve at 5 % each are rarer than one run in twenty, two are not: binomial probabilities added up."""
    from math import comb

    reached = [sum(comb(12, k) * 0.05**k * 0.95 ** (12 - k) for k in range(least, 13)) for least in (3, 2)]
    assert reached[0] < 0.05 < reached[1] and specialisation.habits_needed(12) == 3


def test_ways_to_deal_heads_are_counted_one_by_one() -> None:
    """Eight maps fall into two groups of four in 35 ways, listed."""
    groups = {frozenset([chosen, tuple(k for k in range(8) if k not in chosen)]) for chosen in combinations(range(8), 4)}
    assert (deals(2, 4), deals(3, 4), deals(4, 4)) == (len(groups), 5_775, 2_627_625)


def test_layers_in_which_components_are_apart_head_by_head() -> None:
    """A layer counts if the interval of each pair of components lies below that of each component's heads; one that meets it is enough."""

    def table(*layers: list[tuple[int, int, float, float]]) -> pd.DataFrame:
        rows = [("cosine", layer, *cell) for layer, cells in enumerate(layers) for cell in cells]
        rows.append(("jensen_shannon", 0, 0, 1, 0.9, 0.95))
        return pd.DataFrame(rows, columns=["measure", "layer", "component", "other", "low", "high"])

    heads = [(0, 0, 0.50, 0.55), (1, 1, 0.45, 0.52), (2, 2, 0.6, 0.7)]
    below, meets = [*heads, (0, 1, 0.3, 0.4), (0, 2, 0.3, 0.44)], [*heads, (0, 1, 0.3, 0.4), (1, 2, 0.3, 0.46)]
    assert layers_apart(table(below, meets)) == (1, 2) and layers_apart(table(below, below)) == (2, 2)


@SHIPPED
def test_the_table_names_as_many_habits_as_it_counts() -> None:
    """Each run's number is the one in the first sentence of its page; a run that subtracts has negative lambdas or is a DT."""
    runs = [run for run in study_runs().runs if run.name in ("sst2/ndt-unit-2", "sst2/diff", "imdb/ndt-unit-2", "sst2/ndt-symmetric-3")]
    by_name, frame = {run.name: run for run in runs}, specialisation.table(runs).frame
    named = frame[["layer_1", "layer_2"]].replace("none", "").map(lambda text: len(text.split(", ")) if text else 0).sum(axis=1)
    assert named.tolist() == frame["habits"].tolist() and len(frame) > 2
    for row in frame.to_dict("records"):
        assert f"in {row['habits']} of {row['of']} habits" in verdict(by_name[row["run"]].frame(FILE))[0]
        assert row["kind"] == ("subtracts" if row["mixing"] in ("differential", "symmetric") else "adds")


def test_without_measured_runs_the_command_is_named() -> None:
    for draw in (lambda: make("component-habits", Study.of("all", [])), lambda: specialisation.table([])):
        with pytest.raises(InputError, match="sentviz specialise RUN"):
            draw()


# ---- the leak of SST-2's re-split


def test_a_text_stands_inside_another_word_by_word() -> None:
    """A text counts as inside another if all its words follow each other there; half words and words across two texts do not count."""
    rng = np.random.default_rng(0)
    among, texts = ([" ".join(rng.choice(["a", "an", "ant", "b", "c."], size=rng.integers(1, most))) for _ in range(count)]
                    for most, count in ((9, 40), (5, 120)))  # fmt: skip
    runs = {tuple(words[i:j]) for words in map(str.split, among) for i in range(len(words)) for j in range(i + 1, len(words) + 1)}
    is_inside = leak.inside(texts, among)
    assert is_inside.tolist() == [tuple(text.split()) in runs for text in texts] and 0 < is_inside.mean() < 1
    assert leak.inside(["A  QUIET delight", "quiet", "delight a"], ["a quiet delight", "A dull film"]).tolist() == [True, True, False]


def test_accuracies_inside_and_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two seeds with 10 and 20 wrong rows outside and none inside give these accuracies."""
    runs = [made_run(tmp_path, "sst2", model, seed, wrong=wrong) for model in ("diff", "ndt-unit-2") for seed, wrong in enumerate((10, 20))]
    texts = [f"row {i} of a long made up text" if i < 100 else "quiet" for i in range(N)]
    frame = pd.DataFrame({"id": [f"sst2-{i}" for i in range(N)], "text": texts})
    measured = leak.measured(runs, {"test": frame}, ["a quiet delight"])
    assert set(measured["model"]) == {"diff", "ndt-unit-2"} and set(measured["rows"]) == {"the re-split"}
    by = measured[measured["model"] == "diff"].set_index(["length", "stands"])[["n", "share", "value", "seeds"]]
    assert by.loc[("any", "inside")].tolist() == [100, 0.5, 1.0, 2]
    assert by.loc[("any", "outside")].tolist() == [100, 0.5, pytest.approx(0.85), 2]
    assert by.loc[("5 words or more", "outside")].tolist()[:2] == [100, 1.0] and ("5 words or more", "inside") not in by.index
    assert ((measured["low"] <= measured["value"]) & (measured["value"] <= measured["high"]) & measured["high"].le(1)).all()
    plant(monkeypatch, "ndt.tables.LEAK", tmp_path, measured)
    assert "test phrases 50\u00a0% (100) are inside" in make_table(find_paper("ndt"), "leak", []).caption
