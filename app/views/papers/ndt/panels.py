"""The paper's figures 1 to 3: confusion matrices, ROC curves, t-SNE."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import pandas as pd
import streamlit as st

from app import shell
from app.views.papers.shared import digests
from sentviz.errors import SentvizError
from sentviz.figures import Figure, Theme
from sentviz.figures.confusion_panels import confusion_panels
from sentviz.figures.roc_panels import roc_panels
from sentviz.figures.tsne_panels import tsne_panels
from sentviz.gallery import code, sourced
from sentviz.papers.ndt.panels import confusions, missing, rocs, shown, with_vectors
from sentviz.papers.ndt.study import DATASETS
from sentviz.runs import Run
from sentviz.studies.tsne import cached, frame, picture

__all__ = ["confusion", "roc", "tsne"]


@st.cache_data(max_entries=4, show_spinner="Counting the answers")
def _confusions(key: tuple[str, ...], _runs: Sequence[Run]) -> pd.DataFrame:
    return confusions(_runs)


@st.cache_data(max_entries=4, show_spinner="Drawing the ROC curves")
def _rocs(key: tuple[str, ...], _runs: Sequence[Run]) -> pd.DataFrame:
    return rocs(_runs)


@st.cache_data(max_entries=4, show_spinner="t-SNE of the pooled vectors, about half a minute the first time")
def _pictures(key: tuple[str, ...], _runs: dict[str, Run]) -> pd.DataFrame:
    return frame({DATASETS[dataset]: picture(run) for dataset, run in _runs.items()})


def confusion(runs: Sequence[Run]) -> None:
    """Figure 1: the confusion matrix of each data set's best NDT."""
    _said("Figure 1: confusion matrices")
    key, lost = digests(runs), missing(runs)
    _figure(
        lambda theme: confusion_panels(_confusions(key, runs), missing=lost, theme=theme),
        shown(runs).values(),
        "ndt-confusion",
        "confusion-panels",
    )


def roc(runs: Sequence[Run]) -> None:
    """Figure 2: ROC curves of DT and of each data set's best NDT."""
    _said("Figure 2: ROC curves")
    key, lost = digests(runs), missing(runs)
    gone = [*lost, *(f"DT on {title}" for title in missing(runs, "diff") if title not in lost)]
    _figure(
        lambda theme: roc_panels(_rocs(key, runs), order=tuple(DATASETS.values()), missing=gone, theme=theme),
        [*shown(runs, "diff").values(), *shown(runs).values()],
        "ndt-roc",
        "roc-panels",
    )


def tsne(runs: Sequence[Run]) -> None:
    """Figure 3: t-SNE of the pooled vectors, computed when it is asked for."""
    _said("Figure 3: t-SNE of the pooled vectors")
    able = with_vectors(runs)
    if not all(cached(run) for run in able.values()) and not st.session_state.get("ndt-tsne-asked"):
        st.caption("Not computed on this machine yet; it takes about ten seconds a data set, once.")
        if not st.button("Compute", icon=":material/scatter_plot:", key="ndt-tsne"):
            return
        st.session_state["ndt-tsne-asked"] = True
        st.rerun()
    gone = [title for name, title in DATASETS.items() if name not in able]
    of_able = tuple(run.digest for run in able.values())
    _figure(lambda theme: tsne_panels(_pictures(of_able, able), missing=gone, theme=theme), able.values(), "ndt-tsne-figure", "tsne-panels")


def _said(title: str) -> None:
    st.markdown(f"##### {title}")
    st.caption("All data sets at once: as in the paper, one panel each.")


def _figure(make: Callable[[Theme], Figure], sources: Iterable[Run], key: str, figure: str) -> None:
    try:
        shell.figure(lambda theme: sourced(make(theme), *sources), key, code=code("all", figure), of=digests(list(sources)))
    except (OSError, SentvizError) as error:
        st.warning(shell.md(str(error)), icon=":material/block:")
