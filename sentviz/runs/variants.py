"""Changes to a recipe by name: the controls of the lambda study, longer texts, a higher rate, fewer rows, more updates, kept epochs."""

from __future__ import annotations

from typing import Any

from sentviz.errors import InputError
from sentviz.runs.configs import EncoderConfig
from sentviz.runs.presets import CONSTRAINT_SIGNS, preset

LAMBDA_CONTROLS = ("equal", "swapped", "frozen")
VARIANTS = {
    "equal": "every lambda starts at the same size, 0.15, with the preset's sign, whatever its layer and component",
    "swapped": "every lambda starts at the preset's value with the other sign",
    "frozen": "every lambda stays at the preset's start",
    "512": "reads the first 512 tokens",
    "3e-4": "learns at a rate of 0.0003",
    "fast": "learns at a rate of 0.001",
    **{f"{thousands}k": f"learns from {thousands},000 rows, as many of each class" for thousands in (5, 10, 20, 40, 80)},
    "6k-updates": "makes 6,000 updates",
    "3k-masked": "makes 3,000 updates on masked tokens, then 3,000 on classes",
    "epochs": "keeps the weights after each epoch, to be looked through; trained by epochs where the recipe counts updates",
}
PLAIN: dict[str, dict[str, Any]] = {
    "512": {"max_length": 512},
    "3e-4": {"learning_rate": 3e-4},
    "fast": {"learning_rate": 1e-3},
    **{f"{thousands}k": {"rows": 1000 * thousands} for thousands in (5, 10, 20, 40, 80)},
    "6k-updates": {"updates": 6000},
    "3k-masked": {"pretrain": 3000, "updates": 3000},
    "epochs": {"keep_epochs": 100, "updates": 0},
}
EQUAL = 0.15


def changes(variant: str, model: str) -> dict[str, Any]:
    """What a variant changes in the recipe of a preset: settings of `Recipe`; none for "".

    Raises:
        InputError: no such variant, or one that the preset cannot have.
    """
    if not variant:
        return {}
    if variant not in VARIANTS:
        raise InputError(f"There is no variant {variant!r}; there are {', '.join(VARIANTS)}.")
    if variant in PLAIN:
        return dict(PLAIN[variant])
    config = preset(model, vocab_size=9, classes=2, max_length=9)
    if not isinstance(config, EncoderConfig) or config.mixing not in CONSTRAINT_SIGNS:
        raise InputError(f"{model} has no lambda with a start of its own, which the variant {variant} changes.")
    if variant == "frozen":
        return {"shape": {"learn_lambda": False}}
    if variant == "swapped" and config.mixing in ("unit", "nonneg"):
        raise InputError(f"{model} has no negative lambdas, so its signs cannot be swapped.")
    sign = -1 if config.mixing == "symmetric" else 1
    new = [[sign * EQUAL if variant == "equal" else -value for value in row] for row in config.lambda_start]
    return {"shape": {"lambda_start": new}}
