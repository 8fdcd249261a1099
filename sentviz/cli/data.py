"""Commands for data sets."""

from __future__ import annotations

import click

from sentviz.cli.terminal import command, main


@main.group()
def data() -> None:
    """Download, list and check data sets."""


@data.command("list")
@command
def data_list() -> None:
    """List the known data sets and which of them are installed."""
    from sentviz.data import datasets

    frame = datasets.datasets()
    click.echo(frame.to_string(index=False))


@data.command("get")
@click.argument("name")
@click.option("--again", is_flag=True, help="Download files again that are in the cache.")
@click.option("--quiet", is_flag=True, help="Show no progress bar.")
@command
def data_get(name: str, again: bool, quiet: bool) -> None:
    """Download data set NAME from the public hub into the user's cache. To continue a stopped download, run the command again."""
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
            click.echo(f"\nThe downloaded part is stored: `sentviz data get {name}` continues from there.", err=True)
            raise
    for file in fetched:
        click.echo(f"{file.path}  {file.rows:,} rows{'' if file.exact else '  (different from the known rows)'}")
        if file.remark:
            click.echo(f"! {file.remark}", err=True)
    if not fetched:
        click.echo(f"{name} is already installed; --again downloads it again.")
    if missing := [part for part in dict.fromkeys([*item.parts, *item.needed()]) if not datasets.is_available(name, part)]:
        click.echo(f"Not installed: {', '.join(missing)}; {hubdata.reasons(name, missing)}.", err=True)


@data.command("verify")
@click.argument("name")
@command
def data_verify(name: str) -> None:
    """Compare the files of data set NAME with their known digests and numbers of rows."""
    from sentviz.data import datasets

    datasets.verify(name)
    click.echo(f"The files of {name} are as expected.")


@data.command("where")
@command
def data_where() -> None:
    """List the folders that are searched for data sets, in order, and the data sets in each."""
    from sentviz.data import datasets

    known = datasets.datasets()["name"]
    for folder in datasets.folders():
        names = [name for name in known if any((folder / name / f"{part}.parquet").is_file() for part in datasets.info(name).parts)]
        click.echo(f"{folder}: {', '.join(names) or 'no data set'}")
    click.echo(
        "If SENTVIZ_DATA is set, it is the first folder. Downloads go to the last folder, below SENTVIZ_HOME or in the system's cache."
    )
