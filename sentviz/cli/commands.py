"""Commands made of verbs: arguments and options from the signature, help from the docstring, --json and -o from the result."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

import click

from sentviz.cli.terminal import command, listener, progress
from sentviz.io.arguments import Argument, bind, speaks
from sentviz.io.documents import read_json
from sentviz.io.numbers import plain
from sentviz.verbs.door import Result, Verb, code_of


class Document(click.ParamType[Any]):
    """A file of JSON, whose content is the value."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the content."""
        if not Path(value).is_file():
            self.fail(f"There is no file {value}.", param, ctx)
        return read_json(Path(value))


def command_of(verb: Verb, cls: type[click.Command] = click.Command) -> click.Command:
    """Return the command of a verb."""
    every = verb.arguments
    positional = [each for each in every if each.positional]
    saves = verb.result.SAVES

    def run(
        values: tuple[Any, ...] = (), as_json: bool = False, as_code: bool = False, written_to: Path | None = None, **options: Any
    ) -> None:
        if written_to is not None and written_to.suffix.lower() not in saves:
            raise click.UsageError(f"The result is written as {' or '.join(saves)}, not as {written_to.name}.")
        options |= _placed(positional, values)
        call = bind(verb.function, {name: value for name, value in options.items() if value is not None})
        if as_code:
            click.echo(code_of(verb, call))
            return
        try:
            with progress(verb.progress) as report:
                heard: dict[str, Any] = {"progress": report} if verb.progress else {}
                heard |= {"say": remark} if speaks(verb.function) else {}
                result: Result = verb.function(**call, **heard)
        except KeyboardInterrupt:
            if verb.resumes:
                click.echo("\nTo continue, run the command again.", err=True)
            raise
        show(result, as_json)
        if written_to is not None:
            click.echo(result.save(written_to), err=as_json)
        if not result.met:
            raise SystemExit(1)

    parameters: list[click.Parameter] = []
    if positional:
        metavar = verb.synopsis or " ".join(f"{_metavar(each)}" if each.required else f"[{_metavar(each)}]" for each in positional)
        parameters.append(click.Argument(["values"], nargs=-1, metavar=metavar, type=click.UNPROCESSED))
    parameters += [_option(each) for each in every if not each.positional]
    if saves:
        names = ", ".join(f"FILE{ending}" for ending in saves)
        parameters.append(
            click.Option(["-o", "--out", "written_to"], type=click.Path(path_type=Path, dir_okay=False), help=f"Write {names}.")
        )
    parameters.append(click.Option(["--json", "as_json"], is_flag=True, help="Print JSON."))
    parameters.append(click.Option(["--code", "as_code"], is_flag=True, help="Print the Python lines that do the same, and do nothing."))
    return cls(verb.command, callback=command(run), params=parameters, help=verb.help)


def remark(text: str) -> None:
    """Print a remark on the error output."""
    click.echo(f"! {text}", err=True)


def show(result: Result, as_json: bool) -> None:
    """Print a result and, on the error output, its remarks."""
    if (reporter := listener()) is not None:
        reporter.send(plain(result.json()))
    for each in result.remarks:
        remark(each)
    if result.aside:
        click.echo(result.aside, err=True)
    if not as_json:
        click.echo(result.text())
        return
    numbers = plain(result.json())
    for entry in numbers if isinstance(numbers, list) else [numbers]:
        click.echo(json.dumps(entry, ensure_ascii=False))


def _placed(positional: Sequence[Argument], values: Sequence[str]) -> dict[str, Any]:
    """Return the values of arguments with a position: each required one gets one, then the others from the left; one takes several."""
    needed = sum(each.required for each in positional)
    if len(values) < needed:
        raise click.UsageError(f"Missing argument '{_metavar([each for each in positional if each.required][len(values)])}'.")
    free, rest, placed = len(values) - needed, list(values), dict[str, Any]()
    for each in positional:
        after = sum(later.required for later in positional[positional.index(each) + 1 :])
        if each.many:
            count = len(rest) - after
            placed[each.name] = tuple(_typed(each, value) for value in rest[:count])
        elif each.required or free:
            count = 1
            free -= not each.required
            placed[each.name] = _typed(each, rest[0])
        else:
            count = 0
        rest = rest[count:]
    if rest:
        raise click.UsageError(f"Got unexpected extra argument ({rest[0]})")
    return placed


def _typed(each: Argument, value: str) -> Any:
    return _type(each).convert(value, None, click.get_current_context(silent=True))


def _metavar(each: Argument) -> str:
    return (each.about.metavar or each.name).upper() + ("..." if each.many else "")


def _type(each: Argument) -> click.ParamType[Any]:
    least, most = each.about.least, each.about.most
    if each.choices:
        return click.Choice(each.choices)
    if each.kind is object:
        return Document()
    if each.kind is Path:
        return click.Path(path_type=Path)
    if get_origin(each.kind) is tuple:
        return click.Tuple([{str: click.STRING, float: click.FLOAT, int: click.INT}[of] for of in get_args(each.kind)])
    if each.kind is int:
        return (
            click.INT
            if least is None and most is None
            else click.IntRange(None if least is None else int(least), None if most is None else int(most))
        )
    if each.kind is float:
        return click.FLOAT if least is None and most is None else click.FloatRange(least, most)
    return click.BOOL if each.kind is bool else click.STRING


def _option(each: Argument) -> click.Option:
    about, flag = each.about, "--" + each.name.replace("_", "-")
    if each.kind is bool and not each.many:
        flags = about.flags or (flag if not each.default else f"{flag}/--no-{flag[2:]}",)
        return click.Option([*flags, each.name], is_flag=True, default=bool(each.default), help=about.help, show_default=bool(each.default))
    has_default = not each.many and each.default not in (None, "", ()) and not each.required
    return click.Option(
        [*(about.flags or (flag,)), each.name],
        type=_type(each),
        multiple=each.many,
        nargs=len(get_args(each.kind)) if get_origin(each.kind) is tuple else 1,
        **({"required": True} if each.required else {"default": each.default}),
        show_default=has_default,
        metavar=about.metavar or None,
        help=about.help,
    )
