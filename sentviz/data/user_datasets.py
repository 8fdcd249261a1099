"""The user's own data sets: `add_data` understands a file of labelled texts and stores it as mine/NAME, `remove_data` deletes it.

<user's folder>/data/mine/<name>/dataset.toml      description, with the fields of datasets.toml
                                /<split>.parquet   id, text, label; ids are the row in the file and four digits of its text
"""

from __future__ import annotations

import json
import re
import shutil
import time
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sentviz.data.dataset_info import CARD, MINE
from sentviz.data.datasets import datasets, folders, info
from sentviz.data.table import Limits
from sentviz.data.understanding import SPLITS, Choices, Understood, understand
from sentviz.data.upload import read_table
from sentviz.errors import InputError
from sentviz.io.files import disk_errors, hold, read_regular, sha256, writing
from sentviz.io.lazy import pd

NAME = re.compile(r"[a-z0-9]+([-_][a-z0-9]+)*")
LONGEST_NAME = 40
LIMITS = Limits(size=1 << 30, rows=1_000_000, columns=1_000, cell=100_000, content=1 << 30, seconds=600.0, memory=1 << 33)


@dataclass(frozen=True, eq=False)
class Added:
    """A data set of the user, and how its file was understood."""

    name: str  # "mine/<name>"
    folder: Path
    understood: Understood
    remarks: tuple[str, ...]  # on how the file was read

    def __str__(self) -> str:
        """Return what was understood, a sentence per line."""
        return "\n".join((*self.understood.sentences, *self.remarks, f"The data set is called {self.name}."))


def read(source: str | Path | pd.DataFrame, sheet: str = "") -> tuple[pd.DataFrame, str, list[str]]:
    """Return the rows of a file of any supported format, the file's name, and remarks on how it was read. A table is returned as it is.

    Args:
        sheet: sheet of a workbook; by default the one that looks most like a table of texts.
    """
    if not isinstance(source, str | Path):
        return source, "The table", []
    path = Path(source).expanduser()
    frame, remarks = read_table(read_regular(path, LIMITS.size, path.name), path.name, LIMITS, sheet)
    return frame, path.name, remarks


def add_data(
    source: str | Path | pd.DataFrame,
    name: str = "",
    *,
    text: str = "",
    label: str = "",
    split: str = "",
    classes: Sequence[str] | Mapping[str, str] = (),
    shares: Sequence[int] = (),
    seed: int = 0,
    language: str = "",
    sheet: str = "",
    replace: bool = False,
) -> Added:
    """Store a file of labelled texts in the user's library as the data set mine/NAME, which every command and function takes.

    The result says how the file was understood; each argument changes that.

    Args:
        source: CSV, TSV, JSON lines, JSON, Excel or parquet file, or a pandas table.
        name: small letters, digits, hyphens and underscores; by default the file's name.
        text, label, split: columns of the texts, the labels and the splits; by default proposed by name and content.
        classes: names in the order of the labels, or the name of each label that is kept: ``{"1": "negative", "5": "positive"}``.
        shares: percent of train, validation and test if no column names the splits; by default 70, 15 and 15. Equal texts stay together.
        seed: of the division. language: "en" or "ko"; by default found from the letters.
        sheet: sheet of a workbook; by default the one that looks most like a table of texts.
        replace: replace the data set of this name.
    Raises:
        SentvizError: the disk is full or cannot be written.
    """
    short = checked_name(name or from_file(source))
    if not replace:
        _absent(short)
    frame, file, remarks = read(source, sheet)
    try:
        understood = understand(frame, file, Choices(text, label, split, classes, tuple(shares), seed, language))
    except InputError as error:
        raise InputError(" ".join([str(error), *remarks])) from error
    return store(short, file, understood, remarks, replace=replace)


