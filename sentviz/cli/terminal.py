"""Code that all commands share: the group `main`, error handling and progress bars."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any

import click

from sentviz.errors import SentvizError
from sentviz.io.arguments import Progress
from sentviz.verbs.door import OptionError

MARK = "\x1e"  # character before a report on a line of its own (RFC 7464)

Report = Mapping[str, Any]


class Reporter:
    """Sends reports to the process that started this one."""

    def send(self, report: Report) -> None:
        """Send a report."""
        print(MARK + json.dumps(report), flush=True)  # noqa: T201

    def __call__(self, done: int, total: int) -> None:
        """Report progress."""
        self.send({"done": done, "total": total})


@contextmanager
def sigterm_as_interrupt() -> Iterator[None]:
    """Raise KeyboardInterrupt in the block on SIGTERM, as on Ctrl-C, so that the block can store its work and end its processes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: object) -> None:
        raise KeyboardInterrupt(number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def command(function: Callable[..., Any]) -> Callable[..., Any]:
    """Turn errors of a command into one sentence and an exit code: 1, or 2 for a wrong option; 130 for Ctrl-C, 143 for SIGTERM."""

    @wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            with sigterm_as_interrupt():
                return function(*args, **kwargs)
        except OptionError as error:
            raise click.UsageError(str(error)) from error
        except SentvizError as error:
            raise click.ClickException(str(error)) from error
        except KeyboardInterrupt as ended:
            click.echo("\nStopped.", err=True)
            sys.exit(128 + int(*(ended.args or (signal.SIGINT,))))
        except BrokenPipeError:  # The reader of a pipe has closed it, as in `sentviz ... | head`.
            sys.stdout = None
            sys.exit(0)
        except OSError as error:
            raise click.ClickException(f"{error.filename or 'The disk'} cannot be used ({error.strerror or error}).") from error

    return wrapped


PLACE_OF = {
    "points": "Rows",
    "data": "Yours",
    "base": "Yours",
    "runs": "Yours",
    "app": "Servers",
    "serve": "Servers",
}
"""Command -> place, for those that are not verbs."""


EARLIER = {("explain", "--data"): "reasons", ("export", "--list"): "figures", ("export", "--paper"): "paper", ("export", "--onnx"): "onnx"}
"""Command and flag of earlier versions -> the command now; the flag falls away, except --data."""


class Commands(click.Group):
    """All commands, listed by the places of the app on one screen."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a line for each command; those that measure a run and store the table share one."""
        from sentviz.verbs import PLACES, VERBS

        stored = [name for name, verb in VERBS.items() if verb.stores]
        for place in (*PLACES, "Servers"):
            named = [name for name in self.commands if (VERBS[name].place if name in VERBS else PLACE_OF.get(name)) == place]
            rows = [(name, self.commands[name].get_short_help_str(62)) for name in named if name not in stored]
            measures = [name for name in named if name in stored]
            with formatter.section(place):
                formatter.write_dl(rows, col_max=12)
                if measures:
                    formatter.write_text(f"Measured and stored with a run: {', '.join(measures)}")

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command of the first argument, also as earlier versions wrote it (`EARLIER`)."""
        parameters = self.commands[args[0]].params if args and args[0] in self.commands else ()
        takes = {name for each in parameters if _takes_value(each) for name in each.opts}
        for (command, flag), now in EARLIER.items():
            flags = (i for i, arg in enumerate(args) if arg.partition("=")[0] == flag and args[i - 1] not in takes)
            if args[:1] == [command] and (place := next(flags, 0)):
                value = [args[place].partition("=")[2]] if "=" in args[place] else []
                rest = [*args[1:place], *([args[place]] if flag == "--data" else value), *args[place + 1 :]]
                return super().resolve_command(ctx, [now, *rest])
        return super().resolve_command(ctx, args)


def _takes_value(parameter: click.Parameter) -> bool:
    """Return whether a parameter is an option with a value, so that the next argument is never a flag."""
    return isinstance(parameter, click.Option) and not parameter.is_flag and not parameter.count


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="sentviz")
def main() -> None:
    """See how sentiment transformers decide. `sentviz app` opens the app."""


@contextmanager
def progress(label: str) -> Iterator[Progress]:
    """Give the block a function of (done, total) that shows a bar while something is counted: a new one after the last has ended.

    If another process started the command (as `run_apart` does), the function reports to that process.
    """
    if (reporter := listener()) is not None:
        yield reporter
        return
    with ExitStack() as stack:
        bars: list[Any] = []

        def report_progress(done: int, total: int) -> None:
            if not bars:
                bars.append(
                    stack.enter_context(click.progressbar(length=total, label=label, file=sys.stderr, hidden=not sys.stderr.isatty()))
                )
            bars[0].length = total
            bars[0].update(done - bars[0].pos)
            if done >= total:
                stack.close()
                bars.clear()

        yield report_progress


def listener() -> Reporter | None:
    """Return what reports to the process that started this command; None if nobody listens."""
    context = click.get_current_context(silent=True)
    return context.obj if context is not None and isinstance(context.obj, Reporter) else None
