"""Two sentences, or one under two mixings, side by side."""

from __future__ import annotations

from difflib import SequenceMatcher

import numpy as np
import numpy.typing as npt

from sentviz.errors import InputError
from sentviz.trace import Trace

__all__ = ["align", "difference"]

Floats = npt.NDArray[np.float32]


def align(first: Trace, second: Trace) -> list[tuple[int | None, int | None]]:
    """Tokens of two traces in pairs, in text order: (i, j) the same or an exchanged token, (i, None) gone, (None, j) new.

    Equal runs are matched whatever the case; where tokens were exchanged one for one they are paired, as by an edit of a word.
    """
    a, b = ([token.casefold() for token in trace.tokens] for trace in (first, second))
    pairs: list[tuple[int | None, int | None]] = []
    for kind, i, i_end, j, j_end in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if kind in ("equal", "replace") and i_end - i == j_end - j:
            pairs += zip(range(i, i_end), range(j, j_end), strict=True)
        else:
            pairs += [(k, None) for k in range(i, i_end)] + [(None, k) for k in range(j, j_end)]
    return pairs


def difference(first: Trace, second: Trace) -> Trace:
    """A trace whose maps are second minus first, over the tokens that both have (exchanged ones as "old → new").

    Raises:
        InputError: the two share no token, come from models of different shape, or hold chosen queries only.
    """
    if first.lambdas.shape != second.lambdas.shape or first.head_ids != second.head_ids or first.layer_ids != second.layer_ids:
        raise InputError("Maps can be subtracted between models with the same layers, heads and components only.")
    if any(trace.query_ids != tuple(range(len(trace.tokens))) for trace in (first, second)):
        raise InputError("Maps are subtracted whole: make both traces without a choice of queries.")
    both = [(i, j) for i, j in align(first, second) if i is not None and j is not None]
    if not both:
        raise InputError("The two sentences share no token to compare.")
    i, j = (np.array(side) for side in zip(*both, strict=True))

    def moved(component: int | str) -> Floats:
        return second.stack(component)[..., j[:, None], j] - first.stack(component)[..., i[:, None], i]

    try:
        attention, components = moved("effective"), np.stack([moved(c) for c in first.component_ids], axis=1)
    except KeyError as error:
        raise InputError("Both traces need their attention maps.") from error
    tokens = tuple(
        first.tokens[a] if first.tokens[a].casefold() == second.tokens[b].casefold() else f"{first.tokens[a]} → {second.tokens[b]}"
        for a, b in both
    )
    return second.replace(
        tokens=tokens,
        offsets=second.offsets[j],
        segments=second.segments[j],
        specials=second.specials[j],
        unknown=second.unknown[j],
        query_ids=tuple(range(len(both))),
        attention=attention,
        components=components,
        hidden=None,
        scores=None,
        biases={},
        polarity=None,
        queries=None,
        keys=None,
        values=None,
        terms=(),
        token_scores={},
    )
