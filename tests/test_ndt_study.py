"""The NDT paper: its tables and panels beside made-up runs; areas, leaks, habits and signs against counts by hand."""

import json
from dataclasses import replace
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file
from scipy.stats import beta
from sklearn.metrics import confusion_matrix, roc_auc_score, silhouette_samples

from experiments.ndt import leak
from sentviz.analysis.maps.specialise import FILE, deals, layers_apart, verdict
from sentviz.charts.gallery import make
from sentviz.charts.subjects import Study
from sentviz.errors import InputError
from sentviz.papers.ndt import based, lambdas, latency, panels, printed_tables, specialisation, study, tables, tsne
from sentviz.papers.ndt.auc import contributions
from sentviz.papers.ndt.averages import describe_averages, fits
from sentviz.papers.ndt.claims import judge_signs
from sentviz.papers.studies.export_paper import export_paper
from sentviz.papers.studies.items import make_table, makers
from sentviz.runs.catalog import study_runs
from sentviz.runs.registry import find_paper
from sentviz.runs.store import Run
from tests.kit import SHIPPED, refused
from tests.studies import N, made_run, made_seeds, plant

NAN = float("nan")

# ---- tables
THREE = ("bearish", "bullish", "neutral")


def test_columns_ratios_and_silhouettes_of_the_print() -> None:
    for metric in study.METRICS:
        frame = study.beside(study.summary([], "sst2"), "sst2", metric).set_index("model")
        raw = printed_tables.table("silhouette" if metric == "silhouette" else "classification").rename(
            columns={"accuracy_pct": "accuracy"}
        )
        printed = raw[raw["dataset"] == "sst2"].set_index("model")[study.METRICS[metric]] / (100 if metric == "accuracy" else 1)
        assert list(frame.index) == list(study.PRESETS) and np.isnan(frame.loc["vanilla-matched", "printed"])
        assert frame["printed"].drop("vanilla-matched").to_dict() == pytest.approx(printed.to_dict())
    rng, rows = np.random.default_rng(0), []
    for model in study.PRESETS:
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
    row = latency.printed_ratios("imdb").set_index("model").loc["diff"]
    assert row[["value", "low", "high"]].tolist() == pytest.approx([38.36 / 25.58, 14.5 / 10.5, 15.5 / 9.5], abs=2e-3)
    assert latency.printed_ratios("twitter_financial").empty
    raw = printed_tables.table("silhouette").query("family == 'diff'").set_index("dataset")["silhouette"]
    frame = tables.silhouettes([]).set_index("model")
    assert {name: frame.loc["diff", f"{name}_printed"] for name in study.DATASETS} == {
        name: raw[study.printed_name(name)] for name in study.DATASETS
    }
    refused(InputError, "`sentviz study ndt --dataset imdb` trains them", tables.totals, [])


def test_tables_of_made_up_runs(tmp_path: Path) -> None:
    runs = [made_run(tmp_path, "sst2", "diff", seed, validation=0.99) for seed in (2, 0, 1)]
    runs += [made_run(tmp_path, "sst2", "ndt-unit-2", 0, name="ndt-unit-2-frozen"), made_run(tmp_path, "imdb", "vanilla", 0)]
    groups = study.configurations(runs, "sst2")
    assert {name: [run.name for run in seeds] for name, seeds in groups.items()} == {"diff": ["sst2/diff", "sst2/diff-s1", "sst2/diff-s2"]}
    runs += [made_run(tmp_path, "sst2", "ndt-unit-2", seed, validation=value, wrong=0) for seed, value in enumerate((0.80, 0.90))]
    runs.append(made_run(tmp_path, "sst2", "ndt-free-3", 0, validation=0.86, wrong=30))
    assert [run.name for run in study.best_ndt(runs, "sst2")] == ["sst2/ndt-free-3"] and study.best_ndt(runs, "imdb") == []
    runs = [*made_seeds(tmp_path, "sst2", "diff", 3), made_run(tmp_path, "sst2", "vanilla", 0, wrong=20)]
    frame = tables.results(runs, "sst2").frame.set_index("model")
    assert frame.loc["diff", "seeds"] == 3 and all(np.issubdtype(kind, np.number) for kind in frame.dtypes)
    assert frame.loc["vanilla", ["accuracy", "accuracy_difference"]].tolist() == pytest.approx([0.9, 0.9 - 0.9085])
    assert np.isnan(frame.loc["ndt-unit-2", "accuracy"])
    singles = study.points(runs, "sst2", "accuracy").query("model == 'diff'")["value"]
    assert frame.loc["diff", "accuracy"] == pytest.approx(singles.mean(), abs=1e-5)
    figure = make("accuracy-grid", Study.of("sst2", runs))
    assert sum(trace.name.startswith("vanilla 90.00\u00a0%") for trace in figure.plot.data if trace.hovertext is not None) == 4
    with pytest.raises(InputError):
        make("accuracy-grid", Study.of("sst2", []))
    frame = tables.grid(study.beside(study.summary([], "sst2"), "sst2", "accuracy"))
    assert list(frame["constraint"].unique()) == ["", "[0,1]", "[-1,1]", "[0,inf)", "(-inf,inf)"]
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
    refused(InputError, "sentviz train ndt_sst2_minilm --model minilm-ndt-free-2", based.accuracies, [])


