"""The theorem on simulated runs, the animation of clustering and its files, the step of one token, and clustering in numbers."""

import io
import json
import re
from base64 import b64decode
from types import SimpleNamespace

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from scipy.spatial import ConvexHull

from sentviz.analysis.testset.leaders import MEASURES, NEAR, at_leaders, followed
from sentviz.browser.particles import animation_html, positions_frame, scene_data
from sentviz.charts import Figure
from sentviz.charts import scene as scenes
from sentviz.charts.gallery import make
from sentviz.charts.particles import particles
from sentviz.charts.plane import hull, label_places
from sentviz.charts.scene import limits, look_at, scene_of, seen, together
from sentviz.charts.subjects import Study
from sentviz.charts.token_step import token_step
from sentviz.errors import InputError, SentvizError
from sentviz.export.animation import END, LAYER, MILLISECONDS, TWEENS, animation_gif, moments
from sentviz.export.chromium import find_browser
from sentviz.export.files import render
from sentviz.models.clustering import simulate, weights
from sentviz.models.clustering.polytope import ACCURACY, Statement, _apart, _depth, limit, projection, theory
from sentviz.models.hardmax import HardmaxModel
from sentviz.papers.hardmax import figures, study
from tests.charts import B, W, clustered, decided, figure_of, of_leaders, picture
from tests.kit import random_model, refused

HOSTILE = ("</script><script>window.hacked=true</script>", "<img src=x onerror=hack()>", "=1+1", "$x$ **b** &lt;", "שלום", "\u200b")
HOSTILE += ("😀" * 40,)


def test_places_hulls_edges_and_labels() -> None:
    for d in [1, 2, 3]:
        for seed in range(4):
            rng = np.random.default_rng(seed)
            z = rng.normal(size=(5, d))[rng.integers(0, 5, 60)] + 0.02 * rng.normal(size=(60, d))
            room, firsts, place = scenes.NEAR * max(np.linalg.norm(row) for row in z), list[int](), dict[int, int]()
            for i in sorted(range(len(z)), key=lambda i: tuple(z[i])):
                place[i] = next((n for n, first in enumerate(firsts) if np.linalg.norm(z[i] - z[first]) <= room), len(firsts))
                firsts += [i] * (place[i] == len(firsts))
            groups = together(z)
            assert len(set(groups)) == len({(place[i], group) for i, group in enumerate(groups)}) == len(firsts)
            assert (np.diff(np.bincount(groups)) <= 0).all()
    for seed in range(5):
        z = np.concatenate([np.random.default_rng(seed).normal(size=(40, 2)), [[0, 0]] * 3])
        assert set(hull(z)) == set(ConvexHull(z).vertices)
        around = z[hull(z)]
        area = 0.5 * np.sum(around[:, 0] * np.roll(around[:, 1], -1) - np.roll(around[:, 0], -1) * around[:, 1])
        assert area == pytest.approx(ConvexHull(z).volume)
    square = np.array([[0, 0], [1, 0], [2, 0], [2, 2], [0, 2], [1, 2], [2, 2]])
    assert sorted(map(tuple, square[hull(square)])) == [(0, 0), (0, 2), (2, 0), (2, 2)]
    for points in ([[1.0, 2.0]], [[1.0, 2.0]] * 4, [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]):
        z = np.array(points)
        assert {tuple(z[i]) for i in hull(z)} == {tuple(z.min(axis=0)), tuple(z.max(axis=0))}
    rng = np.random.default_rng(0)
    points = rng.uniform(0, 300, (120, 2))
    sizes = [(float(w), 16.0) for w in rng.uniform(20, 90, 120)]
    placed = label_places(points, sizes, [8.0] * 120, (300.0, 300.0), occupied=[(0.0, 0.0, 50.0, 50.0)])
    boxes = [(x, y, *sizes[i]) for i, (x, y) in placed.items()] + [(0.0, 0.0, 50.0, 50.0)]
    assert 5 < len(placed) < 120
    for i, (a, b, w, h) in enumerate(boxes):
        assert a >= 0 and b >= 0 and a + w <= 300 and b + h <= 300
        for c, d, v, g in boxes[:i]:
            assert a >= c + v or c >= a + w or b >= d + g or d >= b + h
    cube = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
    scene = scene_of(simulate(cube, layers=2), tuple(map(str, range(8))), "A cube")
    assert len(scene.edges) == 12 and all(np.abs(cube[a] - cube[b]).sum() == 2 for a, b in scene.edges)
    assert np.allclose(np.linalg.norm(seen(np.eye(3)), axis=1) <= 1 + 1e-12, True)


