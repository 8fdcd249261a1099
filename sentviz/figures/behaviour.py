"""The behaviour card: rates of runs by capability, each dot with its interval, and the rates of baselines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, palette
from sentviz.figures.figure import Figure, file_safe, new_plot, sentence
from sentviz.figures.panels import UNFADED, dotted, row_axis, run_marks, stacked, with_interval
from sentviz.figures.text import as_run, as_text
from sentviz.io.lazy import go, pd

MOST = 6  # runs
BASELINES = ("diamond-open", "square-open", "triangle-up-open")
KINDS = {"minimum functionality": "minimum<br>functionality", "invariance": "invariance", "direction": "direction"}


def behaviour(
    tables: Mapping[str, pd.DataFrame],
    baselines: Mapping[str, pd.DataFrame],
    *,
    chosen: str = "",
    series: Sequence[int] = (),
    theme: Theme = "light",
) -> Figure:
    """Draw a row per capability in the order of the card, with a dot and an interval for each run and open marks for baselines.

    Args:
        tables: frames of `sentviz.analysis.testset.behaviour.Card.frame` by run, at most 6, all with the same capabilities.
        baselines: the same by baseline, at most 3.
        chosen: capability to outline.
        series: number of the colour and symbol of each run, as in `run_marks`.
    Frame:
        model, role (run or baseline), and the columns of the tables.
    """
    runs = list(tables)
    if not 1 <= len(runs) <= MOST or len(baselines) > len(BASELINES):
        raise InputError(f"This figure has room for 1 to {MOST} runs and {len(BASELINES)} baselines.")
    first = tables[runs[0]]
    order = first["capability"].tolist()
    if any(table["capability"].tolist() != order for table in (*tables.values(), *baselines.values())):
        raise InputError("The runs were not tested on the same capabilities.")
    colours = palette(theme)
    step = 13 if len(runs) > 2 else 16
    row = max(30, step * len(runs) + 12)
    entries = len(runs) + len(baselines) + 1
    below = 50 + 24 * entries  # one entry per line: the figure is narrow in print and beside the list of cases
    plot = new_plot(
        theme,
        "Behaviour by capability",
        (660, 40 + row * len(order) + below),
        (104, 40, 96, below),
        legend={"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom", "xref": "container", "entrywidth": 200},
    )
    for i in range(0, len(order), 2):
        plot.add_hrect(y0=i - 0.5, y1=i + 0.5, fillcolor=colours.neutral, opacity=0.5, line_width=0, layer="below")
    for kind, text in KINDS.items():
        places = [i for i, each in enumerate(first["kind"]) if each == kind]
        if places:
            note = {"x": 1.01, "xref": "paper", "xanchor": "left", "align": "left", "font": {"size": 11, "color": colours.muted}}
            plot.add_annotation(y=(places[0] + places[-1]) / 2, text=text, **note)
            if places[0]:
                plot.add_shape(
                    type="line", xref="paper", x0=0, x1=1, y0=places[0] - 0.5, y1=places[0] - 0.5, line={"color": colours.muted, "width": 1}
                )
    functional = [i for i, each in enumerate(first["kind"]) if each == "minimum functionality"]
    if functional:
        plot.add_shape(type="line", x0=0.5, x1=0.5, y0=functional[0] - 0.5, y1=functional[-1] + 0.5, line=dotted(colours))
        plot.add_annotation(x=0.5, y=functional[0] - 0.5, yanchor="bottom", text="guessing", font={"size": 11, "color": colours.muted})
    if chosen in order:
        at = order.index(chosen)
        line = {"color": colours.ink, "width": 1.5}
        plot.add_shape(type="rect", xref="paper", x0=0, x1=1, y0=at - 0.5, y1=at + 0.5, line=line, layer="below")
    rows = list(range(len(order)))
    for symbol, (name, table) in zip(BASELINES, baselines.items(), strict=False):
        marker = {"size": 9, "symbol": symbol, "color": colours.muted, "line": {"width": 1.4}}
        _dots(plot, name, table, rows, {"x": table["rate"]}, marker)
    for r, (run, mark) in enumerate(run_marks(runs, theme, series).items()):
        table, shift = tables[run], (r - (len(runs) - 1) / 2) * step / row
        y = [place + shift for place in rows]
        tick = {"size": 13, "symbol": "line-ns-open", "color": mark.colour, "line": {"width": 2}}
        plot.add_scatter(
            x=table["random"],
            y=y,
            mode="markers",
            name="random edit of the same size",
            legendgroup="random",
            showlegend=r == 0,
            marker=tick,
            hovertemplate="random edit<br>%{x:.0%}<extra></extra>",
            **UNFADED,
        )
        values = table[["rate", "low", "high"]].to_numpy(float)
        _dots(plot, run, table, y, with_interval("x", values, mark.colour), {"size": 9, "symbol": mark.symbol, "color": mark.colour})
    plot.update_yaxes(row_axis([as_text(name, 20) for name in order]))
    plot.update_xaxes(range=[-0.02, 1.02], tickformat=".0%", nticks=6, automargin=False)
    sizes = sorted(set(first["n"]))
    caption = sentence(
        [
            f"Share of passed tests by capability, {sizes[0]}{f' to {sizes[-1]}' if len(sizes) > 1 else ''} cases each, from templates of"
            " sentviz (kinds of tests: Ribeiro et al. 2020).",
            "Bars are Wilson's 95% intervals over cases.",
            "Vertical ticks: the share that passes with a random edit of the same size. A rate near its tick shows no more than that the"
            " model is stable."
            if first["random"].notna().any()
            else "",
            f"Open marks: {', '.join(as_text(name, 40) for name in baselines)}." if baselines else "",
        ]
    )
    frame = pd.concat([stacked(tables, "model").assign(role="run"), *(t.assign(model=n, role="baseline") for n, t in baselines.items())])
    return Figure(file_safe("behaviour", *(runs if len(runs) < 3 else [])), plot, frame.reset_index(drop=True), caption)


def _dots(
    plot: go.Figure, name: str, table: pd.DataFrame, y: Sequence[float], x: Mapping[str, object], marker: Mapping[str, object]
) -> None:
    plot.add_scatter(
        **x,
        y=y,
        mode="markers",
        name=as_run(name, 30),
        marker=marker,
        customdata=table[["low", "high", "n", "capability"]].to_numpy(object).tolist(),
        hovertemplate=f"{as_run(name, 30)}<br>%{{x:.0%}} [%{{customdata[0]:.0%}}, %{{customdata[1]:.0%}}], n = %{{customdata[2]}}"
        "<extra></extra>",
        **UNFADED,
    )
