"""The panels of the NDT paper's figures from made-up runs, against hand counts and scikit-learn; papers written to files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file
from sklearn.metrics import confusion_matrix, roc_auc_score, silhouette_samples

from sentviz.charts.gallery import make
from sentviz.charts.subjects import Study
from sentviz.errors import InputError
from sentviz.papers.ndt import lambdas, panels, printed_tables, tables, tsne
from sentviz.papers.ndt.study import DATASETS, reported_best
from sentviz.papers.studies.export_paper import export_paper
from sentviz.papers.studies.items import makers
from sentviz.runs.registry import find_paper
from sentviz.runs.store import Run
from tests.studies import made_run, made_seeds

THREE = ("bearish", "bullish", "neutral")


def flat(vectors: Any, seed: int) -> Any:
    """Return the first two numbers of each vector in place of t-SNE."""
    return np.asarray(vectors[:, :2], dtype=np.float32)


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
    strengths = figure.plot.data[0].z
    assert all((strengths[i, j] > 0) == (i == j) for i, j in np.ndindex(2, 2)), "the side of right answers and that of mistakes"
    assert "No run is installed for: IMDb, Yelp." in figure.caption
    for name in ("confusion-panels", "roc-panels"):
        with pytest.raises(InputError):
            make(name, Study.of("all", []))


def test_the_papers_best_ndt_is_drawn_until_ours_is_asked_for(tmp_path: Path) -> None:
    """Sections IV-B1 to IV-E1 name the best NDT of each data set; the switch shows the one that is best on validation here."""
    named = {"imdb": "ndt-unit-2", "sst2": "ndt-unit-3", "yelp_full": "ndt-symmetric-3", "twitter_financial": "ndt-free-4"}
    assert {dataset: reported_best(dataset) for dataset in DATASETS} == named
    ours = made_run(tmp_path, "sst2", "ndt-nonneg-4", validation=1.0)
    runs = [ours, papers := made_run(tmp_path, "sst2", "ndt-unit-3", wrong=40, validation=0.5)]
    for best, run in ((False, papers), (True, ours)):
        assert panels.panel_runs(runs, best=best) == {"sst2": run}
        assert set(panels.confusions(runs, best=best)["run"]) == set(panels.rocs(runs, best=best)["run"]) == {run.name}


def test_roc_curves_have_scikit_learns_area(several: list[Run]) -> None:
    """The areas equal scikit-learn's, three classes have a curve each, and thinned curves keep their ends."""
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


def test_lambda_over_seeds_is_their_mean_and_range(tmp_path: Path) -> None:
    """Lambdas start at 0.2; seeds end 0.1 and 0.3 higher in layer 1, twice that in layer 2."""
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
    """scikit-learn gives the same silhouettes of these rows. A second call reads the disk, and a damaged file is computed again."""
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
    """A run with vectors goes first, then the same training made again, never another variant; the caption names such panels."""
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


def test_a_cost_without_any_time_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = tables.costs("imdb")
    monkeypatch.setattr(tables, "costs", lambda dataset: (ours.iloc[:0], theirs.iloc[:0]))
    with pytest.raises(InputError, match="neither a measured nor a reported time"):
        make("cost", Study.of("imdb", []))


@pytest.mark.exhaustive
@pytest.mark.parametrize(("there", "paper"), [(True, "ndt"), (False, "ndt"), (False, "hardmax"), (False, "fused")])
def test_a_paper_is_written_with_its_manifest(
    there: bool, paper: str, several: list[Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables have three formats, figures are numbers without a browser; the manifest names every file, each once, and what lacks."""
    monkeypatch.setattr("sentviz.papers.studies.export_paper.find_browser", lambda: None)
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path / "home"))
    seen: list[tuple[int, int]] = []
    manifest = export_paper(paper, tmp_path / "out", several if there else [], progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (len(makers(find_paper(paper))),) * 2
    stored = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert stored == json.loads(json.dumps(manifest)) and stored["paper"] == paper and len(stored["runs"]) == 6 * there
    named = [file for item in stored["files"] for part in item["parts"] for file in part["files"]]
    assert sorted([*named, "manifest.json"]) == sorted(path.name for path in (tmp_path / "out").iterdir())
    states = {item["id"]: item["state"] for item in stored["files"]}
    assert set(states.values()) == {"written", "no run here"} and states["claims"] == "written"
    if there:
        assert states["table-3"] == states["figure-1"] == "written" and states["table-1"] == "no run here"
        table = pd.read_csv(tmp_path / "out" / "results-sst2.csv", encoding="utf-8-sig").set_index("model")
        assert table.loc["diff", "accuracy"] == pytest.approx(0.85)
        page = (tmp_path / "out" / "results-sst2.html").read_text(encoding="utf-8")
        assert "default-src 'none'" in page and "://" not in page
    else:
        assert manifest["answers"] == []
    with pytest.raises(InputError, match="no paper"):
        export_paper("none", tmp_path / "out", several)
