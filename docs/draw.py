"""Draw the pictures of gallery and README anew, or check them: `python docs/draw.py [--check] [NAME ...]`. Needs Chrome or Chromium."""

from __future__ import annotations

import sys

import click
from docsite.film import FILM, film
from docsite.gallery import examples, make, records

from sentviz.errors import SentvizError
from sentviz.export.record import Record
from sentviz.export.verify import compare_with_runs
from sentviz.io.files import replacing


@click.command()
@click.option("--check", is_flag=True, help="Draw nothing; compare the stored numbers with those that the runs give now.")
@click.argument("names", nargs=-1)
def main(check: bool, names: tuple[str, ...]) -> None:
    """Of all figures unless some are named; with all, the README's film too."""
    every, failed = examples(), 0
    if not (check or names):
        with replacing(FILM) as part:
            part.write_bytes(film())
    for name in names or tuple(every):
        try:
            if check:
                verdict = compare_with_runs(Record.read(records()[name]["record"]))
                result, wrong = f"{verdict.state}: {verdict.why}", verdict.state != "equal"
            else:
                make(every[name])
                result, wrong = "drawn", False
        except SentvizError as error:
            result, wrong = str(error), True
        failed += wrong
        click.echo(f"{name:<24}{result}", err=wrong)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
