"""How fast it is: texts a second beside BERT-base and DistilBERT, time against length, and a step of training, beside the print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from app.blocks.figure import show_drawn
from app.text import halves, md
from app.views.papers.shared import with_interval
from sentviz.errors import SentvizError
from sentviz.gallery import code
from sentviz.papers.sentiformer import throughput
from sentviz.papers.sentiformer.export import growth_figure
from sentviz.runs.store import Run


def show(runs: Sequence[Run]) -> None:
    try:
        speeds, growth, steps = throughput.speeds_table(), throughput.growth_table(), throughput.steps_table()
    except SentvizError as error:
        st.info(md(str(error)), icon=":material/timer_off:")
        return
    left, right = halves("sentiformer-speed")
    with left:
        show_drawn(lambda theme: growth_figure(theme=theme), "sentiformer-growth", code=code("all", "time-by-length"))
    with right:
        frame = speeds.frame
        forms: dict[Any, Any] = {"times": with_interval(frame["times"], frame["low"], frame["high"]), "printed_times": "{:.1f}"}
        forms |= {"threads": "{:.0f}", "texts_per_second": "{:,.1f}", "printed_per_second": "{:,.0f}"}
        titles = {
            "texts_per_second": "texts a second",
            "times": "times",
            "printed_times": "times, printed",
            "printed_per_second": "a second, printed",
        }
        st.dataframe(
            frame[["model", "threads", "texts_per_second", "times", "printed_times", "printed_per_second"]].style.format(forms, na_rep="–"),
            hide_index=True,
            height="content",
            placeholder="–",
            key="sentiformer-speeds",
            column_config={name: st.column_config.Column(title) for name, title in titles.items()},
        )
        st.caption(md(speeds.caption))
        st.markdown("##### A step of training, full against sparse attention")
        frame = steps.frame
        forms = {"full": "{:,.0f}", "sparse": "{:,.0f}", "times": with_interval(frame["times"], frame["low"], frame["high"])}
        titles = {"tokens": "tokens a text", "full": "full, ms", "sparse": "sparse, ms", "times": "full over sparse"}
        st.dataframe(
            frame[["tokens", "threads", "full", "sparse", "times"]].style.format(forms, na_rep="–"),
            hide_index=True,
            height="content",
            placeholder="–",
            key="sentiformer-steps",
            column_config={name: st.column_config.Column(title) for name, title in titles.items()},
        )
        st.caption(md(steps.caption))
        with st.expander("Every number of the curves", on_change="rerun", key="sentiformer-growth-numbers") as more:
            if more.open:
                st.dataframe(growth.frame, hide_index=True, placeholder="–", key="sentiformer-growth-table")
                st.caption(md(growth.caption))
