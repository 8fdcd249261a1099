"""Return quantities per token that are not in the maps: the gates, and the signals whose sum is the position."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sentviz.errors import InputError
from sentviz.io.lazy import torch
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.models.model import Model
    from sentviz.models.terms import AttentionTerms

Floats = npt.NDArray[np.float32]
GATE = "gate"


def gates(trace: Trace) -> Floats:
    """Return the gate of each token in each layer, (L, m), 1 = open and 0 = closed, after the interventions of the trace.

    SentiFormer, eq. 4: sigmoid(x_j W_g), a factor on the weight of key j before the softmax divides by the sum of all. Read off the layers'
    terms, whose mean over heads and components is taken where each has its own.
    """
    from sentviz.models.terms import terms_of

    if not trace.terms:
        raise InputError(f"This trace of {trace.run} has no projections. Make it with `Model.trace(..., projections=True)`.")
    try:
        return np.stack([gates_of(terms)[0] for terms in terms_of(trace)])
    except InputError:
        raise InputError(f"{trace.run} has no gates.") from None


def gates_of(terms: AttentionTerms) -> Floats:
    """Return the gates of a layer, (B, m), 0 to 1; the mean over heads and components if each has its own gate."""
    values = [bias.values for bias in terms.structure.biases if bias.name == GATE and hasattr(bias, "values")]
    if not values:
        raise InputError("This layer has no gates.")
    gates: Floats = values[0].float().exp().mean(dim=(1, 2)).numpy()
    return gates


def forced(trace: Trace) -> list[str]:
    """Return "open" or "shut" for tokens whose gate was set manually, "" for the others; one entry per token."""
    states = dict.fromkeys(trace.change.gates_open, "open") | dict.fromkeys(trace.change.gates_shut, "shut")
    return [states.get(place, "") for place in range(len(trace.tokens))]


@dataclass(frozen=True)
class Signals:
    """Position signals of a text, as lengths (Euclidean norms) of the vectors of each token."""

    parts: dict[str, Floats]  # (m,) length of each signal by name, with its learned weight
    total: Floats  # (m,) length of their sum
    word: Floats  # (m,) length of the rest of the embedding, which is the token
    weights: dict[str, float]  # learned scalars of the whole model by name


def signals(model: Model, trace: Trace) -> Signals:
    """Return the position signals of each token.

    Source: SentiFormer, section IV-A, p_i = alpha sin(i) + beta recency(i, n) + gamma E_pos[tag of i].
    """
    with torch.inference_mode():
        signal_tensors = model.network.signals(model.inputs(model.encode(trace.text, trace.text_pair, trace.change)))
        parts = {name: part.expand(1, len(trace.tokens), -1)[0].numpy() for name, part in signal_tensors.items()}
        weights = {scalar.name: scalar.value for scalar in model.network.scalars() if scalar.layer < 0}
    if not parts:
        raise InputError(f"{trace.run} has only one position signal, so there are no parts to show.")
    total = np.sum(list(parts.values()), axis=0)
    assert trace.hidden is not None
    return Signals({name: _length(part) for name, part in parts.items()}, _length(total), _length(trace.hidden[0] - total), weights)


def _length(vectors: Floats) -> Floats:
    """(m, d) -> (m,)."""
    return np.asarray(np.linalg.norm(vectors, axis=-1), dtype=np.float32)
