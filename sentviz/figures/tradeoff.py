"""Parameters against latency."""

from __future__ import annotations

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, palette
from sentviz.figures.figure import Figure, file_safe, new_plot, sentence
from sentviz.figures.panels import legend_below, with_interval
from sentviz.figures.text import as_text
from sentviz.io.lazy import pd

BESIDE = {
    "vanilla-matched": ("right", -11),
    "diff": ("left", 0),
    "ndt-unit-2": ("right", 9),
}  # side and shift in pixels of labels whose points nearly coincide


def tradeoff(frame: pd.DataFrame, printed: pd.DataFrame, *, title: str, theme: Theme = "light") -> Figure:
    """Draw each model at its parameters (millions) and its time per test batch as a multiple of vanilla's.

    Args:
        frame: model, parameters, value, low, high, measured in one process.
        printed: model, parameters, value, low, high: the range that rounding in the paper allows. May be empty.
        title: name of the data set.
    """
    if frame.empty and printed.empty:
        raise InputError("There is neither a measured nor a reported time.")
    colours = palette(theme)
    plot = new_plot(
        theme, f"Parameters against time per batch, {as_text(title, 40)}", (620, 420), (64, 44, 44, 88), legend=legend_below(-0.17)
    )
    kinds = (
        ("measured, 95% interval over rounds", frame, "circle", colours.lines[0]),
        ("reported, with its rounding", printed, "diamond-open", colours.lines[1]),
    )
    for name, rows, symbol, colour in kinds:
        if rows.empty:
            continue
        values = rows[["value", "low", "high"]].to_numpy(float)
        plot.add_scatter(
            x=rows["parameters"],
            **with_interval("y", values, colour),
            mode="markers",
            name=name,
            marker={"size": 10, "symbol": symbol, "color": colour, "line": {"width": 2, "color": colour}},
            customdata=[as_text(model, 30) for model in rows["model"]],
            hovertemplate="%{customdata}: %{x:.2f} M, %{y:.2f} × vanilla<extra></extra>",
        )
        if rows is frame:
            for row in rows.to_dict("records"):
                side, up = BESIDE.get(row["model"], ("right", 0))
                plot.add_annotation(
                    x=row["parameters"],
                    y=row["value"],
                    text=as_text(row["model"].replace("ndt-unit-", "NDT, C = "), 30),
                    xanchor=side,
                    xshift=-9 if side == "right" else 9,
                    yshift=up,
                    font={"size": 11, "color": colours.muted},
                    bgcolor=colours.paper,  # Otherwise intervals of other models would cross the name.
                )
    plot.update_xaxes(title_text="parameters, millions", title_standoff=4, automargin=False, nticks=7)
    plot.update_yaxes(title_text="× vanilla", title_standoff=4, automargin=False, rangemode="tozero")
    caption = sentence(
        [
            "Time of the same test batches as a multiple of vanilla's time. The models are measured in turns in one process."
            if len(frame)
            else "",
            "The paper reports whole seconds for all batches; the bars of its diamonds are the range that rounding to whole seconds allows."
            if len(printed)
            else "",
            "The constraint of lambda changes neither the parameters nor the time." if len(frame) else "",
        ]
    )
    together = pd.concat([frame.assign(source="measured"), printed.assign(source="printed")], ignore_index=True)
    return Figure(file_safe("parameters-latency", title), plot, together, caption)
