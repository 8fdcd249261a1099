"""Subtract attention maps: of two sentences, of one sentence under two interventions, or of one sentence read by two models."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

import numpy as np
import numpy.typing as npt

from sentviz.analysis.maps.coarse_map import Units, merged, units
from sentviz.errors import InputError, MissingMapError
from sentviz.runs.trace import Trace

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]


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
    """A trace whose maps are second minus first, over the tokens that both have (exchanged ones as "old → new")."""
    if first.lambdas.shape != second.lambdas.shape or first.head_ids != second.head_ids or first.layer_ids != second.layer_ids:
        raise InputError("Maps can be subtracted between models with the same layers, heads and components only.")
    if any(trace.query_ids != tuple(range(len(trace.tokens))) for trace in (first, second)):
        raise InputError("Only complete maps can be subtracted. Make both traces without selecting queries.")
    both = [(i, j) for i, j in align(first, second) if i is not None and j is not None]
    if not both:
        raise InputError("The two sentences have no common token, so their maps cannot be compared.")
    i, j = (np.array(side) for side in zip(*both, strict=True))
    every: list[int | str] = ["effective", *first.component_ids]
    try:
        attention, *components = (_less(first, second, i, j, component) for component in every)
    except MissingMapError as error:
        raise InputError("Both traces need their attention maps.") from error
    tokens = tuple(
        first.tokens[a] if first.tokens[a].casefold() == second.tokens[b].casefold() else f"{first.tokens[a]} → {second.tokens[b]}"
        for a, b in both
    )
    return second.over(j, tokens, attention=attention, components=np.stack(components, axis=1))


def _less(first: Trace, second: Trace, i: Ints, j: Ints, component: int | str) -> Floats:
    """(L, H, k, k) maps of the second minus those of the first, over their places j and i."""
    return np.asarray(second.stack(component)[..., j[:, None], j] - first.stack(component)[..., i[:, None], i])


# ---- two models


@dataclass(frozen=True)
class MapDifference:
    """One map, second minus first, over the pieces of text that both models read."""

    trace: Trace  # trace of the second model with only this map; its tokens are the shared pieces
    kind: Literal["tokens", "words"]
    shared: int
    left_out: tuple[str, ...]  # pieces of one model only, first then second


def map_difference(first: Trace, second: Trace, layer: int, head: int | str = "mean", component: int | str = "effective") -> MapDifference:
    """The same map of two models on one text, the second's minus the first's.

    Over tokens where both cut the text alike; otherwise over words, which are matched by their characters in the text: a word receives what
    its tokens receive together and looks where they look on average. Special tokens are matched by name.

    Args:
        layer, head, component: as in `Trace.map`, counted from 0.
    Raises:
        MissingMapError: a model has no such layer, head or component.
    """
    if (first.text, first.text_pair) != (second.text, second.text_pair):
        raise InputError("Two models can be compared only on the same text.")
    kind: Literal["tokens", "words"] = "tokens"
    pieces = [units(trace, kind) for trace in (first, second)]
    places = [_places(trace, unit) for trace, unit in zip((first, second), pieces, strict=True)]
    if list(places[0]) != list(places[1]):
        kind = "words"
        pieces = [units(trace, kind) for trace in (first, second)]
        places = [_places(trace, unit) for trace, unit in zip((first, second), pieces, strict=True)]
    both = [place for place in places[0] if place in places[1]]
    if not both:
        raise InputError("The two models share no word of this text.")
    i, j = (np.array([of[place] for place in both]) for of in places)
    a, b = (merged(trace, unit, layer, head, component) for trace, unit in zip((first, second), pieces, strict=True))
    changed = _less(a, b, i, j, component)
    maps = {"attention": changed} if component == "effective" else {"components": changed[:, None]}
    trace = b.over(j, tuple(b.tokens[k] for k in j), unknown=a.unknown[i] | b.unknown[j], **maps)
    alone = [pieces[side].labels[k] for side in (0, 1) for place, k in places[side].items() if place not in places[1 - side]]
    return MapDifference(trace, kind, len(both), tuple(alone))


def _places(trace: Trace, pieces: Units) -> dict[tuple[object, ...], int]:
    """Return the number of each piece by its position in the text; special tokens by their name and occurrence."""
    seen: Counter[str] = Counter()
    places: dict[tuple[object, ...], int] = {}
    for k, (start, label) in enumerate(zip(pieces.starts.tolist(), pieces.labels, strict=True)):
        if trace.specials[start]:
            places[label, seen[label]] = k
            seen[label] += 1
        else:
            places[int(trace.segments[start]), *pieces.offsets[k].tolist()] = k
    return places
