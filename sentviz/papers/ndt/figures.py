"""Figures of the NDT study, drawn from all available runs. Each takes a data set of the study, or "all", instead of a run.

`picture` gives a run's pooled vectors in two dimensions by t-SNE, computed once and kept in the user's cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from sentviz.analysis.evaluation import RESAMPLES, Floats, Ints, interval, mean_draws
from sentviz.charts.options import choice
from sentviz.charts.registry import figure
from sentviz.charts.subjects import Study, sourced
from sentviz.errors import InputError
from sentviz.io.files import home, replacing
from sentviz.io.lazy import pd
from sentviz.papers.ndt import printed_tables
from sentviz.papers.ndt.panels import AGAIN, CHOSEN, SETTINGS_OF, confusions, lambda_frames, missing, panel_runs, rocs, with_vectors
from sentviz.papers.ndt.presets import CONTROLLED, PRESETS
from sentviz.papers.ndt.study import DATASETS, beside, points, printed_name, settings_of, summary
from sentviz.runs.store import Run

if TYPE_CHECKING:
    from sentviz.charts.figure import Figure

PERPLEXITY = 30
METRIC_TITLES = {
    "accuracy": "Accuracy",
    "precision_weighted": "Precision, weighted",
    "f1_weighted": "F1, weighted",
    "auc": "AUC",
    "silhouette": "Silhouette",
    "precision_macro": "Precision, macro",
    "f1_macro": "F1, macro",
}
SPLITS = {"test": "Test split of the paper", "official_test": "Official test sentences"}
Split = Annotated[str, choice(SPLITS)]


@dataclass(frozen=True)
class Picture:
    """Places of a sample of test rows, and how well their classes stand apart; each silhouette is {value, low, high}."""

    run: str
    classes: tuple[str, ...]
    labels: Ints  # (n,)
    places: npt.NDArray[np.float32]  # (n, 2)
    original: dict[str, Any]  # silhouette of the pooled vectors
    drawn: dict[str, Any]  # silhouette of the places
    seed: int
    printed: float = np.nan  # silhouette that the paper reports for the same configuration


def cached(run: Run, seed: int = 0) -> bool:
    """Return whether the picture is stored on this machine."""
    return _file(run, seed).is_file()


def picture(run: Run, seed: int = 0) -> Picture:
    """The run's stored sample of pooled vectors by t-SNE (van der Maaten & Hinton 2008; openTSNE, perplexity 30, from the principal axes).

    Silhouettes (euclidean, Rousseeuw 1987) are of these rows, in the original space and in the picture, with 95 % bootstrap intervals over
    rows. The places are kept by the run's digest and the seed; a damaged file is computed anew.

    Raises:
        RunError: the run carries no vectors.
    """
    from safetensors.numpy import load_file
    from sklearn.metrics import silhouette_samples

    stored = load_file(run.path("embeddings.safetensors"))
    vectors, test = stored["pooled"].astype(np.float64), run.frame("test.parquet")
    labels = test.loc[test["split"] == "test", "label"].to_numpy(np.int64)[stored["rows"]]
    places = _read(_file(run, seed), len(vectors))
    if places is None:
        places = _tsne(vectors, seed)
        _write(_file(run, seed), places)
    original, drawn = (
        _silhouette(silhouette_samples(x, labels), seed) if 1 < len(set(labels)) < len(labels) else interval(np.nan, np.array([np.nan]))
        for x in (vectors, places)
    )
    dataset, model = printed_name(run.config["data"]["name"]), run.configuration.removesuffix(f"-{AGAIN}")
    return Picture(run.name, run.labels, labels, places, original, drawn, seed, printed_tables.silhouette(dataset, model))


def tsne_frame(pictures: dict[str, Picture]) -> pd.DataFrame:
    """Panels as one frame: panel, run, label, x, y, silhouette, low, high, printed (NaN if unknown), drawn, drawn_low, drawn_high, seed."""
    parts = [
        pd.DataFrame({"label": np.array(item.classes)[item.labels], "x": item.places[:, 0], "y": item.places[:, 1]}).assign(
            panel=panel,
            run=item.run,
            silhouette=item.original["value"],
            low=item.original["low"],
            high=item.original["high"],
            printed=item.printed,
            drawn=item.drawn["value"],
            drawn_low=item.drawn["low"],
            drawn_high=item.drawn["high"],
            seed=item.seed,
        )
        for panel, item in pictures.items()
    ]
    columns = ["panel", "run", "label", "x", "y", "silhouette", "low", "high", "printed", "drawn", "drawn_low", "drawn_high", "seed"]
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)


def _tsne(vectors: Floats, seed: int) -> npt.NDArray[np.float32]:
    from openTSNE import TSNE

    least = max(2, min(PERPLEXITY, (len(vectors) - 1) // 3))
    return np.asarray(TSNE(perplexity=least, initialization="pca", random_state=seed, n_jobs=1).fit(vectors), dtype=np.float32)


def _silhouette(values: Floats, seed: int) -> dict[str, Any]:
    return interval(float(values.mean()), mean_draws(values, np.random.default_rng(seed), RESAMPLES))


def _file(run: Run, seed: int) -> Path:
    return home() / "pictures" / f"tsne-{run.digest}-{PERPLEXITY}-{seed}.npy"


def _read(path: Path, n: int) -> npt.NDArray[np.float32] | None:
    try:
        places = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError, BadZipFile):
        return None
    return places.astype(np.float32) if getattr(places, "shape", None) == (n, 2) else None


def _write(path: Path, places: npt.NDArray[np.float32]) -> None:
    """Whole or not at all; a cache that cannot be written costs time, nothing else."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as part, part.open("wb") as file:
            np.save(file, places)


def _sets() -> Sequence[str]:
    return list(DATASETS)


