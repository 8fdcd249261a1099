"""A visitor's own table of texts: a CSV or parquet file, from its bytes."""

from __future__ import annotations

import json
import logging
import signal
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sentviz.data.table import CUT, REFUSED, Limits, arguments, cut, too_large, too_slow
from sentviz.data.tokenizers import is_blank
from sentviz.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

LIMITS = Limits()
SHORT = ("MemoryError", "bad_alloc", "out of memory", "Cannot allocate")  # what programs say that get no more memory
WAIT = 4  # times `Limits.seconds` that a reader has by the clock, since answers go before its work
TEXT_NAMES = ("text", "sentence", "review", "document", "comment", "content", "tweet", "body", "message")
LABEL_NAMES = ("label", "sentiment", "polarity", "class", "target", "rating", "stars", "y")


def read_table(data: bytes, name: str, limits: Limits = LIMITS) -> tuple[pd.DataFrame, list[str]]:
    """The rows of a file, at most `limits.rows`, and remarks on how it was read.

    It is read in a process of its own, so that no file, however made, holds up or takes the memory of whoever else is served.

    Raises:
        InputError: too large, too slow to read, empty, or neither a CSV nor a parquet file.
    """
    import pyarrow as pa

    if len(data) > limits.size:
        raise InputError(f"{name} has {len(data) / 2**20:,.0f} MB; files of at most {limits.size // 2**20} MB are read.")
    try:
        done = subprocess.run(arguments(name, limits), input=data, capture_output=True, timeout=WAIT * limits.seconds, check=False)
    except subprocess.TimeoutExpired:
        raise InputError(too_slow(name, limits)) from None
    if done.returncode == REFUSED:
        raise InputError(done.stdout.decode())
    if done.returncode:
        raise InputError(_ended(name, limits, done.returncode, done.stderr.decode(errors="replace")))
    with pa.ipc.open_stream(done.stdout) as stream:
        table = stream.read_all()
    return table.to_pandas(), json.loads(table.schema.metadata[b"remarks"])


def _ended(name: str, limits: Limits, status: int, said: str) -> str:
    """Why a reader gave no answer, from its exit status (below 0: the signal that ended it) and what it wrote before."""
    if status == -getattr(signal, "SIGKILL", 0) or any(
        sign in said for sign in ("MemoryError", "bad_alloc", "out of memory", "Cannot allocate")
    ):
        return too_large(name, limits)
    if status == -getattr(signal, "SIGXCPU", 0):
        return too_slow(name, limits)
    logging.getLogger(__name__).warning("The reader of a file ended with status %d: %s", status, said)
    how = signal.strsignal(-status) if status < 0 else (said.splitlines() or [f"exit status {status}"])[-1]
    most = f"{limits.memory // 2**20:,} MB"
    return f"{name} cannot be read: its reader broke off ({how}). The file is damaged, or takes more than {most} of memory. {CUT}"


def guess(frame: pd.DataFrame, labels: bool = False) -> str:
    """The column that holds the texts, or the labels: by its usual names, else the one with the longest entries; "" for no labels."""
    columns = [str(column) for column in frame.columns]
    names = {column.casefold().strip(): column for column in columns}
    found = next((names[name] for name in (LABEL_NAMES if labels else TEXT_NAMES) if name in names), "")
    if found or labels:
        return found
    return max(columns, key=lambda column: frame[column].astype(str).str.len().mean())


def codes(labels: Iterable[Any], classes: Sequence[str]) -> npt.NDArray[np.int64]:
    """Labels as classes: a class's name in upper or lower case, or its number from 0; -1 for anything else."""
    known = {name.casefold(): k for k, name in enumerate(classes)} | {
        form.format(k): k for k in range(len(classes)) for form in ("{}", "{}.0")
    }
    return np.array([known.get(str(label).casefold().strip(), -1) for label in labels], dtype=np.int64)


def labelled(frame: pd.DataFrame, text: str, label: str, classes: tuple[str, ...]) -> tuple[pd.DataFrame, list[str]]:
    """Rows to ask about: id (the place in the file, from 1), text, label (class, -1 = none), and remarks on what was left out.

    Texts are cut at `LIMITS.cell` characters.

    Raises:
        InputError: a column that is not there, or no readable text.
    """
    import pandas as pd

    for column in filter(None, (text, label)):
        if column not in frame:
            raise InputError(f"The file has no column {column!r}; it has {', '.join(map(str, frame.columns))}.")
    texts = frame[text].astype("string").fillna("").astype(str)
    longer = int((texts.str.len() > LIMITS.cell).sum())
    texts = texts.str.slice(0, LIMITS.cell) if longer else texts
    kept = np.array([not is_blank(entry) for entry in texts], dtype=bool)
    if not kept.any():
        raise InputError(f"No row has a text in the column {text!r}.")
    labels = codes(frame[label], classes) if label else np.full(len(frame), -1)
    made = pd.DataFrame({"id": [str(i + 1) for i in range(len(frame))], "text": texts.array, "label": labels})[kept]
    remarks = [f"{int((~kept).sum()):,} rows without a text are left out."] if not kept.all() else []
    if longer:
        remarks.append(cut(longer, LIMITS.cell))
    if label and (unknown := int((made["label"] < 0).sum())):
        remarks.append(
            f"{unknown:,} labels are none of {', '.join(classes)} (nor 0 to {len(classes) - 1}); those rows count as unlabelled."
        )
    return made.reset_index(drop=True), remarks


@dataclass(frozen=True, eq=False)
class TextTable:
    """A table that somebody uploaded, and which of its columns hold the texts and the labels."""

    name: str
    frame: pd.DataFrame
    text: str
    label: str  # "" = none
    digest: str

    @property
    def key(self) -> tuple[str, str, str]:
        """Equal for two tables with the same content and the same columns chosen."""
        return self.digest, self.text, self.label

    def rows(self, classes: tuple[str, ...]) -> pd.DataFrame:
        """The rows to ask a model about, as `labelled` gives them."""
        return labelled(self.frame, self.text, self.label, classes)[0]
