"""`sentviz explain --data`: the reason for the prediction of every row of a file, as one CSV file."""

from __future__ import annotations

from pathlib import Path

import click

from sentviz.cli.rows_options import Given
from sentviz.cli.terminal import progress_bar

ROWS = 16  # rows of a part: a stopped command loses the work on one part


def explain_file(inputs: Given, out: Path | None, pair: str) -> None:
    """Write the columns of a file, the predictions, the reasons and the words with the largest values; continue where a command stopped.

    Args:
        inputs: run or model, file and column of the texts. pair: column of the second texts; "" = none.
    Raises:
        UsageError: no output, or one that is not a CSV file. SentvizError: as for `sentviz score`.
    """
    from sentviz.cli.score import files_of
    from sentviz.serving.corpus import one_file
    from sentviz.serving.corpus.engines import score_sources
    from sentviz.serving.corpus.inputs import survey_files
    from sentviz.serving.corpus.output import OutputOptions
    from sentviz.serving.corpus.summary import totals

    if out is None or not one_file.fits(out):
        raise click.UsageError("--data writes one CSV file: name it with -o, for example -o reasons.csv.")
    answers = inputs.answers()
    sources = survey_files(files_of(inputs.data), text=inputs.text, pair=pair, rows=ROWS)
    one_file.check(sources, out)
    for remark in (remark for source in sources for remark in source.format.remarks):
        click.echo(f"! {remark}", err=True)
    with progress_bar("Rows") as progress:
        scored = score_sources(answers, sources, one_file.parts_of(out), options=OutputOptions(reasons=True), progress=progress)
    counts = totals(scored)
    cut = sum(int((scored.part(place, ["truncated"])["truncated"].to_numpy() > 0).sum()) for place in range(len(scored.parts)))
    one_file.write(scored, sources, out)
    click.echo(f"{counts.rows:,} rows with their reasons in {out}")
    if counts.unread:
        click.echo(f"{counts.unread:,} rows could not be read; their remarks say why.")
    if cut:
        click.echo(f"{cut:,} rows are longer than the model reads; their remarks say by how much.")
