"""The top of every page: places and views, the finder, the model, the chips of the focus, the link to copy."""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from app import cache, finder, visit
from app.blocks.rows import choose_over
from app.blocks.run_choice import choose_model, show_fitting_run
from app.blocks.sentence import reader_of
from app.fields import TEXT_IN_URL
from app.focus import FIELDS, PRIVATE, Focus
from app.places import SENTENCE, Place, View, place_of, places
from app.server import queue
from app.text import halves, md, name_runs, page_theme
from sentviz.analysis.explain import SCORES
from sentviz.charts import Theme, palette
from sentviz.runs.catalog import language, reads_pairs
from sentviz.runs.naming import plain_name
from sentviz.runs.registry import paper_at
from sentviz.runs.store import Run

ICON = b64encode(Path(__file__).with_name("icon.svg").read_bytes()).decode()
LATE = 2.0  # seconds in which a browser may still have the links from before a change
STYLE = Path(__file__).with_name("style.css").read_text(encoding="utf-8")
SCRIPT = Path(__file__).with_name("page.js").read_text(encoding="utf-8")


def begin(view: View, pages: Mapping[str, Any]) -> None:
    """Read the URL if the visitor changed it, fit the focus to its run, write the URL, and draw the bars above a view.

    Args:
        pages: Streamlit's page of each view by address.
    """
    state, query = st.session_state, st.query_params.to_dict()
    page = "" if view is SENTENCE.views[0] else view.url
    touched, before, state["page"] = state.pop("touched", False), state.get("page"), page
    state["pages"], state["view"] = pages, view
    visit.show_instead()
    settings = visit.settings()
    if page != before:
        settings.drop_link()
        state.pop("pictured", None)
    if "focus" not in state:
        state["focus"], state["notes"] = _focus_of(query)
        settings.follow(page, query)
    elif not touched and not _is_known(query, page == before):
        linked, state["notes"] = _focus_of(query)
        old, state["focus"] = visit.focus(), linked if linked.text or linked.row else linked.beside(visit.focus())
        settings.forget({name for name in FIELDS if getattr(old, name) != getattr(visit.focus(), name)})
        settings.follow(page, query)
    instead = show_fitting_run(view.fit) if view.fit else ""
    if (has := cache.shape(visit.focus().run)) is not None:
        fitted, notes = visit.focus().fit(has)
        state["focus"] = replace(fitted, **visit.replaced_fields())
        state["notes"] = [*state.get("notes", []), *notes]
    now = visit.query(cache.default_run())
    if now != state.get("query"):
        state["query"], state["queries"] = now, (state.get("query", {}), time.monotonic())
    if query != now:
        st.query_params.from_dict(now)
    st.html(f"<style>{_colours(page_theme())} {STYLE}</style>")
    _bars(view)
    state["shown_notes"] = state.pop("notes", [])
    with st.container(gap="small", key="remarks"):  # It is always there: elements below another number of elements are drawn anew.
        _remarks(view, instead)


def _colours(theme: Theme) -> str:
    """Return the style sheet with the colours of the bars and sheets.

    Streamlit tells a page its scheme, so that they are right at once when a visitor switches it, but not what floats above the page.
    """
    light, dark, now = palette("light"), palette("dark"), palette(theme)
    names = ("paper", "grid", "accent")
    both = (f"--{name}: light-dark({getattr(light, name)}, {getattr(dark, name)});" for name in names)
    floating = (f"--{name}: {getattr(now, name)};" for name in names)
    return f":root {{ {' '.join(both)} }} [data-st-overlay-root] {{ {' '.join(floating)} }}"


