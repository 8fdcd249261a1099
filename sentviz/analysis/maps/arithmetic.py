"""Derive one cell of an attention map in numbers, and describe its row as a kernel smoother.

    S_c = scale * (q_c . k_c) * M + sum of biases      A_c = softmax(S_c) over the keys that are seen
    effective attention = sum_c lambda_c A_c           scale = 1 / sqrt(d_k), or the learned temperature under QK-norm

SentiFormer, Definition 1: with the kernel exp(S) a head's output is an average of value vectors, o_i = sum_j K_ij V_j / sum_j K_ij. With
several components the weights are the effective attention, whose sum need not be 1 and whose entries can be negative.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sentviz.errors import InputError
from sentviz.io.lazy import pd, torch
from sentviz.io.numbers import MINUS, percent
from sentviz.io.table import Column, Table
from sentviz.runs.intervention import UNCHANGED, Intervention
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.models.model import Model

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_DIGITS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


@dataclass(frozen=True)
class Component:
    """Derivation of the cell's weight in one component."""

    place: int  # counted from 0
    product: float  # q . k, rotated with RoPE; the cosine under QK-norm
    scaled: float  # times the scale
    factor: float | None  # Xia et al.'s M; None = the model has none
    biases: Mapping[str, float]
    score: float  # S
    top: int  # the key with the largest S of the row
    top_score: float
    total: float  # the softmax's denominator, sum of exp(S - top_score)
    attention: float  # A
    weight: float  # lambda


