"""Slices on which a model is weaker than on the other rows: the difference of the accuracies with its interval."""

from __future__ import annotations

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, palette
from sentviz.figures.figure import Figure, file_safe, new_plot, sentence
from sentviz.figures.panels import UNFADED, dotted, note_above, row_axis, with_interval
from sentviz.figures.text import as_run, as_text
from sentviz.io.lazy import pd

LETTERS = 27  # letters of a slice's name in one line


def weak_slices(
    frame: pd.DataFrame, *, run: str = "", candidates: int = 0, held_out: int = 0, chosen: str = "", theme: Theme = "light"
) -> Figure:
    """Draw a bar with an interval for each slice that was tested, the weakest at the top; slices that are not weaker are grey.

    Args:
        frame: slice, says, n, mistakes, rows, accuracy, difference, low, high, adjusted, found, from `sentviz.analysis.testset.weak`.
        candidates: number of slices that were searched. held_out: rows of the second half.
        chosen: slice to outline.
    """
    if frame.empty:
        raise InputError(f"{run or 'The model'} is not weaker on any of {candidates:,} slices in the first half, so no slice was tested.")
    colours = palette(theme)
    names = [lines(says) for says in frame["says"]]
    row, top, widest = 44, 58, max(len(part) for name in names for part in name.split("<br>"))
    title = f"Where {as_run(run, 40)} is weakest" if run else "Where the model is weakest"
    plot = new_plot(theme, title, (620, top + row * len(frame) + 52), (24 + round(6.4 * min(widest, LETTERS)), top, 58, 52))
    plot.add_vline(x=0, line=dotted(colours))
    note_above(plot, 0, "other rows", colours.muted)
    if chosen in set(frame["slice"]):
        at = frame["slice"].tolist().index(chosen)
        plot.add_shape(
            type="rect", xref="paper", x0=0, x1=1, y0=at - 0.45, y1=at + 0.45, line={"color": colours.ink, "width": 1.5}, layer="below"
        )
    values = 100 * frame[["difference", "low", "high"]].to_numpy(float)
    for is_weak, colour in ((True, colours.wrong), (False, colours.muted)):
        places = [place for place, is_found in enumerate(frame["found"]) if bool(is_found) == is_weak]
        if not places:
            continue
        part = frame.iloc[places]
        plot.add_bar(
            **with_interval("x", values[places], colours.ink),
            y=places,
            orientation="h",
            width=0.55,
            marker={"color": colour, "opacity": 1 if is_weak else 0.45},
            showlegend=False,
            customdata=part[["accuracy", "n", "mistakes", "rows", "adjusted"]].to_numpy(object).tolist(),
            hovertemplate="%{x:+.1f} points<br>%{customdata[0]:.1%} of %{customdata[1]} held-out rows right<br>"
            "%{customdata[2]} mistakes in %{customdata[3]} rows<br>adjusted p = %{customdata[4]:.2g}<extra></extra>",
            **UNFADED,
        )
    for place, (accuracy, n) in enumerate(zip(frame["accuracy"], frame["n"], strict=True)):
        text = f"{accuracy:.0%}<br>of {n:,}"
        plot.add_annotation(x=1.01, xref="paper", xanchor="left", y=place, text=text, showarrow=False, align="left", font={"size": 11})
    plot.update_yaxes(row_axis(names))
    low, high = min(-5.0, 1.06 * values[:, 1].min()), max(5.0, 1.06 * values[:, 2].max())
    step = next((step for step in (5, 10, 20) if high - low < 6 * step), 50)
    plot.update_xaxes(range=[low, high], dtick=step, tick0=0, title="difference in accuracy, points")
    caption = sentence(
        [
            f"Slices of the rows on which {run or 'the model'} is weakest: the accuracy of the slice minus that of all other rows.",
            f"{candidates:,} slices were searched on one half of the rows; {len(frame)} {'was' if len(frame) == 1 else 'were'} tested on"
            f" {held_out:,} held-out rows."
            if candidates
            else "",
            f"The intervals hold together with 95%. {_weaker(int(frame['found'].sum()), len(frame))}",
            "On the right: accuracy and number of the slice's held-out rows.",
        ]
    )
    return Figure(file_safe("weak-slices", run), plot, frame.reset_index(drop=True), caption)


def _weaker(count: int, tested: int) -> str:
    weaker = "significantly weaker (p adjusted by Holm below 0.05)"
    if count == 0:
        return f"No slice is {weaker}."
    if count == tested:
        return f"The slice is {weaker}." if tested == 1 else f"All are {weaker}."
    return f"{count} {'is' if count == 1 else 'are'} {weaker}; the others are grey."


def lines(says: str) -> str:
    """Return the words of a slice as a Plotly label of at most two lines."""
    parts = says.split("; ")
    if len(parts) > 1 and len(says) > LETTERS:
        return as_text(parts[0], LETTERS) + "<br>" + as_text("; ".join(parts[1:]), LETTERS)
    return as_text(says, LETTERS)
