"""The hardmax classifier: embedding, K layers of hardmax attention, mean over words, a linear decoder.

Source: Alcalde, Fantuzzi and Zuazua 2024, arXiv 2407.01602. A is the identity, one alpha serves all layers, words have no positions.
Training replaces the argmax by a softmax of low temperature, or takes it as it is, with gradients through the mean of the selected tokens;
the trained model is hardmax in either case. Padding takes no part in attention or mean.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from copy import copy
from dataclasses import dataclass, fields
from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING, Literal, cast

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sentviz.errors import InputError, RunError
from sentviz.hardmax.dynamics import TOLERANCE, Clustering, simulate
from sentviz.hardmax.text import WordsTokenizer
from sentviz.models.encoder import Encoder
from sentviz.models.model import Ids, Model
from sentviz.models.protocol import Batch, Change, LayerSeen, Output, Watch
from sentviz.models.weights import load_weights
from sentviz.runs import Run
from sentviz.text import SPECIALS, Encoded

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["HardmaxConfig", "HardmaxEncoder", "HardmaxModel", "Review"]

Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class HardmaxConfig:
    """The shape of a hardmax classifier; stored with a run. One head and one component, so that it reads like the other models."""

    vocab_size: int
    classes: int = 2
    max_length: int = 128  # words
    width: int = 2  # d
    layers: int = 8
    heads: int = 1
    components: int = 1
    mixing: Literal["none"] = "none"
    pooling: Literal["mean"] = "mean"
    segments: int = 1
    lexicon: Literal["none"] = "none"
    kind: Literal["hardmax"] = "hardmax"
    cleaning: bool = True  # stop-words and possessives dropped
    training: Literal["softmax", "hardmax"] = "softmax"
    training_temperature: float = 1e-3
    tolerance: float = TOLERANCE

    def __post_init__(self) -> None:
        if self.classes != 2:
            raise ValueError(f"The hardmax classifier tells two classes apart, not {self.classes}.")
        for name in ("vocab_size", "max_length", "width", "layers"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}.")


@dataclass(frozen=True, eq=False)
class Review:
    """One text on its way through the layers. Tokens are the words that the model knows, in order; others are not in it."""

    words: tuple[str, ...]  # (n) as in the vocabulary
    offsets: Ints  # (n, 2) characters [start, end) in the text
    known: npt.NDArray[np.bool_]  # (n,) all true: words outside the vocabulary are no tokens, see `unknown`
    unknown: tuple[str, ...]  # words of the text that are no tokens, stop-words too, as written
    clustering: Clustering
    means: Doubles  # (K + 1, d)
    probabilities: Doubles  # (K + 1, 2) the decoder's, of the mean before each layer and after the last
    dropped: int  # words cut off at the maximum length

    @property
    def positions(self) -> Doubles:
        """(K + 1, n, d)."""
        return self.clustering.positions

    @property
    def leaders(self) -> Ints:
        """(r,) tokens; words that occur more than once count as one, under the first."""
        return self.clustering.leaders

    @property
    def since(self) -> Ints:
        """(r,) the layer at which each became a leader, counted from 0."""
        return self.clustering.since


def attention(z: Tensor, mask: Tensor | None, temperature: float, tolerance: float = TOLERANCE) -> Tensor:
    """(B, n, n) weights of tokens (B, n, d): softmax of <z_i, z_j> / temperature, or at 0 even shares of C_i. Masked keys get none."""
    if temperature > 0:
        scores = z @ z.transpose(1, 2) / temperature
        return (scores if mask is None else scores.masked_fill(~mask[:, None, :], -math.inf)).softmax(dim=-1)
    with torch.no_grad():
        scores = F.normalize(z, dim=-1, eps=torch.finfo(z.dtype).tiny) @ z.transpose(1, 2)
        if mask is not None:
            scores = scores.masked_fill(~mask[:, None, :], -math.inf)
        tied = scores >= scores.amax(dim=-1, keepdim=True) - _slack(z, mask, tolerance)
        return tied.to(z.dtype) / tied.sum(dim=-1, keepdim=True)


def distinct(rows: Sequence[Ids]) -> tuple[Tensor, Tensor]:
    """The distinct words of each row (B, n) and how often each occurs (B, n); padding is word 0, 0 times."""
    found = [np.unique(row, return_counts=True) for row in rows]
    ids, counts = np.zeros((2, len(rows), max(len(words) for words, _ in found)), dtype=np.int64)
    for i, (words, times) in enumerate(found):
        ids[i, : len(words)], counts[i, : len(words)] = words, times
    return torch.from_numpy(ids), torch.from_numpy(counts)


def gathered(z: Tensor, counts: Tensor, temperature: float, tolerance: float = TOLERANCE) -> Tensor:
    """(B, n, d) what `attention` averages, for tokens of which `counts` (B, n) says how often each occurs; 0 is padding.

    Takes only what has weight: of the softmax, all that is not below exp(-20) of a row's largest.
    """
    with torch.no_grad():
        scores = z @ z.transpose(1, 2)
        scores.masked_fill_(counts[:, None, :] == 0, -math.inf)
        top = scores.amax(dim=-1, keepdim=True)
        slack = _slack(z, counts > 0, tolerance) * z.norm(dim=-1, keepdim=True) if temperature == 0 else 20 * temperature
        kept = (scores >= top - slack).flatten().nonzero().squeeze(1)
    n, flat = z.shape[1], z.flatten(0, 1)
    row = kept // n
    key = row // n * n + kept % n
    values, shares = flat[key], counts.flatten()[key]
    if temperature > 0:
        shares = shares * (((flat[row] * values).sum(dim=-1) - top.flatten()[row]) / temperature).exp()
    total = torch.zeros_like(flat[:, 0]).index_add(0, row, shares)
    return (torch.zeros_like(flat).index_add(0, row, shares[:, None] * values) / total[:, None]).view_as(z)


def _slack(z: Tensor, mask: Tensor | None, tolerance: float) -> Tensor:
    """(B, 1, 1) how far a projection may fall short of the largest and still tie: of the largest norm, at least what rounding does."""
    norms = z.norm(dim=-1) if mask is None else z.norm(dim=-1) * mask
    largest: Tensor = norms.amax(dim=1)[:, None, None]
    return max(tolerance, 8 * torch.finfo(z.dtype).eps) * largest


class Decoder(nn.Module):
    """w . x + b, the log-odds of the second class."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(width) * width**-0.5), nn.Parameter(torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        """(.., d) -> (.., 2) logits."""
        odds = x @ self.weight + self.bias
        return torch.stack([-odds / 2, odds / 2], dim=-1)


class Layer:
    """One layer as the explanations know them: an attention block that adds step * (A z - z)."""

    def __init__(self, config: HardmaxConfig, step: Tensor) -> None:
        self.config, self.step = config, step
        output = SimpleNamespace(weight=step * torch.eye(config.width, dtype=step.dtype, device=step.device))
        self.attention = SimpleNamespace(output=output, head_norm=None)

    def __call__(
        self, x: Tensor, batch: Batch, watch: Watch | None, change: Change, temperature: float = 0.0, off: bool = False
    ) -> tuple[Tensor, Tensor]:
        """(B, n, d) -> (B, n, d), and the attention (B, n, n)."""
        weights = attention(x, batch.mask, temperature, self.config.tolerance)
        values = x if change.values_off is None else x.masked_fill(change.values_off[:, :, None], 0)
        return (x if off else x + self.step * (weights @ values - x)), weights


class HardmaxEncoder(nn.Module):
    """Words in, logits out; the interface of `sentviz.models.encoder.Encoder`."""

    def __init__(self, config: HardmaxConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.width, padding_idx=SPECIALS.index("[PAD]"))
        self.raw_alpha = nn.Parameter(torch.tensor(math.log(math.e - 1)))  # softplus of it is alpha: 1 at the start
        self.classifier = Decoder(config.width)

    @property
    def alpha(self) -> Tensor:
        """Positive by construction."""
        return F.softplus(self.raw_alpha)

    @property
    def blocks(self) -> list[Layer]:
        """The layers; all alike."""
        alpha = self.alpha
        return [Layer(self.config, alpha / (1 + alpha))] * self.config.layers

    def forward(
        self, batch: Batch, watch: Watch | None = None, change: Change | None = None, tokens: Tensor | None = None, temperature: float = 0.0
    ) -> Output:
        """Run a batch; `temperature` 0 is hardmax."""
        change = change or Change()
        x = self.embedding(batch.ids) if tokens is None else tokens
        hidden, seen, maps = [x], {}, []
        for layer, block in enumerate(self.blocks):
            before = x
            x, weights = block(x, batch, None, change, temperature, (layer, 0) in change.heads_off)
            if watch is None:
                continue
            hidden.append(x)
            if watch.layers and layer not in watch.layers:
                continue
            rows = list(watch.queries) or slice(None)
            some = weights[:, None, rows].float()
            seen[layer] = LayerSeen(
                scores=(before @ before.transpose(1, 2))[:, None, None, rows].float() if watch.scores else None,
                queries=before[:, None, None].float() if watch.projections else None,
                keys=before[:, None, None].float() if watch.projections else None,
                values=before[:, None].float() if watch.projections else None,
            )
            maps.append(some)
        read = self._read(x, batch)
        if watch is None:
            return read
        effective = torch.stack(maps) if watch.maps and maps else None
        components = None if effective is None else effective[:, :, None]
        return Output(read.logits.float(), read.pooled.float(), components, effective, hidden, seen)

    def _read(self, x: Tensor, batch: Batch) -> Output:
        pooled = self.pool(x, batch.mask)
        return Output(self.classifier(pooled), pooled)

    def short(self, rows: Sequence[Ids], temperature: float = 0.0, heads_off: Collection[tuple[int, int]] = ()) -> Output:
        """Logits and means of rows of words as `forward` gives them, in less time: equal words go through the layers once.

        A row without words has its mean at the origin, where the decoder says its bias.
        """
        table = self.embedding.weight
        means = torch.zeros(len(rows), self.config.width, dtype=table.dtype, device=table.device)
        if asked := [i for i, row in enumerate(rows) if len(row)]:
            ids, counts = distinct([rows[i] for i in asked])
            x, times, step = self.embedding(ids), counts.to(table.dtype), self.blocks[0].step
            for layer in range(self.config.layers):
                if (layer, 0) not in heads_off:
                    x = x + step * (gathered(x, times, temperature, self.config.tolerance) - x)
            found = (x * times[:, :, None]).sum(dim=1) / times.sum(dim=1, keepdim=True)
            means = means.index_put((torch.tensor(asked, device=table.device),), found)
        return Output(self.classifier(means), means)

    def ready(self, batch: Batch) -> Batch:
        """The batch: nothing is added to it here."""
        return batch

    def pool(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """The mean over real tokens: (B, n, d) -> (B, d)."""
        if mask is None:
            return x.mean(dim=1)
        return (x * mask[:, :, None]).sum(dim=1) / mask.sum(dim=1, keepdim=True).clamp_min(1)

    def lambdas(self) -> Tensor:
        """(L, 1) ones."""
        return torch.ones(self.config.layers, 1)

    def parameters_count(self) -> int:
        """Numbers that training fits: the embedding, w, v and alpha."""
        return sum(p.numel() for p in self.parameters())


class HardmaxModel(Model):
    """A trained hardmax classifier; whatever takes a `Model` takes it. Computed in double precision, for the ties."""

    tokenizer: WordsTokenizer
    softmax_temperature: float = 0.0

    def __init__(
        self, name: str, encoder: HardmaxEncoder, tokenizer: WordsTokenizer, labels: Sequence[str], *, temperature: float = 1.0
    ) -> None:
        super().__init__(name, cast(Encoder, encoder.double()), tokenizer, labels, temperature=temperature)

    @classmethod
    def of(cls, run: Run) -> HardmaxModel:
        """The model of a run folder.

        Raises:
            RunError: no hardmax run, or damaged.
        """
        stored = run.config["model"]
        if stored.get("kind") != "hardmax":
            raise RunError(f"{run.name} is no hardmax classifier.")
        try:
            config = HardmaxConfig(**{item.name: stored[item.name] for item in fields(HardmaxConfig)})
        except (KeyError, TypeError, ValueError) as error:
            raise RunError(f"{run.name}: config.json describes no hardmax classifier ({error}).") from error
        encoder = HardmaxEncoder(config)
        try:
            load_weights(encoder, run.path("model.safetensors"))
        except RunError as error:
            raise error if str(error).startswith(run.name) else RunError(f"{run.name}: {error}") from error
        tokenizer = WordsTokenizer.load(run.path("tokenizer.json"))
        assert isinstance(tokenizer, WordsTokenizer)
        return cls(run.name, encoder, tokenizer, run.labels, temperature=run.config["temperature"])

    def at(self, temperature: float) -> HardmaxModel:
        """The same model with softmax attention of a temperature in `forward` and `predict`; 0 is hardmax."""
        other = copy(self)
        other.softmax_temperature = temperature
        return other

    def answers(self, rows: Sequence[Ids], segments: Sequence[Ids] | None, change: Change | None) -> Output:
        """One batch of `forward`; `segments` say nothing here."""
        return self.hardmax.short(rows, self.softmax_temperature, change.heads_off if change else ())

    @property
    def hardmax(self) -> HardmaxEncoder:
        """The encoder by its own type."""
        return cast(HardmaxEncoder, self.encoder)

    @property
    def alpha(self) -> float:
        """The learned step size."""
        return float(self.hardmax.alpha.detach())

    @property
    def decision(self) -> tuple[Doubles, float]:
        """w (d,) and b: the log-odds of the second class at a point x are w . x + b; the decision line is where they are 0."""
        decoder = self.hardmax.classifier
        return decoder.weight.detach().numpy().astype(np.float64), float(decoder.bias.detach())

    @cached_property
    def vectors(self) -> Doubles:
        """(V, d) the embedding."""
        table = self.encoder.embedding.weight.detach().numpy().astype(np.float64)
        table.setflags(write=False)
        return table

    @cached_property
    def vocabulary(self) -> pd.DataFrame:
        """Every word: `word`, its vector `x0` .. and `score`, the decoder's log-odds of the second class at the word. Do not change it."""
        import pandas as pd

        w, b = self.decision
        places = self.vectors[len(SPECIALS) :]
        words = [self.tokenizer.token_of(i) for i in range(len(SPECIALS), self.config.vocab_size)]
        return pd.DataFrame({"word": words, **{f"x{k}": places[:, k] for k in range(self.config.width)}, "score": places @ w + b})

    def encode(self, text: str, text_pair: str | None = None) -> Encoded:
        """The known words of a text, the first `config.max_length`.

        Raises:
            InputError: no readable text, no known word, or a second text.
        """
        if text_pair is not None:
            raise InputError(f"{self.name} reads single texts.")
        return super().encode(text)

    def words(self, text: str) -> list[str]:
        """The tokens of a text, spelt as in the vocabulary; `follow` has their offsets."""
        return [self.tokenizer.token_of(int(i)) for i in self.encode(text).ids]

    def follow(self, text: str, temperature: float | None = None, without: Collection[int] = (), pinned: Collection[int] = ()) -> Review:
        """A text through the layers.

        Args:
            temperature: None or 0 is hardmax; above, softmax of <z_i, z_j> / temperature.
            without: tokens left out, counted in the whole text from 0; another word does not move up for them.
            pinned: tokens that stay where they start, counted likewise; others still move towards them.
        Raises:
            InputError: no known word, none left, or a token that is not there.
        """
        encoded = self.encode(text)
        n = len(encoded)
        if outside := sorted(i for i in {*without, *pinned} if not 0 <= i < n):
            raise InputError(f"There is no token {outside[0]}; the text has the tokens 0 to {n - 1}.")
        kept = np.array([i for i in range(n) if i not in without], dtype=np.int64)
        if not len(kept):
            raise InputError("No token is left of the text.")
        held = np.flatnonzero(np.isin(kept, list(pinned)))
        clustering = simulate(
            self.vectors[encoded.ids[kept]],
            alpha=self.alpha,
            layers=self.config.layers,
            temperature=temperature or 0.0,
            tolerance=self.hardmax.config.tolerance,
            pinned=held,
        )
        w, b = self.decision
        means = clustering.positions.mean(axis=1)
        first = 1 / (1 + np.exp(means @ w + b))
        return Review(
            words=tuple(self.tokenizer.token_of(int(i)) for i in encoded.ids[kept]),
            offsets=encoded.offsets[kept],
            known=np.ones(len(kept), dtype=np.bool_),
            unknown=self.tokenizer.unknown(text),
            clustering=clustering,
            means=means,
            probabilities=np.stack([first, 1 - first], axis=1),
            dropped=encoded.dropped,
        )
