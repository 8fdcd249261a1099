"""The command that answers many files."""

from __future__ import annotations

import time
from pathlib import Path

import click

from sentviz.cli.terminal import command, main, ticking


@main.command()
@click.argument("run")
@click.argument("files", nargs=-1, required=True, metavar="FILES...")
@click.option(
    "-o", "--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="Folder of parquet parts, e.g. OUT.parquet"
)
@click.option("--text", default="", help="Column of the texts; guessed by default. Of txt files the text is the line.")
@click.option("--pair", default="", help="Column of second texts, for runs that read pairs.")
@click.option("--label", default="", help="Column of labels (names of the classes, or numbers from 0), for accuracies.")
@click.option("--encoding", default="utf-8-sig", show_default=True, help="Of text files.")
@click.option("--vectors", is_flag=True, help="Pooled vectors too, half precision.")
@click.option("--attention", is_flag=True, help="What each head attends to in each row, for `sentviz heads OUT`.")
@click.option("--words", is_flag=True, help="Counts of words, for `sentviz words OUT`.")
@click.option(
    "--rows", default=20_000, show_default=True, type=click.IntRange(min=1), help="Of a part: what is lost at most where a worker dies."
)
@click.option("--workers", default=1, show_default=True, type=click.IntRange(min=1), help="Models that answer at a time, each on one core.")
@click.option(
    "--engine", default="process", show_default=True, type=click.Choice(["process", "ray"]), help="Who computes (extra for ray: ray)."
)
@click.option("--address", default="", help="Of a Ray cluster whose machines see the same files; without it Ray runs here.")
@command
def score(
    run: str,
    files: tuple[str, ...],
    out: Path,
    text: str,
    pair: str,
    label: str,
    encoding: str,
    vectors: bool,
    attention: bool,
    words: bool,
    rows: int,
    workers: int,
    engine: str,
    address: str,
) -> None:
    """Answer every row of FILES with RUN: csv, tsv, parquet, jsonl or txt (a text a line), folders of them or patterns.

    OUT is read as one table by pandas or pyarrow. The same command goes on where it was stopped. A row that cannot be read has no answer
    but a remark.
    """
    import numpy as np

    from sentviz.runs.store import find
    from sentviz.serving.corpus.engines import score as scored
    from sentviz.serving.corpus.output import Wishes
    from sentviz.serving.corpus.summary import totals

    if address and engine != "ray":
        raise click.UsageError("--address is of a Ray cluster: add --engine ray.")
    begun, first = time.perf_counter(), -1

    def progress(done: int, total: int) -> None:
        nonlocal first
        first = done if first < 0 else first
        tick(done, total)

    with ticking("Rows") as tick:
        made = scored(
            find(run),
            files,
            out,
            text=text,
            pair=pair,
            label=label,
            encoding=encoding,
            wishes=Wishes(vectors, attention, words),
            rows=rows,
            engine=engine,
            workers=workers,
            address=address,
            progress=progress,
        )
    seconds, found = time.perf_counter() - begun, totals(made)
    more = found.rows - first
    click.echo(f"{found.rows:,} rows in {len(made.parts):,} parts of {out}")
    click.echo(f"{more:,} of them now, in {seconds:,.1f} s ({more / seconds:,.0f} a second)")
    if found.unread:
        click.echo(f"{found.unread:,} could not be read; their remarks say why.")
    click.echo(", ".join(f"{name} {n:,}" for name, n in zip(made.labels, found.predicted.tolist(), strict=True)))
    if known := int(found.confusion.sum()):
        click.echo(f"Accuracy {np.trace(found.confusion) / known:.2%} of the {known:,} rows with a label.")


@main.command()
@click.argument("out", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--port", default=8765, show_default=True, type=click.IntRange(0, 65535), help="Of this machine; 0 = any free one.")
@command
def points(out: Path, port: int) -> None:
    """Show the rows of OUT, which `sentviz score --vectors` wrote, as points in a browser: a sample of those in view."""
    from sentviz.serving.corpus.output import Scored
    from sentviz.serving.corpus.plane import plane
    from sentviz.serving.corpus.view import server

    scored = Scored(out)
    with ticking("Parts") as tick:
        made = plane(scored, tick)
    with server(made, scored, port) as serving:
        click.echo(f"{len(made):,} points at http://127.0.0.1:{serving.server_port} (Ctrl-C ends)")
        serving.serve_forever()
