"""The words of the field, from one source: the glossary page and every tooltip."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Term:
    """A word, what it means in a sentence or two, its formula in LaTeX ("" if it has none) and where it comes from."""

    name: str
    title: str
    text: str
    paper: str
    formula: str = ""


@cache
def glossary() -> dict[str, Term]:
    """Every term by name, in the order of their titles."""
    source = Path(__file__).with_name("glossary.toml").read_text(encoding="utf-8")
    terms = [Term(name, **values) for name, values in tomllib.loads(source).items()]
    return {term.name: term for term in sorted(terms, key=lambda term: term.title.casefold())}


def tip(name: str) -> str:
    """A term as a tooltip in markdown; KeyError for a term that is not there."""
    term = glossary()[name]
    return f"{term.text}" + (f" ${term.formula}$" if term.formula else "") + f" ({term.paper})"
