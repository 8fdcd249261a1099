"""The animation of clustering: its scene, one layer as a figure, and its files; the step of one token; clustering in numbers."""

from __future__ import annotations

import io
import json
import re
from base64 import b64decode
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from PIL import Image
from scipy.spatial import ConvexHull

from sentviz.browser.particles import animation_html, positions_frame, scene_data
from sentviz.charts import Figure
from sentviz.charts.clustering import layer_lines
from sentviz.charts.look import LOOKS
from sentviz.charts.particles import particles
from sentviz.charts.plane import hull, label_places
from sentviz.charts.scene import NEAR, Scene, limits, look_at, scene_of, seen, together
from sentviz.charts.token_step import token_step
from sentviz.errors import InputError, SentvizError
from sentviz.export.animation import END, LAYER, MILLISECONDS, TWEENS, animation_gif, moments
from sentviz.export.chromium import find_browser
from sentviz.export.files import render
from sentviz.models.clustering import Clustering, simulate, weights
from sentviz.models.clustering.polytope import limit
from tests.charts import figure_of, of_leaders, picture

needs_browser = pytest.mark.skipif(find_browser() is None, reason="no Chrome or Chromium on this machine")

HOSTILE = (
    "</script><script>window.hacked=true</script>",
    "<img src=x onerror=hack()>",
    "=1+1",
    "$x$ **b** &lt;",
    "שלום",
    "\u200b",
    "😀" * 40,
)
W, B = np.array([1.2, 0.7]), 0.2


def clustered(n: int = 24, d: int = 2, seed: int = 0, **options: Any) -> Clustering:
    return simulate(np.random.default_rng(seed).normal(size=(n, d)), **options)


def decided(clustering: Clustering, words: tuple[str, ...] = (), **options: Any) -> Scene:
    """Return a scene with a decoder."""
    d = clustering.positions.shape[-1]
    w = np.resize(W, d)
    means = clustering.positions.mean(axis=1)
    names = words or tuple(f"word{i}" for i in range(clustering.positions.shape[1]))
    return scene_of(
        clustering, names, "A made-up review", decision=(w, B), means=means, probabilities=1 / (1 + np.exp(-(means @ w + B))), **options
    )


# ---- geometry


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_places_are_found_as_by_comparing_all_with_all(d: int, seed: int) -> None:
    """Each token joins the first near place in the order of coordinates; places are numbered from the fullest."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(5, d))[rng.integers(0, 5, 60)] + 0.02 * rng.normal(size=(60, d))
    room = NEAR * max(np.linalg.norm(row) for row in z)
    place = [-1] * len(z)
    firsts: list[int] = []
    for i in sorted(range(len(z)), key=lambda i: tuple(z[i])):
        for number, first in enumerate(firsts):
            if np.linalg.norm(z[i] - z[first]) <= room:
                place[i] = number
                break
        else:
            place[i] = len(firsts)
            firsts.append(i)
    groups = together(z)
    assert len(set(groups)) == len(firsts)
    pairs = {(a, b) for a, b in zip(place, groups, strict=True)}
    assert len(pairs) == len(firsts)
    assert (np.diff(np.bincount(groups)) <= 0).all()


@pytest.mark.parametrize("seed", range(5))
def test_the_hull_is_scipys(seed: int) -> None:
    """The corners equal Qhull's; collinear and coinciding points do not count as corners."""
    rng = np.random.default_rng(seed)
    z = np.concatenate([rng.normal(size=(40, 2)), [[0, 0]] * 3])
    assert set(hull(z)) == set(ConvexHull(z).vertices)
    around = z[hull(z)]
    area = 0.5 * np.sum(around[:, 0] * np.roll(around[:, 1], -1) - np.roll(around[:, 0], -1) * around[:, 1])
    assert area == pytest.approx(ConvexHull(z).volume)
    square = np.array([[0, 0], [1, 0], [2, 0], [2, 2], [0, 2], [1, 2], [2, 2]])
    assert sorted(map(tuple, square[hull(square)])) == [(0, 0), (0, 2), (2, 0), (2, 2)]