def _is_known(query: dict[str, str], same_page: bool) -> bool:
    """Return whether a URL says what this visit knows already, so that the visitor followed a link of the bars, or none.

    Otherwise the visitor went back or forward, or followed another link. A switch to another page may drop the query. For a moment after a
    change, the browser has links that were drawn before it: a fast click sends the query before the change.
    """
    before, changed = st.session_state["queries"]
    is_late = query == before and time.monotonic() - changed < LATE and not same_page
    return is_late or query in (st.session_state["query"], visit.query(cache.default_run())) or not (query or same_page)


def _focus_of(query: Mapping[str, str]) -> tuple[Focus, list[str]]:
    """Return the focus of URL parameters with its notes. If they name a text but no run, a run that reads its language is shown."""
    focus, notes = Focus.parse(query, list(cache.runs()), SCORES, cache.default_run())
    visit.set_run_chosen(bool(query.get("run")))
    if not query.get("run") and focus.text and (reader := reader_of(focus.text, focus.run)):
        focus = replace(focus, run=reader)
    return focus, notes


def beside(view: View) -> Any:
    """Return the container that a view draws into. A view of rows has the list of its rows at its right side, in one screen with it."""
    if not view.of_rows:
        st.session_state["side"] = ()
        return st.container()
    main, side = halves("rows", 1.3, 1.0)
    main.html('<a class="step" href="#rows">Rows ↓</a><span id="picture"></span>')
    side.html('<a class="step" href="#picture">Back to the picture ↑</a><span id="rows"></span>')
    st.session_state["side"] = side.container(), side.container()
    return main


def end() -> None:
    """Start loading torch in the background after the page is drawn, so that the first typed sentence is answered sooner."""
    queue.preload()


def _bars(view: View) -> None:
    """Draw the places with the finder, and below them the views of the place and the model in focus."""
    place_in_view, default = place_of(view), cache.default_run()
    st.session_state.setdefault("last", {})[place_in_view.title] = view
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="places"):
        st.html(f'<img alt="sentviz" width="30" style="display:block" src="data:image/svg+xml;base64,{ICON}">', width="content")
        for place in (each for each in places() if not each.small):
            _link_to(place, place_in_view, default)
        finder.draw()
        with st.container(key="script"):
            st.html(f"<script>{SCRIPT}</script>", unsafe_allow_javascript=True)
        for place in (each for each in places() if each.small):
            _link_to(place, place_in_view, default)
        with st.popover("Link", icon=":material/link:", type="tertiary", help="A link to what you see"):
            _link()
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="views"):
        run = cache.runs().get(visit.focus().run)
        if len(place_in_view.views) > 1:
            with st.container(horizontal=True, gap="small", vertical_alignment="center", wrap=False, width="content", key="tabs"):
                _views(place_in_view, view, run, default)
        st.space("stretch")
        if place_in_view is SENTENCE and run is not None and not visit.has_chosen_run():
            _offer_best(run)
        if run is not None and place_in_view.of_run:
            choose_model(view.fit)
            if view.of_rows:
                choose_over(run)
    name_runs(*([visit.focus().run] if place_in_view.of_run else []))


def _remarks(view: View, instead: str) -> None:
    """Draw the chips of what differs from the default view, and the notes on the link.

    Args:
        instead: why the view shows another run than the one in focus; "" if it shows that run.
    """
    is_sentence, run = view in SENTENCE.views, cache.runs().get(visit.focus().run)
    if chips := {name: words for name, words in _chips(run).items() if name != "text" or not is_sentence}:  # its box shows it
        with st.container(horizontal=True, gap="small", vertical_alignment="center", key="chips"):
            for name, words in chips.items():
                _chip(name, words)
    if instead:
        with st.container(horizontal=True, gap="small", vertical_alignment="center", key="instead"):
            st.caption(md(instead), width="content")
            stay = {"run": visit.focus().run}
            st.button("Stay with it", icon=":material/keep:", type="tertiary", key="stay", on_click=visit.go, kwargs=stay)
    for note in st.session_state["shown_notes"]:
        st.info(md(note), icon=":material/info:")


