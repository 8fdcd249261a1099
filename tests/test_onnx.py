"""Networks as ONNX graphs: what onnxruntime answers beside what torch does."""

import hashlib
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from click.testing import CliRunner

import sentviz
from sentviz.cli import main
from sentviz.errors import InputError, RunError
from sentviz.models.hardmax import HardmaxEncoder
from sentviz.models.loading import network_of
from sentviz.models.model import Model
from sentviz.models.protocol import Capture, Inputs, Network
from sentviz.runs.configs import ConvolutionalConfig, EncoderConfig, HardmaxConfig, RecurrentConfig
from sentviz.serving.onnx import export, load
from sentviz.serving.onnx import graph as graphs
from sentviz.serving.onnx.graph import Graph, write
from sentviz.serving.onnx.session import CARD, SMALL, WHOLE, Session
from tests import docs
from tests.kit import randomise, refused, toy_splits

IS_HERE = find_spec("onnxruntime") and find_spec("onnxscript")
pytestmark = pytest.mark.skipif(not IS_HERE, reason="the extra onnx is not installed")

SMALL_SHAPE: dict[str, Any] = {"vocab_size": 30, "classes": 3, "max_length": 24, "width": 8, "layers": 1, "heads": 2, "ffn_width": 12}
GATED = {"positions": "aware", "gate": True, "window": 6, "global_drawn": 2, "pooling": "cls", "norm": "layer", "ffn": "relu"}
MIXED = {"components": 3, "mixing": "unit", "positions": "rotary", "qk_norm": True, "lexicon": "multiply"}
FUSED = {"components": 2, "mixing": "differential", "head_norm": True, "lexicon": "add", "lexicon_heads": "last", "lexicon_scaled": True}
PAIRS = {"segments": 2, "pooling": "cls", "norm_first": False, "norm": "layer", "ffn": "gelu"}
PRETRAINED = {"relative": 8, "relative_reach": 6, "embedding_norm": True, "embedding_width": 4, "head": "tanh"}
PRETRAINED |= {"norm_first": False, "norm": "layer"}
ARCHITECTURES = {
    "mixed, rotary, QK-norm, factor": EncoderConfig(**SMALL_SHAPE | MIXED),
    "differential, lexicon, pairs": EncoderConfig(**SMALL_SHAPE | FUSED | PAIRS),
    "gates, aware positions, window, drawn": EncoderConfig(**SMALL_SHAPE | GATED),
    "distances, a norm of the embedding, a head": EncoderConfig(**SMALL_SHAPE | PRETRAINED),
    "padding that is read": EncoderConfig(**SMALL_SHAPE | {"masked": False, "positions": "sinusoid", "max_length": 12}),
    "recurrent": RecurrentConfig(30, 3, 24, hidden=4, layers=1),
    "convolutional": ConvolutionalConfig(30, 3, 24, filters=3),
    "hardmax": HardmaxConfig(30, max_length=24, layers=1),
}
SIZES = ((1, 1), (1, 9), (3, 2), (4, 24))


def network(name: str) -> Network:
    """Return a random network with polarities for lexicons; hardmax is in double precision as in its runs."""
    config = ARCHITECTURES[name]
    torch.manual_seed(0)
    if isinstance(config, HardmaxConfig):
        return HardmaxEncoder(config).double().eval()
    built = network_of(config).eval()
    if isinstance(config, EncoderConfig):
        built = randomise(built)  # type: ignore[arg-type]
        if config.lexicon != "none":
            built.get_buffer("polarity").copy_(torch.rand(30, 3).softmax(dim=-1))
    return built


