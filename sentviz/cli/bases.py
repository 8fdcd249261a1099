"""Commands for bases: pretrained encoders that runs are adapters of."""

from __future__ import annotations

from pathlib import Path

import click

from sentviz.cli.terminal import command, main


@main.group()
def base() -> None:
    """Pretrained encoders, stored once, on which `sentviz train --base` trains adapters."""


@base.command("list")
@command
def base_list() -> None:
    """The bases that are here."""
    from sentviz.runs.bases import bases

    for one in bases().values():
        size = sum(path.stat().st_size for path in one.folder.iterdir()) / 1e6
        shape = one.settings
        click.echo(f"{one.name:<16}{one.card['source']:<48}{shape['layers']:>3} layers, width {shape['width']}{size:>8.1f} MB")


@base.command("add")
@click.argument("folder")
@click.argument("name")
@click.option("--bits", type=click.Choice(["4", "8"]), default="8", show_default=True, help="Bits per weight of the matrices.")
@click.option("--pooling", type=click.Choice(["mean", "cls"]), default="mean", show_default=True, help="What a classifier on it reads.")
@click.option("--source", default="", help="Where it comes from, as in sentence-transformers/all-MiniLM-L6-v2.")
@click.option("--license", "licence", default="", help="Its licence, as in Apache-2.0.")
@click.option("--remark", default="", help="What else there is to say of it.")
@click.option("-o", "--out", type=click.Path(path_type=Path), default=Path("runs/bases"), show_default=True, help="Folder of bases.")
@command
def base_add(folder: str, name: str, bits: str, pooling: str, source: str, licence: str, remark: str, out: Path) -> None:
    """Round the encoder in FOLDER (Hugging Face layout, or its name below SENTVIZ_MODELS) and store it as the base NAME."""
    from sentviz.models.pretrained.base import add_base

    made = add_base(folder, name, out, bits=int(bits), pooling=pooling, source=source, license=licence, remark=remark)
    click.echo(f"{made.name}  {made.digest}  {made.folder}")
