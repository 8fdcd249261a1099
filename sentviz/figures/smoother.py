"""One row of a map as a weighted sum of value vectors."""

from __future__ import annotations

import numpy as np

from sentviz.analysis.maps.arithmetic import CellArithmetic
from sentviz.errors import InputError
from sentviz.figures.bar_table import Column, bar_table, row_names
from sentviz.figures.chart import Drawing
from sentviz.figures.figure import Figure, file_safe, number, sentence
from sentviz.figures.text import as_text
from sentviz.io.lazy import pd

_PANELS = (("weight", "weight", 0.30), ("value_norm", "× size of value", 0.30), ("along", "→ share of the output", 0.40))


def smoother(cell: CellArithmetic, *, top: int = 8, kernel: bool = False) -> Figure:
    """Draw the keys that change the head's output most, in text order: weight, size of the value vector, share of the output.

    Attention as a kernel smoother (SentiFormer, Definition 1): the output at the query is the sum of weight x value over all keys.

    Args:
        cell: a cell of the row; its key is always drawn, and marked.
        top: number of keys to draw, those with the largest |weight x value|; the last row sums the others.
        kernel: also draw exp(S) of each component, divided by the largest of the row.
    Frame:
        `CellArithmetic.smoother`, all keys, and `shown` (True for drawn keys).
    """
    if top < 1:
        raise InputError("At least one key must be drawn.")
    frame = cell.smoother()
    best = np.argsort(-frame["contribution"].to_numpy(), kind="stable")[:top]
    chosen = np.union1d(best, [cell.key])
    frame["shown"] = np.isin(frame["key"], chosen)
    drawn, rest = frame[frame["shown"]], frame[~frame["shown"]]
    names, left = row_names(list(drawn["key_token"]), list(drawn["key"]), cell.key, len(rest))
    columns = []
    kernels = [(f"kernel_a{i + 1}", f"kernel {i + 1}" if len(cell.parts) > 1 else "kernel", 0.3) for i in range(len(cell.parts) * kernel)]
    for column, heading, part in (*kernels, *_PANELS):
        values = drawn[column].to_numpy()
        if len(rest):
            values = np.append(values, rest[column].mean() if column == "value_norm" else rest[column].sum())
        plus = "muted" if column == "value_norm" else "plus"
        tint = ["minus" if value < 0 else plus for value in values]
        columns.append(Column(heading, values, [_said(column, value) for value in values.tolist()], tint, part))
    title = f"Output of layer {cell.layer + 1}, head {cell.head + 1} for “{as_text(cell.tokens[cell.query], 18)}”"
    table = {"names": names, "columns": columns, "title": title, "left": left, "faint": len(rest) > 0}
    name = file_safe("smoother", cell.run, f"layer{cell.layer + 1}", f"head{cell.head + 1}", f"query{cell.query + 1}")
    return Figure(name, Drawing(bar_table, table), frame, _caption(cell, frame, rest, kernel))


def _said(column: str, value: float) -> str:
    if column == "along":
        return "0%" if abs(value) < 0.005 else f"{'−' if value < 0 else '+'}{abs(value):.0%}"
    return number(value, 2 if column == "value_norm" else 3)


def _caption(cell: CellArithmetic, frame: pd.DataFrame, rest: pd.DataFrame, kernel: bool) -> str:
    shares = "Shares of the output are signed and sum to 100%: keys with negative shares oppose the output."
    return sentence(
        [
            f"Run {cell.run}: attention of “{cell.tokens[cell.query]}” in layer {cell.layer + 1}, head {cell.head + 1}, as a kernel"
            " smoother.",
            f"The head's output is the sum of weight × value over {len(frame):,} keys; weights sum to {number(float(cell.row.sum()))}.",
            "The kernel is exp(S), divided by the largest value of the row. The weight is the kernel divided by the row's sum."
            if kernel
            else "",
            shares,
            f"The last row sums the {len(rest):,} keys that change the output least (size of value: their mean)." if len(rest) > 1 else "",
            "The norm after the head is applied to this sum; its learned weights can change the direction."
            if cell.head_norm is not None
            else "",
        ]
    )
