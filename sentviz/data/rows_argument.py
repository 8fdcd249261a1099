"""Rows that a command is given: a split of a data set, or all rows of a file, with labels numbered as a model's classes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from sentviz.data import datasets
from sentviz.data.columns import guess
from sentviz.data.dataset_info import MINE
from sentviz.data.datasets import Split
from sentviz.data.formats import KINDS
from sentviz.data.labels import AS_FOUND, LabelsError, Reading, by_name, canonical, check_complete, order_of
from sentviz.data.understanding import understand
from sentviz.data.upload import labelled
from sentviz.data.user_datasets import add_data, from_file, place, read
from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.io.spreadsheet import plain_csv

EVERY = "all rows"  # split of a file's rows
UNLABELLED = "and no column is known to hold labels; --label names it."


def is_file(source: str) -> bool:
    """Return whether rows are given as a file, and not as the name of a data set."""
    return Path(source).suffix.lower() in KINDS


def rows_of(
    source: str,
    split: str,
    classes: Sequence[str],
    name: str,
    *,
    text: str = "",
    label: str = "",
    reading: Reading | None = None,
    needed: bool = True,
) -> tuple[Split, tuple[str, ...]]:
    """Return the rows of a data set's split, or all rows of a file, with labels numbered as a model's classes; and remarks.

    Args:
        source: data set, or CSV, TSV, JSON lines, JSON, Excel or parquet file.
        classes, name: of the model. Rows whose label belongs to no class have the label -1.
        text, label: columns of a file; guessed by default. reading: the user's choices for the labels of a file.
        needed: whether labels are needed; if not, rows whose labels are not known to be classes are taken without them.
    Raises:
        InputError: there is no such data set, split, file or column, or no row has a text. DataMissingError: it is not installed.
        LabelsError: the labels are not known to be the model's classes.
    """
    if not is_file(source):
        if text or label:
            raise InputError(f"{source} is a data set, whose columns are known. --text and --label are for files.")
        if not datasets.info(source).labels:
            raise InputError(f"{source} has no classes to predict.")
        rows_of_split = datasets.load_split(source, split)
        own = rows_of_split.labels
        renamed = ", ".join(
            f"{each} = {classes[k]}" for each, k in zip(own, order_of(classes, own, name), strict=True) if each != classes[k]
        )
        return with_classes(rows_of_split, classes, name), (f"Classes of {source}: {renamed}.",) if renamed else ()
    frame, file, remarks = read(source)
    label = label or guess(frame, labels=True) or of_classes(frame, classes)
    text = text or guess(frame)
    if text == label:
        raise InputError(f"{file} has no column of texts beside {label!r}; name it with --text.")
    try:
        rows, more = labelled(frame, text, label, classes, reading)
    except LabelsError as error:
        if needed:
            raise
        rows, more = labelled(frame, text, "", classes)
        more = [f"The rows have no labels. {error}", *more]
    digest = hashlib.sha256(plain_csv(rows)).hexdigest()[:12]
    columns = f"{file}: texts are in the column “{text}”, " + (f"labels in “{label}”." if label else UNLABELLED)
    return Split(file, EVERY, rows, tuple(classes), len(frame) - len(rows), digest), (columns, *remarks, *more)


def of_classes(frame: pd.DataFrame, classes: Sequence[str]) -> str:
    """Return the first column most of whose cells are names of classes; "" if there is none."""

    def named(column: pd.Series) -> int:
        counts = column.map(canonical).value_counts()
        class_of = by_name(counts.index, classes)
        return sum(int(n) for label, n in counts.items() if class_of[str(label)] >= 0)

    return next((str(column) for column in frame if 2 * named(frame[column]) > len(frame)), "")


def labelled_rows(split: Split, reading: Reading | None = None) -> Split:
    """Return the rows of a split that have a label.

    Raises:
        InputError: none has. LeftOutError: more than 2 % of the rows have no text or no label, and the user did not allow it.
    """
    known = split.frame["label"].to_numpy() >= 0
    if not known.any():
        raise InputError(f"No row of {split.name} has one of the labels {', '.join(split.labels)}.")
    if split.split == EVERY:
        check_complete(int(known.sum()), len(split) + split.dropped, reading or AS_FOUND, split.name)
    dropped = split.dropped + int((~known).sum())
    return split if known.all() else replace(split, frame=split.frame[known].reset_index(drop=True), dropped=dropped)


def in_library(source: str) -> tuple[str, str]:
    """Return the name of a data set, and how it was understood if it was given as a file: it is then in the user's library.

    A file that is in the library already, with the same rows, is not stored again.
    """

    if not is_file(source):
        return source, ""
    name = f"{MINE}/{from_file(source)}"
    if not place(from_file(source)).exists():
        return name, str(add_data(source))
    frame, file, _ = read(source)
    for split, rows in understand(frame, file).parts.items():
        stored = pd.read_parquet(place(from_file(source)) / f"{split}.parquet")
        if not stored.astype(str).equals(rows.reset_index(drop=True).astype(str)):
            raise InputError(
                f"{name} holds other rows than {file}. Add the file under another name: `sentviz data add {source} --name NAME`."
            )
    return name, f"{file} is the data set {name}."


def with_classes(split: Split, classes: Sequence[str], name: str) -> Split:
    """Return a split with its labels numbered as a model's classes; they are matched by their names.

    Raises:
        LabelsError: the names do not tell.
    """
    order = np.array(order_of(classes, split.labels, name), dtype=np.int64)
    return replace(split, labels=tuple(classes), frame=split.frame.assign(label=order[split.frame["label"].to_numpy()]))
