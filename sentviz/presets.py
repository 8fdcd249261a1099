"""The papers' configurations by name.

Names are `<family>` or `ndt-<constraint>-<C>`, constraints unit [0,1], symmetric [-1,1], nonneg [0,inf), free (-inf,inf).
Each of `NDT_FAMILIES` reproduces the parameter totals that the paper prints (arXiv 2603.20704) at its vocabulary sizes.
A name of `INJECTIONS` behind any of them, as in `cls-last-scaled`, puts a polarity lexicon into its scores (Sentiment-Fused Attention).
`hardmax-d<d>` is the hardmax classifier of width d, with `-straight` where the argmax itself is trained and `-raw` without cleaning.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from sentviz.errors import InputError
from sentviz.models.config import EncoderConfig, HardmaxConfig

__all__ = [
    "CONSTRAINT_SIGNS",
    "FUSED_FAMILIES",
    "INJECTIONS",
    "NDT_FAMILIES",
    "check_shape",
    "hardmax",
    "is_hardmax",
    "modern",
    "parse",
    "preset",
    "split",
    "usual",
]

CONSTRAINT_SIGNS = {"unit": "[0,1]", "symmetric": "[-1,1]", "nonneg": "[0,inf)", "free": "(-inf,inf)"}

NDT_FAMILIES = (
    "vanilla",
    "vanilla-matched",
    "diff",
    *(f"ndt-{constraint}-{c}" for constraint in CONSTRAINT_SIGNS for c in (2, 3, 4)),
)

INJECTIONS: dict[str, dict[str, Any]] = {
    "xia": {"lexicon": "multiply"},  # Xia et al. 2021: Q K^T times sigma, element by element
    "all": {"lexicon": "add"},
    "all-scaled": {"lexicon": "add", "lexicon_scaled": True},
    "last": {"lexicon": "add", "lexicon_heads": "last"},
    "last-scaled": {"lexicon": "add", "lexicon_heads": "last", "lexicon_scaled": True},
}
FUSED_FAMILIES = ("cls", *(f"cls-{injection}" for injection in INJECTIONS))


def split(name: str) -> tuple[str, str]:
    """A preset's name without its injection, and the injection ("" if none): ``"cls-last-scaled"`` -> ``("cls", "last-scaled")``."""
    for injection in sorted(INJECTIONS, key=len, reverse=True):
        if name.endswith(f"-{injection}"):
            return name.removesuffix(f"-{injection}"), injection
    return name, ""


def parse(name: str) -> tuple[str, str, int]:
    """Family, constraint ("" if none) and C of a preset's name: ``"ndt-unit-3"`` -> ``("ndt", "unit", 3)``.

    Raises:
        InputError: no such preset.
    """
    whole, (name, _) = name, split(name)
    if name not in (*NDT_FAMILIES, "cls"):
        raise InputError(f"There is no model {whole!r}; there are cls, {', '.join(NDT_FAMILIES)}, each also with {', '.join(INJECTIONS)}.")
    if name.startswith("ndt-"):
        _, constraint, c = name.split("-")
        return "ndt", constraint, int(c)
    return name, "", 2 if name == "diff" else 1


def preset(name: str, *, vocab_size: int, classes: int, max_length: int, **changes: Any) -> EncoderConfig:
    """The configuration of a paper's model.

    Vanilla is the post-norm transformer with LayerNorm, ReLU and sinusoids; vanilla-matched, the control that the paper lacks, is NDT's
    block with one full-width component, which gives it the parameters of NDT with C = 2. cls is a small BERT: four post-norm layers, [CLS].

    Raises:
        InputError: no such preset, or a change that no model has.
    """
    known = [item.name for item in fields(EncoderConfig)]
    if unknown := sorted(changes.keys() - known):
        raise InputError(f"A model has no setting {unknown[0]!r}; there are {', '.join(known)}.")
    family, constraint, components = parse(name)
    shape: dict[str, Any] = {"vocab_size": vocab_size, "classes": classes, "max_length": max_length}
    if family == "vanilla":
        shape |= {"positions": "sinusoid", "norm": "layer", "norm_first": False, "ffn": "relu", "ffn_width": 256}
    elif family == "diff":
        shape |= {"components": 2, "mixing": "differential", "head_norm": True, "lambda_std": 0.1}
    elif family == "ndt":
        shape |= {"components": components, "mixing": constraint}
    elif family == "cls":
        shape |= {"layers": 4, "norm": "layer", "norm_first": False, "ffn": "gelu", "ffn_width": 512, "pooling": "cls"}
    shape |= INJECTIONS.get(split(name)[1], {})
    try:
        return EncoderConfig(**(shape | changes))
    except ValueError as error:
        raise InputError(f"{name} cannot be made: {error}") from error


