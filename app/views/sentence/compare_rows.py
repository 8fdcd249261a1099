"""Two models on the same rows: accuracies, a significance test, and the rows with different predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from app import cache, visit
from app.blocks.figure import show_figure
from app.blocks.files import csv_button
from app.blocks.get_data import offer
from app.blocks.pages import SIZE, first_row, page_buttons
from app.blocks.sentence import sentence_of
from app.text import halves, md
from app.views.testset.phenomena_part import phenomena
from sentviz.analysis.testset.operating import Paired, agreement
from sentviz.analysis.testset.rows import OVER, Rows
from sentviz.analysis.testset.slices import AGREE, Slice
from sentviz.analysis.testset.versus import aligned, disagreements
from sentviz.errors import SentvizError
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace

DIFFERENCE = "difference, points"
CUT = 300  # characters of a text in the table


def verdict(run: Run, second_run: Run, place: Any) -> tuple[Rows, Rows] | None:
    """Draw which of two models is more accurate on the rows in focus, with McNemar's test; return the rows of both.

    If the models share no rows, say why, and return None.

    Args:
        place: container for the choice of rows.
    """
    focus = visit.focus()
    data = [each.config["data"]["name"] for each in (run, second_run)]
    if run.labels != second_run.labels:
        st.caption(
            f"{md(run.name)} predicts {md(', '.join(run.labels))}; {md(second_run.name)} predicts {md(', '.join(second_run.labels))}."
            " Models with different classes can be compared on a sentence, not on rows."
        )
        return None
    options = [
        name for name in ("test", "official_test") if data[0] == data[1] and all(name in each.metrics() for each in (run, second_run))
    ]
    both = f"The runs were trained and tested on different data sets, {data[0]} and {data[1]}"
    if all(cache.fits_demo(each) for each in (run, second_run)):
        options.append("demo")
    if not options:
        st.caption(f"{both}, so they have no common rows.")
        return None
    if data[0] != data[1]:
        st.caption(f"{both}: both can predict the demo set.")
    over = focus.over if focus.over in options else None
    with place:
        st.segmented_control("Rows", options, format_func=lambda name: OVER[name], **visit.bound("over", over))
    if over is None:
        st.caption("Choose the rows above.")
        return None
    try:
        first = cache.table_of(run, focus)
        second = aligned(first, cache.table_of(second_run, focus))
    except SentvizError as error:
        st.warning(md(str(error)), icon=":material/block:")
        return None
    pair = _agreement(first, second)
    better = "No significant difference."
    if pair.p < 0.05:
        better = f"{(first if pair.difference > 0 else second).source.name} is better on rows like these."
    spread = f"{100 * pair.difference:+.1f} points [{100 * pair.low:+.1f}, {100 * pair.high:+.1f}]".replace("-", "−")
    p = "p < 0.001" if pair.p < 0.001 else f"p = {pair.p:.3f}"
    right = [f"{(pair.both_right + alone) / pair.n:.1%}" for alone in (pair.only_a, pair.only_b)]
    st.markdown(f"##### {md(better)}")
    st.markdown(
        f"Accuracy: {' and '.join(right)}. First minus second: {spread} on the same {pair.n:,} rows. McNemar's exact test on the"
        f" {pair.only_a + pair.only_b:,} rows on which only one is right: {p.replace(' ', chr(0xA0))}.",
        help="The interval is a 95% paired bootstrap over rows, for these two trainings. Compare models takes all stored seeds together.",
    )
    st.page_link(
        "views/testset/comparison.py", label="Compare models: with all seeds, up to six models, and a report", icon=":material/summarize:"
    )
    return first, second


def _agreement(first: Rows, second: Rows) -> Paired:
    return agreement(first.frame["right"].to_numpy(bool), second.frame["right"].to_numpy(bool))


def rows(first: Rows, second: Rows, second_run: Run, traces: Sequence[Trace], score: str) -> None:
    """Draw the table of rows on which the two predictions differ, or of another part; a selected row opens next to it.

    Args:
        traces: traces of the text in focus, which is the selected row, by both models. score: colours its tokens.
    """
    st.divider()
    st.markdown("##### Row by row")
    if first.over == "demo":
        with st.container(key="compare-phenomena", width=820):
            phenomena({first.source.name: first, second.source.name: second})
    _parts(first, second)
    _table(first, second, second_run, traces, score)


def _parts(first: Rows, second: Rows) -> None:
    """Draw the choice of rows by who is right."""
    pair = _agreement(first, second)
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
        help="Choose a part to see its rows below. Without a choice, the rows with different predictions are shown.",
    )


def _slice() -> Slice | None:
    try:
        return Slice.parse(visit.focus().slice)
    except SentvizError:
        return None


def _table(first: Rows, second: Rows, second_run: Run, traces: Sequence[Trace], score: str) -> None:
    part, mask = _slice(), first.predicted != second.predicted
    words = "the two predictions differ"
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
    of = f"compare-rows-{first.source.digest}-{second.source.digest}-{first.over}-{visit.focus().slice}"
    start = first_row(len(frame), of)
    key = f"{of}-{start}"

    def take() -> None:
        if chosen := st.session_state[key]["selection"]["rows"]:
            visit.go(row=str(frame["id"].iloc[start + chosen[0]]), versus=(second_run.name,))

    selecting: dict[str, Any] = {"on_select": take, "selection_mode": "single-row"} if first.has_text else {}
    left, right = halves("compare-rows", 1.7, 1.0) if first.has_text else (st.container(), None)
    with left:
        st.dataframe(
            table.iloc[start : start + SIZE],
            hide_index=True,
            placeholder="–",
            height=min(38 + 35 * min(len(table), SIZE), 420),
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
            page_buttons(len(frame), of)
            csv_button(lambda: _readable(frame, first, second, cut=None), f"sentviz-compare-{first.over}", "compare-csv")
    if right is None:
        st.caption("The texts are not on this machine, so rows are shown by id. Get the data set to read them.")
        offer(first.source.data, first.over)
        return
    with right:
        chosen = frame[frame["id"].astype(str) == visit.focus().row]
        if chosen.empty:
            st.caption("Select a row to see which words decide each model's prediction.")
        else:
            _opened(chosen, first, second, traces, score)


def _opened(row: pd.DataFrame, first: Rows, second: Rows, traces: Sequence[Trace], score: str) -> None:
    """Draw the selected row: its label, and the prediction and the coloured tokens of each model."""
    line = _readable(row, first, second, cut=None).iloc[0]
    st.markdown(f"**Labelled {md(line['label'])}** · {md(line['id'])}")
    for of, trace, side in zip((first, second), traces, ("first", "second"), strict=True):
        st.markdown(f"{md(of.source.name)}: {md(line[of.source.name])}")
        show_figure("strip", sentence_of(cache.run(of.source.name), trace), f"row-{side}", slim=True, score=score)


def _readable(frame: pd.DataFrame, first: Rows, second: Rows, cut: int | None = CUT) -> pd.DataFrame:
    """Return the table on the page: names instead of numbers, and a tick for each correct prediction."""
    names = [*first.classes, "–"]

    def predictions(side: str) -> list[str]:
        rows = zip(frame[side], frame[f"{side}_right"], frame[f"{side}_confidence"], strict=True)
        return [f"{'✓' if right else '✗'} {names[k]} {share:.0%}" for k, right, share in rows]

    text = {"text": (frame["text"] if cut is None else frame["text"].str.slice(0, cut)).to_numpy()} if "text" in frame else {}
    columns = {
        "label": [names[k] for k in frame["label"]],
        first.source.name: predictions("first"),
        second.source.name: predictions("second"),
        DIFFERENCE: 100 * frame["difference"].to_numpy(float),
        "id": frame["id"].to_numpy(),
    }
    return pd.DataFrame(text | columns if cut else columns | text)  # a phone shows the first columns of a table


def _difference_means(rows: Rows) -> str:
    if len(rows.classes) == 2:
        return f"Second run's probability of {rows.classes[1]} minus the first's."
    return "Half the summed absolute differences of all class probabilities."
