"""What figures are of: a sentence asked of a run, runs side by side, their answers to rows, a paper's study."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from sentviz.analysis.testset.rows import OVER, Rows
from sentviz.errors import InputError
from sentviz.figures.source import Source
from sentviz.gallery.registry import Need, Subject
from sentviz.runs.store import Run, find

if TYPE_CHECKING:
    from sentviz.figures.figure import Figure
    from sentviz.runs.trace import Trace


def _weightless(run: Run) -> str:
    if run.has_weights:
        return ""
    return f"{run.name} carries its history and measurements only, not its weights: `sentviz train` makes a run that can be asked."


WEIGHTS = Need("weights", _weightless)


Statistic = Callable[[Callable[..., Any], Rows, Any], Any]
"""Function of labels, probabilities and an option; rows; the option -> what the function gives."""


def computed(function: Callable[..., Any], rows: Rows, option: Any) -> Any:
    """Compute a statistic of rows."""
    return function(rows.labels, rows.probabilities, option)


NAMED = 8  # runs that a caption names one by one
HALF = 5e-3  # what half precision and rounding change of a lambda


def sourced(figure: Figure, *sources: Run, split: str = "test", rows: Rows | None = None, trace: Trace | None = None) -> Figure:
    """The figure with where it comes from: run, seed, which rows, digest; and what was changed by hand in the trace it is of.

    Of many runs: how many, their seeds and one digest of them all; of none the figure as it is.

    Args:
        split: one of the runs' own, where it is of no other rows.
    """
    here = list({run.name: run for run in sources}.values())
    if not here:
        return figure

    def about(run: Run) -> str:
        size = run.metrics().get(split, {}).get("n")
        return rows.about if rows is not None else OVER.get(split, split) + (f" n = {size:,}" if size is not None else "")

    runs = tuple(Source(run.name, run.digest, run.config["recipe"]["seed"], about(run)) for run in here)
    if len(here) > NAMED:
        return replace(figure, runs=runs, source=_together(here, split))
    words = [f"{'; '.join(f'{one.run} (seed {one.seed}, {one.rows}, digest {one.digest})' for one in runs)}."]
    if trace is not None:
        from sentviz.analysis.explain.notices import remarks

        words += [sentence for kind, sentence in remarks(trace, here[-1]) if kind == "changed"]
    return replace(figure, runs=runs, source=" ".join(words))


def _together(runs: Sequence[Run], split: str) -> str:
    import hashlib

    seeds = sorted({run.config["recipe"]["seed"] for run in runs})
    digest = hashlib.sha256("".join(sorted(run.digest for run in runs)).encode()).hexdigest()[:12]
    sizes = sorted({run.metrics()[split]["n"] for run in runs if split in run.metrics()})
    words = f"{len(runs)} runs of {', '.join(dict.fromkeys(run.config['data']['name'] for run in runs))}"
    rest = f"seeds {', '.join(map(str, seeds))}; {OVER.get(split, split)} n = {', '.join(f'{n:,}' for n in sizes)}; digest of all {digest}."
    return f"{words}; {rest}"


@dataclass
class Sentence(Subject):
    """A sentence asked of a run, its stored example unless given; what comes after the texts are interventions as in `Model.trace`."""

    run: Run
    text: str | None = None
    pair: str | None = None
    lambdas: Any = None
    heads_off: Sequence[tuple[int, int]] = ()
    strength: float | Mapping[str, float] = 1.0
    gates_open: Sequence[int] = ()
    gates_shut: Sequence[int] = ()
    held: bool = field(default=False, init=False)  # the trace was given
    known: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)  # what `once` computed, or a page before it
    load: Callable[[], Any] | None = field(default=None, init=False, repr=False)  # gives the run's model, if it is loaded already

    SAYS: ClassVar[str] = "of a sentence, the run's example unless another is given"
    NEEDS: ClassVar[tuple[Need, ...]] = (WEIGHTS,)

    @classmethod
    def of(cls, run: Run, trace: Trace) -> Sentence:
        """A sentence that was asked already, and is not asked again."""
        learned = run.example().lambdas
        changed = learned.shape != trace.lambdas.shape or not np.allclose(learned, trace.lambdas, atol=HALF)
        lambdas = np.asarray(trace.lambdas, dtype=float).round(6).tolist() if changed else None
        silenced, strength = tuple(trace.heads_off), dict(trace.strength) or 1.0
        made = cls(run, trace.text, trace.text_pair, lambdas, silenced, strength, tuple(trace.gates_open), tuple(trace.gates_shut))
        made.trace, made.held = trace, True
        return made

    @property
    def change(self) -> dict[str, Any]:
        """The interventions as `Model.trace` takes them."""
        names = ("lambdas", "heads_off", "strength", "gates_open", "gates_shut")
        return {name: getattr(self, name) for name in names}

    @cached_property
    def texts(self) -> tuple[str, str | None]:
        """The text, of pairs both."""
        if self.text is not None:
            return self.text, self.pair
        example = self.run.example()
        return example.text, example.text_pair

    @cached_property
    def model(self) -> Any:
        """The run's model."""
        from sentviz.models.loading import load

        return load(self.run) if self.load is None else self.load()

    @cached_property
    def trace(self) -> Trace:
        """The stored trace of the example, which needs no torch, or what the model says of another text or under interventions."""
        example = self.run.example()
        as_stored = self.lambdas is None and not (self.heads_off or self.gates_open or self.gates_shut) and self.strength == 1
        return example if as_stored and self.texts == (example.text, example.text_pair) else self.fresh

    @cached_property
    def fresh(self) -> Trace:
        """The trace as the model gives it now, also of the example.

        Raises:
            InputError: as `asked`.
        """
        return self.asked()

    def once(self, key: Any, compute: Callable[[], Any]) -> Any:
        """Return what several figures of the sentence need, computed by the first of them."""
        if key not in self.known:
            self.known[key] = compute()
        return self.known[key]

    def asked(self, **change: Any) -> Trace:
        """The trace as the model gives it now, under its own interventions and those given.

        Raises:
            InputError: the trace is one that was given.
        """
        if self.held:
            raise InputError("This figure asks the model anew, and there is its trace only.")
        trace: Trace = self.model.trace(*self.texts, **(self.change | change))
        return trace

    def sourced(self, figure: Figure) -> Figure:
        """The figure with its run and what was changed by hand."""
        return sourced(figure, self.run, trace=self.trace)


