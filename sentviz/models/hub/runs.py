"""A foreign encoder as a run folder like any other, so that every page shows it."""

from __future__ import annotations

import json
import platform
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import save_file

from sentviz import datasets, runs
from sentviz.datasets import Split
from sentviz.errors import DataMissingError, InputError, RunError
from sentviz.evaluation import Evaluation, evaluate, fit_temperature, metrics
from sentviz.examples import examples_for
from sentviz.explain import explained
from sentviz.lexicon import Lexicon
from sentviz.models.config import stored_config
from sentviz.models.hub.encoder import transformers
from sentviz.models.hub.loading import Opened, opened, short_name
from sentviz.models.hub.model import HubModel
from sentviz.runs import Run

__all__ = ["adopt", "classified", "configuration", "hardware", "occupied", "opening", "write"]

EMBEDDINGS = 1_000  # pooled vectors of the test split that a run carries
LEFT_OUT = ("_name_or_path", "architectures", "dtype", "transformers_version")  # of the configuration that is stored
COLUMNS = {"step": "int32", "epoch": "float32", "name": "str", "layer": "int8", "component": "int8", "value": "float32"}


def configuration(name_or_folder: str | Path, injection: str = "") -> str:
    """The model's name in a run's: letters, digits, dots and dashes, with the injection behind."""
    plain = re.sub(r"[^\w.]+", "-", short_name(name_or_folder)).strip("-.") or "model"
    return f"{plain}-{injection}" if injection else plain


def adopt(
    name_or_folder: str | Path,
    dataset: str,
    out: str | Path,
    *,
    lexicon: str = "",
    injection: str = "",
    labels: Sequence[str] = (),
    example: tuple[str, str | None] | None = None,
    allow_pickle: bool = False,
) -> Run:
    """Evaluate a foreign classifier on a data set as it is, and write it as the run `out/<data set>/<model>` with a copy of its weights.

    Its classes are brought into the data set's order, by their names; the temperature is fitted on the validation split, if there is one.

    Args:
        lexicon, injection: polarities to put into its scores without any training, by the lexicon's name.
        labels: the model's classes in its own order, in the data set's names, where the names alone do not tell.
        example: the sentence that opens its pages, and the second of a pair; one of ours in the data set's language unless given.
    Raises:
        RunError: as `load`, classes that are not the data set's, or a run of another model in its place.
        InputError: a data set without classes. DataMissingError: the data set is not here.
    """
    test = datasets.load_split(classified(dataset), "test")
    read = opened(name_or_folder, allow_pickle=allow_pickle)
    name = f"{dataset}/{configuration(name_or_folder, injection)}"
    folder = Path(out) / name
    model = read.wrapped(Lexicon.load(lexicon) if lexicon else None, injection)
    _reorder(model, _order(labels or model.labels, test.labels, read.name))
    model.name, model.labels = name, tuple(test.labels)
    recipe = {"dataset": dataset, "model": configuration(name_or_folder, injection), "lexicon": lexicon, "seed": 0}
    recipe |= {"source": read.source, "weights": read.weights}
    start = time.monotonic()
    with runs.claim(folder) as mine:
        if not mine:
            raise RunError(f"{name} is being written by another process in {out}.")
        occupied(folder, read)
        try:
            held = [datasets.load_split(dataset, "validation")]
        except (DataMissingError, InputError):
            held = []
        validation = evaluate(model, held[0]) if held else None
        best = {"step": 0, "epoch": 0.0} | ({} if validation is None else scores(validation))
        history = [[0, 0.0, f"validation_{key}", -1, -1, best[key]] for key in ("accuracy", "loss") if key in best]
        weights = {key: tensor.contiguous() for key, tensor in model.network.state_dict().items()}
        return write(
            folder,
            model,
            lambda path: save_file(weights, path),
            recipe=recipe,
            splits=digests(held),
            validation=validation,
            history=history,
            best=best,
            example=example or opening(dataset),
            steps=0,
            seconds=lambda: time.monotonic() - start,
            hardware=hardware(),
        )


def classified(dataset: str) -> str:
    """The data set's name, if its rows have classes.

    Raises:
        InputError: they have none, or there is no such data set.
    """
    if not datasets.info(dataset).labels:
        raise InputError(f"{dataset} has no classes to tell apart.")
    return dataset


def occupied(folder: Path, read: Opened) -> None:
    """Refuse to write over the run of another model: two on the hub may share the last part of their names.

    Raises:
        RunError: there is one.
    """
    try:
        stored = Run.open(folder).config["recipe"]
    except RunError:
        return
    if "weights" in stored and (stored.get("source"), stored["weights"]) != (read.source, read.weights):
        theirs = f"of {stored.get('source')}" if stored.get("source") != read.source else f"of other weights of {read.source}"
        raise RunError(f"{folder} holds a run {theirs}; move it away or choose another folder.")


def opening(dataset: str) -> tuple[str, str | None]:
    """The first of our sentences, or pairs of sentences, in the language of a data set."""
    item = datasets.info(dataset)
    first = next(iter(examples_for(item.labels, item.language, pairs=item.pair).values()))
    return first.text, first.pair


