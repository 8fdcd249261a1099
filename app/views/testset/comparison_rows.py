"""Rows on which compared models differ: a table by who is right, and next to it the opened row with the reason of each model."""

from __future__ import annotations

from typing import Any

import streamlit as st

from app import answers, visit
from app.blocks.files import csv_button
from app.blocks.get_data import offer
from app.blocks.pages import SIZE, first_row, page_buttons
from app.text import halves, md
from sentviz.analysis.explain.headline import headline
from sentviz.analysis.testset.comparison import Candidate, Comparison
from sentviz.errors import SentvizError
from sentviz.io.lazy import pd

CUT = 300  # characters of a text in the table


def show(of: Comparison) -> None:
    """Draw the choice of rows by who is right, the table, and the opened row."""
    st.divider()
    st.markdown("##### Where they differ")
    parts = {name: mask for name, mask in of.parts().items() if mask.any() or name == "differ"}
    part = visit.setting(
        st.selectbox,
        "Rows",
        "who",
        list(parts),
        format_func=lambda name: f"{of.part_in_words(name)}: {int(parts[name].sum()):,} rows ({parts[name].mean():.1%})",
        width=480,
    )
    spread = of.spread()
    places = sorted(parts[part].nonzero()[0].tolist(), key=lambda place: -spread[place])
    if not places:
        st.caption("All predict the same class for each row.")
        return
    key = f"comparison-{part}-{of.first.among}-{'-'.join(each.rows.source.digest for each in of.candidates)}"
    start = first_row(len(places), key)
    table = _table(of, places)
    left, right = halves("comparison-rows", 1.6, 1.0)
    with left:
        chosen: Any = st.dataframe(
            table.iloc[start : start + SIZE].assign(**({"text": table["text"].str.slice(0, CUT)} if "text" in table else {})),
            hide_index=True,
            height=min(38 + 35 * min(len(table), SIZE), 420),
            key=f"{key}-{start}",
            on_select="rerun",
            selection_mode="single-row",
            column_config={"text": st.column_config.TextColumn(width="large")},
        )
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            page_buttons(len(places), key)
            csv_button(table, f"sentviz-differences-{of.first.over}", "comparison-rows-csv")
        if not of.first.has_text:
            st.caption("The texts are not on this machine, so rows are shown by id.")
            if of.first.source.data:
                offer(of.first.source.data, of.first.over)
    with right:
        if rows := chosen.selection.rows:
            _open(of, places[start + rows[0]])
        else:
            st.caption("Select a row to read it, and to see why each model predicts what it does. The largest difference is first.")


def _table(of: Comparison, places: list[int]) -> pd.DataFrame:
    """Return rows as on the page: text, label, and the prediction of each model with a tick if it is right."""
    frame = of.first.frame.iloc[places]
    columns: dict[str, Any] = {"text": frame["text"].to_numpy()} if of.first.has_text else {}
    columns["label"] = [of.first.classes[k] for k in frame["label"]]
    for each in of.candidates:
        columns[each.name] = [_said(each, place) for place in places]
    return pd.DataFrame(columns | {"id": frame["id"].to_numpy()})


def _said(each: Candidate, place: int) -> str:
    row = each.rows.frame.iloc[place]
    sure = f" {row['confidence']:.0%}" if row["confidence"] == row["confidence"] else ""
    return f"{'✓' if row['right'] else '✗'} {each.rows.classes[row['predicted']]}{sure}"


def _open(of: Comparison, place: int) -> None:
    """Draw a row: its text and label, then each model's prediction, and last the reasons, which take seconds with large models."""
    row = of.first.frame.iloc[place]
    with st.container(border=True, key="comparison-row"):
        st.markdown(f"**Labelled {md(of.first.classes[row['label']])}** · {md(str(row['id']))}")
        for name in ("text", "text_pair"):
            if name in row:
                st.text(str(row[name]))
        _beside_each_other(of, row)
        slots = []
        for each in of.candidates:
            st.markdown(f"**{md(each.name)}**: {md(_said(each, place))}")
            slots.append((each, st.empty()))
        for each, slot in slots:
            slot.caption(_reason(of, each, row))


def _beside_each_other(of: Comparison, row: pd.Series[Any]) -> None:
    """Offer the first two models with weights side by side on this sentence."""
    names = [each.rows.source.ask.name for each in of.candidates if each.rows.source.ask is not None]
    if len(names) < 2 or not of.first.has_text:
        return
    where = {"row": str(row["id"])} if of.first.over != "mine" else {"text": str(row["text"]), "pair": str(row.get("text_pair", ""))}
    if st.button("Two models side by side on this sentence", icon=":material/compare:", type="tertiary", key="comparison-beside"):
        visit.go(run=names[0], versus=tuple(names[1:]), **where)
        st.switch_page("views/sentence/compare.py")


def _reason(of: Comparison, each: Candidate, row: pd.Series[Any]) -> str:
    """Return why a model predicts what it does for a row, as markdown; if there is no reason, why not."""
    run = each.rows.source.ask
    if run is None:
        return "It has no model here that could give a reason."
    if not of.first.has_text:
        return "The text is not on this machine."
    mine = of.first.over == "mine"
    where = {"text": str(row["text"]), "pair": str(row.get("text_pair", ""))} if mine else {"row": str(row["id"])}
    try:
        seen = answers.reasoned(visit.focus().with_(run=run.name, **where).as_trained())
    except SentvizError as error:
        return md(str(error))
    return f":material/lightbulb: {md(headline(seen))}"
