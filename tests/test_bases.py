"""A base is stored once, rounded, also from a pinned revision of the hub; a run on it is an adapter that is folded in when it is loaded."""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from huggingface_hub import errors
from safetensors.torch import load_file, save_file

from sentviz.cli import main
from sentviz.errors import DataMissingError, InputError, RunError
from sentviz.io.files import sha256
from sentviz.models.encoder import Encoder
from sentviz.models.loading import load
from sentviz.models.pretrained.adapter import adapt, based, fold, merged, stored
from sentviz.models.pretrained.base import add_base, hub_base, tokenizer_of
from sentviz.models.pretrained.checkpoint import read_checkpoint
from sentviz.models.pretrained.tokens import PretrainedTokenizer
from sentviz.models.protocol import Inputs, InterventionTensors
from sentviz.models.weights import code, unpack
from sentviz.runs.bases import Base, bases, find_base
from sentviz.runs.configs import EncoderConfig
from sentviz.runs.presets import on_base
from sentviz.runs.releases import get, read_index, release, with_bases
from sentviz.runs.releases import is_installed as is_here
from sentviz.runs.store import Run, runs
from sentviz.runs.writing import write_config
from sentviz.training import Trainer, train
from sentviz.training.based import BasedTask
from sentviz.training.recipe import Recipe
from tests.bases import based_recipe, bert_folder, toy_base
from tests.kit import refused, use_toy_data


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with the base `tiny`. Copy it before you change it."""
    toy_base(root := tmp_path_factory.mktemp("based"))
    return root


@pytest.fixture(autouse=True)
def only_these_runs(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Hide all runs and bases but those of this file."""
    monkeypatch.setattr("sentviz.runs.store.SHIPPED", root / "nowhere")
    monkeypatch.setenv("SENTVIZ_RUNS", str(root))
    monkeypatch.delenv("SENTVIZ_MODELS", raising=False)
    monkeypatch.chdir(root)
    use_toy_data(monkeypatch)
    yield


@pytest.fixture(scope="module")
def trained(root: Path) -> Run:
    """Train the run toy/tiny, an adapter. Copy it before you change it."""
    with pytest.MonkeyPatch.context() as patch:
        use_toy_data(patch)
        patch.setenv("SENTVIZ_RUNS", str(root))
        return train(based_recipe(keep_epochs=1), root, progress=False)


@pytest.mark.parametrize("bits", [4, 8])
def test_a_base_computes_with_the_rounded_weights_of_its_folder(bits: int, tmp_path: Path) -> None:
    base = toy_base(tmp_path, bits)
    read = read_checkpoint(tmp_path / "folders" / "tiny")
    settings = read.settings | {"pooling": "mean", "classes": 2}
    plain = Encoder(EncoderConfig(**settings)).eval()
    matrices = {name for name, tensor in read.weights.items() if tensor.ndim == 2 and name not in ("position", "segment.weight")}
    rounded = {name: code(tensor, bits).expanded() if name in matrices else tensor for name, tensor in read.weights.items()}
    plain.load_state_dict(rounded, strict=False)
    network, of_base = based(base, EncoderConfig(**(settings | {"segments": 1})))
    assert of_base | {"embedding.weight", "segment.weight"} == set(read.weights)
    network.classifier.load_state_dict(plain.classifier.state_dict())
    ids = torch.tensor([[2, 9, 20, 11, 3]])
    with torch.inference_mode():
        np.testing.assert_allclose(network.eval()(Inputs(ids)).logits, plain(Inputs(ids)).logits, atol=1e-6)
    assert network.parameters_count() == plain.parameters_count() - 2 * plain.config.width
    assert all(path.stat().st_mode & 0o044 == 0o044 for path in base.folder.iterdir())


