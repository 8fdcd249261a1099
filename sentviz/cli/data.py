"""Commands for data sets."""

from __future__ import annotations

from pathlib import Path

import click

from sentviz.cli.terminal import command, main


@main.group()
def data() -> None:
    """Download, list and check data sets, and add your own."""


@data.command("list")
@command
def data_list() -> None:
    """List the known data sets, which of them are installed, and your own."""
    from sentviz.data import datasets

    frame = datasets.datasets()
    click.echo(frame.to_string(index=False))


@data.command("add")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--name", default="", help="Name of the data set: NAME makes mine/NAME; default: the file's name.")
@click.option("--text", default="", help="Column of the texts; by default it is proposed.")
@click.option("--label", default="", help="Column of the labels; by default it is proposed.")
@click.option("--split", default="", help="Column with train, validation or test; by default it is proposed, else --shares decide.")
@click.option(
    "--classes",
    default="",
    help="Class names in the order of the labels, as in negative,positive, or the name of each label that is kept, as in"
    " 1=negative,5=positive.",
)
@click.option("--shares", default="", help="Percent of train, validation and test; default: 70,15,15. Equal texts stay together.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the division by --shares.")
@click.option("--language", type=click.Choice(["en", "ko"]), help="Language of the texts; by default it is found from their letters.")
@click.option("--sheet", default="", help="Sheet of an Excel file; by default the one that looks most like a table of texts.")
@click.option("--replace", is_flag=True, help="Replace the data set of this name.")
@command
def data_add(
    file: Path,
    name: str,
    text: str,
    label: str,
    split: str,
    classes: str,
    shares: str,
    seed: int,
    language: str | None,
    sheet: str,
    replace: bool,
) -> None:
    """Add FILE to your library as the data set mine/NAME, which every command takes as a data set.

    FILE is a csv, tsv, jsonl, json, xlsx or parquet file of texts with labels. The output says how FILE was understood. FILE itself is not
    needed afterwards, and texts stay on this machine.
    """
    from sentviz.data.user_datasets import add_data

    titles = [title.strip() for title in classes.split(",") if title.strip()]
    of_labels = dict(title.split("=", 1) for title in titles if "=" in title)
    if of_labels and len(of_labels) < len(titles):
        raise click.UsageError("--classes must name each label differently, as 1=negative,5=positive, or name all classes without labels.")
    try:
        percent = [int(share) for share in shares.split(",")] if shares else []
    except ValueError:
        raise click.UsageError("--shares must be three whole percentages, as 70,15,15.") from None
    added = add_data(
        *(file, name),
        text=text,
        label=label,
        split=split,
        classes=of_labels or titles,
        shares=percent,
        seed=seed,
        language=language or "",
        sheet=sheet,
        replace=replace,
    )
    click.echo(str(added))
    click.echo(f"The options of `sentviz data add` change this. `sentviz train {added.name}` trains a model on the data set.")


@data.command("remove")
@click.argument("name")
@command
def data_remove(name: str) -> None:
    """Delete your data set mine/NAME. Runs that were trained on it stay."""
    from sentviz.data.user_datasets import remove_data

    click.echo(f"Deleted: {remove_data(name)}")


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
