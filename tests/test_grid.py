"""Matrices are stored as codes with scales, by one rule for what is stored in 8 bits, and read back as the rounded values."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from sentviz.errors import InputError, RunError
from sentviz.models.weights import CodedEmbedding, coarser, code, exact, in_8_bits, pack, unpack
from sentviz.runs.store import Run
from tests.kit import refused
from tests.shipped import ASKABLE, of_each


@pytest.mark.parametrize("bits", [4, 8])
def test_rounded_weights_are_near_and_rows_are_those_of_the_whole(bits: int) -> None:
    """8 bits are within half a step of a row's largest entry. 4 bits are nearer, in squares, than the plain scale."""
    weights = torch.randn(40, 64, generator=torch.Generator().manual_seed(1))
    weights[3, :32] = 0
    coded = code(weights, bits)
    table = coded.expanded()
    if bits == 8:
        assert (abs(table - weights) <= weights.abs().amax(dim=1, keepdim=True) / 127 * 0.51).all()
    else:
        blocks = weights.reshape(-1, 32)
        scale = blocks.gather(1, blocks.abs().argmax(dim=1, keepdim=True)) / -8
        plain = (blocks / scale.where(scale != 0, torch.ones(()))).round().clamp(-8, 7) * scale
        assert (table - weights).square().sum() < 0.95 * (plain - blocks).square().sum()
    assert not table[3, :32].any()
    rows = torch.tensor([[7, 0], [39, 7]])
    assert torch.equal(CodedEmbedding(coded)(rows), table[rows]) and coded.shape == (40, 64)


def test_weights_on_a_grid_keep_their_codes_and_scales() -> None:
    rng = torch.Generator().manual_seed(2)
    codes = torch.randint(-8, 8, (6, 32), generator=rng)
    codes[:, 5] = -8
    scale = (torch.rand(6, 1, generator=rng) / 50 + 0.003).half()
    coded = code((codes * scale.float()).half().float(), 4)
    assert torch.equal(coded.scale, scale)
    assert torch.equal(coded.expanded(), codes * scale.float())


def test_what_is_not_a_matrix_is_stored_exactly() -> None:
    third = torch.tensor([1 / 3, 0.5])
    assert exact(third).dtype == torch.float32 and exact(third.half().float()).dtype == torch.float16
    refused(InputError, "divide a width of 48; store this base in 8 bits", code, torch.ones(4, 48), 4)
    refused(InputError, "in 4 or 8 bits, not 3", code, torch.ones(4, 32), 3)


@of_each(ASKABLE)
def test_what_is_in_8_bits(run: Run) -> None:
    """In every shipped run at least 16 numbers have a common scale in 8 bits."""
    assert coarser(run.path(run.weights)) == {}


def test_matrices_coarser_than_the_rule_are_found(tmp_path: Path) -> None:
    state = {"wide": torch.rand(4000, 16), "narrow": torch.rand(16000, 3), "small": torch.rand(20, 20)}
    assert {name for name in state if in_8_bits(state[name].shape)} == {"wide"}
    packed = pack(state)
    save_file(packed, tmp_path / "new.safetensors")
    assert coarser(tmp_path / "new.safetensors") == {}
    scale = (state["narrow"].amax(dim=1, keepdim=True) / 127).half()
    cut = {"narrow.int8": (state["narrow"] / scale.float()).round().to(torch.int8), "narrow.scale": scale}
    save_file({k: v for k, v in packed.items() if k != "narrow"} | cut, tmp_path / "old.safetensors")
    off = coarser(tmp_path / "old.safetensors")
    assert set(off) == {"narrow"}
    assert float((unpack(cut)["narrow"] - state["narrow"]).abs().max()) <= off["narrow"] + 1e-6
    (tmp_path / "torn.safetensors").write_bytes(b"no")
    refused(RunError, r"torn\.safetensors cannot be read", coarser, tmp_path / "torn.safetensors")
