"""Pictures of vectors, what they keep, and what is kept of them on disk, against loops, scikit-learn and scipy."""

import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
import torch
from scipy.linalg import orthogonal_procrustes
from sklearn.decomposition import PCA
from sklearn.manifold import trustworthiness
from sklearn.metrics import silhouette_samples

from sentviz.analysis.embeddings.cache import Cache, digest, layer_vectors, pictures
from sentviz.analysis.embeddings.projection import METHODS, align, inside, nearest, project, simplified
from sentviz.analysis.embeddings.silhouette import measures, trustworthiness_and_continuity
from sentviz.charts.scatter import measured, scatter
from sentviz.errors import InputError
from sentviz.serving.jobs import Job, Jobs
from tests.kit import refused, small_model

Floats = npt.NDArray[np.float64]


def clouds(n: int = 60, width: int = 8, seed: int = 0) -> tuple[Floats, npt.NDArray[np.int64]]:
    rng, labels = np.random.default_rng(seed), np.arange(n) % 2
    return rng.normal(size=(n, width)) + 3 * labels[:, None], labels


def test_pca_is_scikit_learns_and_a_picture_is_turned_onto_another() -> None:
    x, _ = clouds()
    theirs = PCA(3).fit(x)
    ours = project(x, "pca", 3)
    for mine, reference in zip(ours.points.T, theirs.transform(x).T, strict=True):
        assert min(np.abs(mine - reference).max(), np.abs(mine + reference).max()) < 1e-9
    np.testing.assert_allclose(ours.shares, theirs.explained_variance_ratio_, atol=1e-12)
    np.testing.assert_allclose(ours.place(x[:4]), ours.points[:4], atol=1e-9)
    points = project(np.outer(np.arange(6.0), [3.0, 4.0]), "pca", 3).points
    np.testing.assert_allclose(np.abs(points[:, 0]), 5 * np.abs(np.arange(6) - 2.5), atol=1e-12)
    np.testing.assert_allclose(points[:, 1:], 0, atol=1e-7)
    for method in METHODS:
        same = project(np.ones((9, 4)), method)
        assert np.ptp(same.points) == 0
        np.testing.assert_array_equal(same.place(np.ones((1, 4))), same.points[:1])
    rng = np.random.default_rng(1)
    x = rng.normal(size=(30, 2))
    angle = 1.1
    spin = np.array([[np.cos(angle), np.sin(angle)], [np.sin(angle), -np.cos(angle)]])
    y = 2.5 * x @ spin + [3, -4]
    np.testing.assert_allclose(align(x, y)(x), y, atol=1e-9)
    unrelated = rng.normal(size=(30, 2)) * 7
    turn = align(x, unrelated)
    theirs, _ = orthogonal_procrustes(x - x.mean(axis=0), unrelated - unrelated.mean(axis=0))
    np.testing.assert_allclose(turn.rotation, theirs, atol=1e-9)
    turned = turn(x)
    np.testing.assert_allclose(np.linalg.norm(turned - turned.mean(axis=0)), np.linalg.norm(unrelated - unrelated.mean(axis=0)))
    np.testing.assert_allclose(turned.mean(axis=0), unrelated.mean(axis=0), atol=1e-9)
    x, _ = clouds(23)
    neighbours, away = nearest(x, 4)
    for i, row in enumerate(x):
        far = sorted((float(np.linalg.norm(row - candidate)), j) for j, candidate in enumerate(x) if j != i)
        assert neighbours[i].tolist() == [j for _, j in far[:4]]
        np.testing.assert_allclose(away[i], [d for d, _ in far[:4]], atol=1e-9)


@pytest.mark.exhaustive
@pytest.mark.parametrize("method", ["tsne", "umap"])
def test_clouds_stay_apart_and_new_points_are_placed_with_their_own(method: str) -> None:
    x, labels = clouds()
    x[10:20], labels[10:20] = x[10], labels[10]
    first, again = project(x, method), project(x, method)
    np.testing.assert_array_equal(first.points, again.points)
    assert silhouette_samples(first.points, labels).mean() > 0.5
    at = first.place(x[labels == 1][:3] + 0.01)
    own, other_cloud = (np.linalg.norm(at - first.points[labels == k].mean(axis=0), axis=1) for k in (1, 0))
    assert (own < other_cloud).all()
    np.testing.assert_allclose(type(again)(**{**vars(again), "fitted": None}).place(x[:1]), first.place(x[:1]), atol=1e-9)


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore:Tensorflow")  # said on its first import
def test_only_one_umap_runs_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    import umap

    inside, most = [0], [0]
    fit = umap.UMAP.fit

    def watched(self: umap.UMAP, graph: object) -> umap.UMAP:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        fitted = fit(self, graph)
        inside[0] -= 1
        return fitted

    monkeypatch.setattr(umap.UMAP, "fit", watched)
    x = np.random.default_rng(0).normal(size=(40, 6))
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: project(x, "umap"), range(2))
    assert most == [1] and (first.points == second.points).all()


