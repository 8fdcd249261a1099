"""Train our own networks, in the configuration of a preset, from random weights on tokens of the training texts."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sentviz.data import datasets
from sentviz.data.lexicon import Lexicon
from sentviz.data.tags import Tagger
from sentviz.data.tokenizers import SPECIALS, Tokenizer
from sentviz.errors import InputError
from sentviz.models.batches import read
from sentviz.models.encoder import Encoder
from sentviz.models.loading import network_of
from sentviz.models.mixing import Constrained, Differential
from sentviz.models.model import Model
from sentviz.models.protocol import Inputs, InterventionTensors, Network
from sentviz.runs.configs import CONFIGS, ModelConfig
from sentviz.runs.presets import find_preset, preset
from sentviz.training.recipe import Recipe
from sentviz.training.task import TrainingTask

MASK = 1  # id of the unknown token, which replaces a masked token
SHARE = 0.15  # share of the tokens of a text that are predicted
HIDDEN, OTHER = 0.8, 0.1  # shares of these that are replaced by MASK and by a random token; the rest is unchanged
EXAMPLE = "Not bad at all, but I would not see it twice."


class OwnTask(TrainingTask):
    """A network that its configuration alone describes, with a tokenizer trained on the training texts. Optimizer: AdamW."""

    def __init__(self, recipe: Recipe, device: str = "cpu") -> None:
        super().__init__(recipe, device)
        pairs = "text_pair" in self.train.frame
        self.tokenizer = self.make_tokenizer()
        self.example = self._example()
        shape = self.shape(pairs)
        self.tagger = Tagger.load() if shape.capabilities.tags else None
        self.rows = read(self.tokenizer, self.train.frame, max_length=recipe.max_length, cls=recipe.cls, segments=pairs, tagger=self.tagger)
        torch.manual_seed(recipe.seed)
        self.network = self.make_network(shape)
        self.begin()
        self.network.to(self.device)
        self.optimizer = torch.optim.AdamW(self.groups(), fused=True)

    def make_tokenizer(self) -> Tokenizer:
        """Return the tokenizer: by default a new one, trained on the training texts."""
        recipe, frame = self.recipe, self.train.frame
        texts = [text for name in ("text", "text_pair") if name in frame for text in frame[name]]
        return Tokenizer.train(recipe.tokenizer, texts, min_count=recipe.min_count, vocab_size=recipe.vocab_size)

    def shape(self, pairs: bool) -> ModelConfig:
        """Return the network's configuration.

        Args:
            pairs: True if the data set has pairs of texts.
        """
        recipe, known = self.recipe, _settings(self.recipe)
        values: dict[str, Any] = {"dropout": recipe.dropout, "segments": 2 if pairs else 1}
        values = {name: value for name, value in values.items() if name in known}
        values |= {"vocab_size": self.tokenizer.vocab_size, "classes": len(self.train.labels), "max_length": recipe.max_length}
        return preset(recipe.model, **(values | recipe.shape))

    def make_network(self, shape: ModelConfig) -> Network:
        """Return the network as it is before the first step, with random numbers of torch's global generator."""
        network = network_of(shape)
        if self.recipe.start:
            with torch.no_grad():
                nn.init.normal_(network.table, std=self.recipe.start)[0] = 0
        return network

    @classmethod
    def check(cls, recipe: Recipe) -> None:
        """Check that a network for a data set of pairs can tell two texts apart."""
        if datasets.info(recipe.dataset).pair and "segments" not in _settings(recipe):
            raise InputError(f"{recipe.model} reads single texts; {recipe.dataset} has pairs.")

    def _example(self) -> tuple[str, str | None]:
        text, pair = self.recipe.example or EXAMPLE, self.recipe.example_pair or None
        try:
            self.tokenizer.encode(text, pair, max_length=self.recipe.max_length, cls=self.recipe.cls)
        except InputError as error:
            raise InputError(f"The recipe's example cannot be used: {error}") from error
        return text, pair

    def begin(self) -> None:
        """Set the parts of the new network that are not trained; does nothing by default."""

    def groups(self) -> list[dict[str, Any]]:
        """Return groups of parameters, each with its highest learning rate and its weight decay."""
        learned = [p for p in self.network.parameters() if p.requires_grad]
        return [{"params": learned, "lr": self.recipe.learning_rate, "weight_decay": self.recipe.weight_decay}]

    def model(self) -> Model:
        """Return a copy of the network as a model."""
        return Model(self.recipe.name, self.copy(), self.tokenizer, self.train.labels, cls=self.recipe.cls, tagger=self.tagger)

    def copy(self) -> Network:
        """Return a copy of the network on the CPU. Making it draws random numbers; the shipped runs depend on these draws."""
        copy = network_of(self.network.config)
        copy.load_state_dict({k: v.detach().cpu() for k, v in self.network.state_dict().items()})
        return copy


class EncoderTask(OwnTask):
    """Our encoder, with polarities from a lexicon, and lambda parameters with a separate rate and no weight decay."""

    network: Encoder
    masks = True

    def masked_loss(self, rows: npt.NDArray[np.int64]) -> Tensor:
        """Return the mean cross-entropy (nats) of the masked tokens in `rows`, from the final hidden states; 0 if no token is masked."""
        return masked_loss(self.network, self.batch(rows), len(SPECIALS))

    def begin(self) -> None:
        """Set the polarity of each token if a lexicon is injected; special tokens stay neutral."""
        if self.network.capabilities.lexicon:
            self.network.polarity.copy_(torch.from_numpy(Lexicon.load(self.recipe.lexicon).polarity(self.tokenizer)))

    def groups(self) -> list[dict[str, Any]]:
        """Return the groups of the base class, and a separate one for lambda parameters, if there are any."""
        modules = [module for module in self.network.modules() if isinstance(module, Constrained | Differential)]
        mixing = [p for module in modules for p in module.parameters() if p.requires_grad]
        chosen = {id(p) for p in mixing}
        (rest,) = super().groups()
        groups = [rest | {"params": [p for p in rest["params"] if id(p) not in chosen]}]
        return groups + ([{"params": mixing, "lr": self.recipe.lambda_rate, "weight_decay": 0.0}] if mixing else [])


def _settings(recipe: Recipe) -> set[str]:
    """Return the names of the settings that the recipe's kind of model has."""
    return {item.name for item in fields(CONFIGS[find_preset(recipe.model).kind])}


# ---- masked tokens (Devlin et al. 2019, section 3.1, task 1), learned from texts alone before the classes


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
        x, _ = network.step(layer, x, inputs, None, InterventionTensors())
    return network.final_norm(x)  # type: ignore[no-any-return]


def masked_loss(network: Encoder, inputs: Inputs, specials: int) -> Tensor:
    """Return the mean cross-entropy (nats) of the masked tokens, 0 if there are none; logits are products of states and embeddings."""
    masked_inputs, is_masked = hidden_tokens(inputs, network.config.vocab_size, specials)
    logits = states(network, masked_inputs)[is_masked] @ network.table.T
    return F.cross_entropy(logits.float(), inputs.ids[is_masked], reduction="sum") / is_masked.sum().clamp(min=1)
