"""Train the hardmax classifier and write an ordinary run folder."""

from __future__ import annotations

import json
import math
import platform
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from safetensors.torch import save_file

from sentviz import datasets, runs
from sentviz.errors import InputError, RunError
from sentviz.evaluation import Evaluation, evaluate, fit_temperature, metrics
from sentviz.examples import examples_for
from sentviz.explain import explained
from sentviz.hardmax.text import WordsTokenizer
from sentviz.models.config import HardmaxConfig, stored_config
from sentviz.models.hardmax import HardmaxEncoder, HardmaxModel, Ids
from sentviz.models.model import by_length
from sentviz.runs import Run
from sentviz.training import EMBEDDINGS, batches

if TYPE_CHECKING:
    from sentviz.datasets import Split

__all__ = ["WIDTHS", "HardmaxRecipe", "fit", "train_hardmax"]

WIDTHS = (2, 4, 8, 16)
EXAMPLE = "The story is boring and the acting is terrible, but the music is wonderful and I loved the ending."


@dataclass(frozen=True)
class HardmaxRecipe:
    """What decides a training run. The paper prints neither epochs nor rates: these are ours, the same for all d.

    Tried on validation, a few epochs each: learning rates 0.003 and 0.01 (d = 16), starts 0.1, 0.3 and 1 (d = 2).
    """

    dataset: str = "imdb"
    width: int = 2  # d
    layers: int = 8
    max_length: int = 128  # words
    training: str = "softmax"  # or "hardmax": the argmax itself, gradients through the mean of the selected tokens
    training_temperature: float = 1e-3
    cleaning: bool = True
    min_count: int = 10
    vocab_size: int = 12_000  # words at most
    seed: int = 0
    epochs: int = 5
    batch_size: int = 64
    learning_rate: float = 1e-2  # falls to 0 along a cosine
    weight_decay: float = 0.0
    start: float = 0.1  # standard deviation of the embedding's start
    clip: float = 5.0
    evaluations: int = 1  # per epoch
    example: str = EXAMPLE

    @property
    def preset(self) -> str:
        """`hardmax-d2`, with `-straight` where the argmax itself is trained and `-raw` without cleaning."""
        return f"hardmax-d{self.width}" + ("-straight" if self.training == "hardmax" else "") + ("" if self.cleaning else "-raw")

    @classmethod
    def named(cls, dataset: str, preset: str, **changes: Any) -> HardmaxRecipe:
        """A recipe by its preset, with changes on top.

        Raises:
            InputError: no such preset.
        """
        found = re.fullmatch(r"hardmax-d([1-9]\d{0,2})(-straight)?(-raw)?", preset)
        if found is None:
            raise InputError(f"There is no model {preset!r}; there are hardmax-d2, -d4, -d8, -d16, and each with -straight.")
        width, straight, raw = found.groups()
        return cls(dataset, int(width), training="hardmax" if straight else "softmax", cleaning=not raw, **changes)

    def config(self, vocab_size: int) -> HardmaxConfig:
        """The shape of its model."""
        return HardmaxConfig(
            vocab_size,
            max_length=self.max_length,
            width=self.width,
            layers=self.layers,
            cleaning=self.cleaning,
            training="hardmax" if self.training == "hardmax" else "softmax",
            training_temperature=self.training_temperature,
        )

    @property
    def name(self) -> str:
        """`imdb/hardmax-d2`, with the seed where it is not 0."""
        return f"{self.dataset}/{self.preset}" + (f"-s{self.seed}" if self.seed else "")


@dataclass(frozen=True)
class Fitted:
    """The best encoder of a training run, by validation accuracy, ties by loss."""

    encoder: HardmaxEncoder
    best: dict[str, float]  # accuracy, loss, step, epoch
    history: list[list[Any]]  # step, epoch, name, layer, component, value
    steps: int
    seconds: float


