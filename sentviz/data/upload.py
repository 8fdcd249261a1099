"""Read a visitor's own table of texts from a file's bytes, and its labels."""

from __future__ import annotations

import json
import logging
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sentviz.data.columns import check_columns, own_columns
from sentviz.data.labels import AS_FOUND, Reading, assigned
from sentviz.data.predictions import Predictions, recognise
from sentviz.data.table import CUT, REFUSED, Limits, arguments, cut, too_large, too_slow
from sentviz.data.texts import is_blank
from sentviz.errors import InputError
from sentviz.io.lazy import pa, pd

LIMITS = Limits()
NO_MEMORY = ("MemoryError", "bad_alloc", "out of memory", "Cannot allocate")  # error texts of a process that gets no more memory
WAIT = 4  # wall-clock limit of a reader, as a multiple of `Limits.seconds`: the reader has a low priority


def read_table(data: bytes, name: str, limits: Limits = LIMITS, sheet: str = "") -> tuple[pd.DataFrame, list[str]]:
    """Return the rows of a file, at most `limits.rows`, and remarks on how it was read.

    A separate process reads the file, so that no file can block this process or take its memory. The frame's `attrs` have the "sheets" of
    a workbook and the "sheet" that was read; of other files, [] and "".

    Args:
        sheet: sheet of a workbook; by default the one that looks most like a table of texts.
    """
    if len(data) > limits.size:
        raise InputError(f"{name} has {len(data) / 2**20:,.0f} MB; files of at most {limits.size // 2**20} MB are read.")
    try:
        done = subprocess.run(arguments(name, limits, sheet), input=data, capture_output=True, timeout=WAIT * limits.seconds, check=False)
    except subprocess.TimeoutExpired:
        raise InputError(too_slow(name, limits)) from None
    if done.returncode == REFUSED:
        raise InputError(done.stdout.decode())
    if done.returncode:
        raise InputError(_ended(name, limits, done.returncode, done.stderr.decode(errors="replace")))
    with pa.ipc.open_stream(done.stdout) as stream:
        table = stream.read_all()
    about = {key.decode(): json.loads(value) for key, value in table.schema.metadata.items()}
    frame = table.replace_schema_metadata(None).to_pandas()
    frame.attrs = {"sheets": about["sheets"], "sheet": about["sheet"]}
    return frame, about["remarks"]


def _ended(name: str, limits: Limits, status: int, output: str) -> str:
    """Return why a reader failed, from its exit status (below 0: the signal that ended it) and its error output."""
    if status == -getattr(signal, "SIGKILL", 0) or any(sign in output for sign in NO_MEMORY):
        return too_large(name, limits)
    if status == -getattr(signal, "SIGXCPU", 0):
        return too_slow(name, limits)
    logging.getLogger(__name__).warning("The reader of a file ended with status %d: %s", status, output)
    how = signal.strsignal(-status) if status < 0 else (output.splitlines() or [f"exit status {status}"])[-1]
    most = f"{limits.memory // 2**20:,} MB"
    return f"{name} cannot be read: its reader stopped early ({how}). The file is damaged, or takes more than {most} of memory. {CUT}"


def labelled(
    frame: pd.DataFrame, text: str, label: str, classes: Sequence[str], reading: Reading | None = None, *, ordered: bool = True
) -> tuple[pd.DataFrame, list[str]]:
    """Return rows to predict and remarks on the labels' classes, on dropped rows and on further columns.

    Columns: id (row number in the file, from 1), text, label (class index, -1 = none), own:NAME for columns that form groups.

    Texts are cut at `LIMITS.cell` characters. Without a column of texts ("") all rows are returned, without texts.

    Args:
        classes, reading, ordered: as for `sentviz.data.labels.assigned`.
    Raises:
        InputError: a column does not exist, or no row has a visible text. LabelsError: the labels are not known to be the classes.
    """
    check_columns((text, label), list(map(str, frame.columns)), "The file")
    labels = assigned(frame[label], classes, reading, name=label, ordered=ordered) if label else None
    rows = pd.DataFrame({"id": [str(i + 1) for i in range(len(frame))], "label": -1 if labels is None else labels.codes})
    visible, longer = np.ones(len(frame), dtype=bool), 0
    if text:
        texts = frame[text].astype("string").fillna("").astype(str)
        longer = int((texts.str.len() > LIMITS.cell).sum())
        texts = texts.str.slice(0, LIMITS.cell) if longer else texts
        visible = np.array([not is_blank(entry) for entry in texts], dtype=bool)
        rows.insert(1, "text", texts)
    if not visible.any():
        raise InputError(f"No row has a text in the column {text!r}.")
    answers = {column for of in recognise(frame, label, text) for column in of.columns}
    further, notes = own_columns(frame.reset_index(drop=True), {text, label, *answers})
    rows = pd.concat([rows, further], axis=1)[visible]
    remarks = [f"Rows without a text that are left out: {int((~visible).sum()):,}."] if not visible.all() else []
    if longer:
        remarks.append(cut(longer, LIMITS.cell))
    return rows.reset_index(drop=True), [*(labels.sentences if labels else ()), *remarks, *notes]


@dataclass(frozen=True, eq=False)
class TextTable:
    """An uploaded table, with the columns that hold its texts and labels, and the model whose predictions in the table are judged."""

    name: str
    frame: pd.DataFrame
    text: str  # "" = none
    label: str  # "" = none
    digest: str
    answers: Predictions | None = None  # None = a run predicts the texts
    beside: Predictions | str = ""  # second predictions: those of the table, or of the run with this name; "" = none
    reading: Reading = AS_FOUND

    @property
    def key(self) -> tuple[str, str, str]:
        """A key that is equal for two tables with the same content, the same chosen columns and choices."""
        return self.digest if self.reading == AS_FOUND else f"{self.digest} {self.reading}", self.text, self.label

    def rows(self, classes: tuple[str, ...]) -> pd.DataFrame:
        """Return the rows to predict, as `labelled` returns them."""
        return labelled(self.frame, self.text, self.label, classes, self.reading)[0]
