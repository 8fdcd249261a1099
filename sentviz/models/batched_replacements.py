"""Run many copies of one text as one batch, each with other vectors replaced.

A copy joins the batch at the lowest layer in which one of its vectors is replaced: below that layer it equals the text itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor

from sentviz.models.batches import tokens_per_batch
from sentviz.models.protocol import InterventionTensors, Replacement, Site
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.models.model import Model


def logits_of_copies(
    model: Model,
    trace: Trace,
    replaced: Mapping[Site, Replacement],
    copies: int,
    progress: Callable[[int, int], None] | None = None,
) -> Tensor:
    """Return the logits of a text and of its copies, (1 + copies, K); row 0 is the text. The trace's interventions stay in effect.

    Args:
        trace: of the text.
        replaced: new vectors by site. The first axis of `Replacement.at` is the number of the copy, counted from 0.
        progress: called with the finished and all (row, layer) pairs after each batch.
    """
    network, layers, change = model.network, model.capabilities.layers, model.applied(model.intervention(trace.change))
    order, joined = _by_first_layer(replaced, copies, layers)
    new = {site: Replacement((order[cast(Tensor, each.at[0])] + 1, *each.at[1:]), each.values) for site, each in replaced.items()}
    done, total = 0, sum(1 + count for count in joined[:-1])
    with torch.inference_mode():
        inputs = network.ready(model.inputs(model.encode(trace.text, trace.text_pair, trace.change)))
        x = change.put("state", 0, network.embed(inputs))
        room = max(1, tokens_per_batch(network) // max(1, x.shape[1]))
        for layer in range(layers + 1):
            added = 1 + joined[layer] - len(x)
            if added:
                copied = x[:1].expand(added, *x.shape[1:])
                if ("state", layer) in new:
                    copied = new["state", layer].rows(len(x), len(x) + added).into(copied)
                x = torch.cat([x, copied])
            if layer == layers:
                break
            parts = []
            for start in range(0, len(x), room):
                model.check()
                part = x[start : start + room]
                sites = {site: each.rows(start, start + len(part)) for site, each in new.items() if site[1] in (layer, layer + 1)}
                parts.append(network.advance(layer, part, inputs.expand(len(part)), _with(change, sites)))
                done += len(part)
                if progress is not None:
                    progress(done, total)
            x = torch.cat(parts)
        logits: Tensor = network.classifier(network.pool(x, inputs.expand(len(x)).mask))
        return logits[torch.cat([torch.zeros(1, dtype=torch.long), order + 1])]


def _by_first_layer(replaced: Mapping[Site, Replacement], copies: int, layers: int) -> tuple[Tensor, list[int]]:
    """Return the rank of each copy by its lowest replaced layer, (copies,), and how many copies begin at most at each layer, (L + 1)."""
    first = torch.full((copies,), layers)
    for (_, layer), each in replaced.items():
        rows = cast(Tensor, each.at[0])
        first[rows] = first[rows].clamp(max=layer)
    rank = torch.empty(copies, dtype=torch.long)
    rank[first.argsort(stable=True)] = torch.arange(copies)
    return rank, [int((first <= layer).sum()) for layer in range(layers + 1)]


def _with(change: InterventionTensors, new: Mapping[Site, Replacement]) -> InterventionTensors:
    """Return the tensors of an intervention with further replaced vectors."""
    more = {site: (*change.replaced.get(site, ()), each) for site, each in new.items() if len(cast(Tensor, each.at[0]))}
    return replace(change, replaced={**change.replaced, **more}) if more else change