def store(name: str, file: str, understood: Understood, remarks: Sequence[str] = (), *, replace: bool = False) -> Added:
    """Store an understood table as the data set mine/NAME, completely or not at all.

    Args:
        file: name of the file that the table comes from. remarks: on how the file was read.
    Raises:
        InputError: the name cannot be used or exists already. SentvizError: the disk is full or cannot be written.
    """
    short = checked_name(name)
    folder = place(short)
    with disk_errors(folder.parent), ExitStack() as stack:
        if not stack.enter_context(hold(folder)):
            raise InputError(f"{MINE}/{short} is being written by another process.")
        if not replace:
            _absent(short)
        with writing(folder) as fresh:
            for part, rows in understood.parts.items():
                rows.to_parquet(fresh / f"{part}.parquet", index=False, compression="zstd")
            card = _card(short, file, understood, remarks, fresh)
            (fresh / CARD).write_text(_toml(card), encoding="utf-8")
    return Added(f"{MINE}/{short}", folder, understood, tuple(remarks))


def remove_data(name: str) -> Path:
    """Delete a data set of the user, and return the folder that it had. Runs that were trained on it stay.

    Raises:
        SentvizError: its files cannot be deleted.
    """
    short = name.removeprefix(f"{MINE}/")
    folder = place(short) if NAME.fullmatch(short) else None
    if folder is None or not folder.is_dir():
        info(name if name.startswith(f"{MINE}/") or not _known(name) else f"{MINE}/{short}")
        raise InputError(f"{name} is not in {folders()[-1]}, so it cannot be removed here.")
    with disk_errors(folder.parent), hold(folder):
        doomed = folder.with_name(f".{short}.tmp-removed")
        shutil.rmtree(doomed, ignore_errors=True)
        folder.rename(doomed)
        shutil.rmtree(doomed)
    return folder


def place(short: str) -> Path:
    """Return the folder of a data set of the user."""
    return folders()[-1] / MINE / short


def _known(name: str) -> bool:
    return name in set(datasets()["name"])


def _absent(short: str) -> None:
    if place(short).exists():
        raise InputError(
            f"{MINE}/{short} exists already. Choose another name, or replace it with --replace; `sentviz data remove {short}` deletes it."
        )


def from_file(source: str | Path | pd.DataFrame) -> str:
    """Return the name that a file's data set gets by default."""
    if not isinstance(source, str | Path):
        raise InputError("A table needs a name.")
    plain = unicodedata.normalize("NFKD", Path(source).stem).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain)[:LONGEST_NAME].strip("-") or "data"


def checked_name(name: str) -> str:
    """Return the name without "mine/"."""
    short = name.removeprefix(f"{MINE}/")
    if not NAME.fullmatch(short) or len(short) > LONGEST_NAME:
        raise InputError(
            f"{name!r} cannot be the name of a data set: use small letters, digits and single hyphens or underscores, at most"
            f" {LONGEST_NAME} characters."
        )
    if _known(short):
        raise InputError(f"{short} is the name of a data set that sentviz knows. Choose another name.")
    return short


def _card(short: str, file: str, understood: Understood, remarks: Sequence[str], folder: Path) -> dict[str, Any]:
    """Return the description of a data set whose parts are in a folder."""
    rows = {split: len(understood.parts[split]) for split in SPLITS}
    return {
        "title": f"{short} (yours)",
        "short": short,
        "language": understood.language,
        "kind": "classification",
        "labels": list(understood.labels),
        "pair": False,
        "licence": "private",
        "citation": f"Added from {file} on {time.strftime('%Y-%m-%d')}",
        "source": file,
        "remark": " ".join((*understood.sentences, *remarks)),
        "cuts": [{"parts": [split], "into": {split: n}} for split, n in rows.items()],
        "hub": {"why": "it is the user's own file"},
        "parts": {split: {"rows": n, "sha256": sha256(folder / f"{split}.parquet")} for split, n in rows.items()},
    }


def _toml(table: Mapping[str, Any]) -> str:
    """Return a table as TOML; tables inside it are written inline."""
    return "".join(f"{key} = {_value(value)}\n" for key, value in table.items())


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_value(entry)}" for key, entry in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
