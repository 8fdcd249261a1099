"""What the commands share: the group they belong to, how they fail, how they tell progress."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from sentviz.errors import SentvizError

if TYPE_CHECKING:
    from sentviz.models.model import Progress

METHODS = "removal, received, first-layer, difference, rollout, flow, value-weighted, value-zeroing, gradient or integrated-gradients."


@contextmanager
def ended_alike() -> Iterator[None]:
    """SIGTERM ends the block as Ctrl-C does: with whatever it stores and the processes that it has to end."""
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
    """What users can do wrong becomes one sentence and exit code 1, or 2 where an option is at fault; Ctrl-C exit code 130, SIGTERM 143."""

    @wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            with ended_alike():
                return function(*args, **kwargs)
        except SentvizError as error:
            raise click.ClickException(str(error)) from error
        except KeyboardInterrupt as ended:
            click.echo("\nStopped.", err=True)
            sys.exit(128 + int(*(ended.args or (signal.SIGINT,))))
        except BrokenPipeError:  # `sentviz ... | head`
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
    """A kind of command whose help ends with what there is, (name, words), looked up only when help is asked for."""

    class Listing(click.Command):
        def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
            from sentviz.runs.registry import problems

            with formatter.section(title):
                formatter.write_dl(rows())
            for problem in problems():
                formatter.write_text(problem)

    return Listing


@contextmanager
def ticking(label: str) -> Iterator[Progress]:
    """A progress bar on the terminal, as a function of (done, total)."""
    with click.progressbar(length=1, label=label, file=sys.stderr) as bar:

        def tick(done: int, total: int) -> None:
            bar.length = total
            bar.update(done - bar.pos)

        yield tick


def say_metrics(name: str, report: dict[str, Any]) -> None:
    """Every metric that has an interval, a line each."""
    for split, values in report.items():
        for metric, value in values.items():
            if isinstance(value, dict) and "low" in value:
                click.echo(
                    f"{name}  {split:<14}{metric:<20}{value['value']:.4f}  [{value['low']:.4f}, {value['high']:.4f}]  n = {values['n']:,}"
                )
