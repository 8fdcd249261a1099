"""What each picture of the hardmax poster is made of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sentviz.gallery import sourced
from sentviz.papers.hardmax.claims import beside, frequent_leaders, trained
from sentviz.runs import Run
from sentviz.studies.made import Made

__all__ = ["MAKERS"]

NAMED = -1 / 3  # distance of the named leaders from the line: a third of how far leaders reach


def _readable(runs: Sequence[Run]) -> Run | None:
    run = trained(runs).get(2)
    return run if run is not None and run.askable else None


def _step(runs: Sequence[Run]) -> list[Made]:
    """The first step of the example's word that moves furthest."""
    from sentviz.figures.token_step import token_step
    from sentviz.hardmax import weights
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
    from sentviz.figures.particles import particles
    from sentviz.models.hardmax import HardmaxModel
    from sentviz.particles import scene_of

    if (run := _readable(runs)) is None:
        return []
    model = HardmaxModel.of(run)
    review = model.follow(run.example().text)
    scene = scene_of(
        review.clustering,
        review.words,
        f"A review of {len(review.words)} words through {run.name}",
        decision=model.decision,
        means=review.means,
        probabilities=review.probabilities[:, 1],
        labels=(run.labels[0], run.labels[1]),
    )
    return [sourced(particles(scene, layer, name=f"hardmax-{run.name}"), run) for layer in (0, scene.layers)]


def _leaders(runs: Sequence[Run]) -> list[Made]:
    from sentviz.figures.clustering import leader_bars

    found = frequent_leaders(runs, NAMED)
    if found is None:
        return []
    run = trained(runs)[2]
    return [sourced(leader_bars(found[0], label), run) for label in run.labels]


def _depth(runs: Sequence[Run]) -> list[Made]:
    from sentviz.figures.clustering import layer_bands
    from sentviz.testset.leaders import FILE, per_layer

    run = trained(runs).get(2)
    if run is None or FILE not in run.config["files"]:
        return []
    return [sourced(layer_bands(per_layer(run.frame(FILE)), "at leaders", "Share of words at a leader", share=True), run)]


def _accuracy(runs: Sequence[Run]) -> list[Made]:
    from sentviz.figures.beside import measured_beside_printed

    table = beside(runs)
    if table.empty:
        return []
    frame = table.assign(model=[f"d = {d}" for d in table["d"]], printed=table["public"], seeds=1)
    return [
        sourced(
            measured_beside_printed(frame, title="Test accuracy by dimension", percent=True, other="the public code's best"),
            *trained(runs).values(),
        )
    ]


MAKERS = {
    "example": _step,
    "pipeline": _layers,
    "leaders": _leaders,
    "depth": _depth,
    "accuracy": _accuracy,
}
