"""Words of the product as Markdown that shows them as they are."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

_MARKUP = frozenset("<>&*_`[]\\#|!$~^={}:")


def plain(text: str) -> str:
    """Text that Markdown and HTML leave as it is, on one line."""
    return "".join(f"&#{ord(char)};" if char in _MARKUP else char for char in " ".join(text.split()))


def table(head: Sequence[str], rows: Iterable[Sequence[str]], right: Collection[int] = ()) -> str:
    """A Markdown table of cells that are Markdown; columns in `right` are set to the right."""
    lines = [head, ["--:" if column in right else "---" for column in range(len(head))], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
