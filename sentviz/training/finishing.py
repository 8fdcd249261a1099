"""Write a trained model as a run folder. All measurements are made on the model as `sentviz.load` returns it."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

from sentviz.analysis.epochs.measured import files
from sentviz.analysis.evaluation import confusion, evaluate, fit_calibration, metrics
from sentviz.analysis.explain import explained
from sentviz.data import datasets
from sentviz.data.parts_of_speech import TAGS
from sentviz.data.tags import TAGGER
from sentviz.errors import InputError, RunError
from sentviz.io.files import writing
from sentviz.models.loading import load
from sentviz.runs import store
from sentviz.runs.configs import stored_config
from sentviz.runs.store import Run
from sentviz.runs.writing import write_config
from sentviz.training.plan import accuracy

if TYPE_CHECKING:
    from sentviz.data.datasets import Split
    from sentviz.models.model import Model

EMBEDDINGS = 1_000  # maximum number of pooled vectors of the test split that a run stores
COLUMNS = {"step": "int32", "epoch": "float32", "name": "str", "layer": "int8", "component": "int8", "value": "float32"}


def test_splits(dataset: str, transfer: str = "", like: Split | None = None) -> list[Split]:
    """Return the splits on which a finished run is evaluated: the test splits of its data set and, named after it, that of `transfer`.

    Raises:
        DataMissingError: a data set is not installed. InputError: `transfer` has other classes or kinds of texts than `like`.
    """
    names = ["test", *(split for split in ("official_test",) if split in datasets.info(dataset).splits)]
    splits = [datasets.load_split(dataset, name) for name in names]
    if transfer:
        further, own = datasets.load_split(transfer, "test"), like or splits[0]
        if further.labels != own.labels or ("text_pair" in further.frame) != ("text_pair" in own.frame):
            raise InputError(f"The recipe's transfer {transfer} has other classes or kinds of texts than {dataset}.")
        splits.append(replace(further, split=transfer))
    return splits


def hardware() -> str:
    """Return a description of the machine."""
    return f"{platform.machine()}, {torch.get_num_threads()} CPU thread(s)"


def finish(
    folder: Path,
    model: Model,
    weights: Mapping[str, Tensor],
    *,
    recipe: Mapping[str, Any],
    preset: str,
    seen: Sequence[Split],
    validation: Split | None,
    tests: Sequence[Split],
    history: Sequence[Sequence[Any]],
    best: Mapping[str, float],
    example: tuple[str, str | None],
    steps: int,
    seconds: float,
    hardware: str,
    epochs: Mapping[int, Mapping[str, Tensor]] | None = None,
    entries: Mapping[str, Mapping[str, Any]] | None = None,
    measures: Callable[[Model], Mapping[str, Any]] = lambda model: {},
) -> Run:
    """Write a run folder completely or not at all: first its weights, then the measurements of the model loaded from them.

    Args:
        model: provides tokenizer, labels and configuration; its own weights are not used.
        weights, epochs: states in stored form: that of the run, and those after some epochs, counted from 1.
        seen: splits that the model was trained on. validation: the validation split; without one, the temperature stays 1.
        history: rows with the columns `COLUMNS`. best: scores on the validation split, step and epoch of the stored weights.
        entries: further entries for tables of config.json. measures: returns further entries for metrics.json.
    Raises:
        RunError: the folder cannot be written; its earlier content is unchanged.
    """
    import pandas as pd
    from safetensors.numpy import save_file as save_arrays

    tokenizer = model.tokenizer
    splits = [*seen, *([validation] if validation is not None else []), *tests]
    config: dict[str, Any] = {
        "name": model.name,
        "preset": preset,
        "model": stored_config(model.config),
        "parameters": model.network.parameters_count(),
        "labels": list(model.labels),
        "tokenizer": {"kind": tokenizer.kind, "cls": model.cls, "vocab_size": tokenizer.vocab_size},
        "data": {
            "name": recipe["dataset"],
            "splits": {each.split: {"n": len(each), "dropped": each.dropped, "digest": each.digest} for each in splits},
        },
        "recipe": dict(recipe),
        "best": dict(best),
        "temperature": 1.0,
        "steps": steps,
        "seconds": round(seconds),
        "hardware": hardware,
        "version": {"sentviz": store.version(), "torch": torch.__version__},
        "created": time.strftime("%Y-%m-%d"),
    }
    if model.tagger is not None:
        config["tagger"] = {"version": model.tagger.version, "tags": list(TAGS)}
    for table, values in (entries or {}).items():
        config[table] = config.get(table, {}) | dict(values)

    try:
        with writing(folder) as fresh:
            save_file(dict(weights), fresh / "model.safetensors")
            if "base" not in config:  # a base has the tokenizer of its runs
                tokenizer.save(fresh / "tokenizer.json")
            if model.tagger is not None:
                model.tagger.save(fresh / TAGGER)
            for epoch, state in sorted((epochs or {}).items()):
                (fresh / "epochs").mkdir(exist_ok=True)
                save_file(dict(state), fresh / "epochs" / f"{epoch}.safetensors")
            write_config(fresh, config)
            finished = load(Run(model.name, fresh))

            evaluations = [evaluate(finished, split) for split in tests]
            report: dict[str, Any] = {each.split: metrics(each) for each in evaluations}
            if validation is not None:
                on_validation = evaluate(finished, validation)
                config["temperature"] = round(fit_calibration(on_validation.logits, on_validation.labels), 4)
                report["validation"] = {
                    "n": len(on_validation.labels),
                    "accuracy": best["accuracy"],
                    "stored_accuracy": accuracy(on_validation),
                }
                predicted = on_validation.logits.argmax(axis=1).astype(np.int64)
                report["validation"]["confusion"] = confusion(on_validation.labels, predicted, len(on_validation.classes)).tolist()
            report |= measures(finished)
            (fresh / "metrics.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")

            pd.concat([each.frame() for each in evaluations]).to_parquet(fresh / "test.parquet", index=False, compression="zstd")
            frame = pd.DataFrame(list(history), columns=list(COLUMNS)).astype(COLUMNS)
            frame.to_parquet(fresh / "history.parquet", index=False, compression="zstd")
            rows = evaluations[0].sample(EMBEDDINGS)
            pooled = evaluations[0].pooled[rows].astype(np.float16)
            save_arrays({"rows": rows.astype(np.int32), "pooled": pooled}, fresh / "embeddings.safetensors")
            explained(finished, finished.trace(*example)).save(fresh / "example.safetensors")
            if epochs and validation is not None:
                for file, save in files(Run(model.name, fresh), validation, example).items():
                    save(fresh / file)
            write_config(fresh, config)
    except (OSError, SafetensorError) as error:
        raise RunError(f"{model.name} cannot be written to {folder} ({' '.join(str(error).split())}).") from error
    return Run.open(folder, model.name)
