"""Whether a file still shows what the runs here give: the figure is drawn again, and its numbers are compared."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Literal

from sentviz.errors import InputError, SentvizError
from sentviz.export.embedding import unseal
from sentviz.export.record import ChangedError, Record
from sentviz.figures.source import Call
from sentviz.io.files import read_regular
from sentviz.runs.store import Run, runs

MOST = 100_000_000  # bytes of a file
STATES = ("equal", "numbers equal", "cannot be had", "differs")  # from best to worst
UNSEALED = "Numbers checked, other fields not protected: the file was exported before sentviz sealed the words of its record."


@dataclass(frozen=True)
class Verdict:
    """Result of the check of a file, with its reason as a sentence.

    Attributes:
        state: "equal" if nothing was changed and the runs here give the same numbers; "numbers equal" if the record has no seal, so that
            its name, source, view, style and version may have been changed; "differs"; "cannot be had" if the check is not possible.
    """

    state: Literal["equal", "numbers equal", "differs", "cannot be had"]
    why: str
    record: Record | None = None


def verify(path: str | os.PathLike[str]) -> Verdict:
    """Read the record of an exported file, draw its figure again from the runs here, and compare the frames.

    A file with any byte changed since it was exported differs. Whoever makes up a whole file, record and digests with it, is found
    where its numbers are not those of the runs; a picture made up to fit right numbers is not.
    """
    try:
        data = read_regular(path, MOST, "it")
    except InputError as error:
        return Verdict("cannot be had", _begun(str(error)))
    try:
        _, record = unseal(data)
    except InputError as error:
        return Verdict("differs" if isinstance(error, ChangedError) else "cannot be had", _begun(f"{error}."))
    return against_runs(record)


def against_runs(record: Record) -> Verdict:
    """A record against the runs here; of a sheet, each of its panels."""
    if record.panels:
        verdicts = [against_runs(panel) for panel in record.panels]
        worst = max(verdicts, key=lambda verdict: STATES.index(verdict.state))
        if worst.state in ("equal", "numbers equal"):
            return _same(record, f"Drawn again from the runs here, all numbers of its {len(verdicts)} panels are the same.")
        place = verdicts.index(worst)
        letter = ascii_lowercase[place] if place < len(ascii_lowercase) else f"{place + 1}"
        return Verdict(worst.state, f"Panel {letter}: {worst.why}", record)
    here = runs()
    for source in record.runs:
        run = here.get(source.run)
        if not isinstance(run, Run):
            return Verdict("cannot be had", f"It is of the run {source.run:.100}, which is not here.", record)
        if run.digest != source.digest:
            why = f"It is of a run {source.run} with digest {source.digest:.40}; the one here has {run.digest}."
            return Verdict("cannot be had", why, record)
    if record.call is None:
        return Verdict("cannot be had", "No name stands for this figure, by which it could be drawn again.", record)
    from sentviz.gallery import FIGURES, draw

    if (spec := FIGURES.get(record.call.figure)) is None:
        return Verdict("cannot be had", f"There is no figure {record.call.figure!r:.100} here.", record)
    if not spec.of.OF_RUN and record.call.of not in spec.names:
        return Verdict("cannot be had", f"It is of {record.call.of!r:.100}, which is not here.", record)
    if spec.of.OF_RUN and (unnamed := _unnamed(record.call, {source.run for source in record.runs})):
        return Verdict("differs", f"It is not of the runs that its record names: it is drawn of {unnamed:.100}.", record)
    try:
        again = draw(record.call.of, record.call.figure, **record.call.options)
    except SentvizError as error:
        return Verdict("cannot be had", f"It cannot be drawn again: {error!s:.500}", record)
    except Exception as error:  # options of a record that somebody wrote may be anything
        return Verdict("cannot be had", f"It cannot be drawn again from what its record says ({type(error).__name__}).", record)
    if where := record.differs(again.frame):
        return Verdict("differs", f"Its numbers are not those that the runs here give: {where}.", record)
    if others := set(again.runs) ^ set(record.runs):
        one = min(others, key=lambda one: (one in again.runs, one.run))
        why = f"It is not of the runs that its record names: see {one.run} (seed {one.seed}, {one.rows}, digest {one.digest})."
        return Verdict("differs", why, record)
    count = f"{len(again.frame):,} {'row' if len(again.frame) == 1 else 'rows'}"
    return _same(record, f"Drawn again from the runs here, all its numbers are the same ({count}).")


def _same(record: Record, why: str) -> Verdict:
    return Verdict("equal", why, record) if record.sealed else Verdict("numbers equal", f"{why} {UNSEALED}", record)


def _unnamed(call: Call, named: Collection[str]) -> str:
    """Return the first run of a call that its record does not name, such as a folder; empty if the record names all of them."""
    versus = call.options.get("versus", ())
    drawn = [call.of, *([versus] if isinstance(versus, str) else versus if isinstance(versus, tuple) else [None])]
    unnamed = [repr(run) for run in drawn if run not in named and run != ""]
    if unnamed:
        return unnamed[0]
    return f"{len(drawn):,} runs" if len(drawn) > len(named) + 1 else ""  # a run may be compared with itself


def _begun(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]
