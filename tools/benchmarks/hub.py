"""Cost of Hugging Face models: a trace, an injection, and the rank-3 route."""

from __future__ import annotations

import copy
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from sentviz.models import attention as at
from sentviz.models.hub.encoder import IMPLEMENTATION, HubEncoder, register
from sentviz.models.hub.model import injected, shape
from sentviz.models.protocol import Capture, Inputs
from tools.benchmarks.timing import ratios, say

SIZES = ((128, 4, 4, 512), (256, 6, 8, 1024))  # width, layers, heads, feed-forward


def _pair(width: int, layers: int, heads: int, ffn: int, injection: str = "") -> tuple[HubEncoder, Any]:
    """A random BERT of ours, and the same weights with transformers' eager attention."""
    import transformers

    register()
    config = transformers.BertConfig(
        vocab_size=8_000,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=ffn,
        max_position_embeddings=512,
    )
    models = [
        transformers.AutoModelForSequenceClassification.from_config(copy.copy(config), attn_implementation=how).eval().requires_grad_(False)
        for how in (IMPLEMENTATION, "eager")
    ]
    models[1].load_state_dict(models[0].state_dict())
    encoder = HubEncoder(shape(models[0].config, 512, **injected(injection)), models[0]).eval()
    if injection:
        encoder.polarity.copy_(torch.rand(8_000, 3).softmax(dim=-1))
    return encoder, models[1]


def hub_trace() -> None:
    """Maps, states and logits of one text against transformers' own `output_attentions`, on the same weights."""
    for size in SIZES:
        encoder, theirs = _pair(*size)
        for n in (32, 512):
            ids = torch.randint(5, 8_000, (1, n))

            def own(ids: Tensor = ids, encoder: HubEncoder = encoder) -> None:
                with torch.inference_mode():
                    encoder(Inputs(ids), Capture())

            def hugging(ids: Tensor = ids, theirs: Any = theirs) -> None:
                with torch.inference_mode():
                    theirs(input_ids=ids, output_attentions=True, output_hidden_states=True)

            seconds = ratios({"output_attentions": hugging, "sentviz.models.hub": own})
            say(f"trace of {n} tokens, BERT of width {size[0]}, {size[1]} layers, {size[2]} heads", seconds, "output_attentions")


def injection() -> None:
    """A batch through the fused kernels with each injection against none, and transformers' fused attention beside it."""
    encoders = {name: _pair(*SIZES[1], injection=name)[0] for name in ("", "last-scaled", "all", "xia")}
    _, plain = _pair(*SIZES[1])
    plain.set_attn_implementation("sdpa")
    for texts, n in ((32, 64), (4, 512)):
        ids = torch.randint(5, 8_000, (texts, n))

        def own(name: str, ids: Tensor = ids) -> None:
            with torch.inference_mode():
                encoders[name](Inputs(ids))

        def hugging(ids: Tensor = ids) -> None:
            with torch.inference_mode():
                plain(input_ids=ids)

        runs = {name or "without": lambda name=name: own(name) for name in encoders}
        say(f"forward of {texts} texts of {n} tokens", ratios({"transformers sdpa": hugging, **runs}), "without", "transformers sdpa")


def rank_three() -> None:
    """The lexicon's bias as three more features of Q and K, against the same bias as a dense mask of the fused kernel."""
    for texts, heads, n, size in ((32, 8, 64, 32), (4, 8, 512, 32), (1, 12, 512, 64)):
        q, k, v = (torch.randn(texts, heads, n, size) for _ in range(3))
        polarity = torch.rand(texts, 1, 1, n, 3).softmax(dim=-1)
        structure = at.ScoreModifiers(biases=(at.LowRank("lexicon", polarity, polarity),))
        value = torch.ones(1)

        def folded(q: Tensor = q, k: Tensor = k, v: Tensor = v, structure: at.ScoreModifiers = structure, value: Tensor = value) -> None:
            with torch.inference_mode():
                at.attend(q[:, None], k[:, None], v, value, q.shape[-1] ** -0.5, structure)

        def dense(q: Tensor = q, k: Tensor = k, v: Tensor = v, polarity: Tensor = polarity) -> None:
            with torch.inference_mode():
                bias = (polarity[:, 0] @ polarity[:, 0].transpose(-1, -2)).expand(-1, q.shape[1], -1, -1)
                F.scaled_dot_product_attention(q, k, v, attn_mask=bias)

        def none(q: Tensor = q, k: Tensor = k, v: Tensor = v) -> None:
            with torch.inference_mode():
                F.scaled_dot_product_attention(q, k, v)

        seconds = ratios({"no bias": none, "dense bias": dense, "rank 3": folded}, rounds=25)
        say(f"attention of {texts} texts, {heads} heads, {n} tokens, d_k {size}", seconds, "no bias", "dense bias")