def test_planes_are_orthonormal_and_the_scene_follows_the_rule() -> None:
    z = clustered(30, 5).positions
    for look in ("spread", "decision", "axes"):
        basis, names = look_at(z, look, w=np.arange(1.0, 6), axes=(3, 1))
        assert np.allclose(basis @ basis.T, np.eye(2)) and len(names) == 2
    assert look_at(z, "axes", axes=(3, 1))[1] == ("z₄", "z₂")
    points = z.reshape(-1, 5)
    spread = (points - points.mean(axis=0)) @ look_at(z)[0].T
    values = np.sort(np.linalg.eigvalsh(np.cov(points.T, bias=True)))[::-1]
    assert np.allclose(spread.var(axis=0), values[:2])
    for d in [2, 5]:
        clustering = clustered(20, d)
        scene = decided(clustering, look="decision")
        assert scene.decision is not None
        drawn = scene.positions @ scene.decision[0] + scene.decision[1]
        assert np.allclose(drawn, clustering.positions @ np.resize(W, d) + B)
        for look in ("spread", "axes") if d > 2 else ():
            plane = decided(clustering, look=look)
            assert plane.decision is not None and plane.means is not None and plane.probabilities is not None
            last = 1 / (1 + np.exp(-(plane.means[-1] @ plane.decision[0] + plane.decision[1])))
            assert last == pytest.approx(plane.probabilities[-1]) and "final mean" in plane.note
    for seed in range(2):
        clustering = clustered(40, 2, seed, layers=40)
        scene = decided(clustering)
        assert scene.toward is not None and scene.corners is not None
        for k in range(scene.layers):
            scores = clustering.positions[k] @ clustering.positions[k].T
            assert np.allclose(scores[np.arange(40), scene.toward[k]], scores.max(axis=1))
        ends = clustering.positions[-1, clustering.leaders]
        assert {tuple(c) for c in np.round(scene.corners, 9)} <= {tuple(e) for e in np.round(ends, 9)}
        solid = ConvexHull(ends)
        assert (clustering.positions[-1] @ solid.equations[:, :2].T + solid.equations[:, 2]).max() < 1e-9
    clustering = clustered(12, 2)
    scene = decided(clustering, pinned=(3,))
    data = json.loads(json.dumps(scene_data(scene, chosen=2)))
    sent = np.frombuffer(b64decode(data["positions"]), dtype="<f4").reshape(9, 12, 2)
    assert np.allclose(sent, clustering.positions, atol=1e-6)
    assert np.frombuffer(b64decode(data["groups"]), dtype="<i4").tolist() == scene.groups.tolist()
    assert np.frombuffer(b64decode(data["toward"]), dtype="<i4").reshape(8, 12).tolist() == scene.toward.tolist()  # type: ignore[union-attr]
    assert data["leaders"] == clustering.leaders.tolist() and data["since"] == clustering.since.tolist()
    assert data["clusters"] == [len(set(together(state))) for state in clustering.positions]
    assert (data["chosen"], data["pinned"], data["layers"]) == (2, [3], 8)
    assert data["mark"] != scene_data(decided(clustered(12, 2, alpha=2.0)))["mark"]
    assert data["id"] == scene_data(decided(clustered(12, 2, alpha=2.0)))["id"]


