"""Hardmax lab: tokens that cluster around leaders, on the visitor's review, on points of any kind, and over a data set."""

from __future__ import annotations

import streamlit as st

from app import visit
from app.text import intro
from app.views.hardmax import leaders, playground, review

intro(
    "Each word is a point. In every layer it moves towards the words furthest in its direction. In the end the words gather at a few"
    " leaders.",
    "The page shows how this small classifier decides, not how a large transformer decides.",
)
PARTS = {"review": "A review", "playground": "Playground", "leaders": "Leaders in the data set"}
part = visit.setting(st.segmented_control, "Part", "lab", PARTS, required=True)
match part:
    case "playground":
        playground.show()
    case "leaders":
        leaders.show()
    case _:
        review.show()