def fit(
    recipe: HardmaxRecipe,
    config: HardmaxConfig,
    rows: Sequence[Ids],
    labels: Sequence[int],
    validate: Callable[[HardmaxEncoder], tuple[float, float]],
    say: Callable[[str], object] = lambda line: None,
) -> Fitted:
    """Adam with a cosine, gradients clipped; `validate` gives accuracy and loss of an encoder as hardmax."""
    torch.manual_seed(recipe.seed)
    encoder = HardmaxEncoder(config)
    with torch.no_grad():
        encoder.embedding.weight.mul_(recipe.start)
    optimizer = torch.optim.AdamW(encoder.parameters(), lr=recipe.learning_rate, weight_decay=recipe.weight_decay)
    lengths, targets = np.array([len(row) for row in rows]), torch.tensor(np.asarray(labels, dtype=np.int64))
    temperature = recipe.training_temperature if recipe.training == "softmax" else 0.0
    per_epoch = math.ceil(len(rows) / recipe.batch_size)
    total, step, started = per_epoch * recipe.epochs, 0, time.monotonic()
    best: dict[str, float] = {}
    history: list[list[Any]] = []
    losses: list[float] = []

    def log(name: str, value: float) -> None:
        history.append([step, step / per_epoch, name, -1, -1, value])

    log("alpha", float(encoder.alpha.detach()))
    state = {k: v.clone() for k, v in encoder.state_dict().items()}
    for batch in _epochs(lengths, recipe):
        for group in optimizer.param_groups:
            group["lr"] = recipe.learning_rate * 0.5 * (1 + math.cos(math.pi * step / total))
        loss = F.cross_entropy(encoder.short([rows[i] for i in batch], temperature).logits, targets[batch])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(encoder.parameters(), recipe.clip)
        optimizer.step()
        step += 1
        losses.append(float(loss.detach()))
        if step % 50 == 0:
            log("train_loss", float(np.mean(losses)))
            log("alpha", float(encoder.alpha.detach()))
            losses = []
        if step % per_epoch in {0, *(math.ceil(per_epoch * k / recipe.evaluations) for k in range(1, recipe.evaluations))}:
            accuracy, value = validate(encoder)
            log("validation_accuracy", accuracy)
            log("validation_loss", value)
            say(
                f"{recipe.name} {step / per_epoch:.1f} accuracy {accuracy:.4f} loss {value:.4f} alpha {float(encoder.alpha.detach()):.3f}"
                f" {time.monotonic() - started:.0f} s"
            )
            if not best or (accuracy, -value) > (best["accuracy"], -best["loss"]):
                best = {"accuracy": accuracy, "loss": value, "step": step, "epoch": step / per_epoch}
                state = {k: v.clone() for k, v in encoder.state_dict().items()}
    encoder.load_state_dict(state)
    return Fitted(encoder, best, history, step, time.monotonic() - started)


def _epochs(lengths: npt.NDArray[np.int64], recipe: HardmaxRecipe) -> Iterator[npt.NDArray[np.int64]]:
    for epoch in range(recipe.epochs):
        yield from batches(lengths, recipe.batch_size, recipe.seed, epoch)


def train_hardmax(recipe: HardmaxRecipe, root: Path, *, say: Callable[[str], object] = lambda line: None) -> Run:
    """Train a recipe to the run folder `root/<data set>/<preset>`; every metric is computed from the weights as stored.

    Training texts without a known word are left out and counted as dropped. Of the other splits every row is answered: the mean of no
    word is the origin, where the decoder says its bias.

    Args:
        say: called with a line after each evaluation.
    Raises:
        InputError: a data set of other than two classes of single texts, or an example without a known word.
        DataMissingError: the data set is not here. RunError: another process trains it.
    """
    _check(recipe)
    folder = root / recipe.name
    with runs.claim(folder) as mine:
        if not mine:
            raise RunError(f"{recipe.name} is being trained by another process in {root}.")
        train, validation = (datasets.load_split(recipe.dataset, split) for split in ("train", "validation"))
        texts = train.frame["text"].tolist()
        tokenizer = WordsTokenizer.fit(texts, min_count=recipe.min_count, most=recipe.vocab_size, cleaning=recipe.cleaning)
        recipe = replace(recipe, example=_example(recipe, tokenizer))
        config = recipe.config(tokenizer.vocab_size)
        seen = tokenizer.ids_batch(texts, max_length=recipe.max_length)
        kept = [i for i, row in enumerate(seen) if len(row)]
        train = replace(train, frame=train.frame.iloc[kept].reset_index(drop=True), dropped=train.dropped + len(seen) - len(kept))
        rows = tokenizer.ids_batch(validation.frame["text"].tolist(), max_length=recipe.max_length)
        targets = torch.tensor(validation.frame["label"].to_numpy(np.int64, copy=True))

        def validate(encoder: HardmaxEncoder) -> tuple[float, float]:
            with torch.inference_mode():
                logits = torch.empty(len(rows), config.classes)
                for batch in by_length([len(row) for row in rows]):
                    logits[batch] = encoder.short([rows[i] for i in batch]).logits
            return float((logits.argmax(dim=1) == targets).float().mean()), float(F.cross_entropy(logits, targets))

        fitted = fit(recipe, config, [seen[i] for i in kept], train.frame["label"].tolist(), validate, say)
        return write(recipe, fitted, tokenizer, train, validation, folder)


