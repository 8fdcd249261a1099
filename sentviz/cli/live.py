"""The command `sentviz live`: a page that computes without a server."""

from __future__ import annotations

from pathlib import Path

import click

from sentviz.cli.terminal import command, main, progress_bar


@main.command()
@click.argument("run")
@click.option("-o", "--out", type=click.Path(path_type=Path), default=Path("live.html"), show_default=True, help="The page.")
@click.option("--text", default="", help="Sentence that is shown first; default: the run's example.")
@click.option("--int8", is_flag=True, help="Compute in 8 bits: a quarter of the size, other rounding.")
@click.option("--dark", is_flag=True, help="Dark colours.")
@command
def live(run: str, out: Path, text: str, int8: bool, dark: bool) -> None:
    """Write RUN as one HTML page that answers what is typed, without a server and without a network (extra: onnx).

    The page holds the model, so whoever has the page has the model. On first use, onnxruntime-web (33 MB) comes from the npm registry.
    """
    from sentviz.serving.live import live_page

    with progress_bar("Fetching packages") as report:
        done = live_page(run, out, text=text, int8=int8, theme="dark" if dark else "light", progress=report)
    click.echo(f"{out}: {done['bytes'] / 1e6:.1f} MB. Open it in a browser; it needs no network.")
    if "same" in done["cost"]:
        click.echo(f"In 8 bits it predicts the same class for {done['cost']['same']:.1%} of {done['cost']['n']:,} test rows.")
