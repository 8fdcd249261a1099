"""The direction of the classes: accuracy without it, agreement of the ways to find it, probes, words along it, and steering."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from sentviz.analysis.causal.direction_tables import depth_name
from sentviz.errors import InputError
from sentviz.figures.colours import Theme, palette
from sentviz.figures.figure import DASHES, SYMBOLS, Figure, annotate, file_safe, lay_out, new_plot, sentence
from sentviz.figures.matrix import matrix
from sentviz.figures.panels import band, dotted, legend_below, note_above, panel_grid, row_axis, with_interval
from sentviz.figures.text import as_text, label_width
from sentviz.io.lazy import pd

MOST_WORDS = 40  # words of each end
_ROW = 19  # pixels of a word


def removal_lines(
    frame: pd.DataFrame, names: Mapping[str, str], *, before: float, title: str, about: str, n: int, theme: Theme = "light"
) -> Figure:
    """Draw the accuracy without a direction after each layer, a line per way or place; random directions are a band.

    Args:
        frame: line (a key of `names`, or "random"), depth (-1 = every depth), value, low, high.
        names: titles of the lines, in the order of the legend. before: accuracy of the unchanged model.
        title: of the figure. about: beginning of the caption. n: number of rows.
    Frame:
        line, depth, accuracy, low, high.
    """
    if not set(frame["line"]) & set(names):
        raise InputError("There is no measured removal to draw.")
    colours = palette(theme)
    depths = sorted(set(frame["depth"]) - {-1}) + [-1] * (-1 in set(frame["depth"]))
    place = {depth: i for i, depth in enumerate(depths)}
    plot = new_plot(theme, title, (620, 430), (56, 48, 20, 128), legend=legend_below(-0.2))
    chance = frame[frame["line"] == "random"].sort_values("depth", key=lambda column: column.map(place))
    if not chance.empty:
        for part in (chance[chance["depth"] >= 0], chance[chance["depth"] < 0]):
            x = part["depth"].map(place).to_numpy(float)
            if len(x) == 1:
                x, part = np.array([x[0] - 0.25, x[0] + 0.25]), pd.concat([part, part])
            if len(x):
                band(plot, x, part["low"], part["high"], colours.muted, 0.35)
        plot.add_scatter(x=[None], y=[None], mode="lines", line={"color": colours.muted, "width": 6}, opacity=0.5, name="random directions")
    for i, (key, name) in enumerate(names.items()):
        line = frame[frame["line"] == key].sort_values("depth", key=lambda column: column.map(place))
        if line.empty:
            continue
        colour, shift = colours.line(i), 0.05 * (i - (len(names) - 1) / 2)
        values = line[["value", "low", "high"]].to_numpy(float)
        x = line["depth"].map(place).to_numpy(float) + shift
        inner = (line["depth"] >= 0).to_numpy()
        plot.add_scatter(
            x=x[inner],
            y=values[inner, 0],
            mode="lines",
            line={"color": colour, "width": 1.6, "dash": DASHES[i % len(DASHES)]},
            hoverinfo="skip",
            showlegend=False,
        )
        plot.add_scatter(
            x=x,
            **with_interval("y", values, colour),
            mode="markers",
            marker={"size": 9, "color": colour, "symbol": SYMBOLS[i % len(SYMBOLS)]},
            name=as_text(name, 40),
            customdata=values,
            hovertemplate=f"{as_text(name, 40)}<br>%{{y:.1%}} [%{{customdata[1]:.1%}}, %{{customdata[2]:.1%}}]<extra></extra>",
        )
    plot.add_hline(y=before, line={"color": colours.muted, "width": 1}, annotation_text="unchanged", annotation_position="top right")
    plot.add_hline(y=0.5, line=dotted(colours), annotation_text="chance", annotation_position="bottom right")
    plot.update_annotations(font={"size": 11, "color": colours.muted})
    plot.update_xaxes(
        tickvals=list(range(len(depths))),
        ticktext=[depth_name(depth) for depth in depths],
        range=[-0.5, len(depths) - 0.5],
        showgrid=False,
        automargin=False,
        title_text="where the direction is taken away",
    )
    low = min(0.4, float(frame["low"].min()))
    plot.update_yaxes(tickformat=".0%", range=[low - 0.03, 1.0], automargin=False, title_text=f"accuracy of {n} rows")
    caption = sentence([about, "Bars are 95% intervals over rows. The grey band has 95% of the random directions, at all tokens."])
    data = frame.rename(columns={"value": "accuracy"})[["line", "depth", "accuracy", "low", "high"]].reset_index(drop=True)
    return Figure(file_safe("direction-removal"), plot, data, caption)


def cosine_map(
    cosines: npt.ArrayLike, names: Sequence[str], separated: Sequence[float], *, depth: int, n: int, theme: Theme = "light"
) -> Figure:
    """Draw the cosine of each pair of directions at a depth, and how well each one alone separates the sides.

    Args:
        cosines: (k, k). names: k ways. separated: (k,) share of rows on the side of their label. n: number of rows.
    Frame:
        first, second, cosine; second = "rows on their side" has the share.
    """
    values, share = np.asarray(cosines, dtype=float), np.asarray(separated, dtype=float)
    colours, labels = palette(theme), [as_text(name, 30) for name in names]
    left = 24 + round(max(label_width(name, 12) for name in labels))
    k, top = len(labels), 36 + left
    plot = matrix(
        theme,
        f"Five ways to find the direction: {depth_name(depth)}",
        (left + 62 * (k + 1) + 40, top + 16 + 36 * k),
        (left, top, 24, 16),
        values,
        labels,
        labels,
        colours.signed,
        texts=[[f"{value:.2f}".replace("-", "−") for value in row] for row in values],
        text_size=12,
        hovertemplate="cosine %{z:.3f}<extra></extra>",
    )
    annotate(
        plot,
        (
            {"x": k + 0.1, "y": i, "text": f"{each:.0%}", "showarrow": False, "font": {"size": 12, "color": colours.muted}}
            for i, each in enumerate(share)
        ),
    )
    plot.update_xaxes(tickvals=[*range(k), k + 0.1], ticktext=[*labels, "rows on their side"], range=[-0.5, k + 0.6])
    caption = sentence(
        [
            "Cosines of the directions that five ways find in the same rows: 1 is the same direction, 0 a right angle.",
            f"The last column is the share of {n} other rows that lie on the side of their label along the direction alone.",
        ]
    )
    places = [(names[i], names[j], values[i, j]) for i in range(k) for j in range(k)]
    rows = [*places, *((name, "rows on their side", each) for name, each in zip(names, share, strict=True))]
    return Figure(file_safe("directions"), plot, pd.DataFrame(rows, columns=["first", "second", "cosine"]), caption)


def probe_lines(frame: pd.DataFrame, titles: Mapping[str, str], *, theme: Theme = "light") -> Figure:
    """Draw the accuracy of probes by depth, a panel per task, beside their control tasks.

    Args:
        frame: name (a key of `titles`), place ("task" or "control"), depth, value, low, high, n.
        titles: titles of the tasks.
    Frame:
        name, place, depth, value, low, high, n.
    """
    tasks = [name for name in titles if name in set(frame["name"])]
    if not tasks:
        raise InputError("There is no measured probe to draw.")
    colours = palette(theme)
    plot, places = panel_grid([as_text(titles[name], 40) for name in tasks], 2, theme, apart=0.09, below=0.36)
    depths = sorted(set(frame["depth"]))
    for task, place in zip(tasks, places, strict=True):
        for i, (kind, name) in enumerate({"task": "task", "control": "control task"}.items()):
            line = frame[(frame["name"] == task) & (frame["place"] == kind)].sort_values("depth")
            values, colour = line[["value", "low", "high"]].to_numpy(float), (colours.lines[0], colours.muted)[i]
            plot.add_scatter(
                x=[depths.index(depth) for depth in line["depth"]],
                **with_interval("y", values, colour),
                mode="lines+markers",
                line={"color": colour, "width": 2, "dash": DASHES[i]},
                marker={"size": 8, "symbol": SYMBOLS[i]},
                name=name,
                legendgroup=kind,
                showlegend=task == tasks[0],
                customdata=values,
                hovertemplate=f"{name}: %{{y:.1%}} [%{{customdata[1]:.1%}}, %{{customdata[2]:.1%}}]<extra></extra>",
                **place,
            )
    lay_out(plot, theme, "What a linear probe can read", (760, 300 + 200 * (len(tasks) > 2)), (56, 72, 20, 84), legend=legend_below(-0.14))
    plot.update_xaxes(
        tickvals=list(range(len(depths))),
        ticktext=[{0: "emb."}.get(depth, str(depth)) for depth in depths],
        showgrid=False,
        range=[-0.3, len(depths) - 0.7],
        automargin=False,
    )
    plot.update_yaxes(tickformat=".0%", range=[0, 1.03], automargin=False)
    sizes = sorted(set(frame["n"].astype(int)))
    caption = sentence(
        [
            "Accuracy of a logistic regression on the states of each layer. A control task has the same classes with a random class for"
            " each word: what is above it is not learned by heart.",
            f"Bars are 95% intervals over texts; {sizes[0]:,} to {sizes[-1]:,} measured texts or tokens.",
        ]
    )
    return Figure(file_safe("probes"), plot, frame[["name", "place", "depth", "value", "low", "high", "n"]].reset_index(drop=True), caption)


def word_ends(
    frame: pd.DataFrame,
    *,
    depth: int,
    sides: tuple[str, str],
    rho: tuple[float, float, float, int] | None,
    most: int = 15,
    theme: Theme = "light",
) -> Figure:
    """Draw the words at both ends of a direction, coloured by the side that a lexicon gives them.

    Args:
        frame: word, value, polarity (NaN without an entry). depth: of the states. sides: names of side 0 and 1.
        rho: rank correlation of value and polarity with its interval and the number of words; None if it is not known.
        most: words of each end.
    Frame:
        word, value, polarity, drawn.
    """
    if not 1 <= most <= MOST_WORDS or frame.empty:
        raise InputError(f"This figure draws 1 to {MOST_WORDS} words of each end, not {most}.")
    ordered = frame.sort_values("value", kind="stable").reset_index(drop=True)
    most = min(most, len(ordered) // 2 or 1)
    ends = [ordered.index < most, ordered.index >= len(ordered) - most]
    colours = palette(theme)
    of_sign = {-1.0: colours.classes[1], 0.0: colours.muted, 1.0: colours.classes[-2]}
    titles = [f"toward {as_text(side, 24)}" for side in sides]
    plot, places = panel_grid(titles, 2, theme, apart=0.24)
    for end, place in zip(ends, places, strict=True):
        part = ordered[end]
        part = part if place["col"] == 1 else part[::-1]
        sign = np.sign(part["polarity"].fillna(0).to_numpy(float))
        plot.add_bar(
            x=part["value"],
            y=list(range(len(part))),
            orientation="h",
            marker={"color": [of_sign[float(each)] for each in sign]},
            customdata=[["no entry" if np.isnan(p) else f"{p:+.1f}"] for p in part["polarity"]],
            hovertemplate="%{x:.2f}, lexicon: %{customdata[0]}<extra></extra>",
            showlegend=False,
            **place,
        )
        plot.update_yaxes(row_axis([as_text(word, 18) for word in part["word"]]), **place)
    for name, colour in (("negative in the lexicon", of_sign[-1.0]), ("positive", of_sign[1.0]), ("no entry", of_sign[0.0])):
        plot.add_scatter(x=[None], y=[None], mode="markers", marker={"size": 10, "symbol": "square", "color": colour}, name=name)
    height = 150 + _ROW * most
    legend = legend_below(-34 / (_ROW * most))
    lay_out(plot, theme, f"Words along the direction: {depth_name(depth)}", (700, height), (110, 72, 20, 78), legend=legend, bargap=0.25)
    plot.update_xaxes(automargin=False, nticks=5)
    known = (
        ""
        if rho is None
        else (f"Rank correlation with the lexicon over {rho[3]:,} words: {rho[0]:+.2f} [{rho[1]:+.2f}, {rho[2]:+.2f}].".replace("-", "−"))
    )
    caption = sentence(
        [
            f"The ends of {len(ordered):,} words, each read alone, along the difference of means; −1 and 1 are the means of the texts of"
            " both sides.",
            known,
        ]
    )
    drawn = ordered.assign(drawn=ends[0] | ends[1])[["word", "value", "polarity", "drawn"]]
    return Figure(file_safe("direction-words"), plot, drawn, caption)


def row_histogram(
    values: npt.ArrayLike, side: npt.ArrayLike, *, sides: tuple[str, str], depth: int, way: str, theme: Theme = "light"
) -> Figure:
    """Draw how rows of both sides lie along a direction.

    Args:
        values: (N,) places of the rows. side: (N,) 0 or 1. sides: their names.
    Frame:
        value, side.
    """
    places, of = np.asarray(values, dtype=float), np.asarray(side)
    colours = palette(theme)
    plot = new_plot(
        theme, f"Rows along the direction: {depth_name(depth)}", (560, 320), (52, 48, 20, 84), barmode="overlay", legend=legend_below(-0.2)
    )
    edges = np.linspace(places.min(), places.max(), 33) if len(places) and np.ptp(places) > 0 else np.array([-1.0, 1.0])
    for each, name, colour in zip((0, 1), sides, (colours.classes[1], colours.classes[-2]), strict=True):
        counts, _ = np.histogram(places[of == each], edges)
        plot.add_bar(
            x=(edges[:-1] + edges[1:]) / 2,
            y=counts,
            width=np.diff(edges),
            marker={"color": colour},
            opacity=0.6,
            name=as_text(name, 30),
            hovertemplate="%{y} rows<extra></extra>",
        )
    plot.add_vline(x=0, line=dotted(colours))
    note_above(plot, 0, "middle", colours.muted)
    plot.update_xaxes(automargin=False, title_text="place along the direction")
    plot.update_yaxes(automargin=False, title_text="rows")
    right = float(np.mean((places > 0) == (of == 1)))
    caption = f"{len(places)} rows along the {way}; {right:.0%} lie on the side of their label. −1 and 1 are the means of the other rows."
    return Figure(file_safe("direction-rows"), plot, pd.DataFrame({"value": places, "side": of}), caption)


def steered_lines(
    frame: pd.DataFrame,
    labels: Sequence[str],
    colours_of: Sequence[str],
    *,
    depth: int,
    apart: float,
    marked: float = 0.0,
    theme: Theme = "light",
) -> Figure:
    """Draw the probability of each class of a sentence while a direction is added with rising norm.

    Args:
        frame: norm, and one column per label. colours_of: colour of each label.
        apart: distance of the means of both sides, in the same unit. marked: norm at which a line is drawn.
    Frame:
        norm, label, probability.
    """
    colours = palette(theme)
    plot = new_plot(theme, f"The direction added: {depth_name(depth)}", (620, 340), (56, 48, 20, 88), legend=legend_below(-0.22))
    for label, colour in zip(labels, colours_of, strict=True):
        plot.add_scatter(
            x=frame["norm"],
            y=frame[label],
            mode="lines",
            line={"color": colour, "width": 2.4},
            name=as_text(label, 30),
            hovertemplate=f"norm %{{x:.2f}}: {as_text(label, 30)} %{{y:.1%}}<extra></extra>",
        )
    for x in (-apart, apart):
        plot.add_vline(x=x, line=dotted(colours))
    plot.add_vline(x=marked, line={"color": colours.accent, "width": 2})
    plot.update_xaxes(automargin=False, title_text="norm of the added vector, negative toward the first side")
    plot.update_yaxes(automargin=False, range=[-0.02, 1.02], tickformat=".0%")
    caption = (
        f"The vector is added to every token. Dotted lines: the distance of the means of both sides, {apart:.2f}."
        " Far from 0, the states are such as the model never has."
    )
    tidy = frame.melt(id_vars="norm", value_vars=list(labels), var_name="label", value_name="probability")
    return Figure(file_safe("steering"), plot, tidy, caption)