def test_what_is_no_picture_is_said() -> None:
    x, _ = clouds()
    x[3, 2] = np.nan
    for ask, message in (
        (lambda: project(x), "1 of 60 vectors"),
        (lambda: project(np.empty((0, 8))), "no vector"),
        (lambda: project(x, "isomap"), "2 or 3 dimensions"),
        (lambda: project(clouds()[0]).place(np.ones((1, 5))), "width 5"),
        (lambda: project(clouds(3)[0], "tsne"), "at least 5 rows"),
    ):
        refused(InputError, message, ask)
    for frame, colour, message in (
        (rows(0), "label", "no row"),
        (rows().drop(columns="length"), "length", "length in words"),
        (rows(), "mood", "not by 'mood'"),
    ):
        refused(InputError, message, scatter, frame, classes=("no", "yes"), colour=colour)
    plot = scatter(rows(), classes=("no", "yes"), star=(99.0, 9.0), star_name="a <warm> song").plot
    assert not re.search("<b>|<i>|<warm>", str(plot.to_dict())) and plot.data[0].name == "unlabelled (12)"


def test_inside_by_winding_and_a_long_outline_keeps_its_shape() -> None:
    assert inside(np.empty((0, 2)), [(0, 0), (4, 0), (4, 4)]).tolist() == []
    rng = np.random.default_rng(2)
    angles = np.sort(rng.uniform(0, 2 * np.pi, 15))
    outline = np.c_[np.cos(angles), np.sin(angles)] * rng.uniform(0.5, 2, 15)[:, None]
    points = rng.uniform(-2, 2, (200, 2))
    for point, is_inside in zip(points, inside(points, outline), strict=True):
        steps = np.diff(np.unwrap(np.arctan2(*(np.vstack([outline, outline[:1]]) - point).T[::-1])))
        assert is_inside == (abs(steps.sum()) > np.pi)
    angles = np.linspace(0, 2 * np.pi, 300, endpoint=False)
    circle = np.c_[np.cos(angles), np.sin(angles)]
    few = simplified(circle)
    assert len(few) == 24
    points = np.random.default_rng(0).uniform(-1.2, 1.2, (2000, 2))
    assert (inside(points, few) == (np.linalg.norm(points, axis=1) < 1)).mean() > 0.98
    np.testing.assert_array_equal(simplified(circle[:3]), circle[:3])


def test_measures_are_scikit_learns_with_intervals() -> None:
    for k in [1, 5, 10]:
        x, _ = clouds(50)
        y = np.random.default_rng(3).normal(size=(50, 2)) + x[:, :2]
        trust, continuity = trustworthiness_and_continuity(x, y, k)
        assert trust.mean() == pytest.approx(trustworthiness(x, y, n_neighbors=k), abs=1e-12)
        assert continuity.mean() == pytest.approx(trustworthiness(y, x, n_neighbors=k), abs=1e-12)
        assert trustworthiness_and_continuity(x, x, k)[0].min() == 1
    x, labels = clouds(80)
    labels[:4] = -1
    frame = measures(x, project(x).points, labels, ("no", "yes"))
    assert (frame["low"] <= frame["value"]).all() and (frame["value"] <= frame["high"]).all()
    by = frame.set_index(["measure", "space", "class"])["value"]
    known = labels >= 0
    own = silhouette_samples(x[known], labels[known])
    assert by["silhouette", "vectors", ""] == pytest.approx(own.mean(), abs=1e-5)
    assert by["silhouette", "vectors", "yes"] == pytest.approx(own[labels[known] == 1].mean(), abs=1e-5)
    assert frame.loc[frame["measure"] == "silhouette", "n"].max() == 76
    both = {"trustworthiness", "continuity"}
    cases = [(clouds(3)[0], [0, 1, 0], {"silhouette", *both}), (clouds(30)[0], [1] * 30, both), (np.ones((30, 4)), [0, 1] * 15, set())]
    cases += [(clouds(2)[0], [0, 1], {"silhouette"})]
    for x, labels, there in cases:
        frame = measures(x, project(x).points, labels, ("no", "yes"))
        assert set(frame["measure"]) == there
        if "silhouette" in there:
            assert len(measured(frame).frame) == len(frame)
            continue
        refused(InputError, "two classes", measured, frame)