def texts(of: Network, batch: int, n: int) -> Inputs:
    rng, has = torch.Generator().manual_seed(batch * 100 + n), of.capabilities
    lengths = torch.randint(1, n + 1, (batch, 1), generator=rng)
    lengths[0] = n
    mask = torch.arange(n) < lengths
    return Inputs(
        torch.randint(4, 30, (batch, n), generator=rng) * mask,
        mask if getattr(of.config, "masked", True) else None,
        torch.randint(0, 2, (batch, n), generator=rng) if has.pairs else None,
        torch.randint(0, 9, (batch, n), generator=rng) * mask if has.tags else None,
    )


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_a_graph_answers_as_its_network_does(name: str, tmp_path: Path) -> None:
    built = network(name).requires_grad_(False)
    has, fixed = built.capabilities, not getattr(built.config, "masked", True)
    write(Graph(built, maps=has.maps), tmp_path / "model.onnx")
    session = Session(built.config, tmp_path / "model.onnx", threads=1)
    assert session.outputs == ("logits", "pooled", *["attention"] * has.maps, *["components"] * (has.components > 1))
    for batch, n in SIZES:
        inputs = texts(built, batch, built.config.max_length if fixed else n)
        with torch.inference_mode():
            fast, watched = built(inputs), built(inputs, Capture(maps=has.maps))
            answer = session(inputs)
        torch.testing.assert_close(answer.logits, fast.logits, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(answer.pooled, fast.pooled, rtol=1e-5, atol=1e-5)
        for kind in session.outputs[2:]:
            wanted = getattr(watched, kind).movedim(0, 1).numpy()
            real = (inputs.mask if inputs.mask is not None else inputs.ids >= 0).numpy()[:, None, None, :, None]
            real = real if kind == "attention" else real[:, None]
            np.testing.assert_allclose(session.run_graph(inputs, kind)[0] * real, wanted * real, atol=1e-5)
    with pytest.raises(InputError, match="only predicts"):
        session(texts(built, 1, built.config.max_length), Capture())


@pytest.mark.skipif(not (docs.ROOT / "checkpoints/imdb/hardmax-d2").is_dir(), reason="the run is not in checkpoints/")
def test_double_precision_is_not_cut_to_8_bits(tmp_path: Path) -> None:
    refused(RunError, "double precision", export, "imdb/hardmax-d2", tmp_path / "out", int8=True)
    assert not any(tmp_path.iterdir())


@pytest.mark.exhaustive
def test_an_exported_run_is_a_model_that_answers(tiny_run: Path, tiny_model: Model, tmp_path: Path, toy_data: object) -> None:
    exported = tmp_path / "model"
    done = CliRunner().invoke(main, ["onnx", str(tiny_run), "--maps", "--int8", "-o", str(exported)])
    assert done.exit_code == 0, done.output
    assert "differ from the run's by at most" in done.output and "Accuracy on 60 rows of the test split: 8-bit graph" in done.output
    texts = ["a warm, clever song", " ", "what a dull, hollow lighthouse we saw!"]
    frame, wanted = load(exported).predict(texts), tiny_model.predict(texts)
    pd.testing.assert_frame_equal(frame, wanted, atol=1e-5)
    small = load(exported, int8=True).predict(texts)
    np.testing.assert_allclose(small["positive"], wanted["positive"], atol=0.02)
    assert (exported / SMALL).read_bytes() != (exported / WHOLE).read_bytes()
    card = json.loads((exported / CARD).read_text(encoding="utf-8"))
    assert card["digest"] == sentviz.Run.open(tiny_run).digest and card["labels"] == list(tiny_model.labels)
    assert card["files"] == {name: hashlib.sha256((exported / name).read_bytes()).hexdigest() for name in card["files"]}
    rows = toy_splits()["test"].frame
    predicted = tiny_model.predict(rows["text"].tolist())["label"].map(tiny_model.labels.index)
    assert card["int8"]["of_the_run"] == round((predicted == rows["label"]).mean(), 5) and card["int8"]["n"] == len(rows)
    assert card["int8"]["difference"]["low"] <= 0 <= card["int8"]["difference"]["high"]
    for call in (lambda: load(exported).trace(texts[0]), lambda: load(exported).predict(texts, heads_off={(0, 0)})):
        refused(InputError, "only predicts", call)


def test_what_is_wrong_is_one_sentence_and_nothing_is_written(tiny_run: Path, tmp_path: Path) -> None:
    def run(*arguments: object) -> str:
        done = CliRunner().invoke(main, ["onnx", str(tiny_run), *map(str, arguments)])
        assert done.exit_code != 0 and "Traceback" not in done.output
        return done.output

    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    assert "holds letter.txt" in run("-o", tmp_path / "mine") and "a folder" in run("-o", tmp_path / "mine" / "letter.txt")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graphs, "import_module", lambda name: (_ for _ in ()).throw(ImportError(name)))
        assert "sentviz[onnx]" in run("-o", tmp_path / "new")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["letter.txt", "mine"]
    cases = [(None, "no exported model"), ("{}", "format is missing"), ("{", "is not JSON"), ("", "is not JSON")]
    cases += [('{"format": 99}', "has format 99, this version reads 1")]
    cases += [('{"format": 1, "run": "a/b", "labels": ["no", 3]}', r"labels\[1\] must be a text, not 3")]
    for card, why in cases:
        if card is not None:
            (tmp_path / CARD).write_text(card)
        refused(RunError, why, load, tmp_path)
