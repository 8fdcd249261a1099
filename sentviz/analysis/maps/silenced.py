"""Which heads the answer to one text leans on: the model asked again without each of them, all in one batch.

    fall(l, h) = logit p(y | x) - logit p(y | x, head h of layer l adds nothing)

as word removal does it for words. Positive: the head supports the answer. That is what the head does as things stand: heads can stand in
for each other, so that falls need not add up.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sentviz.analysis.explain import log_odds
from sentviz.errors import InputError
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from torch import Tensor

    from sentviz.models.model import Model
    from sentviz.models.protocol import Change, Inputs, Network


def silenced(model: Model, trace: Trace) -> npt.NDArray[np.float32]:
    """(L, H) how much the log-odds of the predicted class fall when a head adds nothing, under the trace's own interventions.

    Raises:
        InputError: the model has no heads to silence.
    """
    import torch

    from sentviz.models.batches import TOKENS_PER_BATCH

    has = model.capabilities
    if not has.silence:
        raise InputError(f"{trace.run} has no heads to silence.")
    changed, network = model.applied(model.intervention(trace.change)), model.network
    with torch.inference_mode():
        inputs = network.ready(model.inputs(model.encode(trace.text, trace.text_pair, trace.change)))
        x = network.embed(inputs)  # row 0 is as it was; a head's row is the same up to its own layer, where it joins
        room = max(1, TOKENS_PER_BATCH // max(1, x.shape[1]))
        for layer in range(has.layers):
            off = torch.zeros(len(x) + has.heads, has.layers, has.heads, dtype=torch.bool)
            off[len(x) :, layer] = torch.eye(has.heads, dtype=torch.bool)
            rows = zip(*(torch.split(each, room) for each in (torch.cat([x, x[:1].expand(has.heads, -1, -1)]), off)), strict=True)
            x = torch.cat([_after(network, layer, r, inputs.expand(len(r)), replace(changed, heads_off_by_row=o)) for r, o in rows])
        logits = network.classifier(network.pool(x, inputs.expand(len(x)).mask))
    odds = log_odds(logits.double().numpy(), int(trace.probabilities.argmax()))
    return np.asarray(odds[0] - odds[1:], dtype=np.float32).reshape(has.layers, has.heads)


def _after(network: Network, layer: int, x: Tensor, inputs: Inputs, change: Change) -> Tensor:
    """What the next layer, or the classifier, reads."""
    if layer == network.capabilities.layers - 1:
        return network.final(x, inputs, change)
    return network.step(layer, x, inputs, None, change)[0]
