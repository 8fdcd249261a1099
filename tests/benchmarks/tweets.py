"""7ess-Xin: training and inference against the way of its published code, the gain split by cause.

That way, written anew: every tweet filled up to 128 tokens, dense maps by plain softmax, an optimizer that walks through its parameters one
by one. A dense mask is added, so that both ways give the same answers, which is checked first. Tokens are drawn, as many as tweets have.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sentviz.data.tokenizers import TokenizedText
from sentviz.models.encoder import Encoder, _rotate
from sentviz.models.model import by_length, collate
from sentviz.models.protocol import Inputs
from sentviz.papers.studies.timing import threads
from sentviz.runs.configs import EncoderConfig
from sentviz.runs.presets import preset
from sentviz.training import batches
from tests.benchmarks.timing import ratios, say

VOCABULARY, LONGEST, BATCH = 30_000, 128, 64
FEW, MANY = 3, 24  # batches that a way is timed on: those filled up cost the same each, those of like lengths do not
WAY = "padded, plain, dense"


def tweets() -> None:
    """V1 and V2 in both phases: steps of training and answers, each cause alone beside the published way and ours."""
    rows = _rows()
    for name in ("7ess-v1", "7ess-v2", "7ess-v1-rope"):
        ours = Encoder(_config(name))
        plain = Plain(ours)
        _same(ours, plain, rows)
        with threads(1):
            for what, made in (("training", _training(ours, plain, rows)), ("inference", _inference(ours, plain, rows))):
                seconds = ratios({way: run for way, (run, _) in made.items()}, rounds=3)
                each = {way: 1000 * seconds[way] / count for way, (_, count) in made.items()}
                say(f"{name}, {what} of 1,000 tweets", each, WAY)
                print("  times as many: " + ", ".join(f"{way} {each[WAY] / value:.1f}" for way, value in each.items()))  # noqa: T201


def _config(name: str) -> EncoderConfig:
    config = preset(name, vocab_size=VOCABULARY, classes=2, max_length=LONGEST, dropout=0.1)
    assert isinstance(config, EncoderConfig)
    return config


def _rows() -> list[TokenizedText]:
    """Lengths about as those of Sentiment140's cleaned tweets: 13 tokens in the mean, a tenth above 24."""
    rng = np.random.default_rng(0)
    lengths = np.clip(rng.gamma(3.2, 4.1, 50 * BATCH).astype(int) + 1, 1, 48)
    return [TokenizedText(rng.integers(4, VOCABULARY, n)) for n in lengths]