@pytest.mark.parametrize("points", [[[1.0, 2.0]], [[1.0, 2.0]] * 4, [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]])
def test_flat_hulls_have_ends_only(points: list[list[float]]) -> None:
    z = np.array(points)
    assert {tuple(z[i]) for i in hull(z)} == {tuple(z.min(axis=0)), tuple(z.max(axis=0))}


def test_labels_never_touch() -> None:
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


def test_planes_are_orthonormal_and_named() -> None:
    z = clustered(30, 5).positions
    for look in ("spread", "decision", "axes"):
        basis, names = look_at(z, look, w=np.arange(1.0, 6), axes=(3, 1))
        assert np.allclose(basis @ basis.T, np.eye(2))
        assert len(names) == 2
    assert look_at(z, "axes", axes=(3, 1))[1] == ("z₄", "z₂")
    points = z.reshape(-1, 5)
    spread = (points - points.mean(axis=0)) @ look_at(z)[0].T
    values = np.sort(np.linalg.eigvalsh(np.cov(points.T, bias=True)))[::-1]
    assert np.allclose(spread.var(axis=0), values[:2])


@pytest.mark.parametrize("d", [2, 5])
def test_across_the_decision_the_line_is_exact(d: int) -> None:
    """In the plane that contains w, the drawn probability of every token is the decoder's."""
    clustering = clustered(20, d)
    scene = decided(clustering, look="decision")
    assert scene.decision is not None
    drawn = scene.positions @ scene.decision[0] + scene.decision[1]
    assert np.allclose(drawn, clustering.positions @ np.resize(W, d) + B)


@pytest.mark.parametrize("look", ["spread", "axes"])
def test_in_other_planes_the_line_is_exact_at_the_last_mean(look: str) -> None:
    scene = decided(clustered(20, 5), look=look)
    assert scene.decision is not None and scene.means is not None and scene.probabilities is not None
    drawn = 1 / (1 + np.exp(-(scene.means[-1] @ scene.decision[0] + scene.decision[1])))
    assert drawn == pytest.approx(scene.probabilities[-1])
    assert "final mean" in scene.note


# ---- the scene


@pytest.mark.parametrize("seed", range(3))
def test_the_scene_follows_the_rule(seed: int) -> None:
    """Each token points at a member of C_i, at itself only if it is alone; the leaders' polytope holds all tokens at the end."""
    clustering = clustered(40, 2, seed, layers=40)
    scene = decided(clustering)
    assert scene.toward is not None and scene.corners is not None
    for k in range(scene.layers):
        scores = clustering.positions[k] @ clustering.positions[k].T
        rows = np.arange(40)
        assert np.allclose(scores[rows, scene.toward[k]], scores.max(axis=1))
    ends = clustering.positions[-1, clustering.leaders]
    assert {tuple(c) for c in np.round(scene.corners, 9)} <= {tuple(e) for e in np.round(ends, 9)}
    solid = ConvexHull(ends)
    inside = clustering.positions[-1] @ solid.equations[:, :2].T + solid.equations[:, 2]
    assert inside.max() < 1e-9


def test_ties_point_at_another_token() -> None:
    """Two tokens at one place are attracted by each other, not by themselves."""
    scene = scene_of(simulate([[1, 0], [1, 0], [-1, 0.1]], layers=1), ("a", "b", "c"), "Two alike")
    assert scene.toward is not None
    assert scene.toward[0].tolist() == [1, 0, 2]


def test_softmax_has_neither_polytope_nor_arrows() -> None:
    scene = decided(clustered(temperature=0.5))
    assert scene.toward is None and scene.corners is None and scene.edges == ()


def test_a_cube_has_twelve_edges() -> None:
    """A cube has its twelve edges, because the triangles of one face are drawn as one face."""
    cube = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
    scene = scene_of(simulate(cube, layers=2), tuple(map(str, range(8))), "A cube")
    assert len(scene.edges) == 12
    assert all(np.abs(cube[a] - cube[b]).sum() == 2 for a, b in scene.edges)
    assert np.allclose(np.linalg.norm(seen(np.eye(3)), axis=1) <= 1 + 1e-12, True)


