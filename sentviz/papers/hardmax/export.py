"""What each picture of the hardmax poster is made of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sentviz.errors import InputError
from sentviz.figures.colours import Theme
from sentviz.figures.figure import Figure
from sentviz.gallery import sourced
from sentviz.papers.hardmax import nearness
from sentviz.papers.hardmax.claims import frequent_leaders
from sentviz.papers.hardmax.study import beside, points, surveyed, trained
from sentviz.papers.studies.made import Made
from sentviz.runs.store import Run

NAMED = -1 / 3  # distance of the named leaders from the line: a third of how far leaders reach


def _readable(runs: Sequence[Run]) -> Run | None:
    return next((run for run in trained(runs).get(2, []) if run.has_weights), None)


def _step(runs: Sequence[Run]) -> list[Made]:
    """The first step of the example's word that moves furthest."""
    from sentviz.figures.token_step import token_step
    from sentviz.models.clustering import weights
    from sentviz.models.hardmax import HardmaxModel

    if (run := _readable(runs)) is None:
        return []
    review = HardmaxModel.of(run).follow(run.example().text)
    z = review.positions
    token = int(np.linalg.norm(z[1] - z[0], axis=1).argmax())
    share = weights(z[0], None, 0.0, review.clustering.tolerance)[token]
    return [sourced(token_step(z[0], token, share, review.clustering.alpha, review.words), run)]


def _layers(runs: Sequence[Run]) -> list[Made]:
    """The example before the first layer and after the last."""
    from sentviz.browser.particles import scene_of_review
    from sentviz.figures.particles import particles
    from sentviz.models.hardmax import HardmaxModel

    if (run := _readable(runs)) is None:
        return []
    model = HardmaxModel.of(run)
    review = model.follow(run.example().text)
    scene = scene_of_review(run, model, review)
    return [sourced(particles(scene, layer, name=f"hardmax-{run.name}"), run) for layer in (0, scene.layers)]


def _leaders(runs: Sequence[Run]) -> list[Made]:
    from sentviz.figures.clustering import leader_bars

    made: list[Made] = []
    for run in surveyed(runs)[:1]:
        found, _ = frequent_leaders(run, NAMED)
        made += [sourced(leader_bars(found, label), run) for label in run.labels]
    return made


def _depth(runs: Sequence[Run]) -> list[Made]:
    from sentviz.analysis.testset.leaders import FILE, per_layer
    from sentviz.figures.clustering import layer_bands

    made: list[Made] = []
    for run in surveyed(runs)[:1]:
        made.append(sourced(layer_bands(per_layer(run.frame(FILE)), "at leaders", "Share of words at a leader", share=True), run))
        if run.digest in set(nearness.table()["digest"]):
            made.append(nearness_figure(runs))
    return made


def nearness_figure(runs: Sequence[Run], d: int = 2, theme: Theme = "light") -> Figure:
    """The share of words at a leader over what counts as near, of the first seed of a dimension that is here and was measured.

    Raises:
        InputError: none was.
    """
    from sentviz.analysis.testset.leaders import NEAR
    from sentviz.figures.nearness import nearness_curve

    table = nearness.table()
    run = next((run for run in trained(runs).get(d, []) if run.digest in set(table["digest"])), None)
    if run is None:
        raise InputError(f"No run of d = {d} here has its nearness measured: {nearness.COMMAND}")
    rows = table[table["digest"] == run.digest].drop(columns=["d", "run", "digest"])
    made = nearness_curve(rows, near=NEAR, wanted=nearness.WANTED, layers=run.capabilities.layers, theme=theme)
    return sourced(made, run)


def accuracy_figure(runs: Sequence[Run], theme: Theme = "light") -> Figure:
    """Accuracies by dimension, single seeds too, beside the public code's.

    Raises:
        InputError: no run is here.
    """
    from sentviz.figures.beside import measured_beside_printed

    title, other = "Test accuracy by dimension", "the public code's best"
    made = measured_beside_printed(beside(runs), points(runs), title=title, percent=True, reference=other, theme=theme)
    return sourced(made, *(run for seeds in trained(runs).values() for run in seeds))


def _accuracy(runs: Sequence[Run]) -> list[Made]:
    return [accuracy_figure(runs)] if trained(runs) else []


MAKERS = {
    "example": _step,
    "pipeline": _layers,
    "leaders": _leaders,
    "depth": _depth,
    "accuracy": _accuracy,
}
