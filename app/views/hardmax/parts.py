"""Pieces of the hardmax pages: the runs, the temperature, and the animation with its files."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from app import cache, visit
from app.blocks.figure import export_menu
from app.shared import once
from app.text import page_theme
from sentviz.browser.particles import animation_html, positions_frame
from sentviz.charts import Figure, Theme, file_safe
from sentviz.charts.gallery import code
from sentviz.charts.particles import particles
from sentviz.charts.scene import Scene
from sentviz.export.animation import NEEDS_BROWSER, animation_gif
from sentviz.export.chromium import find_browser
from sentviz.io.spreadsheet import as_csv
from sentviz.models.clustering import Clustering
from sentviz.runs.store import Run

HEATS = ("10", "3", "1", "0.3", "0.1", "0.03", "0.01", "0.001", "0")  # temperatures of the attention; 0 is hardmax
THEMES: tuple[Theme, ...] = ("light", "dark")
COMMAND = "sentviz train imdb --model hardmax-d2"


def runs() -> dict[str, Run]:
    """Return the hardmax classifiers with weights, by name."""
    return {name: run for name, run in cache.models().items() if run.capabilities.moving}


def without_runs() -> None:
    """Show which run this part needs, if there is no hardmax run."""
    st.info(
        f"This part needs a trained hardmax classifier, but none is installed. `{COMMAND}` trains one in minutes.",
        icon=":material/science:",
    )
    st.caption("The playground works without a trained model.")


@once(4, "Loading the classifier")
def model(run: Run) -> Any:
    """Return the read-only classifier of a run, one for all visitors."""
    from sentviz.models.hardmax import HardmaxModel

    return HardmaxModel.of(run)


def temperature() -> float:
    """Draw the slider for the temperature of the attention and return it; 0 is hardmax."""
    heat = visit.setting(
        st.select_slider,
        "Temperature of the attention",
        "heat",
        HEATS,
        default="0",
        format_func=lambda value: "hardmax" if value == "0" else f"softmax, {value}",
        help="Softmax gives every token some attention. At temperature 0 it becomes hardmax: all attention goes to the furthest token.",
        label_visibility="visible",
    )
    return float(heat)


def exports(
    scene: Scene, clustering: Clustering, name: str, key: str, source: str, layer: int | None = None, of: tuple[str, str] | None = None
) -> None:
    """Draw the export of the animation and its positions, and of one layer as a figure.

    Args:
        of: run and text that draw the figure in a notebook; None if no notebook can draw it.
    """
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key=f"exports-{key}"):
        with st.popover("Animation", icon=":material/movie:", type="tertiary"):
            recordable = find_browser() is not None
            note = "" if recordable else f" {NEEDS_BROWSER}"
            st.caption(f"The complete animation. The HTML file plays in any browser without a network.{note}")
            theme: Theme = st.segmented_control("Background", THEMES, default=page_theme(), required=True, key=f"ground-{key}")
            files: tuple[tuple[str, str, Callable[[], bytes]], ...] = (
                ("HTML", "text/html", partial(_html, scene, source, theme)),
                ("GIF", "image/gif", partial(_gif, scene, theme)),
                ("CSV", "text/csv", lambda: as_csv(positions_frame(clustering, scene.words))),
            )
            for column, (title, mime, make) in zip(st.columns(3, gap="small"), files, strict=True):
                column.download_button(
                    title,
                    data=make,
                    file_name=f"{file_safe(name)}.{title.lower()}",
                    mime=mime,
                    key=f"{title.lower()}-{key}",
                    on_click="ignore",
                    disabled=title == "GIF" and not recordable,
                    width="stretch",
                )
        states = list(range(scene.layers + 1))
        chosen_layer = st.selectbox(
            "Layer of the figure",
            states,
            index=scene.layers if layer is None else min(layer, scene.layers),
            format_func=lambda k: f"figure of layer {k}" if k else "figure of the start",
            key=f"frame-{key}-{layer}",
            label_visibility="collapsed",
            width=180,
        )
        lines = code(of[0], "particles", text=of[1], layer=chosen_layer) if of else None
        export_menu(
            partial(_frame, scene, chosen_layer, name, source), f"{file_safe(name)}-layer{chosen_layer}", f"frame-{key}", code=lines
        )


def _frame(scene: Scene, layer: int, name: str, source: str) -> Figure:
    from dataclasses import replace

    return replace(particles(scene, layer, name=name), source=source)


def _html(scene: Scene, source: str, theme: Theme) -> bytes:
    return animation_html(scene, about=source, theme=theme).encode()


def _gif(scene: Scene, theme: Theme) -> bytes:
    return animation_gif(scene, theme=theme)
