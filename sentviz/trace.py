"""One text seen on its way through a model, as plain arrays.

Letters of the axes, used in every shape comment of the package:
    B batch   n queries   m keys   H heads   C components   L layers   d width   K classes
A *component* is one of the C attention maps that lambda mixes; *attention* is the effective, mixed map that multiplies V.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sentviz.errors import RunError

__all__ = ["Trace"]

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Trace:
    """Everything seen of one text. Arrays are read-only; absent ones were not asked for.

    Layers, heads, components and query rows may have been chosen: the ``*_ids`` say which ones the axes hold, counted from 0.
    """

    run: str
    text: str
    text_pair: str | None
    tokens: tuple[str, ...]  # as written in the text; specials by their name
    offsets: Ints  # (n, 2) characters [start, end) in text (segment 0) or text_pair (segment 1)
    segments: Ints  # (n,) 0 = text, 1 = text_pair
    specials: Bools  # (n,) [CLS], [SEP]
    unknown: Bools  # (n,) not in the vocabulary
    labels: tuple[str, ...]
    logits: Floats  # (K,)
    probabilities: Floats  # (K,)
    lambdas: Floats  # (L, C), lambda_1 = 1; Differential: (1, -lambda)
    layer_ids: tuple[int, ...]
    head_ids: tuple[int, ...]
    component_ids: tuple[int, ...]
    query_ids: tuple[int, ...]
    dropped: int = 0  # tokens cut off at the model's maximum length
    heads_off: tuple[tuple[int, int], ...] = ()  # silenced heads: layer, head; their effective maps are zero
    strength: float = 1.0  # of the lexicon's injection
    polarity: Floats | None = None  # (m, 3) lambda(x) of each token, where the model has a lexicon
    pooling: str = "mean"  # what the classifier reads: the mean over the tokens, or "cls", the first one
    attention: Floats | None = None  # (L, H, n, m) what multiplies V
    components: Floats | None = None  # (L, C, H, n, m) softmax maps before mixing
    hidden: Floats | None = None  # (L+1, m, d) embedding output, then each layer's
    pooled: Floats | None = None  # (d,) what the classifier reads
    scores: Floats | None = None  # (L, C, H, n, m) before softmax
    token_scores: Mapping[str, Floats] = field(default_factory=dict)  # explanation -> (m,), see sentviz.explain
    biases: Mapping[str, Floats] = field(default_factory=dict)  # name -> (L, C, H, n, m), additive terms of the scores
    queries: Floats | None = None  # (L, C, H, n, d_k)
    keys: Floats | None = None  # (L, C, H, m, d_k)
    values: Floats | None = None  # (L, H, m, d_v)

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            for array in value.values() if isinstance(value, Mapping) else (value,):
                if isinstance(array, np.ndarray):
                    array.setflags(write=False)

    @property
    def label(self) -> str:
        """Name of the most probable class."""
        return self.labels[int(self.probabilities.argmax())]

    @property
    def change(self) -> dict[str, Any]:
        """Interventions, as `Model.trace` and the methods of `sentviz.explain` take them: the same computation again."""
        return {"lambdas": self.lambdas, "heads_off": self.heads_off, "strength": self.strength}

    @property
    def confidence(self) -> float:
        """Probability of the most probable class."""
        return float(self.probabilities.max())

    def map(self, layer: int, head: int | str = "mean", component: int | str = "effective") -> Floats:
        """One (n, m) map.

        Args:
            layer: layer, counted from 0.
            head: a head counted from 0, or ``"mean"`` / ``"max"`` over heads.
            component: ``"effective"``, or a component counted from 0 (A_1 is 0).
        Raises:
            KeyError: the trace does not hold that layer, head or component.
        """
        row = _index(self.layer_ids, layer, "layer")
        if component == "effective":
            stack = self.attention
        else:
            stack = None if self.components is None else self.components[:, _index(self.component_ids, component, "component")]
        if stack is None:
            raise KeyError("the trace was made without attention maps")
        maps = stack[row]
        if head == "mean":
            return np.asarray(maps.mean(axis=0), dtype=np.float32)
        if head == "max":
            return np.asarray(maps.max(axis=0), dtype=np.float32)
        return np.asarray(maps[_index(self.head_ids, head, "head")], dtype=np.float32)

    def replace(self, **changes: Any) -> Trace:
        """The same trace with some fields changed."""
        return replace(self, **changes)

    def save(self, path: Path) -> None:
        """Write to one safetensors file: arrays as they are, half precision for maps and states; the rest as metadata."""
        from safetensors.numpy import save_file

        arrays: dict[str, npt.NDArray[Any]] = {}
        meta: dict[str, Any] = {}
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, Mapping):
                arrays |= {f"{item.name}.{name}": _half(array) for name, array in value.items()}
            elif isinstance(value, np.ndarray):
                arrays[item.name] = value if item.name == "lambdas" else _half(value)
            else:
                meta[item.name] = value
        save_file(arrays, path, metadata={"trace": json.dumps(meta)})

    @classmethod
    def load(cls, path: str | Path) -> Trace:
        """Read a stored trace; needs neither torch nor the model.

        Raises:
            RunError: the file is missing or is no trace.
        """
        from safetensors import SafetensorError, safe_open

        path = Path(path)
        arrays: dict[str, Any] = {"biases": {}, "token_scores": {}}
        try:
            with safe_open(path, framework="numpy") as file:
                meta = json.loads((file.metadata() or {})["trace"])
                for name in file.keys():  # noqa: SIM118 - safe_open is no mapping
                    array = file.get_tensor(name)
                    array = array.astype(np.float32) if array.dtype == np.float16 else array
                    group, _, part = name.partition(".")
                    if part:
                        arrays[group][part] = array
                    else:
                        arrays[name] = array
            values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in meta.items()}
            values["heads_off"] = tuple((layer, head) for layer, head in values.get("heads_off", ()))
            return cls(**values, **arrays)
        except (OSError, SafetensorError, KeyError, TypeError, ValueError, RecursionError) as error:
            raise RunError(f"{path.name} is not a stored trace ({error}).") from error


def _half(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    large = array.dtype == np.float32 and array.ndim > 1
    return np.ascontiguousarray(array.astype(np.float16) if large else array)


def _index(ids: tuple[int, ...], wanted: int | str, axis: str) -> int:
    if wanted not in ids:
        raise KeyError(f"the trace holds the {axis}s {', '.join(map(str, ids))}, not {wanted}")
    return ids.index(int(wanted))
