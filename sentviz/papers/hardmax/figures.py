"""Figures of the hardmax paper, from all runs that studies read, and of the first run that fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sentviz.analysis.testset.leaders import NEAR
from sentviz.charts import gallery
from sentviz.charts.registry import figure
from sentviz.charts.subjects import Runs, Sentence, Study, sourced
from sentviz.errors import InputError
from sentviz.papers.hardmax import study
from sentviz.papers.hardmax.study import EXAMPLE, NAMED, WANTED, beside, by_setting, points, surveyed, trained
from sentviz.runs.store import Run

if TYPE_CHECKING:
    from sentviz.charts.figure import Figure
    from sentviz.papers.studies.items import Maker, PaperItem


@figure("hardmax-accuracy", "Test accuracy by dimension", Study)
def _hardmax_accuracy(of: Study) -> Figure:
    """Draw accuracies by setting and dimension, single seeds too, next to those of the authors' public code."""
    from sentviz.charts.measured_vs_printed import measured_beside_printed

    every_run = [run for by_d in by_setting(of.runs).values() for seeds in by_d.values() for run in seeds]
    if not every_run:
        raise InputError("There is no hardmax run: `sentviz train imdb --model hardmax-d2` trains one.")
    title, reference = "Test accuracy by dimension", "the public code's best"
    drawn = measured_beside_printed(beside(of.runs), points(of.runs), title=title, percent=True, reference=reference)
    return sourced(drawn, *every_run)


@figure("hardmax-nearness", "Share of words at a leader, by the distance that counts as near", Study)
def _hardmax_nearness(of: Study, *, d: int = 2) -> Figure:
    """Draw the share of words at a leader by the distance that counts as near, for the first measured seed of a dimension."""
    from sentviz.charts.nearness import nearness_curve

    table = study.NEARNESS.read()
    run = next((run for run in trained(of.runs).get(d, []) if run.digest in set(table["digest"])), None)
    if run is None:
        raise InputError(f"No run of d = {d} has a measured nearness: `{study.NEARNESS.command}` measures it.")
    rows = table[table["digest"] == run.digest].drop(columns=["d", "run", "digest"])
    drawn = nearness_curve(rows, near=NEAR, wanted=WANTED, layers=run.capabilities.layers)
    return sourced(drawn, run)


@figure("hardmax-components", "A review through embedding, transformer and decoder", Study)
def _hardmax_components(of: Study, *, text: str = "", decoder: bool = True) -> Figure:
    """Draw a review through the three components of the first run with d = 2 that has weights; by default our example."""
    from sentviz.charts.hardmax_panels import hardmax_panels
    from sentviz.charts.scene import scene_of_review
    from sentviz.models.hardmax import HardmaxModel

    run = next(iter(_with_weights(of.runs)), None)
    if run is None:
        raise InputError("No hardmax run of d = 2 with weights is installed: `sentviz train imdb --model hardmax-d2` trains one.")
    model = HardmaxModel.of(run)
    scene = scene_of_review(run, model, model.follow(text or EXAMPLE))
    name = "hardmax-components" if decoder else "hardmax-clusters"
    return sourced(hardmax_panels(scene, marked=NAMED, decoder=decoder, name=name), run)


# ---- items of the poster that show one run


def _of_first(choose: Callable[[Sequence[Run]], list[Run]], draw: Callable[[Run], list[Figure]]) -> Maker:
    """Return a maker of figures of the first run that `choose` returns; it makes nothing if there is none."""

    def make_figures(runs: Sequence[Run]) -> list[PaperItem]:
        return [item for run in choose(runs)[:1] for item in draw(run)]

    return make_figures


def _with_weights(runs: Sequence[Run]) -> list[Run]:
    from sentviz.papers.hardmax.study import with_weights

    return with_weights(runs)


def _with_leaders(runs: Sequence[Run]) -> list[Run]:
    return surveyed(runs)


def _step(run: Run) -> list[Figure]:
    """Draw the step of one token of our example."""
    return [gallery.make("token-step", Sentence(run, EXAMPLE))]


def _vocabulary(run: Run) -> list[Figure]:
    """Draw the vocabulary with the two words that the poster names."""
    return [gallery.make("vocabulary", Runs.of(run), marked=NAMED)]


def _leaders(run: Run) -> list[Figure]:
    """Draw the most frequent leaders of each class."""
    return [gallery.make("leaders", Runs.of(run), label=label) for label in run.labels]


MAKERS = {
    "example": _of_first(_with_weights, _step),
    "vocabulary": _of_first(_with_leaders, _vocabulary),
    "leaders": _of_first(_with_leaders, _leaders),
    "depth": _of_first(_with_leaders, lambda run: [gallery.make("leaders-depth", Runs.of(run), measure="at leaders")]),
}
