"""Rows that a command is given: a split of a data set, or all rows of a file, with labels numbered as a model's classes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sentviz.data import datasets
from sentviz.data.columns import guess
from sentviz.data.dataset_info import MINE
from sentviz.data.datasets import Split
from sentviz.data.formats import KINDS
from sentviz.data.mine import add_data, from_file, place, read
from sentviz.data.upload import labelled
from sentviz.errors import InputError, RunError
from sentviz.io.spreadsheet import plain_csv

if TYPE_CHECKING:
    import pandas as pd


def is_file(source: str) -> bool:
    """Return whether rows are given as a file, and not as the name of a data set."""
    return Path(source).suffix.lower() in KINDS


def rows_of(
    source: str, split: str, classes: Sequence[str], name: str, *, text: str = "", label: str = ""
) -> tuple[Split, tuple[str, ...]]:
    """Return the rows of a data set's split, or all rows of a file, with labels numbered as a model's classes; and remarks.

    Args:
        source: data set, or CSV, TSV, JSON lines, JSON, Excel or parquet file.
        classes, name: of the model. The labels of a file are class names or numbers from 0; rows with others have the label -1.
        text, label: columns of a file; guessed by default.
    Raises:
        InputError: there is no such data set, split, file or column, or no row has a text. DataMissingError: it is not installed.
        RunError: the classes of a data set are not those of the model.
    """
    if not is_file(source):
        if text or label:
            raise InputError(f"{source} is a data set, whose columns are known. --text and --label are for files.")
        if not datasets.info(source).labels:
            raise InputError(f"{source} has no classes to predict.")
        return with_classes(datasets.load_split(source, split), classes, name), ()
    frame, file, remarks = read(source)
    label = label or guess(frame, labels=True) or of_classes(frame, classes)
    text = text or guess(frame)
    if text == label:
        raise InputError(f"{file} has no column of texts beside {label!r}; name it with --text.")
    rows, more = labelled(frame, text, label, tuple(classes))
    digest = hashlib.sha256(plain_csv(rows)).hexdigest()[:12]
    columns = f"{file}: texts are in the column “{text}”, " + (f"labels in “{label}”." if label else "and no column has labels.")
    return Split(file, "all rows", rows, tuple(classes), len(frame) - len(rows), digest), (columns, *remarks, *more)


def of_classes(frame: pd.DataFrame, classes: Sequence[str]) -> str:
    """Return the first column most of whose cells are names of classes; "" if there is none."""
    names = {name.casefold() for name in classes}
    return next((str(column) for column in frame if 2 * frame[column].astype(str).str.casefold().isin(names).sum() > len(frame)), "")


def labelled_rows(split: Split) -> Split:
    """Return the rows of a split that have a label.

    Raises:
        InputError: none has.
    """
    known = split.frame["label"].to_numpy() >= 0
    if not known.any():
        raise InputError(f"No row of {split.name} has one of the labels {', '.join(split.labels)}.")
    return split if known.all() else replace(split, frame=split.frame[known].reset_index(drop=True))


def in_library(source: str) -> tuple[str, str]:
    """Return the name of a data set, and how it was understood if it was given as a file: it is then in the user's library.

    A file that is in the library already, with the same rows, is not stored again.

    Raises:
        InputError: the file cannot become a data set, or other rows have its name.
    """
    import pandas as pd

    if not is_file(source):
        return source, ""
    name = f"{MINE}/{from_file(source)}"
    if not place(from_file(source)).exists():
        return name, str(add_data(source))
    from sentviz.data.understanding import understand

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
        RunError: the names do not tell.
    """
    order = np.array(order_of(classes, split.labels, name), dtype=np.int64)
    return replace(split, labels=tuple(classes), frame=split.frame.assign(label=order[split.frame["label"].to_numpy()]))


def order_of(own: Sequence[str], classes: Sequence[str], name: str) -> list[int]:
    """Return the model's class for each class of the data set, by name or by its beginning.

    Raises:
        RunError: the names do not tell.
    """
    if len(own) == len(classes):
        pairs = [(own[k].casefold(), k) for k in range(len(own)) if own[k]]
        matches = [[k for label, k in pairs if full.startswith(label) or label.startswith(full)] for full in map(str.casefold, classes)]
        if all(len(places) == 1 for places in matches) and len({places[0] for places in matches}) == len(own):
            return [places[0] for places in matches]
    what = "both need the same number of classes"
    if len(own) == len(classes):
        what = f"name the model's classes as the data set does, in the model's order: --classes {','.join(classes)}"
    raise RunError(f"{name} has the classes {', '.join(own)} and the data set {', '.join(classes)}; {what}.")
