"""Figures of the hardmax paper, from all runs that studies read, and of the first run that fits."""

from __future__ import annotations

import numpy as np

from sentviz.analysis.testset.leaders import NEAR
from sentviz.charts import gallery
from sentviz.charts.chart import Axis, Chart, Rule, line
from sentviz.charts.figure import Figure
from sentviz.charts.registry import figure
from sentviz.charts.subjects import Runs, Sentence, Study, sourced
from sentviz.errors import InputError
from sentviz.io.numbers import PERCENT, number, percent
from sentviz.papers.hardmax import study
from sentviz.papers.hardmax.study import EXAMPLE, NAMED, WANTED, beside, by_setting, points, surveyed, trained, with_weights
from sentviz.papers.studies.items import of_first

LINES = {"q50": "half of the reviews", "mean": "mean", "q05": "19 of 20 reviews"}


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
    """Draw the share of a review's words at a leader after the last layer by the distance that counts as near, for the first measured seed
    of a dimension. Dotted lines mark the limits of our claim.

    Frame:
        nearness, mean, q05, q50 (shares of words: mean over reviews, shares that 19 of 20 and half of them reach), n.
    """
    table = study.NEARNESS.read()
    run = next((run for run in trained(of.runs).get(d, []) if run.digest in set(table["digest"])), None)
    if run is None:
        raise InputError(f"No run of d = {d} has a measured nearness: `{study.NEARNESS.command}` measures it.")
    rows = table[table["digest"] == run.digest].drop(columns=["d", "run", "digest"]).sort_values("nearness").reset_index(drop=True)
    drawn = rows.melt("nearness", list(LINES), "column", "share").assign(name=lambda frame: frame["column"].map(LINES))
    lines = line(drawn, "nearness", "share", by="name", size=0.7, hover="within {nearness:.2g}: {share:.1%}, {name}")
    ends = rows["nearness"].to_numpy(float)[[0, -1]]
    decades = 10.0 ** np.arange(np.floor(np.log10(ends[0])), np.ceil(np.log10(ends[1])) + 1)
    ticks = {decade: number(100 * decade, max(0, round(-2 - np.log10(decade))), unit=PERCENT) for decade in decades.tolist()}
    across = Axis("near: within this share of the largest norm", log=True, span=(ends[0] * 0.8, ends[1] * 1.25), ticks=ticks)
    down = Axis("share of words", ".0%", span=(0, 1.02))
    title, rules = f"Words near a leader after {run.capabilities.layers} layers", [Rule(x=NEAR), Rule(y=WANTED)]
    caption = (
        "Lines: the share of words at a leader that half of the reviews reach, that 19 of 20 reviews reach, and the mean. Dotted: the"
        f" limits of our test, {percent(WANTED, 0)} of the words within {percent(NEAR, 0)} (the poster names no number); n ="
        f" {int(rows['n'].max()):,}."
    )
    chart = Chart(title, [lines], across, down, rules=rules, dashed=None, ends="{name}")
    return sourced(Figure("nearness", chart, rows, caption), run)


@figure("hardmax-components", "A review through embedding, transformer and decoder", Study)
def _hardmax_components(of: Study, *, text: str = "", decoder: bool = True) -> Figure:
    """Draw a review through the three components of the first run with d = 2 that has weights; by default our example."""
    from sentviz.charts.hardmax_panels import hardmax_panels
    from sentviz.charts.scene import scene_of_review
    from sentviz.models.hardmax import HardmaxModel

    run = next(iter(with_weights(of.runs)), None)
    if run is None:
        raise InputError("No hardmax run of d = 2 with weights is installed: `sentviz train imdb --model hardmax-d2` trains one.")
    model = HardmaxModel.of(run)
    scene = scene_of_review(run, model, model.follow(text or EXAMPLE))
    name = "hardmax-components" if decoder else "hardmax-clusters"
    return sourced(hardmax_panels(scene, marked=NAMED, decoder=decoder, name=name), run)


# ---- items of the poster that show one run


MAKERS = {
    "example": of_first(with_weights, lambda run: [gallery.make("token-step", Sentence(run, EXAMPLE))]),
    "vocabulary": of_first(surveyed, lambda run: [gallery.make("vocabulary", Runs.of(run), marked=NAMED)]),
    "leaders": of_first(surveyed, lambda run: [gallery.make("leaders", Runs.of(run), label=label) for label in run.labels]),
    "depth": of_first(surveyed, lambda run: [gallery.make("leaders-depth", Runs.of(run), measure="at leaders")]),
}
