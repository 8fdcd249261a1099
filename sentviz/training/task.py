"""A training task: everything that the trainer needs of a kind of model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from sentviz.data import datasets
from sentviz.data.texts import TokenizedText
from sentviz.errors import InputError
from sentviz.models.batches import collate
from sentviz.models.model import Model
from sentviz.models.protocol import Inputs, Network
from sentviz.models.weights import pack
from sentviz.training.finishing import test_splits
from sentviz.training.recipe import Recipe


class TrainingTask(ABC):
    """A network at the start that its recipe describes, with the rows that it is trained on.

    A subclass sets the attributes that are only declared here. Random numbers are drawn from torch's global generator, seeded by the
    recipe. Calls of `model` may draw numbers, too, and dropout continues after them, so each call influences the training.
    """

    network: Network
    optimizer: torch.optim.Optimizer  # each group has its highest learning rate; the schedule lowers it
    rows: Sequence[TokenizedText]  # the tokens of each row of `train`
    example: tuple[str, str | None]  # the text or pair of texts whose trace is stored with the run
    masks: ClassVar[bool] = False  # True if the network can be trained on masked tokens

    def __init__(self, recipe: Recipe, device: str = "cpu") -> None:
        """Read the splits.

        Raises:
            DataMissingError: a data set is not installed. InputError: the data set has no classes or too few rows, or the recipe's
                `transfer` has other classes.
        """
        self.recipe, self.device = recipe, torch.device(device)
        self.train = datasets.load_split(recipe.dataset, "train")
        if not self.train.labels:
            raise InputError(f"{recipe.dataset} has no classes to tell apart.")
        if recipe.select == "f1_positive" and len(self.train.labels) != 2:
            raise InputError(f"f1_positive needs two classes, but {recipe.dataset} has {len(self.train.labels)}. Select f1_macro.")
        if recipe.rows:
            self.train = datasets.first_rows(self.train, recipe.rows)
        self.validation = datasets.load_split(recipe.dataset, "validation")
        self.tests = test_splits(recipe.dataset, recipe.transfer, self.train, rows=recipe.test_rows)

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Number of tokens of each row of `train`."""
        return np.array([len(row) for row in self.rows])

    @classmethod  # noqa: B027
    def check(cls, recipe: Recipe) -> None:
        """Check a recipe before data is read or a folder is made."""

    def logits(self, rows: npt.NDArray[np.int64]) -> Tensor:
        """Return the network's logits in training for rows of `train`, counted from 0, (B, K)."""
        logits: Tensor = self.network(self.batch(rows)).logits
        return logits

    def batch(self, rows: npt.NDArray[np.int64]) -> Inputs:
        """Return the network's inputs in training for rows of `train`, counted from 0."""
        filled = self.network.config.max_length if self.network.capabilities.padded else 0
        return collate([self.rows[i] for i in rows], self.device, filled=filled)

    def masked_loss(self, rows: npt.NDArray[np.int64]) -> Tensor:
        """Return the loss (nats) of masked tokens in rows of `train`, counted from 0; only if `masks` is True."""
        raise NotImplementedError

    @abstractmethod
    def model(self) -> Model:
        """Return a copy of the network on the CPU as a model, which can be evaluated while the network is trained further."""

    def stored(self, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return a state of the network in the form in which the run stores it."""
        return pack(state)

    def entries(self) -> dict[str, dict[str, Any]]:
        """Return entries for tables of config.json that only this kind of model has."""
        return {}

    def measures(self, model: Model) -> dict[str, Any]:
        """Return entries for metrics.json that only this kind of model has; `model` is the finished model."""
        return {}
