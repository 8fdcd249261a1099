"""Types and bounds of the settings of model configurations."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, ClassVar, Literal, get_args, get_origin, get_type_hints

from sentviz.runs.schema import LABELS, short

LISTED, FARTHEST = 1_000, 1 << 17  # maximum entries of a list, and the largest whole number in a list
KINDS: dict[Any, str] = {
    int: "a whole number",
    float: "a finite number",
    bool: "true or false",
    str: "a text",
    tuple[int, ...]: f"a list of whole numbers, at most {LISTED:,} and each at most {FARTHEST:,}",
    tuple[tuple[float, ...], ...]: f"a list of rows of numbers, at most {LISTED:,}",
}
BOUNDS: dict[str, tuple[int, float]] = {  # smallest and largest value of a setting, so that no configuration is too large for a machine
    "vocab_size": (1, 1 << 22),
    "classes": (0, LABELS),  # `ModelKind` refuses 0 for all models but encoders without a head
    "max_length": (1, FARTHEST),
    **dict.fromkeys(("layers", "heads"), (1, LISTED)),
    **dict.fromkeys(("components", "segments"), (1, 100)),
    **dict.fromkeys(("width", "hidden", "filters"), (1, 1 << 16)),
    "key_width": (0, 1 << 18),
    "ffn_width": (1, 1 << 18),
    "embedding_width": (0, 1 << 16),
    "norm_eps": (0, 1),
    "relative": (0, 1 << 12),
    "relative_reach": (2, FARTHEST),
    "window": (0, FARTHEST),
    **dict.fromkeys(("global_drawn", "tags"), (0, LISTED)),
    **dict.fromkeys(("lambda_std", "embedding_scale", "dropout"), (0, 1e6)),
}


def _fits(value: Any, kind: Any) -> bool:
    """Return whether a value is of a kind of `KINDS`. Truth values do not count as numbers; lists from JSON count as tuples."""
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < math.inf
    if kind in (bool, int, str):
        return isinstance(value, kind) and (kind is not int or not isinstance(value, bool))
    if not isinstance(value, list | tuple) or len(value) > LISTED:
        return False
    part = get_args(kind)[0]
    return all(_fits(each, part) and (part is not int or abs(each) <= FARTHEST) for each in value)


@cache
def _settings(config: type) -> list[tuple[str, Any, tuple[Any, ...]]]:
    """Return name, type and choices (if it has any) of each setting of a configuration; cached, since catalogs read many runs."""
    kinds = {name: kind for name, kind in get_type_hints(config).items() if get_origin(kind) is not ClassVar}
    return [(name, kind, get_args(kind) if get_origin(kind) is Literal else ()) for name, kind in kinds.items()]


def check_settings(config: Any) -> None:
    """Check the type and the bounds of every setting.

    Raises:
        ValueError: a setting is invalid; the message names it and its value.
    """
    config_class: Any = type(config)
    for name, kind, choices in _settings(config_class):
        value = getattr(config, name)
        if choices:
            if value not in choices:
                raise ValueError(f"{name} must be one of {', '.join(choices)}, not {short(value)}.")
        elif not _fits(value, kind):
            raise ValueError(f"{name} must be {KINDS[kind]}, not {short(value)}.")
    for name, (least, most) in BOUNDS.items():
        value = getattr(config, name, least)
        if value < least:
            raise ValueError(f"{name} must be at least {least}, not {short(value)}.")
        if value > most:
            raise ValueError(f"{name} must be at most {most:,}, not {short(value)}.")
    if getattr(config, "dropout", 0) >= 1:
        raise ValueError(f"dropout must be below 1, not {config.dropout}.")
