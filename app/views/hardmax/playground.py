"""Playground: the rule on any points, and the theorem checked on what it does to them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st

from app import visit
from app.blocks.boundary import boundary
from app.blocks.figure import show_drawn
from app.components import browser
from app.text import halves, md, name_runs
from app.views.hardmax.parts import exports, temperature
from sentviz.browser.particles import scene_data
from sentviz.charts.clustering import layer_lines
from sentviz.charts.scene import limits, scene_of
from sentviz.charts.token_step import token_step
from sentviz.errors import InputError
from sentviz.models.clustering import Clustering, kind, simulate, weights
from sentviz.models.clustering.playground import (
    ALLOWED,
    COUNTS,
    DEFAULTS,
    MATRICES,
    MOST,
    RANGES,
    SAID,
    START,
    example_of,
    linked,
    matrix_of,
    pasted,
    settings,
    starts,
    with_example,
)

Doubles = npt.NDArray[np.float64]
KEY = "play-canvas"
FIRST_CLICKS = ((1.0, 0.0), (-0.6, 0.9), (-0.7, -0.8), (0.2, 0.3))


@dataclass(frozen=True)
class _Setting:
    """The input of a simulation in the playground."""

    points: tuple[tuple[float, ...], ...]
    A: tuple[tuple[float, ...], ...]
    alpha: float
    layers: int
    temperature: float

    def identity(self) -> str:
        """Return a digest of the points; the animation restarts when it changes."""
        return hashlib.blake2b(repr(self.points).encode(), digest_size=8).hexdigest()


def _bound(name: str, key: str = "") -> dict[str, Any]:
    """Return key and callback of a widget that shows one setting and writes it to the link."""
    now = settings(visit.page_value("play", "", str))
    return visit.bound("play", now[name], part=key or name, put=lambda value: linked(now | {name: type(DEFAULTS[name])(value)}))


def show() -> None:
    """Draw the controls next to the animation, numbers and the theorem below. A change runs only this part of the page again."""
    name_runs()
    _play()


@st.fragment
@boundary()
def _play() -> None:
    visit.settle()
    left, right = halves("hardmax-play", 1.0, 2.1)
    with left:
        setting, start = _controls()
    with right:
        clustering, places = _animation(setting, start)
    _numbers(clustering, places, setting)


def _controls() -> tuple[_Setting, str]:
    """Draw the controls and return their setting and the kind of start."""
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        dimension = int(st.segmented_control("Dimension", ALLOWED["dimension"], required=True, **_bound("dimension")))
        start = str(st.selectbox("Start", list(START), format_func=lambda name: START[name], width=150, **_bound("start")))
    points: Doubles
    if start == "pasted":
        example = "1, 0\n-0.5, 0.8\n-0.5, -0.8\n0.2, 0.1" if dimension == 2 else "1, 0, 0\n0, 1, 0\n0, 0, 1\n-1, -1, -1\n0.2, 0.1, 0.1"
        points = pasted(st.text_area("Points, one per line", example, key=f"play-pasted-{dimension}", height=130), dimension)
    elif start == "clicked":
        points = _clicked(dimension)
    else:
        with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
            n = int(st.select_slider("Tokens", COUNTS, **_bound("n")))
            seed = int(st.number_input("Seed", *RANGES["seed"], width=120, **_bound("seed")))
        points = starts(start, n, dimension, seed)
    A = _matrix(dimension)
    st.caption(SAID[kind(A)])
    with st.container(horizontal=True, gap="small"):
        alpha = st.number_input(
            "α",
            step=0.1,
            format="%.3g",
            help="In each layer a token moves the share α/(1+α) of the distance to its target.",
            **_bound("alpha"),
        )
        layers = int(st.number_input("Layers", *RANGES["layers"], **_bound("layers")))
    heat = temperature()
    reset: dict[str, Any] = {"on_click": visit.go, "kwargs": {"play": ""}, "disabled": not visit.page_value("play", "", str)}
    st.button("Reset", icon=":material/restart_alt:", type="tertiary", key="play-reset", help="Back to the default settings", **reset)
    rows = tuple(tuple(float(value) for value in row) for row in points)
    return _Setting(rows, tuple(tuple(float(value) for value in row) for row in A), float(alpha), layers, heat), start


def _matrix(dimension: int) -> Doubles:
    way = st.segmented_control(
        "A",
        ["eigenvalues", "typed"],
        default="eigenvalues",
        required=True,
        key="play-way",
        help="A changes the direction of a token's attention. Any matrix is allowed. The theorem is proved only for symmetric positive"
        " definite ones.",
    )
    if way == "typed":
        default = "\n".join(" ".join("1" if i == j else "0" for j in range(dimension)) for i in range(dimension))
        return pasted(st.text_area("A, row by row", default, key=f"play-matrix-{dimension}", height=100), dimension, what="A")
    _examples()
    with st.container(horizontal=True, gap="small"):
        values = [
            float(st.number_input(f"λ{'₁₂₃'[i]}", step=0.5, format="%.3g", **_bound(f"e{i + 1}", f"eigen-{dimension}-{i}")))
            for i in range(dimension)
        ]
    with st.container(horizontal=True, gap="medium"):
        angle = float(st.slider("Angle of the first axis", 0, 180, step=5, format="%d°", **_bound("angle")))
        about = "A rotation after the eigenvalues. With a rotation, A is not symmetric."
        turn = float(st.slider("Rotation", -180, 180, step=5, format="%d°", help=about, **_bound("turn")))
    return matrix_of(values, angle, turn)


def _examples() -> None:
    """Draw a choice of example matrices, which sets the eigenvalues, the angle and the rotation."""
    now = settings(visit.page_value("play", "", str))

    def chosen() -> None:
        if (title := st.session_state["play-example"]) is not None:
            visit.go(play=linked(with_example(now, title)))

    st.session_state["play-example"] = example_of(now)
    st.selectbox("Example of A", list(MATRICES), key="play-example", on_change=chosen, placeholder="another A")


def _clicked(dimension: int) -> Doubles:
    """Return the points that were set by clicks in the plane, (n, 2)."""
    if dimension != 2:
        raise InputError("Points can be clicked only in two dimensions. Choose dimension 2, or paste points.")
    points: list[tuple[float, float]] = st.session_state.setdefault("play-points", list(FIRST_CLICKS))

    def last() -> None:
        if len(points) > 1:
            points.pop()

    def anew() -> None:
        points[:] = FIRST_CLICKS

    st.caption(f"{len(points)} points. Click an empty place of the picture to add a point.")
    with st.container(horizontal=True, gap="small"):
        st.button("Remove the last point", on_click=last, key="play-undo", disabled=len(points) < 2)
        st.button("Start again", on_click=anew, key="play-anew")
    return np.array(points)


def _take_point() -> None:
    points: list[tuple[float, float]] = st.session_state.setdefault("play-points", list(FIRST_CLICKS))
    if (at := browser.new_point(KEY)) is not None and len(points) < MOST:
        points.append(at)


def _run(setting: _Setting) -> Clustering:
    A = np.array(setting.A)
    return simulate(np.array(setting.points), A, setting.alpha, setting.layers, temperature=setting.temperature)


def _animation(setting: _Setting, start: str) -> tuple[Clustering, npt.NDArray[np.int64]]:
    """Draw the animation and a clicked token's step; return the simulation and the number of places per layer."""
    clustering = visit.keep_result("hardmax-play", setting, lambda: _run(setting))
    n = len(setting.points)
    names = tuple(f"#{i + 1}" for i in range(n))
    clicking = start == "clicked"

    def make() -> tuple[Any, dict[str, Any]]:
        story = "clicked" if clicking else setting.identity()
        scene = scene_of(clustering, names, f"{n:,} tokens, {START[start]}", story=story)
        return scene, scene_data(scene, adding=clicking, named=False)

    scene, data = visit.keep_result("hardmax-play-scene", (setting, start), make)
    browser.draw("particles", data, key=KEY, token=None, point=_take_point)
    picked = browser.picked_token(KEY, data)
    if len(setting.points[0]) == 3:
        st.caption("Drag to turn.")
    if n == 1:
        st.caption("There is only one token. It attracts itself, so it is a leader and does not move.")
    elif len(set(setting.points)) == 1:
        st.caption("All tokens are at the same place, so no token moves.")
    source = f"sentviz playground: α = {setting.alpha:g}, A = {[[round(value, 4) for value in row] for row in setting.A]}."
    exports(scene, clustering, "hardmax-playground", "play", source, picked.layer if picked else None)
    if picked is not None:
        layer = min(picked.layer, setting.layers - 1)
        z = clustering.positions[layer]
        share = weights(z, clustering.A, setting.temperature, clustering.tolerance)[picked.token]
        st.markdown(f"##### Token {picked.token + 1} in layer {layer + 1}")
        show_drawn(lambda: token_step(z, picked.token, share, setting.alpha, names, A=clustering.A), "play-step")
    return clustering, scene.clusters


