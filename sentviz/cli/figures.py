"""Parts of `sentviz export`: the list of figures, their options as typed, ONNX folders, and the files of a paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sentviz.cli.terminal import progress_bar
from sentviz.errors import InputError
from sentviz.io.numbers import percent, signed

if TYPE_CHECKING:
    from sentviz.charts.gallery import FigureSpec
    from sentviz.runs.store import Run

ALL_OF_AXIS = {"layer": (), "head": ("mean", "max"), "component": ("effective",)}  # parts of a model; words that select all of them
GATES = ("gates_open", "gates_shut")
POSITIONS = (*ALL_OF_AXIS, "token", "query", "key", *GATES)  # typed as numbers from 1; figures count from 0
SERIES = "series"  # numbers of the runs' colours, typed as they are
STATE_FIGURES = ("particles", "embeddings", "silhouette")  # figures whose layer 0 is the input of the first layer
COMMAND_OPTIONS = ("text", "pair", "change", "layer", "head", "component", "score", "versus")  # options that `sentviz export` has itself
NOTEBOOK_OPTIONS = ("lambdas", "heads_off")  # values that cannot be typed on a command line


def figure_list(name: str | None) -> str:
    """Return the list of all figures with their options. With the name of a run, mark the figures that it can give, and say why not."""
    from sentviz.charts.gallery import FIGURES
    from sentviz.charts.subjects import SUBJECTS
    from sentviz.runs.store import find

    run, lines = find(name) if name else None, []
    for subject in SUBJECTS:
        lines += ["", f"Figures {subject.SAYS}"]
        for spec in (spec for spec in FIGURES.values() if issubclass(spec.of, subject)):
            lines += _lines(spec, run if subject.OF_RUN else None)
    return "\n".join(lines).strip()


def _lines(spec: FigureSpec, run: Run | None) -> list[str]:
    why = "" if run is None else spec.lacks(run)
    mark = "" if run is None else "✗ " if why else "✓ "
    needs = ", ".join(need.says for need in spec.needs)
    own = {option: value for option, value in spec.options.items() if option not in (*NOTEBOOK_OPTIONS, "theme")}
    own = {option: value + 1 if option in POSITIONS and isinstance(value, int) and value >= 0 else value for option, value in own.items()}
    takes = [f"--{option}" for option in own if option in COMMAND_OPTIONS]
    takes += [f"-O {option}={_default_text(value)}" for option, value in own.items() if option not in COMMAND_OPTIONS]
    sets = "" if spec.of.OF_RUN else ", ".join(spec.names)
    details = (why, "" if why else " ".join(takes), f"of {sets}" if sets else "")
    head = f"  {mark}{spec.name:<22}{spec.title}" + (f" [needs {needs}]" if needs and run is None else "")
    return [head, *(f"      {detail}" for detail in details if detail)]


def _default_text(value: Any) -> str:
    return "..." if value is None or value == "" else "/".join(value) or "..." if isinstance(value, tuple) else str(value)


def parse_options(spec: FigureSpec, named: Mapping[str, Any], more: Sequence[str], run: Run | None) -> dict[str, Any]:
    """Return typed options in the form that `sentviz.charts.gallery.draw` takes.

    Args:
        named: options of the command `sentviz export`, by name.
        more: further options, as NAME=VALUE.
    """
    typed = dict(named)
    for part in more:
        name, equals, value = part.partition("=")
        if not equals:
            raise InputError(f"{part!r} is not an option. Write NAME=VALUE.")
        typed[name] = value
    spec.takes(typed)
    if unfit := next((name for name in typed if name in NOTEBOOK_OPTIONS), ""):
        raise InputError(f"The option {unfit} is for notebooks: pass it to sentviz.charts.gallery.draw.")
    options = {name: _value(name, value, spec) if isinstance(value, str) else value for name, value in typed.items()}
    if isinstance(options.get("versus"), tuple) and isinstance(spec.options["versus"], str):
        if len(options["versus"]) != 1:
            raise InputError(f"The figure {spec.name} compares with one run: give --versus once.")
        options["versus"] = options["versus"][0]
    if run is not None and spec.name not in STATE_FIGURES:
        for axis in ALL_OF_AXIS:
            place, count = options.get(axis), getattr(run.capabilities, f"{axis}s")
            words = [*ALL_OF_AXIS[axis]] + [word for word in (spec.options.get(axis),) if isinstance(word, str)]
            if (isinstance(place, int) and not 0 <= place < count) or (isinstance(place, str) and place not in words):
                allowed = f"the {axis}s 1 to {count}" if count > 1 else f"one {axis}"
                allowed += f", or {' or '.join(dict.fromkeys(words))}" if words and isinstance(place, str) else ""
                raise InputError(f"{run.name} has {allowed}, not {place + 1 if isinstance(place, int) else repr(place)}.")
    return options


def _value(name: str, typed: str, spec: FigureSpec) -> Any:
    """Return a typed value converted to the type of the option's default; `POSITIONS` become numbers from 0."""
    default, is_integer = spec.options[name], typed.removeprefix("-").isdecimal() and len(typed) < 10
    if isinstance(default, tuple):
        parts = typed.split(",")
        if name == SERIES:
            if not all(part.isdecimal() and len(part) < 4 for part in parts):
                raise InputError(f"{name} takes the number of each run's colour, counted from 0, for example {name}=0,2, not {typed!r}.")
            return tuple(map(int, parts))
        if name not in POSITIONS:
            return tuple(parts)
        if not all(part.strip().isdecimal() and len(part) < 10 for part in parts):
            raise InputError(f"{name} takes token positions, counted from 1, for example {name}=2,5, not {typed!r}.")
        return tuple(int(part) - 1 for part in parts)
    if name in POSITIONS and is_integer:
        return int(typed) - (spec.name not in STATE_FIGURES)
    if name in POSITIONS and not isinstance(default, str):
        raise InputError(f"{name} must be a number from 1, not {typed!r}.")
    if default is None and is_integer:
        return int(typed)
    if default is None or isinstance(default, str):
        return typed
    try:
        if isinstance(default, bool):
            return {"yes": True, "true": True, "no": False, "false": False}[typed.casefold()]
        return type(default)(typed)
    except (KeyError, ValueError):
        raise InputError(f"{name} cannot be {typed!r}; by default it is {_default_text(default)}.") from None


