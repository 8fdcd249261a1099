"""Rows whose predictions another program made: from the columns of a table, or from a file."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, cast

import numpy as np

from sentviz.analysis.testset.rows import Gives, Rows, RowsSource, aligned, predicted, predicted_rows
from sentviz.data import predictions as columns_of
from sentviz.data.columns import check_columns, guess
from sentviz.data.formats import KINDS
from sentviz.data.labels import AS_FOUND, Assigned, LabelsError, Reading, assigned, by_name, check_complete, in_order, order_of, same_scale
from sentviz.data.predictions import NO_MODEL, Predictions, recognise
from sentviz.data.upload import labelled
from sentviz.data.user_datasets import read
from sentviz.errors import InputError
from sentviz.io.files import sha256
from sentviz.io.lazy import pd
from sentviz.runs.store import find


def predictions(
    file: str | PathLike[str] | pd.DataFrame,
    *,
    text: str = "",
    label: str = "",
    classes: Sequence[str] = (),
    labels: Mapping[str, str] | str = "",
    scale: str = "",
    partial: bool = False,
    name: str = "",
) -> dict[str, Rows]:
    """Return the predictions that a file or a table holds, by model.

    Columns are recognised by their names: `predicted`, `prob`, `p_<class>`, `logit_<class>`, `score`, each also with the name of a model,
    as in `bert_predicted`. `sentviz.charts.gallery.draw("FILE", "confusion")` draws a figure of them.

    Args:
        file: CSV, TSV, Excel, JSON, JSON lines or parquet file, or a table.
        text, label: columns of the texts and labels; guessed by default.
        classes: names of the classes in order: of those that the file writes as numbers, or the file's own names.
        labels: class of each written label and prediction, as ``{"1": "negative", "2": "positive"}``; found by default.
        scale: of a column with one number per row: probability, percent, logit or confidence; found from its name and range by default.
        partial: whether more than 2 % of the labels or predictions may be no classes; these rows are left out.
        name: of the source, on figures; by default that of the file.
    Raises:
        LabelsError, ScaleError: labels or numbers can be read in more than one way; `classes`, `labels` or `scale` decides.
        LeftOutError: more than 2 % of the labels or predictions belong to no class.
    """
    return in_columns(file, Reading.of(classes, labels, scale, partial), text=text, label=label, name=name)


def in_columns(
    file: str | PathLike[str] | pd.DataFrame, reading: Reading, *, text: str = "", label: str = "", name: str = ""
) -> dict[str, Rows]:
    """Return the predictions that a file or a table holds, by model; for the arguments and errors, see `predictions`."""
    if isinstance(file, (str, PathLike)):
        frame, file_name, remarks = read(Path(file))
        name, digest = name or file_name, sha256(Path(file).expanduser())
    else:
        remarks = []
        frame, name = file.reset_index(drop=True), name or "your table"
        digest = hashlib.sha256(pd.util.hash_pandas_object(frame.astype(str), index=False).to_numpy().tobytes()).hexdigest()
    check_columns((text, label), list(map(str, frame.columns)), name)
    label = label or guess(frame, labels=True)
    text = text or text_column(frame, label)
    proposals = recognise(frame, label, text, reading)
    if not proposals:
        empty = [f"“{column}”" for column in frame if (frame[column].isna() | (frame[column] == "")).all()]
        nothing = f", and no value in {', '.join(empty[:20])}" if empty else ""
        raise InputError(f"{name} has no column of predictions, such as predicted, prob or p_positive; it has {_names(frame)}{nothing}.")
    by_model = {
        of.model: brought(
            frame, named(of, reading.classes), text, label, name if len(proposals) == 1 else f"{of.model} ({name})", digest[:12]
        )
        for of in proposals
    }
    remarks = remarks if label else [*remarks, f"{name}: no column is known to hold labels; --label names it."]
    return {model: replace(rows, remarks=(*remarks, *rows.remarks)) for model, rows in by_model.items()}


def is_table(name: str) -> bool:
    """Return whether a name is that of a file with a table, or of a model in such a file (FILE:MODEL), and not of a run."""
    return _file_of(name) is not None


def _file_of(name: str) -> tuple[Path, str] | None:
    file, _, model = name.rpartition(":")
    for path, of in ((Path(name), ""), (Path(file), model)):
        if path.suffix.lower() in KINDS and path.is_file():
            return path, of
    return None


def sources(name: str, versus: Sequence[str] = (), *, reading: Reading | None = None, text: str = "", label: str = "") -> list[Rows]:
    """Return the predictions of a file's model, and those of others for the same rows.

    Args:
        name: a file, whose first model is read, or FILE:MODEL.
        versus: other models of the file, or runs, which predict the file's texts.
        reading: the user's choices. text, label: columns; guessed by default.
    """
    file = _file_of(name)
    if file is None:
        raise InputError(f"{name} is not a file of predictions.")
    path, model = file
    by_model = in_columns(path, reading or AS_FOUND, text=text, label=label)
    if model and model not in by_model:
        raise InputError(f"{path.name} has no predictions of {model!r}; it has those of {', '.join(by_model)}.")
    first = by_model[model or next(iter(by_model))]
    return [first, *(aligned(first, by_model[each] if each in by_model else answered_by(each, first)) for each in versus)]


def answered_by(run: str, rows: Rows) -> Rows:
    """Return a run's predictions for the texts of rows."""
    from sentviz.models.loading import load

    stored = find(run)
    if not rows.has_text:
        raise InputError(f"{rows.source.name} has no texts that {run} could read.")
    order = np.array([*order_of(stored.labels, rows.classes, run), -1])
    frame = rows.frame[["id", "text"]].assign(label=order[rows.labels])
    return predicted(load(stored), RowsSource.of(stored), frame, "mine").with_classes(rows.classes)


