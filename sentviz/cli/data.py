"""Commands for data sets."""

from __future__ import annotations

import click

from sentviz.cli.terminal import command, main


@main.group()
def data() -> None:
    """Data sets."""


@data.command("list")
@command
def data_list() -> None:
    """The data sets that sentviz knows, and which are here."""
    from sentviz.data import datasets

    frame = datasets.datasets()
    click.echo(frame.to_string(index=False))


@data.command("get")
@click.argument("name")
@click.option("--again", is_flag=True, help="Also what is in the cache already.")
@click.option("--quiet", is_flag=True, help="No progress bar.")
@command
def data_get(name: str, again: bool, quiet: bool) -> None:
    """Download data set NAME from the public hub into the user's cache. A stopped download goes on with the same command."""
    from tqdm import tqdm

    from sentviz.data import datasets
    from sentviz.data.fetch import hub as hubdata

    item = datasets.info(name)
    with tqdm(unit="B", unit_scale=True, unit_divisor=1000, desc=name, leave=False, disable=True if quiet else None) as bar:

        def progress(done: int, total: int) -> None:
            bar.total = total or None
            bar.update(done - bar.n)

        try:
            fetched = hubdata.get(name, progress=progress, again=again)
        except KeyboardInterrupt:
            bar.close()
            click.echo(f"\nWhat came is kept: `sentviz data get {name}` goes on from here.", err=True)
            raise
    for got in fetched:
        click.echo(f"{got.path}  {got.rows:,} rows{'' if got.exact else '  (not the known rows)'}")
        if got.remark:
            click.echo(f"! {got.remark}", err=True)
    if not fetched:
        click.echo(f"{name} is here already; --again downloads it once more.")
    if lost := [part for part in dict.fromkeys([*item.parts, *item.needed()]) if not datasets.is_available(name, part)]:
        click.echo(f"Not here: {', '.join(lost)}; {hubdata.reasons(name, lost)}.", err=True)


@data.command("verify")
@click.argument("name")
@command
def data_verify(name: str) -> None:
    """Compare the files of data set NAME with what is known of them."""
    from sentviz.data import datasets

    datasets.verify(name)
    click.echo(f"{name} is what it should be.")


@data.command("where")
@command
def data_where() -> None:
    """The folders searched for data sets, in order, and what each holds."""
    from sentviz.data import datasets

    known = datasets.datasets()["name"]
    for folder in datasets.folders():
        held = [name for name in known if any((folder / name / f"{part}.parquet").is_file() for part in datasets.info(name).parts)]
        click.echo(f"{folder}: {', '.join(held) or 'nothing'}")
    click.echo("The first is SENTVIZ_DATA, where it is set; downloads go to the last, in SENTVIZ_HOME or the system's place for caches.")
