"""Parts of `sentviz export`: the list of figures, their options as typed, ONNX folders, and the files of a paper."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sentviz.cli.terminal import progress as bar
from sentviz.errors import InputError
from sentviz.io.numbers import percent, signed

if TYPE_CHECKING:
    from sentviz.charts.gallery import FigureSpec
    from sentviz.runs.store import Run


def figure_list(name: str | None, named: Collection[str]) -> str:
    """Return the list of all figures with their options. With the name of a run, mark the figures that it can give, and say why not.

    Args:
        named: options that the command `sentviz export` has itself.
    """
    from sentviz.charts.gallery import FIGURES
    from sentviz.charts.subjects import SUBJECTS
    from sentviz.runs.store import find

    run, lines = find(name) if name else None, []
    for subject in SUBJECTS:
        lines += ["", f"Figures {subject.SAYS}"]
        for spec in (spec for spec in FIGURES.values() if issubclass(spec.of, subject)):
            lines += _lines(spec, run if subject.OF_RUN else None, named)
    return "\n".join(lines).strip()


def _lines(spec: FigureSpec, run: Run | None, named: Collection[str]) -> list[str]:
    why = "" if run is None else spec.lacks(run)
    mark = "" if run is None else "✗ " if why else "✓ "
    needs = ", ".join(need.says for need in spec.needs)
    options = [option for name, option in spec.options.items() if name != "theme"]
    takes = [f"--{option.name}" for option in options if option.name in named]
    takes += [f"-O {option.help}" for option in options if option.name not in named]
    sets = "" if spec.of.OF_RUN else ", ".join(spec.names)
    details = (why, "" if why else " ".join(takes), f"of {sets}" if sets else "")
    head = f"  {mark}{spec.name:<22}{spec.title}" + (f" [needs {needs}]" if needs and run is None else "")
    return [head, *(f"      {detail}" for detail in details if detail)]


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
    options = {name: spec.option(name).read(value) if isinstance(value, str) else value for name, value in typed.items()}
    if isinstance(options.get("versus"), tuple) and isinstance(spec.option("versus").default, str):
        if len(options["versus"]) != 1:
            raise InputError(f"The figure {spec.name} compares with one run: give --versus once.")
        options["versus"] = options["versus"][0]
    for name, value in options.items():
        kind = spec.option(name).kind
        if run is not None and (has := kind.lacks(value, run.capabilities)):
            raise InputError(f"{run.name} has {has}, not {kind.write(value)}.")
    return options


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
    with bar("Tables and figures") as progress:
        manifest = export_paper(paper, out, available.runs, progress=progress)
    for item in manifest["files"]:
        if item["state"] != "written":
            click.echo(f"! {item.get('title', item['id'])}: {item.get('reason', item['state'])}", err=True)
    if not manifest["pictures"]:
        click.echo("! Chrome or Chromium is not installed, so the figures are written as CSV only.", err=True)
    files = sum(len(part["files"]) for item in manifest["files"] for part in item["parts"])
    click.echo(f"{files} files and manifest.json written to {out}")
