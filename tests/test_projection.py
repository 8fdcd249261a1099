"""Pictures of vectors, what they keep, and what is kept of them on disk, against loops, scikit-learn and scipy."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from sklearn.metrics import silhouette_samples

from sentviz.analysis.embeddings.cache import Cache, digest, layer_vectors, pictures, stored_sample
from sentviz.analysis.embeddings.projection import METHODS, align, inside, nearest, project, simplified
from sentviz.analysis.embeddings.silhouette import measures, trustworthiness_and_continuity
from sentviz.charts.scatter import COLOURS, measured, scatter
from sentviz.errors import InputError, RunError, SentvizError, Stopped
from sentviz.export.files import render
from sentviz.runs.store import Run
from sentviz.serving.jobs import Job, Jobs
from tests.kit import small_model

Floats = npt.NDArray[np.float64]
RUN = Path(__file__).parents[1] / "checkpoints" / "sst2" / "ndt-unit-2"


def clouds(n: int = 60, width: int = 8, seed: int = 0) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return two clouds of points and their labels."""
    rng, labels = np.random.default_rng(seed), np.arange(n) % 2
    return rng.normal(size=(n, width)) + 3 * labels[:, None], labels


# ---- pictures


def test_pca_is_scikit_learns_up_to_signs() -> None:
    from sklearn.decomposition import PCA

    x, _ = clouds()
    theirs = PCA(3).fit(x)
    ours = project(x, "pca", 3)
    for mine, reference in zip(ours.points.T, theirs.transform(x).T, strict=True):
        assert min(np.abs(mine - reference).max(), np.abs(mine + reference).max()) < 1e-9
    np.testing.assert_allclose(ours.shares, theirs.explained_variance_ratio_, atol=1e-12)
    np.testing.assert_allclose(ours.place(x[:4]), ours.points[:4], atol=1e-9)


@pytest.mark.exhaustive
@pytest.mark.parametrize("dims", [2, 3])
def test_tsne_keeps_the_clouds_apart_and_places_new_points_with_their_own(dims: int) -> None:
    """The same seed gives the same picture; a vector of a cloud is placed among its points, and the other points stay."""
    x, labels = clouds()
    first, again = project(x, "tsne", dims), project(x, "tsne", dims)
    np.testing.assert_array_equal(first.points, again.points)
    assert first.parameters["perplexity"] == pytest.approx(59 / 3)
    assert silhouette_samples(first.points, labels).mean() > 0.5
    at = first.place(x[labels == 1][:3] + 0.01)
    own, other_cloud = (np.linalg.norm(at - first.points[labels == k].mean(axis=0), axis=1) for k in (1, 0))
    assert (own < other_cloud).all()
    read = project(x, "tsne", dims)
    np.testing.assert_allclose(type(read)(**{**vars(read), "fitted": None}).place(x[:1]), first.place(x[:1]), atol=1e-9)


@pytest.mark.exhaustive
def test_umap_keeps_the_clouds_apart_and_places_new_points_with_their_own() -> None:
    """UMAP from exact neighbours gives the same result twice, also if rows occur many times, and places new points with their own cloud."""
    x, labels = clouds()
    x[10:20] = x[10]
    labels[10:20] = labels[10]
    first = project(x, "umap")
    np.testing.assert_array_equal(first.points, project(x, "umap").points)
    assert silhouette_samples(first.points, labels).mean() > 0.5
    at = first.place(x[labels == 1][:3] + 0.01)
    own, other_cloud = (np.linalg.norm(at - first.points[labels == k].mean(axis=0), axis=1) for k in (1, 0))
    assert (own < other_cloud).all()


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore:Tensorflow")  # said on its first import
def test_only_one_umap_runs_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fits of two threads never overlap, because umap's compiled parts end the process if two threads enter them."""
    import umap

    inside, most = [0], [0]
    fit = umap.UMAP.fit

    def watched(self: umap.UMAP, graph: object) -> umap.UMAP:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        time.sleep(0.2)
        fitted = fit(self, graph)
        inside[0] -= 1
        return fitted

    monkeypatch.setattr(umap.UMAP, "fit", watched)
    x = np.random.default_rng(0).normal(size=(40, 6))
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: project(x, "umap"), range(2))
    assert most == [1]
    np.testing.assert_array_equal(first.points, second.points)


