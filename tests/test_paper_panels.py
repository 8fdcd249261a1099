"""The paper's figures from made-up runs, against hand counts and scikit-learn."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import confusion_matrix, roc_auc_score, silhouette_samples

from sentviz.charts.gallery import make
from sentviz.charts.subjects import Study
from sentviz.errors import InputError
from sentviz.papers.ndt import lambdas, panels, printed_tables, tables, tsne
from sentviz.papers.ndt.study import CONTROLS, DATASETS, reported_best
from sentviz.papers.studies.export_paper import export_paper
from sentviz.papers.studies.items import makers
from sentviz.runs.catalog import study_runs
from sentviz.runs.items import DRAWN
from sentviz.runs.registry import find_paper
from sentviz.runs.store import Run
from tests.kit import SHIPPED
from tests.studies import made_run, made_seeds

PAPER = find_paper("ndt")
pytestmark = pytest.mark.slow

THREE = ("bearish", "bullish", "neutral")


@pytest.fixture
def several(tmp_path: Path) -> list[Run]:
    """Return runs on two data sets; NDT has three seeds, DT one on one of them."""
    seeds = made_seeds(tmp_path, "sst2", "ndt-unit-3", 3)
    seeds += [made_run(tmp_path, "sst2", "diff", wrong=30), made_run(tmp_path, "sst2", "vanilla")]
    return [*seeds, made_run(tmp_path, "twitter_financial", "ndt-free-2", wrong=40, classes=THREE, vectors=True)]


def test_confusions_are_counts_and_shares_of_the_label(several: list[Run]) -> None:
    frame = panels.confusions(several, best=True)
    for title, run in (("SST-2", several[0]), ("Twitter Financial News", several[-1])):
        test = run.frame("test.parquet")
        slow = confusion_matrix(test["label"], test[list(run.labels)].to_numpy().argmax(axis=1))
        cells = frame[frame["panel"] == title]
        np.testing.assert_array_equal(cells["count"], slow.ravel())
        np.testing.assert_allclose(cells["share"], (slow / slow.sum(axis=1, keepdims=True)).ravel())
    figure = make("confusion-panels", Study.of("all", several), best=True)
    assert "No run is installed for: IMDb, Yelp." in figure.caption
    texts = [note.text for note in figure.plot.layout.annotations]
    assert sum("%" in text for text in texts) == 4 + 9
    strengths = figure.plot.data[0].z
    assert all((strengths[i, j] > 0) == (i == j) for i, j in np.ndindex(2, 2)), "the side of right answers and that of mistakes"
    with pytest.raises(InputError):
        make("confusion-panels", Study.of("all", []))


def test_the_papers_best_ndt_is_drawn_until_ours_is_asked_for(tmp_path: Path) -> None:
    """Sections IV-B1 to IV-E1 name the best NDT of each data set; the switch shows the one that is best on validation here."""
    named = {"imdb": "ndt-unit-2", "sst2": "ndt-unit-3", "yelp_full": "ndt-symmetric-3", "twitter_financial": "ndt-free-4"}
    assert {dataset: reported_best(dataset) for dataset in DATASETS} == named
    papers, ours = (made_run(tmp_path, "sst2", model, wrong=wrong) for model, wrong in (("ndt-unit-3", 40), ("ndt-nonneg-4", 10)))
    vars(ours)["config"] = ours.config | {"best": ours.config["best"] | {"accuracy": 1.0}}
    vars(papers)["config"] = papers.config | {"best": papers.config["best"] | {"accuracy": 0.5}}
    runs = [ours, papers]
    for best, run in ((False, papers), (True, ours)):
        assert panels.panel_runs(runs, best=best) == {"sst2": run}
        assert set(panels.confusions(runs, best=best)["run"]) == set(panels.rocs(runs, best=best)["run"]) == {run.name}
    captions = [make("confusion-panels", Study.of("all", runs), **options).caption for options in ({}, {"best": True})]
    assert "highest reported test accuracy" in captions[0] and "best validation accuracy" in captions[1]


def test_the_page_says_what_the_paper_gives_and_what_it_does_not() -> None:
    gives, lacks = str(PAPER.page and PAPER.page.cannot).split("but not", 1)
    assert all(word in gives for word in ("splits", "vocabularies", "optimizer", "weight decays", "initialization", "activation"))
    assert all(word in lacks for word in ("width", "heads", "learning rate", "batch size", "epochs", "text length", "seeds"))
    why = next(item.why for item in PAPER.items() if item.id == "figure-1")
    assert why.startswith("The paper chose the best NDT by test accuracy.")


@pytest.mark.exhaustive
def test_roc_curves_have_scikit_learns_area(several: list[Run]) -> None:
    """The areas equal scikit-learn's, three classes have a curve each, and thinned curves keep their ends."""
    frame = panels.rocs(several, best=True)
    assert set(zip(frame["row"], frame["panel"], strict=True)) == {
        ("DT", "SST-2"),
        ("best NDT", "SST-2"),
        ("best NDT", "Twitter Financial News"),
    }
    twitter = several[-1].frame("test.parquet")
    for k, name in enumerate(THREE):
        curve = frame[frame["curve"] == name]
        assert curve["auc"].iloc[0] == pytest.approx(roc_auc_score(twitter["label"] == k, twitter[name]))
        assert curve["low"].iloc[0] <= curve["auc"].iloc[0] <= curve["high"].iloc[0]
        assert tuple(curve[["fpr", "tpr"]].iloc[0]) == (0, 0)
        assert tuple(curve[["fpr", "tpr"]].iloc[-1]) == (1, 1)
        assert np.trapezoid(curve["tpr"], curve["fpr"]) == pytest.approx(curve["auc"].iloc[0], abs=0.01)
    rows = frame[frame["panel"] == "Twitter Financial News"]
    one_hot = np.array([[label == k for k in range(len(THREE))] for label in twitter["label"]])
    assert rows["macro"].iloc[0] == pytest.approx(roc_auc_score(one_hot, twitter[list(THREE)], average="macro"), abs=1e-4)
    assert (rows["printed"] == printed_tables.value("twitter_financial", several[-1].configuration, "auc")).all()
    figure = make("roc-panels", Study.of("all", several), best=True)
    texts = [note.text for note in figure.plot.layout.annotations]
    assert sum(text.startswith(f"macro {rows['macro'].iloc[0]:.3f} [") for text in texts) == 1  # no macro area with two classes
    printed = [text for text in texts if re.fullmatch(r"paper 0\.\d{3}", text)]
    assert len(printed) == texts.count("area") == 3 and "macro is the mean" in figure.caption
    assert sum("no run here" in text for text in texts) == 1
    with pytest.raises(InputError):
        make("roc-panels", Study.of("all", []))


