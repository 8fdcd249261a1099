"""Learning from texts alone before the classes are learned: masked tokens (Devlin et al. 2019, section 3.1, task 1)."""

from __future__ import annotations

from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from sentviz.models.encoder import Encoder
from sentviz.models.protocol import Change, Inputs

MASK = 1  # the id of the unknown token, which stands for a hidden one
SHARE = 0.15  # of the tokens of a text that are asked for
HIDDEN, OTHER = 0.8, 0.1  # of these, shown as MASK and as any token; the rest as they are


def hidden_tokens(inputs: Inputs, vocab_size: int, specials: int) -> tuple[Inputs, Tensor]:
    """Texts with some of their tokens hidden, and which: (B, n) booleans.

    Args:
        specials: how many ids at the vocabulary's start are no text's; they are neither hidden nor shown instead.
    """
    ids = inputs.ids
    chance = torch.rand(ids.shape, device=ids.device)
    asked = (chance < SHARE) & (ids >= specials)
    if inputs.mask is not None:
        asked &= inputs.mask
    others = torch.randint(specials, vocab_size, ids.shape, device=ids.device)
    shown = torch.where(chance < SHARE * (HIDDEN + OTHER), others, ids)
    shown = torch.where(chance < SHARE * HIDDEN, torch.full_like(ids, MASK), shown)
    return replace(inputs, ids=torch.where(asked, shown, ids)), asked


def states(network: Encoder, inputs: Inputs) -> Tensor:
    """(B, n, d): every token after the last layer, as the classifier's pooling reads it."""
    inputs = network.ready(inputs)
    x = network.embed(inputs)
    for layer in range(network.config.layers):
        x, _ = network.step(layer, x, inputs, None, Change())
    return network.final_norm(x)  # type: ignore[no-any-return]


def masked_loss(network: Encoder, inputs: Inputs, specials: int) -> Tensor:
    """The mean cross-entropy (nats) of hidden tokens, 0 where there are none; a state tells a token by its likeness with the embeddings."""
    shown, asked = hidden_tokens(inputs, network.config.vocab_size, specials)
    logits = states(network, shown)[asked] @ network.table.T
    return F.cross_entropy(logits.float(), inputs.ids[asked], reduction="sum") / asked.sum().clamp(min=1)
