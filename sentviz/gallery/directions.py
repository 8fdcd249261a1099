"""Figures of the direction in which a model writes the classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sentviz.analysis.causal.direction_tables import has_directions, table_of
from sentviz.analysis.causal.directions import ERASED, WAYS, Directions, directions
from sentviz.analysis.causal.probes import TASKS
from sentviz.analysis.causal.states import PLACES
from sentviz.errors import InputError
from sentviz.gallery.patching import REPLACES
from sentviz.gallery.registry import RunRequirement, figure
from sentviz.gallery.subjects import WEIGHTS, Runs, Sentence
from sentviz.io.lazy import np, pd

if TYPE_CHECKING:
    from sentviz.figures.figure import Figure
    from sentviz.models.model import Model

NOT_MEASURED = "The directions of {run} are not measured yet: `sentviz directions {run}` measures them."
MEASURED = RunRequirement("measured directions", lambda run: "" if has_directions(run) else NOT_MEASURED.format(run=run.name))
BY = {"way": "by the way to find it", "place": "by the tokens that lose it"}


@figure("direction-removal", "Accuracy without the direction of the classes", Runs, "directions:removal_lines", MEASURED)
def _removal(of: Runs, *, by: str = "way") -> Figure:
    from sentviz.figures.directions import removal_lines

    if by not in BY:
        raise InputError(f"`by` must be {' or '.join(map(repr, BY))}, not {by!r}.")
    table = table_of(of.run)
    rows = table[(table["measure"] == "accuracy") & (table["name"] != "unchanged")]
    before = table[table["name"] == "unchanged"].iloc[0]
    chance = rows[rows["name"] == "random"].assign(line="random")
    if by == "way":
        rows = rows[(rows["place"] == "all") & (rows["name"] != "random")].assign(line=lambda frame: frame["name"])
        names, about = (
            {name: title for name, title in ERASED.items() if name != "random"},
            "The direction is set to its mean at all tokens.",
        )
    else:
        rows = rows[rows["name"] == "difference"].assign(line=lambda frame: frame["place"])
        names, about = dict(PLACES), "The difference of means is set to its mean at some tokens only."

    return removal_lines(
        pd.concat([rows, chance]),
        names,
        before=float(before["value"]),
        title=f"Accuracy without the direction, {BY[by]}",
        about=about,
        n=int(before["n"]),
    )


@figure("directions", "Five ways to find the direction of the classes: do they agree?", Runs, "directions:cosine_map", MEASURED)
def _agreement(of: Runs, *, depth: int = -1) -> Figure:

    from sentviz.figures.directions import cosine_map

    table = table_of(of.run)
    depth = depth_of(depth, of.run.capabilities.layers)
    rows = table[table["depth"] == depth].set_index(["measure", "name"])["value"]
    cosines = np.eye(len(WAYS))
    for i, first in enumerate(WAYS):
        for j, second in list(enumerate(WAYS))[i + 1 :]:
            cosines[i, j] = cosines[j, i] = rows["cosine", f"{first}|{second}"]
    n = int(table[table["measure"] == "separated"]["n"].max())
    return cosine_map(cosines, list(WAYS.values()), [rows["separated", way] for way in WAYS], depth=depth, n=n)


@figure("probes", "What a linear probe can read from each layer", Runs, "directions:probe_lines", MEASURED)
def _probes(of: Runs) -> Figure:
    from sentviz.figures.directions import probe_lines

    table = table_of(of.run)
    return probe_lines(table[table["measure"] == "probe"], TASKS)


@figure("direction-words", "The words along the direction of the classes", Runs, "directions:word_ends", WEIGHTS, REPLACES)
def _words(of: Runs, *, depth: int = -1, most: int = 15) -> Figure:
    from sentviz.analysis.causal.direction_tables import along, correlations
    from sentviz.figures.directions import word_ends

    class_directions = found_of(of)
    depth = depth_of(depth, len(class_directions.depths) - 1)
    frame = along(class_directions, [depth])
    rows = correlations(frame)
    rho = None
    for row in rows.to_dict("records"):
        rho = (float(row["value"]), float(row["low"]), float(row["high"]), int(row["n"]))
    return word_ends(frame, depth=depth, sides=class_directions.sides, rho=rho, most=most)


@figure("direction-rows", "Rows of both sides along the direction of the classes", Runs, "directions:row_histogram", WEIGHTS, REPLACES)
def _rows(of: Runs, *, depth: int = -1, way: str = "difference") -> Figure:
    from sentviz.figures.directions import row_histogram

    class_directions = found_of(of)
    depth = depth_of(depth, len(class_directions.depths) - 1)
    values = class_directions.projected(way, depth)
    return row_histogram(values, class_directions.measured.side, sides=class_directions.sides, depth=depth, way=WAYS[way])


@figure("steering", "A sentence while the direction of the classes is added", Sentence, "directions:steered_lines", REPLACES)
def _steering(of: Sentence, *, depth: int = -1, norm: float = 0.0, way: str = "difference") -> Figure:

    from sentviz.figures.directions import steered_lines

    class_directions: Directions = of.once("directions", lambda: directions_of(of.model))
    depth = depth_of(depth, len(class_directions.depths) - 1)
    apart = class_directions.apart(way, depth)
    widest = max(2 * apart, abs(norm))
    frame = class_directions.steer(of.trace.text, depth, np.linspace(-widest, widest, 41).tolist(), of.trace.text_pair, way=way)
    labels = of.trace.labels
    return steered_lines(frame, labels, depth=depth, apart=apart, marked=norm)


def found_of(of: Runs) -> Directions:
    """Return the directions of a run: those that a page has class_directions, or new ones.

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
