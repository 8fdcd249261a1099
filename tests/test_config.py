"""Shapes of models: what no model can have is refused, and stored settings of other versions are read."""

from __future__ import annotations

import json
import math
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from sentviz.errors import InputError, RunError
from sentviz.papers.fused.study import MODELS
from sentviz.runs.configs import (
    ConvolutionalConfig,
    EncoderConfig,
    HardmaxConfig,
    HubConfig,
    ModelConfig,
    RecurrentConfig,
    read_config,
    stored_config,
)
from sentviz.runs.presets import check_shape, preset, presets
from sentviz.runs.store import FORMAT, Run
from tests.kit import refused

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
    refused(ValueError, message, lambda: EncoderConfig(**(SIZES | changes)))
    if "components" not in changes:
        refused(InputError, f"vanilla-matched cannot be made: {message}", lambda: preset("vanilla-matched", **SIZES, **changes))


def test_a_recipes_shape_is_checked_before_anything_is_trained() -> None:
    check_shape("vanilla", {"width": 16, "heads": 2, "embedding_scale": 1})
    refused(InputError, r"no setting 'widht'. The settings are vocab_size, classes", check_shape, "vanilla", {"widht": 3})
    refused(InputError, "vanilla cannot be made: 7 heads do not divide a width of 128", check_shape, "vanilla", {"heads": 7})
    for name in ("vocab_size", "classes", "max_length", "dropout"):
        refused(InputError, f"shape cannot set {name}: it is set by the recipe", check_shape, "vanilla", {name: 7})


ROOT = Path(__file__).parents[1] / "checkpoints"
shipped = pytest.mark.skipif(not ROOT.is_dir(), reason="checkpoints/ is not here")
EXAMPLES: tuple[ModelConfig, ...] = (
    EncoderConfig(9, 2, mixing="unit", components=2, global_tokens=(0, 3)),
    HubConfig("modernbert", 9, 2, 8, 16, 2, 4, windows=(0, 6), positions="rotary"),
    HardmaxConfig(9, width=4),
    EncoderConfig(9, 2, positions="aware", window=4, global_drawn=2, gate=True, norm="none"),
    RecurrentConfig(9, 2, hidden=4),
    ConvolutionalConfig(9, 2, filters=4, widths=(2, 3)),
)


def test_what_is_stored_is_read_back() -> None:
    for config in (*EXAMPLES, *(preset(name, **SIZES) for name in {*presets(), *MODELS})):
        assert read_config(json.loads(json.dumps(stored_config(config)))) == config


@pytest.mark.parametrize("config", EXAMPLES, ids=lambda config: config.KIND)
def test_settings_that_are_missing_mean_as_before(config: ModelConfig) -> None:
    for item in fields(config):
        values = {name: value for name, value in stored_config(config).items() if name != item.name}
        try:
            again = read_config(values)
        except ValueError as error:
            assert item.name in str(error)
            continue
        assert type(again) is type(config)


@pytest.mark.parametrize("config", EXAMPLES, ids=lambda config: config.KIND)
def test_settings_that_were_given_up_are_read_where_they_say_what_is_done_now(config: ModelConfig) -> None:
    for name, value in config.RETIRED.items():
        stored = 0.5 if value is ... else value
        assert read_config(stored_config(config) | {name: stored}) == config
        if value is not ...:
            refused(ValueError, f"'{name}' = 'other' is unknown", read_config, stored_config(config) | {name: "other"})


def test_unknown_settings_and_kinds_are_one_sentence() -> None:
    refused(ValueError, "setting 'magic' = 3 is unknown to this version", read_config, stored_config(EXAMPLES[0]) | {"magic": 3})
    with pytest.raises(ValueError, match="kind 'oracle'; this version knows encoder, hub, hardmax, recurrent, convolutional"):
        read_config({"kind": "oracle"})


@shipped
def test_a_newer_format_is_refused_in_one_sentence(tmp_path: Path) -> None:
    config = json.loads((ROOT / "sst2/ndt-unit-2/config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"format": FORMAT + 1}))
    refused(RunError, f"has format {FORMAT + 1}, this version reads up to {FORMAT}", Run.open, tmp_path)