@pytest.mark.exhaustive
def test_few_rows_lower_the_perplexity_or_name_pca() -> None:
    x, _ = clouds(5)
    assert project(x, "tsne").parameters["perplexity"] == pytest.approx(4 / 3)
    for n in (1, 2, 3):
        assert project(x[:n]).points.shape == (n, 2)
        with pytest.raises(InputError, match="at least 5 rows"):
            project(x[:n], "tsne")


def test_equal_vectors_lie_on_one_point() -> None:
    for method in METHODS:
        same = project(np.ones((9, 4)), method)
        assert np.ptp(same.points) == 0
        np.testing.assert_array_equal(same.place(np.ones((1, 4))), same.points[:1])


def test_what_is_no_picture_is_said() -> None:
    x, _ = clouds()
    x[3, 2] = np.nan
    with pytest.raises(InputError, match="1 of 60 vectors"):
        project(x)
    with pytest.raises(InputError, match="no vector"):
        project(np.empty((0, 8)))
    with pytest.raises(InputError, match="2 or 3 dimensions"):
        project(x, "isomap")
    with pytest.raises(InputError, match="width 5"):
        project(clouds()[0]).place(np.ones((1, 5)))


def test_fewer_axes_than_dimensions_are_flat() -> None:
    x = np.outer(np.arange(6.0), [3.0, 4.0])
    points = project(x, "pca", 3).points
    np.testing.assert_allclose(np.abs(points[:, 0]), 5 * np.abs(np.arange(6) - 2.5), atol=1e-12)
    np.testing.assert_allclose(points[:, 1:], 0, atol=1e-7)


@pytest.mark.exhaustive
def test_progress_is_told_and_can_stop() -> None:
    shares: list[float] = []

    def tick(share: float, doing: str) -> None:
        shares.append(share)
        if share > 0.5:
            raise Stopped

    with pytest.raises(Stopped):
        project(clouds()[0], "tsne", tick=tick)
    assert all(a <= b for a, b in pairwise(shares))


def test_turning_undoes_a_rotation_a_reflection_a_shift_and_a_scale() -> None:
    """The alignment equals scipy's orthogonal Procrustes; sizes become equal even if the pictures have little in common."""
    from scipy.linalg import orthogonal_procrustes

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


def test_neighbours_by_sorting_all() -> None:
    x, _ = clouds(23)
    neighbours, away = nearest(x, 4)
    for i, row in enumerate(x):
        far = sorted((float(np.linalg.norm(row - candidate)), j) for j, candidate in enumerate(x) if j != i)
        assert neighbours[i].tolist() == [j for _, j in far[:4]]
        np.testing.assert_allclose(away[i], [d for d, _ in far[:4]], atol=1e-9)


# ---- outlines


def test_inside_an_outline() -> None:
    """Points in a square, in a concave arrow and its notch, and a distant point are classified as by a ray."""
    square = [(0, 0), (4, 0), (4, 4), (0, 4)]
    arrow = [(0, 0), (4, 0), (4, 4), (2, 1), (0, 4)]
    points = [(1, 0.5), (2, 3), (5, 2), (3.5, 3), (-1, -1)]
    assert inside(points, square).tolist() == [True, True, False, True, False]
    assert inside(points, arrow).tolist() == [True, False, False, True, False]
    assert inside(np.empty((0, 2)), square).tolist() == []


def test_inside_by_winding() -> None:
    """`inside` equals the winding angle for random star-shaped outlines."""
    rng = np.random.default_rng(2)
    angles = np.sort(rng.uniform(0, 2 * np.pi, 15))
    outline = np.c_[np.cos(angles), np.sin(angles)] * rng.uniform(0.5, 2, 15)[:, None]
    points = rng.uniform(-2, 2, (200, 2))
    for point, is_inside in zip(points, inside(points, outline), strict=True):
        steps = np.diff(np.unwrap(np.arctan2(*(np.vstack([outline, outline[:1]]) - point).T[::-1])))
        assert is_inside == (abs(steps.sum()) > np.pi)


