"""What padding changes where it is read instead of masked, as the published code does it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from app import cache
from app.text import md
from app.views.papers.sevenessxin.sentences import SENTENCES, asked
from app.views.papers.shared import plain
from sentviz.errors import SentvizError
from sentviz.io.glossary import tip
from sentviz.papers.sevenessxin import measured
from sentviz.runs.store import Run


def show(runs: Sequence[Run]) -> None:
    """Over the test split as measured, and on one sentence now."""
    st.markdown("##### Padding that is read", help=tip("padding"))
    st.caption(
        "The published code fills every tweet up to 128 tokens or more and masks nothing, neither in attention nor in the mean. Ours masks,"
        " and can be asked without. A model trained with its mask meets here what it never saw: this says that the mask matters to it, not"
        " that training without one is worse; `7ess-v1-unmasked` is trained so."
    )
    frame = measured.table("padding")
    if frame.empty:
        st.info(f"It is not measured over the test split. `{measured.COMMANDS['padding']}` measures it.", icon=":material/straighten:")
    else:
        plain(frame.drop(columns=["run", "digest"]), key="sevenessxin-padding", n="{:,.0f}")
        st.caption(
            f"{md(frame['run'].iloc[0])} on its test split: the share of answers that change, what accuracy changes with padding read"
            " (shares, 95% intervals over rows), and how far the pooled vector moves, as a part of its length (median)."
        )
    run = asked(runs, "sevenessxin-padding-of")
    if run is None:
        return
    text = st.text_input("Sentence", SENTENCES["contrast"], key="sevenessxin-padding-text")
    try:
        masked, read = (cache.model(run).trace(text, change=change) for change in ("", "term:mask=0"))
    except SentvizError as error:
        st.warning(md(str(error)), icon=":material/edit:")
        return
    assert masked.pooled is not None and read.pooled is not None
    real = len(read.tokens) - read.padding
    onto = float(read.map(0).mean(axis=0)[real:].sum())
    shift = float(np.linalg.norm(read.pooled - masked.pooled) / np.linalg.norm(masked.pooled))
    table = pd.DataFrame(
        {
            "padding": ["masked", "read"],
            "answer": [f"{trace.label}, {trace.confidence:.0%}" for trace in (masked, read)],
            "tokens": [len(masked.tokens), len(read.tokens)],
            "attention of layer 1 on padding": ["none", f"{onto:.0%}"],
            "pooled vector moved by": ["", f"{shift:.0%} of its length"],
        }
    )
    st.dataframe(table, hide_index=True, key="sevenessxin-padding-now")
    st.caption("The same switch stands on Explore, under what can be changed by hand: Mask.")
