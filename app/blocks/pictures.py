"""The projections behind the view Map: available ones, background jobs for missing ones, and the place of a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st

from app import answers, visit
from app.server.queue import finished, giving_way, jobs, wait
from app.shared import once
from app.text import md
from sentviz.analysis.embeddings.cache import Cache, digest, layer_vectors, pictures, stored_sample
from sentviz.analysis.embeddings.projection import Projection, method_title, parsed_method
from sentviz.analysis.embeddings.silhouette import measures
from sentviz.analysis.testset.rows import Rows
from sentviz.charts.figure import Figure
from sentviz.charts.scatter import measured
from sentviz.errors import InputError, SentvizError
from sentviz.io.files import home
from sentviz.io.lazy import pd
from sentviz.runs.store import Run
from sentviz.serving.jobs import Job

MOST = 25_000  # points; of more rows, a seeded sample
SEED = 0
SAMPLES = {"stored": "stored sample", "all": "all rows"}


def _cache() -> Cache:
    return _kept_in(home() / "pictures")


@once(2)
def _kept_in(folder: Path) -> Cache:
    return Cache(folder)


def problem() -> str:
    """Return why nothing can be written to the user's cache; "" if it can."""
    return _cache().problem


# ---- which rows, which vectors


@dataclass(frozen=True, eq=False)
class VectorSource:
    """The rows of a picture and the source of their vectors."""

    run: Run
    rows: Rows
    places: npt.NDArray[np.int64]  # (n,) places of these rows among those in focus
    key: str  # digest of run and rows
    about: str  # description of the rows for the caption
    stored: npt.NDArray[np.float16] | None  # (n, d) vectors of the last layer that ship with the run
    disk: bool  # False for a visitor's own file, of which nothing is written to disk


_sample = once(8)(stored_sample)


@once(16)
def _key_of(run: Run, rows: Rows) -> str:
    """Return a digest of run and rows. The rows of a run's own splits never change, so that their ids are enough."""
    if rows.over == "mine":
        return digest(run.digest, "mine", rows.file)
    return digest(run.digest, rows.over, *rows.frame["id"], *(rows.frame["text"] if rows.over == "demo" else ()))


def sample() -> str:
    """Return which rows of the test split are drawn: "stored", those whose vectors the run has, or "all"."""
    return visit.page_value("sample", "stored", lambda value: value if value in SAMPLES else None, resets=("run",))


def source(rows: Rows) -> VectorSource:
    """Return the rows to draw: the sample whose vectors ship with the run, or all rows, at most 25,000.

    Raises:
        RunError: the sample is damaged.
    """
    run, n = rows.source.require_run("vectors"), len(rows)
    if rows.over == "test" and sample() == "stored":
        places, pooled = _sample(run, n)
        part = replace(rows, frame=rows.frame.iloc[places])
        about = f"a stored sample of {len(places):,} of {n:,} rows"
        return VectorSource(run, part, places, digest(run.digest, "test", "stored"), about, pooled, True)
    places = np.sort(np.random.default_rng(SEED).permutation(n)[:MOST])
    part = rows if n <= MOST else replace(rows, frame=rows.frame.iloc[places])
    about = f"all {n:,} rows" if n <= MOST else f"a sample of {MOST:,} of {n:,} rows (seed {SEED})"
    return VectorSource(run, part, places, _key_of(run, part), about, None, rows.over != "mine")


def _vectors(disk: Cache, of: VectorSource) -> list[npt.NDArray[np.float16] | None]:
    """Return the vectors (n, d) by layer; None for a layer without available vectors."""
    last = of.run.capabilities.layers
    key = digest(of.key, "vectors")
    layers, cached = finished("pictures", key), disk.get(key)
    if layers is None and cached is not None:
        layers = cached["layers"]
    if layers is None or layers.shape[:2] != (last + 1, len(of.rows)):
        return [*[None] * last, of.stored]
    return [*layers] if of.stored is None else [*layers[:-1], of.stored]


# ---- pictures


def available_projections(of: VectorSource, method: str, dims: int) -> dict[int, Projection]:
    """Return the available projections by layer, from the last one down. PCA is available for every layer with vectors."""
    vectors = _vectors(_cache(), of)
    if method == "pca":
        return _pca(of.rows, of.key, dims, sum(x is None for x in vectors), vectors)
    done: list[dict[int, Projection]] = [finished("pictures", _key(of, method, dims, layer)) or {} for layer in range(len(vectors))]
    return max([*done, pictures(_cache(), of.key, vectors, method, dims, seed=SEED, compute=False)], key=len)


@once(24, own=4)
def _pca(rows: Rows, key: str, dims: int, missing: int, _vectors: Sequence[Any]) -> dict[int, Projection]:
    return pictures(_cache(), key, _vectors, "pca", dims, seed=SEED)