def test_a_long_outline_keeps_its_shape_with_24_corners() -> None:
    angles = np.linspace(0, 2 * np.pi, 300, endpoint=False)
    circle = np.c_[np.cos(angles), np.sin(angles)]
    few = simplified(circle)
    assert len(few) == 24
    points = np.random.default_rng(0).uniform(-1.2, 1.2, (2000, 2))
    assert (inside(points, few) == (np.linalg.norm(points, axis=1) < 1)).mean() > 0.98
    np.testing.assert_array_equal(simplified(circle[:3]), circle[:3])
    sides = np.linspace(0, 1, 40)[:, None]
    box = np.concatenate(
        [a + sides * (np.array(b) - a) for a, b in pairwise(np.array([(0, 0), (4, 0), (4, 3), (0, 3), (0, 0)], dtype=float))]
    )
    assert {tuple(corner) for corner in simplified(box)} == {(0, 0), (4, 0), (4, 3), (0, 3)}


# ---- measures


@pytest.mark.parametrize("k", [1, 5, 10])
def test_what_is_kept_is_scikit_learns(k: int) -> None:
    from sklearn.manifold import trustworthiness

    x, _ = clouds(50)
    y = np.random.default_rng(3).normal(size=(50, 2)) + x[:, :2]
    trust, continuity = trustworthiness_and_continuity(x, y, k)
    assert trust.mean() == pytest.approx(trustworthiness(x, y, n_neighbors=k), abs=1e-12)
    assert continuity.mean() == pytest.approx(trustworthiness(y, x, n_neighbors=k), abs=1e-12)
    assert trustworthiness_and_continuity(x, x, k)[0].min() == 1


def test_measures_have_intervals_around_their_means() -> None:
    x, labels = clouds(80)
    labels[:4] = -1
    frame = measures(x, project(x).points, labels, ("no", "yes"))
    assert (frame["low"] <= frame["value"]).all()
    assert (frame["value"] <= frame["high"]).all()
    by = frame.set_index(["measure", "space", "class"])["value"]
    known = labels >= 0
    own = silhouette_samples(x[known], labels[known])
    assert by["silhouette", "vectors", ""] == pytest.approx(own.mean(), abs=1e-5)
    assert by["silhouette", "vectors", "yes"] == pytest.approx(own[labels[known] == 1].mean(), abs=1e-5)
    assert frame.loc[frame["measure"] == "silhouette", "n"].max() == 76


@pytest.mark.parametrize(
    ("x", "labels", "there"),
    [
        (clouds(3)[0], [0, 1, 0], {"silhouette", "trustworthiness", "continuity"}),
        (clouds(30)[0], [1] * 30, {"trustworthiness", "continuity"}),
        (np.ones((30, 4)), [0, 1] * 15, set()),
        (clouds(2)[0], [0, 1], {"silhouette"}),
    ],
    ids=["three rows", "one class", "equal", "two rows"],
)
def test_degenerate_rows_have_the_measures_that_they_have(x: Floats, labels: list[int], there: set[str]) -> None:
    frame = measures(x, project(x).points, labels, ("no", "yes"))
    assert set(frame["measure"]) == there
    if "silhouette" not in there:
        with pytest.raises(InputError, match="two classes"):
            measured(frame)
    else:
        assert len(measured(frame).frame) == len(frame)


# ---- vectors, cache, jobs


def test_layers_by_hand() -> None:
    """Every layer of every text equals the model's norm and pooling, one text at a time; the last layer is the pooled vector."""
    import torch

    model = small_model(components=2, mixing="free")
    texts = ["a warm song", "what a dull, hollow garden we saw!", "soup"]
    vectors = layer_vectors(model, pd.DataFrame({"text": texts}))
    for i, text in enumerate(texts):
        trace = model.trace(text)
        assert trace.hidden is not None
        assert trace.pooled is not None
        for layer, state in enumerate(trace.hidden):
            by_hand = model.network.final_norm(torch.from_numpy(state.copy())).mean(dim=0).numpy()
            np.testing.assert_allclose(vectors[layer, i], by_hand, rtol=2e-3, atol=2e-3)
        np.testing.assert_allclose(vectors[-1, i], trace.pooled, rtol=2e-3, atol=2e-3)


