"""Activation patching: which states carry the prediction from one sentence to another.

    share(cell) = (f(A with the cell's vectors of B) - f(A)) / (f(B) - f(A))        Vig et al. 2020, arXiv 2004.12265

f is the log-odds of the class predicted for B. A share of 1 means that the cell alone brings the complete difference, 0 that it brings
nothing; a negative share means that it moves A away from B. Shares need not add up. Each copy of A, with the vectors of one cell replaced,
is a row of one batch, and joins it at the layer of the cell.

If a map is large, its cells are first estimated from one gradient,

    share(cell) ~ (v_B - v_A) . df/dv_A / (f(B) - f(A))                             attribution patching, Syed et al. 2023, arXiv 2310.10348

and the `BEST` cells with the largest estimates are then computed exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sentviz.analysis.maps.compare import align
from sentviz.errors import InputError
from sentviz.io.arguments import Progress
from sentviz.io.lazy import pd, stats, torch
from sentviz.io.numbers import percent, signed
from sentviz.runs.calibration import softmax
from sentviz.runs.intervention import AXES, Edit, Intervention, Taken
from sentviz.runs.target import log_odds
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.models.model import Model
    from sentviz.models.protocol import Replacement, Site

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

LEAST = 0.01  # log-odds between the two sentences below which there is no difference to bring over
BEST = 20  # cells of a large map that are computed exactly
WORK = 60e9  # weights x tokens of all copies above which a map is estimated first: about 3 s of one core
TITLES = {
    "state": "States of the layers",
    "residual": "States between attention and feed-forward",
    "feedforward": "Outputs of the feed-forward networks",
    "head": "Outputs of the heads",
    "component": "Outputs of the components",
    "value": "Value vectors of the heads",
}
WORDS = {"state": "the state", "residual": "the state after attention", "feedforward": "the feed-forward output"}


@dataclass(frozen=True, eq=False)
class PatchMap:
    """The share of the difference that each cell brings over."""

    what: str  # a quantity of `sentviz.runs.intervention.VECTORS`
    axes: tuple[str, ...]  # depth or layer; then head or component, token, or both
    share: Floats  # (L or L + 1, ..); NaN for a token without a partner in the other sentence
    logits: Floats  # (.., K) logits of the exact cells; NaN elsewhere
    estimate: Floats | None  # shares by the gradient; None if all cells are exact
    tokens: tuple[str, ...]  # tokens of the first sentence
    labels: tuple[str, ...]
    probability: Floats  # probability of the class predicted for the second sentence; NaN for estimated cells

    @property
    def exact(self) -> Bools:
        """True for each cell that was computed, False if it was estimated."""
        return np.isfinite(self.probability)

    @property
    def agreement(self) -> float | None:
        """Rank correlation (Spearman) of estimate and exact share over the exact cells; None if nothing was estimated."""
        if self.estimate is None or self.exact.sum() < 3:
            return None
        rho = float(stats.spearmanr(self.estimate[self.exact], self.share[self.exact]).statistic)
        return rho if np.isfinite(rho) else None

    @property
    def note(self) -> str:
        """A sentence on how the cells were computed if most of them are estimates; empty if all are exact."""
        if self.estimate is None:
            return ""
        rho = "" if self.agreement is None else f" (rank correlation of both: {signed(self.agreement)})"
        return f"Cells are estimated by one gradient; the {int(self.exact.sum())} largest are exact{rho}."

    @property
    def best(self) -> tuple[int, ...]:
        """The exact cell with the largest share; the first one if there is none."""
        known = np.where(self.exact, np.nan_to_num(self.share, nan=-np.inf), -np.inf)
        return tuple(int(i) for i in np.unravel_index(int(known.argmax()), known.shape))

    @cached_property
    def frame(self) -> pd.DataFrame:
        """Table with a row for each cell: what, one column per axis (counted from 0), token_text, share, probability, exact."""
        places = np.indices(self.share.shape).reshape(len(self.axes), -1)
        columns: dict[str, Any] = {"what": self.what, **dict(zip(self.axes, places, strict=True))}
        if "token" in self.axes:
            columns["token_text"] = [self.tokens[i] for i in columns["token"]]
        columns |= {"share": self.share.ravel(), "probability": self.probability.ravel(), "exact": self.exact.ravel()}
        return pd.DataFrame(columns)


@dataclass(frozen=True)
class Joint:
    """The effect of several cells together, beside the sum of their single effects."""

    share: float
    singles: tuple[float, ...]
    probabilities: tuple[float, ...]  # probability of each class

    @property
    def total(self) -> float:
        """Sum of the single shares."""
        return float(sum(self.singles))


def patch(
    model: Model,
    first: Trace | str,
    second: Trace | str,
    *,
    partners: Mapping[int, int | None] | None = None,
    pairs: tuple[str | None, str | None] = (None, None),
) -> Pair:
    """Return two sentences whose states can be exchanged. The interventions of a trace stay in effect; both must have the same.

    Args:
        first: sentence A, whose states are replaced. second: sentence B, which gives the new ones.
        partners: token of B for a token of A, counted from 0, that replaces the automatic alignment; None for no token.
        pairs: second texts of A and B, for models that read pairs.
    """
    if not model.capabilities.replaces:
        raise InputError(f"{model.name} has no states of tokens that can be replaced: patching needs a transformer.")
    if not model.capabilities.predicts:
        from sentviz.models.model import NO_CLASSES

        raise InputError(NO_CLASSES.format(model.name))
    traces = [
        each if isinstance(each, Trace) else model.trace(each, pair, maps=False) for each, pair in zip((first, second), pairs, strict=True)
    ]
    if any(trace.run != model.name for trace in traces):
        raise InputError(f"Both sentences must be read by one run, {model.name}: the states of two runs do not fit each other.")
    if traces[0].change != traces[1].change:
        raise InputError("The two sentences were read under different changes of the model. Use the same changes for both.")
    return Pair(model, traces[0], traces[1], partners or {})


class Pair:
    """Two sentences of one model: A, whose states are replaced, and B, which gives the new ones. Built by `patch`."""

    def __init__(self, model: Model, first: Trace, second: Trace, chosen: Mapping[int, int | None]) -> None:
        if (first.text, first.text_pair) == (second.text, second.text_pair):
            raise InputError("Both sentences are the same, so there is no difference to bring over. Change a word of one of them.")
        self.model, self.first, self.second, self.chosen = model, first, second, dict(chosen)
        a, b = (int(trace.probabilities.argmax()) for trace in (first, second))
        self.target = b, None if a == b or len(first.labels) == 2 else a
        self.start, self.goal = (float(log_odds(trace.logits, *self.target)) for trace in (first, second))
        if abs(self.goal - self.start) < LEAST:
            raise InputError(
                f"Both sentences get nearly the same log-odds of {second.label} ({signed(self.start, 3)} and {signed(self.goal, 3)}),"
                " so there is no difference to bring over."
            )
        aligned = {i: j for i, j in align(first, second) if i is not None}
        for i, j in chosen.items():
            if not 0 <= i < len(first.tokens) or (j is not None and not 0 <= j < len(second.tokens)):
                raise InputError(f"Token {i + 1} cannot be aligned with token {'-' if j is None else j + 1}: there is no such token.")
        self.partners: tuple[int | None, ...] = tuple((aligned | dict(chosen)).get(i) for i in range(len(first.tokens)))
        if all(j is None for j in self.partners):
            raise InputError("No token of the first sentence is aligned with a token of the second, so nothing can be replaced.")

    # ---- in words

    @property
    def label(self) -> str:
        """The class predicted for B, whose log-odds are measured."""
        return self.second.label

    def notes(self) -> list[str]:
        """Return sentences on tokens without a partner."""
        alone = [self.first.tokens[i] for i, j in enumerate(self.partners) if j is None]
        used = set(self.partners)
        left = [token for j, token in enumerate(self.second.tokens) if j not in used]
        notes = []
        if alone:
            notes.append(f"Without a partner in the second sentence, never replaced: {', '.join(f'“{token}”' for token in alone)}.")
        if left:
            names = ", ".join(f"“{token}”" for token in left)
            notes.append(f"Only in the second sentence, brought over through the tokens around: {names}.")
        return notes

    def says(self, what: str, at: Sequence[int]) -> str:
        """Return a cell in words, such as "head 3 of layer 4 at “bad”"."""
        axes = AXES[what]
        layer, *rest = at
        token = rest.pop() if len(at) == len(axes) and axes[-1] == "token" else None
        if what in WORDS:
            name = WORDS[what] + (f" of layer {layer + (what != 'state')}" if layer or what != "state" else " of the embedding")
        elif what == "value":
            name = f"the values of head {rest[0] + 1} of layer {layer + 1}"
        else:
            name = f"{what} {rest[0] + 1} of layer {layer + 1}"
        return name if token is None else f"{name} at “{self.first.tokens[token]}”"

    def strongest(self, heads: PatchMap | None = None, progress: Progress | None = None) -> tuple[str, Edit]:
        """Return a sentence on the head and token that bring over most, and its edit; `heads` is the map of heads by token."""
        result = self.map("head", tokens=True, progress=progress) if heads is None else heads
        at, k = result.best, self.target[0]
        share, before, after = result.share[at], float(self.first.probabilities[k]), float(result.probability[at])
        turned = int(result.logits[at].argmax())
        turns = f", and the prediction turns to {self.first.labels[turned]}" if self.first.labels[turned] != self.first.label else ""
        name, whole = self.says("head", at), self._whole_head(*at[:2])
        sentence = (
            f"{name[0].upper()}{name[1:]} carries most: with its output from the second sentence, {percent(share, 0)} of the difference"
            f" comes over (probability of {self.label}: {percent(before, 0)} → {percent(after, 0)}){turns}. With the head's outputs at all"
            f" words, {percent(whole, 0)}."
        )
        return sentence, self.edit("head", at)

    def _whole_head(self, layer: int, head: int) -> float:
        """Return the share that comes over with the outputs of one head at all tokens that have a partner."""
        edits = [self.edit("head", (layer, head, i)) for i, j in enumerate(self.partners) if j is not None]
        trace = self.model.trace(self.first.text, self.first.text_pair, maps=False, change=self.intervention(edits))
        return float(self.share(trace.logits))

    # ---- effects

    def share(self, logits: npt.ArrayLike) -> Floats:
        """Return the share of the difference for logits (.., K)."""
        return np.asarray((log_odds(np.asarray(logits), *self.target) - self.start) / (self.goal - self.start))

    def edit(self, what: str, at: Sequence[int]) -> Edit:
        """Return the edit of one cell; its last place is a token with a partner."""
        partner = self.partners[at[-1]] if 0 <= at[-1] < len(self.partners) else None
        if partner is None:
            raise InputError(f"Token {at[-1] + 1} of the first sentence has no partner in the second, so it takes no state from there.")
        return Edit(what, tuple(int(i) for i in at), to=Taken(partner))  # type: ignore[arg-type]

    def intervention(self, edits: Sequence[Edit]) -> Intervention:
        """Return edits as an intervention for A, with which the model can also be traced."""
        change = Intervention((*self.first.change.edits, *edits), (self.second.text, self.second.text_pair))
        change.check(self.model.capabilities, len(self.first.tokens), self.model.name)
        return change

    def joint(self, edits: Sequence[Edit]) -> Joint:
        """Return the effect of several cells replaced together, and of each alone."""
        if not edits:
            raise InputError("A path needs at least one cell.")
        sets = [tuple(edits), *((edit,) for edit in edits)]
        traces = [self.model.trace(self.first.text, self.first.text_pair, maps=False, change=self.intervention(each)) for each in sets]
        together, *singles = (float(self.share(trace.logits)) for trace in traces)
        return Joint(together, tuple(singles), tuple(traces[0].probabilities.tolist()))

    def reverse(self) -> Pair:
        """Return the pair in the other direction: states of A are put into B, which shows what breaks the prediction for B."""
        chosen = {j: i for i, j in self.chosen.items() if j is not None}
        return Pair(self.model, self.second, self.first, chosen)

    def map(self, what: str, *, tokens: bool | None = None, exact: bool | None = None, progress: Progress | None = None) -> PatchMap:
        """Return the share that each cell of a quantity brings over.

        Args:
            what: state, residual, feedforward, head, component or value.
            tokens: a cell for each token; by default for state, residual and feedforward. Otherwise a cell holds all aligned tokens.
            exact: compute every cell, or estimate all and compute the best; by default this depends on the work.
            progress: called with finished and total steps.
        """
        count, middle, every_axis = self._axes_of(what)
        by_token, layers = what in WORDS if tokens is None else tokens, range(count)
        axes = tuple(axis for axis in every_axis if by_token or axis != "token")
        shape = (count, *middle, *((len(self.first.tokens),) if by_token else ()))
        cells, number = self._cells(shape, by_token), int(np.prod(shape))
        estimate = None
        if exact is False or (exact is None and self._work(cells, layers) > WORK and number > BEST):
            estimate = self._estimate(what, shape, by_token)
            order = np.argsort(-np.abs(np.where(cells, estimate, 0)).ravel(), kind="stable")[:BEST]
            chosen = np.zeros(number, dtype=np.bool_)
            chosen[order] = True
            cells = cells & chosen.reshape(shape)
        groups = [np.array([i]) for i in range(shape[-1])] if by_token else None
        share, logits = self._exact(what, cells, groups, progress)
        probability = np.full(shape, np.nan)
        if cells.any():
            probability[cells] = softmax(logits[cells].astype(np.float32), self.first.calibration)[:, self.target[0]]
        filled = share if estimate is None else np.where(np.isnan(share), estimate, share)
        return PatchMap(what, axes, filled, logits, estimate, self.first.tokens, self.first.labels, probability)

    # ---- inside

    @cached_property
    def donor(self) -> dict[Site, torch.Tensor]:
        """The vectors of B by site, (1, .., n, size)."""
        return self.model.recorded(self.second.text, self.second.text_pair, self.second.change)[0]

    @cached_property
    def _sides(self) -> tuple[Any, Any]:
        """The vectors of A, with their gradients' graph, and those of B, by site."""
        return self.model.recorded(self.first.text, self.first.text_pair, self.first.change, gradients=True), self.donor

    @cached_property
    def _gradients(self) -> dict[Site, torch.Tensor]:
        """Gradient of A's share with respect to its vectors, by site."""
        (record, logits), _ = self._sides
        k, against = self.target
        with torch.inference_mode(False), torch.enable_grad():
            rest = torch.cat([logits[:, :k], logits[:, k + 1 :]], dim=1) if against is None else logits[:, against, None]
            odds = (logits[:, k] - rest.logsumexp(dim=1)).sum() / (self.goal - self.start)
            slopes = torch.autograd.grad(odds, list(record.values()), allow_unused=True)
        return {site: torch.zeros_like(x) if slope is None else slope for (site, x), slope in zip(record.items(), slopes, strict=True)}

    @cached_property
    def aligned(self) -> tuple[Ints, Ints]:
        """Aligned tokens of A, and their partners in B."""
        both = [(i, j) for i, j in enumerate(self.partners) if j is not None]
        a, b = np.array(both, dtype=np.int64).T
        return a, b

    def _cells(self, shape: tuple[int, ...], by_token: bool) -> Bools:
        """Return which cells can be replaced."""
        cells = np.ones(shape, dtype=np.bool_)
        if by_token:
            cells[..., [i for i, j in enumerate(self.partners) if j is None]] = False
        return cells

    def _work(self, cells: Bools, layers: range) -> float:
        """Return the work of computing some cells: weights x tokens."""
        config, has = self.model.config, self.model.capabilities
        table = config.vocab_size * getattr(config, "embedding_width", config.width)
        each = max(1, self.model.network.parameters_count() - table) / has.layers
        passes = sum(int(cells[i].sum()) * (has.layers - layer) for i, layer in enumerate(layers))
        return float(passes * each * len(self.first.tokens))

    def _estimate(self, what: str, shape: tuple[int, ...], by_token: bool) -> Floats:
        """Return the shares to first order."""
        (record, _), donor = self._sides
        a, b = self.aligned
        estimate = np.full(shape, np.nan) if by_token else np.zeros(shape)
        for i, layer in enumerate(range(shape[0])):
            site = (what, layer)
            moved = donor[site][0][..., b, :] - record[site].detach()[0][..., a, :]
            products = (moved * self._gradients[site][0][..., a, :]).sum(dim=-1).double().numpy()
            if by_token:
                estimate[i][..., a] = products
            else:
                estimate[i] = products.sum(axis=-1)
        return estimate

    def grouped(self, what: str, groups: Sequence[Ints], progress: Progress | None = None) -> Floats:
        """Return the shares of a quantity, (L or L + 1, .., groups), if the tokens of a group are replaced together; NaN if none can be.

        Args:
            groups: places of tokens, counted from 0.
        """
        layers, middle, _ = self._axes_of(what)
        aligned = [np.intersect1d(group, self.aligned[0]).astype(np.int64) for group in groups]
        cells = np.zeros((layers, *middle, len(groups)), dtype=np.bool_)
        cells[..., [place for place, group in enumerate(aligned) if len(group)]] = True
        return self._exact(what, cells, aligned, progress)[0]

    def _axes_of(self, what: str) -> tuple[int, tuple[int, ...], tuple[str, ...]]:
        """Return the number of layers or depths, the number of heads or components if they are an axis, and the axes with tokens."""
        has = self.model.capabilities
        if what not in has.replaces:
            raise InputError(f"{self.model.name} has no {what} to replace; it has {', '.join(has.replaces)}.")
        middle = {"head": has.heads, "component": has.components, "value": has.heads}.get(what)
        return has.layers + (what == "state"), () if middle is None else (middle,), AXES[what]

    def _exact(self, what: str, cells: Bools, groups: Sequence[Ints] | None, progress: Progress | None) -> tuple[Floats, Floats]:
        """Return shares and logits of some cells; NaN elsewhere. A cell whose vectors are equal in both sentences brings nothing.

        Args:
            groups: aligned tokens of each place along the last axis of `cells`; None if there is no such axis and all are replaced.
        """

        from sentviz.models.batched_replacements import logits_of_copies
        from sentviz.models.protocol import Replacement

        (record, own_logits), donor = self._sides
        a, b = self.aligned
        partner = np.full(len(self.first.tokens), -1)
        partner[a] = b
        logits = np.full((*cells.shape, own_logits.shape[1]), np.nan)
        logits[cells] = self.first.logits
        replaced: dict[Site, Replacement] = {}
        rows: list[tuple[int, ...]] = []
        for layer in range(len(cells)):
            mine, theirs = record[what, layer].detach()[0], donor[what, layer][0]
            places = np.argwhere(cells[layer])
            of_place = [a] * len(places) if groups is None else [groups[place] for place in places[:, -1]]
            owner = np.repeat(np.arange(len(places)), [len(group) for group in of_place])
            middle = (places if groups is None else places[:, :-1])[owner].T
            tokens = np.concatenate([*of_place, np.empty(0, dtype=np.int64)])
            at = tuple(torch.from_numpy(axis.copy()) for axis in middle)
            source, target = (torch.from_numpy(x) for x in (partner[tokens], tokens))
            values = theirs[(*at, source)]
            changes = (values != mine[(*at, target)]).any(dim=-1).numpy()
            moving = np.zeros(len(places), dtype=np.bool_)
            moving[owner[changes]] = True
            number = np.cumsum(moving) - 1 + len(rows)
            keep = moving[owner]
            if keep.any():
                used = torch.from_numpy(np.flatnonzero(keep))
                copy = torch.from_numpy(number[owner[keep]])
                replaced[what, layer] = Replacement((copy, *(axis[used] for axis in at), target[used]), values[used])
                rows += [(layer, *map(int, place)) for place in places[moving]]
        if rows:
            out = logits_of_copies(self.model, self.first, replaced, len(rows), progress).double().numpy()
            logits[tuple(np.array(rows).T)] = out[1:]
        share = np.full(cells.shape, np.nan)
        share[cells] = self.share(logits[cells])
        return share, logits