def test_the_command_makes_a_base_and_two_components_begin_as_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    bert_folder(tmp_path / "models" / "some-bert")
    monkeypatch.setenv("SENTVIZ_MODELS", str(tmp_path / "models"))
    result = CliRunner().invoke(
        main, ["base", "add", "some-bert", "other", "--bits", "4", "--license", "MIT", "-o", str(tmp_path / "bases")]
    )
    assert result.exit_code == 0, result.output
    base = Base("other", tmp_path / "bases" / "other")
    assert base.digest in result.output and base.settings["pooling"] == "mean" and base.card["license"] == "MIT"
    (base.folder / "base.json").write_text(json.dumps(base.card | {"remark": "as published"}))
    assert Base("other", base.folder).digest == base.digest
    lost = CliRunner().invoke(main, ["base", "add", "nowhere", "other", "-o", str(tmp_path)])
    assert lost.exit_code == 1 and "There is no pretrained encoder 'nowhere'" in lost.output
    base, ids = find_base("tiny"), torch.tensor([[2, 9, 20, 11, 3]])
    settings = base.settings | {"classes": 2, "segments": 1}
    single, two = (based(base, EncoderConfig(**(settings | on_base(name, "tiny"))))[0].eval() for name in ("tiny", "tiny-ndt-free-2"))
    assert two.config.components == 2 and two.config.lambda_start == ((0.0,),) * 3
    two.classifier.load_state_dict(single.classifier.state_dict())
    with torch.inference_mode():
        np.testing.assert_allclose(two(Inputs(ids)).logits, single(Inputs(ids)).logits, atol=1e-6)


def test_a_run_on_a_base_is_an_adapter(trained: Run) -> None:
    assert list(bases()) == ["tiny"] and "bases/tiny" not in runs()
    weights = load_file(trained.folder / "model.safetensors")
    changed = {f"blocks.{layer}.{part}" for layer in range(3) for part in ("attention.project", "attention.output", "ffn.up", "ffn.down")}
    assert set(weights) == {f"{name}.{side}" for name in changed for side in "ab"} | {"classifier.weight", "classifier.bias"}
    assert {tensor.dtype for tensor in weights.values()} == {torch.float16}
    assert weights["blocks.0.attention.project.a"].shape == (12, 32) and weights["blocks.0.attention.project.b"].shape == (96, 4)
    assert "tokenizer.json" not in trained.config["files"]
    assert trained.metrics()["test"]["accuracy"]["value"] > 0.9
    assert trained.epochs == (3,) and set(load_file(trained.folder / "epochs" / "3.safetensors")) == set(weights)
    model, network = load(trained), based(find_base("tiny"), trained.shape)[0].requires_grad_(False)
    a, b = (weights[f"blocks.1.attention.project.{side}"].float() for side in "ab")
    change = torch.cat([b[32 * part : 32 * part + 32] @ a[4 * part : 4 * part + 4] for part in range(3)])
    ours = dict(model.network.named_parameters())["blocks.1.attention.project.weight"]
    np.testing.assert_allclose(ours, network.blocks[1].attention.project.weight + change, atol=1e-6)
    assert load(trained.at(3)).predict(["a dull, cold garden"])["label"].tolist() == ["negative"]
    assert trained.config["parameters"] == model.network.parameters_count()


