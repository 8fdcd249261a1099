"""Labels that look wrong, by label and by the class that the model says."""

from __future__ import annotations

from sentviz.analysis.testset.label_errors import label_errors, suspected_pairs
from sentviz.charts.chart import Axis, Chart, points
from sentviz.charts.figure import Figure, file_safe
from sentviz.charts.registry import figure
from sentviz.charts.subjects import Answers
from sentviz.charts.text import shortened
from sentviz.io.lazy import pd

MOST = 12  # pairs of classes


@figure("label-errors", "Labels that look wrong", Answers)
def _label_errors(of: Answers) -> Figure:
    """Draw for each pair of label and likely class the share of the label's rows that look wrong, with its interval.

    Frame:
        label, likely (names of classes), n, of, share, low, high; the first 12 are drawn.
    """
    rows = of.first
    frame, classes = suspected_pairs(rows if "suspect" in rows.frame else label_errors(rows)), rows.classes
    named = frame.assign(label=[classes[k] for k in frame["label"]], likely=[classes[k] for k in frame["likely"]])
    pairs = [(int(a), int(b)) for a, b in frame[["label", "likely"]].head(MOST).to_numpy()]
    drawn = named.head(MOST).assign(pair=pd.Series(pairs, dtype=object), a=[a for a, _ in pairs], b=[b for _, b in pairs])
    names = {(a, b): f"{shortened(classes[a], 13)} → {shortened(classes[b], 13)}" for a, b in pairs}
    most = float(drawn["high"].max()) if len(drawn) else 0.01
    hover = "{n:,} of {of:,} rows: {share:.1%}"
    dots = points(drawn, "share", "pair", low="low", high="high", role="wrong", hover=hover, click=("a", "b"))
    across = Axis("share of the rows with this label", ".1%" if most < 0.1 else ".0%", span=(0, 1.05 * most))
    chart = Chart("Labels that look wrong", [dots], across, Axis(rows=names, notes=[f"{n:,}" for n in drawn["n"]]))
    more = f" The {len(frame) - MOST} rarest pairs are not drawn." if len(frame) > MOST else ""
    caption = (
        "Rows whose label looks wrong by confident learning (cleanlab), by the label and, after the arrow, the class that the model says."
        f" The number is that of the rows; bars are Wilson's 95 % intervals of the share.{more}"
    )
    return Figure(file_safe("label-errors", rows.source.name), chart, named, caption)
