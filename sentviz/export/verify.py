"""Check whether an exported file still shows what the installed runs give: draw its figure again and compare the numbers."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass, replace
from string import ascii_lowercase
from typing import Literal

from sentviz.charts.gallery import FIGURES, draw
from sentviz.charts.source import Call, Source
from sentviz.errors import InputError, SentvizError
from sentviz.export.embedded_record import extract_record
from sentviz.export.record import ChangedError, Record
from sentviz.io.files import read_regular
from sentviz.runs.store import Run, runs

MAX_BYTES = 100_000_000  # size of a file that is read
STATES = ("equal", "numbers equal", "cannot be had", "differs")  # from best to worst


@dataclass(frozen=True)
class Verdict:
    """Result of the check of a file, with its reason as a sentence.

    Attributes:
        state: "equal" if the installed runs give the same numbers and words. "numbers equal" if the name, the source or the caption is
            another one: somebody changed it, or another version of sentviz wrote it. "differs" if the picture or a number was changed.
            The last state, `STATES[2]`, means that the check is not possible.
    """

    state: Literal["equal", "numbers equal", "differs", "cannot be had"]
    why: str
    record: Record | None = None


def verify(path: str | os.PathLike[str]) -> Verdict:
    """Read the record of an exported file, draw its figure again from the installed runs, and compare the frames.

    A changed byte of the picture is detected, and so are numbers, a name, a source or a caption that the installed runs do not give. A
    forged picture in a new record with the right numbers is not detected, nor is another link or style.
    """
    try:
        data = read_regular(path, MAX_BYTES, "it")
    except InputError as error:
        return Verdict("cannot be had", _capitalized(str(error)))
    try:
        _, record = extract_record(data)
    except InputError as error:
        return Verdict("differs" if isinstance(error, ChangedError) else "cannot be had", _capitalized(f"{error}."))
    return compare_with_runs(record)


def compare_with_runs(record: Record) -> Verdict:
    """Compare a record, or each panel of a sheet's record, with the installed runs."""
    if record.panels:
        verdicts = [compare_with_runs(panel) for panel in record.panels]
        worst = max(verdicts, key=lambda verdict: STATES.index(verdict.state))
        if worst.state in ("equal", "numbers equal"):
            panels = f" in all {len(verdicts)} panels" if len(verdicts) > 1 else ""
            reason = "" if worst.state == "equal" else f" {worst.why}"
            return Verdict(worst.state, f"The installed runs give the same numbers{panels}.{reason}", record)
        place = verdicts.index(worst)
        letter = ascii_lowercase[place] if place < len(ascii_lowercase) else f"{place + 1}"
        return Verdict(worst.state, f"Panel {letter}: {worst.why}", record)
    available, sources, source_text = runs(), set[Source](), record.source
    for source in record.runs:
        run = available.get(source.run)
        if not isinstance(run, Run):
            return Verdict("cannot be had", f"Its run {source.run:.100} is not installed.", record)
        if not run.had_digest(source.digest):
            why = f"Its run {source.run} has the digest {source.digest:.40}; the installed run of this name has {run.digest}."
            return Verdict("cannot be had", why, record)
        sources.add(replace(source, digest=run.digest))
        source_text = source_text.replace(source.digest, run.digest)
    if record.call is None:
        return Verdict("cannot be had", "Its record does not say how to draw the figure again.", record)
    if (spec := FIGURES.get(record.call.figure)) is None:
        return Verdict("cannot be had", f"There is no figure {record.call.figure!r:.100} in this version.", record)
    if not spec.of.OF_RUN and record.call.of not in spec.names:
        return Verdict("cannot be had", f"It shows {record.call.of!r:.100}, which is not available.", record)
    if spec.of.OF_RUN and (unnamed := _unnamed_run(record.call, {source.run for source in record.runs})):
        return Verdict("differs", f"The figure shows a run that is not named in its record: {unnamed:.100}.", record)
    options = dict(record.call.options)
    if not record.calibrated and "calibrated" in spec.options:
        options["calibrated"] = False
    try:
        again = draw(record.call.of, record.call.figure, **options)
    except SentvizError as error:
        return Verdict("cannot be had", f"It cannot be drawn again: {error!s:.500}", record)
    except Exception as error:  # The options of a forged record can be anything.
        return Verdict("cannot be had", f"It cannot be drawn again with the options in its record ({type(error).__name__}).", record)
    if changed := record.differs(again.frame):
        return Verdict("differs", f"The installed runs give other numbers: {changed}.", record)
    if differing := set(again.runs) ^ sources:
        first = min(differing, key=lambda source: (source in again.runs, source.run))
        details = f"{first.run} (seed {first.seed}, {first.rows}, digest {first.digest})"
        why = f"Its record does not name the runs that its figure shows: see {details}."
        return Verdict("differs", why, record)
    count = f"{len(again.frame):,} {'row' if len(again.frame) == 1 else 'rows'}"
    why = f"The installed runs give the same numbers ({count})."
    words = {"name": (record.name, again.name), "source": (source_text, again.source)}
    words |= {"caption": (record.caption, again.caption)} if record.caption else {}
    if field := next((name for name, (then, now) in words.items() if then != now), ""):
        return Verdict("numbers equal", f"{why} Its {field} is not the one that this version of sentviz writes.", record)
    return Verdict("equal", why, record)


def _unnamed_run(call: Call, named: Collection[str]) -> str:
    """Return the first run of a call that its record does not name, such as a folder; empty if the record names all of them."""
    versus = call.options.get("versus", ())
    names = [call.of, *([versus] if isinstance(versus, str) else versus if isinstance(versus, tuple) else [None])]
    unnamed = [repr(run) for run in names if run not in named and run != ""]
    if unnamed:
        return unnamed[0]
    return f"{len(names):,} runs" if len(names) > len(named) + 1 else ""  # One more is allowed: a run compared with itself.


def _capitalized(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]
