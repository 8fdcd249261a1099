"""One row of a map as a weighted sum of value vectors."""

from __future__ import annotations

import numpy as np

from sentviz.analysis.maps.arithmetic import CellArithmetic, cell
from sentviz.charts.bar_panels import REST, bar_panels, names_of
from sentviz.charts.figure import Figure, file_safe, sentence
from sentviz.charts.options import Head, Layer, Token
from sentviz.charts.registry import figure
from sentviz.charts.requirements import MAPS, SOFTMAX
from sentviz.charts.subjects import Sentence
from sentviz.charts.text import shortened
from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.io.numbers import number, percent, signed

_PANELS = {"weight": "weight", "value_norm": "× size of value", "along": "→ share of the output"}


def _said(column: str, value: float) -> str:
    if column == "along":
        return percent(value, 0, write=number if abs(value) < 0.005 else signed)
    return number(value, 2 if column == "value_norm" else 3)


def _caption(cell: CellArithmetic, frame: pd.DataFrame, rest: pd.DataFrame, kernel: bool) -> str:
    shares = "Shares of the output are signed and sum to 100 %: keys with negative shares oppose the output."
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


@figure("smoother", "One row as a sum of weight times value", Sentence, MAPS, SOFTMAX)
def _smoother(
    of: Sentence,
    *,
    layer: Layer = 0,
    head: Head = 0,
    query: Token = 0,
    key: Token = 0,
    top: int = 8,
    kernel: bool = False,
) -> Figure:
    """Draw the keys that change the head's output most, in text order: weight, size of the value vector, share of the output.

    Attention as a kernel smoother (SentiFormer, Definition 1): the output at the query is the sum of weight x value over all keys.

    Args:
        key: is always drawn, and marked.
        top: number of keys to draw, those with the largest |weight x value|; the last row sums the others.
        kernel: also draw exp(S) of each component, divided by the largest of the row.
    Frame:
        `CellArithmetic.smoother`, all keys, and `shown` (True for drawn keys).
    """
    arithmetic: CellArithmetic = of.once(("cell", layer, head, query, key), lambda: cell(of.model, of.trace, layer, head, query, key))
    if top < 1:
        raise InputError("At least one key must be drawn.")
    frame = arithmetic.smoother()
    best = np.argsort(-frame["contribution"].to_numpy(), kind="stable")[:top]
    chosen = np.union1d(best, [arithmetic.key])
    frame["shown"] = np.isin(frame["key"], chosen)
    drawn, rest = frame[frame["shown"]], frame[~frame["shown"]]
    names = names_of(list(drawn["key_token"]), list(drawn["key"]), len(rest))
    kernels = {
        f"kernel_a{i + 1}": f"kernel {i + 1}" if len(arithmetic.parts) > 1 else "kernel" for i in range(len(arithmetic.parts) * kernel)
    }
    titles = kernels | _PANELS
    values = [(column, key, value) for column in titles for key, value in zip(drawn["key"].tolist(), drawn[column].tolist(), strict=True)]
    if len(rest):
        values += [(column, REST, rest[column].mean() if column == "value_norm" else rest[column].sum()) for column in titles]
    rows = [(*row, _said(row[0], row[2]), "minus" if row[2] < 0 else "muted" if row[0] == "value_norm" else "plus") for row in values]
    title = f"Output of layer {arithmetic.layer + 1}, head {arithmetic.head + 1} for “{shortened(arithmetic.tokens[arithmetic.query], 18)}”"
    return Figure(
        file_safe("smoother", arithmetic.run, f"layer{arithmetic.layer + 1}", f"head{arithmetic.head + 1}", f"query{arithmetic.query + 1}"),
        bar_panels(title, rows, titles, names, arithmetic.key),
        frame,
        _caption(arithmetic, frame, rest, kernel),
    )
