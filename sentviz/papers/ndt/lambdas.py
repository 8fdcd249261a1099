"""Learned lambda over the training of the study's runs, and the final values that the paper prints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from sentviz.io.lazy import pd
from sentviz.papers.ndt import printed_tables
from sentviz.papers.ndt.study import configurations, printed_name, settings_of
from sentviz.runs.presets import CONSTRAINT_SIGNS
from sentviz.runs.store import Run

SETTINGS_OF = "ndt-free-3"  # the NDT that was trained with other starts, rates and decays
SETTING_TITLES = {  # head of a column, by variant
    "": "as in the study",
    "equal": "equal starts",
    "swapped": "opposite signs",
    "frozen": "frozen",
    "high": "starts at 0.4",
    "slow-lambda": "λ learns slowly",
    "1e-4": "all rates 0.0001",
    "no-decay": "no weight decay",
}


def lambda_frames(runs: Iterable[Run], dataset: str, *, settings: bool = False) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Learned lambda over the steps, and the printed final values.

    Args:
        settings: of one NDT (`SETTINGS_OF`) with other starts, rates and decays, which then stand in the place of constraints.

    The first: model, constraint, components, layer, component (counted from 0), step, value, low, high, change, change_low, change_high,
    seeds. Value and change from the start are means over seeds, low and high their least and largest; steps are those that every seed has.
    The second: constraint, components, layer, component, value.
    """
    parts, marks = [], []
    by_model = configurations(runs, dataset, settings_of(SETTINGS_OF)) if settings else configurations(runs, dataset)
    for model, seeds in sorted(by_model.items(), key=lambda item: item[0] == "diff"):
        if (column := SETTING_TITLES[model.removeprefix(SETTINGS_OF).strip("-")] if settings else _constraint(seeds)) is None:
            continue
        components = seeds[0].capabilities.components
        of_runs = [_history(run, run.digest) for run in seeds]
        together = pd.concat([frame for frame in of_runs if not frame.empty] or of_runs[:1])
        keys = ["layer", "component", "step"]
        over_seeds = together.groupby(keys, as_index=False).agg(
            value=("value", "mean"),
            low=("value", "min"),
            high=("value", "max"),
            seeds=("value", "size"),
            change_low=("change", "min"),
            change_high=("change", "max"),
            change=("change", "mean"),
        )
        over_seeds = over_seeds[over_seeds["seeds"] == over_seeds["seeds"].max()]
        parts.append(over_seeds.assign(model=model, constraint=column, components=components))
        marks.append(
            printed_tables.lambdas(printed_name(dataset), SETTINGS_OF if settings else model).assign(
                constraint=column, components=components
            )
        )
    columns = ["model", "constraint", "components", "layer", "component", "step", "value", "low", "high"]
    columns += ["change", "change_low", "change_high", "seeds"]
    of_print = ["constraint", "components", "layer", "component", "value"]
    if not parts:
        return pd.DataFrame(columns=columns), pd.DataFrame(columns=of_print)
    return pd.concat(parts, ignore_index=True)[columns], pd.concat(marks, ignore_index=True)[of_print]


def _constraint(seeds: Sequence[Run]) -> str | None:
    mixing = getattr(seeds[0].shape, "mixing", "none")
    return "DT, −λ" if mixing == "differential" else CONSTRAINT_SIGNS.get(mixing)


@lru_cache(maxsize=512)
def _history(run: Run, digest: str) -> pd.DataFrame:
    """The lambdas of a run over its steps, read once for what `digest` names; not to be changed."""
    frame = run.history()
    frame = frame[(frame["name"] == "lambda") & (frame["component"] > 0)].sort_values("step")
    frame = frame.astype({"layer": int, "component": int, "value": float})[["layer", "component", "step", "value"]]
    return frame.assign(change=frame["value"] - frame.groupby(["layer", "component"])["value"].transform("first"))