def _offer_best(run: Run) -> None:
    """Draw the button that chooses the most accurate run of the language, if the visitor chose no run and sees another one."""
    best = cache.best_run(language(run))
    if best not in ("", run.name) and not reads_pairs(run):
        help = f"{plain_name(run)} shows best how a model decides. {plain_name(cache.runs()[best])} answers best."
        st.button(
            "Most accurate model",
            icon=":material/star:",
            type="tertiary",
            key="best",
            help=md(help),
            on_click=visit.go,
            kwargs={"run": best},
        )


def _link_to(place: Place, place_in_view: Place, default: str) -> None:
    """Draw the link to a place: to the view of it that was shown last."""
    view = st.session_state["last"].get(place.title, place.views[0])
    marked = f"{'here' if place is place_in_view else 'elsewhere'}{'-small' if place.small else ''}"
    with st.container(key=f"place-{marked}-{place.title.lower().replace(' ', '-')}", width="content"):
        help = "" if place is place_in_view else place.help  # It would cover the links to the views of the place.
        _to(view, place.title, help, default)


def _to(view: View, label: str, help: str, default: str) -> None:
    """Draw a link to a view with the state that it will have. Without it, one step back would lead to the view without a state.

    Args:
        default: the app's default run, which no link names.
    """
    page = "" if view is SENTENCE.views[0] else view.url
    query = visit.query(default, page=page)
    st.page_link(st.session_state["pages"][view.url], label=label, icon=None, help=help or None, query_params=query)


def _views(place_in_view: Place, view: View, run: Run | None, default: str) -> None:
    """Draw the links to the views of a place that fit the run; the others are named with the reason in a menu."""
    wanted = run if visit.has_chosen_run() else None  # without a chosen run, each view opens on one that it can show
    fits = [
        wanted is None or each is view or each.fit is None or each.fit.shows(wanted) or each.fit.could(wanted)
        for each in place_in_view.views
    ]
    for each, offered in zip(place_in_view.views, fits, strict=True):
        if offered:
            with st.container(key=f"view-{'here' if each is view else 'elsewhere'}-{each.url}", width="content"):
                _to(each, each.title, each.help, default)
    if not all(fits):
        with st.popover("More", type="tertiary", key="more-views"):
            for each, offered in zip(place_in_view.views, fits, strict=True):
                if not offered and each.fit is not None and run is not None:
                    st.page_link(st.session_state["pages"][each.url], label=each.title, icon=f":material/{each.icon}:")
                    st.caption(f"It shows another model: {md(run.name)} {each.fit.lacks}.")


def _chips(run: Run | None) -> dict[str, str]:
    """Return the texts of the chips by field: what differs from the default view."""
    chips = visit.focus().chips(run.labels, pairs=reads_pairs(run)) if run else visit.focus().chips()
    if "part" in chips:
        paper = paper_at(st.session_state["page"])
        chips["part"] = paper.page.titles.get(visit.focus().part, chips["part"]) if paper else chips["part"]
    return chips


def _chip(name: str, words: str) -> None:
    st.button(
        md(words),
        key=f"chip-{name}",
        icon=":material/close:",
        icon_position="right",
        type="tertiary",
        help=f"Remove: back to the default {name}" if name in FIELDS else "Take this change back",
        on_click=visit.go,
        kwargs=visit.focus().without(name),
    )


def _link() -> None:
    with_text = visit.query(cache.default_run(), with_text=True)
    base = (st.context.url or "").split("?")[0]
    st.caption("Share this view. The link contains the sentence that you typed as readable text.")
    if sum(len(with_text.get(name, "")) for name in PRIVATE) > TEXT_IN_URL:
        st.caption(f"The text is longer than {TEXT_IN_URL:,} characters, so the link does not contain it.")
        with_text = visit.query(cache.default_run(), with_text=False)
    st.code(f"{base}?{urlencode(with_text)}" if with_text else base, language=None, wrap_lines=True)