@pytest.mark.parametrize("rank", [15, 16])
def test_changes_of_a_higher_rank_have_8_bits(rank: int) -> None:
    """What is loaded differs from what was trained by half steps."""
    base, alpha = find_base("tiny"), 8.0
    network, of_base = based(base, EncoderConfig(**(base.settings | {"classes": 2})))
    adapt(network, of_base, rank=rank, alpha=alpha)
    for name, parameter in network.named_parameters():
        torch.nn.init.normal_(parameter, std=0.05 if name.endswith((".a", ".b")) else 1.0)
    packed = stored(network, network.state_dict())
    changes = {name: tensor for name, tensor in packed.items() if name.startswith("blocks.")}
    assert {tensor.dtype for tensor in changes.values()} == ({torch.float16} if rank < 16 else {torch.int8, torch.float16})
    if rank == 16:
        assert packed["blocks.0.attention.project.a.scale"].shape == (48, 1)
        assert packed["blocks.0.attention.project.b.scale"].shape == (1, 16)
    loaded, _ = based(base, network.config)
    fold(loaded, of_base, unpack(packed))
    module = network.get_submodule("blocks.1.ffn.down")
    a, b, scale = module.a, module.b, alpha / rank
    steps = [a.abs().amax(dim=1, keepdim=True) / 127, scale * b.abs().amax(dim=0, keepdim=True) / 127]
    bound = (steps[1] / 2 * torch.ones_like(b)) @ a.abs() + (scale * b.abs() + steps[1]) @ (steps[0] / 2 * torch.ones_like(a))
    error = (loaded.blocks[1].ffn.down.weight - module.weight - scale * b @ a).abs().detach()
    assert bool((error <= bound * 1.01 + 1e-6).all()) and float(error.max()) > 0


@pytest.mark.exhaustive
def test_stopped_and_resumed_is_equal_bit_for_bit(tmp_path: Path) -> None:
    recipe = replace(based_recipe(adapter_layers=1), weights=find_base("tiny").digest)
    whole = Trainer(BasedTask(recipe), tmp_path / "whole")
    whole.fit(progress=False)
    first = Trainer(BasedTask(recipe), tmp_path / "parts")
    first.fit(progress=False, until=13)
    second = Trainer(BasedTask(recipe), tmp_path / "parts")
    assert second.resume()
    second.fit(progress=False)
    ours, theirs = second.task.network.state_dict(), whole.task.network.state_dict()
    assert all(torch.equal(tensor, theirs[name]) for name, tensor in ours.items()) and set(ours) == set(theirs)
    assert all(name.startswith(("blocks.2.", "classifier.")) for name in ours)
    network, change = whole.task.network, InterventionTensors()
    batch = network.ready(whole.task.batch(np.arange(4)))
    x = network.embed(batch)
    for layer in (0, 1):
        x, _ = network.step(layer, x, batch, None, change)
    assert not x.requires_grad and network.step(2, x, batch, None, change)[0].requires_grad
    assert torch.equal(merged(network).blocks[0].ffn.up.weight, network.blocks[0].ffn.up.weight)


