"""Figures of a run after each of its epochs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from sentviz.analysis.epochs import EpochSeries, asked_of, epoch_series, events, examples, missing
from sentviz.analysis.evaluation import wilson
from sentviz.errors import InputError, RunError
from sentviz.figures.source import Source
from sentviz.gallery.registry import RunRequirement, figure
from sentviz.gallery.sentence import MAPS
from sentviz.gallery.subjects import Runs
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.figures.figure import Figure


def _unmeasured(run: Run) -> str:
    return missing(run)


MEASURED = RunRequirement("measured epochs", _unmeasured)


@dataclass
class Epochs(Runs):
    """A run after each of its epochs, and a sentence, by default the run's example, predicted with the weights of each epoch."""

    text: str | None = None
    pair: str | None = None

    @property
    def digests(self) -> tuple[str, ...]:
        """Empty: a visitor's sentence may decide the figures."""
        return ()

    @cached_property
    def series(self) -> EpochSeries:
        """The stored measurements of all epochs."""
        if self.versus:
            raise InputError("The epochs of one run only can be drawn. Leave versus out.")
        return epoch_series(self.run)

    @cached_property
    def traces(self) -> dict[int, Trace]:
        """Traces of the sentence by epoch: stored ones for the example, new ones for other sentences if the weights of epochs are stored.

        Raises:
            RunError: there is neither a stored trace nor stored weights.
        """
        traces, problems = examples(self.run) if self.text is None else asked_of(self.run, self.text, self.pair)
        if not traces:
            raise RunError(problems[0])
        return traces if self.calibrated else {epoch: trace.calibrated(1.0) for epoch, trace in traces.items()}

    def sourced(self, figure: Figure) -> Figure:
        """Return the figure with its run and the sample that was measured."""
        first = self.series.first
        rows = f"{len(first.ids):,} rows of {first.split} drawn with seed {first.seed}"
        source = Source(self.run.name, self.run.digest, self.run.config["recipe"]["seed"], rows)
        return replace(figure, runs=(source,), source=f"{source.run} (seed {source.seed}, {source.rows}, digest {source.digest}).")


@figure("epoch-answers", "The prediction after each epoch", Epochs, "epochs:epoch_answers", MEASURED)
def _answers(of: Epochs) -> Figure:
    from sentviz.figures.epochs import epoch_answers

    traces = list(of.traces.values())
    return epoch_answers(list(of.traces), traces[0].labels, [trace.probabilities for trace in traces])


@figure("epoch-maps", "One map after each epoch", Epochs, "epochs:epoch_maps", MAPS, MEASURED)
def _maps(of: Epochs, *, layer: int = 0, head: int | str = "mean", component: int | str = "effective") -> Figure:
    from sentviz.figures.epochs import epoch_maps

    return epoch_maps(of.traces, layer, head, component)


@figure("epoch-confusion", "The confusion matrix after each epoch", Epochs, "epochs:epoch_confusions", MEASURED)
def _confusion(of: Epochs) -> Figure:
    from sentviz.figures.epochs import epoch_confusions

    return epoch_confusions(of.series.epochs, of.series.counts, of.run.labels)


@figure("epoch-points", "The rows as points after each epoch", Epochs, "epochs:epoch_points", MEASURED)
def _points(of: Epochs, *, how: str = "joint") -> Figure:
    from sentviz.analysis.epochs import PICTURES, pictures
    from sentviz.figures.epochs import epoch_points

    seen = of.series
    m = seen.vectors.shape[1]
    places = pictures(seen.vectors, how)
    return epoch_points(seen.epochs, places, seen.first.labels[:m], seen.right[:, :m], of.run.labels, about=f"PCA, {PICTURES[how]}.")


@figure("epoch-heads", "What heads attend to after each epoch", Epochs, "epochs:epoch_heads", MAPS, MEASURED)
def _heads(of: Epochs, *, measure: str = "entropy") -> Figure:
    from sentviz.figures.epochs import epoch_heads

    return epoch_heads(of.series.heads, measure)


@figure("epoch-rows", "Rows learned, forgotten and learned again", Epochs, "forgetting:forgetting", MEASURED)
def _rows(of: Epochs, *, most: int = 40) -> Figure:
    from sentviz.figures.forgetting import forgetting

    seen = of.series
    row_events, n = events(seen.right), len(seen.first.ids)
    ever = int((row_events.forgotten > 0).sum())
    low, high = (float(side) for side in wilson(ever, n))
    about = f"Forgotten at least once: {ever / n:.1%} [{low:.1%}, {high:.1%}]. Changes between two epochs are not visible."
    return forgetting(seen.epochs, seen.first.ids, seen.right, row_events.kinds, row_events.forgotten, most=most, about=about)
