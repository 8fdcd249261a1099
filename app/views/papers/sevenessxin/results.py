"""Tables I and II, phase against phase, the learning curve, and the public log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from app.blocks.figure import show_drawn
from app.text import halves, md
from app.views.papers.shared import WORDS, digests, plain, signed, wide, with_interval
from sentviz.figures import Figure
from sentviz.gallery import code
from sentviz.papers.sevenessxin import prints, tables
from sentviz.papers.sevenessxin.export import beside_figure, curve_figure, gains_figure, train
from sentviz.papers.sevenessxin.presets import VERSIONS
from sentviz.papers.sevenessxin.study import configurations, sized
from sentviz.papers.studies.made import Table
from sentviz.runs.store import Run

TABLES = {"results": tables.results, "phases": tables.phases, "updates": tables.more_updates}
FIGURES: dict[str, Callable[..., Figure]] = {
    "versions-beside-print": beside_figure,
    "rope-gains": gains_figure,
    "learning-curve": curve_figure,
}


@st.cache_data(max_entries=8, show_spinner="Reading the runs")
def _table(name: str, key: tuple[str, ...], _runs: Sequence[Run]) -> Table:
    return TABLES[name](_runs)


def _drawn(name: str, runs: Sequence[Run]) -> None:
    show_drawn(
        lambda theme: FIGURES[name](runs, theme=theme),
        f"sevenessxin-{name}",
        code=code(prints.DATASET, name),
        of=digests(runs, prints.DATASET),
    )


def _needed(study: str = "sevenessxin") -> None:
    st.info(f"These runs are not here. `{train(study)}` trains them.", icon=":material/inventory_2:")


def show(runs: Sequence[Run]) -> None:
    """Table II with ours in it, the accuracies drawn, and table I."""
    here = configurations(runs)
    if not here:
        _needed()
    made = _table("results", digests(runs, prints.DATASET), runs)
    shown, forms = wide(made.frame, "metric", "{:.2f}")
    st.dataframe(
        shown.style.format(forms, na_rep="–"),
        height="content",
        placeholder="–",
        key="sevenessxin-table-2",
        column_config={"model": st.column_config.Column(pinned=True, width=130)},
    )
    st.caption(md(made.caption))
    if here:
        _drawn("versions-beside-print", runs)
    with st.expander("Table I: the settings of each version"):
        settings = tables.settings(runs)
        plain(settings.frame, key="sevenessxin-table-1", digits=0)
        st.caption(md(settings.caption))


def phases(runs: Sequence[Run]) -> None:
    """What RoPE and QK-norm are worth, version by version."""
    made = _table("phases", digests(runs, prints.DATASET), runs)
    if made.frame.empty:
        _needed()
        return
    left, right = halves("sevenessxin-phases")
    with left:
        _drawn("rope-gains", runs)
    with right:
        names = ("difference", "low", "high", "printed", "logged")
        frame = made.frame.assign(verdict=made.frame["verdict"].map(WORDS), **{name: 100 * made.frame[name] for name in names})
        form: dict[Any, Any] = {"difference": with_interval(frame["difference"], frame["low"], frame["high"], "{:+.2f}")}
        form |= {"printed": signed("{:+.2f}"), "logged": signed("{:+.2f}"), "adjusted": "{:.2g}", "seeds": "{:.0f}"}
        titles = {"row": "version", "difference": "difference, points", "logged": "in its log", "adjusted": "p after Holm"}
        st.dataframe(
            frame[["row", "verdict", "difference", "printed", "logged", "adjusted", "seeds"]].style.format(form, na_rep="–"),
            hide_index=True,
            height="content",
            placeholder="–",
            key="sevenessxin-phases-table",
            column_config={name: st.column_config.Column(title) for name, title in titles.items()},
        )
        st.caption(md(made.caption))


def curve(runs: Sequence[Run]) -> None:
    """Accuracy over how many tweets were learned from."""
    st.caption(
        "The paper's own test of scarcity is V5 against V1: a sixteenth of the tweets. Its full size cannot be had here, so the curve below"
        " stands in: the same model and updates on 5,000 tweets to all that are here, each set part of the next."
    )
    if any(len(sized(runs, version)) > 1 for version in VERSIONS[:1]):
        _drawn("learning-curve", runs)
    else:
        _needed("sevenessxin-curve")
    st.markdown("##### With more updates")
    made = _table("updates", digests(runs, prints.DATASET), runs)
    if made.frame.empty:
        _needed("sevenessxin-updates")
        return
    frame = made.frame.assign(**{name: 100 * made.frame[name] for name in ("value", "low", "high", "printed")})
    form: dict[Any, Any] = {"value": with_interval(frame["value"], frame["low"], frame["high"]), "printed": "{:.2f}"}
    form |= {"updates": "{:,.0f}", "epochs": "{:.2f}", "n": "{:,.0f}", "seeds": "{:.0f}"}
    st.dataframe(
        frame[["model", "updates", "epochs", "value", "printed", "n", "seeds"]].style.format(form, na_rep="–"),
        hide_index=True,
        height="content",
        key="sevenessxin-updates-table",
        column_config={"value": st.column_config.Column("accuracy, %"), "printed": st.column_config.Column("print, %")},
    )
    st.caption(md(made.caption))


def log(runs: Sequence[Run]) -> None:
    """Where the public log differs from the table."""
    made = tables.log(runs)
    plain(made.frame, key="sevenessxin-log", digits=4)
    st.caption(md(made.caption))
