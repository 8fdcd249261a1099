"""The papers' configurations by name.

Names are `<family>` or `ndt-<constraint>-<C>`, constraints unit [0,1], symmetric [-1,1], nonneg [0,inf), free (-inf,inf).
Each preset reproduces the parameter totals that the paper prints (arXiv 2603.20704, tables of parameters) at its vocabulary sizes.
"""

from __future__ import annotations

from typing import Any

from sentviz.config import EncoderConfig
from sentviz.errors import InputError

__all__ = ["CONSTRAINT_SIGNS", "NDT_FAMILIES", "parse", "preset"]

CONSTRAINT_SIGNS = {"unit": "[0,1]", "symmetric": "[-1,1]", "nonneg": "[0,inf)", "free": "(-inf,inf)"}

NDT_FAMILIES = (
    "vanilla",
    "vanilla-matched",
    "diff",
    *(f"ndt-{constraint}-{c}" for constraint in CONSTRAINT_SIGNS for c in (2, 3, 4)),
)


def parse(name: str) -> tuple[str, str, int]:
    """Family, constraint ("" if none) and C of a preset's name: ``"ndt-unit-3"`` -> ``("ndt", "unit", 3)``.

    Raises:
        InputError: no such preset.
    """
    if name not in NDT_FAMILIES:
        raise InputError(f"There is no model {name!r}; there are {', '.join(NDT_FAMILIES)}.")
    if name.startswith("ndt-"):
        _, constraint, c = name.split("-")
        return "ndt", constraint, int(c)
    return name, "", 2 if name == "diff" else 1


def preset(name: str, *, vocab_size: int, classes: int, max_length: int, **changes: Any) -> EncoderConfig:
    """The configuration of a paper's model.

    Vanilla is the post-norm transformer with LayerNorm, ReLU and sinusoids; vanilla-matched, the control that the paper lacks, is NDT's
    block with one full-width component, which gives it the parameters of NDT with C = 2.

    Raises:
        InputError: no such preset.
    """
    family, constraint, components = parse(name)
    shape: dict[str, Any] = {"vocab_size": vocab_size, "classes": classes, "max_length": max_length}
    if family == "vanilla":
        shape |= {"positions": "sinusoid", "norm": "layer", "norm_first": False, "ffn": "relu", "ffn_width": 256}
    elif family == "diff":
        shape |= {"components": 2, "mixing": "differential", "head_norm": True, "lambda_std": 0.1}
    elif family == "ndt":
        shape |= {"components": components, "mixing": constraint}
    return EncoderConfig(**(shape | changes))
