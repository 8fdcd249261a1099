"""Is it true? Each claim, the test, the verdict."""

from __future__ import annotations

import streamlit as st

from app import shell
from app.focus import choices
from app.views.papers.claims_part import ICONS, counted, listed, verdicts
from app.views.papers.shared import studied
from sentviz.glossary import tip
from sentviz.registry import papers, problems

PAPERS = {name: paper.short for name, paper in papers().items()}
VERDICTS = dict(zip(choices("verdict")[1:], ICONS, strict=True))

shell.intro(
    "Every claim in our words, held against the paper's own tables or against the runs here, with what the verdict rests on.",
    "Where no configuration has a second seed, chance in training is in no interval; a best one is chosen on these rows, which Holm's"
    " correction pays for.",
)
for problem in problems():
    st.warning(shell.md(problem), icon=":material/extension_off:")
focus = shell.focus()
runs = studied()
with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
    shell.choose(
        st.segmented_control, "Paper", "paper", choices("paper"), format_func=lambda name: PAPERS.get(name, f"all {len(PAPERS)} papers")
    )
    of_paper = verdicts(runs, [focus.paper] if focus.paper in PAPERS else ())
    counts = of_paper["verdict"].value_counts()
    shell.choose(
        st.segmented_control,
        "Verdict",
        "verdict",
        choices("verdict"),
        format_func=lambda name: f"{VERDICTS.get(name, 'any')} ({counts.get(VERDICTS[name], 0) if name in VERDICTS else len(of_paper)})",
        help=tip("verdict"),
    )
shown = of_paper[of_paper["verdict"] == VERDICTS[focus.verdict]] if focus.verdict in VERDICTS else of_paper
if shown.empty:
    st.caption(
        "No claim has this verdict." if len(of_paper) else f"No claim of {shell.md(PAPERS.get(focus.paper, 'any paper'))} is tested yet."
    )
for paper, group in shown.groupby("paper", sort=False):
    st.markdown(f"##### {shell.md(str(paper))}")
    if focus.paper not in PAPERS and focus.verdict not in VERDICTS:
        counted(group)
    listed(group)
shell.csv(shown.drop(columns="parts"), "sentviz-claims", "claims-csv")
