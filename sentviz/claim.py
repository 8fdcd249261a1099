"""A claim of a paper: a statement in our words, what it is held against, and the test that gives its verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from sentviz.runs import Run

__all__ = ["Answer", "Claim", "Finding", "Verdict"]

Verdict = Literal["holds", "does not hold", "cannot be told"]


@dataclass(frozen=True)
class Finding:
    """What came out, and what it rests on."""

    verdict: Verdict
    evidence: str


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
