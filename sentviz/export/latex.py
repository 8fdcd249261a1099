"""A figure's numbers as the table that a paper prints: booktabs rules, places counted from 1, no row for each step or point."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sentviz.figures.figure import Figure, sentence
from sentviz.io.spreadsheet import from_one

if TYPE_CHECKING:
    import pandas as pd

MOST = 40  # rows that fit on a page
TIMES = ("step", "epoch")


def as_tex(figure: Figure) -> bytes:
    """The table in UTF-8; the user's words are escaped.

    Its rows are those that the figure says are printed, else of a frame over time the last of each line, else the frame. Of more than
    `MOST` the first are printed; the caption says which and that the CSV has all.
    """
    frame = figure.frame if figure.printed is None else figure.printed
    said = ""
    if figure.printed is None and len(frame) > MOST and (time := next((name for name in TIMES if name in frame), "")):
        frame, said = _last(frame, time), f"Printed is the last {time} of each line."
    if len(frame) > MOST:
        said = sentence([said, f"Printed are the first {MOST} of {len(frame):,} rows; the CSV has all."])
    words = _TEX.sub(lambda found: _SAFE[found[0]], sentence([figure.caption, said, figure.source]))
    shown = from_one(frame.head(MOST), figure.from_zero)
    table = shown.to_latex(index=False, escape=True, float_format="%.4g", na_rep="", caption=words, label=f"tab:{figure.name}")
    return f"% \\usepackage{{booktabs}}\n{table.translate(_CONTROL)}".encode()


def _last(frame: pd.DataFrame, time: str) -> pd.DataFrame:
    """The last row of each line: of rows that are alike in all that is no measure and no time."""
    same = [name for name in frame if name not in TIMES and frame[name].dtype.kind != "f"]
    if not same:
        return frame.loc[[frame[time].idxmax()]]
    return frame.sort_values(time, kind="stable").groupby(same, sort=False, dropna=False).tail(1).sort_index()


_SAFE = {
    **{c: f"\\{c}" for c in "&%$#_{}"},
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
}
_CONTROL = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"}  # pictures of what TeX does not read
_TEX = re.compile("[" + re.escape("".join(_SAFE)) + "]")
