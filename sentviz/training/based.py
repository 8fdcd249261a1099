"""Train runs on a base, as an adapter or with all weights of some layers, on the base's own tokens."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from torch import Tensor

from sentviz.data import datasets
from sentviz.data.tokenizers import Tokenizer
from sentviz.errors import InputError
from sentviz.models.encoder import Encoder
from sentviz.models.pretrained.adapter import adapt, based, merged, stored
from sentviz.models.pretrained.base import tokenizer_of
from sentviz.runs.bases import Base, find_base
from sentviz.runs.configs import EncoderConfig, ModelConfig
from sentviz.runs.presets import on_base
from sentviz.training.own import EncoderTask
from sentviz.training.recipe import Recipe


def shape_on(recipe: Recipe, classes: int, pairs: bool) -> EncoderConfig:
    """Return the configuration of a run on a base: the base's, with the recipe's changes. It reads as many tokens as the base can.

    Raises:
        InputError: a setting does not fit this base.
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
