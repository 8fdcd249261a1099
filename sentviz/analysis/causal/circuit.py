"""Circuits: few heads and feed-forward networks that keep most of the difference between the sentences of minimal pairs.

    kept(S) = 1 - sum over pairs of the log-odds lost / sum over pairs of |f(A) - f(B)|

Sentence A runs, and every part outside the set S gives what it gave on sentence B, at all aligned tokens (noising by the other sentence).
The embeddings stay those of A. B is used instead of a mean, because it differs from A in one word only: everything that both sentences
share stays as it is, so the set has to carry the one difference, and no part gets an input that no sentence gives. Conmy et al. 2023
(arXiv 2304.14997) replace by another input for the same reason.

The set is searched by backward elimination on the even pairs and measured on the odd ones, beside random sets of the same size. Backward
elimination finds a small set, not surely the smallest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sentviz.analysis.causal.average import ratio, usable
from sentviz.analysis.causal.patching import Bools, Floats, Pair
from sentviz.errors import InputError
from sentviz.io.arguments import Progress
from sentviz.io.lazy import pd, torch
from sentviz.io.numbers import percent

if TYPE_CHECKING:
    from sentviz.models.model import Model
    from sentviz.models.protocol import Replacement, Site

KEPT = 0.9  # share of the difference that the set keeps on the pairs of the search
RANDOM = 200  # random sets of the same size
CHUNK = 0.25  # share of the parts that one step of the search removes at most
LINKED = 12  # parts whose shared effects are measured
LEAST_PAIRS = 8


@dataclass(frozen=True)
class Part:
    """A head, or the feed-forward network of a layer."""

    layer: int
    head: int | None  # None = feed-forward network

    @property
    def name(self) -> str:
        """A short name, counted from 1: L4 H7 or L4 F."""
        return f"L{self.layer + 1} F" if self.head is None else f"L{self.layer + 1} H{self.head + 1}"


@dataclass(frozen=True, eq=False)
class Circuit:
    """A set of parts, what it keeps on pairs that the search did not see, and what random sets keep."""

    parts: tuple[Part, ...]
    among: int  # parts of the model
    searched: float  # share kept on the pairs of the search
    share_kept: tuple[float, float, float]  # share kept on the other pairs, and its interval
    nothing: float  # share kept there without any part: what the embeddings carry directly
    without: tuple[float, float, float]  # share kept there by all parts outside the set, and its interval
    random: Floats  # (RANDOM,) shares kept there by random sets
    lost: Floats  # (parts, 3) share lost there if one part leaves the set, and its interval
    links: tuple[tuple[int, int, float, float, float], ...]  # two parts, the loss that they share, and its interval, away from 0
    pairs: tuple[int, int]  # number of pairs of the search, and of the others
    left_out: int
    seed: int

    @cached_property
    def frame(self) -> pd.DataFrame:
        """Table of the parts: layer, head (counted from 0; -1 = feed-forward network), lost, low, high."""
        rows = [
            (part.layer, -1 if part.head is None else part.head, *map(float, lost))
            for part, lost in zip(self.parts, self.lost, strict=True)
        ]
        return pd.DataFrame(rows, columns=["layer", "head", "lost", "low", "high"])

    @property
    def says(self) -> str:
        """A sentence on the result."""
        value, low, high = self.share_kept
        beaten = float((self.random < value).mean())
        text = (
            f"{len(self.parts)} of {self.among} parts keep {percent(value, 0, ends=(low, high))} of the difference on the {self.pairs[1]}"
            f" pairs that the search did not see. {len(self.random)} random sets of the same size keep {percent(self.random.mean(), 0)} on"
            f" average, and {percent(beaten, 0)} of them keep less. Without any part, {percent(self.nothing, 0)} is kept; without the"
            f" circuit, {percent(self.without[0], 0)}."
        )
        return text.replace(" -", " −").replace("[-", "[−")


def circuit(
    model: Model, pairs: Sequence[tuple[str, str]], *, keep: float = KEPT, seed: int = 0, progress: Progress | None = None
) -> Circuit:
    """Return a small set of heads and feed-forward networks that keeps a share of the difference over minimal pairs.

    Args:
        keep: share to keep on the pairs of the search, above 0 and below 1. seed: of random sets and bootstrap.
        progress: called with finished and all steps of the search, which are estimated.
    """
    if not {"head", "feedforward"} <= set(model.capabilities.replaces):
        raise InputError(f"{model.name} has no heads and feed-forward outputs that can be replaced: a circuit needs a transformer.")
    if not 0 < keep < 1:
        raise InputError(f"A circuit keeps a share between 0 and 1, not {keep:g}.")
    patched, left_out = usable(model, pairs)
    if len(patched) < LEAST_PAIRS:
        raise InputError(f"A circuit needs {LEAST_PAIRS} pairs whose log-odds differ; {model.name} has {len(patched)} of {len(pairs)}.")
    halves = [_Half(patched[start::2]) for start in (0, 1)]
    shape = (model.capabilities.layers, model.capabilities.heads + 1)
    inside = _search(halves[0], shape, keep, progress)
    chosen, rng = np.flatnonzero(inside), np.random.default_rng(seed)
    random = np.zeros((RANDOM, inside.size), dtype=np.bool_)
    for row in random:
        row[rng.choice(inside.size, len(chosen), replace=False)] = True
    alone = _without(inside, [(int(place),) for place in chosen])
    known, test = np.stack([inside, np.zeros_like(inside), ~inside]), halves[1]
    losses = test.losses(np.concatenate([known, alone, random]), shape)
    share_kept, nothing, without = (_kept(losses[:, i], test.scale, seed) for i in range(3))
    lost = np.stack([np.array(ratio(losses[:, 3 + i] - losses[:, 0], test.scale, seed), dtype=np.float64) for i in range(len(chosen))])
    links = _links(test, inside, shape, losses, lost, seed)
    return Circuit(
        tuple(
            Part(int(layer), None if head == shape[1] - 1 else int(head)) for layer, head in (divmod(int(at), shape[1]) for at in chosen)
        ),
        inside.size,
        1 - float(halves[0].losses(inside[None], shape).sum() / halves[0].scale.sum()),
        share_kept,
        nothing[0],
        without,
        1 - losses[:, 3 + len(chosen) :].sum(axis=0) / test.scale.sum(),
        lost,
        links,
        (len(halves[0].pairs), len(test.pairs)),
        left_out,
        seed,
    )


def _part(layer: int, place: int, heads: int) -> Part:
    return Part(layer, None if place == heads else place)


def _kept(losses: Floats, scale: Floats, seed: int) -> tuple[float, float, float]:
    lost, low, high = (float(value) for value in ratio(losses, scale, seed))
    return 1 - lost, 1 - high, 1 - low


def _without(inside: Bools, groups: Sequence[tuple[int, ...]]) -> Bools:
    """Return the set once for each group, (groups, parts), without the parts of that group."""
    sets = np.repeat(inside[None], len(groups), axis=0)
    for row, group in zip(sets, groups, strict=True):
        row[list(group)] = False
    return sets


def _search(half: _Half, shape: tuple[int, int], keep: float, progress: Progress | None) -> Bools:
    """Return a set (parts,) that keeps enough: parts leave it, those with the smallest loss first, as long as it does."""
    inside, chunk, step = np.ones(shape[0] * shape[1], dtype=np.bool_), CHUNK, 0
    while inside.sum() > 1:
        places = np.flatnonzero(inside)
        alone = half.losses(_without(inside, [(int(place),) for place in places]), shape).sum(axis=0)
        order = places[np.argsort(alone, kind="stable")]
        sizes = sorted({max(1, int(chunk * len(places) / 2**i)) for i in range(6)}, reverse=True)
        tried = _without(inside, [tuple(order[:size]) for size in sizes])
        enough = 1 - half.losses(tried, shape).sum(axis=0) / half.scale.sum() >= keep
        if not enough.any():
            break
        inside = tried[int(enough.argmax())]
        step += 1
        if progress is not None:
            progress(shape[0] * shape[1] - int(inside.sum()), shape[0] * shape[1])
    return inside


def _links(
    test: _Half, inside: Bools, shape: tuple[int, int], losses: Floats, lost: Floats, seed: int
) -> tuple[tuple[int, int, float, float, float], ...]:
    """Return pairs of parts whose losses overlap or add up to more: loss of one + loss of the other - loss of both."""
    chosen = np.flatnonzero(inside)
    strongest = np.sort(np.argsort(-lost[:, 0], kind="stable")[:LINKED])
    both = [(int(i), int(j)) for k, i in enumerate(strongest) for j in strongest[k + 1 :] if chosen[i] // shape[1] < chosen[j] // shape[1]]
    if not both:
        return ()
    together = test.losses(_without(inside, [(int(chosen[i]), int(chosen[j])) for i, j in both]), shape)
    links = []
    for place, (i, j) in enumerate(both):
        shared = losses[:, 3 + i] + losses[:, 3 + j] - losses[:, 0] - together[:, place]
        value, low, high = (float(x) for x in ratio(shared, test.scale, seed))
        if low > 0 or high < 0:
            links.append((i, j, value, low, high))
    return tuple(links)


class _Half:
    """Some pairs, with the outputs of heads and feed-forward networks on both sentences."""

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self.pairs = pairs
        self.scale = np.array([abs(pair.goal - pair.start) for pair in pairs])

    def losses(self, sets: Bools, shape: tuple[int, int]) -> Floats:
        """Return the log-odds that A loses towards B if the parts outside each set (S, parts) give what they gave on B, (P, S)."""
        return np.stack([losses_of_pair(pair, ~sets.reshape(len(sets), *shape)) for pair in self.pairs])


def losses_of_pair(pair: Pair, outside: Bools) -> Floats:
    """Return the loss of each set of replaced parts (S, L, H + 1) in one pair, (S,)."""

    from sentviz.models.batched_replacements import logits_of_copies
    from sentviz.models.protocol import Replacement

    a, b = (torch.from_numpy(x) for x in pair.aligned)
    donor, heads = pair.donor, outside.shape[2] - 1
    replaced: dict[Site, Replacement] = {}
    for layer in range(outside.shape[1]):
        row, head = np.nonzero(outside[:, layer, :heads])
        if len(row):
            at = [torch.from_numpy(x).repeat_interleave(len(a)) for x in (row, head)]
            values = donor["head", layer][0][at[1], b.repeat(len(row))]
            replaced["head", layer] = Replacement((*at, a.repeat(len(row))), values)
        rows = torch.from_numpy(np.flatnonzero(outside[:, layer, heads]))
        if len(rows):
            values = donor["feedforward", layer][0][b].repeat(len(rows), 1)
            replaced["feedforward", layer] = Replacement((rows.repeat_interleave(len(a)), a.repeat(len(rows))), values)
    logits = logits_of_copies(pair.model, pair.first, replaced, len(outside)).double().numpy()[1:]
    return pair.share(logits) * abs(pair.goal - pair.start)
