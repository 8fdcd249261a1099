"""Adopted Hugging Face models as ONNX graphs: their answers and maps beside those of torch."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("transformers", reason="the extra hub (transformers) is not installed")

import sentviz
from sentviz import training
from sentviz.serving.onnx import export, load
from tests.foreign.models import SHORT, TEXT, saved
from tests.shipped import often

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("onnxruntime") is None or find_spec("onnxscript") is None, reason="the extra onnx is not installed"),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", often(["bert", "modernbert", "deberta-v2", "mpnet", "gpt2", "qwen2"], "bert"))
def test_an_adopted_model_is_exported(kind: str, tmp_path: Path) -> None:
    """The graph gives the run's probabilities, for texts of different lengths in one batch, and names what it returns."""
    run = training.adopt(saved(tmp_path / kind, kind), "", tmp_path / "runs")
    card = export(run, tmp_path / "exported", maps=True)
    assert card["compared"]["largest_difference"] < 1e-4 and card["outputs"] == ["logits", "pooled", "attention"]
    ours, theirs = (model.predict([TEXT, SHORT])[list(run.labels)].to_numpy() for model in (sentviz.load(run), load(tmp_path / "exported")))
    np.testing.assert_allclose(theirs, ours, atol=1e-4)
