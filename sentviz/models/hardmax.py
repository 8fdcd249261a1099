"""The hardmax classifier: embedding, K layers of hardmax attention, mean over words, a linear decoder.

Source: Alcalde, Fantuzzi and Zuazua 2024, arXiv 2407.01602. A is the identity, one alpha serves all layers, words have no positions.
Training replaces the argmax by a softmax of low temperature, or keeps it, with gradients through the mean of the selected tokens. The
trained model is hardmax in both cases. Padding takes no part in attention or mean.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sentviz.data.reviews import WordsTokenizer
from sentviz.data.texts import Encoded, TokenizedText
from sentviz.data.tokenizers import SPECIALS
from sentviz.errors import InputError, RunError
from sentviz.io.lazy import pd
from sentviz.models import attention as at
from sentviz.models.clustering.dynamics import TOLERANCE, Clustering, simulate
from sentviz.models.model import Model, filled
from sentviz.models.protocol import Capture, Inputs, InterventionTensors, LayerActivations, Network, Output, Scalar, capture_layer
from sentviz.models.terms import AttentionTerms
from sentviz.runs.configs import HardmaxConfig
from sentviz.runs.intervention import Intervention
from sentviz.runs.store import Run

Ids = npt.NDArray[np.integer[Any]]

Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Review:
    """One text on its way through the layers. Its tokens are the words in the model's vocabulary, in order."""

    words: tuple[str, ...]  # (n) words, as in the vocabulary
    offsets: Ints  # (n, 2) characters [start, end) in the text
    known: npt.NDArray[np.bool_]  # (n,) all True: words outside the vocabulary are in `unknown`
    unknown: tuple[str, ...]  # words of the text that are not tokens, including stop words, as written
    clustering: Clustering
    means: Doubles  # (K + 1, d)
    probabilities: Doubles  # (K + 1, 2) the decoder's calibrated class probabilities for the mean before each layer and after the last
    dropped: int  # words cut off at the maximum length

    @property
    def positions(self) -> Doubles:
        """Positions of the tokens before each layer and after the last, (K + 1, n, d)."""
        return self.clustering.positions

    @property
    def leaders(self) -> Ints:
        """Tokens that are leaders, (r,); a word that occurs more than once counts once, under its first token."""
        return self.clustering.leaders

    @property
    def since(self) -> Ints:
        """The layer at which each leader became one, counted from 0, (r,)."""
        return self.clustering.since


def shares(q: Tensor, k: Tensor, mask: Tensor | None, tolerance: float) -> Tensor:
    """Return (.., n, m) equal shares of C_i, the keys (.., m, d) furthest in the direction of each query (.., n, d). Masked keys get 0."""
    with torch.no_grad():
        norms = q.norm(dim=-1, keepdim=True)
        scores = (q / torch.where(norms > 0, norms, 1)) @ k.transpose(-1, -2)
        if mask is not None:
            scores = scores.masked_fill(~mask[..., None, :], -math.inf)
        tied = scores >= scores.amax(dim=-1, keepdim=True) - _slack(k, mask, tolerance)
        return tied.to(q.dtype) / tied.sum(dim=-1, keepdim=True)