def is_hardmax(name: str) -> bool:
    """Whether a preset's name is, or tries to be, a hardmax classifier's."""
    return name.startswith("hardmax-")


def hardmax(name: str, *, vocab_size: int, max_length: int, **changes: Any) -> HardmaxConfig:
    """The configuration of a hardmax classifier by its name.

    Raises:
        InputError: no such preset, or a change that it does not have.
    """
    found = re.fullmatch(r"hardmax-d([1-9]\d{0,2})(-straight)?(-raw)?", name)
    if found is None:
        raise InputError(f"There is no model {name!r}; there are hardmax-d2, -d4, -d8, -d16, and each with -straight.")
    known = ("layers", "training_temperature", "tolerance")
    if unknown := sorted(changes.keys() - set(known)):
        raise InputError(f"A hardmax model has no setting {unknown[0]!r}; there are {', '.join(known)}.")
    width, straight, raw = found.groups()
    try:
        return HardmaxConfig(
            vocab_size,
            max_length=max_length,
            width=int(width),
            cleaning=not raw,
            training="hardmax" if straight else "softmax",
            **changes,
        )
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} cannot be made: {error}") from error


def check_shape(name: str, shape: Mapping[str, Any]) -> None:
    """Check a recipe's changes to a preset before anything is read or trained.

    Raises:
        InputError: a setting that no model has, or one that the recipe or its data set decides elsewhere.
    """
    if elsewhere := [key for key in ("vocab_size", "classes", "max_length", "dropout") if key in shape]:
        raise InputError(f"The recipe's shape cannot set {elsewhere[0]}: the recipe itself or its data set does.")
    if is_hardmax(name):
        hardmax(name, vocab_size=9, max_length=9, **shape)
    else:
        preset(name, vocab_size=9, classes=2, max_length=9, **shape)


# ---- settings of a recipe that are usual for a model

HARDMAX: dict[str, Any] = {  # the paper prints neither epochs nor rates: these are ours, the same for all d, tried on validation
    "example": "The story is boring and the acting is terrible, but the music is wonderful and I loved the ending.",
    "max_length": 128,  # words
    "min_count": 10,
    "vocab_size": 12_000,  # words at most
    "epochs": 5,
    "learning_rate": 1e-2,
    "weight_decay": 0.0,
    "warmup": 0.0,
    "clip": 5.0,
    "dropout": 0.0,
    "start": 0.1,
    "evaluations": 1,
    "patience": 0,
    "log_every": 50,
}
FOREIGN: dict[str, Any] = {
    "tokenizer": "bpe",
    "cls": True,
    "max_length": 128,
    "epochs": 3,
    "batch_size": 32,
    "learning_rate": 2e-5,
    "weight_decay": 0.01,
    "warmup": 0.1,
    "schedule": "linear",
    "patience": 3,
}


def usual(values: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that a recipe has where it does not name them, other than those of `Recipe` itself."""
    if values.get("source"):
        return FOREIGN
    return HARDMAX if is_hardmax(str(values.get("model", ""))) else {}


def modern(stored: Mapping[str, Any]) -> dict[str, Any]:
    """A stored recipe as it is written now: those of hardmax runs of format 1 held the model's shape among the settings."""
    older = ("width", "training", "cleaning", "layers", "training_temperature")
    if not all(name in stored for name in older):
        return dict(stored)
    shape = {name: stored[name] for name in older[3:] if stored[name] != getattr(HardmaxConfig, name)}
    return {name: value for name, value in stored.items() if name not in older} | {"shape": shape}