@pytest.mark.exhaustive
def test_lambda_over_seeds_is_their_mean_and_range(tmp_path: Path) -> None:
    """Lambdas start at 0.2; seeds end 0.1 and 0.3 higher in layer 1, twice that in layer 2."""
    seeds = [made_run(tmp_path, "sst2", "ndt-unit-2", seed, drift=drift) for seed, drift in ((0, 0.1), (1, 0.3))]
    seeds += [made_run(tmp_path, "sst2", "vanilla"), made_run(tmp_path, "sst2", "diff")]
    frame, marks = lambdas.lambda_frames(seeds, "sst2")
    end = frame[(frame["constraint"] == "[0,1]") & (frame["layer"] == 1)].iloc[-1]
    assert (end["value"], end["low"], end["high"]) == pytest.approx((0.6, 0.4, 0.8))
    assert (end["change"], end["change_low"], end["change_high"], end["seeds"]) == pytest.approx((0.4, 0.2, 0.6, 2))
    assert list(frame["constraint"].unique()) == ["[0,1]", "DT, −λ"]
    assert marks.query("layer == 0")["value"].tolist() == [0.1554]
    figure = make("lambda-grid", Study.of("sst2", seeds))
    assert "Seeds per configuration: 1 to 2; lines are their means" in figure.caption
    diamonds = [list(trace.y) for trace in figure.plot.data if trace.mode == "markers" and trace.marker.symbol == "diamond-open"]
    assert diamonds == [[0.1554], [0.2032], [None]]  # the paper has no value for DT; the last trace is for the legend
    change = make("lambda-grid", Study.of("sst2", seeds), change=True)
    assert "changes from the start" in change.caption
    assert not any(trace.mode == "markers" and trace.marker.symbol == "diamond-open" for trace in change.plot.data)
    table = tables.lambdas(seeds, "sst2")[0].set_index(["model", "layer"])
    assert table.loc[("ndt-unit-2", 1), "difference"] == pytest.approx(0.2 + 0.2 - 0.1554)
    assert table.loc[("ndt-unit-2", 2), "start"] == pytest.approx(0.2)
    with pytest.raises(InputError):
        make("lambda-grid", Study.of("sst2", [seeds[2]]))


