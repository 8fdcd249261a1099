"""Number of habits in which the components of each run differ: a row per range of lambda, a mark per run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, palette
from sentviz.figures.figure import SYMBOLS, Figure, lay_out, sentence
from sentviz.figures.panels import legend_below, legend_entry, panel_grid, row_axis
from sentviz.figures.text import as_text
from sentviz.io.lazy import pd
from sentviz.runs.presets import CONSTRAINT_SIGNS

ROW, LEFT, PANEL = 40, 104, 210  # pixels
MIXINGS = {"unit": "adds", "nonneg": "adds", "free": "adds", "symmetric": "subtracts", "differential": "subtracts"}  # order of the rows


def component_habits(frame: pd.DataFrame, *, titles: Mapping[str, str], theme: Theme = "light") -> Figure:
    """Draw a panel per data set: rows are ranges of lambda, x is the number of habits that differ beyond every baseline.

    Marks show the number of components; green runs add their maps, purple runs subtract. Grey: what chance allows.

    Args:
        frame: data, model, mixing, components, kind, seed, run, habits, of, needed, deals, alike, heads_alike; one row per run.
        titles: titles of the data sets, in order.
    """
    if frame.empty:
        raise InputError("No installed run of the study has measured components: `sentviz specialise RUN` measures those of a run.")
    colours = palette(theme)
    sets = [name for name in titles if name in set(frame["data"])]
    mixings = [mixing for mixing in MIXINGS if mixing in set(frame["mixing"])]
    names = [_label(mixing) for mixing in mixings]
    sizes = sorted(frame["components"].unique())
    height = ROW * len(names)
    plot, places = panel_grid([as_text(titles[name], 28) for name in sets], len(sets), theme, apart=0.03, shared_yaxes=True)
    tones = {"adds": colours.plus, "subtracts": colours.minus, "both": colours.muted}
    for name, place in zip(sets, places, strict=True):
        part = frame[frame["data"] == name]
        for k, size in enumerate(sizes):
            marks = part[part["components"] == size]
            steps = marks.groupby(["mixing", "habits"]).cumcount()
            lift = [0.28 * (k - (len(sizes) - 1) / 2) + 0.12 * step for step in steps]
            plot.add_scatter(
                x=marks["habits"],
                y=[mixings.index(mixing) + up for mixing, up in zip(marks["mixing"], lift, strict=True)],
                mode="markers",
                marker={"size": 10, "symbol": SYMBOLS[k], "color": [tones[kind] for kind in marks["kind"]]},
                showlegend=False,
                customdata=marks[["run", "habits", "of"]].to_numpy(),
                hovertemplate="%{customdata[0]}: %{customdata[1]} of %{customdata[2]} habits<extra></extra>",
                **place,
            )
        # Plotly leaves a rectangle out of a panel that is still empty.
        plot.add_vrect(x0=-0.6, x1=int(part["needed"].max()) - 0.5, fillcolor=colours.grid, line_width=0, layer="below", **place)
    for kind, words in {"adds": "adds its maps", "subtracts": "subtracts maps", "both": "λ of both signs"}.items():
        if kind in set(frame["kind"]):
            legend_entry(plot, words, "markers", marker={"size": 10, "symbol": "circle", "color": tones[kind]})
    for k, size in enumerate(sizes):
        legend_entry(plot, f"C = {size}", "markers", marker={"size": 10, "symbol": SYMBOLS[k], "color": colours.muted})
    legend_entry(plot, "what chance allows", "markers", marker={"size": 12, "symbol": "square", "color": colours.grid})
    most = int(frame["of"].max())
    width = LEFT + PANEL * max(len(sets), 3) + 24
    margin = (LEFT, 72, 24, 84)
    title = "Habits in which the components differ beyond every baseline"
    lay_out(plot, theme, title, (width, height + 72 + 84), margin, legend=legend_below(-48 / height))
    plot.update_yaxes(row_axis(names, 0.5, 0.5))
    plot.update_xaxes(range=[-0.6, most + 0.6], tickvals=list(range(0, most + 1, 3)), title_text=f"habits of {most}", title_standoff=2,
                      automargin=False)  # fmt: skip
    return Figure("component-habits", plot, frame.reset_index(drop=True), _caption(frame, sets, titles))


def _label(mixing: str) -> str:
    if mixing == "differential":
        return "DT, −λ"
    return "λ in " + CONSTRAINT_SIGNS[mixing].replace("inf", "∞").replace("-", "−")


def _caption(frame: pd.DataFrame, sets: Sequence[str], titles: Mapping[str, str]) -> str:
    sentences = [
        "A mark is a run. A habit is the entropy of a component's attention, or its attention to a class of words, in one layer, as a mean"
        " over heads. Components differ if their difference exceeds shuffled labels, shuffled heads and untrained models.",
        f"Grey: up to {int(frame['needed'].max()) - 1} habits, which chance allows at 5% per habit.",
    ]
    for kind, words in {"adds": "add their maps", "subtracts": "subtract maps"}.items():
        part = frame[frame["kind"] == kind]
        if len(part):
            sentences.append(f"Of the runs that {words}, {int((part['habits'] >= part['needed']).sum())} of {len(part)} reach more.")
    counts = ", ".join(f"{titles[name]} {int((frame['data'] == name).sum())}" for name in sets)
    seeds = int(frame.groupby(["data", "model"]).size().max())
    size, deals = min(zip(frame["components"], frame["deals"], strict=True), key=lambda pair: pair[1])
    return sentence(
        [
            *sentences,
            f"Not to differ is not to be equal: a difference in single heads is not seen, and with C = {size} the heads of"
            f" a layer can be dealt in {deals:,} ways, so p is at least {1 / deals:.2g}.",
            f"Measured runs: {counts}; at most {seeds} seed{'s' * (seeds > 1)} per configuration.",
        ]
    )