def digests(splits: Iterable[Split]) -> dict[str, dict[str, Any]]:
    """What a run says of the splits that it saw."""
    return {each.split: {"n": len(each.frame), "dropped": each.dropped, "digest": each.digest} for each in splits}


def scores(evaluation: Evaluation) -> dict[str, float]:
    """Accuracy and loss."""
    logits, labels = torch.from_numpy(evaluation.logits), torch.from_numpy(evaluation.labels)
    return {"accuracy": float((logits.argmax(dim=1) == labels).float().mean()), "loss": float(F.cross_entropy(logits, labels))}


def write(
    folder: Path,
    model: HubModel,
    save_weights: Callable[[Path], object],
    *,
    recipe: Mapping[str, Any],
    splits: Mapping[str, Any],
    validation: Evaluation | None,
    history: Sequence[Sequence[Any]],
    best: Mapping[str, float],
    example: tuple[str, str | None],
    steps: int,
    seconds: Callable[[], float],
    hardware: str,
) -> Run:
    """Evaluate a model on its data set's test splits and write the run folder.

    The model must be as `save_weights` stores it: every metric is of the stored weights.
    """
    import pandas as pd
    from safetensors.numpy import save_file as save_arrays

    dataset = recipe["dataset"]
    names = ["test", *(split for split in ("official_test",) if split in datasets.info(dataset).splits)]
    parts = [datasets.load_split(dataset, split) for split in names]
    evaluations = [evaluate(model, part) for part in parts]
    report: dict[str, Any] = {each.split: metrics(each) for each in evaluations}
    temperature = 1.0
    if validation is not None:
        temperature = round(fit_temperature(validation.logits, validation.labels), 4)
        stored = scores(validation)["accuracy"]
        report["validation"] = {"n": len(validation.labels), "accuracy": best["accuracy"], "stored_accuracy": stored}
    seen = explained(model, model.trace(*example))
    frame = pd.DataFrame(list(history), columns=list(COLUMNS)).astype(COLUMNS)

    def embeddings(path: Path) -> None:
        rows = evaluations[0].sample(EMBEDDINGS)
        save_arrays({"rows": rows.astype(np.int32), "pooled": evaluations[0].pooled[rows].astype(np.float16)}, path)

    inner = model.network.model.config.to_diff_dict()
    config = {
        "name": model.name,
        "preset": recipe["model"],
        "model": stored_config(model.config),
        "hub": {key: value for key, value in inner.items() if key not in LEFT_OUT},
        "parameters": sum(p.numel() for p in model.network.parameters()),
        "labels": list(model.labels),
        "tokenizer": {
            "kind": model.tokenizer.kind,
            "cls": True,
            "vocab_size": model.tokenizer.vocab_size,
            "special_ids": list(model.tokenizer.special_ids),
            "unknown": model.tokenizer.unknown_id,
        },
        "data": {
            "name": dataset,
            "splits": dict(splits) | digests(parts),
        },
        "recipe": dict(recipe),
        "best": dict(best),
        "temperature": temperature,
        "steps": steps,
        "hardware": hardware,
        "version": {"sentviz": runs.version(), "torch": torch.__version__, "transformers": transformers().__version__},
        "created": time.strftime("%Y-%m-%d"),
        "seconds": round(seconds()),
    }
    runs.write(
        folder,
        config,
        {
            "model.safetensors": save_weights,
            "tokenizer.json": model.tokenizer.save,
            "history.parquet": lambda path: frame.to_parquet(path, index=False, compression="zstd"),
            "test.parquet": lambda path: pd.concat([e.frame() for e in evaluations]).to_parquet(path, index=False, compression="zstd"),
            "embeddings.safetensors": embeddings,
            "example.safetensors": seen.save,
            "metrics.json": lambda path: path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8"),
        },
    )
    return Run.open(folder, model.name)


def _order(own: Sequence[str], wanted: Sequence[str], name: str) -> list[int]:
    """The model's class for each of the data set's: by name, by the beginning of it, or by place where the model only counts (LABEL_0)."""
    if len(own) == len(wanted):
        if all(re.fullmatch(r"LABEL_\d+", label) for label in own):
            return list(range(len(own)))
        pairs = [(own[k].casefold(), k) for k in range(len(own)) if own[k]]
        found = [[k for label, k in pairs if full.startswith(label) or label.startswith(full)] for full in map(str.casefold, wanted)]
        if all(len(places) == 1 for places in found) and len({places[0] for places in found}) == len(own):
            return [places[0] for places in found]
    raise RunError(f"{name} tells {', '.join(own)} apart, the data set {', '.join(wanted)}; say which is which with labels.")


def _reorder(model: HubModel, order: Sequence[int]) -> None:
    """The rows of the last layer in another order."""
    last: Any = model.network.classifier
    with torch.no_grad():
        for rows in (last.weight, last.bias):
            rows.copy_(rows[list(order)].clone())
    inner = model.network.model.config
    inner.id2label = {k: inner.id2label[i] for k, i in enumerate(order)}
    inner.label2id = {label: k for k, label in inner.id2label.items()}


def hardware() -> str:
    """The machine, in words."""
    return f"{platform.machine()}, {torch.get_num_threads()} CPU thread(s)"
