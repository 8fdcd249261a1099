"""The training loop: steps, evaluations, best state, kept epochs, early stop. It does not depend on the kind of model.

The targets of rows are their classes or, if the recipe names a teacher, also the teacher's probabilities.
"""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from sentviz.analysis.evaluation import evaluate
from sentviz.data.datasets import MIDDLE, Split
from sentviz.errors import InputError
from sentviz.io.files import disk_errors, home, replacing, uninterrupted
from sentviz.models.loading import load
from sentviz.runs.calibration import softmax
from sentviz.runs.store import Run, find, resume_point
from sentviz.training import resuming
from sentviz.training.finishing import finish, hardware
from sentviz.training.plan import Mixture, batches, better, evaluation_due, rate, scores
from sentviz.training.recipe import Recipe
from sentviz.training.resuming import Progress
from sentviz.training.task import TrainingTask

CHUNK = 2_000  # rows whose probabilities are stored together: a stopped teacher continues at the next chunk
SAVE_EVERY = 60.0  # seconds between resume points

Shown = bool | Callable[[int, int], object]  # True = a bar shows the progress; a function gets the steps done and all steps


def targets(train: Split, recipe: Recipe, *, progress: bool = False) -> Tensor:
    """Return the targets of rows: classes (n,), or shares of the classes (n, K) if there is a teacher or if rows are between the classes.

    With a teacher, shares are `teacher_share` of its calibrated probabilities and the rest of the label (Hinton et al. 2015,
    "Distilling the knowledge in a neural network", with a temperature of 1 after calibration).

    Raises:
        RunError: the teacher is not installed, has no weights, or is another run than the recipe's. InputError: it has other classes.
    """
    labels = torch.tensor(train.frame["label"].to_numpy(np.int64, copy=True))
    middle = labels == MIDDLE
    if not (recipe.teacher or middle.any()):
        return labels
    shares = F.one_hot(labels.clamp(min=0), len(train.labels)).float()
    shares[middle] = 1 / len(train.labels)
    if recipe.teacher:
        taught = torch.from_numpy(answers(find(recipe.teacher.partition("@")[0]), train, recipe.max_length, progress=progress))
        shares = (1 - recipe.teacher_share) * shares + recipe.teacher_share * taught
    return shares


def answers(teacher: Run, split: Split, max_length: int, *, progress: bool = False) -> npt.NDArray[np.float32]:
    """Return the calibrated probabilities (n, K) that a run gives to the first `max_length` of its tokens of each row of a split.

    They are computed with products in bfloat16 and stored in the user's cache, 2,000 rows at a time.

    Raises:
        InputError: the run has other classes than the split. RunError: it has no weights. SentvizError: the cache cannot be written.
    """
    from tqdm import tqdm

    if teacher.labels != tuple(split.labels):
        raise InputError(f"{teacher.name} cannot teach {split.name}: its classes are {', '.join(teacher.labels)}.")
    rows_read = f"{split.name}-{split.split}-{split.digest}-{max_length}"
    folder = home() / "teachers" / f"{teacher.name.replace('/', '-')}-{teacher.digest}" / rows_read
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    model, parts = None, []
    for start in tqdm(range(0, len(split), CHUNK), disable=not progress, desc=f"answers of {teacher.name}", unit_scale=CHUNK, unit="row"):
        file = folder / f"{start}.npy"
        if not file.is_file():
            model = model or load(teacher)
            rows = model.read(split.frame.iloc[start : start + CHUNK], max_length)
            with torch.autocast("cpu", torch.bfloat16):
                logits, _ = model.forward(rows)
            with disk_errors(folder), replacing(file) as fresh, fresh.open("wb") as handle:
                np.save(handle, softmax(logits, teacher.calibration))
        parts.append(np.load(file, allow_pickle=False))
    return np.concatenate(parts)


