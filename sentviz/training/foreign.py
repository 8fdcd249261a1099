"""Fine-tuning a Hugging Face encoder, with or without a lexicon in its scores."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from sentviz.data.lexicon import Lexicon
from sentviz.models.hub.loading import opened, reachable
from sentviz.models.hub.model import HubModel
from sentviz.training.adoption import classified, configuration, entries, occupied, opening
from sentviz.training.recipe import Recipe
from sentviz.training.run import completed
from sentviz.training.subject import TrainingTask

if TYPE_CHECKING:
    from sentviz.models.hub.encoder import HubEncoder
    from sentviz.runs.store import Run


class ForeignSubject(TrainingTask):
    """A checkpoint as it is, with a new head where it has none for these classes. AdamW; biases and norms are not decayed.

    Its recipe names the model by more than the last part of its name: runs and resume points tell namesakes apart.
    """

    def __init__(self, recipe: Recipe, source: str | Path, injection: str = "", device: str = "cpu", *, allow_pickle: bool = False) -> None:
        super().__init__(recipe, device)
        torch.manual_seed(recipe.seed)
        self.read = read = opened(source, labels=self.train.labels, allow_pickle=allow_pickle)
        self.recipe = recipe = replace(recipe, source=read.source, weights=read.weights)
        self.example = recipe.example, recipe.example_pair or None
        read = replace(read, tokenizer_limit=min(read.tokenizer_limit, recipe.max_length))
        first = read.wrapped(Lexicon.load(recipe.lexicon) if recipe.lexicon else None, injection)
        self.tokenizer = first.tokenizer
        self.network: HubEncoder = first.network.requires_grad_(True).to(self.device)
        self.rows = first.read(self.train.frame)
        plain = [p for p in self.network.parameters() if p.ndim < 2]
        chosen = {id(p) for p in plain}
        groups = [
            {"params": [p for p in self.network.parameters() if id(p) not in chosen], "weight_decay": recipe.weight_decay},
            {"params": plain, "weight_decay": 0.0},
        ]
        self.optimizer = torch.optim.AdamW(groups, lr=recipe.learning_rate, fused=True)

    def model(self) -> HubModel:
        """A copy."""
        return HubModel(self.recipe.name, copy.deepcopy(self.network).cpu(), self.tokenizer, self.train.labels)

    def entries(self) -> dict[str, dict[str, Any]]:
        """The configuration that transformers makes the model from."""
        return entries(self.model())


def finetune(
    name_or_folder: str | Path,
    dataset: str,
    out: str | Path,
    *,
    lexicon: str = "",
    injection: str = "",
    example: tuple[str, str | None] | None = None,
    device: str = "",
    progress: bool = True,
    allow_pickle: bool = False,
    **settings: Any,
) -> Run:
    """Train a foreign encoder to a run folder `out/<data set>/<model>`; a run that stopped goes on where it was.

    AdamW, linear warm-up and decay, dropout as in the model's configuration; the weights with the best validation accuracy stay, and
    training stops after `patience` evaluations without a better one. A checkpoint without a head for the data set's classes gets a new one.

    Args:
        lexicon, injection: polarities to put into its scores, by the lexicon's name, and how: a name of `sentviz.runs.presets.INJECTIONS`.
        example: the sentence that opens its pages, and the second of a pair; one of ours in the data set's language unless given.
        settings: of `Recipe`, on top of 3 epochs of batches of 32 at a rate of 2e-5, weight decay 0.01, warm-up 0.1, 128 tokens.
    Raises:
        DataMissingError: the data set is not here. RunError: as `load`, or a run or resume point of another model or recipe.
        InputError: a setting that does not exist, or a data set without classes. KeyboardInterrupt: after saving a resume point.
    """
    reachable(name_or_folder)
    named = {"dataset": dataset, "model": configuration(name_or_folder, injection), "lexicon": lexicon, "source": str(name_or_folder)}
    recipe = Recipe.of(named | settings)
    text, pair = example or opening(classified(dataset))
    recipe = replace(recipe, example=text, example_pair=pair or "")

    def subject(device: str) -> ForeignSubject:
        made = ForeignSubject(recipe, name_or_folder, injection, device, allow_pickle=allow_pickle)
        occupied(Path(out) / recipe.name, made.read)
        return made

    return completed(recipe.name, out, subject, device=device, progress=progress)
