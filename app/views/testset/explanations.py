"""Which explanation can be trusted? Faithfulness over a sample of the test split."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from app import cache
from app.blocks.figure import show_figure
from app.blocks.measure import measured_run
from app.text import halves, intro
from sentviz.analysis.explain import SCORES
from sentviz.analysis.explain.measured import faithfulness_of, flips_of, has_faithfulness
from sentviz.gallery.subjects import Runs
from sentviz.gallery.training import RANKED
from sentviz.io.glossary import tip

intro(
    "How faithful each explanation is over a sample of the test split, compared with a random order of the same words.",
    "A faithful explanation names words that decide the prediction. The prediction can still be wrong.",
)
every = list(cache.runs().values())
run = measured_run([each for each in every if has_faithfulness(each)], every, "faithfulness", "cannot be measured")
frame = faithfulness_of(run)
frame = frame.assign(method=[SCORES[name].title if name in SCORES else name for name in frame["method"]])


def of(metric: str) -> pd.DataFrame:
    return frame[frame["metric"] == metric]


left, right = halves("faithfulness")
for column, metric in zip((left, right, left), RANKED, strict=True):
    with column:
        show_figure("faithfulness", Runs(run), f"ranking-{metric}", metric=metric)
with right:
    rivals = of("comprehensiveness").query("method != 'random' and method != 'Word removal'").sort_values("value", ascending=False)
    best = rivals.iloc[0]
    near = int((rivals["high"].iloc[1:] >= best["low"]).sum())
    st.markdown(f"##### Highest after word removal: {best['method']}", help=tip("faithfulness"))
    overlap = "the interval of one other overlaps" if near == 1 else f"the intervals of {near} others overlap"
    st.markdown(
        f"Comprehensiveness {best['value']:.2f} [{best['low']:.2f}, {best['high']:.2f}]; "
        + (f"{overlap} with it, so the difference is not significant." if near else "no other interval overlaps with it.")
    )
    st.caption(
        "Word removal is the reference: it runs the model without each word, which is close to what comprehensiveness measures, so it has"
        " an advantage by construction. A method whose number is near the grey line is no better than chance."
    )
    times = of("milliseconds").sort_values("value")
    if not times.empty:
        st.markdown("##### Time per sentence")
        costs = (f"{row['method']} {row['value']:.0f}" for row in times.to_dict("records"))
        n = int(times["n"].max())
        st.markdown(
            f"Milliseconds in addition to the prediction, mean of {n} sentences on the machine that measured: " + " · ".join(costs) + "."
        )
    flips = {row["metric"]: row for row in flips_of(run).to_dict("records")}
    if flips:
        st.markdown("##### The smallest edit that changes the predicted class", help=tip("flip"))
        shares = {metric: f"{row['value']:.0%} [{row['low']:.0%}, {row['high']:.0%}]" for metric, row in flips.items()}
        cost = f"{flips['passes']['value']:.0f} edited texts, {flips['milliseconds']['value'] / 1e3:.1f} s per sentence"
        st.markdown(
            f"Found for {shares['found']} of {flips['found']['n']} sentences; one word is enough for {shares['one']} ({cost})."
            + (
                f" For {shares['known']} of them, a one-word edit was found, or all plausible one-word edits were tried."
                if "known" in shares
                else ""
            )
            + (f" {shares['random']} of random edits of as many words also change the predicted class." if "random" in shares else "")
        )
