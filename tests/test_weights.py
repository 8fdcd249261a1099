"""Stored weights: how far they may differ, and that a second time changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from sentviz.errors import RunError
from sentviz.models.encoder import Encoder
from sentviz.models.weights import load_weights, pack, quantized, unpack
from tests.kit import small_encoder


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Store the toy matrices as large ones."""
    monkeypatch.setattr("sentviz.models.weights.LARGE", 64)
    monkeypatch.setattr("sentviz.models.weights.WIDE", 4)


def test_weights_come_back_within_their_stored_precision(tmp_path: Path) -> None:
    """Weights are stored to a relative 2^-11 in half precision, and large matrices to half a step of 1/127 of each row's largest entry."""
    encoder = small_encoder(5, components=3, mixing="free", width=16).float()
    with torch.no_grad():
        encoder.embedding.weight[4] = 0
        encoder.embedding.weight[5] *= 300
    save_file(pack(encoder.state_dict()), tmp_path / "w.safetensors")
    again = load_weights(lambda: Encoder(encoder.config), tmp_path / "w.safetensors")
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
    rows = torch.linspace(-1, 1, 201).repeat(4, 1) * torch.tensor([[1e-2], [7.7e-3], [1e-3], [1e-5]])
    error = (unpack(pack({"w": rows}))["w"] - rows).abs().amax(dim=1)
    step = (rows.abs().amax(dim=1) / 127).clamp_min(torch.finfo(torch.float16).tiny)
    assert bool((error <= step / 2 * 1.001).all()) and float(error[2]) > 1e-3 / 127
    once = unpack(pack(small_encoder(6).float().state_dict()))
    again = unpack(pack(once))
    assert all(torch.equal(once[k], again[k]) for k in once)


def test_narrow_matrices_keep_half_precision() -> None:
    polarity = torch.rand(200, 3)
    stored = unpack(pack({"polarity": polarity, "wide": torch.rand(200, 4)}))
    assert bool(((stored["polarity"] - polarity).abs() <= polarity * 2**-11).all())
    assert set(pack({"wide": torch.rand(200, 4)})) == {"wide.int8", "wide.scale"}


def test_a_scale_may_belong_to_a_row_or_a_column() -> None:
    weights = torch.randn(40, 24) * torch.logspace(-1, 1, 24)
    for dim in (0, 1):
        stored = quantized("w", weights, dim)
        step = weights.abs().amax(dim=dim, keepdim=True) / 127
        assert bool(((unpack(stored)["w"] - weights).abs() <= step * 0.501).all())
    assert float((unpack(quantized("w", weights, 1))["w"] - weights)[:, 0].abs().max()) > float(step.min())  # columns differ a hundredfold
    for scale in (torch.ones(1, 1), torch.ones(24, 1), torch.ones(40)):
        with pytest.raises(RuntimeError, match=r"w\.scale is not one number for each row or each column"):
            unpack(stored | {"w.scale": scale})


def changed_state(state: dict[str, torch.Tensor], name: str, tensor: torch.Tensor | None) -> dict[str, torch.Tensor]:
    return {key: each for key, each in (state | {name: tensor}).items() if each is not None}


@pytest.mark.parametrize(
    ("name", "tensor", "message"),
    [
        ("classifier.bias", None, "'classifier.bias' is missing"),
        ("more", torch.zeros(1), "'more' is not part of the model"),
        ("classifier.bias", torch.zeros(5), r"classifier.bias has the shape \(5,\) in the file and \(3,\) in the configuration"),
        ("embedding.weight.scale", torch.zeros(1, 9), r"embedding.weight.scale has the shape \(1, 9\) in the file and \(20, 1\)"),
        ("embedding.weight.int8", torch.zeros(20, 1, dtype=torch.int8), r"has the shape \(20, 1\) in the file and \(20, 8\)"),
        ("embedding.weight.int8", torch.zeros(20, 8), "embedding.weight.int8 has the type F32, not I8"),
        ("classifier.bias", torch.zeros(3, dtype=torch.int64), "classifier.bias has the type I64, not F16 or"),
    ],
)
def test_a_file_of_other_shapes_is_told_from_its_head(name: str, tensor: torch.Tensor | None, message: str, tmp_path: Path) -> None:
    encoder, path, read_files = small_encoder(5, width=8).float(), tmp_path / "w.safetensors", []
    save_file(changed_state(pack(encoder.state_dict()), name, tensor), path)

    def make() -> Encoder:
        read_files.append(Encoder(encoder.config))
        return read_files[-1]

    with pytest.raises(RunError, match=f"^w.safetensors does not fit the configuration: .*{message}"):
        load_weights(make, path)
    assert len(read_files) == 1 and all(tensor.is_meta for tensor in read_files[0].state_dict().values())


def test_a_model_of_too_many_numbers_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sentviz.models.weights.PARAMETERS", 100)
    save_file(pack((encoder := small_encoder(5).float()).state_dict()), tmp_path / "w.safetensors")
    with pytest.raises(RunError, match="models of at most 100 can be read"):
        load_weights(lambda: Encoder(encoder.config), tmp_path / "w.safetensors")
