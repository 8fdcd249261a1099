"""Prepare an attention map of any text for a browser: tokens merged to units, 8 bits per weight, block averages for long texts.

A map is read through a `TokenMap`, in bands of query rows with the keys that these rows can see. The map of a text of 10,000 tokens is
therefore never completely in memory, and weights outside of an attention window are never computed. Tokens are merged to words or sentences
(`Units`). The key columns of a unit are merged first, then its query rows:

    over keys      sum: a unit receives what its tokens receive together, so every row keeps its sum (the default)
    over queries   mean: a unit looks where its tokens look on average (the default)
    max            the entry farthest from 0, with its sign

Shapes: a map is (n, m) over tokens, (u, w) over units.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sentviz.data.texts import word_spans
from sentviz.errors import InputError, MissingMapError
from sentviz.runs.trace import Trace

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Kind = Literal["tokens", "words", "sentences"]
How = Literal["mean", "max", "sum"]
KINDS: tuple[Kind, ...] = ("tokens", "words", "sentences")
HOWS: tuple[How, ...] = ("mean", "max", "sum")

EXACT_UNITS = 1_500
"""Largest number of units for which the exact map is sent; of longer texts, block averages are sent, and exact tiles on request."""
OVERVIEW_CELLS = 500  # largest number of blocks along each side of an overview
BAND_BYTES = 64 << 20  # largest size of the maps of one band of query rows

_CLOSERS = "[\"'”’»›)\\]}」』）】]*"
_SENTENCE_END = re.compile(rf"[.!?…‽؟۔।॥]+{_CLOSERS}(?=\s|$)|[。！？｡]+{_CLOSERS}|[\n\r\v\f\x85\u2028\u2029]+")


# ---- units of tokens


@dataclass(frozen=True, eq=False)
class Units:
    """Units of a text: tokens, words or sentences. A unit consists of neighbouring tokens, and each token belongs to one unit."""

    kind: Kind
    labels: tuple[str, ...]  # u; as written in the text; special tokens by name
    starts: Ints  # (u,) first token of each unit
    offsets: Ints  # (u, 2) characters [start, end) in its text
    tokens: int  # m

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def ends(self) -> Ints:
        """End of each unit, (u,): the position after its last token."""
        return np.append(self.starts[1:], self.tokens)


def units(trace: Trace, kind: Kind = "tokens") -> Units:
    """Return the tokens, words or sentences of a trace; each special token is a separate unit."""
    n = len(trace.tokens)
    if kind == "tokens":
        starts = np.arange(n)
    elif kind == "words":
        starts = np.array([word.indices[0] for word in word_spans(trace.text, trace, trace.text_pair)], dtype=np.int64)
    elif kind == "sentences":
        starts = _sentence_starts(trace)
    else:
        raise InputError(f"Units are {', '.join(KINDS)}, not {kind!r}.")
    lasts = np.append(starts[1:], n) - 1
    offsets = np.stack([trace.offsets[starts, 0], trace.offsets[lasts, 1]], axis=1)
    texts = (trace.text, trace.text_pair or "")
    labels = tuple(
        trace.tokens[first] if trace.specials[first] or kind == "tokens" else texts[trace.segments[first]][a:b]
        for first, (a, b) in zip(starts.tolist(), offsets.tolist(), strict=True)
    )
    return Units(kind, labels, starts, offsets, n)


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return the characters [start, end) of each sentence; together the sentences cover the text.

    A sentence ends at every line break, and after . ! ? … and similar marks with the quotes and brackets that follow, if white space or the
    end of the text comes next (not needed after 。！？). Abbreviations are not recognized: "Mr. Smith" is split.
    """
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    if not ends or ends[-1] < len(text):
        ends.append(len(text))
    return list(zip([0, *ends[:-1]], ends, strict=True))


def _sentence_starts(trace: Trace) -> Ints:
    number = np.zeros(len(trace.tokens), dtype=np.int64)
    for segment, text in enumerate((trace.text, trace.text_pair or "")):
        in_segment = trace.segments == segment
        ends = np.array([end for _, end in sentence_spans(text)], dtype=np.int64)
        number[in_segment] = ends.searchsorted(trace.offsets[in_segment, 0], side="right")
    alone = trace.specials
    new = (trace.segments[1:] != trace.segments[:-1]) | (number[1:] != number[:-1]) | alone[1:] | alone[:-1]
    return np.append(0, np.flatnonzero(new) + 1)


def _together(values: Floats, starts: Ints, how: How, axis: int, sizes: Ints | None = None) -> Floats:
    """Merge each run of rows (axis 0) or columns (axis 1) that begins at one of `starts`.

    Args:
        sizes: number of entries of each run, if entries of 0 were left out; by default the entries that are present.
    """
    if len(starts) == values.shape[axis] and (how != "mean" or sizes is None):
        return values
    if how == "max":
        high, low = (reduce.reduceat(values, starts, axis=axis) for reduce in (np.maximum, np.minimum))
        return np.asarray(np.where(-low > high, low, high), dtype=np.float32)
    total = np.add.reduceat(values, starts, axis=axis, dtype=np.float64)
    if how == "mean":
        sizes = np.diff(starts, append=values.shape[axis]) if sizes is None else sizes
        total /= sizes[:, None] if axis == 0 else sizes
    return total.astype(np.float32)


