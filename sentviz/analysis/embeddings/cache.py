"""Cache of data for pictures of embeddings, in the user's cache folder: pooled vectors of every layer, and coordinates.

Files are named after a digest of the run, the rows and the parameters, and are written completely or not at all. The oldest files are
deleted if the folder grows beyond `DISK`. If the disk is full or not writable, results are stored in memory only.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sentviz.analysis.embeddings.projection import Projection, Tick, project
from sentviz.errors import RunError
from sentviz.io.files import home, replacing
from sentviz.io.lazy import pd, torch
from sentviz.runs.store import Run

if TYPE_CHECKING:
    from sentviz.models.model import Model

Arrays = Mapping[str, npt.NDArray[Any]]
Half = npt.NDArray[np.float16]

DISK = 1 << 30  # bytes
MEMORY = 1 << 28


def digest(*parts: object) -> str:
    """Return a digest of the parts' texts, sixteen hex digits."""
    hasher = hashlib.sha256()
    for part in parts:
        hasher.update(str(part).encode("utf-8", "replace") + b"\0")
    return hasher.hexdigest()[:16]


class Cache:
    """Named sets of arrays on disk; the last used sets are also in memory. Thread-safe."""

    def __init__(self, folder: Path | None = None, disk: int = DISK, memory: int = MEMORY) -> None:
        self.folder, self.problem = folder or home() / "pictures", ""  # problem: why nothing is written, in one sentence
        self._disk, self._memory = disk, memory
        self._held: dict[str, Arrays] = {}
        self._lock = threading.Lock()

    def get(self, key: str) -> Arrays | None:
        """Return the arrays stored under a key; None if there are none or the file cannot be read."""
        with self._lock:
            if (in_memory := self._held.pop(key, None)) is not None:
                self._held[key] = in_memory
                return in_memory
        path = self._path(key)
        if not path.is_file():
            return None
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        try:
            arrays = load_file(path)
            os.utime(path)
        except (OSError, SafetensorError, ValueError):
            return None
        self._hold(key, arrays)
        return arrays

    def put(self, key: str, arrays: Arrays, *, disk: bool = True) -> None:
        """Keep arrays; in memory only where `disk` is off or cannot be written."""
        self._hold(key, arrays)
        if not disk:
            return
        from safetensors.numpy import save

        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with replacing(self._path(key)) as part:
                part.write_bytes(save({name: np.ascontiguousarray(array) for name, array in arrays.items()}))
            self.problem = ""
        except OSError as error:
            self.problem = f"{self.folder} cannot be written ({error.strerror or error}), so the results are kept in memory only."
            return
        self._prune(key)

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.safetensors"

    def _hold(self, key: str, arrays: Arrays) -> None:
        with self._lock:
            self._held.pop(key, None)
            self._held[key] = arrays
            while len(self._held) > 1 and sum(a.nbytes for stored in self._held.values() for a in stored.values()) > self._memory:
                self._held.pop(next(iter(self._held)))

    def _prune(self, newest: str) -> None:
        files = {}
        with suppress(OSError):
            for path in self.folder.glob("*.safetensors"):
                with suppress(OSError):  # another process was first
                    files[path] = path.stat()
        total = sum(stat.st_size for stat in files.values())
        for path, stat in sorted(files.items(), key=lambda item: item[1].st_mtime):
            if total <= self._disk or path == self._path(newest):
                break
            with suppress(OSError):
                path.unlink(missing_ok=True)
            total -= stat.st_size


# ---- vectors


def stored_sample(run: Run, rows: int) -> tuple[npt.NDArray[np.int64], Half]:
    """Places (s,) in the test split and pooled vectors (s, d) of the sample that ships with a run.

    Args:
        rows: of the test split as stored.
    Raises:
        RunError: missing or damaged.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        arrays = load_file(run.path("embeddings.safetensors"))
        places, pooled = arrays["rows"].astype(np.int64), arrays["pooled"]
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise (
            error if isinstance(error, RunError) else RunError(f"{run.name}: embeddings.safetensors cannot be read ({error}).")
        ) from error
    good = pooled.ndim == 2 and places.shape == (len(pooled),) and len(places) > 0 and places.min() >= 0 and places.max() < rows
    if not good or not np.isfinite(pooled).all():
        raise RunError(f"{run.name}: embeddings.safetensors is damaged: its vectors do not fit the {rows:,} rows of the test split.")
    return places, pooled


def layer_vectors(model: Model, frame: pd.DataFrame, tick: Tick | None = None) -> Half:
    """(L+1, n, d) what the classifier would read of every layer's states: the model's own final norm and pooling.

    Args:
        frame: text and, of pairs, text_pair.

    Row 0 is the embedding, the last one the pooled vector itself.
    """

    from sentviz.models.batches import by_length
    from sentviz.models.protocol import Capture

    n = len(frame)
    if tick is not None:
        tick(0.0, f"reading {n:,} texts")
    read = model.read(frame)
    result = np.empty((model.config.layers + 1, n, model.config.pooled_width), dtype=np.float16)
    done = 0
    for rows in by_length([len(row) for row in read]):
        batch = model.batch([read[i] for i in rows])
        with torch.inference_mode():
            out = model.network(batch, Capture(maps=False))
            for layer, state in enumerate(out.hidden):
                result[layer, rows] = model.network.pool(state, batch.mask).numpy()
        done += len(rows)
        if tick is not None:
            tick(0.2 + 0.8 * done / n, f"running the model, {done:,} of {n:,} rows")
    return result


def pictures(
    cache: Cache,
    key: str,
    vectors: Sequence[npt.NDArray[Any] | None],
    method: str,
    dims: int,
    layer: int = 0,
    seed: int = 0,
    *,
    compute: bool = True,
    disk: bool = True,
    tick: Tick | None = None,
) -> dict[int, Projection]:
    """Return projections by layer, from the last layer down to `layer`; each is rotated onto the projection of the layer above.

    Missing projections are computed and stored. The result ends above the first layer without vectors, and without `compute` above the
    first layer whose projection is not stored.

    Args:
        key: digest of the run and its rows.
        vectors: (n, d) vectors of each of the L+1 layers; None for a layer without stored vectors.
        layer: lowest layer; 0 = the embedding.
    """
    last = len(vectors) - 1
    projections: dict[int, Projection] = {}
    for step, current in enumerate(range(last, layer - 1, -1)):
        x = vectors[current]
        if x is None:
            break

        def part(share: float, doing: str, step: int = step, current: int = current) -> None:
            if tick is not None:
                tick((step + share) / (last - layer + 1), f"layer {current} of {last}: {doing}")

        name = digest(key, method, dims, seed, current)
        stored = cache.get(name) if method != "pca" else None
        if stored is not None and stored["points"].shape != (len(x), dims):
            stored = None
        if stored is not None:
            extras = {str(k): float(v) for k, v in zip(_names(stored["names"]), stored["values"], strict=True)}
            picture = Projection(method, seed, x, stored["points"].astype(np.float64), extras)
        elif compute or method == "pca":
            picture = project(x, method, dims, seed, tick=part)
            if method != "pca":
                cache.put(
                    name,
                    {
                        "points": picture.raw,
                        "values": np.array(list(picture.parameters.values())),
                        "names": np.frombuffer("\n".join(picture.parameters).encode() or b"\n", dtype=np.uint8),
                    },
                    disk=disk,
                )
        else:
            break
        projections[current] = picture if current == last else picture.onto(projections[current + 1].points)
    return projections


def _names(stored: npt.NDArray[Any]) -> list[str]:
    return stored.tobytes().decode().split("\n") if stored.tobytes().strip() else []
