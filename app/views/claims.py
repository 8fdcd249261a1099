"""Is it true? Each claim, the test, the verdict."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from app import shell, store
from sentviz.runs import Run
from sentviz.studies.claims import judged

shell.intro(
    "Every claim in our words, held against the paper's own tables or against the runs here, with what the verdict rests on.",
    "Where a side has one seed, chance in training is not in the interval; a best configuration is chosen on these rows, which Holm's"
    " correction pays for.",
)


@st.cache_data(max_entries=4, show_spinner="Testing the claims")
def verdicts(digests: tuple[str, ...], _runs: list[Run]) -> pd.DataFrame:
    return judged(_runs)


runs = list(store.runs().values())
frame = verdicts(tuple(run.digest for run in runs), runs)
ICONS = {"holds": ":material/check_circle:", "does not hold": ":material/cancel:", "cannot be told": ":material/help:"}
counts = frame["verdict"].value_counts()
st.markdown(" · ".join(f"{ICONS[name]} {name}: **{counts.get(name, 0)}**" for name in ICONS))
for (paper, against), group in frame.groupby(["paper", "against"], sort=False):
    st.markdown(f"##### {paper}, held against {against}")
    for row in group.to_dict("records"):
        with st.container(border=True, horizontal=True, gap="medium", vertical_alignment="center"):
            st.markdown(f"{ICONS[row['verdict']]} **{row['verdict']}**", width=150)
            with st.container(gap=None):
                st.markdown(shell.md(row["claim"]))
                st.caption(f"{shell.md(row['evidence'])} · {shell.md(row['where'])}")
table = frame.to_csv(index=False).encode("utf-8-sig")
st.download_button("CSV", table, "sentviz-claims.csv", "text/csv", icon=":material/download:", on_click="ignore")
