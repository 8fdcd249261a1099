"""Train a recipe: resumable bit for bit, best on validation, written as one atomic run folder."""

from __future__ import annotations

import json
import math
import platform
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import Tensor

from sentviz import datasets, runs
from sentviz.atomic import uninterrupted
from sentviz.errors import InputError, RunError
from sentviz.evaluation import Evaluation, evaluate, fit_temperature, metrics
from sentviz.explain import explained
from sentviz.lexicon import Lexicon
from sentviz.models.config import stored_config
from sentviz.models.encoder import Encoder
from sentviz.models.mixing import Constrained, Differential
from sentviz.models.model import Model, collate, read
from sentviz.models.weights import load_weights, save_weights
from sentviz.presets import preset
from sentviz.recipe import Recipe, finished, learned
from sentviz.runs import Run
from sentviz.text import Tokenizer

__all__ = ["Trainer", "train"]

SAVE_EVERY = 60.0  # seconds between resume points
EXAMPLE = "Not bad at all, but I would not see it twice."
EMBEDDINGS = 1_000  # pooled vectors of the test split that a run carries


@dataclass
class Progress:
    """Where a training run stands; with the tensors it is all that resuming needs."""

    step: int = 0
    since_best: int = 0
    best: dict[str, float] = field(default_factory=dict)  # accuracy, loss, step, epoch
    seconds: float = 0.0
    loss_sum: float = 0.0  # since the last log
    loss_steps: int = 0
    stopped: bool = False
    history: list[list[Any]] = field(default_factory=list)  # step, epoch, name, layer, component, value


def train(recipe: Recipe, root: str | Path, *, device: str = "", progress: bool = True) -> Run:
    """Train a recipe to a run folder `root/<data set>/<model>`; a run that stopped goes on where it was, a finished one is given back.

    Raises:
        DataMissingError: the data set is not here. InputError: a recipe that its data set does not allow.
        RunError: something else is in its place, or a resume point of another recipe. KeyboardInterrupt: after saving one.
    """
    torch.set_float32_matmul_precision("highest")
    folder = Path(root) / recipe.name
    with runs.claim(folder) as mine:
        if not mine:
            raise RunError(f"{recipe.name} is being trained by another process in {root}.")
        if run := finished(recipe, root):
            if not run.answers:
                raise RunError(f"{folder} keeps the run's measurements without its weights; choose another folder to train it.")
            return run
        trainer = Trainer(recipe, folder, device=device or ("cuda" if torch.cuda.is_available() else "cpu"))
        trainer.resume()
        trainer.fit(progress=progress)
        return trainer.finish()


def batches(lengths: npt.NDArray[np.int64], size: int, seed: int, epoch: int) -> list[npt.NDArray[np.int64]]:
    """Length-bucketed batches of one epoch: shuffled, sorted by length within pools of 50 batches, batches shuffled again."""
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(len(lengths))
    pools = [order[i : i + 50 * size] for i in range(0, len(order), 50 * size)]
    cut = [pool[np.argsort(lengths[pool], kind="stable")] for pool in pools]
    made = [pool[i : i + size] for pool in cut for i in range(0, len(pool), size)]
    return [made[i] for i in rng.permutation(len(made))]


