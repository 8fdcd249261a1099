"""ROC curves in two rows of panels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pandas as pd
from plotly.subplots import make_subplots

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, palette
from sentviz.figures.figure import Figure, base_layout, is_panel_title, sentence
from sentviz.figures.text import as_text

DASHES = ("solid", "dash", "dot", "dashdot", "longdash")


NARROW = 200  # pixels that a panel with its areas needs


def roc_panels(
    frame: pd.DataFrame, *, order: Sequence[str] = (), missing: Sequence[str] = (), width: int = 0, theme: Theme = "light"
) -> Figure:
    """A column per data set and a row per model; curves are named in the panel, each with its area and interval.

    Where that is too narrow, a row per data set and a column per model; areas stand without their intervals where panels are narrow still.

    Args:
        frame: row, panel, run, curve, fpr, tpr, auc, low, high, n.
        order: of the panels, where it is not that of the frame.
        missing: what cannot be drawn; the caption says so.
        width: of the picture, in pixels; as wide as its panels need unless given.
    Raises:
        InputError: no curve.
    """
    rows, there = list(frame["row"].unique()), list(frame["panel"].unique())
    panels = sorted(there, key=[*order, *there].index)
    if not panels:
        raise InputError("There are neither runs of DT nor of NDT here, so there is no ROC curve.")
    colours = palette(theme)
    runs = frame.drop_duplicates(["row", "panel"]).set_index(["row", "panel"])["run"].to_dict()
    turned = 0 < width < NARROW * len(panels) + 88
    down, across = (len(panels), len(rows)) if turned else (len(rows), len(panels))
    told = not turned or width > NARROW * len(rows) + 88
    pairs = [(row, panel) for panel in panels for row in rows] if turned else [(row, panel) for row in rows for panel in panels]
    titles = [f"{as_text(panel, 28)}<br>{as_text(runs.get((row, panel), 'no run here'), 34)}" for row, panel in pairs]
    plot = make_subplots(
        rows=down, cols=across, shared_xaxes=True, shared_yaxes=True,
        horizontal_spacing=0.03, vertical_spacing=0.32 / down, subplot_titles=titles,
    )  # fmt: skip
    for r, row in enumerate(rows):
        for c, panel in enumerate(panels):
            place = {"row": c + 1, "col": r + 1} if turned else {"row": r + 1, "col": c + 1}
            here = frame[(frame["row"] == row) & (frame["panel"] == panel)]
            plot.add_scatter(
                x=[0, 1], y=[0, 1], mode="lines", line={"color": colours.muted, "width": 1, "dash": "dot"},
                hoverinfo="skip", showlegend=False, **place,
            )  # fmt: skip
            said = []
            for k, (curve, line) in enumerate(here.groupby("curve", sort=False)):
                colour, dash = colours.lines[k % len(colours.lines)], DASHES[k % len(DASHES)]
                plot.add_scatter(
                    x=line["fpr"],
                    y=line["tpr"],
                    mode="lines",
                    line={"color": colour, "width": 2, "dash": dash},
                    showlegend=False,
                    hovertemplate=f"{as_text(str(curve), 30)}<br>false positives %{{x:.1%}}, true positives %{{y:.1%}}<extra></extra>",
                    **place,
                )
                one = line.iloc[0]
                name = f"{as_text(str(curve), 10)} " if here["curve"].nunique() > 1 else ""
                interval = f" [{one['low']:.3f}, {one['high']:.3f}]" if told else ""
                said.append(f"<span style='color:{colour}'>{name}{one['auc']:.3f}{interval}</span>")
            if said:
                text = "<br>".join(["area", *said])
                plot.add_annotation(
                    x=1, y=0.02, xanchor="right", yanchor="bottom", align="right", text=text, font={"size": 11},
                    bgcolor=colours.paper, opacity=0.92, **place,
                )  # fmt: skip
    plot.update_layout(
        base_layout(
            theme,
            title=f"ROC curves: DT {'left' if turned else 'above'}, the best NDT of each data set {'right' if turned else 'below'}",
            width=width or max(250 * len(panels) + 80, 560),
            height=(210 if turned else 275) * down + 110,
            margin=(64, 80, 24, 52),
        )
    )
    short = {"tickvals": [0, 0.5, 1], "ticktext": ["0", "0.5", "1"], "automargin": False}
    plot.update_xaxes(range=[-0.02, 1.02], **short)
    plot.update_yaxes(range=[-0.02, 1.04], **short)
    plot.update_xaxes(title_text="false positive rate", title_standoff=4, row=down)
    plot.update_yaxes(title_text="true positive rate", title_standoff=4, col=1)
    plot.update_annotations(selector=is_panel_title, font={"size": 12, "color": colours.muted})
    sizes = frame.drop_duplicates("panel").set_index("panel").loc[panels].reset_index()
    caption = sentence(
        [
            "Test split; two classes have one curve, more have one against the rest each. Brackets: 95% bootstrap over test rows.",
            f"Rows: {', '.join(f'{panel} {n:,}' for panel, n in zip(sizes['panel'], sizes['n'], strict=True))}.",
            "NDT was chosen on validation accuracy; drawn is the first seed of each.",
            f"No run here: {', '.join(missing)}." if missing else "",
        ]
    )
    again = partial(roc_panels, frame, order=order, missing=missing, theme=theme)
    printed = frame.drop_duplicates(["row", "panel", "curve"])[["row", "panel", "run", "curve", "auc", "low", "high", "n"]]
    return Figure("roc-panels", plot, frame.reset_index(drop=True), caption, at_width=again, printed=printed)
