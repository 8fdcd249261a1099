"""Any view that is declared as data."""

from __future__ import annotations

import streamlit as st

from app.blocks.sections import show_page
from app.views.model.pages import PAGES

view = st.session_state["view"]
show_page(PAGES[view.script], view.url)