def _numbers(clustering: Clustering, places: npt.NDArray[np.int64], setting: _Setting) -> None:
    """Draw leaders and places per layer, the distance to the limit, and the theorem."""
    z = clustering.positions
    steps = len(z) - 1
    leading = [int((clustering.since <= k).sum()) for k in range(steps + 1)]
    limit, when, reached = visit.keep_result("hardmax-play-limit", setting, lambda: limits(clustering))
    left, right = halves("hardmax-numbers")
    with left:
        show_drawn(
            lambda: layer_lines(
                {"leaders": leading, "places": places},
                "Leaders and places",
                caption="Leaders: tokens that were alone in their C_i up to this layer. Places: at least 1 % of the largest norm apart.",
            ),
            "play-counts",
        )
    with right:
        far = np.linalg.norm(z - limit, axis=2)
        words = f"The limit is reached after {when} layers: no token moves further than 10⁻⁹ of the largest norm."
        if not reached:
            words = f"No limit is reached within {when} layers. Distances are measured to the positions after the last layer."
        show_drawn(
            lambda: layer_lines({"farthest": far.max(axis=1), "mean": far.mean(axis=1)}, "Distance to the limit", log=True, caption=words),
            "play-distance",
        )
    _theorem(clustering, setting)


def _theorem(clustering: Clustering, setting: _Setting) -> None:
    """Show each statement of the theorem with its measured error."""
    st.markdown(
        "##### The theorem on this run",
        help="Alcalde, Fantuzzi and Zuazua 2024, arXiv 2407.01602: tokens converge to a polytope's boundary; leaders are its vertices.",
    )
    if setting.temperature > 0:
        st.caption("The theorem is about hardmax. It does not apply to a temperature above 0.")
        return
    from sentviz.models.clustering.polytope import theory

    if clustering.notes:
        st.caption(md(f"{' '.join(clustering.notes)} The theorem claims nothing here, but each statement is checked all the same."))
    for statement in visit.keep_result("hardmax-play-theory", setting, lambda: theory(clustering)):
        icon, word = {
            True: (":material/check_circle:", "holds"),
            False: (":material/cancel:", "fails"),
            None: (":material/help:", "cannot be decided"),
        }[statement.holds]
        error = f" · error {statement.error:.1e}" if np.isfinite(statement.error) else ""
        st.markdown(f"{icon} **{word}** · {md(statement.says)}  \n:gray[{md(statement.detail)}{error}]")
