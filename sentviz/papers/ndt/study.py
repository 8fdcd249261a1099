"""The NDT study: its runs, and what the paper prints beside what they measure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from math import isfinite
from pathlib import Path

import numpy as np

from sentviz.analysis.claim import Finding, tried
from sentviz.io.lazy import pd
from sentviz.io.numbers import percent, signed
from sentviz.papers.ndt import printed_tables
from sentviz.papers.studies import compare_configurations
from sentviz.papers.studies.judging import over_parts
from sentviz.runs.presets import LAMBDA_CONTROLS, LAMBDA_SETTINGS, VARIANTS
from sentviz.runs.registry import read_paper
from sentviz.runs.sections import Studied
from sentviz.runs.store import Run

DATASETS = {"imdb": "IMDb", "sst2": "SST-2", "yelp_full": "Yelp", "twitter_financial": "Twitter Financial News"}  # the paper's order
_PAPER = read_paper(Path(__file__).parent)
PRESETS, STUDIES = _PAPER.presets, _PAPER.studies
TITLES = DATASETS | {"twitter_financial": "Twitter"}  # in statements
ACCURACY, LAMBDAS = (  # sections of the paper on accuracies and on lambdas, by data set
    {dataset: f"section IV-{letter}{part}" for dataset, letter in zip(DATASETS, "BCDE", strict=True)} for part in (1, 2)
)
CONTROL = "vanilla-matched"
VOCABULARIES = {"imdb": 26_284, "sst2": 8_865, "yelp_full": 63_385, "twitter_financial": 3_137}  # printed, section IV-A
# data sets with several kinds of test rows: data set -> split -> name of the rows in a sentence
ROWS: dict[str, dict[str, str]] = {"sst2": {"test": "the re-split", "official_test": "the official sentences"}}
CONTROLS = (*LAMBDA_CONTROLS, *LAMBDA_SETTINGS)
CONTROL_COLUMNS = [
    "model",
    "variant",
    "layer",
    "component",
    "start",
    "end",
    "change",
    "printed",
    "accuracy",
    "low",
    "high",
    "n",
    "seed",
    "run",
]
NDTS = tuple(model for model in PRESETS if model.startswith("ndt-"))

# our metric -> (printed table, its column, factor to our unit)
METRICS = {  # metric of a run -> printed metric
    "accuracy": "accuracy",
    "precision_weighted": "precision",
    "f1_weighted": "f1",
    "auc": "auc",
    "silhouette": "silhouette",
    "precision_macro": "precision",
    "f1_macro": "f1",
}


def printed_name(dataset: str) -> str:
    """A data set's name in the printed tables; ours of Yelp is another sample, so it has another name."""
    return {"yelp_full": "yelp"}.get(dataset, dataset)


def configurations(runs: Iterable[Run], dataset: str, models: Sequence[str] = tuple(PRESETS)) -> dict[str, list[Run]]:
    """The study's runs of a data set by configuration, by default those of the paper, in their order, seeds in order."""
    return compare_configurations.configurations(runs, dataset, models)


def settings_of(model: str) -> list[str]:
    """Return the names of an NDT's configurations with each start, rate and decay, its own first."""
    return [model, *(f"{model}-{variant}" for variant in CONTROLS)]


def tested(runs: Iterable[Run], dataset: str, split: str) -> dict[str, list[Run]]:
    """Return the configurations and runs that were tested on a split; configurations without such a run are left out."""
    by_model = {model: [run for run in seeds if split in run.metrics()] for model, seeds in configurations(runs, dataset).items()}
    return {model: seeds for model, seeds in by_model.items() if seeds}


def on_each_kind_of_rows(dataset: str, judge: Callable[[str], Finding]) -> Finding:
    """Make a test on each split of test rows that a data set has, a part each (`over_parts`)."""
    return over_parts({rows: tried(partial(judge, split)) for split, rows in ROWS.get(dataset, {"test": "the test rows"}).items()})


def best_on_validation(by_model: Mapping[str, Sequence[Run]]) -> str:
    """Return the configuration with the highest mean validation accuracy; "" if there is none."""
    return max(
        by_model, key=lambda model: sum(run.config["best"]["accuracy"] for run in by_model[model]) / len(by_model[model]), default=""
    )


def best_ndt(runs: Iterable[Run], dataset: str) -> list[Run]:
    """Return the seeds of the NDT configuration that is best on validation; empty if there is no NDT run."""
    by_model = {model: seeds for model, seeds in configurations(runs, dataset).items() if model in NDTS}
    return by_model.get(best_on_validation(by_model), [])


def reported_best(dataset: str) -> str:
    """Return the NDT configuration that the paper names as its best on a data set: the one with the highest reported test accuracy."""
    reported = {model: printed_tables.value(printed_name(dataset), model, "accuracy") for model in NDTS}
    return max(reported, key=lambda model: np.nan_to_num(reported[model]))


def summary(runs: Iterable[Run], dataset: str, split: str = "test") -> pd.DataFrame:
    """A row per configuration here and metric: model, metric, value, low, high, n, seeds (`sentviz.papers.studies.means`)."""
    return compare_configurations.summary(configurations(runs, dataset), split)


def beside(measured: pd.DataFrame, dataset: str, metric: str, split: str = "test") -> pd.DataFrame:
    """The paper's fourteen configurations and the control: model, printed, value, low, high, n, seeds; NaN where there is none.

    Args:
        measured: as `summary` returns it.
        split: split of the measured numbers. The paper reports only "test", so `printed` is NaN for any other split.
    Raises:
        KeyError: a metric that the paper does not print.
    """
    name = METRICS[metric]
    wanted = {model: printed_tables.value(printed_name(dataset), model, name) for model in PRESETS if split == "test"}
    return compare_configurations.beside(PRESETS, wanted, measured[measured["metric"] == metric])


