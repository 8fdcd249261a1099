"""The finder: a box that leads to every view, figure of a paper, model and word of the glossary by its name. Ctrl K opens it."""

from __future__ import annotations

from urllib.parse import parse_qsl

import streamlit as st

from app import cache, visit
from app.blocks.run_choice import option_texts
from app.places import SENTENCE, place_of, places, view_at
from sentviz.io.glossary import glossary
from sentviz.runs.registry import papers


@st.cache_data(max_entries=1, show_spinner=False)
def targets() -> dict[str, str]:
    """Return the link of everything that the finder knows, by its title: an address with parameters, without the server."""
    links: dict[str, str] = {}
    for place in places():
        for view in place.views:
            links |= {f"{name} · {place.title}": f"{view.url}?{query}".rstrip("?") for name, query in view.finds}
            links[f"{view.title} · {place.title}: {view.help}"] = view.url
    for paper in papers().values():
        for item in paper.items():
            if item.state == "live":
                links[f"{item.name}: {item.title} · {paper.short}"] = item.link(paper.name, paper.page.url)
    for term in glossary().values():
        links[f"Glossary: {term.title}, the meaning of the word"] = f"glossary?find={term.name}"
    return links


def draw() -> None:
    """Draw the box, and follow what was chosen in it."""
    links = targets()
    models = option_texts(cache.models())
    models |= {name: name for name in cache.runs() if name not in models}  # plain names of hundreds of runs would delay the first paint
    st.session_state["finder"] = None
    st.selectbox(
        "Find",
        [*links, *models],
        format_func=lambda name: name if name in links else f"{models[name]} · model",
        placeholder="Find: lambda, t-SNE … Ctrl K",
        label_visibility="collapsed",
        icon=":material/search:",
        key="finder",
        on_change=_choose,
    )
    if link := st.session_state.pop("found-link", ""):
        address, _, query = link.partition("?")
        focus = visit.chosen_focus()
        run = {"run": focus.run} if visit.has_chosen_run() else {}
        st.switch_page(st.session_state["pages"][view_at(address).url], query_params=run | dict(parse_qsl(query)))


def _choose() -> None:
    chosen = st.session_state["finder"]
    if chosen in cache.runs():
        visit.go(run=chosen)
        if not place_of(st.session_state["view"]).of_run:
            st.session_state["found-link"] = SENTENCE.views[0].url
    elif chosen:
        st.session_state["found-link"] = targets()[chosen]
