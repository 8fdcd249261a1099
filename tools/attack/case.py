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
WAIT = 2.0  # seconds of an idle core that the target may compute more than at rest before it answers another visitor
HANG = 30.0  # seconds by the clock that another visitor may wait longer than at rest, whatever else the machine does
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
        seconds: processor seconds of the target, after which the attack is ended.
        answers: judge the answers that another visitor got, without the slowest twentieth of them, and not the complete pages.
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
    answers: bool = False
    shared: bool = False


def nothing(folder: Path, root: Path) -> Made:
    """No input but what the attack sends."""
    return {}


@dataclass
class Outcome:
    """Result of a case. Times are in seconds, memory in megabytes above that at rest."""

    name: str
    against: str
    seconds: float = 0.0
    peak: float = 0.0
    output: str = ""
    rest: float | None = None  # slowest ordinary answer before the attack
    felt: float | None = None  # slowest ordinary answer during it
    rest_work: float = 0.0  # seconds of an idle core that the target computes from a question to its answer, at most, before the attack
    work: float = 0.0  # the same during it
    falls: list[str] = field(default_factory=list)
    skipped: str = ""

    @property
    def waited(self) -> bool:
        """Return whether the only fault is that another visitor waited."""
        return bool(self.falls) and all(why.startswith(WAITED) for why in self.falls)

    @property
    def verdict(self) -> str:
        """Return "holds", or why the case falls or was skipped."""
        return f"skipped: {self.skipped}" if self.skipped else f"falls: {'; '.join(self.falls)}" if self.falls else "holds"


def unmet(case: Case, outcome: Outcome, output: str, log: str = "") -> None:
    """Add to an outcome what is wrong with what was said, with the log of the process, and with what was measured."""
    if outcome.peak > GROWTH:
        outcome.falls.append(f"{outcome.peak:,.0f} MB")
    rest, felt = outcome.rest or 0.0, outcome.felt or 0.0
    if not case.shared and (outcome.work > outcome.rest_work + WAIT or felt > rest + HANG):
        outcome.falls.append(f"{WAITED} {felt:.1f} s, {outcome.work:.1f} s of work")
    if fault := FAULT.search(f"{output}\n{log}"):
        errors = re.findall(r"^(\w+(?:\.\w+)*(?:Error|Exception|Interrupt)\b[^\n]*)", f"{output}\n{log}", re.MULTILINE)
        outcome.falls.append(f"{fault[0]}{f' ({errors[-1][:100]})' if errors else ''}")
    if why := case.must(output):
        outcome.falls.append(why)


def says(pattern: str) -> Judge:
    """Something that matches must have been said."""
    return lambda output: "" if re.search(pattern, output, re.IGNORECASE) else f"does not say {pattern!r}"


def never(pattern: str) -> Judge:
    """Something was said, and nothing that matches."""

    def judge(output: str) -> str:
        if not output.strip():
            return "says nothing"
        match = re.search(pattern, output, re.IGNORECASE | re.MULTILINE)
        return f"says {match[0][:60]!r}" if match else ""

    return judge


def plain(output: str, folder: str) -> str:
    """Return the output without the path of the input's folder."""
    return output.replace(f"{folder}/", "")


def sentence(output: str, most: int = 150) -> str:
    """The first sentence of what was said; of a traceback, the error."""
    lines = [line.strip() for line in re.split(r"[\r\n]+", output) if line.strip() and not PROGRESS.match(line.strip())]
    if not lines:
        return ""
    if any(text.startswith("Traceback") for text in lines):
        lines = lines[-1:]
    line = lines[0]
    first, *more = re.split(r"(?<=[.!?])\s", line)
    if len(first) < SHORT and (more or len(lines) > 1):
        first += f" {more[0] if more else lines[1]}"
    return first if len(first) <= most else first[: most - 1] + "…"


def table(outcomes: list[Outcome]) -> str:
    """One row for each outcome, as text."""
    head = ("input", "against", "seconds", "peak MB", "another: rest, during (s)", "work before it (s)", "verdict", "output")
    rows = [head]
    for outcome in outcomes:
        waited, work = "", ""
        if outcome.felt is not None and outcome.rest is not None:
            waited, work = f"{outcome.rest:.2f}, {outcome.felt:.2f}", f"{outcome.rest_work:.2f}, {outcome.work:.2f}"
        measured = ("", "") if outcome.skipped else (f"{outcome.seconds:.1f}", f"{outcome.peak:,.0f}")
        verdict = outcome.verdict if len(outcome.verdict) <= MOST else outcome.verdict[: MOST - 1] + "…"
        rows.append((outcome.name, outcome.against, *measured, waited, work, verdict, sentence(outcome.output)))
    widths = [max(len(row[k]) for row in rows) for k in range(len(head) - 1)]
    lines = [" | ".join([cell.ljust(width) for cell, width in zip(row, widths, strict=False)] + [row[-1]]) for row in rows]
    holding = sum(outcome.verdict == "holds" for outcome in outcomes)
    skipped = sum(bool(outcome.skipped) for outcome in outcomes)
    return "\n".join([*lines, f"{holding} hold, {len(outcomes) - holding - skipped} fall, {skipped} skipped."])
