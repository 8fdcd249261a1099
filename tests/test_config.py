"""Shapes of encoders: what no model can have is refused by the name of the setting."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import pytest

from sentviz.errors import InputError
from sentviz.papers.fused.study import MODELS
from sentviz.runs.configs import EncoderConfig
from sentviz.runs.presets import check_shape, preset, presets

SIZES: dict[str, Any] = {"vocab_size": 9, "classes": 2, "max_length": 9}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"window": True}, "window must be a whole number from 0 to 131,072, not True"),
        ({"window": -1}, "window must be a whole number from 0"),
        ({"norm_first": 1}, "norm_first must be true or false"),
        ({"embedding_scale": math.nan}, "embedding_scale must be a number from 0 to 1,000,000, not nan"),
        ({"lambda_std": "much"}, "lambda_std must be a number from 0 to 1,000,000, not 'much'"),
        ({"dropout": 1.0}, "dropout must be a number of at least 0 and below 1, not 1.0"),
        ({"segments": 0}, "segments must be a whole number from 1"),
        ({"heads": 7}, "7 heads do not divide"),
        ({"global_tokens": [0, "last"]}, r"global_tokens\[1\] must be a whole number from -131,072 to 131,072, not 'last'"),
        ({"components": 2, "mixing": "unit", "lambda_start": [[math.nan], [0.2]]}, r"\[0\]\[0\] must be a finite number, not nan"),
        ({"norm": ["rms"]}, "norm must be rms, layer or none"),
    ],
)
def test_what_no_model_has(changes: dict[str, Any], message: str) -> None:
    """An impossible shape is refused in a stored configuration, and in one sentence as a change to a preset."""
    with pytest.raises(ValueError, match=message):
        EncoderConfig(**(SIZES | changes))
    if "components" not in changes:
        with pytest.raises(InputError, match=f"vanilla-matched cannot be made: {message}"):
            preset("vanilla-matched", **SIZES, **changes)


@pytest.mark.parametrize("name", sorted({*presets(), *MODELS}))
def test_what_is_stored_is_read_back(name: str) -> None:
    config = preset(name, **SIZES)
    assert type(config)(**json.loads(json.dumps(dataclasses.asdict(config)))) == config


def test_a_recipes_shape_is_checked_before_anything_is_trained() -> None:
    check_shape("vanilla", {"width": 16, "heads": 2, "embedding_scale": 1})
    with pytest.raises(InputError, match=r"no setting 'widht'. The settings are vocab_size, classes"):
        check_shape("vanilla", {"widht": 3})
    with pytest.raises(InputError, match="vanilla cannot be made: 7 heads do not divide a width of 128"):
        check_shape("vanilla", {"heads": 7})
    for name in ("vocab_size", "classes", "max_length", "dropout"):
        with pytest.raises(InputError, match=f"shape cannot set {name}: it is set by the recipe"):
            check_shape("vanilla", {name: 7})
