"""Training on texts without labels before the classes are learned: masked tokens (Devlin et al. 2019, section 3.1, task 1)."""

from __future__ import annotations

from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from sentviz.models.encoder import Encoder
from sentviz.models.protocol import Change, Inputs

MASK = 1  # id of the unknown token, which replaces a masked token
SHARE = 0.15  # share of the tokens of a text that are predicted
HIDDEN, OTHER = 0.8, 0.1  # shares of these that are replaced by MASK and by a random token; the rest is unchanged


def hidden_tokens(inputs: Inputs, vocab_size: int, specials: int) -> tuple[Inputs, Tensor]:
    """Return the inputs with some tokens masked, and which tokens are to be predicted, (B, n) bool.

    Args:
        specials: number of special ids at the start of the vocabulary; they are never predicted and never used as replacements.
    """
    ids = inputs.ids
    chance = torch.rand(ids.shape, device=ids.device)
    is_masked = (chance < SHARE) & (ids >= specials)
    if inputs.mask is not None:
        is_masked &= inputs.mask
    random_ids = torch.randint(specials, vocab_size, ids.shape, device=ids.device)
    ids_masked = torch.where(chance < SHARE * (HIDDEN + OTHER), random_ids, ids)
    ids_masked = torch.where(chance < SHARE * HIDDEN, torch.full_like(ids, MASK), ids_masked)
    return replace(inputs, ids=torch.where(is_masked, ids_masked, ids)), is_masked


def states(network: Encoder, inputs: Inputs) -> Tensor:
    """Return the final state of every token, as the classifier's pooling reads it, (B, n, d)."""
    inputs = network.ready(inputs)
    x = network.embed(inputs)
    for layer in range(network.config.layers):
        x, _ = network.step(layer, x, inputs, None, Change())
    return network.final_norm(x)  # type: ignore[no-any-return]


def masked_loss(network: Encoder, inputs: Inputs, specials: int) -> Tensor:
    """Return the mean cross-entropy (nats) of the masked tokens, 0 if there are none; logits are products of states and embeddings."""
    masked_inputs, is_masked = hidden_tokens(inputs, network.config.vocab_size, specials)
    logits = states(network, masked_inputs)[is_masked] @ network.table.T
    return F.cross_entropy(logits.float(), inputs.ids[is_masked], reduction="sum") / is_masked.sum().clamp(min=1)
