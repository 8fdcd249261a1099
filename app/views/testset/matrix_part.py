"""The matrix of each run, of two runs their agreement, and the numbers of each class; a click on a cell shows its rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from app import visit
from app.blocks.figure import Picked, show_figure
from app.text import halves, md
from sentviz.analysis.evaluation import confusion
from sentviz.analysis.testset.operating import Paired, agreement
from sentviz.analysis.testset.rows import Rows
from sentviz.analysis.testset.slices import AGREE, Slice
from sentviz.charts.subjects import Answers
from sentviz.errors import SentvizError
from sentviz.io.numbers import in_points, p_value, percent

PLACES = dict(zip(((0, 0), (0, 1), (1, 0), (1, 1)), AGREE, strict=True))  # cells of the agreement matrix, row by row


def mistake(rows: Rows) -> str:
    """Return a sentence about the most frequent mistake."""
    counts = confusion(rows.labels, rows.predicted, len(rows.classes))
    wrong = counts - np.diag(np.diag(counts))
    if not wrong.any():
        return "All predictions are right."
    label, predicted = divmod(int(wrong.argmax()), len(rows.classes))
    count = wrong[label, predicted]
    names = [md(name) for name in rows.classes]
    share = count / counts[label].sum()
    return f"Most frequent mistake: {names[label]} predicted as {names[predicted]}, {count:,} rows ({percent(share)} of {names[label]})."


def show(runs: Sequence[Rows]) -> None:
    """Draw the matrix and the classes of one run; of two runs both matrices, their agreement, and the classes."""
    chosen = part()
    left, right = halves("matrices")
    with left:
        matrix(runs[0])
    if len(runs) == 1:
        with right:
            _classes(runs)
        return
    with right:
        _matrix(runs[1], "matrix-second")
        if runs[0].source.run and runs[1].source.run:
            st.button(
                "Select this run to see its rows",
                icon=":material/swap_horiz:",
                type="tertiary",
                key="swap",
                on_click=visit.go,
                kwargs={"run": runs[1].source.name, "versus": (runs[0].source.name,), "threshold": visit.focus().threshold},
            )
    left, right = halves("agreement")
    with left:
        _agreement(runs[0], runs[1], chosen.value if chosen and chosen.kind == "agree" else "")
    with right:
        _classes(runs)


def matrix(rows: Rows) -> None:
    """Draw the matrix of the first run, whose cells can be clicked."""
    chosen = part()
    _matrix(rows, "matrix", chosen.cell if chosen and chosen.kind == "cell" else ())
    st.caption("Click a cell to see its rows at the side; click it again for all rows.")


def part() -> Slice | None:
    """Return the slice in focus; None if there is none or it cannot be read."""
    try:
        return Slice.parse(visit.focus().slice)
    except SentvizError:
        return None  # the list of rows below shows why


def _matrix(rows: Rows, key: str, cell: tuple[int, ...] | None = None) -> None:
    """Draw a matrix. Its cells can be clicked unless `cell` is None; an empty cell means that none is chosen."""
    on_pick = None if cell is None else lambda point: visit.toggle("slice", f"cell={round(point.y)},{round(point.x)}")
    show_figure("confusion", Answers.of(rows), key, selected=cell or None, on_pick=on_pick, clears="slice")


def _classes(runs: Sequence[Rows]) -> None:
    show_figure("classes", Answers.of(*runs))


def _agreement(first: Rows, second: Rows, chosen: str) -> None:
    """Draw the agreement of two runs and state whether their accuracies differ significantly."""
    pair = agreement(first.frame["right"].to_numpy(bool), second.frame["right"].to_numpy(bool))
    place = next((cell for cell, name in PLACES.items() if name == chosen), None)

    def pick(point: Picked) -> None:
        visit.toggle("slice", f"agree={PLACES[round(point.y), round(point.x)]}")

    show_figure("agreement", Answers.of(first, second), selected=place, on_pick=pick, clears="slice")
    st.markdown(_verdict(md(first.source.name), md(second.source.name), pair))


def _verdict(first: str, second: str, pair: Paired) -> str:
    apart = pair.only_a + pair.only_b
    if not apart:
        return f"{first} and {second} are right on the same rows."
    better = f"{first if pair.difference > 0 else second} is better on rows like these" if pair.p < 0.05 else "no significant difference"
    close = (
        " The interval is approximate and just excludes 0; the exact test decides." if pair.p >= 0.05 and pair.low * pair.high > 0 else ""
    )
    return (
        f"Only one of the two is right on {apart:,} rows: {first} on {pair.only_a:,}, {second} on {pair.only_b:,}. The accuracy of {first}"
        f" is {in_points(pair.difference, (pair.low, pair.high))} above that of {second}."
        f" McNemar's exact test ({p_value(pair.p)}): **{better}**.{close}"
    )
