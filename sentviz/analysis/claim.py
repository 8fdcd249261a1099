"""A claim of a paper: a statement in our words, what it is held against, and the test that gives its verdict."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from sentviz.runs.store import Run

# strictest first; of those between, a test leaves it open, or what it needs is missing, so that no answers of these runs could decide
Verdict = Literal["does not hold", "cannot be told", "cannot be judged here", "holds"]
Against = Literal["its own tables", "simulated runs", "data sets", "runs here"]
HOW: dict[Against, str] = {  # of tests that say nothing more of themselves
    "its own tables": "recounted from the numbers that the paper prints",
    "simulated runs": "computed from cases drawn at random; no run is needed",
    "data sets": "counted in the data sets; no run is needed",
    "runs here": "computed from the runs here",
}


@dataclass(frozen=True)
class Effect:
    """The number that a verdict rests on, with its 95 % interval where it has one, and the value that it is held against."""

    value: float
    low: float | None = None
    high: float | None = None
    unit: str = "points"  # behind the number, in words or a sign
    null: float = 0.0
    of: str = ""  # what it is a number of, in words

    @classmethod
    def in_points(cls, value: float, low: float, high: float, of: str = "") -> Effect:
        """Of a difference of shares, in percentage points."""
        return cls(100 * value, 100 * low, 100 * high, of=of)

    @classmethod
    def of_row(cls, row: Mapping[Any, Any], of: str = "") -> Effect:
        """Of a comparison's row with difference, low and high as shares."""
        return cls.in_points(float(row["difference"]), float(row["low"]), float(row["high"]), of)

    @classmethod
    def in_percent(cls, value: float, low: float, high: float, null: float, of: str = "") -> Effect:
        """Of a share held against a share."""
        return cls(100 * value, 100 * low, 100 * high, "%", 100 * null, of)


@dataclass(frozen=True)
class Finding:
    """What came out, and what it rests on; of a claim that was judged on several kinds of rows, what came out on each."""

    verdict: Verdict
    evidence: str
    parts: tuple[tuple[str, Finding], ...] = ()  # which rows, in words
    effect: Effect | None = None


def unjudged(missing: str, effect: Effect | None = None) -> Finding:
    """What a test needs and is not here: runs, further seeds, a measurement, a number that is not printed."""
    return Finding("cannot be judged here", missing, effect=effect)


def strictest(parts: Mapping[str, Finding]) -> Finding:
    """Of the same claim on several kinds of rows: it holds where it holds on each, and falls where it falls on one.

    Its effect is that of the first part that has the verdict.
    """
    first = min(parts.values(), key=lambda one: get_args(Verdict).index(one.verdict))
    said = "; ".join(f"on {rows} it {one.verdict}: {one.evidence}" for rows, one in parts.items())
    return Finding(first.verdict, said, tuple(parts.items()), first.effect)


@dataclass(frozen=True)
class Answer:
    """A question, its answer, what it rests on, and the part of the paper's page that shows it."""

    question: str
    verdict: Verdict
    short: str
    numbers: str
    part: str

    @property
    def sentence(self) -> str:
        """In one line."""
        return " ".join(filter(None, (f"{self.question} {self.short}.", self.numbers)))


@dataclass(frozen=True)
class Claim:
    """A statement in our words, where the paper makes it, what it is held against, and the test."""

    statement: str
    where: str
    against: Against
    test: Callable[[Sequence[Run]], Finding]
    short: str = ""  # its row on the board, which claims that say the same of several data sets share; the statement unless given
    on: str = ""  # its column: the data set as the paper calls it; empty where it is of none, or of several
    data: tuple[str, ...] = ()  # the data sets whose runs of the paper's studies the test may read
    how: str = ""  # the test in words, behind "By"; that of `HOW` unless given
    shows: str = ""  # the part of the paper's page that shows it
    figure: str = ""  # the registered figure of a study that shows it

    @property
    def row(self) -> str:
        """Its words on the board."""
        return self.short or self.statement

    def key(self, paper: str) -> str:
        """Its name in links, within all papers; another once its words are others."""
        return f"{paper}-{hashlib.sha256(f'{self.against}: {self.statement}'.encode()).hexdigest()[:6]}"


def alike(
    short: str,
    against: Against,
    titles: Mapping[str, str],
    *said: tuple[str, str, str, Callable[[Sequence[Run]], Finding]],
    how: str = "",
    shows: str = "",
    figure: str = "",
) -> tuple[Claim, ...]:
    """Claims that say the same of several data sets, a row of the board.

    Args:
        titles: what the paper calls its data sets, by name.
        said: of each the data set's name ("" for none), the statement, where the paper makes it, and its test.
    """
    return tuple(
        Claim(statement, where, against, test, short, titles.get(data, ""), (data,) if data else (), how, shows, figure)
        for data, statement, where, test in said
    )