def test_the_limit_is_where_the_rule_leads() -> None:
    clustering = clustered(30, 2, 3, layers=5)
    places, when, reached = limits(clustering)
    far = clustered(30, 2, 3, layers=300).positions
    assert reached and 5 < when < 300
    assert np.abs(places - far[-1]).max() < 1e-8
    assert not limits(clustered(30, 2, 3, layers=2, alpha=1e-3), layers=5)[2]


@pytest.mark.parametrize("alpha", [0.1, 1.0, 5.0])
def test_the_limit_comes_when_the_theorem_says_so(alpha: float) -> None:
    """Theorem and simulation need the same number of layers."""
    clustering = clustered(30, 2, 3, layers=5, alpha=alpha)
    assert limits(clustering)[1:] == (limit(clustering).settled, True)


def test_the_canvas_gets_what_the_scene_holds() -> None:
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


# ---- files


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_one_layer_as_a_figure(theme: Any) -> None:
    clustering = clustered(30)
    scene = decided(clustering)
    figure = replace(particles(scene, 3), look=LOOKS[theme])
    assert np.allclose(figure.frame[["axis_1", "axis_2"]], clustering.positions[3])
    assert np.allclose(figure.frame["probability_positive"], 1 / (1 + np.exp(-(clustering.positions[3] @ W + B))))
    assert figure.frame.loc[figure.frame["leader"], "token"].tolist() == clustering.leaders.tolist()
    assert "after layer 3 of 8" in figure.plot.layout.title.text
    assert f"{len(clustering.leaders)} leaders" in figure.caption
    assert not any(trace.type == "scattergl" for trace in figure.plot.data)


def test_figures_without_a_decoder_in_space_and_of_the_start() -> None:
    scene = scene_of(clustered(30, 3), tuple(map(str, range(30))), "Points in space")
    figure = particles(scene, 0)
    assert "at the start" in figure.plot.layout.title.text
    assert {"axis_1", "axis_2", "axis_3"} <= set(figure.frame)
    assert not any(name.startswith("probability") for name in figure.frame)
    for layer in (-1, 9):
        with pytest.raises(InputError, match="from 0"):
            particles(scene, layer)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.slow
def test_few_tokens_and_equal_ones(n: int) -> None:
    for tokens in (np.zeros((n, 2)), np.ones((n, 2)), np.eye(3)[:n, :2]):
        scene = decided(simulate(tokens, layers=2))
        assert len(particles(scene).frame) == n
        assert animation_html(scene)


def test_words_are_only_ever_text() -> None:
    """Markup, formulas, invisible and right-to-left words are escaped in figures and pages, and harmless in tables."""
    clustering = clustered(len(HOSTILE))
    scene = decided(clustering, HOSTILE)
    texts = [note.text for note in particles(scene, 0).plot.layout.annotations]
    assert any("&lt;" in text for text in texts)
    assert not any("<img" in text or "<script" in text for text in texts)
    page = animation_html(scene, about=HOSTILE[0])
    assert page.count("</script>") == 2  # the data and the code
    assert "<img" not in page
    data = re.search(r'<script type="application/json" id="scene">(.*?)</script>', page)
    assert data is not None
    assert json.loads(data[1])["words"][:2] == list(HOSTILE[:2])
    table = render(Figure("positions", picture(go.Figure()), positions_frame(clustering, HOSTILE), ""), "csv").decode("utf-8-sig")
    assert ",'=1+1," in table


def test_the_page_is_one_file_without_requests() -> None:
    scene = decided(clustered(30))
    page = animation_html(scene)
    assert page == animation_html(decided(clustered(30)))
    assert "default-src 'none'" in page
    assert not re.search(r"https?://|src=|@import|url\(", page)
    assert "export default" not in page
    assert animation_html(scene, theme="dark") != page


@needs_browser
@pytest.mark.exhaustive
@pytest.mark.parametrize("n", [1, 3, len(HOSTILE)])
def test_the_gif_of_few_tokens_and_of_words_with_markup(n: int) -> None:
    scene = decided(simulate(np.ones((n, 2)), layers=2), HOSTILE[:n])
    assert Image.open(io.BytesIO(animation_gif(scene, width=240, height=180))).size == (240, 180)


