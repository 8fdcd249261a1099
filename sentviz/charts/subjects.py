"""The subjects of figures: a sentence, runs, predictions of rows, a paper's study."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from sentviz.analysis.causal.directions import Directions
from sentviz.analysis.testset import word_counts
from sentviz.analysis.testset.behaviour import Card, card_of, stored_card
from sentviz.analysis.testset.compare import answers_for
from sentviz.analysis.testset.rows import OVER, Rows, RowsSource, aligned, answered, with_texts
from sentviz.analysis.testset.subset import Subset
from sentviz.analysis.testset.weak import WeakSlices
from sentviz.analysis.testset.word_counts import Counts
from sentviz.charts.options import REAL, UNWRITTEN, Kind, place, several
from sentviz.charts.registry import FigureSubject, RunRequirement
from sentviz.charts.source import Source
from sentviz.data.labels import Reading
from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.runs.catalog import study_runs
from sentviz.runs.intervention import Edit, Intervention
from sentviz.runs.store import Run, find
from sentviz.runs.target import Target
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.charts.figure import Figure
    from sentviz.models.model import Model


def _weightless(run: Run) -> str:
    if run.has_weights:
        return ""
    return (
        f"{run.name} is stored with its history and measurements but without weights. `sentviz train` makes a run that can make"
        " predictions."
    )


WEIGHTS = RunRequirement("weights", _weightless)


Statistic = Callable[[Callable[..., Any], Rows, Any], Any]
"""Takes a function of labels, probabilities and an option, then rows and the option; returns the result of the function."""


def computed(function: Callable[..., Any], rows: Rows, option: Any) -> Any:
    """Compute a statistic of rows."""
    return function(rows.labels, rows.probabilities, option)


def with_labels(sources: Sequence[Rows]) -> list[Rows]:
    """Return the same rows of each source without those that have no label; unchanged if no row has one."""
    first = sources[0]
    return [replace(rows, frame=rows.frame[first.labels >= 0].reset_index(drop=True)) if first.labelled else rows for rows in sources]


NAMED = 8  # largest number of runs that a caption names
LONGEST = 120  # columns of a sentence in the origin of a figure; its record has all of it


def sourced(
    figure: Figure, *sources: Run | RowsSource, split: str = "test", rows: Rows | None = None, trace: Trace | None = None, read: str = ""
) -> Figure:
    """Return the figure with its origin, which stands in each exported file: run, seed, what the run read, digest, and changes by hand.

    What the run read is the sentence of the `trace`, else the `rows` with their number, else the split with the number of its rows. For
    more than `NAMED` sources: their number, their seeds and one digest of all. Without a source, the figure is unchanged.

    Args:
        split: split of the runs that the figure shows, or its rows in words, if there are no `rows`.
        read: description of other texts that the run read.
    """
    unique = list({of.name: of if isinstance(of, RowsSource) else RowsSource.of(of) for of in sources}.values())
    if not unique:
        return figure

    def about(*parts: RowsSource) -> str:
        if rows is not None:
            return rows.about
        sizes = sorted({of.run.metrics()[split]["n"] for of in parts if of.run is not None and split in of.run.metrics()})
        return OVER.get(split, split) + (f" n = {', '.join(f'{n:,}' for n in sizes)}" if sizes else "")

    runs = tuple(Source(of.name, of.digest, of.seed, about(of)) for of in unique if of.run is not None and of.seed is not None)
    if len(unique) > NAMED:
        return replace(figure, runs=runs, source=_together(unique, about(*unique)))
    read = read or ("" if trace is None else _quoted(trace))
    seeds = ["" if of.seed is None else f"seed {of.seed}, " for of in unique]
    words = [f"{of.name} ({seed}{read or about(of)}, digest {of.digest})" for of, seed in zip(unique, seeds, strict=True)]
    if not any(of.digest for of in unique):
        words = [f"{unique[0].name}, a model open in memory{f' ({read})' if read else ''}"]
    changes = [] if trace is None else trace.change.sentences(trace.tokens)
    return replace(figure, runs=runs, source=" ".join(["; ".join(words) + ".", *changes]))


def _quoted(trace: Trace) -> str:
    from sentviz.charts.text import shortened

    return " / ".join(f"“{shortened(text, LONGEST)}”" for text in (trace.text, trace.text_pair) if text is not None)


def _together(sources: Sequence[RowsSource], rows: str) -> str:
    import hashlib

    seeds = sorted({of.seed for of in sources if of.seed is not None})
    digest = hashlib.sha256("".join(sorted(of.digest for of in sources)).encode()).hexdigest()[:12]
    words = f"{len(sources)} runs of {', '.join(dict.fromkeys(of.data for of in sources if of.data))}"
    return f"{words}; seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}; {rows}; digest of all {digest}."


@dataclass
class Sentence(FigureSubject):
    """A sentence that a run reads, by default its stored example.

    `target` and `against` are the class that explanations are about, and the class that it is compared with; by default the predicted class
    against all others. `change` is the text of an intervention.
    """

    run: Run
    text: str | None = None
    pair: str | None = None
    change: str = ""
    calibrated: bool = True  # False = probabilities before calibration
    target: str = ""
    against: str = ""
    has_fixed_trace: bool = field(default=False, init=False)  # True if the sentence was built from a trace
    known: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)  # results that `once` or a page computed
    load: Callable[[], Any] | None = field(default=None, init=False, repr=False)  # returns the run's model, if a page has loaded it

    SAYS: ClassVar[str] = "of a sentence; default: the run's example"
    NEEDS: ClassVar[tuple[RunRequirement, ...]] = (WEIGHTS,)
    EARLIER: ClassVar[Mapping[str, Kind]] = {  # see `Intervention.from_arguments`
        **dict.fromkeys(("lambdas", "heads_off"), UNWRITTEN),
        **dict.fromkeys(("gates_open", "gates_shut"), several(place("token"))),
        "strength": REAL,
    }

    def __post_init__(self) -> None:
        self.intervention = Intervention.parse(self.change)
        self.change = self.intervention.text()

    @classmethod
    def of(cls, run: Run, trace: Trace) -> Sentence:
        """Return the sentence of a trace, which is not computed again."""
        calibrated = trace.calibration == run.calibration
        aim = trace.target
        sentence = cls(run, trace.text, trace.text_pair, trace.change.text(), calibrated, target=aim.label, against=aim.against)
        sentence.trace, sentence.has_fixed_trace = trace, True
        return sentence

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

        model = load(self.run) if self.load is None else self.load()
        return model if self.calibrated else model.calibrated(1.0)

    @property
    def aim(self) -> Target:
        """The class that explanations are about."""
        return Target(self.target, self.against)

    @cached_property
    def trace(self) -> Trace:
        """The stored trace of the example, which needs no torch, or what the model says of another text or under interventions."""
        if not self.nameable:
            return self.fresh.for_target(self.aim)
        example = self.run.example()
        as_stored = not self.intervention and self.texts == (example.text, example.text_pair)
        trace = self.fresh if not as_stored else example if self.calibrated else example.calibrated(1.0)
        return trace.for_target(self.aim)

    @cached_property
    def fresh(self) -> Trace:
        """The trace as the model gives it now, also of the example."""
        return self.new_trace()

    def once(self, key: Any, compute: Callable[[], Any]) -> Any:
        """Return what several figures of the sentence need, computed by the first of them."""
        if key not in self.known:
            self.known[key] = compute()
        return self.known[key]

    def new_trace(self, *edits: Edit, **options: Any) -> Trace:
        """Return a new trace under the sentence's intervention and further edits, with options of `Model.trace`."""
        if self.has_fixed_trace:
            raise InputError("This figure runs the model again, but only a trace is available.")
        trace: Trace = self.model.trace(*self.texts, **options, change=self.intervention.with_(*edits))
        return trace

    @property
    def nameable(self) -> bool:
        """False for a model that is open in memory, which nobody else can name."""
        return bool(self.run.digest)

    def sourced(self, figure: Figure) -> Figure:
        """The figure with its run and what was changed by hand."""
        return sourced(figure, self.run, trace=self.trace)