@dataclass
class Runs(Subject):
    """A run, with others beside it."""

    run: Run
    versus: Sequence[str] = ()

    SAYS: ClassVar[str] = "of how a run was trained and what was measured of it"

    @classmethod
    def of(cls, *runs: Run) -> Self:
        """The subject of these runs, which are not looked up again."""
        made = cls(runs[0], tuple(run.name for run in runs[1:]))
        made.sources = list(runs)
        return made

    @property
    def digests(self) -> tuple[str, ...]:
        """Digests of the runs: a figure of runs depends on nothing else."""
        return tuple(run.digest for run in self.sources)

    @cached_property
    def sources(self) -> list[Run]:
        """All of them."""
        return [self.run, *map(find, self.versus)]

    def sourced(self, figure: Figure) -> Figure:
        """The figure with its runs."""
        return sourced(figure, *self.sources)


@dataclass
class Answers(Subject):
    """What a run, and others beside it, say of rows: a stored split, or the demo set, at a threshold for the second of two classes."""

    run: Run
    versus: Sequence[str] = ()
    over: str = "test"
    threshold: float = -1.0
    statistic: Statistic = field(default_factory=lambda: computed, init=False, repr=False)  # `computed`, or a page's, which keeps results

    SAYS: ClassVar[str] = "of what a run says of rows"

    @classmethod
    def of(cls, *rows: Rows, runs: Sequence[Run] = (), statistic: Statistic = computed) -> Self:
        """The subject of rows that were predicted already, the same rows of each run.

        Args:
            runs: those of the rows; found by name unless given.
            statistic: computes a statistic of rows, or returns what it computed before.
        """
        sources = list(runs) or [find(each.run) for each in rows]
        made = cls(sources[0], tuple(run.name for run in sources[1:]), rows[0].over, rows[0].threshold)
        made.sources, made.rows, made.statistic = sources, list(rows), statistic
        return made

    @property
    def nameable(self) -> bool:
        """Rows of a visitor's own file are kept for a visit only."""
        return self.over != "mine"

    @cached_property
    def sources(self) -> list[Run]:
        """All of them."""
        return [self.run, *map(find, self.versus)]

    @cached_property
    def rows(self) -> list[Rows]:
        """The rows of each run, all the same.

        Raises:
            SentvizError: a run has not seen them, or has other classes.
        """
        from sentviz.analysis.testset.versus import aligned

        found = [answered(run, self.over).at_threshold(self.threshold) for run in self.sources]
        return [found[0], *(aligned(found[0], rows) for rows in found[1:])]

    @property
    def first(self) -> Rows:
        """The rows of the run itself."""
        return self.rows[0]

    @cached_property
    def texts(self) -> Rows:
        """The rows of the run with their texts.

        Raises:
            DataMissingError: they are not on this machine; the message says how to get them.
        """
        from sentviz.data import datasets

        if self.first.has_text:
            return self.first
        return self.first.with_text(datasets.load_split(self.run.config["data"]["name"], self.over).frame)

    def sourced(self, figure: Figure) -> Figure:
        """The figure with its runs and rows."""
        return sourced(figure, *self.sources, rows=self.first)


def answered(run: Run, over: str) -> Rows:
    """What a run says of a stored split, or of the demo set, about which it is asked.

    Raises:
        SentvizError: it has not seen the split, or cannot be asked.
    """
    from sentviz.analysis.testset.rows import predicted, stored

    if over != "demo":
        return stored(run, over)
    if why := WEIGHTS.lacks(run):
        raise InputError(why)
    from sentviz.data import demo
    from sentviz.models.loading import load

    frame = demo.load()
    frame = frame.assign(label=frame["label"].map(demo.labels_for(run.labels)), tag=frame["phenomenon"])
    return predicted(load(run), run.digest, frame, "demo")


@dataclass
class Study(Subject):
    """A data set of a paper's study, or all of them, from every run at hand."""

    name: str

    SAYS: ClassVar[str] = "of a paper's study, which take a data set in the place of a run"
    OF_RUN: ClassVar[bool] = False

    @cached_property
    def runs(self) -> list[Run]:
        """Every run that studies read."""
        from sentviz.runs.catalog import study_runs

        return study_runs().runs

    @classmethod
    def of(cls, name: str, runs: Sequence[Run]) -> Study:
        """From these runs, whatever else is at hand."""
        study = cls(name)
        study.runs = list(runs)
        return study

    def sourced(self, figure: Figure) -> Figure:
        """As it is: makers of studies say themselves which runs they drew."""
        return figure


SUBJECTS: tuple[type[Sentence | Answers | Runs | Study], ...] = (Sentence, Answers, Runs, Study)
"""In the order of the app's sections."""
