"""The hardmax classifier. Training replaces the argmax by a softmax of low temperature, or takes it as it is."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

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
from sentviz.runs.configs import HardmaxConfig
from sentviz.runs.presets import preset
from sentviz.training.plan import accuracy
from sentviz.training.recipe import Recipe
from sentviz.training.subject import TrainingTask

if TYPE_CHECKING:
    from sentviz.models.model import Model


class HardmaxSubject(TrainingTask):
    """Words in, a step size, a decoder and the words' places learned by AdamW.

    Training texts without a known word are left out and counted as dropped. Of the other splits every row is answered: the mean of no
    word is the origin, where the decoder says its bias.
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
        kept = [i for i, row in enumerate(seen) if len(row)]
        self.rows = [TokenizedText(seen[i]) for i in kept]
        dropped = self.train.dropped + len(seen) - len(kept)
        self.train = replace(self.train, frame=self.train.frame.iloc[kept].reset_index(drop=True), dropped=dropped)
        self.temperature = shape.training_temperature if shape.training == "softmax" else 0.0
        torch.manual_seed(recipe.seed)
        self.network: HardmaxEncoder = HardmaxEncoder(replace(shape, vocab_size=self.tokenizer.vocab_size))
        if recipe.start:
            with torch.no_grad():
                self.network.embedding.weight.mul_(recipe.start)  # drawn with a standard deviation of 1
        self.optimizer = torch.optim.AdamW(self.network.parameters(), lr=recipe.learning_rate, weight_decay=recipe.weight_decay)

    @classmethod
    def check(cls, recipe: Recipe) -> None:
        """Two classes of single texts."""
        item = datasets.info(recipe.dataset)
        if item.pair or len(item.labels) != 2:
            has = "pairs" if item.pair else f"{len(item.labels) or 'no'} classes"
            raise InputError(f"The hardmax classifier tells two classes of single texts apart; {recipe.dataset} has {has}.")

    def _example(self) -> str:
        """The recipe's example or, in another language, the first of ours of which the model knows a word."""
        item = datasets.info(self.recipe.dataset)
        texts = [self.recipe.example, *(example.text for example in examples_for(item.labels, item.language).values())]
        for text, row in zip(texts, self.tokenizer.ids_batch(texts), strict=True):
            if len(row):
                return text
        raise InputError(f"The model would know no word of the example {self.recipe.example!r}: please give another one.")

    def logits(self, rows: npt.NDArray[np.int64]) -> Tensor:
        """(B, 2) at the temperature of the training."""
        return self.network.short([self.rows[i].ids for i in rows], self.temperature).logits

    def model(self) -> HardmaxModel:
        """A copy, which is hardmax whatever the training is."""
        return HardmaxModel(self.recipe.name, copy.deepcopy(self.network), self.tokenizer, self.train.labels)

    def stored(self, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """In half precision, every entry: 8 bits would move the words."""
        return {name: tensor.half().contiguous() for name, tensor in state.items()}

    def measures(self, model: Model) -> dict[str, Any]:
        """What the softmax of the training would answer."""
        assert isinstance(model, HardmaxModel)
        if not self.temperature:
            return {}
        soft = model.at(self.temperature)
        validation, tested = (accuracy(evaluate(soft, split)) for split in (self.validation, self.tests[0]))
        return {"softmax": {"temperature": self.temperature, "validation_accuracy": validation, "test_accuracy": tested}}
