"""Whether a file still shows what the runs here give: the figure is drawn again, and its numbers are compared."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from string import ascii_lowercase
from typing import Literal

from sentviz.errors import InputError, SentvizError
from sentviz.provenance import ChangedError, Record
from sentviz.runs import Run, runs
from sentviz.seal import unseal

__all__ = ["Verdict", "verify"]

MOST = 100_000_000  # bytes of a file
STATES = ("equal", "cannot be had", "differs")  # from best to worst


@dataclass(frozen=True)
class Verdict:
    """What can be said of a file: its numbers are those of the runs here, or others, or that cannot be told; and why, in a sentence."""

    state: Literal["equal", "differs", "cannot be had"]
    why: str
    record: Record | None = None


def verify(path: str | os.PathLike[str]) -> Verdict:
    """Read the record of an exported file, draw its figure again from the runs here, and compare the frames.

    A file with any byte changed since it was exported differs. Whoever makes up a whole file, record and digests with it, is found
    where its numbers are not those of the runs; a picture made up to fit right numbers is not.
    """
    try:
        if Path(path).stat().st_size > MOST:
            return Verdict("cannot be had", f"It is larger than {MOST // 1_000_000} MB, which no exported figure is.")
        data = Path(path).read_bytes()
    except OSError as error:
        return Verdict("cannot be had", f"It cannot be read: {error.strerror or error}.")
    try:
        _, record = unseal(data)
    except InputError as error:
        said = str(error)
        return Verdict("differs" if isinstance(error, ChangedError) else "cannot be had", f"{said[0].upper()}{said[1:]}.")
    return against_runs(record)


def against_runs(record: Record) -> Verdict:
    """A record against the runs here; of a sheet, each of its panels."""
    if record.panels:
        verdicts = [(letter, against_runs(panel)) for letter, panel in zip(ascii_lowercase, record.panels, strict=False)]
        letter, worst = max(verdicts, key=lambda one: STATES.index(one[1].state))
        if worst.state == "equal":
            return Verdict("equal", f"Drawn again from the runs here, all numbers of its {len(verdicts)} panels are the same.", record)
        return Verdict(worst.state, f"Panel {letter}: {worst.why}", record)
    here = runs()
    for source in record.runs:
        run = here.get(source.run)
        if not isinstance(run, Run):
            return Verdict("cannot be had", f"It is of the run {source.run}, which is not here.", record)
        if run.digest != source.digest:
            why = f"It is of a run {source.run} with digest {source.digest}; the one here has {run.digest}."
            return Verdict("cannot be had", why, record)
    if record.call is None:
        return Verdict("cannot be had", "No name stands for this figure, by which it could be drawn again.", record)
    if record.runs and record.call.of not in {*here, *_sets(record.call.figure)}:
        return Verdict("cannot be had", f"It is of {record.call.of}, which is not here.", record)
    from sentviz.gallery import draw

    try:
        again = draw(record.call.of, record.call.figure, **record.call.options)
    except SentvizError as error:
        return Verdict("cannot be had", f"It cannot be drawn again: {error}", record)
    except Exception as error:  # options of a record that somebody wrote may be anything
        return Verdict("cannot be had", f"It cannot be drawn again from what its record says ({type(error).__name__}).", record)
    if where := record.differs(again.frame):
        return Verdict("differs", f"Its numbers are not those that the runs here give: {where}.", record)
    if others := set(again.runs) ^ set(record.runs):
        one = min(others, key=lambda one: (one in again.runs, one.run))
        why = f"It is not of the runs that its record names: see {one.run} (seed {one.seed}, {one.rows}, digest {one.digest})."
        return Verdict("differs", why, record)
    count = f"{len(again.frame):,} {'row' if len(again.frame) == 1 else 'rows'}"
    return Verdict("equal", f"Drawn again from the runs here, all its numbers are the same ({count}).", record)


def _sets(figure: str) -> list[str]:
    """What a study's figure can be of."""
    from sentviz.gallery import FIGURES

    return FIGURES[figure].names if figure in FIGURES and not FIGURES[figure].of.OF_RUN else []
