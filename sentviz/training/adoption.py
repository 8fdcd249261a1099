"""Write a Hugging Face classifier as a run folder, so that every page can show it."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from sentviz.analysis.evaluation import evaluate
from sentviz.data import datasets
from sentviz.data.examples import examples_for
from sentviz.data.lexicon import Lexicon
from sentviz.errors import DataMissingError, InputError, RunError
from sentviz.io.files import hold
from sentviz.models.hub.encoder import transformers
from sentviz.models.hub.loading import Opened, opened, reachable, short_name
from sentviz.models.hub.model import HubModel
from sentviz.runs.store import Run
from sentviz.training.finishing import finish, hardware, test_splits
from sentviz.training.plan import scores

LEFT_OUT = ("_name_or_path", "architectures", "dtype", "transformers_version")  # settings of the configuration that are not stored


def configuration(name_or_folder: str | Path, injection: str = "") -> str:
    """Return the model's name in a run's name: letters, digits, dots and dashes, with the injection after it."""
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
    """Evaluate a Hugging Face classifier on a data set, and write it as the run `out/<data set>/<model>` with a copy of its weights.

    Its classes are sorted into the data set's order by their names. The temperature is fitted on the validation split, if there is one.

    Args:
        lexicon, injection: polarities to put into its scores without training, by the lexicon's name, and the name of the injection.
        labels: the model's classes in its own order, by the data set's names; needed if the model's own names do not tell.
        example: the sentence whose trace is stored, and the second of a pair; by default one of ours in the data set's language.
    Raises:
        RunError: as for `load`, the classes are not those of the data set, or the folder contains the run of another model.
        InputError: the data set has no classes, or there is not one label for each class of the model.
        DataMissingError: the data set is not installed.
    """
    reachable(name_or_folder)
    test = datasets.load_split(classified(dataset), "test")
    read = opened(name_or_folder, allow_pickle=allow_pickle)
    name = f"{datasets.run_group(dataset)}/{configuration(name_or_folder, injection)}"
    folder = Path(out) / name
    model = read.wrapped(Lexicon.load(lexicon) if lexicon else None, injection)
    if labels and len(labels) != len(model.labels):
        raise InputError(
            f"{read.name} has {len(model.labels)} classes ({', '.join(model.labels)}), but {len(labels)} labels are given"
            f" ({', '.join(labels)}). Name one for each class, in its order."
        )
    _reorder(model, _order(labels or model.labels, test.labels, read.name))
    model.name, model.labels = name, tuple(test.labels)
    recipe = {"dataset": dataset, "model": configuration(name_or_folder, injection), "lexicon": lexicon, "seed": 0}
    recipe |= {"source": read.source, "weights": read.weights}
    start = time.monotonic()
    with hold(folder) as mine:
        if not mine:
            raise RunError(f"{name} is being written by another process in {out}.")
        occupied(folder, read)
        try:
            validation = datasets.load_split(dataset, "validation")
        except (DataMissingError, InputError):
            validation = None
        validation_scores = scores(evaluate(model, validation)) if validation is not None else {}
        return finish(
            folder,
            model,
            {key: tensor.contiguous() for key, tensor in model.network.state_dict().items()},
            recipe=recipe,
            preset=configuration(name_or_folder, injection),
            seen=(),
            validation=validation,
            tests=test_splits(dataset),
            history=[[0, 0.0, f"validation_{key}", -1, -1, value] for key, value in validation_scores.items()],
            best={"step": 0, "epoch": 0.0} | validation_scores,
            example=example or opening(dataset),
            steps=0,
            seconds=time.monotonic() - start,
            hardware=hardware(),
            entries=entries(model),
        )


def classified(dataset: str) -> str:
    """Return the data set's name, after checking that its rows have classes.

    Raises:
        InputError: the data set has no classes or does not exist.
    """
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


def opening(dataset: str) -> tuple[str, str | None]:
    """Return the first of our examples, a sentence or a pair, in the language of a data set."""
    item = datasets.info(dataset)
    first = next(iter(examples_for(item.labels, item.language, pairs=item.pair).values()))
    return first.text, first.pair


def entries(model: HubModel) -> dict[str, dict[str, Any]]:
    """Return the entries of config.json that only Hugging Face models have."""
    inner, tokenizer = model.network.model.config.to_diff_dict(), model.tokenizer
    return {
        "hub": {key: value for key, value in inner.items() if key not in LEFT_OUT},
        "tokenizer": {"special_ids": list(tokenizer.special_ids), "unknown": tokenizer.unknown_id},
        "version": {"transformers": transformers().__version__},
    }


def _order(own: Sequence[str], classes: Sequence[str], name: str) -> list[int]:
    """Return the model's class for each class of the data set: by name, by its beginning, or by number if the names are LABEL_0, ..."""
    if len(own) == len(classes):
        if all(re.fullmatch(r"LABEL_\d+", label) for label in own):
            return list(range(len(own)))
        pairs = [(own[k].casefold(), k) for k in range(len(own)) if own[k]]
        matches = [[k for label, k in pairs if full.startswith(label) or label.startswith(full)] for full in map(str.casefold, classes)]
        if all(len(places) == 1 for places in matches) and len({places[0] for places in matches}) == len(own):
            return [places[0] for places in matches]
    what = "say which is which with labels" if len(own) == len(classes) else "both need the same number of classes"
    raise RunError(f"{name} has the classes {', '.join(own)} and the data set {', '.join(classes)}; {what}.")


def _reorder(model: HubModel, order: Sequence[int]) -> None:
    """Reorder the rows of the last layer."""
    last: Any = model.network.classifier
    with torch.no_grad():
        for rows in (last.weight, last.bias):
            rows.copy_(rows[list(order)].clone())
    inner = model.network.model.config
    inner.id2label = {k: inner.id2label[i] for k, i in enumerate(order)}
    inner.label2id = {label: k for k, label in inner.id2label.items()}
