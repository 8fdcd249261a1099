"""What pictures of embeddings are made from, kept in the user's cache: pooled vectors of every layer, and coordinates.

Files are named after a digest of the run, the rows and the parameters, and are written whole or not at all. The oldest go when
the folder grows beyond `DISK`. A disk that is full or may not be written is no reason to stop: results then live in memory only.
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
from sentviz.io.files import replacing
from sentviz.io.paths import home
from sentviz.runs.store import Run

if TYPE_CHECKING:
    import pandas as pd

    from sentviz.models.model import Model

Arrays = Mapping[str, npt.NDArray[Any]]
Half = npt.NDArray[np.float16]

DISK = 1 << 30  # bytes
MEMORY = 1 << 28


def digest(*parts: object) -> str:
    """Sixteen hex digits of the parts' text."""
    seen = hashlib.sha256()
    for part in parts:
        seen.update(str(part).encode("utf-8", "replace") + b"\0")
    return seen.hexdigest()[:16]


class Cache:
    """Named sets of arrays, on disk and, the last used ones, in memory. Safe to share between threads."""

    def __init__(self, folder: Path | None = None, disk: int = DISK, memory: int = MEMORY) -> None:
        self.folder, self.problem = folder or home() / "pictures", ""  # problem: why nothing is written, in one sentence
        self._disk, self._memory = disk, memory
        self._held: dict[str, Arrays] = {}
        self._lock = threading.Lock()

    def get(self, key: str) -> Arrays | None:
        """What is kept under a key; a file that cannot be read counts as none."""
        with self._lock:
            if (held := self._held.pop(key, None)) is not None:
                self._held[key] = held
                return held
        path = self._path(key)
        if not path.is_file():
            return None
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        try:
            found = load_file(path)
            os.utime(path)
        except (OSError, SafetensorError, ValueError):
            return None
        self._hold(key, found)
        return found

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
            self.problem = f"{self.folder} cannot be written ({error.strerror or error}), so what is computed is kept in memory only."
            return
        self._prune(key)

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.safetensors"

    def _hold(self, key: str, arrays: Arrays) -> None:
        with self._lock:
            self._held.pop(key, None)
            self._held[key] = arrays
            while len(self._held) > 1 and sum(a.nbytes for held in self._held.values() for a in held.values()) > self._memory:
                self._held.pop(next(iter(self._held)))

    def _prune(self, newest: str) -> None:
        found = {}
        with suppress(OSError):
            for path in self.folder.glob("*.safetensors"):
                with suppress(OSError):  # another process was first
                    found[path] = path.stat()
        whole = sum(stat.st_size for stat in found.values())
        for path, stat in sorted(found.items(), key=lambda item: item[1].st_mtime):
            if whole <= self._disk or path == self._path(newest):
                break
            with suppress(OSError):
                path.unlink(missing_ok=True)
            whole -= stat.st_size


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

    Raises:
        InputError: a text that cannot be read.
    """
    import torch

    from sentviz.models.batches import by_length
    from sentviz.models.protocol import Watch

    n = len(frame)
    if tick is not None:
        tick(0.0, f"reading {n:,} texts")
    read = model.read(frame)
    result = np.empty((model.config.layers + 1, n, model.config.width), dtype=np.float16)
    done = 0
    for rows in by_length([len(row) for row in read]):
        batch = model.batch([read[i] for i in rows])
        with torch.inference_mode():
            out = model.network(batch, Watch(maps=False))
            for layer, state in enumerate(out.hidden):
                result[layer, rows] = model.network.pool(state, batch.mask).numpy()
        done += len(rows)
        if tick is not None:
            tick(0.2 + 0.8 * done / n, f"asking the model, {done:,} of {n:,} rows")
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
    """Pictures by layer, from the last one, which stays as it is, down to `layer`: each turned onto that of the layer above.

    Those that are missing are computed and kept. They end early above a layer without vectors and, without `compute`, above one that
    is not at hand.

    Args:
        key: digest of the run and its rows.
        vectors: (n, d) of each of the L+1 layers, None where they are not at hand.
        layer: 0 = the embedding.
    Raises:
        InputError: as for `project`.
    """
    last = len(vectors) - 1
    made: dict[int, Projection] = {}
    for step, here in enumerate(range(last, layer - 1, -1)):
        x = vectors[here]
        if x is None:
            break

        def part(share: float, doing: str, step: int = step, here: int = here) -> None:
            if tick is not None:
                tick((step + share) / (last - layer + 1), f"layer {here} of {last}: {doing}")

        name = digest(key, method, dims, seed, here)
        found = cache.get(name) if method != "pca" else None
        if found is not None and found["points"].shape != (len(x), dims):
            found = None
        if found is not None:
            extras = {str(k): float(v) for k, v in zip(_names(found["names"]), found["values"], strict=True)}
            picture = Projection(method, seed, x, found["points"].astype(np.float64), extras)
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
        made[here] = picture if here == last else picture.onto(made[here + 1].points)
    return made


def _names(stored: npt.NDArray[Any]) -> list[str]:
    return stored.tobytes().decode().split("\n") if stored.tobytes().strip() else []
