"""Hardmax lab: tokens that cluster around leaders, on the visitor's review, on points of any kind, and over a data set."""

from __future__ import annotations

import streamlit as st

from app import visit
from app.text import intro
from app.views.hardmax import leaders, playground, review

intro(
    "Words become points; layer by layer each moves towards those furthest in its own direction, until a few leaders hold them all.",
    "It shows how this small classifier decides, not how a large transformer does.",
)
PARTS = {"review": "A review", "playground": "Playground", "leaders": "Leaders in the data set"}
part = visit.setting(
    st.segmented_control, "Part", "lab", list(PARTS), required=True, format_func=lambda name: PARTS[name], label_visibility="collapsed"
)
match part:
    case "playground":
        playground.show()
    case "leaders":
        leaders.show()
    case _:
        review.show()
