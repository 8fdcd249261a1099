"""The hardmax classifier: embedding, K layers of hardmax attention, mean over words, a linear decoder.

Source: Alcalde, Fantuzzi and Zuazua 2024, arXiv 2407.01602. A is the identity, one alpha serves all layers, words have no positions.
Training replaces the argmax by a softmax of low temperature, or takes it as it is, with gradients through the mean of the selected tokens;
the trained model is hardmax in either case. Padding takes no part in attention or mean.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sentviz.data.reviews import WordsTokenizer
from sentviz.data.texts import Encoded, TokenizedText
from sentviz.data.tokenizers import SPECIALS
from sentviz.errors import InputError, RunError
from sentviz.models import attention as at
from sentviz.models.clustering.dynamics import TOLERANCE, Clustering, simulate
from sentviz.models.model import Model, filled
from sentviz.models.protocol import Change, Inputs, LayerSeen, Network, Output, Scalar, Watch, look
from sentviz.models.terms import AttentionTerms
from sentviz.runs.configs import HardmaxConfig
from sentviz.runs.store import Run

if TYPE_CHECKING:
    import pandas as pd

Ids = npt.NDArray[np.integer[Any]]

Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


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


def shares(q: Tensor, k: Tensor, mask: Tensor | None, tolerance: float) -> Tensor:
    """(.., n, m) even shares of C_i, the keys (.., m, d) furthest in the direction of each query (.., n, d). Masked keys get none."""
    with torch.no_grad():
        norms = q.norm(dim=-1, keepdim=True)
        scores = (q / torch.where(norms > 0, norms, 1)) @ k.transpose(-1, -2)
        if mask is not None:
            scores = scores.masked_fill(~mask[..., None, :], -math.inf)
        tied = scores >= scores.amax(dim=-1, keepdim=True) - _slack(k, mask, tolerance)
        return tied.to(q.dtype) / tied.sum(dim=-1, keepdim=True)


@dataclass(frozen=True)
class HardmaxTerms(AttentionTerms):
    """Attention at temperature 0: no softmax of the scores, but even shares among the largest of a row."""

    tolerance: float = TOLERANCE

    def maps(self, q: Tensor, k: Tensor, places: Tensor | None = None, keys: Tensor | None = None, out: Tensor | None = None) -> Tensor:
        """(B, 1, 1, n, m)."""
        padding = self.structure.part(keys=keys).padding
        a = shares(q, k, None if padding is None else padding[:, None, None], self.tolerance)
        return a if out is None else out.copy_(a)

    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """A V, (B, 1, n, d)."""
        return self.maps(q, k)[:, 0] @ v


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
    """(.., 1, 1) how far a projection may fall short of the largest and still tie: of the largest norm, at least what rounding does."""
    norms = z.norm(dim=-1) if mask is None else z.norm(dim=-1) * mask
    largest: Tensor = norms.amax(dim=-1)[..., None, None]
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


class HardmaxEncoder(Network):
    """Words in, logits out. The layers are all alike: each adds step * (A z - z)."""

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
        """(V, d)."""
        return self.embedding.weight

    @property
    def alpha(self) -> Tensor:
        """Positive by construction."""
        return F.softplus(self.raw_alpha)

    @property
    def pace(self) -> Tensor:
        """alpha / (1 + alpha): the part of the way that a layer goes."""
        alpha = self.alpha
        return alpha / (1 + alpha)

    def embed(self, inputs: Inputs) -> Tensor:
        """(B, n, d)."""
        return self.embedding(inputs.ids) if inputs.vectors is None else inputs.vectors

    def terms(self, x: Tensor, inputs: Inputs, pace: Tensor) -> HardmaxTerms:
        """Every layer's attention but for its queries, keys and values, which are the tokens (B, n, d) themselves."""
        output = torch.diag(pace.expand(self.config.width))
        return HardmaxTerms(1.0, at.ScoreModifiers(inputs.mask), x.new_ones(1), output, tolerance=self.config.tolerance)

    def step(self, layer: int, x: Tensor, inputs: Inputs, watch: Watch | None, change: Change) -> tuple[Tensor, LayerSeen | None]:
        """z + step * (A z - z); a silenced layer moves nothing."""
        points, pace = x[:, None, None], self.pace
        terms = self.terms(x, inputs, pace)
        values = (x if change.values_off is None else x.masked_fill(change.values_off[:, :, None], 0))[:, None]
        seen, whole = look(points, points, values, terms, watch) if watch is not None and watch.sees(layer) else (None, None)
        out = terms.attend(points, points, values) if whole is None else whole @ values
        return x + change.silence(layer, pace * (out - x[:, None]))[:, 0], seen

    def short(self, rows: Sequence[Ids], temperature: float = 0.0, heads_off: Collection[tuple[int, int]] = ()) -> Output:
        """Logits and means of rows of words as `forward` gives them, in less time: equal words go through the layers once.

        A row without words has its mean at the origin, where the decoder says its bias.
        """
        table = self.embedding.weight
        means = torch.zeros(len(rows), self.config.width, dtype=table.dtype, device=table.device)
        if asked := [i for i, row in enumerate(rows) if len(row)]:
            ids, counts = distinct([rows[i] for i in asked])
            x, times, pace = self.embedding(ids), counts.to(table.dtype), self.pace
            for layer in range(self.config.layers):
                if (layer, 0) not in heads_off:
                    x = x + pace * (gathered(x, times, temperature, self.config.tolerance) - x)
            found = (x * times[:, :, None]).sum(dim=1) / times.sum(dim=1, keepdim=True)
            means = means.index_put((torch.tensor(asked, device=table.device),), found)
        return Output(self.classifier(means), means)

    def scalars(self) -> Iterator[Scalar]:
        """Alpha."""
        yield Scalar("alpha", -1, -1, self.alpha.item())


class HardmaxModel(Model):
    """A trained hardmax classifier; whatever takes a `Model` takes it. Computed in double precision, for the ties."""

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
        """The model of a run folder.

        Raises:
            RunError: no hardmax run, or damaged.
        """
        shape = run.shape
        if not isinstance(shape, HardmaxConfig):
            raise RunError(f"{run.name} is not a hardmax classifier.")
        network = filled(lambda: HardmaxEncoder(shape), run)
        tokenizer = cls.TOKENIZER.load(run.path("tokenizer.json"))
        assert isinstance(tokenizer, WordsTokenizer)
        return cls(run.name, network, tokenizer, run.labels, calibration=run.calibration)

    def at(self, temperature: float) -> HardmaxModel:
        """The same model with softmax attention of a temperature in `forward` and `predict`; 0 is hardmax."""
        other = copy(self)
        other.softmax_temperature = temperature
        return other

    def outputs(self, rows: Sequence[TokenizedText], change: Change | None) -> Output:
        """One batch of `forward`."""
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
        """(V, d) the embedding."""
        table = self.network.table.detach().numpy().astype(np.float64)
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

    def encode(self, text: str, text_pair: str | None = None, change: Change | None = None) -> Encoded:
        """The known words of a text, the first `config.max_length`.

        Raises:
            InputError: no readable text, no known word, or a second text.
        """
        if text_pair is not None:
            raise InputError(f"{self.name} reads single texts.")
        return super().encode(text, None, change)

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
            tolerance=self.network.config.tolerance,
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
