"""Measure how much each head supports a class for a text: predict again with the head's output set to zero, all in one batch.

    fall(l, h) = log-odds of the trace's target - the same, head h of layer l adds nothing

This corresponds to word removal. Positive: the head supports the target, by default the predicted class. Heads can
replace each other, so the falls need not add up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sentviz.errors import InputError
from sentviz.io.lazy import torch
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.models.model import Model


def silenced(model: Model, trace: Trace) -> npt.NDArray[np.float32]:
    """Return the drop in the log-odds of the trace's target when each head's output is set to zero, (L, H) float32.

    The trace's interventions stay in effect.
    """

    from sentviz.models.batched_replacements import logits_of_copies
    from sentviz.models.protocol import Replacement

    has = model.capabilities
    if not has.silence:
        raise InputError(f"{trace.run} has no heads to silence.")
    heads, zero = torch.arange(has.heads), torch.zeros(())
    off = {("head", layer): Replacement((layer * has.heads + heads, heads, slice(None)), zero) for layer in range(has.layers)}
    logits = logits_of_copies(model, trace, off, has.layers * has.heads)
    odds = trace.value_of(logits.numpy())
    return np.asarray(odds[0] - odds[1:], dtype=np.float32).reshape(has.layers, has.heads)
