"""Two models on the same rows: who is right, is it more than chance, and the rows where they part."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from app import cache, visit
from app.blocks.files import csv_button
from app.blocks.get_data import offer
from app.text import md
from app.views.testset.phenomena_part import phenomena
from sentviz.analysis.testset.operating import agreement
from sentviz.analysis.testset.rows import OVER, Rows
from sentviz.analysis.testset.slices import AGREE, Slice
from sentviz.analysis.testset.versus import aligned, disagreements
from sentviz.errors import SentvizError
from sentviz.runs.store import Run

SHOWN = 200
DIFFERENCE = "difference, points"
CUT = 300  # characters of a text in the table


def show(run: Run, other: Run) -> None:
    """Agreement on the rows in focus, McNemar's test, and the table of disagreements."""
    st.divider()
    st.markdown("##### On the same rows")
    focus = visit.focus()
    data = [each.config["data"]["name"] for each in (run, other)]
    if run.labels != other.labels:
        st.info(
            f"{md(run.name)} tells apart {md(', '.join(run.labels))}; {md(other.name)}"
            f" {md(', '.join(other.labels))}. Models of different classes cannot be compared on rows, only on the sentence above."
        )
        return
    options = [name for name in ("test", "official_test") if data[0] == data[1] and all(name in each.metrics() for each in (run, other))]
    both = f"Trained and tested on different data sets, {data[0]} and {data[1]}"
    if all(cache.fits_demo(each) for each in (run, other)):
        options.append("demo")
    if not options:
        st.info(f"{both}: no rows are of both.")
        return
    if data[0] != data[1]:
        st.caption(f"{both}: the demo set is what both can be asked about.")
    over = focus.over if focus.over in options else None
    st.segmented_control("Rows", options, format_func=lambda name: OVER[name], label_visibility="collapsed", **visit.bound("over", over))
    if over is None:
        st.caption("Choose the rows above.")
        return
    try:
        first = cache.table_of(run, focus)
        second = aligned(first, cache.table_of(other, focus))
    except SentvizError as error:
        st.warning(md(str(error)), icon=":material/block:")
        return
    _verdict(first, second)
    if over == "demo":
        with st.container(key="compare-phenomena", width=820):
            phenomena({run.name: first, other.name: second})
    _table(first, second, other)


def _verdict(first: Rows, second: Rows) -> None:
    pair = agreement(first.frame["right"].to_numpy(bool), second.frame["right"].to_numpy(bool))
    counts = dict(zip(AGREE, (pair.both_right, pair.only_a, pair.only_b, pair.neither), strict=True))
    names = {"both": "both right", "first": f"only {first.run} right", "second": f"only {second.run} right", "neither": "both wrong"}
    part = _slice()

    def take() -> None:
        chosen = st.session_state["compare-agree"]
        visit.go(slice=str(Slice("agree", chosen)) if chosen else "", versus=(second.run,))

    st.session_state["compare-agree"] = part.value if part is not None and part.kind == "agree" else None
    st.pills(
        "Who is right",
        list(AGREE),
        format_func=lambda name: f"{md(names[name])} · {counts[name]:,} ({counts[name] / pair.n:.0%})",
        key="compare-agree",
        on_change=take,
        help="Choose a part to see its rows below; none shows the rows where the answers differ.",
    )
    better = "Which is better cannot be told."
    if pair.p < 0.05:
        better = f"{first.run if pair.difference > 0 else second.run} is better on rows like these."
    spread = f"{100 * pair.difference:+.1f} points [{100 * pair.low:+.1f}, {100 * pair.high:+.1f}]".replace("-", "−")
    p = "p < 0.001" if pair.p < 0.001 else f"p = {pair.p:.3f}"
    right = [f"{(pair.both_right + alone) / pair.n:.1%}" for alone in (pair.only_a, pair.only_b)]
    st.markdown(
        f"**{md(better)}** Accuracy {' and '.join(right)}, first minus second {spread} on the same {pair.n:,} rows. McNemar's exact"
        f" test on the {pair.only_a + pair.only_b:,} rows where one alone is right: {p.replace(' ', chr(0xA0))}."
    )
    st.caption("95% paired bootstrap over rows. One training run each: what another seed would change is not in this interval.")


def _slice() -> Slice | None:
    try:
        return Slice.parse(visit.focus().slice)
    except SentvizError:
        return None


def _table(first: Rows, second: Rows, other: Run) -> None:
    part, kept = _slice(), first.predicted != second.predicted
    said = "the two answers differ"
    if part is not None:
        try:
            kept = part.mask(first, second)
            said = part.says(first.classes, (first.run, second.run))
        except SentvizError as error:
            st.warning(md(str(error)), icon=":material/filter_alt_off:")
    frame = disagreements(first, second)
    frame = frame[kept[frame["row"].to_numpy()]]
    st.markdown(f"###### {len(frame):,} rows: {md(said)}, the largest difference of probabilities first")
    if frame.empty:
        st.caption("No row is here.")
        return
    shown, key = _shown(frame, first, second), f"compare-rows-{first.digest}-{second.digest}-{first.over}-{visit.focus().slice}"

    def take() -> None:
        if chosen := st.session_state[key]["selection"]["rows"]:
            visit.go(row=str(frame["id"].iloc[chosen[0]]), versus=(other.name,))

    selecting: dict[str, Any] = {"on_select": take, "selection_mode": "single-row"} if first.has_text else {}
    st.dataframe(
        shown.head(SHOWN),
        hide_index=True,
        placeholder="–",
        height=min(38 + 35 * min(len(shown), SHOWN), 420),
        key=key,
        column_config={
            DIFFERENCE: st.column_config.NumberColumn(
                format="%+.1f" if len(first.classes) == 2 else "%.1f", width="small", help=_difference_means(first)
            ),
            "text": st.column_config.TextColumn(width="large"),
        },
        **selecting,
    )
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        if len(shown) > SHOWN:
            st.caption(f"The first {SHOWN} of {len(shown):,}; the CSV has all.")
        csv_button(lambda: _shown(frame, first, second, cut=None), f"sentviz-compare-{first.over}", "compare-csv")
    if first.has_text:
        st.caption("Select a row: it becomes the sentence above.")
        return
    data = cache.run(first.run).config["data"]["name"]
    st.caption("The texts are not on this machine: rows are shown by id. Getting the data set brings them.")
    offer(data, first.over)


def _shown(frame: pd.DataFrame, first: Rows, second: Rows, cut: int | None = CUT) -> pd.DataFrame:
    """Names instead of numbers; a tick where a run is right."""
    names = [*first.classes, "–"]

    def said(side: str) -> list[str]:
        rows = zip(frame[side], frame[f"{side}_right"], frame[f"{side}_confidence"], strict=True)
        return [f"{'✓' if right else '✗'} {names[k]} {share:.0%}" for k, right, share in rows]

    shown = {
        "label": [names[k] for k in frame["label"]],
        first.run: said("first"),
        second.run: said("second"),
        DIFFERENCE: 100 * frame["difference"].to_numpy(float),
        "id": frame["id"].to_numpy(),
    }
    if "text" in frame:
        shown["text"] = (frame["text"] if cut is None else frame["text"].str.slice(0, cut)).to_numpy()
    return pd.DataFrame(shown)


def _difference_means(rows: Rows) -> str:
    if len(rows.classes) == 2:
        return f"Second run's probability of {rows.classes[1]} minus the first's."
    return "Half the summed absolute differences of all class probabilities."
