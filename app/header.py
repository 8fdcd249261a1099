"""The top of every page: its name, the chips of the focus, the link to copy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlencode

import streamlit as st

from app import cache, visit
from app.blocks.run_choice import show_run_with_weights
from app.blocks.sentence import reader_of
from app.fields import TEXT_IN_URL
from app.focus import FIELDS, PRIVATE, WITH_TEXT, Focus
from app.server import queue
from app.text import md, name_runs
from sentviz.analysis.explain import SCORES
from sentviz.runs.catalog import reads_pairs
from sentviz.runs.registry import paper_at

WIDE = f":is({', '.join(f'[class*=st-key-plot-][class*={name}]' for name in ('panels', 'cloud', 'curves', 'lambda'))})"
STYLE = (
    "<style>@media (max-width: 1100px) { [class*=\"st-key-halves\"] [data-testid='stColumn'] { min-width: 100%; }"
    " [class*=\"st-key-halves\"] [data-testid='stHorizontalBlock'] { row-gap: 1rem; } }"
    " [class*=\"st-key-figure\"] [data-testid='stHorizontalBlock'] { overflow: visible; }"
    " @media (min-width: 1101px) { [data-testid='stColumn']:has(.st-key-interventions) {"
    " position: sticky; top: 4rem; align-self: flex-start; max-height: calc(100vh - 5rem); overflow-y: auto; } }"
    " .st-key-why-reason { min-height: 1.8rem; } .st-key-why-faithful { min-height: 2.6rem; }"
    " .st-key-why-reason-first, .st-key-why-reason-second { min-height: 3.2rem; }"
    " .awaited { margin: .15rem 0; width: min(26rem, 80%); height: 1.3rem; border-radius: 4px;"
    " background: rgb(128 128 128 / 22%); } .awaited.picture { width: 100%; height: 26rem; }"
    " [data-testid='stMainBlockContainer'] { padding-top: 4.25rem; }"
    " .st-key-ask, .st-key-answer { margin-bottom: -.4rem; } .st-key-answer { min-height: 4.6rem; position: relative; }"
    " .st-key-examples button { border-radius: 1rem; min-height: 2rem; padding: .1rem .75rem; }"
    " .st-key-examples button[kind='primary'] { background: rgb(47 128 201 / 15%); border-color: currentcolor; color: inherit; }"
    " body[data-typing] .st-key-answer h3[data-live] > * { display: none; }"  # The answer of the page is old while somebody types.
    " body[data-typing] .st-key-answer h3[data-live]::after { content: attr(data-live); }"
    " body[data-typing] .st-key-answer :is([data-testid='stCaptionContainer'], [class*='st-key-why']) { opacity: 0; }"
    " body[data-typing='keys'] :is(.st-key-canvas, :has(.st-key-canvas)) ~ * { opacity: .4; }"
    " .st-key-running, .st-key-scoring { position: absolute; top: 0; right: 9rem; width: auto; }"
    " [data-testid='stColumn']:has(.st-key-canvas) + [data-testid='stColumn']:not(:has(.st-key-interventions)) { display: none; }"
    " .st-key-ask [data-testid='stTextInput'] input { font-size: 1.25rem; }"
    " .st-key-ask [data-testid='stTextInputRootElement'] { height: 3.4rem; }"
    " body:has([data-testid='stDialog']) [data-testid='stPopoverBody'] { display: none; }"
    " [data-testid='stMultiSelect'] [data-tag] { background: rgb(47 128 201 / 25%); color: inherit; }"
    " [data-testid='stMultiSelect'] [data-tag] * { color: inherit; }"
    " [data-testid='stMultiSelect'] input { min-width: 24px; min-height: 24px; }"
    " [data-testid='stCaptionContainer'] { color: inherit; opacity: .8; }"  # Streamlit's own is too faint to read: 3.7 : 1
    " :has(> img[data-testid='stHeaderLogo']) { display: flex; align-items: center; gap: .5rem; }"
    " :has(> img[data-testid='stHeaderLogo'])::after { content: 'sentviz'; font-weight: 600; font-size: 1.05rem; }"
    " [data-testid='stButtonGroup'] [data-variant='segmented_control'] { min-height: 2.5rem; }"  # Fields are as high.
    " @media (max-width: 640px) { [data-testid='stButtonGroup'] > [role] { flex-wrap: wrap; }"
    " .katex-display > .katex { font-size: 1em; }"  # The longest formula of the glossary fits a phone of 390 px.
    # Several panels and clouds are too narrow to read on a phone, so they scroll.
    f" {WIDE} {{ overflow-x: auto; overflow-y: hidden; }} {WIDE} > * {{ min-width: 640px; }} }}"
    " .about { margin: 0; font-size: .875rem; opacity: .8; }"
    " @media (max-width: 900px) { .about { display: none; } }</style>"  # In a second line it would push the page down.
)
ABOUT = "sentviz shows how sentiment transformers reach their predictions."
WITH_MODEL = ("", "attention", "compare")  # addresses of pages that run the model in focus, so its run needs weights
WITHOUT_RUN = ("Papers", "Library", "")  # sections whose pages are of many runs or of none


def begin(page: str, title: str, section: str) -> None:
    """Read the URL if the visitor changed it, fit the focus to its run, write the URL, name the page, and draw the chips.

    Args:
        page, title, section: address, title and section of the page that follows.
    """
    state, query = st.session_state, st.query_params.to_dict()
    touched, before, state["page"] = state.pop("touched", False), state.get("page"), page
    visit.show_instead()
    settings = visit.settings()
    if page != before:
        settings.drop_link()
        state.pop("pictured", None)
    if "focus" not in state:
        state["focus"], state["notes"] = _focus_of(query)
        settings.follow(page, query)
    elif (query or page == before) and query != state["query"] and not touched:
        # The visitor went back or forward. A switch to another page drops the query, and fast clicks send an outdated one.
        linked, state["notes"] = _focus_of(query)
        old, state["focus"] = visit.focus(), linked if linked.text or linked.row else linked.beside(visit.focus())
        settings.forget({name for name in FIELDS if getattr(old, name) != getattr(visit.focus(), name)})
        settings.follow(page, query)
    if page in WITH_MODEL:
        show_run_with_weights()
    if (has := cache.shape(visit.focus().run)) is not None:
        fitted, notes = visit.focus().fit(has)
        state["focus"] = replace(fitted, run=visit.chosen_focus().run, row=visit.chosen_focus().row)
        state["notes"] = [*state.get("notes", []), *notes]
    state["query"] = visit.query(cache.default_run())
    if query != state["query"]:
        st.query_params.from_dict(state["query"])
    st.html(STYLE)
    state["shown_notes"] = state.pop("notes", [])
    for note in state["shown_notes"]:
        st.info(md(note), icon=":material/info:")
    _chips(title, section)


def _focus_of(query: Mapping[str, str]) -> tuple[Focus, list[str]]:
    """Return the focus of URL parameters with its notes. If they name a text but no run, a run that reads its language is shown."""
    focus, notes = Focus.parse(query, list(cache.runs()), SCORES, cache.default_run())
    visit.set_run_chosen(bool(query.get("run")))
    if not query.get("run") and focus.text and (reader := reader_of(focus.text, focus.run)):
        focus = replace(focus, run=reader)
    return focus, notes


def end() -> None:
    """Start loading torch in the background after the page is drawn, so that the first typed sentence is answered sooner."""
    queue.preload()


def _chips(title: str, section: str) -> None:
    run = cache.runs().get(visit.focus().run)
    chips = visit.focus().chips(run.labels, pairs=reads_pairs(run)) if run else visit.focus().chips()
    if "part" in chips:
        paper = paper_at(st.session_state["page"])
        chips["part"] = paper.page.titles.get(visit.focus().part, chips["part"]) if paper else chips["part"]
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="chips"):
        st.session_state["heading"] = st.empty(), title, section
        name_runs(*([visit.focus().run] if section not in WITHOUT_RUN else []))
        for name, words in chips.items():
            st.button(
                md(words),
                key=f"chip-{name}",
                icon=":material/close:",
                icon_position="right",
                type="tertiary",
                help=f"Remove: back to the default {name}",
                on_click=visit.go,
                kwargs={name: getattr(Focus(), name)},
            )
        with st.popover("Copy link", icon=":material/link:", type="tertiary"):
            _link()
        if not chips:  # with chips the line could wrap, and everything below it would move
            st.space("stretch")
            st.html(f'<p class="about">{ABOUT}</p>', width="content")


def _link() -> None:
    with_text = visit.query(cache.default_run(), with_text=True)
    base = (st.context.url or "").split("?")[0]
    st.caption("Share this view. The link contains the sentence that you typed as readable text.")
    if sum(len(with_text.get(name, "")) for name in PRIVATE) > TEXT_IN_URL:
        st.caption(f"The text is longer than {TEXT_IN_URL:,} characters, so the link does not contain it.")
        with_text = {name: value for name, value in with_text.items() if name not in WITH_TEXT}
    st.code(f"{base}?{urlencode(with_text)}" if with_text else base, language=None, wrap_lines=True)
