"""The glossary, from which the glossary page and all tooltips are made."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Term:
    """A term with its meaning, its formula in LaTeX ("" if it has none), the meaning of each symbol of the formula, and its source."""

    name: str
    title: str
    text: str
    paper: str
    formula: str = ""
    symbols: Sequence[Sequence[str]] = ()  # a symbol in LaTeX, and its meaning

    @property
    def lines(self) -> tuple[str, ...]:
        """The formula's equations, each in LaTeX; () without a formula."""
        return tuple(filter(None, self.formula.split(",\\quad")))

    @property
    def words(self) -> str:
        """All its words, without formulas."""
        return " ".join([self.title, self.text, self.paper, *(meaning for _, meaning in self.symbols)])


@cache
def glossary() -> dict[str, Term]:
    """Return every term by name, sorted by title."""
    source = Path(__file__).with_name("glossary.toml").read_text(encoding="utf-8")
    terms = [Term(name, **values) for name, values in tomllib.loads(source).items()]
    return {term.name: term for term in sorted(terms, key=lambda term: term.title.casefold())}


def tip(name: str) -> str:
    """Return a term as a tooltip in markdown; raise KeyError for an unknown term."""
    term = glossary()[name]
    return f"{term.text}" + (f" ${term.formula}$" if term.formula else "") + f" ({term.paper})"
