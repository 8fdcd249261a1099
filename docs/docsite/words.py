"""The glossary of the app as a page."""

from __future__ import annotations

from collections.abc import Iterator

from docsite.text import plain
from sentviz.io.glossary import glossary


def words() -> str:
    """All terms as Markdown; every term can be linked to by its name."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    for term in glossary().values():
        yield f"## {plain(term.title)} {{ #{term.name} }}\n"
        yield f"{plain(term.text)}\n"
        if term.formula:
            yield f"\\[ {term.formula} \\]\n"
        if term.symbols:
            yield "\n".join(f"- \\( {symbol} \\): {plain(meaning)}" for symbol, meaning in term.symbols) + "\n"
        yield f"<small>{plain(term.paper)}</small>\n"