@dataclass(frozen=True, eq=False)
class CellArithmetic:
    """The cell (query, key) of one head, and its whole row."""

    run: str
    layer: int
    head: int
    query: int
    key: int
    tokens: tuple[str, ...]
    key_size: int  # d_k
    scale: float  # 1 / sqrt(d_k), or the temperature
    cosine: bool  # QK-norm: products are cosines, the scale is learned
    rotary: bool
    window: int  # 0 = every key is seen; -1 = no later key is seen
    parts: tuple[Component, ...]
    attention: float  # effective
    seen: Bools  # (m,) keys that the query may see
    scores: Floats  # (C, m)
    maps: Floats  # (C, m)
    row: Floats  # (m,) effective attention of the query
    values: Floats  # (m, d_v)
    head_norm: float | None  # Differential's 1 - lambda_init; None = no norm behind the head

    # ---- in words

    def steps(self) -> list[str]:
        """Return the complete derivation, one line per step."""
        return [*(line for part in self.parts for line in self.component_steps(part.place)), *self.sum_steps()]

    def component_steps(self, place: int) -> list[str]:
        """Return the steps from q . k to A for one component, counted from 0."""
        part = self.parts[place]
        low = _sub(place + 1) if len(self.parts) > 1 else ""
        rotated = ", rotated to their places" if self.rotary else ""
        lines = [
            f"cos(q{low}, k{low}){rotated} = {plain(part.product)}" if self.cosine else f"q{low}·k{low}{rotated} = {plain(part.product)}"
        ]
        value = part.scaled
        lines.append(
            f"× {plain(self.scale)}, the learned temperature → {plain(value)}"
            if self.cosine
            else f"/ √{round(self.scale**-2)} → {plain(value)}"
        )
        if part.factor is not None:
            value *= part.factor
            lines.append(f"× {plain(part.factor)}, the lexicon's factor → {plain(value)}")
        for name, bias in part.biases.items():
            value += bias
            lines.append(f"{_sign(bias)} {plain(abs(bias))}, {name} → {plain(value)}")
        lines.append(f"S{low} = {plain(part.score)}")
        return [*lines, *self._softmax_steps(part, low)]

    def _softmax_steps(self, part: Component, low: str) -> list[str]:
        if not self.seen[self.key] and self.window < 0:
            return [f"a later token, which this model does not see: A{low} = 0"]
        if not self.seen[self.key]:
            return [f"outside the window of {self.window} tokens and not a global token: A{low} = 0"]
        keys = f"{self.seen.sum():,} keys" if self.seen.all() else f"the {self.seen.sum():,} of {len(self.seen):,} visible keys"
        largest = "this one" if part.top == self.key else f"“{_cut(self.tokens[part.top])}” ({part.top + 1})"
        return [
            f"softmax over {keys}; the largest S{low} is {plain(part.top_score)}, {largest}",
            f"exp({plain(part.score)} {_sign(-part.top_score)} {plain(abs(part.top_score))}) / {plain(part.total)}"
            f" → A{low} = {plain(part.attention)}",
        ]

    def sum_steps(self) -> list[str]:
        """Return the steps from the components to the effective attention."""
        if len(self.parts) == 1:
            lines = ["One component: A multiplies V as it is."]
        else:
            first, *rest = self.parts
            sums = [_term("", first), *(f"{_sign(part.weight)} {_term('abs', part)}" for part in rest)]
            numbers = [f"{plain(first.weight * first.attention)}"]
            numbers += [f"{_sign(p.weight * p.attention)} {plain(abs(p.weight * p.attention))}" for p in rest]
            lines = [f"{' '.join(sums)} = {' '.join(numbers)} = {plain(self.attention)}"]
        if self.head_norm is not None:
            lines.append(f"The head's sum is then scaled to root mean square 1 and multiplied by {plain(self.head_norm)}.")
        return lines

    # ---- in numbers

    @property
    def frame(self) -> pd.DataFrame:
        """component, step, value: every number of the derivation, components counted from 0; -1 = the sum."""
        rows: list[tuple[int, str, float]] = []
        for part in self.parts:
            named = {"product": part.product, "scaled": part.scaled, "factor": part.factor, **part.biases, "score": part.score}
            named |= {"largest score": part.top_score, "denominator": part.total, "attention": part.attention, "lambda": part.weight}
            rows += [(part.place, step, value) for step, value in named.items() if value is not None]
        return pd.DataFrame([*rows, (-1, "effective attention", self.attention)], columns=["component", "step", "value"])

    @property
    def output(self) -> Floats:
        """(d_v,) the head's output at the query before any norm: the row's weights times the values."""
        return np.asarray(self.row @ self.values)

    def smoother(self) -> pd.DataFrame:
        """Return the row as weights over value vectors, with one row per key in text order.

        key, key_token, seen; score, kernel = exp(S - the row's largest S) and attention of each component (A1, A2 ...); weight = effective
        attention; value_norm = |V_j|; contribution = |weight V_j|, share = its part of all contributions (sums to 1); along = the part of
        the head's output that it makes, weight V_j . o / |o|^2 (signed, sums to 1).
        """
        columns: dict[str, Any] = {"key": np.arange(len(self.tokens)), "key_token": list(self.tokens), "seen": self.seen}
        for part, scores, attention in zip(self.parts, self.scores, self.maps, strict=True):
            kernel = np.where(self.seen, np.exp(np.minimum(scores - part.top_score, 0)), 0)
            name = f"a{part.place + 1}"
            columns |= {f"score_{name}": scores, f"kernel_{name}": kernel, f"attention_{name}": attention}
        moved, out = self.row[:, None] * self.values, self.output
        size, length = np.linalg.norm(moved, axis=1), float(out @ out)
        columns |= {
            "weight": self.row,
            "value_norm": np.linalg.norm(self.values, axis=1),
            "contribution": size,
            "share": size / (size.sum() or 1.0),
            "along": moved @ out / (length or 1.0),
        }
        return pd.DataFrame(columns)


