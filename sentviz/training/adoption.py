"""Write a Hugging Face classifier as a run folder, so that every page can show it."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sentviz.analysis.evaluation import evaluate
from sentviz.data import datasets
from sentviz.data.datasets import Split
from sentviz.data.examples import examples_for
from sentviz.data.labels import order_of
from sentviz.data.lexicon import Lexicon
from sentviz.data.rows_argument import with_classes
from sentviz.errors import DataMissingError, InputError, RunError
from sentviz.io.files import hold
from sentviz.io.lazy import torch
from sentviz.models.folder import NO_HEAD
from sentviz.models.hub.encoder import transformers
from sentviz.models.hub.files import checked_weights, reachable
from sentviz.models.hub.loading import Opened, opened, short_name
from sentviz.models.hub.model import HubModel
from sentviz.models.loading import load
from sentviz.runs.store import Run
from sentviz.training.finishing import finish, hardware, measure_again, test_splits
from sentviz.training.plan import scores

WITHOUT_DATA = "adopted"  # folder of runs that have no test rows
LEFT_OUT = ("_name_or_path", "architectures", "dtype", "transformers_version")  # settings of the configuration that are not stored


def configuration(name_or_folder: str | Path, injection: str = "") -> str:
    """Return the model's name in a run's name: letters, digits, dots and dashes, with the injection after it."""
    plain = re.sub(r"[^\w.]+", "-", short_name(name_or_folder)).strip("-.") or "model"
    return f"{plain}-{injection}" if injection else plain


def adopt(
    name_or_folder: str | Path,
    data: str = "",
    out: str | Path = "runs",
    *,
    lexicon: str = "",
    injection: str = "",
    classes: Sequence[str] = (),
    head: Any = None,
    example: tuple[str, str | None] | None = None,
    allow_pickle: bool = False,
    own_name: bool = False,
) -> Run:
    """Write a Hugging Face classifier as the run `out/adopted/<model>`, or `out/<data set>/<model>`, with a copy of its weights.

    With a data set, the run has test rows: the classes are sorted into the data set's order by their names, and the temperature is fitted
    on the validation split, if there is one. `evaluate_on` adds test rows later.

    Args:
        data: data set with test rows; "" = none.
        lexicon, injection: polarities to put into its scores without training, by the lexicon's name, and the name of the injection.
        classes, head: as for `sentviz.load`; with a data set, the class names are those of the data set.
        example: the sentence whose trace is stored, and the second of a pair; by default one of ours in the data set's language.
        own_name: add a digest of weights, tokenizer, configuration and classes to the name. If there is such a run, it is returned and
            nothing is written: no run is ever replaced.
    Raises:
        RunError: as for `load`, the model has no classes, or the folder contains the run of another model.
        DataMissingError: the data set is not installed.
    """
    reachable(name_or_folder)
    test = datasets.load_split(classified(data), "test") if data else None
    read = opened(name_or_folder, classes=classes, head=head, allow_pickle=allow_pickle)
    if not read.labels:
        raise RunError(NO_HEAD.format(read.name))
    model = read.wrapped(Lexicon.load(lexicon) if lexicon else None, injection)
    if test is not None:
        _reorder(model, order_of(model.labels, test.labels, read.name))
        model.labels = tuple(test.labels)
    short = configuration(name_or_folder, injection) + (f"-{digest(model)}" if own_name else "")
    model.name = name = f"{datasets.run_group(data) or WITHOUT_DATA}/{short}"
    folder = Path(out) / name
    recipe = {"dataset": data, "model": short, "lexicon": lexicon, "seed": 0}
    recipe |= {"source": read.source, "weights": read.weights}
    start = time.monotonic()
    with hold(folder) as mine:
        if not mine:
            raise RunError(f"{name} is being written by another process in {out}.")
        if own_name and (stored := _intact(folder)):
            return stored
        occupied(folder, read)
        validation = _validation(data) if data else None
        validation_scores = scores(evaluate(model, validation)) if validation is not None else {}
        return finish(
            folder,
            model,
            {key: tensor.contiguous() for key, tensor in model.network.state_dict().items()},
            recipe=recipe,
            preset=short,
            seen=(),
            validation=validation,
            tests=test_splits(data) if data else (),
            history=[[0, 0.0, f"validation_{key}", -1, -1, value] for key, value in validation_scores.items()],
            best={"step": 0, "epoch": 0.0} | validation_scores,
            example=example or opening(data, model.labels),
            steps=0,
            seconds=time.monotonic() - start,
            hardware=hardware(),
            entries=entries(model),
        )


def evaluate_on(run: Run, data: str) -> Run:
    """Add the test rows of a data set to a run without any, calibrate it on the validation rows, if there are any, and return it.

    The labels of the rows are matched with the run's classes by their names.

    Raises:
        RunError: the run has test rows, its classes are not those of the data set, or its folder cannot be written.
        InputError: the data set has no classes or does not exist. DataMissingError: it is not installed.
    """
    if run.has_rows:
        raise RunError(f"{run.name} has the test rows of {run.config['data']['name']} already.")
    tests = [with_classes(split, run.labels, run.name) for split in test_splits(classified(data))]
    recipe, best, validation = run.config["recipe"] | {"dataset": data}, run.config["best"], _validation(data)
    if validation is not None:
        validation = with_classes(validation, run.labels, run.name)
        best = best | scores(evaluate(load(run), validation))
    return measure_again(run, {"recipe": recipe, "best": best}, validation, tests)


def _validation(data: str) -> Split | None:
    try:
        return datasets.load_split(data, "validation")
    except (DataMissingError, InputError):
        return None


def classified(dataset: str) -> str:
    """Return the data set's name, after checking that its rows have classes."""
    if not datasets.info(dataset).labels:
        raise InputError(f"{dataset} has no classes to predict.")
    return dataset


