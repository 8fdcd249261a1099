"""Draw a section of a paper's page from its blocks, and find the functions that draw the parts with code of their own."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pkgutil import resolve_name

import streamlit as st

from app import visit
from app.shared import once
from app.text import halves
from app.views.papers.blocks import missing_note, pick, show_study_figure, show_table
from sentviz.charts.registry import find_figure
from sentviz.errors import InputError
from sentviz.io.glossary import tip
from sentviz.papers.studies.items import Table, make_table
from sentviz.runs.registry import Paper, find_paper
from sentviz.runs.sections import Block, Drawer, FigureBlock, OwnBlock, Section, SideBySide, TableBlock, TextBlock
from sentviz.runs.store import Run

OWN = {  # name of an OwnBlock -> function of (runs, data set or "")
    "fused-figures": "app.views.papers.own_fused:figures",
    "fused-answers": "app.views.papers.own_fused:answers",
    "fused-sentence": "app.views.papers.own_fused:sentence",
    "fused-measure-coverage": "app.views.papers.own_fused:measure_coverage",
    "hardmax-page": "app.views.papers.paper_parts:hardmax_page",
    "hardmax-playground": "app.views.papers.paper_parts:hardmax_playground",
    "hardmax-step": "app.views.papers.paper_parts:hardmax_step",
    "hardmax-vocabulary": "app.views.papers.paper_parts:hardmax_vocabulary",
    "hardmax-depth": "app.views.papers.paper_parts:hardmax_depth",
    "hardmax-leaders": "app.views.papers.paper_parts:hardmax_leaders",
    "ndt-results": "app.views.papers.own_ndt:results",
    "ndt-compare": "app.views.papers.own_ndt:compare",
    "ndt-lambda-grid": "app.views.papers.own_ndt:lambda_grid",
    "ndt-on-base": "app.views.papers.own_ndt:on_base",
    "ndt-controls": "app.views.papers.own_ndt:controls",
    "sentiformer-gates": "app.views.papers.paper_parts:gates",
    "sentiformer-smoothing": "app.views.papers.smoothing:show",
    "sentiformer-proposition": "app.views.papers.proposition:show",
    "sentiformer-failures": "app.views.papers.paper_parts:failures",
    "sevenessxin-matrix": "app.views.papers.paper_parts:matrix",
    "sevenessxin-clouds": "app.views.papers.paper_parts:clouds",
    "sevenessxin-importance": "app.views.papers.paper_parts:importance",
    "sevenessxin-schema": "app.views.papers.paper_parts:schema",
    "sevenessxin-padding": "app.views.papers.paper_parts:padding",
}


def show_section(paper: Paper, section: Section, runs: Sequence[Run]) -> None:
    """Draw a section, under the choice of its data set if it has several."""
    dataset = pick("Data set", "study", resolve_name(section.datasets)) if section.datasets else ""
    show_blocks(paper, section.blocks, runs, dataset, f"{paper.name}-{section.name}")


def show_blocks(paper: Paper, blocks: Sequence[Block], runs: Sequence[Run], dataset: str, key: str) -> None:
    """Draw blocks one below the other.

    Args:
        dataset: that the visitor chose; "" if the section offers no choice.
        key: begins the keys of the widgets.
    """
    for place, block in enumerate(blocks):
        match block:
            case TextBlock():
                show_text = st.caption if block.small else st.markdown
                show_text(block.markdown, help=tip(block.term) if block.term else None)
            case FigureBlock():
                _show_figures(paper, block, runs, dataset)
            case TableBlock():
                _show_paper_table(paper, block, runs, dataset)
            case OwnBlock():
                resolve_name(OWN.get(block.draw, block.draw))(runs, dataset)
            case SideBySide():
                shares = block.shares or (1.0,) * len(block.columns)
                for number, (column, inner) in enumerate(zip(halves(f"{key}-{place}", *shares), block.columns, strict=True)):
                    with column:
                        show_blocks(paper, inner, runs, dataset, f"{key}-{place}-{number}")
            case Drawer() if not block.only or dataset in block.only:
                with st.expander(block.title, on_change="rerun", key=block.key or f"{key}-{place}-drawer") as drawer:
                    if drawer.open:
                        show_blocks(paper, block.blocks, runs, dataset, f"{key}-{place}")


def _show_figures(paper: Paper, block: FigureBlock, runs: Sequence[Run], dataset: str) -> None:
    """Draw a figure for the chosen data set, or for each; the data sets that lack runs share one note."""
    names = find_figure(block.name).names
    if dataset:
        names = [name for name in names if name in (dataset, "all")]
    options = dict(block.options)
    if block.switch:
        words = {name: text for name, (text, _) in block.switch.items()}
        chosen = visit.setting(st.segmented_control, "Drawn", "drawn", words, required=True)
        options |= block.switch[chosen][1]
    reasons: list[str] = []
    for first in range(0, len(names), block.per_row):
        row = names[first : first + block.per_row]
        columns = halves(f"{paper.name}-{block.name}-{first}") if block.per_row > 1 else [nullcontext()]
        for column, name in zip(columns, row, strict=False):
            with column:
                reasons.append(show_study_figure(paper, block.name, name, runs, **options))
    missing_note(reasons)


@once(48, "Reading the runs")
def _paper_table(paper: str, name: str, dataset: str, runs: Sequence[Run]) -> Table:
    return make_table(find_paper(paper), name, runs, dataset)


def _show_paper_table(paper: Paper, block: TableBlock, runs: Sequence[Run], dataset: str) -> None:
    try:
        table = _paper_table(paper.name, block.name, dataset or "all", runs)
    except InputError as error:
        missing_note([str(error)])
    else:
        show_table(table, f"{paper.name}-{block.name}")
