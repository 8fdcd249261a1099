"""Everything that a model computed for one text, as plain arrays.

A map of n tokens has n x n numbers, and a model has many maps. A trace stores the maps only on request. Otherwise it stores Q, K and the
layers' terms, and computes a map or some of its rows when they are read (`map`, `rows`, `band`, `stack`). Callers see no difference.

Letters of the axes, used in every shape comment of the package:
    B batch   n queries   m keys   H heads   C components   L layers   d width   K classes
A *component* is one of the C attention maps that lambda mixes; *attention* is the effective, mixed map that multiplies V.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sentviz.data.tokenizers import PADDING
from sentviz.errors import InputError, MissingMapError, RunError
from sentviz.io.lazy import late, torch
from sentviz.io.typed import fitted, table_of
from sentviz.runs.calibration import softmax
from sentviz.runs.configs import Capabilities
from sentviz.runs.headline_evidence import Evidence
from sentviz.runs.intervention import UNCHANGED, Intervention
from sentviz.runs.target import PREDICTED, Target, log_odds

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

GROUPS = ("token_scores", "errors", "units", "biases")  # arrays by name
AXES = {  # axes of stored arrays; n, q, L, H, C and K have the trace's sizes, m = n; any other letter has one size in all arrays
    "offsets": "n2",
    "segments": "n",
    "specials": "n",
    "unknown": "n",
    "logits": "K",
    "probabilities": "K",
    "lambdas": "LA",
    "polarity": "n3",
    "attention": "LHqn",
    "components": "LCHqn",
    "hidden": "Snd",
    "pooled": "d",
    "scores": "LCHqn",
    "token_scores": "n",
    "errors": "n",
    "units": "n",
    "queries": "LCHqk",
    "keys": "LCHnk",
    "values": "LHnv",
}
BAND_BYTES = 64 << 20


class LayerTerms(Protocol):
    """The parts of a layer that turn Q and K into attention maps. `sentviz.models.terms.AttentionTerms` implements it."""

    def part(self, components: Sequence[int] = (), heads: Sequence[int] = ()) -> LayerTerms:
        """Return the terms of some components and heads; all of an axis for ()."""

    def reach(self, start: int, stop: int, length: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the query places [start, stop), (rows,), and the keys that any of them may see, (reach,)."""

    def maps(
        self, q: torch.Tensor, k: torch.Tensor, places: torch.Tensor | None = None, keys: torch.Tensor | None = None, /
    ) -> torch.Tensor:
        """Return the softmax maps, (B, C, H, n, m)."""

    def mix(self, maps: torch.Tensor, /) -> torch.Tensor:
        """Return the effective attention, (B, H, n, m)."""