# ---- sources of maps


@dataclass(frozen=True)
class TokenMap:
    """One map over tokens, (n, n), read in bands of query rows; keys that no row of a band can see are left out."""

    tokens: int  # n
    read: Callable[[int, int], tuple[Floats, Ints]]  # (start, stop) -> (stop - start, reach) weights, (reach,) places of the keys in order
    band: int  # rows to read at a time


def map_of_trace(
    trace: Trace, layer: int, head: int | str = "mean", component: int | str = "effective", *, band_bytes: int = BAND_BYTES
) -> TokenMap:
    """Return a map of a trace (see `Trace.map`); a map that the trace does not store is computed in bands of rows.

    Args:
        band_bytes: largest size of the maps of one band.
    Raises:
        MissingMapError: the trace does not have that map.
    """
    n = len(trace.tokens)
    if trace.query_ids != tuple(range(n)):
        raise InputError("A long map needs a trace of all queries.")
    trace.band(layer, 0, 1, head, component)
    heads = len(trace.head_ids) if isinstance(head, str) else 1
    band = n if trace.attention is not None else max(1, band_bytes // (4 * n * heads * (3 * trace.lambdas.shape[1] + 2)))
    return TokenMap(n, lambda start, stop: trace.band(layer, start, stop, head, component), min(band, n))


@dataclass(frozen=True, eq=False)
class WindowVisibility:
    """Units that each unit of a text can see through an attention window; a unit sees what any of its tokens sees."""

    window: int
    globals: Ints  # (g,) positions of the tokens that all tokens see
    share: float  # share of the pairs of tokens in which the query sees the key
    low: Ints  # (u,) first key unit in the window of each unit
    high: Ints  # (u,) last one
    everywhere: Ints  # units that hold a global token


def window_visibility(trace: Trace, units: Units, layer: int) -> WindowVisibility | None:
    """Return what the units of a text see in a layer; None if every token sees all tokens, or if the trace holds no terms.

    Raises:
        MissingMapError: the trace does not have that layer.
    """
    if layer not in trace.layer_ids:
        raise MissingMapError(f"The trace holds no layer {layer}.")
    if not trace.terms:
        return None
    from sentviz.models.terms import terms_of

    pattern = terms_of(trace)[trace.layer_ids.index(layer)].structure.pattern
    n = units.tokens
    if pattern is None or pattern.causal or pattern.window // 2 >= n - 1:
        return None
    reach, global_tokens = pattern.window // 2, pattern.globals[0].numpy()
    global_tokens, rows = global_tokens[global_tokens >= 0], np.arange(n)
    first, last = np.maximum(rows - reach, 0), np.minimum(rows + reach, n - 1)
    beyond = n * len(global_tokens) - sum(
        int(last[place] - first[place]) + 1 for place in global_tokens
    )  # A window is symmetric: a token is seen by as many tokens as it sees.
    return WindowVisibility(
        window=pattern.window,
        globals=global_tokens,
        share=(int((last - first + 1).sum()) + beyond) / n**2,
        low=units.starts.searchsorted(first[units.starts], side="right") - 1,
        high=units.starts.searchsorted(last[units.ends - 1], side="right") - 1,
        everywhere=np.unique(units.starts.searchsorted(global_tokens, side="right") - 1),
    )


def tile(
    source: TokenMap,
    units: Units,
    rows: tuple[int, int] | None = None,
    columns: tuple[int, int] | None = None,
    *,
    queries: How = "mean",
    keys: How = "sum",
) -> Floats:
    """Return the exact map of query units [start, stop) x key units [start, stop), by default of all units."""
    if units.tokens != source.tokens:
        raise InputError(f"Units of {units.tokens:,} tokens do not fit a map of {source.tokens:,}.")
    (top, bottom), (left, right) = (span or (0, len(units)) for span in (rows, columns))
    if not (0 <= top < bottom <= len(units) and 0 <= left < right <= len(units)):
        raise InputError(f"There are {len(units):,} units; rows {top} to {bottom} and columns {left} to {right} are outside the map.")
    values, reached = _strip(source, units, top, bottom, queries, keys)
    if len(reached) == len(units):
        return values[:, left:right]
    inside = (reached >= left) & (reached < right)
    values_in_range = np.zeros((bottom - top, right - left), dtype=np.float32)
    values_in_range[:, reached[inside] - left] = values[:, inside]
    return values_in_range


def _strip(source: TokenMap, units: Units, top: int, bottom: int, queries: How, keys: How) -> tuple[Floats, Ints]:
    """Return query units [top, bottom) for the key units that they can see: weights (bottom - top, reach), key units (reach,)."""
    first, last = int(units.starts[top]), int(units.ends[bottom - 1])
    parts = []
    for start in range(first, last, source.band):
        values, places = source.read(start, min(start + source.band, last))
        reached, firsts = np.unique(units.starts.searchsorted(places, side="right") - 1, return_index=True)
        parts.append((_together(values, firsts, keys, 1, (units.ends - units.starts)[reached]), reached))
    if len(parts) == 1:
        values, reached = parts[0]
    else:
        reached = np.unique(np.concatenate([places_of_part for _, places_of_part in parts]))
        values, at = np.zeros((last - first, len(reached)), dtype=np.float32), 0
        for part, places_of_part in parts:
            values[at : at + len(part), reached.searchsorted(places_of_part)] = part
            at += len(part)
    return _together(values, units.starts[top:bottom] - first, queries, 0), reached


def overview(
    source: TokenMap, units: Units, *, queries: How = "mean", keys: How = "sum", cells: int = OVERVIEW_CELLS
) -> tuple[Floats, int]:
    """Return the map as averages over square blocks of units, at most `cells` along each side, and the units per block; 1 = exact."""
    block = -(-len(units) // cells)
    sizes = np.diff(np.arange(0, len(units), block), append=len(units))
    averages = np.zeros((len(sizes), len(sizes)), dtype=np.float32)
    for top, bottom in _bands(units, block, source.band):
        values, reached = _strip(source, units, top, bottom, queries, keys)
        columns, firsts = np.unique(reached // block, return_index=True)
        values = _together(values, firsts, "mean", 1, sizes[columns])
        averages[top // block : -(-bottom // block), columns] = _together(values, np.arange(0, bottom - top, block), "mean", 0)
    return averages, block


def _bands(units: Units, block: int, tokens: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of units [start, stop) that consist of complete blocks and have about `tokens` tokens."""
    ends, top = units.ends, 0
    while top < len(units):
        reach = int(ends.searchsorted(units.starts[top] + tokens, side="right")) - top
        bottom = min(top + max(reach // block, 1) * block, len(units))
        yield top, bottom
        top = bottom


def merged(
    trace: Trace, units: Units, layer: int, head: int | str, component: int | str, *, queries: How = "mean", keys: How = "sum"
) -> Trace:
    """Return the trace with units in place of tokens, and with this map only, for figures of words and sentences."""
    values = tile(map_of_trace(trace, layer, head, component), units, queries=queries, keys=keys)
    effective = component == "effective"
    return trace.over(
        units.starts,
        units.labels,
        attention=values[None, None] if effective else None,
        components=None if effective else values[None, None, None],
        offsets=units.offsets,
        unknown=np.logical_and.reduceat(trace.unknown, units.starts),
        layer_ids=(layer,),
        head_ids=(int(head),) if not isinstance(head, str) else (0,),
        component_ids=() if effective else (int(component),),
    )


# ---- data for the browser


@dataclass(frozen=True, eq=False)
class Packed:
    """A map with 8 bits per weight and one scale: weight = scale * code * |code|.

    The codes are squared because most attention weights are small: with equal steps they would be rounded to 0.
    """

    codes: npt.NDArray[np.uint8] | npt.NDArray[np.int8]  # (u, w); int8 if any weight is negative
    scale: float

    @property
    def signed(self) -> bool:
        """True if any entry is negative; the colours then diverge."""
        return self.codes.dtype == np.int8

    @property
    def error(self) -> float:
        """Largest error of any weight; the error of a weight x is at most sqrt(scale x) + scale / 4."""
        return self.scale * ((127 if self.signed else 255) - 0.25)

    def values(self) -> Floats:
        """Return the weights as the browser decodes them, (u, w)."""
        codes = self.codes.astype(np.float32)
        return np.asarray(np.float32(self.scale) * codes * np.abs(codes), dtype=np.float32)


def pack(values: Floats) -> Packed:
    """Round a map to 8 bits per weight."""
    size = np.abs(values)
    signed, peak = bool((values < 0).any()), float(size.max())
    scale = peak / (127 if signed else 255) ** 2
    codes = np.sign(values) * np.rint(np.sqrt(size / scale)) if scale else np.zeros_like(values)
    return Packed(codes.astype(np.int8) if signed else codes.astype(np.uint8), scale)


def payload(head: Mapping[str, Any], layers: Iterable[tuple[Packed, int, int, int]]) -> bytes:
    """Return a map for the browser as bytes: the length of the head (4 bytes, little-endian), the head as JSON, the codes.

    Args:
        head: labels and other data of the view; must be serializable as JSON.
        layers: packed maps, each with the unit of its first row and column and the units per cell: the overview, then exact tiles.
    """
    described, codes, offset = [], [], 0
    for packed, row, column, block in layers:
        rows, columns = packed.codes.shape
        place = {"row": row, "column": column, "rows": rows, "columns": columns, "block": block, "offset": offset}
        described.append(place | {"scale": packed.scale, "signed": packed.signed, "error": packed.error})
        codes.append(packed.codes.tobytes())
        offset += packed.codes.size
    text = json.dumps({**head, "layers": described}, separators=(",", ":")).encode()
    return b"".join([len(text).to_bytes(4, "little"), text, *codes])
