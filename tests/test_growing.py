"""A run format that grows: settings come and go, and every run that ships is still read."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest

from sentviz.errors import RunError
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
from sentviz.runs.store import FORMAT, Run

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


@pytest.mark.parametrize("config", EXAMPLES, ids=lambda config: config.KIND)
def test_what_is_stored_is_read_back(config: ModelConfig) -> None:
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
            with pytest.raises(ValueError, match=f"'{name}' = 'other' is unknown"):
                read_config(stored_config(config) | {name: "other"})


def test_unknown_settings_and_kinds_are_one_sentence() -> None:
    with pytest.raises(ValueError, match="setting 'magic' = 3 is unknown to this version"):
        read_config(stored_config(EXAMPLES[0]) | {"magic": 3})
    with pytest.raises(ValueError, match="kind 'oracle'; this version knows encoder, hub, hardmax, recurrent, convolutional"):
        read_config({"kind": "oracle"})


@shipped
def test_a_newer_format_is_refused_in_one_sentence(tmp_path: Path) -> None:
    config = json.loads((ROOT / "sst2/ndt-unit-2/config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"format": FORMAT + 1}))
    with pytest.raises(RunError, match=f"has format {FORMAT + 1}, this version reads up to {FORMAT}"):
        Run.open(tmp_path)
