"""Stored weights: how far they may differ, and that a second time changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from sentviz.models.encoder import Encoder
from sentviz.models.weights import load_weights, pack, save_weights, unpack
from tests.makers import small_encoder


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """The toy matrices are stored as large ones are."""
    monkeypatch.setattr("sentviz.models.weights.LARGE", 64)
    monkeypatch.setattr("sentviz.models.weights.WIDE", 4)


def test_weights_come_back_within_their_stored_precision(tmp_path: Path) -> None:
    """Half precision: a relative 2^-11; large matrices: half a step of 1/127 of each row's largest entry."""
    encoder = small_encoder(5, components=3, mixing="free", width=16).float()
    with torch.no_grad():
        encoder.embedding.weight[4] = 0
        encoder.embedding.weight[5] *= 300
    save_weights(encoder, tmp_path / "w.safetensors")
    again = Encoder(encoder.config)
    load_weights(again, tmp_path / "w.safetensors")
    before, after = encoder.state_dict(), again.state_dict()
    assert before.keys() == after.keys()
    for name, tensor in before.items():
        error = (tensor - after[name]).abs()
        if tensor.ndim == 2 and tensor.numel() >= 64:
            step = tensor.abs().amax(dim=1, keepdim=True) / 127
            assert bool((error <= step / 2 * 1.001 + 1e-7).all())
            assert float((error / step.clamp_min(1e-9)).max()) > 0.4
        else:
            assert bool((error <= tensor.abs() * 2**-11 + 1e-7).all())
    assert not after["embedding.weight"][4].any()
    stored = load_file(tmp_path / "w.safetensors")
    assert stored["embedding.weight.int8"].dtype == torch.int8
    assert stored["blocks.0.attention_norm.weight"].dtype == torch.float16


def test_rows_of_small_weights_are_off_by_half_the_smallest_step() -> None:
    """Below 0.0078 a step no longer follows the row: at most 3.05e-5 off, which the promise of 1/127 of the row would not cover."""
    rows = torch.linspace(-1, 1, 201).repeat(4, 1) * torch.tensor([[1e-2], [7.7e-3], [1e-3], [1e-5]])
    error = (unpack(pack({"w": rows}))["w"] - rows).abs().amax(dim=1)
    step = (rows.abs().amax(dim=1) / 127).clamp_min(torch.finfo(torch.float16).tiny)
    assert bool((error <= step / 2 * 1.001).all()) and float(error[2]) > 1e-3 / 127


def test_packing_twice_changes_nothing_more() -> None:
    """Stored weights are a fixed point: what is measured after reading is what the next reader gets."""
    once = unpack(pack(small_encoder(6).float().state_dict()))
    again = unpack(pack(once))
    assert all(torch.equal(once[k], again[k]) for k in once)


def test_narrow_matrices_keep_half_precision() -> None:
    """Three polarities a token: at most a relative 2^-11 off, however many rows."""
    polarity = torch.rand(200, 3)
    stored = unpack(pack({"polarity": polarity, "wide": torch.rand(200, 4)}))
    assert bool(((stored["polarity"] - polarity).abs() <= polarity * 2**-11).all())
    assert set(pack({"wide": torch.rand(200, 4)})) == {"wide.int8", "wide.scale"}
