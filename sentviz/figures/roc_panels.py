"""ROC curves in two rows of panels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, palette
from sentviz.figures.figure import DASHES, Figure, lay_out, sentence
from sentviz.figures.operating import chance_line
from sentviz.figures.panels import panel_grid
from sentviz.figures.text import as_text
from sentviz.io.lazy import pd

NARROW = 200  # smallest width in pixels of a panel with its areas


def roc_panels(
    frame: pd.DataFrame, *, order: Sequence[str] = (), chosen: str = "", missing: Sequence[str] = (), width: int = 0, theme: Theme = "light"
) -> Figure:
    """Draw a column per data set and a row per model; each panel lists the area and interval of its curves.

    If the figure is too narrow for this, it has a row per data set and a column per model; very narrow panels show areas without intervals.

    Args:
        frame: row, panel, run, curve, fpr, tpr, auc, low, high, n, macro, macro_low, macro_high (the mean area over the classes of the
            run), printed (the reported area; NaN if there is none).
        order: order of the panels; by default that of the frame.
        chosen: how the NDT was chosen, for the caption.
        missing: names of the panels that cannot be drawn, for the caption.
        width: pixels of the figure; 0 for the width that the panels need.
    """
    rows, names = list(frame["row"].unique()), list(frame["panel"].unique())
    panels = sorted(names, key=[*order, *names].index)
    if not panels:
        raise InputError("No run of DT or NDT is installed, so there is no ROC curve.")
    colours = palette(theme)
    runs = frame.drop_duplicates(["row", "panel"]).set_index(["row", "panel"])["run"].to_dict()
    turned = 0 < width < NARROW * len(panels) + 88
    down, across = (len(panels), len(rows)) if turned else (len(rows), len(panels))
    with_intervals = not turned or width > NARROW * len(rows) + 88
    pairs = [(row, panel) for panel in panels for row in rows] if turned else [(row, panel) for row in rows for panel in panels]
    titles = [f"{as_text(panel, 28)}<br>{as_text(runs.get((row, panel), 'no run here'), 34)}" for row, panel in pairs]
    shared = {"shared_xaxes": True, "shared_yaxes": True}
    plot, _ = panel_grid(titles, across, theme, apart=0.03, below=0.32, size=12, **shared)
    for r, row in enumerate(rows):
        for c, panel in enumerate(panels):
            place = {"row": c + 1, "col": r + 1} if turned else {"row": r + 1, "col": c + 1}
            cell = frame[(frame["row"] == row) & (frame["panel"] == panel)]
            chance_line(plot, colours, showlegend=False, **place)
            areas = []
            for k, (curve, line) in enumerate(cell.groupby("curve", sort=False)):
                colour, dash = colours.line(k), DASHES[k % len(DASHES)]
                plot.add_scatter(
                    x=line["fpr"],
                    y=line["tpr"],
                    mode="lines",
                    line={"color": colour, "width": 2, "dash": dash},
                    showlegend=False,
                    hovertemplate=f"{as_text(str(curve), 30)}<br>false positives %{{x:.1%}}, true positives %{{y:.1%}}<extra></extra>",
                    **place,
                )
                first = line.iloc[0]
                name = f"{as_text(str(curve), 10)} " if cell["curve"].nunique() > 1 else ""
                interval = f" [{first['low']:.3f}, {first['high']:.3f}]" if with_intervals else ""
                areas.append(f"<span style='color:{colour}'>{name}{first['auc']:.3f}{interval}</span>")
            if areas:
                areas += _compared(cell, with_intervals=with_intervals)
                text = "<br>".join(["area", *areas])
                plot.add_annotation(
                    x=1, y=0.02, xanchor="right", yanchor="bottom", align="right", text=text, font={"size": 11},
                    bgcolor=colours.paper, opacity=0.92, **place,
                )  # fmt: skip
    lay_out(
        plot,
        theme,
        f"ROC curves: DT {'left' if turned else 'above'}, the best NDT of each data set {'right' if turned else 'below'}",
        (width or max(250 * len(panels) + 80, 560), (210 if turned else 275) * down + 110),
        (64, 80, 24, 52),
    )
    short = {"tickvals": [0, 0.5, 1], "ticktext": ["0", "0.5", "1"], "automargin": False}
    plot.update_xaxes(range=[-0.02, 1.02], **short)
    plot.update_yaxes(range=[-0.02, 1.04], **short)
    plot.update_xaxes(title_text="false positive rate", title_standoff=4, row=down)
    plot.update_yaxes(title_text="true positive rate", title_standoff=4, col=1)
    sizes = frame.drop_duplicates("panel").set_index("panel").loc[panels].reset_index()
    caption = sentence(
        [
            "Test split. With two classes there is one curve, with more classes one for each class against the rest; macro is the mean of"
            " their areas. Brackets: 95% bootstrap intervals over test rows.",
            "“Paper” is the reported area of the same configuration." if frame["printed"].notna().any() else "",
            f"Rows: {', '.join(f'{panel} {n:,}' for panel, n in zip(sizes['panel'], sizes['n'], strict=True))}.",
            f"{chosen} The first seed of each configuration is drawn." if chosen else "",
            f"No run is installed for: {', '.join(missing)}." if missing else "",
        ]
    )
    again = partial(roc_panels, frame, order=order, chosen=chosen, missing=missing, theme=theme)
    columns = ["row", "panel", "run", "curve", "auc", "low", "high", "n", "macro", "macro_low", "macro_high", "printed"]
    printed = frame.drop_duplicates(["row", "panel", "curve"])[columns]
    return Figure("roc-panels", plot, frame.reset_index(drop=True), caption, at_width=again, printed=printed)


def _compared(cell: pd.DataFrame, *, with_intervals: bool) -> list[str]:
    """Return the lines on the area of a run: its macro area if it has several curves, and the reported one."""
    first, lines = cell.iloc[0], []
    if cell["curve"].nunique() > 1:
        interval = f" [{first['macro_low']:.3f}, {first['macro_high']:.3f}]" if with_intervals else ""
        lines.append(f"macro {first['macro']:.3f}{interval}")
    return [*lines, f"paper {first['printed']:.3f}"] if pd.notna(first["printed"]) else lines