@SHIPPED
def test_shipped_costs_stand_beside_the_print_and_habits_are_named() -> None:
    runs = study_runs().runs
    frame = tables.totals(runs, "sst2").frame.set_index("model")
    assert list(frame.index) == ["vanilla", "vanilla-matched", "diff", "NDT, C = 2", "NDT, C = 3", "NDT, C = 4"]
    assert frame["printed"].dropna().tolist() == [1.40, 1.56, 1.56, 1.60, 1.63] and frame["added"].between(0, 0.25).all()
    assert frame.loc["vanilla", ["printed_added", "added"]].tolist() == [0, 0]
    assert frame.loc["NDT, C = 2", "printed_added"] == pytest.approx(1.56 - 1.40)
    assert frame.loc["NDT, C = 2", "added"] == pytest.approx(frame.loc["vanilla-matched", "added"], abs=1e-3)
    every = tables.totals(runs).frame
    assert not every.duplicated(["data", "model"]).any() and set(every["data"]) == set(study.DATASETS.values())
    printed = tables.milliseconds([], "all").frame.set_index(["dataset", "model"])["printed_milliseconds"]
    assert printed["IMDb", "vanilla"] == 25.58 and printed["Yelp", "ndt-unit-4"] == 197.08
    assert (printed["Twitter Financial News"].dropna() == 0).all() and np.isnan(printed["IMDb", "vanilla-matched"])
    runs = [run for run in study_runs().runs if run.name in ("sst2/ndt-unit-2", "sst2/diff", "imdb/ndt-unit-2", "sst2/ndt-symmetric-3")]
    by_name, frame = {run.name: run for run in runs}, specialisation.table(runs).frame
    named = frame[["layer_1", "layer_2"]].replace("none", "").map(lambda text: len(text.split(", ")) if text else 0).sum(axis=1)
    assert named.tolist() == frame["habits"].tolist() and len(frame) > 2
    for row in frame.to_dict("records"):
        assert f"in {row['habits']} of {row['of']} habits" in verdict(by_name[row["run"]].frame(FILE))[0]
        assert row["kind"] == ("subtracts" if row["mixing"] in ("differential", "symmetric") else "adds")


def test_the_table_of_lambdas_says_in_which_direction_they_move(tmp_path: Path) -> None:
    runs = [made_run(tmp_path, "sst2", f"ndt-{kind}-2", drift=-0.3) for kind in ("nonneg", "free")]
    words = tables.lambdas(runs, "sst2")[1]["direction"]
    assert "Direction on SST-2" in words and "by −0.60 on average here" in words and "opposite directions" in words
    rows = pd.DataFrame({"model": "ndt-free-2", "layer": 2, "start": [0.2, 0.2], "change": [0.1, -0.1], "printed": [0.5, 0.4]})
    assert "Of all 2 λ of NDTs in layer 2, 1 move to the paper's side" in tables.direction_in_words(rows, "Yelp")
    assert tables.direction_in_words(rows.assign(printed=NAN), "Yelp") == ""


# ---- areas, signs, ranks


def test_the_mean_contribution_is_scikit_learns_area_and_its_error_delongs() -> None:
    for classes in (2, 3):
        rng = np.random.default_rng(classes)
        labels, probabilities = rng.integers(classes, size=300), rng.dirichlet(np.ones(classes), size=300).round(2)
        probabilities[:, -1] = 1 - probabilities[:, :-1].sum(axis=1)
        want = roc_auc_score(labels, probabilities[:, 1] if classes == 2 else probabilities, multi_class="ovr", average="macro")
        assert contributions(labels, probabilities).mean() == pytest.approx(want, abs=1e-12)
    rng, labels = np.random.default_rng(0), np.arange(80) % 2
    scores = (rng.normal(size=80) + labels).round(1)
    won = np.array([[(a > b) + (a == b) / 2 for b in scores[labels == 0]] for a in scores[labels == 1]])
    want = won.mean(axis=1).var() / 40 + won.mean(axis=0).var() / 40
    assert contributions(labels, np.stack([-scores, scores], axis=1)).var() / 80 == pytest.approx(want, rel=1e-9)


