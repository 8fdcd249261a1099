"""Results of explanations that support the reason for a prediction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sentviz.runs.target import PREDICTED, Target

MOST = 3  # maximum number of words that an edit changes

Chance = Mapping[int, float]
"""Number of words of a unit -> log-odds: most units of that size in our example sentences lower a prediction by less."""


@dataclass(frozen=True, order=True)
class Edit:
    """One word left out or replaced."""

    place: int  # index of the word in the text, counted from 0
    old: str
    new: str = ""  # "" if the word is left out


@dataclass(frozen=True)
class Flip:
    """The smallest edit that was found to change the predicted class, or to reach a chosen class, and what the search cost."""

    edits: tuple[Edit, ...] = ()  # in the order of the text; empty if no edit was found
    text: str = ""  # the edited text
    text_pair: str | None = None
    label: str = ""  # the class predicted for the edited text; of two compared classes the more probable one
    probability: float = float("nan")  # probability of `label`; of two compared classes, among these two
    passes: int = 0  # edited texts that the search predicted
    most: int = MOST  # largest number of words edited; if no edit was found, the largest number that was tried
    random: int = 0  # random edits of as many words that reach the goal ...
    drawn: int = 0  # ... among this number of random edits
    singles: int = 0  # edits of one word among the edited texts
    complete: bool = False  # True: these are all plausible edits of one word, and none flips the prediction
    goal: Target = PREDICTED  # class to reach; PREDICTED = any class but the predicted one
    untested: int = 0  # edited texts that were next when the time of the search ended, at least; 0 if the search ended by itself

    @property
    def words(self) -> str:
        """The edit in words: without “not”; with “good” for “bad”."""
        gone = " and ".join(f"“{edit.old}”" for edit in self.edits if not edit.new)
        swaps = " and ".join(f"“{edit.new}” for “{edit.old}”" for edit in self.edits if edit.new)
        return " and ".join(f"{how} {what}" for how, what in (("without", gone), ("with", swaps)) if what)


@dataclass(frozen=True)
class Fall:
    """A part of a text, its tokens, and the fall of the log-odds without it."""

    text: str
    indices: tuple[int, ...]
    fall: float
    without: tuple[float, ...]  # probability of each class without it


@dataclass(frozen=True)
class Screened:
    """What was left out of a text that is too long to leave out each word; see `sentviz.analysis.explain.screening`."""

    clauses: tuple[Fall, ...]  # the largest fall first
    words: tuple[Fall, ...]  # of the first clause, the largest fall first; () if it has one word
    agreeing: int  # clauses that the model, reading only them, gives to the target with more than one half ...
    of: int  # ... among this number of clauses of the text


@dataclass(frozen=True, eq=False)
class Evidence:
    """The results that support a reason, besides the scores of units."""

    chance: Chance
    flip: Flip | None  # None if the search was not possible
    without: tuple[
        float, ...
    ] = ()  # probability of each class without the unit that is the reason; () for two classes or without such a unit
    screened: Screened | None = None  # None if each word was left out
