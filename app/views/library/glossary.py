"""The terms of the pages, each with its formula and its paper."""

from __future__ import annotations

import streamlit as st

from app import visit
from app.text import halves, intro, md
from sentviz.io.glossary import glossary

intro(
    "The terms of these pages, each with its formula and its paper. The question marks on other pages show the same texts.",
    "The glossary has no proofs: the papers have them.",
)
wanted = visit.page_value("find", "", str)
st.text_input("Find", label_visibility="collapsed", placeholder="Find a word", **visit.bound("find", wanted))
every = glossary()
terms = [every[wanted]] if wanted in every else [term for term in every.values() if wanted.casefold() in term.words.casefold()]
letters = list(dict.fromkeys(term.title[0].upper() for term in terms))
if len(letters) > 1:
    letter = visit.setting(st.pills, "First letter", "letter", ["all", *letters])
    terms = [term for term in terms if letter in ("all", term.title[0].upper())]
if not terms:
    st.info(f"No term mentions “{md(wanted)}”.", icon=":material/search_off:")
for start in range(0, len(terms), 3):
    for column, term in zip(halves(f"glossary-{start}", 1.0, 1.0, 1.0), terms[start : start + 3], strict=False):
        with column.container(border=True, height="stretch"):
            st.markdown(f"**{term.title}**")
            st.markdown(md(term.text))
            for line in term.lines:  # a card is narrow
                st.latex(line)
            if term.symbols:
                st.caption("  \n".join(f"${symbol}$: {md(meaning)}" for symbol, meaning in term.symbols))
            st.caption(md(term.paper))
