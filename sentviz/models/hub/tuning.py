"""Fine-tune a Hugging Face encoder on a data set, with or without a lexicon in its scores; resumable like any training."""

from __future__ import annotations

import copy
import math
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sentviz import datasets, runs
from sentviz.errors import RunError
from sentviz.evaluation import evaluate
from sentviz.lexicon import Lexicon
from sentviz.models.hub.encoder import HubEncoder
from sentviz.models.hub.loading import opened
from sentviz.models.hub.model import HubModel, normalise
from sentviz.models.hub.runs import classified, configuration, digests, hardware, occupied, opening, write
from sentviz.models.weights import load_weights, save_weights
from sentviz.recipe import Recipe
from sentviz.runs import Run
from sentviz.training import Progress, Trainer

__all__ = ["HubRecipe", "HubTrainer", "finetune"]


@dataclass(frozen=True)
class HubRecipe(Recipe):
    """A recipe that knows its model by more than the last part of its name: runs and resume points tell namesakes apart."""

    source: str = ""
    weights: str = ""


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
        lexicon, injection: polarities to put into its scores, by the lexicon's name, and how: a name of `sentviz.presets.INJECTIONS`.
        example: the sentence that opens its pages, and the second of a pair; one of ours in the data set's language unless given.
        settings: of `Recipe`, on top of 3 epochs of batches of 32 at a rate of 2e-5, weight decay 0.01, warm-up 0.1, 128 tokens.
    Raises:
        DataMissingError: the data set is not here. RunError: as `load`, or a run or resume point of another model or recipe.
        InputError: a setting that does not exist, or a data set without classes. KeyboardInterrupt: after saving a resume point.
    """
    values: dict[str, Any] = {"epochs": 3, "batch_size": 32, "learning_rate": 2e-5, "weight_decay": 0.01, "warmup": 0.1, "max_length": 128}
    values |= {"patience": 3, "evaluations": 2} | settings
    Recipe.of(values | {"dataset": dataset})  # checks the settings; the model's name is none of a preset's
    text, pair = example or opening(classified(dataset))
    recipe = Recipe(
        **values,
        dataset=dataset,
        model=configuration(name_or_folder, injection),
        lexicon=lexicon,
        cls=True,
        tokenizer="bpe",
        example=text,
        example_pair=pair or "",
    )
    folder = Path(out) / recipe.name
    with runs.claim(folder) as mine:
        if not mine:
            raise RunError(f"{recipe.name} is being trained by another process in {out}.")
        wanted = device or ("cuda" if torch.cuda.is_available() else "cpu")
        trainer = HubTrainer(recipe, folder, name_or_folder, injection, device=wanted, allow_pickle=allow_pickle)
        occupied(folder, trainer.read)
        trainer.resume()
        trainer.fit(progress=progress)
        return trainer.finish()


class HubTrainer(Trainer):
    """One fine-tuning run."""

    encoder: HubEncoder  # type: ignore[assignment]

    def __init__(
        self, recipe: Recipe, folder: Path, source: str | Path, injection: str, *, device: str = "cpu", allow_pickle: bool = False
    ) -> None:
        self.folder, self.device = folder, torch.device(device)
        self.resume_folder = folder.with_name(f".{folder.name}.tmp-resume")
        self.train_split = datasets.load_split(recipe.dataset, "train")
        self.validation = datasets.load_split(recipe.dataset, "validation")
        torch.manual_seed(recipe.seed)
        self.read = read = opened(source, labels=self.train_split.labels, allow_pickle=allow_pickle)
        self.recipe = HubRecipe(**recipe.as_dict(), source=read.source, weights=read.weights)
        read = replace(read, tokenizer_limit=min(read.tokenizer_limit, recipe.max_length))
        first = read.wrapped(Lexicon.load(recipe.lexicon) if recipe.lexicon else None, injection)
        self.words = first.tokenizer
        self.encoder = first.network.requires_grad_(True).to(self.device)
        self.rows = first.read(self.train_split.frame)
        self.lengths = np.array([len(row) for row in self.rows])
        self.targets = torch.tensor(self.train_split.frame["label"].to_numpy(np.int64, copy=True))
        self.best_state = {k: v.detach().clone() for k, v in self.encoder.state_dict().items()}
        plain = [p for p in self.encoder.parameters() if p.ndim < 2]  # biases and norms
        chosen = {id(p) for p in plain}
        rest = [p for p in self.encoder.parameters() if id(p) not in chosen]
        groups = [
            {"params": rest, "lr": recipe.learning_rate, "weight_decay": recipe.weight_decay},
            {"params": plain, "lr": recipe.learning_rate, "weight_decay": 0.0},
        ]
        self.optimizer = torch.optim.AdamW(groups, fused=True)
        self.rates = [group["lr"] for group in self.optimizer.param_groups]
        self.steps_per_epoch = math.ceil(len(self.rows) / recipe.batch_size)
        self.total = self.steps_per_epoch * recipe.epochs
        self.at = Progress()

    def _schedule(self, step: int) -> float:
        """Linear warm-up, then linear to zero."""
        warm = max(1, round(self.recipe.warmup * self.total))
        return (step + 1) / warm if step < warm else (self.total - step) / max(1, self.total - warm)

    def _model(self) -> HubModel:
        """A copy that can be evaluated while the encoder trains on."""
        return HubModel(self.recipe.name, copy.deepcopy(self.encoder).cpu(), self.words, self.train_split.labels)

    def finish(self) -> Run:
        """Write the run folder; every metric is computed from the weights as stored."""
        model = self._model()
        model.network.load_state_dict({k: v.cpu() for k, v in self.best_state.items()})
        stored = self.folder.with_name(f".{self.folder.name}.tmp-weights")
        save_weights(model.network, stored)
        load_weights(model.network, stored)
        normalise(model.network)
        run = write(
            self.folder,
            model,
            lambda path: shutil.copyfile(stored, path),
            recipe=self.recipe.as_dict(),
            splits=digests((self.train_split, self.validation)),
            validation=evaluate(model, self.validation),
            history=self.at.history,
            best=self.at.best,
            example=(self.recipe.example, self.recipe.example_pair or None),
            steps=self.at.step,
            seconds=lambda: self.at.seconds,
            hardware=hardware() if self.device.type == "cpu" else torch.cuda.get_device_name(),
        )
        stored.unlink()
        shutil.rmtree(self.resume_folder, ignore_errors=True)
        return run
