"""Commands for runs and bases as files: list, fetch, pack and add them, and write model cards."""

from __future__ import annotations

from pathlib import Path

import click

from sentviz.cli.terminal import command, main


@main.group()
def runs() -> None:
    """List and fetch trained runs that are not part of the installation, and pack runs for a release."""


@runs.command("list")
@command
def runs_list() -> None:
    """List the shipped runs, their sizes in MB, and which are installed."""
    from sentviz.runs.releases import index, is_installed

    shipped = index().values()
    missing = [item for item in shipped if not is_installed(item)]
    for item in shipped:
        click.echo(f"{item.name:<44}{item.bytes / 1e6:>7.1f} MB  {'' if item in missing else 'installed'}".rstrip())
    size, installed = sum(item.bytes for item in missing) / 1e6, len(shipped) - len(missing)
    click.echo(f"{len(shipped)} runs, {installed} installed; `sentviz runs get --all` fetches the others ({size:,.0f} MB).")


@runs.command("get")
@click.argument("names", nargs=-1, metavar="NAME...")
@click.option("--all", "everything", is_flag=True, help="Fetch all shipped runs.")
@click.option("--from", "source", metavar="URL|FOLDER", help="Address of another release, folder of its files, or folder of runs.")
@click.option("--again", is_flag=True, help="Download installed runs again.")
@click.option("--quiet", is_flag=True, help="Show no progress bar.")
@command
def runs_get(names: tuple[str, ...], everything: bool, source: str | None, again: bool, quiet: bool) -> None:
    """Fetch the runs NAME into the user's folder. The pattern 'sst2/*' names all runs of a data set. To continue a stopped download, run
    the command again.
    """
    from tqdm import tqdm

    from sentviz.runs.releases import ADDRESS, chosen, get, index, is_installed, with_bases

    if everything == bool(names):
        raise click.UsageError("Give the names of runs, or --all for all of them. `sentviz runs list` shows the names.")
    known = index()
    wanted = [name for name in with_bases(chosen(names or ["*"], known), known) if again or not is_installed(known[name])]
    size = sum(known[name].bytes for name in wanted)
    with tqdm(total=size, unit="B", unit_scale=True, unit_divisor=1000, leave=False, disable=True if quiet else None) as bar:
        before = 0

        def progress(done: int, _: int) -> None:
            bar.update(before + done - bar.n)

        for name in wanted:
            bar.set_description(name)
            folder = get(name, source or ADDRESS, progress=progress, again=again)
            before += known[name].bytes
            click.echo(f"{name}  {folder}")
    click.echo(f"Runs fetched: {len(wanted)} ({size / 1e6:,.1f} MB)." if wanted else "All of these runs are already installed.")


@runs.command("pack")
@click.argument("out", type=click.Path(path_type=Path, file_okay=False))
@click.argument("names", nargs=-1, metavar="[NAME]...")
@command
def runs_pack(out: Path, names: tuple[str, ...]) -> None:
    """Write the files of a release into folder OUT: a zip file per shipped run and base, or per NAME, and their index."""
    from sentviz.errors import RunError
    from sentviz.runs.bases import Base, bases
    from sentviz.runs.releases import chosen, release
    from sentviz.runs.store import BASES, SHIPPED, Run
    from sentviz.runs.store import runs as read_runs

    shipped: dict[str, Run | Base | RunError] = {f"{BASES}/{name}": base for name, base in bases(SHIPPED).items()}
    shipped |= read_runs([SHIPPED], shipped_first=True)
    selected: list[Run | Base] = []
    for name in chosen(names or ["*"], shipped):
        item = shipped[name]
        if isinstance(item, RunError):
            raise item
        selected.append(item)
    packed = release(selected, out)
    click.echo(f"{len(packed)} runs, {sum(item.bytes for item in packed) / 1e6:,.1f} MB, written to {out}")


@main.command()
@click.argument("names", nargs=-1, metavar="RUN...")
@click.option("--all", "everything", is_flag=True, help="Write the cards of all available runs.")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="FILE.md for one run, or a folder; by default the card is printed.")
@command
def card(names: tuple[str, ...], everything: bool, out: Path | None) -> None:
    """Write the model card of each RUN from its files: Markdown with the metadata header that the Hugging Face hub reads."""
    from sentviz.io.files import replacing
    from sentviz.papers.cards import card as model_card
    from sentviz.papers.cards import filename
    from sentviz.runs.store import Run, find
    from sentviz.runs.store import runs as read_runs

    if everything == bool(names):
        raise click.UsageError("Give the names of runs, or --all for all of them. `sentviz catalog` shows the names.")
    available = [run for run in read_runs().values() if isinstance(run, Run)]
    selected = available if everything else [find(name) for name in names]
    for run in selected:
        text = model_card(run, available)
        if out is None:
            click.echo(text)
            continue
        single = len(selected) == 1 and out.suffix == ".md"
        (out.parent if single else out).mkdir(parents=True, exist_ok=True)
        with replacing(out if single else out / filename(run)) as part:
            part.write_text(text, encoding="utf-8")
    if out is not None:
        click.echo(f"Model cards written to {out}: {len(selected)}")


@main.group()
def base() -> None:
    """List and add bases: pretrained encoders, stored once, on which `sentviz train --base` trains adapters."""


@base.command("list")
@command
def base_list() -> None:
    """List the installed bases with source, size and shape."""
    from sentviz.errors import RunError
    from sentviz.runs.bases import bases

    for item in bases().values():
        try:
            size = sum(path.stat().st_size for path in item.folder.iterdir()) / 1e6
            shape = f"{item.settings['layers']:>3} layers, width {item.settings['width']}"
            click.echo(f"{item.name:<16}{item.card['source']:<48}{shape}{size:>8.1f} MB")
        except RunError as error:
            click.echo(f"{item.name:<16}{error}")


@base.command("add")
@click.argument("folder")
@click.argument("name")
@click.option("--bits", type=click.Choice(["4", "8"]), default="8", show_default=True, help="Bits per weight of the matrices.")
@click.option(
    "--pooling",
    type=click.Choice(["mean", "cls"]),
    default="mean",
    show_default=True,
    help="Vector that a classifier reads.",
)
@click.option("--source", default="", help="Origin of the encoder, for example sentence-transformers/all-MiniLM-L6-v2.")
@click.option("--license", "licence", default="", help="Licence of the encoder, for example Apache-2.0.")
@click.option("--remark", default="", help="Further remark for the base's card.")
@click.option("--revision", default="", help="Commit of an encoder of the hub, 40 hex digits.")
@click.option("--sha256", default="", help="SHA-256 that model.safetensors must have; needed for an encoder of the hub.")
@click.option("-o", "--out", type=click.Path(path_type=Path), default=Path("runs/bases"), show_default=True, help="Folder for the base.")
@command
def base_add(folder: str, name: str, bits: str, out: Path, licence: str, **settings: str) -> None:
    """Round the weights of the encoder in FOLDER and store it as the base NAME.

    FOLDER is a folder in the Hugging Face layout, its name below SENTVIZ_MODELS, or an encoder of the hub as USER/MODEL.
    """
    from sentviz.models.pretrained.base import add_base

    added = add_base(folder, name, out, bits=int(bits), license=licence, **settings)
    click.echo(f"{added.name}  {added.digest}  {added.folder}")