@dataclass(frozen=True)
class HardmaxTerms(AttentionTerms):
    """Attention at temperature 0: equal shares for the largest scores of a row instead of a softmax."""

    tolerance: float = TOLERANCE

    def maps(self, q: Tensor, k: Tensor, places: Tensor | None = None, keys: Tensor | None = None, out: Tensor | None = None) -> Tensor:
        """Return the map, (B, 1, 1, n, m)."""
        padding = self.structure.part(keys=keys).padding
        a = shares(q, k, None if padding is None else padding[:, None, None], self.tolerance)
        return a if out is None else out.copy_(a)

    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Return A V, (B, 1, n, d)."""
        return self.maps(q, k)[:, 0] @ v


def distinct(rows: Sequence[Ids]) -> tuple[Tensor, Tensor]:
    """Return the distinct words of each row (B, n) and how often each occurs (B, n); padding is word 0, 0 times."""
    uniques = [np.unique(row, return_counts=True) for row in rows]
    ids, counts = np.zeros((2, len(rows), max(len(words) for words, _ in uniques)), dtype=np.int64)
    for i, (words, times) in enumerate(uniques):
        ids[i, : len(words)], counts[i, : len(words)] = words, times
    return torch.from_numpy(ids), torch.from_numpy(counts)


def gathered(z: Tensor, counts: Tensor, temperature: float, tolerance: float = TOLERANCE) -> Tensor:
    """Return the average that attention takes, (B, n, d), for tokens that occur `counts` (B, n) times; a count of 0 is padding.

    Keys with almost no weight are left out: in a softmax, those below exp(-20) of the row's largest weight.
    """
    with torch.no_grad():
        scores = z @ z.transpose(1, 2)
        scores.masked_fill_(counts[:, None, :] == 0, -math.inf)
        top = scores.amax(dim=-1, keepdim=True)
        slack = _slack(z, counts > 0, tolerance) * z.norm(dim=-1, keepdim=True) if temperature == 0 else 20 * temperature
        relevant = (scores >= top - slack).flatten().nonzero().squeeze(1)
    n, flat = z.shape[1], z.flatten(0, 1)
    row = relevant // n
    key = row // n * n + relevant % n
    values, shares = flat[key], counts.flatten()[key]
    if temperature > 0:
        shares = shares * (((flat[row] * values).sum(dim=-1) - top.flatten()[row]) / temperature).exp()
    total = torch.zeros_like(flat[:, 0]).index_add(0, row, shares)
    return (torch.zeros_like(flat).index_add(0, row, shares[:, None] * values) / total[:, None]).view_as(z)


def _slack(z: Tensor, mask: Tensor | None, tolerance: float) -> Tensor:
    """Return how far below the largest a projection may be and still tie, (.., 1, 1): a share of the largest norm, at least rounding."""
    norms = z.norm(dim=-1) if mask is None else z.norm(dim=-1) * mask
    largest: Tensor = norms.amax(dim=-1)[..., None, None]
    return max(tolerance, 8 * torch.finfo(z.dtype).eps) * largest


class Decoder(nn.Module):
    """The decoder w . x + b, which gives the log-odds of the second class."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(width).mul_(width**-0.5)), nn.Parameter(torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        """Return logits, (.., d) -> (.., 2)."""
        odds = x @ self.weight + self.bias
        return torch.stack([-odds / 2, odds / 2], dim=-1)


class HardmaxEncoder(Network):
    """The network of the hardmax classifier. All layers are the same: each adds step * (A z - z)."""

    config: HardmaxConfig
    classifier: Decoder

    def __init__(self, config: HardmaxConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.width, padding_idx=SPECIALS.index("[PAD]"))
        self.raw_alpha = nn.Parameter(torch.tensor(math.log(math.e - 1)))  # softplus of it is alpha: 1 at the start
        self.classifier = Decoder(config.width)

    @property
    def table(self) -> Tensor:
        """The embedding table, (V, d)."""
        return self.embedding.weight

    @property
    def alpha(self) -> Tensor:
        """The step size alpha; positive by construction."""
        return F.softplus(self.raw_alpha)

    @property
    def pace(self) -> Tensor:
        """alpha / (1 + alpha): the share of the distance to its target that a token moves per layer."""
        alpha = self.alpha
        return alpha / (1 + alpha)

    def embed(self, inputs: Inputs) -> Tensor:
        """Return token embeddings, (B, n, d)."""
        return self.embedding(inputs.ids) if inputs.vectors is None else inputs.vectors

    def terms(self, x: Tensor, inputs: Inputs, pace: Tensor) -> HardmaxTerms:
        """Return the terms of a layer's attention; queries, keys and values are the tokens (B, n, d) themselves."""
        output = torch.diag(pace.expand(self.config.width))
        return HardmaxTerms(1.0, at.ScoreModifiers(inputs.mask), x.new_ones(1), output, tolerance=self.config.tolerance)

    def step(
        self, layer: int, x: Tensor, inputs: Inputs, capture: Capture | None, change: InterventionTensors
    ) -> tuple[Tensor, LayerActivations | None]:
        """Return z + step * (A z - z); a silenced layer moves no token."""
        points, pace = x[:, None, None], self.pace
        terms = self.terms(x, inputs, pace)
        values = change.put("value", layer, x[:, None])
        seen, effective = (
            capture_layer(points, points, values, terms, capture) if capture is not None and capture.includes(layer) else (None, None)
        )
        out = terms.attend(points, points, values) if effective is None else effective @ values
        return x + change.put("head", layer, pace * (out - x[:, None]))[:, 0], seen

    def short(self, rows: Sequence[Ids], temperature: float = 0.0, heads_off: Collection[tuple[int, int]] = ()) -> Output:
        """Return the logits and means that `forward` gives for rows of words, but faster: equal words pass the layers once.

        A row without words has the mean 0, for which the decoder returns its bias.
        """
        table = self.embedding.weight
        means = torch.zeros(len(rows), self.config.width, dtype=table.dtype, device=table.device)
        if nonempty := [i for i, row in enumerate(rows) if len(row)]:
            ids, counts = distinct([rows[i] for i in nonempty])
            x, times, pace = self.embedding(ids), counts.to(table.dtype), self.pace
            for layer in range(self.config.layers):
                if (layer, 0) not in heads_off:
                    x = x + pace * (gathered(x, times, temperature, self.config.tolerance) - x)
            row_means = (x * times[:, :, None]).sum(dim=1) / times.sum(dim=1, keepdim=True)
            means = means.index_put((torch.tensor(nonempty, device=table.device),), row_means)
        return Output(self.classifier(means), means)

    def scalars(self) -> Iterator[Scalar]:
        """Yield alpha."""
        yield Scalar("alpha", -1, -1, self.alpha.item())