def points(rows: Rows, method: str, layer: int) -> pd.DataFrame | None:
    """Return id, x and y of a method's two-dimensional picture of a layer (0 = the embedding); None if it is not available."""
    run = rows.source.run
    if run is None or not parsed_method(method)[0] or not 0 <= layer <= run.capabilities.layers:
        return None
    of = source(rows)
    projection = available_projections(of, method, 2).get(layer)
    if projection is None:
        return None
    return pd.DataFrame({"id": of.rows.frame["id"].to_numpy(), "x": projection.points[:, 0], "y": projection.points[:, 1]})


def measured_of(of: VectorSource, projection: Projection, layer: int) -> pd.DataFrame:
    """Return the measures of a picture (`sentviz.analysis.embeddings.silhouette`) by labels, or by predictions without labels."""
    return _measured(of.rows, _key(of, projection.method, projection.raw.shape[1], layer), projection)


def silhouettes(of: VectorSource, projection: Projection, layer: int) -> Figure:
    """Return the silhouettes of `measured_of` as a figure, drawn once."""
    return _silhouettes(of.rows, _key(of, projection.method, projection.raw.shape[1], layer), measured_of(of, projection, layer))


@once(48, "Measuring the picture", own=4)
def _measured(rows: Rows, key: str, _found: Projection) -> pd.DataFrame:
    labels = rows.labels if rows.labelled else rows.predicted
    return measures(_found.vectors, _found.points, labels, rows.classes, seed=SEED)


@once(48, own=4)
def _silhouettes(rows: Rows, key: str, _numbers: pd.DataFrame) -> Figure:
    return measured(_numbers)


# ---- background work


def has_missing(of: VectorSource, method: str, dims: int) -> bool:
    """Return whether the pictures of some layers are missing and can be computed."""
    return of.run.has_weights and of.rows.has_text and len(available_projections(of, method, dims)) <= of.run.capabilities.layers


def start_pictures(of: VectorSource, method: str, dims: int, layer: int) -> bool:
    """Compute the vectors, then the pictures down to a layer, in the background; return False if there is nothing to wait for."""
    disk = _cache()
    vectors = _vectors(disk, of)
    if any(x is None for x in vectors[layer:]):
        return _start_vectors(of, disk)

    def work(job: Job) -> dict[int, Projection]:
        return pictures(disk, of.key, vectors, method, dims, layer, SEED, disk=of.disk, tick=job.tick)

    return wait("pictures", _key(of, method, dims, layer), f"{method_title(method)} of {_layer(layer)}", work)


def _start_vectors(of: VectorSource, disk: Cache) -> bool:
    """Compute the vectors of every layer in the background; show a note if they cannot be computed."""
    if not of.run.has_weights:
        st.info(f"{md(of.run.name)} ships without weights, so only its stored vectors can be shown.", icon=":material/inventory_2:")
        return False
    if not of.rows.has_text:
        st.info(
            "The model must read the rows to compute these vectors, but their texts are not installed. Get the data set at the side.",
            icon=":material/database:",
        )
        return False
    key, frame = digest(of.key, "vectors"), of.rows.frame

    def work(job: Job) -> npt.NDArray[np.float16]:
        from sentviz.models.loading import load

        job.tick(0.0, "loading the model")
        with giving_way(job) as step:
            vectors = layer_vectors(load(of.run).stoppable(step), frame, job.tick)
        disk.put(key, {"layers": vectors}, disk=of.disk)
        return vectors

    return wait("pictures", key, f"The vectors of {len(frame):,} rows", work)


def _layer(layer: int) -> str:
    return f"layer {layer}" if layer else "the embedding"


def placed(
    of: VectorSource, projections: dict[int, Projection], text: str, pair: str | None = None
) -> dict[int, npt.NDArray[np.float64]] | None:
    """Return the place of a text, or of a pair, in the pictures by layer, (dims,) each; None if it is being computed or cannot be."""
    if not of.run.has_weights:
        st.caption(f"{md(of.run.name)} ships without weights, so it cannot read a sentence and place it in the picture.")
        return None

    def work(job: Job) -> dict[int, npt.NDArray[np.float64]]:
        from sentviz.models.loading import load

        job.tick(0.0, "running the model on the sentence")
        vectors = layer_vectors(load(of.run), pd.DataFrame({"text": [text]} | ({} if pair is None else {"text_pair": [pair]})))
        job.tick(0.5, "placing the sentence among the points")
        return {layer: picture.place(vectors[layer])[0] for layer, picture in projections.items()}

    key = digest(*(_key(of, picture.method, picture.raw.shape[1], layer) for layer, picture in projections.items()), "sentence", text, pair)
    job = jobs("pictures").get(key)
    if job is not None and job.state == "done":
        at: dict[int, npt.NDArray[np.float64]] = job.result
        return at
    if job is not None and job.state == "failed":
        raise InputError(job.error)
    wait("pictures", key, "Your sentence", work)
    return None


def _key(of: VectorSource, method: str, dims: int, layer: int) -> str:
    return digest(of.key, method, dims, layer, SEED, "picture")


def sentence_of(focus: Any) -> tuple[str, str | None]:
    """Return the sentence in focus, typed or from a row, with its second text if it has one; "" if there is none."""
    if not (focus.text or focus.row):
        return "", None
    try:
        return answers.texts(focus)
    except SentvizError:
        return "", None
