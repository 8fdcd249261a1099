"""The paper Sentiment-Fused Attention: its question answered, then every printed table and figure beside the runs here."""

from __future__ import annotations

import streamlit as st

from app import shell
from app.views.papers import claims_part
from app.views.papers.fused import gains, parts
from app.views.papers.shared import studied

shell.intro(
    "What “Enhancing Self-Attention via Knowledge Fusion” (Jang, Kim and Shin: Sentiment-Fused Attention) prints, beside what the runs here"
    " measure, with 95% intervals.",
    "The paper fine-tunes five pretrained encoders; ours is one small encoder trained from scratch: gains can be set side by side,"
    " accuracies cannot.",
)
runs = studied()
gains.answers(runs)
with st.expander("Every comparison, with p-values", on_change="rerun", key="fused-numbers") as numbers:
    if numbers.open:
        gains.numbers(runs)
st.markdown("##### Table 1: accuracy, %")
gains.table(runs)
st.markdown("##### Table 2: mean and spread of the printed gains, points")
parts.statistics()
st.markdown("##### Figure 5: what σ can and cannot do to [CLS]")
parts.cls(runs)
st.markdown("##### Table 3: out of domain")
gains.out_of_domain(runs)
st.markdown("##### Figure 4: how much of the text the lexicon reaches")
parts.covered()
st.markdown("##### The paper's claims")
claims = claims_part.verdicts(runs, ["fused"])
claims_part.counted(claims)
claims_part.listed(claims)
with st.expander("Every printed table and figure, and where it is here", on_change="rerun", key="fused-list") as more:
    if more.open:
        parts.listed_items(runs)