def export_onnx(run: str, out: Path, *, maps: bool, int8: bool) -> None:
    """Write a run as an ONNX folder, and print how far its answers differ."""
    from sentviz.serving.onnx import export

    card = export(run, out, maps=maps, int8=int8)
    sizes = ", ".join(f"{name} ({(out / name).stat().st_size / 1e6:.1f} MB)" for name in card["files"])
    compared = card["compared"]
    click.echo(f"Written to {out}: {sizes}, model.json")
    click.echo(f"Logits differ from the run's by at most {compared['largest_difference']:.1e}, on {compared['texts']} texts.")
    if "why" in (cost := card.get("int8", {})):
        click.echo(f"The accuracy of the 8-bit graph was not measured: {cost['why']}")
    elif cost:
        low, high, value = (100 * cost["difference"][name] for name in ("low", "high", "value"))
        click.echo(
            f"Accuracy on {cost['n']:,} rows of the test split: 8-bit graph {percent(cost['accuracy'], 2)}, run"
            f" {percent(cost['of_the_run'], 2)}, difference {signed(value)} points [{signed(low)}, {signed(high)}]."
            f" {percent(cost['same'], 2)} of the predictions are the same."
        )


def export_paper_files(paper: str, run: str | None, out: Path) -> None:
    """Write all tables and figures of a paper, and print what is missing."""
    from sentviz.papers.studies.export_paper import export_paper
    from sentviz.runs.catalog import study_runs

    if run is not None:
        raise click.UsageError("--paper uses all available runs. Remove the arguments RUN and FIGURE.")
    available = study_runs()
    for name, why in available.left_out.items():
        click.echo(f"! {name}: {why}", err=True)
    with progress_bar("Tables and figures") as progress:
        manifest = export_paper(paper, out, available.runs, progress=progress)
    for item in manifest["files"]:
        if item["state"] != "written":
            click.echo(f"! {item.get('title', item['id'])}: {item.get('reason', item['state'])}", err=True)
    if not manifest["pictures"]:
        click.echo("! Chrome or Chromium is not installed, so the figures are written as CSV only.", err=True)
    files = sum(len(part["files"]) for item in manifest["files"] for part in item["parts"])
    click.echo(f"{files} files and manifest.json written to {out}")
