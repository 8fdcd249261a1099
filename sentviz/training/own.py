"""Our own encoder, in the shape of a preset."""

from __future__ import annotations

import torch
from torch import nn

from sentviz.errors import InputError
from sentviz.lexicon import Lexicon
from sentviz.models.encoder import Encoder
from sentviz.models.mixing import Constrained, Differential
from sentviz.models.model import Model, read
from sentviz.presets import preset
from sentviz.recipe import Recipe
from sentviz.shapes import EncoderConfig
from sentviz.text import Tokenizer
from sentviz.training.subject import Subject

__all__ = ["EncoderSubject"]

EXAMPLE = "Not bad at all, but I would not see it twice."


class EncoderSubject(Subject):
    """An encoder with a tokenizer fitted on the training texts. AdamW; lambda parameters have a rate of their own and no decay."""

    def __init__(self, recipe: Recipe, device: str = "cpu") -> None:
        super().__init__(recipe, device)
        frame = self.train.frame
        pairs = "text_pair" in frame
        texts = [*frame["text"], *(frame["text_pair"] if pairs else ())]
        self.tokenizer = (
            Tokenizer.train_bpe(texts, recipe.vocab_size) if recipe.tokenizer == "bpe" else Tokenizer.train_words(texts, recipe.min_count)
        )
        self.example = self._example()
        self.rows = read(self.tokenizer, frame, max_length=recipe.max_length, cls=recipe.cls, segments=pairs)
        torch.manual_seed(recipe.seed)
        shape = preset(
            recipe.model,
            vocab_size=self.tokenizer.vocab_size,
            classes=len(self.train.labels),
            max_length=recipe.max_length,
            dropout=recipe.dropout,
            **{"segments": 2 if pairs else 1} | recipe.shape,
        )
        assert isinstance(shape, EncoderConfig)
        self.network: Encoder = Encoder(shape)
        if recipe.start:
            with torch.no_grad():
                nn.init.normal_(self.network.embedding.weight, std=recipe.start)[0] = 0
        if self.network.config.lexicon != "none":
            self.network.polarity.copy_(torch.from_numpy(Lexicon.load(recipe.lexicon).polarity(self.tokenizer)))
        self.network.to(self.device)
        self.optimizer = self._optimizer()

    def _example(self) -> tuple[str, str | None]:
        text, pair = self.recipe.example or EXAMPLE, self.recipe.example_pair or None
        try:
            self.tokenizer.encode(text, pair, max_length=self.recipe.max_length, cls=self.recipe.cls)
        except InputError as error:
            raise InputError(f"The recipe's example cannot be used: {error}") from error
        return text, pair

    def _optimizer(self) -> torch.optim.Optimizer:
        recipe, network = self.recipe, self.network
        mixing = [p for m in network.modules() if isinstance(m, Constrained | Differential) for p in m.parameters() if p.requires_grad]
        chosen = {id(p) for p in mixing}
        rest = [p for p in network.parameters() if p.requires_grad and id(p) not in chosen]
        groups = [{"params": rest, "lr": recipe.learning_rate, "weight_decay": recipe.weight_decay}]
        if mixing:
            groups.append({"params": mixing, "lr": recipe.lambda_rate, "weight_decay": 0.0})
        return torch.optim.AdamW(groups, fused=True)

    def model(self) -> Model:
        """A copy; that it is made anew draws random numbers, on which every run that ships depends."""
        copy = Encoder(self.network.config)
        copy.load_state_dict({k: v.detach().cpu() for k, v in self.network.state_dict().items()})
        return Model(self.recipe.name, copy, self.tokenizer, self.train.labels, cls=self.recipe.cls)