def _check(recipe: HardmaxRecipe) -> None:
    item = datasets.info(recipe.dataset)
    if item.pair or len(item.labels) != 2:
        has = "pairs" if item.pair else f"{len(item.labels) or 'no'} classes"
        raise InputError(f"The hardmax classifier tells two classes of single texts apart; {recipe.dataset} has {has}.")
    if not 0 <= recipe.seed < 1 << 63:
        raise InputError(f"The recipe's seed cannot be {recipe.seed}.")


def _example(recipe: HardmaxRecipe, tokenizer: WordsTokenizer) -> str:
    """The recipe's example or, in another language, the first of ours of which the model knows a word."""
    item = datasets.info(recipe.dataset)
    ours = [example.text for example in examples_for(item.labels, item.language).values()]
    for text, row in zip([recipe.example, *ours], tokenizer.ids_batch([recipe.example, *ours]), strict=True):
        if len(row):
            return text
    raise InputError(f"The model would know no word of the example {recipe.example!r}: please give another one.")


def write(recipe: HardmaxRecipe, fitted: Fitted, tokenizer: WordsTokenizer, train: Split, validation: Split, folder: Path) -> Run:
    """The run folder of a fitted encoder, evaluated once on the test split."""
    import pandas as pd
    from safetensors.numpy import save_file as save_arrays

    weights = {name: tensor.half().contiguous() for name, tensor in fitted.encoder.state_dict().items()}
    encoder = HardmaxEncoder(fitted.encoder.config)
    encoder.load_state_dict({name: tensor.float() for name, tensor in weights.items()})
    model = HardmaxModel(recipe.name, encoder, tokenizer, train.labels)
    chosen, test = evaluate(model, validation), datasets.load_split(recipe.dataset, "test")
    evaluation = evaluate(model, test)
    report: dict[str, Any] = {"test": metrics(evaluation)}
    report["validation"] = {"n": len(validation), "accuracy": fitted.best["accuracy"], "stored_accuracy": _accuracy(chosen)}
    if recipe.training == "softmax":
        soft = model.at(recipe.training_temperature)
        report["softmax"] = {
            "temperature": recipe.training_temperature,
            "validation_accuracy": _accuracy(evaluate(soft, validation)),
            "test_accuracy": _accuracy(evaluate(soft, test)),
        }
    example = explained(model, model.trace(recipe.example))
    history = pd.DataFrame(fitted.history, columns=["step", "epoch", "name", "layer", "component", "value"])
    history = history.astype({"layer": "int8", "component": "int8", "value": "float32", "epoch": "float32", "step": "int32"})
    sampled = evaluation.sample(EMBEDDINGS)
    pooled: dict[str, npt.NDArray[Any]] = {"rows": sampled.astype(np.int32), "pooled": evaluation.pooled[sampled].astype(np.float16)}
    config = {
        "name": recipe.name,
        "preset": recipe.preset,
        "model": stored_config(fitted.encoder.config),
        "parameters": encoder.parameters_count(),
        "labels": list(train.labels),
        "tokenizer": {"kind": tokenizer.kind, "cls": False, "vocab_size": tokenizer.vocab_size},
        "data": {
            "name": recipe.dataset,
            "splits": {s.split: {"n": len(s), "dropped": s.dropped, "digest": s.digest} for s in (train, validation)},
        },
        "recipe": asdict(recipe) | {"model": recipe.preset},
        "best": fitted.best,
        "temperature": round(fit_temperature(chosen.logits, chosen.labels), 4),
        "steps": fitted.steps,
        "seconds": round(fitted.seconds),
        "hardware": f"{platform.machine()}, {torch.get_num_threads()} CPU thread(s)",
        "version": {"sentviz": runs.version(), "torch": torch.__version__},
        "created": time.strftime("%Y-%m-%d"),
    }
    runs.write(
        folder,
        config,
        {
            "model.safetensors": lambda path: save_file(weights, path),
            "tokenizer.json": tokenizer.save,
            "history.parquet": lambda path: history.to_parquet(path, index=False, compression="zstd"),
            "test.parquet": lambda path: evaluation.frame().to_parquet(path, index=False, compression="zstd"),
            "embeddings.safetensors": lambda path: save_arrays(pooled, path),
            "example.safetensors": example.save,
            "metrics.json": lambda path: path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8"),
        },
    )
    return Run.open(folder, recipe.name)


def _accuracy(evaluation: Evaluation) -> float:
    return float((evaluation.logits.argmax(axis=1) == evaluation.labels).mean())