@pytest.mark.parametrize(("up", "verdict"), [(65, "holds"), (35, "unjudged"), (55, "open"), (45, "open")])
def test_signs_of_many_runs(up: int, verdict: str) -> None:
    finding = judge_signs([0.1] * up + [0.0] + [-0.1] * (99 - up), "it moved", "and more")
    assert finding.verdict == verdict and f"it moved in {up} of 100 runs" in finding.evidence and finding.evidence.endswith("; and more")
    ends = (100 * beta.ppf(0.025, up, 101 - up), 100 * beta.ppf(0.975, up + 1, 100 - up))
    assert finding.effect is not None and (finding.effect.unit, finding.effect.null) == ("%", 50)
    assert (finding.effect.value, finding.effect.low, finding.effect.high) == pytest.approx((up, *ends))


# ---- habits of components


def test_layers_in_which_components_are_apart_head_by_head() -> None:
    reached = [sum(comb(12, k) * 0.05**k * 0.95 ** (12 - k) for k in range(least, 13)) for least in (3, 2)]
    assert reached[0] < 0.05 < reached[1] and specialisation.habits_needed(12) == 3
    groups = {frozenset([chosen, tuple(k for k in range(8) if k not in chosen)]) for chosen in combinations(range(8), 4)}
    assert (deals(2, 4), deals(3, 4), deals(4, 4)) == (len(groups), 5_775, 2_627_625)

    def table(*layers: list[tuple[int, int, float, float]]) -> pd.DataFrame:
        rows = [("cosine", layer, *cell) for layer, cells in enumerate(layers) for cell in cells]
        rows.append(("jensen_shannon", 0, 0, 1, 0.9, 0.95))
        return pd.DataFrame(rows, columns=["measure", "layer", "component", "other", "low", "high"])

    heads = [(0, 0, 0.50, 0.55), (1, 1, 0.45, 0.52), (2, 2, 0.6, 0.7)]
    below, meets = [*heads, (0, 1, 0.3, 0.4), (0, 2, 0.3, 0.44)], [*heads, (0, 1, 0.3, 0.4), (1, 2, 0.3, 0.46)]
    assert layers_apart(table(below, meets)) == (1, 2) and layers_apart(table(below, below)) == (2, 2)


def test_without_measured_runs_the_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for draw in (lambda: make("component-habits", Study.of("all", [])), lambda: specialisation.table([])):
        refused(InputError, "sentviz specialise RUN", draw)
    ours, theirs = tables.costs("imdb")
    monkeypatch.setattr(tables, "costs", lambda dataset: (ours.iloc[:0], theirs.iloc[:0]))
    with pytest.raises(InputError, match="neither a measured nor a reported time"):
        make("cost", Study.of("imdb", []))


# ---- the leak of SST-2's re-split


def test_rows_that_stand_inside_training_texts_and_their_accuracies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    among, texts = ([" ".join(rng.choice(["a", "an", "ant", "b", "c."], size=rng.integers(1, most))) for _ in range(count)]
                    for most, count in ((9, 40), (5, 120)))  # fmt: skip
    runs = {tuple(words[i:j]) for words in map(str.split, among) for i in range(len(words)) for j in range(i + 1, len(words) + 1)}
    is_inside = leak.inside(texts, among)
    assert is_inside.tolist() == [tuple(text.split()) in runs for text in texts] and 0 < is_inside.mean() < 1
    assert leak.inside(["A  QUIET delight", "quiet", "delight a"], ["a quiet delight", "A dull film"]).tolist() == [True, True, False]
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


def flat(vectors: Any, seed: int) -> Any:
    """Return the first two numbers of each vector in place of t-SNE."""
    return np.asarray(vectors[:, :2], dtype=np.float32)


@pytest.fixture
def several(tmp_path: Path) -> list[Run]:
    """Return runs on two data sets; NDT has three seeds, DT one on one of them."""
    seeds = made_seeds(tmp_path, "sst2", "ndt-unit-3", 3)
    seeds += [made_run(tmp_path, "sst2", "diff", wrong=30), made_run(tmp_path, "sst2", "vanilla")]
    return [*seeds, made_run(tmp_path, "twitter_financial", "ndt-free-2", wrong=40, classes=THREE, vectors=True)]