def test_ties_softmax_lines_and_limits() -> None:
    scene = scene_of(simulate([[1, 0], [1, 0], [-1, 0.1]], layers=1), ("a", "b", "c"), "Two alike")
    assert scene.toward is not None and scene.toward[0].tolist() == [1, 0, 2]
    soft = decided(clustered(temperature=0.5))
    assert soft.toward is None and soft.corners is None and soft.edges == ()
    line = scene_of(simulate([[1.0], [-2.0], [0.5]], layers=3), ("a", "b", "c"), "On a line")
    assert line.positions.shape == (4, 3, 2) and np.allclose(line.positions[..., 1], 0)
    clustering = clustered(30, 2, 3, layers=5)
    places, when, reached = limits(clustering)
    far = clustered(30, 2, 3, layers=300).positions
    assert reached and 5 < when < 300 and np.abs(places - far[-1]).max() < 1e-8
    assert not limits(clustered(30, 2, 3, layers=2, alpha=1e-3), layers=5)[2]
    for alpha in [0.1, 5.0]:
        clustering = clustered(30, 2, 3, layers=5, alpha=alpha)
        assert limits(clustering)[1:] == (limit(clustering).settled, True)


def test_one_layer_as_a_figure() -> None:
    clustering = clustered(30)
    figure, space = particles(decided(clustering), 3), particles(scene_of(clustered(30, 3), tuple(map(str, range(30))), "Points"), 0)
    assert np.allclose(figure.frame[["axis_1", "axis_2"]], clustering.positions[3])
    assert np.allclose(figure.frame["probability_positive"], 1 / (1 + np.exp(-(clustering.positions[3] @ W + B))))
    assert figure.frame.loc[figure.frame["leader"], "token"].tolist() == clustering.leaders.tolist()
    assert "after layer 3 of 8" in figure.plot.layout.title.text and "at the start" in space.plot.layout.title.text
    assert {"axis_1", "axis_2", "axis_3"} <= set(space.frame) and not any(name.startswith("probability") for name in space.frame)
    for layer in (-1, 9):
        with pytest.raises(InputError, match="from 0"):
            particles(decided(clustering), layer)
    for tokens in [np.zeros((1, 2)), np.zeros((2, 2)), np.ones((3, 2)), np.eye(3)[:, :2]]:
        scene = decided(simulate(tokens, layers=2))
        assert len(particles(scene).frame) == len(tokens) and animation_html(scene)


def test_the_page_is_one_file_in_which_words_are_text(monkeypatch: pytest.MonkeyPatch) -> None:
    clustering = clustered(len(HOSTILE))
    scene = decided(clustering, HOSTILE)
    texts = [note.text for note in particles(scene, 0).plot.layout.annotations]
    assert any("&lt;" in text for text in texts) and not any("<img" in text or "<script" in text for text in texts)
    page = animation_html(scene, about=HOSTILE[0])
    assert page.count("</script>") == 2  # the data and the code
    assert "<img" not in page
    data = re.search(r'<script type="application/json" id="scene">(.*?)</script>', page)
    assert data is not None and json.loads(data[1])["words"][:2] == list(HOSTILE[:2])
    table = render(Figure("positions", picture(go.Figure()), positions_frame(clustering, HOSTILE), ""), "csv").decode("utf-8-sig")
    assert ",'=1+1," in table
    scene = decided(clustered(30))
    page = animation_html(scene)
    assert page == animation_html(decided(clustered(30))) != animation_html(scene, theme="dark")
    assert "default-src 'none'" in page and "export default" not in page and not re.search(r"https?://|src=|@import|url\(", page)
    monkeypatch.setattr("sentviz.export.chromium.find_browser", lambda: None)
    refused(SentvizError, "GIF needs Chrome or Chromium", animation_gif, scene)
    assert moments(2, 3) == [0.0] * 3 + [k / TWEENS for k in range(1, TWEENS)] + [1.0] * (4 + END)
    assert moments(1, 3) == [0.0] * (3 + END) and max(moments(400, 3)) == 24


@pytest.mark.skipif(find_browser() is None, reason="no Chrome or Chromium on this machine")
@pytest.mark.exhaustive
def test_the_gif_is_the_animation() -> None:
    scene, small = decided(clustered(30)), decided(simulate(np.ones((len(HOSTILE), 2)), layers=2), HOSTILE)
    data = animation_gif(scene, width=360, height=250)
    assert data == animation_gif(decided(clustered(30)), width=360, height=250)
    assert Image.open(io.BytesIO(animation_gif(small, width=240, height=180))).size == (240, 180)
    picture = Image.open(io.BytesIO(data))
    assert picture.size == (360, 250) and picture.info["loop"] == 0
    frames, time = [], 0
    for frame in range(picture.n_frames):
        picture.seek(frame)
        time += picture.info["duration"]
        frames.append(np.asarray(picture.convert("RGB"), dtype=int))
    assert time == (LAYER + 8 * (TWEENS + LAYER) + END) * MILLISECONDS and np.abs(frames[-1] - frames[0]).max() > 50
    refused(InputError, "wide", animation_gif, scene, width=10)