class HardmaxModel(Model):
    """A trained hardmax classifier, usable as any `Model`. It computes in double precision, because ties need it."""

    TOKENIZER = WordsTokenizer
    network: HardmaxEncoder
    tokenizer: WordsTokenizer
    softmax_temperature: float = 0.0

    def __init__(
        self, name: str, network: HardmaxEncoder, tokenizer: WordsTokenizer, labels: Sequence[str], *, calibration: float = 1.0
    ) -> None:
        super().__init__(name, network.double(), tokenizer, labels, calibration=calibration)

    @classmethod
    def of(cls, run: Run) -> HardmaxModel:
        """Return the model of a run folder.

        Raises:
            RunError: the run is damaged, or is not a hardmax classifier.
        """
        shape = run.shape
        if not isinstance(shape, HardmaxConfig):
            raise RunError(f"{run.name} is not a hardmax classifier.")
        network = filled(lambda: HardmaxEncoder(shape), run)
        tokenizer = cls.TOKENIZER.load(run.path("tokenizer.json"))
        assert isinstance(tokenizer, WordsTokenizer)
        return cls(run.name, network, tokenizer, run.labels, calibration=run.calibration)

    def at(self, temperature: float) -> HardmaxModel:
        """Return the model with softmax attention of a temperature in `forward` and `predict`; 0 is hardmax."""
        softened = copy(self)
        softened.softmax_temperature, softened.batches = temperature, None
        return softened

    def outputs(self, rows: Sequence[TokenizedText], change: InterventionTensors | None) -> Output:
        """Return the outputs of one batch."""
        return self.network.short([row.ids for row in rows], self.softmax_temperature, change.heads_off if change else ())

    @property
    def alpha(self) -> float:
        """The learned step size."""
        return float(self.network.alpha.detach())

    @property
    def decision(self) -> tuple[Doubles, float]:
        """w (d,) and b: the log-odds of the second class at a point x are w . x + b; the decision line is where they are 0."""
        decoder = self.network.classifier
        return decoder.weight.detach().numpy().astype(np.float64), float(decoder.bias.detach())

    @cached_property
    def vectors(self) -> Doubles:
        """The embedding table, (V, d)."""
        table = self.network.table.detach().numpy().astype(np.float64)
        table.setflags(write=False)
        return table

    @cached_property
    def vocabulary(self) -> pd.DataFrame:
        """Table of all words (do not change it): `word`, vector `x0` .., and `score`, the log-odds of the second class at the word."""
        w, b = self.decision
        places = self.vectors[len(SPECIALS) :]
        words = [self.tokenizer.token_of(i) for i in range(len(SPECIALS), self.config.vocab_size)]
        return pd.DataFrame({"word": words, **{f"x{k}": places[:, k] for k in range(self.config.width)}, "score": places @ w + b})

    def encode(self, text: str, text_pair: str | None = None, change: Intervention | None = None) -> Encoded:
        """Return the known words of a text, at most `config.max_length`."""
        if text_pair is not None:
            raise InputError(f"{self.name} reads single texts.")
        return super().encode(text, None, change)

    def follow(self, text: str, temperature: float | None = None, without: Collection[int] = (), pinned: Collection[int] = ()) -> Review:
        """Follow a text through the layers.

        Args:
            temperature: None or 0 is hardmax; above 0, softmax of <z_i, z_j> / temperature.
            without: tokens to leave out, counted from 0 in the complete text; no further word takes their place.
            pinned: tokens that stay at their start, counted in the same way; other tokens still move towards them.
        """
        encoded = self.encode(text)
        n = len(encoded)
        if outside := sorted(i for i in {*without, *pinned} if not 0 <= i < n):
            raise InputError(f"There is no token {outside[0]}; the text has the tokens 0 to {n - 1}.")
        selected = np.array([i for i in range(n) if i not in without], dtype=np.int64)
        if not len(selected):
            raise InputError("No token is left of the text.")
        pinned_places = np.flatnonzero(np.isin(selected, list(pinned)))
        clustering = simulate(
            self.vectors[encoded.ids[selected]],
            alpha=self.alpha,
            layers=self.config.layers,
            temperature=temperature or 0.0,
            tolerance=self.network.config.tolerance,
            pinned=pinned_places,
        )
        w, b = self.decision
        means = clustering.positions.mean(axis=1)
        first = 1 / (1 + np.exp((means @ w + b) / self.calibration))
        return Review(
            words=tuple(self.tokenizer.token_of(int(i)) for i in encoded.ids[selected]),
            offsets=encoded.offsets[selected],
            known=np.ones(len(selected), dtype=np.bool_),
            unknown=self.tokenizer.unknown(text),
            clustering=clustering,
            means=means,
            probabilities=np.stack([first, 1 - first], axis=1),
            dropped=encoded.dropped,
        )