def test_the_picture_is_computed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The silhouettes are those of the shown rows. The second call reads the disk, and a damaged file is computed again."""
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path / "home"))
    calls: list[int] = []

    def places(vectors: Any, seed: int) -> Any:
        calls.append(seed)
        return np.asarray(vectors[:, :2], dtype=np.float32)

    monkeypatch.setattr(tsne, "_tsne", places)
    run = made_run(tmp_path, "sst2", "ndt-unit-2", vectors=True)
    assert not tsne.cached(run)
    first, second = tsne.picture(run), tsne.picture(run)
    assert calls == [0]
    assert tsne.cached(run)
    np.testing.assert_array_equal(first.places, second.places)
    labels = np.arange(0, 200, 2) % 2
    np.testing.assert_array_equal(first.labels, labels)
    assert first.original["low"] <= first.original["value"] <= first.original["high"] or np.isnan(first.original["value"])
    (path,) = (tmp_path / "home" / "pictures").glob("*.npy")
    path.write_bytes(b"half a file")
    tsne.picture(run)
    assert calls == [0, 0]


@pytest.mark.exhaustive
def test_silhouettes_are_of_the_rows_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The silhouettes of three classes equal scikit-learn's on the same vectors."""
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path / "home"))
    run = made_run(tmp_path, "twitter_financial", "ndt-unit-2", classes=THREE, vectors=True)
    from safetensors.numpy import load_file

    stored = load_file(run.path("embeddings.safetensors"))
    labels = np.arange(200)[stored["rows"]] % 3
    picture = tsne.picture(run)
    assert picture.places.shape == (100, 2)
    assert picture.original["value"] == pytest.approx(silhouette_samples(stored["pooled"].astype(float), labels).mean(), abs=1e-5)
    assert picture.drawn["value"] == pytest.approx(silhouette_samples(picture.places, labels).mean(), abs=1e-5)
    figure = make("tsne-panels", Study.of("all", [run]), best=True)
    assert "Twitter Financial News 100 test rows" in figure.caption
    assert "seed 0" in figure.caption
    symbols = {trace.marker.symbol for trace in figure.plot.data}
    assert len(symbols) == 3
    printed = printed_tables.table("silhouette").set_index(["dataset", "model"])["silhouette"]["twitter_financial", "ndt-unit-2"]
    assert f"; paper {printed:.2f}" in str(figure.plot.layout.annotations[0].text) and "“Paper” is the silhouette" in figure.caption
    monkeypatch.setattr(tsne, "picture", lambda run: replace(picture, printed=float("nan")))
    unknown = make("tsne-panels", Study.of("all", [run]), best=True)
    assert "paper" not in str(unknown.plot.layout.annotations[0].text) and "“Paper”" not in unknown.caption


