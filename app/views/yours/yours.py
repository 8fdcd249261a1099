"""The visitor's own file as a data set, for this visit or for the library of this machine."""

from __future__ import annotations

import streamlit as st

from app.text import intro, md
from app.views.yours import file_part, library_part
from sentviz.data.formats import KINDS

intro(
    "Your file of texts as a data set: its columns, its classes, and the rows that are left out. Change what is wrong.",
    "The file stays in memory for this visit until you save it.",
)
file = st.file_uploader("File", type=[suffix[1:] for suffix in KINDS], key="yours-uploader", label_visibility="collapsed")
if file is not None and (why := file_part.refused(file)):
    st.warning(md(why), icon=":material/block:")
elif file_part.FILE in st.session_state:
    file_part.show(*st.session_state[file_part.FILE])
library_part.saved()
