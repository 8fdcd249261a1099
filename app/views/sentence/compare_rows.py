"""Two models on the same rows: accuracies, a significance test, and the rows with different predictions."""

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

SHOWN = 200  # rows of the table on the page
DIFFERENCE = "difference, points"
CUT = 300  # characters of a text in the table


def show(run: Run, second_run: Run) -> None:
    """Draw the agreement on the rows in focus, McNemar's test, and the table of disagreements."""
    st.divider()
    st.markdown("##### On the same rows")
    focus = visit.focus()
    data = [each.config["data"]["name"] for each in (run, second_run)]
    if run.labels != second_run.labels:
        st.info(
            f"{md(run.name)} tells apart {md(', '.join(run.labels))}; {md(second_run.name)}"
            f" {md(', '.join(second_run.labels))}. Models of different classes cannot be compared on rows, only on the sentence above."
        )
        return
    options = [
        name for name in ("test", "official_test") if data[0] == data[1] and all(name in each.metrics() for each in (run, second_run))
    ]
    both = f"Trained and tested on different data sets, {data[0]} and {data[1]}"
    if all(cache.fits_demo(each) for each in (run, second_run)):
        options.append("demo")
    if not options:
        st.info(f"{both}: they share no rows.")
        return
    if data[0] != data[1]:
        st.caption(f"{both}: both can predict the demo set.")
    over = focus.over if focus.over in options else None
    st.segmented_control("Rows", options, format_func=lambda name: OVER[name], label_visibility="collapsed", **visit.bound("over", over))
    if over is None:
        st.caption("Choose the rows above.")
        return
    try:
        first = cache.table_of(run, focus)
        second = aligned(first, cache.table_of(second_run, focus))
    except SentvizError as error:
        st.warning(md(str(error)), icon=":material/block:")
        return
    _verdict(first, second)
    if over == "demo":
        with st.container(key="compare-phenomena", width=820):
            phenomena({run.name: first, second_run.name: second})
    _table(first, second, second_run)


def _verdict(first: Rows, second: Rows) -> None:
    pair = agreement(first.frame["right"].to_numpy(bool), second.frame["right"].to_numpy(bool))
    counts = dict(zip(AGREE, (pair.both_right, pair.only_a, pair.only_b, pair.neither), strict=True))
    names = {
        "both": "both right",
        "first": f"only {first.source.name} right",
        "second": f"only {second.source.name} right",
        "neither": "both wrong",
    }
    part = _slice()

    def take() -> None:
        chosen = st.session_state["compare-agree"]
        visit.go(slice=str(Slice("agree", chosen)) if chosen else "", versus=(second.source.name,))

    st.session_state["compare-agree"] = part.value if part is not None and part.kind == "agree" else None
    st.pills(
        "Who is right",
        list(AGREE),
        format_func=lambda name: f"{md(names[name])} · {counts[name]:,} ({counts[name] / pair.n:.0%})",
        key="compare-agree",
        on_change=take,
        help="Choose a part to see its rows below; none shows the rows where the answers differ.",
    )
    better = "No significant difference."
    if pair.p < 0.05:
        better = f"{(first if pair.difference > 0 else second).source.name} is better on rows like these."
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


def _table(first: Rows, second: Rows, second_run: Run) -> None:
    part, mask = _slice(), first.predicted != second.predicted
    words = "the two answers differ"
    if part is not None:
        try:
            mask = part.mask(first, second)
            words = part.says(first.classes, (first.source.name, second.source.name))
        except SentvizError as error:
            st.warning(md(str(error)), icon=":material/filter_alt_off:")
    frame = disagreements(first, second)
    frame = frame[mask[frame["row"].to_numpy()]]
    st.markdown(f"###### {len(frame):,} rows: {md(words)}, the largest difference of probabilities first")
    if frame.empty:
        st.caption("No rows match.")
        return
    table = _readable(frame, first, second)
    key = f"compare-rows-{first.source.digest}-{second.source.digest}-{first.over}-{visit.focus().slice}"

    def take() -> None:
        if chosen := st.session_state[key]["selection"]["rows"]:
            visit.go(row=str(frame["id"].iloc[chosen[0]]), versus=(second_run.name,))

    selecting: dict[str, Any] = {"on_select": take, "selection_mode": "single-row"} if first.has_text else {}
    st.dataframe(
        table.head(SHOWN),
        hide_index=True,
        placeholder="–",
        height=min(38 + 35 * min(len(table), SHOWN), 420),
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
        if len(table) > SHOWN:
            st.caption(f"The first {SHOWN} of {len(table):,}; the CSV has all.")
        csv_button(lambda: _readable(frame, first, second, cut=None), f"sentviz-compare-{first.over}", "compare-csv")
    if first.has_text:
        st.caption("Select a row: it becomes the sentence above.")
        return
    st.caption("The texts are not on this machine: rows are shown by id. Getting the data set brings them.")
    offer(first.source.data, first.over)


def _readable(frame: pd.DataFrame, first: Rows, second: Rows, cut: int | None = CUT) -> pd.DataFrame:
    """Return the table on the page: names instead of numbers, and a tick for each correct prediction."""
    names = [*first.classes, "–"]

    def predictions(side: str) -> list[str]:
        rows = zip(frame[side], frame[f"{side}_right"], frame[f"{side}_confidence"], strict=True)
        return [f"{'✓' if right else '✗'} {names[k]} {share:.0%}" for k, right, share in rows]

    columns = {
        "label": [names[k] for k in frame["label"]],
        first.source.name: predictions("first"),
        second.source.name: predictions("second"),
        DIFFERENCE: 100 * frame["difference"].to_numpy(float),
        "id": frame["id"].to_numpy(),
    }
    if "text" in frame:
        columns["text"] = (frame["text"] if cut is None else frame["text"].str.slice(0, cut)).to_numpy()
    return pd.DataFrame(columns)


def _difference_means(rows: Rows) -> str:
    if len(rows.classes) == 2:
        return f"Second run's probability of {rows.classes[1]} minus the first's."
    return "Half the summed absolute differences of all class probabilities."