def points(runs: Iterable[Run], dataset: str, metric: str, split: str = "test") -> pd.DataFrame:
    """Every run by itself: model, seed, value."""
    return compare_configurations.points(configurations(runs, dataset), metric, split)


def parameters(runs: Sequence[Run], dataset: str) -> pd.DataFrame:
    """Return the reported and the measured number of parameters (millions) of each configuration that has runs.

    Columns: model, components, printed, value, vocabulary, and the parameters added to vanilla: printed_added, added; NaN if vanilla is
    missing. `value` counts the vocabulary of our training texts, which differs from the paper's. Constraints do not change the number.
    """
    frame = printed_tables.table("parameters")
    frame = frame[frame["dataset"] == printed_name(dataset)]
    wanted = {(row["family"], int(row["components"])): float(row["parameters_millions"]) for row in frame.to_dict("records")}
    rows = []
    for model, seeds in configurations(runs, dataset).items():
        config = seeds[0].config
        components = seeds[0].capabilities.components
        printed_value = wanted.get(("ndt" if model.startswith("ndt-") else model, components))
        rows.append((model, components, printed_value, config["parameters"] / 1e6, seeds[0].shape.vocab_size))
    table = pd.DataFrame(rows, columns=["model", "components", "printed", "value", "vocabulary"]).astype({"printed": float})
    base = table[table["model"] == "vanilla"][["printed", "value"]].mean()
    return table.assign(printed_added=table["printed"] - base["printed"], added=table["value"] - base["value"])


def is_controlled(of: Studied) -> bool:
    """Return whether there is a run on a data set that was trained with a control of its lambdas."""
    recipes = (run.config["recipe"] for run in of.runs if run.config["data"]["name"] == of.dataset and run.capabilities.lambdas)
    return any(recipe.get("variant") in CONTROLS for recipe in recipes)


def controlled_lambdas(runs: Sequence[Run], dataset: str) -> pd.DataFrame:
    """Return the effect of a lambda's start, rate and decay: the same models, trained with other ones.

    There is one row per lambda of every controlled run and of its original of the same seed: start, end, change, the end value that the
    paper prints (NaN where it prints none), and the test accuracy.

    Layers and components are counted from 0; variant is "" for the preset's own start.
    """
    on_dataset = [run for run in runs if run.config["data"]["name"] == dataset and run.capabilities.lambdas]
    controlled_recipes = [run.config["recipe"] for run in on_dataset if run.config["recipe"].get("variant") in CONTROLS]
    controlled = {(recipe["model"], recipe["seed"]) for recipe in controlled_recipes}
    rows = []
    for run in on_dataset:
        recipe = run.config["recipe"]
        variant = recipe.get("variant", "")
        if (recipe.get("model"), recipe["seed"]) not in controlled or variant not in ("", *CONTROLS):
            continue
        history, test = run.history().query("name == 'lambda' and component > 0").sort_values("step"), run.metrics()["test"]
        printed = printed_tables.lambdas(printed_name(dataset), recipe["model"]).set_index(["layer", "component"])["value"]
        for (layer, component), part in history.groupby(["layer", "component"]):
            start, end = float(part["value"].iloc[0]), float(part["value"].iloc[-1])
            rows.append(
                {"model": recipe["model"], "variant": variant, "layer": layer, "component": component, "start": start, "end": end}
                | {
                    "change": end - start,
                    "printed": printed.get((layer, component), float("nan")),
                    **test["accuracy"],
                    "n": test["n"],
                    "seed": recipe["seed"],
                    "run": run.name,
                }
            )
    frame = pd.DataFrame(rows).rename(columns={"value": "accuracy"}) if rows else pd.DataFrame(columns=CONTROL_COLUMNS)
    order = {name: i for i, name in enumerate(("", *CONTROLS))}
    return frame[CONTROL_COLUMNS].sort_values(
        ["model", "seed", "variant", "layer", "component"], key=lambda c: c.map(order) if c.name == "variant" else c
    )


def describe_controls(of: Studied) -> list[str]:
    """Describe the lambdas and the accuracy of each controlled run and its original, one sentence per run."""
    lines = []
    for (model, seed, variant), part in controlled_lambdas(of.runs, of.dataset).groupby(["model", "seed", "variant"], sort=False):
        start = "its own starts" if not variant else VARIANTS[str(variant)]
        accuracy = percent(part["accuracy"].iloc[0], 2, ends=(part["low"].iloc[0], part["high"].iloc[0]))
        same = int((part["start"] * part["end"] > 0).sum())
        most = max(part["change"], key=abs)
        moved = f"largest change {signed(most, 3)} from starts of {part['start'].abs().mean():.3f} in size"
        moved += f"; {same} of {len(part)} keep their sign"
        apart = float((part["end"] - part["printed"]).abs().mean())
        printed = f"; on average {apart:.3f} from the paper's λ" if isfinite(apart) else ""
        lines.append(f"{model}, {variant or 'as it is'} ({start}), seed {seed}: {moved}{printed}; accuracy {accuracy}.")
    return lines


def control_commands(of: Studied) -> str:
    """Return the commands that train the controlled runs, and how their numbers are read."""
    return (
        f"`sentviz study ndt-controls --dataset {of.dataset}` trains them, `ndt-settings` those with other rates and decays. Runs of"
        " the same seed are next to each other. Accuracies have 95 % intervals over test rows, without chance in training."
    )
