"""Navigation: the views of every place. `app/main.py` serves this script, which runs again for each change of a visitor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

from app import header
from app.places import SENTENCE, View, places, view_at
from sentviz.runs.registry import paper_at

HERE = Path(__file__).resolve().parent
ICON, ANY_PAPER, DECLARED = str(HERE / "icon.svg"), HERE / "views" / "papers" / "generic.py", HERE / "views" / "declared.py"
st.set_page_config(page_title="sentviz", page_icon=ICON, layout="wide")


def page_of(view: View, url: str) -> Any:
    """Return a view for Streamlit's navigation at one of its addresses; a paper or a declared view may share a script."""
    paper = paper_at(view.url)
    own = HERE / "views" / f"{view.script}.py"
    script = (own if own.is_file() else DECLARED) if paper is None else paper.page.script or ANY_PAPER
    icon = f":material/{view.icon}:"
    return st.Page(script, title=view.title, icon=icon, help=view.help, url_path=url, default=view is SENTENCE.views[0])


pages = {url: page_of(view, url) for place in places() for view in place.views for url in (view.url, *view.formerly)}
page = st.navigation(list(pages.values()), position="hidden")
header.begin(view_at(page.url_path), pages)
with header.beside(view_at(page.url_path)):
    page.run()
header.end()