class Trainer:
    """One training run."""

    def __init__(self, recipe: Recipe, folder: Path, *, device: str = "cpu") -> None:
        self.recipe, self.folder, self.device = recipe, folder, torch.device(device)
        self.resume_folder = folder.with_name(f".{folder.name}.tmp-resume")
        self.train_split = datasets.load_split(recipe.dataset, "train")
        if not self.train_split.labels:
            raise InputError(f"{recipe.dataset} has no classes to tell apart.")
        self.validation = datasets.load_split(recipe.dataset, "validation")
        frame = self.train_split.frame
        pairs = "text_pair" in frame
        texts = [*frame["text"], *(frame["text_pair"] if pairs else ())]
        self.tokenizer = (
            Tokenizer.train_bpe(texts, recipe.vocab_size) if recipe.tokenizer == "bpe" else Tokenizer.train_words(texts, recipe.min_count)
        )
        self.tests = self._tests()
        self._check_example()
        self.rows = read(self.tokenizer, frame, max_length=recipe.max_length, cls=recipe.cls, segments=pairs)
        self.lengths = np.array([len(row) for row in self.rows])
        self.targets = torch.tensor(frame["label"].to_numpy(np.int64, copy=True))
        torch.manual_seed(recipe.seed)
        self.encoder = Encoder(
            preset(
                recipe.model,
                vocab_size=self.tokenizer.vocab_size,
                classes=len(self.train_split.labels),
                max_length=recipe.max_length,
                dropout=recipe.dropout,
                **{"segments": 2 if pairs else 1} | recipe.shape,
            )
        ).to(self.device)
        if self.encoder.config.lexicon != "none":
            self.encoder.polarity.copy_(torch.from_numpy(Lexicon.load(recipe.lexicon).polarity(self.tokenizer)))
        self.best_state = {k: v.detach().clone() for k, v in self.encoder.state_dict().items()}
        mixing = [p for m in self.encoder.modules() if isinstance(m, Constrained | Differential) for p in m.parameters() if p.requires_grad]
        chosen = {id(p) for p in mixing}
        rest = [p for p in self.encoder.parameters() if p.requires_grad and id(p) not in chosen]
        groups = [{"params": rest, "lr": recipe.learning_rate, "weight_decay": recipe.weight_decay}]
        if mixing:
            groups.append({"params": mixing, "lr": recipe.lambda_rate, "weight_decay": 0.0})
        self.optimizer = torch.optim.AdamW(groups, fused=True)
        self.rates = [group["lr"] for group in self.optimizer.param_groups]
        self.steps_per_epoch = math.ceil(len(self.rows) / recipe.batch_size)
        self.total = self.steps_per_epoch * recipe.epochs
        self.at = Progress()

    def _tests(self) -> list[datasets.Split]:
        """What the finished run is asked: the data set's own splits and, by its name, the other data set's."""
        recipe, train = self.recipe, self.train_split
        names = ["test", *(s for s in ("official_test",) if s in datasets.info(recipe.dataset).splits)]
        tests = [datasets.load_split(recipe.dataset, name) for name in names]
        if recipe.transfer:
            other = datasets.load_split(recipe.transfer, "test")
            if other.labels != train.labels or ("text_pair" in other.frame) != ("text_pair" in train.frame):
                raise InputError(f"The recipe's transfer {recipe.transfer} has other classes or kinds of texts than {recipe.dataset}.")
            tests.append(replace(other, split=recipe.transfer))
        return tests

    def _check_example(self) -> None:
        text, pair = self.recipe.example or EXAMPLE, self.recipe.example_pair or None
        try:
            self.tokenizer.encode(text, pair, max_length=self.recipe.max_length, cls=self.recipe.cls)
        except InputError as error:
            raise InputError(f"The recipe's example cannot be used: {error}") from error

    # ---- the loop

    def fit(self, *, progress: bool = True, until: int | None = None) -> None:
        """Train to the end, or to a step; Ctrl-C leaves a resume point."""
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
                        if self._evaluation_due():
                            self._validate()
                            bar.set_postfix(accuracy=f"{self.at.best['accuracy']:.4f}")
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
            yield from batches(self.lengths, self.recipe.batch_size, self.recipe.seed, epoch)[done : done + last - self.at.step]

    def _step(self, rows: npt.NDArray[np.int64]) -> None:
        self.encoder.train()
        for group, rate in zip(self.optimizer.param_groups, self.rates, strict=True):
            group["lr"] = rate * self._schedule(self.at.step)
        batch = collate([self.rows[i] for i in rows], self.device)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            logits = self.encoder(batch).logits
        loss = F.cross_entropy(logits.float(), self.targets[rows].to(self.device), label_smoothing=self.recipe.label_smoothing)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.encoder.parameters(), self.recipe.clip)
        self.optimizer.step()
        self.at.step += 1
        self.at.loss_sum += float(loss.detach())
        self.at.loss_steps += 1
        if self.at.step % self.recipe.log_every == 0:
            self._log_scalars()

    def _schedule(self, step: int) -> float:
        """Linear warm-up, then cosine to zero."""
        warm = max(1, round(self.recipe.warmup * self.total))
        if step < warm:
            return (step + 1) / warm
        return 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, self.total - warm)))

    def _evaluation_due(self) -> bool:
        place, n = self.at.step % self.steps_per_epoch or self.steps_per_epoch, self.recipe.evaluations
        return place in {math.ceil(self.steps_per_epoch * (i + 1) / n) for i in range(n)}

    def _validate(self) -> None:
        evaluation = evaluate(self._model(), self.validation)
        accuracy = float((evaluation.logits.argmax(axis=1) == evaluation.labels).mean())
        loss = float(F.cross_entropy(torch.from_numpy(evaluation.logits), torch.from_numpy(evaluation.labels)))
        self._log("validation_accuracy", accuracy)
        self._log("validation_loss", loss)
        best = self.at.best
        if not best or (accuracy, -loss) > (best["accuracy"], -best["loss"]):
            self.at.best = {
                "accuracy": accuracy,
                "loss": loss,
                "step": self.at.step,
                "epoch": self.at.step / self.steps_per_epoch,
            }
            self.best_state = {k: v.detach().clone() for k, v in self.encoder.state_dict().items()}
            self.at.since_best = 0
        else:
            self.at.since_best += 1
            self.at.stopped = self.at.since_best >= self.recipe.patience

    def _model(self) -> Model:
        """A copy that can be evaluated while the encoder trains on."""
        copy = Encoder(self.encoder.config)
        copy.load_state_dict({k: v.detach().cpu() for k, v in self.encoder.state_dict().items()})
        return Model(self.recipe.name, copy, self.tokenizer, self.train_split.labels, cls=self.recipe.cls)

    def _log(self, name: str, value: float, layer: int = -1, component: int = -1) -> None:
        self.at.history.append([self.at.step, self.at.step / self.steps_per_epoch, name, layer, component, value])

    def _log_scalars(self) -> None:
        """The mean training loss since the last log and every learned scalar of the layers."""
        if self.at.loss_steps:
            self._log("train_loss", self.at.loss_sum / self.at.loss_steps)
            self._log("learning_rate", self.optimizer.param_groups[0]["lr"])
            self.at.loss_sum, self.at.loss_steps = 0.0, 0
        with torch.no_grad():
            for layer, row in enumerate(self.encoder.lambdas().tolist()):
                for component, value in enumerate(row[1:], start=1):
                    self._log("lambda", value, layer, component)
            for name, parameter in self.encoder.named_parameters():
                if name.endswith("temperature"):
                    self._log("temperature", float(parameter), int(name.split(".")[1]))

    # ---- resume points

    def save(self) -> None:
        """Write a resume point; the old one stays until the new one is whole."""
        tensors: dict[str, Tensor] = {f"model.{k}": v for k, v in self.encoder.state_dict().items()}
        tensors |= {f"best.{k}": v for k, v in self.best_state.items()}
        for i, entry in self.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{i}.{k}": v for k, v in entry.items()}
        tensors["rng"] = torch.get_rng_state()
        if self.device.type == "cuda":
            tensors["rng.cuda"] = torch.cuda.get_rng_state()
        with runs.writing(self.resume_folder) as fresh:
            save_file({k: v.contiguous().cpu() for k, v in tensors.items()}, fresh / "state.safetensors")
            stored = {"recipe": self.recipe.as_dict(), "data": self._data(), "tensors": sorted(tensors), "at": asdict(self.at)}
            (fresh / "progress.json").write_text(json.dumps(stored))

    def _data(self) -> dict[str, str]:
        return {each.split: each.digest for each in (self.train_split, self.validation)}

    def resume(self) -> bool:
        """Go on from a resume point, if there is one.

        Raises:
            RunError: it is damaged, or belongs to another recipe (its example and transfer aside) or to other data.
        """
        point = runs.restored(self.resume_folder)
        if not (point / "progress.json").is_file():
            return False
        try:
            stored = json.loads((point / "progress.json").read_text())
            at, data = Progress(**stored["at"]), stored.get("data", self._data())  # those of older versions name no data
            if learned(stored["recipe"]) != learned(json.loads(json.dumps(self.recipe.as_dict()))):
                raise RunError(f"The resume point {point} belongs to another recipe; delete it to start again.")
            if data != self._data():
                raise RunError(f"The resume point {point} belongs to other rows of {self.recipe.dataset}; delete it to start again.")
            self._restore(load_file(point / "state.safetensors", device=str(self.device)), stored.get("tensors", ()))
        except RunError:
            raise
        except Exception as error:
            reason = " ".join(str(error).split())
            raise RunError(f"The resume point {point} is damaged ({reason}); delete it to start again.") from error
        self.at = at
        return True

    def _restore(self, tensors: dict[str, Tensor], names: Sequence[str]) -> None:
        if missing := sorted(set(names) - tensors.keys()):
            raise KeyError(f"without {missing[0]}")
        self.encoder.load_state_dict({k[6:]: v for k, v in tensors.items() if k.startswith("model.")})
        self.best_state = {k[5:]: v for k, v in tensors.items() if k.startswith("best.")}
        optimizer = self.optimizer.state_dict()
        for name, tensor in tensors.items():
            if name.startswith("optimizer."):
                _, i, key = name.split(".")
                optimizer["state"].setdefault(int(i), {})[key] = tensor
        self.optimizer.load_state_dict(optimizer)
        torch.set_rng_state(tensors["rng"].cpu())
        if self.device.type == "cuda":
            torch.cuda.set_rng_state(tensors["rng.cuda"].cpu())

    # ---- the run folder

    def finish(self) -> Run:
        """Write the run folder; every metric is computed from the weights as stored."""
        import pandas as pd
        from safetensors.numpy import save_file as save_arrays

        recipe, encoder = self.recipe, Encoder(self.encoder.config)
        encoder.load_state_dict({k: v.cpu() for k, v in self.best_state.items()})
        stored = self.folder.with_name(f".{self.folder.name}.tmp-weights")
        save_weights(encoder, stored)
        load_weights(encoder, stored)
        model = Model(recipe.name, encoder, self.tokenizer, self.train_split.labels, cls=recipe.cls)

        temperature_source = evaluate(model, self.validation)
        evaluations = [evaluate(model, split) for split in self.tests]
        report: dict[str, Any] = {e.split: metrics(e) for e in evaluations}
        report["validation"] = {
            "n": len(temperature_source.labels),
            "accuracy": self.at.best["accuracy"],
            "stored_accuracy": float((temperature_source.logits.argmax(axis=1) == temperature_source.labels).mean()),
        }
        example = explained(model, model.trace(recipe.example or EXAMPLE, recipe.example_pair or None))
        history = pd.DataFrame(self.at.history, columns=["step", "epoch", "name", "layer", "component", "value"])
        history = history.astype({"layer": "int8", "component": "int8", "value": "float32", "epoch": "float32", "step": "int32"})

        def embeddings(path: Path) -> None:
            test: Evaluation = evaluations[0]
            rows = test.sample(EMBEDDINGS)
            save_arrays({"rows": rows.astype(np.int32), "pooled": test.pooled[rows].astype(np.float16)}, path)

        config = {
            "name": recipe.name,
            "preset": recipe.configuration,
            "model": stored_config(self.encoder.config),
            "parameters": self.encoder.parameters_count(),
            "labels": list(self.train_split.labels),
            "tokenizer": {"kind": self.tokenizer.kind, "cls": recipe.cls, "vocab_size": self.tokenizer.vocab_size},
            "data": {
                "name": recipe.dataset,
                "splits": {
                    s.split: {"n": len(s.frame), "dropped": s.dropped, "digest": s.digest} for s in (self.train_split, self.validation)
                },
            },
            "recipe": recipe.as_dict(),
            "best": self.at.best,
            "temperature": round(fit_temperature(temperature_source.logits, temperature_source.labels), 4),
            "steps": self.at.step,
            "seconds": round(self.at.seconds),
            "hardware": f"{platform.machine()}, {torch.get_num_threads()} CPU thread(s)"
            if self.device.type == "cpu"
            else torch.cuda.get_device_name(),
            "version": {"sentviz": runs.version(), "torch": torch.__version__},
            "created": time.strftime("%Y-%m-%d"),
        }
        runs.write(
            self.folder,
            config,
            {
                "model.safetensors": lambda path: shutil.copyfile(stored, path),
                "tokenizer.json": self.tokenizer.save,
                "history.parquet": lambda path: history.to_parquet(path, index=False, compression="zstd"),
                "test.parquet": lambda path: pd.concat([e.frame() for e in evaluations]).to_parquet(path, index=False, compression="zstd"),
                "embeddings.safetensors": embeddings,
                "example.safetensors": example.save,
                "metrics.json": lambda path: path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8"),
            },
        )
        stored.unlink()
        shutil.rmtree(self.resume_folder, ignore_errors=True)
        return Run.open(self.folder, recipe.name)
