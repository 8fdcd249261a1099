"""ROC curves in two rows of panels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sentviz.charts.chart import Axis, Chart, Panels, line
from sentviz.charts.figure import DASHES, Figure, sentence
from sentviz.charts.operating import diagonal
from sentviz.charts.text import shortened
from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.io.numbers import number


def roc_panels(frame: pd.DataFrame, *, order: Sequence[str] = (), chosen: str = "", missing: Sequence[str] = ()) -> Figure:
    """Draw a column per data set and a row per model; each panel lists the area and interval of its curves.

    Args:
        frame: row, panel, run, curve, fpr, tpr, auc, low, high, n, macro, macro_low, macro_high (the mean area over the classes of the
            run), printed (the reported area; NaN if there is none).
        order: order of the panels; by default that of the frame.
        chosen: how the NDT was chosen, for the caption.
        missing: names of the panels that cannot be drawn, for the caption.
    """
    rows, names = list(frame["row"].unique()), list(frame["panel"].unique())
    panels = sorted(names, key=[*order, *names].index)
    if not panels:
        raise InputError("No run of DT or NDT is installed, so there is no ROC curve.")
    runs = frame.drop_duplicates(["row", "panel"]).set_index(["row", "panel"])["run"].to_dict()
    cells = {f"{row}, {panel}": (row, panel) for row in rows for panel in panels}
    drawn = frame.assign(cell=frame["row"] + ", " + frame["panel"], place=frame.groupby(["row", "panel"])["curve"].transform(_places))
    marks = [diagonal()]
    for place in sorted(drawn["place"].astype(int).unique().tolist()):
        part = drawn[drawn["place"] == place]
        hover = "{curve}<br>false positives {fpr:.1%}, true positives {tpr:.1%}"
        marks.append(line(part, "fpr", "tpr", role=place, symbol="", dash=DASHES[place % len(DASHES)], hover=hover))
    notes = {name: _areas(drawn[drawn["cell"] == name]) for name in cells}
    titles = {name: f"{panel}\n{runs.get((row, panel), 'no run here')}" for name, (row, panel) in cells.items()}
    ticks = {0.0: "0", 0.5: "0.5", 1.0: "1"}
    across = Axis("false positive rate", span=(-0.02, 1.02), ticks=ticks)
    down = Axis("true positive rate", span=(-0.02, 1.04), ticks=ticks)
    title = "ROC curves of DT and of the best NDT of each data set"
    chart = Chart(title, marks, across, down, panels=Panels("cell", titles, len(panels), notes=notes), height=1.2)
    sizes = frame.drop_duplicates("panel").set_index("panel").loc[panels].reset_index()
    caption = sentence(
        [
            "Test split. With two classes there is one curve, with more classes one for each class against the rest; macro is the mean of"
            " their areas. Brackets: 95 % bootstrap intervals over test rows.",
            "“Paper” is the reported area of the same configuration." if frame["printed"].notna().any() else "",
            f"Rows: {', '.join(f'{panel} {n:,}' for panel, n in zip(sizes['panel'], sizes['n'], strict=True))}.",
            f"{chosen} The first seed of each configuration is drawn." if chosen else "",
            f"No run is installed for: {', '.join(missing)}." if missing else "",
        ]
    )
    columns = ["row", "panel", "run", "curve", "auc", "low", "high", "n", "macro", "macro_low", "macro_high", "printed"]
    printed = frame.drop_duplicates(["row", "panel", "curve"])[columns]
    return Figure("roc-panels", chart, frame.reset_index(drop=True), caption, printed=printed)


def _places(curves: pd.Series[str]) -> npt.NDArray[np.intp]:
    """Return the number of each curve of a panel, in their order."""
    return pd.factorize(curves)[0]


def _areas(cell: pd.DataFrame) -> list[tuple[str, str | int]]:
    """Return the areas of a panel's curves with their intervals, and what they are compared with."""
    if cell.empty:
        return []
    several = cell["curve"].nunique() > 1
    areas: list[tuple[str, str | int]] = [("area", "ink")]
    for row in cell.drop_duplicates("curve").to_dict("records"):
        name = f"{shortened(str(row['curve']), 10)} " if several else ""
        areas.append((f"{name}{number(row['auc'], 3, ends=(row['low'], row['high']))}", int(row["place"])))
    return [*areas, *((text, "ink") for text in _compared(cell))]


def _compared(cell: pd.DataFrame) -> list[str]:
    """Return the lines on the area of a run: its macro area if it has several curves, and the reported one."""
    first, lines = cell.iloc[0], []
    if cell["curve"].nunique() > 1:
        lines.append(f"macro {number(first['macro'], 3, ends=(first['macro_low'], first['macro_high']))}")
    return [*lines, f"paper {first['printed']:.3f}"] if pd.notna(first["printed"]) else lines
