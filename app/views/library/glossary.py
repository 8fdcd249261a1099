"""The words used here, each with its formula and its paper."""

from __future__ import annotations

import streamlit as st

from app.text import halves, intro, md
from sentviz.io.glossary import glossary

intro(
    "The words used on these pages, each with its formula and the paper it comes from; the question marks elsewhere say the same.",
    "It is no textbook: the papers themselves have the proofs.",
)
wanted = st.text_input("Find", key="find", label_visibility="collapsed", placeholder="Find a word")
terms = [term for term in glossary().values() if wanted.casefold() in f"{term.title} {term.text} {term.paper}".casefold()]
if not terms:
    st.info(f"Nothing here mentions “{md(wanted)}”.", icon=":material/search_off:")
for start in range(0, len(terms), 3):
    for column, term in zip(halves(f"glossary-{start}", 1.0, 1.0, 1.0), terms[start : start + 3], strict=False):
        with column.container(border=True, height="stretch"):
            st.markdown(f"**{term.title}**")
            st.markdown(md(term.text))
            if term.formula:
                st.latex(term.formula)
            st.caption(md(term.paper))
