"""A run format that grows: settings come and go, and every run that ships is still read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields, make_dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sentviz
from sentviz.errors import RunError
from sentviz.io.typed import bare, fields_of
from sentviz.runs.configs import (
    CONFIGS,
    ConvolutionalConfig,
    EncoderConfig,
    HardmaxConfig,
    HubConfig,
    ModelConfig,
    RecurrentConfig,
    read_config,
    stored_config,
)
from sentviz.runs.store import FORMAT, Run, _opened, runs

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
    """A missing setting has its default; a missing setting without a default is refused by name."""
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


@pytest.fixture
def read_anew() -> Iterator[None]:
    """Make runs be read again, now and after the test."""
    _opened.cache_clear()
    yield
    _opened.cache_clear()


def grown(base: Any) -> Any:
    """Return the configuration with a new setting that no stored run has."""
    return make_dataclass(base.__name__, [("novel", int, 7)], bases=(base,), frozen=True)


def shrunk(base: Any, name: str, value: Any) -> Any:
    """Return the configuration without a setting, which is listed among the retired ones."""
    remaining = [(item.name, fields_of(base)[item.name], item) for item in fields(base) if item.name != name]
    methods = {key: part for key, part in vars(base).items() if isinstance(part, property | cached_property)}
    constants = {"KIND": base.KIND, "RETIRED": {**base.RETIRED, name: value}, name: value}
    return make_dataclass(base.__name__, remaining, frozen=True, namespace=methods | constants)


@pytest.mark.exhaustive
@shipped
@pytest.mark.parametrize("kind", ["encoder", "hardmax"])
def test_every_shipped_run_is_read_by_a_version_with_a_new_setting(kind: str, read_anew: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a new setting all shipped runs open with its default and give the same logits."""
    before = runs([ROOT])
    _opened.cache_clear()
    monkeypatch.setitem(CONFIGS, kind, grown(CONFIGS[kind]))
    after = runs([ROOT])
    assert list(after) == list(before) and all(isinstance(run, Run) for run in after.values())
    assert {run.shape.novel for run in after.values() if kind == run.shape.KIND} == {7}
    name = {"encoder": "sst2/ndt-unit-2", "hardmax": "imdb/hardmax-d2"}[kind]
    logits = [sentviz.load(folders[name]).trace("A quiet delight.").logits for folders in (before, after)]
    np.testing.assert_array_equal(*logits)


@shipped
def test_every_shipped_run_is_read_by_a_version_without_a_setting(read_anew: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """All runs open and state the same values if a setting that all shipped encoders agree on is removed."""
    before = {name: run for name, run in runs([ROOT]).items() if isinstance(run, Run)}
    shapes = [run.shape for run in before.values() if isinstance(run.shape, EncoderConfig)]
    names = [name for name, kind in fields_of(EncoderConfig).items() if bare(kind) in (int, float, bool, str)]
    stored_values = {name: {getattr(shape, name) for shape in shapes} for name in names}
    name, (value,) = next((name, values) for name, values in stored_values.items() if len(values) == 1)
    _opened.cache_clear()
    monkeypatch.setitem(CONFIGS, "encoder", shrunk(EncoderConfig, name, value))
    after = runs([ROOT])
    assert all(isinstance(run, Run) for run in after.values())
    assert {name: run.capabilities for name, run in after.items()} == {name: run.capabilities for name, run in before.items()}


@shipped
def test_a_newer_format_is_refused_in_one_sentence(tmp_path: Path) -> None:
    config = json.loads((ROOT / "sst2/ndt-unit-2/config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"format": FORMAT + 1}))
    with pytest.raises(RunError, match=f"has format {FORMAT + 1}, this version reads up to {FORMAT}"):
        Run.open(tmp_path)
