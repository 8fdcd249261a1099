"""Measure how much each head supports the prediction for a text: predict again with the head's output set to zero, all in one batch.

    fall(l, h) = logit p(y | x) - logit p(y | x, head h of layer l adds nothing)

This corresponds to word removal. Positive: the head supports the prediction. Heads can replace each other, so the falls need not add up.
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
    from sentviz.models.protocol import Inputs, InterventionTensors, Network


def silenced(model: Model, trace: Trace) -> npt.NDArray[np.float32]:
    """Return the drop in the predicted class's log-odds when each head's output is set to zero, (L, H) float32.

    The trace's interventions stay in effect.

    Raises:
        InputError: the model has no heads to silence.
    """
    import torch

    from sentviz.models.batches import tokens_per_batch

    has = model.capabilities
    if not has.silence:
        raise InputError(f"{trace.run} has no heads to silence.")
    changed, network = model.applied(model.intervention(trace.change)), model.network
    with torch.inference_mode():
        inputs = network.ready(model.inputs(model.encode(trace.text, trace.text_pair, trace.change)))
        x = network.embed(inputs)  # Row 0 is the unchanged model. A head's row is added at its own layer: below it, nothing differs.
        room = max(1, tokens_per_batch(network) // max(1, x.shape[1]))
        for layer in range(has.layers):
            model.check()
            off = torch.zeros(len(x) + has.heads, has.layers, has.heads, dtype=torch.bool)
            off[len(x) :, layer] = torch.eye(has.heads, dtype=torch.bool)
            rows = zip(*(torch.split(each, room) for each in (torch.cat([x, x[:1].expand(has.heads, -1, -1)]), off)), strict=True)
            x = torch.cat([_after(network, layer, r, inputs.expand(len(r)), replace(changed, heads_off_by_row=o)) for r, o in rows])
        logits = network.classifier(network.pool(x, inputs.expand(len(x)).mask))
    odds = log_odds(logits.double().numpy(), int(trace.probabilities.argmax()))
    return np.asarray(odds[0] - odds[1:], dtype=np.float32).reshape(has.layers, has.heads)


def _after(network: Network, layer: int, x: Tensor, inputs: Inputs, change: InterventionTensors) -> Tensor:
    """Return the output of a layer: the input of the next layer, or of the classifier."""
    if layer == network.capabilities.layers - 1:
        return network.final(x, inputs, change)
    return network.step(layer, x, inputs, None, change)[0]