def test_confusions_and_roc_curves_are_those_of_scikit_learn(several: list[Run]) -> None:
    frame = panels.confusions(several, best=True)
    for title, run in (("SST-2", several[0]), ("Twitter Financial News", several[-1])):
        test = run.frame("test.parquet")
        slow = confusion_matrix(test["label"], test[list(run.labels)].to_numpy().argmax(axis=1))
        cells = frame[frame["panel"] == title]
        np.testing.assert_array_equal(cells["count"], slow.ravel())
        np.testing.assert_allclose(cells["share"], (slow / slow.sum(axis=1, keepdims=True)).ravel())
    figure = make("confusion-panels", Study.of("all", several), best=True)
    strengths = figure.plot.data[0].z
    assert all((strengths[i, j] > 0) == (i == j) for i, j in np.ndindex(2, 2)), "the side of right answers and that of mistakes"
    assert "No run is installed for: IMDb, Yelp." in figure.caption
    for name in ("confusion-panels", "roc-panels"):
        with pytest.raises(InputError):
            make(name, Study.of("all", []))
    frame = panels.rocs(several, best=True)
    places = {("DT", "SST-2"), ("best NDT", "SST-2"), ("best NDT", "Twitter Financial News")}
    assert set(zip(frame["row"], frame["panel"], strict=True)) == places
    twitter = several[-1].frame("test.parquet")
    for k, name in enumerate(THREE):
        curve = frame[frame["curve"] == name]
        area = curve["auc"].iloc[0]
        assert area == pytest.approx(roc_auc_score(twitter["label"] == k, twitter[name]))
        assert curve["low"].iloc[0] <= area <= curve["high"].iloc[0]
        assert np.trapezoid(curve["tpr"], curve["fpr"]) == pytest.approx(area, abs=0.01)
        assert curve[["fpr", "tpr"]].iloc[[0, -1]].to_numpy().tolist() == [[0, 0], [1, 1]]
    rows = frame[frame["panel"] == "Twitter Financial News"]
    one_hot = np.array([[label == k for k in range(len(THREE))] for label in twitter["label"]])
    assert rows["macro"].iloc[0] == pytest.approx(roc_auc_score(one_hot, twitter[list(THREE)], average="macro"), abs=1e-4)
    assert (rows["printed"] == printed_tables.value("twitter_financial", several[-1].configuration, "auc")).all()


def test_the_papers_best_ndt_is_drawn_and_lambda_over_seeds_is_their_mean(tmp_path: Path) -> None:
    named = {"imdb": "ndt-unit-2", "sst2": "ndt-unit-3", "yelp_full": "ndt-symmetric-3", "twitter_financial": "ndt-free-4"}
    assert {dataset: study.reported_best(dataset) for dataset in study.DATASETS} == named
    ours = made_run(tmp_path, "sst2", "ndt-nonneg-4", validation=1.0)
    runs = [ours, papers := made_run(tmp_path, "sst2", "ndt-unit-3", wrong=40, validation=0.5)]
    for best, run in ((False, papers), (True, ours)):
        assert panels.panel_runs(runs, best=best) == {"sst2": run}
        assert set(panels.confusions(runs, best=best)["run"]) == set(panels.rocs(runs, best=best)["run"]) == {run.name}
    seeds = [made_run(tmp_path, "sst2", "ndt-unit-2", seed, drift=drift) for seed, drift in ((0, 0.1), (1, 0.3))]
    seeds += [made_run(tmp_path, "sst2", "vanilla"), made_run(tmp_path, "sst2", "diff")]
    frame, marks = lambdas.lambda_frames(seeds, "sst2")
    end = frame[(frame["constraint"] == "[0,1]") & (frame["layer"] == 1)].iloc[-1]
    names = ["value", "low", "high", "change", "change_low", "change_high", "seeds"]
    assert end[names].tolist() == pytest.approx([0.6, 0.4, 0.8, 0.4, 0.2, 0.6, 2])
    assert list(frame["constraint"].unique()) == ["[0,1]", "DT, −λ"] and marks.query("layer == 0")["value"].tolist() == [0.1554]
    plain, change = (make("lambda-grid", Study.of("sst2", seeds), change=each) for each in (False, True))
    diamonds = [[list(trace.y) for trace in figure.plot.data if trace.mode == "markers" and trace.marker.symbol == "diamond-open"]
                for figure in (plain, change)]  # fmt: skip
    assert diamonds == [[[0.1554], [0.2032], [None]], []]  # the paper has no value for DT; the last trace is for the legend
    table = tables.lambdas(seeds, "sst2")[0].set_index(["model", "layer"])
    assert table.loc[("ndt-unit-2", 1), "difference"] == pytest.approx(0.2 + 0.2 - 0.1554)
    assert table.loc[("ndt-unit-2", 2), "start"] == pytest.approx(0.2)
    with pytest.raises(InputError):
        make("lambda-grid", Study.of("sst2", [seeds[2]]))


