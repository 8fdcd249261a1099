"""Figures 6 and 7: what the first layer looks at in a contrast and in a retraction, or in a sentence of yours."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app import cache
from app.blocks.figure import show_drawn
from app.text import halves, md
from sentviz.errors import SentvizError
from sentviz.gallery import Sentence, code, make
from sentviz.papers.sevenessxin import prints
from sentviz.papers.sevenessxin.claims import BEST
from sentviz.papers.sevenessxin.export import train
from sentviz.papers.sevenessxin.study import configurations
from sentviz.runs.store import Run

SENTENCES = {
    "contrast": "I hate waiting for the bus, but this song makes me smile.",
    "retraction": "Cooking makes me happy, only joking.",
}


def asked(runs: Sequence[Run], key: str) -> Run | None:
    """A version with weights; a sentence where none is here."""
    here = {prints.title(name): run for name, seeds in configurations(runs).items() for run in seeds[:1] if run.has_weights}
    if not here:
        st.info(f"No version of 7ess-Xin with weights is here. `{train()}` trains them.", icon=":material/inventory_2:")
        return None
    names, best = list(here), prints.title(BEST)
    return here[st.selectbox("Version", names, names.index(best) if best in here else 0, key=key, width=260)]


def show(runs: Sequence[Run]) -> None:
    """Two sentences side by side."""
    run = asked(runs, "sevenessxin-importance-of")
    if run is None:
        return
    for column, (kind, example) in zip(halves("sevenessxin-importance"), SENTENCES.items(), strict=True):
        with column:
            text = st.text_input(kind.capitalize(), example, key=f"sevenessxin-{kind}")
            try:
                trace = cache.model(run).trace(text)
            except SentvizError as error:
                st.warning(md(str(error)), icon=":material/edit:")
                continue
            st.markdown(f"{md(trace.label)}, {trace.confidence:.0%}")
            of = Sentence.of(run, trace)
            show_drawn(
                lambda theme, of=of: make("token-importance", of, theme=theme),  # type: ignore[misc]
                f"sevenessxin-importance-{kind}",
                code=code(run.name, "token-importance", text=text),
            )
    st.caption(
        "As the paper computes it: attention of the first layer, averaged over its heads, then over the tokens that look. It says where a"
        " layer looks, not why the answer is what it is: word removal on Explore asks that."
    )
