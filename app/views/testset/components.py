"""Do the components specialise? Their maps over a sample of the test split, against three baselines."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from app import cache
from app.blocks.figure import show_figure
from app.blocks.measure import measured_run
from app.blocks.slice_choice import note_unsliced
from app.places import MIXED
from app.text import halves, intro, md
from sentviz.analysis.maps.specialise import FILE, verdict
from sentviz.analysis.maps.wordclasses import own_lists
from sentviz.charts.maps import component_name
from sentviz.charts.subjects import Runs
from sentviz.io.glossary import tip
from sentviz.io.numbers import signed

intro(
    "Do the components A₁, A₂, … of a model look at different words? A sample of the test split, compared with chance.",
    "The page does not show what they do to the prediction.",
)
note_unsliced("the measurements are stored as means over their sample, not for each of its rows")
run = measured_run(MIXED, "specialise")
frame = run.frame(FILE)
answer, *reasons = verdict(frame)
st.markdown(f"##### {md(answer)}", help=tip("component"))
show_figure("component-words", Runs(run))
st.markdown("\n".join(f"- {md(reason)}" for reason in reasons))
mixing = ""
if run.has_weights:  # The stored example has the lambdas.
    lambdas = cache.example(run).lambdas
    weights = "; ".join(
        f"layer {layer + 1}: " + ", ".join(f"{component_name(c)} {signed(weight)}" for c, weight in enumerate(row) if c)
        for layer, row in enumerate(lambdas)
    )
    minus = " A component with a negative weight is subtracted." if (lambdas < 0).any() else ""
    mixing = f" A₁ enters with weight 1; {weights.replace('-', '−')}.{minus}"
st.caption(
    "A habit is a component's entropy or its attention to one of five classes of words, in one layer."
    f" The maps are measured before mixing. From layer 2 on, a token's state also contains its neighbours.{mixing}"
)
left, right = halves("components")
with left:
    show_figure("component-likeness", Runs(run))
with right:
    show_figure("component-entropy", Runs(run))

cells = frame[frame["component"] == -1]
table = pd.DataFrame({"habit": [name or "entropy" for name in cells["word_class"]], "layer": cells["layer"].to_numpy() + 1}).join(
    cells[["value", "low", "high", "p_holm", "untrained_high", "dealt_high", "p_dealt", "n"]].reset_index(drop=True)
)
st.markdown("##### Differences between the components")
st.dataframe(
    table,
    hide_index=True,
    placeholder="–",
    height="content",
    column_config={
        "value": st.column_config.NumberColumn("difference", format="%.3f", help="largest minus smallest of the components' means"),
        "low": st.column_config.NumberColumn("from", format="%.3f", help="95 % bootstrap interval over sentences"),
        "high": st.column_config.NumberColumn("to", format="%.3f"),
        "p_holm": st.column_config.NumberColumn(
            "p, shuffled",
            format="%.3f",
            help="p-value from labels shuffled 2,000 times within each sentence, after Holm; the smallest p before Holm is 0.0005",
        ),
        "untrained_high": st.column_config.NumberColumn(
            "untrained, largest", format="%.3f", help="largest difference in an untrained model"
        ),
        "dealt_high": st.column_config.NumberColumn(
            "heads shuffled, 97.5 %", format="%.3f", help="97.5 % limit of the difference when heads are shuffled between components"
        ),
        "p_dealt": st.column_config.NumberColumn(
            "p, heads shuffled", format="%.3f", help="share of shuffles with at least this difference; not corrected"
        ),
    },
)
with st.expander("Which words count"):
    name = frame["lexicon"].iloc[0]
    st.markdown(
        f"Positive and negative words: the sign of their polarity in `{name}`, without the words below. The other classes are the complete"
        " lists below. A word that is not in the model's vocabulary has no class."
    )
    for key, words in own_lists().items():
        st.caption(f"**{key}**: {md(', '.join(sorted(words)))}")
