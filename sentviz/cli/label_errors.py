"""Print labels that look wrong, repeats and leaks; `sentviz labels` uses it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from sentviz.analysis.testset.rows import Rows, RowsSource, predicted, stored
from sentviz.cli.print_rows import CUT
from sentviz.data.labels import Reading
from sentviz.errors import InputError, SentvizError
from sentviz.figures.text import visible
from sentviz.io.lazy import pd
from sentviz.io.spreadsheet import write_csv
from sentviz.runs.store import Run


def rows_to_judge(run: str, data: str, split: str, *, text: str, label: str, reading: Reading) -> Rows:
    """Return a run's stored rows, its predictions for a table or a data set, or the predictions that a table has.

    Raises:
        SentvizError: there are no such rows.
    """
    from sentviz.analysis.testset.predictions_file import is_table, sources
    from sentviz.data import datasets
    from sentviz.runs.store import find

    if is_table(run):
        if data:
            raise InputError(f"{run} has its own rows; --data belongs to a run.")
        return sources(run, reading=reading, text=text, label=label)[0]
    of = find(run)
    if data:
        return _predicted(of, data, split, text, label, reading)
    rows = stored(of, split)
    try:
        return rows.with_text(datasets.load_split(rows.source.data, split).frame)
    except SentvizError:
        return rows


def _predicted(run: Run, data: str, split: str, text: str, label: str, reading: Reading) -> Rows:
    """Return a run's predictions for a table, or for a split of a data set."""
    from sentviz.cli.terminal import progress_bar
    from sentviz.data.rows_argument import is_file, rows_of
    from sentviz.models.loading import load

    rows, remarks = rows_of(data, split, run.labels, run.name, text=text, label=label, reading=reading)
    for remark in remarks:
        click.echo(f"! {remark}")
    over = "mine" if is_file(data) else split
    with progress_bar("Texts") as report_progress:
        return predicted(load(run), RowsSource.of(run), rows.frame, over, report_progress)


def print_suspects(rows: Rows, top: int, out: str = "") -> None:
    """Print what is suspicious about rows, the most suspicious ones in a list, and write all of them to a CSV file.

    Raises:
        SentvizError: neither labels nor texts can be judged.
    """
    click.echo(f"{rows.source.name}: {rows.about}")
    suspects, problems = {}, []
    for what, judge in (("label", _labels), ("repeat", _repeats), ("training", _leaks)):
        try:
            answer, part = judge(rows)
        except SentvizError as error:
            problems.append(error)
            click.echo(f"! {error}")
            continue
        click.echo(answer)
        suspects[what] = part
        for row in part.frame.head(top).to_dict("records"):
            text = visible(" ".join(str(row.get("text", "")).split()))
            click.echo(f"  {row['id']}  {row['reason']}  {text if len(text) <= CUT else text[: CUT - 1] + '…'}".rstrip())
    if len(problems) == 3:
        raise problems[0]
    if out:
        names = [*rows.classes, ""]
        tables = [part.frame.assign(suspected=what) for what, part in suspects.items()]
        table = pd.concat(tables, ignore_index=True)
        table = table.assign(
            **{name: [names[int(k)] if k == k else "" for k in table[name]] for name in ("label", "predicted", "likely") if name in table}
        )
        write_csv(Path(out), table.rename(columns={f"p{k}": name for k, name in enumerate(rows.classes)}))
        click.echo(f"Stored in {out}")


Judge = Callable[[Rows], tuple[str, Rows]]


def _labels(rows: Rows) -> tuple[str, Rows]:
    from dataclasses import replace

    from sentviz.analysis.testset.label_errors import describe, label_errors
    from sentviz.analysis.testset.planted import check
    from sentviz.analysis.testset.planted import describe as describe_check

    judged = label_errors(rows)
    return f"{describe(judged)}\n{describe_check(check(rows))}", replace(judged, frame=judged.frame[judged.frame["suspect"]])


def _repeats(rows: Rows) -> tuple[str, Rows]:
    from sentviz.analysis.testset.repeats import describe_repeats, repeated

    repeated_rows = repeated(rows)
    return describe_repeats(repeated_rows, len(rows)), repeated_rows


def _leaks(rows: Rows) -> tuple[str, Rows]:
    from sentviz.analysis.testset.repeats import describe_leaks, leaked
    from sentviz.data import datasets

    name = rows.source.require_run("training rows to compare with").config["data"]["name"]
    if not name:
        raise InputError(f"{rows.source.name} was adopted without data, so its training rows are not known.")
    train = datasets.load_split(name, "train").frame
    leaked_rows = leaked(rows, train)
    return describe_leaks(leaked_rows, rows, len(train)), leaked_rows
