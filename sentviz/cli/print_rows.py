"""Print predictions of other programs, judged by the labels beside them; `sentviz evaluate FILE` uses it.

`sentviz labels` uses `print_suspects`: labels that look wrong, repeats and leaks.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

import click
import numpy as np

from sentviz.analysis.evaluation import confusion
from sentviz.analysis.testset import operating
from sentviz.analysis.testset.rows import Rows, RowsSource, predicted, stored
from sentviz.charts.text import visible
from sentviz.data.labels import AS_FOUND, Reading
from sentviz.errors import InputError, SentvizError
from sentviz.io.lazy import pd
from sentviz.io.numbers import number, p_value, percent
from sentviz.io.spreadsheet import write_csv
from sentviz.runs.store import Run

LISTED = 10  # mistakes that are listed
CUT = 90  # characters of a text


def print_judged(sources: Sequence[Rows], reading: Reading | None = None) -> None:
    """Print accuracy, confusion and areas of each source, its comparison with the first one, and the mistakes of the first.

    Raises:
        LeftOutError: more than 2 % of a file's rows are left out, and the user did not allow it.
    """
    for place, rows in enumerate(sources):
        known = rows.labels >= 0
        of = f" of {rows.total:,}" if rows.total > len(rows) else ""
        click.echo(f"{rows.source.name}: {len(rows):,}{of} rows, {int(known.sum()):,} with a label; classes {', '.join(rows.classes)}")
        for remark in rows.remarks:
            click.echo(f"! {remark}")
        rows.check_complete(reading or AS_FOUND)
        if not known.any():
            counts = np.bincount(rows.predicted, minlength=len(rows.classes))
            click.echo("  " + ", ".join(f"{name} {n:,}" for name, n in zip(rows.classes, counts.tolist(), strict=True)))
            continue
        _print_scores(rows, known)
        if place:
            _print_comparison(sources[0], rows, known)
    _print_mistakes(sources[0])


def _print_scores(rows: Rows, known: np.typing.NDArray[np.bool_]) -> None:
    labels, predicted = rows.labels[known], rows.predicted[known]
    value = operating.accuracy(labels, predicted)
    of = f" of {rows.total:,}" if rows.total > len(labels) and not rows.among else ""
    click.echo(f"  accuracy {percent(value['value'], ends=(value['low'], value['high']))}  n = {len(labels):,}{of}")
    if rows.source.gives != "classes":
        areas = operating.areas(labels, rows.probabilities[known], rows.classes)
        areas_shown = areas[areas["class"] == rows.classes[1]] if len(rows.classes) == 2 else areas
        for area in areas_shown[areas_shown["metric"] == "AUC"].to_dict("records"):
            click.echo(f"  area under the ROC curve of {area['class']} {number(area['value'], 3, ends=(area['low'], area['high']))}")
    counts = confusion(labels, predicted, len(rows.classes))
    width = max(12, *(len(name) + 2 for name in rows.classes))
    click.echo("  " + "label".ljust(width) + "".join(f"{'→ ' + name:>{width + 2}}" for name in rows.classes))
    for name, row in zip(rows.classes, counts.tolist(), strict=True):
        click.echo("  " + name.ljust(width) + "".join(f"{n:>{width + 2},}" for n in row))


def _print_comparison(first: Rows, second: Rows, known: np.typing.NDArray[np.bool_]) -> None:
    pair = operating.agreement(*(rows.frame["right"].to_numpy(bool)[known] for rows in (first, second)))
    click.echo(
        f"  answered otherwise than by {first.source.name}: {int((first.predicted != second.predicted).sum()):,} rows; only"
        f" {first.source.name} is right on {pair.only_a:,}, only {second.source.name} on {pair.only_b:,} (McNemar's exact test: p ="
        f" {pair.p:.3f})"
    )


def mistakes(rows: Rows) -> pd.DataFrame:
    """Return the rows with a label that are predicted wrongly, with the columns of `Rows.frame`, the most confident ones first."""
    wrong: pd.DataFrame = rows.frame[(rows.labels >= 0) & ~rows.frame["right"].to_numpy(bool)]
    return wrong.sort_values("confidence", ascending=False, kind="stable")


def write_mistakes(rows: Rows, out: Path) -> None:
    """Write the mistakes as CSV: id, text and text_pair if they are known, label, predicted, and the probability of the predicted class."""
    wrong = mistakes(rows)
    named = wrong.assign(**{name: [rows.classes[k] for k in wrong[name]] for name in ("label", "predicted")})
    texts = [name for name in ("text", "text_pair") if name in wrong]
    frame = named.rename(columns={"confidence": "probability"})[["id", *texts, "label", "predicted", "probability"]]
    write_csv(out, frame.round(6))
    click.echo(f"{len(frame):,} mistakes written to {out}")


def _print_mistakes(rows: Rows) -> None:
    wrong = mistakes(rows)
    if wrong.empty:
        return
    click.echo(f"Mistakes of {rows.source.name}: {len(wrong):,}" + (f", the first {LISTED}" if len(wrong) > LISTED else ""))
    for row in wrong.head(LISTED).to_dict("records"):
        sure = "" if np.isnan(row["confidence"]) else f" {percent(row['confidence'], 0)}"
        text = visible(" ".join(str(row.get("text", "")).split()))
        text = text if len(text) <= CUT else text[: CUT - 1] + "…"
        click.echo(f"  row {row['id']}: {rows.classes[row['label']]}, predicted {rows.classes[row['predicted']]}{sure}  {text}".rstrip())


def print_weak(rows: Rows, seed: int) -> None:
    """Print the slices on which predictions are weakest, each with the text that --among takes."""
    from sentviz.analysis.testset.weak import line, weak_slices

    weak = weak_slices(rows, seed=seed)
    click.echo(
        f"Where {rows.source.name} is weakest: {weak.candidates:,} slices searched on {weak.halves[0]:,} rows, {len(weak.frame)} tested on"
        f" {weak.halves[1]:,} held-out rows, seed {seed}"
    )
    for row in weak.weaker.to_dict("records"):
        click.echo(f"  {visible(line(row))}; {p_value(row['adjusted'])}\n    --among {shlex.quote(row['slice'])}")
    if weak.weaker.empty:
        click.echo("  No slice is significantly weaker than the other rows.")


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

    from sentviz.analysis.testset.label_errors import check, describe, describe_check, label_errors

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
