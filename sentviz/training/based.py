"""Train runs on a base, as an adapter or with all weights of some layers, on the base's own tokens."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from sentviz.data import datasets
from sentviz.data.tokenizers import Tokenizer
from sentviz.errors import InputError
from sentviz.models.batches import by_length
from sentviz.models.encoder import Encoder
from sentviz.models.pretrained.adapter import adapt, based, merged, stored
from sentviz.models.pretrained.base import tokenizer_of
from sentviz.models.protocol import InterventionTensors
from sentviz.runs.bases import Base, find_base
from sentviz.runs.configs import EncoderConfig, ModelConfig
from sentviz.runs.presets import on_base
from sentviz.training.encoder_task import EncoderTask
from sentviz.training.recipe import Recipe

ABOVE = ("blocks", "final_norm", "dense", "classifier")  # parts of an encoder above its embeddings
MOST_STATES = 1 << 30  # maximum bytes of the kept states of all rows
TOKENS = 1_024  # tokens of a batch in which states to keep are computed


def shape_on(recipe: Recipe, classes: int, pairs: bool) -> EncoderConfig:
    """Return the configuration of a run on a base: the base's, with the recipe's changes. It reads as many tokens as the base can.

    Raises:
        RunError: the base is not installed, or is another one.
    """
    settings = find_base(recipe.base, recipe.weights).settings
    longest, layers = settings["max_length"], settings["layers"]
    if recipe.max_length > longest:
        raise InputError(f"The recipe reads {recipe.max_length:,} tokens; the base {recipe.base} has positions for {longest:,}.")
    if recipe.adapter_layers > layers:
        raise InputError(f"The recipe trains {recipe.adapter_layers} layers; the base {recipe.base} has {layers}.")
    if pairs and settings["segments"] < 2:
        raise InputError(f"{recipe.dataset} has pairs of texts; the base {recipe.base} cannot tell two texts apart.")
    settings |= {"segments": 2 if pairs else 1, "dropout": recipe.dropout, "classes": classes}
    try:
        return EncoderConfig(**(settings | on_base(recipe.model, recipe.base) | recipe.shape))
    except (TypeError, ValueError) as error:
        raise InputError(f"{recipe.model} cannot be made: {error}") from error


class BasedTask(EncoderTask):
    """An encoder on a base: trains low-rank changes of its matrices or the matrices, and all weights that the base lacks. AdamW."""

    masks = False

    @cached_property
    def base(self) -> Base:
        """The base that the recipe names."""
        return find_base(self.recipe.base, self.recipe.weights)

    @cached_property
    def start(self) -> int:
        """The layer, counted from 0, at which each step begins: the layers below are frozen, so their output is kept; 0 = nothing is kept.

        Only trainings on data of the user keep states, since these are rounded to half precision and the shipped runs were not trained so.
        """
        recipe, names = self.recipe, [name.split(".") for name, of in self.network.named_parameters() if of.requires_grad]
        if not datasets.is_own(recipe.dataset) or recipe.dropout or any(name[0] not in ABOVE for name in names):
            return 0
        room = 2 * self.network.config.width * int(self.lengths.sum())
        again = recipe.updates * recipe.batch_size > len(self.lengths) if recipe.updates else recipe.epochs > 1
        return min((int(name[1]) for name in names if name[0] == "blocks"), default=0) if again and room <= MOST_STATES else 0

    @cached_property
    def _groups(self) -> dict[int, list[int]]:
        """The rows whose states are computed together, by each of them. Lengths alone decide, so resumed training has the same bits."""
        return {row: group for group in by_length(self.lengths.tolist(), TOKENS) for row in group}

    @cached_property
    def _states(self) -> dict[int, Tensor]:
        """The input of layer `start` for the rows that were read so far, (n, d) in half precision."""
        return {}

    def _kept(self, row: int) -> Tensor:
        if row not in self._states:
            group = self._groups[row]
            with torch.no_grad():
                inputs = self.network.ready(self.batch(np.array(group)))
                x = self.network.embed(inputs)
                for layer in range(self.start):
                    x, _ = self.network.step(layer, x, inputs, None, InterventionTensors())
            self._states |= {each: x[place, : self.lengths[each]].half() for place, each in enumerate(group)}
        return self._states[row]

    def logits(self, rows: npt.NDArray[np.int64]) -> Tensor:
        """Return the logits in training, from the kept states of frozen layers where there are any."""
        if not self.start:
            return super().logits(rows)
        network, inputs = self.network, self.network.ready(self.batch(rows))
        x = pad_sequence([self._kept(row) for row in rows.tolist()], batch_first=True).float()
        for layer in range(self.start, network.config.layers):
            x, _ = network.step(layer, x, inputs, None, InterventionTensors())
        logits: Tensor = network.classifier(network.pool(x, inputs.mask))
        return logits

    def make_tokenizer(self) -> Tokenizer:
        """Return the tokenizer of the base."""
        return tokenizer_of(self.base)

    def shape(self, pairs: bool) -> EncoderConfig:
        """Return the base's configuration with the recipe's changes."""
        return shape_on(self.recipe, len(self.train.labels), pairs)

    def make_network(self, shape: ModelConfig) -> Encoder:
        """Return the network of the base, prepared for training."""
        assert isinstance(shape, EncoderConfig)
        recipe = self.recipe
        network, of_base = based(self.base, shape)
        adapt(network, of_base, rank=recipe.adapter_rank, alpha=recipe.adapter_alpha, upper=recipe.adapter_layers)
        return network

    @classmethod
    def check(cls, recipe: Recipe) -> None:
        """Check the recipe's settings against the base."""
        item = datasets.info(recipe.dataset)
        shape_on(recipe, max(2, len(item.labels)), item.pair)

    def copy(self) -> Encoder:
        """Return the plain network on the CPU; frozen weights are shared with the network in training."""
        return merged(self.network)

    def stored(self, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the changes to the base, and the weights that the base lacks."""
        return stored(self.network, state)

    def entries(self) -> dict[str, dict[str, Any]]:
        """Return the name and digest of the base."""
        return {"base": {"name": self.base.name, "digest": self.base.digest}}