def cell(
    model: Model, source: Trace | str, layer: int, head: int, query: int, key: int, change: Intervention | None = None
) -> CellArithmetic:
    """Return the derivation of one cell's weight.

    A trace that holds Q, K and the terms of the cell is read directly; otherwise the query's row is computed again.

    Args:
        model: the model of the trace.
        source: a trace, or a text.
        layer, head, query, key: counted from 0; query and key are tokens.
        change: intervention; by default that of the trace. The head itself is never silenced.
    """
    if not model.capabilities.softmax:
        raise InputError("A hardmax map has no softmax: each row divides its weight equally among the tokens furthest in its direction.")
    text, pair, own = (source, None, UNCHANGED) if isinstance(source, str) else (source.text, source.text_pair, source.change)
    applied = (own if change is None else change).without("head", (layer, head))
    if isinstance(source, str) or applied != own or not _holds(source, layer, head, query):
        source = model.trace(text, pair, layers=(layer,), heads=(head,), queries=(query,), maps=False, projections=True, change=applied)
    if not 0 <= key < len(source.tokens):
        raise InputError(f"There is no key {key}; they are counted from 0 to {len(source.tokens) - 1}.")
    return _read(source, layer, head, query, key)


def _holds(trace: Trace, layer: int, head: int, query: int) -> bool:
    chosen = layer in trace.layer_ids and head in trace.head_ids and query in trace.query_ids
    return chosen and bool(trace.terms) and trace.component_ids == tuple(range(trace.lambdas.shape[1]))


def _read(trace: Trace, layer: int, head: int, query: int, key: int) -> CellArithmetic:
    """Compute the query's row step by step from its Q, the head's K and the layer's terms."""

    from sentviz.models.terms import terms_of

    at, h, row = trace.layer_ids.index(layer), trace.head_ids.index(head), trace.query_ids.index(query)
    assert trace.queries is not None and trace.keys is not None and trace.values is not None
    terms = terms_of(trace)[at].part(heads=(h,) if len(trace.head_ids) > 1 else ())
    n, place = len(trace.tokens), torch.tensor([query])
    structure = terms.structure.part(queries=place)
    with torch.inference_mode():
        q, k = (torch.from_numpy(array[at][:, h].copy())[None, :, None] for array in (trace.queries[..., row, None, :], trace.keys))
        visible = terms.seen(1, n, place)
        scores, maps = terms.scores(q, k, place), terms.maps(q, k, place)
        effective = _double(terms.mix(maps))[0, 0]
        shape = scores.shape
        biases = {bias.name: _double(bias.dense().expand(shape)) for bias in structure.biases}
        factor = None if structure.factor is None else _double(structure.factor.dense().expand(shape))
        products = _double(q) @ _double(k).swapaxes(-1, -2)
    scale, seen = float(terms.scale), np.ones(n, dtype=np.bool_) if visible is None else visible[0, 0, 0, 0].numpy()
    row_scores, row_maps = _double(scores)[0, :, 0, 0], _double(maps)[0, :, 0, 0]
    parts = []
    for c in range(len(row_maps)):
        product, among = float(products[0, c, 0, 0, key]), row_scores[c, seen]
        top = int(np.flatnonzero(seen)[among.argmax()])
        parts.append(
            Component(
                c,
                product,
                product * scale,
                None if factor is None else float(factor[0, c, 0, 0, key]),
                {name: float(values[0, c, 0, 0, key]) for name, values in biases.items()},
                float(row_scores[c, key]),
                top,
                float(row_scores[c, top]),
                float(np.exp(among - among.max()).sum()),
                float(row_maps[c, key]),
                float(trace.lambdas[layer, c]),
            )
        )
    return CellArithmetic(
        run=trace.run,
        layer=layer,
        head=head,
        query=query,
        key=key,
        tokens=trace.tokens,
        key_size=trace.keys.shape[-1],
        scale=scale,
        cosine=terms.cosine,
        rotary=terms.rotary,
        window=terms.window,
        parts=tuple(parts),
        attention=float(effective[0, key]),
        seen=seen,
        scores=row_scores,
        maps=row_maps,
        row=effective[0],
        values=np.asarray(trace.values[at, h], dtype=np.float64),
        head_norm=None if terms.head_norm is None else terms.head_norm.factor,
    )