def test_without_a_browser_the_gif_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sentviz.export.chromium.find_browser", lambda: None)
    with pytest.raises(SentvizError, match="GIF needs Chrome or Chromium"):
        animation_gif(decided(clustered(3)))


def test_a_film_rests_at_each_state() -> None:
    assert moments(2, 3) == [0.0] * 3 + [k / TWEENS for k in range(1, TWEENS)] + [1.0] * (4 + END)
    assert moments(1, 3) == [0.0] * (3 + END)
    assert max(moments(400, 3)) == 24


@needs_browser
@pytest.mark.exhaustive
def test_the_gif_is_the_animation() -> None:
    scene = decided(clustered(30))
    data = animation_gif(scene, width=360, height=250)
    assert data == animation_gif(decided(clustered(30)), width=360, height=250)
    picture = Image.open(io.BytesIO(data))
    assert picture.size == (360, 250)
    assert picture.info["loop"] == 0
    time = 0
    for frame in range(picture.n_frames):
        picture.seek(frame)
        time += picture.info["duration"]
    assert time == (LAYER + 8 * (TWEENS + LAYER) + END) * MILLISECONDS
    picture.seek(0)
    first = np.asarray(picture.convert("RGB"), dtype=int)
    picture.seek(picture.n_frames - 1)
    assert np.abs(np.asarray(picture.convert("RGB"), dtype=int) - first).max() > 50
    with pytest.raises(InputError, match="wide"):
        animation_gif(scene, width=10)


def test_positions_are_a_tidy_table() -> None:
    clustering = clustered(5, 3, layers=2)
    frame = positions_frame(clustering, list("abcde"))
    assert len(frame) == 15
    row = frame[(frame["layer"] == 2) & (frame["word"] == "d")].iloc[0]
    assert np.allclose(row[["z1", "z2", "z3"]].to_numpy(float), clustering.positions[2, 3])
    assert set(frame.loc[frame["leader"], "token"]) == set(clustering.leaders.tolist())


# ---- one token's step


@pytest.mark.parametrize("d", [2, 5])
@pytest.mark.parametrize("heat", [0.0, 0.7])
def test_the_step_of_a_token(d: int, heat: float) -> None:
    """Projections and followed tokens equal comparing all pairs, and the arrow ends at the rule's place."""
    rng = np.random.default_rng(d)
    z, A = rng.normal(size=(12, d)), np.diag(np.arange(1.0, d + 1))
    words = [f"word{i}" for i in range(12)]
    table = weights(z, A, heat)
    i = int(np.argmin(np.diag(table)))  # no leader
    share = table[i]
    figure = token_step(z, i, share, 0.8, words, A=A)
    direction = A @ z[i] / np.linalg.norm(A @ z[i])
    assert np.allclose(figure.frame["projection"], [direction @ row for row in z])
    if heat == 0:
        assert figure.frame.index[figure.frame["follows"]].tolist() == [int(np.argmax(z @ A @ z[i]))]
    goal = z[i] + 0.8 / 1.8 * (share @ z - z[i])
    assert np.allclose(simulate(z, A, 0.8, 1, temperature=heat).positions[1, i], goal)
    arrow = figure.plot.layout.annotations[0]
    long = np.hypot(arrow.x - arrow.ax, arrow.y - arrow.ay)
    assert long == pytest.approx(np.linalg.norm(goal - z[i]))


def test_leaders_stay_and_pinned_tokens_too() -> None:
    z = np.array([[2.0, 0.0], [1.0, 0.1], [-1.0, 0.0]])
    words = ["lead", "follow", "<b>other</b>"]
    assert "it is a leader and does not move" in token_step(z, 0, [1, 0, 0], 1.0, words).caption
    figure = token_step(z, 1, [1, 0, 0], 1.0, words)
    assert "50\u00a0% of the way to it" in figure.caption
    assert not any("<b>other" in note.text for note in figure.plot.layout.annotations)
    assert "is pinned" in token_step(z, 1, [1, 0, 0], 1.0, words, pinned=True).caption