def test_figure_3_takes_a_training_that_was_made_again_for_its_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run with vectors goes first, then the same training made again, never another variant; the caption names such panels."""
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(tsne, "_tsne", lambda vectors, seed: np.asarray(vectors[:, :2], dtype=np.float32))
    own = made_run(tmp_path, "sst2", "ndt-unit-3", vectors=True)
    again = made_run(tmp_path, "sst2", "ndt-unit-3", variant="again", vectors=True)
    bare = made_run(tmp_path, "twitter_financial", "ndt-free-4", classes=THREE)
    frozen = made_run(tmp_path, "twitter_financial", "ndt-free-4", variant="frozen", classes=THREE, vectors=True)
    twitter = made_run(tmp_path, "twitter_financial", "ndt-free-4", variant="again", classes=THREE, vectors=True)
    assert panels.with_vectors([own, again, bare, frozen]) == {"sst2": own}
    assert panels.with_vectors([again, own, frozen, bare, twitter]) == {"sst2": own, "twitter_financial": twitter}
    assert panels.with_vectors([again]) == {}  # a training made again stands in for one of the study, not for none
    caption = make("tsne-panels", Study.of("all", [own, bare, twitter])).caption
    assert "store no vectors for Twitter Financial News: these panels are of the same training, made again." in caption
    assert "made again" not in make("tsne-panels", Study.of("all", [own])).caption


@SHIPPED
def test_figure_3_has_the_papers_four_panels() -> None:
    """Each data set's panel has stored vectors; a training that was made again answers as the study's own to 0.002."""
    runs = study_runs().runs
    drawn = panels.with_vectors(runs)
    assert list(drawn) == list(DATASETS)
    for dataset, run in drawn.items():
        own = panels.panel_runs(runs)[dataset]
        assert run.configuration.removesuffix(f"-{panels.AGAIN}") == own.configuration
        tables = [each.frame("test.parquet").set_index(["split", "id"]).sort_index()[list(run.labels)] for each in (run, own)]
        np.testing.assert_allclose(*tables, rtol=0, atol=0.002)


def test_parameters_against_time_shows_measured_and_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = tables.costs("imdb")
    figure = make("cost", Study.of("imdb", []))
    assert set(figure.frame["source"]) >= {"printed"}
    assert "whole seconds" in figure.caption
    monkeypatch.setattr(tables, "costs", lambda dataset: (ours.iloc[:0], theirs.iloc[:0]))
    with pytest.raises(InputError, match="neither a measured nor a reported time"):
        make("cost", Study.of("imdb", []))


def test_every_live_item_has_a_maker() -> None:
    assert {item.made_by for item in PAPER.items() if item.state == "live" and item.kind in DRAWN} <= set(makers(PAPER))


@pytest.mark.exhaustive
def test_a_paper_is_written_with_its_manifest(several: list[Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are written in three formats, and figures as numbers if there is no browser; the manifest names every file and each missing
    item.
    """
    monkeypatch.setattr("sentviz.papers.studies.export_paper.find_browser", lambda: None)
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path / "home"))
    seen: list[tuple[int, int]] = []
    manifest = export_paper("ndt", tmp_path / "out", several, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (len(makers(PAPER)), len(makers(PAPER)))
    stored = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert stored == json.loads(json.dumps(manifest))
    named = {file for item in stored["files"] for part in item["parts"] for file in part["files"]}
    assert named | {"manifest.json"} == {path.name for path in (tmp_path / "out").iterdir()}
    states = {item["id"]: item["state"] for item in stored["files"]}
    assert states["table-3"] == states["figure-1"] == "written"
    assert states["table-1"] == "no run here"
    assert len(stored["runs"]) == 6
    table = pd.read_csv(tmp_path / "out" / "results-sst2.csv", encoding="utf-8-sig").set_index("model")
    assert table.loc["diff", "accuracy"] == pytest.approx(0.85)
    page = (tmp_path / "out" / "results-sst2.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in page and "://" not in page
    with pytest.raises(InputError, match="no paper"):
        export_paper("none", tmp_path / "out", several)


@pytest.mark.exhaustive
def test_without_runs_everything_still_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sentviz.papers.studies.export_paper.find_browser", lambda: None)
    manifest = export_paper("ndt", tmp_path / "out", [])
    states = {item["id"]: item["state"] for item in manifest["files"]}
    assert states["figure-1"] == states["figure-3"] == "no run here"
    assert states["table-11"] == states["claims"] == "written"


@pytest.mark.slow
def test_settings_of_one_ndt_stand_beside_what_the_paper_prints_for_it(tmp_path: Path) -> None:
    """Each setting is a column, the study's own first; the paper's values of the model are in each, and other models in none."""
    runs = [made_run(tmp_path, "sst2", lambdas.SETTINGS_OF, variant=variant) for variant in ("no-decay", "", "equal")]
    frame, marks = lambdas.lambda_frames([*runs, made_run(tmp_path, "sst2", "ndt-unit-2")], "sst2", settings=True)
    assert list(frame["constraint"].unique()) == ["as in the study", "equal starts", "no weight decay"]
    printed = marks.pivot(index=["layer", "component"], columns="constraint", values="value")
    assert printed.loc[(1, 1)].tolist() == [0.5294] * 3 and printed.loc[(0, 2)].tolist() == [0.3014] * 3
    assert lambdas.SETTING_TITLES.keys() == {"", *CONTROLS}