def _double(tensor: torch.Tensor) -> Floats:
    return np.asarray(tensor.numpy(), dtype=np.float64)


def plain(value: float) -> str:
    """Return a number as text with three decimals, or two significant digits if that would be 0, and a typographic minus."""
    if abs(value) >= 1e-3 or not value:
        text = f"{value:.3f}" if value else "0"
    elif abs(value) >= 1e-6:
        text = np.format_float_positional(value, precision=2, fractional=False, trim="-")
    else:
        text = f"{value:.1e}".replace("e-0", "e-")
    return text.replace("-", MINUS)


def _sign(value: float) -> str:
    return MINUS if value < 0 else "+"


def _sub(place: int) -> str:
    return str(place).translate(_DIGITS)


def _term(absolute: str, part: Component) -> str:
    weight = abs(part.weight) if absolute else part.weight
    return f"A{_sub(part.place + 1)}" if weight == 1 else f"{plain(weight)}·A{_sub(part.place + 1)}"


def _cut(text: str, limit: int = 24) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def apart(derived: CellArithmetic, trace: Trace) -> float:
    """Return the distance of the derived head output from the output of the fused kernels, relative to its length."""

    from sentviz.models.terms import terms_of

    assert trace.queries is not None and trace.keys is not None and trace.values is not None
    at, head = trace.layer_ids.index(derived.layer), trace.head_ids.index(derived.head)
    terms = terms_of(trace)[at].part(heads=(head,))
    arrays = (trace.queries[at][:, [head]], trace.keys[at][:, [head]], trace.values[at][[head]])
    with torch.inference_mode():
        q, k, v = (torch.from_numpy(array)[None] for array in arrays)
        out = terms.attend(q, k, v)[0, 0, derived.query].double().numpy()
    return float(np.linalg.norm(out - derived.output) / (np.linalg.norm(derived.output) or 1.0))


# ---- as a kernel smoother


def average_in_words(entry: CellArithmetic, trace: Trace, has_gate: bool) -> list[str]:
    """Return what a head averages for a token of its trace, how it differs from a kernel smoother, and that it is the head's output."""
    frame = entry.smoother()
    first, *second = frame["weight"].abs().nlargest(2).index.tolist()
    weights = " and ".join(f"**{entry.tokens[key]}** ({percent(frame['weight'][key])})" for key in (first, *second))
    lines = [
        f"**{entry.tokens[entry.query]}** is averaged over {int(frame['seen'].sum()):,} of {len(frame):,} tokens. The largest weight is"
        f" that of {weights}."
    ]
    if entry.window:
        lines.append(f"The kernel is 0 outside a window of {entry.window} tokens and the global ones.")
    if has_gate:
        lines.append("The kernel has one more factor: the gate of the other token, between 0 and 1, which is the same for every query.")
    if len(entry.parts) > 1:
        lines.append(
            f"This run has {len(entry.parts)} kernels per head; the weights are λ-mixed averages of them, so this is not a kernel smoother"
            " in the strict sense: the weights do not always sum to 1 and can be negative."
        )
    if entry.head_norm is not None:
        lines.append("After the head, the average is normalized. The figure does not show this.")
    return [
        *lines,
        "**The average is the head's output:** the fused computation, which never makes a weight, gives the same vector but for"
        f" {apart(entry, trace):.1g} of its length.",
    ]


def average_table(entry: CellArithmetic) -> Table:
    """Return the kernel and the weight of every token, the size of its value, and its share of the output."""
    frame = entry.smoother()
    kernels = [str(name) for name in frame if str(name).startswith("kernel_")]
    titles = {name: f"kernel {name.removeprefix('kernel_a')}" if len(kernels) > 1 else "kernel" for name in kernels}
    columns = (
        Column("key_token", "token"),
        *(Column(name, title) for name, title in titles.items()),
        Column("weight"),
        Column("value_norm", "size of value"),
        Column("along", "share of output"),
    )
    return Table("kernel-smoother", "Every token in numbers", frame, "", columns)
