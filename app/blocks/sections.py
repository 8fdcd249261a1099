"""Draw the blocks of pages that are declared as data, and the figures of studies among them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from app import cache, visit
from app.blocks.boundary import boundary
from app.blocks.control import control
from app.blocks.figure import show_drawn, show_figure
from app.blocks.slice_choice import note_unsliced
from app.blocks.table import show_table
from app.focus import FIELDS
from app.shared import once
from app.text import halves, intro, marked, md, with_code
from sentviz.charts import Figure
from sentviz.charts.gallery import code, make
from sentviz.charts.registry import FigureSpec, FigureSubject, find_figure
from sentviz.charts.subjects import Runs, Sentence, Study
from sentviz.errors import InputError
from sentviz.io.glossary import tip
from sentviz.io.table import Table
from sentviz.papers.studies.items import make_table
from sentviz.runs.registry import find_paper
from sentviz.runs.sections import (
    Block,
    Control,
    Drawer,
    FigureBlock,
    OfSubject,
    OwnBlock,
    Says,
    SideBySide,
    Studied,
    TableBlock,
    TextBlock,
    Where,
    resolved,
)
from sentviz.runs.store import Run

MOST_NAMED = 3  # runs that a note names
NO_NAMES: Mapping[str, str] = {}
FORMS = {"title": "### {}", "heading": "##### {}", "text": "{}", "list": "- {}", "caption": "{}"}


@dataclass(frozen=True)
class Page:
    """A view as data.

    Attributes:
        shows, cannot: its introduction.
        of: chooses its subject; stops the page if there is none.
        unsliced: why it does not follow the chosen slice, as the end of a sentence; "" if no slice concerns it.
    """

    shows: str
    cannot: str
    of: Callable[[], Any]
    blocks: Sequence[Block]
    unsliced: str = ""


def show_page(page: Page, name: str) -> None:
    """Draw a page; `name` begins the keys of its widgets."""
    intro(page.shows, page.cannot)
    if page.unsliced:
        note_unsliced(page.unsliced)
    show_blocks(page.blocks, page.of(), name)


def show_blocks(blocks: Sequence[Block], of: Any, key: str, own: Mapping[str, str] = NO_NAMES) -> None:
    """Draw blocks of a subject one below the other.

    Args:
        key: begins the keys of their widgets.
        own: functions of `OwnBlock`s by the names that these use for them.
    """
    for place, block in enumerate(blocks):
        match block:
            case TextBlock():
                show_text = st.caption if block.small else st.markdown
                show_text(block.markdown, help=tip(block.term) if block.term else None)
            case Says():
                _say(block, of)
            case FigureBlock():
                _show_figure(block, of)
            case TableBlock():
                _show_table(block, of, f"{key}-{place}")
            case OwnBlock(draw=draw):
                resolved(own.get(draw, draw) if isinstance(draw, str) else draw)(of)
            case SideBySide():
                shares = block.shares or (1.0,) * len(block.columns)
                for number, (column, inner) in enumerate(zip(halves(f"{key}-{place}", *shares), block.columns, strict=True)):
                    with column:
                        show_blocks(inner, of, f"{key}-{place}-{number}", own)
            case Drawer():
                drawer_key = block.key or f"{key}-{place}-drawer"
                with st.expander(block.title, icon=block.icon or None, on_change="rerun", key=drawer_key) as drawer:
                    if drawer.open:
                        show_blocks(block.blocks, of, f"{key}-{place}", own)
            case Where():
                show_blocks(block.blocks if _asked(block.test, of) else block.otherwise, of, f"{key}-{place}", own)


def _say(block: Says, of: Any) -> None:
    words = _asked(block.words, of)
    lines = [FORMS[block.form].format(marked(line)) for line in ([words] if isinstance(words, str) else words) if line]
    if lines:
        show_text = st.caption if block.form == "caption" else st.markdown
        show_text(("\n" if block.form == "list" else "\n\n").join(lines), help=tip(block.term) if block.term else None)


def _asked(function: OfSubject, of: Any) -> Any:
    """Return what a function says of a subject; that of a paper's page is computed once for all visitors if the function is named."""
    return _of_study(function, of) if isinstance(of, Studied) and isinstance(function, str) else resolved(function)(of)


@once(64, "Reading the runs")
def _of_study(function: str, of: Studied) -> Any:
    return resolved(function)(of)


# ---- figures


@boundary()
def _show_figure(block: FigureBlock, of: Any) -> None:
    subject = resolved(block.of)(of) if block.of else of
    if subject is None:
        return
    picture = st.container() if block.below else nullcontext()
    options = dict(block.options if isinstance(block.options, Mapping) else _asked(block.options, of))
    row = st.container(horizontal=True, gap="medium", key=f"{block.key or block.name}-controls") if block.below else nullcontext()
    with row:
        for each in block.controls:
            options |= _chosen(each, block.name, of)
    with picture:
        if isinstance(subject, Studied):
            _show_of_study(block, subject, options)
        else:
            show_figure(block.name, _subject(subject), block.key, **options)


