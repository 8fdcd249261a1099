"""Our own encoder computes pretrained ones: states, maps and logits are those of transformers."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from sentviz.data.texts import TokenizedText
from sentviz.errors import RunError
from sentviz.models.batches import collate
from sentviz.models.encoder import Encoder
from sentviz.models.pretrained.checkpoint import read_checkpoint
from sentviz.models.protocol import Capture, Inputs
from sentviz.runs.configs import EncoderConfig

transformers = pytest.importorskip("transformers", reason="the extra hub (transformers) is not installed")

KINDS = ("bert", "mpnet", "roberta", "distilbert", "electra")
ROWS = ([5 + i * i % 45 for i in range(150)], [5, 30, 3])  # ids of two texts, none of them padding; distances beyond all buckets
WORDS = "bert.embeddings.word_embeddings.weight"
UP = "bert.encoder.layer.1.intermediate.dense.weight"


def random_folder(folder: Path, kind: str) -> Path:
    """Write a random classifier of transformers in double precision: three layers, four heads, all weights changed."""
    shape: dict[str, Any] = {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 24}
    shape |= {"vocab_size": 50, "max_position_embeddings": 180, "num_labels": 3}
    ends = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
    config = {
        "bert": lambda: transformers.BertConfig(**shape),
        "electra": lambda: transformers.ElectraConfig(embedding_size=8, **shape),
        "roberta": lambda: transformers.RobertaConfig(type_vocab_size=1, **ends, **shape),
        "mpnet": lambda: transformers.MPNetConfig(**ends, **shape),
        "distilbert": lambda: transformers.DistilBertConfig(
            dim=16, n_layers=3, n_heads=4, hidden_dim=24, **{k: shape[k] for k in ("vocab_size", "max_position_embeddings", "num_labels")}
        ),
    }[kind]()
    torch.manual_seed(3)
    model = transformers.AutoModelForSequenceClassification.from_config(config).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, dtype=torch.float64))
    model.save_pretrained(folder)
    (folder / "tokenizer.json").write_text("{}")
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {kind: random_folder(tmp_path_factory.mktemp(kind) / "model", kind) for kind in KINDS}


def opened(folder: Path) -> Encoder:
    """Return the checkpoint with its head in our encoder, in double precision."""
    read = read_checkpoint(folder, head=True)
    network = Encoder(EncoderConfig(classes=len(read.weights["classifier.bias"]), **read.settings)).double().eval()
    network.load_state_dict(read.weights)
    return network


def theirs(folder: Path, rows: tuple[list[int], ...], segments: list[list[int]] | None = None) -> Any:
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder, attn_implementation="eager", dtype=torch.float64).eval()
    longest, pad = max(map(len, rows)), model.config.pad_token_id or 0
    ids = torch.tensor([row + [pad] * (longest - len(row)) for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
    types = {} if segments is None else {"token_type_ids": torch.tensor(segments)}
    with torch.no_grad():
        return model(input_ids=ids, attention_mask=mask, output_attentions=True, output_hidden_states=True, **types)


@pytest.mark.parametrize("kind", KINDS)
def test_states_maps_and_logits_are_those_of_transformers(kind: str, folders: dict[str, Path]) -> None:
    network, wanted = opened(folders[kind]), theirs(folders[kind], ROWS)
    inputs = collate([TokenizedText(np.array(row)) for row in ROWS])
    with torch.inference_mode():
        seen, fast = network(inputs, Capture()), network(inputs)
    np.testing.assert_allclose(seen.logits, wanted.logits, atol=1e-8)
    np.testing.assert_allclose(fast.logits, wanted.logits, atol=1e-8)
    for i, row in enumerate(ROWS):
        n = len(row)
        for ours, states in zip(seen.hidden, wanted.hidden_states, strict=True):
            np.testing.assert_allclose(ours[i, :n], states[i, :n], atol=1e-8)
        for layer, maps in enumerate(wanted.attentions):
            np.testing.assert_allclose(seen.attention[layer, i, :, :n, :n], maps[i, :, :n, :n], atol=1e-8)


@pytest.mark.parametrize("kind", ["bert", "electra"])
def test_token_types_tell_the_second_text(kind: str, folders: dict[str, Path]) -> None:
    types = [[0] * 60 + [1] * 90]
    wanted = theirs(folders[kind], ROWS[:1], types).logits
    network = opened(folders[kind])
    with torch.inference_mode():
        ours = network(Inputs(torch.tensor(ROWS[:1]), segments=torch.tensor(types))).logits
        same = network(Inputs(torch.tensor(ROWS[:1]))).logits
    np.testing.assert_allclose(ours, wanted, atol=1e-8)
    assert abs(same - ours).max() > 1e-3


def changed(folder: Path, to: Path, tensors: dict[str, torch.Tensor] | None = None, **settings: Any) -> Path:
    """Copy a folder with other settings and changed tensors; an empty tensor is deleted."""
    to.mkdir(parents=True)
    config = json.loads((folder / "config.json").read_text())
    (to / "config.json").write_text(json.dumps(config | settings))
    weights = load_file(folder / "model.safetensors") | (tensors or {})
    save_file({name: tensor for name, tensor in weights.items() if tensor.numel()}, to / "model.safetensors")
    (to / "tokenizer.json").write_text("{}")
    return to


def test_a_folder_that_is_no_base_is_refused_in_a_sentence(folders: dict[str, Path], tmp_path: Path) -> None:
    for change, message in [
        ({"model_type": "gpt2"}, "the kind 'gpt2'; a base is one of BERT, ELECTRA"),
        ({"hidden_act": "silu"}, "the activation 'silu'"),
        ({"is_decoder": True}, "describes a decoder"),
        ({"num_hidden_layers": 10**9}, "at most 1,000"),
        ({"hidden_size": "wide"}, "must name hidden_size, a whole number"),
        ({"intermediate_size": 25}, "intermediate.dense.weight is 24 x 16; config.json asks for 25 x 16"),
        ({"num_hidden_layers": 4}, "has no tensor bert.encoder.layer.3.attention.self.query.weight"),
        ({"tensors": {UP: torch.zeros(0)}}, f"has no tensor {UP}"),
        ({"tensors": {WORDS: torch.zeros(50, 17)}}, f"{WORDS} is 50 x 17; config.json asks for 50 x 16"),
        ({"tensors": {UP: torch.full((24, 16), float("nan"))}}, f"{UP} holds values that are not numbers"),
    ]:
        with pytest.raises(RunError) as error:
            read_checkpoint(changed(folders["bert"], tmp_path / str(len(list(tmp_path.iterdir()))) / "changed", **change))
        assert message in str(error.value) and str(error.value).startswith("changed: ")
    for file in ("config.json", "model.safetensors", "tokenizer.json"):
        (changed(folders["bert"], tmp_path / file) / file).unlink()
        with pytest.raises(RunError, match=f"{file}: {file}"):
            read_checkpoint(tmp_path / file)
