"""All figures by name, for notebooks, the command line, pages and reports.

A figure is registered once, beside the function that makes it of a subject (`sentviz.charts.registry.figure`): in the modules of this
package or, of a study, in its paper's `figures`; those of any paper in `sentviz.papers.studies.figures`.
Nothing heavy is loaded before one is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, replace
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from sentviz import charts
from sentviz.analysis.testset.predictions_file import is_table
from sentviz.charts.look import LOOKS
from sentviz.charts.registry import FIGURES, FigureSpec, find_figure
from sentviz.charts.source import Call
from sentviz.charts.subjects import Answers, Sentence
from sentviz.errors import InputError, MissingMapError, SentvizError
from sentviz.io.lazy import late, pd
from sentviz.runs.intervention import Intervention
from sentviz.runs.registry import papers
from sentviz.runs.store import Run, find

if TYPE_CHECKING:
    from pathlib import Path

    from sentviz.charts.figure import Figure
    from sentviz.models.model import Model

__all__ = ["FIGURES", "FigureSpec", "call", "code", "draw", "make"]


for _module in iter_modules(charts.__path__):
    import_module(f"{charts.__name__}.{_module.name}")
late("figures of every paper")
for _paper in papers().values():
    with suppress(SentvizError):  # a paper of another package may fail to load
        _paper.load("figures", None)


def draw(name: str | Model, figure: str, *, data: str | Path | pd.DataFrame | None = None, **options: Any) -> Figure:
    """Draw a figure by name.

    Args:
        name: name of a run; for figures of a sentence or of predictions also a model that `sentviz.load` returned; for figures of studies a
            data set, or "all"; for figures of predictions also a file that has them (FILE, or FILE:MODEL if it has several models).
        figure: a key of `FIGURES`; its `options` are the further arguments. Layers, heads, components and tokens count from 0.
        data: file, table or data set whose rows the run or the model predicts, for figures of predictions; by default the run's test rows.
    Raises:
        RunError, InputError: the figure does not exist, does not take an option, or the run does not meet a requirement.
    """
    spec = find_figure(figure)
    spec.check(options)
    subject_options = {key: value for key, value in options.items() if key not in spec.own and key != "theme"}
    own = {key: value for key, value in options.items() if key in spec.own or key == "theme"}
    if data is not None:
        if not issubclass(spec.of, Answers):
            raise InputError(f"The figure {figure} shows no predictions for rows, so it takes no data.")
        return make(figure, spec.of.on(name, data, **subject_options), **own)
    if not isinstance(name, str):
        return make(figure, _sentence(spec, name, subject_options), **own)
    if issubclass(spec.of, Answers) and is_table(name):
        return make(figure, spec.of.of_file(name, **subject_options), **own)
    if spec.of.OF_RUN:
        run = find(name)
        if why := spec.lacks(run):
            raise InputError(why)
        return make(figure, _of_run(spec, run, subject_options), **own)
    if name not in spec.names:
        raise InputError(f"The figure {figure} belongs to a study. In place of a run it takes {', '.join(spec.names)}, not {name!r}.")
    return make(figure, spec.of(name, **subject_options), **own)


def _sentence(spec: FigureSpec, model: Model, options: Mapping[str, Any]) -> Sentence:
    """Return the sentence of a model that is open in memory."""
    from sentviz.models.in_memory import OpenModel

    if not issubclass(spec.of, Sentence):
        of_rows = issubclass(spec.of, Answers)
        needs = "rows: name a file or a data set with data" if of_rows else "a run's files: `sentviz adopt` makes a run"
        raise InputError(f"The figure {spec.name} needs {needs}.")
    run = OpenModel.of(model)
    if why := spec.lacks(run):
        raise InputError(why)
    subject: Sentence = _of_run(spec, run, options)
    return subject


def _of_run(spec: FigureSpec, run: Any, options: Mapping[str, Any]) -> Any:
    """Return the subject of a run. What options of earlier versions change in its model is added to the option `change`."""
    more = {name: value for name, value in options.items() if name not in spec.of.EARLIER}
    if earlier := {name: value for name, value in options.items() if name in spec.of.EARLIER}:
        change = Intervention.parse(more.get("change", "")).with_(*Intervention.from_arguments(run.capabilities, **earlier).edits)
        more["change"] = change.text()
    return spec.of(run, **more)


def make(figure: str, subject: Any, *, selected: Any = None, **options: Any) -> Figure:
    """Draw a figure by name of a given subject, as `Sentence.of(run, trace)`, with the figure's own options.

    Args:
        selected: element that a page marks in the figure, if the figure supports it; not part of the call that draws it again.
    """
    spec = find_figure(figure)
    spec.check(options)
    theme = options.pop("theme", "light")
    try:
        drawn = spec.make(subject, **options, **({} if selected is None else {"selected": selected}))
    except MissingMapError as error:
        name = getattr(getattr(subject, "run", None), "name", figure)
        raise MissingMapError(f"{name}: {error}") from error
    drawn = drawn if drawn.source else subject.sourced(drawn)
    return replace(drawn, call=call(figure, subject, options | {"theme": theme}), look=LOOKS[theme])


def call(figure: str, subject: Any, options: Mapping[str, Any]) -> Call | None:
    """Return how a figure of a subject is drawn again by name; None if nobody else can: weights of an epoch, a visitor's own file."""
    spec, run = find_figure(figure), getattr(subject, "run", None)
    if not subject.nameable:
        return None
    if run is not None and (run.weights, run.max_length) != (Run.weights, Run.max_length):
        return None
    parameters = {each.name: getattr(subject, each.name) for each in fields(subject) if each.init and each.name not in ("run", "name")}
    return code(subject.name if run is None else run.name, spec.name, **parameters, **options)


def code(name: str, figure: str, **options: Any) -> Call:
    """Return the call that draws a figure again, whose text is lines of a notebook. Options are those of `draw`; None and defaults are left
    out.
    """
    spec = find_figure(figure)
    return Call(name, figure, {key: value for key, value in options.items() if value is not None and value != spec.option(key).default})