def _subject(of: Any) -> FigureSubject:
    """Return what a figure is of: runs are the subject of figures about them."""
    if isinstance(of, Sentence) and of.load is None:
        of.load = lambda: cache.model(of.run)
    return of if isinstance(of, FigureSubject) else Runs(of) if isinstance(of, Run) else Runs.of(*of)


def _chosen(choice: Control, figure: str, of: Any) -> dict[str, Any]:
    """Draw a choice, and return the options that it sets."""
    how: dict[str, Any] = (
        {"widget": st.selectbox, "width": choice.width} if choice.width else {"widget": st.segmented_control, "required": True}
    )
    usual = choice.usual(of) if choice.usual else ""
    if choice.choices is None:
        option = choice.option or choice.name
        return {option: control(figure, option, choice.label, name=choice.name, written=_capital, default=usual, **how)}
    choices = choice.choices(of) if callable(choice.choices) else choice.choices
    titles = {name: words for name, (words, _) in choices.items()}
    widget = how.pop("widget")
    if choice.name in FIELDS:
        return dict(choices[visit.choose(widget, choice.label, choice.name, titles, **how)][1])
    resets = ("run",) if callable(choice.choices) else ()
    return dict(choices[visit.setting(widget, choice.label, choice.name, titles, default=usual, resets=resets, **how)][1])


def _capital(title: str) -> str:
    return title[:1].upper() + title[1:]


def _show_of_study(block: FigureBlock, of: Studied, options: Mapping[str, Any]) -> None:
    """Draw a figure for the chosen data set, or for each; the data sets that lack runs share one note."""
    names = [name for name in find_figure(block.name).names if not of.dataset or name in (of.dataset, "all")]
    reasons: list[str] = []
    for first in range(0, len(names), block.per_row):
        row = names[first : first + block.per_row]
        columns = halves(f"{of.paper}-{block.name}-{first}") if block.per_row > 1 else [nullcontext()]
        for column, name in zip(columns, row, strict=False):
            with column:
                reasons.append(show_study_figure(of.paper, block.name, name, of.runs, **options))
    missing_note(reasons)


@once(96, "Drawing")
def study_figure(name: str, of: str, runs: Sequence[Run], **options: Any) -> Figure:
    """Return a figure of a study for one data set, or "all"."""
    return make(name, Study.of(of, runs), **options)


def show_study_figure(paper: str, name: str, of: str, runs: Sequence[Run], **options: Any) -> str:
    """Draw a figure of a paper's study for one data set, or "all"; return why it cannot be drawn, "" if it can."""
    spec, key = find_figure(name), f"{paper}-{name}-{of}"
    if not _is_requested(spec, Study.of(of, runs), key):
        return ""
    draw = partial(study_figure, name, of, runs, **options)
    try:
        draw()
    except InputError as error:
        return str(error)
    show_drawn(draw, key, code=code(of, name, **options))
    return ""


def _is_requested(spec: FigureSpec, study: Study, key: str) -> bool:
    """Return whether a figure is drawn now. If it takes long, a visitor first presses a button under the sentence that says so."""
    why = spec.waits(study)
    if not why or st.session_state.get(f"{key}-asked"):
        return True
    st.caption(md(why))
    if st.button("Compute", icon=":material/scatter_plot:", key=f"{key}-compute"):
        st.session_state[f"{key}-asked"] = True
        st.rerun()
    return False


# ---- tables


@once(48, "Reading the runs")
def _of_paper(paper: str, name: str, dataset: str, runs: Sequence[Run]) -> Table:
    return make_table(find_paper(paper), name, runs, dataset)


def _show_table(block: TableBlock, of: Any, key: str) -> None:
    try:
        if isinstance(of, Studied) and isinstance(block.table, str) and ":" not in block.table:
            table, key = _of_paper(of.paper, block.table, of.name, of.runs), f"{of.paper}-{block.table}"
        else:
            table = _asked(block.table, of)
    except InputError as error:
        missing_note([str(error)])
    else:
        show_table(table, key)


def missing_note(reasons: Sequence[str]) -> None:
    """Show why figures or tables are missing, each reason once."""
    if lines := [with_code(reason) for reason in dict.fromkeys(reasons) if reason]:
        st.info("\n".join(lines) if len(lines) == 1 else "\n".join(f"- {line}" for line in lines), icon=":material/inventory_2:")


# ---- runs of studies


def studied() -> list[Run]:
    """Return the runs that studies read, and show a note that names the installed runs that they do not read, with the reason."""
    catalog = cache.study_runs()
    for why in dict.fromkeys(catalog.left_out.values()):
        names = [name for name, reason in catalog.left_out.items() if reason == why]
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        note = f"Left out of the papers' tables and claims, {why}: {', '.join(names[:MOST_NAMED])}{more}. All other pages show these runs."
        st.info(md(note), icon=":material/rule:")
    return catalog.runs


def pick(label: str, field: str, titles: Mapping[str, str], widget: Callable[..., Any] = st.segmented_control) -> str:
    """Let a visitor pick one of a few things by its title, and return its name; the first if the link names none of them."""
    visit.choose(widget, label, field, titles, required=True)
    chosen = str(getattr(visit.focus(), field))
    return chosen if chosen in titles else next(iter(titles))
