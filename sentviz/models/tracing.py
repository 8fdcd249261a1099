"""Traces of texts: the result of a forward pass with a `Capture`, as one `Trace` for each text of the batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt
from torch import Tensor

from sentviz.data.parts_of_speech import TAGS
from sentviz.data.texts import LONGEST, Encoded
from sentviz.errors import InputError
from sentviz.models.protocol import Capture, InterventionTensors, Output
from sentviz.runs.calibration import softmax
from sentviz.runs.configs import Capabilities
from sentviz.runs.intervention import Intervention
from sentviz.runs.trace import Trace


class Traced(Protocol):
    """Describe what a trace says of its model."""

    @property
    def name(self) -> str:
        """Name of the run."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the classes."""

    @property
    def calibration(self) -> float:
        """Temperature of the probabilities."""

    @property
    def capabilities(self) -> Capabilities:
        """Capabilities of the model."""

    def lambdas(self) -> npt.NDArray[np.float32]:
        """Return the learned mixing weights, (L, C)."""


@dataclass(frozen=True)
class Axes:
    """Numbers of the layers, heads, components and queries that a trace keeps, counted from 0."""

    layers: tuple[int, ...]
    heads: tuple[int, ...]
    components: tuple[int, ...]
    queries: tuple[int, ...]

    @classmethod
    def of(cls, capture: Capture, has: Capabilities, tokens: int) -> Self:
        """Return the axes of a capture on a text."""
        wanted = (capture.layers, capture.heads, capture.components, capture.queries)
        sizes = (has.layers, has.heads, has.components, tokens)
        return cls(*map(_choice, wanted, sizes, ("layer", "head", "component", "query")))


def trace_of(
    model: Traced,
    texts: tuple[str, str | None],
    encoded: Encoded,
    intervention: Intervention,
    changed: InterventionTensors,
    axes: Axes,
    out: Output,
    polarity: Tensor | None,
    place: int = 0,
) -> Trace:
    """Return the trace of one text of a batch.

    Args:
        texts: text and second text. encoded: their tokens.
        intervention, changed: the change that stays in effect, and the same as tensors.
        axes: of the capture. out: of the batch. polarity: (B, n, 3) of the batch, if the model reads it.
        place: row of the text in the batch. Only a batch of one text may have maps or scores.
    """
    has, n, is_alone = model.capabilities, len(encoded.ids), len(out.logits) == 1
    tokens = slice(None) if is_alone else slice(n)  # A text without tokens has the state of one padding token.

    def stack(tensors: Sequence[Tensor | None]) -> npt.NDArray[np.float32] | None:
        present = [tensor[place][..., tokens, :].numpy() for tensor in tensors if tensor is not None]
        return np.stack(present) if present else None

    seen = [out.captured[layer] for layer in axes.layers] if has.maps else []
    attention = None if out.attention is None else _single(out.attention[:, 0])
    if changed.heads_off and attention is not None and has.components == 1:
        attention = attention.copy()  # the one component, as it is
    for layer, head in changed.heads_off:  # nothing of V passes a silenced head
        if attention is not None and layer in axes.layers and head in axes.heads:
            attention[axes.layers.index(layer), axes.heads.index(head)] = 0
    names = list(seen[0].biases) if seen else []
    logits = _single(out.logits[place])
    return Trace(
        run=model.name,
        text=texts[0][:LONGEST],
        text_pair=None if texts[1] is None else texts[1][:LONGEST],
        tokens=encoded.tokens,
        offsets=encoded.offsets,
        segments=encoded.segments,
        specials=encoded.specials,
        unknown=encoded.unknown,
        labels=model.labels,
        logits=logits,
        probabilities=softmax(logits, model.calibration),
        calibration=model.calibration,
        lambdas=model.lambdas() if changed.lambdas is None else changed.lambdas.numpy(),
        layer_ids=axes.layers,
        head_ids=axes.heads,
        component_ids=axes.components,
        query_ids=axes.queries,
        dropped=encoded.dropped,
        pooling="cls" if has.cls else "last" if has.last else "mean",
        change=intervention,
        tags=() if encoded.tags is None else tuple(TAGS[tag] for tag in encoded.tags),
        polarity=None if polarity is None else polarity[place, tokens].numpy(),
        attention=attention,
        components=None if out.components is None else _single(out.components[:, 0]),
        hidden=np.stack([state[place, tokens].numpy() for state in out.hidden]),
        pooled=_single(out.pooled[place]),
        scores=stack([s.scores for s in seen]),
        biases={name: stacked for name in names if (stacked := stack([s.biases[name] for s in seen])) is not None},
        queries=stack([s.queries for s in seen]),
        keys=stack([s.keys for s in seen]),
        values=stack([s.values for s in seen]),
        terms=tuple(s.terms if is_alone else s.terms.row(place, n) for s in seen if s.terms is not None),
    )


def _single(tensor: Tensor) -> npt.NDArray[np.float32]:
    """Return a tensor as an array in single precision."""
    return np.asarray(tensor.numpy(), dtype=np.float32)


def _choice(wanted: Sequence[int], size: int, axis: str) -> tuple[int, ...]:
    for i in wanted:
        if not 0 <= i < size:
            raise InputError(f"There is no {axis} {i}; they are counted from 0 to {size - 1}.")
    if len(set(wanted)) < len(wanted):
        raise InputError(f"Each {axis} can be chosen once.")
    return tuple(wanted) or tuple(range(size))
