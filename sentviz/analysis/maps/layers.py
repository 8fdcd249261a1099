"""Predict from the states of each layer, describe what each head attends to in a sentence, and find the heads that matter for an answer.

`silenced` measures how much each head supports a class for a text: predict again with the head's output set to zero, all in one batch.

    fall(l, h) = log-odds of the trace's target - the same, head h of layer l adds nothing

This corresponds to word removal. Positive: the head supports the target, by default the predicted class. Heads can
replace each other, so the falls need not add up.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sentviz.errors import InputError
from sentviz.io.lazy import pd, torch
from sentviz.runs.calibration import softmax
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.models.model import Model

Floats = npt.NDArray[np.float32]

PATTERNS = ("entropy", "distance", "previous", "next", "same", "first", "punctuation")
SHARE, MOST = 0.8, 8  # share of all changes that the heads that matter hold together, and their largest number


@dataclass(frozen=True, eq=False)
class HeadEffects:
    """Effects of silencing each head alone on the answer to a text."""

    falls: Floats  # (L, H) fall of the log-odds of the trace's target, before calibration
    flips: npt.NDArray[np.bool_]  # (L, H) True if the model then predicts another class

    @property
    def leading(self) -> list[tuple[int, int]]:
        """Layer and head, counted from 0, of the heads that matter, strongest first.

        They are the fewest heads that hold SHARE of the sum of all absolute falls, but at most MOST; none if no head changes anything.
        """
        sizes = np.abs(self.falls).ravel().astype(np.float64)
        order = np.argsort(-sizes, kind="stable")
        sums = sizes[order].cumsum()
        count = min(int(sums.searchsorted(SHARE * sums[-1])) + 1, MOST) if sums[-1] else 0
        return [divmod(int(place), self.falls.shape[1]) for place in order[:count]]


def verdict_by_layer(model: Model, trace: Trace) -> Floats:
    """Return the probabilities (L+1, K) if the model's final norm and classifier read each layer's states (nostalgebraist's logit lens).

    Row 0 is the embedding. The classifier was trained to read the last layer only, so a late jump is not a defect.
    """
    return softmax(logit_lens(model, trace), trace.calibration)


def logit_lens(model: Model, trace: Trace) -> Floats:
    """Return the logits (L+1, K) from which `verdict_by_layer` computes its probabilities."""
    if trace.hidden is None:
        raise InputError("The trace was made without hidden states.")
    with torch.inference_mode():
        states = torch.from_numpy(trace.hidden.copy()).to(next(model.network.parameters()).dtype)  # Stored states have single precision.
        logits = torch.cat([model.network.classifier(model.network.pool(state[None], None)) for state in states])
    return np.asarray(logits.numpy(), dtype=np.float32)


def head_patterns(trace: Trace, component: int | str = "effective") -> pd.DataFrame:
    """Return what each head attends to: a row per layer and head (counted from 0), a column per pattern.

    Rows of the map are taken by absolute size and scaled to sum 1 first, so that mixed and signed maps can be compared with plain ones.
    entropy: of a row, as a share of its maximum log n (0 = one key, 1 = all alike). distance: mean |query - key| in tokens.
    previous, next, same, first, punctuation: share of the attention on the key one before, one after, the query itself, the first token,
    and punctuation marks; means over queries.

    Raises:
        MissingMapError: the trace holds no such map.
    """
    maps = np.abs(trace.stack(component)).astype(np.float64)
    maps /= np.maximum(maps.sum(axis=-1, keepdims=True), 1e-12)
    queries, keys = np.array(trace.query_ids), np.arange(maps.shape[-1])
    step = keys[None, :] - queries[:, None]
    marks = np.array([bool(token) and all(unicodedata.category(c)[0] in "PS" for c in token) for token in trace.tokens])
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = -np.where(maps > 0, maps * np.log(maps), 0).sum(axis=-1).mean(axis=-1) / max(np.log(len(keys)), 1e-12)
    values = {
        "entropy": entropy,
        "distance": (maps * np.abs(step)).sum(axis=-1).mean(axis=-1),
        **{name: (maps * (step == offset)).sum(axis=-1).mean(axis=-1) for name, offset in (("previous", -1), ("next", 1), ("same", 0))},
        "first": maps[..., 0].mean(axis=-1),
        "punctuation": maps[..., marks & ~trace.specials].sum(axis=-1).mean(axis=-1),
    }
    rows = [
        {"layer": layer, "head": head, **{name: float(value[i, j]) for name, value in values.items()}}
        for i, layer in enumerate(trace.layer_ids)
        for j, head in enumerate(trace.head_ids)
    ]
    return pd.DataFrame(rows, columns=["layer", "head", *PATTERNS])


def silenced(model: Model, trace: Trace) -> HeadEffects:
    """Return the effects of setting each head's output to zero. The trace's interventions stay in effect."""

    from sentviz.models.batched_replacements import logits_of_copies
    from sentviz.models.protocol import Replacement

    has = model.capabilities
    if not has.silence:
        raise InputError(f"{trace.run} has no heads to silence.")
    heads, zero = torch.arange(has.heads), torch.zeros(())
    off = {("head", layer): Replacement((layer * has.heads + heads, heads, slice(None)), zero) for layer in range(has.layers)}
    logits = logits_of_copies(model, trace, off, has.layers * has.heads).numpy()
    odds, best = trace.value_of(logits), logits.argmax(axis=1)
    shape = has.layers, has.heads
    return HeadEffects((odds[0] - odds[1:]).astype(np.float32).reshape(shape), (best[1:] != best[0]).reshape(shape))