def _run(trained: Run, to: Path, change: Callable[[dict[str, Any], dict[str, torch.Tensor]], object]) -> Run:
    """Copy the run with changed config or weights, sealed again."""
    shutil.copytree(trained.folder, to)
    config, weights = json.loads((to / "config.json").read_text()), load_file(to / "model.safetensors")
    change(config, weights)
    save_file(weights, to / "model.safetensors")
    write_config(to, {name: value for name, value in config.items() if name != "files"})
    return Run.open(to, "toy/changed")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda config, weights: config["base"].update(name="mpnet"), "The base 'mpnet' is not installed"),
        (lambda config, weights: config["base"].update(digest="0" * 12), "is a different base"),
        (lambda config, weights: weights.pop("blocks.1.ffn.up.b"), "blocks.1.ffn.up is missing, extra"),
        (lambda config, weights: weights["classifier.bias"].fill_(float("nan")), "holds values that are not numbers"),
        (lambda config, weights: config["model"].update(ffn_width=65), "does not fit this model: blocks.0.ffn"),
    ],
)
def test_a_run_that_does_not_fit_its_base_is_refused_in_a_sentence(change: Any, message: str, trained: Run, tmp_path: Path) -> None:
    with pytest.raises(RunError) as error:
        load(_run(trained, tmp_path / "toy" / "changed", change))
    assert str(error.value).startswith("toy/changed: ") and message in str(error.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda card, weights: weights.pop("blocks.1.ffn.up.bias"), "is damaged: blocks.1.ffn.up.bias is missing"),
        (lambda card, weights: [weights.pop(f"embedding.weight.{part}") for part in ("codes", "scale")], "embedding.weight is missing"),
        (lambda card, weights: weights.update(position=torch.zeros(24, 33)), "position is extra or has another shape than base.json says"),
        (lambda card, weights: weights["embedding.weight.scale"][3].fill_(float("nan")), "not numbers (embedding.weight)"),
        (lambda card, weights: card["settings"].update(depth=3), "base.json cannot be read"),
        (lambda card, weights: card.update(format=2), "its format is 2, this version reads 1"),
        (lambda card, weights: card["settings"].update(vocab_size=20), "tokenizer.json knows"),
    ],
)
def test_a_base_that_does_not_fit_its_card_is_refused_in_a_sentence(
    change: Any, message: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(root / "bases" / "tiny", folder := tmp_path / "bases" / "tiny")
    card, weights = json.loads((folder / "base.json").read_text()), load_file(folder / "weights-1.safetensors")
    change(card, weights)
    save_file(weights, folder / "weights-1.safetensors")
    card["files"] |= {"weights-1.safetensors": sha256(folder / "weights-1.safetensors")}
    (folder / "base.json").write_text(json.dumps(card))
    monkeypatch.setenv("SENTVIZ_RUNS", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RunError) as error:
        base = find_base("tiny")
        tokenizer_of(base)
        based(base, EncoderConfig(**(base.settings | {"classes": 2})), empty=True)
    assert message in str(error.value) and str(error.value).startswith("The base tiny")
    assert CliRunner().invoke(main, ["base", "list"]).exit_code == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_length": 600}, "reads 600 tokens; the base tiny has positions for 24"),
        ({"adapter_layers": 4}, "trains 4 layers; the base tiny has 3"),
        ({"shape": {"mixing": "free"}}, "does not fit 1 components"),
        ({"shape": {"depth": 3}}, "depth"),
    ],
)
def test_a_recipe_that_its_base_cannot_follow_is_refused(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    refused((InputError, RunError), message, train, based_recipe(**changes), tmp_path, progress=False)
    assert not any(tmp_path.iterdir())


def test_recipes_and_tokenizers_fit_their_base(tmp_path: Path) -> None:
    for model, message in (("minilm", "is tiny, or tiny- with"), ("tiny-faster", "not 'tiny-faster'"), ("tiny-last-scaled", "names none")):
        refused(InputError, message, based_recipe, model=model)
    file = tmp_path / "mine.toml"
    file.write_text('dataset = "toy"\nmodel = "ndt-unit-2"\nexample = "a warm song"\nlearning_rate = 0.5\nmax_length = 9\n')
    recipe = Recipe.read(file, base="tiny")
    assert (recipe.model, recipe.name, recipe.example) == ("tiny", "toy/tiny", "a warm song")
    assert (recipe.learning_rate, recipe.max_length, recipe.adapter_rank) == (1e-3, 64, 8)
    file.write_text('dataset = "toy"\nbase = "tiny"\nlearning_rate = 0.5\n')
    assert Recipe.read(file).learning_rate == 0.5 and Recipe.read(file).name == "toy/tiny"
    folder = bert_folder(tmp_path / "other")
    refused(RunError, "they do not belong together", PretrainedTokenizer.of_file, folder / "tokenizer.json", 20)
    stored = json.loads((folder / "tokenizer.json").read_text())
    stored["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "Replace", "pattern": {"String": "a"}, "content": "b" * 2_000}]}
    (tmp_path / "tokenizer.json").write_text(json.dumps(stored))
    refused(RunError, "can make a text 2,001 times as long", PretrainedTokenizer.of_file, tmp_path / "tokenizer.json", 1_000)
    (folder / "tokenizer.json").write_text('{"model": 1}')
    refused(RunError, r"tokenizer.json is not a tokenizer", add_base, folder, "other", tmp_path / "bases", bits=8)
    assert not (tmp_path / "bases" / "other").exists()


def test_a_fetched_run_brings_its_base(trained: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = {entry.name: entry for entry in release([find_base("tiny"), trained], tmp_path / "release")}
    assert packed["toy/tiny"].base == "bases/tiny" and not packed["bases/tiny"].base
    assert read_index(tmp_path / "release" / "release.json") == packed and with_bases(["toy/tiny"], packed) == ["bases/tiny", "toy/tiny"]
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SENTVIZ_RUNS", str(tmp_path / "empty"))
    monkeypatch.chdir(tmp_path)
    damaged = replace(packed["bases/tiny"], sha256="0" * 64)
    refused(DataMissingError, "bases/tiny", get, "toy/tiny", str(tmp_path / "release"), known=packed | {"bases/tiny": damaged})
    assert not (tmp_path / "home" / "runs" / "bases" / "tiny").exists()
    assert get("toy/tiny", str(tmp_path / "release"), known=packed) == tmp_path / "home" / "runs" / "toy" / "tiny"
    assert load("toy/tiny").predict(["a warm song"])["label"].tolist() == ["positive"]
    assert all(map(is_here, packed.values())) and get("bases/tiny", str(tmp_path / "release"), known=packed) is None
    shutil.rmtree(tmp_path / "home")
    assert get("toy/tiny", str(trained.folder.parent.parent), known=packed) is not None and set(bases()) == {"tiny"}


REVISION = "0123456789abcdef" * 2 + "01234567"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the only revision in the hub's cache, without a network."""
    folder = tmp_path / "cache" / "models--somebody--tiny-bert" / "snapshots" / REVISION
    bert_folder(folder)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path / "home"))
    return folder


def test_a_base_is_made_from_a_pinned_revision_of_the_hub(hub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = sha256(hub / "model.safetensors")
    right = {"--revision": REVISION, "--sha256": digest}

    def add(**changes: str) -> Any:
        options = [word for name, value in (right | {f"--{k}": v for k, v in changes.items()}).items() if value for word in (name, value)]
        return CliRunner().invoke(main, ["base", "add", "somebody/tiny-bert", "mine", "-o", str(tmp_path / "bases"), *options])

    for changes, message in (
        ({"revision": ""}, "somebody/tiny-bert is on the hub, so its exact version is needed"),
        ({"sha256": ""}, "--sha256 with the digest of model.safetensors"),
        ({"revision": "main"}, "--revision COMMIT with 40 hex digits"),
        ({"sha256": "0" * 64}, f"somebody/tiny-bert: model.safetensors has the SHA-256 {digest}, not {'0' * 64}"),
        ({"revision": "f" * 40}, "it was not downloaded earlier, and the hub cannot be reached"),
    ):
        result = add(**changes)
        assert result.exit_code == 1 and message in " ".join(result.output.split()), result.output
        assert not (tmp_path / "bases" / "mine").exists()
    assert add().exit_code == 0
    base = Base("mine", tmp_path / "bases" / "mine")
    assert base.digest == add_base(hub, "same", tmp_path / "bases", bits=8).digest
    assert (base.card["source"], base.card["weights_sha256"]) == ("somebody/tiny-bert", digest) and REVISION in base.card["remark"]
    (hub / "tokenizer.json").unlink()
    assert "the hub cannot be reached" in " ".join(add().output.split())
    for error, message in (
        (errors.EntryNotFoundError("404"), f"no file .* at the revision {REVISION}"),
        (errors.RevisionNotFoundError("404", response=Mock()), f"somebody/tiny-bert has no revision {REVISION} on the hub"),
    ):
        monkeypatch.setattr("huggingface_hub.hf_hub_download", Mock(side_effect=error))
        refused(RunError, message, hub_base, "somebody/tiny-bert", revision=REVISION, sha256="0" * 64)
