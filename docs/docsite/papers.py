"""Pages of papers: every claim with its stored verdict, and every reported item with the part of the app that shows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from docsite.text import plain, table
from sentviz.analysis.claim import VERDICT_WORDS, decided_in_words, level_in_words
from sentviz.charts.verdicts import VERDICTS
from sentviz.papers.studies.items import listed
from sentviz.papers.studies.verdicts import verdicts
from sentviz.runs.catalog import study_runs
from sentviz.runs.registry import Paper, papers
from sentviz.runs.store import SHIPPED, Run

if TYPE_CHECKING:
    import pandas as pd

SIGNS = dict(zip(VERDICTS, "✓✗?–", strict=True))


@cache
def shipped() -> tuple[Run, ...]:
    """The runs in the repository."""
    return tuple(run for run in study_runs([SHIPPED]).runs if run.folder.is_relative_to(SHIPPED.resolve()))


@cache
def _judged() -> pd.DataFrame:
    return verdicts(shipped())


def overview() -> str:
    """Return the number of claims with each verdict, by paper, as Markdown."""
    judged = _judged()
    head = ["paper", *(f"{SIGNS[verdict]} {VERDICT_WORDS[verdict]}" for verdict in VERDICTS), "claims"]
    rows = []
    for name, paper in papers().items():
        of_paper = judged[judged["name"] == name]["verdict"]
        counts = [str((of_paper == verdict).sum()) for verdict in VERDICTS]
        rows.append([f"[{plain(paper.short)}]({name}.md)", *counts, str(len(of_paper))])
    rows.append(["**all**", *(f"**{(judged['verdict'] == verdict).sum()}**" for verdict in VERDICTS), f"**{len(judged)}**"])
    return table(head, rows, right=range(1, len(head)))


def paper_page(name: str) -> str:
    """The page of one paper."""
    return "\n".join(_paper(papers()[name]))


def _paper(paper: Paper) -> Iterator[str]:
    judged = _judged()
    judged = judged[judged["name"] == paper.name]
    yield f"# {plain(paper.short)}\n"
    yield f"*{plain(paper.title)}.* {plain(paper.citation)}.\n"
    if paper.page is not None and paper.page.cannot:
        yield f'!!! warning "What cannot be compared"\n    {plain(paper.page.cannot)}\n'
    yield "## Claims\n"
    yield f"{decided_in_words(judged['verdict'], judged['kind'])}.\n"
    for verdict in VERDICTS:
        of_verdict = judged[judged["verdict"] == verdict]
        if len(of_verdict):
            yield f"### {SIGNS[verdict]} {VERDICT_WORDS[verdict].capitalize()} ({len(of_verdict)})\n"
            yield table(["claim", "where", "compared with", "kind", "evidence"], map(_claim, of_verdict.to_dict("records"))) + "\n"
    if paper.items():
        yield "## Every item\n"
        every = listed(paper)
        yield f"{plain(every.caption)} A link is the end of the app's address, as in `http://localhost:8501/{paper.page.url}`.\n"
        texts = every.written()
        texts[texts.columns[4]] = [f"`{link}`" if link else "–" for link in every.frame["link"]]
        yield table(list(texts), ([cell if "`" in cell else plain(cell) for cell in row] for row in texts.to_numpy()))
    yield f"\n`sentviz paper {paper.name} -o DIR` writes this list, and every table and figure that is live, as files."


def _claim(row: Mapping[Any, Any]) -> list[str]:
    where = ", ".join(part for part in (row["where"], row["on"]) if part)
    level = level_in_words(row["p"], row["adjusted"])
    return [
        plain(row["claim"]),
        plain(where),
        plain(row["against"]),
        plain(row["kind"]),
        plain("; ".join(filter(None, (row["evidence"], level)))),
    ]
