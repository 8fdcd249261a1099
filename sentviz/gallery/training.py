"""Figures of runs: their training, and tables that were measured over their data set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sentviz.errors import InputError
from sentviz.gallery.registry import RunRequirement, capability, figure, table
from sentviz.gallery.sentence import MAPS, MOVING
from sentviz.gallery.subjects import WEIGHTS, Runs, sourced
from sentviz.io.lazy import pd
from sentviz.runs.registry import printed
from sentviz.runs.store import Run

if TYPE_CHECKING:
    from sentviz.figures.figure import Figure

ScalarAxis = Literal["step", "share"]
UNEQUAL = 1.25  # ratio of two lengths of training above which steps compare badly

HEADS = table("heads.parquet", "heads", "sentviz heads")
GATE = capability("gate", "gates")
GATES = table("gates.parquet", "gates", "sentviz gates")
COMPONENTS = table("components.parquet", "components", "sentviz specialise")
LEADERS = table("leaders.parquet", "leaders", "sentviz leaders")
LAMBDAS = capability("lambdas", "lambda")
SCALARS = capability("scalars", "learned scalars")
SEVERAL = RunRequirement(
    "several components",
    lambda run: (
        "" if run.capabilities.components > 1 else f"{run.name} has {run.capabilities.attention}, so it has no components to compare."
    ),
)
PLANE = RunRequirement(
    "an embedding of two dimensions",
    lambda run: (
        "" if run.shape.width == 2 else f"The embedding of {run.name} does not have two dimensions. The embedding of hardmax-d2 has two."
    ),
)


@figure("lambda", "Lambda over training", Runs, "scalars:scalar_evolution", LAMBDAS)
def _lambda(of: Runs, *, change: bool = False, x: ScalarAxis = "step", series: Sequence[int] = ()) -> Figure:
    return scalar_figure(of.sources, ("lambda",), change=change, x=x, series=series)


@figure("scalars", "Every learned scalar over training", Runs, "scalars:scalar_evolution", SCALARS)
def _scalars(of: Runs, *, change: bool = False, x: ScalarAxis = "step", series: Sequence[int] = ()) -> Figure:
    return scalar_figure(of.sources, change=change, x=x, series=series)


def scalar_figure(
    sources: Sequence[Run],
    names: Sequence[str] = (),
    *,
    change: bool = False,
    x: ScalarAxis = "step",
    series: Sequence[int] = (),
) -> Figure:
    """Draw learned scalars over training, by default all that the runs have, with a paper's final values if it reports them.

    `change`, `x` and `series` are those of `sentviz.figures.scalars.scalar_evolution`.
    """

    from sentviz.figures.scalars import scalar_evolution

    wanted = tuple(names) or tuple(dict.fromkeys(name for run in sources for name in run.capabilities.scalars))
    marks = [
        frame[frame["name"].isin(wanted)].assign(run=run.name)[["run", "name", "layer", "component", "value"]]
        for run in sources
        if set(wanted) & set(run.capabilities.scalars)
        for frame in [printed(run.config["data"]["name"], run.configuration)]
    ]
    marks = [mark for mark in marks if not mark.empty]
    history = {run.name: run.history() for run in sources}
    reported = pd.concat(marks) if marks else None
    return sourced(scalar_evolution(history, wanted, change=change, x=x, series=series, printed=reported), *sources)


def scalar_axis(sources: Sequence[Run]) -> ScalarAxis:
    """Return the axis on which learned scalars of runs are best compared: the share of training if the longest run has more than
    `UNEQUAL` times the steps of the shortest one, otherwise the steps.
    """
    from sentviz.figures.scalars import training_steps

    steps = training_steps({run.name: run.history() for run in sources}).values()
    return "share" if max(steps) > UNEQUAL * min(steps) else "step"


@figure("curves", "Loss and metrics over training", Runs, "curves:curves")
def _curves(of: Runs, *, x: Literal["epoch", "step"] = "epoch", bands: bool = False, series: Sequence[int] = ()) -> Figure:
    from sentviz.figures.curves import curves

    groups = {run.name: f"{run.config['data']['name']}/{run.configuration}" for run in of.sources} if bands else None
    stored = {run.name: run.config["best"]["step"] for run in of.sources}
    return curves({run.name: run.history() for run in of.sources}, stored=stored, x=x, groups=groups, series=series)


# ---- tables over a split


def _measured(of: Runs, need: RunRequirement, file: str) -> dict[str, Any]:
    """Return a stored table of each run."""
    if why := next((why for run in of.sources if (why := need.lacks(run))), ""):
        raise InputError(why)
    return {run.name: run.frame(file) for run in of.sources}


@figure("head-lines", "What heads attend to, by layer", Runs, "heads:layer_lines", MAPS, HEADS)
def _head_lines(
    of: Runs,
    *,
    measures: Sequence[str] = ("entropy", "same", "previous", "next"),
    series: Sequence[int] = (),
) -> Figure:
    from sentviz.figures.heads import layer_lines

    plain = [run.name for run in of.sources if not run.capabilities.lexicon]
    dashed = plain if len(plain) < len(of.sources) else []
    return layer_lines(_measured(of, HEADS, "heads.parquet"), tuple(measures), dashed=dashed, series=series)


@figure("head-grid", "One measure of every head", Runs, "heads:head_grid", MAPS, HEADS)
def _head_grid(of: Runs, *, measure: str = "entropy") -> Figure:
    from sentviz.figures.heads import head_grid

    return head_grid(of.run.frame("heads.parquet"), measure)


@figure("gate-lines", "The mean gate by class of words and layer", Runs, "gate_groups:gate_lines", GATE, GATES)
def _gate_lines(of: Runs) -> Figure:
    from sentviz.figures.gate_groups import gate_lines

    return gate_lines(of.run.frame("gates.parquet"), run=of.run.name)


@figure("gate-grid", "The mean gate by part of speech or word", Runs, "gate_groups:gate_grid", GATE, GATES)
def _gate_grid(of: Runs, *, kind: Literal["tag", "class", "word"] = "tag", most: int = 24) -> Figure:
    from sentviz.figures.gate_groups import gate_grid

    return gate_grid(of.run.frame("gates.parquet"), kind=kind, most=most, run=of.run.name)


@figure("component-words", "What components attend to, by class of words", Runs, "specialise:word_shares", SEVERAL, COMPONENTS)
def _component_words(of: Runs) -> Figure:
    from sentviz.figures.specialise import word_shares

    return word_shares(of.run.frame("components.parquet"), run=of.run.name)


@figure("component-entropy", "Entropy of each component", Runs, "specialise:entropies", SEVERAL, COMPONENTS)
def _component_entropy(of: Runs) -> Figure:
    from sentviz.figures.specialise import entropies

    return entropies(of.run.frame("components.parquet"), run=of.run.name)


@figure("component-likeness", "Similarity of the components", Runs, "specialise:likeness", SEVERAL, COMPONENTS)
def _component_likeness(of: Runs) -> Figure:
    from sentviz.figures.specialise import likeness

    return likeness(of.run.frame("components.parquet"), run=of.run.name)


# ---- leaders of a hardmax transformer


@figure("leaders", "The most frequent leaders of a class", Runs, "clustering:leader_bars", MOVING, LEADERS, WEIGHTS)
def _leaders(
    of: Runs,
    *,
    label: str = "",
    distance: float = -1.0,
    confidence: float = 0.95,
    top: int = 15,
) -> Figure:
    from sentviz.analysis.testset.leaders import frequent, leading
    from sentviz.figures.clustering import leader_bars
    from sentviz.models.hardmax import HardmaxModel

    model, frame = HardmaxModel.of(of.run), of.run.frame("leaders.parquet")
    if distance < 0:  # a third of how far leaders reach
        words = leading(frame, model.vocabulary)
        distance = float((words.loc[words["leads"] > 0, "score"].abs() / np.linalg.norm(model.decision[0])).max()) / 3
    rows = frequent(frame, model.vocabulary, model.decision[0], distance=distance, confidence=confidence, top=top)
    return leader_bars(rows, label or of.run.labels[-1])


@figure("leaders-depth", "How fast texts cluster", Runs, "clustering:layer_bands", MOVING, LEADERS)
def _leaders_depth(of: Runs, *, measure: str = "clusters") -> Figure:
    from sentviz.analysis.testset.leaders import per_layer
    from sentviz.figures.clustering import layer_bands

    title = {"clusters": "Number of places at which the words are", "at leaders": "Share of words at a leader"}.get(measure, measure)
    return layer_bands(per_layer(of.run.frame("leaders.parquet")), measure, title, share=measure == "at leaders")


@figure("vocabulary", "Every word at its embedding", Runs, "clustering:vocabulary_map", MOVING, PLANE, LEADERS, WEIGHTS)
def _vocabulary(of: Runs, *, named: int = 40, marked: Sequence[str] = ()) -> Figure:
    from sentviz.analysis.testset.leaders import leading
    from sentviz.figures.clustering import vocabulary_map
    from sentviz.models.hardmax import HardmaxModel

    model = HardmaxModel.of(of.run)
    words = leading(of.run.frame("leaders.parquet"), model.vocabulary)
    return vocabulary_map(words, model.decision, of.run.labels, named=named, marked=marked)
