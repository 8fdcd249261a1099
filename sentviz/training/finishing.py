"""Write a trained model as a run folder, and calibrate it. All measurements are made on the model as `sentviz.load` returns it."""

from __future__ import annotations

import json
import platform
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from sentviz.analysis.calibration import calibration_report, fit_calibration
from sentviz.analysis.epochs import files
from sentviz.analysis.evaluation import Evaluation, confusion, evaluate, metrics
from sentviz.analysis.explain import explained
from sentviz.data import datasets
from sentviz.data.datasets import Split
from sentviz.data.parts_of_speech import TAGS
from sentviz.data.tags import TAGGER
from sentviz.errors import InputError, RunError
from sentviz.io.files import version, writing
from sentviz.io.lazy import pd
from sentviz.models.loading import load
from sentviz.models.model import Model
from sentviz.runs.configs import stored_config
from sentviz.runs.run_files import EPOCH
from sentviz.runs.schema import OTHER_PARTS
from sentviz.runs.store import Run
from sentviz.runs.writing import check_attachable, check_not_shipped, write_config, write_predictions
from sentviz.training.plan import accuracy

EMBEDDINGS = 1_000  # maximum number of pooled vectors of the test split that a run stores
BIAS = "classifier.bias"  # tensor that gets the intercept of the calibration
COLUMNS = {"step": "int32", "epoch": "float32", "name": "str", "layer": "int8", "component": "int8", "value": "float32"}