def test_the_step_of_a_token_and_of_leaders() -> None:
    for d, heat in [(2, 0.0), (5, 0.0), (5, 0.7)]:
        rng = np.random.default_rng(d)
        z, A = rng.normal(size=(12, d)), np.diag(np.arange(1.0, d + 1))
        table = weights(z, A, heat)
        i = int(np.argmin(np.diag(table)))  # no leader
        figure = token_step(z, i, table[i], 0.8, [f"word{i}" for i in range(12)], A=A)
        direction = A @ z[i] / np.linalg.norm(A @ z[i])
        assert np.allclose(figure.frame["projection"], [direction @ row for row in z])
        if heat == 0:
            assert figure.frame.index[figure.frame["follows"]].tolist() == [int(np.argmax(z @ A @ z[i]))]
        goal = z[i] + 0.8 / 1.8 * (table[i] @ z - z[i])
        assert np.allclose(simulate(z, A, 0.8, 1, temperature=heat).positions[1, i], goal)
        arrow = figure.plot.layout.annotations[0]
        assert np.hypot(arrow.x - arrow.ax, arrow.y - arrow.ay) == pytest.approx(np.linalg.norm(goal - z[i]))
    z, words = np.array([[2.0, 0.0], [1.0, 0.1], [-1.0, 0.0]]), ["lead", "follow", "<b>other</b>"]
    assert "it is a leader and does not move" in token_step(z, 0, [1, 0, 0], 1.0, words).caption
    figure = token_step(z, 1, [1, 0, 0], 1.0, words)
    assert "50\u00a0% of the way to it" in figure.caption and not any("<b>other" in note.text for note in figure.plot.layout.annotations)
    assert "is pinned" in token_step(z, 1, [1, 0, 0], 1.0, words, pinned=True).caption
    z = np.array([[1.0, 0.2], [2.0, 0.0], [2.0, 0.0], [2.0, 0.01], [-1.0, 0.0]])
    figure = token_step(z, 0, [0, 0.3, 0.3, 0.3, 0.1], 1.0, ["here", "great", "great", "great", "other"])
    assert [note.text for note in figure.plot.layout.annotations if "great" in note.text] == ["<b>great 90\u00a0%</b>"]
    for flat in (np.ones((3, 3)), np.array([[1.0, 0, 0], [2.0, 0, 0]]), np.array([[0.0, 0, 1], [0.0, 0, -1]])):
        assert np.isfinite(token_step(flat, 0, weights(flat)[0], 1.0, list("abc")[: len(flat)]).frame["projection"]).all()
    with pytest.raises(InputError, match="no direction"):
        token_step(np.array([[0.0, 0.0], [1.0, 0.0]]), 0, [0.5, 0.5], 1.0, ["zero", "one"])
    with pytest.raises(InputError, match="from 0 to 1"):
        token_step(np.eye(2), 2, [1, 0], 1.0, ["a", "b"])


