"""Does the injection help? The answer per data set, the gains as a picture, every comparison as a table."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from app.blocks.figure import show_drawn
from app.text import halves, md
from app.views.papers.shared import WORDS, digests, with_interval
from sentviz.gallery import code
from sentviz.papers.fused import tables as fused_tables
from sentviz.papers.fused.export import gains_figure, tasks_figure
from sentviz.papers.fused.study import DATASETS, ENCODERS, Answer, answer, configurations
from sentviz.papers.studies.against import SEEDS_IN_WORDS
from sentviz.papers.studies.made import Table
from sentviz.runs.store import Run

ICONS = {"yes": ":material/check_circle:", "no": ":material/cancel:", "cannot be told": ":material/help:"}


@st.cache_data(max_entries=8, show_spinner="Comparing the settings")
def _answer(dataset: str, key: tuple[str, ...], _runs: Sequence[Run]) -> Answer:
    return answer(_runs, dataset)


@st.cache_data(max_entries=8, show_spinner="Reading the runs")
def _table(name: str, key: tuple[str, ...], _runs: Sequence[Run]) -> Table:
    made: Table = getattr(fused_tables, name)(_runs)
    return made


def show(runs: Sequence[Run]) -> None:
    """The question answered, the gains, every comparison, and table 1."""
    _answers(runs)
    with st.expander("Every comparison, with p-values", on_change="rerun", key="fused-numbers") as more:
        if more.open:
            _numbers(runs)
    st.markdown("##### Table 1: accuracy, %")
    _accuracies(runs)


def _answers(runs: Sequence[Run]) -> None:
    """One sentence per data set with its numbers, then the gains beside the printed ones."""
    st.markdown("##### Does a sentiment lexicon in the scores help?")
    for dataset in DATASETS:
        one = _answer(dataset, digests(runs, dataset), runs)
        known = one.baseline is not None and len(one.rows) > 0
        with st.container(gap=None):
            st.markdown(f"{ICONS[one.word] if known else ':material/inventory_2:'} **{md(one.short)}**")
            st.caption(md(one.numbers) if known else one.numbers)
    st.caption(f"“Cannot be told” means that p is above 0.05 after Holm's correction over the settings. {SEEDS_IN_WORDS}")
    for column, dataset in zip(halves("fused-gains"), DATASETS, strict=True):
        with column:
            if dataset == "nsmc" or configurations(runs, dataset):
                show_drawn(
                    lambda theme, dataset=dataset: gains_figure(runs, dataset, theme),  # type: ignore[misc]
                    f"fused-gains-{dataset}",
                    code=code(dataset, "gains"),
                    of=digests(runs, dataset),
                )


def _numbers(runs: Sequence[Run]) -> None:
    """Every comparison with its p-values."""
    made = _table("comparisons", digests(runs), runs)
    if made.frame.empty:
        st.caption("There is no baseline with an injected run beside it yet.")
        return
    shown = made.frame.assign(verdict=made.frame["verdict"].map(WORDS))
    percent = ("accuracy", "difference", "low", "high", "spread")
    shown = shown.assign(**{name: 100 * shown[name] for name in percent})
    columns = ["data", "setting", "kind", "verdict", "difference", "p", "adjusted", "accuracy", "spread", "seeds", "n"]
    form: dict[Any, Any] = {"difference": with_interval(shown["difference"], shown["low"], shown["high"], "{:+.2f}")}
    form |= {"accuracy": "{:.2f}", "spread": "{:.2f}", "p": "{:.2g}", "adjusted": "{:.2g}", "n": "{:,.0f}", "seeds": "{:.0f}"}
    titles = {"difference": "gain, points", "adjusted": "p after Holm", "accuracy": "accuracy, %"}
    st.dataframe(
        shown[columns].style.format(form, na_rep="–"),
        hide_index=True,
        height="content",
        key="fused-comparisons",
        placeholder="–",
        column_config={name: st.column_config.Column(title) for name, title in titles.items()}
        | {"spread": st.column_config.Column("over seeds ±", help="Standard deviation of the setting's accuracy over its seeds, points")},
    )
    st.caption(md(made.caption))


def _accuracies(runs: Sequence[Run]) -> None:
    """Table 1, with ours beside it."""
    made = _table("accuracies", digests(runs), runs)
    frame = pd.DataFrame({"setting": made.frame["setting"]})
    for encoder in ENCODERS:
        frame[encoder] = 100 * made.frame[encoder]
    spans: dict[str, Any] = {}
    for dataset, title in DATASETS.items():
        name = f"ours, {title}"
        value, low, high = (100 * made.frame[column] for column in (dataset, f"{dataset}_low", f"{dataset}_high"))
        frame[name], frame[f"seeds, {title}"] = value, made.frame[f"{dataset}_seeds"]
        spans[name] = with_interval(value, low, high)
    form = dict.fromkeys(ENCODERS, "{:.2f}") | spans | {f"seeds, {title}": "{:.0f}" for title in DATASETS.values()}

    def bold(column: pd.Series[Any]) -> list[str]:
        return ["font-weight: 700" if one == column.max() else "" for one in column]

    best: list[Hashable] = [*ENCODERS, *spans]
    config = {name: st.column_config.Column(width=180) for name in spans} | {"setting": st.column_config.Column(pinned=True)}
    st.dataframe(
        frame.style.format(form, na_rep="–").apply(bold, subset=best),
        hide_index=True,
        height="content",
        key="fused-accuracy",
        column_config=config,
        placeholder="–",
    )
    st.caption(f"{md(made.caption)} Bold: the best of a column.")


def out_of_domain(runs: Sequence[Run]) -> None:
    """Table 3 as gains, and in numbers."""
    st.markdown("##### Table 3: out of domain")
    left, right = halves("fused-tasks")
    made = _table("tasks", digests(runs), runs)
    with left:
        made_of = digests(runs)
        show_drawn(lambda theme: tasks_figure(runs, theme), "fused-tasks", code=code("all", "gains-out-of-domain"), of=made_of)
    with right:
        here = made.frame.dropna(subset="difference")
        if here.empty:
            st.info("No out-of-domain pair of runs is here yet; the diamonds are the print.", icon=":material/inventory_2:")
            st.caption("`sentviz study fused-ood --dataset korean_hate_speech` trains the pairs of one task.")
        else:
            percent = {name: 100 * here[name] for name in ("baseline", "injected", "difference", "low", "high")}
            shown = here.assign(verdict=here["verdict"].map(WORDS), **percent)
            names = ["task", "verdict", "difference", "adjusted", "baseline", "injected", "seeds", "n"]
            form: dict[Any, Any] = {"difference": with_interval(shown["difference"], shown["low"], shown["high"], "{:+.2f}")}
            form |= {"baseline": "{:.2f}", "injected": "{:.2f}", "adjusted": "{:.2g}", "seeds": "{:.0f}", "n": "{:,.0f}"}
            titles = {"difference": "gain, points", "adjusted": "p after Holm"}
            config = {name: st.column_config.Column(title) for name, title in titles.items()}
            st.dataframe(
                shown[names].style.format(form), hide_index=True, height="content", key="fused-tasks", column_config=config, placeholder="–"
            )
        st.caption(md(made.caption))
