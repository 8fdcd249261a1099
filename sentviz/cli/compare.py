"""The command that compares sources of predictions on the same rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sentviz.cli.rows_options import own_model, own_model_options, reading_options
from sentviz.cli.terminal import command, main
from sentviz.io.numbers import percent, signed

if TYPE_CHECKING:
    from sentviz.data.labels import Reading


@main.command()
@click.argument("sources", nargs=-1, metavar="SOURCE...")
@click.option("--data", default="", help="File or data set (mine/NAME) whose rows are predicted; default: the rows stored with the runs.")
@click.option("--split", default="test", show_default=True, help="Split of the data set or of the stored rows; demo: the demo set.")
@click.option("--seeds/--no-seeds", default=True, show_default=True, help="Take all installed seeds of a configuration together.")
@click.option("--text", default="", help="Column of a file's texts; by default it is guessed.")
@click.option("--label", default="", help="Column of a file's labels; by default it is guessed.")
@click.option("--speed", is_flag=True, help="Also measure the rows per second of each model on this machine, on 64 rows.")
@own_model_options
@reading_options
@click.option("-o", "--out", type=click.Path(path_type=Path, dir_okay=False), help="FILE.html or FILE.pdf: a report on one page.")
@command
def compare(
    sources: tuple[str, ...],
    data: str,
    split: str,
    seeds: bool,
    text: str,
    label: str,
    speed: bool,
    model_name: str,
    classes: str,
    reading: Reading,
    out: Path | None,
) -> None:
    """Compare two to six SOURCES on the same rows: which is right more often, by how much, and how certain that is.

    A SOURCE is a run, or a model whose predictions the file of --data has in its columns. With --data FILE only, all models of the file
    are compared. --model adds a black box of your own code.
    """
    from sentviz import compare as compare_sources
    from sentviz.charts.text import visible
    from sentviz.export.comparison import FORMATS, differences, save

    if out is not None and out.suffix.lower().lstrip(".") not in FORMATS:
        raise click.UsageError(f"The report is written as .html or .pdf, not as {out.name}.")
    own = [own_model(model_name, classes)] if model_name else []
    result = compare_sources(
        *sources,
        *own,
        data=data or None,
        split=split,
        seeds=seeds,
        classes=reading.classes,
        text=text,
        label=label,
        labels=dict(reading.labels),
        scale=reading.scale,
        partial=reading.partial,
        speed=speed,
    )
    for remark in result.remarks:
        click.echo(f"! {visible(remark)}")
    click.echo(f"{visible(result.headline)}\n{visible(result.method)}")
    width = max(len(each.title) for each in result.candidates) + 2
    click.echo(f"\n{'':<{width}}{'accuracy':>9}  {'95 % interval':<17}{'points behind, interval':<28}{'p':>6}")
    for each, row in zip(result.ranked, result.table.to_dict("records"), strict=True):
        behind = signed(100 * row["behind"], ends=(100 * row["behind_low"], 100 * row["behind_high"]))
        p = "<0.001" if row["p"] < 0.001 else f"{row['p']:.3f}"
        compared = "best" if each is result.best else f"{behind:<28}{p:>6}"
        click.echo(
            f"{visible(each.title):<{width}}{percent(row['accuracy'], 2):>9}  {percent(row['low'], 2)} - {percent(row['high'], 2)} "
            f" {compared}"
        )
    for name, rate in result.speeds.items():
        click.echo(f"{visible(name)}: {rate:,.0f} rows per second on this machine")
    click.echo()
    for line in differences(result):
        click.echo(visible(line))
    if out is not None:
        click.echo(f"Written to {save(result, out)}")