def test_layers_by_hand_and_pictures_are_kept_and_turned(tmp_path: Path) -> None:
    model = small_model(components=2, mixing="free")
    texts = ["a warm song", "what a dull, hollow garden we saw!", "soup"]
    vectors = layer_vectors(model, pd.DataFrame({"text": texts}))
    for i, text in enumerate(texts):
        trace = model.trace(text)
        for layer, state in enumerate(trace.hidden):  # type: ignore[arg-type]
            by_hand = model.network.final_norm(torch.from_numpy(state.copy())).mean(dim=0).numpy()
            np.testing.assert_allclose(vectors[layer, i], by_hand, rtol=2e-3, atol=2e-3)
        np.testing.assert_allclose(vectors[-1, i], trace.pooled, rtol=2e-3, atol=2e-3)
    last, _ = clouds(40)
    stack = [last @ np.linalg.qr(np.random.default_rng(4).normal(size=(8, 8)))[0] * 3, last]
    cache = Cache(tmp_path)
    assert pictures(cache, "k", stack, "tsne", 2, compute=False) == {}
    layers = pictures(cache, "k", stack, "pca", 2)
    assert list(layers) == [1, 0] and layers[1].turn.rotation is None
    np.testing.assert_allclose(layers[0].points, align(layers[0].raw, layers[1].points)(layers[0].raw))
    np.testing.assert_allclose(layers[0].points, layers[1].points, atol=1e-6)  # the same cloud, only turned and scaled
    read = pictures(Cache(tmp_path), "k", stack, "pca", 2, compute=False)[0]
    np.testing.assert_allclose(read.points, layers[0].points)
    assert read.parameters == layers[0].parameters
    assert list(pictures(cache, "k", [None, last], "pca", 2)) == list(pictures(cache, "k", stack, "pca", 2, 1)) == [1]


def test_a_cache_forgets_the_oldest_and_ignores_damage(tmp_path: Path) -> None:
    cache = Cache(tmp_path, disk=2_500, memory=1)
    for i, name in enumerate("abc"):
        cache.put(name, {"x": np.full(125, i)})
        time.sleep(0.02)
    assert sorted(path.stem for path in tmp_path.glob("*.safetensors")) == ["b", "c"]
    (tmp_path / "c.safetensors").write_bytes(b"damaged")
    fresh = Cache(tmp_path)
    assert [fresh.get(name) is not None for name in "abc"] == [False, True, False]
    fresh.put("d", {"x": np.zeros(2)}, disk=False)
    assert not (tmp_path / "d.safetensors").exists() and digest("a", 1) != digest("a1")
    (tmp_path / "file").write_text("no folder")
    cache = Cache(tmp_path / "file" / "pictures")
    cache.put("a", {"x": np.arange(3)})
    assert "memory only" in cache.problem
    assert cache.get("a")["x"].tolist() == [0, 1, 2]  # type: ignore[index]


def waited(jobs: Jobs, key: str) -> str:
    """Return the state of a job once it has ended."""
    end = time.monotonic() + 10
    while (job := jobs.get(key)) is not None and not job.is_over:
        assert time.monotonic() < end
        time.sleep(0.005)
    assert job is not None
    return job.state


def test_one_job_for_all_who_wait() -> None:
    jobs, calls, go = Jobs(), [], threading.Event()

    def work(job: Job) -> int:
        calls.append(1)
        while not go.is_set():
            job.tick(0.5, "waiting")
            time.sleep(0.002)
        return 7

    first, second = jobs.start("k", "work", work, "one"), jobs.start("k", "work", work, "two")
    assert first is second
    jobs.leave("k", "one")
    go.set()
    assert waited(jobs, "k") == "done" and (first.result, len(calls)) == (7, 1)
    go.clear()
    jobs.start("other", "work", work, "one")
    jobs.leave("other", "one")
    assert waited(jobs, "other") == "stopped"
    go.set()
    jobs.start("other", "work", work, "one")
    assert waited(jobs, "other") == "done"


def rows(n: int = 12) -> pd.DataFrame:
    """Return unlabelled rows with unusual ids."""
    frame = pd.DataFrame({"id": [f"<b>{i}</b>" for i in range(n)], "label": -1, "predicted": 0, "right": False, "confidence": 0.9})
    return frame.assign(length=range(1, n + 1), text="a <i>warm</i> song $x$", x=range(n), y=0.5)
