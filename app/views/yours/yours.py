"""The page for what a visitor brings: first the wish, then a file, lines or a model. It also trains on the data sets of this machine."""

from __future__ import annotations

import streamlit as st

from app import visit
from app.text import intro, md
from app.views.yours import file_part, library_part, model_part
from sentviz.data.formats import KINDS

WISHES = {
    "judge": "See where a model is wrong",
    "compare": "Compare models on my texts",
    "train": "Train a model on my texts",
    "open": "Open my own model",
}
BRING = ("A file", "Lines", "A model")  # "A model" is the wish "open" in links of earlier versions

intro(
    "Bring a file of texts, some lines or a model. You see how it is understood, change what is wrong, and look at the mistakes.",
    "What you bring stays in memory for this visit until you save it.",
)
bring = visit.chosen("bring", BRING)
wish = visit.setting(
    st.segmented_control,
    "What would you like to do?",
    "wish",
    WISHES,
    default="open" if bring == BRING[2] else "judge",
    required=True,
    label_visibility="visible",
)
if wish == "open":
    model_part.show()
else:
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        visit.setting(st.segmented_control, "Bring", "bring", BRING[:2], required=True)
        file_part.example()
    why = ""
    if bring == BRING[1]:
        why = file_part.pasted()
    else:
        file = st.file_uploader("File", type=[suffix[1:] for suffix in KINDS], key="yours-uploader", label_visibility="collapsed")
        why = file_part.refused(file) if file is not None else ""
    if why:
        st.warning(md(why), icon=":material/block:")
    elif file_part.FILE in st.session_state:
        table, notes = st.session_state[file_part.FILE]
        file_part.show(table, notes, wish)
library_part.saved()
library_part.models()
