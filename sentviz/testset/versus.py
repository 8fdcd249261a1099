"""Two models on one sentence and on the same rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from sentviz.errors import InputError
from sentviz.maps.longmap import Units, merged, units
from sentviz.testset.rows import Rows
from sentviz.trace import Trace

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MapDifference", "aligned", "disagreements", "map_difference"]


@dataclass(frozen=True)
class MapDifference:
    """One map, second minus first, over the pieces of text that both models read."""

    trace: Trace  # of the second, this one map, shared pieces for tokens
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
        KeyError: a model has no such layer, head or component.
        InputError: the texts differ, or no piece is shared.
    """
    if (first.text, first.text_pair) != (second.text, second.text_pair):
        raise InputError("Two models are compared on one text.")
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
    changed = b.map(layer, head, component)[np.ix_(j, j)] - a.map(layer, head, component)[np.ix_(i, i)]
    effective = component == "effective"
    trace = b.replace(
        tokens=tuple(b.tokens[k] for k in j),
        offsets=b.offsets[j],
        segments=b.segments[j],
        specials=b.specials[j],
        unknown=np.asarray(a.unknown[i] | b.unknown[j]),
        query_ids=tuple(range(len(both))),
        attention=changed[None, None] if effective else None,
        components=None if effective else changed[None, None, None],
    )
    alone = [pieces[side].labels[k] for side in (0, 1) for place, k in places[side].items() if place not in places[1 - side]]
    return MapDifference(trace, kind, len(both), tuple(alone))


def _places(trace: Trace, pieces: Units) -> dict[tuple[object, ...], int]:
    """Where each piece stands in the text, and which piece it is; specials by name and how often it came before."""
    seen: Counter[str] = Counter()
    found: dict[tuple[object, ...], int] = {}
    for k, (start, label) in enumerate(zip(pieces.starts.tolist(), pieces.labels, strict=True)):
        if trace.specials[start]:
            found[label, seen[label]] = k
            seen[label] += 1
        else:
            found[int(trace.segments[start]), *pieces.offsets[k].tolist()] = k
    return found


def aligned(first: Rows, second: Rows) -> Rows:
    """The second run's rows in the order of the first's.

    Raises:
        InputError: not the same rows with the same labels.
    """
    ids = first.frame["id"]
    other = second.frame.set_index("id", drop=False)
    if not (other.index.is_unique and ids.is_unique) or set(ids) != set(other.index) or first.classes != second.classes:
        raise InputError(f"{first.run} and {second.run} did not answer the same rows.")
    ordered = replace(second, frame=other.loc[list(ids)].reset_index(drop=True))
    if (ordered.labels != first.labels).any():
        raise InputError(f"{first.run} and {second.run} did not answer rows with the same labels.")
    return ordered


def disagreements(first: Rows, second: Rows) -> pd.DataFrame:
    """Both runs on the same rows (`aligned`), the largest difference first.

    Returns:
        row (position in the first), id, label, first, second (classes), first_right, second_right, first_confidence, second_confidence,
        difference: of two classes the second's probability of class 1 minus the first's; of more, half the summed absolute differences of
        all (total variation); text where it is at hand.
    """
    import pandas as pd

    gap = second.probabilities - first.probabilities
    difference = gap[:, 1] if len(first.classes) == 2 else np.abs(gap).sum(axis=1) / 2
    frame = pd.DataFrame(
        {
            "row": np.arange(len(first)),
            "id": first.frame["id"].to_numpy(),
            "label": first.labels,
            "first": first.predicted,
            "second": second.predicted,
            "first_right": first.frame["right"].to_numpy(bool),
            "second_right": second.frame["right"].to_numpy(bool),
            "first_confidence": first.frame["confidence"].to_numpy(float),
            "second_confidence": second.frame["confidence"].to_numpy(float),
            "difference": difference,
        }
        | ({"text": first.texts.to_numpy()} if first.has_text else {})
    )
    return frame.iloc[np.argsort(-np.abs(difference), kind="stable")].reset_index(drop=True)
