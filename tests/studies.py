"""Made-up runs of a study: predictions, history and metrics, without weights."""

import json
import re
from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sentviz.analysis.claim import Finding
from sentviz.analysis.evaluation import Evaluation, metrics
from sentviz.io.numbers import PERCENT, written
from sentviz.io.spreadsheet import store_csv
from sentviz.runs.configs import CONFIGS, stored_config
from sentviz.runs.presets import VARIANT_SETTINGS, find_preset, preset
from sentviz.runs.store import Run
from sentviz.runs.writing import attach, write, write_config

N = 200
PRINTED_AS = (("+.2f", " points"), ("+.2f", ""), (".2f", ""), (".1f", ""), (".1f", PERCENT))
WRITTEN = {"steps": 20, "seconds": 1, "hardware": "none", "version": {"sentviz": "0", "torch": "0"}, "created": "2026-01-01"}


def made_run(
    root: Path,
    dataset: str,
    model: str,
    seed: int = 0,
    *,
    wrong: int = 10,
    first_wrong: int = 0,
    validation: float = 0.9,
    classes: tuple[str, ...] = ("negative", "positive"),
    drift: float = 0.1,
    losses: tuple[float, ...] = (0.5, 0.5, 0.5, 0.5),
    name: str = "",
    variant: str = "",
    vectors: bool = False,
    also: tuple[str, ...] = (),
    digest: str = "",
    base: str = "",
) -> Run:
    """A run that answers `wrong` of 200 rows wrongly, from row `first_wrong` on; each lambda starts at 0.2 and ends `drift` higher.

    `losses`: validation losses, one for each evaluation.
    `also`: further splits with the same answers. `digest`: of the rows it was trained on.
    `base`: a base, whose name stands in place of "cls" in the names of its runs; of other models, the name in place of theirs.
    """
    known = {item.name for item in fields(CONFIGS[find_preset(model).kind])}
    small = {name: 2 for name in ("layers", "heads") if name in known}
    shape = preset(model, vocab_size=100, classes=len(classes), max_length=9, **small)
    configuration = f"{model}-{variant}" if variant else model
    configuration = base + (configuration.removeprefix("cls") if model.startswith("cls") else "") if base else configuration
    folder = name or configuration + (f"-s{seed}" if seed else "")
    config: dict[str, Any] = {
        "model": stored_config(shape),
        "preset": configuration,
        "labels": list(classes),
        "tokenizer": {"kind": "words", "cls": model.startswith("cls")},
        "temperature": 1.0,
        "data": {"name": dataset, "splits": {"train": {"n": N, "dropped": 0, "digest": digest}} if digest else {}},
        "recipe": {"dataset": dataset, "model": model, "variant": variant, "seed": seed, "epochs": 1, "learning_rate": 5e-4}
        | {key: value for key, value in VARIANT_SETTINGS.get(variant, {}).items() if key in ("learning_rate", "epochs")},
        "best": {"accuracy": validation, "loss": 1 - validation, "epoch": 1.0},
        "parameters": 1_000_000 + 1_000 * shape.capabilities.components,
    } | WRITTEN
    answers = answers_of(dataset, classes, wrong, first_wrong, seed, also)
    files = {"history.parquet": history_of(shape.capabilities.components, drift, losses)} | answers
    at = root / dataset / folder  # written without waiting for the disk
    at.mkdir(parents=True, exist_ok=True)
    for file, content in files.items():
        if vectors or file != "embeddings.safetensors":
            (at / file).write_bytes(content)
    write_config(at, config)
    return Run.open(at, f"{dataset}/{folder}")


@cache
def history_of(components: int, drift: float, losses: tuple[float, ...]) -> bytes:
    """Return the file of a made-up history."""
    steps = [(step, layer, c) for step in (0, 10, 20) for layer in range(2) for c in range(1, components)]
    history = [(step, step / 10, "lambda", layer, c, 0.2 + drift * (layer + 1) * step / 20) for step, layer, c in steps]
    history += [(10 * (i + 1), i + 1.0, "validation_loss", -1, -1, loss) for i, loss in enumerate(losses)]
    return pd.DataFrame(history, columns=["step", "epoch", "name", "layer", "component", "value"]).to_parquet(index=False)


@cache
def tested(classes: tuple[str, ...], wrong: int, first_wrong: int, seed: int) -> tuple[Evaluation, dict[str, Any]]:
    """Return answers to made-up rows, without ids, and their metrics."""
    rng = np.random.default_rng(seed)
    labels = np.arange(N) % len(classes)
    predicted = labels.copy()
    rows = (first_wrong + np.arange(wrong)) % N
    predicted[rows] = (labels[rows] + 1) % len(classes)
    logits = rng.normal(size=(N, len(classes))) * 0.3
    logits[np.arange(N), predicted] += 3
    pooled = (labels[:, None] * 1.0 + rng.normal(size=(N, 4))).astype(np.float32)
    test = Evaluation("test", ("",) * N, labels, logits.astype(np.float32), pooled, classes)
    return test, metrics(test, resamples=200)


@cache
def answers_of(dataset: str, classes: tuple[str, ...], wrong: int, first_wrong: int, seed: int, also: tuple[str, ...]) -> dict[str, bytes]:
    """Return the files of answers to the rows of a data set, with their metrics and vectors."""
    from safetensors.numpy import save

    test, numbers = tested(classes, wrong, first_wrong, seed)
    frame = replace(test, ids=tuple(f"{dataset}-{i}" for i in range(N))).frame()
    answers = pd.concat([frame.assign(split=name) for name in ("test", *also)])
    return {
        "test.parquet": answers.to_parquet(index=False),
        "metrics.json": json.dumps(dict.fromkeys(("test", *also), numbers)).encode(),
        "embeddings.safetensors": save({"rows": np.arange(0, N, 2, dtype=np.int32), "pooled": test.pooled[::2].astype(np.float16)}),
    }


