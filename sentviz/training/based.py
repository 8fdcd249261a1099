"""Train runs on a base, as an adapter or with all weights of some layers, on the base's own tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from sentviz.data import datasets
from sentviz.data.lexicon import NEUTRAL, Lexicon
from sentviz.data.tags import Tagger
from sentviz.errors import InputError
from sentviz.models.batches import read
from sentviz.models.model import Model
from sentviz.models.pretrained.adapter import adapt, based, merged, stored
from sentviz.models.pretrained.base import tokenizer_of
from sentviz.runs.bases import find_base
from sentviz.runs.configs import EncoderConfig
from sentviz.runs.presets import on_base
from sentviz.training.own import EncoderTask
from sentviz.training.recipe import Recipe
from sentviz.training.task import TrainingTask


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

    def __init__(self, recipe: Recipe, device: str = "cpu") -> None:
        TrainingTask.__init__(self, recipe, device)
        self.base = find_base(recipe.base, recipe.weights)
        self.tokenizer = words = tokenizer_of(self.base)
        self.specials = list(words.special_ids)
        self.example = self._example()
        pairs = "text_pair" in self.train.frame
        shape = shape_on(recipe, len(self.train.labels), pairs)
        self.tagger = Tagger.load() if shape.capabilities.tags else None
        self.rows = read(self.tokenizer, self.train.frame, max_length=recipe.max_length, cls=recipe.cls, segments=pairs, tagger=self.tagger)
        torch.manual_seed(recipe.seed)
        self.network, of_base = based(self.base, shape)
        adapt(self.network, of_base, rank=recipe.adapter_rank, alpha=recipe.adapter_alpha, upper=recipe.adapter_layers)
        self.begin()
        self.network.to(self.device)
        self.optimizer = torch.optim.AdamW(self.groups(), fused=True)

    @classmethod
    def check(cls, recipe: Recipe) -> None:
        """Check the recipe's settings against the base."""
        item = datasets.info(recipe.dataset)
        shape_on(recipe, max(2, len(item.labels)), item.pair)

    def begin(self) -> None:
        """Set the polarity of each token if a lexicon is injected; special tokens stay neutral."""
        if self.network.capabilities.lexicon:
            table = Lexicon.load(self.recipe.lexicon).polarity(self.tokenizer)
            table[self.specials] = NEUTRAL
            self.network.polarity.copy_(torch.from_numpy(table))

    def model(self) -> Model:
        """Return the plain network as a model; frozen weights are shared with the network in training."""
        return Model(self.recipe.name, merged(self.network), self.tokenizer, self.train.labels, cls=self.recipe.cls, tagger=self.tagger)

    def stored(self, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the changes to the base, and the weights that the base lacks."""
        return stored(self.network, state)

    def entries(self) -> dict[str, dict[str, Any]]:
        """Return the name and digest of the base."""
        return {"base": {"name": self.base.name, "digest": self.base.digest}}
