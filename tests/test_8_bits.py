"""The one rule for what is stored in 8 bits, on made-up weights and on every run that ships."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from sentviz.errors import RunError
from sentviz.models.weights import coarser, in_8_bits, pack, unpack
from sentviz.runs.store import Run
from tests.shipped import ASKABLE, of_each


@of_each(ASKABLE)
def test_what_is_in_8_bits(run: Run) -> None:
    """In every shipped run at least 16 numbers have a common scale in 8 bits."""
    assert coarser(run.path(run.weights)) == {}


def test_matrices_coarser_than_the_rule_are_found(tmp_path: Path) -> None:
    """`coarser` accepts the matrices that pack itself stores in 8 bits, and finds a narrow one that pack would store in 16."""
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
    with pytest.raises(RunError, match=r"torn\.safetensors cannot be read"):
        coarser(tmp_path / "torn.safetensors")