@pytest.mark.skipif(not RUN.is_dir(), reason="sst2/ndt-unit-2 is not in checkpoints/")
def test_the_stored_sample_fits_the_test_split_or_is_damaged() -> None:
    run = Run.open(RUN)
    places, pooled = stored_sample(run, 10_234)
    assert len(places) == len(pooled) == 1000
    with pytest.raises(RunError, match="do not fit the 500 rows"):
        stored_sample(run, 500)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_pictures_are_kept_and_turned_onto_the_layer_above(tmp_path: Path) -> None:
    """A second cache on the same folder computes nothing; a layer is as near to the one above as a rotation can bring it."""
    rng = np.random.default_rng(4)
    last, _ = clouds(40)
    spin = np.linalg.qr(rng.normal(size=(8, 8)))[0]
    stack = [last @ spin * 3, last]
    cache = Cache(tmp_path)
    assert pictures(cache, "k", stack, "tsne", 2, compute=False) == {}
    layers = pictures(cache, "k", stack, "tsne", 2)
    assert list(layers) == [1, 0]
    low, high = layers[0], layers[1]
    assert high.turn.rotation is None
    np.testing.assert_allclose(low.points, align(low.raw, high.points)(low.raw))
    read = pictures(Cache(tmp_path), "k", stack, "tsne", 2, compute=False)[0]
    np.testing.assert_allclose(read.points, low.points)
    assert read.parameters == low.parameters
    flat = pictures(cache, "k", stack, "pca", 2)
    np.testing.assert_allclose(flat[0].points, flat[1].points, atol=1e-6)  # the same cloud, only turned and scaled


@pytest.mark.exhaustive
def test_pictures_end_above_what_is_not_at_hand(tmp_path: Path) -> None:
    """Pictures end above a layer without vectors or picture, and at the requested layer."""
    stack = [clouds(40, seed=seed)[0] for seed in range(3)]
    cache = Cache(tmp_path)
    assert list(pictures(cache, "k", [None, None, stack[2]], "pca", 2)) == [2]
    assert list(pictures(cache, "k", [*[None] * 3], "pca", 2)) == []
    assert list(pictures(cache, "k", stack, "tsne", 2, 1)) == [2, 1]
    assert list(pictures(cache, "k", stack, "tsne", 2, compute=False)) == [2, 1]


def test_a_cache_that_cannot_be_written_keeps_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    cache = Cache(tmp_path / "file" / "pictures")
    cache.put("a", {"x": np.arange(3)})
    assert "memory only" in cache.problem
    value = cache.get("a")
    assert value is not None
    assert value["x"].tolist() == [0, 1, 2]


def test_a_cache_forgets_the_oldest_and_ignores_damage(tmp_path: Path) -> None:
    cache = Cache(tmp_path, disk=2_500, memory=1)
    for i, name in enumerate("abc"):
        cache.put(name, {"x": np.full(125, i)})
        time.sleep(0.02)
    assert sorted(path.stem for path in tmp_path.glob("*.safetensors")) == ["b", "c"]
    (tmp_path / "c.safetensors").write_bytes(b"damaged")
    fresh = Cache(tmp_path)
    assert fresh.get("c") is None
    assert fresh.get("a") is None
    assert fresh.get("b") is not None
    fresh.put("d", {"x": np.zeros(2)}, disk=False)
    assert not (tmp_path / "d.safetensors").exists()
    assert digest("a", 1) != digest("a1")


def waited(jobs: Jobs, key: str) -> str:
    """Return the state of a job once it has ended."""
    end = time.monotonic() + 10
    while (job := jobs.get(key)) is not None and not job.is_over:
        assert time.monotonic() < end
        time.sleep(0.005)
    assert job is not None
    return job.state


def test_one_job_for_all_who_wait() -> None:
    """Two visitors share a job, which continues while one stays and stops when both have left."""
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
    assert waited(jobs, "k") == "done"
    assert (first.result, len(calls)) == (7, 1)
    go.clear()
    jobs.start("other", "work", work, "one")
    jobs.leave("other", "one")
    assert waited(jobs, "other") == "stopped"
    go.set()
    jobs.start("other", "work", work, "one")
    assert waited(jobs, "other") == "done"


def test_a_failed_job_says_why_and_finished_ones_are_bounded(caplog: pytest.LogCaptureFixture) -> None:
    jobs = Jobs(max_finished=3)

    def sentence(job: Job) -> None:
        raise SentvizError("No vector is here.")

    def accident(job: Job) -> None:
        raise KeyError("x")

    jobs.start("a", "a", sentence)
    assert waited(jobs, "a") == "failed"
    assert jobs.get("a").error == "No vector is here."  # type: ignore[union-attr]
    jobs.start("b", "the b", accident)
    assert waited(jobs, "b") == "failed"
    assert jobs.get("b").error.startswith("the b failed")  # type: ignore[union-attr]
    for i in range(6):
        jobs.start(str(i), "n", lambda job: 1)
        waited(jobs, str(i))
    assert jobs.get("a") is None
    assert jobs.get("5") is not None


