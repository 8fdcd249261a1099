"""The papers' models by name: presets. Named changes to a recipe: variants.

A name of a paper's `injections` after a preset's name, as in `cls-last-scaled`, puts a polarity lexicon into the model's scores. A name of
its `additions`, as in `ndt-unit-2-gated`, adds a part of that paper's model. Several such endings may follow each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from sentviz.errors import InputError, nearest
from sentviz.io.numbers import MINUS
from sentviz.runs.configs import CONFIGS, EncoderConfig, ModelConfig
from sentviz.runs.registry import Preset, papers

CONSTRAINT_SIGNS = {"unit": "[0,1]", "symmetric": "[-1,1]", "nonneg": "[0,inf)", "free": "(-inf,inf)"}  # constraint of a mixing -> range
LAMBDA_CONTROLS = ("equal", "swapped", "frozen")
LAMBDA_SETTINGS = ("high", "slow-lambda", "1e-4", "no-decay")  # other starts, rates and decays
VARIANTS = {
    "equal": "every lambda starts at the same size, 0.15, with the preset's sign, in every layer and component",
    "swapped": "every lambda starts at the preset's value with the opposite sign",
    "frozen": "every lambda stays at the preset's start",
    "high": "every lambda starts at the same size, 0.4, with the preset's sign, in every layer and component",
    "slow-lambda": "lambda rate 0.00005",
    "1e-4": "learning rate and lambda rate 0.0001",
    "no-decay": "weights do not decay",
    "again": "the same training, made again, to store what was not stored before",
    "512": "reads the first 512 tokens",
    "3e-4": "learning rate 0.0003",
    "fast": "learning rate 0.001",
    **{f"{thousands}k": f"learns from {thousands},000 rows, as many of each class" for thousands in (5, 10, 20, 40, 80)},
    "5k-epochs": "learns from 5,000 rows, as many of each class, and counts epochs instead of updates",
    "6k-updates": "makes 6,000 updates",
    "2-epochs": "makes two epochs",
    "12-epochs": "makes twelve epochs at most",
    "3k-masked": "makes 3,000 updates on masked tokens, then 3,000 on classes",
    "wide": "word vectors start with a standard deviation of 1 in place of 0.1",
    "wide-512": "word vectors start with a standard deviation of 1 in place of 0.1; reads the first 512 tokens",
    "epochs": "keeps the weights after each epoch for the training film; counts epochs if the recipe counts updates",
    "full": "trains the matrices of the base themselves in place of low-rank changes, at learning rate 0.0001",
    "labels": "learns from the labels alone, without a teacher",
    "whole-words": "polarities of whole words, without emoticons",
}
VARIANT_SETTINGS: dict[str, dict[str, Any]] = {
    "slow-lambda": {"lambda_rate": 5e-5},
    "1e-4": {"learning_rate": 1e-4, "lambda_rate": 1e-4},
    "no-decay": {"weight_decay": 0.0},
    "again": {},
    "512": {"max_length": 512},
    "3e-4": {"learning_rate": 3e-4},
    "fast": {"learning_rate": 1e-3},
    **{f"{thousands}k": {"rows": 1000 * thousands} for thousands in (5, 10, 20, 40, 80)},
    "5k-epochs": {"rows": 5000, "updates": 0},
    "6k-updates": {"updates": 6000},
    "2-epochs": {"epochs": 2},
    "12-epochs": {"epochs": 12},
    "3k-masked": {"pretrain": 3000, "updates": 3000},
    "wide": {"start": 1.0},
    "wide-512": {"start": 1.0, "max_length": 512},
    "epochs": {"keep_epochs": 100, "updates": 0},
    "full": {"adapter_rank": 0, "learning_rate": 1e-4},
    "labels": {"teacher": ""},
}
TRAINING_ENDINGS = tuple(  # variants that change the learning rate or the number of epochs alone
    f"-{name}" for name, settings in VARIANT_SETTINGS.items() if settings.keys() in ({"learning_rate"}, {"epochs"})
)
EQUAL = {"equal": 0.15, "high": 0.4}  # absolute start value of every lambda, by variant


def presets() -> dict[str, Preset]:
    """Return every listed preset by name, without injections."""
    return {name: entry for paper in papers().values() for name, entry in paper.presets.items()}


def injections() -> dict[str, Mapping[str, Any]]:
    """Return the settings of each way in which a lexicon can enter a model's scores, by name."""
    return {name: settings for paper in papers().values() for name, settings in paper.injections.items()}


def additions() -> dict[str, Mapping[str, Any]]:
    """Return the settings of each other addition to a model, by name."""
    return {name: settings for paper in papers().values() for name, settings in paper.additions.items()}


def split(name: str) -> tuple[str, str]:
    """Split a name into preset and endings ("" if there are none): ``"cls-gated-last-scaled"`` -> ``("cls", "gated-last-scaled")``."""
    base, endings = _parsed(name)
    return base, "-".join(endings)


def without_training(configuration: str) -> str:
    """Return the name of a configuration without an ending of `TRAINING_ENDINGS`: ``"cnn-fast"`` -> ``"cnn"``."""
    return next((configuration.removesuffix(ending) for ending in TRAINING_ENDINGS if configuration.endswith(ending)), configuration)