def _controlled() -> Sequence[str]:
    return CONTROLLED


def _runs(of: Study) -> list[Run]:
    """Return the runs of a data set of the NDT study by configuration, seeds in order."""
    from sentviz.papers.ndt.study import DATASETS, configurations

    on_dataset = [run for seeds in configurations(of.runs, of.name).values() for run in seeds]
    if not on_dataset:
        raise InputError(f"No run on {DATASETS[of.name]} is installed: `sentviz study ndt --dataset {of.name}` trains them.")
    return on_dataset


def _rows(split: str) -> str:
    return "" if split == "test" else ", official test"


@figure("accuracy-beside-print", "Measured and reported values", Study, sets=_sets)
def _beside(of: Study, *, metric: Annotated[str, choice(METRIC_TITLES)] = "accuracy", split: Split = "test") -> Figure:
    from sentviz.charts.measured_vs_printed import measured_beside_printed

    used, title = _runs(of), DATASETS[of.name]
    frame = beside(summary(of.runs, of.name, split), of.name, metric, split)
    single, (first, _, how) = points(of.runs, of.name, metric, split), metric.partition("_")
    named = ", ".join(filter(None, ({"auc": "AUC", "f1": "F1"}.get(first, first.capitalize()), how)))
    result = measured_beside_printed(frame, single, title=f"{named} on {title}{_rows(split)}", percent=metric == "accuracy")
    return sourced(result, *used, split=split)


@figure("accuracy-grid", "Accuracy by constraint and number of components", Study, sets=_sets)
def _grid(of: Study, *, split: Split = "test") -> Figure:
    from sentviz.charts.accuracy_grid import accuracy_grid
    from sentviz.papers.ndt.tables import grid

    used = _runs(of)
    frame = beside(summary(of.runs, of.name, split), of.name, "accuracy", split)
    result = accuracy_grid(grid(frame), title=f"{DATASETS[of.name]}{_rows(split)}")
    return sourced(result, *used, split=split)


@figure("lambda-grid", "Lambda of all configurations over training", Study, sets=_sets)
def _lambda_grid(of: Study, *, change: bool = False) -> Figure:
    return _lambdas(of, DATASETS[of.name], PRESETS, change=change, settings=False)


@figure("lambda-settings", "Lambda of one NDT with other starts, rates and decays", Study, sets=_controlled)
def _lambda_settings(of: Study, *, change: bool = False) -> Figure:
    title = f"{DATASETS[of.name]}, settings of {SETTINGS_OF}"
    return _lambdas(of, title, settings_of(SETTINGS_OF), change=change, settings=True)


def _lambdas(of: Study, title: str, models: Iterable[str], *, change: bool, settings: bool) -> Figure:
    from sentviz.charts.lambda_grid import lambda_grid
    from sentviz.papers.ndt.study import configurations

    frame, marks = lambda_frames(of.runs, of.name, settings=settings)
    drawn = set(frame["model"])
    used = [run for model, seeds in configurations(of.runs, of.name, tuple(models)).items() if model in drawn for run in seeds]
    return sourced(lambda_grid(frame, title=title, change=change, printed=marks), *used)


@figure("cost", "Parameters and latency", Study, sets=_sets)
def _cost(of: Study) -> Figure:
    from sentviz.charts.tradeoff import tradeoff
    from sentviz.papers.ndt.tables import costs

    return tradeoff(*costs(of.name), title=DATASETS[of.name])


@figure("component-habits", "Habits in which the components of each run differ", Study)
def _component_habits(of: Study) -> Figure:
    from sentviz.charts.component_habits import component_habits
    from sentviz.papers.ndt.specialisation import habits

    frame, by_name = habits(of.runs), {run.name: run for run in of.runs}
    return sourced(component_habits(frame, titles=DATASETS), *(by_name[name] for name in frame["run"]))


@figure("confusion-panels", "Confusion matrices of the best NDT", Study)
def _confusion_panels(of: Study, *, best: bool = False) -> Figure:
    from sentviz.charts.confusion_panels import confusion_panels

    lost = missing(of.runs, best=best)
    result = confusion_panels(confusions(of.runs, best=best), chosen=CHOSEN[best], missing=lost)
    return sourced(result, *panel_runs(of.runs, best=best).values())


@figure("roc-panels", "ROC curves of DT and the best NDT", Study)
def _roc_panels(of: Study, *, best: bool = False) -> Figure:
    from sentviz.charts.roc_panels import roc_panels

    lost = missing(of.runs, best=best)
    lost = [*lost, *(f"DT on {title}" for title in missing(of.runs, "diff") if title not in lost)]
    result = roc_panels(rocs(of.runs, best=best), order=tuple(DATASETS.values()), chosen=CHOSEN[best], missing=lost)
    return sourced(result, *panel_runs(of.runs, "diff").values(), *panel_runs(of.runs, best=best).values())


def _tsne_waits(of: Study) -> str:
    if all(cached(run) for best in (False, True) for run in with_vectors(of.runs, best=best).values()):
        return ""
    return "Not computed on this machine yet; it takes about ten seconds a data set, once."


@figure("tsne-panels", "t-SNE of the best NDT", Study, waits=_tsne_waits)
def _tsne_panels(of: Study, *, best: bool = False) -> Figure:
    from sentviz.charts.tsne_panels import tsne_panels

    able, titles = with_vectors(of.runs, best=best), DATASETS
    lost = [title for dataset, title in titles.items() if dataset not in able]
    frame = tsne_frame({titles[dataset]: picture(run) for dataset, run in able.items()})
    again = [titles[dataset] for dataset, run in able.items() if run.configuration.endswith(f"-{AGAIN}")]
    return sourced(tsne_panels(frame, chosen=CHOSEN[best], missing=lost, again=again), *able.values())
