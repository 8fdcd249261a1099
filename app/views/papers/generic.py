"""Any paper: its question answered, its printed tables and figures with what is measured here, its claims."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from app import shell
from app.views.papers import claims_part
from app.views.papers.shared import digests, plain, studied
from sentviz.errors import SentvizError
from sentviz.registry import Paper, named, papers
from sentviz.runs import Run
from sentviz.studies.collected import of_paper
from sentviz.studies.items import makers, measured_items
from sentviz.studies.made import Made, Table


@st.cache_data(max_entries=32, show_spinner="Reading the runs")
def _made(paper: str, item: str, key: tuple[str, ...], _runs: Sequence[Run]) -> list[Made]:
    return makers(named(paper))[item](_runs)


def show(paper: Paper, runs: Sequence[Run]) -> None:
    """Everything of a paper."""
    shell.intro(
        f"What “{shell.md(paper.title)}” ({shell.md(paper.citation)}) prints, beside what the runs here measure.",
        "Nothing is here that the paper's package does not bring: numbers are as it copied them from the print.",
    )
    own = of_paper(paper, runs)
    for line in paper.answer(runs):
        st.markdown(f"**{shell.md(line)}**")
    if paper.studies and not own:
        name, study = next(iter(paper.studies.items()))
        st.info(
            f"No run of it is here. `sentviz study {name} --dataset {study.datasets[0]}` trains them.",
            icon=":material/inventory_2:",
        )
    listed = {item["id"]: item for item in paper.items()}
    measured = measured_items(paper)
    able = [name for name in makers(paper) if name != "claims" and (own or name not in measured)]
    for i, name in enumerate([*[one for one in listed if one in able], *[one for one in able if one not in listed]]):
        item = listed.get(name, {})
        ours = f"Accuracy on {measured[name]}" if name in measured else name
        title = ": ".join(filter(None, (item.get("printed", ""), item.get("title", ours))))
        with st.expander(shell.md(title), expanded=not i, on_change="rerun", key=f"{paper.name}-{name}") as more:
            if more.open:
                _item(paper, name, item.get("why", ""), runs)
    if paper.all_claims():
        st.markdown("##### The paper's claims")
        claims = claims_part.verdicts(runs, [paper.name])
        claims_part.counted(claims)
        claims_part.listed(claims)
    if listed:
        with st.expander("Every printed table and figure, and where it is here", on_change="rerun", key=f"{paper.name}-items") as more:
            if more.open:
                st.dataframe(pd.DataFrame(listed.values()), hide_index=True, placeholder="–", height="content")
    st.caption(f"`sentviz export --paper {paper.name} -o DIR` writes all of it as files, with a manifest.")


def _item(paper: Paper, name: str, why: str, runs: Sequence[Run]) -> None:
    made = _made(paper.name, name, digests(runs), runs)
    if not made:
        st.caption("No run here can show it.")
    for i, one in enumerate(made):
        key = f"{paper.name}-{name}-{i}"
        if isinstance(one, Table):
            plain(one.frame, key=key)
            st.caption(shell.md(one.caption))
        else:
            shell.figure(lambda theme, one=one: one, key)  # type: ignore[misc]
    if why:
        st.caption(shell.md(f"Against the print: {why}."))


asked = next(paper for paper in papers().values() if paper.page.url == st.session_state["page"])
try:
    show(asked, studied())
except SentvizError as error:
    st.error(shell.md(str(error)), icon=":material/extension_off:")