class Plain(nn.Module):
    """The weights of an encoder, computed with whole maps that are kept, and dropout on maps and inside the feed-forward layers."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder, self.drop = encoder, nn.Dropout(encoder.config.dropout)

    def forward(self, ids: Tensor, mask: Tensor | None) -> Tensor:
        """(B, n) ids and a dense mask (B, n, n) -> (B, K)."""
        net, config = self.encoder, self.encoder.config
        x = net.embedding(ids) * config.embedding_scale
        if net.position is not None:
            x = x + net.position[: ids.shape[1]]
        x = self.drop(x)
        for block in net.blocks:
            attention: Any = block.attention  # type: ignore[union-attr]
            parts = attention.project(x).split(attention.widths, dim=-1)
            q, k, v = (part.unflatten(-1, (config.heads, -1)).transpose(1, 2) for part in parts)
            if config.positions == "rotary":
                q, k = _rotate(q), _rotate(k)
            if config.qk_norm:
                q, k = F.normalize(q, dim=-1) * attention.temperature, F.normalize(k, dim=-1)
            else:
                q = q / config.key_size**0.5
            energy = q @ k.transpose(-1, -2)
            if mask is not None:
                energy = energy.masked_fill(~mask[:, None], -1e9)
            maps = self.drop(F.softmax(energy, dim=-1))
            out = (maps @ v).transpose(1, 2).contiguous().flatten(-2)
            x = block.attention_norm(x + self.drop(attention.output(out)))  # type: ignore[operator,union-attr]
            wide = self.drop(F.relu(block.ffn.up(x)))  # type: ignore[operator,union-attr]
            x = block.ffn_norm(x + self.drop(block.ffn.down(wide)))  # type: ignore[operator,union-attr]
        seen = torch.ones(*ids.shape, 1) if mask is None else mask[:, 0, :, None].to(x)
        logits: Tensor = net.classifier((x * seen).sum(dim=1) / seen.sum(dim=1))
        return logits


def _padded(rows: list[TokenizedText]) -> tuple[Tensor, Tensor]:
    """Ids (B, 128) and a dense mask (B, 128, 128)."""
    ids = np.zeros((len(rows), LONGEST), dtype=np.int64)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = row.ids
    real = torch.from_numpy(ids > 0)
    return torch.from_numpy(ids), real[:, None, :].expand(-1, LONGEST, -1)


def _same(ours: Encoder, plain: Plain, rows: list[TokenizedText]) -> None:
    """Logits of both ways under the same mask, to 1e-5."""
    ours.eval(), plain.eval()
    some = rows[:BATCH]
    with torch.inference_mode():
        torch.testing.assert_close(ours(collate(some)).logits, plain(*_padded(some)), rtol=0, atol=1e-5)


def _training(ours: Encoder, plain: Plain, rows: list[TokenizedText]) -> dict[str, tuple[Callable[[], object], int]]:
    """Steps with clipped gradients, and of how many tweets: the published way, one cause at a time instead, ours."""
    lengths = np.array([len(row) for row in rows])
    mixed = [np.arange(i * BATCH, (i + 1) * BATCH) for i in range(MANY)]
    bucketed = batches(lengths, BATCH, 0, 0)[:MANY]

    def run(answer: Callable[[list[TokenizedText]], Tensor], chosen: list[Any], optimizer: torch.optim.Optimizer) -> None:
        ours.train(), plain.train()
        for some in chosen:
            loss = F.cross_entropy(answer([rows[i] for i in some]), torch.zeros(len(some), dtype=torch.long))
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(ours.parameters(), 1.0)
            optimizer.step()

    walking, fused = (torch.optim.AdamW(ours.parameters(), lr=0.0, fused=way, foreach=False if not way else None) for way in (False, True))
    return {
        WAY: (partial(run, lambda some: plain(*_padded(some)), mixed[:FEW], walking), FEW * BATCH),
        "fused attention": (partial(run, lambda some: ours(_filled(some)).logits, mixed[:FEW], walking), FEW * BATCH),
        "fused optimizer": (partial(run, lambda some: plain(*_padded(some)), mixed[:FEW], fused), FEW * BATCH),
        "ours, batches as drawn": (partial(run, lambda some: ours(collate(some)).logits, mixed, fused), MANY * BATCH),
        "ours, in buckets": (partial(run, lambda some: ours(collate(some)).logits, bucketed, fused), MANY * BATCH),
        "ours, in buckets, bf16": (partial(run, lambda some: _reduced(ours, some), bucketed, fused), MANY * BATCH),
    }


def _filled(some: list[TokenizedText]) -> Inputs:
    ids, mask = _padded(some)
    return Inputs(ids, mask[:, 0])


def _reduced(ours: Encoder, some: list[TokenizedText]) -> Tensor:
    with torch.autocast("cpu", torch.bfloat16):
        logits: Tensor = ours(collate(some)).logits.float()
    return logits


def _inference(ours: Encoder, plain: Plain, rows: list[TokenizedText]) -> dict[str, tuple[Callable[[], object], int]]:
    def run(answer: Callable[[list[TokenizedText]], Tensor], chosen: list[Any]) -> None:
        ours.eval(), plain.eval()
        with torch.inference_mode():
            for part in chosen:
                answer([rows[i] for i in part])

    mixed = [np.arange(i * BATCH, (i + 1) * BATCH) for i in range(MANY)]
    sorted_ = by_length([len(row) for row in rows])
    return {
        WAY: (partial(run, lambda part: plain(*_padded(part)), mixed[:FEW]), FEW * BATCH),
        "fused attention": (partial(run, lambda part: ours(_filled(part)).logits, mixed[:FEW]), FEW * BATCH),
        "ours, batches as drawn": (partial(run, lambda part: ours(collate(part)).logits, mixed), MANY * BATCH),
        "ours, by length": (partial(run, lambda part: ours(collate(part)).logits, sorted_), len(rows)),
    }