def made_seeds(root: Path, dataset: str, model: str, seeds: int, **options: Any) -> list[Run]:
    """Return runs of one configuration with several seeds, each wrong on other rows."""
    start = options.pop("first_wrong", 0)
    return [made_run(root, dataset, model, seed, first_wrong=start + 7 * seed, **options) for seed in range(seeds)]


def as_said(finding: Finding) -> Finding:
    """Check that the effect of a finding is the number in its evidence, with its interval if the evidence has one; return the finding."""
    for stated in (finding, *(part for _, part in finding.parts)):
        if (effect := stated.effect) is None or effect.low is None or effect.high is None:
            continue
        assert effect.low <= effect.value <= effect.high
        low, high = effect.low, effect.high
        intervals = [f"{written(effect.value, form)}{unit} [{written(low, form)}, {written(high, form)}]" for form, unit in PRINTED_AS]
        assert any(each in stated.evidence for each in intervals) or not re.search(r"\[[+−\d]", stated.evidence), (effect, stated.evidence)
    return finding


def ndt_claim(statement: str, against: str) -> Callable[[list[Run]], Finding]:
    """Return the test of a claim of the NDT paper, followed by a check of its effect."""
    from sentviz.papers.ndt.claims import CLAIMS

    (test,) = (each.test for each in CLAIMS if each.statement == statement and each.against == against)
    return lambda runs: as_said(test(runs))


def with_gates(run: Run) -> Run:
    """Add measured gates to a run: function words 0.3, words of sentiment 0.6, in both layers."""
    rows = [
        (kind, name, against, layer, value, value - 0.01, value + 0.01, 0.4, 0.5, p, 100, 50, "made up", "english-1")
        for kind, name, against, value, p in (
            ("all", "all tokens", "", 0.45, float("nan")),
            ("class", "function words", "", 0.3, float("nan")),
            ("class", "positive words", "", 0.6, float("nan")),
            ("tag", "DET", "", 0.3, float("nan")),
            ("tag", "ADJ", "", 0.6, float("nan")),
            ("word", "the", "", 0.3, float("nan")),
            ("word", "is", "", 0.3, float("nan")),
            ("difference", "function words", "content words", -0.3, 0.001),
            ("difference", "function words", "polar words", -0.3, 0.001),
        )
        for layer in (-1, 0, 1)
    ]
    names = ["kind", "name", "against", "layer", "value", "low", "high", "shuffled_low", "shuffled_high", "p", "tokens", "n"]
    return attach(run, "gates.parquet", pd.DataFrame(rows, columns=[*names, "lexicon", "tagger"]))


def with_heads(run: Run, from_cls: tuple[float, ...], to_cls: tuple[float, ...]) -> Run:
    """Add head measures to a run: deviations about [CLS] by layer, equal in both heads."""
    rows = [
        (layer, head, measure, value, value - 0.001, value + 0.001, 0.02, N)
        for measure, values in (("from_cls", from_cls), ("to_cls", to_cls))
        for layer, value in enumerate(values)
        for head in (0, 1, -1)
    ]
    return attach(run, "heads.parquet", pd.DataFrame(rows, columns=["layer", "head", "measure", "value", "low", "high", "sd", "n"]))


def answering(root: Path, name: str, answers: Any, *, order: Any = None, shift: int = 0, **names: str) -> Run:
    """Return a run with predictions of the rows x-0, x-1, ..: right or wrong as given, in any order, with renamed columns."""
    n, classes = len(answers), ["negative", "neutral", "positive"]
    labels = (np.arange(n) + shift) % 3
    shares = 0.1 + 0.7 * np.eye(3)[np.where(answers, labels, (labels + 1) % 3)]
    frame = pd.DataFrame({"split": "test", "id": [f"x-{i}" for i in range(n)], "label": labels.astype(np.int8)})
    frame[classes] = shares.astype(np.float32)
    frame = (frame if order is None else frame.iloc[order]).rename(columns=names)
    shape = {"vocab_size": 100, "classes": 3}
    config: dict[str, Any] = {"model": shape, "preset": "", "labels": classes, "tokenizer": {"kind": "words"}, "temperature": 1.0}
    config |= {"data": {"name": "x", "splits": {}}, "recipe": {"dataset": "x", "model": "", "seed": 0}, "parameters": 1}
    config |= {"best": {"epoch": 1.0}} | WRITTEN
    write(root / name, config, {"test.parquet": lambda path: frame.to_parquet(path, index=False)})
    return Run.open(root / name, name)


def plant(patch: pytest.MonkeyPatch, place: str, folder: Path, rows: pd.DataFrame | list[dict[str, object]] | None = None) -> None:
    """Put made-up measurements, or none, in place of those that ship: `place` names a `Stored`, as in "ndt.tables.LEAK"."""
    module, _, name = f"sentviz.papers.{place}".rpartition(".")
    stored = replace(getattr(import_module(module), name), file=folder / f"{place}.csv")
    if rows is not None:
        store_csv(stored.file, pd.DataFrame(rows), "%.17g")
    patch.setattr(f"{module}.{name}", stored)