@dataclass(frozen=True, eq=False)
class Trace:
    """Result of a forward pass for one text. Arrays are read-only; None if the array was not requested.

    A trace may hold only some layers, heads, components and query rows: the ``*_ids`` name those on the axes, counted from 0.
    """

    run: str
    text: str
    text_pair: str | None
    tokens: tuple[str, ...]  # tokens as written in the text; special tokens by name
    offsets: Ints  # (n, 2) characters [start, end) in text (segment 0) or text_pair (segment 1)
    segments: Ints  # (n,) 0 = text, 1 = text_pair
    specials: Bools  # (n,) [CLS], [SEP]
    unknown: Bools  # (n,) not in the vocabulary
    labels: tuple[str, ...]
    logits: Floats  # (K,)
    probabilities: Floats  # (K,) softmax of logits / calibration
    lambdas: Floats  # (L, C), lambda_1 = 1; Differential: (1, -lambda)
    layer_ids: tuple[int, ...]
    head_ids: tuple[int, ...]
    component_ids: tuple[int, ...]
    query_ids: tuple[int, ...]
    calibration: float = 1.0  # temperature of the probabilities; a stored trace has 1, and `Run.example` applies the run's
    dropped: int = 0  # tokens cut off at the model's maximum length
    target: Target = PREDICTED  # class that the scores explain, in its shortest form; see `for_target`
    change: Intervention = UNCHANGED  # changes of the model; the effective maps of silenced heads are zero
    tags: tuple[str, ...] = ()  # (n,) part of speech of each token as the model reads it, "" for special tokens; () if the model reads none
    polarity: Floats | None = None  # (m, 3) lambda(x) of each token; None if the model has no lexicon
    pooling: str = "mean"  # input of the classifier: "mean" over the tokens, "cls", the first token, or "last"
    attention: Floats | None = None  # (L, H, n, m) effective attention, which multiplies V
    components: Floats | None = None  # (L, C, H, n, m) softmax maps before mixing
    hidden: Floats | None = None  # (L+1, m, d) embedding output, then each layer's
    pooled: Floats | None = None  # (d,) input of the classifier
    scores: Floats | None = None  # (L, C, H, n, m) before softmax
    token_scores: Mapping[str, Floats] = field(default_factory=dict)  # explanation -> (m,), see sentviz.analysis.explain
    errors: Mapping[str, Floats] = field(default_factory=dict)  # explanation -> (m,) standard errors of its sampled scores
    draws: Mapping[str, int] = field(default_factory=dict)  # explanation -> draws behind its errors; 0 if its scores are exact
    rises: Mapping[str, float] = field(default_factory=dict)  # explanation -> known sum of its scores (log-odds)
    units: Mapping[str, Ints] = field(default_factory=dict)  # explanation of units -> (m,) the unit of each token, counted from 0
    biases: Mapping[str, Floats] = field(default_factory=dict)  # name -> (L, C, H, n, m), additive terms of the scores
    queries: Floats | None = None  # (L, C, H, n, d_k)
    keys: Floats | None = None  # (L, C, H, m, d_k)
    values: Floats | None = None  # (L, H, m, d_v)
    evidence: Evidence | None = None  # evidence for the headline; never stored
    terms: tuple[LayerTerms, ...] = ()  # (L) terms of the scores, from which Q and K give the maps; a stored trace has none

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            for array in value.values() if isinstance(value, Mapping) else (value,):
                if isinstance(array, np.ndarray):
                    array.setflags(write=False)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        """Return the trace as a picture for notebooks."""
        bundle: dict[str, Any] = late("trace in a notebook")(self)
        return bundle

    @property
    def label(self) -> str:
        """Name of the most probable class; "" if the model has none."""
        return self.labels[int(self.probabilities.argmax())] if self.labels else ""

    @property
    def confidence(self) -> float:
        """Probability of the most probable class."""
        return float(self.probabilities.max())

    def calibrated(self, temperature: float) -> Trace:
        """Return the trace with its probabilities at a temperature; 1 gives the raw ones. Logits and scores are always raw."""
        return replace(self, probabilities=softmax(self.logits, temperature), calibration=temperature)

    @property
    def odds(self) -> float:
        """Log-odds of the target at the temperature of the probabilities."""
        return float(log_odds(self.logits.astype(np.float64) / self.calibration, *self.target_places))

    @property
    def target_places(self) -> tuple[int, int | None]:
        """Place of the target's class, and of the class that it is compared with; None = all other classes."""
        predicted = int(self.probabilities.argmax())
        return self.target.places(self.labels, predicted) if self.labels else (predicted, None)

    def for_target(self, target: Target) -> Trace:
        """Return the trace with another class to explain; scores that were computed for the earlier class are removed."""
        if not self.labels and target != PREDICTED:
            raise InputError(f"{self.run} has no classification head, so it has no class {target.label or target.against!r}.")
        short = target.resolved(self.labels, int(self.probabilities.argmax())) if self.labels else target
        if short == self.target:
            return self
        return replace(self, target=short, token_scores={}, errors={}, draws={}, rises={}, units={}, evidence=None)

    def value_of(self, logits: Floats) -> npt.NDArray[np.float64]:
        """Return the log-odds of the target for logits (.., K), before calibration."""
        return log_odds(logits, *self.target_places)

    def share_of(self, logits: Floats) -> npt.NDArray[np.float64]:
        """Return the calibrated probability of the target for logits (.., K); of two classes, among these two."""
        k, against = self.target_places
        shares = softmax(logits, self.calibration).astype(np.float64)
        return np.asarray(shares[..., k] if against is None else shares[..., k] / (shares[..., k] + shares[..., against]))

    @property
    def value(self) -> float:
        """Log-odds of the target for this text, before calibration: what the scores divide among the words."""
        return float(self.value_of(self.logits))

    def without(self, fall: float) -> float:
        """Return the probability of the target after a fall of its raw log-odds, as a score says of a word left out; of two classes, among
        these two.

        This is exact for two classes and for a temperature of 1. Otherwise the other classes keep their shares among each other.
        """
        return float(1 / (1 + np.exp(fall / self.calibration - self.odds)))

    @property
    def padding(self) -> int:
        """Number of padding tokens at the end; above 0 only if the model reads padding."""
        last = next((i for i in reversed(range(len(self.tokens))) if not (self.specials[i] and self.tokens[i] in PADDING)), -1)
        return len(self.tokens) - 1 - last

    @property
    def has_maps(self) -> bool:
        """True if the trace holds attention maps, or Q, K and terms to compute them."""
        return self.attention is not None or bool(self.terms)

    @property
    def whole(self) -> bool:
        """True if the trace holds every layer, head, component and query."""
        layers, components = self.lambdas.shape
        chosen = self.layer_ids, self.component_ids, self.query_ids
        return chosen == tuple(tuple(range(n)) for n in (layers, components, len(self.tokens))) and (
            self.head_ids == tuple(range(len(self.head_ids)))
        )

    def map(self, layer: int, head: int | str = "mean", component: int | str = "effective") -> Floats:
        """Return one map, (n, m).

        Args:
            layer: layer, counted from 0.
            head: a head counted from 0, or ``"mean"`` / ``"max"`` over heads.
            component: ``"effective"``, or a component counted from 0 (A_1 is 0).
        Raises:
            MissingMapError: the trace does not hold that layer, head or component.
        """
        return self.rows(layer, 0, len(self.query_ids), head, component)

    def rows(self, layer: int, start: int, stop: int, head: int | str = "mean", component: int | str = "effective") -> Floats:
        """Return rows [start, stop) of a map, (rows, m), stored or computed now; only these rows are computed.

        Raises:
            MissingMapError: as `map`.
        """
        values, keys = self.band(layer, start, stop, head, component)
        if len(keys) == len(self.tokens):
            return values
        wide = np.zeros((len(values), len(self.tokens)), dtype=np.float32)
        wide[:, keys] = values
        return wide

    def band(self, layer: int, start: int, stop: int, head: int | str = "mean", component: int | str = "effective") -> tuple[Floats, Ints]:
        """Return rows [start, stop) of a map for the keys that they can see, (rows, reach), and the positions of those keys, (reach,).

        All other keys get no attention. With a window, the number of keys is about that of the window and the rows together.

        Raises:
            MissingMapError: as `map`.
        """
        at = _index(self.layer_ids, layer, "layer")
        head_place = None if head in ("mean", "max") else _index(self.head_ids, head, "head")
        part = None if component == "effective" else _index(self.component_ids, component, "component")
        stored = self.attention if part is None else self.components
        if stored is not None:
            maps = (stored[at] if part is None else stored[at, part])[:, start:stop]
            keys = np.arange(maps.shape[-1])
        else:
            maps, keys = self._made(at, start, stop, part, None if head_place is None else (head_place,))
            head_place = None if head_place is None else 0
        if head_place is not None:
            return np.asarray(maps[head_place], dtype=np.float32), keys
        return np.asarray(maps.max(axis=0) if head == "max" else maps.mean(axis=0), dtype=np.float32), keys

    def _made(self, at: int, start: int, stop: int, part: int | None, heads: tuple[int, ...] | None = None) -> tuple[Floats, Ints]:
        """Compute attention (H, rows, reach) and its keys from Q, K and terms; `at`, `part` and `heads` index the axes of the trace."""
        if not self.terms or self.queries is None or self.keys is None:
            raise MissingMapError("The trace was made without attention maps.")
        if part is None and self.component_ids != tuple(range(self.lambdas.shape[1])):
            raise MissingMapError("The trace has only some of the components, but an effective map needs all of them.")
        if self.query_ids != tuple(range(len(self.tokens))):
            raise MissingMapError("The trace was made for only some of the query rows.")
        chosen = list(range(len(self.head_ids))) if heads is None else list(heads)
        components = slice(None) if part is None else slice(part, part + 1)
        with torch.inference_mode():
            terms = self.terms[at].part(() if part is None else (part,), chosen if len(chosen) < len(self.head_ids) else ())
            rows, keys = terms.reach(start, stop, len(self.tokens))
            whole = len(keys) == len(self.tokens)
            q = torch.from_numpy(self.queries[at, components, :, start:stop][:, chosen])[None]
            all_keys = self.keys[at, components]
            k = torch.from_numpy(all_keys[:, chosen] if whole else all_keys[:, np.array(chosen)[:, None], keys.numpy()])[None]
            a = terms.maps(q, k, rows, None if whole else keys)
            maps = (terms.mix(a) if part is None else a[:, 0])[0].numpy().astype(np.float32, copy=False)
        off = {head for layer, head in self.change.heads_off if layer == self.layer_ids[at]} if part is None else set()
        for i, head in enumerate(chosen):
            if self.head_ids[head] in off:
                maps[i] = 0
        return maps, np.asarray(keys.numpy())

    def stack(self, component: int | str = "effective") -> Floats:
        """Return all maps of the trace, (L, H, n, m), stored or computed now.

        Raises:
            MissingMapError: as `map`.
        """
        part = None if component == "effective" else _index(self.component_ids, component, "component")
        if part is None and self.attention is not None:
            return self.attention
        if part is not None and self.components is not None:
            return self.components[:, part]
        n = len(self.tokens)
        maps_of_layers = np.zeros((len(self.layer_ids), len(self.head_ids), n, n), dtype=np.float32)
        for at in range(len(self.layer_ids)):
            maps, keys = self._made(at, 0, n, part)
            maps_of_layers[at][..., keys] = maps
        return maps_of_layers

    def bands(self, component: int | str = "effective", size: int = BAND_BYTES) -> Iterator[tuple[int, int, Floats, Ints]]:
        """Yield every map in bands of rows: index of the layer, first row, weights (H, rows, reach), keys (reach,).

        Args:
            size: bytes that a band of all heads and components may take.
        Raises:
            MissingMapError: as `map`.
        """
        part = None if component == "effective" else _index(self.component_ids, component, "component")
        stored, n = self.attention if part is None else self.components, len(self.query_ids)
        step = max(1, size // (4 * len(self.tokens) * len(self.head_ids) * self.lambdas.shape[1]))
        for at in range(len(self.layer_ids)):
            if stored is not None:
                yield at, 0, stored[at] if part is None else stored[at, part], np.arange(stored.shape[-1])
                continue
            for start in range(0, n, step):
                maps, keys = self._made(at, start, min(start + step, n), part)
                yield at, start, maps, keys

    def replace(self, **changes: Any) -> Trace:
        """Return a copy of the trace with some fields changed."""
        return replace(self, **changes)

    def over(
        self, places: Ints, tokens: tuple[str, ...], *, attention: Floats | None = None, components: Floats | None = None, **changes: Any
    ) -> Trace:
        """Return the trace with other pieces of the text in place of the tokens, for example words.

        Offsets, segments, flags and tags are those at `places`. All other arrays over tokens are removed, unless they are given.

        Args:
            places: (n,) index of the first token of each piece.
            tokens: text of each piece.
            attention, components: maps over the pieces, as in the fields of these names.
            changes: other fields to set.
        """
        values: dict[str, Any] = {
            "tokens": tokens,
            "offsets": self.offsets[places],
            "segments": self.segments[places],
            "specials": self.specials[places],
            "unknown": self.unknown[places],
            "tags": tuple(self.tags[place] for place in places) if self.tags else (),
            "query_ids": tuple(range(len(places))),
            "attention": attention,
            "components": components,
            "token_scores": {},
            "errors": {},
            "draws": {},
            "rises": {},
            "units": {},
            "evidence": None,
            "biases": {},
            "terms": (),
            **dict.fromkeys(("hidden", "scores", "polarity", "queries", "keys", "values")),
        }
        return replace(self, **(values | changes))

    def save(self, path: Path) -> None:
        """Write to one safetensors file: arrays as they are, half precision for maps and states; the rest as metadata."""
        from safetensors.numpy import save_file

        arrays: dict[str, npt.NDArray[Any]] = {}
        meta: dict[str, Any] = {}
        raw = self.calibrated(1.0)
        for item in fields(self):
            value = getattr(raw, item.name)
            if item.name in ("terms", "evidence", "calibration"):  # a stored trace needs no model: it holds its maps
                continue
            if item.name == "draws" and not value:  # earlier versions can read a trace without this entry
                continue
            if isinstance(value, Target):
                meta |= {item.name: [value.label, value.against]} if value != PREDICTED else {}
                continue
            if isinstance(value, Intervention):
                meta |= {item.name: value.text()} if value else {}  # Earlier versions can read a trace without this entry.
                continue
            if item.name in GROUPS:
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
            RunError: the file is missing or is not a stored trace.
        """
        from safetensors import SafetensorError, safe_open

        path = Path(path)
        arrays: dict[str, Any] = {group: {} for group in GROUPS}
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
            earlier = {name: meta.pop(name) for name in ("heads_off", "strength", "gates_open", "gates_shut") if name in meta}
            if not isinstance(earlier.get("strength", {}), dict):  # the earliest traces have a number, 1 in every example
                earlier["strength"] = {}
            change = Intervention.parse(meta.pop("change", "")) or Intervention.from_arguments(Capabilities(1), **earlier)
            target = Target(*map(str, meta.pop("target", ())))
            form: Any = cls
            trace = cls(**fitted(table_of(form, tuple(meta)), meta), **arrays, change=change, target=target)
            trace._agree()
            return trace
        except (OSError, SafetensorError, InputError, KeyError, AttributeError, TypeError, ValueError, RecursionError) as error:
            raise RunError(f"{path.name} is not a stored trace ({error}).") from error

    def _agree(self) -> None:
        """Check that the arrays have the sizes of the trace's tokens, classes and layers.

        Raises:
            ValueError: one has not.
        """
        if not self.tokens or not self.labels or (self.tags and len(self.tags) != len(self.tokens)):
            raise ValueError("it has no tokens or classes, or tags of other tokens")
        sizes = {"n": len(self.tokens), "K": len(self.labels), "L": len(self.layer_ids), "2": 2, "3": 3}
        sizes |= {"H": len(self.head_ids), "C": len(self.component_ids), "q": len(self.query_ids)}
        for name, axes in AXES.items():
            arrays = getattr(self, name)
            for array in arrays.values() if name in GROUPS else () if arrays is None else (arrays,):
                shape = array.shape
                if len(shape) != len(axes) or any(sizes.setdefault(axis, size) != size for axis, size in zip(axes, shape, strict=True)):
                    raise ValueError(f"its {name} have a shape that does not fit its tokens, classes and layers")


def _half(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    large = array.dtype == np.float32 and array.ndim > 1
    return np.ascontiguousarray(array.astype(np.float16) if large else array)


def _index(ids: tuple[int, ...], wanted: int | str, axis: str) -> int:
    if wanted not in ids:
        raise MissingMapError(f"The trace holds the {axis}s {', '.join(map(str, ids))}, not {wanted}.")
    return ids.index(int(wanted))
