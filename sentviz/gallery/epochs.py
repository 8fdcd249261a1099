"""Figures of a run after each of its epochs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from sentviz.errors import InputError, RunError
from sentviz.figures.source import Source
from sentviz.gallery.registry import Need, figure
from sentviz.gallery.sentence import MAPS
from sentviz.gallery.subjects import Runs
from sentviz.runs.store import Run

if TYPE_CHECKING:
    from sentviz.analysis.epochs.course import Course
    from sentviz.figures.colours import Theme
    from sentviz.figures.figure import Figure
    from sentviz.runs.trace import Trace


def _unmeasured(run: Run) -> str:
    from sentviz.analysis.epochs.course import missing

    return missing(run)


MEASURED = Need("measured epochs", _unmeasured)


@dataclass
class Epochs(Runs):
    """A run after each of its epochs, and a sentence that it is asked with the weights of each, its example unless another is given."""

    text: str | None = None
    pair: str | None = None

    @property
    def digests(self) -> tuple[str, ...]:
        """None: a visitor's sentence may decide its figures."""
        return ()

    @cached_property
    def course(self) -> Course:
        """What was measured."""
        from sentviz.analysis.epochs.course import course

        if self.versus:
            raise InputError("Epochs are those of one run.")
        return course(self.run)

    @cached_property
    def traces(self) -> dict[int, Trace]:
        """The sentence after each epoch: of the example as stored, of another one where weights are kept.

        Raises:
            RunError: neither is there.
        """
        from sentviz.analysis.epochs.course import asked_of, examples

        found, problems = examples(self.run) if self.text is None else asked_of(self.run, self.text, self.pair)
        if not found:
            raise RunError(problems[0])
        return found

    def sourced(self, figure: Figure) -> Figure:
        """The figure with its run and the sample that was measured."""
        first = self.course.first
        rows = f"{len(first.ids):,} rows of {first.split} drawn with seed {first.seed}"
        one = Source(self.run.name, self.run.digest, self.run.config["recipe"]["seed"], rows)
        return replace(figure, runs=(one,), source=f"{one.run} (seed {one.seed}, {one.rows}, digest {one.digest}).")


@figure("epoch-answers", "The answer after each epoch", Epochs, "epochs:epoch_answers", MEASURED)
def _answers(of: Epochs, *, theme: Theme = "light") -> Figure:
    from sentviz.figures.epochs import epoch_answers

    traces = list(of.traces.values())
    return epoch_answers(list(of.traces), traces[0].labels, [trace.probabilities for trace in traces], theme=theme)


@figure("epoch-maps", "One map after each epoch", Epochs, "epochs:epoch_maps", MAPS, MEASURED)
def _maps(of: Epochs, *, layer: int = 0, head: int | str = "mean", component: int | str = "effective", theme: Theme = "light") -> Figure:
    from sentviz.figures.epochs import epoch_maps

    return epoch_maps(of.traces, layer, head, component, theme=theme)


@figure("epoch-confusion", "The confusion matrix after each epoch", Epochs, "epochs:epoch_confusions", MEASURED)
def _confusion(of: Epochs, *, theme: Theme = "light") -> Figure:
    from sentviz.figures.epochs import epoch_confusions

    return epoch_confusions(of.course.epochs, of.course.counts, of.run.labels, theme=theme)


@figure("epoch-points", "The rows as points after each epoch", Epochs, "epochs:epoch_points", MEASURED)
def _points(of: Epochs, *, how: str = "joint", theme: Theme = "light") -> Figure:
    from sentviz.analysis.epochs.course import PICTURES, pictures
    from sentviz.figures.epochs import epoch_points

    seen = of.course
    m = seen.vectors.shape[1]
    places = pictures(seen.vectors, how)
    return epoch_points(
        seen.epochs, places, seen.first.labels[:m], seen.right[:, :m], of.run.labels, about=f"PCA, {PICTURES[how]}.", theme=theme
    )


@figure("epoch-heads", "What heads attend to after each epoch", Epochs, "epochs:epoch_heads", MAPS, MEASURED)
def _heads(of: Epochs, *, measure: str = "entropy", theme: Theme = "light") -> Figure:
    from sentviz.figures.epochs import epoch_heads

    return epoch_heads(of.course.heads, measure, theme=theme)


@figure("epoch-rows", "Rows learned, forgotten and learned again", Epochs, "forgetting:forgetting", MEASURED)
def _rows(of: Epochs, *, most: int = 40, theme: Theme = "light") -> Figure:
    from sentviz.analysis.epochs.course import events
    from sentviz.analysis.evaluation import wilson
    from sentviz.figures.forgetting import forgetting

    seen = of.course
    found, n = events(seen.right), len(seen.first.ids)
    ever = int((found.forgotten > 0).sum())
    low, high = (float(side) for side in wilson(ever, n))
    about = f"Forgotten at least once: {ever / n:.1%} [{low:.1%}, {high:.1%}]. What happened between two epochs is not seen."
    return forgetting(seen.epochs, seen.first.ids, seen.right, found.kinds, found.forgotten, most=most, about=about, theme=theme)
