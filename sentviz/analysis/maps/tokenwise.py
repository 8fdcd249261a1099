"""What a model makes of each token beside its maps: how far its gate is open, and what its position is the sum of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sentviz.errors import InputError
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.models.model import Model
    from sentviz.models.terms import AttentionTerms

Floats = npt.NDArray[np.float32]
GATE = "gate"


def gates(trace: Trace) -> Floats:
    """(L, m) the gate of each token in each layer, 1 open and 0 shut, as the layers used it: strength and forced gates are in it.

    SentiFormer, eq. 4: sigmoid(x_j W_g), a factor on the weight of key j before the softmax divides by the sum of all. Read off the layers'
    terms, whose mean over heads and components is taken where each has its own.

    Raises:
        InputError: the trace has no gates, or was stored without its layers' terms.
    """
    from sentviz.models.terms import terms_of

    if not trace.terms:
        raise InputError(f"This trace of {trace.run} was made without its layers' terms; `Model.trace(..., projections=True)` keeps them.")
    try:
        return np.stack([gates_of(terms)[0] for terms in terms_of(trace)])
    except InputError:
        raise InputError(f"{trace.run} has no gates.") from None


def gates_of(terms: AttentionTerms) -> Floats:
    """(B, m) the gates of a layer, 0 to 1; their mean over heads and components where each has its own.

    Raises:
        InputError: the layer has none.
    """
    found = [bias.values for bias in terms.structure.biases if bias.name == GATE and hasattr(bias, "values")]
    if not found:
        raise InputError("This layer has no gates.")
    gates: Floats = found[0].float().exp().mean(dim=(1, 2)).numpy()
    return gates


def forced(trace: Trace) -> list[str]:
    """(m) "open" or "shut" of tokens whose gate was made so by hand, "" of the others."""
    states = dict.fromkeys(trace.change.gates_open, "open") | dict.fromkeys(trace.change.gates_shut, "shut")
    return [states.get(place, "") for place in range(len(trace.tokens))]


@dataclass(frozen=True)
class Signals:
    """What the positions of a text are the sum of, as lengths (Euclidean norms) of the vectors of each token."""

    parts: dict[str, Floats]  # (m,) of each signal by name, weighed as learned
    total: Floats  # (m,) of their sum
    word: Floats  # (m,) of what the embedding adds beside the position: the token itself
    weights: dict[str, float]  # learned scalars of the whole model by name


def signals(model: Model, trace: Trace) -> Signals:
    """The position signal of each token, taken apart.

    Source: SentiFormer, section IV-A, p_i = alpha sin(i) + beta recency(i, n) + gamma E_pos[tag of i].

    Raises:
        InputError: the positions of the model are of one piece.
    """
    import torch

    with torch.inference_mode():
        made = model.network.signals(model.inputs(model.encode(trace.text, trace.text_pair, trace.change)))
        parts = {name: part.expand(1, len(trace.tokens), -1)[0].numpy() for name, part in made.items()}
        weights = {scalar.name: scalar.value for scalar in model.network.scalars() if scalar.layer < 0}
    if not parts:
        raise InputError(f"{trace.run} has no positions made of several signals.")
    total = np.sum(list(parts.values()), axis=0)
    assert trace.hidden is not None
    return Signals({name: _length(part) for name, part in parts.items()}, _length(total), _length(trace.hidden[0] - total), weights)


def _length(vectors: Floats) -> Floats:
    """(m, d) -> (m,)."""
    return np.asarray(np.linalg.norm(vectors, axis=-1), dtype=np.float32)
