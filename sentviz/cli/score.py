"""Commands that predict large files, show the predictions as points, and write the reason for the prediction of each row."""

from __future__ import annotations

import time
from pathlib import Path

import click

from sentviz.cli.rows_options import Given, own_model_options
from sentviz.cli.terminal import command, main, progress_bar
from sentviz.io.lazy import np
from sentviz.io.numbers import percent

ROWS = 16  # rows of a part: a stopped command loses the work on one part


@main.command()
@click.argument("files", nargs=-1, required=True, metavar="[RUN] FILES...")
@own_model_options
@click.option(
    "-o",
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    help="File OUT.csv with every column of FILES and the predictions, or a folder for parquet parts, for example OUT.parquet.",
)
@click.option("--text", default="", help="Column of the texts; by default it is guessed. In txt files each line is a text.")
@click.option("--pair", default="", help="Column of the second texts, for runs that read pairs.")
@click.option("--label", default="", help="Column of the labels, to compute the accuracy.")
@click.option("--labels", default="", metavar="LABEL=CLASS,...", help="Class of each label of a file, as in 1=negative,2=positive.")
@click.option("--partial", is_flag=True, help="Print the accuracy although more than 2 % of the rows are left out of it.")
@click.option("--encoding", default="", help="Encoding of the text files; by default it is found from their bytes.")
@click.option("--vectors", is_flag=True, help="Store the pooled vectors, too, in half precision.")
@click.option("--attention", is_flag=True, help="Store what each head attends to in each row, for `sentviz heads OUT`.")
@click.option("--words", is_flag=True, help="Store counts of words, for `sentviz words OUT`.")
@click.option(
    "--rows",
    default=20_000,
    show_default=True,
    type=click.IntRange(min=1),
    help="Rows per output part. If a worker crashes, its part is computed again.",
)
@click.option("--workers", default=1, show_default=True, type=click.IntRange(min=1), help="Models that run in parallel, each on one core.")
@click.option(
    "--engine", default="process", show_default=True, type=click.Choice(["process", "ray"]), help="Backend. `ray` needs the extra `ray`."
)
@click.option("--address", default="", help="Address of a Ray cluster whose machines share the files; by default Ray runs on this machine.")
@command
def score(
    files: tuple[str, ...],
    model_name: str,
    classes: str,
    out: Path,
    text: str,
    pair: str,
    label: str,
    labels: str,
    partial: bool,
    encoding: str,
    vectors: bool,
    attention: bool,
    words: bool,
    rows: int,
    workers: int,
    engine: str,
    address: str,
) -> None:
    """Predict every row of FILES with RUN, or with your own --model, and write the class probabilities to OUT.

    FILES are csv, tsv, xlsx, parquet, jsonl, json or txt files (one text per line), folders of such files, patterns, or your data sets, as
    mine/NAME. OUT.csv has every column of FILES and the predictions; pandas and pyarrow read a folder OUT as one table. To continue a
    stopped command, run it again. A row that cannot be read gets a remark instead of a prediction.
    """

    from sentviz.data.labels import LeftOutError, Reading, check_complete, in_words
    from sentviz.serving.corpus import output
    from sentviz.serving.corpus.engines import score_sources
    from sentviz.serving.corpus.inputs import survey_files
    from sentviz.serving.corpus.output import OutputOptions, ScoringJob, label_counts
    from sentviz.serving.corpus.summary import totals

    if address and engine != "ray":
        raise click.UsageError("--address names a Ray cluster: add --engine ray.")
    is_file = output.fits(out)
    if is_file and (vectors or attention or words):
        raise click.UsageError("--vectors, --attention and --words need a folder: choose a name without .csv.")
    run, files = ("", files) if model_name else (files[0], files[1:])
    if not files:
        raise click.UsageError("Name a file to predict after the RUN.")
    if model_name and (workers > 1 or engine == "ray"):
        raise click.UsageError("A model of yours runs in this process only: remove --workers and --engine.")
    scorer = Given(run, model_name, classes).answers()
    files = tuple(str(path) for name in files for path in files_of(name))
    sources = survey_files(files, text=text, pair=pair, label=label, encoding=encoding, rows=rows)
    if is_file:
        output.check(sources, out)
    options = OutputOptions(vectors, attention, words, labels)
    remarks = [remark for source in sources for remark in source.format.remarks]
    if label:
        class_of = ScoringJob(scorer, tuple(sources), options, out).class_of
        remarks += in_words(label_counts(sources), class_of, scorer.labels, sum(source.rows for source in sources), f"Labels in “{label}”")
    for remark in remarks:
        click.echo(f"! {remark}", err=True)
    begun, first = time.perf_counter(), -1

    def progress(done: int, total: int) -> None:
        nonlocal first
        first = done if first < 0 else first
        report_progress(done, total)

    with progress_bar("Rows") as report_progress:
        scored = score_sources(
            scorer,
            sources,
            output.parts_of(out) if is_file else out,
            options=options,
            engine=engine,
            workers=workers,
            address=address,
            progress=progress,
        )
    seconds, counts = time.perf_counter() - begun, totals(scored)
    new = counts.rows - first
    cut = sum(int((scored.part(place, ["truncated"])["truncated"].to_numpy() > 0).sum()) for place in range(len(scored.parts)))
    if is_file:
        output.write(scored, sources, out)
    click.echo(f"{counts.rows:,} rows in {out}" if is_file else f"{counts.rows:,} rows in {len(scored.parts):,} parts of {out}")
    click.echo(f"{new:,} of them new, in {seconds:,.1f} s ({new / seconds:,.0f} rows per second)")
    if counts.unread:
        click.echo(f"{counts.unread:,} rows could not be read; their remarks say why.")
    if cut:
        click.echo(f"{cut:,} rows are longer than the model reads; their remarks say by how much.")
    click.echo(", ".join(f"{name} {n:,}" for name, n in zip(scored.labels, counts.predicted.tolist(), strict=True)))
    if labelled := int(counts.confusion.sum()):
        try:
            check_complete(labelled, counts.rows, Reading(partial=partial), str(out))
        except LeftOutError as error:
            click.echo(f"! No accuracy is printed. {error}", err=True)
        else:
            of = f" of {counts.rows:,}" if labelled < counts.rows else ""
            click.echo(f"Accuracy {percent(np.trace(counts.confusion) / labelled, 2)} on the {labelled:,}{of} rows with a label.")