def test_splits(dataset: str, transfer: str = "", like: Split | None = None, *, rows: int = 0) -> list[Split]:
    """Return the splits on which a finished run is evaluated: the test splits of its data set and, named after it, that of `transfer`.

    Args:
        rows: number of rows that are drawn from each of them; 0 = all.
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
    return [datasets.drawn_rows(split, rows) for split in splits] if rows else splits


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
    device: str = "cpu",
) -> Run:
    """Write a run folder completely or not at all: first its weights, then the measurements of the model loaded from them.

    Args:
        model: provides tokenizer, labels and configuration; its own weights are not used.
        weights, epochs: states in stored form: that of the run, and those after some epochs, counted from 1.
        seen: splits that the model was trained on. validation: the validation split; without one, the run is not calibrated.
        tests: splits on which it is evaluated; without any, the run has no test rows.
        history: rows with the columns `COLUMNS`. best: scores on the validation split, step and epoch of the stored weights.
        entries: further entries for tables of config.json. measures: returns further entries for metrics.json.
        device: device on which the splits are evaluated, in single precision.
    Raises:
        RunError: the folder cannot be written; its earlier content is unchanged.
    """
    tokenizer = model.tokenizer
    splits = [*seen, *([validation] if validation is not None else []), *tests]
    config: dict[str, Any] = {
        "name": model.name,
        "preset": preset,
        "model": stored_config(model.config),
        "parameters": model.network.parameters_count(),
        "labels": list(model.labels),
        "tokenizer": {"kind": tokenizer.kind, "cls": model.cls, "vocab_size": tokenizer.vocab_size},
        "data": _data(recipe["dataset"], splits),
        "recipe": dict(recipe),
        "best": dict(best),
        "temperature": 1.0,
        "steps": steps,
        "seconds": round(seconds),
        "hardware": hardware,
        "version": {"sentviz": version(), "torch": torch.__version__},
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
            frame = pd.DataFrame(list(history), columns=list(COLUMNS)).astype(COLUMNS)
            frame.to_parquet(fresh / "history.parquet", index=False, compression="zstd")
            _calibrate_and_measure(Run(model.name, fresh), config, validation, tests, example, measures, device)
    except (OSError, SafetensorError) as error:
        raise RunError(f"{model.name} cannot be written to {folder} ({' '.join(str(error).split())}).") from error
    return Run.open(folder, model.name)


def calibrate(run: Run, *, intercept: bool = False) -> Run:
    """Fit the calibration of a run again, evaluate the run again, and return it with its new digest. Measured tables are removed.

    Raises:
        RunError: the run has no weights, an intercept is in its weights already, or its folder contains other files or cannot be written.
        DataMissingError: the data set is not installed.
    """
    if any(run.config.get("calibration", {}).get("intercept", [])):
        raise RunError(f"{run.name} has an intercept in its weights already. Train it again to fit another one.")
    recipe = run.config["recipe"]
    validation = datasets.load_split(recipe["dataset"], "validation")
    tests = test_splits(recipe["dataset"], recipe.get("transfer", ""), validation, rows=recipe.get("test_rows", 0))
    return measure_again(run, {"recipe": recipe | {"intercept": intercept}}, validation, tests)


def measure_again(run: Run, changes: Mapping[str, Any], validation: Split | None, tests: Sequence[Split]) -> Run:
    """Calibrate and evaluate a stored run again, and return it with its new digest. Measured tables are removed.

    Args:
        changes: entries of config.json to replace. validation, tests: as for `finish`.
    Raises:
        RunError: the run has no weights, or its folder contains other files or cannot be written.
    """
    check_not_shipped(run)
    check_attachable(run)
    weights, example = run.path(run.weights), run.example()
    config = {name: value for name, value in run.config.items() if name != "files"} | dict(changes)
    if "data" not in changes and run.config["recipe"]["dataset"] != config["recipe"]["dataset"]:
        config["data"] = _data(config["recipe"]["dataset"], [*([validation] if validation is not None else []), *tests])
    other_parts = {name: part for name, part in run.metrics().items() if name in OTHER_PARTS and name != "validation"}
    copied = [file for file in run.config["files"] if file in KEPT or (EPOCH.fullmatch(file) and ".measured" not in file)]
    try:
        with writing(run.folder.resolve()) as fresh:
            for file in copied:
                (fresh / file).parent.mkdir(exist_ok=True)
                shutil.copyfile(run.path(file), fresh / file)
            shutil.copyfile(weights, fresh / run.weights)
            texts = (example.text, example.text_pair)
            _calibrate_and_measure(Run(run.name, fresh), config, validation, tests, texts, lambda model: other_parts)
    except (OSError, SafetensorError) as error:
        raise RunError(f"{run.name} cannot be written to {run.folder} ({' '.join(str(error).split())}).") from error
    return Run.open(run.folder, run.name)


def _data(dataset: str, splits: Sequence[Split]) -> dict[str, Any]:
    """Return the entry of config.json about a data set and the splits that were read of it."""
    return {"name": dataset, "splits": {each.split: {"n": len(each), "dropped": each.dropped, "digest": each.digest} for each in splits}}


KEPT = ("tokenizer.json", "history.parquet", TAGGER)  # files that a new calibration does not change


def _calibrate_and_measure(
    run: Run,
    config: dict[str, Any],
    validation: Split | None,
    tests: Sequence[Split],
    example: tuple[str, str | None],
    measures: Callable[[Model], Mapping[str, Any]],
    device: str = "cpu",
) -> None:
    """Calibrate a run whose folder has weights, tokenizer and history; then write its measurements and config.json."""
    from safetensors.numpy import save_file as save_arrays

    folder = run.folder
    write_config(folder, config)
    on_validation = None
    if validation is not None:
        on_validation = _calibrate(run, config, validation, device)
        write_config(folder, config)
    finished = load(Run(run.name, folder))

    evaluations = [evaluate(finished.on(device), split) for split in tests]
    finished.on("cpu")
    report: dict[str, Any] = {each.split: metrics(each) for each in evaluations}
    if on_validation is not None:
        report["validation"] = {
            "n": len(on_validation.labels),
            "accuracy": config["best"]["accuracy"],
            "stored_accuracy": accuracy(on_validation),
        }
        predicted = on_validation.logits.argmax(axis=1).astype(np.int64)
        report["validation"]["confusion"] = confusion(on_validation.labels, predicted, len(on_validation.classes)).tolist()
    report |= measures(finished)
    (folder / "metrics.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")

    if evaluations:
        write_predictions(pd.concat([each.frame() for each in evaluations]), folder / "test.parquet")
        rows = evaluations[0].sample(EMBEDDINGS)
        pooled = evaluations[0].pooled[rows].astype(np.float16)
        save_arrays({"rows": rows.astype(np.int32), "pooled": pooled}, folder / "embeddings.safetensors")
    explained(finished, finished.trace(*example)).save(folder / "example.safetensors")
    if (folder / "epochs").exists() and validation is not None:
        for file, save in files(Run(run.name, folder), validation, example).items():
            save(folder / file)
    write_config(folder, config)


def _calibrate(run: Run, config: dict[str, Any], validation: Split, device: str) -> Evaluation:
    """Fit temperature and, if the recipe has one, intercept; return the answers to the validation rows with this intercept.

    Both are stored in `config`, and the intercept is added to the classifier's biases.
    """
    evaluation = evaluate(load(run).on(device), validation)
    labels, sources = evaluation.labels, validation.sources
    fitted = fit_calibration(evaluation.logits, labels, sources, intercept=bool(config["recipe"].get("intercept")))
    if datasets.is_own(config["recipe"]["dataset"]) and accuracy(evaluation) == 1:  # Rows without a mistake do not bound the temperature.
        fitted = replace(fitted, temperature=max(1.0, fitted.temperature))
    config["temperature"] = fitted.temperature
    config["calibration"] = calibration_report(fitted, evaluation.logits, labels, sources)
    shift = fitted.temperature * np.array(fitted.intercept)
    if any(fitted.intercept):
        path = run.folder / run.weights
        weights = load_file(path)
        bias = weights[BIAS]
        weights[BIAS] = (bias.double() + torch.from_numpy(shift)).to(bias.dtype)
        save_file(weights, path)
    return replace(evaluation, logits=(evaluation.logits + shift).astype(np.float32)) if any(fitted.intercept) else evaluation