def test_leaders_as_bars_and_on_the_map(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [("positive", "fine", 30, 0.3, 2.0, 2.0, 100), ("positive", "<b>", 10, 0.1, -1.0, 1.0, 100)]
    frame = pd.DataFrame(rows, columns=["label", "word", "count", "share", "score", "distance", "n"])
    of = of_leaders(monkeypatch, frame, (W, B))
    assert list(figure_of("leaders", of, distance=1.0).plot.layout.yaxis.ticktext) == ["fine", "&lt;b&gt;"]
    refused(InputError, "Lower the distance", figure_of, "leaders", of, label="negative", distance=1.0)
    words = [("fine", 1.0, 0.0, 1.4, 5), ("dull", -1.0, 0.0, -1.0, 0), ("<b>", 0.0, 1.0, 0.9, 2)]
    map_ = figure_of("vocabulary", of_leaders(monkeypatch, pd.DataFrame(words, columns=["word", "x0", "x1", "score", "leads"]), (W, B)))
    assert "3 words" in map_.caption and "2 of which lead" in map_.caption
    assert {note.text for note in map_.plot.layout.annotations} == {"<b>fine</b>", "<b>&lt;b&gt;</b>"}


def by_name(statements: list[Statement]) -> dict[str, Statement]:
    return {statement.name: statement for statement in statements}


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 24), st.floats(0.2, 20), st.booleans())
def test_the_theorem_holds_on_random_runs(seed: int, d: int, n: int, alpha: float, grid: bool) -> None:
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(d, d))
    z = np.unique(np.round(rng.normal(size=(n, d)) * 2), axis=0) if grid else rng.normal(size=(n, d))
    z = z[z.any(axis=1)]
    if not len(z):
        z = np.ones((1, d))
    statements = theory(simulate(z, np.eye(d) if grid else q @ q.T + 0.2 * np.eye(d), alpha))
    assert [statement.name for statement in statements] == [
        "assumptions", "leaders", "convergence", "finite layers", "vertices", "boundary", "projections",
    ]  # fmt: skip
    for statement in statements:
        assert statement.holds or (statement.holds is None and statement.name == "projections"), statement
        assert not statement.error > ACCURACY


def test_limits_projections_and_boundaries_by_hand() -> None:
    a = np.array([[2.0, 0.0], [0.0, 1.0]])
    run = simulate([[1.0, 1.0], [-1.0, 1.0], [0.0, 0.3], [0.0, -1.0]], a)
    end, statements = limit(run), by_name(theory(run))
    np.testing.assert_allclose(end.points[2], [0, 1], atol=1e-8)
    assert end.leaders.tolist() == [0, 1, 3] and end.cluster.tolist() == [0, 1, 3, 2]
    assert statements["projections"].holds and statements["projections"].error < 1e-8
    assert statements["vertices"].detail.startswith("K has 3 vertices")
    assert statements["convergence"].detail.startswith("S has 4 points")
    a = np.array([[1.0, 0.6], [0.6, 1.0]])
    ends = np.array([[1.0, 2.0], [-3.0, 2.0]])
    share = np.linspace(0, 1, 200_001)[:, None]
    between = share * ends[0] + (1 - share) * ends[1]
    nearest = between[np.einsum("ij,jk,ik->i", between, a, between).argmin()]
    np.testing.assert_allclose(projection(ends, a), nearest, atol=1e-4)
    assert not np.allclose(projection(ends), nearest, atol=0.1)
    triangle = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])
    for point, nearest in (((0.0, 0.0), (0.5, 0.5)), ((3.0, 3.0), (2, 2)), ((0.9, 0.9), (0.9, 0.9))):
        np.testing.assert_allclose(projection(triangle, point=np.array(point)), nearest, atol=1e-9)
    np.testing.assert_allclose(projection(1e6 * triangle), [5e5, 5e5])
    run = simulate(np.random.default_rng(4).normal(size=(150, 2)), [[2.0, 0.5], [0.5, 1.0]], 0.7)
    end = limit(run)
    corners = end.clusters[ConvexHull(end.clusters).vertices]
    assert {tuple(np.round(c, 6)) for c in corners} == {tuple(np.round(c, 6)) for c in end.points[end.leaders]}
    assert end.settled is not None and end.left < 1e-8
    square = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]])
    assert _depth(np.array([1.0, 1.0]), square) == pytest.approx(1.0) and _depth(np.array([1.0, 0.0]), square) == pytest.approx(0.0)
    assert _depth(np.array([0.5, 0.5]), square[[0, 2]]) == 0.0 and _depth(np.array([1.0]), np.array([[0.0], [3.0]])) == 1.0
    assert _depth(np.array([1.0, 1.0]), np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])) == 0.0
    assert _apart(square, 2.0) == pytest.approx(2**0.5 / 2)
    assert _apart(np.vstack([square, [1.0, 1.0]]), 2.0) == pytest.approx(0.0, abs=1e-9) and _apart(square[:1], 2.0) == np.inf