def occupied(folder: Path, read: Opened) -> None:
    """Check that a folder does not contain the run of another model: two models on the hub may have the same short name.

    Raises:
        RunError: it contains such a run.
    """
    try:
        stored = Run.open(folder).config["recipe"]
    except RunError:
        return
    if "weights" in stored and (stored.get("source"), stored["weights"]) != (read.source, read.weights):
        theirs = f"of {stored.get('source')}" if stored.get("source") != read.source else f"of other weights of {read.source}"
        raise RunError(f"{folder} holds a run {theirs}; move it away or choose another folder.")


def digest(model: HubModel) -> str:
    """Return 8 hex digits of everything that a model predicts with: weights, tokenizer, configuration and classes."""
    weights = checked_weights(model.name, model.network.state_dict())
    parts = [weights, model.tokenizer.to_json(), entries(model), asdict(model.config), model.labels]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:8]


def _intact(folder: Path) -> Run | None:
    """Return the run in a folder; None if there is none, or one of its files is damaged."""
    try:
        run = Run.open(folder)
        run.check(*run.config["files"])
    except RunError:
        return None
    return run


def opening(dataset: str, labels: Sequence[str] = ()) -> tuple[str, str | None]:
    """Return the first of our examples, a sentence or a pair, in the language of a data set; without one, English for some class names."""
    item = datasets.info(dataset) if dataset else None
    examples = examples_for(item.labels, item.language, pairs=item.pair) if item else examples_for(labels)
    first = next(iter(examples.values()))
    return first.text, first.pair


def entries(model: HubModel) -> dict[str, dict[str, Any]]:
    """Return the entries of config.json that only Hugging Face models have."""
    inner, tokenizer = model.network.model.config.to_diff_dict(), model.tokenizer
    reads = {"special_ids": list(tokenizer.special_ids), "unknown": tokenizer.unknown_id}
    return {
        "hub": {key: value for key, value in inner.items() if key not in LEFT_OUT},
        "tokenizer": reads | {"split_special_tokens": tokenizer.split_special_tokens, "truncation_side": tokenizer.truncation_side},
        "version": {"transformers": transformers().__version__},
    }


def _reorder(model: HubModel, order: Sequence[int]) -> None:
    """Reorder the rows of the last layer."""
    last: Any = model.network.classifier
    with torch.no_grad():
        for rows in (last.weight, last.bias):
            if rows is not None:
                rows.copy_(rows[list(order)].clone())
    inner = model.network.model.config
    if model.network.config.head == "linear":
        return
    inner.id2label = {k: inner.id2label[i] for k, i in enumerate(order)}
    inner.label2id = {label: k for k, label in inner.id2label.items()}