def test_a_repeated_word_is_written_once_with_all_that_it_gets() -> None:
    z = np.array([[1.0, 0.2], [2.0, 0.0], [2.0, 0.0], [2.0, 0.01], [-1.0, 0.0]])
    figure = token_step(z, 0, [0, 0.3, 0.3, 0.3, 0.1], 1.0, ["here", "great", "great", "great", "other"])
    written = [note.text for note in figure.plot.layout.annotations if "great" in note.text]
    assert written == ["<b>great 90\u00a0%</b>"]


def test_a_token_at_zero_has_no_direction() -> None:
    with pytest.raises(InputError, match="no direction"):
        token_step(np.array([[0.0, 0.0], [1.0, 0.0]]), 0, [0.5, 0.5], 1.0, ["zero", "one"])
    with pytest.raises(InputError, match="from 0 to 1"):
        token_step(np.eye(2), 2, [1, 0], 1.0, ["a", "b"])


@pytest.mark.parametrize("z", [np.ones((3, 3)), np.array([[1.0, 0, 0], [2.0, 0, 0]]), np.array([[0.0, 0, 1], [0.0, 0, -1]])])
def test_steps_in_flat_configurations(z: Any) -> None:
    """Equal tokens, and tokens on a line, are drawn in a plane."""
    figure = token_step(z, 0, weights(z)[0], 1.0, [str(i) for i in range(len(z))])
    assert np.isfinite(figure.frame["projection"]).all()


# ---- clustering in numbers


def test_lines_per_layer() -> None:
    figure = layer_lines({"a": [1.0, 0.1, 0.0], "b": [2.0, 1.0, 0.5]}, "Both", log=True)
    assert figure.frame["value"].tolist() == [1.0, 0.1, 0.0, 2.0, 1.0, 0.5]
    assert list(figure.plot.data[0].y) == [1.0, 0.1]  # 0 has no place on a logarithmic axis
    assert figure.plot.layout.yaxis.type == "log"
    with pytest.raises(InputError):
        layer_lines({}, "Nothing")


def test_bands_per_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        {"measure": "clusters", "layer": k, "mean": 9.0 - k, **{f"q{q:02}": q / 10 for q in (5, 25, 50, 75, 95)}, "n": 50} for k in range(3)
    ]
    figure = figure_of("leaders-depth", of_leaders(monkeypatch, pd.DataFrame(rows), (W, B)))
    assert "n = 50" in figure.caption
    assert list(figure.plot.data[-1].y) == [9.0, 8.0, 7.0]


def test_leaders_as_bars_and_on_the_map(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame(
        {
            "label": ["positive"] * 2,
            "word": ["fine", "<b>"],
            "count": [30, 10],
            "share": [0.3, 0.1],
            "score": [2.0, -1.0],
            "distance": [2.0, 1.0],
            "n": 100,
        }
    )
    of = of_leaders(monkeypatch, frame, (W, B))
    figure = figure_of("leaders", of, distance=1.0)
    assert list(figure.plot.layout.yaxis.ticktext) == ["fine", "&lt;b&gt;"]
    assert "among 100 correct" in figure.caption
    with pytest.raises(InputError, match="Lower the distance"):
        figure_of("leaders", of, label="negative", distance=1.0)
    words = pd.DataFrame(
        {"word": ["fine", "dull", "<b>"], "x0": [1.0, -1, 0], "x1": [0.0, 0, 1], "score": [1.4, -1.0, 0.9], "leads": [5, 0, 2]}
    )
    map_ = figure_of("vocabulary", of_leaders(monkeypatch, words, (W, B)))
    assert "3 words" in map_.caption and "2 of which lead" in map_.caption
    assert {note.text for note in map_.plot.layout.annotations} == {"<b>fine</b>", "<b>&lt;b&gt;</b>"}


def test_scenes_of_one_dimension() -> None:
    scene = scene_of(simulate([[1.0], [-2.0], [0.5]], layers=3), ("a", "b", "c"), "On a line")
    assert scene.positions.shape == (4, 3, 2)
    assert np.allclose(scene.positions[..., 1], 0)
    assert replace(scene, title="x").groups.tolist() == scene.groups.tolist()
