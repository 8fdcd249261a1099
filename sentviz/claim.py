"""A claim of a paper: a statement in our words, what it is held against, and the test that gives its verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from sentviz.runs import Run

__all__ = ["Answer", "Claim", "Finding", "Verdict", "strictest", "unjudged"]

# strictest first; of those between, a test leaves it open, or what it needs is missing, so that no answers of these runs could decide
Verdict = Literal["does not hold", "cannot be told", "cannot be judged here", "holds"]


@dataclass(frozen=True)
class Finding:
    """What came out, and what it rests on; of a claim that was judged on several kinds of rows, what came out on each."""

    verdict: Verdict
    evidence: str
    parts: tuple[tuple[str, Finding], ...] = ()  # which rows, in words


def unjudged(missing: str) -> Finding:
    """What a test needs and is not here: runs, further seeds, a measurement, a number that is not printed."""
    return Finding("cannot be judged here", missing)


def strictest(parts: Mapping[str, Finding]) -> Finding:
    """Of the same claim on several kinds of rows: it holds where it holds on each, and falls where it falls on one."""
    verdict = min((one.verdict for one in parts.values()), key=get_args(Verdict).index)
    said = "; ".join(f"on {rows} it {one.verdict}: {one.evidence}" for rows, one in parts.items())
    return Finding(verdict, said, tuple(parts.items()))


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
    against: Literal["its own tables", "simulated runs", "data sets", "runs here"]
    test: Callable[[Sequence[Run]], Finding]
