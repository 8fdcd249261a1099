"""Pictures of the site that move: what the app writes as HTML files of their own, made when the site is built."""

from __future__ import annotations

from collections.abc import Iterator

from sentviz.analysis.maps.silenced import silenced
from sentviz.browser import canvas
from sentviz.browser.canvas import canvas_html, scene_of
from sentviz.browser.particles import animation_html, scene_of_review
from sentviz.figures.colours import THEMES
from sentviz.figures.particles import Scene
from sentviz.gallery import Sentence, make
from sentviz.models.hardmax import HardmaxModel
from sentviz.models.loading import load
from sentviz.runs.store import find

RUN, HARDMAX = "english/ndt-unit-2", "imdb/hardmax-d2"  # runs with the stored examples shown


def live() -> Iterator[tuple[str, str]]:
    """File names and HTML of the first page's picture and of the hardmax player, for light and for dark pages."""
    linked, moving, hardmax_run = sentence(), hardmax(), find(HARDMAX)
    about = make("verdict", Sentence.of(find(RUN), linked.trace)).source
    for theme in THEMES:
        yield f"live-{theme}.html", canvas_html(linked, about=about, theme=theme)
        yield f"hardmax-{theme}.html", animation_html(moving, about=f"{hardmax_run.name}, digest {hardmax_run.digest}", theme=theme)


def sentence() -> canvas.Scene:
    """The example of a run with its linked words, heads, maps and answer."""
    run = find(RUN)
    trace = run.example()
    return scene_of(trace, run.capabilities, heads=silenced(load(run), trace))


def hardmax() -> Scene:
    """The example of a hardmax run on its way through the layers."""
    run = find(HARDMAX)
    model = HardmaxModel.of(run)
    review = model.follow(run.config["recipe"]["example"])
    return scene_of_review(run, model, review)
