"""Code that all commands share: the group `main`, error handling, progress bars and printed metrics."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from sentviz.errors import SentvizError
from sentviz.io.numbers import number

if TYPE_CHECKING:
    from sentviz.models.model import Progress

METHODS = (
    "removal, exact, permutation, units, clauses, sentences, received, first-layer, difference, rollout, flow, value-weighted,"
    " value-zeroing, gradient, integrated-gradients, gradient-shap, smoothgrad, kernel-shap or lime."
)

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


def target_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --target and --against to a command, which gets them as one `Target`."""
    from sentviz.runs.target import Target

    @wraps(function)
    def with_target(target: str, against: str, **options: Any) -> Any:
        return function(target=Target(target, against), **options)

    against = click.option("--against", default="", help="Class to compare it with; default: all other classes.")
    return click.option("--target", default="", help="Class that is explained; default: the predicted class.")(against(with_target))


def command(function: Callable[..., Any]) -> Callable[..., Any]:
    """Turn errors of a command into one sentence and an exit code: 1, or 2 for a wrong option; 130 for Ctrl-C, 143 for SIGTERM."""

    @wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            with sigterm_as_interrupt():
                return function(*args, **kwargs)
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


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="sentviz")
def main() -> None:
    """See how sentiment transformers decide. `sentviz app` opens the app."""


def listing(title: str, rows: Callable[[], list[tuple[str, str]]]) -> type[click.Command]:
    """Return a command class whose help text ends with a list of (name, description), read only when the help text is printed."""

    class Listing(click.Command):
        def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
            from sentviz.runs.registry import problems

            with formatter.section(title):
                formatter.write_dl(rows())
            for problem in problems():
                formatter.write_text(problem)

    return Listing


@contextmanager
def progress_bar(label: str) -> Iterator[Progress]:
    """Show a progress bar on the terminal; the block gets a function of (done, total) that updates it.

    If another process started the command (as `run_apart` does), the function reports to that process.
    """
    if (reporter := listener()) is not None:
        yield reporter
        return
    with click.progressbar(length=1, label=label, file=sys.stderr) as bar:

        def report_progress(done: int, total: int) -> None:
            bar.length = total
            bar.update(done - bar.pos)

        yield report_progress


def listener() -> Reporter | None:
    """Return what reports to the process that started this command; None if nobody listens."""
    context = click.get_current_context(silent=True)
    return context.obj if context is not None and isinstance(context.obj, Reporter) else None


def print_metrics(name: str, report: dict[str, Any], total: int = 0) -> None:
    """Print each metric that has a confidence interval on one line. `total`: rows of the file, also those left out."""
    for split, values in report.items():
        for metric, value in values.items():
            if isinstance(value, dict) and "low" in value:
                span = number(value["value"], 4, (value["low"], value["high"]))
                click.echo(f"{name}  {split:<14}{metric:<20}{span}  n = {values['n']:,}{f' of {total:,}' if total > values['n'] else ''}")