def files_of(name: str) -> list[str | Path]:
    """Return the files of a data set of the user; any other name unchanged."""
    from sentviz.data import datasets

    if not datasets.is_own(name) or Path(name).exists():
        return [name]
    datasets.require(name)
    return [path for part in datasets.info(name).needed() if (path := datasets.part_file(name, part))]


@main.command()
@click.argument("out", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--port", default=8765, show_default=True, type=click.IntRange(0, 65535), help="Port on this machine; 0 = any free port.")
@command
def points(out: Path, port: int) -> None:
    """Show the rows of OUT, which `sentviz score --vectors` wrote, as points in a browser. A view shows a sample of its points."""
    from sentviz.serving.corpus.output import Scored
    from sentviz.serving.corpus.plane import plane, server

    scored = Scored(out)
    with progress_bar("Parts") as report_progress:
        places = plane(scored, report_progress)
    with server(places, scored, port) as serving:
        click.echo(f"{len(places):,} points at http://127.0.0.1:{serving.server_port}. Press Ctrl-C to stop.")
        serving.serve_forever()


def explain_file(inputs: Given, out: Path | None, pair: str) -> None:
    """Write the columns of a file, the predictions, the reasons and the words with the largest values; continue where a command stopped.

    Args:
        inputs: run or model, file and column of the texts. pair: column of the second texts; "" = none.
    Raises:
        UsageError: no output, or one that is not a CSV file. SentvizError: as for `sentviz score`.
    """
    from sentviz.serving.corpus import output
    from sentviz.serving.corpus.engines import score_sources
    from sentviz.serving.corpus.inputs import survey_files
    from sentviz.serving.corpus.output import OutputOptions
    from sentviz.serving.corpus.summary import totals

    if out is None or not output.fits(out):
        raise click.UsageError("--data writes one CSV file: name it with -o, for example -o reasons.csv.")
    answers = inputs.answers()
    sources = survey_files(files_of(inputs.data), text=inputs.text, pair=pair, rows=ROWS)
    output.check(sources, out)
    for remark in (remark for source in sources for remark in source.format.remarks):
        click.echo(f"! {remark}", err=True)
    with progress_bar("Rows") as progress:
        scored = score_sources(answers, sources, output.parts_of(out), options=OutputOptions(reasons=True), progress=progress)
    counts = totals(scored)
    cut = sum(int((scored.part(place, ["truncated"])["truncated"].to_numpy() > 0).sum()) for place in range(len(scored.parts)))
    output.write(scored, sources, out)
    click.echo(f"{counts.rows:,} rows with their reasons in {out}")
    if counts.unread:
        click.echo(f"{counts.unread:,} rows could not be read; their remarks say why.")
    if cut:
        click.echo(f"{cut:,} rows are longer than the model reads; their remarks say by how much.")
