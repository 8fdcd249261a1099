"""A foreign encoder as a run folder like any other, so that every page shows it."""

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
from sentviz.training.finishing import asked, finish, hardware
from sentviz.training.plan import scores

LEFT_OUT = ("_name_or_path", "architectures", "dtype", "transformers_version")  # of the configuration that is stored


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
        InputError: a data set without classes, or labels that are not one for each class of the model.
        DataMissingError: the data set is not here.
    """
    reachable(name_or_folder)
    test = datasets.load_split(classified(dataset), "test")
    read = opened(name_or_folder, allow_pickle=allow_pickle)
    name = f"{dataset}/{configuration(name_or_folder, injection)}"
    folder = Path(out) / name
    model = read.wrapped(Lexicon.load(lexicon) if lexicon else None, injection)
    if labels and len(labels) != len(model.labels):
        raise InputError(
            f"{read.name} tells {len(model.labels)} classes apart ({', '.join(model.labels)}), and {len(labels)} labels are given"
            f" ({', '.join(labels)}); name one for each, in its order."
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
            held = datasets.load_split(dataset, "validation")
        except (DataMissingError, InputError):
            held = None
        found = scores(evaluate(model, held)) if held is not None else {}
        return finish(
            folder,
            model,
            {key: tensor.contiguous() for key, tensor in model.network.state_dict().items()},
            recipe=recipe,
            preset=configuration(name_or_folder, injection),
            seen=(),
            validation=held,
            tests=asked(dataset),
            history=[[0, 0.0, f"validation_{key}", -1, -1, value] for key, value in found.items()],
            best={"step": 0, "epoch": 0.0} | found,
            example=example or opening(dataset),
            steps=0,
            seconds=time.monotonic() - start,
            hardware=hardware(),
            entries=entries(model),
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


def entries(model: HubModel) -> dict[str, dict[str, Any]]:
    """What config.json says of a Hugging Face model alone."""
    inner, tokenizer = model.network.model.config.to_diff_dict(), model.tokenizer
    return {
        "hub": {key: value for key, value in inner.items() if key not in LEFT_OUT},
        "tokenizer": {"special_ids": list(tokenizer.special_ids), "unknown": tokenizer.unknown_id},
        "version": {"transformers": transformers().__version__},
    }


def _order(own: Sequence[str], wanted: Sequence[str], name: str) -> list[int]:
    """The model's class for each of the data set's: by name, by the beginning of it, or by place where the model only counts (LABEL_0)."""
    if len(own) == len(wanted):
        if all(re.fullmatch(r"LABEL_\d+", label) for label in own):
            return list(range(len(own)))
        pairs = [(own[k].casefold(), k) for k in range(len(own)) if own[k]]
        found = [[k for label, k in pairs if full.startswith(label) or label.startswith(full)] for full in map(str.casefold, wanted)]
        if all(len(places) == 1 for places in found) and len({places[0] for places in found}) == len(own):
            return [places[0] for places in found]
    what = "say which is which with labels" if len(own) == len(wanted) else "both need the same number of classes"
    raise RunError(f"{name} tells {', '.join(own)} apart, the data set {', '.join(wanted)}; {what}.")


def _reorder(model: HubModel, order: Sequence[int]) -> None:
    """The rows of the last layer in another order."""
    last: Any = model.network.classifier
    with torch.no_grad():
        for rows in (last.weight, last.bias):
            rows.copy_(rows[list(order)].clone())
    inner = model.network.model.config
    inner.id2label = {k: inner.id2label[i] for k, i in enumerate(order)}
    inner.label2id = {label: k for k, label in inner.id2label.items()}
