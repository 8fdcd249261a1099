"""Proposition 2 put to the test: a transformer of one layer and two heads, a GRU and Markov models learn from the same sequences.

The transformer is SentiFormer's block (`sentviz.models.encoder`) at its smallest: [CLS] is read, positions are its own, the gate and the
window are left out. The proposition needs neither, and says "representable", not "learned"; what is shown is what training finds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sentviz.analysis.evaluation import wilson
from sentviz.data.tags import Tagger
from sentviz.data.texts import TokenizedText
from sentviz.data.tokenizers import SPECIALS, Tokenizer
from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.models.batches import by_length, collate
from sentviz.models.encoder import Encoder
from sentviz.models.model import Model
from sentviz.models.protocol import Inputs
from sentviz.papers.sentiformer.separation import LABELS, LONGEST, WORDS, Places, Suffixes, drawn, f_star, places_of
from sentviz.runs.configs import EncoderConfig

TRANSFORMER, GRU = "transformer, 1 layer, 2 heads", "GRU"
POSITIONS = ("aware", "learned", "sinusoid", "rotary")
LENGTHS = (2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64)  # tested lengths, in words
MARKOV = 6  # the highest order
BATCH = 64
MOST_READ = 200_000  # sequences read in training, rows times epochs

Tick = Callable[[float, str], object]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Setting:
    """Everything that decides the outcome, on one machine."""

    positions: Literal["aware", "learned", "sinusoid", "rotary"] = "aware"
    longest: int = 24  # words of a training sequence at most; 2 at least
    seed: int = 0
    rows: int = 6_000  # training sequences
    epochs: int = 3
    tested: int = 500  # sequences of each length

    def __post_init__(self) -> None:
        if self.positions not in POSITIONS:
            raise InputError(f"Positions are {', '.join(POSITIONS)}, not {self.positions!r}.")
        if not 2 <= self.longest <= LONGEST:
            raise InputError(f"Training sequences have 2 to {LONGEST} words at most, not {self.longest}.")
        if min(self.rows, self.epochs, self.tested) < 1 or self.seed < 0:
            raise InputError("There must be at least one sequence and one epoch, and no negative seed.")
        if self.rows * self.epochs > MOST_READ or self.tested > MOST_READ:
            raise InputError(f"Training reads {MOST_READ:,} sequences at most, rows times epochs, not {self.rows * self.epochs:,}.")


class Gru(nn.Module):
    """Words in, logits of the last state out."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.embedding = nn.Embedding(len(SPECIALS) + len(WORDS), width, padding_idx=0)
        self.gru, self.classifier = nn.GRU(width, width, batch_first=True), nn.Linear(width, len(LABELS))

    def forward(self, inputs: Inputs) -> Tensor:
        """(B, n) -> (B, K)."""
        states, _ = self.gru(self.embedding(inputs.ids))
        ends = inputs.lengths - 1  # last word of each text; padding after it has no effect
        return self.classifier(states[torch.arange(len(ends)), ends])  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class Solvers:
    """The trained models. Read-only."""

    transformer: Model
    gru: Gru
    suffixes: Suffixes

    def probabilities(self, sequences: Sequence[Places]) -> dict[tuple[str, int], Floats]:
        """Return the probability of "positive", (N,), from each model, by its name and Markov order; order 0 is not a Markov model."""
        readings, network = _read(self.transformer, sequences), self.transformer.network
        by_model = {
            (TRANSFORMER, 0): _positive(lambda inputs: network(inputs).logits, readings),
            (GRU, 0): _positive(self.gru, readings),
        }
        for k in range(1, self.suffixes.most + 1):
            by_model[f"last {k} word{'s' * (k > 1)}", k] = np.array([self.suffixes.probability(each, k) for each in sequences])
        return by_model

    def answers(self, text: str) -> pd.DataFrame:
        """Return each model's prediction for a typed sequence: model, order, answer, positive (its probability), right."""
        sequence = places_of(text)
        rows = [(name, order, LABELS[int(p[0] > 0.5)], float(p[0])) for (name, order), p in self.probabilities([sequence]).items()]
        frame = pd.DataFrame(rows, columns=["model", "order", "answer", "positive"])
        return frame.assign(right=frame["answer"] == LABELS[int(f_star(sequence))])


@dataclass(frozen=True, eq=False)
class Separation:
    """Models trained under a setting, with their accuracies by length."""

    setting: Setting
    solvers: Solvers
    accuracy: pd.DataFrame  # model, order, length, n, right, accuracy, low, high
    seconds: dict[str, float]  # training time by model