def test_the_picture_is_computed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path / "home"))
    calls: list[int] = []
    monkeypatch.setattr(tsne, "_tsne", lambda vectors, seed: calls.append(seed) or flat(vectors, seed))
    run = made_run(tmp_path, "twitter_financial", "ndt-unit-2", classes=THREE, vectors=True)
    assert not tsne.cached(run)
    first, second = tsne.picture(run), tsne.picture(run)
    assert calls == [0] and tsne.cached(run)
    np.testing.assert_array_equal(first.places, second.places)
    stored = load_file(run.path("embeddings.safetensors"))
    labels = np.arange(200)[stored["rows"]] % 3
    np.testing.assert_array_equal(first.labels, labels)
    assert first.original["value"] == pytest.approx(silhouette_samples(stored["pooled"].astype(float), labels).mean(), abs=1e-5)
    assert first.drawn["value"] == pytest.approx(silhouette_samples(first.places, labels).mean(), abs=1e-5)
    figure = make("tsne-panels", Study.of("all", [run]), best=True)
    printed = printed_tables.table("silhouette").set_index(["dataset", "model"])["silhouette"]["twitter_financial", "ndt-unit-2"]
    assert f"; paper {printed:.2f}" in str(figure.plot.layout.annotations[0].text)
    monkeypatch.setattr(tsne, "picture", lambda run: replace(first, printed=float("nan")))
    assert "paper" not in str(make("tsne-panels", Study.of("all", [run]), best=True).plot.layout.annotations[0].text)
    monkeypatch.undo()
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(tsne, "_tsne", lambda vectors, seed: calls.append(seed) or flat(vectors, seed))
    next((tmp_path / "home" / "pictures").glob("*.npy")).write_bytes(b"half a file")
    tsne.picture(run)
    assert calls == [0, 0]


def test_figure_3_takes_a_training_that_was_made_again_for_its_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(tsne, "_tsne", flat)
    own = made_run(tmp_path, "sst2", "ndt-unit-3", vectors=True)
    again = made_run(tmp_path, "sst2", "ndt-unit-3", variant="again", vectors=True)
    bare = made_run(tmp_path, "twitter_financial", "ndt-free-4", classes=THREE)
    frozen, twitter = (made_run(tmp_path, "twitter_financial", "ndt-free-4", variant=variant, classes=THREE, vectors=True)
                       for variant in ("frozen", "again"))  # fmt: skip
    assert panels.with_vectors([own, again, bare, frozen]) == {"sst2": own}
    assert panels.with_vectors([again, own, frozen, bare, twitter]) == {"sst2": own, "twitter_financial": twitter}
    assert panels.with_vectors([again]) == {}  # a training made again stands in for one of the study, not for none
    assert "these panels are of the same training, made again." in make("tsne-panels", Study.of("all", [own, bare, twitter])).caption
    assert "made again" not in make("tsne-panels", Study.of("all", [own])).caption


@pytest.mark.exhaustive
def test_a_paper_is_written_with_its_manifest(several: list[Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sentviz.papers.studies.export_paper.find_browser", lambda: None)
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path / "home"))
    seen: list[tuple[int, int]] = []
    manifest = export_paper("ndt", tmp_path / "out", several, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (len(makers(find_paper("ndt"))),) * 2
    stored = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert stored == json.loads(json.dumps(manifest)) and stored["paper"] == "ndt" and len(stored["runs"]) == 6
    named = [file for item in stored["files"] for part in item["parts"] for file in part["files"]]
    assert sorted([*named, "manifest.json"]) == sorted(path.name for path in (tmp_path / "out").iterdir())
    states = {item["id"]: item["state"] for item in stored["files"]}
    assert {"claims", "table-3", "figure-1"} <= {name for name, state in states.items() if state == "written"}
    assert states["table-1"] == "no run here" and set(states.values()) == {"written", "no run here"}
    table = pd.read_csv(tmp_path / "out" / "results-sst2.csv", encoding="utf-8-sig").set_index("model")
    assert table.loc["diff", "accuracy"] == pytest.approx(0.85)
    page = (tmp_path / "out" / "results-sst2.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in page and "://" not in page