def text_column(frame: pd.DataFrame, label: str) -> str:
    """Return the column of the texts; "" if each column is one of ids, labels or predictions."""
    text = guess(frame)
    used = {label, *(column for of in recognise(frame, label) for column in of.columns)}
    return "" if text in used or text.casefold() == "id" else text


def named(of: Predictions, classes: Sequence[str]) -> Predictions:
    """Return the predictions with other names for their classes, in the same order; unchanged without names."""
    names = tuple(name.strip() for name in classes if name.strip())
    if not names or -1 not in by_name(names, of.classes).values():
        return of
    if len(names) != len(of.classes) or len({name.casefold() for name in names}) != len(names):
        raise InputError(f"The file has {len(of.classes)} classes ({', '.join(of.classes)}): give one name for each.")
    return replace(of, names=names)


def brought(frame: pd.DataFrame, of: Predictions, text: str, label: str, name: str, digest: str) -> Rows:
    """Return the rows of a table with one model's predictions from its columns; rows without a prediction are in `Rows.unread`.

    Args:
        text, label: columns; "" = none.
        name, digest: of the source.
    """
    answers = columns_of.read(frame, of)
    rows, notes = labelled(frame, text, label, of.classes, of.reading, ordered=of.ordered)
    if label:
        _check_labels(frame, of, label, answers.written)
    place = rows["id"].astype(int).to_numpy() - 1
    answered = answers.answered[place]
    if not answered.any():
        raise InputError("No row has both a text and a prediction.")
    rows, place = rows[answered].reset_index(drop=True), place[answered]
    source = RowsSource(name, digest, gives=cast(Gives, answers.gives))
    likeliest = predicted_rows(source, "mine", of.display, {str(column): rows[column].array for column in rows}, answers.shares[place])
    classes = answers.predicted[place]
    columns: dict[str, Any] = {"predicted": classes, "right": classes == likeliest.labels}
    shares = answers.shares[place, classes]
    columns["confidence"] = shares if source.gives == "probabilities" else np.full(len(place), np.nan)
    if source.gives != "probabilities":
        columns["loss"] = np.full(len(place), np.nan)
    return replace(likeliest, frame=likeliest.frame.assign(**columns), remarks=(*notes, *answers.remarks), total=len(frame))


def _check_labels(frame: pd.DataFrame, of: Predictions, label: str, written: Assigned | None) -> None:
    """Check that labels and predictions share classes and a scale, and that at most 2 % of them belong to no class."""
    labels = assigned(frame[label], of.classes, of.reading, name=label, ordered=of.ordered)
    both = [labels, *([written] if written else [])]
    if written and labels.rows and not of.reading.labels and not of.reading.classes:
        classes = [{each.class_of[value] for value in each.rows if each.class_of[value] >= 0} for each in both]
        if not same_scale(labels.rows, written.rows) or not classes[0] & classes[1]:
            raise LabelsError(
                f"Labels in “{label}” are {_few(labels)} and predictions in “{of.predicted}” are {_few(written)}: whether these are the"
                " same classes is not known.",
                "Say it with --labels, for example --labels 0=negative,1=positive (labels={...} in Python).",
            )
    for each in both:
        known = len(frame) - each.unknown
        check_complete(known, len(frame), of.reading, "the file", each.sentences[1:])


def _few(of: Assigned) -> str:
    return ", ".join([*in_order(of.rows)][:5]) + ", ..." * (len(of.rows) > 5)


def described(of: Predictions) -> str:
    """Return the model and its columns in words."""
    model = "predictions" if of.model == NO_MODEL else of.model
    return f"{model}: {', '.join(of.columns)}"


def _names(frame: pd.DataFrame) -> str:
    names = [str(column) for column in frame.columns]
    return ", ".join(names[:20]) + (f" and {len(names) - 20:,} more" if len(names) > 20 else "")