@dataclass
class Runs(FigureSubject):
    """A run, and runs to compare it with."""

    run: Run
    versus: Sequence[str] = ()
    calibrated: bool = True  # False = probabilities before calibration
    directions: Directions | None = field(default=None, init=False, repr=False)  # directions that a page has found
    sentence: pd.DataFrame | None = field(default=None, init=False, repr=False)  # measures of the heads on a visitor's sentence

    SAYS: ClassVar[str] = "of the training and the measurements of a run"

    @classmethod
    def of(cls, *runs: Run) -> Self:
        """Return the subject of runs that are already open."""
        subject = cls(runs[0], tuple(run.name for run in runs[1:]))
        subject.sources = list(runs)
        return subject

    @property
    def nameable(self) -> bool:
        """False with a visitor's sentence."""
        return self.sentence is None

    @property
    def digests(self) -> tuple[str, ...]:
        """Digests of the runs, which alone decide the figures unless there is a visitor's sentence."""
        return tuple(run.digest for run in self.sources) if self.sentence is None else ()

    @cached_property
    def sources(self) -> list[Run]:
        """All runs, opened."""
        return [self.run, *map(find, self.versus)]

    @cached_property
    def demo_rows(self) -> dict[str, Rows]:
        """Predictions of each run for the demo set, by the run's name."""
        return {run.name: answered(run, "demo", self.calibrated) for run in self.sources}

    @cached_property
    def behaviour(self) -> dict[str, Card]:
        """Behaviour card of each run, by the run's name: the shipped one, or that which the model gives now."""
        return {run.name: stored_card(run) or card_of(run) for run in self.sources}

    def sourced(self, figure: Figure) -> Figure:
        """Return the figure with its runs."""
        return sourced(figure, *self.sources)


