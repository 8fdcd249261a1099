"""The loop: steps, evaluations, the best state, kept epochs, early stop. It knows nothing of what kind of model it trains."""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from sentviz.analysis.evaluation import evaluate
from sentviz.data.datasets import MIDDLE, Split
from sentviz.io.files import uninterrupted
from sentviz.runs.store import Run
from sentviz.training import resuming
from sentviz.training.finishing import finish, hardware
from sentviz.training.plan import Mixture, batches, better, evaluation_due, rate, scores
from sentviz.training.resuming import Progress
from sentviz.training.subject import TrainingTask

SAVE_EVERY = 60.0  # seconds between resume points


class Trainer:
    """One training run."""

    def __init__(self, subject: TrainingTask, folder: Path) -> None:
        self.subject, self.folder, self.recipe = subject, folder, subject.recipe
        self.lengths = subject.lengths
        self.mixture = Mixture(subject.train.sources, self.recipe.mixing_temperature) if self.recipe.mixing_temperature else None
        self.targets = _targets(subject.train)
        self.best_state = self._state()
        self.rates = [group["lr"] for group in subject.optimizer.param_groups]
        self.steps_per_epoch = math.ceil(len(self.lengths) / self.recipe.batch_size)
        learned = self.recipe.updates or self.steps_per_epoch * self.recipe.epochs
        self.round = learned if self.recipe.updates else self.steps_per_epoch  # steps with `evaluations` evaluations
        self.total = self.recipe.pretrain + learned
        self.epochs: dict[int, dict[str, Tensor]] = {}  # kept ones, as stored
        self.at = Progress()

    def _state(self) -> dict[str, Tensor]:
        return {name: tensor.detach().clone() for name, tensor in self.subject.network.state_dict().items()}

    # ---- the loop

    def fit(self, *, progress: bool = True, until: int | None = None) -> None:
        """Train to the end, or to a step; Ctrl-C leaves a resume point.

        Raises:
            RunError: a resume point cannot be written.
        """
        from tqdm import tqdm

        started, saved = time.monotonic() - self.at.seconds, time.monotonic()
        last = self.total if until is None else min(until, self.total)
        if self.at.step == 0 and not self.at.history:
            self._log_scalars()
        with tqdm(total=self.total, initial=self.at.step, unit="step", disable=not progress, desc=self.recipe.name) as bar:
            try:
                for rows in self._remaining(last):
                    with uninterrupted():
                        self._step(rows)
                        bar.update()
                        self.at.seconds = time.monotonic() - started
                        if self.at.step % self.steps_per_epoch == 0:
                            self._keep()
                        learned = self.at.step - self.recipe.pretrain
                        if learned > 0 and evaluation_due(learned, self.round, self.recipe.evaluations):
                            self._validate()
                            bar.set_postfix({self.recipe.select: f"{self.at.best[self.recipe.select]:.4f}"})
                    if time.monotonic() - saved > SAVE_EVERY:
                        self.save()
                        saved = time.monotonic()
                    if self.at.stopped:
                        break
            except KeyboardInterrupt:
                with uninterrupted():
                    self.save()
                raise
        self.save()

    def _remaining(self, last: int) -> Iterator[npt.NDArray[np.int64]]:
        while self.at.step < last and not self.at.stopped:
            epoch, done = divmod(self.at.step, self.steps_per_epoch)
            left = batches(self.lengths, self.recipe.batch_size, self.recipe.seed, epoch, self.mixture)[done:]
            yield from left[: last - self.at.step]

    def _step(self, rows: npt.NDArray[np.int64]) -> None:
        subject, recipe = self.subject, self.recipe
        subject.network.train()
        hides = self.at.step < recipe.pretrain
        first, last = (0, recipe.pretrain) if hides else (recipe.pretrain, self.total)
        for group, highest in zip(subject.optimizer.param_groups, self.rates, strict=True):
            group["lr"] = highest * rate(recipe.schedule, self.at.step - first, last - first, recipe.warmup)
        device = subject.device
        reduced = recipe.precision == "bf16" or (recipe.precision == "auto" and device.type == "cuda")
        with torch.autocast(device.type, torch.bfloat16, enabled=reduced):
            answered = subject.masked_loss(rows) if hides else subject.logits(rows)
        if hides:
            loss = answered
        else:
            loss = F.cross_entropy(answered.float(), self.targets[rows].to(device), label_smoothing=recipe.label_smoothing)
        subject.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(subject.network.parameters(), recipe.clip)
        subject.optimizer.step()
        self.at.step += 1
        self.at.loss_sum += float(loss.detach())
        self.at.loss_steps += 1
        if self.at.step % recipe.log_every == 0 or self.at.step == recipe.pretrain:
            self._log_scalars()

    def _keep(self) -> None:
        """The weights after this epoch, of the last `keep_epochs`."""
        self.epochs[self.at.step // self.steps_per_epoch] = self.subject.stored(self.subject.network.state_dict())
        for epoch in sorted(self.epochs)[: -self.recipe.keep_epochs or None]:
            del self.epochs[epoch]

    def _validate(self) -> None:
        select, best = self.recipe.select, self.at.best
        found = scores(evaluate(self.subject.model(), self.subject.validation), select)
        for name, value in found.items():
            self._log(f"validation_{name}", value)
        if better(found, best, select):
            self.at.best = found | {"step": self.at.step, "epoch": self.at.step / self.steps_per_epoch}
            self.best_state = self._state()
            self.at.since_best = 0
        else:
            self.at.since_best += 1
            self.at.stopped = self.at.since_best == self.recipe.patience

    def _log(self, name: str, value: float, layer: int = -1, component: int = -1) -> None:
        self.at.history.append([self.at.step, self.at.step / self.steps_per_epoch, name, layer, component, value])

    def _log_scalars(self) -> None:
        """The mean training loss since the last log and every learned scalar."""
        if self.at.loss_steps:
            self._log("masked_loss" if self.at.step <= self.recipe.pretrain else "train_loss", self.at.loss_sum / self.at.loss_steps)
            self._log("learning_rate", self.subject.optimizer.param_groups[0]["lr"])
            self.at.loss_sum, self.at.loss_steps = 0.0, 0
        with torch.no_grad():
            for name, layer, component, value in self.subject.network.scalars():
                self._log(name, value, layer, component)

    # ---- resume points

    def save(self) -> None:
        """Write a resume point; the old one stays until the new one is whole.

        Raises:
            RunError: it cannot be written.
        """
        tensors = {f"model.{k}": v for k, v in self.subject.network.state_dict().items()}
        tensors |= {f"best.{k}": v for k, v in self.best_state.items()}
        for i, entry in self.subject.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{i}.{k}": v for k, v in entry.items()}
        for epoch, state in self.epochs.items():
            tensors |= {f"epoch.{epoch}.{k}": v for k, v in state.items()}
        if self.subject.device.type == "cuda":
            tensors["rng.cuda"] = torch.cuda.get_rng_state()
        resuming.write(self.folder, tensors, self.recipe, (self.subject.train, self.subject.validation), self.at)

    def resume(self) -> bool:
        """Go on from a resume point, if there is one.

        Raises:
            RunError: it is damaged, or belongs to another recipe (its example, transfer and kept epochs aside) or to other data.
        """
        subject = self.subject
        found = resuming.read(self.folder, self.recipe, (subject.train, subject.validation), subject.device)
        if found is None:
            return False
        at, tensors = found
        try:
            subject.network.load_state_dict(resuming.under(tensors, "model."))
            resuming.restore_optimizer(subject.optimizer, resuming.under(tensors, "optimizer."))
            numbers = sorted({int(name.split(".")[1]) for name in tensors if name.startswith("epoch.")})
            kept = numbers[-self.recipe.keep_epochs :] if self.recipe.keep_epochs else []
            self.epochs = {number: {k: v.cpu() for k, v in resuming.under(tensors, f"epoch.{number}.").items()} for number in kept}
            self.best_state = resuming.under(tensors, "best.")
            resuming.restore_random(tensors, subject.device)
        except Exception as error:
            raise resuming.damaged(self.folder, error) from error
        self.at = at
        return True

    # ---- the run folder

    def finish(self) -> Run:
        """Write the run folder from the best state; the resume point goes.

        Raises:
            RunError: it cannot be written; the resume point stays.
        """
        subject = self.subject
        run = finish(
            self.folder,
            subject.model(),
            subject.stored(self.best_state),
            recipe=self.recipe.as_dict(),
            preset=self.recipe.configuration,
            seen=(subject.train,),
            validation=subject.validation,
            tests=subject.tests,
            history=self.at.history,
            best=self.at.best,
            example=subject.example,
            steps=self.at.step,
            seconds=self.at.seconds,
            hardware=hardware() if subject.device.type == "cpu" else torch.cuda.get_device_name(),
            epochs=self.epochs,
            entries=subject.entries(),
            measures=subject.measures,
        )
        shutil.rmtree(resuming.point(self.folder), ignore_errors=True)
        return run


def _targets(train: Split) -> Tensor:
    """(n,) classes; where some rows are between them (n, K) shares, theirs even."""
    labels = torch.tensor(train.frame["label"].to_numpy(np.int64, copy=True))
    middle = labels == MIDDLE
    if not middle.any():
        return labels
    shares = F.one_hot(labels.clamp(min=0), len(train.labels)).float()
    shares[middle] = 1 / len(train.labels)
    return shares
