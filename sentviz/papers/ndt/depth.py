"""NDTs with more than two layers, the paper's future work: their accuracy next to a control of the same depth, and lambda by layer.

The start values of layer 2 are those of every deeper layer (`sentviz.runs.configs.lambda_starts`), so any growth beyond layer 2 is learned.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sentviz.papers.ndt.study import CONTROL
from sentviz.papers.studies import collected
from sentviz.papers.studies.against import minus
from sentviz.runs.store import Run

if TYPE_CHECKING:
    import pandas as pd

DATASET, MODEL = "sst2", "ndt-unit-3"
VARIANTS = {"": 2, "-4-layers": 4, "-6-layers": 6}  # ending of a configuration -> layers


def _runs(runs: Sequence[Run]) -> dict[tuple[str, int], list[Run]]:
    """Return the runs by model and number of layers, seeds in order."""
    names = {f"{model}{ending}": (model, layers) for model in (CONTROL, MODEL) for ending, layers in VARIANTS.items()}
    return {names[name]: seeds for name, seeds in collected.configurations(runs, DATASET, tuple(names)).items()}


def accuracies(runs: Sequence[Run]) -> pd.DataFrame:
    """Return test accuracies over seeds: model, layers, value, low, high (shares), n, seeds."""
    import pandas as pd

    parts = []
    for (model, layers), seeds in _runs(runs).items():
        frame = collected.summary({model: seeds}).query("metric == 'accuracy'").drop(columns="metric")
        parts.append(frame.assign(layers=layers))
    columns = ["model", "layers", "value", "low", "high", "n", "seeds"]
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)


def lambdas(runs: Sequence[Run]) -> pd.DataFrame:
    """Return NDT's lambdas by depth and layer, means over components and seeds: layers, layer (counted from 1), start, end."""
    import pandas as pd

    parts = []
    for (model, layers), seeds in _runs(runs).items():
        for run in seeds if model == MODEL else ():
            history = run.history().query("name == 'lambda' and component > 0").sort_values("step")
            ends = history.groupby(["layer", "component"])["value"].agg(start="first", end="last").reset_index()
            parts.append(ends.assign(layers=layers, layer=ends["layer"] + 1))
    if not parts:
        return pd.DataFrame(columns=["layers", "layer", "start", "end"])
    return pd.concat(parts).groupby(["layers", "layer"], as_index=False)[["start", "end"]].mean()


def describe(accuracies: pd.DataFrame, lambdas: pd.DataFrame) -> str:
    """Return in sentences how NDT compares with its control at each depth, and whether lambda grows beyond layer 2 of the deepest NDT."""
    known = accuracies.set_index(["layers", "model"])
    parts = [
        f"{layers} layers {100 * (known.loc[(layers, MODEL), 'value'] - known.loc[(layers, CONTROL), 'value']):+.2f}"
        for layers in sorted(set(accuracies["layers"]))
        if (layers, MODEL) in known.index and (layers, CONTROL) in known.index
    ]
    seeds = int(accuracies["seeds"].min())
    sentences = [f"NDT minus its control, in points: {', '.join(parts)}."] if parts else []
    deepest = lambdas[lambdas["layers"] == lambdas["layers"].max()].set_index("layer")
    if (last := len(deepest)) > 2:
        start, (second, end) = deepest["start"].iloc[1], deepest["end"].iloc[[1, -1]]
        sentences.append(
            f"With {last} layers the mean lambda ends at {second:.3f} in layer 2 and at {end:.3f} in layer {last}. Both start"
            f" at {start:.3f}, so training changes lambda by {second - start:+.3f} and {end - start:+.3f}."
        )
    if seeds < 2:
        sentences.append("Some configurations have one seed, so whether more layers help NDT cannot be told.")
    return minus(" ".join(sentences))
