"""The paper's figure 3, whose points take a while where nobody has asked for them on this machine."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app import shell
from app.views.papers.shared import digests
from sentviz.errors import SentvizError
from sentviz.gallery import code, make
from sentviz.gallery.subjects import Study
from sentviz.papers.ndt.panels import with_vectors
from sentviz.runs import Run
from sentviz.studies.tsne import cached

__all__ = ["show"]


def show(runs: Sequence[Run]) -> None:
    """t-SNE of the pooled vectors of every data set, computed when it is asked for."""
    st.markdown("##### Figure 3: t-SNE of the pooled vectors")
    if not all(cached(run) for run in with_vectors(runs).values()) and not st.session_state.get("ndt-tsne-asked"):
        st.caption("Not computed on this machine yet; it takes about ten seconds a data set, once.")
        if not st.button("Compute", icon=":material/scatter_plot:", key="ndt-tsne"):
            return
        st.session_state["ndt-tsne-asked"] = True
        st.rerun()
    study = Study.of("all", runs)
    try:
        with st.spinner("t-SNE of the pooled vectors"):
            shell.figure(
                lambda theme: make("tsne-panels", study, theme=theme), "ndt-tsne-panels", code=code("all", "tsne-panels"), of=digests(runs)
            )
    except (OSError, SentvizError) as error:
        st.warning(shell.md(str(error)), icon=":material/block:")
