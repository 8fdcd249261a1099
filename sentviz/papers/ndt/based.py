"""NDT on a pretrained encoder, which the paper does not test: MiniLM with an adapter on SST-2, with and without a second component.

The second component starts as a copy of the first. If lambda starts at 0, the model equals the base at the first step.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.papers.studies import compare_configurations
from sentviz.papers.studies.compare_configurations import compared
from sentviz.runs.sections import Studied
from sentviz.runs.store import Run

BASE, DATASET = "minilm", "sst2"
TITLES = {
    BASE: "plain adapter",
    f"{BASE}-ndt-free-2": "second component, free λ",
    f"{BASE}-ndt-unit-2": "second component, λ in [0,1]",
}
SPLITS = {"test": "the re-split", "official_test": "the official sentences"}


def configurations(runs: Iterable[Run]) -> dict[str, list[Run]]:
    """Return the runs on MiniLM by configuration, the plain adapter first, seeds in order."""
    by_model = compare_configurations.configurations(runs, DATASET, tuple(TITLES))
    if not by_model:
        raise InputError(
            "No run of NDT on MiniLM is installed: `sentviz train ndt_sst2_minilm --model minilm-ndt-free-2` trains one; the others are the"
            " models minilm and minilm-ndt-unit-2."
        )
    return by_model


def accuracies(runs: Sequence[Run]) -> pd.DataFrame:
    """Return the accuracy of each configuration on each kind of test rows.

    Columns: model, setting, rows, accuracy, low, high, difference (to the plain adapter), difference_low, difference_high, adjusted (p
    after Holm), verdict, seeds, n. Accuracies and differences are shares.
    """
    by_model = configurations(runs)
    parts = []
    for split, rows in SPLITS.items():
        tested = {model: able for model, seeds in by_model.items() if (able := [run for run in seeds if split in run.metrics()])}
        measured = compare_configurations.over_seeds(tested, split=split)
        pairs = compared(tested, BASE, split).rename(columns={"low": "difference_low", "high": "difference_high"})
        pairs = pairs[["model", "difference", "difference_low", "difference_high", "adjusted", "verdict"]]
        if len(measured):
            parts.append(measured.merge(pairs, on="model", how="left").assign(rows=rows))
    frame = pd.concat(parts, ignore_index=True).rename(columns={"value": "accuracy"})
    numbers = ["accuracy", "low", "high", "difference", "difference_low", "difference_high", "adjusted"]
    frame = frame.assign(setting=frame["model"].map(TITLES)).astype(dict.fromkeys(numbers, float))
    return frame[["model", "setting", "rows", *numbers, "verdict", "seeds", "n"]]


def lambdas(runs: Sequence[Run]) -> pd.DataFrame:
    """Return lambda of the second component by configuration and layer, before the first step and after training.

    Columns: model, setting, layer (counted from 1), start, end (means over seeds), low, high (the least and the largest end), sign (of the
    ends, "mixed" if seeds differ), seeds. Empty if only the plain adapter has runs.
    """
    rows = []
    for model, seeds in configurations(runs).items():
        if model == BASE:
            continue
        ends = pd.concat([_ends(run) for run in seeds])
        for layer in sorted(set(ends["layer"].to_list())):
            part = ends[ends["layer"] == layer]
            end = part["end"]
            rows.append((model, TITLES[model], layer + 1, part["start"].mean(), end.mean(), end.min(), end.max(), _sign(end), len(part)))
    return pd.DataFrame(rows, columns=["model", "setting", "layer", "start", "end", "low", "high", "sign", "seeds"])


def has_lambdas(of: Studied) -> bool:
    """Return whether there is a run on MiniLM with a second component."""
    return len(compare_configurations.configurations(of.runs, DATASET, tuple(TITLES)[1:])) > 0


def _ends(run: Run) -> pd.DataFrame:
    """Return the first and the last lambda of each layer of a run: layer, start, end."""
    history = run.history()
    history = history[(history["name"] == "lambda") & (history["component"] > 0)].sort_values("step")
    ends = history.groupby("layer", as_index=False).agg(start=("value", "first"), end=("value", "last"))
    return ends.astype({"layer": int, "start": float, "end": float})


def _sign(values: pd.Series[float]) -> str:
    """Return "+", "−" or "0" if all values have this sign, else "mixed"."""
    signs = {"+" if value > 0 else "−" if value < 0 else "0" for value in values}
    return signs.pop() if len(signs) == 1 else "mixed"
