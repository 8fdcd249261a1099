"""BertViz's neuron view: the queries and keys of a head, their products entry by entry, and the softmax of the sums.

BertViz draws q . k / sqrt(d_k). A model may multiply q . k by another number: a learned temperature (QK-norm). The queries of the page are
multiplied by what is left of that number, so that the product on the page is the product of the model. Rotation by positions (RoPE) and
lengths of 1 (QK-norm) are in the queries and keys already. What else is added to the product or multiplied with it is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sentviz.errors import InputError
from sentviz.runs.trace import Trace

Floats = npt.NDArray[np.float64]

TERMS = {"lexicon": "the lexicon's term", "gate": "the gate", "distance": "the term of the distance"}
HELP = "Point at a token on the left, and click its plus sign to see its query, all keys and their products."


@dataclass(frozen=True, eq=False)
class Vectors:
    """Queries and keys of some layers and heads, scaled so that softmax(q . k / sqrt(d_k)) is the map unless `left_out` names a term."""

    queries: Floats  # (L, H, n, d_k)
    keys: Floats  # (L, H, m, d_k)
    maps: Floats  # (L, H, n, m) the maps that the model computed
    left_out: tuple[str, ...]  # terms of the scores that are not in the dot product
    cosine: bool  # queries and keys had length 1 and the queries are multiplied by a learned temperature
    rotary: bool  # queries and keys are rotated to their positions

    @property
    def words(self) -> str:
        """Return in words what the dot product holds, and which term it lacks."""
        changes = ["rotated to their places"] if self.rotary else []
        changes += ["divided by their lengths; the queries are then multiplied by the learned temperature"] if self.cosine else []
        start = f"Queries and keys are {' and '.join(changes)}. " if changes else ""
        if not self.left_out:
            return f"{start}The softmax of q · k / √{self.queries.shape[-1]} is the map."
        several = len(self.left_out) > 1
        named = f"{', '.join(self.left_out[:-1])} and {self.left_out[-1]}" if several else self.left_out[0]
        return f"{start}Not in q · k: {named}. The softmax at the right has {'them' if several else 'it'}."


def why_no_vectors(trace: Trace, component: int | str = "effective") -> str:
    """Return a sentence on why the neuron view cannot show a map of a trace; "" if it can."""
    if trace.queries is None or trace.keys is None or not trace.terms:
        return (
            f"The neuron view needs queries and keys, and this sentence of {trace.run} has none: a stored sentence lacks them, and a model"
            " keeps them if it is asked for projections."
        )
    from sentviz.models.terms import AttentionTerms

    if any(type(terms) is not AttentionTerms for terms in trace.terms):
        return f"{trace.run} has no neuron view: its maps are not the softmax of a dot product of queries and keys."
    if component == "effective" and len(trace.component_ids) > 1:
        return (
            f"The neuron view shows one map: choose one of the {len(trace.component_ids)} components. The effective attention mixes"
            " them, so it is not the softmax of one dot product."
        )
    return ""


def vectors(trace: Trace, component: int | str, layers: Sequence[int], heads: Sequence[int]) -> Vectors:
    """Return the queries, keys and maps of a component, counted from 0, or of the only one for "effective".

    Raises:
        MissingMapError: the trace does not hold a layer, head or component.
    """
    if why := why_no_vectors(trace, component):
        raise InputError(why)
    from sentviz.models.terms import terms_of

    assert trace.queries is not None and trace.keys is not None
    part = trace.component_ids[0] if component == "effective" else int(component)
    maps = np.stack([[trace.map(layer, head, part) for head in heads] for layer in layers]).astype(float)
    at, of = trace.component_ids.index(part), [trace.head_ids.index(head) for head in heads]
    root = np.sqrt(trace.queries.shape[-1])
    every, queries, left = terms_of(trace), [], dict[str, None]()
    for layer in map(trace.layer_ids.index, layers):
        terms = every[layer]
        scale = terms.scale if isinstance(terms.scale, float | int) else terms.scale.detach().cpu().numpy()
        scaled = np.broadcast_to(trace.queries[layer][None] * scale * root, (1, *trace.queries[layer].shape))
        queries.append(scaled[0, at, of])
        names = [bias.name for bias in terms.structure.biases] + ([terms.structure.factor.name] if terms.structure.factor else [])
        left |= dict.fromkeys(TERMS.get(name, name) for name in names)
        if terms.window:
            left |= {"the rule that no later token is seen" if terms.window < 0 else f"the window of {terms.window} tokens": None}
    keys = np.stack([trace.keys[trace.layer_ids.index(layer), at][of] for layer in layers])
    first = every[trace.layer_ids.index(layers[0])]
    return Vectors(np.stack(queries).astype(float), keys.astype(float), maps, tuple(left), first.cosine, first.rotary)