def papers_of(configuration: str) -> list[str]:
    """Return the names of the papers that have the model of a configuration; empty for a model of your own."""
    model = without_training(configuration)
    return [name for name, paper in papers().items() if any(paper.preset(part) for part in (model, _parsed(model)[0]))]


def find_preset(name: str) -> Preset:
    """Return the preset of a name, with the settings of all its endings."""
    base, endings = _parsed(name)
    listed, known = _listed(base), {**injections(), **additions()}
    settings = {key: value for ending in endings for key, value in known[ending].items()}
    twice = len(settings) < sum(len(known[ending]) for ending in endings)
    if listed is None or twice or not _has(listed, settings):
        raise InputError(f"There is no model {name!r}; {nearest(name, list(presets()))}`sentviz train --help` lists all.")
    return replace(listed, shape={**listed.shape, **settings}) if endings else listed


def on_base(name: str, base: str) -> dict[str, Any]:
    """Return the settings named by the endings after the name of a base, as in `e5-last-scaled`, for the configuration of a run on it."""
    known, rest, settings = {**injections(), **additions()}, name.removeprefix(base), dict[str, Any]()
    while rest:
        ending = next((each for each in sorted(known, key=len, reverse=True) if (rest + "-").startswith(f"-{each}-")), "")
        if not ending or not name.startswith(base):
            raise InputError(f"The name of a run on the base {base} is {base}, or {base}- with {', '.join(known)} after it; not {name!r}.")
        settings |= known[ending]
        rest = rest.removeprefix(f"-{ending}")
    return settings


def range_in_words(constraint: str) -> str:
    """Return a range of `CONSTRAINT_SIGNS` as it is written: "(−∞,∞)"."""
    return constraint.replace("inf", "∞").replace("-", MINUS)


def preset(name: str, *, vocab_size: int, classes: int, max_length: int, **changes: Any) -> ModelConfig:
    """Return the configuration of a paper's model, with changes to its settings."""
    entry = find_preset(name)
    config = CONFIGS[entry.kind]
    known = [item.name for item in fields(config)]
    if unknown := sorted(changes.keys() - known):
        raise InputError(f"A model has no setting {unknown[0]!r}. The settings are {', '.join(known)}.")
    try:
        return config(**({"vocab_size": vocab_size, "classes": classes, "max_length": max_length} | dict(entry.shape) | changes))
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} cannot be made: {str(error).rstrip('.')}.") from error


def check_shape(name: str, shape: Mapping[str, Any]) -> None:
    """Check a recipe's changes to a preset before data is read or a model is trained."""
    if elsewhere := [key for key in ("vocab_size", "classes", "max_length", "dropout") if key in shape]:
        raise InputError(f"The recipe's shape cannot set {elsewhere[0]}: it is set by the recipe or its data set.")
    preset(name, vocab_size=9, classes=2, max_length=9, **shape)


def variant_changes(variant: str, model: str, lexicon: str = "") -> dict[str, Any]:
    """Return the settings of `Recipe` that a variant changes for a preset; empty for the variant "".

    Args:
        lexicon: the recipe's lexicon.
    """
    if not variant:
        return {}
    if variant not in VARIANTS:
        raise InputError(f"There is no variant {variant!r}. The variants are {', '.join(VARIANTS)}.")
    if variant in VARIANT_SETTINGS:
        return dict(VARIANT_SETTINGS[variant])
    if variant == "whole-words":
        from sentviz.data.lexicon import WHOLE_WORDS  # imports numpy, which a list of presets does not need

        if not lexicon:
            raise InputError(f"The recipe names no lexicon, so {model} has no variant {variant}.")
        return {"lexicon": lexicon + WHOLE_WORDS}
    config = preset(model, vocab_size=9, classes=2, max_length=9)
    if not isinstance(config, EncoderConfig) or config.mixing not in CONSTRAINT_SIGNS:
        raise InputError(f"{model} has no lambda with a start value, so it has no variant {variant}.")
    if variant == "frozen":
        return {"shape": {"learn_lambda": False}}
    if variant == "swapped" and config.mixing in ("unit", "nonneg"):
        raise InputError(f"{model} has no negative lambdas, so its signs cannot be swapped.")
    sign = -1 if config.mixing == "symmetric" else 1
    size = EQUAL.get(variant)
    new = [[sign * size if size else -value for value in row] for row in config.lambda_start]
    return {"shape": {"lambda_start": new}}


def _parsed(name: str) -> tuple[str, list[str]]:
    """Split a name into the preset and its endings, in order. If there are two ways to read it, the longest last ending is used."""
    if _listed(name):
        return name, []
    for ending in sorted({**injections(), **additions()}, key=len, reverse=True):
        base = name.removesuffix(f"-{ending}")
        if base != name and base:
            first, before = _parsed(base)
            if _listed(first):
                return first, [*before, ending]
    return name, []


def _has(entry: Preset, settings: Mapping[str, Any]) -> bool:
    """Return whether the preset's kind of model has these settings."""
    return settings.keys() <= {item.name for item in fields(CONFIGS[entry.kind])}


def _listed(name: str) -> Preset | None:
    """Return the preset that a paper lists under a name without endings."""
    return next((entry for paper in papers().values() if (entry := paper.preset(name))), None)
