"""Fine-tune a Hugging Face encoder, with or without a lexicon in its scores."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

from sentviz.data.lexicon import Lexicon
from sentviz.io.lazy import torch
from sentviz.models.hub.encoder import HubEncoder
from sentviz.models.hub.files import reachable
from sentviz.models.hub.loading import opened
from sentviz.models.hub.model import HubModel
from sentviz.runs.store import Run
from sentviz.training.adoption import classified, configuration, entries, occupied, opening
from sentviz.training.recipe import Recipe
from sentviz.training.run import completed
from sentviz.training.task import TrainingTask
from sentviz.training.trainer import Shown


class ForeignTask(TrainingTask):
    """A checkpoint with its own head, or a new one if its head does not fit the classes. AdamW without decay of biases and norms.

    Its recipe contains the model's full name and a digest of its weights, so that models with the same short name are told apart.
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
        """Return a copy as a model."""
        return HubModel(self.recipe.name, copy.deepcopy(self.network).cpu(), self.tokenizer, self.train.labels)

    def entries(self) -> dict[str, dict[str, Any]]:
        """Return the configuration from which transformers makes the model."""
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
    progress: Shown = True,
    allow_pickle: bool = False,
    **settings: Any,
) -> Run:
    """Train a Hugging Face encoder to the run folder `out/<data set>/<model>`; a stopped run is continued.

    AdamW, linear warm-up and decay, dropout as in the model's configuration. The weights with the best validation accuracy are kept, and
    training stops after `patience` evaluations without a better one. A checkpoint gets a new head if its own does not fit the classes.

    Args:
        lexicon, injection: polarities to put into its scores, by the lexicon's name, and how: a key of `sentviz.runs.presets.injections`.
        example: the sentence whose trace is stored, and the second of a pair; by default one of ours in the data set's language.
        settings: settings of `Recipe`; the defaults are 3 epochs, batches of 32, rate 2e-5, weight decay 0.01, warm-up 0.1, 128 tokens.
    Raises:
        DataMissingError: the data set is not installed. RunError: as for `load`, or a run or resume point is another model's or recipe's.
        KeyboardInterrupt: interrupted; a resume point was saved.
    """
    reachable(name_or_folder)
    names = {"dataset": dataset, "model": configuration(name_or_folder, injection), "lexicon": lexicon, "source": str(name_or_folder)}
    recipe = Recipe.of(names | settings)
    text, pair = example or opening(classified(dataset))
    recipe = replace(recipe, example=text, example_pair=pair or "")

    def make_task(device: str) -> ForeignTask:
        task = ForeignTask(recipe, name_or_folder, injection, device, allow_pickle=allow_pickle)
        occupied(Path(out) / recipe.name, task.read)
        return task

    return completed(recipe.name, out, make_task, device=device, progress=progress)
