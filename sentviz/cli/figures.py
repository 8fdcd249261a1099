"""Figures as `sentviz export` names them: which there are, and their options as a person types them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sentviz.errors import InputError

if TYPE_CHECKING:
    from sentviz.figures.figure import Figure
    from sentviz.gallery import Spec
    from sentviz.runs.store import Run

AXES = {"layer": (), "head": ("mean", "max"), "component": ("effective",)}  # of the model, with words for all of one
GATES = ("gates_open", "gates_shut")
PLACES = (*AXES, "token", "query", "key", *GATES)  # counted from 1, as people read them
STATES = ("particles", "embeddings", "silhouette")  # whose layer 0 is what stands before the first
OPTIONS = ("text", "pair", "layer", "head", "component", "score", "versus")  # of the command itself
BY_CODE = ("lambdas", "heads_off")  # no words of a command line


def listed(name: str | None) -> str:
    """Every figure with its further options; of a run, a mark for those that it can give and the reason for the others."""
    from sentviz.gallery import FIGURES
    from sentviz.gallery.subjects import SUBJECTS
    from sentviz.runs.store import find

    run, lines = find(name) if name else None, []
    for subject in SUBJECTS:
        lines += ["", f"Figures {subject.SAYS}"]
        for spec in (spec for spec in FIGURES.values() if issubclass(spec.of, subject)):
            lines += _lines(spec, run if subject.OF_RUN else None)
    return "\n".join(lines).strip()


def drawn(words: str) -> Figure:
    """A figure from one line, as in "sst2/ndt-unit-2 attention layer=2 text='Not bad.'".

    Raises:
        InputError: the line does not begin with a run, or data set, and a figure; as for `options_of`, and `sentviz.gallery.draw`.
    """
    from sentviz.gallery import draw
    from sentviz.gallery.registry import find_figure
    from sentviz.runs.store import find

    try:
        of, figure, *more = shlex.split(words)
    except ValueError:
        raise InputError(f"A figure of a sheet is written as RUN FIGURE NAME=VALUE ..., not as {words!r}.") from None
    spec = find_figure(figure)
    typed = [part for part in more if not part.startswith("versus=")]
    named = {"versus": tuple(part.removeprefix("versus=") for part in more if part.startswith("versus="))}
    return draw(
        of, figure, **options_of(spec, {name: value for name, value in named.items() if value}, typed, find(of) if spec.of.OF_RUN else None)
    )


def _lines(spec: Spec, run: Run | None) -> list[str]:
    why = "" if run is None else spec.lacks(run)
    mark = "" if run is None else "✗ " if why else "✓ "
    needs = ", ".join(need.says for need in spec.needs)
    own = {option: value for option, value in spec.options.items() if option not in (*BY_CODE, "theme")}
    own = {option: value + 1 if option in PLACES and isinstance(value, int) and value >= 0 else value for option, value in own.items()}
    takes = [f"--{option}" for option in own if option in OPTIONS]
    takes += [f"-O {option}={_said(value)}" for option, value in own.items() if option not in OPTIONS]
    sets = "" if spec.of.OF_RUN else ", ".join(spec.names)
    details = (why, "" if why else " ".join(takes), f"of {sets}" if sets else "")
    head = f"  {mark}{spec.name:<22}{spec.title}" + (f" [needs {needs}]" if needs and run is None else "")
    return [head, *(f"      {detail}" for detail in details if detail)]


def _said(value: Any) -> str:
    return "..." if value is None or value == "" else "/".join(value) or "..." if isinstance(value, tuple) else str(value)


def options_of(spec: Spec, named: Mapping[str, Any], more: Sequence[str], run: Run | None) -> dict[str, Any]:
    """What was typed as `sentviz.gallery.draw` takes it.

    Args:
        named: options of the command. more: NAME=VALUE.
    Raises:
        InputError: an option that the figure does not take, a value of another kind, or a place that the run does not have.
    """
    typed = dict(named)
    for part in more:
        name, equals, value = part.partition("=")
        if not equals:
            raise InputError(f"Options are typed as NAME=VALUE, not as {part!r}.")
        typed[name] = value
    spec.takes(typed)
    if unfit := next((name for name in typed if name in BY_CODE), ""):
        raise InputError(f"{unfit} is for notebooks: sentviz.gallery.draw takes it.")
    options = {name: _value(name, value, spec) if isinstance(value, str) else value for name, value in typed.items()}
    if isinstance(options.get("versus"), tuple) and isinstance(spec.options["versus"], str):
        if len(options["versus"]) != 1:
            raise InputError(f"The figure {spec.name} takes one run with --versus.")
        options["versus"] = options["versus"][0]
    if run is not None and spec.name not in STATES:
        for axis in AXES:
            place, count = options.get(axis), getattr(run.capabilities, f"{axis}s")
            words = [*AXES[axis]] + [word for word in (spec.options.get(axis),) if isinstance(word, str)]
            if (isinstance(place, int) and not 0 <= place < count) or (isinstance(place, str) and place not in words):
                there = f"the {axis}s 1 to {count}" if count > 1 else f"one {axis}"
                there += f", or {' or '.join(dict.fromkeys(words))}" if words and isinstance(place, str) else ""
                raise InputError(f"{run.name} has {there}, not {place + 1 if isinstance(place, int) else repr(place)}.")
    return options


def _value(name: str, typed: str, spec: Spec) -> Any:
    """A typed value of the kind that the option's default has; places are counted from 1."""
    default, whole = spec.options[name], typed.removeprefix("-").isdecimal() and len(typed) < 10
    if isinstance(default, tuple):
        parts = typed.split(",")
        if name not in PLACES:
            return tuple(parts)
        if not all(part.strip().isdecimal() and len(part) < 10 for part in parts):
            raise InputError(f"{name} takes places of tokens, counted from 1, as in {name}=2,5, not {typed!r}.")
        return tuple(int(part) - 1 for part in parts)
    if name in PLACES and whole:
        return int(typed) - (spec.name not in STATES)
    if name in PLACES and not isinstance(default, str):
        raise InputError(f"{name} is a number, counted from 1, not {typed!r}.")
    if default is None and whole:
        return int(typed)
    if default is None or isinstance(default, str):
        return typed
    try:
        if isinstance(default, bool):
            return {"yes": True, "true": True, "no": False, "false": False}[typed.casefold()]
        return type(default)(typed)
    except (KeyError, ValueError):
        raise InputError(f"{name} cannot be {typed!r}; by default it is {_said(default)}.") from None
