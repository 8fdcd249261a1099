"""A hostile input, what it is run against, and whether that holds."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

GROWTH = 500  # megabytes that an input may cost at most
SHORT = 40  # characters of a sentence that is shown with the next one
MOST = 100  # characters of a verdict in the table
WAITED = "another waited"
WAIT = 1.0  # seconds that another visitor may wait longer than at rest
PROGRESS = re.compile(r"\w+: +\d+%|\w+: \d+ ?\S+ \[|Rows")  # a bar on the terminal
FAULT = re.compile(r"Traceback \(most recent|fault of sentviz|nobody foresaw|Internal Server Error|Something went wrong here")

Made = Mapping[str, str]
"""Values for the command or the attack, by name; a name in capitals is a variable of the environment."""
Attack = Callable[[Any, Made], Awaitable[str] | AsyncGenerator[str]]
"""Carries an attack on a served target out, and gives what was said to the attacker. A generator first gives "", when its visitors are
where they attack from: what ordinary visitors do to get there is not measured."""
Judge = Callable[[str], str]
"""Why what was said is wrong; empty if it is right."""


@dataclass(frozen=True)
class Case:
    """One attack.

    Attributes:
        name: unique in the list.
        against: the library is a command in a process; app and server are served, and another visitor asks them meanwhile.
        make: writes the input into a folder, for the checkout at a root.
        run: the command's words, in which `{name}` is a value of `make`; of app and server a coroutine function of target and values.
        must: judges what was said.
        rest: of the library, an ordinary command, whose memory is not counted.
        mount: options of a small disk that is put at the folder `{disk}`; this needs root.
        seconds: after which the attack is ended.
        shared: whether the attacker's own programs take so much of this machine that the other's waiting is not judged.
    """

    name: str
    against: Literal["library", "app", "server"]
    make: Callable[[Path, Path], Made]
    run: tuple[str, ...] | Attack
    must: Judge
    rest: tuple[str, ...] = ("-c", "import sentviz")
    mount: str = ""
    seconds: float = 120.0
    shared: bool = False


def nothing(folder: Path, root: Path) -> Made:
    """No input but what the attack sends."""
    return {}


@dataclass
class Outcome:
    """What came of a case. Times are in seconds, memory in megabytes beyond that at rest."""

    name: str
    against: str
    seconds: float = 0.0
    peak: float = 0.0
    said: str = ""
    rest: float | None = None  # slowest ordinary answer before the attack
    felt: float | None = None  # slowest ordinary answer during it
    falls: list[str] = field(default_factory=list)
    skipped: str = ""

    @property
    def waited(self) -> bool:
        """Whether it falls for nothing but another's waiting."""
        return bool(self.falls) and all(why.startswith(WAITED) for why in self.falls)

    @property
    def verdict(self) -> str:
        """Whether the case holds, or why it falls."""
        return f"skipped: {self.skipped}" if self.skipped else f"falls: {'; '.join(self.falls)}" if self.falls else "holds"


def unmet(case: Case, outcome: Outcome, said: str, log: str = "") -> None:
    """Add to an outcome what is wrong with what was said, with the log of the process, and with what was measured."""
    if outcome.peak > GROWTH:
        outcome.falls.append(f"{outcome.peak:,.0f} MB")
    if not case.shared and outcome.felt is not None and outcome.rest is not None and outcome.felt > outcome.rest + WAIT:
        outcome.falls.append(f"{WAITED} {outcome.felt:.1f} s")
    if found := FAULT.search(f"{said}\n{log}"):
        errors = re.findall(r"^(\w+(?:\.\w+)*(?:Error|Exception|Interrupt)\b[^\n]*)", f"{said}\n{log}", re.MULTILINE)
        outcome.falls.append(f"{found[0]}{f' ({errors[-1][:100]})' if errors else ''}")
    if why := case.must(said):
        outcome.falls.append(why)


def says(pattern: str) -> Judge:
    """Something that matches must have been said."""
    return lambda said: "" if re.search(pattern, said, re.IGNORECASE) else f"does not say {pattern!r}"


def never(pattern: str) -> Judge:
    """Something was said, and nothing that matches."""

    def judge(said: str) -> str:
        if not said.strip():
            return "says nothing"
        found = re.search(pattern, said, re.IGNORECASE | re.MULTILINE)
        return f"says {found[0][:60]!r}" if found else ""

    return judge


def plain(said: str, folder: str) -> str:
    """What was said without the folder of the input."""
    return said.replace(f"{folder}/", "")


def sentence(said: str, most: int = 150) -> str:
    """The first sentence of what was said; of a traceback, the error."""
    lines = [line.strip() for line in re.split(r"[\r\n]+", said) if line.strip() and not PROGRESS.match(line.strip())]
    if not lines:
        return ""
    if any(one.startswith("Traceback") for one in lines):
        lines = lines[-1:]
    line = lines[0]
    first, *more = re.split(r"(?<=[.!?])\s", line)
    if len(first) < SHORT and (more or len(lines) > 1):
        first += f" {more[0] if more else lines[1]}"
    return first if len(first) <= most else first[: most - 1] + "…"


def table(outcomes: list[Outcome]) -> str:
    """One row for each outcome, as text."""
    head = ("input", "against", "seconds", "peak MB", "another: rest, during (s)", "verdict", "said")
    rows = [head]
    for one in outcomes:
        waited = "" if one.felt is None or one.rest is None else f"{one.rest:.2f}, {one.felt:.2f}"
        measured = ("", "") if one.skipped else (f"{one.seconds:.1f}", f"{one.peak:,.0f}")
        verdict = one.verdict if len(one.verdict) <= MOST else one.verdict[: MOST - 1] + "…"
        rows.append((one.name, one.against, *measured, waited, verdict, sentence(one.said)))
    widths = [max(len(row[k]) for row in rows) for k in range(len(head) - 1)]
    lines = [" | ".join([cell.ljust(width) for cell, width in zip(row, widths, strict=False)] + [row[-1]]) for row in rows]
    held = sum(one.verdict == "holds" for one in outcomes)
    skipped = sum(bool(one.skipped) for one in outcomes)
    return "\n".join([*lines, f"{held} hold, {len(outcomes) - held - skipped} fall, {skipped} skipped."])
