"""The numbers behind the paper's figures, from the runs here: confusion matrices, ROC curves, lambda over training."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

from sentviz.analysis.evaluation import RESAMPLES, Floats, areas_drawn, bounds, confusion
from sentviz.io.lazy import pd
from sentviz.papers.ndt import printed_tables
from sentviz.papers.ndt.study import DATASETS, best_ndt, configurations, printed_name, reported_best, settings_of
from sentviz.papers.studies.means import predictions
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
AGAIN = "again"  # variant of a training that was made again, for its vectors
MOST_POINTS = 250  # largest number of points of a ROC curve


CHOSEN = {  # option `best` -> how the NDT was chosen
    False: "The NDT configuration of each data set is the paper's best, the one with the highest reported test accuracy.",
    True: "The NDT configuration of each data set has the best validation accuracy of the runs here.",
}


def _ndt(runs: Iterable[Run], dataset: str, best: bool) -> list[Run]:
    """Return the seeds of a data set's NDT for the panels: the paper's best, or the best on validation here."""
    return best_ndt(runs, dataset) if best else configurations(runs, dataset).get(reported_best(dataset), [])


def panel_runs(runs: Iterable[Run], model: str = "ndt", *, best: bool = False) -> dict[str, Run]:
    """Return the run of each data set for the paper's panels: the first seed of `model`.

    Args:
        model: a configuration; "ndt" is the NDT that the paper names as its best on the data set.
        best: True takes the NDT best on validation here in its place.
    """
    every, by_dataset = list(runs), {}
    for dataset in DATASETS:
        seeds = _ndt(every, dataset, best) if model == "ndt" else configurations(every, dataset).get(model, [])
        if seeds:
            by_dataset[dataset] = seeds[0]
    return by_dataset


def missing(runs: Iterable[Run], model: str = "ndt", *, best: bool = False) -> list[str]:
    """Return the titles of the data sets that are missing in `panel_runs`."""
    there = panel_runs(runs, model, best=best)
    return [title for dataset, title in DATASETS.items() if dataset not in there]


def with_vectors(runs: Iterable[Run], *, best: bool = False) -> dict[str, Run]:
    """Return the first run with stored pooled vectors among the seeds of each data set's NDT, chosen as in `panel_runs`.

    If no seed has vectors, a run of the same training that was made again (variant "again") takes its place.
    """
    every, by_dataset = list(runs), {}
    for dataset in DATASETS:
        seeds = _ndt(every, dataset, best)
        again = configurations(every, dataset, [f"{seeds[0].configuration}-{AGAIN}"]).values() if seeds else ()
        able = [run for run in itertools.chain(seeds, *again) if "embeddings.safetensors" in run.config["files"]]
        if able:
            by_dataset[dataset] = able[0]
    return by_dataset


def confusions(runs: Iterable[Run], *, best: bool = False) -> pd.DataFrame:
    """Return the confusion matrix of each data set's NDT, chosen as in `panel_runs`.

    Columns: panel, run, label, predicted, count, share (of the label's rows).
    """
    rows = []
    for dataset, run in panel_runs(runs, best=best).items():
        labels, probabilities = predictions([run])
        counts = confusion(labels, probabilities[0].argmax(axis=1), len(run.labels))
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        rows += [
            (DATASETS[dataset], run.name, true, predicted, int(counts[i, j]), float(shares[i, j]))
            for i, true in enumerate(run.labels)
            for j, predicted in enumerate(run.labels)
        ]
    return pd.DataFrame(rows, columns=["panel", "run", "label", "predicted", "count", "share"])


def rocs(runs: Iterable[Run], *, best: bool = False, seed: int = 0) -> pd.DataFrame:
    """Return the curves of DT and of each data set's NDT, chosen as in `panel_runs`.

    Columns: row, panel, run, curve, fpr, tpr, auc, low, high, n, and of the run's area: macro, macro_low, macro_high, printed (the reported
    AUC of the same configuration). Two classes have one curve, that of the second; more have one-vs-rest curves, whose mean is macro. The
    intervals are percentile bootstraps over test rows.
    """
    every = list(runs)
    parts = [
        _curves(run, run.digest, seed).assign(
            row=row, panel=DATASETS[dataset], printed=printed_tables.auc(printed_name(dataset), run.configuration)
        )
        for row, model in (("DT", "diff"), ("best NDT", "ndt"))
        for dataset, run in panel_runs(every, model, best=best).items()
    ]
    columns = ["row", "panel", "run", "curve", "fpr", "tpr", "auc", "low", "high", "n", "macro", "macro_low", "macro_high", "printed"]
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)


@lru_cache(maxsize=32)
def _curves(run: Run, digest: str, seed: int) -> pd.DataFrame:
    """`rocs` of one run, without row and panel; not to be changed."""
    from sklearn.metrics import roc_curve

    labels, (probabilities,) = predictions([run])
    n, two = len(labels), len(run.labels) == 2
    stored = run.metrics()["test"]["auc"]
    classes = [k for k in ([1] if two else range(len(run.labels))) if 0 < (labels == k).sum() < n]
    sides = [(labels == k, probabilities[:, k]) for k in classes]
    values, draws = areas_drawn(sides, np.random.default_rng(seed), 0 if two else RESAMPLES)
    parts = []
    for i, k in enumerate(classes):
        fpr, tpr, _ = roc_curve(labels == k, probabilities[:, k])
        area = stored["value"] if two else float(values[i])  # the stored one is unrounded
        low, high = (stored["low"], stored["high"]) if two else bounds(draws[:, i])
        places = _thin(fpr, tpr)
        curve = pd.DataFrame({"fpr": fpr[places], "tpr": tpr[places]})
        parts.append(curve.assign(run=run.name, curve=run.labels[k], auc=area, low=low, high=high, n=n))
    if not parts:
        return pd.DataFrame(columns=["run", "curve", "fpr", "tpr", "auc", "low", "high", "n", "macro", "macro_low", "macro_high"])
    macro = {"macro": stored["value"], "macro_low": stored["low"], "macro_high": stored["high"]}
    return pd.concat(parts, ignore_index=True).assign(**macro)


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


def _thin(fpr: Floats, tpr: Floats) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Positions of at most `MOST_POINTS` of a curve, evenly along its length, both ends among them."""
    along = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(fpr)) + np.abs(np.diff(tpr)))])
    return np.unique(np.searchsorted(along, np.linspace(0, along[-1], MOST_POINTS)).clip(0, len(fpr) - 1))
