"""The direction of the classes: accuracy without it, agreement of the ways to find it, probes, words along it, and steering."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from sentviz.analysis.causal.direction_tables import depth_name, has_directions, table_of
from sentviz.analysis.causal.directions import ERASED, WAYS, Directions, directions
from sentviz.analysis.causal.probes import TASKS
from sentviz.analysis.causal.states import PLACES
from sentviz.charts.chart import Axis, Chart, Panels, Rule, bars, cells, line, points
from sentviz.charts.figure import Figure, sentence
from sentviz.charts.options import Depth, choice
from sentviz.charts.registry import RunRequirement, figure
from sentviz.charts.requirements import REPLACES
from sentviz.charts.subjects import WEIGHTS, Runs, Sentence
from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.io.numbers import percent, signed

if TYPE_CHECKING:
    from sentviz.models.model import Model

NOT_MEASURED = "The directions of {run} are not measured yet: `sentviz directions {run}` measures them."
MEASURED = RunRequirement("measured directions", lambda run: "" if has_directions(run) else NOT_MEASURED.format(run=run.name))
Way = Annotated[str, choice(WAYS)]
BY = {"way": "by the way to find it", "place": "by the tokens that lose it"}

MOST_WORDS = 40  # words of each end


@figure("direction-removal", "Accuracy without the direction of the classes", Runs, MEASURED)
def _removal(of: Runs, *, by: Annotated[str, choice(BY)] = "way") -> Figure:
    """Draw the accuracy without a direction after each layer, a line per way or place; random directions are a band.

    Frame:
        line, depth (-1 = every depth), accuracy, low, high.
    """
    table = table_of(of.run)
    rows = table[(table["measure"] == "accuracy") & (table["name"] != "unchanged")]
    before = table[table["name"] == "unchanged"].iloc[0]
    chance = rows[rows["name"] == "random"].assign(line="random")
    if by == "way":
        rows = rows[(rows["place"] == "all") & (rows["name"] != "random")].assign(line=lambda frame: frame["name"])
        names = {name: title for name, title in ERASED.items() if name != "random"}
        about = "The direction is set to its mean at all tokens."
    else:
        rows = rows[rows["name"] == "difference"].assign(line=lambda frame: frame["place"])
        names, about = dict(PLACES), "The difference of means is set to its mean at some tokens only."
    frame = pd.concat([rows, chance])
    depths = sorted(set(frame["depth"]) - {-1}) + [-1] * (-1 in set(frame["depth"]))
    drawn = frame.sort_values("depth", key=lambda column: column.map({depth: i for i, depth in enumerate(depths)}), kind="stable")
    chance, named = drawn[drawn["line"] == "random"], drawn[drawn["line"].isin(names)].assign(name=lambda rows: rows["line"].map(names))
    ends: Any = {"low": "low", "high": "high"}
    series: Any = {"by": "name", "apart": 0.05, "hover": "{name}<br>{value:.1%} [{low:.1%}, {high:.1%}]", **ends}
    grey: Any = {"role": "muted", "symbol": ""}
    marks = [
        line(chance[chance["depth"] >= 0], "depth", "value", faint=True, name="random directions", **grey, **ends),
        points(chance[chance["depth"] < 0], "depth", "value", size=2.2, **grey, **ends),
        line(named[named["depth"] >= 0], "depth", "value", whiskers=True, **series),
        points(named[named["depth"] < 0], "depth", "value", **series),
    ]
    across = Axis("where the direction is taken away", rows={depth: depth_name(depth) for depth in depths})
    down = Axis(f"accuracy of {int(before['n'])} rows", ".0%", span=(min(0.4, float(frame["low"].min())) - 0.03, 1.0))
    rules = [Rule(y=float(before["value"]), note="unchanged", solid=True), Rule(y=0.5, note="chance")]
    order = {name: i for i, name in enumerate(names.values())}
    title = f"Accuracy without the direction, {BY[by]}"
    chart = Chart(title, [mark for mark in marks if len(mark.frame)], across, down, rules=rules, series=order, dashed=None, height=1.2)
    caption = sentence([about, "Bars are 95 % intervals over rows. The grey band has 95 % of the random directions, at all tokens."])
    data = frame.rename(columns={"value": "accuracy"})[["line", "depth", "accuracy", "low", "high"]].reset_index(drop=True)
    return Figure("direction-removal", chart, data, caption)


@figure("directions", "Five ways to find the direction of the classes: do they agree?", Runs, MEASURED)
def _agreement(of: Runs, *, depth: Depth = -1) -> Figure:
    """Draw the cosine of each pair of directions at a depth, and how well each one alone separates the sides.

    Frame:
        first, second, cosine; second = "rows on their side" has the share.
    """
    table = table_of(of.run)
    depth, order = depth_of(depth, of.run.capabilities.layers), list(WAYS)
    known = table[table["depth"] == depth].set_index(["measure", "name"])["value"]
    share, n = [known["separated", way] for way in WAYS], int(table[table["measure"] == "separated"]["n"].max())
    pairs = [(WAYS[a], WAYS[b], 1.0 if a == b else known["cosine", "|".join(sorted((a, b), key=order.index))]) for a in WAYS for b in WAYS]
    square = pd.DataFrame(pairs, columns=["first", "second", "cosine"])
    hover = "{first}, {second}: cosine {cosine:.3f}"
    shades = cells(square, "second", "first", "cosine", scale="signed", span=(-1, 1), text="{cosine:.2f}", hover=hover)
    rows = {name: name for name in WAYS.values()}
    beside = Axis(rows=rows, notes=[percent(each, 0) for each in share])
    chart = Chart(f"Five ways to find the direction: {depth_name(depth)}", [shades], Axis(rows=rows), beside)
    caption = sentence(
        [
            "Cosines of the directions that five ways find in the same rows: 1 is the same direction, 0 a right angle.",
            f"The last column is the share of {n} other rows that lie on the side of their label along the direction alone.",
        ]
    )
    sides = pd.DataFrame({"first": list(WAYS.values()), "second": "rows on their side", "cosine": share})
    return Figure("directions", chart, pd.concat([square, sides], ignore_index=True), caption)


@figure("probes", "What a linear probe can read from each layer", Runs, MEASURED)
def _probes(of: Runs) -> Figure:
    """Draw the accuracy of probes by depth, a panel per task, beside their control tasks.

    Frame:
        name, place (task or control), depth, value, low, high, n.
    """
    table = table_of(of.run)
    frame = table[table["measure"] == "probe"]
    depths = {depth: "emb." if depth == 0 else str(depth) for depth in sorted(set(frame["depth"]))}
    drawn = frame.sort_values("depth", kind="stable")
    ends: Any = {"low": "low", "high": "high", "whiskers": True}
    task: Any = {"name": "task", "hover": "task: {value:.1%} [{low:.1%}, {high:.1%}]"}
    control: Any = {"name": "control task", "role": "muted", "dash": "dash", "symbol": "square", "hover": "control " + task["hover"]}
    marks = [
        line(drawn[drawn["place"] == place], "depth", "value", **ends, **look) for place, look in (("task", task), ("control", control))
    ]
    panels = Panels("name", {name: title for name, title in TASKS.items() if name in set(frame["name"])}, 2)
    chart = Chart("What a linear probe can read", marks, Axis(rows=depths), Axis(form=".0%", span=(0, 1.03)), panels=panels)
    sizes = sorted(set(frame["n"].astype(int)))
    caption = sentence(
        [
            "Accuracy of a logistic regression on the states of each layer. A control task has the same classes with a random class for"
            " each word: what is above it is not learned by heart.",
            f"Bars are 95 % intervals over texts; {sizes[0]:,} to {sizes[-1]:,} measured texts or tokens.",
        ]
    )
    columns = ["name", "place", "depth", "value", "low", "high", "n"]
    return Figure("probes", chart, frame[columns].reset_index(drop=True), caption)


@figure("direction-words", "The words along the direction of the classes", Runs, WEIGHTS, REPLACES)
def _words(of: Runs, *, depth: Depth = -1, most: int = 15) -> Figure:
    """Draw the words at both ends of a direction, coloured by the side that a lexicon gives them.

    Args:
        most: words of each end.
    Frame:
        word, value, polarity (NaN without an entry), drawn.
    """
    from sentviz.analysis.causal.direction_tables import along, correlations

    class_directions = found_of(of)
    depth, sides = depth_of(depth, len(class_directions.depths) - 1), class_directions.sides
    frame = along(class_directions, [depth])
    if not 1 <= most <= MOST_WORDS or frame.empty:
        raise InputError(f"This figure draws 1 to {MOST_WORDS} words of each end, not {most}.")
    ordered = frame.sort_values("value", kind="stable").reset_index(drop=True)
    most = min(most, len(ordered) // 2 or 1)
    ends = [ordered.index < most, ordered.index >= len(ordered) - most]
    both_ends = ordered[ends[0] | ends[1]].iloc[::-1]
    sign = np.sign(both_ends["polarity"].fillna(0).to_numpy(float))
    entries = ["no entry" if np.isnan(polarity) else signed(polarity, 1) for polarity in both_ends["polarity"]]
    tints = {1.0: "positive", -1.0: "negative", 0.0: "muted"}
    drawn_words = both_ends.assign(tint=[tints[float(each)] for each in sign], entry=entries)
    meanings = {"negative": "negative in the lexicon", "positive": "positive", "muted": "no entry"}
    marks = [
        bars(drawn_words, "value", "word", tint="tint", hover="{value:.2f}, lexicon: {entry}"),
        *(points(drawn_words.iloc[:0], "value", "word", role=role, symbol="square", name=name) for role, name in meanings.items()),
    ]
    words, half = both_ends["word"].tolist(), len(both_ends) // 2
    groups = {f"toward\n{sides[1]}": words[:half], f"toward\n{sides[0]}": words[half:]}
    rows = Axis(rows={word: word for word in both_ends["word"]}, groups=groups)
    chart = Chart(f"Words along the direction: {depth_name(depth)}", marks, Axis(), rows, rules=[Rule(x=0, solid=True)])
    known = "".join(
        f"Rank correlation with the lexicon over {int(rho['n']):,} words: {signed(rho['value'], ends=(rho['low'], rho['high']))}."
        for rho in correlations(frame).to_dict("records")
    )
    caption = sentence(
        [
            f"The ends of {len(ordered):,} words, each read alone, along the difference of means; −1 and 1 are the means of the texts of"
            " both sides.",
            known,
        ]
    )
    drawn = ordered.assign(drawn=ends[0] | ends[1])[["word", "value", "polarity", "drawn"]]
    return Figure("direction-words", chart, drawn, caption)


@figure("direction-rows", "Rows of both sides along the direction of the classes", Runs, WEIGHTS, REPLACES)
def _rows(of: Runs, *, depth: Depth = -1, way: Way = "difference") -> Figure:
    """Draw how rows of both sides lie along a direction.

    Frame:
        value, side.
    """
    class_directions = found_of(of)
    depth, sides = depth_of(depth, len(class_directions.depths) - 1), class_directions.sides
    places, side = class_directions.projected(way, depth), class_directions.measured.side
    edges = np.linspace(places.min(), places.max(), 33) if len(places) and np.ptp(places) > 0 else np.array([-1.0, 1.0])
    middles = {"middle": (edges[:-1] + edges[1:]) / 2, "wide": np.diff(edges)}
    marks = [
        bars(pd.DataFrame({**middles, "rows": np.histogram(places[side == each], edges)[0]}), "middle", "rows", wide="wide", role=role,
             faint=True, name=name, hover="{rows} rows")
        for each, name, role in zip((0, 1), sides, ("negative", "positive"), strict=True)
    ]  # fmt: skip
    axes = Axis("place along the direction"), Axis("rows", zero=True)
    chart = Chart(f"Rows along the direction: {depth_name(depth)}", marks, *axes, rules=[Rule(x=0, note="middle")])
    right = float(np.mean((places > 0) == (side == 1)))
    caption = (
        f"{len(places)} rows along the {WAYS[way]}; {percent(right, 0)} lie on the side of their label. −1 and 1 are the means of the other"
        " rows."
    )
    return Figure("direction-rows", chart, pd.DataFrame({"value": places, "side": side}), caption)


@figure("steering", "A sentence while the direction of the classes is added", Sentence, REPLACES)
def _steering(of: Sentence, *, depth: Depth = -1, norm: float = 0.0, way: Way = "difference") -> Figure:
    """Draw the probability of each class of a sentence while a direction is added with rising norm.

    Args:
        norm: where a line is drawn.
    Frame:
        norm, label, probability.
    """
    class_directions: Directions = of.once("directions", lambda: directions_of(of.model))
    depth, labels = depth_of(depth, len(class_directions.depths) - 1), list(of.trace.labels)
    apart = class_directions.apart(way, depth)
    widest = max(2 * apart, abs(norm))
    frame = class_directions.steer(of.trace.text, depth, np.linspace(-widest, widest, 41).tolist(), of.trace.text_pair, way=way)
    tidy = frame.melt(id_vars="norm", value_vars=labels, var_name="label", value_name="probability")
    lines = line(tidy, "norm", "probability", by="label", symbol="", hover="norm {norm:.2f}: {label} {probability:.1%}")
    across, down = Axis("norm of the added vector, negative toward the first side"), Axis(form=".0%", span=(-0.02, 1.02))
    rules = [Rule(x=-apart), Rule(x=apart), Rule(x=norm, role="accent", solid=True)]
    chart = Chart(f"The direction added: {depth_name(depth)}", [lines], across, down, rules=rules, classes=labels)
    caption = (
        f"The vector is added to every token. Dotted lines: the distance of the means of both sides, {apart:.2f}."
        " Far from 0, the states are such as the model never has."
    )
    return Figure("steering", chart, tidy, caption)


def found_of(of: Runs) -> Directions:
    """Return the directions of a run: those that a page has found, or new ones.

    Raises:
        DataMissingError: the test rows of the run are not installed.
    """
    from sentviz.models.loading import load

    if of.directions is None:
        of.directions = directions_of(load(of.run))
    return of.directions


def directions_of(model: Model) -> Directions:
    """Return the directions of a model, from the test rows of its run."""
    return directions(model)


def depth_of(depth: int, layers: int) -> int:
    """Return a depth, of which -1 is the last one."""
    if not -1 <= depth <= layers:
        raise InputError(f"Depths go from 0, the embedding, to {layers}, the last layer, not {depth}.")
    return layers if depth == -1 else depth
