"""A run's pooled vectors in two dimensions by t-SNE, computed once and kept in the user's cache."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from sentviz.analysis.evaluation import RESAMPLES, Floats, Ints, interval, mean_draws
from sentviz.io.files import home, replacing
from sentviz.io.lazy import pd
from sentviz.runs.store import Run

PERPLEXITY = 30


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
    return Picture(run.name, run.labels, labels, places, original, drawn, seed)


def frame(pictures: dict[str, Picture]) -> pd.DataFrame:
    """Panels as one frame: panel, run, label, x, y, silhouette, low, high, drawn, drawn_low, drawn_high, seed."""
    parts = [
        pd.DataFrame({"label": np.array(item.classes)[item.labels], "x": item.places[:, 0], "y": item.places[:, 1]}).assign(
            panel=panel,
            run=item.run,
            silhouette=item.original["value"],
            low=item.original["low"],
            high=item.original["high"],
            drawn=item.drawn["value"],
            drawn_low=item.drawn["low"],
            drawn_high=item.drawn["high"],
            seed=item.seed,
        )
        for panel, item in pictures.items()
    ]
    columns = ["panel", "run", "label", "x", "y", "silhouette", "low", "high", "drawn", "drawn_low", "drawn_high", "seed"]
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
