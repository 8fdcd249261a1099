"""Pictures of the site that move: what the app writes as HTML files of their own, made when the site is built."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sentviz.canvas import Scale, canvas_html
from sentviz.canvas import Scene as Sentences
from sentviz.explain import SCORES, deviation
from sentviz.explain.leave_out import words
from sentviz.figures.colours import THEMES
from sentviz.figures.particles import Scene
from sentviz.figures.strip import anchored
from sentviz.gallery import Sentence, make
from sentviz.maps.silenced import silenced
from sentviz.models.hardmax import HardmaxModel
from sentviz.models.loading import load
from sentviz.particles import animation_html, scene_of
from sentviz.runs import find

__all__ = ["hardmax", "live"]

RUN, HARDMAX = "english/ndt-unit-2", "imdb/hardmax-d2"  # whose stored examples are shown


def live() -> Iterator[tuple[str, str]]:
    """File names and HTML of the first page's picture and of the hardmax player, for light and for dark pages."""
    run, score = find(RUN), "removal"
    trace, how = run.example(), SCORES[score]
    values = deviation(trace, score)
    units = [word.indices for word in words(trace)]
    scene = Sentences(
        trace,
        run.capabilities,
        scores=values,
        tones=np.asarray(anchored(np.nan_to_num(values), how.full, how.knee), dtype=np.float32),
        scale=Scale(how.title, how.low, how.high),
        units=units,
        falls=trace.token_scores["removal"][[unit[0] for unit in units]],
        heads=silenced(load(run), trace),
        title=f"“{trace.text}”",
    )
    about = make("verdict", Sentence.of(run, trace)).source
    for theme in THEMES:
        yield f"live-{theme}.html", canvas_html(scene, about=about, theme=theme)
    moving = hardmax()
    for theme in THEMES:
        yield f"hardmax-{theme}.html", animation_html(moving, about=f"{find(HARDMAX).name}, digest {find(HARDMAX).digest}", theme=theme)


def hardmax() -> Scene:
    """The example of a hardmax run on its way through the layers."""
    run = find(HARDMAX)
    model = HardmaxModel.of(run)
    review = model.follow(run.config["recipe"]["example"])
    return scene_of(
        review.clustering,
        review.words,
        f"A review of {len(review.words)} words through {run.name}",
        decision=model.decision,
        means=review.means,
        probabilities=review.probabilities[:, 1],
        labels=(run.labels[0], run.labels[1]),
    )
