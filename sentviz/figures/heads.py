"""Measures of attention heads over many texts: lines over layers for several runs, and one cell per head."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from sentviz.errors import InputError
from sentviz.figures.cells import number_cells
from sentviz.figures.colours import Theme, palette
from sentviz.figures.figure import Figure, file_safe, lay_out
from sentviz.figures.panels import band, legend_below, panel_grid, run_marks
from sentviz.figures.text import as_run
from sentviz.io.lazy import pd

MEASURE_TITLES = {
    "from_cls": "CLS attention std, from [CLS] to the others",
    "to_cls": "CLS attention std, from the others to [CLS]",
    "entropy": "Entropy, share of its maximum",
    "previous": "Attention to the token before",
    "next": "Attention to the token after",
    "same": "Attention to the token itself",
    "specials": "Attention to [CLS] and [SEP]",
    "first": "Attention to the first token",
}
TITLE, PANEL = 22, 208  # letters in a line of a panel's title, and pixels of a panel's height


def layer_lines(
    frames: Mapping[str, pd.DataFrame],
    measures: Sequence[str],
    *,
    dashed: Sequence[str] = (),
    series: Sequence[int] = (),
    sentence: pd.DataFrame | None = None,
    title: str = "",
    theme: Theme = "light",
) -> Figure:
    """Draw measures by layer, mean over heads, with a line and a band for each run.

    Args:
        frames: name -> layer, head (-1 = mean over heads), measure, value, low, high, n, as `sentviz.analysis.maps.heads` gives it.
        measures: keys of `MEASURE_TITLES`, one panel each.
        dashed: names with dashed lines (the baselines); all others have solid lines.
        series: number of the colour and symbol of each run of `frames`, as in `run_marks`.
        sentence: layer, head, measure, value of one sentence, drawn as rings.
        title: of the figure; "" for none.
    Frame:
        run, layer (counted from 0), measure, value, low, high, n.
    """
    rows = [
        frame[(frame["head"] < 0) & frame["measure"].isin(measures)].assign(run=name)[
            ["run", "layer", "measure", "value", "low", "high", "n"]
        ]
        for name, frame in frames.items()
    ]
    table = pd.concat(rows, ignore_index=True) if rows else pd.DataFrame()
    if table.empty:
        raise InputError("None of these runs has these measures. Measures of [CLS] need runs with [CLS].")
    drawn = [measure for measure in measures if (table["measure"] == measure).any()]
    colours = palette(theme)
    titles = [textwrap.wrap(MEASURE_TITLES[measure], TITLE) for measure in drawn]
    tallest, down = 17 * max(map(len, titles)), -(-len(drawn) // 2)
    gap = 40 + tallest
    area = PANEL * down + gap * (down - 1)
    plot, places = panel_grid(["<br>".join(lines) for lines in titles], 2, theme, apart=0.1, below=down * gap / area)
    marks, layers = run_marks(list(frames), theme, series), sorted(table["layer"].unique())
    names = list(dict.fromkeys(table["run"]))
    for k, (measure, place) in enumerate(zip(drawn, places, strict=True)):
        for name in names:
            part = table[(table["run"] == name) & (table["measure"] == measure)].sort_values("layer")
            colour, x = marks[name].colour, part["layer"] + 1
            band(plot, x, part["low"], part["high"], colour, 0.18, **place)
            plot.add_scatter(
                x=x,
                y=part["value"],
                mode="lines+markers",
                name=as_run(name, 40),
                legendgroup=name,
                showlegend=k == 0,
                line={"color": colour, "width": 2, "dash": "dash" if name in dashed else "solid"},
                marker={"size": 8, "symbol": marks[name].symbol},
                customdata=part[["low", "high"]],
                hovertemplate=as_run(name, 60) + ", layer %{x}<br>%{y:.4f} [%{customdata[0]:.4f}, %{customdata[1]:.4f}]<extra></extra>",
                **place,
            )
        if sentence is not None:
            own = sentence[(sentence["head"] < 0) & (sentence["measure"] == measure)].sort_values("layer")
            plot.add_scatter(
                x=own["layer"] + 1,
                y=own["value"],
                mode="markers",
                name="this sentence",
                legendgroup="sentence",
                showlegend=k == 0,
                marker={"size": 13, "symbol": "circle-open", "color": colours.ink, "line": {"width": 2}},
                hovertemplate="this sentence, layer %{x}: %{y:.4f}<extra></extra>",
                **place,
            )
    top = tallest + (60 if title else 24)
    size = 420 * min(len(drawn), 2) + 60, area + top + 78
    lay_out(plot, theme, title, size, (56, top, 20, 78), legend=legend_below(-46 / area))
    plot.update_xaxes(tickvals=[layer + 1 for layer in layers], title_text="layer", title_standoff=4, automargin=False)
    plot.update_yaxes(rangemode="tozero", automargin=False, nticks=6)
    counts = sorted({int(table["n"].min()), int(table["n"].max())})
    caption = (
        f"Lines are means over heads and {' to '.join(f'{n:,}' for n in counts)} texts; bands are 95% intervals of the mean over texts."
        + (" Dashed: without a lexicon, solid: with it." if dashed else "")
        + (" Rings: the sentence of the page Explore." if sentence is not None else "")
    )
    return Figure(file_safe("by-layer", *drawn[:2], *names[:2]), plot, table, caption)


def head_grid(frame: pd.DataFrame, measure: str, *, theme: Theme = "light") -> Figure:
    """Draw one measure of every head: layers down, heads across.

    Args:
        frame: layer, head (-1 is left out), measure, value, as `sentviz.analysis.maps.heads` gives it.
    Frame:
        layer, head (counted from 0), measure, value (and the other columns of `frame`).
    """
    part = frame[(frame["measure"] == measure) & (frame["head"] >= 0)].reset_index(drop=True)
    if part.empty:
        raise InputError(f"This run has no {MEASURE_TITLES.get(measure, measure).lower()}.")
    table = part.pivot(index="layer", columns="head", values="value")
    values = table.to_numpy(float)
    top = float(values.max()) or 1.0
    plot = number_cells(
        values,
        [f"layer {layer + 1}" for layer in table.index.astype(int)],
        [f"head {head + 1}" for head in table.columns.astype(int)],
        title=MEASURE_TITLES.get(measure, measure),
        top=top,
        digits=2 if top >= 0.1 else 3,
        theme=theme,
    )
    caption = f"{MEASURE_TITLES.get(measure, measure)}, mean over texts (n = {int(part['n'].max()):,})." if "n" in part else ""
    return Figure(file_safe("heads", measure), plot, part, caption)
