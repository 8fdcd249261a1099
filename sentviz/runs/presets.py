"""Models by name: the presets of the papers.

A name of a paper's `injections` behind any of them, as in `cls-last-scaled`, puts a polarity lexicon into the model's scores; one of its
`additions`, as in `ndt-unit-2-gated`, adds a part of that paper's model. Several may follow each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from sentviz.errors import InputError
from sentviz.runs.configs import CONFIGS, ModelConfig
from sentviz.runs.registry import Preset, papers

CONSTRAINT_SIGNS = {"unit": "[0,1]", "symmetric": "[-1,1]", "nonneg": "[0,inf)", "free": "(-inf,inf)"}  # of a mixing


def presets() -> dict[str, Preset]:
    """Every listed preset by name, without injections."""
    return {name: found for paper in papers().values() for name, found in paper.presets.items()}


def injections() -> dict[str, Mapping[str, Any]]:
    """How a lexicon can enter a model's scores, by name."""
    return {name: settings for paper in papers().values() for name, settings in paper.injections.items()}


def additions() -> dict[str, Mapping[str, Any]]:
    """What else can be put behind a preset's name: settings of its shape, by name."""
    return {name: settings for paper in papers().values() for name, settings in paper.additions.items()}


def split(name: str) -> tuple[str, str]:
    """A preset's name, and what stands behind it ("" if nothing): ``"cls-gated-last-scaled"`` -> ``("cls", "gated-last-scaled")``."""
    base, behind = _parsed(name)
    return base, "-".join(behind)


def find_preset(name: str) -> Preset:
    """What a name stands for, with all that stands behind it.

    Raises:
        InputError: no such preset, or one that cannot have what stands behind it.
    """
    base, behind = _parsed(name)
    found, endings = _found(base), {**injections(), **additions()}
    settings = {key: value for ending in behind for key, value in endings[ending].items()}
    twice = len(settings) < sum(len(endings[ending]) for ending in behind)
    if found is None or twice or not _has(found, settings):
        fitting = [one for one, preset in presets().items() if _has(preset, {"lexicon": "", "gate": ""})]
        others = [one for one in presets() if one not in fitting]
        raise InputError(
            f"There is no model {name!r}; there are {', '.join(others)}, and {', '.join(fitting)}, each of the latter also with"
            f" {', '.join(endings)}."
        )
    return replace(found, shape={**found.shape, **settings}) if behind else found


def on_base(name: str, base: str) -> dict[str, Any]:
    """What stands behind the name of a base, as in `e5-last-scaled`: settings of the shape of a run on it.

    Raises:
        InputError: a name that does not begin with the base's, or an ending that does not exist.
    """
    known, rest, settings = {**injections(), **additions()}, name.removeprefix(base), dict[str, Any]()
    while rest:
        ending = next((one for one in sorted(known, key=len, reverse=True) if (rest + "-").startswith(f"-{one}-")), "")
        if not ending or not name.startswith(base):
            raise InputError(f"A run on the base {base} is called {base}, or {base}- with {', '.join(known)} behind; not {name!r}.")
        settings |= known[ending]
        rest = rest.removeprefix(f"-{ending}")
    return settings


def preset(name: str, *, vocab_size: int, classes: int, max_length: int, **changes: Any) -> ModelConfig:
    """The configuration of a paper's model, with changes to its settings.

    Raises:
        InputError: no such preset, or a change that no model of its kind has.
    """
    found = find_preset(name)
    wanted = CONFIGS[found.kind]
    known = [item.name for item in fields(wanted)]
    if unknown := sorted(changes.keys() - known):
        raise InputError(f"A model has no setting {unknown[0]!r}; there are {', '.join(known)}.")
    try:
        return wanted(**({"vocab_size": vocab_size, "classes": classes, "max_length": max_length} | dict(found.shape) | changes))
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} cannot be made: {error}") from error


def check_shape(name: str, shape: Mapping[str, Any]) -> None:
    """Check a recipe's changes to a preset before anything is read or trained.

    Raises:
        InputError: a setting that no model has, or one that the recipe or its data set decides elsewhere.
    """
    if elsewhere := [key for key in ("vocab_size", "classes", "max_length", "dropout") if key in shape]:
        raise InputError(f"The recipe's shape cannot set {elsewhere[0]}: the recipe itself or its data set does.")
    preset(name, vocab_size=9, classes=2, max_length=9, **shape)


def _parsed(name: str) -> tuple[str, list[str]]:
    """A name without what stands behind it, and that, in order; of two ways to read it the one with the longest last part."""
    if _found(name):
        return name, []
    for ending in sorted({**injections(), **additions()}, key=len, reverse=True):
        base = name.removesuffix(f"-{ending}")
        if base != name and base:
            first, before = _parsed(base)
            if _found(first):
                return first, [*before, ending]
    return name, []


def _has(found: Preset, settings: Mapping[str, Any]) -> bool:
    """Whether models of its kind have these settings."""
    return settings.keys() <= {item.name for item in fields(CONFIGS[found.kind])}


def _found(name: str) -> Preset | None:
    return next((found for paper in papers().values() if (found := paper.preset(name))), None)
