"""Train the hardmax classifier, with a softmax of low temperature instead of the argmax or with the argmax itself."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from sentviz.analysis.evaluation import evaluate
from sentviz.data import datasets
from sentviz.data.examples import examples_for
from sentviz.data.reviews import WordsTokenizer
from sentviz.data.texts import TokenizedText
from sentviz.errors import InputError
from sentviz.models.hardmax import HardmaxEncoder, HardmaxModel
from sentviz.models.model import Model
from sentviz.runs.configs import HardmaxConfig
from sentviz.runs.presets import preset
from sentviz.training.plan import accuracy
from sentviz.training.recipe import Recipe
from sentviz.training.task import TrainingTask


class HardmaxTask(TrainingTask):
    """The hardmax classifier: AdamW trains the step size, the decoder and the vectors of the words.

    Training texts without a known word are left out and counted as dropped. In the other splits every row is predicted: a text without
    known words has the mean 0, for which the decoder returns its bias.
    """

    def __init__(self, recipe: Recipe, device: str = "cpu") -> None:
        super().__init__(recipe, "cpu")
        shape = preset(recipe.model, vocab_size=1, classes=2, max_length=recipe.max_length, **recipe.shape)
        assert isinstance(shape, HardmaxConfig)
        texts = self.train.frame["text"].tolist()
        self.tokenizer = WordsTokenizer.fit(texts, min_count=recipe.min_count, most=recipe.vocab_size, cleaning=shape.cleaning)
        self.example = self._example(), None
        self.recipe = replace(recipe, example=self.example[0])
        seen = self.tokenizer.ids_batch(texts, max_length=recipe.max_length)
        nonempty = [i for i, row in enumerate(seen) if len(row)]
        self.rows = [TokenizedText(seen[i]) for i in nonempty]
        dropped = self.train.dropped + len(seen) - len(nonempty)
        self.train = replace(self.train, frame=self.train.frame.iloc[nonempty].reset_index(drop=True), dropped=dropped)
        self.temperature = shape.training_temperature if shape.training == "softmax" else 0.0
        torch.manual_seed(recipe.seed)
        self.network: HardmaxEncoder = HardmaxEncoder(replace(shape, vocab_size=self.tokenizer.vocab_size))
        if recipe.start:
            with torch.no_grad():
                self.network.embedding.weight.mul_(recipe.start)  # initialised with a standard deviation of 1
        self.optimizer = torch.optim.AdamW(self.network.parameters(), lr=recipe.learning_rate, weight_decay=recipe.weight_decay)

    @classmethod
    def check(cls, recipe: Recipe) -> None:
        """Check that the data set has two classes of single texts."""
        item = datasets.info(recipe.dataset)
        if item.pair or len(item.labels) != 2:
            has = "pairs" if item.pair else f"{len(item.labels) or 'no'} classes"
            raise InputError(f"The hardmax classifier needs two classes of single texts, but {recipe.dataset} has {has}.")

    def _example(self) -> str:
        """Return the recipe's example or, if the model knows none of its words, the first of our examples with a known word."""
        item = datasets.info(self.recipe.dataset)
        texts = [self.recipe.example, *(example.text for example in examples_for(item.labels, item.language).values())]
        for text, row in zip(texts, self.tokenizer.ids_batch(texts), strict=True):
            if len(row):
                return text
        raise InputError(f"The model would know no word of the example {self.recipe.example!r}. Give another one.")

    def logits(self, rows: npt.NDArray[np.int64]) -> Tensor:
        """Return logits at the temperature of the training, (B, 2)."""
        return self.network.short([self.rows[i].ids for i in rows], self.temperature).logits

    def model(self) -> HardmaxModel:
        """Return a copy as a hardmax model, also if training uses a softmax."""
        return HardmaxModel(self.recipe.name, copy.deepcopy(self.network), self.tokenizer, self.train.labels)

    def stored(self, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return every entry in half precision, because 8 bits would move the words visibly."""
        return {name: tensor.half().contiguous() for name, tensor in state.items()}

    def measures(self, model: Model) -> dict[str, Any]:
        """Return the accuracy of the softmax that training uses; empty if training uses the argmax."""
        assert isinstance(model, HardmaxModel)
        if not self.temperature:
            return {}
        soft = model.at(self.temperature)
        validation, tested = (accuracy(evaluate(soft, split)) for split in (self.validation, self.tests[0]))
        return {"softmax": {"temperature": self.temperature, "validation_accuracy": validation, "test_accuracy": tested}}
