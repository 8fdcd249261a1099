"""The hardmax paper: its pipeline, its numbers beside ours, its pictures and its claims."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from app import shell
from app.views.papers import claims_part
from app.views.papers.shared import studied
from app.views.sentence import hardmax_parts
from sentviz.figures.beside import measured_beside_printed
from sentviz.figures.clustering import layer_bands, leader_bars
from sentviz.gallery import code, sourced
from sentviz.papers.hardmax import PAPER
from sentviz.papers.hardmax.claims import beside
from sentviz.studies.collected import of_paper
from sentviz.testset.leaders import FILE, frequent, leading, per_layer

shell.intro(
    "What “Clustering in pure-attention hardmax transformers” (arXiv 2407.01602) claims, beside what the runs here measure.",
    "The poster prints no accuracies: those of the authors' public code stand in, best test accuracies of theirs against one run of ours.",
)
runs = studied()
own = of_paper(PAPER, runs)
st.markdown("##### Do words gather around leaders that carry the sentiment?")
for row in claims_part.verdicts(runs, [PAPER.name]).to_dict("records"):
    with st.container(gap=None):
        st.markdown(f"{claims_part.ICONS[row['verdict']]} **{shell.md(row['claim'])}**: {row['verdict']}")
        st.caption(shell.md(row["evidence"]))
st.markdown(
    "**Embedding** (each word a point in d dimensions) → **8 hardmax layers** (each point moves towards those furthest in its own"
    " direction) → **mean** → **decoder** (which side of a line)."
)
st.page_link("views/sentence/hardmax.py", label="Watch it on a review of your own", icon=":material/bubble_chart:")
if not own:
    hardmax_parts.without_runs()
    st.stop()

table = beside(runs)
left, right = shell.halves("hardmax-paper")
with left:
    frame = table.assign(model=[f"d = {d}" for d in table["d"]], printed=table["public"], seeds=1)
    sources = [run for run in own if run.name in set(table["run"])]
    shell.figure(
        lambda theme: sourced(
            measured_beside_printed(frame, title="Test accuracy by dimension", percent=True, other="the public code's best", theme=theme),
            *sources,
        ),
        "hardmax-accuracy",
        code=code("all", "hardmax-accuracy"),
    )
surveyed = next((run for run in own if run.configuration == "hardmax-d2" and FILE in run.config["files"]), None)
if surveyed is not None:
    with right:
        bands = per_layer(surveyed.frame(FILE))
        shell.figure(
            lambda theme, of=surveyed: sourced(layer_bands(bands, "at leaders", "Share of words at a leader", share=True, theme=theme), of),  # type: ignore[misc]
            "hardmax-depth",
            code=code(surveyed.name, "leaders-depth", measure="at leaders"),
        )
    asked = hardmax_parts.model(surveyed)
    words = leading(surveyed.frame(FILE), asked.vocabulary)
    reach = float((words.loc[words["leads"] > 0, "score"].abs() / np.linalg.norm(asked.decision[0])).max())
    led = frequent(surveyed.frame(FILE), asked.vocabulary, asked.decision[0], distance=reach / 3, confidence=0.95, top=15)
    for column, label in zip(shell.halves("hardmax-led"), surveyed.labels, strict=False):
        with column:
            shell.figure(
                lambda theme, label=label: sourced(leader_bars(led, label, theme=theme), surveyed),  # type: ignore[misc]
                f"paper-led-{label}",
                code=code(surveyed.name, "leaders", label=label),
            )
    st.caption(f"Leaders at least {reach / 3:.2f} from the line, a third of how far leaders reach here; other thresholds on Hardmax.")
with st.expander("Every printed picture and number, and where it is here"):
    shown = pd.DataFrame(PAPER.items())
    st.dataframe(shown[["printed", "title", "state", "view", "runs", "why"]], hide_index=True, placeholder="–", height="content")