class Trainer:
    """One training run."""

    def __init__(self, task: TrainingTask, folder: Path, *, progress: Shown = False) -> None:
        self.task, self.folder, self.recipe = task, folder, task.recipe
        self.lengths = task.lengths
        self.mixture = Mixture(task.train.sources, self.recipe.mixing_temperature) if self.recipe.mixing_temperature else None
        self.targets = targets(task.train, self.recipe, progress=progress is True)
        self.best_state = self._state()
        self.rates = [group["lr"] for group in task.optimizer.param_groups]
        self.steps_per_epoch = math.ceil(len(self.lengths) / self.recipe.batch_size)
        learned = self.recipe.updates or self.steps_per_epoch * self.recipe.epochs
        self.round = learned if self.recipe.updates else self.steps_per_epoch  # steps over which `evaluations` evaluations are spread
        self.total = self.recipe.pretrain + learned
        self.epochs: dict[int, dict[str, Tensor]] = {}  # states after the kept epochs, in stored form
        self.at = Progress()

    def _state(self) -> dict[str, Tensor]:
        return {name: tensor.detach().clone() for name, tensor in self.task.network.state_dict().items()}

    # ---- the loop

    def fit(self, *, progress: Shown = True, until: int | None = None) -> None:
        """Train to the end, or to the step `until`; Ctrl-C saves a resume point.

        Args:
            progress: whether a bar is shown, or a function that is called after each step.
        Raises:
            RunError: a resume point cannot be written.
        """
        from tqdm import tqdm

        started, saved = time.monotonic() - self.at.seconds, time.monotonic()
        last = self.total if until is None else min(until, self.total)
        if self.at.step == 0 and not self.at.history:
            self._log_scalars()
        with tqdm(total=self.total, initial=self.at.step, unit="step", disable=progress is not True, desc=self.recipe.name) as bar:
            try:
                for rows in self._remaining(last):
                    with uninterrupted():
                        self._step(rows)
                        bar.update()
                        if callable(progress):
                            progress(self.at.step, self.total)
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
        task, recipe = self.task, self.recipe
        task.network.train()
        is_masked = self.at.step < recipe.pretrain
        first, last = (0, recipe.pretrain) if is_masked else (recipe.pretrain, self.total)
        for group, highest in zip(task.optimizer.param_groups, self.rates, strict=True):
            group["lr"] = highest * rate(recipe.schedule, self.at.step - first, last - first, recipe.warmup)
        device = task.device
        with self._precision(device.type):
            output = task.masked_loss(rows) if is_masked else task.logits(rows)
        if is_masked:
            loss = output
        else:
            loss = F.cross_entropy(output.float(), self.targets[rows].to(device), label_smoothing=recipe.label_smoothing)
        task.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(task.network.parameters(), recipe.clip)
        task.optimizer.step()
        self.at.step += 1
        self.at.loss_sum += float(loss.detach())
        self.at.loss_steps += 1
        if self.at.step % recipe.log_every == 0 or self.at.step == recipe.pretrain:
            self._log_scalars()

    def _precision(self, device: str) -> torch.autocast:
        """Return the context in which products are computed in the recipe's precision.

        A processor with AVX2 alone only imitates bf16, about 15 times as slow as fp32, so it computes in fp32.
        """
        precision = self.recipe.precision
        imitated = device == "cpu" and torch.backends.cpu.get_cpu_capability() == "AVX2"
        is_half = (precision == "bf16" and not imitated) or (precision == "auto" and device == "cuda")
        return torch.autocast(device, torch.bfloat16, enabled=is_half)

    def _keep(self) -> None:
        """Keep the weights after this epoch, and drop those before the last `keep_epochs` epochs."""
        self.epochs[self.at.step // self.steps_per_epoch] = self.task.stored(self.task.network.state_dict())
        for epoch in sorted(self.epochs)[: -self.recipe.keep_epochs or None]:
            del self.epochs[epoch]

    def _validate(self) -> None:
        select, best = self.recipe.select, self.at.best
        device = self.task.device
        with self._precision(device.type):
            validation_scores = scores(evaluate(self.task.model().on(device), self.task.validation), select)
        for name, value in validation_scores.items():
            self._log(f"validation_{name}", value)
        if better(validation_scores, best, select):
            self.at.best = validation_scores | {"step": self.at.step, "epoch": self.at.step / self.steps_per_epoch}
            self.best_state = self._state()
            self.at.since_best = 0
        else:
            self.at.since_best += 1
            self.at.stopped = self.at.since_best == self.recipe.patience

    def _log(self, name: str, value: float, layer: int = -1, component: int = -1) -> None:
        self.at.history.append([self.at.step, self.at.step / self.steps_per_epoch, name, layer, component, value])

    def _log_scalars(self) -> None:
        """Log the mean training loss since the last log, the learning rate and every learned scalar."""
        if self.at.loss_steps:
            self._log("masked_loss" if self.at.step <= self.recipe.pretrain else "train_loss", self.at.loss_sum / self.at.loss_steps)
            self._log("learning_rate", self.task.optimizer.param_groups[0]["lr"])
            self.at.loss_sum, self.at.loss_steps = 0.0, 0
        with torch.no_grad():
            for name, layer, component, value in self.task.network.scalars():
                self._log(name, value, layer, component)

    # ---- resume points

    def save(self) -> None:
        """Write a resume point; the old one is replaced when the new one is complete.

        Raises:
            RunError: it cannot be written.
        """
        tensors = {f"model.{k}": v for k, v in self.task.network.state_dict().items()}
        tensors |= {f"best.{k}": v for k, v in self.best_state.items()}
        for i, entry in self.task.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{i}.{k}": v for k, v in entry.items()}
        for epoch, state in self.epochs.items():
            tensors |= {f"epoch.{epoch}.{k}": v for k, v in state.items()}
        if self.task.device.type == "cuda":
            tensors["rng.cuda"] = torch.cuda.get_rng_state()
        resuming.write(self.folder, tensors, self.recipe, (self.task.train, self.task.validation), self.at)

    def resume(self) -> bool:
        """Continue from a resume point, if there is one, and return whether there was.

        Raises:
            RunError: it is damaged, or belongs to other data or to a recipe that differs in more than example, transfer and kept epochs.
        """
        task = self.task
        stored = resuming.read(self.folder, self.recipe, (task.train, task.validation), task.device)
        if stored is None:
            return False
        at, tensors = stored
        try:
            task.network.load_state_dict(resuming.under(tensors, "model."))
            resuming.restore_optimizer(task.optimizer, resuming.under(tensors, "optimizer."))
            numbers = sorted({int(name.split(".")[1]) for name in tensors if name.startswith("epoch.")})
            kept_numbers = numbers[-self.recipe.keep_epochs :] if self.recipe.keep_epochs else []
            self.epochs = {number: {k: v.cpu() for k, v in resuming.under(tensors, f"epoch.{number}.").items()} for number in kept_numbers}
            self.best_state = resuming.under(tensors, "best.")
            resuming.restore_random(tensors, task.device)
        except Exception as error:
            raise resuming.damaged(self.folder, error) from error
        self.at = at
        return True

    # ---- the run folder

    def finish(self) -> Run:
        """Write the run folder from the best state, and delete the resume point.

        Raises:
            RunError: the folder cannot be written; the resume point stays.
        """
        task = self.task
        run = finish(
            self.folder,
            task.model(),
            task.stored(self.best_state),
            recipe=self.recipe.as_dict(),
            preset=self.recipe.configuration,
            seen=(task.train,),
            validation=task.validation,
            tests=task.tests,
            history=self.at.history,
            best=self.at.best,
            example=task.example,
            steps=self.at.step,
            seconds=self.at.seconds,
            hardware=hardware() if task.device.type == "cpu" else torch.cuda.get_device_name(),
            epochs=self.epochs,
            entries=task.entries(),
            measures=task.measures,
            device=task.device.type,
        )
        shutil.rmtree(resume_point(self.folder), ignore_errors=True)
        return run