def test_runs_outside_of_the_assumptions_are_named() -> None:
    statements = by_name(theory(simulate([[0.0, 0.0], [1.0, 1.0], [1.0, 1.0], [-1.0, 0.5]])))
    assert statements["assumptions"].holds is False
    assert "Token 0 at the origin" in statements["assumptions"].detail and "Tokens 1, 2 are equal" in statements["assumptions"].detail
    nothing = theory(simulate(np.zeros((3, 2))))
    assert [(s.name, s.holds) for s in nothing] == [("assumptions", False), ("leaders", False), ("convergence", True)]
    rng = np.random.default_rng(0)
    general = by_name(theory(simulate(rng.normal(size=(12, 2)), [[1.0, 0.4], [0.0, 1.0]])))
    assert general["assumptions"].holds is False and general["assumptions"].detail == "A is not symmetric."
    assert general["leaders"].holds and general["projections"].holds is None and "no norm" in general["projections"].detail
    assert general["vertices"].holds and general["boundary"].holds
    indefinite = by_name(theory(simulate([[2.0, 0.0], [-1.0, 0.2], [-1.0, -0.5], [0.1, 3.0]], [[1.0, 0.0], [0.0, -1.0]])))
    assert "negative (-1)" in indefinite["assumptions"].detail and indefinite["leaders"].holds
    nowhere = by_name(theory(simulate(rng.normal(size=(12, 2)), np.zeros((2, 2)))))
    assert nowhere["leaders"].holds is False and nowhere["convergence"].detail.startswith("S has 1 point")
    statements = by_name(theory(simulate([[2.0, 0.0], [0.1, 0.0], [-1.0, 0.0]], alpha=0.01), layers=20))
    assert {name: statement.holds for name, statement in statements.items() if name != "assumptions"} == {
        **dict.fromkeys(("convergence", "boundary", "projections")), "vertices": True, "leaders": True, "finite layers": True}  # fmt: skip
    assert statements["convergence"].error > 0.1
    for tokens in [[[3.0]], [[1.0], [-2.0]], [[5.0, 1.0]]]:
        statements = by_name(theory(simulate(tokens)))
        assert all(s.holds for name, s in statements.items() if name != "projections") and statements["projections"].holds is None


def test_shares_are_those_of_each_review() -> None:
    model: HardmaxModel = random_model()
    rng = np.random.default_rng(0)
    rows = [rng.integers(4, model.config.vocab_size, size=n).astype(np.int32) for n in (1, 3, 8, 20)]
    wanted = (0.001, NEAR, 0.1, 0.5)
    measured = at_leaders(model, rows, wanted)
    for i, row in enumerate(rows):
        review = model.follow(" ".join(model.tokenizer.token_of(int(j)) for j in row))
        last, reach = review.positions[-1], np.linalg.norm(review.positions[0], axis=1).max()
        for column, near in enumerate(wanted):
            there = [min((float(np.linalg.norm(x - last[j])) for j in review.leaders), default=np.inf) <= near * reach for x in last]
            assert measured[i, column] == pytest.approx(np.mean(there))
    measures, _, _ = followed(model, rows)
    np.testing.assert_allclose(measured[:, 1], measures[:, -1, MEASURES.index("at leaders")])


def test_the_curve_is_the_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame({"nearness": [0.1, 0.001, 0.01], "mean": [1, 0.5, 0.9], "q05": [0.9, 0.1, 0.6], "q50": [1.0, 0.6, 0.95], "n": 7})
    run = SimpleNamespace(digest="a", capabilities=SimpleNamespace(layers=8))
    monkeypatch.setattr(study, "NEARNESS", SimpleNamespace(read=lambda: frame.assign(d=2, run="r", digest="a"), command="measure"))
    monkeypatch.setattr(figures, "trained", lambda runs: {2: [run]})
    monkeypatch.setattr(figures, "sourced", lambda figure, *runs: figure)
    figure = make("hardmax-nearness", Study.of("all", []))
    assert figure.frame["nearness"].tolist() == [0.001, 0.01, 0.1]
    assert [list(line.y) for line in figure.plot.data] == [figure.frame[name].tolist() for name in ("q50", "mean", "q05")]
    assert "95\u00a0% of the words within 1\u00a0% (the poster names no number)" in figure.caption and "n = 7" in figure.caption
    assert {shape.x0 for shape in figure.plot.layout.shapes} >= {0.01}
