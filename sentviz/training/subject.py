"""What is trained: all that the trainer asks of a kind of model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from sentviz.data import datasets
from sentviz.errors import InputError
from sentviz.models.model import collate
from sentviz.models.weights import pack
from sentviz.training.finishing import asked

if TYPE_CHECKING:
    from sentviz.data.texts import TokenizedText
    from sentviz.models.model import Model
    from sentviz.models.protocol import Inputs, Network
    from sentviz.training.recipe import Recipe


class TrainingTask(ABC):
    """A network that starts where its recipe says, with the rows that it is trained on.

    A subclass sets the attributes that are only declared here. Random numbers are drawn from torch's global generator, seeded by the
    recipe; what is drawn by `model` counts too, since dropout goes on behind it.
    """

    network: Network
    optimizer: torch.optim.Optimizer  # the rate of each of its groups is the highest; a schedule lowers it
    rows: Sequence[TokenizedText]  # each row of `train`
    example: tuple[str, str | None]  # the text, or pair, whose trace the run carries
    masks: ClassVar[bool] = False  # whether it learns from masked tokens

    def __init__(self, recipe: Recipe, device: str = "cpu") -> None:
        """Read the splits.

        Raises:
            DataMissingError: a data set is not here. InputError: one without classes or so many rows, or a `transfer` with other classes.
        """
        self.recipe, self.device = recipe, torch.device(device)
        self.train = datasets.load_split(recipe.dataset, "train")
        if not self.train.labels:
            raise InputError(f"{recipe.dataset} has no classes to tell apart.")
        if recipe.select == "f1_positive" and len(self.train.labels) != 2:
            raise InputError(f"f1_positive is of two classes, and {recipe.dataset} has {len(self.train.labels)}: select f1_macro.")
        if recipe.rows:
            self.train = datasets.fewer(self.train, recipe.rows)
        self.validation = datasets.load_split(recipe.dataset, "validation")
        self.tests = asked(recipe.dataset, recipe.transfer, self.train)

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Tokens of each row of `train`."""
        return np.array([len(row) for row in self.rows])

    @classmethod  # noqa: B027
    def check(cls, recipe: Recipe) -> None:
        """Refuse what can be refused before any data is read or a folder made.

        Raises:
            InputError: a data set that this kind of model cannot learn.
        """

    def logits(self, rows: npt.NDArray[np.int64]) -> Tensor:
        """(B, K) of rows of `train`, counted from 0, as the network answers in training."""
        logits: Tensor = self.network(self.batch(rows)).logits
        return logits

    def batch(self, rows: npt.NDArray[np.int64]) -> Inputs:
        """Rows of `train`, counted from 0, as the network reads them in training."""
        config = self.network.config
        filled = 0 if getattr(config, "masked", True) else config.max_length
        return collate([self.rows[i] for i in rows], self.device, filled=filled)

    def masked_loss(self, rows: npt.NDArray[np.int64]) -> Tensor:
        """The loss (nats) of tokens hidden in rows of `train`, counted from 0; of kinds that say `masks`."""
        raise NotImplementedError

    @abstractmethod
    def model(self) -> Model:
        """A copy of the network on the CPU as a model, to be evaluated while the network trains on."""

    def stored(self, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """A state of the network in the form in which the run keeps it."""
        return pack(state)

    def entries(self) -> dict[str, dict[str, Any]]:
        """What config.json says of this kind of model alone: entries of its tables."""
        return {}

    def measures(self, model: Model) -> dict[str, Any]:
        """What metrics.json says of this kind of model alone; `model` is the finished one."""
        return {}
