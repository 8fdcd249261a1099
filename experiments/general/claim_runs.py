"""Measure what three claims need: in which layers a changed word acts, what each component brings over, and directions by epoch.

`python -m experiments general claim_runs RUN ...` stores the table `causes` in the folder of `sentviz.analysis.explain.stored`; each
run is stored when it is finished. Rows, with 95 % bootstrap intervals over pairs or rows:

    layer       share of the difference between minimal pairs that is lost if the heads and the feed-forward network of one layer give what
                they gave on the other sentence; name: kind of the pairs, depth: the layer, counted from 1
    centre      mean layer, weighted by these losses above 0, as a share of the way from the first layer (0) to the last (1); name: kind, or
                "apart" for negation minus adjective
    component   share that one component brings over, sum over layers; name: kind, depth: the component, counted from 1
    epoch       after an epoch (depth), name "separated": share of rows on their side along the difference of means after the last layer;
                "accuracy"; "ahead": what the first has reached of its rise from 50 % to the last epoch, minus the same of the accuracy
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from sentviz.analysis.causal.average import ratio, usable
from sentviz.analysis.causal.circuit import losses_of_pair
from sentviz.analysis.causal.claims import CAUSES
from sentviz.analysis.causal.direction_tables import COLUMNS
from sentviz.analysis.causal.directions import directions
from sentviz.analysis.causal.patching import Floats
from sentviz.analysis.causal.states import moved_sides
from sentviz.analysis.evaluation import bounds, mean_draws
from sentviz.analysis.explain.stored import measure_named
from sentviz.data.behaviour import minimal_pairs
from sentviz.data.datasets import rows_of_recipe
from sentviz.models.loading import load
from sentviz.models.model import Model
from sentviz.runs.catalog import language
from sentviz.runs.store import Run

KINDS = ("adjective", "negation")  # one word means something else; one word changes what another means
COUNT = 40  # pairs of a kind
SEED = 0
RESAMPLES = 2_000
Row = tuple[str, int, str, str, float, float, float, int]


def measure(run: Run, seed: int = SEED) -> pd.DataFrame:
    """Measure a run on minimal pairs in its language and, if it keeps epochs, on test rows of its data set.

    Raises:
        DataMissingError: the rows are not installed. InputError: as `sentviz.analysis.causal.average.averages`.
    """
    model = load(run)
    pairs = {kind: minimal_pairs(kind, language(run), count=COUNT, seed=seed) for kind in KINDS}
    rows = [*_layers(model, pairs, seed), *_components(model, pairs, seed)]
    if len(run.epochs) > 1:
        rows += _epochs(run, seed)
    return pd.DataFrame(rows, columns=COLUMNS)


def centre(losses: Floats) -> Floats:
    """Return the mean layer of losses (.., L), weighted by those above 0: 0 is the first layer, 1 the last; NaN if no loss is above 0."""
    weights, layers = np.maximum(losses, 0), losses.shape[-1]
    with np.errstate(invalid="ignore"):
        return np.asarray((weights * np.linspace(0, 1, layers)).sum(axis=-1) / weights.sum(axis=-1))


def _layers(model: Model, pairs: dict[str, list[tuple[str, str]]], seed: int) -> list[Row]:
    has, rows, drawn, values = model.capabilities, list[Row](), list[Floats](), list[float]()
    if has.layers < 2 or not {"head", "feedforward"} <= set(has.replaces):
        return rows
    one_layer = np.zeros((has.layers, has.layers, has.heads + 1), dtype=np.bool_)
    one_layer[np.arange(has.layers), np.arange(has.layers)] = True
    for kind, sentences in pairs.items():
        patched, _ = usable(model, sentences)
        losses, scale = (
            np.stack([losses_of_pair(pair, one_layer) for pair in patched]),
            np.array([abs(pair.goal - pair.start) for pair in patched]),
        )
        share, low, high = ratio(losses, scale, seed)
        rows += [("layer", i + 1, kind, "", float(share[i]), float(low[i]), float(high[i]), len(patched)) for i in range(has.layers)]
        values.append(float(centre(losses.sum(axis=0))))
        drawn.append(centre(mean_draws(losses, np.random.default_rng(seed), RESAMPLES)))
        rows.append(("centre", -1, kind, "", values[-1], *bounds(drawn[-1]), len(patched)))
    rows.append(("centre", -1, "apart", "", values[1] - values[0], *bounds(drawn[1] - drawn[0]), rows[-1][-1]))
    return rows


def _components(model: Model, pairs: dict[str, list[tuple[str, str]]], seed: int) -> list[Row]:
    rows = list[Row]()
    if model.capabilities.components < 2 or "component" not in model.capabilities.replaces:
        return rows
    for kind, sentences in pairs.items():
        patched, _ = usable(model, sentences)
        brought = np.stack(
            [pair.map("component", tokens=False, exact=True).share.sum(axis=0) * abs(pair.goal - pair.start) for pair in patched]
        )
        share, low, high = ratio(brought, np.array([abs(pair.goal - pair.start) for pair in patched]), seed)
        rows += [("component", c + 1, kind, "", float(share[c]), float(low[c]), float(high[c]), len(patched)) for c in range(len(share))]
    return rows


def _epochs(run: Run, seed: int) -> list[Row]:
    frame, right = rows_of_recipe(run.config["recipe"], "test").frame, list[Floats]()
    for epoch in run.epochs:
        class_directions = directions(load(run.at(epoch)), frame, seed=seed)
        side = class_directions.measured.side == 1
        predicted = moved_sides(class_directions.model, class_directions.measured, {"": {}}, {"": None})[""]
        right.append(
            np.stack(
                [(class_directions.projected("difference", class_directions.depths[-1]) > 0) == side, predicted == side], axis=1
            ).astype(float)
        )
    table = np.stack(right, axis=1)  # (rows, epochs, 2)
    shares, draws = table.mean(axis=0), mean_draws(table, np.random.default_rng(seed), RESAMPLES)
    rows, ahead = list[Row](), [_ahead(each) for each in (shares[None], draws)]
    for i, epoch in enumerate(run.epochs):
        for j, name in enumerate(("separated", "accuracy")):
            rows.append(("epoch", epoch, name, "", float(shares[i, j]), *bounds(draws[:, i, j]), len(table)))
        rows.append(("epoch", epoch, "ahead", "", float(ahead[0][0, i]), *bounds(ahead[1][:, i]), len(table)))
    return rows


def _ahead(shares: Floats) -> Floats:
    """Return how far separation is ahead of accuracy, (.., epochs), of shares (.., epochs, 2)."""
    rise = (shares - 0.5) / np.maximum(shares[..., -1:, :] - 0.5, 1e-9)
    return np.asarray(rise[..., 0] - rise[..., 1])


def main(arguments: Sequence[str]) -> None:
    """Measure the named runs."""
    measure_named(CAUSES, measure, arguments)
