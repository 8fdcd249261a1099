"""The findings on the site: the article with the gallery's pictures, each of which opens as a live figure, and the table of every claim."""

from __future__ import annotations

from docsite.gallery import picture, records
from docsite.live import explorable
from docsite.text import plain, table
from sentviz.papers.studies.findings import Picture, article, every_claim


def findings() -> str:
    """Return the article and the table of claims as Markdown."""
    known = records()

    def figure(name: str) -> str:
        return "\n".join([*picture(name, known[name]), explorable(name)])

    parts = [figure(part.figure) if isinstance(part, Picture) else part for part in article()]
    claims = every_claim()
    return "\n\n".join([*parts, "## Every claim", table(list(claims), ([plain(cell) for cell in row] for row in claims.to_numpy()))])
