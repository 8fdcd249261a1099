"""Commands for runs as files: list, get, pack, and their cards."""

from __future__ import annotations

from pathlib import Path

import click

from sentviz.cli.terminal import command, main


@main.group()
def runs() -> None:
    """Trained runs: fetch those that did not come with the installation, pack them for a release."""


@runs.command("list")
@command
def runs_list() -> None:
    """The runs that ship, in megabytes, and which are here."""
    from sentviz.runs.releases import index, is_installed

    known = index().values()
    lacking = [one for one in known if not is_installed(one)]
    for one in known:
        click.echo(f"{one.name:<44}{one.bytes / 1e6:>7.1f} MB  {'' if one in lacking else 'here'}".rstrip())
    size = sum(one.bytes for one in lacking) / 1e6
    click.echo(f"{len(known)} runs, {len(known) - len(lacking)} here; `sentviz runs get --all` fetches the others ({size:,.0f} MB).")


@runs.command("get")
@click.argument("names", nargs=-1, metavar="NAME...")
@click.option("--all", "everything", is_flag=True, help="All that ship.")
@click.option("--from", "source", metavar="URL|FOLDER", help="Another release, a folder of its files, or a folder of runs.")
@click.option("--again", is_flag=True, help="Also what is here already.")
@click.option("--quiet", is_flag=True, help="No progress bar.")
@command
def runs_get(names: tuple[str, ...], everything: bool, source: str | None, again: bool, quiet: bool) -> None:
    """Fetch runs into the user's folder; 'sst2/*' is all of a data set. A stopped download goes on with the same command."""
    from tqdm import tqdm

    from sentviz.runs.releases import ADDRESS, chosen, get, index, is_installed, with_bases

    if everything == bool(names):
        raise click.UsageError("Name the runs, or all with --all; `sentviz runs list` shows them.")
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
    click.echo(f"{len(wanted)} fetched, {size / 1e6:,.1f} MB." if wanted else "All of them are here already.")


@runs.command("pack")
@click.argument("out", type=click.Path(path_type=Path, file_okay=False))
@click.argument("names", nargs=-1, metavar="[NAME]...")
@command
def runs_pack(out: Path, names: tuple[str, ...]) -> None:
    """Write the files of a release into folder OUT: each run and base that ships, or each NAME, as a zip, and their index."""
    from sentviz.errors import RunError
    from sentviz.runs.bases import Base, bases
    from sentviz.runs.releases import chosen, release
    from sentviz.runs.store import BASES, SHIPPED, Run
    from sentviz.runs.store import runs as found

    is_installed: dict[str, Run | Base | RunError] = {f"{BASES}/{name}": base for name, base in bases(SHIPPED).items()}
    is_installed |= found([SHIPPED], shipped_first=True)
    wanted: list[Run | Base] = []
    for name in chosen(names or ["*"], is_installed):
        one = is_installed[name]
        if isinstance(one, RunError):
            raise one
        wanted.append(one)
    made = release(wanted, out)
    click.echo(f"{len(made)} runs, {sum(one.bytes for one in made) / 1e6:,.1f} MB, written to {out}")


@main.command()
@click.argument("names", nargs=-1, metavar="RUN...")
@click.option("--all", "everything", is_flag=True, help="Every run at hand.")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="FILE.md of one run, else a folder; without it the card is printed.")
@command
def card(names: tuple[str, ...], everything: bool, out: Path | None) -> None:
    """Write the model card of RUN from its files: Markdown with the head that the Hugging Face hub reads."""
    from sentviz.io.files import replacing
    from sentviz.papers.cards import card as of
    from sentviz.papers.cards import filename
    from sentviz.runs.store import Run, find
    from sentviz.runs.store import runs as found

    if everything == bool(names):
        raise click.UsageError("Name the runs, or all with --all.")
    is_installed = [run for run in found().values() if isinstance(run, Run)]
    wanted = is_installed if everything else [find(name) for name in names]
    for run in wanted:
        text = of(run, is_installed)
        if out is None:
            click.echo(text)
            continue
        single = len(wanted) == 1 and out.suffix == ".md"
        (out.parent if single else out).mkdir(parents=True, exist_ok=True)
        with replacing(out if single else out / filename(run)) as part:
            part.write_text(text, encoding="utf-8")
    if out is not None:
        click.echo(f"{len(wanted)} written to {out}")