def separate(setting: Setting, tick: Tick = lambda share, doing: None) -> Separation:
    """Train all models on the same sequences and count what they answer, length by length.

    The test sequences all end in "good", where one half is positive: the others are told by their last word.

    Args:
        tick: gets the share that is done and what is being done; it may raise to stop.
    """
    rng = np.random.default_rng(setting.seed)
    sequences = drawn(rng, rng.integers(2, setting.longest + 1, size=setting.rows))
    positive = [f_star(each) for each in sequences]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(setting.seed)
        transformer, gru = smallest(setting.positions), Gru()
    network, readings, labels = transformer.network, _read(transformer, sequences), torch.tensor(positive).long()
    clock = [time.perf_counter()]
    _train(network, lambda x: network(x).logits, readings, labels, setting, 5e-3, lambda s: tick(0.6 * s, "the transformer learns"))
    clock.append(time.perf_counter())
    _train(gru, gru, readings, labels, setting, 1e-2, lambda s: tick(0.6 + 0.25 * s, "the GRU learns"))
    clock.append(time.perf_counter())
    solvers = Solvers(transformer, gru, Suffixes(sequences, positive, MARKOV))
    clock.append(time.perf_counter())
    accuracy = counted(solvers.probabilities, setting, lambda s: tick(0.85 + 0.15 * s, "counting right answers"))
    seconds = dict(zip((TRANSFORMER, GRU, "Markov models"), np.diff(clock).tolist(), strict=True))
    return Separation(setting, solvers, accuracy, seconds)


def smallest(positions: str = "aware", **shape: Any) -> Model:
    """An untrained transformer of one layer and two heads over `WORDS`, read as a model of the house."""
    wanted: dict[str, Any] = {
        "width": 32,
        "ffn_width": 64,
        "embedding_scale": 20.0,  # words as large as positions from the start
        "positions": positions,
        "max_length": LONGEST + 2,  # [CLS] and [SEP]
    }
    fixed = {"layers": 1, "heads": 2, "pooling": "cls", "norm": "layer", "norm_first": False, "ffn": "relu", "dropout": 0.0}
    config = EncoderConfig(len(SPECIALS) + len(WORDS), len(LABELS), **(wanted | shape | fixed))
    tokenizer = Tokenizer.train_words([" ".join(WORDS)], 1)
    # one tag for every word: a tag of its own would be a look at its neighbours
    tagger = Tagger("one for all", ("X",), {}, {}, np.zeros((1, 1), dtype=np.float32)) if config.capabilities.tags else None
    return Model("proposition-2", Encoder(config), tokenizer, LABELS, cls=True, tagger=tagger)


def _read(model: Model, sequences: Sequence[Places]) -> list[TokenizedText]:
    """Sequences as texts, through the model's tokenizer."""
    return model.read(pd.DataFrame({"text": [" ".join(WORDS[place] for place in each) for each in sequences]}))


def _train(
    network: nn.Module,
    answer: Callable[[Inputs], Tensor],
    readings: Sequence[TokenizedText],
    labels: Tensor,
    setting: Setting,
    rate: float,
    tick: Callable[[float], object],
) -> None:
    """AdamW without decay on cross-entropy, the rate up for a tenth of the steps and down again (Smith and Topin 2019)."""
    rng = np.random.default_rng(setting.seed)
    batches = -(-len(readings) // BATCH)
    steps = setting.epochs * batches
    optimizer = torch.optim.AdamW(network.requires_grad_().train().parameters(), rate, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps + 1, pct_start=0.1)
    for epoch in range(setting.epochs):
        for i, chosen in enumerate(np.array_split(rng.permutation(len(readings)), batches)):
            loss = F.cross_entropy(answer(collate([readings[j] for j in chosen])), labels[chosen])
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            tick((epoch * batches + i + 1) / steps)
    network.requires_grad_(False).eval()


def _positive(answer: Callable[[Inputs], Tensor], readings: Sequence[TokenizedText]) -> Floats:
    """Return the probability of "positive", (N,)."""
    probabilities = np.empty(len(readings))
    for batch in by_length([len(each) for each in readings]):
        with torch.inference_mode():
            probabilities[batch] = answer(collate([readings[i] for i in batch])).softmax(dim=-1)[:, 1].numpy()
    return probabilities


def counted(
    probabilities: Callable[[Sequence[Places]], dict[tuple[str, int], Floats]], setting: Setting, tick: Callable[[float], object]
) -> pd.DataFrame:
    """model, order, length, n, right, accuracy, low, high: sequences of each length that end in "good", with Wilson's 95 % intervals."""
    rng = np.random.default_rng([setting.seed, 1])
    rows = []
    for i, length in enumerate(LENGTHS):
        sequences = drawn(rng, np.full(setting.tested, length), last=1.0)
        labels = np.array([f_star(each) for each in sequences])
        for (model, order), p in probabilities(sequences).items():
            right = int(((p > 0.5) == labels).sum())
            low, high = map(float, wilson(right, len(labels)))
            rows.append((model, order, length, len(labels), right, right / len(labels), low, high))
        tick((i + 1) / len(LENGTHS))
    return pd.DataFrame(rows, columns=["model", "order", "length", "n", "right", "accuracy", "low", "high"])