# ---- figures


def rows(n: int = 12, dims: int = 2, unlabelled: bool = False) -> pd.DataFrame:
    """Return rows of two classes with unusual ids."""
    rng = np.random.default_rng(5)
    label = np.full(n, -1) if unlabelled else np.arange(n) % 2
    predicted = np.arange(n) // 2 % 2
    frame = pd.DataFrame({"id": [f"<b>{i}</b>" for i in range(n)], "label": label, "predicted": predicted, "right": label == predicted})
    frame = frame.assign(confidence=rng.uniform(0.5, 1, n), length=np.arange(n) + 1, text=["a <i>warm</i> song $x$"] * n)
    return frame.assign(**{letter: rng.normal(size=n) for letter in "xyz"[:dims]})


@pytest.mark.exhaustive
@pytest.mark.parametrize("colour", COLOURS)
@pytest.mark.parametrize("dims", [2, 3])
def test_every_colour_in_every_dimension(colour: str, dims: int) -> None:
    """Every row is drawn once, wrong ones with a ring; categories have symbols, and no text of a row is markup."""
    frame = rows(dims=dims)
    figure = scatter(frame, classes=("<no>", "yes"), colour=colour, chosen=frame["label"] == 1)
    traces = [trace for trace in figure.plot.data if trace.marker.symbol != "circle-open"]
    assert sum(len(trace.x) for trace in traces) == 12
    rings = [trace for trace in figure.plot.data if trace.marker.symbol == "circle-open"]
    assert len(rings) == (colour != "right")
    assert all(len(ring.x) == int((~frame["right"] & (frame["label"] == 1)).sum()) for ring in rings)
    legend = [trace for trace in traces if trace.showlegend]
    assert len({trace.marker.symbol for trace in legend}) == len(legend) == 2
    assert list(figure.frame.columns[: 1 + dims]) == ["id", *"xyz"[:dims]]
    assert figure.frame["chosen"].sum() == 6
    assert "<b>" not in str(figure.plot.to_dict())
    assert "<i>" not in str(figure.plot.to_dict())
    assert "<no>" not in str(figure.plot.to_dict())


def test_many_points_are_drawn_by_webgl_and_leave_as_vectors() -> None:
    frame = rows(2_400)
    assert {trace.type for trace in scatter(frame, classes=("no", "yes")).plot.data} == {"scattergl"}
    assert {trace.type for trace in scatter(frame, classes=("no", "yes"), webgl=False).plot.data} == {"scatter"}
    assert {trace.type for trace in scatter(frame[:50], classes=("no", "yes")).plot.data} == {"scatter"}


def test_the_star_and_the_outline_are_drawn() -> None:
    figure = scatter(rows(), classes=("no", "yes"), star=(9.0, 9.0), star_name="a <warm> song", outline=[(0, 0), (1, 0), (0, 1)])
    star = next(trace for trace in figure.plot.data if trace.name == "your sentence")
    assert star.marker.symbol == "star"
    assert "<warm>" not in star.text[0]
    assert figure.plot.layout.xaxis.range[1] > 9
    assert figure.plot.layout.shapes[0].path.endswith("Z")
    assert "a <warm> song" in figure.caption


def test_the_colour_bar_comes_with_points_that_are_there() -> None:
    """The colour bar is drawn although the first class has no chosen row."""
    figure = scatter(rows(), classes=("no", "yes"), colour="confidence", chosen=rows()["predicted"] == 1)
    assert [len(trace.x) for trace in figure.plot.data if trace.marker.showscale] == [6]


def test_a_picture_needs_rows_and_a_colour_that_they_have() -> None:
    with pytest.raises(InputError, match="no row"):
        scatter(rows(0), classes=("no", "yes"))
    with pytest.raises(InputError, match="length in words"):
        scatter(rows().drop(columns="length"), classes=("no", "yes"), colour="length")
    with pytest.raises(InputError, match="not by 'mood'"):
        scatter(rows(), classes=("no", "yes"), colour="mood")
    names = [trace.name for trace in scatter(rows(unlabelled=True), classes=("no", "yes")).plot.data]
    assert names == ["unlabelled (12)"]


def test_the_numbers_leave_as_csv() -> None:
    head = render(scatter(rows(), classes=("no", "yes"), colour="confidence"), "csv").decode("utf-8-sig").splitlines()[0]
    assert head == "id,x,y,confidence,right"
