"""Labels that look wrong, by label and by the class that the model says."""

from __future__ import annotations

from collections.abc import Sequence

from sentviz.figures.colours import Theme, palette
from sentviz.figures.figure import Figure, file_safe, new_plot
from sentviz.figures.panels import UNFADED, row_axis, with_interval
from sentviz.figures.text import as_text, text_columns
from sentviz.io.lazy import pd

MOST = 12  # pairs of classes


def label_errors(frame: pd.DataFrame, classes: Sequence[str], *, name: str = "", theme: Theme = "light") -> Figure:
    """Draw for each pair of label and likely class the share of the label's rows that look wrong, with its interval.

    Args:
        frame: label, likely, n, of, share, low, high, from `sentviz.analysis.testset.label_errors.suspected_pairs`; the first 12 are drawn.
        classes: names of the classes. name: of the source.
    """
    drawn, colours = frame.head(MOST), palette(theme)
    rows = max(len(drawn), 1)
    labels = [f"{as_text(classes[a], 13)} → {as_text(classes[b], 13)}" for a, b in drawn[["label", "likely"]].to_numpy(int)]
    left = 24 + round(7.4 * max(map(text_columns, labels), default=0))
    plot = new_plot(theme, "Labels that look wrong", (620, 92 + 34 * rows), (left, 44, 60, 48))
    plot.add_scatter(
        **with_interval("x", drawn[["share", "low", "high"]].to_numpy(float), colours.ink),
        y=list(range(len(drawn))),
        mode="markers",
        marker={"size": 10, "color": colours.wrong},
        customdata=drawn[["label", "likely", "n", "of"]].to_numpy(object).tolist(),
        hovertemplate="%{customdata[2]:,} of %{customdata[3]:,} rows: %{x:.1%}<extra></extra>",
        **UNFADED,
    )
    for place, row in enumerate(drawn.to_dict("records")):
        plot.add_annotation(x=row["high"], y=place, text=f"{row['n']:,}", showarrow=False, xanchor="left", xshift=6, font={"size": 12})
    plot.update_yaxes(row_axis(labels))
    most = float(drawn["high"].max()) if len(drawn) else 0.01
    plot.update_xaxes(
        range=[0, 1.12 * most], tickformat=".1%" if most < 0.1 else ".0%", nticks=6, title="share of the rows with this label"
    )
    more = f" The {len(frame) - MOST} rarest pairs are not drawn." if len(frame) > MOST else ""
    caption = (
        "Rows whose label looks wrong by confident learning (cleanlab), by the label and, after the arrow, the class that the model says."
        f" The number is that of the rows; bars are Wilson's 95% intervals of the share.{more}"
    )
    return Figure(
        file_safe("label-errors", name),
        plot,
        frame.assign(label=[classes[k] for k in frame["label"]], likely=[classes[k] for k in frame["likely"]]),
        caption,
    )
