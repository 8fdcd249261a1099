"""The command `sentviz live`: a page that computes without a server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from sentviz.cli.terminal import command, main, progress_bar

if TYPE_CHECKING:
    from sentviz.figures.colours import Theme


@main.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("-o", "--out", type=click.Path(path_type=Path), default=Path("live.html"), show_default=True, help="The page.")
@click.option("--text", default="", help="Sentence that is shown first; default: the run's example.")
@click.option("--int8", is_flag=True, help="Compute in 8 bits: a quarter of the size, other rounding.")
@click.option("--theme", type=click.Choice(["light", "dark"]), help="Colours; default: those that the reader's system prefers.")
@command
def live(runs: tuple[str, ...], out: Path, text: str, int8: bool, theme: str | None) -> None:
    """Write RUN as one HTML page that answers what is typed, without a server and without a network (extra: onnx).

    Several RUNs answer the same sentence side by side. Whoever has the page has the models. Without a wheel that has it, onnxruntime-web
    (33 MB) is fetched from the npm registry on first use.
    """
    from sentviz.serving.live.page import live_page

    with progress_bar("Fetching packages") as report:
        done = live_page(runs, out, text=text, int8=int8, theme=cast("Theme | None", theme), progress=report)
    click.echo(f"{out}: {done['bytes'] / 1e6:.1f} MB. Open it in a browser; it needs no network.")
    for model in done["models"]:
        if "same" in (cost := model["cost"]):
            click.echo(f"In 8 bits {model['run']} predicts the same class for {cost['same']:.1%} of {cost['n']:,} test rows.")
