"""The page for what a visitor brings: a file, lines, a model. It also trains on the data sets in the library of this machine."""

from __future__ import annotations

import streamlit as st

from app import visit
from app.text import intro, md
from app.views.yours import file_part, library_part, model_part
from sentviz.data.formats import KINDS

BRING = ("A file", "Lines", "A model")

intro(
    "Bring a file of texts, some lines or a model. You see how it is understood, change what is wrong, and look at the mistakes.",
    "What you bring stays in memory for this visit until you save it.",
)
chosen = visit.setting(st.segmented_control, "Bring", "bring", BRING, label_visibility="collapsed")
why = ""
if chosen == BRING[0]:
    file = st.file_uploader("File", type=[suffix[1:] for suffix in KINDS], key="yours-uploader", label_visibility="collapsed")
    why = file_part.refused(file) if file is not None else ""
elif chosen == BRING[1]:
    why = file_part.pasted()
else:
    model_part.show()
if why:
    st.warning(md(why), icon=":material/block:")
elif chosen != BRING[2] and file_part.FILE in st.session_state:
    file_part.show(*st.session_state[file_part.FILE])
library_part.saved()
library_part.models()