OF_A_FILE = ("labels", "scale", "partial")  # options of `Answers` that say how a file is read


def _reading(options: dict[str, Any]) -> Reading:
    """Take the options that say how a file is read out of the options."""
    return Reading.of(**{name: options.pop(name) for name in OF_A_FILE if name in options})


@dataclass
class Answers(FigureSubject):
    """Predictions of a run, and of runs to compare it with: for a stored split or the demo set, at a threshold for the second of two
    classes. Rows that are given may come without a run; then `run` is None.
    """

    run: Run | None
    versus: Sequence[str] = ()
    over: str = "test"
    threshold: float = -1.0
    calibrated: bool = True  # False = probabilities before calibration, and a threshold for them
    among: str = ""  # slices that all rows are in, for example has=negation~length=..10; empty = all rows
    labels: str = ""  # class of each written label of a file, as in 1=negative,2=positive; empty = found from the labels
    scale: str = ""  # scale of a file's column with one number per row; empty = found from its name and range
    partial: bool = False  # True = draw although more than 2 % of a file's rows are left out
    statistic: Statistic = field(default_factory=lambda: computed, init=False, repr=False)  # `computed`, or a page's, which keeps results
    weak: WeakSlices | None = field(default=None, init=False, repr=False)  # result of the search that a page has stored

    SAYS: ClassVar[str] = "of a run's predictions for rows"

    def __post_init__(self) -> None:
        if chosen := next((name for name in OF_A_FILE if getattr(self, name)), ""):
            raise InputError(f"The option {chosen} belongs to a file of predictions or of rows.")

    @classmethod
    def of(cls, *rows: Rows, statistic: Statistic = computed) -> Self:
        """Return the subject of rows that are already predicted, the same rows for each source.

        Args:
            statistic: computes a statistic of rows, or returns an earlier result.
        """
        first, *rest = (each.source for each in rows)
        named = all(each.source.run for each in rows)
        calibrated = first.calibration is None or rows[0].calibration == first.calibration
        versus, of = tuple(source.name for source in rest), rows[0]
        subject = cls(first.run if named else None, versus, of.over, of.threshold, calibrated, of.among)
        subject.rows, subject.statistic = list(rows), statistic
        return subject

    @classmethod
    def of_file(cls, name: str, *, versus: Sequence[str] = (), threshold: float = -1.0, among: str = "", **options: Any) -> Self:
        """Return the subject of the predictions in a file (FILE or FILE:MODEL), beside those of other models of the file or of runs."""
        from sentviz.analysis.testset.predictions_file import sources

        reading = _reading(options)
        if options:
            raise InputError(f"A file of predictions has no option {next(iter(options))}.")
        of = sources(name, (versus,) if isinstance(versus, str) else versus, reading=reading)
        return cls.of(*Subset.parse(among).chosen(*(rows.at_threshold(threshold) for rows in with_labels(of))))

    @classmethod
    def on(cls, model: str | Model, data: Any, *, versus: Sequence[str] = (), among: str = "", **options: Any) -> Self:
        """Return the subject of what a run or a model predicts for the rows of a file, table or data set, beside runs on the same rows."""
        threshold, reading = options.pop("threshold", -1.0), _reading(options)
        if options:
            raise InputError(f"Rows of data have no option {next(iter(options))}.")
        of = answers_for([model, *((versus,) if isinstance(versus, str) else versus)], data, reading=reading)
        return cls.of(*Subset.parse(among).chosen(*(rows.at_threshold(threshold) for rows in with_labels(of))))

    @property
    def nameable(self) -> bool:
        """False for rows that are not stored with the runs, such as those of a visitor's file, and for predictions without a run."""
        return self.over in OVER and self.over != "mine" and self.run is not None

    @cached_property
    def rows(self) -> list[Rows]:
        """The rows of each source, the same rows in the same order.

        Raises:
            SentvizError: a run has no predictions for them, or has other classes.
        """
        runs = filter(None, (self.run, *map(find, self.versus)))
        first, *rest = (answered(run, self.over, self.calibrated).at_threshold(self.threshold) for run in runs)
        every = [first, *(aligned(first, rows) for rows in rest)]
        return every if not self.among else Subset.parse(self.among).chosen(with_texts(every[0]), *map(with_texts, every[1:]))

    @cached_property
    def counts(self) -> Counts:
        """Words of the first source's rows by cell: those stored with its run, which need no texts, or new ones.

        Raises:
            DataMissingError, InputError: no words are stored, and the texts are not available.
        """
        run = self.first.source.run
        if run is not None and self.over == "test" and self.threshold < 0 and not self.among and word_counts.FILE in run.files:
            return word_counts.read(run, self.first)
        return word_counts.count_words(self.texts)

    def weak_slices(self, seed: int) -> WeakSlices:
        """Return the slices on which the first source is weak; a page may have stored the result for seed 0."""
        from sentviz.analysis.testset.weak import weak_slices

        return self.weak if self.weak is not None and self.weak.seed == seed else weak_slices(self.texts, seed=seed)

    @property
    def first(self) -> Rows:
        """The rows of the first source."""
        return self.rows[0]

    @cached_property
    def texts(self) -> Rows:
        """The rows of the first source with their texts; unchanged if no data set has the texts.

        Raises:
            DataMissingError: the texts are not available; the message names the command that fetches them.
        """
        return with_texts(self.first)

    def sourced(self, figure: Figure) -> Figure:
        """Return the figure with the sources of its rows."""
        return sourced(figure, *(rows.source for rows in self.rows), rows=self.first)


@dataclass
class Study(FigureSubject):
    """A data set of a paper's study, or all of them, with every installed run."""

    name: str

    SAYS: ClassVar[str] = "of a paper's study, which take a data set instead of a run"
    OF_RUN: ClassVar[bool] = False

    @cached_property
    def runs(self) -> list[Run]:
        """All runs that studies read."""
        return study_runs().runs

    @classmethod
    def of(cls, name: str, runs: Sequence[Run]) -> Study:
        """Return the study with these runs only."""
        study = cls(name)
        study.runs = list(runs)
        return study

    def sourced(self, figure: Figure) -> Figure:
        """Return the figure unchanged: makers of studies add their runs."""
        return figure


SUBJECTS: tuple[type[Sentence | Answers | Runs | Study], ...] = (Sentence, Answers, Runs, Study)
"""In the order of the app's sections."""
