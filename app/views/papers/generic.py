"""Any paper: the board of its claims, the sections that it registers, and every printed item with where it is here."""

from __future__ import annotations

from collections.abc import Sequence
from pkgutil import resolve_name

import streamlit as st

from app import visit
from app.blocks.boundary import boundary
from app.blocks.sections import missing_note, pick, show_blocks, show_study_figure, studied
from app.shared import once
from app.text import md
from app.views.papers import OWN, board_part, items_part
from sentviz.analysis.claim import Finding
from sentviz.io.lazy import pd
from sentviz.papers.studies.claims import answers_of
from sentviz.papers.studies.compare_configurations import SEEDS_IN_WORDS, of_paper
from sentviz.papers.studies.findings import opening_of
from sentviz.papers.studies.items import paper_faults
from sentviz.runs.items import DRAWN, Item
from sentviz.runs.registry import FIRST, LAST, Paper, paper_at, papers
from sentviz.runs.sections import FigureBlock, Section, Studied
from sentviz.runs.store import Run


@once(16, "Comparing the runs")
def _answers(paper: str, runs: Sequence[Run]) -> list[str]:
    return answers_of(papers()[paper], runs)


def show(paper: Paper, runs: Sequence[Run]) -> None:
    """The part of a paper's page that is asked for."""
    st.caption(f"“{md(paper.title)}” ({md(paper.citation)}): its claims and numbers, next to what the installed runs measure.")
    part = _part(paper)
    _faults(paper)
    if paper.studies and not of_paper(paper, runs):
        name, study = next(iter(paper.studies.items()))
        command = f"sentviz study {name} --dataset {study.datasets[0]}"
        st.info(f"No run of this paper is installed. `{command}` trains them.", icon=":material/inventory_2:")
    if part == FIRST:
        _claims(paper, runs)
    elif part == LAST:
        items_part.show(paper, runs)
    else:
        _section(paper, next(section for section in paper.page.sections if section.name == part), runs)
    _differences(paper, part)


@boundary()
def _faults(paper: Paper) -> None:
    """Show what the paper's files name and that does not exist."""
    for fault in paper_faults(paper):
        st.warning(md(fault), icon=":material/rule:")


def _part(paper: Paper) -> str:
    """Draw the choice of a group of parts and of a part in it; return the name of the part."""
    groups, titles, chosen = paper.page.groups, paper.page.titles, visit.focus().part
    group = next((group for group, parts in groups.items() if chosen in parts), next(iter(groups)))

    def take() -> None:
        visit.go(part=groups[st.session_state["group-of-parts"] or group][0])

    st.session_state["group-of-parts"] = group
    with st.container(horizontal=True, gap="medium", vertical_alignment="center"):
        st.segmented_control("Group", list(groups), key="group-of-parts", on_change=take, label_visibility="collapsed")
        return pick("Part", "part", {name: titles[name] for name in groups[group]}, st.pills)


def _section(paper: Paper, section: Section, runs: Sequence[Run]) -> None:
    """Draw a section. If it is only figures, the printed items that they show are its headings."""
    items = [item for item in _on_part(paper, section.name) if item.kind in DRAWN]
    if not all(isinstance(block, FigureBlock) for block in section.blocks):
        items = []
    for item in items:
        st.markdown(f"##### {md(f'{item.name}: {item.title}')}")
    dataset = pick("Data set", "study", resolve_name(section.datasets)) if section.datasets else ""
    show_blocks(section.blocks, Studied(paper.name, runs, dataset), f"{paper.name}-{section.name}", OWN)


def _differences(paper: Paper, part: str) -> None:
    """Fold away what differs from the paper: of all its runs, and of each item that a section shows."""
    lines = [paper.page.cannot, *(f"{item.name}: {item.why}" for item in _on_part(paper, part) if item.why)]
    with st.expander("Differences from the paper", key=f"{paper.name}-differences"):
        st.markdown("\n".join(f"- {md(line)}" for line in lines))


def _on_part(paper: Paper, part: str) -> list[Item]:
    """Return the items whose place is a part of the paper's page."""
    return [item for item in paper.items() if not item.page and item.query.get("part") == part]


def _claims(paper: Paper, runs: Sequence[Run]) -> None:
    """The lines that open the page, the choice of a claim, the board with the claim that is open, and the paper's questions."""
    claims = board_part.judged(runs, [paper.name])
    _opening(paper, claims, runs)
    if claims.empty:
        st.caption("This paper has no claims with tests.")
        return
    board_part.chooser(claims)
    board_part.board(paper, claims, runs)
    if paper.answers:
        with st.expander("Questions and answers", on_change="rerun", key=f"{paper.name}-answers") as more:
            if more.open:
                st.markdown("\n".join(f"- {md(line)}" for line in _answers(paper.name, runs)))
                st.caption(f"“Cannot be told” means that p is above 0.05 after Holm's correction. {SEEDS_IN_WORDS}")


@boundary()
def _opening(paper: Paper, claims: pd.DataFrame, runs: Sequence[Run]) -> None:
    """Show what the paper says, what was found and what is open, and the figure that answers its main question."""
    findings = {row["key"]: Finding(row["verdict"], row["evidence"], row["parts"], row["effect"]) for row in claims.to_dict("records")}
    opening = opening_of(paper, findings)
    if opening is None:
        return
    st.markdown("\n\n".join(f"**{title}:** {md(text)}" for title, text in opening.lines))
    if opening.figure:
        missing_note([show_study_figure(paper.name, opening.figure, opening.of, runs)])


current = paper_at(st.session_state["page"])
assert current is not None
with boundary():
    show(current, studied())
