"""Effect of a lambda's initial value and of training: the same models from equal, swapped and frozen initial values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sentviz.runs.presets import LAMBDA_CONTROLS, VARIANTS
from sentviz.runs.store import Run

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ["model", "variant", "layer", "component", "start", "end", "change", "accuracy", "low", "high", "n", "seed", "run"]


def controls(runs: Sequence[Run], dataset: str) -> pd.DataFrame:
    """A row per lambda of every controlled run and of its original of the same seed: start, end and change, and the run's test accuracy.

    Layers and components are counted from 0; variant is "" for the preset's own start.
    """
    import pandas as pd

    on_dataset = [run for run in runs if run.config["data"]["name"] == dataset and run.capabilities.lambdas]
    controlled_recipes = [run.config["recipe"] for run in on_dataset if run.config["recipe"].get("variant") in LAMBDA_CONTROLS]
    controlled = {(recipe["model"], recipe["seed"]) for recipe in controlled_recipes}
    rows = []
    for run in on_dataset:
        recipe = run.config["recipe"]
        variant = recipe.get("variant", "")
        if (recipe.get("model"), recipe["seed"]) not in controlled or variant not in ("", *LAMBDA_CONTROLS):
            continue
        history, test = run.history().query("name == 'lambda' and component > 0").sort_values("step"), run.metrics()["test"]
        for (layer, component), part in history.groupby(["layer", "component"]):
            start, end = float(part["value"].iloc[0]), float(part["value"].iloc[-1])
            rows.append(
                {"model": recipe["model"], "variant": variant, "layer": layer, "component": component, "start": start, "end": end}
                | {"change": end - start, **test["accuracy"], "n": test["n"], "seed": recipe["seed"], "run": run.name}
            )
    frame = pd.DataFrame(rows).rename(columns={"value": "accuracy"}) if rows else pd.DataFrame(columns=COLUMNS)
    order = {name: i for i, name in enumerate(("", *LAMBDA_CONTROLS))}
    return frame[COLUMNS].sort_values(
        ["model", "seed", "variant", "layer", "component"], key=lambda c: c.map(order) if c.name == "variant" else c
    )


def said(frame: pd.DataFrame) -> list[str]:
    """Describe the lambdas and the accuracy of each run in a frame of `controls`, one sentence per run; empty if the frame is."""
    lines = []
    for (model, seed, variant), part in frame.groupby(["model", "seed", "variant"], sort=False):
        start = "its own starts" if not variant else VARIANTS[str(variant)]
        accuracy = f"{part['accuracy'].iloc[0]:.2%} [{part['low'].iloc[0]:.2%}, {part['high'].iloc[0]:.2%}]"
        same = int((part["start"] * part["end"] > 0).sum())
        most = max(part["change"], key=abs)
        moved = f"largest change {most:+.3f} from starts of {part['start'].abs().mean():.3f} in size; {same} of {len(part)} keep their sign"
        lines.append(f"{model}, {variant or 'as it is'} ({start}), seed {seed}: {moved}; accuracy {accuracy}.".replace("-0.", "−0."))
    return lines
